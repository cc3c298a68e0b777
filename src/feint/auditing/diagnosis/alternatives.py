"""Why a claim was rejected: a second pass over the log, in which other claims are recomputed beside it."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.auditing.arms import LogArms
from feint.auditing.available import read_available
from feint.auditing.claim import Claim
from feint.auditing.diagnosis.clip_limits import CLIP
from feint.auditing.diagnosis.expert_evidence import top_two
from feint.auditing.diagnosis.expert_families import Alternative
from feint.auditing.diagnosis.experts import HOLDOUT, POWER, Setting
from feint.auditing.diagnosis.log_rows import TestedRows, first_tested, read_claims
from feint.auditing.diagnosis.order import COIN
from feint.auditing.diagnosis.other_claims import (
    AVAILABLE,
    CONTROL,
    NAMES,
    STAGE,
    TOP_TWO,
    UNIT,
    OtherClaim,
    change_claim,
    control_share,
    other_claims,
    permuted_blocks,
    write_option,
)
from feint.auditing.diagnosis.pulls import RowsBefore
from feint.auditing.diagnosis.spare_columns import claims_of_column
from feint.auditing.diagnosis.weighing import UNCLEAR, Diagnosis, diagnose
from feint.auditing.modes import Mode, RecomputedReference, make_mode
from feint.auditing.report import AuditReport
from feint.auditing.row_checks import Chunk
from feint.auditing.units import Units
from feint.evidence.claim_table import read_claimed
from feint.evidence.serial_bet import order_pasts
from feint.references import ThompsonSampling
from feint.references.around import change_rows
from feint.references.base import reference_family
from feint.references.past import Timing

_TIMES, _FEWEST_ROWS, _FEWEST_CELLS, _MOST_CELLS = 4, 2_000, 24_000, 2_000_000
_DOUBLINGS = 2  # of the fewest rows, where these do not tell kinds apart
_AT_ONCE = 10_000  # instants that are tested at once where a test may end early
_CLEARLY = 10.0  # nats beyond which a claim whose probabilities are known to 1 % is rejected whatever they are


def rows_looked_at(rejected_at: int, n_arms: int) -> list[int]:
    """Return how many rows to look at: beyond the rejection, and most if few arms make kinds hard to tell apart. The
    further numbers are for logs in which so many rows settle no name.
    """
    fewest = max(_FEWEST_ROWS, _FEWEST_CELLS // n_arms)
    most = max(fewest, _MOST_CELLS // n_arms)
    found = [min(max(fewest, _TIMES * rejected_at), most)]
    while 2 * found[-1] <= min(2**_DOUBLINGS * fewest, most):
        found.append(2 * found[-1])
    return found


def explain_log(
    read: Callable[[], Iterable[Chunk]], claim: Claim, mode: str, arms: LogArms, report: AuditReport
) -> Diagnosis | None:
    """Return which kind of departure explains the log best; None if none of the rows looked at was tested. `read`
    returns the rows of the log, each time from the first.
    """
    assert report.rejected_at is not None
    diagnosis: Diagnosis | None = None
    for limit in rows_looked_at(report.rejected_at, arms.n):
        log = _ReadLog(read(), claim, mode, arms, limit, report.alpha)
        if log.tested.any():
            others = [log.recompute(other) for other in log.other_claims()]
            found = log.diagnose([other for other in others if other is not None])
            # More rows can hide what was clear in a few of them, but they do not unsay it.
            if diagnosis is None or found.kind != UNCLEAR or diagnosis.kind == UNCLEAR:
                diagnosis = found
        if log.is_whole or (diagnosis is not None and diagnosis.is_settled):
            break
    return diagnosis


class _ReadLog:
    """The rows of a log that are looked at, read under the claim and under others; the `Judge` of the diagnosis."""

    def __init__(
        self, chunks: Iterable[Chunk], claim: Claim, mode: str, arms: LogArms, limit: int, alpha: float
    ) -> None:
        self._claim, self._mode_name, self._arms = claim, mode, arms
        self._limit = -math.log(alpha)  # of log E
        self._exact: list[tuple[Setting, FloatArray]] = []
        self._recomputed = mode == RecomputedReference.NAME
        self._pieces = first_tested(chunks, make_mode(mode, claim, arms), limit)
        self._pulled, self._rows, self._groups, begins = (
            np.concatenate([getattr(piece, name) for piece in self._pieces])
            for name in ("arms", "rows", "groups", "begins")
        )
        masks = [piece.chunk.available[piece.good] for piece in self._pieces if piece.chunk.available is not None]
        self._available = np.concatenate(masks) if masks else None
        self.is_whole = self._rows.size < limit  # the log has no further rows
        self._order, self._first, _ = order_pasts(self._groups, begins)
        self._numbers = np.empty_like(self._order)
        self._numbers[self._order] = np.arange(self._order.size) - self._first
        # A posterior that is a function of what is known gives the probabilities of every delay and batch at once.
        self._is_shared = (
            self._recomputed
            and isinstance(claim.reference, ThompsonSampling)
            and claim.timing == Timing()
            and claim.burn_in is None
            and claim.names.available is None
        )
        read_as = replace(claim, initial_round=False) if self._is_shared else claim
        self._log_pi, self._known = read_claims(self._pieces, make_mode(mode, read_as, arms))
        self._after_first = self._numbers >= (arms.n if self._is_shared and claim.initial_round else 0)
        drawn = [np.ones(piece.arms.size, bool) if piece.drawn is None else piece.drawn for piece in self._pieces]
        self.tested = self._known & self._after_first & np.concatenate(drawn)
        self.tested[limit:] = False
        tested_begins = np.diff(np.cumsum(begins)[self.tested], prepend=0) != 0
        learns = self._recomputed and claim.needs_rewards and not claim.timing.by_clock
        self._past = RowsBefore(self._groups[self.tested], tested_begins, self._numbers[self.tested], learns)

    def other_claims(self) -> list[OtherClaim]:
        """Return the claims that might be the true ones, some of them after a look at the log."""
        claim, mode, arms = self._claim, self._mode_name, self._arms
        rewards = [piece.chunk.reward.values[piece.good] for piece in self._pieces if piece.chunk.reward is not None]
        binary = bool(rewards) and all(((some == 0) | (some == 1) | np.isnan(some)).all() for some in rewards)
        found = list(other_claims(claim, mode, arms, binary=binary))
        if not self._recomputed and (shares := self._constant_shares()) is not None:
            found += permuted_blocks(shares)
        if self._recomputed and arms.n > 2:
            arm, share = self._control()
            found += control_share(claim, arms.n, arm, share, arms.names()[arm])
        for name in self._pieces[0].chunk.spare:
            cells = [piece.chunk.spare[name][i] for piece in self._pieces for i in np.flatnonzero(piece.good)]
            found += claims_of_column(name, cells, self._pulled, self._groups, claim, mode, arms)
        return found

    def _constant_shares(self) -> tuple[float, ...] | None:
        """Return the probabilities of the arms, if they are the same in all rows."""
        tested = self._log_pi[self.tested]
        same = (abs(np.exp(tested) - np.exp(tested[0])) <= self._claim.tolerance).all()
        return tuple(np.exp(tested[0]).tolist()) if same else None

    def _control(self) -> tuple[int, float]:
        """Return the arm that was pulled most beyond expectation, and its share where it could be, with two digits."""
        pulls = np.bincount(self._pulled[self.tested], minlength=self._arms.n)
        expected = np.exp(self._log_pi[self.tested]).sum(axis=0)
        arm = int(((pulls - expected) / np.sqrt(np.maximum(expected, 1.0))).argmax())
        rows = pulls.sum() if self._available is None else self._available[self.tested, arm].sum()
        return arm, min(max(round(float(pulls[arm] / rows), 2), 0.01), 0.99)

    def _mode(self, setting: Setting, roughly: bool = False) -> Mode:
        """Return a new mode for the claim with this setting; a reference is recomputed, whatever was logged."""
        name = RecomputedReference.NAME if setting[0] in ("reference", COIN) else self._mode_name
        mode = make_mode(name, change_claim(self._claim, setting), self._arms)
        if isinstance(mode, RecomputedReference):
            mode.expected.roughly = roughly
        return mode

    def recompute(self, other: OtherClaim) -> Alternative | None:
        """Return another claim with its probabilities, rough if exact ones take long; None if it has none here."""
        is_rough = self._has_rough(other.setting)
        table = self._table(other.setting, is_rough)
        return None if table is None else Alternative(other.kind, other.words, table, other.setting, is_rough)

    def _has_rough(self, setting: Setting) -> bool:
        """Return whether P(best) takes long under this setting, but can be found quickly to about 1 %."""
        if not self._recomputed or (self._is_shared and setting[0] in ("delay", "batch", TOP_TWO)):
            return False
        try:
            mode = self._mode((AVAILABLE, AVAILABLE) if setting[0] == CONTROL else setting)
        except ValueError:
            return False
        return isinstance(mode, RecomputedReference) and mode.expected.has_rough

    def _table(self, setting: Setting, roughly: bool = False) -> FloatArray | None:
        """Return log π (n, K) of the claim with this setting; None where it cannot be recomputed on this log."""
        known_before = next((table for known, table in self._exact if known == setting), None)
        if known_before is not None:
            return known_before
        try:
            log_pi, known = self._read_as(setting, roughly)
        except ValueError:
            return None
        # Where it claims nothing, it neither gains nor loses.
        table = np.asarray(np.where(known[:, np.newaxis], log_pi, self._log_pi)[self.tested])
        if not roughly:
            self._exact.append((setting, table))
        return table

    def _read_as(self, setting: Setting, roughly: bool) -> tuple[FloatArray, BoolArray]:
        """Return (log π (n, K), known (n,)) of all rows under the claim with this setting."""
        name, value = setting
        if name in (POWER, CLIP, HOLDOUT) and (found := self._change(change_claim(self._claim, setting))) is not None:
            return found
        if name in ("delay", "batch") and self._is_shared:
            numbers = self._numbers[self._order]
            numbers = np.maximum(numbers - value, 0) if name == "delay" else numbers // value * value
            source = np.empty_like(self._order)
            source[self._order] = self._order[self._first + numbers]
            return self._log_pi[source], self._known[source] & self._after_first
        if name == TOP_TWO and self._is_shared:
            return top_two(self._log_pi, value), self._known & self._after_first
        if name == CONTROL:
            _, arm, share = value
            return self._read_with_control(arm, share, roughly)
        pieces = [self._with_column(piece, name, value) for piece in self._pieces] if name in NAMES else self._pieces
        log_pi, known = read_claims(pieces, self._mode(setting, roughly))
        if name == UNIT:
            units = Units()
            drawn = np.concatenate([units.draws(p.chunk, p.good, p.arms, p.groups)[0] for p in pieces])
            log_pi[~drawn] = np.where(np.eye(self._arms.n)[self._pulled[~drawn]] > 0, 0.0, -math.inf)
            known |= ~drawn
        return log_pi, known

    def _change(self, other: Claim) -> tuple[FloatArray, BoolArray] | None:
        """Return what `_read_as` returns, for a reference that wraps the claimed one, whose probabilities are known;
        None if it does not wrap it.
        """
        claim = self._claim
        is_around = getattr(other.reference, "reference", None) is claim.reference
        if not self._recomputed or not is_around or claim.burn_in is not None or claim.names.available is not None:
            return None
        known = self._known & self._after_first
        family, numbers = reference_family(claim.reference, claim.family), self._numbers[known]
        log_pi = self._log_pi.copy()
        log_pi[known] = change_rows(other.reference, family, numbers, log_pi[known])
        return log_pi, known

    def _with_column(self, piece: TestedRows, option: str, name: str) -> TestedRows:
        """Return some rows, with a spare column in the part that an option gives it."""
        cells = piece.chunk.spare[name]
        if option == AVAILABLE:
            return piece._replace(chunk=piece.chunk._replace(available=read_available(cells, self._arms, {})))
        part: dict[str, Any] = {"stages": cells} if option == STAGE else {"units": [cells]}
        return piece._replace(chunk=piece.chunk._replace(**part))

    def _read_with_control(self, arm: int, share: float, roughly: bool) -> tuple[FloatArray, BoolArray]:
        """Return (log π (n, K), known (n,)) where one arm has a fixed share: the others are drawn as if it were not
        available.
        """
        pieces, shared = [], []
        for piece in self._pieces:
            could = piece.chunk.available
            could = np.ones((piece.good.size, self._arms.n), dtype=bool) if could is None else could
            is_shared = could[:, arm] & (could.sum(axis=1) > 1)
            others = could.copy()
            others[is_shared, arm] = False
            pieces.append(piece._replace(chunk=piece.chunk._replace(available=others)))
            shared.append(is_shared[piece.good])
        log_pi, known = read_claims(pieces, self._mode((AVAILABLE, AVAILABLE), roughly))
        rows = np.concatenate(shared)
        log_pi[rows] += math.log1p(-share)
        log_pi[rows, arm] = math.log(share)
        return log_pi, known

    def diagnose(self, alternatives: Sequence[Alternative]) -> Diagnosis:
        """Return the diagnosis; settings that would not be rejected are written as options in it."""
        return diagnose(
            self._pulled[self.tested],
            self._log_pi[self.tested],
            self._rows[self.tested],
            self._arms.names(),
            alternatives,
            past=self._past,
            available=None if self._available is None else self._available[self.tested],
            judge=self,
        )

    def write_passing(self, setting: Setting) -> str:
        """Return how a claim with this setting is written, if it would not be rejected, and otherwise an empty text."""
        if setting[0] in (POWER, CLIP, HOLDOUT) and not (self._recomputed and self._claim.needs_rewards):
            return ""
        if setting[0] == "burn_in" and not self._recomputed:
            return ""
        table = self._table(setting)
        if table is None or self._is_refuted_by_shares(setting, table, self._limit):
            return ""
        mode = self._mode(setting)
        log_e = mode.test(self._pulled[self.tested], table, self._past.groups, self._past.begins)
        stands = log_e[np.append(self._past.begins[1:], True)].max(initial=0.0) < self._limit
        return write_option(self._claim, setting) if stands else ""

    def _is_refuted_by_shares(self, setting: Setting, table: FloatArray, limit: float) -> bool:
        """Return whether the bet on shares alone, which is the fastest, takes log E of a claim past a limit."""
        pulled, begins, mode = self._pulled[self.tested], self._past.begins, self._mode(setting)
        if np.isneginf(table[np.arange(pulled.size), pulled]).any():
            return True
        if mode.calibration is None:
            return False
        limit -= math.log(mode.stakes()["calibration"])
        for rows in np.split(np.arange(pulled.size), np.flatnonzero(begins)[_AT_ONCE::_AT_ONCE]):
            claimed = read_claimed(table[rows], mode.claim.within, mode.floor)
            mode.calibration.extend_prepared(pulled[rows], claimed, begins[rows])
            if mode.calibration.highest_log_e_value >= limit:
                return True
        return False

    def is_refuted(self, other: Alternative) -> bool:
        """Return whether another claim would clearly be rejected too, however rough it is."""
        assert other.setting is not None
        return self._is_refuted_by_shares(other.setting, other.log_pi, self._limit + _CLEARLY)

    def make_exact(self, other: Alternative) -> Alternative | None:
        """Return another claim with exact probabilities; None where it has none."""
        assert other.setting is not None
        table = self._table(other.setting)
        return None if table is None else other._replace(log_pi=table, is_rough=False)
