"""Test claims about late, batched and faded rewards, about priors and about references.

Honest agents come from `honest_agents`, which shares no code with feint. Over independent logs the product of E is an
e-value too, so "not rejected" is tested by Σ log E < log 10⁶: a true claim fails that with probability below 1e-6.
"""

import math

import numpy as np
import pytest
from scipy import stats

import feint
import honest_agents as honest
from feint.references import Clipped, EpsilonGreedy, NormalInverseGamma, Softmax, Split, ThompsonSampling
from honest_agents import reward_times

SURELY = math.log(1e6)
RATES, MEANS = [0.6, 0.5, 0.3], [0.5, 0.3, 0.0]
BETA = {"family": feint.Bernoulli(), "initial_round": False}


SETTINGS = {
    **{f"beta, delay {d}": (honest.beta_sampling(), honest.flips(RATES), honest.late(d), 1.0,
                            BETA | {"delay": d}) for d in (1, 10, 50)},
    **{f"beta, batch {b}": (honest.beta_sampling(), honest.flips(RATES), honest.batched(b), 1.0,
                            BETA | {"batch": b}) for b in (20, 100, 500)},
    **{f"normal, delay {d}": (honest.normal_sampling(), honest.noisy(MEANS), honest.late(d), 1.0,
                              {"delay": d}) for d in (1, 10, 50)},
    **{f"normal, batch {b}": (honest.normal_sampling(), honest.noisy(MEANS), honest.batched(b), 1.0,
                              {"batch": b}) for b in (20, 100, 500)},
    "beta, reward times": (honest.beta_sampling(), honest.flips(RATES), reward_times, 1.0, BETA),
    "normal, reward times": (honest.normal_sampling(), honest.noisy(MEANS), reward_times, 1.0, {}),
    "beta, discount": (honest.beta_sampling(), honest.flips(RATES), honest.at_once, 0.99,
                       BETA | {"discount": 0.99}),
    "normal, discount": (honest.normal_sampling(prior=(0.2, 0.5)), honest.noisy(MEANS), honest.late(5), 0.99,
                         {"reference": ThompsonSampling((0.2, 0.5)), "initial_round": False, "delay": 5,
                          "discount": 0.99}),
    "beta, a prior an arm": (honest.beta_sampling([(1, 1), (8, 2), (1, 5)]), honest.flips(RATES), honest.at_once, 1.0,
                             BETA | {"reference": ThompsonSampling([(1, 1), (8, 2), (1, 5)])}),
    "normal, a prior an arm": (honest.normal_sampling(2.0, [(0, 1), (1, 0.3), (-1, 2)]), honest.noisy(MEANS, 2.0),
                               honest.batched(20), 1.0,
                               {"reference": ThompsonSampling([(0, 1), (1, 0.3), (-1, 2)]), "sigma": 2.0, "batch": 20,
                                "initial_round": False}),
    "unknown sigma, flat": (honest.unknown_sigma_sampling(), honest.noisy(MEANS, 0.7), honest.at_once, 1.0,
                            {"reference": NormalInverseGamma()}),
    "unknown sigma, a prior": (honest.unknown_sigma_sampling((0.2, 2, 1.5, 0.8)), honest.noisy(MEANS, 0.7),
                               honest.late(10), 1.0,
                               {"reference": NormalInverseGamma((0.2, 2, 1.5, 0.8)), "initial_round": False,
                                "delay": 10}),
    "clip": (honest.clipped_sampling(0.05), honest.noisy([0.0, 0.5]), honest.at_once, 1.0,
             {"reference": Clipped(ThompsonSampling(), 0.05), "n_arms": 2}),
    "softmax": (honest.softmax(0.3), honest.noisy(MEANS), honest.batched(20), 1.0,
                {"reference": Softmax(0.3), "batch": 20}),
    "epsilon-greedy": (honest.epsilon_greedy(0.2), honest.noisy(MEANS), honest.late(1), 1.0,
                       {"reference": EpsilonGreedy(0.2), "delay": 1}),
}  # fmt: skip


def logs_of(name, seed, n_logs, rows):
    """Yield (arms, rewards, further arguments of `audit`) of every log."""
    choose, reward, arrival, discount, claim = SETTINGS[name]
    claim = {"n_arms": 3, **claim}
    rng = np.random.default_rng(seed)
    arms, rewards, known = honest.play(rng, n_logs, rows, claim["n_arms"], choose, reward, arrival, discount)
    for log in range(n_logs):
        further = {}
        if arrival is reward_times:
            due = [None if moment == honest.NEVER else int(moment) for moment in known[log]]
            further = {"times": np.arange(rows), "reward_times": np.array(due, dtype=object)}
        yield arms[log], rewards[log], claim | further


class TestHonestAgents:
    @pytest.mark.parametrize("name", SETTINGS)
    def test_are_not_rejected(self, name):
        rows, n_logs = 800 if "500" in name else 300, 6
        reports = [feint.audit(arms, r, **claim) for arms, r, claim in logs_of(name, 1, n_logs, rows)]
        assert sum(report.log_e_value for report in reports) < SURELY
        assert all(report.tested >= rows - (500 if "500" in name else 150) for report in reports)

    @pytest.mark.parametrize(
        ("name", "wrong"),
        [
            ("beta, batch 100", {"batch": 1}),
            ("normal, batch 100", {"batch": 1}),
            ("normal, batch 500", {"batch": 100}),
            ("beta, delay 50", {"delay": 0}),
            ("normal, delay 50", {"delay": 0}),
            ("normal, reward times", {"times": None, "reward_times": None, "delay": 300}),
            ("beta, discount", {"discount": 1.0}),
            ("beta, a prior an arm", {"reference": ThompsonSampling([(8, 2), (1, 1), (1, 5)])}),
            ("unknown sigma, flat", {"reference": ThompsonSampling(), "sigma": 0.2}),
            ("clip", {"reference": Clipped(ThompsonSampling(), 0.4)}),
            ("softmax", {"reference": Softmax(0.03)}),
            ("epsilon-greedy", {"reference": EpsilonGreedy(0.02)}),
        ],
    )
    def test_a_wrong_claim_about_them_is_rejected(self, name, wrong):
        """At least four logs of five are rejected, and all of them together with certainty."""
        reports = [feint.audit(arms, r, **(claim | wrong)) for arms, r, claim in logs_of(name, 2, 5, 1_000)]
        assert sum(report.rejected for report in reports) >= 4
        assert sum(report.highest_log_e_value for report in reports) > SURELY

    def test_one_agent_a_user(self):
        """The log has 30 agents in turn, each with a delay of 3 of its own rows."""
        rng = np.random.default_rng(5)
        rows = 60
        arms, rewards, _ = honest.play(rng, 30, rows, 3, honest.beta_sampling(), honest.flips(RATES), honest.late(3))
        users = rng.permutation(np.repeat(np.arange(30), rows))
        number = np.zeros(users.size, dtype=int)
        for user in range(30):
            number[users == user] = np.arange(rows)
        labels = np.array([f"user {user}" for user in users])
        claim = BETA | {"n_arms": 3}
        report = feint.audit(arms[users, number], rewards[users, number], groups=labels, delay=3, **claim)
        assert report.log_e_value < SURELY
        assert (report.n_groups, report.tested, len(report.groups)) == (30, 1_800, 20)
        assert not any(group.named for group in report.groups)
        as_one = feint.audit(arms[users, number], rewards[users, number], delay=3, **claim)
        assert as_one.rejected

    @pytest.mark.slow
    @pytest.mark.parametrize("name", [name for name in SETTINGS if "delay" in name or "batch" in name])
    def test_at_most_alpha_of_1000(self, name):
        """The test fails wrongly with probability P(Binomial(1000, 0.05) > the limit) < 1e-6."""
        rows = 1_000 if "500" in name else 600
        rejected = sum(feint.audit(arms, r, **claim).rejected for arms, r, claim in logs_of(name, 3, 1_000, rows))
        print(f"{name}: {rejected} of 1,000 rejected")
        assert rejected <= stats.binom.isf(1e-6, 1_000, 0.05)


class TestReferences:
    def test_clipping_solves_for_the_scale(self):
        """π' = max(low, s·π) with Σ π' = 1, s by bisection."""
        rng = np.random.default_rng(0)
        for _ in range(50):
            weights = rng.dirichlet(np.full(5, 0.4)).clip(1e-12)
            weights /= weights.sum()
            low = rng.uniform(0.01, 0.2)
            report = feint.audit([0, 1], n_arms=5, reference=Clipped(Split(weights), low))
            left, right = 0.0, 1.0
            for _ in range(200):
                scale = (left + right) / 2
                left, right = (left, scale) if np.maximum(low, scale * weights).sum() > 1 else (scale, right)
            expected = 2 * np.maximum(low, scale * weights)
            assert [arm.expected for arm in report.arms] == pytest.approx(expected, rel=1e-9)

    def test_anything_can_be_clipped(self):
        class Own:
            def log_probabilities(self, view):
                return np.log([0.98, 0.01, 0.01])

        rng = np.random.default_rng(1)
        arms, rewards = rng.choice(3, 400, p=[0.9, 0.05, 0.05]), rng.normal(size=400)
        assert feint.audit(arms, rewards, n_arms=3, reference=Own()).rejected
        assert not feint.audit(arms, rewards, n_arms=3, reference=Clipped(Own(), 0.05)).rejected
        assert not feint.audit(arms, n_arms=3, reference=Clipped(Split([0.98, 0.01, 0.01]), 0.05)).rejected
        assert feint.audit(arms, rewards, n_arms=3, reference=Clipped(NormalInverseGamma(), 0.05)).tested > 300

    def test_unknown_sigma_is_silent_where_rewards_repeat(self):
        """Under a flat prior equal rewards make no posterior; it speaks from the first row with two different ones."""
        arms = np.tile([0, 1], 50)
        assert feint.audit(arms, np.ones(100), reference=NormalInverseGamma()).tested == 0
        assert feint.audit(arms, np.full(100, 0.1), reference=NormalInverseGamma()).tested == 0
        rewards = np.full(100, 0.1)
        rewards[40:42] = 0.2
        assert feint.audit(arms, rewards, reference=NormalInverseGamma()).tested == 58
        assert feint.audit(arms, rewards, reference=NormalInverseGamma((0, 1, 1, 1))).tested == 98

    def test_unknown_sigma_with_a_past_that_fades(self):
        arms, rewards = np.tile([0, 1, 2], 60), np.random.default_rng(2).normal(size=180)
        report = feint.audit(arms, rewards, reference=NormalInverseGamma(), discount=0.8)
        assert report.tested < 178
        assert math.isfinite(report.log_e_value)
