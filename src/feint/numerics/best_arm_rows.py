"""What all kernels of best-arm probabilities share: p or log p from sums and exponents, and many rows on all cores."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import part
from feint.numerics._threads import run_slices


@part
def normalise(sums: FloatArray, exponents: FloatArray, out: FloatArray) -> None:
    """Fill `out` with p_a = sums[a]·exp(exponents[a]), normalised."""
    total = 0.0
    for a in range(out.size):
        out[a] = sums[a] * math.exp(exponents[a])
        total += out[a]
    for a in range(out.size):
        out[a] /= total


@part
def complete_logs(logs: FloatArray, p: FloatArray) -> None:
    """Fill p = exp(logs), and recompute the logarithm of a likely arm from the complement, which has more digits."""
    for a in range(p.size):
        p[a] = math.exp(logs[a])
    for a in range(p.size):
        if p[a] > 0.5:
            rest = 0.0
            for j in range(p.size):
                if j != a:
                    rest += p[j]
            logs[a] = math.log1p(-rest)


@part
def log_rest(log_best: FloatArray, leader: int) -> float:
    """Return log P(an arm other than the leader is the best), even where that is far below rounding."""
    highest = -math.inf
    for a in range(log_best.size):
        if a != leader:
            highest = max(highest, log_best[a])
    total = 0.0
    for a in range(log_best.size):
        if a != leader:
            total += math.exp(log_best[a] - highest)
    return highest + math.log(total)


@part
def take_logs(sums: FloatArray, exponents: FloatArray, out: FloatArray) -> None:
    """Fill `out` with log p_a; near p = 1 from the exact complement. The exponents are overwritten."""
    for a in range(out.size):
        out[a] = math.log(sums[a]) + exponents[a]
    complete_logs(out, exponents)


def over_rows(
    fill_rows: Callable[[FloatArray, FloatArray, FloatArray, Any], None],
    first: FloatArray,
    second: FloatArray,
    workspace: Callable[[int], Any],
    arms_per_slice: int,
) -> FloatArray:
    """Return (..., K) from two such arrays of parameters; below `arms_per_slice` arms × rows one thread is faster."""
    result = np.empty(first.shape)
    n_arms = first.shape[-1]
    first_rows, second_rows, rows = (array.reshape(-1, n_arms) for array in (first, second, result))

    def fill(start: int, stop: int) -> None:
        fill_rows(first_rows[start:stop], second_rows[start:stop], rows[start:stop], workspace(n_arms))

    run_slices(fill, len(rows), smallest=max(1, arms_per_slice // n_arms))
    return result
