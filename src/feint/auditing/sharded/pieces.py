"""The pieces of a log that processes read by themselves: its files, and the row groups of large Parquet files.

Which pieces there are depends on the log alone, so that any number of workers does the same work.
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from feint.auditing.claim import Claim
from feint.auditing.readers import Log, Source, list_places, open_place
from feint.auditing.readers.formats import by_name
from feint.auditing.readers.listing import Place
from feint.auditing.readers.parquet import ParquetLog
from feint.auditing.readers.several_files import SeveralFiles

ROWS_PER_PIECE = 2**21  # at most, of Parquet files; row groups stay whole
_PIECES, _FEWEST_ROWS = 64, 2**16  # pieces of a shorter file, for an even load of workers; rows of one piece


class LogPiece(NamedTuple):
    """Rows that follow each other: a file, or some row groups of it."""

    place: Place
    row_groups: Sequence[int] | None  # of a Parquet file; None for all
    several: bool  # whether the log has several files, so that messages name them
    delimiter: str | None
    encoding: str | None

    def open(self) -> Log:
        """Open these rows; keys of folders are columns."""
        if not self.place.keys:
            return self._open_file(self.place)
        return SeveralFiles([self.place], self._open_file)

    def _open_file(self, place: Place) -> Log:
        log = open_place(place, self.delimiter, self.encoding)
        if isinstance(log, ParquetLog):
            log.chosen = self.row_groups
        return log


def list_pieces(source: Source, claim: Claim) -> list[LogPiece] | None:
    """Return the pieces of a log in order; None if other processes cannot read it."""
    places = list_places(source)
    if places is None:
        return None
    found = []
    for place in places:
        absolute = place._replace(path=place.path.absolute()) if isinstance(place.path, Path) else place
        piece = LogPiece(absolute, None, len(places) > 1, claim.delimiter, claim.encoding)
        found += [piece._replace(row_groups=groups) for groups in _row_groups(piece)]
    return found


def _row_groups(piece: LogPiece) -> list[range | None]:
    """Return ranges of row groups with about equally many rows each; [None] if a file is one piece."""
    place = piece.place
    kind, compression = by_name(place.name)
    if kind is None or kind.name != "parquet" or compression is not None or place.inside is not None:
        return [None]
    log = open_place(place)
    if not isinstance(log, ParquetLog):
        return [None]
    rows = min(ROWS_PER_PIECE, max(_FEWEST_ROWS, -(-sum(log.group_sizes) // _PIECES)))
    number = np.cumsum([0, *log.group_sizes[:-1]]) // rows  # of the piece in which a row group begins
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(log.group_sizes)]
    return [range(*pair) for pair in pairwise(edges)] if len(edges) > 2 else [None]
