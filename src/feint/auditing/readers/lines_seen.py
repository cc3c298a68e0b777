"""What has been read of a log that grows, so that another run can tell whether it reads the same log."""

import hashlib
from collections import deque
from typing import Any

_START = bytes(32)


class SeenLines:
    """The lines that have become rows (with the header): how many, and a chain of digests.

    Each digest is SHA-256 of the one before and of the next line, without its line end. A digest of the file's bytes
    would not do. A run reads ahead of the rows that it has tested; a saved digest of bytes cannot be extended when a
    pipe continues; and the last line of a file may get its end later. Blank lines count as empty ones.
    """

    def __init__(self, lines: int = 0, digest: bytes = _START) -> None:
        self.lines, self.digest = lines, digest
        self._waiting: deque[tuple[str, int]] = deque()  # lines that are not rows yet, and how often each is repeated

    def add(self, line: str) -> None:
        """Note a line that was read."""
        text = line.rstrip("\r\n") if line.strip() else ""
        if not text and self._waiting and not self._waiting[-1][0]:  # any number of empty lines takes no memory
            self._waiting[-1] = ("", self._waiting[-1][1] + 1)
        else:
            self._waiting.append((text, 1))

    def count_rows(self, count: int) -> None:
        """Note that the next of the lines that were read have become rows."""
        for _ in range(count):
            text, times = self._waiting[0]
            if times == 1:
                self._waiting.popleft()
            else:
                self._waiting[0] = (text, times - 1)
            self.digest = hashlib.sha256(self.digest + text.encode("utf-8", "surrogatepass")).digest()
        self.lines += count

    def state(self) -> dict[str, Any]:
        """Return the number and the digest as plain JSON types."""
        return {"lines": self.lines, "digest": self.digest.hex()}

    @classmethod
    def from_state(cls, state: Any) -> "SeenLines":
        """Return the lines that `state` described."""
        try:
            lines, digest = state["lines"], bytes.fromhex(state["digest"])
        except (TypeError, KeyError, ValueError):
            lines, digest = -1, b""
        if type(lines) is not int or lines < 0 or len(digest) != len(_START):
            raise ValueError("The state is damaged: it does not say which lines were read.")
        return cls(lines, digest)
