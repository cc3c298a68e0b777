"""The claims about private rewards seldom seen: planted truths are shown, planted violations are not."""

import numpy as np
import pytest
import xarray as xr

from feint.experiments import feedback
from feint.experiments.findings import REFUTED, SHOWN
from feint.theory import saturated_log_error

SETTINGS = feedback.SETTINGS


def planted(slope=1.0, power=-0.25, width=1.0, later=0.0, found=1.0):
    """Return data as `run` does, with these slopes in units of the prediction, and this log error minus limit."""
    rng = np.random.default_rng(2)
    times, spread_times = np.geomspace(1e9, 1e10, 11), np.array(SETTINGS["spread_times"])
    gammas = np.array([0.2, 0.4, 0.5])
    noise = rng.standard_normal((3, 31, 1)) * 0.02
    errors = -(slope + noise) * gammas[:, None, None] * np.sqrt(0.1 * times)
    predicted = np.tile(0.5 * (spread_times / spread_times[0]) ** power, (1000, 1)) * 0.05
    alarms = np.exp(rng.standard_normal((5, 900)) * 0.3 + 5)
    for seldom, twin in ((1, 0), (2, 0), (3, 4)):
        alarms[seldom] = alarms[twin] * np.exp(later + 0.3 * rng.standard_normal(900))
    return xr.Dataset(
        {
            "log_error": (("case", "replication", "time"), errors),
            "found": (("case", "replication"), rng.random((3, 31)) < found),
            "gamma": ("case", gammas),
            "excess": (("run", "spread_time"), width * predicted * rng.standard_normal(predicted.shape)),
            "predicted": (("run", "spread_time"), predicted),
            "watched_error": (("watched", "seed", "watch_time"), np.zeros((5, 900, 2))),
            "alarm": (("watched", "seed"), alarms),
        },
        coords={
            "case": ["seldom seen", "seldom seen, correlated", "never seen"],
            "time": times.astype(int),
            "spread_time": spread_times,
            "watched": list(feedback.instances(SETTINGS, 1.0)),
        },
        attrs={"epsilon": 0.1},
    )


def verdicts(**changes):
    return [claim.verdict for claim in feedback.claims(planted(**changes), SETTINGS)]


def test_planted_truths_are_shown():
    assert verdicts() == [SHOWN] * 10


@pytest.mark.parametrize(
    ("changes", "refuted"),
    [
        ({"slope": 0.9}, [0, 1, 2]),
        ({"found": 0.3}, [3]),
        ({"power": -0.5}, [5]),
        ({"power": -0.125}, [5]),
        ({"width": 2.0}, [6]),
        ({"later": 0.5}, [7, 8, 9]),
    ],
)
def test_planted_violations_are_refuted(changes, refuted):
    found = verdicts(**changes)
    assert [i for i, verdict in enumerate(found) if verdict == REFUTED] == refuted


def test_the_gradient_is_that_of_the_limit():
    """Moving a public mean by h moves the limit by b·g·h."""
    bandit, h = feedback.with_spread(SETTINGS), 1e-5
    for arm, slope in enumerate(feedback.gradient(bandit)):
        moved = []
        for sign in (1, -1):
            public = list(SETTINGS["public"])
            public[arm] += sign * h
            moved.append(saturated_log_error(feedback.with_spread({**SETTINGS, "public": public})))
        assert (moved[0] - moved[1]) / (2 * h) == pytest.approx(SETTINGS["slope"] * slope, rel=1e-5)
