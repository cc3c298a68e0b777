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

# Entries of `Watch.now`.
KL_SPENT, LOG_E_VALUE, HIGHEST, DETECTION_TIME = 0, 1, 2, 3


class Watch(NamedTuple):
    """The observer of one replication; `observing` is false where nobody watches."""

    observing: bool
    log_threshold: float  # log(1/α)
    experts: Experts
    now: FloatArray  # (4,) KL spent so far, log E, its highest, and the time of the first alarm (NaN before)
    kl_spent: FloatArray  # (C,) at the checkpoints
    log_e_value: FloatArray  # (C,)


def watch(n_arms: int, alpha: float | None, kl_spent: FloatArray, log_e_value: FloatArray) -> Watch:
    """An observer who has seen nothing, or with alpha = None nobody."""
    bets = experts(n_arms, np.array(EPSILONS), SHARE)
    threshold = 0.0 if alpha is None else -math.log(alpha)
    return Watch(alpha is not None, threshold, bets, np.array([0.0, 0.0, 0.0, math.nan]), kl_spent, log_e_value)


@kernel
def see(watch: Watch, s: Scratch, boosted: int, pulled: int, t: int) -> None:
    """Test the t-th pull, made from the policy in `s` that boosts `boosted`."""
    log_pi = s.exact_reference[LOG_LOW]
    watch.now[KL_SPENT] += bernoulli_kl(s.policy[boosted], s.exact_reference[PI_LOW, boosted], log_pi[boosted])
    log_e = bet(watch.experts, log_pi, pulled)
    watch.now[LOG_E_VALUE] = log_e
    watch.now[HIGHEST] = max(watch.now[HIGHEST], log_e)
    if log_e >= watch.log_threshold and math.isnan(watch.now[DETECTION_TIME]):
        watch.now[DETECTION_TIME] = float(t)
