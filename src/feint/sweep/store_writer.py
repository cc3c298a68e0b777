"""The store of a study as its only writer sees it: what is in it, what is missing, and how blocks are written.

The chunks of a block are written before its record, so a record never stands for incomplete data. The record has the
mark of every chunk. So a chunk that was later cut, changed, deleted or exchanged is found when the store is opened
again, and its block then counts as missing.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from feint._types import BoolArray
from feint.support.progress import ticking
from feint.sweep.axes import CellIndex
from feint.sweep.checksums import DamageError
from feint.sweep.store_layout import FAILED, FAILURE, StoreLayout
from feint.sweep.store_root import RECORD, Root, check_objects, read_root
from feint.sweep.study import Study
from feint.sweep.target import ROOT, Target, target_of
from feint.version import VERSION

_LONG = 2**27  # bytes; verifying more than this shows a bar


class StoreWriter:
    """The writer of a study's store at a place; nothing is written before `writing`.

    With `verify`, every kept chunk is read; otherwise only sizes are checked. `progress` shows a bar where that takes
    long.
    """

    def __init__(
        self, place: "str | os.PathLike[str]", study: Study, *, verify: bool = True, progress: bool | None = False
    ) -> None:
        self.target = target_of(place)
        self.study = study = _with_its_labels(study, self.target)
        self.layout = StoreLayout(study)
        blocks = (*study.shape, self.layout.n_blocks)
        self._records: NDArray[np.int64] = np.zeros((*blocks, len(self.layout.variables), 2), dtype=np.int64)
        self._failures: NDArray[Any] = np.full(study.shape, "", dtype=object)
        self._damaged = False
        self._lost_records: list[CellIndex] = []
        self.exists = self.target.exists()
        if self.exists:
            recognised = self._check_fixed()
            self._read()
            if verify or not recognised:  # without a root, only checksums tell whose blocks these are
                self._drop_other_checksums(progress)
            else:
                self._drop_other_sizes()
            if not recognised and not (self._states > 0).any():
                raise ValueError(
                    f"{self.target}/{ROOT} is damaged or missing, and nothing beside it can be recognised as this "
                    "study's; choose another store."
                )

    @property
    def _states(self) -> NDArray[np.int64]:
        """Return the state of every block: 0 if it is missing, FAILED, or a size."""
        return self._records[..., 0, 0]

    def missing(self, retry_failed: bool = False) -> BoolArray:
        """Return which blocks are to be run, by (bandit, explorer, reference, epsilon, block)."""
        states = (0, FAILED) if retry_failed else (0,)
        return np.isin(self._states, states) & self.study.wanted[..., np.newaxis]

    @property
    def failed(self) -> list[tuple[CellIndex, str]]:
        """Return the cells with failed blocks, and why they failed."""
        found = map(tuple, np.argwhere((self._states == FAILED).any(axis=4)).tolist())
        return [(index, self._failures[index]) for index in found]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Lock the store for writing. Metadata, coordinates and records are made first, or repaired if damaged."""
        if not self.exists:
            self.target.create({**self.layout.fixed, **self.layout.encode_all_records(self._records)})
            self.exists = True
        with self.target.lock():
            if self._damaged:
                there = self.target.get_many(list(self.layout.fixed))
                self.target.put({key: data for key, data in self.layout.fixed.items() if there.get(key) != data})
            for index in self._lost_records:
                self.target.put(self.layout.encode_records(self._records, index))
            yield

    def write(self, index: CellIndex, first: int, values: dict[str, NDArray[Any]]) -> None:
        """Write whole blocks of a cell, from replication `first` on: chunks first, then the record."""
        size = self.layout.block
        count = len(next(iter(values.values())))
        for start in range(0, count, size):
            number = (first + start) // size
            block = {name: array[start : start + size] for name, array in values.items()}
            chunks = self.layout.encode_block(index, number, block)
            self.target.put(chunks)
            self._records[(*index, number)] = [self.layout.marker.mark(*chunk) for chunk in chunks.items()]
        self._record(index)

    def fail(self, index: CellIndex, first: int, last: int, message: str) -> None:
        """Record that replications first … last − 1 could not be run, and why."""
        size = self.layout.block
        self._records[index][first // size : -(-last // size)] = FAILED
        which = f"replication {first}" if last == first + 1 else f"replications {first} to {last - 1}"
        self._failures[index] = self._failures[index] or f"{which}: {message}"
        self._record(index)

    def _record(self, index: CellIndex) -> None:
        """Write what is known of a cell's blocks."""
        failing = bool((self._states[index] == FAILED).any())
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
        else:  # no failure is left in this chunk, and an undisturbed run has no such object
            self.target.delete([self.layout.key_around(FAILURE, index)])

    def _check_fixed(self) -> bool:
        """Look for damage in what no run changes, and refuse another study's store. Return whether the root confirms
        that the store is this study's.
        """
        try:
            root = read_root(self.target)
        except DamageError:
            self._damaged = True
            return False
        _refuse_another(str(self.target), root, self.study)
        self._damaged = any(True for _ in check_objects(self.target, root))
        return True

    def _read(self) -> None:
        """Read records and failures; blocks whose record is damaged are run again."""
        for name, values in ((RECORD, self._records), (FAILURE, self._failures)):
            for key, where in self.layout.chunk_keys(name).items():
                data = self.target.get(key)
                found = None if data is None else self.layout.decode(name, key, where, data)
                if found is not None:
                    values[where] = found
                elif name == RECORD:
                    self._lost_records.append(tuple(part.start for part in where[:4]))
        self._records[(self._states == FAILED) & (self._failures == "")[..., np.newaxis]] = 0

    def _drop_other_sizes(self) -> None:
        """Treat a block as missing if its chunks do not have the recorded sizes."""
        kept = np.argwhere(self._states > 0)
        for number, name in enumerate(self.layout.variables):
            sizes = {f"{name}/{chunk}": size for chunk, size in self.target.sizes(name)}
            for place in map(tuple, kept.tolist()):
                if sizes.get(self.layout.key_of(name, place)) != self._records[(*place, number, 0)]:
                    self._records[place] = 0

    def _drop_other_checksums(self, progress: bool | None) -> None:
        """Treat a block as missing if its chunks do not have the recorded checksums."""
        kept = np.argwhere(self._states > 0)
        total = int(self._records[self._states > 0][..., 0].sum())
        with ticking(progress if total > _LONG else False, "verifying", total, "B") as tick:
            for place in map(tuple, kept.tolist()):
                marks = [tuple(mark) for mark in self._records[place].tolist()]
                keys = [self.layout.key_of(name, place) for name in self.layout.variables]
                found = self.target.get_many(keys)
                if len(found) < len(keys) or [self.layout.marker.mark(key, found[key]) for key in keys] != marks:
                    self._records[place] = 0
                tick(sum(size for size, _ in marks))


def _with_its_labels(study: Study, target: Target) -> Study:
    """Return the study with the labels of its store, if there is one whose root can be read."""
    try:
        return study.labelled_as(read_root(target).study) if target.exists() else study
    except DamageError:
        return study


def _refuse_another(place: str, root: Root, study: Study) -> None:
    found, wanted = root.study, study.config()
    if root.versions["feint"] != VERSION:
        raise ValueError(
            f"{place} was written by feint {root.versions['feint']}, and this is {VERSION}, which may draw "
            "other numbers; choose another store, or continue with that version."
        )
    # Checkpoints follow from the horizon where none were given: what was changed is named first.
    for name in sorted(set(found) | set(wanted), key=lambda name: (name == "checkpoints", name)):
        if found.get(name) != wanted.get(name):
            difference = _difference(name, found.get(name), wanted.get(name))
            raise ValueError(f"{place} holds another study: its {difference}; choose another store.")


def _difference(name: str, found: Any, wanted: Any) -> str:
    """Return in a clause where two settings first differ."""
    if isinstance(found, list) and isinstance(wanted, list):
        for i, (one, other) in enumerate(zip(found, wanted, strict=False)):
            if one != other:
                return _difference(f"{name}[{i}]", one, other)
        return f"{name} has {len(found)} entries, not {len(wanted)}"
    if isinstance(found, dict) and isinstance(wanted, dict):
        if set(found) != set(wanted):
            return _difference(name, sorted(found), sorted(wanted))
        key = next(key for key in found if found[key] != wanted[key])
        return _difference(f"{name}.{key}", found[key], wanted[key])
    return f"{name} is {_first_words(found)}, not {_first_words(wanted)}"


def _first_words(value: Any) -> str:
    words = json.dumps(value, ensure_ascii=False)
    return words if len(words) <= 60 else words[:57] + "…"
