"""The arms that could be drawn in each row, where others were down, sold out or not yet open.

A reference is recomputed among the available arms alone. Its method `among(arms)` returns what it is for these arms:
Thompson Sampling and its relatives, with contexts or without, compare draws of them alone, a softmax and ε-greedy look
only at their means, and the shares of a split are divided by their sum. A reference without that method is refused, but
one in plain Python that is not inside another is called as usual and sees `view.available`. A posterior of an arm that
could not be drawn is not needed. Logged probabilities must be 0 for arms that were not available.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms, label_of
from feint.references.base import among_arms, takes_contexts
from feint.references.recomputation import LogRows, Recomputation
from feint.references.regressions import Scores
from feint.references.scores import rows_of_shares
from feint.support.strict_json import parse_json

_LEAST = -700.0  # log π above which π is not 0


def read_available(cells: Any, arms: LogArms, malformed: dict[int, str]) -> BoolArray:
    """Return which arms could be drawn, (n, K), from lists of labels, lists written as text, or a table of booleans.
    Other cells are noted in `malformed`.
    """
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        if cells.shape[1] != arms.n:
            raise ValueError(f"`available` has {cells.shape[1]} columns for {arms.n} arms; give one per arm.")
        mask = cells.astype(bool)
        malformed.update(dict.fromkeys(np.flatnonzero(~mask.any(axis=1)).tolist(), "no arm was available"))
        return mask
    places = {arms.key(name): a for a, name in enumerate(arms.names())}
    mask = np.zeros((len(cells), arms.n), dtype=bool)
    for i, cell in enumerate(cells):
        labels = [arms.key(label) for label in _labels(cell, places)]
        unknown = next((label for label in labels if label not in places), None)
        if unknown is not None:
            malformed.setdefault(i, f"the available arms name {unknown!r}, which is none of the arms (`n_arms`)")
        elif not labels:
            malformed.setdefault(i, "no arm was available")
        mask[i, [places[label] for label in labels if label in places]] = True
    return mask


def _labels(cell: Any, known: dict[str, int]) -> list[str]:
    """Return the labels in a cell: a list, a JSON list, or labels with semicolons, commas or blanks between them."""
    found: Any = cell
    if isinstance(cell, str):
        try:
            found = parse_json(cell)
        except ValueError:
            found = cell
        if not isinstance(found, list):
            text = cell.strip()
            mark = next((mark for mark in ";," if mark in text), None)
            found = [text] if text in known else text.split(mark)
    if not isinstance(found, list | tuple | np.ndarray):
        found = [found]
    return [label for label in map(label_of, found) if label]


def _patterns(available: BoolArray, tested: BoolArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Yield the tested rows with the same available arms, and these arms."""
    packed = np.packbits(available, axis=1)
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    for pattern, row in enumerate(first.tolist()):
        yield np.flatnonzero((which.reshape(-1) == pattern) & tested), np.flatnonzero(available[row])


class AmongAvailable:
    """A reference that is recomputed among the available arms of each row."""

    def __init__(self, expected: Recomputation) -> None:
        self._expected = expected
        self._by_arms: dict[bytes, Recomputation] = {}
        if expected.is_own:
            return
        if expected.follows_order:  # the reference of some arms would see the order of their pulls alone
            raise ValueError(
                f"{type(expected.reference).__name__} cannot be recomputed where only some arms are available "
                "(`available`): it holds a reference in plain Python, or one that remembers the order of the pulls. "
                "Give one reference of your own that does it all and looks at view.available (docs/extending.md)."
            )
        among_arms(expected.reference, range(expected.n_arms))  # refuses what it cannot restrict

    def rows(self, log: LogRows, available: BoolArray) -> tuple[FloatArray, BoolArray]:
        """Return log π of the tested rows, and which rows these are, (n,), as `Recomputation.rows` does."""
        expected, group = self._expected, log.group
        if takes_contexts(expected.reference):
            numbers, scores = expected.learn_by_contexts(log, available)
            return self._by_scores(scores, group, numbers, available)
        known = expected.learn(*log[:5])
        tested = known.numbers >= expected.untested
        if expected.is_own:
            tested &= expected.has_probabilities(known, available)
            return expected.follow_plainly(known, group, log.arms, tested, available, log.contexts), tested
        table = np.full(available.shape, -math.inf)
        for rows, some in _patterns(available, tested):
            if some.size == 1:
                table[rows, some[0]] = 0.0
                continue
            reference = self._reference(some)
            its = known.at(rows).of(some)
            ready = reference.has_probabilities(its)
            tested[rows[~ready]] = False
            table[np.ix_(rows[ready], some)] = reference.log_pi(its.at(ready), group[rows[ready]])
        return table[tested], tested

    def _by_scores(
        self, scores: Scores, group: IntArray, numbers: IntArray, available: BoolArray
    ) -> tuple[FloatArray, BoolArray]:
        has_scores = scores.proper | (available.sum(axis=1) == 1)  # an arm that is alone needs none
        tested = has_scores & (numbers >= self._expected.untested)
        # Where the auditor draws for itself, there is a last column, which rows whose probabilities are known have too.
        draws = self._expected.draws is not None
        table = np.full((group.size, available.shape[1] + draws), -math.inf)
        for rows, some in _patterns(available, tested):
            found = np.zeros((rows.size, 1))
            is_drawn = False
            if some.size > 1:
                reference = self._reference(some)
                found = reference.log_pi_of_scores(scores.at(rows).of(some), group[rows], numbers[rows])
                is_drawn = reference.draws is not None
            if draws and not is_drawn:
                found = rows_of_shares(np.exp(np.maximum(found, _LEAST)))
            table[np.ix_(rows, some)] = found[:, : some.size]
            if draws:
                table[rows, -1] = some[found[:, -1].astype(np.int64)]
        return table[tested], tested

    def _reference(self, arms: IntArray) -> Recomputation:
        key = arms.tobytes()
        if key not in self._by_arms:
            whole = self._expected
            try:
                reference = among_arms(whole.reference, arms.tolist()) if arms.size < whole.n_arms else whole.reference
                self._by_arms[key] = Recomputation(
                    reference, whole.family, arms.size, initial_round=False, keeps_pairs=False
                )
            except ValueError as error:
                raise ValueError(f"Where only {arms.size} arms are available: {error}") from None
            self._by_arms[key].roughly = whole.roughly
        return self._by_arms[key]
