"""Both bounds of all arms but one equal two evaluations of the kernel, bit for bit."""

import numpy as np
import pytest

from cases import PAPER
from feint.families import Gaussian
from feint.families.base import fill_log_best, fill_log_others

CASES = {  # means and pulls; the first arm is the one that moves
    "privately worse": (PAPER.private, (1e9, 4e4, 2e4, 1e4)),
    "privately worse, deep": (PAPER.private, (1e12, 1e6, 8e5, 4e5)),
    "publicly best": (PAPER.public, (1e9, 4e4, 2e4, 1e4)),
    "near the best": ((0.2, 0.21, 0.1, 0.0), (1e5, 3e3, 2e3, 1e3)),
    "the worst": ((-1.0, 0.0, 1.0, 0.5), (50.0, 40.0, 30.0, 900.0)),
    "two arms": ((0.0, 1.0), (1e6, 1e3)),
    "another is sharper": ((0.0, 1.0, 0.9), (1e4, 1e8, 1e9)),
}


@pytest.mark.parametrize("name", CASES)
def test_bounds_are_those_of_two_evaluations(name):
    means, pulls = (np.array(given) for given in CASES[name])
    family, rng, n = Gaussian(1.0).kernel(), np.random.default_rng(1), len(means)
    ws = family.workspace(n)
    for _ in range(40):
        sds = pulls**-0.5 * np.exp(rng.uniform(-0.3, 0.3, n))
        posterior = np.stack([means + rng.normal(size=n) * sds, sds])
        at = posterior[:, 0].copy()
        width = 10.0 ** rng.uniform(-6, -0.5)
        extremes = np.array([[at[0] - width * at[1], at[1]], [at[0] + width * at[1], at[1] * (1 - 0.1 * width)]])
        found, expected = np.empty((2, 2, n))
        for row in range(2):
            posterior[:, 0] = extremes[row]
            fill_log_best(family, posterior, ws, expected[row])
        fill_log_others(family, posterior, ws, 0, extremes, *found)
        np.testing.assert_array_equal(found[:, 1:], expected[:, 1:])
