"""What caused a rejection: the bet that had won most at the row of rejection, and the rows and arms that it won by.

A second pass tests the rows up to the rejection again and keeps them, the latest 2·10⁶/K at most. This describes the
test that was made: unlike the diagnosis, it uses no row after the rejection, and names nothing that was not bet on.
"""

import math
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.auditing.auditor import Auditor
from feint.auditing.diagnosis.expert_evidence import tilted
from feint.auditing.modes import GROUPS_SHARE
from feint.auditing.modes.base import leader_sides
from feint.auditing.report import Cause
from feint.auditing.row_checks import Chunk, first_rows
from feint.evidence import BoostMixture
from feint.evidence.boost_mixture import nearly_boosted
from feint.references.scores import shares_of

_MOST_CELLS = 2_000_000
_MOST_ARMS = 3  # that a cause names


class _KeptRows(NamedTuple):
    """Rows that were tested."""

    rows: IntArray
    arms: IntArray
    groups: IntArray
    log_pi: FloatArray
    instants: IntArray


class _Replay(Auditor):
    """An audit that keeps the latest rows it tested."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.kept: deque[_KeptRows] = deque()

    def _test(self, rows: IntArray, arms: IntArray, groups: IntArray, log_pi: FloatArray, instants: IntArray) -> None:
        self.kept.append(_KeptRows(rows, arms, groups, log_pi, instants))
        while len(self.kept) > 1 and sum(piece.log_pi.size for piece in self.kept) > _MOST_CELLS:
            self.kept.popleft()
        super()._test(rows, arms, groups, log_pi, instants)


class _Won(NamedTuple):
    """A bet: what it was on in words, its arm if it has one, and the log of what each row multiplied it by."""

    words: str
    arm: int | None
    log_ratios: FloatArray
    begins_anew: bool = False  # whether it is a mixture over the row at which the bet begins


def find_cause(chunks: Iterable[Chunk], mode: Any, grouped: bool, rejected_at: int) -> Cause | None:
    """Return what caused the rejection at this row; None if that was a pull of probability 0. `mode` is a new one."""
    replay = _Replay(mode, grouped=grouped)
    for chunk in chunks:
        inside = int((chunk.rows <= rejected_at).sum())
        if inside:
            replay.feed(first_rows(chunk, inside))
        if inside < chunk.rows.size:
            break
    pieces = [np.concatenate([piece[i] for piece in replay.kept]) for i in range(len(_KeptRows._fields))]
    kept = _KeptRows(*pieces)
    pulled = kept.log_pi if kept.log_pi.ndim == 1 else kept.log_pi[np.arange(kept.arms.size), kept.arms]
    if np.isneginf(pulled[-1]):
        return None
    kept = _KeptRows(*(array[~np.isneginf(pulled)] for array in pieces))
    part, share = _strongest_part(replay)
    won = _WINNERS[part](replay, kept)
    first, last = (_last_stretch if won.begins_anew else _best_stretch)(won.log_ratios)
    stretch = slice(first, last + 1)
    arms: tuple[int, ...] = () if won.arm is None else (won.arm,)
    if won.arm is None:
        gains = np.bincount(kept.arms[stretch], won.log_ratios[stretch], mode.arms.n)
        arms = tuple(int(a) for a in np.argsort(-gains, kind="stable")[:_MOST_ARMS] if gains[a] > 0.0)
    return Cause(part, won.words, share, arms, int(kept.rows[first]), int(kept.rows[last]))


def _best_stretch(log_ratios: FloatArray) -> tuple[int, int]:
    """Return the first and the last of the rows next to each other that won most."""
    before = np.concatenate([[0.0], np.cumsum(log_ratios)])
    last = int((before[1:] - np.minimum.accumulate(before[:-1])).argmax())
    return last - int(before[: last + 1][::-1].argmin()), last


def _last_stretch(log_ratios: FloatArray) -> tuple[int, int]:
    """Return the row from which a bet up to the end won most, and the row at which it had won most since."""
    before = np.concatenate([[0.0], np.cumsum(log_ratios)])
    first = int(before[:-1].argmin())
    return first, first + int(before[first + 1 :].argmax())


def _strongest_part(replay: _Replay) -> tuple[str, float]:
    """Return the part of E that is largest, and its share of E."""
    stakes = replay.mode.stakes()
    log_groups = replay._groups.log_e_value
    if log_groups is not None:
        stakes = {name: (1.0 - GROUPS_SHARE) * share for name, share in stakes.items()} | {"groups": GROUPS_SHARE}
    logs = {name: math.log(stakes[name]) + log_e for name, log_e in replay.log_e_values().items()}
    part = max(logs, key=lambda name: logs[name])
    return part, math.exp(logs[part] - float(np.logaddexp.reduce(list(logs.values()))))


def _by_boosts(replay: _Replay, kept: _KeptRows) -> _Won:
    arm, size = replay.mode.boosts.strongest
    hit = kept.arms == arm
    kept = _of_pulled_arms(replay, kept)
    if isinstance(replay.mode.boosts, BoostMixture):
        log_p = kept.log_pi[:, arm]
        q = nearly_boosted(log_p, size)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(hit, np.log(q) - log_p, np.log1p(-q) - np.log(-np.expm1(log_p)))
        ratios = np.nan_to_num(ratios, neginf=-1e9)
    else:
        ratios = np.log1p(size * (np.where(hit, np.exp(-kept.log_pi), 0.0) - 1.0))
    return _Won(f"arm {replay.mode.arms.names()[arm]} was pulled more often than claimed", arm, ratios, True)


def _oftener(replay: _Replay, arm: int, tilt: float) -> tuple[int, float]:
    """Return the bet on the arm that is pulled more often: with two arms, away from one is towards the other."""
    return (1 - arm, -tilt) if replay.n_arms == 2 and tilt < 0 else (arm, tilt)


def _in_words(replay: _Replay, arm: int, tilt: float) -> str:
    often = "more often" if tilt > 0 else "more rarely"
    return f"arm {replay.mode.arms.names()[arm]} was pulled {often} than claimed"


def _tilt_ratios(kept: _KeptRows, arm: int, tilt: float) -> FloatArray:
    return tilted(np.exp(kept.log_pi[:, arm]), (kept.arms == arm).astype(float), tilt)


def _by_calibration(replay: _Replay, kept: _KeptRows) -> _Won:
    assert replay.mode.calibration is not None
    arm, tilt = _oftener(replay, *replay.mode.calibration.strongest)
    return _Won(_in_words(replay, arm, tilt), arm, _tilt_ratios(kept, arm, tilt))


def _by_groups(replay: _Replay, kept: _KeptRows) -> _Won:
    group, arm, tilt = replay._groups.strongest
    arm, tilt = _oftener(replay, arm, tilt)
    ratios = np.where(kept.groups == group, _tilt_ratios(kept, arm, tilt), 0.0)
    return _Won(f"in group {replay._groups.label(group)} {_in_words(replay, arm, tilt)}", arm, ratios)


def _by_serial(replay: _Replay, kept: _KeptRows) -> _Won:
    bet = replay.mode.serial.strongest
    kept = _of_pulled_arms(replay, kept)
    given = kept.arms, kept.log_pi, kept.groups, np.diff(kept.instants, prepend=-1) != 0
    known = replay.mode.serial.NEEDS_ALL_ARMS
    won = bet.log_ratios(*given) if known else bet.propensity_log_ratios(replay.n_arms, *given)
    return _Won(bet.words(), None, won)


def _of_pulled_arms(replay: _Replay, kept: _KeptRows) -> _KeptRows:
    """Return rows with log π of the pulled arms alone where probabilities are estimated: those bets use no other."""
    if replay.mode.shares is None:
        return kept
    return kept._replace(log_pi=kept.log_pi[np.arange(kept.arms.size), kept.arms])


def _by_shares(replay: _Replay, kept: _KeptRows) -> _Won:
    assert replay.mode.shares is not None
    arm, q = replay.mode.shares.strongest
    shares = shares_of(kept.log_pi)
    of = shares[:, -1].astype(np.int64) if arm is None else np.full(kept.arms.size, arm)
    words = _on_leader(q) if arm is None else _in_words(replay, arm, q)
    return _Won(words, arm, np.log1p(q * ((kept.arms == of) - shares[np.arange(of.size), of])))


def _by_leader(replay: _Replay, kept: _KeptRows) -> _Won:
    assert replay.mode.leader is not None
    side, tilt = replay.mode.leader.strongest
    others, log_sides = leader_sides(kept.arms, kept.log_pi)
    ratios = tilted(np.exp(log_sides[:, side]), (others == side).astype(float), tilt)
    return _Won(_on_leader(tilt if side == 0 else -tilt), None, ratios)


def _on_leader(tilt: float) -> str:
    return f"the likeliest arm was pulled {'more often' if tilt > 0 else 'more rarely'} than claimed"


_WINNERS = {
    "boosts": _by_boosts,
    "calibration": _by_calibration,
    "shares": _by_shares,
    "leader": _by_leader,
    "groups": _by_groups,
    "serial": _by_serial,
}
