"""Instances to start from. Each tells a story: who pulls what, what everyone sees, and what only the agent sees."""

import math
from typing import NamedTuple

from feint.registry import needs_arguments, parse, registered
from feint.registry.instance_files import PAPER

STEP = 0.02  # of a slider
FAMILIES = {
    "normal": "gaussian", "0 or 1": "bernoulli", "counts": "poisson", "waiting times": "exponential",
}  # fmt: skip
_OTHERS = [name for name, cls in registered("family").items() if not needs_arguments(cls)]
FAMILIES |= {name: name for name in _OTHERS if name not in FAMILIES.values()}


class Preset(NamedTuple):
    """An instance with its story."""

    family: str
    public: tuple[float, ...]
    private: tuple[float, ...]
    story: str


PRESETS = {
    "A trial (the paper's arms)": Preset(
        "gaussian", PAPER.public, PAPER.private,
        "A clinic gives each patient one of four treatments, and says that it learns from how patients feel (public). "
        "Only its sponsor sees a blood value (private), and wants to know which treatment is best for that.",
    ),
    "A recommender": Preset(
        "bernoulli", (0.6, 0.45, 0.3), (0.2, 0.3, 0.5),
        "A shop shows each visitor one of three banners, and says that it learns from clicks (public). "
        "Only the shop sees who buys (private), and wants to know which banner sells best.",
    ),
    "A router": Preset(
        "gaussian", (0.8, 0.5, 0.2, 0.0), (0.1, 0.2, 0.3, 0.9),
        "A service sends each question to one of four models, and says that it learns from users' ratings (public). "
        "Only its operator sees the margin (private), which is largest for the model that is rated worst.",
    ),
    "Two arms": Preset(
        "gaussian", (0.5, 0.0), (0.0, 0.5),
        "The smallest case: the arm that is best in public is worst in private.",
    ),
    "Nothing to hide": Preset(
        "gaussian", (0.6, 0.3, 0.0), (0.6, 0.3, 0.1),
        "One arm is best on both sides, so even an honest agent pulls the arm that it wants to know.",
    ),
    "Counts": Preset(
        "poisson", (2.0, 1.5, 1.0), (1.0, 1.5, 2.5),
        "A warehouse sorts by one of three plans. Everyone sees parcels per hour (public), and only the owner sees the "
        "repairs that a plan avoids (private).",
    ),
    "Waiting times": Preset(
        "exponential", (2.0, 1.5, 1.0), (1.0, 1.5, 2.5),
        "Rewards are times that should be long. Everyone sees how long a visit lasts (public), and only the site sees "
        "how long the visitor stays a customer (private).",
    ),
}  # fmt: skip


def means_offered(family: str) -> tuple[float, float]:
    """Return the least and the largest mean that a slider offers for rewards of a family."""
    low, high = parse(family, "family").mean_range
    if math.isinf(low):
        return -1.0, 1.0
    return (low + 0.1, low + 4.0) if math.isinf(high) else (low + STEP, high - STEP)


def _preset_of(family: str) -> Preset:
    """Return a preset for a family that has none: three arms, in opposite orders on the two sides."""
    low, high = means_offered(family)
    means = tuple(round(low + share * (high - low), 2) for share in (0.75, 0.5, 0.25))
    return Preset(family, means, means[::-1], "Three arms, in opposite orders in public and in private.")


PRESETS |= {
    name: _preset_of(name) for name in FAMILIES.values() if name not in {preset.family for preset in PRESETS.values()}
}
