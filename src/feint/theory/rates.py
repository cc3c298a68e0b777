r"""How fast boosted arms are pulled: what Theorem 1 (`limits`) predicts at a finite time, and two sharper predictions.

Let d_a = d(μ_a, μ_{i*}) be the public divergence of arm a from the best public arm (Gaussian: Δ_a²/2σ²). The
reference's probability of a publicly worse arm is the tail of its posterior beyond μ_{i*}. By Laplace's method, with
V_a the variance of a reward of arm a, Δ_a = μ_{i*} − μ_a, and h_a the ratio of the prior's density against the natural
parameter at μ_{i*} and at μ_a (1 if flat),

    log(1/π_a) = d_a·N_a + ½·log(2π·k_a·N_a) + o(1),          k_a = Δ_a²/(V_a·h_a²),

and a boost raises it to the root of q·(log(q/π) − 1) = ε, so q = ε/(L + log ε − log L − 1 + o(1)), L = log(1/π_a).
N_a grows by q each time the arm is boosted (in a share w_a of the steps):

    first     N_a = √(2·w_a·B/d_a),   B = Σ_{s ≤ t} ε_s;   εt for constant ε: the paper's φ, (2σ/Δ_a)·√(w_a·εt)
    second    N_a = N₀ + (1/d_a)·(⟨log 1/ε⟩ + ½·log(e·d_a²·N₀/(2π·k_a))),   N₀ the first order
    fluid     dN_a/dt = P(the step pulls a), by the exact q* and best-arm probabilities at the true means and N

For the second order, dN/dt = w·ε/(dN + log ε + ½·log(2πkN) − log(dN) − 1) with N = N₀ + N₁ leaves (N₀·N₁)′ =
(N₀′/d)·(log(1/ε) + ½·log(e²·d²·N₀/(2πk))), so N₁ is the mean of that over N₀ ∝ √B(s), uniform from 0 to its value at t;
the mean of ½·log N₀ is ½·(log N₀ − 1). For normal rewards it is (1/c)·(log(1/ε) + ½·log(e·s²·N₀/8π)), s = Δ/σ, c =
s²/2.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.budgets import Epsilon, as_budget, checked_at, power_of, power_sum
from feint.numerics import boost_probability
from feint.numerics._validate import as_floats
from feint.support.own_parts import fresh
from feint.theory.instance import check_families, check_unique_best_public, check_weights, public_divergences
from feint.theory.maximin import gamma

Order = Literal["first", "second", "fluid"]
ORDERS: tuple[Order, ...] = get_args(Order)
_STEPS = 1000  # steps of a budget that are averaged one by one before a grid takes over
_MOST_SUMMED = 10**7  # pulls, for a user's own budget
_RELATIVE, _ABSOLUTE = 1e-8, 1e-8


def log_error_limit(bandit: Bandit, weights: ArrayLike, epsilon: Epsilon, times: ArrayLike) -> FloatArray:
    r"""Return the leading term of log(1 − p*) when boosts are shared as `weights`, −√(εT)·Γ(w) (Section 5).

    .. math:: \log(1 - p^*_T) \approx -\sqrt{\varepsilon T}\;\Gamma(w)

    This is heuristic: the evidence at the limit of the pulls and at the true means, to leading order, not a theorem.
    The paper prints −√(4εT)·Γ(w), which loses the ½ of the evidence (docs/errata.md). σ is inside Γ (`gamma`). If the
    budget varies over time, Σ ε_t stands in the place of εT.

    Parameters
    ----------
    bandit
        The instance, with a single best public arm.
    weights
        (K,) on the simplex: the share of steps that boost each arm.
    epsilon
        KL budget per step: a number, `PowerLaw`, `TotalBudget` or anything with `at(t)`.
    times
        (n,) numbers of pulls T, each K or more.

    Returns
    -------
    (n,) array
        Natural logarithms.

    Examples
    --------
    >>> bandit = Bandit([0.0, 1.0], [1.0, 0.0])  # Γ = Δ²/d = 1
    >>> log_error_limit(bandit, [1.0, 0.0], 0.01, [10_000])
    array([-10.])
    """
    budget = fresh(as_budget(epsilon), bandit.n_arms)
    return -np.sqrt(total_budget(budget, _checked_times(bandit, times))) * gamma(bandit, weights)


def predicted_pulls(
    bandit: Bandit, weights: ArrayLike, epsilon: Epsilon, times: ArrayLike, order: Order = "fluid"
) -> FloatArray:
    r"""Predict the pulls of every arm after t pulls in total, when a share w_a of the steps boosts arm a.

    Parameters
    ----------
    bandit
        The instance, with a single best public arm.
    weights
        (K,) on the simplex.
    epsilon
        KL budget: a number, `PowerLaw`, `TotalBudget` or anything with `at(t)`; math.inf only with order "fluid".
    times
        (n,) numbers of pulls, each K or more (the initial round pulls every arm once).
    order
        "first", "second" or "fluid"; docs/theory.md has the formulas. The first two are limits: they leave
        out what Thompson Sampling pulls without boosts, and give an arm that is never boosted 0 pulls. The best public
        arm gets the rest of t.

    Returns
    -------
    (n, K) array
        docs/theory.md compares all three with simulations.

    Examples
    --------
    >>> bandit = Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])
    >>> predicted_pulls(bandit, [0, 1/3, 1/3, 1/3], 0.09, [10_000], order="first").round(2)
    array([[9740.19,  115.47,   57.74,   86.6 ]])
    >>> predicted_pulls(bandit, [0, 1/3, 1/3, 1/3], 0.09, [4, 1000])[0]
    array([1., 1., 1., 1.])
    """
    check_families(bandit)
    check_unique_best_public(bandit)
    share = check_weights(bandit, weights)
    budget = fresh(as_budget(epsilon), bandit.n_arms)
    moments = _checked_times(bandit, times)
    if order not in ORDERS:
        raise ValueError(f"order is {order!r}; choose one of {', '.join(ORDERS)}.")
    if order == "fluid":
        return fluid(bandit, share, budget, moments)[0]
    if checked_at(budget, 1) == math.inf:
        raise ValueError(f"epsilon is inf; the {order} order needs a limited budget, so use order='fluid'.")
    spent = total_budget(budget, moments)
    slow = (np.arange(bandit.n_arms) != bandit.best_public) & (share > 0)
    cost = public_divergences(bandit)[slow]
    pulls = np.zeros((moments.size, bandit.n_arms))
    pulls[:, slow] = first = np.sqrt(2.0 * spent[:, None] * share[slow] / cost)
    if order == "second":
        inverse = _mean_log_inverse(budget, moments)[:, None]
        pulls[:, slow] += (
            inverse + 0.5 * np.log(math.e * cost**2 * first / (2.0 * math.pi * _tails(bandit)[slow]))
        ) / cost
    pulls[:, bandit.best_public] = moments - pulls.sum(1)
    return pulls


def _tails(bandit: Bandit) -> FloatArray:
    """Return k_a, (K,), with log(1/π_a) ≈ d_a·N_a + ½·log(2π·k_a·N_a)."""
    family, means, top = bandit.families[0], np.array(bandit.public), max(bandit.public)
    ratio = np.exp(2.0 * (family.log_prior(top) - family.log_prior(means)))
    return np.asarray(bandit.public_gaps**2 / (family.variance(means) * ratio))


def fluid(bandit: Bandit, weights: FloatArray, budget: Any, times: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return pulls (n, K) and KL spent (n,) at `times` ≥ K, starting from one pull of each arm at time K.

    A step boosts b with probability w_b: b then has q*(π_b), and the others share 1 − q* in proportion to π. It spends
    ε, or −log π_b where that is less and q* = 1. The equations are solved in log t, in which they are not stiff.
    """
    from scipy.integrate import solve_ivp

    spent, last = _continuous(budget)
    means, family = np.array(bandit.public), bandit.families[0]
    prior = family.prior(None)

    def slope(log_t: float, state: FloatArray, active: bool) -> FloatArray:
        t = math.exp(log_t)
        # The (t + 1)-th pull spends ε_{t+1} between t and t + 1, so at t the rate is ε_{t + ½}.
        epsilon = spent(t + 0.5) if active else 0.0
        pulls = np.maximum(state[:-1], 1.0)  # N ≥ 1, but a trial step of the solver may go below
        log_pi = np.minimum(0.0, family.log_probabilities(*family.posterior(prior, pulls, pulls * means)))
        return t * _step_probabilities(log_pi, weights, epsilon)

    start, order = float(bandit.n_arms), np.argsort(times, kind="stable")
    state = np.append(np.ones(bandit.n_arms), 0.0)
    result = np.empty((times.size, bandit.n_arms + 1))
    # A total budget ends at its horizon, so there is one piece before the jump and one after.
    for stop, active in ((last, True), (math.inf, False)):
        inside = [i for i in order if start <= times[i] <= stop]
        end = stop if stop < times.max() else float(times.max())
        if start < end:
            points = np.append(np.log(times[inside]), math.log(end)).clip(math.log(start), math.log(end))
            solution = solve_ivp(
                slope,
                (math.log(start), math.log(end)),
                state,
                method="DOP853",
                t_eval=np.unique(points),
                args=(active,),
                rtol=_RELATIVE,
                atol=_ABSOLUTE,
            )
            if not solution.success:
                raise RuntimeError(f"The fluid equations could not be solved: {solution.message}")
            result[inside] = solution.y.T[np.searchsorted(np.unique(points), points[:-1])]
            state = solution.y[:, -1]
        else:
            result[inside] = state
        start = max(start, end)
        if stop >= times.max():
            break
    return result[:, :-1], result[:, -1]


def _step_probabilities(log_pi: FloatArray, weights: FloatArray, epsilon: float) -> FloatArray:
    """Return P(a step pulls a), (K,), followed by the mean KL that the step spends."""
    pi = np.exp(log_pi)
    leader = int(pi.argmax())
    rest = 1.0 - pi
    rest[leader] = pi.sum() - pi[leader] if pi[leader] < 0.5 else np.delete(pi, leader).sum()
    q = np.asarray(boost_probability(None, epsilon, log_p=log_pi))
    with np.errstate(divide="ignore", invalid="ignore"):
        left = np.where(rest > 0, weights * (1.0 - q) / rest, 0.0)
    return np.append(weights * q + pi * (left.sum() - left), weights @ np.minimum(epsilon, -log_pi))


def _continuous(budget: Any) -> tuple[Any, float]:
    """Return ε as a function of a real t, and the last pull that has a budget."""
    power = power_of(budget)
    if power is None:
        return lambda t: checked_at(budget, max(1, round(t))), math.inf
    if power.exponent == 0.0:
        return lambda t: power.scale, power.last
    return lambda t: power.scale * t**-power.exponent, power.last


def total_budget(budget: Any, times: FloatArray) -> FloatArray:
    """Return B = Σ_{s ≤ t} ε_s over all pulls, (n,) -> (n,); the paper's εT."""
    if (power := power_of(budget)) is not None:
        return power.scale * power_sum(power.exponent, np.minimum(times, power.last))
    if times.max() > _MOST_SUMMED:
        raise ValueError(
            f"{type(budget).__name__} would have to be called {times.max():g} times to sum it; ask for fewer than 10⁷ "
            "pulls, or use PowerLaw or TotalBudget."
        )
    sums = np.cumsum([0.0] + [checked_at(budget, t) for t in range(1, int(times.max()) + 1)])
    return np.asarray(sums[times.astype(np.int64)])


def _mean_log_inverse(budget: Any, times: FloatArray) -> FloatArray:
    """Return the mean ⟨log 1/ε⟩ up to each t, with √B uniform from 0, (n,) -> (n,)."""
    at, last = _continuous(budget)
    if at(1.0) == 0.0:
        raise ValueError("The budget is 0; the second order needs a budget above 0, so use order='fluid'.")
    if (power := power_of(budget)) is not None and power.exponent == 0.0:
        return np.full(times.size, -math.log(at(1.0)))
    end = min(times.max(), last)
    steps = np.unique(np.append(np.arange(1, min(_STEPS, end) + 1), np.geomspace(1, end, 4000).round()))
    root = np.sqrt(np.append(0.0, total_budget(budget, steps)))
    # √B grows by root[i + 1] − root[i] while log ε changes linearly between the two steps; the first is at s = 1.
    log_inverse = -np.log([at(step) for step in np.append(1.0, steps)])
    area = np.append(0.0, np.cumsum(np.diff(root) * 0.5 * (log_inverse[1:] + log_inverse[:-1])))
    reached = np.sqrt(total_budget(budget, times))
    return np.asarray(np.interp(reached, root, area) / reached)


def _checked_times(bandit: Bandit, times: ArrayLike) -> FloatArray:
    array = as_floats(times, "times")
    if array.ndim != 1 or not array.size or (array < bandit.n_arms).any() or np.isinf(array).any():
        raise ValueError(
            f"times are {times!r}; give a flat list of numbers of pulls, {bandit.n_arms} (one per arm) or more."
        )
    return array
