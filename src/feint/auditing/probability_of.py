"""A propensity column that always holds the probability of the same one of two arms, as in trials: P(treatment)."""

import numpy as np

from feint._types import FloatArray, IntArray
from feint.auditing.arms import LogArms, label_of


def named_place(arm: str | int, arms: LogArms) -> int:
    """Return the number of the arm whose probability was logged; there must be two arms."""
    names = arms.names()
    if arms.n != 2:
        raise ValueError(
            f"The log has {arms.n} arms, but only the probability of arm {arm}: the others are unknown. "
            "Log them all, or correct the number or the labels of the arms (`n_arms`)."
        )
    if label_of(arm) not in names:
        raise ValueError(f"`probability_of` is {arm!r}, which is none of the arms {', '.join(names)}.")
    return names.index(label_of(arm))


def of_pulled_arm(values: FloatArray, pulled: IntArray, place: int) -> FloatArray:
    """Return the probability of the pulled arm, (n,), from that of the arm at `place`."""
    return np.where(pulled == place, values, 1.0 - values)
