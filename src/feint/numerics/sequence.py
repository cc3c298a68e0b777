"""Draws one after another, as many as needed: the stream of the event-driven engine.

This is Philox (`streams`), keyed by (seed, replication) as everywhere, with counters (i, 3, 0, 0), word by word in the
order of the requests. How many draws a step needs depends on what happens, so unlike in `streams` the draws of a step
have no fixed places. They depend only on the key and the order of requests, and each replication has its own sequence.

No tail is cut off. An exponential whose uniform number is below 2⁻¹⁰ starts again there, since it has no memory. So
neither it nor a normal made from it is limited by the smallest uniform number, 2⁻⁵⁴.
"""

import math
from typing import NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.numerics._jit import inlined, part
from feint.numerics.normal import log_positive
from feint.numerics.streams import Word, WordArray, normal_turn, philox, uniform

_LAYOUT = np.uint64(3)
_COUNTER, _POSITION, _SEED, _REPLICATION, _WORDS = 0, 1, 2, 3, 4
_FOUR = np.uint64(4)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_RARE = 2.0**-10
_NATS_OF_RARE = 10.0 * math.log(2.0)


class DrawSequence(NamedTuple):
    """The state of a replication's draws; owned by the caller."""

    state: WordArray  # (8,): counter, position in the block, key (two words), and the block's four words
    spare: FloatArray  # (2,): the normal left over from the last pair, and whether there is one


def sequence() -> DrawSequence:
    """Allocate a sequence; start it with `start_sequence`."""
    return DrawSequence(np.zeros(8, dtype=np.uint64), np.zeros(2))


@part
def start_sequence(draws: DrawSequence, seed: Word, replication: Word) -> None:
    """Go to the beginning of a replication's stream."""
    draws.state[_COUNTER] = _ZERO
    draws.state[_POSITION] = _FOUR
    draws.state[_SEED] = seed
    draws.state[_REPLICATION] = replication
    draws.spare[1] = 0.0


@part
def next_uniform(draws: DrawSequence) -> float:
    """Draw a uniform in (0, 1)."""
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
def next_exponential(draws: DrawSequence) -> float:
    """Draw an exponential of mean 1: −log u, or where u < c, −log c plus another one, which has the same law."""
    passed = 0.0
    u = next_uniform(draws)
    while u < _RARE:
        passed += _NATS_OF_RARE
        u = next_uniform(draws)
    return passed - log_positive(u)


@inlined
def next_gap(draws: DrawSequence, rate: float) -> float:
    """Draw how many independent trials of success probability `rate` fail before the first success."""
    return math.floor(next_exponential(draws) / -math.log1p(-rate)) if rate < 1.0 else 0.0


@part
def next_normal(draws: DrawSequence) -> float:
    """Draw a standard normal; they are made in pairs, by Box–Muller."""
    if draws.spare[1] == 1.0:
        draws.spare[1] = 0.0
        return draws.spare[0]
    radius = math.sqrt(2.0 * next_exponential(draws))
    first, draws.spare[0] = normal_turn(radius, next_uniform(draws))
    draws.spare[1] = 1.0
    return first
