"""Counter-based random streams: Philox4x64-10 (Salmon, Moraes, Dror & Shaw 2011) keyed by (seed, replication).

Step t of a stream reads the blocks with counters (t, 0, 0, 0), (t, 1, 0, 0) and (t, 2, 0, 0), four 64-bit words each,
and every word has one fixed use, whether or not a step needs it:

    block 0   LEADER, CHALLENGER, TOP_TWO, ARM      uniforms: the draws of Algorithm 1, lines 3, 5, 6 and 9
    block 1   PUBLIC, PRIVATE                       normals: the two reward noises (Box–Muller on words 0 and 1)
              OBSERVER, SPARE                       normals: the observer's own sample (the paper's Remark), and a spare
    block 2   PUBLIC, PRIVATE, and two spares       uniforms: the two rewards of families that are not normal

(With a feedback that leaves private rewards unseen, PRIVATE of block 2 decides whether one is seen. Steps from 2⁶¹ on
belong to arms instead of pulls: PRIVATE of step 2⁶¹ + a is the draw of arm a's private mean, where that is drawn.
Block 3 belongs to `sequence`. An explorer that draws from posteriors makes its own stream from the LEADER and
CHALLENGER of the step: `posterior_draws`.)

So a draw depends only on (seed, replication, t), not on threads, chunks, order or evaluation method. NumPy's Philox
generates the same words, but only in sequence and only for one key per object; kernels need direct access to any t.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray
from feint.numerics._jit import inlined, kernel, multiply_high, part
from feint.numerics._validate import as_integers, is_whole
from feint.numerics.normal import log_positive

Word = np.uint64
WordArray = npt.NDArray[np.uint64]

LEADER, CHALLENGER, TOP_TWO, ARM = 0, 1, 2, 3
PUBLIC, PRIVATE, OBSERVER, SPARE = 0, 1, 2, 3
ARM_STEPS = 2**61  # the step of arm 0

_MULTIPLIER_0 = np.uint64(0xD2E7470EE14C6C93)
_MULTIPLIER_1 = np.uint64(0xCA5A826395121157)
_WEYL_0 = np.uint64(0x9E3779B97F4A7C15)
_WEYL_1 = np.uint64(0xBB67AE8584CAA73B)
_ROUNDS = 10
_SHIFT_11 = np.uint64(11)
_TWO_TO_MINUS_53 = 2.0**-53
_TWO_PI = 2.0 * math.pi
_ZERO = np.uint64(0)
_COS = tuple((-1.0) ** k / math.factorial(2 * k) for k in range(1, 9))
_SIN = tuple((-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 8))


@inlined
def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: Word, k1: Word) -> tuple[Word, Word, Word, Word]:
    """Return the four words of one block; all arguments and results are uint64."""
    for _ in range(_ROUNDS):
        high_0 = multiply_high(_MULTIPLIER_0, c0)
        low_0 = _MULTIPLIER_0 * c0
        high_1 = multiply_high(_MULTIPLIER_1, c2)
        low_1 = _MULTIPLIER_1 * c2
        c0, c1, c2, c3 = high_1 ^ c1 ^ k0, low_1, high_0 ^ c3 ^ k1, low_0
        k0 += _WEYL_0
        k1 += _WEYL_1
    return c0, c1, c2, c3


@inlined
def uniform(word: Word) -> float:
    """Return a word as a uniform number inside (0, 1): the midpoints of 2⁵³ equal cells."""
    return (np.float64(word >> _SHIFT_11) + 0.5) * _TWO_TO_MINUS_53


@inlined
def normal_pair(first: Word, second: Word) -> tuple[float, float]:
    """Return two words as two independent standard normals, by Box–Muller: one use per word, and no rejection."""
    return normal_turn(math.sqrt(-2.0 * log_positive(uniform(first))), uniform(second))


@inlined
def normal_turn(radius: float, turn: float) -> tuple[float, float]:
    """Return the point at this radius whose angle from the first axis is `turn` full turns."""
    quarter = math.floor(4.0 * turn + 0.5)
    angle = _TWO_PI * (turn - 0.25 * quarter)  # within ±π/4 of the nearest quarter turn, without rounding before 2π
    x = angle * angle
    # Taylor series to 5e-17 on ±π/4, without branches, so that a block of them vectorises.
    c = _COS
    s = _SIN
    low = c[0] + x * (c[1] + x * (c[2] + x * c[3]))
    high = c[4] + x * (c[5] + x * (c[6] + x * c[7]))
    x4 = (x * x) * (x * x)
    cosine = 1.0 + x * (low + x4 * high)
    low = s[0] + x * (s[1] + x * (s[2] + x * s[3]))
    high = s[4] + x * (s[5] + x * s[6])
    sine = angle + angle * x * (low + x4 * high)
    odd = quarter in (1.0, 3.0)
    first_sign = -radius if quarter in (1.0, 2.0) else radius
    second_sign = -radius if quarter in (2.0, 3.0) else radius
    return first_sign * (sine if odd else cosine), second_sign * (cosine if odd else sine)


@inlined
def step_uniforms(seed: Word, replication: Word, step: Word) -> tuple[float, float, float, float]:
    """Return the four uniforms of a step; arguments are uint64."""
    a, b, c, d = philox(step, _ZERO, _ZERO, _ZERO, seed, replication)
    return uniform(a), uniform(b), uniform(c), uniform(d)


@inlined
def step_words(seed: Word, replication: Word, step: Word) -> tuple[Word, Word, Word, Word]:
    """Return the four words from which the normals of a step are made; arguments are uint64."""
    return philox(step, np.uint64(1), _ZERO, _ZERO, seed, replication)


@part
def fill_block(
    seed: Word,
    replication: Word,
    first: int,
    observer: bool,
    words: WordArray,
    uniforms: FloatArray,
    normals: FloatArray,
) -> None:
    """Fill the draws of steps first, first + 1, …: `uniforms` (4, n), and `normals` (2, n) PUBLIC and PRIVATE.

    With `observer`, OBSERVER replaces PUBLIC. `words` is scratch (8, n). Many steps are filled at once, so that
    everything but Philox's multiplications vectorises.
    """
    n = uniforms.shape[1]
    for i in range(n):
        step = np.uint64(first + i)
        words[0, i], words[1, i], words[2, i], words[3, i] = philox(step, _ZERO, _ZERO, _ZERO, seed, replication)
        words[4, i], words[5, i], words[6, i], words[7, i] = step_words(seed, replication, step)
    for row in range(4):
        for i in range(n):
            uniforms[row, i] = uniform(words[row, i])
    for i in range(n):
        normals[0, i], normals[1, i] = normal_pair(words[4, i], words[5, i])
    if observer:
        for i in range(n):
            normals[0, i], _ = normal_pair(words[6, i], words[7, i])


@part
def fill_chances(seed: Word, replication: Word, first: int, chances: FloatArray) -> None:
    """Fill `chances` (2, n), PUBLIC and PRIVATE, with the uniforms from which rewards that are not normal are made."""
    for i in range(chances.shape[1]):
        public, private, _, _ = philox(np.uint64(first + i), np.uint64(2), _ZERO, _ZERO, seed, replication)
        chances[0, i] = uniform(public)
        chances[1, i] = uniform(private)


@kernel
def _chances(seed: Word, replication: Word, steps: WordArray, out: FloatArray) -> None:
    for i in range(steps.size):
        a, b, c, d = philox(steps[i], np.uint64(2), _ZERO, _ZERO, seed, replication)
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = uniform(a), uniform(b), uniform(c), uniform(d)


@kernel
def _uniforms(seed: Word, replication: Word, steps: WordArray, out: FloatArray) -> None:
    for i in range(steps.size):
        out[i, 0], out[i, 1], out[i, 2], out[i, 3] = step_uniforms(seed, replication, steps[i])


@kernel
def _normals(seed: Word, replication: Word, steps: WordArray, out: FloatArray) -> None:
    for i in range(steps.size):
        a, b, c, d = step_words(seed, replication, steps[i])
        out[i, 0], out[i, 1] = normal_pair(a, b)
        out[i, 2], out[i, 3] = normal_pair(c, d)


def check_word(value: int, name: str) -> Word:
    """Return `value` as the uint64 that keys a stream, or raise ValueError."""
    if not is_whole(value, 0, 2**64 - 1):
        raise ValueError(f"{name} is {value!r}; it must be a whole number from 0 to 2⁶⁴ − 1.")
    return np.uint64(value)


@dataclass(frozen=True)
class RandomStream:
    """The draws of one replication, with direct access to any step.

    >>> stream = RandomStream(seed=0, replication=7)
    >>> bool((stream.uniforms([5])[0] == stream.uniforms(range(10))[5]).all())
    True
    """

    seed: int
    replication: int = 0

    def __post_init__(self) -> None:
        check_word(self.seed, "seed")
        check_word(self.replication, "replication")

    def uniforms(self, steps: npt.ArrayLike) -> FloatArray:
        """Return uniforms, (n,) steps -> (n, 4): LEADER, CHALLENGER, TOP_TWO, ARM."""
        return self._draw(_uniforms, steps)

    def normals(self, steps: npt.ArrayLike) -> FloatArray:
        """Return standard normals, (n,) steps -> (n, 4): PUBLIC, PRIVATE, OBSERVER, SPARE."""
        return self._draw(_normals, steps)

    def chances(self, steps: npt.ArrayLike) -> FloatArray:
        """Return the uniforms of rewards, (n,) steps -> (n, 4): PUBLIC, PRIVATE and two spares."""
        return self._draw(_chances, steps)

    def _draw(self, fill: Callable[[Word, Word, WordArray, FloatArray], None], steps: npt.ArrayLike) -> FloatArray:
        array = as_integers(steps, "steps must be a list of whole numbers, 0 or more")
        if array.size and array.min() < 0:
            raise ValueError(f"steps must be a list of whole numbers, 0 or more; got {steps!r}.")
        out = np.empty((array.size, 4))
        fill(np.uint64(self.seed), np.uint64(self.replication), array.astype(np.uint64), out)
        return out
