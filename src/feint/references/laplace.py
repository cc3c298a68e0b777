"""Laplace's approximation of the posterior of a logistic regression, online.

The rewards of one arm that become known before the same row are one batch. The posterior so far is their normal prior;
the new mean is the mode

    w = argmin ½‖Rw − c‖² + Σ log(1 + exp(−s·x′w)),        s = ±1,

found by Newton's method. Each of its steps is a least-squares problem, solved by rotating in the rows
√q·(x, x′w + (y − p)/q) with p = expit(x′w), q = p(1 − p). Steps are halved until the loss falls. At the mode these rows
leave the new R, or R_jj² + Σ q·x_j² on a diagonal one.
"""

import math

from feint._types import FloatArray
from feint.numerics._jit import inlined, part
from feint.references.regression_roots import Learnt, rotate_in, solve

_MOST_STEPS, _MOST_HALVINGS = 100, 40
_CONVERGED, _QUADRATIC = 1e-26, 1e-8  # squared length of a Newton step, in posterior sds
_LEAST_WEIGHT = 1e-200


@inlined
def _inner_product(first: FloatArray, second: FloatArray) -> float:
    total = 0.0
    for j in range(first.size):
        total += first[j] * second[j]
    return total


@inlined
def _copy(source: FloatArray, target: FloatArray) -> None:
    for j in range(source.shape[0]):
        for k in range(source.shape[1]):
            target[j, k] = source[j, k]


@part
def _loss(table: FloatArray, w: FloatArray, arm: int, start: int, stop: int, learnt: Learnt) -> float:
    size, total = table.shape[0], 0.0
    for j in range(size):
        gap = -table[j, size]
        for k in range(j, size):
            gap += table[j, k] * w[k]
        total += 0.5 * gap * gap
    for i in range(start, stop):
        if learnt.arm[i] == arm:
            margin = _inner_product(learnt.context[i], w)
            margin = margin if learnt.reward[i] > 0.5 else -margin
            total += math.log1p(math.exp(-abs(margin))) + max(-margin, 0.0)
    return total


@part
def _add_batch(table: FloatArray, w: FloatArray, learnt: Learnt, batch: tuple[int, int, int], row: FloatArray) -> None:
    """Rotate in the rows of a batch, expanded around w."""
    arm, start, stop = batch
    for i in range(start, stop):
        if learnt.arm[i] != arm:
            continue
        score = _inner_product(learnt.context[i], w)
        small = math.exp(-abs(score))
        p = 1.0 / (1.0 + small) if score > 0.0 else small / (1.0 + small)
        gap = (small / (1.0 + small) if score > 0.0 else 1.0 - p) if learnt.reward[i] > 0.5 else -p
        weight = math.sqrt(max(small / (1.0 + small) ** 2, _LEAST_WEIGHT))
        for j in range(w.size):
            row[j] = weight * learnt.context[i, j]
        row[w.size] = weight * score + gap / weight
        rotate_in(table, row)


@part
def learn_batch(
    table: FloatArray, learnt: Learnt, batch: tuple[int, int, int], diagonal: bool, scratch: FloatArray
) -> None:
    """Replace a posterior by Laplace's approximation of the one after a batch: (arm, first item, end)."""
    size = table.shape[0]
    arm, start, stop = batch
    trial, row, w, goal = scratch[:size], scratch[size], scratch[size + 1, :size], scratch[size + 2, :size]
    solve(table, w)
    loss, steps, moving = _loss(table, w, arm, start, stop, learnt), 0, True
    while moving and steps < _MOST_STEPS:
        steps += 1
        _copy(table, trial)
        _add_batch(trial, w, learnt, batch, row)
        solve(trial, goal)
        length = 0.0
        for j in range(size):
            moved = 0.0
            for k in range(j, size):
                moved += trial[j, k] * (goal[k] - w[k])
            length += moved * moved
        share, tries = 1.0, 0
        while length > _QUADRATIC and tries < _MOST_HALVINGS:
            tries += 1
            for j in range(size):
                row[j] = w[j] + share * (goal[j] - w[j])
            if _loss(table, row[:size], arm, start, stop, learnt) < loss:
                break
            share *= 0.5
        for j in range(size):
            w[j] += share * (goal[j] - w[j])
        loss = _loss(table, w, arm, start, stop, learnt)
        moving = length > _CONVERGED
    _copy(table, trial)
    _add_batch(trial, w, learnt, batch, row)
    for j in range(size):
        if diagonal:
            squares = 0.0
            for k in range(j + 1):
                squares += trial[k, j] ** 2
            table[j, j] = math.sqrt(squares)
            table[j, size] = table[j, j] * w[j]
        else:
            total = 0.0
            for k in range(j, size):
                table[j, k] = trial[j, k]
                total += trial[j, k] * w[k]
            table[j, size] = total
