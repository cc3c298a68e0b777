r"""Is each arm pulled as often as claimed? A test of each arm, with no model of the deceiver; a confidence sequence.

**Test.** For arm a and a tilt λ of its log-odds, X = 1{A = a} and

    E ← E·exp(λX)/(1 + π_a·(e^λ − 1)),

the likelihood ratio of a coin whose odds are e^λ times those claimed. With tilts of both signs it notices an arm that
is pulled too often or too rarely, for whatever reason. Five sevenths of E are the mean of these ratios over arms and
tilts; small tilts have more weight, since most wrong splits are small. The rest is the mean of the bets 1 ± λ_k·(X −
π_a) with the λ_k of the confidence sequence below, whose supermartingales they exceed. So if an interval at level 2α/7
leaves out 0, then E ≥ 1/α. Wealth is kept as numbers in a common unit, not as logarithms, so a row costs only
multiplications. A pull of an arm with π_a = 0 refutes the claim without a test, but X − π_a is defined there too:
`refute` adds such pulls to the sums of the confidence sequence. Leaving them out because of what was pulled would bias
it.

**Confidence sequence.** Let p_t(a) be the agent's true probabilities, D_t = Σ (X − π_a) the excess of observed over
expected pulls, and V_t = Σ (X − π_a)². With X − π_a ≥ −1 and 0 ≤ λ < 1, exp(λξ − ψ(λ)ξ²) ≤ 1 + λξ for
ψ(λ) = −log(1 − λ) − λ (Fan, Grama & Liu 2015), so exp(λ·Σ(X − p) − ψ(λ)·V) is a supermartingale whatever p is
(Howard, Ramdas, McAuliffe & Sekhon 2021, Theorem 4), and so it is for the other sign. With a mixture over λ_k,

    |Σ (X − p)| ≤ u(V_t)  for all t,        u(V): mean_k exp(λ_k·u − ψ(λ_k)·V) = 2K/α,

for all arms at once with probability 1 − α. So Σ (p_t(a) − π_t(a)), the agent's true departure from its claim, lies in
D_t ± u(V_t) at all times.

**Within.** The claim may be that each arm's probability lies within a share w of π_a, and that the same holds for
all other arms together. It is then at most π_a + w·min(π_a, 1 − π_a), which replaces π_a for λ > 0; for λ < 0 the sign
is −. A bet is divided by 1 + λ_k·w·min(π_a, 1 − π_a), and Σ (p − π) may be as large as `allowed`, w·Σ min(π_a, 1 −
π_a). Where small probabilities were logged rounded (`floor`), `slack` has how far each may lie above and below.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.evidence.fixed_share import check_within
from feint.evidence.slack import ABOVE, BELOW, fill_slack
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import check_level
from feint.numerics.normal import exp_and_complement

_SIZES = np.array([0.003, 0.01, 0.03, 0.06, 0.12, 0.3, 1.0, 3.0])  # |λ|
_SIZE_WEIGHTS = np.array([0.02, 0.08, 0.3, 0.3, 0.15, 0.07, 0.05, 0.03])
_TILTS = np.concatenate([_SIZES, -_SIZES])
_WEIGHTS = np.concatenate([_SIZE_WEIGHTS, _SIZE_WEIGHTS]) / (2.0 * _SIZE_WEIGHTS.sum())
_EXP_TILTS, _EXPM1_TILTS = np.exp(_TILTS), np.expm1(_TILTS)
_MIXED = np.geomspace(0.9, 1e-4, 16)  # λ_k: optimal for V from 10 to 10⁹
_PSI = -np.log1p(-_MIXED) - _MIXED
_BETS = np.concatenate([_MIXED, -_MIXED])
BETS_SHARE = 2.0 / 7.0  # a fifth of the audit, so that its intervals hold with probability 1 − α/5
_LARGEST = 1e150  # wealth in the unit exp(scale)
_NEWTON_STEPS, _NEWTON_END = 100, 1e-13
_LOST = 1e-290
_SMALLEST = 1e-300  # stands for 0, and has a logarithm

OBSERVED, EXCESS, VARIANCE, ALLOWED = 0, 1, 2, 3  # rows of the sums


class _Wealth(NamedTuple):
    """What has been won so far, in the unit exp(scale)."""

    tilts: FloatArray  # (K, len(_TILTS))
    bets: FloatArray  # (K, len(_BETS))
    scale: FloatArray  # (1,)
    sums: FloatArray  # (4, K) see above


@kernel
def _test_rows(
    within: float,
    floor: float,
    slack: FloatArray,
    wealth: _Wealth,
    arms: IntArray,
    log_pi: FloatArray,
    log_e: FloatArray,
) -> None:
    """Test pulls; `slack` (2, K) is scratch space."""
    n_arms = wealth.tilts.shape[0]
    for i in range(arms.size):
        total = 0.0
        _fill_slack(floor, within, log_pi[i], slack)
        for a in range(n_arms):
            total += _update(slack[BELOW, a], slack[ABOVE, a], wealth, a, log_pi[i, a], a == arms[i])
        if total > _LARGEST or wealth.scale[0] > 1.0:
            total *= _change_unit(wealth, total)
        log_e[i] = math.log(max(total / n_arms, _SMALLEST)) + wealth.scale[0]


@part
def _change_unit(wealth: _Wealth, total: float) -> float:
    """Keep the total wealth within float64's range, and return the factor by which it changes.

    The unit rises and falls: rows of one instant that are sorted by arm raise E for a while, although it is not read
    there. Wealth below the range is lost. It must not stay at the smallest number, which is not small in a large unit.
    """
    factor = 1.0 / _LARGEST if total > _LARGEST else _LARGEST if total < 1.0 / _LARGEST else 1.0
    for a in range(wealth.tilts.shape[0]):
        for k in range(_TILTS.size):
            wealth.tilts[a, k] = factor * wealth.tilts[a, k] if wealth.tilts[a, k] > _LOST else 0.0
        for k in range(_BETS.size):
            wealth.bets[a, k] = factor * wealth.bets[a, k] if wealth.bets[a, k] > _LOST else 0.0
    wealth.scale[0] -= math.log(factor)
    return factor


@part
def _fill_slack(floor: float, within: float, log_pi: FloatArray, slack: FloatArray) -> None:
    """Fill `slack` (2, K) with how far each true probability may lie below and above the one claimed."""
    if floor > 0.0:
        fill_slack(floor, within, log_pi, slack)
        return
    for a in range(log_pi.size):
        allowed = 0.0
        if within > 0.0:
            p, rest = exp_and_complement(log_pi[a])
            allowed = within * min(p, rest)
        slack[BELOW, a] = slack[ABOVE, a] = allowed


@inlined
def _update(below: float, above: float, wealth: _Wealth, a: int, log_p: float, pulled: bool) -> float:
    """Test one arm and return its mean wealth."""
    p, rest = exp_and_complement(log_p)
    surprise = rest if pulled else -p
    wealth.sums[OBSERVED, a] += 1.0 if pulled else 0.0
    wealth.sums[EXCESS, a] += surprise
    wealth.sums[VARIANCE, a] += surprise * surprise
    wealth.sums[ALLOWED, a] += max(below, above)
    tilted, bet, half = 0.0, 0.0, _SIZES.size
    for k in range(_TILTS.size):
        expected = p + above if k < half else p - below
        wealth.tilts[a, k] *= (_EXP_TILTS[k] if pulled else 1.0) / (1.0 + expected * _EXPM1_TILTS[k])
        tilted += _WEIGHTS[k] * wealth.tilts[a, k]
    if below > 0.0 or above > 0.0:
        for k in range(_BETS.size):
            wealth.bets[a, k] /= 1.0 + abs(_BETS[k]) * (above if _BETS[k] > 0.0 else below)
    for k in range(_BETS.size):
        wealth.bets[a, k] *= 1.0 + _BETS[k] * surprise
        bet += wealth.bets[a, k]
    return (1.0 - BETS_SHARE) * tilted + BETS_SHARE * (bet / _BETS.size)


class Calibration(EProcess):
    """The test whether each arm is pulled as often as claimed.

    >>> test = Calibration(2)
    >>> for _ in range(40):
    ...     _ = test.update(1, np.log([0.9, 0.1]))
    >>> test.excess.round(9)
    array([-36.,  36.])
    >>> low, high = test.confidence_sequence(0.05)
    >>> bool(low[1] > 0)
    True
    """

    def __init__(self, n_arms: int, *, within: float = 0.0, floor: float = 0.0) -> None:
        super().__init__(n_arms)
        self.within, self.floor = check_within(within), float(floor)
        tilts, bets = (np.ones((self.n_arms, kinds.size)) for kinds in (_TILTS, _BETS))
        self._wealth = _Wealth(tilts, bets, np.zeros(1), np.zeros((4, self.n_arms)))

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "within", "floor")

    @property
    def observed(self) -> FloatArray:
        """The number of tested pulls of each arm, (K,)."""
        return self._wealth.sums[OBSERVED].copy()

    @property
    def excess(self) -> FloatArray:
        """D: observed minus expected pulls of each arm, (K,)."""
        return self._wealth.sums[EXCESS].copy()

    @property
    def allowed(self) -> FloatArray:
        """The largest Σ |p − π| that the claim allows for each arm, (K,)."""
        return self._wealth.sums[ALLOWED].copy()

    @property
    def strongest(self) -> tuple[int, float]:
        """The arm whose bets have won most, and its tilt λ that has won most."""
        tilts = _WEIGHTS * self._wealth.tilts
        arm = int(((1.0 - BETS_SHARE) * tilts.sum(axis=1) + BETS_SHARE * self._wealth.bets.mean(axis=1)).argmax())
        return arm, float(_TILTS[tilts[arm].argmax()])

    def confidence_sequence(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return (low, high) for Σ (p_t(a) − π_t(a)), valid for all arms at all times with probability 1 − α."""
        log_goal = math.log(2 * self.n_arms) - math.log(check_level(alpha, "alpha"))
        radius = _radius(self._wealth.sums[VARIANCE], log_goal)
        return self._wealth.sums[EXCESS] - radius, self._wealth.sums[EXCESS] + radius

    def refute(self, arms: IntArray, log_pi: FloatArray) -> None:
        """Count pulls (n,) of arms that the claim gives probability 0, with log π (n, K). The wealth stays as it is,
        since E is infinite.
        """
        p, rest = np.exp(log_pi), -np.expm1(log_pi)
        pulled = np.arange(self.n_arms) == arms[:, np.newaxis]
        surprise = np.where(pulled, rest, -p)
        allowed = self.within * np.minimum(p, rest)
        if self.floor:
            slack = np.empty((2, self.n_arms))
            for i, row in enumerate(log_pi):
                fill_slack(self.floor, self.within, row, slack)
                allowed[i] = slack.max(axis=0)
        for row, terms in (
            (OBSERVED, pulled),
            (EXCESS, surprise),
            (VARIANCE, surprise**2),
            (ALLOWED, allowed),
        ):
            self._wealth.sums[row] += terms.sum(axis=0)

    def _arrays(self) -> dict[str, Any]:
        return self._wealth._asdict()

    def _extend(self, arms: IntArray, log_pi: FloatArray, begins: BoolArray, log_e: FloatArray) -> None:
        # Products of fixed bets do not depend on the order of an instant's rows.
        _test_rows(self.within, self.floor, np.empty((2, self.n_arms)), self._wealth, arms, log_pi, log_e)


def _radius(variance: FloatArray, log_goal: float) -> FloatArray:
    """Return u(V) of every arm, at which the mixture reaches exp(log_goal).

    The logarithm of the mixture is increasing and convex in u, so Newton's method from above descends to the root.
    SciPy's `brentq` would handle one arm at a time and take a quarter of a second to import.
    """
    goal = math.log(_MIXED.size) + log_goal
    spent = _PSI * variance[:, np.newaxis]
    radius = ((goal + spent) / _MIXED).min(axis=1)  # a single λ reaches the goal no earlier than all of them together
    for _ in range(_NEWTON_STEPS):
        exponents = _MIXED * radius[:, np.newaxis] - spent
        top = exponents.max(axis=1)
        terms = np.exp(exponents - top[:, np.newaxis])
        step = (top + np.log(terms.sum(axis=1)) - goal) * terms.sum(axis=1) / (terms @ _MIXED)
        radius -= step
        if (step <= _NEWTON_END * radius).all():
            break
    return radius
