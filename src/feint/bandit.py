"""The instance: public and private mean rewards of each arm, and their common standard deviation."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feint.numerics._validate import FloatArray, as_floats, as_number


@dataclass(frozen=True)
class Bandit:
    """A K-armed Gaussian bandit with public and private means (the paper's Section 3).

    A tie for the best public arm is a fair instance to simulate; only the theory refuses it.

    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> bandit.best_public, bandit.best_private
    (0, 1)
    >>> bandit.private_gaps
    array([0.3, 0. , 0.4, 0.5])
    """

    public: tuple[float, ...]
    private: tuple[float, ...]
    sigma: float

    def __init__(self, public: npt.ArrayLike, private: npt.ArrayLike, sigma: float = 1.0) -> None:
        means = {"public": _means(public, "public"), "private": _means(private, "private")}
        if len(means["public"]) != len(means["private"]):
            raise ValueError(
                f"There are {len(means['public'])} public and {len(means['private'])} private means; "
                "give one of each for every arm."
            )
        deviation = check_sigma(sigma)
        best = max(means["private"])
        if means["private"].count(best) > 1:
            tied = [a for a, mean in enumerate(means["private"]) if mean == best]
            raise ValueError(
                f"Arms {tied} tie for the best private mean {best}; there is nothing to identify, so make one larger."
            )
        for name, value in means.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "sigma", deviation)

    @property
    def n_arms(self) -> int:
        """K."""
        return len(self.public)

    @property
    def best_public(self) -> int:
        """i*, the first of the arms with the largest public mean."""
        return int(np.argmax(self.public))

    @property
    def best_private(self) -> int:
        """The arm to be found; the paper's arm 1 of Section 5."""
        return int(np.argmax(self.private))

    @property
    def public_gaps(self) -> FloatArray:
        """Δ_a^pub = max μ^pub − μ_a^pub."""
        return max(self.public) - np.array(self.public)

    @property
    def private_gaps(self) -> FloatArray:
        """Δ_a^priv = max μ^priv − μ_a^priv."""
        return max(self.private) - np.array(self.private)


def check_sigma(sigma: object) -> float:
    """The rewards' standard deviation, a finite number above 0."""
    what = "sigma, the rewards' standard deviation, must be a finite number above 0"
    number = as_number(sigma, what)
    if not 0 < number < math.inf:
        raise ValueError(f"{what}; got {sigma!r}.")
    return number


def _means(value: npt.ArrayLike, name: str) -> tuple[float, ...]:
    array = as_floats(value, f"{name} means")
    if array.ndim != 1 or array.size < 2:
        raise ValueError(f"{name} means have shape {array.shape}; give a flat list with at least two arms.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} means are {array.tolist()}; every mean must be finite.")
    return tuple(float(mean) for mean in array)
