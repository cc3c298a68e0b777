r"""The planner: how long until the agent is sure, what it costs and who could notice, without simulating the bandit.

Two deterministic pieces and one random one. The boosts are shared as w* (`optimal_boosting`; `optimal_allocation` if
ε = ∞), the pulls N(t) follow the fluid equations (`rates.fluid`), and what is left to chance are the private rewards
along them: the sum of arm a's rewards after n pulls is a Brownian motion with drift μ_a and the family's variance, read
at n. The agent stops when its posterior error falls to δ, taken as the sum over arms a of Φ(−z_a), z_a the standardised
lead over arm a: z_a² is twice the evidence of `maximin_kernel` at the sample means, which for normal rewards is exact.

That chance cannot be left out. With one rival the log-likelihood ratio at stopping is near L = log(1/δ), but the
evidence it took is inverse Gaussian with mean L and variance 2L; time grows with the square of the evidence, so the
mean time is (1 + 2/L) times the time at the mean evidence, and more with several rivals. The law of the stopping time
is therefore drawn: `_PATHS` paths of a fixed Philox stream, so that a plan is the same every time; `standard_error`
is what that costs.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feint.bandit import Bandit
from feint.budgets import as_budget, checked_at
from feint.families.base import divergence_to, inside
from feint.numerics import boost_probability
from feint.numerics._jit import inlined, kernel, part
from feint.numerics._validate import FloatArray, IntArray, check_level
from feint.numerics.streams import normal_pair, step_words
from feint.theory.maximin import divergences_at, optimal_allocation, optimal_boosting
from feint.theory.rates import fluid

_PATHS = 4000
_STREAM = np.uint64(0x706C616E)  # "plan": a seed of its own
_GRID = 400  # times at which the fluid equations are read; between them N is interpolated in logarithms
_CLOCK = 0.002  # a path looks at its posterior after each pull of a publicly worse arm, or each 0.2 % of them, or K/10
_LATEST = 1e18
_SAME_TIME = 1e-3
_TRIES = 30
_SMALLEST, _LARGEST = 1e-9, 100.0


@dataclass(frozen=True)
class Plan:
    """What `plan` answers. Times count pulls, the initial round included; arrays are (K,).

    `time` is the expected stopping time with Monte Carlo standard error `standard_error`, `quantiles` its 10, 50 and
    90 % points. `weights`, `gamma` and `case` are those of `optimal_boosting`. `pulls` and `kl_spent` are the pulls
    of each arm and the total KL divergence B by `time`, and `power` the most that any test of level `alpha` could
    then have. `first_order_time` is (log(1/δ)/Γ*)²/ε, from the exponent alone, for comparison.
    """

    epsilon: Any
    delta: float
    alpha: float
    time: float
    standard_error: float
    quantiles: tuple[float, float, float]
    weights: FloatArray
    gamma: float
    case: str
    pulls: FloatArray
    kl_spent: float
    power: float
    first_order_time: float

    def _repr_html_(self) -> str:
        from feint.html import table

        low, median, high = self.quantiles
        rows = [(a, f"{self.weights[a]:.4f}", f"{self.pulls[a]:,.0f}") for a in range(self.weights.size)]
        notes = (
            f"expected time {self.time:,.0f} pulls; 10, 50, 90 % points {low:,.0f}, {median:,.0f}, {high:,.0f}",
            f"exponent Γ* = {self.gamma:.6g}, {self.case}",
            f"KL spent by then {self.kl_spent:,.4g}; power of any level-{self.alpha:g} test at most {self.power:.4g}",
        )
        return table(
            f"Plan for ε = {self.epsilon} and δ = {self.delta:g}", ("arm", "share of boosts", "pulls"), rows, notes
        )


def plan(bandit: Bandit, epsilon: Any, delta: float, *, alpha: float = 0.05) -> Plan:
    r"""How long to confidence 1 − δ with a KL budget ε a step, at what cost, and how detectable by then.

    .. math:: \log(1 - p^*) \approx -\sqrt{\varepsilon T}\,\Gamma(w^*), \qquad
        \text{power} \le q^*(\alpha; B), \quad B = \textstyle\sum_t \mathrm{KL}_t

    The second is the paper's own boost function: an observer's test of level α is an event of probability α under the
    reference, and no event can be lifted above q*(α) by a total divergence B.

    Parameters
    ----------
    epsilon
        A number, math.inf, `PowerLaw` or `TotalBudget`. With 0 the exponent is zero, and there is no plan.
    delta, alpha
        Strictly between 0 and 1.

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> answer = plan(bandit, 0.1, 0.001)
    >>> answer.weights.round(3)
    array([0.   , 0.369, 0.562, 0.069])
    >>> bool(abs(answer.pulls.sum() - answer.time) < 1e-6 * answer.time), float(answer.power)
    (True, 1.0)
    """
    budget = as_budget(epsilon)
    check_level(delta, "delta, the error to stop at,")
    check_level(alpha, "alpha, the level of a test,")
    if checked_at(budget, 1) == 0.0:
        raise ValueError(
            "The budget is 0: without one the exponent is zero (Thompson Sampling pulls the publicly worse arms only "
            "about log T times, so the error does not fall like exp(-√T)); give an epsilon above 0."
        )
    unlimited = checked_at(budget, 1) == math.inf
    best = optimal_allocation(bandit) if unlimited else optimal_boosting(bandit)
    stops = _stopping_times(bandit, best.weights, budget, delta, best.gamma)
    time = float(stops.mean())
    low, median, high = (float(q) for q in np.quantile(stops, (0.1, 0.5, 0.9)))
    pulls, kl = (part[0] for part in fluid(bandit, best.weights, budget, np.array([time])))
    if unlimited:
        first_order = math.log(1.0 / delta) / best.gamma
    else:
        first_order = (math.log(1.0 / delta) / best.gamma) ** 2 / checked_at(budget, 1)
    return Plan(
        epsilon=epsilon,
        delta=float(delta),
        alpha=float(alpha),
        time=time,
        standard_error=float(stops.std() / math.sqrt(stops.size)),
        quantiles=(low, median, high),
        weights=best.weights,
        gamma=best.gamma,
        case=best.case,
        pulls=pulls,
        kl_spent=float(kl),
        power=float(boost_probability(alpha, kl)),
        first_order_time=first_order,
    )


def plan_epsilon(bandit: Bandit, time: float, delta: float) -> float:
    """The constant ε with which `plan` expects to be done by `time`, to 0.1 % of the time.

    0 where less than 1e-9 would do: Thompson Sampling's own pulls are then enough.

    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> epsilon = plan_epsilon(bandit, 20_000, 0.01)
    >>> abs(plan(bandit, epsilon, 0.01).time / 20_000 - 1) < 0.002
    True
    """
    if isinstance(time, bool) or not isinstance(time, int | float | np.number) or not bandit.n_arms < time < math.inf:
        raise ValueError(f"time is {time!r}; it must be a number of pulls above {bandit.n_arms}, the initial round.")
    check_level(delta, "delta, the error to stop at,")

    def excess(log_epsilon: float) -> float:
        return math.log(plan(bandit, math.exp(log_epsilon), delta).time / time)

    # Time falls about like 1/ε, so that the excess itself is the first step; then the secant method, in logarithms.
    last = math.log((math.log(1.0 / delta) / optimal_boosting(bandit).gamma) ** 2 / time)
    value, slope = excess(last), -1.0
    for _ in range(_TRIES):
        if abs(value) < _SAME_TIME:
            return math.exp(last)
        point = last - min(3.0, max(-3.0, value / slope))
        if point < math.log(_SMALLEST):
            return 0.0
        if point > math.log(_LARGEST):
            break
        found = excess(point)
        slope = (found - value) / (point - last)
        if not slope < 0.0:
            if found > 0.0:  # more budget would not help
                break
            slope = -1.0
        last, value = point, found
    raise ValueError(
        f"No epsilon up to {_LARGEST:g} is expected to reach confidence {1 - delta:g} in {time:g} pulls: without any "
        f"limit it takes {plan(bandit, math.inf, delta).time:.4g}; allow more time or a larger delta."
    )


def plan_total(bandit: Bandit, time: float, delta: float) -> float:
    """The total KL budget with which `plan` expects to be done by `time`: `TotalBudget(plan_total(…), time)`.

    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> plan_total(bandit, 2000, 0.1) == 2000 * plan_epsilon(bandit, 2000, 0.1)
    True
    """
    return time * plan_epsilon(bandit, time, delta)


def _stopping_times(bandit: Bandit, weights: FloatArray, budget: Any, delta: float, gamma: float) -> FloatArray:
    """(paths,) stopping times of the private posterior along the fluid pulls."""
    # The evidence at stopping exceeds x with probability of about exp(−(x − L)²/4x), L = log(1/δ).
    needed = 4.0 * math.log(1.0 / delta) + 40.0
    end = needed / gamma if checked_at(budget, 1) == math.inf else (needed / gamma) ** 2 / checked_at(budget, 1)
    end = max(end, 10.0 * bandit.n_arms)
    while end <= _LATEST:
        times = np.geomspace(bandit.n_arms, end, _GRID)
        pulls, _ = fluid(bandit, weights, budget, times)
        if _least_evidence(bandit, pulls[-1]) > needed:
            stops = _stops(bandit, times, pulls, delta)
            if not np.isnan(stops).any():
                return stops
        end *= 4.0
    raise ValueError(
        f"This budget is not sure to reach confidence {1 - delta:g} within {_LATEST:g} pulls; give a larger one."
    )


def _least_evidence(bandit: Bandit, pulls: FloatArray) -> float:
    """The exponent of the paper's Eq. (Exponent): the least evidence between the best private arm and another."""
    best, others = bandit.best_private, np.flatnonzero(np.arange(bandit.n_arms) != bandit.best_private)
    first, second = divergences_at(bandit, others, pulls[others] / pulls[best])
    return float((pulls[best] * first + pulls[others] * second).min())


def _stops(bandit: Bandit, times: FloatArray, pulls: FloatArray, delta: float) -> FloatArray:
    """(paths,) stopping times along given pulls (n, K); NaN where a path has not stopped at the end."""
    slow = pulls.sum(1) - pulls[:, bandit.best_public]
    ticks = [float(slow[0])]
    while ticks[-1] < slow[-1]:
        ticks.append(ticks[-1] + max(1.0, 0.1 * bandit.n_arms, _CLOCK * ticks[-1]))
    clock = np.log(ticks[:-1])
    moments = np.append(np.exp(np.interp(clock, np.log(slow), np.log(times))), math.nan)
    course = np.exp([np.interp(clock, np.log(slow), np.log(column)) for column in pulls.T]).T
    sums = np.empty(bandit.n_arms)
    family, means = bandit.families[1], np.array(bandit.private)
    spreads = np.sqrt(family.variance(means))
    paths = min(_PATHS, max(200, 400_000 // bandit.n_arms))
    settings = family.kernel()
    rows = np.empty(paths, dtype=np.int64)
    _fill_stops(settings, course, means, spreads, delta, sums, rows)
    return np.asarray(moments[rows])


@inlined
def _evidence(family: Any, first: float, second: float, n_first: float, n_second: float) -> float:
    """min_x N_1·D(m_1, x) + N_a·D(m_a, x), from means m_1 ≥ m_a and pulls."""
    gap = first - second
    share = n_second / (n_first + n_second)
    down = divergence_to(family, first, -gap * share)
    return n_first * down + n_second * divergence_to(family, second, gap * (1.0 - share))


@kernel
def _fill_stops(
    family: Any,
    course: FloatArray,
    means: FloatArray,
    spreads: FloatArray,
    delta: float,
    sums: FloatArray,
    rows: IntArray,
) -> None:
    for path in range(rows.size):
        rows[path] = _stop(family, course, means, spreads, delta, np.uint64(path), sums)


@part
def _stop(
    family: Any,
    course: FloatArray,
    means: FloatArray,
    spreads: FloatArray,
    delta: float,
    path: np.uint64,
    sums: FloatArray,
) -> int:
    """The first row of `course` (pulls) at which the posterior's error is at most δ, else −1."""
    n = means.size
    blocks = (n + 3) // 4
    for a in range(n):
        sums[a] = 0.0
    for row in range(course.shape[0]):
        for block in range(blocks):
            words = step_words(_STREAM, path, np.uint64(row * blocks + block))
            for half in range(2):
                first, second = normal_pair(words[2 * half], words[2 * half + 1])
                for k in range(2):
                    a = 4 * block + 2 * half + k
                    if a < n:
                        made = course[row, a] - (course[row - 1, a] if row > 0 else 0.0)
                        sums[a] += made * means[a] + math.sqrt(max(made, 0.0)) * spreads[a] * (second if k else first)
        leader = 0
        for a in range(1, n):
            if sums[a] / course[row, a] > sums[leader] / course[row, leader]:
                leader = a
        top = inside(family, sums[leader] / course[row, leader], course[row, leader])
        error = 0.0
        for a in range(n):
            if a != leader:
                mean = min(top, inside(family, sums[a] / course[row, a], course[row, a]))
                error += 0.5 * math.erfc(math.sqrt(_evidence(family, top, mean, course[row, leader], course[row, a])))
        if error <= delta:
            return row
    return -1
