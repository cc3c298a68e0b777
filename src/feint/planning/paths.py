r"""Paths of the agent in leaps: what `simulate` does step by step, in a hundred pieces whatever the horizon.

A leap of m steps holds the step's probabilities fixed and draws how often each arm is pulled, and what it paid:

1. *Probabilities.* π at the sample means of the public rewards and the pulls expected in the middle of the leap (those
   now, plus half a leap at the last rates: so the error is of second order in the leap's length); w, the shares of
   boosts, from the private posterior now; q*(π_b) for every b; p_a = Σ_b w_b·q^b(a), all by the exact kernels.
2. *Length.* The largest m in which no arm is expected to gain more than `_GROWTH` of its pulls (or `_LEAST` of a pull,
   if that is more). While observers are followed, the divergence Σ p·log(p/π) of a leap is at most `_NATS`, too, unless
   that is less than `_SLOWEST` of the time so far, which matters only to observers who notice late. A leap of one step
   is a step of the agent, exactly; the first ones all are.
3. *Pulls.* Binomial numbers, one arm after the other, by inversion (beyond `_MANY` expected: a rounded normal number).
4. *Rewards.* One by one up to `_SINGLY` pulls of an arm; beyond, a normal number with the mean and the variance of
   their sum. They come in pieces of about one pull of an arm other than the most likely one, and after each the
   posterior error is compared with δ, exactly (`_is_sure`).

The draws of path i come from Philox by (i, leap, arm), so that paths are the same every time, and plans of nearly the
same budget follow nearly the same paths.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint.budgets import epsilon_at
from feint.evidence.boost_mixture import Bets
from feint.evidence.fixed_share import forget
from feint.explorers.base import View, fill_shares
from feint.families.base import Belief, divergence_to, draw_reward, fill_log_best, inside, set_posterior
from feint.numerics._jit import inlined, kernel, part, sealed
from feint.numerics._validate import FloatArray
from feint.numerics.best_arm_rows import complete_logs
from feint.numerics.boost_kernel import bernoulli_kl, boost_scalar
from feint.numerics.streams import Word, WordArray, normal_pair, philox, uniform
from feint.planning.alarm import bet_leap

_SEED = np.uint64(0x706C616E)  # "plan": a seed of its own
_ZERO, _ONE = np.uint64(0), np.uint64(1)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31 = np.uint64(30), np.uint64(27), np.uint64(31)
_GROWTH = 0.15
_LEAST = 0.3
_NATS, _SLOWEST = 0.1, 0.03
_SIEGMUND = 0.5826  # −ζ(½)/√(2π), Siegmund (1985)
_MANY = 25.0
_SINGLY = 12.0
_PIECES = 45.0

_STALE = 0.7  # a leap that turns out to be longer than this part of it allows is made shorter

# Entries of `out`, before the K pulls and K boosts at the end. FLOOR and ALARM are followed by the error at that time.
STOPPED, SPENT, FLOOR, FLOOR_ERROR, ALARM, ALARM_ERROR, LOG_RATIO, LOG_E, DIVERGENCE = range(9)
FIXED = 9
# Rows of `Space.arms` (ROWS, K).
PULLS, PUBLIC, PRIVATE, BOOSTS, RATE, PI, LOG_PI, LOG_BEST, SHARE, COUNT, OFFSET, LIFTED = range(12)
ROWS = 12


@inlined
def _word(key: Word, index: int) -> Word:
    """The index-th of many words from one of Philox: SplitMix64 (Steele, Lea & Flood 2014), in a third of its time."""
    z = key + np.uint64(index + 1) * _GOLDEN
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


class Task(NamedTuple):
    """What all paths have in common; arrays (K,)."""

    explorer: Any
    budget: Any
    means: FloatArray  # (2, K) public, private
    spreads: FloatArray  # (2, K) standard deviations of a reward
    ends: FloatArray  # (2, 2) of the range of the means
    best: int  # the best private arm
    delta: float  # the error to stop at; 0: never
    horizon: float
    last: float  # the last pull that has a budget
    keeps_shares: bool  # at `weights`, whatever the explorer: so that one kernel serves both
    weights: FloatArray
    watching: bool
    threshold: float  # log(1/α)
    checkpoints: FloatArray  # (C,)
    least: float  # evidence against every rival, without which the error is above δ


class Space(NamedTuple):
    """Of one thread."""

    arms: FloatArray
    keys: WordArray  # (K,) of the rewards of one leap
    scratch: FloatArray  # of the explorer
    middle: Belief  # public, in the middle of a leap
    private: Belief
    bets: Bets  # of the observer
    gains: FloatArray  # (J, M) scratch of its test


@sealed
def _set_rates(task: Task, s: Space, t: float, steps: float) -> tuple[float, float]:
    """Probabilities of a step of the coming leap into RATE. Returns Σ p·log(p/π), and the KL that a step spends."""
    arms, n = s.arms, s.arms.shape[1]
    for a in range(n):
        ahead = 0.5 * (steps - 1.0) * arms[RATE, a]
        s.middle.pulls[a] = arms[PULLS, a] + ahead
        s.middle.sums[a] = arms[PUBLIC, a] * ((arms[PULLS, a] + ahead) / arms[PULLS, a])
        set_posterior(s.middle.family, s.middle, a)
    _fill_best(s.middle, arms[LOG_PI])
    complete_logs(arms[LOG_PI], arms[PI])
    epsilon = epsilon_at(task.budget, int(t + 0.5 * (steps - 1.0)) + 1)
    left, spent = 0.0, 0.0
    for b in range(n):
        q = boost_scalar(arms[PI, b], arms[LOG_PI, b], epsilon, True) if arms[SHARE, b] > 0.0 else arms[PI, b]
        rest = -math.expm1(arms[LOG_PI, b])
        arms[LIFTED, b] = q
        arms[RATE, b] = arms[SHARE, b] * ((1.0 - q) / rest if rest > 0.0 else 0.0)
        left += arms[RATE, b]
        spent += arms[SHARE, b] * bernoulli_kl(q, arms[PI, b], arms[LOG_PI, b])
    divergence = 0.0
    for a in range(n):
        p = arms[SHARE, a] * arms[LIFTED, a] + arms[PI, a] * (left - arms[RATE, a])
        arms[RATE, a] = p
        if p > 0.0:
            divergence += p * (math.log(p) - arms[LOG_PI, a])
    return max(0.0, divergence), spent


@sealed
def _set_shares(task: Task, s: Space, t: float) -> None:
    """The private posterior, and with which probability it lets each arm be boosted."""
    arms = s.arms
    if task.keeps_shares:
        for a in range(arms.shape[1]):
            arms[SHARE, a] = task.weights[a]
        return
    _set_private(s)
    means, family = s.private.means, s.private.family
    for a in range(arms.shape[1]):
        means[a] = arms[PRIVATE, a] / arms[PULLS, a]
    view = View(int(t), arms[PULLS], arms[BOOSTS], means, means, family, family, s.scratch, s.private)
    fill_shares(task.explorer, view, arms[LOG_BEST], arms[SHARE])


@part
def _take_turns(s: Space) -> None:
    """Shares that are kept without drawing: one step boosts the arm furthest behind (`FixedBoosting`)."""
    arms, n = s.arms, s.arms.shape[1]
    made = 1.0
    for a in range(n):
        made += arms[BOOSTS, a]
    chosen = 0
    for a in range(1, n):
        ahead = made * (arms[SHARE, a] - arms[SHARE, chosen]) - (arms[BOOSTS, a] - arms[BOOSTS, chosen])
        if ahead > 0.0:
            chosen = a
    for a in range(n):
        arms[SHARE, a] = 1.0 if a == chosen else 0.0


@sealed
def _fill_best(belief: Belief, log_best: FloatArray) -> None:
    """log P(a is the best), in one place: it is most of what there is to compile."""
    fill_log_best(belief.family, belief.posterior, belief.ws, log_best)


@part
def _set_private(s: Space) -> None:
    """The private posterior into LOG_BEST."""
    for a in range(s.arms.shape[1]):
        s.private.pulls[a] = s.arms[PULLS, a]
        s.private.sums[a] = s.arms[PRIVATE, a]
        set_posterior(s.private.family, s.private, a)
    _fill_best(s.private, s.arms[LOG_BEST])


@inlined
def _length(task: Task, s: Space, t: float, until: float, divergence: float) -> float:
    """Steps of the coming leap at the rates of the last one, and at its divergence if observers are followed."""
    longest = until - t
    if divergence * longest > _NATS:
        longest = min(longest, max(_NATS / divergence, _SLOWEST * t))
    if t < task.last:
        longest = min(longest, task.last - t)
    for a in range(s.arms.shape[1]):
        gain = max(_LEAST, _GROWTH * s.arms[PULLS, a])
        if s.arms[RATE, a] * longest > gain:
            longest = gain / s.arms[RATE, a]
    return max(1.0, math.floor(longest))


@sealed
def _binomial(n: float, p: float, u: float, normal: float) -> float:
    """How many of n."""
    if p >= 1.0:
        return n
    mean = n * p
    if mean > _MANY:
        return min(n, max(0.0, math.floor(mean + math.sqrt(mean * (1.0 - p)) * normal + 0.5)))
    chance = math.exp(n * math.log1p(-p))
    odds = p / (1.0 - p)
    k = 0.0
    while u >= chance and k < n:
        u -= chance
        chance *= (n - k) / (k + 1.0) * odds
        k += 1.0
        if k > mean and chance < 1e-17:
            break
    return k


@sealed
def _draw_counts(s: Space, path: Word, leap: Word, steps: float) -> int:
    """How often each arm is pulled, into COUNT; returns the likeliest arm, which gets what remains."""
    arms, n = s.arms, s.arms.shape[1]
    likeliest = 0
    for a in range(1, n):
        if arms[RATE, a] > arms[RATE, likeliest]:
            likeliest = a
    left, chance = steps, 1.0
    for a in range(n):
        w0, w1, w2, w3 = philox(leap, np.uint64(a), _ZERO, _ZERO, _SEED, path)
        s.keys[a] = w3
        arms[OFFSET, a] = uniform(_word(w3, 0))
        if a != likeliest:
            normal, _ = normal_pair(w0, w1)
            share = min(1.0, arms[RATE, a] / chance) if chance > 0.0 else 0.0
            arms[COUNT, a] = _binomial(left, share, uniform(w2), normal) if left > 0.0 else 0.0
            left -= arms[COUNT, a]
            chance -= arms[RATE, a]
    arms[COUNT, likeliest] = left
    return likeliest


@inlined
def _kept(total: float, pulls: float, ends: FloatArray, side: int) -> float:
    """A sum of rewards inside the family's range."""
    return min(ends[side, 1] * pulls, max(ends[side, 0] * pulls, total))


@sealed
def _pull(task: Task, s: Space, a: int, piece: int, pieces: int) -> None:
    """The pulls of arm a in one piece of a leap."""
    arms = s.arms
    count = arms[COUNT, a]
    if count > _SINGLY:
        made = count / pieces
        first, second = normal_pair(_word(s.keys[a], 2 * piece + 1), _word(s.keys[a], 2 * piece + 2))
        root = math.sqrt(made)
        arms[PULLS, a] += made
        public = arms[PUBLIC, a] + made * task.means[0, a] + root * task.spreads[0, a] * first
        private = arms[PRIVATE, a] + made * task.means[1, a] + root * task.spreads[1, a] * second
        arms[PUBLIC, a] = _kept(public, arms[PULLS, a], task.ends, 0)
        arms[PRIVATE, a] = _kept(private, arms[PULLS, a], task.ends, 1)
        return
    before = math.floor(count * piece / pieces + arms[OFFSET, a])
    after = math.floor(count * (piece + 1) / pieces + arms[OFFSET, a])
    for pull in range(int(before), int(after)):
        place = 4 * pull + 1
        first, second = normal_pair(_word(s.keys[a], place), _word(s.keys[a], place + 1))
        arms[PULLS, a] += 1.0
        arms[PUBLIC, a] += draw_reward(s.middle.family, task.means[0, a], first, uniform(_word(s.keys[a], place + 2)))
        arms[PRIVATE, a] += draw_reward(
            s.private.family, task.means[1, a], second, uniform(_word(s.keys[a], place + 3))
        )


@sealed
def _is_sure(task: Task, s: Space) -> bool:
    """Whether the posterior error is at most δ.

    It is at least that against any one rival a, which for normal rewards is Φ(−√(2E_a)), E_a the evidence between a and
    the leader: while some E_a is below `least`, the agent is not sure. Beyond, the exact posterior decides.
    """
    arms, n, family = s.arms, s.arms.shape[1], s.private.family
    leader = 0
    for a in range(1, n):
        if arms[PRIVATE, a] * arms[PULLS, leader] > arms[PRIVATE, leader] * arms[PULLS, a]:
            leader = a
    top = inside(family, arms[PRIVATE, leader] / arms[PULLS, leader], arms[PULLS, leader])
    for a in range(n):
        if a != leader:
            mean = min(top, inside(family, arms[PRIVATE, a] / arms[PULLS, a], arms[PULLS, a]))
            share = arms[PULLS, a] / (arms[PULLS, a] + arms[PULLS, leader])
            down = divergence_to(family, top, -(top - mean) * share)
            up = divergence_to(family, mean, (top - mean) * (1.0 - share))
            if arms[PULLS, leader] * down + arms[PULLS, a] * up < task.least:
                return False
    return _log_error(s, -1) <= math.log(task.delta)


@sealed
def _log_error(s: Space, best: int) -> float:
    """log P(the best private arm is another than `best`), exactly; of the likeliest arm where that is −1."""
    arms, n = s.arms, s.arms.shape[1]
    _set_private(s)
    if best < 0:
        best = 0
        for a in range(1, n):
            if arms[LOG_BEST, a] > arms[LOG_BEST, best]:
                best = a
    top = -math.inf
    for a in range(n):
        if a != best:
            top = max(top, arms[LOG_BEST, a])
    total = 0.0
    for a in range(n):
        if a != best:
            total += math.exp(arms[LOG_BEST, a] - top)
    return top + math.log(total)


@part
def _begin(task: Task, s: Space, path: Word, out: FloatArray) -> None:
    """The initial round: every arm once, and nobody tests it."""
    arms = s.arms
    for i in range(out.size):
        out[i] = 0.0
    out[STOPPED], out[FLOOR], out[ALARM] = math.nan, math.nan, math.nan
    for a in range(arms.shape[1]):
        for row in range(ROWS):
            arms[row, a] = 0.0
        arms[COUNT, a] = 1.0
        s.keys[a], _, _, _ = philox(_ZERO, np.uint64(a), _ZERO, _ZERO, _SEED, path)
        _pull(task, s, a, 0, 1)
    if task.watching:
        forget(s.bets.experts)


@sealed
def _leap(task: Task, s: Space, path: Word, leap: Word, t: float, until: float, out: FloatArray) -> float:
    """One leap, not beyond `until`; returns when it ended, or −1 where the agent became sure in it."""
    arms, n = s.arms, s.arms.shape[1]
    _set_shares(task, s, t)
    watched = task.watching and (math.isnan(out[FLOOR]) or math.isnan(out[ALARM]))
    steps = _length(task, s, t, until, out[DIVERGENCE] if watched else 0.0) if t > n else 1.0
    if steps == 1.0 and task.keeps_shares:
        _take_turns(s)
    divergence, cost = _set_rates(task, s, t, steps)
    shorter = _length(task, s, t, until, divergence if watched else 0.0)
    if shorter < _STALE * steps:
        steps = shorter
        divergence, cost = _set_rates(task, s, t, steps)
    out[DIVERGENCE] = divergence
    likeliest = _draw_counts(s, path, leap, steps)
    pieces = int(min(_PIECES, max(1.0, steps - arms[COUNT, likeliest]))) if task.delta > 0.0 else 1
    for piece in range(pieces):
        for a in range(n):
            if arms[COUNT, a] > 0.0:
                _pull(task, s, a, piece, pieces)
        if task.delta > 0.0 and _is_sure(task, s):
            steps = math.ceil(steps * (piece + 0.5) / pieces)  # a pull lies somewhere in its piece
            out[STOPPED] = t + steps
            break
    out[SPENT] += steps * cost
    for a in range(n):
        arms[BOOSTS, a] += steps * arms[SHARE, a]
    return t + steps


@sealed
def _watch(task: Task, s: Space, before: float, t: float, out: FloatArray) -> None:
    """What the leap told the observers, and whether one of them raises the alarm."""
    arms, told = s.arms, 0.0
    for a in range(arms.shape[1]):
        if arms[COUNT, a] > 0.0:
            told += arms[COUNT, a] * (math.log(arms[RATE, a]) - arms[LOG_PI, a])
    log_e = bet_leap(s.bets, arms[LOG_PI], arms[COUNT], s.gains)
    # Looked at after a leap, a walk is caught later than after each step: by Siegmund's 0.58 of a leap's spread, whose
    # square is twice its divergence, less the same of a step.
    missed = _SIEGMUND * math.sqrt(2.0 * out[DIVERGENCE]) * (math.sqrt(t - before) - 1.0)
    _raise_alarm(task, s, before, t, out[LOG_RATIO], out[LOG_RATIO] + told, missed, out[FLOOR:])
    _raise_alarm(task, s, before, t, out[LOG_E], log_e, missed, out[ALARM:])
    out[LOG_RATIO] += told
    out[LOG_E] = log_e


@inlined
def _raise_alarm(
    task: Task, s: Space, before: float, t: float, last: float, now: float, missed: float, out: FloatArray
) -> None:
    """The time and the posterior error of the first alarm."""
    threshold = task.threshold - missed
    if math.isnan(out[0]) and now >= threshold:
        part = (threshold - last) / (now - last) if last < threshold else 0.5
        out[0] = max(before + 1.0, math.ceil(before + (t - before) * part))
        out[1] = _log_error(s, task.best)


@part
def _walk(task: Task, s: Space, path: Word, out: FloatArray, course: FloatArray) -> None:
    """One path: `out` (FIXED + 2K,) at its end, `course` (C, 4 + K) at the checkpoints."""
    arms, n = s.arms, s.arms.shape[1]
    _begin(task, s, path, out)
    t, leap, row = float(n), _ZERO, 0
    while t < task.horizon:
        leap += _ONE
        until = task.checkpoints[row] if row < task.checkpoints.size else task.horizon
        before = t
        t = _leap(task, s, path, leap, before, until, out)
        if task.watching:
            _watch(task, s, before, t, out)
        while row < task.checkpoints.size and t >= task.checkpoints[row]:
            course[row, 0], course[row, 1] = _log_error(s, task.best), out[LOG_RATIO]
            course[row, 2], course[row, 3] = out[LOG_E], out[SPENT]
            for a in range(n):
                course[row, 4 + a] = arms[PULLS, a]
            row += 1
        alarmed = task.watching and not (math.isnan(out[FLOOR]) or math.isnan(out[ALARM]))
        if not math.isnan(out[STOPPED]) or (alarmed and row == task.checkpoints.size):
            break
    for a in range(n):
        out[FIXED + a] = arms[PULLS, a]
        out[FIXED + n + a] = arms[BOOSTS, a]


@kernel
def walk_all(task: Task, s: Space, first: int, out: FloatArray, course: FloatArray) -> None:
    """Paths first, first + 1, …"""
    for i in range(out.shape[0]):
        _walk(task, s, np.uint64(first + i), out[i], course[i])
