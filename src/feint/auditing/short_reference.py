"""Short ways to give a reference in Python, named as in a shell: `prior`, `split` and `clip`."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from feint.references import Clipped, Split, ThompsonSampling


def read_short_reference(
    reference: Any, prior: Sequence[Any] | None, split: Sequence[float] | None, clip: float | Sequence[float] | None
) -> Any:
    """Return the reference that is meant; None stands for what was not given.

    >>> read_short_reference(ThompsonSampling(), (1, 1), None, 0.1)
    Clipped(reference=ThompsonSampling(prior=(1.0, 1.0)), low=0.1, high=1.0)
    """
    is_usual = reference == ThompsonSampling()
    if split is not None:
        if not is_usual or prior is not None:
            raise ValueError("`split` is a claim of its own; leave `reference` and `prior` out.")
        reference = Split(split)
    if prior is not None:
        if not is_usual:
            name = type(reference).__name__
            raise ValueError(f"`prior` is about Thompson Sampling; leave it out, or write {name}(…) with its prior.")
        reference = ThompsonSampling(prior)  # type: ignore[arg-type]  # it checks and converts
    if clip is None:
        return reference
    if isinstance(reference, Clipped):
        raise ValueError("`clip` is given, and the reference is clipped already; leave one of them out.")
    limits = np.atleast_1d(np.asarray(clip, dtype=object))
    if limits.size not in (1, 2):
        raise ValueError(f"`clip` is {clip!r}; give the least probability, or (least, largest), such as (0.05, 0.9).")
    return Clipped(reference, *limits)
