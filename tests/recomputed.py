"""Compute the probabilities that an audit recomputes from a log."""

import numpy as np

import feint
from feint.references.past import Timing
from feint.references.recomputation import Recomputation

ZEROS = np.zeros(10**4, dtype=np.int64)


def log_pi(reference, arms, rewards=None, *, n_arms, family=feint.Gaussian(), timing=Timing()):  # noqa: B008 - frozen
    """Return log π before every row."""
    arms = np.asarray(arms)
    rewards = np.zeros(arms.size) if rewards is None else np.asarray(rewards, dtype=float)
    found, tested = Recomputation(reference, family, n_arms, False, timing).rows(ZEROS[: arms.size], arms, rewards)
    assert tested.sum() == len(found)
    return found
