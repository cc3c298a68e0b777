"""A study's store: what is in it, and what is put there, by this process alone.

A block's chunks are put first and its record after them, so that a record never stands for data that are not whole. The
record is the size of the chunks: a chunk that was cut later, by a copy or a power failure, is found when the store is
opened again, and its block is missing then.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feint.numerics._validate import BoolArray
from feint.sweep.layout import FAILED, FAILURE, RECORD, Layout
from feint.sweep.study import CellIndex, Study
from feint.sweep.target import ROOT, target_of
from feint.version import VERSION


def stored_attributes(place: "str | os.PathLike[str]") -> dict[str, Any]:
    """What the root of a store says of itself; refuses what is no store of a sweep."""
    target = target_of(place)
    if not target.exists():
        raise FileNotFoundError(f"{target} does not exist; write one with feint.Sweep(…).run or feint sweep.")
    data = target.get(ROOT) if not os.path.isfile(os.fspath(place)) else None
    try:
        attributes: Any = json.loads(data)["attributes"] if data is not None else {}
        if not {"study", "versions"} <= set(attributes):
            raise KeyError
        return {**attributes, "study": json.loads(attributes["study"]), "versions": json.loads(attributes["versions"])}
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError):
        raise ValueError(f"{target} is there and is not a store of feint sweep; choose another name.") from None


class SweepStore:
    """The store of a study at a place; nothing is created before `create`."""

    def __init__(self, place: "str | os.PathLike[str]", study: Study) -> None:
        self.target = target_of(place)
        self.layout = Layout(study)
        self.study = study
        self._records: NDArray[np.int64] = np.zeros((*study.shape, self.layout.n_blocks), dtype=np.int64)
        self._failures: NDArray[Any] = np.full(study.shape, "", dtype=object)
        self.exists = self.target.exists()
        if self.exists:
            _refuse_another(str(self.target), stored_attributes(place), study)
            self._read()

    def missing(self, retry_failed: bool = False) -> BoolArray:
        """Which blocks of which cells are to be run, (bandit, explorer, reference, epsilon, block)."""
        states = (0, FAILED) if retry_failed else (0,)
        return np.isin(self._records, states) & self.study.wanted[..., np.newaxis]

    @property
    def failed(self) -> list[tuple[CellIndex, str]]:
        """Cells with failed blocks, and why."""
        found = map(tuple, np.argwhere((self._records == FAILED).any(axis=4)).tolist())
        return [(index, self._failures[index]) for index in found]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """To be held while something is written. Metadata and coordinates are made, or mended where damaged."""
        if not self.exists:
            self.target.create(self.layout.fixed)
            self.exists = True
        with self.target.lock():
            self.target.put(
                {k: data for k, data in self.layout.fixed.items() if k != ROOT and self.target.get(k) != data}
            )
            yield

    def write(self, index: CellIndex, first: int, values: dict[str, NDArray[Any]]) -> None:
        """The replications from `first` on of a cell, whole blocks of them: chunks, then the record."""
        size = self.layout.block
        count = len(next(iter(values.values())))
        for start in range(0, count, size):
            number = (first + start) // size
            block = {name: array[start : start + size] for name, array in values.items()}
            chunks = self.layout.encode_block(index, number, block)
            self.target.put(chunks)
            self._records[(*index, number)] = sum(map(len, chunks.values()))
        self._record(index)

    def fail(self, index: CellIndex, first: int, last: int, message: str) -> None:
        """Replications first … last − 1 could not be run."""
        size = self.layout.block
        self._records[index][first // size : -(-last // size)] = FAILED
        which = f"replication {first}" if last == first + 1 else f"replications {first} to {last - 1}"
        self._failures[index] = self._failures[index] or f"{which}: {message}"
        self._record(index)

    def _record(self, index: CellIndex) -> None:
        """What is known of a cell's blocks."""
        failing = bool((self._records[index] == FAILED).any())
        if not failing and self._failures[index]:
            self._failures[index] = ""
            self._put_failures(index)
        elif failing:
            self._put_failures(index)
        self.target.put(self.layout.encode_records(self._records, index))

    def _put_failures(self, index: CellIndex) -> None:
        encoded = self.layout.encode_failures(self._failures, index)
        if encoded:
            self.target.put(encoded)
        else:  # none is left in this chunk: an undisturbed run has no such object
            self.target.delete([self.layout.key_around(FAILURE, index)])

    def _read(self) -> None:
        """Records and failures, and which blocks are whole."""
        for name, values in ((RECORD, self._records), (FAILURE, self._failures)):
            for key, where in self.layout.chunk_keys(name).items():
                data = self.target.get(key)
                if data is not None:
                    found = self.layout.decode(name, key, where, data)
                    if found is not None:  # a damaged one is written anew, when its blocks have been run again
                        values[where] = found
        sizes = np.zeros_like(self._records)
        for name in self.layout.variables:
            for chunk, size in self.target.sizes(name):
                if chunk != ROOT:
                    sizes[self.layout.block_of(chunk)] += size
        self._records[(self._records > 0) & (self._records != sizes)] = 0


def _refuse_another(place: str, attributes: dict[str, Any], study: Study) -> None:
    found, wanted = attributes["study"], study.config()
    if attributes["versions"]["feint"] != VERSION:
        raise ValueError(
            f"{place} was written by feint {attributes['versions']['feint']}, and this is {VERSION}, which may draw "
            "other numbers; choose another store, or go on with that version."
        )
    for name in sorted(set(found) | set(wanted)):
        if found.get(name) != wanted.get(name):
            raise ValueError(
                f"{place} holds another study: its {name} is {_short(found.get(name))}, not "
                f"{_short(wanted.get(name))}; choose another store."
            )


def _short(value: Any) -> str:
    words = json.dumps(value, ensure_ascii=False)
    return words if len(words) <= 60 else words[:57] + "…"
