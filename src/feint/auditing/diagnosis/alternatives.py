"""Why a claim was rejected: a second pass over the log, in which other claims are recomputed beside it."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.auditing.arms import LogArms
from feint.auditing.checks import Chunk, Times, check, group_ids
from feint.auditing.claim import Claim
from feint.auditing.diagnosis.weighing import Alternative, Diagnosis, diagnose
from feint.auditing.modes import Mode, RecomputedReference, make_mode
from feint.auditing.report import AuditReport
from feint.auditing.units import Units
from feint.families import Bernoulli, Gaussian
from feint.references import LinearThompsonSampling, ThompsonSampling


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
    limit = rows_looked_at(report.rejected_at, arms.n)
    pieces = _pieces(chunks, make_mode(mode, claim, arms), limit)
    log_pi, tested = _read(pieces, make_mode(mode, claim, arms))
    pulled, rows, groups, begins = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("arms", "rows", "groups", "begins")
    )
    tested[limit:] = False
    if not tested.any():
        return None
    instants = np.cumsum(begins)[tested]
    tested_begins = np.diff(instants, prepend=0) != 0
    alternatives = []
    for kind, words, other in _others(claim) if mode == RecomputedReference.NAME else ():
        try:
            its_log_pi, its_tested = _read(pieces, make_mode(mode, other, arms))
        except ValueError:
            continue  # it cannot be recomputed on this log
        its_log_pi = np.where(its_tested[:, None], its_log_pi, log_pi)[
            tested
        ]  # where it is silent nothing speaks for it
        log_e = _log_e_of(make_mode(mode, other, arms), pulled[tested], its_log_pi, groups[tested], tested_begins)
        stands = log_e.max(initial=0.0) < -math.log(report.alpha)
        alternatives.append(Alternative(kind, words + (", which would not be rejected" if stands else ""), its_log_pi))
    return diagnose(pulled[tested], log_pi[tested], rows[tested], arms.names(), alternatives)


def _others(claim: Claim) -> Iterator[tuple[str, str, Claim]]:
    """Yield claims that are often the true one, as (kind, words, claim)."""
    if not claim.timing.by_clock and claim.needs_rewards:
        for delay in (1, 10, 50):
            if delay != claim.delay:
                yield (
                    "late",
                    f"rewards known {delay} rows late",
                    replace(claim, delay=delay, batch=1),
                )
        for batch in (20, 100, 500):
            if batch != claim.batch:
                words = f"rewards known after every {batch} rows"
                yield "batched", words, replace(claim, delay=0, batch=batch)
        for discount in (0.9, 0.99, 0.999, 1.0):
            if discount != claim.discount:
                words = f"a discount of {discount:g} per row" if discount < 1 else "a past that does not fade"
                yield "discount", words, replace(claim, discount=discount)
    if isinstance(claim.reference, LinearThompsonSampling):
        for factor in (0.5, 2.0):
            sigma = claim.reference.sigma * factor
            yield "sigma", f"σ = {sigma:g}", replace(claim, reference=replace(claim.reference, sigma=sigma))
    if not isinstance(claim.reference, ThompsonSampling):
        return
    if isinstance(claim.family, Gaussian):
        for factor in (0.5, 2.0):
            sigma = claim.family.sigma * factor
            yield "sigma", f"σ = {sigma:g}", replace(claim, family=Gaussian(sigma))
        if claim.reference.prior is not None:
            yield "prior", "a flat prior", replace(claim, reference=ThompsonSampling())
        else:
            yield "prior", "the prior N(0, 1)", replace(claim, reference=ThompsonSampling((0.0, 1.0)))
    if isinstance(claim.family, Bernoulli):
        for prior in ((1.0, 1.0), (0.5, 0.5), (2.0, 2.0), (10.0, 10.0)):
            if prior != (claim.reference.prior or (1.0, 1.0)):
                words = f"the prior Beta({prior[0]:g}, {prior[1]:g})"
                yield "prior", words, replace(claim, reference=ThompsonSampling(prior))


def _pieces(chunks: Iterable[Chunk], mode: Mode, limit: int) -> list[_Piece]:
    """Return the first rows of a log that can be tested."""
    pieces: list[_Piece] = []
    ids: dict[str, int] = {}
    times, units = Times(), Units()
    for chunk in chunks:
        checked = check(chunk, mode.arms, mode.check, times)
        good = np.flatnonzero(checked.good)
        groups = group_ids(chunk, checked, ids)
        arms = chunk.arm.values[good].astype(np.int64)
        drawn, _ = units.draws(chunk, checked.good, arms, groups)
        pieces.append(_Piece(chunk, checked.good, arms, groups, chunk.rows[good], checked.begins, drawn))
        if sum(piece.rows.size for piece in pieces) >= limit:
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
