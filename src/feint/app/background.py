"""Run work in a thread, so that other visitors need not wait, and show its result once the page may be changed."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

import panel as pn

from feint.app.messages import MessageLine

_T = TypeVar("_T")
_TURNS = threading.BoundedSemaphore(4)


def in_background(
    work: Callable[[], _T], then: Callable[[_T], object], line: MessageLine, end: Callable[[], object] = lambda: None
) -> None:
    """Run `work` in a thread, then call `then` with its result, under the document's lock.

    `line` says what went wrong; `end` is called in any case.
    """
    document = pn.state.curdoc

    def run() -> None:
        with _TURNS:
            try:
                done = _returning(work())
            except Exception as error:
                done = _raising(error)
        with contextlib.suppress(Exception):  # the visitor, or the server, is gone
            document.add_next_tick_callback(lambda: finish(done))

    def finish(done: Callable[[], _T]) -> None:
        with line.wrong():
            then(done())
        end()

    # Not a pool: its threads would keep Ctrl-C waiting until they are done.
    threading.Thread(target=run, name="feint-app", daemon=True).start()


def _returning(value: _T) -> Callable[[], _T]:
    return lambda: value


def _raising(error: Exception) -> Callable[[], Any]:
    def answer() -> Any:
        raise error

    return answer


def later(seconds: float, action: Callable[[], Any]) -> None:
    """Call `action` once, after `seconds`, under the document's lock."""
    pn.state.curdoc.add_timeout_callback(action, int(1000 * seconds))
