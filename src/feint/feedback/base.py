r"""The contract of a feedback: what the agent sees of its private rewards, and what it concludes from them.

Without a feedback every private reward is seen. A feedback is a frozen dataclass that names itself, with

- `check(n_arms, families)`: raise ValueError if it does not fit;
- `kernel(families, public_sums)`: settings for kernels. They take the place of the private family's, whose parts they
  have (`families.base`), and hold what the agent has learnt beyond its sums. `public_sums` is the array of the agent's
  sums of public rewards;
- `check_private(private, is_first)`: raise ValueError if a live agent cannot be given this private reward (None where
  it was not seen);
- `private_means(public)`: the private means that follow from the public ones, or None if they do not;
- `spread`: how far the private means may lie from them, 0 if not at all;
- `reads_public`: whether beliefs about private means depend on public rewards, and `alike`, whether a pull of every
  arm is worth the same;
- `information(families, n_arms)`: what a pull is worth in private rewards that are seen, (K,), for the theory.

The parts below say what changes where private rewards are not all seen. Their defaults are for families, where every
reward is seen. An unseen reward is NaN.

**Many pulls at once.** The event-driven method keeps what private rewards teach beyond the public ones as the sum of
independent normal numbers, one per reward that was seen: Y − c·X for `Sometimes`, nothing for `Linked`. While the mean
of the public rewards and the mean of these numbers stay inside their boxes, the private estimate stays inside its own
(`inner_lines`). A region is left when one of the two leaves its box (`is_between`), even if the estimate does not:
otherwise nothing would bound the rest of the way, and it would be made pull by pull.
"""

from typing import Any, Protocol

from feint._types import FloatArray
from feint.families.base import MEAN_HIGH, MEAN_LOW, Belief, draw_reward, draw_sum
from feint.families.gaussian import Gaussian
from feint.numerics._jit import by_type
from feint.numerics.sequence import DrawSequence
from feint.support.printable import short_repr


class Feedback(Protocol):
    """What the agent sees of its private rewards; see the module's docstring."""

    @property
    def reads_public(self) -> bool: ...
    @property
    def alike(self) -> bool: ...
    @property
    def spread(self) -> float: ...
    def check(self, n_arms: int, families: Any, /) -> None: ...
    def kernel(self, families: Any, public_sums: FloatArray, /) -> Any: ...
    def check_private(self, private: Any, is_first: bool, /) -> None: ...
    def private_means(self, public: tuple[float, ...], /) -> tuple[float, ...] | None: ...
    def information(self, families: Any, n_arms: int, /) -> FloatArray: ...


def check_feedback(feedback: Any, n_arms: int, families: Any) -> None:
    """Raise ValueError unless this is a feedback that fits the number of arms and their rewards."""
    if isinstance(feedback, type) or not all(hasattr(feedback, name) for name in ("check", "private_means")):
        raise ValueError(
            f"feedback is {short_repr(feedback)}; give Sometimes(share) or Linked(intercepts, slopes), with its "
            "arguments."
        )
    feedback.check(n_arms, families)


def check_normal(feedback: Any, families: Any) -> None:
    """Check that both sides have normal rewards."""
    if not all(isinstance(side, Gaussian) for side in families):
        shown = families[0] if families[0] == families[1] else families
        raise ValueError(
            f"The feedback {short_repr(feedback)} is for normal rewards, not for {short_repr(shown)}; "
            "leave it out, or use Gaussian(sigma)."
        )


@by_type
def draw_private(
    family: Any, is_first: bool, mean: float, public_normal: float, normal: float, uniform: float
) -> float:
    """Draw the private reward of a pull, or NaN if the agent does not see it; `is_first` says that it is the arm's
    first pull, and `public_normal` is the public reward's noise.
    """
    return draw_reward(family, mean, normal, uniform)


@by_type
def add_private(family: Any, belief: Belief, arm: int, public: float, private: float) -> None:
    """Record the private reward of a pull that has been counted already."""
    belief.sums[arm] += private


@by_type
def private_mean(family: Any, belief: Belief, arm: int) -> float:
    """Return the estimate of an arm's private mean."""
    return float(belief.sums[arm] / belief.pulls[arm])


@by_type
def count_seen(family: Any, belief: Belief, arm: int) -> int:
    """Return how many private rewards of an arm were seen."""
    return int(belief.pulls[arm])


@by_type
def learnt_sum(family: Any, belief: Belief, arm: int) -> float:
    """Return the sum of what the private rewards of an arm taught; see "Many pulls at once"."""
    return float(belief.sums[arm])


@by_type
def set_learnt(family: Any, belief: Belief, arm: int, seen: int, total: float) -> None:
    """Set how many private rewards of an arm were seen, and their sum."""
    belief.sums[arm] = total


@by_type
def draw_seen(family: Any, n: int, draws: DrawSequence) -> int:
    """Draw how many private rewards of n pulls are seen."""
    return n


@by_type
def draw_seen_part(family: Any, seen: int, n: int, first: int, draws: DrawSequence) -> int:
    """Draw how many of the first `first` of n pulls are seen, given that `seen` of all n are."""
    return first


@by_type
def draw_learnt(family: Any, public_mean: float, mean: float, seen: int, draws: DrawSequence) -> float:
    """Draw the sum of what `seen` private rewards teach."""
    return draw_sum(family, mean, seen, draws)


@by_type
def inner_lines(family: Any, public_box: FloatArray, private_box: FloatArray) -> tuple[float, float]:
    """Return bounds of the mean of what was learnt within which the private estimate stays in its box."""
    return private_box[MEAN_LOW], private_box[MEAN_HIGH]


@by_type
def is_between(family: Any, belief: Belief, arm: int, lines: tuple[float, float]) -> bool:
    """Return whether the mean of what was learnt lies between its lines, where these are not those of the box."""
    return True


@by_type
def worth(family: Any, arm: int) -> float:
    """Return what a pull of an arm is worth in private rewards that are seen, in units of the settings' σ."""
    return 1.0
