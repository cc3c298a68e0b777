"""Explorers that value a pull of each arm: every step is drawn from the best policy in the KL ball for these values.

Boosting an arm is the special case of the values 1{arm}. In plain Python such an explorer has

    values(view, uniforms) -> K floats

instead of `choose` (see `base`). With a kernel, its settings are a NamedTuple whose class has the parts that
`tilting(fill_values)` attaches, made from the part `fill_values(settings, view, uniforms, values)`. The arm with the
largest value counts as boosted, since its probability is raised by the largest factor; if values tie, the first does.
"""

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from feint._types import FloatArray
from feint.explorers.base import PlainExplorer, PlainView, Uniforms, View
from feint.numerics._jit import by_type, inlined, part, parts
from feint.numerics.sorting import find_largest
from feint.numerics.tilt_kernel import policy_kl, tilt_policy
from feint.support.own_parts import OwnPartError, call

_VALUES = 0  # the row of the view's scratch that keeps the values from `choose` to `fill_policy`
_C = TypeVar("_C", bound=type)


@by_type
def fill_values(explorer: Any, view: View, uniforms: Uniforms, values: FloatArray) -> None:
    """Fill `values` with what a pull of each arm is worth."""
    raise NotImplementedError


@part
def _choose(settings: Any, view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
    values = view.scratch[_VALUES]
    fill_values(settings, view, uniforms, values)
    return find_largest(values)


@inlined
def _fill_policy(
    settings: Any,
    view: View,
    pi: FloatArray,
    log_pi: FloatArray,
    boosted: int,
    epsilon: float,
    policy: FloatArray,
) -> None:
    tilt_policy(pi, log_pi, view.scratch[_VALUES], epsilon, policy)


@inlined
def _spent(settings: Any, pi: FloatArray, log_pi: FloatArray, boosted: int, policy: FloatArray) -> float:
    return policy_kl(policy, pi, log_pi)


@inlined
def _known_ratio(
    settings: Any,
    shares: FloatArray,
    pi: FloatArray,
    log_pi: FloatArray,
    policy: FloatArray,
    pulled: int,
    epsilon: float,
) -> float:
    """Return q/π of the pulled arm: whoever knows what the agent knows also knows values that are not drawn."""
    return math.exp(math.log(policy[pulled]) - log_pi[pulled])


@inlined
def _unknown_ratio(
    settings: Any,
    shares: FloatArray,
    pi: FloatArray,
    log_pi: FloatArray,
    policy: FloatArray,
    pulled: int,
    epsilon: float,
) -> float:
    """Return NaN: the expectation of a tilt over draws of its values has no closed form."""
    return math.nan


def tilting(fill_values: Any, *, draws: bool) -> Callable[[_C], _C]:
    """Attach the parts of an explorer that tilts; `draws` tells whether its values depend on the step's uniforms."""
    return parts(
        uses_posterior=False,
        fill_values=fill_values,
        choose=_choose,
        fill_policy=_fill_policy,
        spent=_spent,
        floor_ratio=_unknown_ratio if draws else _known_ratio,
    )


class PlainTilting(PlainExplorer):
    """An explorer in plain Python that returns values."""

    fill_policy = staticmethod(_fill_policy)
    spent = staticmethod(_spent)
    floor_ratio = staticmethod(_unknown_ratio)

    @staticmethod
    def choose(settings: "PlainExplorer", view: View, bounds: FloatArray, uniforms: Uniforms) -> int:
        """Ask the explorer and check its answer."""
        seen = PlainView(view, settings.private, settings.reference)
        answer = call(settings.explorer, "values", seen.time + 1, seen, uniforms)
        values, n_arms = np.asarray(answer), view.pulls.size
        if values.shape != (n_arms,) or values.dtype.kind not in "fiu" or not (abs(values) <= 1e150).all():
            raise OwnPartError(
                f"{type(settings.explorer).__name__}.values returned {answer!r} at step {view.time + 1}; it must be "
                f"{n_arms} finite numbers, what a pull of each arm is worth."
            )
        view.scratch[_VALUES] = values
        return int(values.argmax())
