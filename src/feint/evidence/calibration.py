r"""Is each arm pulled as often as claimed? A test of each arm, with no model of the deceiver; a confidence sequence.

**Test.** For arm a and a tilt λ of its log-odds, X = 1{A = a} and

    E ← E·exp(λX)/(1 + π_a·(e^λ − 1)),

the likelihood ratio of a coin whose odds are e^λ times those claimed. With tilts of both signs it notices an arm that
is pulled too often or too rarely, for whatever reason. Five sevenths of E are the mean of these ratios over arms and
tilts; small tilts have more weight, since most wrong splits are small. The rest is the mean of the bets 1 ± λ_k·(X −
π_a) with the λ_k of the confidence sequence below, whose supermartingales they exceed. So if an interval at level 2α/7
leaves out 0, then E ≥ 1/α. Wealth is kept as numbers in a common unit, not as logarithms, and what multiplies it is
computed once per claim (`claimed`), so a row costs only multiplications. A pull of an arm with π_a = 0 refutes the
claim without a test, but X − π_a is defined there too: `refute` adds such pulls to the sums of the confidence sequence.
Leaving them out because of what was pulled would bias it.

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
π_a). Where small probabilities were logged rounded (`floor`), `slack` tells how far each may lie above and below.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import BoolArray, FloatArray, IntArray
from feint.evidence.base import EProcess
from feint.evidence.claim_table import ABOVE, BELOW, NOWHERE, REST, Claimed, P, read_claimed
from feint.evidence.fixed_share import check_within
from feint.evidence.wealth import SCALE, settle_total
from feint.numerics._jit import kernel, part
from feint.numerics._validate import check_level
from feint.numerics.sums import sum_products

_SIZES = np.array([0.003, 0.01, 0.03, 0.06, 0.12, 0.3, 1.0, 3.0])  # |λ|
_SIZE_WEIGHTS = np.array([0.02, 0.08, 0.3, 0.3, 0.15, 0.07, 0.05, 0.03])
_TILTS = np.concatenate([_SIZES, -_SIZES])
_WEIGHTS = np.concatenate([_SIZE_WEIGHTS, _SIZE_WEIGHTS]) / (2.0 * _SIZE_WEIGHTS.sum())
_MIXED = np.geomspace(0.9, 1e-4, 16)  # λ_k: optimal for V from 10 to 10⁹
_PSI = -np.log1p(-_MIXED) - _MIXED
_BETS = np.concatenate([_MIXED, -_MIXED])
BETS_SHARE = 2.0 / 7.0  # a fifth of the audit, so that its intervals hold with probability 1 − α/5
_SIZES_OF_BETS = np.concatenate([np.expm1(_TILTS), _BETS])  # e^λ − 1, and ±λ_k
_SHARES = np.concatenate([(1.0 - BETS_SHARE) * _WEIGHTS, np.full(_BETS.size, BETS_SHARE / _BETS.size)])
_NEWTON_STEPS, _NEWTON_END = 100, 1e-13

OBSERVED, EXCESS, VARIANCE, ALLOWED = range(4)  # places in the sums of an arm
_N_SUMS = 4


class _Wealth(NamedTuple):
    """What has been won so far, in the unit exp(scale), and what is computed once per claim."""

    shares: FloatArray  # (M,) of the stake: first of the tilts, then of the bets
    won: FloatArray  # (K, M)
    totals: FloatArray  # (M,) of all arms after a row
    scale: FloatArray  # (1,)
    sums: FloatArray  # (K, 4) see above
    factors: FloatArray  # (2, K, M) of a pull of another arm, and of this one
    terms: FloatArray  # (2, K, 4) likewise
    made: FloatArray  # (2, K) the place of the claim that these are of


@kernel
def _test_rows(wealth: _Wealth, arms: IntArray, claimed: Claimed, e: FloatArray, units: FloatArray) -> None:
    """Write E after each row, in the unit exp(units)."""
    n_arms, totals = wealth.won.shape[0], wealth.totals
    for i in range(arms.size):
        place = claimed.places[i]
        for a in range(n_arms):
            pulled = 1 if a == arms[i] else 0
            won, factors = wealth.won[a], wealth.factors[pulled, a]
            sums, terms = wealth.sums[a], wealth.terms[pulled, a]
            if wealth.made[pulled, a] != place:
                wealth.made[pulled, a] = place
                _read_claim(factors, terms, claimed.table[place], a, pulled)
            for k in range(won.size):
                won[k] *= factors[k]
                totals[k] = won[k] if a == 0 else totals[k] + won[k]
            for k in range(_N_SUMS):
                sums[k] += terms[k]
        total = sum_products(wealth.shares, totals)
        e[i], units[i] = settle_total(wealth.won, wealth.scale, total) / n_arms, wealth.scale[SCALE]


@part
def _read_claim(factors: FloatArray, terms: FloatArray, claim: FloatArray, a: int, pulled: int) -> None:
    """Set the factors of the wealth, and what is added to the sums. A factor is (1 + c·X)/(1 + c·(π ± slack)) for a
    tilt with c = e^λ − 1, and (1 + λ·(X − π))/(1 + |λ|·slack) for a bet.
    """
    p, rest = claim[P, a], claim[REST, a]
    smaller = p if p < rest else rest
    below, above = claim[BELOW, a] * smaller, claim[ABOVE, a] * smaller
    surprise = rest if pulled == 1 else -p
    for k in range(factors.size):
        size = _SIZES_OF_BETS[k]
        slack = above if size > 0.0 else -below
        if k < _TILTS.size:
            factors[k] = (1.0 + size * pulled) / (1.0 + size * (p + slack))
        else:
            factors[k] = (1.0 + size * surprise) / (1.0 + size * slack)
    terms[OBSERVED], terms[EXCESS], terms[VARIANCE] = pulled, surprise, surprise * surprise
    terms[ALLOWED] = below if below > above else above


class Calibration(EProcess):
    """The test of whether each arm is pulled as often as claimed.

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
        won = np.ones((self.n_arms, _SHARES.size))
        sums, made = np.zeros((self.n_arms, _N_SUMS)), np.empty((2, self.n_arms))
        factors, terms = np.empty((2, *won.shape)), np.empty((2, *sums.shape))
        totals = np.empty(_SHARES.size)
        self._wealth = _Wealth(_SHARES.copy(), won, totals, np.zeros(1), sums, factors, terms, made)

    @classmethod
    def _setting_names(cls) -> tuple[str, ...]:
        return ("n_arms", "within", "floor")

    @property
    def observed(self) -> FloatArray:
        """The number of tested pulls of each arm, (K,)."""
        return self._wealth.sums[:, OBSERVED].copy()

    @property
    def excess(self) -> FloatArray:
        """D: observed minus expected pulls of each arm, (K,)."""
        return self._wealth.sums[:, EXCESS].copy()

    @property
    def allowed(self) -> FloatArray:
        """The largest Σ |p − π| that the claim allows for each arm, (K,)."""
        return self._wealth.sums[:, ALLOWED].copy()

    @property
    def strongest(self) -> tuple[int, float]:
        """The arm whose bets have won most, and its tilt λ that has won most."""
        won = _SHARES * self._wealth.won
        arm = int(won.sum(axis=1).argmax())
        return arm, float(_TILTS[won[arm, : _TILTS.size].argmax()])

    def confidence_sequence(self, alpha: float) -> tuple[FloatArray, FloatArray]:
        """Return (low, high) for Σ (p_t(a) − π_t(a)), valid for all arms at all times with probability 1 − α."""
        log_goal = math.log(2 * self.n_arms) - math.log(check_level(alpha, "alpha"))
        radius = _radius(self._wealth.sums[:, VARIANCE], log_goal)
        return self._wealth.sums[:, EXCESS] - radius, self._wealth.sums[:, EXCESS] + radius

    def refute(self, arms: IntArray, log_pi: FloatArray) -> None:
        """Count pulls (n,) of arms that the claim gives probability 0, with log π (n, K). The wealth stays as it is,
        since E is infinite.
        """
        places, table = self._prepare(log_pi)
        p, rest, below, above = (table[places, row] for row in (P, REST, BELOW, ABOVE))
        pulled = np.arange(self.n_arms) == arms[:, np.newaxis]
        surprise = np.where(pulled, rest, -p)
        for place, terms in (
            (OBSERVED, pulled),
            (EXCESS, surprise),
            (VARIANCE, surprise**2),
            (ALLOWED, np.maximum(below, above) * np.minimum(p, rest)),
        ):
            self._wealth.sums[:, place] += terms.sum(axis=0)

    def _arrays(self) -> dict[str, Any]:
        return {"won": self._wealth.won, "scale": self._wealth.scale, "sums": self._wealth.sums.T}

    def _prepare(self, log_pi: FloatArray) -> Claimed:
        return read_claimed(log_pi, self.within, self.floor)

    def _extend(self, arms: IntArray, claimed: Claimed, begins: BoolArray, log_e: FloatArray) -> None:
        # Products of fixed bets do not depend on the order of an instant's rows.
        self._wealth.made[:] = NOWHERE
        units = np.empty(arms.size)
        _test_rows(self._wealth, arms, claimed, log_e, units)
        np.log(log_e, out=log_e)
        log_e += units


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
