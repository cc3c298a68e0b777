"""Make logs of agents that burn in, learn in stages, lack arms or meet units again, without any code of feint.

`make(rng, n_logs, rows, bent)` of a `Case` returns as many logs: the arguments of `feint.audit` that hold the data.
With `bent`, 5 % of the draws go to arm 0 whatever the agent meant to do. `claim` are the options under which an honest
log must pass, and `misstated` is what is wrong with `wrong`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom

import feint
from honest_agents import beta_sampling, draw, flips, play

RATES = (0.3, 0.5, 0.4)
BETA = {"family": feint.Bernoulli(), "initial_round": False, "n_arms": 3}
STAGES = (40, 70, 25, 90, 60, 100, 15)  # rows, again and again
SHARES = (0.5, 0.3, 0.2)


@dataclass(frozen=True)
class Case:
    make: Callable[..., list[dict[str, Any]]]
    claim: dict[str, Any]
    misstated: str
    wrong: dict[str, Any]  # options that replace those of the claim; data that are left out are None


def bend(choose, bent):
    def chosen(rng, seen, row):
        arms = choose(rng, seen, row)
        return np.where(rng.random(arms.size) < 0.05, 0, arms) if bent else arms

    return chosen


def logs_of(rng, n_logs, rows, choose, **more):
    arms, rewards, _ = play(rng, n_logs, rows, 3, choose, flips(RATES), **more)
    return [{"arms": a, "rewards": r} for a, r in zip(arms, rewards, strict=True)]


def burning(shares):
    def make(rng, n_logs, rows, bent=False, burn_in=150):
        def choose(rng, seen, row):
            if row < burn_in:
                return draw(rng, np.tile(shares, (n_logs, 1)))
            return beta_sampling()(rng, seen, row)

        return logs_of(rng, n_logs, rows, bend(choose, bent))

    return make


def stage_of(rows):
    return np.repeat(np.arange(rows), np.resize(STAGES, rows))[:rows]


def staged(rng, n_logs, rows, bent=False):
    stage = stage_of(rows)
    ends = np.searchsorted(stage, stage, side="right")
    logs = logs_of(rng, n_logs, rows, bend(beta_sampling(), bent), arrival=lambda rng, row, n: np.full(n, ends[row]))
    return [log | {"stages": [f"stage {s % 2}" for s in stage]} for log in logs]


def some_down(rng, rows, n_arms=3):
    """Return which arms are available, (n, K): they go down and up independently, arm 1 down a third of the time."""
    available = np.ones((rows, n_arms), dtype=bool)
    for row in range(1, rows):
        flip = rng.random(n_arms) < np.where(available[row - 1], np.where(np.arange(n_arms) == 1, 0.05, 0.01), 0.1)
        available[row] = available[row - 1] ^ flip
        if not available[row].any():
            available[row] = available[row - 1]
    return available


def lacking(rng, n_logs, rows, bent=False):
    """Return logs in which arms go down and up; arm 1 is the best."""
    available = some_down(rng, rows)

    def choose(rng, seen, row):
        drawn = rng.beta(1 + seen.sums, 1 + seen.counts - seen.sums)
        return np.where(available[row], drawn, -1.0).argmax(1)

    def chosen(rng, seen, row):
        return bend(choose, bent and available[row, 0])(rng, seen, row)

    return [log | {"available": available} for log in logs_of(rng, n_logs, rows, chosen)]


def returning(rng, n_logs, rows, bent=False):
    """Return logs in which half of the rows are of units that were there before; the agent learns from all rows."""
    units = np.zeros(rows, dtype=int)
    for row in range(1, rows):
        newest = units[:row].max()
        units[row] = rng.integers(newest + 1) if rng.random() < 0.5 else newest + 1
    first = {}

    def choose(rng, seen, row):
        if units[row] not in first:
            first[units[row]] = bend(beta_sampling(), bent)(rng, seen, row)
        return first[units[row]]

    return [log | {"units": [f"u{u}" for u in units]} for log in logs_of(rng, n_logs, rows, choose)]


def returning_in_versions(rng, n_logs, rows, bent=False):
    """Units that come back as above, but are drawn once in each of two versions, the second of which runs later."""
    units, versions, first = np.zeros(rows, dtype=int), np.zeros(rows, dtype=int), {}
    for row in range(1, rows):
        newest = units[:row].max()
        units[row] = rng.integers(newest + 1) if rng.random() < 0.5 else newest + 1
        versions[row] = rng.random() < row / rows

    def choose(rng, seen, row):
        unit = int(units[row]), int(versions[row])
        if unit not in first:
            first[unit] = bend(beta_sampling(), bent)(rng, seen, row)
        return first[unit]

    names = [[f"u{u}", f"v{v}"] for u, v in zip(units, versions, strict=True)]
    return [log | {"units": names} for log in logs_of(rng, n_logs, rows, choose)]


def of_one_arm(rng, n_logs, rows, bent=False):
    p = rng.uniform(0.2, 0.8, (n_logs, rows))
    arms = (rng.random((n_logs, rows)) < np.where(rng.random((n_logs, rows)) < 0.05, 0.0, p) if bent else
            rng.random((n_logs, rows)) < p).astype(int)  # fmt: skip
    return [{"arms": a, "propensities": q} for a, q in zip(arms, p, strict=True)]


def rounded(rng, n_logs, rows, bent=False):
    """Return logs in which arm 0 has a probability of 0.001 to 0.02, which is logged as 0."""
    p = np.empty((n_logs, rows, 3))
    p[..., 0] = rng.uniform(0.001, 0.02, (n_logs, rows))
    p[..., 1] = (1 - p[..., 0]) * 0.6
    p[..., 2] = (1 - p[..., 0]) * 0.4
    arms = (rng.random((n_logs, rows, 1)) > p.cumsum(2)).sum(2).clip(max=2)
    arms = np.where(rng.random(arms.shape) < 0.05, 0, arms) if bent else arms
    return [{"arms": a, "probabilities": np.tile([0.0, 0.6, 0.4], (rows, 1))} for a in arms]


CASES = {
    "`--burn-in 150`": Case(burning((1 / 3,) * 3), BETA | {"burn_in": 150}, "100 in place of 150", {"burn_in": 100}),
    "`--burn-in 150:0.5,0.3,0.2`": Case(
        burning(SHARES), BETA | {"burn_in": (150, SHARES)}, "uniform shares", {"burn_in": 150}
    ),
    "`--stage`": Case(staged, BETA, "rewards known at once", {"stages": None}),
    "`--available`": Case(lacking, BETA, "all arms available", {"available": None}),
    "`--unit`": Case(returning, BETA, "each row drawn afresh", {"units": None}),
    "`--unit A,B`": Case(returning_in_versions, BETA, "each row drawn afresh", {"units": None}),
    "`--probability-of`": Case(
        of_one_arm, {"n_arms": 2, "probability_of": 1}, "that of the pulled arm", {"probability_of": None}
    ),
    "`--floor 0.02`": Case(rounded, {"floor": 0.02}, "0.001 in place of 0.02", {"floor": 0.001}),
}


def check_rates(case, n_logs, most):
    """Ask that at most `most` honest logs are rejected, which more are with a probability below 1e-6, and that half of
    ten logs are whose claim is misstated.
    """
    assert binom.sf(most, n_logs, 0.05) < 1e-6
    honest = first_rejections(case, np.random.default_rng(1), n_logs, 250)
    assert np.isfinite(honest).sum() <= most
    wrong = first_rejections(case, np.random.default_rng(2), 10, 600, wrong=True)
    assert np.isfinite(wrong).sum() >= 5


def first_rejections(case, rng, n_logs, rows, *, bent=False, wrong=False):
    """Return the row of rejection of each log, ∞ where there is none; ten logs at a time share arms that are down, or
    units.
    """
    found = []
    for log in (log for _ in range(0, n_logs, 10) for log in case.make(rng, 10, rows, bent)):
        options = log | case.claim | (case.wrong if wrong else {})
        arms, rewards = options.pop("arms"), options.pop("rewards", None)
        options = {name: value for name, value in options.items() if value is not None}
        found.append(feint.audit(arms, rewards, explain=False, **options).rejected_at or np.inf)
    return np.array(found)
