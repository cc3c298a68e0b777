"""A deceiver who earns: it spends the KL budget on private reward instead of knowledge."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from feint._types import FloatArray
from feint.explorers.base import Uniforms, View
from feint.explorers.tilting import tilting
from feint.families.base import draw_mean
from feint.numerics._jit import shared
from feint.numerics.posterior_draws import as_key


@shared
def _fill_values(settings: "EarnKernel", view: View, uniforms: Uniforms, values: FloatArray) -> None:
    first, second = as_key(uniforms[0]), as_key(uniforms[1])
    for a in range(values.size):
        values[a] = draw_mean(view.private_family, view.private, a, first, second)


@tilting(_fill_values, draws=True)
class EarnKernel(NamedTuple):
    """`Earn` for kernels."""


@dataclass(frozen=True)
class Earn:
    """An explorer that tilts by a draw of the private means from their posterior, so as to earn and keep exploring.

    Every step is drawn from the policy in the KL ball with the largest Σ q_a·v_a (`tilt`), where v_a is drawn anew from
    the posterior of arm a's private mean, as in Thompson Sampling. Tilting by the estimated means instead gets stuck:
    an arm that once looks bad is suppressed and never tried again (docs/theory.md tells how often, and what else was
    tried). The gain grows like √(εT) with the constant of `optimal_earning`; `simulate` records it as `private_gain`.
    The arm with the largest draw counts as boosted. This explorer always runs eagerly, whatever the method.

    Examples
    --------
    >>> import feint
    >>> bandit = feint.Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> runs = feint.simulate(bandit, feint.Earn(), epsilon=0.1, horizon=300, replications=2)
    >>> runs.private_gain.dims
    ('replication', 'time')
    """

    name: ClassVar[str] = "earn"

    def kernel(self, n_arms: int) -> "EarnKernel":
        """Return empty settings."""
        return EarnKernel()
