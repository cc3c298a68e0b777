"""Random numbers of many paths at once, and what is drawn from them by inversion.

Path i draws the words SplitMix64 gives for (i, leap, place): so paths are the same every time, whatever is planned with
them, and plans of nearly the same budget follow nearly the same paths.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from feint.numerics._jit import inlined, kernel
from feint.numerics._validate import FloatArray

WordArray = npt.NDArray[np.uint64]
_SEED = np.uint64(0x706C616E)  # "plan": a seed of its own
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_12, _27, _30, _31 = np.uint64(12), np.uint64(27), np.uint64(30), np.uint64(31)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SIEGMUND = 0.5826  # −ζ(½)/√(2π): by how much of a step's spread a walk looks lower at a bar than a Brownian motion
_MANY = 9.0  # beyond so many expected, a binomial number is a rounded normal one, corrected for its skewness
_ENOUGH = 40  # more than 9 expected at most are drawn with probability below 1e-13


def _mixed(z: Any) -> Any:
    """SplitMix64 (Steele, Lea & Flood 2014)."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


_mix = inlined(_mixed)


def keys_of(paths: npt.NDArray[np.int64]) -> WordArray:
    """One word a path."""
    return np.asarray(_mixed(_mixed(paths.astype(np.uint64) * _GOLDEN + _SEED) + _GOLDEN))


def uniforms(keys: WordArray, leap: int, count: int) -> FloatArray:
    """(count, R) in (0, 1)."""
    found = np.empty((count, keys.size))
    _fill_uniforms(keys, np.uint64(leap * count + 1), found)
    return found


@kernel
def _fill_uniforms(keys: WordArray, first: np.uint64, found: FloatArray) -> None:
    place = first * _GOLDEN
    for j in range(found.shape[0]):
        for i in range(keys.size):
            found[j, i] = np.float64(_mix(keys[i] + place) >> _12) * 2.0**-52 + 2.0**-53
        place += _GOLDEN


def binomials(n: FloatArray, p: FloatArray, u: FloatArray) -> FloatArray:
    """How many of n, (R,), at the quantile u; a p of 1 or more is all of them."""
    from scipy.special import ndtri

    mean = n * np.minimum(p, 1.0)
    found = np.where(p >= 1.0, n, 0.0)
    many = np.flatnonzero((mean > _MANY) & (p < 1.0))
    if many.size:
        rest, z = 1.0 - p[many], ndtri(u[many])
        skewed = (rest - p[many]) / 6.0 * (z * z - 1.0)  # Cornish & Fisher (1938)
        raw = np.floor(mean[many] + np.sqrt(mean[many] * rest) * z + skewed + 0.5)
        found[many] = np.minimum(n[many], np.maximum(0.0, raw))
    _invert_few(n, p, u, found)
    return found


@kernel
def _invert_few(n: FloatArray, p: FloatArray, u: FloatArray, found: FloatArray) -> None:
    """Where few are expected: one probability after the other."""
    for i in range(n.size):
        if p[i] < 1.0 and 0.0 < n[i] * p[i] <= _MANY:
            left, chance = u[i], math.exp(n[i] * math.log1p(-p[i]))
            odds = p[i] / (1.0 - p[i])
            k = 0.0
            while left >= chance and k < n[i] and k < _ENOUGH:
                left -= chance
                chance *= (n[i] - k) / (k + 1.0) * odds
                k += 1.0
            found[i] = k


def passage(above: FloatArray, end: FloatArray, variance: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """When, as a part of its duration, a Brownian bridge from 0 to `end` first is `above` 0, given that it ever is.

    With s = τ/(1 − τ) the bridge is a Brownian motion with drift |end − above|, which passes `above` at an inverse
    Gaussian s of mean above/|end − above| and shape above²/variance: drawn as in Michael, Schucany & Haas (1976).
    """
    from scipy.special import ndtri

    above, variance = np.maximum(above, 1e-12), np.maximum(variance, 1e-300)
    mean = above / np.maximum(np.abs(end - above), 1e-9 * above)
    ratio = 0.5 * mean * ndtri(u) ** 2 / (above * above / variance)
    root = mean * (1.0 + ratio - np.sqrt(ratio * (2.0 + ratio)))
    root = np.maximum(root, 0.0)
    s = np.where(v * (mean + root) <= mean, root, mean * mean / np.maximum(root, 1e-300))
    return np.asarray(s / (1.0 + s))
