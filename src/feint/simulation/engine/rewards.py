"""The rewards of simulated replications: drawn from the instance and its random streams, one block at a time."""

from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.agent.step import Known, add_rewards, update
from feint.families.base import draw_reward, family_settings
from feint.feedback.base import draw_private
from feint.numerics._jit import part, shared, shared_inlined
from feint.numerics.streams import ARM_STEPS, PRIVATE, RandomStream, Word, WordArray, fill_block, fill_chances

BLOCK = 128  # steps whose draws are made at once


class Rewards(NamedTuple):
    """The instance's means, the stream, and space for the draws of a block of steps."""

    public: FloatArray
    private: FloatArray
    own_samples: bool  # whether the observer has public samples of its own
    normal: bool  # whether a side draws from normal numbers
    uniform: bool  # whether a side draws from uniform numbers, or a feedback does
    seed: Word
    first: int  # the replication of row 0
    words: WordArray  # (8, n) scratch
    uniforms: FloatArray  # (4, n) the draws of n steps, made ahead
    normals: FloatArray  # (2, n)
    chances: FloatArray  # (2, n)


def rewards_of(bandit: Any, own_samples: bool, seed: int, first: int) -> Rewards:
    """Return the rewards of a bandit's replications, with nothing drawn yet."""
    normal = [hasattr(family, "kernel") and family_settings(family).normal for family in bandit.families]
    return Rewards(
        np.array(bandit.public),
        np.array(bandit.private),
        own_samples,
        any(normal),
        not all(normal) or bandit.feedback is not None,
        np.uint64(seed),
        first,
        np.empty((8, BLOCK), dtype=np.uint64),
        np.empty((4, BLOCK)),
        np.zeros((2, BLOCK)),
        np.full((2, BLOCK), 0.5),
    )


def private_truth(bandit: Any, seed: int, which: range) -> FloatArray:
    """Return the private means of every replication, (R, K): those of the instance, or drawn around them."""
    truth = np.tile(bandit.private, (len(which), 1))
    if bandit.draws_private:
        arms = ARM_STEPS + np.arange(bandit.n_arms)
        noise = [RandomStream(seed, replication).normals(arms)[:, PRIVATE] for replication in which]
        truth += bandit.feedback.spread * np.array(noise)
    return truth


@part
def draw_block(rewards: Rewards, r: int, t: int) -> None:
    """Make the draws of steps t, t + 1, … of replication r."""
    seed, replication = rewards.seed, np.uint64(rewards.first + r)
    fill_block(seed, replication, t, rewards.own_samples, rewards.words, rewards.uniforms, rewards.normals)
    if rewards.uniform:
        fill_chances(seed, replication, t, rewards.chances)


@shared_inlined
def reward_pull(rewards: Rewards, known: Known, arm: int, i: int) -> None:
    """Pull `arm` and reward it by the i-th draws of the block."""
    normals, chances = rewards.normals, rewards.chances
    public = draw_reward(known.public.family, rewards.public[arm], normals[0, i], chances[0, i])
    is_first, mean, noise = known.pulls[arm] == 0, rewards.private[arm], (normals[0, i], normals[1, i])
    private = draw_private(known.private.family, is_first, mean, noise[0], noise[1], chances[1, i])
    add_rewards(known, arm, public, private)


@shared
def initial_round(rewards: Rewards, known: Known, r: int) -> None:
    """Forget what was known, and pull every arm once, in order; the observer does not test these pulls."""
    for a in range(known.pulls.size):
        known.pulls[a] = 0
        known.boosts[a] = 0
        known.public.sums[a] = 0.0
        known.private.sums[a] = 0.0
    for a in range(known.pulls.size):
        draw_block(rewards, r, a)
        reward_pull(rewards, known, a, 0)
        update(known, a)
