"""References without contexts that trials, platforms and routers claim: are their probabilities right, are they tested
fairly, and does every door take them?

Probabilities are compared with enumeration, mpmath and closed forms; honest logs come from `honest_agents`, which
shares no code with feint.
"""

import itertools
import json
import math

import numpy as np
import pytest

import feint
import honest_agents as honest
from feint.agent.public_log import RewardStream
from recomputed import log_pi

RATES = (0.35, 0.5, 0.6)
TS, BERNOULLI, NORMAL = feint.ThompsonSampling(), feint.Bernoulli(), feint.Gaussian()


# Name: (reference, arms, family); rewards come from the row and the arm.
SMALL = {
    "blocks": (feint.PermutedBlocks((2, 4), weights=(0.4, 0.6)), 2, NORMAL),
    "blocks 2:1:1": (feint.PermutedBlocks((4,), (2, 1, 1)), 3, NORMAL),
    "coin": (feint.BiasedCoin(0.7, mti=2), 2, NORMAL),
    "urn": (feint.PlayTheWinner(1, 2, 1), 2, BERNOULLI),
    "holdout": (feint.Holdout(feint.ThompsonSampling((1, 1)), 1, 0.2), 2, BERNOULLI),
    "control": (feint.ControlShare(feint.ThompsonSampling((1, 1)), 0, 0.3), 3, BERNOULLI),
    "tempered": (feint.Tempered(feint.ThompsonSampling((0, 1)), "n/4"), 2, NORMAL),
    "tempered by a number": (feint.Tempered(feint.ThompsonSampling((1, 1)), 0.5), 3, BERNOULLI),
    "top two": (feint.TopTwoThompson(0.6, (1, 1)), 3, BERNOULLI),
    "top two, normal": (feint.TopTwoThompson(0.4, (0, 1)), 3, NORMAL),
    "clipped": (feint.Clipped(feint.ThompsonSampling((0, 1)), 0.1, 0.5), 3, NORMAL),
    "scored": (feint.ScoredThompson([1, 2], [0, 0.3], 0.8), 2, BERNOULLI),
    "scored, normal": (feint.ScoredThompson([1, 2, 0.5], [0, 0.3, -0.1], 0.8, prior=(0.2, 1)), 3, NORMAL),
}


@pytest.mark.parametrize("name", SMALL)
def test_the_bet_is_fair_at_every_node(name):
    """For all logs of a few rows, Σ_a π(a) = 1, and E[E after a row] ≤ E before it."""
    reference, n_arms, family = SMALL[name]
    rows = 6 if n_arms == 2 else 4
    claim = {"n_arms": n_arms, "reference": reference, "family": family, "initial_round": False, "explain": False}
    capital, chances = {(): 1.0}, {}
    for pulls in itertools.product(range(n_arms), repeat=rows):
        rewards = [(t + arm) % 2 for t, arm in enumerate(pulls)]
        logs = log_pi(reference, pulls, rewards, n_arms=n_arms, family=family)
        if np.isneginf(logs[range(rows), pulls]).any():
            continue
        report = feint.audit(pulls, rewards, **claim)
        assert report.tested == rows
        for t in range(rows):
            chances[pulls[:t]] = np.exp(logs[t])
            capital[pulls[: t + 1]] = math.exp(report.history_log_e_values[t])
    assert len(chances) > 2**rows / 8
    for before, pi in chances.items():
        assert pi.sum() == pytest.approx(1, abs=1e-12)
        after = sum(p * capital[(*before, a)] for a, p in enumerate(pi) if p > 0)
        assert after <= capital[before] * (1 + 1e-12)


COSTS = np.array([0.0, 0.05, 0.2])
# Name: (what an honest agent does, its rewards, when they are known, the claim, another parameter).
DESIGNS = {
    "permuted-blocks:4": (honest.permuted_blocks([4], [1, 1], [1.0]), honest.flips(RATES[:2]), honest.late(7),
                          {"reference": feint.PermutedBlocks(), "n_arms": 2, "delay": 7},
                          {"reference": feint.PermutedBlocks((6,))}),
    "permuted-blocks:6;9,1;1;1": (honest.permuted_blocks([6, 9], [1, 1, 1], [0.5, 0.5]), honest.flips(RATES),
                                  honest.at_once, {"reference": feint.PermutedBlocks((6, 9))},
                                  {"reference": feint.PermutedBlocks((6, 12))}),
    "biased-coin": (honest.biased_coin(2 / 3), honest.flips(RATES[:2]), honest.late(5),
                    {"reference": feint.BiasedCoin(), "n_arms": 2, "delay": 5}, {"reference": feint.BiasedCoin(0.5)}),
    "biased-coin:0.5,4": (
        honest.biased_coin(0.5, 4), honest.flips(RATES[:2]), honest.at_once,
        {"reference": feint.BiasedCoin(0.5, 4), "n_arms": 2}, {"reference": feint.BiasedCoin(0.5, 3)}),
    "play-the-winner": (
        honest.play_the_winner(1, 1, 1), honest.flips((0.2, 0.4, 0.8)), honest.late(10),
        {"reference": feint.PlayTheWinner(), "delay": 10}, {"reference": feint.PlayTheWinner(1, 5, 0)}),
    "holdout:thompson-sampling,0,0.1": (
        honest.holdout(honest.beta_sampling(), 0, 0.1), honest.flips(RATES), honest.batched(20),
        {"reference": feint.Holdout(TS, 0, 0.1), "batch": 20}, {"reference": feint.Holdout(TS, 0, 0.2)}),
    "control-share:thompson-sampling,0,0.3": (
        honest.control_share(0, 0.3), honest.flips(RATES), honest.late(3),
        {"reference": feint.ControlShare(TS, 0, 0.3), "delay": 3}, {"reference": feint.ControlShare(TS, 0, 0.4)}),
    "tempered:thompson-sampling,0.5": (
        honest.tempered_sampling(lambda row: 0.5), honest.noisy((0.0, 0.2)), honest.at_once,
        {"reference": feint.Tempered(TS, 0.5), "n_arms": 2, "family": NORMAL, "initial_round": True},
        {"reference": TS}),
    "tempered:thompson-sampling,n/400": (
        honest.tempered_sampling(lambda row: row / 400), honest.noisy((0.0, 0.2)), honest.batched(10),
        {"reference": feint.Tempered(TS, "n/400"), "n_arms": 2, "family": NORMAL, "initial_round": True, "batch": 10},
        {"reference": feint.Tempered(TS, "n/100")}),
    "top-two-thompson": (honest.top_two_sampling(0.5), honest.flips((0.45, 0.5, 0.5)), honest.batched(10),
                         {"reference": feint.TopTwoThompson(), "batch": 10}, {"reference": feint.TopTwoThompson(0.8)}),
    "clipped:thompson-sampling,0,0.8": (
        honest.clipped_sampling(0.2), honest.noisy((0.0, 0.5)), honest.at_once,
        {"reference": feint.Clipped(TS, 0, 0.8), "n_arms": 2, "family": NORMAL, "initial_round": True},
        {"reference": feint.Clipped(TS, 0, 0.9)}),
    "scored-thompson:1;1;1,0;0.05;0.2": (
        honest.scored_sampling(np.ones(3), COSTS), honest.flips(RATES), honest.at_once,
        {"reference": feint.ScoredThompson(np.ones(3), COSTS)},
        {"reference": feint.ScoredThompson(np.ones(3), COSTS / 2)}),
    "scored-thompson:1;1;2,0;0.05;0.6,0.8": (
        honest.scored_sampling(np.array([1, 1, 2]), np.array([0.0, 0.05, 0.6]), 0.8), honest.flips(RATES),
        honest.late(2),
        {"reference": feint.ScoredThompson([1, 1, 2], [0, 0.05, 0.6], 0.8), "delay": 2},
        {"reference": feint.ScoredThompson([1, 1, 2], [0, 0.05, 0.6], 1.0)}),
    "scored-thompson:1;1;2,0;0.1;0.8,0.9,0;1": (
        honest.scored_sampling(np.array([1, 1, 2]), np.array([0.0, 0.1, 0.8]), 0.9, (0.0, 1.0)), honest.noisy(RATES),
        honest.batched(5),
        {"reference": feint.ScoredThompson([1, 1, 2], [0, 0.1, 0.8], 0.9, prior=(0, 1)), "family": NORMAL, "batch": 5},
        {"reference": feint.ScoredThompson([1, 1, 2], [0, 0.05, 0.4], 0.9, prior=(0, 1))}),
}  # fmt: skip


def logs_of(name, seed, n_logs, rows, forced=0.0):
    """Yield (arms, rewards, claim) of every log; a share of the rows may be forced to arm 0."""
    choose, reward, arrival, claim, _ = DESIGNS[name]
    claim = {"n_arms": 3, "family": BERNOULLI, "initial_round": False, "explain": False} | claim
    rng = np.random.default_rng(seed)
    bent = honest.holdout(choose, 0, forced) if forced else choose
    arms, rewards, _ = honest.play(rng, n_logs, rows, claim["n_arms"], bent, reward, arrival)
    for log in range(n_logs):
        yield arms[log], rewards[log], claim


class TestHonestLogs:
    def rejected(self, name, n_logs, rows):
        return sum(feint.audit(arms, r, **claim).rejected for arms, r, claim in logs_of(name, 7, n_logs, rows))

    @pytest.mark.parametrize("name", DESIGNS)
    def test_few(self, name):
        """The test fails wrongly with probability P(Binomial(20, 0.05) > 8) < 1e-6."""
        assert self.rejected(name, 20, 200) <= 8

    @pytest.mark.slow
    @pytest.mark.parametrize("name", DESIGNS)
    def test_at_most_alpha_of_1000(self, name):
        """A true claim is rejected with at most 5 %; these tests stay well below it, so 50 is no close call."""
        found = self.rejected(name, 1_000, 500)
        print(f"{name}: {found} of 1,000 rejected")
        assert found <= 50


SITES = 4


def logs_of_sites(name, seed, n_logs, rows):
    """(arms, rewards, groups, claim) of logs whose sites take turns at random, an honest agent each."""
    rng = np.random.default_rng([seed, 1])
    for _ in range(n_logs):
        sites = rng.permutation(np.repeat(np.arange(SITES), rows // SITES))
        whole_arms, whole_rewards = np.zeros(rows, dtype=np.int64), np.zeros(rows)
        logs = list(logs_of(name, int(rng.integers(2**31)), SITES, rows // SITES))
        for site, (arms, rewards, _) in enumerate(logs):
            whole_arms[sites == site], whole_rewards[sites == site] = arms, rewards
        yield whole_arms, whole_rewards, sites, logs[0][2]


class TestSites:
    """Strata have blocks, coins, urns and posteriors of their own, and delays and batches count within them."""

    @pytest.mark.parametrize("name", DESIGNS)
    def test_few(self, name):
        """Over independent logs Σ log E reaches log 10⁶ with a probability below 1e-6."""
        total = 0.0
        for arms, rewards, sites, claim in logs_of_sites(name, 3, 4, 240):
            total += feint.audit(arms, rewards, groups=sites, **claim).log_e_value
        assert total < math.log(1e6)

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["permuted-blocks:4", "permuted-blocks:6;9,1;1;1", "biased-coin"])
    def test_at_most_alpha_of_1000(self, name):
        logs = logs_of_sites(name, 8, 1_000, 600)
        found = sum(feint.audit(arms, rewards, groups=sites, **claim).rejected for arms, rewards, sites, claim in logs)
        print(f"{name} at {SITES} sites: {found} of 1,000 rejected")
        assert found <= 50


def median_row(logs, **changes):
    """Return the median row of rejection; ∞ if fewer than half of the logs are rejected."""
    reports = [feint.audit(arms, rewards, **(claim | changes)) for arms, rewards, claim in logs]
    return float(np.median([math.inf if report.rejected_at is None else report.rejected_at for report in reports]))


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_power(name):
    """Print a row of the table in docs/audit.md, of 41 logs of 3,000 rows."""
    rows = 1_000 if name.startswith("top-two") else 3_000  # of which the plain agent draws for ever where it is sure
    forced = median_row(logs_of(name, 9, 41, rows, forced=0.05))
    wrong = median_row(logs_of(name, 10, 41, rows), **DESIGNS[name][4])
    print(f"| {name} | {forced:,.0f} | {wrong:,.0f} |")
    assert min(forced, wrong) < math.inf


@pytest.mark.parametrize("name", ["permuted-blocks:4", "biased-coin:0.5,4"])
def test_departures_are_seen(name):
    assert median_row(logs_of(name, 9, 5, 1_500, forced=0.05)) < 1_500
    assert median_row(logs_of(name, 10, 5, 1_500), **DESIGNS[name][4]) < 1_500


def play_agent(reference, n_arms, family, rows):
    """Play a live agent without a budget and its observer, which expect the same, also after a restart."""
    agent = feint.Agent(n_arms, reference=reference, epsilon=0.0, family=family, seed=3)
    observer = feint.Observer(n_arms, reference, family=family)
    bandit = feint.Bandit(RATES[:n_arms], RATES[:n_arms], family=family)
    stream, arms, rewards = RewardStream(bandit, 3, 0), [], []
    for t in range(rows):
        if t == rows // 2:
            agent = feint.Agent.from_state(json.loads(json.dumps(agent.state())))
            observer = feint.Observer.from_state(json.loads(json.dumps(observer.state())))
        arm = agent.pull()
        if t >= n_arms:
            assert agent.reference_probabilities() == pytest.approx(observer.reference_probabilities(), rel=1e-12)
        public, private = stream.rewards(t, arm)
        agent.update(arm, public, private)
        observer.update(arm, public)
        arms.append(arm)
        rewards.append(public)
    return bandit, arms, rewards, observer


def check_doors(name):
    reference, n_arms, family = SMALL[name]
    rows = 41
    bandit, arms, rewards, observer = play_agent(reference, n_arms, family, rows)
    runs = feint.simulate(bandit, reference=reference, epsilon=0.0, horizon=rows, replications=2, seed=3, observe=True)
    assert runs.pulls.values[0, -1].tolist() == np.bincount(arms, minlength=n_arms).tolist()
    assert runs.log_e_value.values[0, -1] == pytest.approx(observer.log_e_value, rel=1e-9)
    alone = feint.simulate(bandit, reference=reference, epsilon=0.0, horizon=rows, replications=range(1, 2), seed=3)
    assert (alone.pulls.values[0] == runs.pulls.values[1]).all()
    logs = log_pi(reference, arms, rewards, n_arms=n_arms, family=family)
    assert np.exp(logs[-1]).sum() == pytest.approx(1)
    observer = feint.Observer(n_arms, reference, family=family, initial_round=False)
    for row, arm, reward in zip(logs, arms, rewards, strict=True):
        assert observer.reference_probabilities() == pytest.approx(np.exp(row), rel=1e-12)
        observer.update(arm, reward)


@pytest.mark.slow
def test_blocks_at_every_door():
    check_doors("blocks")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_every_door(name):
    check_doors(name)


class Alternates:
    """A reference that pulls the other arm than last time with probability 0.9; it sees the order of the pulls."""

    def log_probabilities(self, view):
        assert view.arms.size == view.time
        assert not view.arms.flags.writeable
        pi = np.full(2, 0.1)
        pi[1 - view.arms[-1]] = 0.9
        return np.log(pi)


class TestArms:
    def test_live_and_simulated(self):
        bandit, arms, _, observer = play_agent_of_ones_own()
        assert np.mean(np.diff(arms) != 0) > 0.7
        runs = feint.simulate(bandit, reference=Alternates(), epsilon=0.0, horizon=41, replications=1, seed=3)
        assert runs.pulls.values[0, -1].tolist() == np.bincount(arms).tolist()
        assert observer.tested == 39

    def test_audits_with_groups_and_late_rewards(self):
        rng = np.random.default_rng(0)
        arms = np.cumsum(rng.random(400) < 0.9) % 2
        claim = {"n_arms": 2, "reference": Alternates(), "explain": False}
        known = feint.audit(arms, np.zeros(400), delay=5, **claim)
        assert not known.rejected
        assert feint.audit(rng.permutation(arms), np.zeros(400), **claim).rejected
        others = np.cumsum(rng.random(400) < 0.9) % 2
        both = np.column_stack([arms, others]).ravel()
        two = feint.audit(both, np.zeros(800), groups=np.tile(["a", "b"], 400), **claim)
        assert not two.rejected
        assert feint.audit(both, np.zeros(800), **claim).rejected


def play_agent_of_ones_own():
    agent, observer = feint.Agent(2, reference=Alternates(), epsilon=0.0, seed=3), feint.Observer(2, Alternates())
    bandit = feint.Bandit([0.2, 0.5], [0.2, 0.5])
    stream, arms = RewardStream(bandit, 3, 0), []
    for t in range(41):
        if t == 20:
            agent = feint.Agent.from_state(json.loads(json.dumps(agent.state())), reference=Alternates())
            observer = feint.Observer.from_state(json.loads(json.dumps(observer.state())), reference=Alternates())
        arm = agent.pull()
        rewards = stream.rewards(t, arm)
        agent.update(arm, *rewards)
        observer.update(arm, rewards[0])
        arms.append(arm)
    return bandit, arms, rewards, observer


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: feint.PermutedBlocks(()), "sizes is"),
        (lambda: feint.PermutedBlocks((4, 4)), "only once"),
        (lambda: feint.PermutedBlocks((4, 6), weights=(0.5, 0.6)), "2 numbers above 0 that sum to 1, one per size"),
        (lambda: feint.PermutedBlocks((4,), ratio=(1, 0)), "ratio is"),
        (lambda: feint.Observer(3, feint.PermutedBlocks((4,))), "cannot be split among 3 arms; .* of 3"),
        (lambda: feint.Observer(2, feint.PermutedBlocks((4,), (2, 1))), "the ratio 2:1; .* of 3"),
        (lambda: feint.Observer(3, feint.PermutedBlocks((6,), (2, 1))), "2 numbers for 3 arms"),
        (lambda: feint.Observer(3, feint.BiasedCoin()), "for 2 arms, not 3"),
        (lambda: feint.BiasedCoin(0.4), "from 0.5 to 1"),
        (lambda: feint.BiasedCoin(mti=0), "whole number, 1 or more"),
        (lambda: feint.PlayTheWinner(0), "above 0"),
        (lambda: feint.Observer(2, feint.PlayTheWinner(), family=feint.Gaussian()), "give the family bernoulli"),
        (lambda: feint.Holdout(TS, 0.5, 0.1), "arm is 0.5"),
        (lambda: feint.Holdout(TS, 0, 1.0), "share, the arm's part of the rows,"),
        (lambda: feint.Observer(2, feint.Holdout(TS, 2, 0.1)), "from 0 to 1"),
        (lambda: feint.Observer(2, feint.ControlShare(TS, 0, 0.1)), "3 arms or more"),
        (lambda: feint.Tempered(TS, "n/0"), "power must be"),
        (lambda: feint.Tempered(TS, -1), "power must be"),
        (lambda: feint.TopTwoThompson(1.0), "beta"),
        (lambda: feint.ScoredThompson([1, 0], [0, 0]), "weights is"),
        (lambda: feint.ScoredThompson([1, 1], [0]), "costs is"),
        (lambda: feint.Observer(2, feint.ScoredThompson([1, 1], [0, 0]), family=feint.Poisson()), "gaussian or bern"),
        (lambda: feint.ScoredThompson([1, 1], [0, 0], prior=(0.1, 1)).kernel(BERNOULLI, 2), "½ or more"),
        (lambda: feint.Clipped(TS, 0.0), "nothing is clipped"),
        (lambda: feint.Clipped(TS, 0.2, 0.2), "above the least"),
        (lambda: feint.Observer(3, feint.Clipped(TS, 0.1, 0.3)), "at least 0.333"),
    ],
)  # fmt: skip
def test_mistakes_get_a_sentence(make, says):
    with pytest.raises(ValueError, match=says):
        make()
