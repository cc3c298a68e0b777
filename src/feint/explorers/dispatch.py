"""From an explorer's KIND to its kernel.

A chain of comparisons, because Numba keeps no compiled code on disk for kernels that take functions as arguments, and
every first call would then compile anew.
"""

from feint.explorers import fixed_boosting, round_robin, top_two, top_two_transport, tracking
from feint.explorers.base import FloatArray, View
from feint.numerics._jit import inlined

_top_two = top_two.choose
_top_two_transport = top_two_transport.choose
_tracking = tracking.choose
_round_robin = round_robin.choose
_fixed_boosting = fixed_boosting.choose
_TOP_TWO = top_two.TopTwo.KIND
_TOP_TWO_TRANSPORT = top_two_transport.TopTwoTransport.KIND
_TRACKING = tracking.Tracking.KIND
_ROUND_ROBIN = round_robin.RoundRobin.KIND


@inlined
def choose(
    kind: int,
    parameters: FloatArray,
    view: View,
    bounds: FloatArray,
    uniforms: tuple[float, float, float, float],
) -> int:
    """The arm that the explorer of this kind boosts, or −1 where the bounds do not decide."""
    if kind == _TOP_TWO:
        return _top_two(parameters, view, bounds, uniforms)
    if kind == _TOP_TWO_TRANSPORT:
        return _top_two_transport(parameters, view, bounds, uniforms)
    if kind == _TRACKING:
        return _tracking(parameters, view, bounds, uniforms)
    if kind == _ROUND_ROBIN:
        return _round_robin(parameters, view, bounds, uniforms)
    return _fixed_boosting(parameters, view, bounds, uniforms)
