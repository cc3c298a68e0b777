"""The bet on serial dependence against its formulas in plain Python, and what instants mean for every test."""

import itertools
import json
import math

import numpy as np
import pytest

from feint.evidence import BoostMixture, Calibration, PropensityMixture, PropensitySerialMixture, SerialMixture

TILTS = [sign * size for sign in (1, -1) for size in (0.25, 0.75, 2.0)]
MIXED_IN = [0.03, 0.15, 0.6]


def plain_e(arms, pi, *, within=0.0, groups=None, instants=None, propensities=False):
    """Return E after every row, from the formulas; where only the pulled arm's `pi` is known, only it is used."""
    n_arms = len(pi[0])
    pasts = ["log"] if groups is None else ["log", "group"]
    bets = dict.fromkeys(itertools.product(pasts, ("lag 1", "lag 2", "lag 3", "lag 4", "balance"), range(6)), 0.0)
    instants = list(range(len(arms))) if instants is None else instants
    held, begun, found = 1.0, 0, []
    for i, arm in enumerate(arms):
        if i == 0 or instants[i] != instants[i - 1]:
            if begun % 32 == 0:
                left = 0.25 / math.log2(begun / 32 + 2)
                bets = {key: wealth + (held - left) / len(bets) for key, wealth in bets.items()}
                held = left
            begun += 1
        before = [j for j in range(i) if instants[j] != instants[i]]
        for past, kind, k in bets:
            rows = before if past == "log" else [j for j in before if groups[j] == groups[i]]
            if kind == "balance":
                if propensities:
                    ahead = [sum((arms[j] == a) / pi[j][a] for j in rows) - len(rows) for a in range(n_arms)]
                else:
                    ahead = [sum((arms[j] == a) - pi[j][a] for j in rows) for a in range(n_arms)]
                chosen = {a for a in range(n_arms) if ahead[a] < -1e-9}
            else:
                lag = int(kind[-1])
                chosen = {arms[rows[-lag]]} if len(rows) >= lag else set()
            if propensities:
                if 0 < len(chosen) < n_arms:
                    on = chosen if k < 3 else set(range(n_arms)) - chosen
                    q = MIXED_IN[k % 3]
                    bets[past, kind, k] *= (1 - q + q * (arm in on) / (len(on) * pi[i][arm])) / (1 + q * within)
            else:
                p = sum(pi[i][a] for a in chosen)
                p += within * min(p, 1 - p) * (1 if k < 3 else -1)
                bets[past, kind, k] *= math.exp(TILTS[k] * (arm in chosen)) / (1 + p * (math.exp(TILTS[k]) - 1))
        found.append(held + sum(bets.values()))
    return np.array(found)


def kernel_e(arms, pi, *, within=0.0, groups=None, instants=None, propensities=False, cut=None):
    """Return E after every row as the test computes it, in two pieces if `cut` says where."""
    arms, pi = np.array(arms, dtype=np.int64), np.array(pi)
    kind = PropensitySerialMixture if propensities else SerialMixture
    test = kind(pi.shape[1], within=within, n_groups=None if groups is None else 0)
    log_pi = np.log(pi[np.arange(arms.size), arms] if propensities else pi)
    begins = np.ones(arms.size, bool) if instants is None else np.diff(instants, prepend=-1) != 0
    groups = np.zeros(arms.size, np.int64) if groups is None else np.array(groups)
    found = []
    for piece in (slice(0, cut), slice(arms.size if cut is None else cut, arms.size)):
        found.append(test.extend_grouped(arms[piece], log_pi[piece], groups[piece], begins[piece]))
        test = kind.from_state(json.loads(json.dumps(test.state())))
    return np.exp(np.concatenate(found))


@pytest.mark.parametrize("propensities", [False, True])
@pytest.mark.parametrize("within", [0.0, 0.2])
def test_it_is_what_the_formulas_say(propensities, within):
    rng = np.random.default_rng(5)
    for n_arms, grouped, timed in itertools.product((2, 3), (False, True), (False, True)):
        pi = rng.dirichlet(np.ones(n_arms), 80)
        arms = rng.integers(n_arms, size=80)
        arms[40:] = np.arange(40) % n_arms
        given = {"within": within, "propensities": propensities}
        if grouped:
            given["groups"] = rng.integers(3, size=80).tolist()
        if timed:
            given["instants"] = np.sort(rng.integers(50, size=80)).tolist()
        expected = plain_e(arms.tolist(), pi.tolist(), **given)
        assert kernel_e(arms, pi, **given) == pytest.approx(expected, rel=1e-11)
        assert kernel_e(arms, pi, cut=43, **given) == pytest.approx(expected, rel=1e-11)
        assert expected.max() > 1.5


@pytest.mark.parametrize("propensities", [False, True])
@pytest.mark.parametrize(("n_arms", "rows"), [(2, 6), (3, 4)])
def test_every_node_of_a_small_log_is_fair(n_arms, rows, propensities):
    """E is exactly the mean of E after the next row, also with groups that depend on earlier pulls."""
    table = np.array([[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]])[:, :n_arms]
    table = table / table.sum(1, keepdims=True)

    def groups_of(arms):
        return [0, *((i + 1) % (arms[i] + 2) for i in range(len(arms)))]

    most = 0.0
    for n in range(rows):
        for arms in itertools.product(range(n_arms), repeat=n):
            groups = groups_of(arms)
            pi = table[np.array(groups) % 2]
            given = {"groups": groups, "propensities": propensities}
            after = np.array([plain_e((*arms, a), pi.tolist(), **given)[-1] for a in range(n_arms)])
            now = plain_e(arms, pi.tolist(), **(given | {"groups": groups[:n]}))[-1] if n else 1.0
            assert pi[-1] @ after == pytest.approx(now, rel=1e-12)
            most = max(most, after.max() / now)
    assert most > 1.05  # a test that never bets would be fair too


@pytest.mark.parametrize("kind", [BoostMixture, Calibration, SerialMixture, PropensityMixture, PropensitySerialMixture])
def test_the_order_of_an_instants_rows_does_not_matter(kind):
    rng = np.random.default_rng(3)
    pi = rng.dirichlet(np.ones(3), 120)
    arms = (rng.random((120, 1)) > pi.cumsum(1)).sum(1).clip(max=2)
    instants = np.repeat(np.arange(12), 10)
    begins = np.diff(instants, prepend=-1) != 0
    sorted_last = np.append(np.arange(110), 110 + np.argsort(arms[110:]))  # where sets change with an instant's end
    orders = [np.arange(120), sorted_last]
    if "Serial" not in kind.__name__:
        orders = [np.arange(120), np.lexsort((arms, instants)), np.lexsort((rng.random(120), instants))]
    found = []
    for order in orders:
        test, log_pi = kind(3), np.log(pi[order])
        log_e = test.extend(arms[order], log_pi if kind.NEEDS_ALL_ARMS else log_pi[np.arange(120), arms[order]], begins)
        found.append(log_e[9::10])
        assert test.highest_log_e_value == max(0.0, log_e[9::10].max())
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=1e-10, abs=1e-10)


def test_a_long_instant_that_refutes_all_experts_is_finite():
    """An instant has 20,000 pulls of arm 0, then of arm 1: every boost that gives one arm everything is refuted."""
    test = BoostMixture(2, epsilons=[5.0, 0.1])
    arms = np.repeat([0, 1, 0], [20_000, 20_000, 100])
    begins = np.zeros(arms.size, dtype=bool)
    begins[[0, 40_000]] = True
    log_e = test.extend(arms, np.full((arms.size, 2), math.log(0.5)), begins)
    assert np.isfinite(log_e).all()
    assert log_e[39_999] == pytest.approx(math.log(0.5 / math.log2(3)), abs=1e-6)  # what was held back
    assert log_e[-1] > log_e[39_999]
    assert BoostMixture.from_state(test.state()).log_e_value == log_e[-1]


@pytest.mark.parametrize("kind", [BoostMixture, Calibration, SerialMixture])
def test_a_long_sorted_instant_is_no_evidence(kind):
    """Even draws are sorted by arm, 20,000 in an instant: within it E reaches e^5000, after it E is small again."""
    begins = np.arange(60_000) % 20_000 == 0
    arms = np.tile(np.repeat([0, 1], 10_000), 3)
    log_e = kind(2).extend(arms, np.full((60_000, 2), math.log(0.5)), begins)
    assert np.isfinite(log_e).all()
    assert log_e.max() > 1_000
    assert log_e[[19_999, 39_999, 59_999]].max() < 1e-9


def test_a_long_honest_past_does_not_hide_alternation():
    rng = np.random.default_rng(8)
    test, half = SerialMixture(2), math.log(0.5)
    test.extend(rng.integers(2, size=300_000), np.full((300_000, 2), half))
    log_e = test.extend(np.arange(60) % 2, np.full((60, 2), half))
    assert log_e[-1] > math.log(200)


def test_damaged_states_are_refused():
    test = SerialMixture(2, n_groups=0)
    test.extend_grouped(np.array([0, 1]), np.full((2, 2), math.log(0.5)), np.array([0, 1]), np.ones(2, bool))
    state = test.state()
    assert SerialMixture.from_state(state).strongest == test.strongest
    for wrong in ({"wealth": [[[-1.0] * 6] * 5] * 2}, {"now": [[7.0] * 6] * 3}, {"n_groups": -1}, {"n_groups": 5}):
        with pytest.raises(ValueError, match=r"damaged|n_groups"):
            SerialMixture.from_state(state | wrong)
