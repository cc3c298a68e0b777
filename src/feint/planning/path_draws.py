"""Random numbers of many paths at once, and what is drawn from them by inversion.

Path i draws the words that SplitMix64 gives for (i, leap, place). So paths are the same every time, whatever is planned
with them, and plans with nearly the same budget follow nearly the same paths.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._jit import inlined, kernel, part

WordArray = npt.NDArray[np.uint64]
_SEED = np.uint64(0x706C616E)  # "plan": a seed of its own
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_12, _27, _30, _31 = np.uint64(12), np.uint64(27), np.uint64(30), np.uint64(31)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
SIEGMUND = 0.5826  # −ζ(½)/√(2π): by how much of a step's spread a walk looks lower at a bar than a Brownian motion
_MANY = 9.0  # above this mean, a binomial number is a rounded normal one, corrected for its skewness
_ENOUGH = 40  # with a mean of at most 9, more than this has probability below 1e-13


def _mixed(z: Any) -> Any:
    """Mix the bits of z as SplitMix64 does (Steele, Lea & Flood 2014)."""
    z = (z ^ (z >> _30)) * _MIX_1
    z = (z ^ (z >> _27)) * _MIX_2
    return z ^ (z >> _31)


_mix_word = inlined(_mixed)


def keys_of(paths: npt.NDArray[np.int64]) -> WordArray:
    """Return one word per path."""
    return np.asarray(_mixed(_mixed(paths.astype(np.uint64) * _GOLDEN + _SEED) + _GOLDEN))


def uniforms(keys: WordArray, leap: int, count: int) -> FloatArray:
    """Return uniform numbers in (0, 1), shape (count, R)."""
    found = np.empty((count, keys.size))
    _fill_uniforms(keys, np.uint64(leap * count + 1), found)
    return found


@kernel
def _fill_uniforms(keys: WordArray, first: np.uint64, found: FloatArray) -> None:
    place = first * _GOLDEN
    for j in range(found.shape[0]):
        for i in range(keys.size):
            found[j, i] = np.float64(_mix_word(keys[i] + place) >> _12) * 2.0**-52 + 2.0**-53
        place += _GOLDEN


def binomials(n: FloatArray, p: float, u: FloatArray) -> FloatArray:
    """Draw how many of n happen with probability p each, at quantiles u; arrays are (K, R)."""
    from scipy.special import ndtri

    found = np.empty(n.shape)
    _fill_binomials(n, p, u, ndtri(u), found)
    return found


@kernel
def _fill_binomials(n: FloatArray, p: float, u: FloatArray, z: FloatArray, found: FloatArray) -> None:
    for a in range(n.shape[0]):
        for i in range(n.shape[1]):
            found[a, i] = _binomial(n[a, i], p, u[a, i], z[a, i])


def multinomials(n: FloatArray, p: FloatArray, u: FloatArray) -> FloatArray:
    """Draw how many of n, (R,), fall on each of K arms, (K, R), at quantiles u; the likeliest arm gets the rest."""
    from scipy.special import ndtri

    found, z = np.empty(p.shape), np.zeros(p.shape)
    # The mean share of what is left is at most p/(p + the largest); 0.1 % more, since sums of p are rounded.
    many = np.flatnonzero(1.001 * n * p > _MANY * (p + p.max(0)))
    z.ravel()[many] = ndtri(u.ravel()[many])
    _fill_counts(n, p, u, z, found)
    return found


@kernel
def _fill_counts(n: FloatArray, p: FloatArray, u: FloatArray, z: FloatArray, found: FloatArray) -> None:
    for i in range(n.size):
        likeliest = 0
        for a in range(1, p.shape[0]):
            if p[a, i] > p[likeliest, i]:
                likeliest = a
        left, chance = n[i], 1.0
        for a in range(p.shape[0]):
            if a != likeliest:
                found[a, i] = _binomial(left, p[a, i] / max(chance, 1e-300), u[a, i], z[a, i])
                left -= found[a, i]
                chance -= p[a, i]
        found[likeliest, i] = left


@part
def _binomial(n: float, p: float, u: float, z: float) -> float:
    """Return the binomial number of n and p at the quantile u, whose normal score is z; with p ≥ 1 it is n."""
    if p >= 1.0:
        return n
    mean = n * p
    if mean > _MANY:
        skewed = (1.0 - 2.0 * p) / 6.0 * (z * z - 1.0)  # Cornish & Fisher (1938)
        return min(n, max(0.0, math.floor(mean + math.sqrt(mean * (1.0 - p)) * z + skewed + 0.5)))
    if mean <= 0.0:
        return 0.0
    # With a small mean, add up one probability after the other.
    left, chance = u, math.exp(n * math.log1p(-p))
    odds = p / (1.0 - p)
    k = 0.0
    while left >= chance and k < n and k < _ENOUGH:
        left -= chance
        chance *= (n - k) / (k + 1.0) * odds
        k += 1.0
    return k


def passage(above: FloatArray, end: FloatArray, variance: FloatArray, u: FloatArray, v: FloatArray) -> FloatArray:
    """Draw at which fraction of its duration a Brownian bridge from 0 to `end` first reaches `above`, if it does.

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
