"""Ctrl-C ends the program, wherever it arrives.

Python raises KeyboardInterrupt in whatever runs. In a callback from C, such as those of LLVM while kernels load or
compile, or in a finaliser, an exception cannot go further up: Python prints that it was ignored, and the program would
run on. Elsewhere a library may turn it into an error of its own. So an interrupt that was ignored is raised again,
and `arrived` tells of those that became something else.

Only what Python itself has loaded is imported here, because this runs before everything else that the command does.
"""

import signal
import sys
import threading
from typing import Any

_AGAIN = 0.05  # seconds until an interrupt that was ignored is raised again, when the callback has ended
_seen = False


def arrived() -> bool:
    """Return whether the program has been interrupted."""
    return _seen


def watch() -> None:
    """Handle interrupts from now on; only for programs, since it takes over handlers of the whole process."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return  # ignored, as nohup does, or somebody else's
    signal.signal(signal.SIGINT, _interrupt)
    report, main = sys.unraisablehook, threading.main_thread().ident
    if main is None or not hasattr(signal, "pthread_kill"):  # Windows
        return

    def raise_again(unraisable: Any) -> None:
        if issubclass(unraisable.exc_type, KeyboardInterrupt):
            timer = threading.Timer(_AGAIN, signal.pthread_kill, [main, signal.SIGINT])
            timer.daemon = True
            timer.start()
        else:
            report(unraisable)

    sys.unraisablehook = raise_again


def _interrupt(number: int, frame: Any) -> None:
    global _seen
    _seen = True
    raise KeyboardInterrupt
