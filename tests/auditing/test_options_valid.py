"""Burn-ins, stages, available arms, units and floors: E is fair by enumeration, and tests have power."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta as beta_law
from scipy.stats import binom

import feint
from option_logs import BETA, CASES, SHARES, check_rates, first_rejections

GUIDE = (Path(__file__).parent.parent.parent / "docs" / "audit.md").read_text(encoding="utf-8")
NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(24))


def best(wins, losses):
    """Return P(arm is best) for integer Beta posteriors: the integrand is a polynomial, so the rule is exact."""
    x = NODES + 0.5
    inside = [betainc(a, b, x) for a, b in zip(wins, losses, strict=True)]
    shares = []
    for arm in range(len(wins)):
        others = np.prod([f for other, f in enumerate(inside) if other != arm], axis=0)
        shares.append(float((WEIGHTS * beta_law.pdf(x, wins[arm], losses[arm]) * others).sum()))
    return np.array(shares)


def known_best(arms, rewards, until, among):
    """Return the probability of each arm to be the best of `among`, given the first `until` rows."""
    wins, losses = np.ones(3), np.ones(3)
    for arm, reward in zip(arms[:until], rewards[:until], strict=True):
        wins[arm] += reward
        losses[arm] += 1 - reward
    shares = np.zeros(3)
    shares[list(among)] = best(wins[list(among)], losses[list(among)]) if len(among) > 1 else 1.0
    return shares


ALL = (0, 1, 2)
AVAILABLE = [(0, 1, 2), (0, 2), (1, 2), (1,)]
STAGE = ["a", "a", "b", "a"]
UNITS = ["u", "v", "u", "w"]
VERSIONS = [["u", 1], ["u", 2], ["u", 1], ["v", 1]]


def after_burn_in(t, arms, rewards):
    return np.array(SHARES) if t < 2 else known_best(arms, rewards, t, ALL)


def by_stage(t, arms, rewards):
    return known_best(arms, rewards, (0, 0, 2, 3)[t], ALL)


def among_available(t, arms, rewards):
    return known_best(arms, rewards, t, AVAILABLE[t])


def by_unit(t, arms, rewards):
    return np.eye(3)[arms[0]] if t == 2 else known_best(arms, rewards, t, ALL)


@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({"burn_in": (2, SHARES)}, after_burn_in),
        ({"stages": STAGE}, by_stage),
        ({"available": AVAILABLE}, among_available),
        ({"units": UNITS}, by_unit),
        ({"units": VERSIONS}, by_unit),
    ],
    ids=["burn_in", "stages", "available", "units", "units and versions"],
)
def test_the_mean_of_e_does_not_grow_at_any_node(options, law):
    """All logs of four rows and three arms whose probabilities, by an integral of our own, are those of the claim."""
    rng = np.random.default_rng(4)
    e = {(): 1.0}
    outcomes = {}
    for arms in itertools.product(range(3), repeat=4):
        rewards = outcomes.setdefault(arms[:3], rng.integers(2, size=3).tolist())  # known to the agent before row 4
        report = feint.audit(arms, [*rewards, 0], explain=False, **BETA, **options)
        whole = math.inf if report.log_e_value == math.inf else math.exp(report.log_e_value)
        e[arms] = whole
    for head in itertools.product(range(3), repeat=3):
        shares = law(3, head, outcomes[head])
        possible = feint.audit(head, outcomes[head], explain=False, **BETA, **_cut(options, 3))
        if possible.rejected and possible.log_e_value == math.inf:
            continue
        before = math.exp(possible.log_e_value)
        after = sum(share * e[(*head, arm)] for arm, share in enumerate(shares) if share > 0)
        assert after <= before * (1 + 1e-9)
        impossible = [arm for arm, share in enumerate(shares) if share == 0]
        assert all(e[(*head, arm)] == math.inf for arm in impossible)
        # Bets are fair, except for stakes on arms of probability 0; a claim that differs from the law would show.
        assert after >= before * (1 - 1e-7)


def _cut(options, n):
    return {name: value if name == "burn_in" else value[:n] for name, value in options.items()}


@pytest.mark.parametrize("rows", [1, 2])
def test_the_mean_of_e_does_not_grow_in_the_first_rows(rows):
    """These are the earlier nodes: a burn-in, a first stage, and a unit that comes back in the third row."""
    for options, law in (({"burn_in": (2, SHARES)}, after_burn_in), ({"stages": STAGE}, by_stage),
                         ({"available": AVAILABLE}, among_available), ({"units": UNITS}, by_unit),
                         ({"units": VERSIONS}, by_unit)):  # fmt: skip
        for head in itertools.product(range(3), repeat=rows):
            rewards = [1, 0][:rows]
            before = feint.audit(head, rewards, explain=False, **BETA, **_cut(options, rows))
            if before.log_e_value == math.inf:
                continue
            after = [
                feint.audit((*head, arm), [*rewards, 0], explain=False, **BETA, **_cut(options, rows + 1)).log_e_value
                for arm in range(3)
            ]
            shares = law(rows, head, rewards)
            mean = sum(share * math.exp(after[arm]) for arm, share in enumerate(shares) if share > 0)
            assert math.exp(before.log_e_value) * (1 - 1e-7) <= mean <= math.exp(before.log_e_value) * (1 + 1e-9)


def box(logged, floor):
    """Return the least and largest probabilities that a floor allows, from its null in the guide."""
    rare = logged < floor
    rest = logged[~rare].sum()
    most = 1 - rare.sum() * floor
    return np.where(rare, 0.0, logged * most / rest), np.where(rare, floor, logged / rest)


def corners(low, high):
    """Yield the corners of the box that are probabilities: all arms but one at an end."""
    for free in range(low.size):
        others = [a for a in range(low.size) if a != free]
        for ends in itertools.product((low, high), repeat=low.size - 1):
            p = np.zeros(low.size)
            for arm, end in zip(others, ends, strict=True):
                p[arm] = end[arm]
            p[free] = 1.0 - p.sum()
            if low[free] - 1e-12 <= p[free] <= high[free] + 1e-12:
                yield p


@pytest.mark.parametrize("within", [0.0, 0.05])
def test_a_floor_is_valid_for_every_agent_that_it_allows(within):
    """The mean of E is linear in the true probabilities, so it is largest at a corner of what the claim allows."""
    logged = np.array([[1.0, 0.0, 0.0], [0.9, 0.099, 0.001], [0.5, 0.45, 0.05], [0.2, 0.3, 0.5]])
    e, largest = {(): 1.0}, 0.0
    for arms in itertools.product(range(3), repeat=4):
        report = feint.audit(
            arms, probabilities=logged, groups=["g", "h", "g", "h"], floor=0.1, within=within, explain=False
        )
        e |= {arms[: t + 1]: math.exp(x) for t, x in enumerate(report.history_log_e_values)}
    for head in [head for head in e if len(head) < 4]:
        low, high = box(logged[len(head)], 0.1)
        low, high = low - within * np.minimum(low, 1 - low), high + within * np.minimum(high, 1 - high)
        means = [sum(p[a] * e[(*head, a)] for a in range(3)) for p in corners(low, high)]
        assert max(means) <= e[head] * (1 + 1e-9)
        largest = max(largest, max(means) / e[head])
    assert largest > 0.99  # little more is given away than has to be


def test_a_floor_of_two_propensities_does_not_depend_on_the_pull():
    arms, of_one = [0, 1, 1, 0], np.array([0.02, 0.0, 0.97, 1.0])
    propensities = np.where(np.array(arms) == 1, of_one, 1 - of_one)
    tables = np.column_stack([1 - of_one, of_one])
    one, other = (
        feint.audit(arms, floor=0.1, explain=False, n_arms=2, **what)
        for what in ({"propensities": propensities}, {"probabilities": tables})
    )
    assert math.isclose(one.log_e_value, other.log_e_value, rel_tol=1e-12)


def test_honest_logs_with_a_rare_arm_keep_a_large_floor():
    """An arm has the probability 0.001, the floor is 0.1, and there are 40 logs of 400 rows."""
    rng = np.random.default_rng(9)
    logs = (rng.random((40, 400)) < 0.001).astype(int)
    table = np.tile([0.999, 0.001], (400, 1))
    found = [feint.audit(arms, probabilities=table, floor=0.1, explain=False).rejected for arms in logs]
    assert sum(found) <= binom.isf(1e-6, 40, 0.05)


@pytest.mark.parametrize("name", CASES)
def test_honest_logs_pass_and_misstated_ones_do_not(name):
    check_rates(CASES[name], n_logs=50, most=13)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_thousand_honest_logs(name):
    assert np.isfinite(first_rejections(CASES[name], np.random.default_rng(10), 1000, 500)).mean() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_guide_has_the_medians(name):
    row = next(line for line in GUIDE.splitlines() if line.startswith(f"| {name} |"))
    forced, misstated, wrong = (cell.strip() for cell in row.split("|")[2:5])
    measured = power(name)
    assert (forced, misstated, wrong) == measured


def power(name):
    """Return the cells of the guide's table: medians of 100 logs of 4,000 rows."""
    case = CASES[name]
    medians = [
        np.median(first_rejections(case, np.random.default_rng(seed), 100, 4_000, **how))
        for seed, how in ((11, {"bent": True}), (12, {"wrong": True}))
    ]
    forced, wrong = ("never" if median == np.inf else f"{median:,.0f}" for median in medians)
    return forced, case.misstated, wrong
