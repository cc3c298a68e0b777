"""The observer beside the agent: what each pull spends of the KL budget, and what it tells the observer."""

import math
from typing import NamedTuple

import numpy as np

from feint.engine.decide import Scratch
from feint.engine.posterior import LOG_LOW, PI_LOW
from feint.explorers.base import FloatArray
from feint.numerics._jit import kernel
from feint.numerics.boost_kernel import bernoulli_kl
from feint.observer.boost_mixture import EPSILONS, bet
from feint.observer.fixed_share import SHARE, Experts, experts

# Entries of `Watch.now`; those before HIGHEST are recorded.
KL_SPENT, LOG_E_VALUE, LOG_LIKELIHOOD_RATIO, HIGHEST, DETECTION_TIME = 0, 1, 2, 3, 4
RECORDED = ("kl_spent", "log_e_value", "log_likelihood_ratio")


class Watch(NamedTuple):
    """The observer of one replication; `observing` is false where nobody watches."""

    observing: bool
    log_threshold: float  # log(1/α)
    experts: Experts
    now: FloatArray  # (5,) see above: the values so far, the highest log E, and the first alarm (NaN before)
    recorded: FloatArray  # (3, C) the first entries of `now` at the checkpoints


def watch(n_arms: int, alpha: float | None, recorded: FloatArray) -> Watch:
    """An observer who has seen nothing, or with alpha = None nobody."""
    bets = experts(n_arms, np.array(EPSILONS), SHARE)
    threshold = 0.0 if alpha is None else -math.log(alpha)
    return Watch(alpha is not None, threshold, bets, np.array([0.0, 0.0, 0.0, 0.0, math.nan]), recorded)


@kernel
def record_watch(watch: Watch, row: int) -> None:
    """Fill one checkpoint."""
    for i in range(watch.recorded.shape[0]):
        watch.recorded[i, row] = watch.now[i]


@kernel
def see(watch: Watch, s: Scratch, boosted: int, pulled: int, t: int) -> None:
    """Test the t-th pull, made from the policy in `s` that boosts `boosted`."""
    log_pi = s.exact_reference[LOG_LOW]
    watch.now[KL_SPENT] += bernoulli_kl(s.policy[boosted], s.exact_reference[PI_LOW, boosted], log_pi[boosted])
    # The test of an observer who knows what the agent does, boosted arm and all (`observer.likelihood_ratio`).
    watch.now[LOG_LIKELIHOOD_RATIO] += math.log(s.policy[pulled]) - log_pi[pulled]
    log_e = bet(watch.experts, log_pi, pulled)
    watch.now[LOG_E_VALUE] = log_e
    watch.now[HIGHEST] = max(watch.now[HIGHEST], log_e)
    if log_e >= watch.log_threshold and math.isnan(watch.now[DETECTION_TIME]):
        watch.now[DETECTION_TIME] = float(t)
