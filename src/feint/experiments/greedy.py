"""An explorer that earns without exploring, and so locks in, as `earning` shows."""

from typing import NamedTuple

from feint._types import FloatArray
from feint.explorers.base import Uniforms, View
from feint.explorers.tilting import tilting
from feint.numerics._jit import inlined


@inlined
def _fill_values(settings: "GreedyKernel", view: View, uniforms: Uniforms, values: FloatArray) -> None:
    for a in range(values.size):
        values[a] = view.private_means[a]


@tilting(_fill_values, draws=False)
class GreedyKernel(NamedTuple):
    """`Greedy` for kernels."""


class Greedy:
    """Tilt by the estimated private means: what `Earn` would be if it did not explore."""

    def kernel(self, n_arms: int) -> GreedyKernel:
        """Return its settings for kernels; it has none."""
        return GreedyKernel()
