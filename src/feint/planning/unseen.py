r"""What can be learnt while no test has more than a given power.

**How much.** A test of level α is an event of probability α under the reference. After a total divergence B = E Σ KL_t
(the agent's expectation) it has power at most q*(α; B). So power ≤ β allows B = KL(Ber(β) ‖ Ber(α)) in all.

**When.** Take one boosted arm at true means, with divergence d, and let n = d·N, λ = dN/dt and π = e^{−n}. A rate λ
costs λ·log(λ/π) − λ + π per step, of which λ·n = (n²/2d)′ depends on the end only. Euler and Lagrange leave λ − π = c:
*the same number of extra pulls at every time*. Then, with x = d·c·t,

    ε(t) = c·(x/(1 − e^{−x}) − 1),    B·d = ∫₀^X (x/(1 − e^{−x}) − 1) dx,    gain d·(N − N_ref) = log((e^X − 1)/X).

While d·B is small, ε rises in proportion to time and d·gain = √(d·B), of which even spending reaches √(8/9); for large
d·B both tend to the first-order law √(2d·B). So the budget is a `RisingBudget`; docs/theory.md has the derivation.

**Which arm.** The fluid equations (`theory.rates`) say what each way to spend B gains. A heuristic ranks them, by Σ_a
Φ(−√E_a), with E_a the evidence at those pulls: the mean of Φ(−Z) for a lead Z ~ N(√(2E_a), 1), summed over rivals as if
they were alone. It only chooses. Three divisions are compared: the shares w* of the exponent, all on the best private
arm, and equal shares; each spent evenly and rising. What the chosen one reaches, with chance on both sides, is
estimated from paths.
"""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import erfc, erfcinv

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.budgets import Constant, RisingBudget, TotalBudget
from feint.explorers import FixedBoosting, TopTwo
from feint.numerics._validate import as_number, check_level, is_whole
from feint.planning.facts import facts_of_unseen
from feint.planning.notice import path_count
from feint.planning.path_setup import draw_paths
from feint.planning.path_state import Paths
from feint.support.progress import shows_progress
from feint.theory.instance import check_families, public_divergences
from feint.theory.limits import evidence_by_arm
from feint.theory.maximin import optimal_boosting
from feint.theory.rates import fluid

_PATHS = 2000


@dataclass(frozen=True)
class Unseen:
    """The answer of `plan_unseen` for a `bandit`; arrays are (K,), after `horizon` pulls.

    `total` is B; `explorer`, `weights` and `budget` are the best of the `ways` to spend it. `ways` has (pulls gained in
    all, error to expect) of each, by the fluid equations. `gained` says, by arm, how many pulls more the best way makes
    than the reference would; `first_order` = √(2·w·B/d) is what the first-order law promises (0 for the best public
    arm). `pulls` and `error`, the posterior error, are means over paths; `standard_error` is that of `error`, and
    `own_error` is what the reference's own pulls reach anyway. `informed_power`, Φ(√(2B) − z_α), is about the power of
    an observer who knows every boost.
    """

    bandit: Bandit
    power: float
    alpha: float
    horizon: int
    total: float
    explorer: Any
    budget: Any
    weights: FloatArray
    pulls: FloatArray
    gained: FloatArray
    first_order: FloatArray
    error: float
    standard_error: float
    own_error: float
    informed_power: float
    ways: dict[str, tuple[float, float]]

    def __repr__(self) -> str:
        return (
            f"<Unseen for {self.horizon:,} pulls: {self.total:.4g} nats leave any level-{self.alpha:g} test a power of "
            f"at most {self.power:g}; posterior error {self.error:.4g}, {self.own_error:.4g} without any boost>"
        )

    def _repr_html_(self) -> str:
        from feint.support.html import facts_html

        return facts_html(facts_of_unseen(self))


@shows_progress("planning")
def plan_unseen(bandit: Bandit, power: float, alpha: float, horizon: int) -> Unseen:
    r"""Plan what the agent can learn in `horizon` pulls while no test of level `alpha` has more than this `power`.

    .. math:: B = \mathrm{KL}(\mathrm{Ber}(\text{power}) \,\|\, \mathrm{Ber}(\alpha))

    Parameters
    ----------
    bandit
        The instance; one arm is publicly the best.
    power, alpha
        The most power that a test of level alpha may have; 0 < alpha < power < 1.
    horizon
        The number of pulls, more than K.

    Returns
    -------
    Unseen
        `total`, the explorer and the budget to use; `weights`, `pulls`, `gained`, `first_order` (K,); the error to
        expect and that of the reference's own pulls.

    Examples
    --------
    >>> bandit = Bandit(public=[1.0, 0.0], private=[0.0, 0.5])
    >>> answer = plan_unseen(bandit, 0.5, 0.05, 10_000)
    >>> round(answer.total, 3), bool(answer.gained[1] > 0), answer.informed_power < 0.5
    (0.83, True, True)
    """
    check_level(power, "power, the most that a test may have,")
    check_level(alpha, "alpha, the level of the test,")
    if not power > alpha:
        raise ValueError(f"power is {power:g}; a test of level {alpha:g} has that by chance, so give more than alpha.")
    as_number(horizon, "horizon must be a whole number of pulls")
    if not is_whole(int(horizon), bandit.n_arms + 1) or int(horizon) != horizon:
        raise ValueError(f"horizon is {horizon!r}; it must be a whole number of pulls above {bandit.n_arms}.")
    check_families(bandit)
    total = power * math.log(power / alpha) + (1.0 - power) * math.log((1.0 - power) / (1.0 - alpha))
    end = int(horizon)
    own, ways = _ways(bandit, total, end)
    chosen = min(ways, key=lambda name: ways[name].error)
    way = ways[chosen]
    found, alone = _draw(bandit, FixedBoosting(way.weights), way.budget), _draw(bandit, TopTwo(), Constant(0.0), end)
    errors = np.exp(found.course[:, 0, 0])
    with np.errstate(divide="ignore", invalid="ignore"):
        first_order = np.sqrt(2.0 * way.weights * total / public_divergences(bandit))
    return Unseen(
        bandit=bandit,
        power=float(power),
        alpha=float(alpha),
        horizon=end,
        total=total,
        explorer=FixedBoosting(way.weights),
        budget=way.budget,
        weights=way.weights,
        pulls=found.course[:, 0, 4:].mean(0),
        gained=way.pulls - own,
        first_order=np.nan_to_num(first_order, nan=0.0, posinf=0.0),
        error=float(errors.mean()),
        standard_error=float(errors.std() / math.sqrt(errors.size)),
        own_error=float(np.exp(alone.course[:, 0, 0]).mean()),
        informed_power=float(
            0.5 * erfc(-(math.sqrt(2.0 * total) - math.sqrt(2.0) * erfcinv(2.0 * alpha)) / math.sqrt(2.0))
        ),
        ways={name: (way.gained, way.error) for name, way in ways.items()},
    )


class _Way(NamedTuple):
    """One way to spend the total, by the fluid equations."""

    weights: FloatArray
    budget: Any
    pulls: FloatArray
    gained: float  # of all arms but the best public one
    error: float


def _ways(bandit: Bandit, total: float, end: int) -> tuple[FloatArray, dict[str, _Way]]:
    """Return (the pulls of the reference alone, the ways by name)."""
    times, i_star, best = np.array([float(end)]), bandit.best_public, bandit.best_private
    others = np.arange(bandit.n_arms) != i_star
    shares = {"w*": optimal_boosting(bandit).weights, "equal shares": others / others.sum()}
    if best != i_star:
        shares["best private arm alone"] = np.eye(bandit.n_arms)[best]
    own = fluid(bandit, shares["w*"], Constant(0.0), times)[0][0]
    found = {}
    for who, weights in shares.items():
        for when, budget in (("rising", RisingBudget(total, end)), ("even", TotalBudget(total, end))):
            pulls = fluid(bandit, weights, budget, times)[0][0]
            gained = float((pulls - own)[others].sum())
            found[f"{who}, {when}"] = _Way(weights, budget, pulls, gained, _expected_error(bandit, pulls))
    return own, found


def _expected_error(bandit: Bandit, pulls: FloatArray) -> float:
    """Return Σ_a Φ(−√E_a) at the true means: a heuristic, by which ways to spend the total are ranked."""
    return float((0.5 * erfc(np.sqrt(0.5 * evidence_by_arm(bandit, pulls)))).sum())


def _draw(bandit: Bandit, explorer: Any, budget: Any, end: int | None = None) -> Paths:
    horizon = budget.horizon if end is None else end
    return draw_paths(
        bandit, explorer, budget, path_count(bandit, _PATHS), horizon=float(horizon), checkpoints=[horizon]
    )
