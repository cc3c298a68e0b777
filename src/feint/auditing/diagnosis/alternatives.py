"""Why a claim was rejected: a second pass over the log, in which other claims are recomputed beside it."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.checks import Chunk, Times, check, first_rows, group_ids
from feint.auditing.claim import Claim
from feint.auditing.diagnosis.experts import POWER, Setting
from feint.auditing.diagnosis.families import Alternative
from feint.auditing.diagnosis.order import COIN
from feint.auditing.diagnosis.other_claims import change_claim, other_claims, permuted_blocks, write_option
from feint.auditing.diagnosis.pulls import RowsBefore
from feint.auditing.diagnosis.weighing import Diagnosis, diagnose
from feint.auditing.modes import Mode, RecomputedReference, make_mode
from feint.auditing.report import AuditReport
from feint.auditing.units import Units
from feint.evidence.serial_bet import order_pasts


class _Piece(NamedTuple):
    """Some rows of a log that can be tested."""

    chunk: Chunk
    good: BoolArray
    arms: IntArray
    groups: IntArray
    rows: IntArray
    begins: BoolArray  # which rows begin an instant
    drawn: BoolArray | None  # all, if None: those that are not a later row of their unit


_TIMES, _FEWEST_ROWS, _FEWEST_CELLS, _MOST_CELLS = 4, 2_000, 24_000, 2_000_000


def rows_looked_at(rejected_at: int, n_arms: int) -> int:
    """Return how many rows to look at: more than to the rejection, and most where arms are few and hard to tell."""
    fewest = max(_FEWEST_ROWS, _FEWEST_CELLS // n_arms)
    return min(max(fewest, _TIMES * rejected_at), max(fewest, _MOST_CELLS // n_arms))


def explain_log(
    chunks: Iterable[Chunk], claim: Claim, mode: str, arms: LogArms, report: AuditReport
) -> Diagnosis | None:
    """Return which kind of departure explains the log best; None where no row is tested before too many."""
    assert report.rejected_at is not None
    log = _Log(chunks, claim, mode, arms, rows_looked_at(report.rejected_at, arms.n))
    if not log.tested.any():
        return None
    others = list(other_claims(claim, mode, arms))
    if mode != RecomputedReference.NAME and (shares := log.constant_shares()) is not None:
        others += permuted_blocks(shares)
    alternatives = []
    for kind, words, setting in others:
        table = log.recompute(setting)
        if table is not None:
            alternatives.append(Alternative(kind, words, table, setting))
    return log.diagnose(alternatives, report.alpha)


class _Log:
    """The rows of a log that are looked at, read under the claim and under others."""

    def __init__(self, chunks: Iterable[Chunk], claim: Claim, mode: str, arms: LogArms, limit: int) -> None:
        self._claim, self._mode_name, self._arms = claim, mode, arms
        self._pieces = _pieces(chunks, make_mode(mode, claim, arms), limit)
        self._log_pi, self.tested = _read(self._pieces, make_mode(mode, claim, arms))
        self.tested[limit:] = False
        self._pulled, self._rows, groups, begins = (
            np.concatenate([getattr(piece, name) for piece in self._pieces])
            for name in ("arms", "rows", "groups", "begins")
        )
        order, first, _ = order_pasts(groups, begins)
        numbers = np.empty_like(order)
        numbers[order] = np.arange(order.size) - first
        tested_begins = np.diff(np.cumsum(begins)[self.tested], prepend=0) != 0
        learns = mode == RecomputedReference.NAME and claim.needs_rewards and not claim.timing.by_clock
        self._past = RowsBefore(groups[self.tested], tested_begins, numbers[self.tested], learns)

    def constant_shares(self) -> tuple[float, ...] | None:
        """Return the probabilities of the arms, if they are the same in all rows."""
        tested = self._log_pi[self.tested]
        same = (abs(np.exp(tested) - np.exp(tested[0])) <= self._claim.tolerance).all()
        return tuple(np.exp(tested[0]).tolist()) if same else None

    def _mode(self, setting: Setting) -> Mode:
        """Return a new mode for the claim with this setting; a reference is recomputed, whatever was logged."""
        name = RecomputedReference.NAME if setting[0] in ("reference", COIN) else self._mode_name
        return make_mode(name, change_claim(self._claim, setting), self._arms)

    def recompute(self, setting: Setting) -> FloatArray | None:
        """Return log π of the claim with this setting; None where it cannot be recomputed on this log."""
        try:
            log_pi, tested = _read(self._pieces, self._mode(setting))
        except ValueError:
            return None
        # Where it is silent nothing speaks for it.
        return np.asarray(np.where(tested[:, np.newaxis], log_pi, self._log_pi)[self.tested])

    def diagnose(self, alternatives: Sequence[Alternative], alpha: float) -> Diagnosis:
        """Return the diagnosis, in which settings that would not be rejected at `alpha` are written as options."""
        pulled = self._pulled[self.tested]

        def judge(setting: Setting) -> str:
            if setting[0] == POWER and (self._mode_name != RecomputedReference.NAME or not self._claim.needs_rewards):
                return ""
            if setting[0] == "burn_in" and self._mode_name != RecomputedReference.NAME:
                return ""
            table = self.recompute(setting)
            if table is None:
                return ""
            log_e = _log_e_of(self._mode(setting), pulled, table, self._past.groups, self._past.begins)
            stands = log_e.max(initial=0.0) < -math.log(alpha)
            return write_option(self._claim, setting) if stands else ""

        return diagnose(
            pulled,
            self._log_pi[self.tested],
            self._rows[self.tested],
            self._arms.names(),
            alternatives,
            past=self._past,
            judge=judge,
        )


def _pieces(chunks: Iterable[Chunk], mode: Mode, limit: int) -> list[_Piece]:
    """Return the first rows of a log that can be tested."""
    pieces: list[_Piece] = []
    ids: dict[str, int] = {}
    times, units = Times(), Units()
    n_good = 0
    for chunk in chunks:
        checked = check(chunk, mode.arms, mode.check, times)
        good = np.flatnonzero(checked.good)
        if good.size > limit - n_good:  # the rest of a large chunk would be recomputed for every other claim
            good = good[: limit - n_good]
            n_kept = int(good[-1]) + 1
            chunk = first_rows(chunk, n_kept)
            checked = checked._replace(good=checked.good[:n_kept], begins=checked.begins[: good.size])
        groups = group_ids(chunk, checked, ids)
        arms = chunk.arm.values[good].astype(np.int64)
        drawn, _ = units.draws(chunk, checked.good, arms, groups)
        pieces.append(_Piece(chunk, checked.good, arms, groups, chunk.rows[good], checked.begins, drawn))
        n_good += good.size
        if n_good >= limit:
            break
    return pieces


def _read(pieces: list[_Piece], mode: Mode) -> tuple[FloatArray, BoolArray]:
    """Return (log π (n, K), tested (n,)) of all rows; 0 where nothing is claimed."""
    tables, masks = [], []
    for piece in pieces:
        log_pi, tested = mode.read(piece.chunk, piece.good, piece.arms, piece.groups)
        table = np.zeros((tested.size, mode.arms.n))
        table[tested] = log_pi
        tables.append(table)
        masks.append(tested if piece.drawn is None else tested & piece.drawn)
    return np.concatenate(tables), np.concatenate(masks)


def _log_e_of(mode: Mode, pulled: IntArray, log_pi: FloatArray, groups: IntArray, begins: BoolArray) -> FloatArray:
    """Return log E of a claim after each instant of these rows, without the bet on groups; ∞ if one is impossible."""
    if np.isneginf(log_pi[np.arange(pulled.size), pulled]).any():
        return np.array([math.inf])
    log_e: FloatArray = mode.test(pulled, log_pi, groups, begins)[np.append(begins[1:], True)]
    return log_e
