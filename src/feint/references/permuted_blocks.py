r"""Permuted blocks: in every block of rows each arm is pulled a fixed number of times, in random order.

A block of size b has quotas c_a = b·r_a/Σ r with ratios r. Within it, the next pull is of arm a with probability (what
is left of c_a)/(what is left of b), so that all orders of the block are equally likely.

**Several sizes.** The size of every block is drawn afresh with given weights, and no row shows it. What matters is how
many rows j ago the present block began, and its size b: a hidden state with at most (largest size)×(number of sizes)
values. Let α(j, b) be its probability given all pulls so far, and n_a(j) the pulls of arm a among the last j. Then

    π(a)  =  Σ_{j, b} α(j, b)·(c_a(b) − n_a(j))/(b − j),        α′(j + 1, b)  ∝  α(j, b)·(c_A(b) − n_A(j))/(b − j)

after a pull of A, and where j + 1 = b the block is full and the mass goes to α′(0, ·), spread by the weights. This is
Bayes' rule, so π is the exact probability given the past: the forward filter of a hidden Markov model. A pull that no
state allows has π = 0; after it, which refutes the claim, a new block is assumed.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.families.base import Belief
from feint.numerics._jit import part, parts
from feint.numerics._validate import SUM_TOLERANCE, as_floats, is_whole

_LARGEST = 10_000  # rows of a block


@part
def _begin_block(weights: FloatArray, states: FloatArray) -> None:
    """Set the states to the beginning of a block."""
    states[:] = 0.0
    for k in range(weights.size):
        states[0, k] = weights[k]


@part
def _move_states(
    quotas: FloatArray, weights: FloatArray, states: FloatArray, recent: FloatArray, seen: FloatArray, arm: int
) -> None:
    """Move the hidden states forward by a pull of `arm`."""
    total, full = 0.0, 0.0
    sizes = quotas[:, quotas.shape[1] - 1]
    for j in range(states.shape[0] - 1, -1, -1):
        for k in range(weights.size):
            mass = states[j, k]
            states[j, k] = 0.0
            if mass > 0.0:
                mass *= (quotas[k, arm] - recent[j, arm]) / (sizes[k] - j)
                total += mass
                if j + 1 == sizes[k]:
                    full += mass
                else:
                    states[j + 1, k] = mass
    for j in range(states.shape[0] - 1, 0, -1):
        for a in range(seen.size):
            recent[j, a] = recent[j - 1, a]
        recent[j, arm] += 1.0
    seen[arm] += 1.0
    if total > 0.0:
        for j in range(states.shape[0]):
            for k in range(weights.size):
                states[j, k] /= total
        for k in range(weights.size):
            states[0, k] = full / total * weights[k]
    else:
        _begin_block(weights, states)


@part
def _follow(
    quotas: FloatArray, weights: FloatArray, states: FloatArray, recent: FloatArray, seen: FloatArray, pulls: IntArray
) -> None:
    """Make the missing pulls: none, one, or those of a first round, whose order within a block does not matter."""
    missing = 0.0
    for a in range(seen.size):
        if pulls[a] < seen[a]:
            missing = math.inf
        missing += pulls[a] - seen[a]
    if missing > 1.0:  # another run begins
        _begin_block(weights, states)
        recent[:] = 0.0
        seen[:] = 0.0
    for a in range(seen.size):
        while seen[a] < pulls[a]:
            _move_states(quotas, weights, states, recent, seen, a)


@part
def _expect(settings: "PermutedBlocksKernel", belief: Belief, t: int, pi: FloatArray, log_pi: FloatArray) -> None:
    quotas, states, recent = settings.quotas, settings.states, settings.recent
    _follow(quotas, settings.weights, states, recent, settings.seen, belief.pulls)
    total = 0.0
    for a in range(pi.size):
        pi[a] = 0.0
    for j in range(states.shape[0]):
        for k in range(settings.weights.size):
            if states[j, k] > 0.0:
                left = quotas[k, pi.size] - j
                for a in range(pi.size):
                    pi[a] += states[j, k] * (quotas[k, a] - recent[j, a]) / left
    for a in range(pi.size):
        total += pi[a]
    for a in range(pi.size):
        pi[a] /= total
        log_pi[a] = math.log(pi[a]) if pi[a] > 0.0 else -math.inf


@parts(own_samples=False, follows_posterior=False, expect=_expect, memory=("states", "recent", "seen"))
class PermutedBlocksKernel(NamedTuple):
    """`PermutedBlocks` for kernels, with what is remembered of the pulls."""

    quotas: FloatArray  # (S, K + 1) of every size, and the size itself
    weights: FloatArray  # (S,)
    states: FloatArray  # (B, S) α(j, b)
    recent: FloatArray  # (B, K) n_a(j)
    seen: FloatArray  # (K,) pulls of every arm that are in the states


@dataclass(frozen=True)
class PermutedBlocks:
    """A reference in which every block of rows has each arm a fixed number of times, in random order.

    This is how most clinical trials randomise. It counts pulls made, whether or not their rewards are known. For
    stratified blocks, audit with one group per stratum. If the size is one of several but always the same, audit each
    size by itself: that claim is rejected once all of them are.

    Parameters
    ----------
    sizes
        The number of rows in a block, a multiple of the ratios' sum; of several sizes, each block draws one afresh.
    ratio
        A whole number per arm, 1 or more; None gives all arms the same.
    weights
        The probabilities of the sizes, above 0 and summing to 1; None makes them equal.

    Examples
    --------
    >>> import feint
    >>> observer = feint.Observer(2, feint.PermutedBlocks([4]), initial_round=False)
    >>> for arm in (0, 0):
    ...     _ = observer.update(arm, 0.0)
    >>> observer.reference_probabilities()  # two of arm 1 are left
    array([0., 1.])
    >>> observer = feint.Observer(2, feint.PermutedBlocks([4, 6]), initial_round=False)
    >>> for arm in (0, 0):
    ...     _ = observer.update(arm, 0.0)
    >>> observer.reference_probabilities().round(4)  # a block of 6 has become likelier, 6 to 5: 6/11·1/4
    array([0.1364, 0.8636])
    """

    name: ClassVar[str] = "permuted-blocks"
    ignores_rewards: ClassVar[bool] = True
    sizes: tuple[int, ...] = (4,)
    ratio: tuple[int, ...] | None = None
    weights: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        sizes = _whole_numbers(self.sizes, "sizes", "block sizes", _LARGEST)
        if len(set(sizes)) != len(sizes):
            raise ValueError(f"sizes is {self.sizes!r}; give every block size only once.")
        object.__setattr__(self, "sizes", sizes)
        if self.ratio is not None:
            object.__setattr__(self, "ratio", _whole_numbers(self.ratio, "ratio", "pulls of each arm", _LARGEST))
        if self.weights is not None:
            weights = as_floats(self.weights, "weights")
            if weights.shape != (len(sizes),) or not (weights > 0).all() or abs(weights.sum() - 1) > SUM_TOLERANCE:
                numbers = "the number 1" if len(sizes) == 1 else f"{len(sizes)} numbers above 0 that sum to 1"
                raise ValueError(f"weights is {self.weights!r}; give {numbers}, one per size.")
            object.__setattr__(self, "weights", tuple(weights.tolist()))

    def min_pulls_per_arm(self, family: Any) -> int:
        """Return 0: it needs no pulls."""
        return 0

    def kernel(self, family: Any, n_arms: int) -> PermutedBlocksKernel:
        """Return the settings for kernels, at the beginning of a block."""
        ratio = np.ones(n_arms) if self.ratio is None else np.array(self.ratio, dtype=float)
        if ratio.size != n_arms:
            raise ValueError(f"ratio has {ratio.size} numbers for {n_arms} arms; give one per arm.")
        sizes = np.array(self.sizes, dtype=float)
        wrong = [size for size in self.sizes if size % ratio.sum()]
        if wrong:
            what = f"among {n_arms} arms" if self.ratio is None else f"in the ratio {':'.join(map(str, self.ratio))}"
            raise ValueError(f"A block of {wrong[0]} rows cannot be split {what}; give a multiple of {ratio.sum():g}.")
        quotas = np.column_stack([sizes[:, None] * ratio / ratio.sum(), sizes])
        weights = np.full(sizes.size, 1.0 / sizes.size) if self.weights is None else np.array(self.weights)
        longest = max(self.sizes)
        states = np.zeros((longest, sizes.size))
        states[0] = weights
        return PermutedBlocksKernel(quotas, weights, states, np.zeros((longest, n_arms)), np.zeros(n_arms))

    def describe(self, family: Any) -> str:
        """Return a description for reports."""
        sizes = " or ".join(map(str, self.sizes))
        weights = "" if self.weights is None else f" (weights {', '.join(f'{weight:g}' for weight in self.weights)})"
        ratio = "" if self.ratio is None else f", {':'.join(map(str, self.ratio))}"
        return f"permuted blocks of {sizes}{weights} rows{ratio}"


def _whole_numbers(given: Any, name: str, what: str, most: int) -> tuple[int, ...]:
    """Return whole numbers from 1 on as a tuple; one number alone is a tuple of one."""
    numbers = [given] if is_whole(given, 1) else list(given) if isinstance(given, list | tuple | np.ndarray) else []
    if not numbers or not all(is_whole(number, 1, most) for number in numbers):
        raise ValueError(f"{name} is {given!r}; give {what} as whole numbers from 1 to {most:,}.")
    return tuple(int(number) for number in numbers)
