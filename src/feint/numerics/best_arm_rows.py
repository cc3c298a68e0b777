"""What all kernels of best-arm probabilities share: p or log p from sums and exponents, and many rows on all cores."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import by_type, kernel, part
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
def normalise_logs(logs: FloatArray, p: FloatArray) -> None:
    """Normalise logarithms of which the largest is about 0, and fill p as `complete_logs` does."""
    total = 0.0
    for a in range(p.size):
        total += math.exp(logs[a])
    for a in range(p.size):
        logs[a] -= math.log(total)
    complete_logs(logs, p)


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


@by_type
def best_sums(ws: Any, first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return sums and exponents, (K,), with P(arm a is the best) = sums[a]·exp(exponents[a]), of one row of posteriors.

    It is chosen by the type of the scratch space `ws`, which contains both results.
    """
    raise NotImplementedError


@part
def fill_probabilities(ws: Any, first: FloatArray, second: FloatArray, out: FloatArray) -> None:
    """Fill `out` with P of one row, without allocation: the entry point for other kernels."""
    sums, exponents = best_sums(ws, first, second)
    normalise(sums, exponents, out)


@part
def fill_log_probabilities(ws: Any, first: FloatArray, second: FloatArray, out: FloatArray) -> None:
    """Fill `out` with log p of one row, without allocation; near p = 1 from the exact complement."""
    sums, exponents = best_sums(ws, first, second)
    take_logs(sums, exponents, out)


@kernel
def _fill_rows(ws: Any, first: FloatArray, second: FloatArray, out: FloatArray) -> None:
    for row in range(first.shape[0]):
        fill_probabilities(ws, first[row], second[row], out[row])


@kernel
def _fill_log_rows(ws: Any, first: FloatArray, second: FloatArray, out: FloatArray) -> None:
    for row in range(first.shape[0]):
        fill_log_probabilities(ws, first[row], second[row], out[row])


def over_rows(
    parameters: tuple[FloatArray, FloatArray], workspace: Callable[[int], Any], arms_per_slice: int, *, log: bool
) -> FloatArray:
    """Return p or log p, (…, K), of two such parameters; below `arms_per_slice` arms × rows one thread is faster."""
    result = np.empty(parameters[0].shape)
    n_arms = parameters[0].shape[-1]
    first, second, rows = (array.reshape(-1, n_arms) for array in [*parameters, result])
    fill_rows = _fill_log_rows if log else _fill_rows

    def fill(start: int, stop: int) -> None:
        fill_rows(workspace(n_arms), first[start:stop], second[start:stop], rows[start:stop])

    run_slices(fill, len(rows), smallest=max(1, arms_per_slice // n_arms))
    return result
