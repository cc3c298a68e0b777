"""Normal rewards with a known standard deviation: the paper's family."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.families.base import MEAN_HIGH, MEAN_LOW, MOST, Belief, divergences
from feint.families.normal_region import fill_normal_region, set_corners
from feint.families.normal_tangents import displace, fill_log_bounds, recentre
from feint.families.placing import place_normal, sharpest_mean
from feint.numerics._jit import inlined, part, parts, shared_inlined
from feint.numerics._validate import set_number
from feint.numerics.best_arm import best_arm_probabilities
from feint.numerics.best_arm_kernel import single_arm_sum
from feint.numerics.best_arm_others import fill_normal_log_others
from feint.numerics.best_arm_workspace import SHIFT, SUM, NormalWorkspace, allocate_normal_workspace
from feint.numerics.posterior_axes import allocate_normal_axis
from feint.numerics.posterior_draws import draw_normal
from feint.numerics.sequence import DrawSequence, next_normal
from feint.numerics.streams import Word

_LARGEST_REWARD = 1e100  # in units of σ: far from overflow
_LARGEST_OBSERVED = 1e6  # in units of σ: a sum of 10⁷ such rewards is still rounded far below the posterior's width
_LARGEST_MEAN = 1e12  # in units of σ
_LARGEST_SIGMA = 1e200  # and the smallest is its inverse: sums neither overflow nor vanish
_MOST_PSEUDO_PULLS = 1e12


@inlined
def _draw_reward(family: "GaussianKernel", mean: float, normal: float, uniform: float) -> float:
    return mean + family.sigma * normal


@inlined
def _set_posterior(family: "GaussianKernel", belief: Belief, a: int) -> None:
    """Set the posterior; a prior N(m, s²) counts like κ = (σ/s)² rewards of m, with prior = (κ·m, κ), 0 if flat."""
    count = belief.pulls[a] + belief.prior[1, a]
    belief.posterior[0, a] = (belief.sums[a] + belief.prior[0, a]) / count
    belief.posterior[1, a] = family.sigma / math.sqrt(count)


@part
def _fill_log_others(
    family: "GaussianKernel",
    posterior: FloatArray,
    ws: NormalWorkspace,
    arm: int,
    extremes: FloatArray,
    high: FloatArray,
    low: FloatArray,
) -> None:
    fill_normal_log_others(posterior, arm, extremes, ws, high, low)


@part
def _log_best_of(family: "GaussianKernel", posterior: FloatArray, ws: NormalWorkspace, arm: int) -> float:
    single_arm_sum(posterior[0], posterior[1], ws, arm)
    return math.log(ws.arms[SUM, arm]) + ws.arms[SHIFT, arm]


@part
def _fill_corners(
    family: "GaussianKernel",
    belief: Belief,
    arm: int,
    radius: float,
    max_pulls: int,
    box: FloatArray,
    corners: FloatArray,
) -> float:
    """Fill the box and its corners; see "A box" in `normal_tangents`."""
    pulls = belief.pulls[arm]
    most = pulls + max_pulls
    kappa = belief.prior[1, arm]
    sd = belief.posterior[1, arm]
    sd_low = family.sigma / math.sqrt(most + kappa)
    low = belief.means[arm] - radius * sd
    high = belief.means[arm] + radius * sd
    box[MEAN_LOW], box[MEAN_HIGH], box[MOST] = low, high, float(most)
    # With a prior, the posterior's mean lies between the rewards' and the prior's; pulls move it towards the rewards'.
    at_first, at_last = pulls / (pulls + kappa), most / (most + kappa)
    pulled = belief.prior[0, arm]
    low = min(low * at_first + pulled / (pulls + kappa), low * at_last + pulled / (most + kappa))
    high = max(high * at_first + pulled / (pulls + kappa), high * at_last + pulled / (most + kappa))
    return set_corners(corners, low, high, sd, sd_low)


@inlined
def _draw_sum(family: "GaussianKernel", mean: float, n: int, draws: DrawSequence) -> float:
    return n * mean + family.sigma * math.sqrt(n) * next_normal(draws)


@inlined
def _draw_part(family: "GaussianKernel", total: float, n: int, first: int, draws: DrawSequence) -> float:
    share = first / n
    return total * share + family.sigma * math.sqrt(first * (1.0 - share)) * next_normal(draws)


@inlined
def _nats_to_cross(family: "GaussianKernel", total: float, n: int, here: float, there: float) -> float:
    """Return the exact value for a Brownian bridge, a bound because the walk is the bridge at whole times."""
    return 2.0 * here * there / (n * family.sigma * family.sigma)


@inlined
def _has_tangents(family: "GaussianKernel") -> bool:
    return True


@inlined
def _slack(family: "GaussianKernel") -> float:
    return 1e-11  # the kernel's error is below 1e-12


@inlined
def _move_inside(family: "GaussianKernel", mean: float, pulls: int) -> float:
    return mean


@inlined
def _draw_mean(family: "GaussianKernel", belief: Belief, a: int, first: Word, second: Word) -> float:
    return belief.posterior[0, a] + belief.posterior[1, a] * draw_normal(a, first, second)


@shared_inlined
def _divergence_to(family: "GaussianKernel", x: float, change: float) -> float:
    ratio = change / family.sigma
    return 0.5 * ratio * ratio


# What every belief of normal means has, whatever it was learnt from.
NORMAL_PARTS: dict[str, Any] = {
    "normal": True,  # rewards are drawn from normals, not from uniform numbers
    "fill_region": fill_normal_region,
    "fill_log_others": _fill_log_others,
    "log_best_of": _log_best_of,
    "has_tangents": _has_tangents,
    "recentre": recentre,
    "displace": displace,
    "fill_log_bounds": fill_log_bounds,
    "slack": _slack,
    "move_inside": _move_inside,
    "draw_mean": _draw_mean,
    "divergence_to": _divergence_to,
    "workspace": allocate_normal_workspace,
    "axis": allocate_normal_axis,
    "place_on_axis": place_normal,
    "middle_point": sharpest_mean,
}


@parts(
    **NORMAL_PARTS,
    draw_reward=_draw_reward,
    set_posterior=_set_posterior,
    fill_corners=_fill_corners,
    draw_sum=_draw_sum,
    draw_part=_draw_part,
    nats_to_cross=_nats_to_cross,
)
class GaussianKernel(NamedTuple):
    """`Gaussian` for kernels."""

    sigma: float


@dataclass(frozen=True)
class Gaussian:
    """Normal rewards with standard deviation σ; a prior is (mean, sd) of a normal, by default flat.

    Parameters
    ----------
    sigma
        σ, above 0.

    Examples
    --------
    >>> Gaussian(2.0).divergence(0.0, 1.0)
    np.float64(0.125)
    """

    name: ClassVar[str] = "gaussian"
    aliases: ClassVar[tuple[str, ...]] = ("normal",)
    sigma: float = 1.0

    def __post_init__(self) -> None:
        what = "sigma, the rewards' standard deviation, must be a finite number above 0"
        set_number(self, "sigma", what, lambda x: 0 < x < math.inf)
        if not 1 / _LARGEST_SIGMA <= self.sigma <= _LARGEST_SIGMA:
            raise ValueError(f"sigma is {self.sigma:g}; rescale the rewards, so that it lies between 1e-200 and 1e200.")

    @property
    def mean_range(self) -> tuple[float, float]:
        """All numbers."""
        return -math.inf, math.inf

    @property
    def draw_range(self) -> tuple[float, float]:
        """The means from which rewards can be drawn; beyond, float64 rounds the noise of a reward away."""
        return -_LARGEST_MEAN * self.sigma, _LARGEST_MEAN * self.sigma

    @property
    def rewards(self) -> str:
        """A phrase that says what a reward must be."""
        return "a finite number within 1e100 sigma of 0"

    def accepts(self, rewards: Any) -> Any:
        """Return whether each entry can be a reward."""
        return abs(rewards) <= _LARGEST_REWARD * self.sigma

    @property
    def observable(self) -> tuple[float, str]:
        """How large rewards may be where a long log of them is recomputed, as a number and as a phrase."""
        return _LARGEST_OBSERVED * self.sigma, "a finite number within 1e6 sigma of 0 (otherwise subtract a constant)"

    def possible(self, pulls: FloatArray, sums: FloatArray) -> bool:
        """Return whether these sums can come from this many rewards."""
        return bool((abs(sums) <= _LARGEST_REWARD * self.sigma * pulls).all())

    def prior(self, given: Any) -> tuple[float, float]:
        """Return (κ·mean, κ) for a prior (mean, sd), κ = (σ/sd)²; (0, 0) for None, the flat prior."""
        if given is None:
            return 0.0, 0.0
        mean, sd = given
        ratio = self.sigma / sd if sd > 0 else math.inf
        kappa = ratio * ratio  # ** would raise on overflow
        if not kappa <= _MOST_PSEUDO_PULLS or not abs(mean) <= _LARGEST_OBSERVED * self.sigma:
            raise ValueError(
                f"The prior ({mean:g}, {sd:g}) does not fit sigma = {self.sigma:g}: it is (mean, sd) of a normal, with "
                "an sd of at least 1e-6 sigma and a mean within 1e6 sigma of 0."
            )
        return kappa * mean, kappa

    def log_probabilities(self, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return log P(arm is the best) of posteriors with means `first` and standard deviations `second`, (…, K)."""
        return best_arm_probabilities(first, second, log=True)

    def is_proper(self, prior: tuple[float, float]) -> bool:
        """Return whether there is a posterior before the first pull."""
        return prior[1] > 0

    def posterior(
        self, prior: tuple[float, float], pulls: FloatArray, sums: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Return (means, sds) after these pulls; fractions of pulls are allowed."""
        count = pulls + prior[1]
        return (sums + prior[0]) / count, self.sigma / np.sqrt(count)

    def divergence(self, x: "npt.ArrayLike", y: "npt.ArrayLike") -> FloatArray:
        """Return (x − y)²/2σ²."""
        return divergences(self.kernel(), x, np.subtract(y, x))

    def variance(self, x: "npt.ArrayLike") -> FloatArray:
        """Return σ²."""
        return np.full(np.shape(x), self.sigma**2)

    def log_prior(self, x: "npt.ArrayLike") -> FloatArray:
        """Return 0: the usual prior is flat."""
        return np.zeros(np.shape(x))

    def draw(self, mean: float, uniform: float) -> float:
        """Draw a reward by inversion."""
        from scipy.special import ndtri

        return float(mean + self.sigma * ndtri(uniform))

    def words(self, prior: Any) -> str:
        """Return a description of posterior and prior for reports."""
        shown = "a flat prior" if prior is None else f"the prior N({prior[0]:g}, {prior[1]:g}²)"
        return f"normal posteriors, {shown} and σ = {self.sigma:g}"

    def kernel(self) -> GaussianKernel:
        """Return the settings for kernels."""
        return GaussianKernel(self.sigma)
