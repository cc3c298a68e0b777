"""The text of a log: UTF-8 unless another encoding is named. Other bytes are refused, with their place.

Replacing them could turn two arms into one: neither é nor ü in Latin-1 is valid UTF-8.
"""

import codecs
import io

USUAL = "utf-8-sig"  # takes a byte-order mark off
_NO_FILES = {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape"}  # Python's own, for other things


def encoding_of(name: str | None) -> str:
    """Return the codec to read with, by the name that was given.

    >>> encoding_of("latin-1"), encoding_of(None)
    ('iso8859-1', 'utf-8-sig')
    """
    if name is None:
        return USUAL
    try:
        io.TextIOWrapper(io.BytesIO(), encoding=name)  # refuses codecs that are not for text
        found = codecs.lookup(name).name
    except (LookupError, TypeError, ValueError):
        found = "undefined"
    if found in _NO_FILES:
        raise ValueError(f"`encoding` is {name!r}, which is not a text encoding; give one, such as latin-1 or utf-16.")
    return USUAL if found == "utf-8" else found


class TextDecoder:
    """A decoder of bytes, piece by piece; a ValueError says on which line and at which byte they are not text."""

    def __init__(self, encoding: str) -> None:
        self._encoding = encoding
        # It keeps back a \r until it is clear whether a \n follows, and bytes that are not yet a character.
        self._decoder = io.IncrementalNewlineDecoder(codecs.getincrementaldecoder(encoding)("strict"), False)
        self._lines = self._bytes = 0  # complete ones, and those read

    def decode(self, data: bytes, final: bool = False) -> str:
        """Return the text of the next bytes; `final` says that none follow."""
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(data, final)
        except UnicodeError:
            self._decoder.setstate(before)
            raise self._refusal(data) from None
        self._lines += _line_ends(text)
        self._bytes += len(data)
        return text

    def _refusal(self, data: bytes) -> ValueError:
        """Return what is wrong, found byte by byte: codecs do not tell how much of a piece they could read."""
        read = 0
        while read < len(data):
            begun, flags = (
                self._decoder.getstate()
            )  # bytes of a character that goes on; the last flag is a \r kept back
            try:
                self._lines += _line_ends(self._decoder.decode(data[read : read + 1]))
            except UnicodeError:
                break
            read += 1
        else:
            begun, flags = self._decoder.getstate()
        wrong = (begun + data[read:])[:1].hex()
        line, byte = self._lines + (flags & 1) + 1, self._bytes + read - len(begun) + 1
        place = f"line {line}: byte {byte:,} of the text, 0x{wrong},"
        if self._encoding == USUAL:
            return ValueError(f"{place} is not UTF-8; name the encoding of the text with `encoding`, such as latin-1.")
        return ValueError(f"{place} is not {self._encoding}; correct `encoding`.")


def _line_ends(text: str) -> int:
    return text.count("\n") + text.count("\r") - text.count("\r\n")
