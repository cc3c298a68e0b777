"""Draws one after the other, as many as it takes: the stream of the event-driven engine.

Philox (`streams`) keyed by (seed, replication) as everywhere, with counters (i, 3, 0, 0): word after word in the order
in which they are asked for. How many a step needs depends on what happens, so unlike those of `streams` the draws of a
step cannot be named; but nothing but the key and the order of questions decides them, and a replication asks alone.

No tail is cut: an exponential whose uniform number is below 2⁻¹⁰ starts anew there, since it has no memory, so that
neither it nor a normal made of it ends at the 2⁻⁵⁴ of a uniform number.
"""

import math
from typing import NamedTuple

import numpy as np

from feint.numerics._jit import inlined, part
from feint.numerics._validate import FloatArray
from feint.numerics.normal import log_positive
from feint.numerics.streams import Word, WordArray, normal_turn, philox, uniform

_LAYOUT = np.uint64(3)
_COUNTER, _POSITION, _SEED, _REPLICATION, _WORDS = 0, 1, 2, 3, 4
_FOUR = np.uint64(4)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_RARE = 2.0**-10
_NATS_OF_RARE = 10.0 * math.log(2.0)


class Sequence(NamedTuple):
    """Where a replication's draws stand; owned by the caller."""

    state: WordArray  # (8,): counter, position in the block, key, and the block's four words
    spare: FloatArray  # (2,): the normal that came with the last one, and whether there is one


def sequence() -> Sequence:
    """Allocate it."""
    return Sequence(np.zeros(8, dtype=np.uint64), np.zeros(2))


@part
def start_sequence(draws: Sequence, seed: Word, replication: Word) -> None:
    """From the beginning of a replication's stream."""
    draws.state[_COUNTER] = _ZERO
    draws.state[_POSITION] = _FOUR
    draws.state[_SEED] = seed
    draws.state[_REPLICATION] = replication
    draws.spare[1] = 0.0


@part
def next_uniform(draws: Sequence) -> float:
    """In (0, 1)."""
    state = draws.state
    if state[_POSITION] == _FOUR:
        words = philox(state[_COUNTER], _LAYOUT, _ZERO, _ZERO, state[_SEED], state[_REPLICATION])
        state[_WORDS], state[_WORDS + 1], state[_WORDS + 2], state[_WORDS + 3] = words
        state[_COUNTER] += _ONE
        state[_POSITION] = _ZERO
    word = state[_WORDS + np.int64(state[_POSITION])]
    state[_POSITION] += _ONE
    return uniform(word)


@part
def next_exponential(draws: Sequence) -> float:
    """Of mean 1: −log u, and where u < c, −log c and another one, which is the same in law."""
    passed = 0.0
    u = next_uniform(draws)
    while u < _RARE:
        passed += _NATS_OF_RARE
        u = next_uniform(draws)
    return passed - log_positive(u)


@inlined
def next_gap(draws: Sequence, rate: float) -> float:
    """How many of a row of independent chances of this rate fail before the first that does not."""
    return math.floor(next_exponential(draws) / -math.log1p(-rate)) if rate < 1.0 else 0.0


@part
def next_normal(draws: Sequence) -> float:
    """Standard; they are made in pairs, by Box–Muller."""
    if draws.spare[1] == 1.0:
        draws.spare[1] = 0.0
        return draws.spare[0]
    radius = math.sqrt(2.0 * next_exponential(draws))
    first, draws.spare[0] = normal_turn(radius, next_uniform(draws))
    draws.spare[1] = 1.0
    return first
