r"""What a deceiver can earn: the constant of its √T law, and the pulls that reach it.

Let i* be the best public arm, g_a the private advantage of arm a over it and d_a the public divergence of a from it.
Up to lower order, pulling a with probability q where the reference has π_a = e^{−d_a·N_a} costs q·d_a·N_a of the
budget, so N_a pulls of every arm cost Σ ½·d_a·N_a² in total. With the total budget B = εT, the gain over i* is
therefore

    max Σ g_a·N_a  over  ½·Σ d_a·N_a² ≤ B:        N_a = √(2B)·(g_a/d_a)/√(Σ g_b²/d_b),    gain = √(2B)·√(Σ g_b²/d_b),

where the sums are over arms with g > 0. Arm a then takes the share w_a = ½·d_a·N_a²/B ∝ g_a²/d_a of the budget.

That this is what a policy can earn is heuristic: docs/theory.md gives the argument, to leading order, and says what it
leaves out.

**The certificate.** For every λ > 0 and N, g·N ≤ λ·½·d·N² + g²/(2λ·d), arm by arm. So no N within the budget gains more
than λ + Σ g_a²/(2λ·d_a) in units of √B; `gap` is that bound at λ = gain/2 minus the gain of the pulls returned. It
proves that the program above is solved, not the law itself.
"""

from dataclasses import dataclass

import numpy as np

from feint._types import FloatArray
from feint.bandit import Bandit
from feint.support.printable import short_list
from feint.theory.instance import check_families, check_unique_best_public, public_divergences


@dataclass(frozen=True)
class Earning:
    """The best long-run use of a KL budget for private reward.

    `weights` (K,) are the shares of the budget, all 0 where nothing can be earned. `pulls` (K,) are N_a/√(εT), with 0
    at the best public arm, which gets the rest. `gain`·√(εT) is the gain in private reward over always pulling the best
    public arm. `regret` is the private reward per pull by which the best public arm falls short of the best private
    one. The largest possible constant is proven to lie between `gain` and `gain + gap`, with `gap` ≥ 0 up to rounding.
    """

    weights: FloatArray
    pulls: FloatArray
    gain: float
    regret: float
    gap: float

    def __repr__(self) -> str:
        return (
            f"Earning(weights={short_list(self.weights)}, "
            f"pulls={short_list(self.pulls)}, gain={self.gain:.6g}, regret={self.regret:.6g}, gap={self.gap:.2g})"
        )


def optimal_earning(bandit: Bandit) -> Earning:
    r"""Return how much private reward a KL budget of ε per step can earn in the long run, and by which pulls.

    .. math:: \text{gain} = \sqrt{\varepsilon T}\,\sqrt{2 \sum_{g_a > 0} g_a^2/d_a}, \qquad N_a \propto g_a/d_a

    with g_a the private advantage of arm a over the best public arm and d_a its public divergence from it. Private
    regret stays linear: T·(μ_1 − μ_{i*}) minus the gain.

    Parameters
    ----------
    bandit
        The instance, with a single best public arm.

    Returns
    -------
    Earning
        `weights`, `pulls` (K,); `gain`, `regret` and the certificate `gap`.

    Examples
    --------
    >>> best = optimal_earning(Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.4, 0.0]))
    >>> best.weights.round(4), round(best.gain, 4), abs(best.gap) < 1e-12
    (array([0. , 0.9, 0.1, 0. ]), 2.1082, True)
    """
    check_families(bandit)
    check_unique_best_public(bandit)
    if bandit.feedback is not None:
        raise ValueError("What can be earned without seeing all private rewards is not known; leave the feedback out.")
    private = np.array(bandit.private)
    advantage = np.maximum(0.0, private - private[bandit.best_public])
    cost = public_divergences(bandit)
    earning = advantage > 0.0
    weights, pulls = np.zeros(bandit.n_arms), np.zeros(bandit.n_arms)
    regret = float(bandit.private_gaps[bandit.best_public])
    if not earning.any():
        return Earning(weights, pulls, 0.0, regret, 0.0)
    with np.errstate(all="ignore"):
        roots = advantage[earning] / np.sqrt(cost[earning])
        relative = roots / roots.max()
        weights[earning] = relative**2 / (relative @ relative)
        pulls[earning] = np.sqrt(2.0 * weights[earning] / cost[earning])
        gain = float(advantage @ pulls)
    if not (np.isfinite(pulls).all() and 0.0 < gain < np.inf):
        raise ValueError(f"The gaps of {bandit} are so unequal that its weights leave float64's range.")
    bound = 0.5 * gain + float(roots.max() * (roots / gain) @ relative)
    return Earning(weights, pulls, gain, regret, bound - gain)
