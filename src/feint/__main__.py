"""The `feint` command, also as `python -m feint`."""

import atexit
import gc
import os
import sys
import traceback


def main() -> None:
    """Run the command, with streams and interrupts set up before any slow import.

    If something cannot be imported, the exit code is 3, because 1 means that a log is rejected.
    """

    def arrived() -> bool:
        return "feint.support.interrupts" in sys.modules and sys.modules["feint.support.interrupts"].arrived()

    # Without this, Python would look for garbage among all objects when it ends: up to 0.4 s, for memory that the
    # system takes back anyway.
    atexit.register(gc.freeze)
    try:
        from feint.support import interrupts, standard_streams

        standard_streams.guard()
        interrupts.watch()
        from feint.cli import main as command
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) or arrived():
            raise SystemExit(130) from None
        if os.environ.get("FEINT_DEBUG"):
            traceback.print_exc()
        said = f"{type(error).__name__}: {' '.join(str(error).split())}"
        print(f"feint: cannot start, {said}; reinstall feint and its dependencies", file=sys.stderr)
        raise SystemExit(3) from None
    try:
        command()
    except BaseException:
        if arrived():  # whatever exception an import turned it into
            raise SystemExit(130) from None
        raise


if __name__ == "__main__":
    main()
