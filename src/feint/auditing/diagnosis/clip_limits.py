"""Experts whose probabilities never fall below a limit, or never rise above one, as in `Clipped`."""

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np

from feint._types import BoolArray, FloatArray
from feint.auditing.diagnosis.experts import ExpertFamily, Setting
from feint.auditing.diagnosis.pulls import REFUTED

CLIP = "clip"  # a kind, and a setting: LOW or LOW,HIGH
_SMALLEST = 1e-300


class Limited(ExpertFamily[str]):
    """All probabilities are multiplied by one number, and those beyond the limit are set to it.

    The size is the lower limit, or 1 minus the upper one. With two arms, each limit implies the other. Arms of
    probability 0 keep it: they may not be available.
    """

    SIZES: ClassVar[FloatArray] = np.geomspace(0.005, 0.3, 8)

    def labels(self) -> Sequence[str]:
        """Return on which side the limit may be."""
        return ("below", "above") if len(self.log.names) > 2 else ("below",)

    def _limit(self, label: str, size: float) -> float:
        """Return the limit, or the nearest one that all arms can keep."""
        even = 1.0 / len(self.log.names)
        return min(size, 0.99 * even) if label == "below" else max(1.0 - size, 1.01 * even)

    def log_ratios(self, label: str, size: float) -> FloatArray:
        """Return ℓ_t of every row; see the class."""
        limit, log = self._limit(label, size), self.log
        if label == "below":
            scale = _scale(log.log_pi, limit, np.less, np.minimum)
            q = np.maximum(np.exp(log.pulled) * scale, limit)
        else:
            scale = _scale(log.log_pi, limit, np.greater, np.maximum)
            q = np.minimum(np.exp(log.pulled) * scale, limit)
        changes = (log.pulled > REFUTED) & np.isfinite(scale)
        return np.where(changes, np.log(q) - log.pulled, 0.0)

    def words(self, label: str, size: float) -> str:
        """Return a description of the departure."""
        return f"no probability {label} {self._limit(label, size):.3g}"

    def setting(self, label: str, size: float) -> Setting:
        """Return the limits as `--clip` reads them."""
        return CLIP, ("" if label == "below" else "0,") + f"{self._limit(label, size):.3g}"


def _scale(
    log_pi: FloatArray,
    limit: float,
    beyond: Callable[[FloatArray, float], BoolArray],
    further: Callable[[FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Return the number by which the probabilities of each row are multiplied, (n,); ∞ where all arms are at the limit.

    Setting some arms to the limit changes what the others share, which may bring more of them to it: K rounds at most.
    """
    scale = np.ones(len(log_pi))
    for _ in range(log_pi.shape[1]):
        set_to_limit, rest = np.zeros(scale.size), np.zeros(scale.size)
        for column in log_pi.T:  # one by one: no copy of the whole log
            p = np.where(column > REFUTED, np.exp(column), 0.0)
            out = beyond(p * np.where(np.isfinite(scale), scale, 1.0), limit) & (p > 0.0)
            set_to_limit += out
            rest += np.where(out, 0.0, p)
        share = np.where(rest > 0.0, (1.0 - set_to_limit * limit) / np.maximum(rest, _SMALLEST), np.inf)
        found = np.where(np.isfinite(scale), further(scale, share), scale)
        if np.array_equal(found, scale):
            break
        scale = found
    return scale
