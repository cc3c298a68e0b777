"""The claims about Figure 2 on planted data: all shown where all are true, and each refuted where it is not."""

import math

import numpy as np
import pytest
import xarray as xr

from feint import Bandit
from feint.experiments.figure2 import SETTINGS, claims
from feint.theory import optimal_allocation

EPSILONS = (0.0, 0.1, 1.0, math.inf)
GAMMA = optimal_allocation(Bandit(SETTINGS["public"], SETTINGS["private"])).gamma
LIMIT = {"ε = 0.1 decays like exp(−C√t)", "ε = 1 decays like exp(−C√t)"}
SUBEXPONENTIAL = {"ε = 0.1 decays subexponentially", "ε = 1 decays subexponentially"}


def planted(power=0.5, slope=1.0, last=10**7):
    """Return errors e^(−C·t^power), with a constant for every seed; ε = ∞ has the classical slope."""
    times = np.unique(np.geomspace(4, last, 160).astype(np.int64))
    scatter = np.random.default_rng(0).lognormal(0, 0.02, (len(EPSILONS), 100, 1))
    constants = np.array([0.0, 0.1, 0.3, slope * GAMMA])[:, None, None]
    powers = np.array([1.0, power, power, 1.0])[:, None, None]
    errors = -0.01 * scatter * times**0.1 - constants * scatter * times**powers
    errors[-1][:, times > 40_000] = math.nan
    return xr.Dataset(
        {"log_error": (("epsilon", "replication", "time"), errors)}, coords={"epsilon": list(EPSILONS), "time": times}
    )


def named(data, verdict):
    return {claim.name for claim in claims(data, SETTINGS) if claim.verdict == verdict}


def test_all_are_shown_where_all_are_true():
    data = planted()
    assert named(data, "shown") == {claim.name for claim in claims(data, SETTINGS)} >= LIMIT | SUBEXPONENTIAL


@pytest.mark.parametrize(("power", "refuted"), [(0.3, LIMIT), (0.7, LIMIT), (1.0, LIMIT | SUBEXPONENTIAL)])
def test_another_power_of_time(power, refuted):
    assert named(planted(power), "refuted") - {"more budget is never slower"} == refuted


def test_another_slope_without_a_limit():
    assert named(planted(slope=0.8), "refuted") == {"ε = ∞ has the classical optimal slope"}


def test_less_is_faster():
    data = planted()
    data["log_error"][2] = data.log_error[2] * 0.1
    assert "more budget is never slower" in named(data, "refuted")


def test_no_claim_about_the_limit_far_from_it():
    """ε·T = 10⁴ and 10⁵ nats: of the two, one is enough."""
    names = {claim.name for claim in claims(planted(last=10**5), SETTINGS)}
    assert names & LIMIT == {"ε = 1 decays like exp(−C√t)"}
