"""An explorer that tilts by given values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.explorers.base import Uniforms, View
from feint.explorers.tilting import tilting
from feint.numerics._jit import inlined
from feint.numerics._validate import as_floats


@inlined
def _fill_values(settings: FixedTiltingKernel, view: View, uniforms: Uniforms, values: FloatArray) -> None:
    for a in range(values.size):
        values[a] = settings.values[a]


@tilting(_fill_values, draws=False)
class FixedTiltingKernel(NamedTuple):
    """`FixedTilting` for kernels."""

    values: FloatArray


@dataclass(frozen=True)
class FixedTilting:
    """An explorer that draws every step from the policy in the KL ball with the largest Σ q·values: `tilt`.

    With the true private means as values, it earns what an agent who knows them would; with 1{arm} it boosts that arm.

    Parameters
    ----------
    values
        (K,) finite numbers: what a pull of each arm is worth. Only their differences matter.

    Examples
    --------
    >>> FixedTilting([0.2, 0.5, 0.1]).values
    (0.2, 0.5, 0.1)
    """

    name: ClassVar[str] = "fixed-tilting"
    values: tuple[float, ...]

    def __init__(self, values: npt.ArrayLike) -> None:
        array = as_floats(values, "values")
        if array.ndim != 1 or not (abs(array) <= 1e150).all():
            raise ValueError(f"values is {values!r}; give one finite number per arm.")
        object.__setattr__(self, "values", tuple(float(value) for value in array))

    def kernel(self, n_arms: int) -> FixedTiltingKernel:
        """Return the settings for kernels."""
        if len(self.values) != n_arms:
            raise ValueError(f"FixedTilting has {len(self.values)} values for {n_arms} arms; give one per arm.")
        return FixedTiltingKernel(np.array(self.values))
