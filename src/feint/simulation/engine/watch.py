"""The observer beside the agent: what each pull spends of the KL budget, and what the observer learns from it."""

import math
from typing import Any, NamedTuple

import numpy as np

from feint._types import FloatArray
from feint.agent.step import Known, Problem, Space, view_of
from feint.budgets import epsilon_at
from feint.evidence.boost_bet import Bets, bet, bets_of
from feint.evidence.boost_mixture import EPSILONS, boost_experts
from feint.evidence.fixed_share import reset_experts
from feint.explorers.base import fill_known_shares, fill_shares, floor_ratio, spent
from feint.families.base import fill_log_best
from feint.numerics._jit import by_type, inlined, part, parts, shared

# Entries of `Watch.now`; those before HIGHEST are recorded.
KL_SPENT, LOG_E_VALUE, LOG_LIKELIHOOD_RATIO, LOG_FLOOR_RATIO, HIGHEST, DETECTION_TIME, FLOOR_TIME = 0, 1, 2, 3, 4, 5, 6
WATCHED = 7
RECORDED = ("kl_spent", "log_e_value", "log_likelihood_ratio", "log_floor_ratio")


@by_type
def observing(watch: Any) -> bool:
    """Return whether an observer watches."""
    raise NotImplementedError


@by_type
def begin(watch: Any, r: int) -> None:
    """Forget what was seen; replication r starts."""
    raise NotImplementedError


@by_type
def see(watch: Any, r: int, problem: Problem, known: Known, s: Space, boosted: int, pulled: int, t: int) -> None:
    """Test the t-th pull, which was drawn from the policy in `s` that boosts the arm `boosted`."""
    raise NotImplementedError


@by_type
def record_watch(watch: Any, r: int, row: int) -> None:
    """Record the observer's values at one checkpoint."""
    raise NotImplementedError


@inlined
def _observing(watch: "Watch") -> bool:
    return True


@part
def _begin_watch(watch: "Watch", r: int) -> None:
    reset_experts(watch.bets.experts)
    for i in range(watch.now.shape[1]):
        watch.now[r, i] = 0.0
    watch.now[r, DETECTION_TIME] = math.nan
    watch.now[r, FLOOR_TIME] = math.nan


@shared
def _fill_boost_chances(watch: "Watch", problem: Problem, known: Known, s: Space, boosted: int, t: int) -> None:
    """Fill in the probability that the t-th pull boosts each arm, for one who does not know the agent's draws."""
    if problem.uses_posterior:
        fill_log_best(known.private.family, known.private.posterior, known.private.ws, watch.log_best)
        fill_shares(problem.explorer, view_of(known, s.explorer, t - 1), watch.log_best, watch.shares)
    else:
        fill_known_shares(problem.explorer, view_of(known, s.explorer, t - 1), boosted, watch.shares)


@part
def _see(watch: "Watch", r: int, problem: Problem, known: Known, s: Space, boosted: int, pulled: int, t: int) -> None:
    watch.now[r, KL_SPENT] += spent(problem.explorer, s.pi, s.log_pi, boosted, s.policy)
    # The most powerful test, by Neyman and Pearson, of an observer who knows the policy and the boosted arm.
    watch.now[r, LOG_LIKELIHOOD_RATIO] += math.log(s.policy[pulled]) - s.log_pi[pulled]
    _fill_boost_chances(watch, problem, known, s, boosted, t)
    epsilon = epsilon_at(problem.budget, t)
    floor = floor_ratio(problem.explorer, watch.shares, s.pi, s.log_pi, s.policy, pulled, epsilon)
    watch.now[r, LOG_FLOOR_RATIO] += math.log(floor) if floor > 0.0 else -math.inf if floor == 0.0 else math.nan
    if watch.now[r, LOG_FLOOR_RATIO] >= watch.log_threshold and math.isnan(watch.now[r, FLOOR_TIME]):
        watch.now[r, FLOOR_TIME] = float(t)
    log_e = bet(watch.bets, s.log_pi, pulled)
    watch.now[r, LOG_E_VALUE] = log_e
    watch.now[r, HIGHEST] = max(watch.now[r, HIGHEST], log_e)
    if log_e >= watch.log_threshold and math.isnan(watch.now[r, DETECTION_TIME]):
        watch.now[r, DETECTION_TIME] = float(t)


@part
def _record(watch: "Watch", r: int, row: int) -> None:
    for i in range(watch.recorded.shape[1]):
        watch.recorded[r, i, row] = watch.now[r, i]


@parts(observing=_observing, begin=_begin_watch, see=_see, record_watch=_record)
class Watch(NamedTuple):
    """The observer of R replications, one after the other."""

    log_threshold: float  # log(1/α)
    bets: Bets
    log_best: FloatArray  # (K,) scratch
    shares: FloatArray  # (K,) scratch: the probability with which each arm is boosted
    now: FloatArray  # (R, WATCHED) see above: the values so far, the highest log E, and the first alarm (NaN before)
    recorded: FloatArray  # (R, 4, C) the first entries of `now` at the checkpoints


@inlined
def _not_observing(watch: "NoObserver") -> bool:
    return False


@inlined
def _do_nothing(watch: "NoObserver", r: int) -> None:
    pass


@inlined
def _see_nothing(
    watch: "NoObserver", r: int, problem: Problem, known: Known, s: Space, boosted: int, pulled: int, t: int
) -> None:
    pass


@inlined
def _record_nothing(watch: "NoObserver", r: int, row: int) -> None:
    pass


@parts(observing=_not_observing, begin=_do_nothing, see=_see_nothing, record_watch=_record_nothing)
class NoObserver(NamedTuple):
    """No observer watches. This is a type of its own, so that the test is not even compiled."""


def make_watch(n_arms: int, alpha: float, now: FloatArray, recorded: FloatArray) -> Watch:
    """Return an observer that fills these arrays."""
    log_best, shares = np.empty((2, n_arms))
    bets = bets_of(boost_experts(n_arms, np.array(EPSILONS)))
    return Watch(-math.log(alpha), bets, log_best, shares, now, recorded)
