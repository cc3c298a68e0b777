"""Safe standard output and standard error, however the program was started.

The exit code says what was found, so a stream on which nobody listens must not change it. Python has None for a stream
that is closed (`>&-`); what is written to it goes nowhere from here on. A message that standard error cannot take (a
full disk, a reader that left) is dropped.

Only what Python itself has loaded is imported here, because this runs before everything else that the command does.
"""

import io
import os
import sys
from typing import Any


class _Dropping(io.RawIOBase):
    """A stream of bytes that drops what it cannot write."""

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def write(self, data: Any) -> int:
        try:
            written = self._raw.write(data)
        except OSError:
            written = None
        return len(data) if written is None else int(written)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._raw.fileno())

    def isatty(self) -> bool:
        return bool(self._raw.isatty())


def guard() -> None:
    """Make both streams safe to write to; only for programs, since it replaces those of the whole process."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal without ε still gets the numbers
    if isinstance(sys.stderr, io.TextIOWrapper):
        raw = getattr(sys.stderr.buffer, "raw", sys.stderr.buffer)  # Python keeps it open as sys.__stderr__
        sys.stderr = io.TextIOWrapper(
            _Dropping(raw),
            encoding=sys.stderr.encoding,
            errors="replace",
            line_buffering=True,
            write_through=True,
        )
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - until the program ends
