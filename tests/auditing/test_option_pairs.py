"""Options in pairs: honest logs of an agent that has both pass, neither is ignored, and what cannot be is refused.

The agent is plain NumPy and SciPy. It draws an arm with its probability of being best, by a quadrature of its own, and
each option changes one step of it.
"""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta as beta_law
from scipy.stats import binom

import feint

BETA = {"family": feint.Bernoulli(), "initial_round": False, "n_arms": 3}
RATES = np.array([0.3, 0.6, 0.5])
NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(80))
OPTIONS = {
    "burn_in": {"burn_in": 30},
    "group": {},  # these four are columns
    "unit": {},
    "available": {},
    "stage": {},
    "delay": {"delay": 7},
    "batch": {"batch": 20},
    "clip": {"reference": feint.Clipped(feint.ThompsonSampling(), 0.1)},
    "within": {"within": 0.02},
}
COLUMNS = {"group": "groups", "unit": "units", "available": "available", "stage": "stages"}
TIMINGS = {"delay", "batch", "stage"}
PAIRS = [pair for pair in combinations(OPTIONS, 2) if not TIMINGS.issuperset(pair)]
ROWS = 200


def best(wins, losses):
    """Return P(best) of Beta posteriors; the posteriors of 200 rows are smooth enough for 80 nodes."""
    x = NODES + 0.5
    below = [betainc(a, b, x) for a, b in zip(wins, losses, strict=True)]
    found = [
        (WEIGHTS * beta_law.pdf(x, wins[arm], losses[arm]) * np.prod(below[:arm] + below[arm + 1 :], axis=0)).sum()
        for arm in range(len(wins))
    ]
    return np.array(found) / sum(found)


def clip(p, low=0.1):
    """Return probabilities of which those below `low` are raised to it, and the others share the rest."""
    small = p < low
    while True:
        q = np.where(small, low, p * (1 - low * small.sum()) / p[~small].sum())
        if (q >= low - 1e-12).all():
            return q
        small |= q < low


def is_known(options, row, now):
    """Return whether the reward of a group's earlier row is known: both are (number in the group, stage)."""
    if "delay" in options:
        return row[0] + 1 + 7 <= now[0]
    if "batch" in options:
        return (row[0] // 20 + 1) * 20 <= now[0]
    return row[1] < now[1] if "stage" in options else True


def probabilities(options, past, now, open_arms):
    """Return the probabilities of the open arms; `past` is [((number, stage), arm, reward)] of the group."""
    if "burn_in" in options and now[0] < 30:
        return np.full(open_arms.size, 1 / open_arms.size)
    wins, losses = np.ones(3), np.ones(3)
    for row, arm, reward in past:
        if is_known(options, row, now):
            wins[arm] += reward
            losses[arm] += 1 - reward
    p = best(wins[open_arms], losses[open_arms])
    return clip(p) if "clip" in options else p


def honest_log(rng, options, rows=ROWS):
    """Return the arguments of `feint.audit` for an agent that has these options."""
    log = {name: [] for name in ("arms", "rewards", "groups", "units", "available", "stages")}
    pasts, stages, shown = {0: [], 1: []}, {0: (-1, 0), 1: (-1, 0)}, {0: [], 1: []}
    for t in range(rows):
        group = int(rng.integers(2)) if "group" in options else 0
        wave = t // 45
        last, number = stages[group]
        stages[group] = wave, number + (last not in (-1, wave))
        now = len(pasts[group]), stages[group][1]
        mask = np.array([True, "available" not in options or rng.random() < 0.6, True])
        again = [i for i, arm in enumerate(shown[group]) if mask[arm]]
        if "unit" in options and again and rng.random() < 0.4:
            unit = int(rng.choice(again))
            arm = shown[group][unit]
        else:
            unit, open_arms = len(shown[group]), np.flatnonzero(mask)
            arm = int(rng.choice(open_arms, p=probabilities(options, pasts[group], now, open_arms)))
            shown[group].append(arm)
        reward = float(rng.random() < RATES[arm])
        pasts[group].append((now, arm, reward))
        for name, cell in zip(log, (arm, reward, "ab"[group], f"u{unit}", mask, f"wave {wave % 2}"), strict=True):
            log[name].append(cell)
    used = {"arms", "rewards", *(COLUMNS[name] for name in options if name in COLUMNS)}
    return {name: np.array(cells) for name, cells in log.items() if name in used}


def audit(log, options):
    """Audit a log under a claim with these options only."""
    claim = BETA.copy()
    for name in options:
        claim |= {COLUMNS[name]: log[COLUMNS[name]]} if name in COLUMNS else OPTIONS[name]
    return feint.audit(log["arms"], log["rewards"], explain=False, **claim)


def test_every_pair_passes_and_neither_is_ignored():
    rng = np.random.default_rng(1)
    rejected = 0
    for pair in PAIRS:
        log = honest_log(rng, pair)
        report = audit(log, pair)
        rejected += report.rejected
        for left_out in pair:
            other = audit(log, [name for name in pair if name != left_out])
            assert other.log_e_value != report.log_e_value, (pair, left_out)
    assert len(PAIRS) == 33
    assert rejected <= binom.isf(1e-6, len(PAIRS), 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("pair", PAIRS, ids=" and ".join)
def test_at_most_alpha_of_200(pair):
    rng = np.random.default_rng(2)
    assert sum(audit(honest_log(rng, pair), pair).rejected for _ in range(200)) <= 0.05 * 200


@pytest.mark.parametrize("pair", list(combinations(sorted(TIMINGS), 2)), ids=" and ".join)
def test_two_timings_are_refused(pair):
    log = honest_log(np.random.default_rng(3), ("stage",), 20)
    with pytest.raises(ValueError, match="give only one"):
        audit(log, pair)


@pytest.mark.parametrize("option", ["burn_in", "delay", "batch", "available", "stage", "clip"])
def test_options_of_a_reference_beside_logged_probabilities_are_named_or_used(option):
    """Nothing that is given is dropped in silence where the log has a claim of its own."""
    log = honest_log(np.random.default_rng(4), (option,), 20)
    claim = {COLUMNS[option]: log[COLUMNS[option]]} if option in COLUMNS else OPTIONS[option]
    table = np.full((20, 3), 1 / 3)
    if option == "available":
        with pytest.raises(ValueError, match="but was not available"):
            feint.audit(log["arms"], log["rewards"], probabilities=table, **claim)
        return
    report = feint.audit(log["arms"], log["rewards"], probabilities=table, **claim)
    assert any("not used" in warning for warning in report.warnings)
