"""Sizes and checksums, by which a store tells its own objects from damaged, deleted and foreign ones.

The checksum begins with the study and the key, so that an intact object of another study, cell or variable has a
different one. It is CRC-32, which guards against accidents, not against forgers.
"""

import zlib

Mark = tuple[int, int]  # (bytes, checksum)


class DamageError(OSError):
    """An object of a store is damaged or missing."""

    def __init__(self, place: str, key: str, *, missing: bool) -> None:
        state = "missing" if missing else "damaged"
        super().__init__(f"{place}/{key} is {state}; run the same sweep again to repair it.")


class Marker:
    """Computes the marks of a study's objects; `study` is the text of its configuration, `version` that of feint."""

    def __init__(self, study: str, version: str) -> None:
        self._start = zlib.crc32(f"{version} {study}".encode())

    def mark(self, key: str, data: bytes) -> Mark:
        """Return the mark of an object."""
        return len(data), zlib.crc32(data, zlib.crc32(f"/{key}/".encode(), self._start))

    def check(self, place: str, key: str, data: bytes | None, mark: Mark) -> None:
        """Refuse an object that does not have this mark."""
        if data is None or self.mark(key, data) != mark:
            raise DamageError(place, key, missing=data is None)
