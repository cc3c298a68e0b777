r"""What can be had while no test has more than a given power.

**How much.** A test of level α is an event of probability α under the reference; after a total divergence B = E Σ KL_t,
the expectation being the agent's, it has power at most q*(α; B). So power ≤ β allows B = KL(Ber(β) ‖ Ber(α)) in all.

**When.** One boosted arm at true means, d its divergence: with n = d·N, λ = dN/dt and π = e^{−n}, a rate λ costs
λ·log(λ/π) − λ + π a step, of which λ·n = (n²/2d)′ depends on the end only. Euler and Lagrange leave λ − π = c: *the
same number of extra pulls at every time*. Then, with x = d·c·t,

    ε(t) = c·(x/(1 − e^{−x}) − 1),    B·d = ∫₀^X (x/(1 − e^{−x}) − 1) dx,    gain d·(N − N_ref) = log((e^X − 1)/X).

While d·B is small ε rises in proportion to time and d·gain = √(d·B), where even spending has √(8/9) of it; for large
d·B both tend to the first-order law √(2d·B). So what is spent is `RisingBudget`; docs/theory.md has the derivation.

**On whom.** Shares w* of the exponent, or those of Algorithm 1: whichever leaves the smaller error on the paths.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from feint.bandit import Bandit
from feint.budgets import Constant, RisingBudget, TotalBudget
from feint.explorers import FixedBoosting, TopTwo
from feint.numerics._validate import FloatArray, as_number, check_level, is_whole
from feint.planning.law import Paths, draw_paths
from feint.planning.notice import paths_of
from feint.theory.maximin import optimal_boosting, public_divergences

_PATHS = 2000


@dataclass(frozen=True)
class Unseen:
    """What `plan_unseen` answers; arrays are (K,), means over runs of `horizon` pulls.

    `total` is B, `explorer` and `budget` the best of the `ways` to spend it, which have the error that each would reach
    (`standard_error` is that of the best one). `pulls` by then, of which `gained` are more than the reference's own;
    `error`, the expected posterior error, and `own_error`, what the reference's own pulls would reach anyway.
    `first_order` is √(2·w*·B/d), what the first-order law promises of pulls gained (0 for the best public arm), and
    `informed_power` that of the best test of an observer who knows the private rewards but not the draws.
    """

    power: float
    alpha: float
    horizon: int
    total: float
    explorer: Any
    budget: Any
    weights: FloatArray
    pulls: FloatArray
    gained: FloatArray
    error: float
    standard_error: float
    own_error: float
    first_order: FloatArray
    informed_power: float
    ways: dict[str, float]

    def _repr_html_(self) -> str:
        from feint.html import table

        rows = [
            (a, f"{self.weights[a]:.4f}", f"{self.pulls[a]:,.1f}", f"{self.gained[a]:+,.1f}")
            for a in range(self.weights.size)
        ]
        head = ("arm", "share of boosts", "pulls", "more than the reference")
        return table(f"Unseen for {self.horizon:,} pulls", head, rows, [": ".join(fact) for fact in unseen_facts(self)])


def unseen_facts(found: Unseen) -> list[tuple[str, str]]:
    """In words, for the terminal and for notebooks."""
    ways = "; ".join(f"{name} {error:.4g}" for name, error in found.ways.items())
    return [
        ("total KL", f"{found.total:.4g} nats leave any level-{found.alpha:g} test a power of at most {found.power:g}"),
        ("error reached", f"{found.error:.4g} (± {found.standard_error:.2g} Monte Carlo)"),
        ("error without any boost", f"{found.own_error:.4g}"),
        ("ways to spend it", ways),
        ("best informed test", f"has a power of about {found.informed_power:.3g}"),
    ]


def plan_unseen(bandit: Bandit, power: float, alpha: float, horizon: int) -> Unseen:
    r"""What the agent can learn in `horizon` pulls while no test of level `alpha` has more than this `power`.

    .. math:: B = \mathrm{KL}(\mathrm{Ber}(\text{power}) \,\|\, \mathrm{Ber}(\alpha))

    >>> bandit = Bandit(public=[1.0, 0.0], private=[0.0, 0.5])
    >>> answer = plan_unseen(bandit, 0.5, 0.05, 10_000)
    >>> round(answer.total, 3), bool(answer.error < answer.own_error), answer.informed_power < 0.5
    (0.83, True, True)
    """
    check_level(power, "power, the most that a test may have,")
    check_level(alpha, "alpha, the level of the test,")
    if not power > alpha:
        raise ValueError(f"power is {power:g}; a test of level {alpha:g} has that by chance, so give more than alpha.")
    as_number(horizon, "horizon must be a whole number of pulls")
    if not is_whole(int(horizon), bandit.n_arms + 1) or int(horizon) != horizon:
        raise ValueError(f"horizon is {horizon!r}; it must be a whole number of pulls above {bandit.n_arms}.")
    total = power * math.log(power / alpha) + (1.0 - power) * math.log((1.0 - power) / (1.0 - alpha))
    end, best = int(horizon), optimal_boosting(bandit)
    n_paths = paths_of(bandit, _PATHS)

    def spend(explorer: Any, budget: Any) -> Paths:
        return draw_paths(bandit, explorer, budget, n_paths, horizon=float(end), checkpoints=[end], alpha=alpha)

    ways = {
        f"{who}, {when}": (explorer, budget)
        for who, explorer in (("Algorithm 1", TopTwo()), ("fixed shares w*", FixedBoosting(best.weights)))
        for when, budget in (("rising with time", RisingBudget(total, end)), ("even", TotalBudget(total, end)))
    }
    paths = {name: spend(*way) for name, way in ways.items()}
    errors = {name: float(np.exp(found.course[:, 0, 0]).mean()) for name, found in paths.items()}
    chosen = min(errors, key=lambda name: errors[name])
    own, found = spend(TopTwo(), Constant(0.0)), paths[chosen]
    pulls, boosts = found.course[:, 0, 4:].mean(0), found.boosts.mean(0)
    with np.errstate(divide="ignore", invalid="ignore"):
        first_order = np.sqrt(2.0 * best.weights * total / public_divergences(bandit))
    return Unseen(
        power=float(power),
        alpha=float(alpha),
        horizon=end,
        total=total,
        explorer=ways[chosen][0],
        budget=ways[chosen][1],
        weights=boosts / boosts.sum(),
        pulls=pulls,
        gained=pulls - own.course[:, 0, 4:].mean(0),
        error=errors[chosen],
        standard_error=float(np.exp(found.course[:, 0, 0]).std() / math.sqrt(n_paths)),
        own_error=float(np.exp(own.course[:, 0, 0]).mean()),
        first_order=np.nan_to_num(first_order, nan=0.0, posinf=0.0),
        informed_power=_best_power(found.course[:, 0, 1], alpha),
        ways=errors,
    )


def _best_power(log_ratios: FloatArray, alpha: float) -> float:
    """Power of the best test of size α, from log(dQ/dP) under Q: reject the largest, as long as the size under P, E_Q of
    their e^{−log ratio}, is at most α.
    """
    ordered = np.sort(log_ratios)[::-1]
    sizes = np.cumsum(np.exp(-ordered)) / ordered.size
    return float(np.searchsorted(sizes, alpha)) / ordered.size
