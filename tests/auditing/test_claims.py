"""What agents claim: late, batched and faded rewards, groups, priors, propensities, impossible pulls; and their files.

Honest agents come from `honest_agents`, which shares no code with feint. Over independent logs the product of E is an
e-value too, so "not rejected" is tested by Σ log E < log 10⁶: a true claim fails that with probability below 1e-6.
"""

import gzip
import json
import math
import os
import random
import subprocess
import sys
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import feint
import honest_agents as honest
from feint.auditing import Names
from feint.evidence import PropensityMixture
from feint.evidence.group_tilts import GroupTilts
from feint.evidence.propensity_mixture import shrink_propensities
from feint.references import Clipped, EpsilonGreedy, NormalInverseGamma, Softmax, Split, ThompsonSampling
from feint.references.past import Past, Timing
from shell import typed

SURELY = math.log(1e6)
RATES, MEANS = [0.6, 0.5, 0.3], [0.5, 0.3, 0.0]
BETA = {"family": feint.Bernoulli(), "initial_round": False}


def run(*arguments):
    """(exit code, what it printed) of `feint audit`."""
    found = typed("audit", *arguments)
    return found.returncode, found.stdout + found.stderr


def write(path, header, rows):
    path.write_text(header + "\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


class PlainPast:
    """The module's docstring word for word: every reward with its weight, in lists."""

    def __init__(self, n_arms, timing):
        self.n_arms, self.timing, self.agents = n_arms, timing, {}

    def row(self, group, arm, reward, time=None, reward_time=None):
        """What was known before the row: counts, sums and spreads of the arms, and the row's number."""
        agent = self.agents.setdefault(group, {"made": 0, "known": [], "waiting": []})
        number, timing = agent["made"], self.timing
        if number:
            agent["known"] = [(a, r, weight * timing.discount) for a, r, weight in agent["known"]]
        still = []
        for a, r, due in agent["waiting"]:
            if due is not None and due <= (time if timing.by_time else number):
                agent["known"].append((a, r, 1.0))
            else:
                still.append((a, r, due))
        if timing.by_time:
            due = reward_time
        elif timing.batch > 1:
            due = (number // timing.batch + 1) * timing.batch
        else:
            due = number + 1 + timing.delay
        agent["waiting"] = [*still, (arm, reward, None if math.isnan(reward) else due)]
        agent["made"] += 1
        return [self._of_arm(agent["known"], a) for a in range(self.n_arms)], number

    @staticmethod
    def _of_arm(known, arm):
        mine = [(reward, weight) for a, reward, weight in known if a == arm]
        count, total = math.fsum(w for _, w in mine), math.fsum(r * w for r, w in mine)
        return count, total, math.fsum(w * (r - total / count) ** 2 for r, w in mine)


class TestPast:
    TIMINGS = (
        Timing(),
        Timing(delay=1),
        Timing(delay=7),
        Timing(delay=1000),
        Timing(batch=2),
        Timing(batch=25),
        Timing(discount=0.9),
        Timing(delay=5, discount=0.97),
        Timing(batch=10, discount=0.97),
        Timing(by_time=True),
        Timing(by_time=True, discount=0.95),
    )

    @staticmethod
    def log(seed, timing, rows=300, n_groups=5):
        """Groups interleaved; times with many ties; rewards late, at once, before their pull, and never."""
        rng = np.random.default_rng(seed)
        group = rng.integers(n_groups, size=rows) * 3  # so that some agents have no rows
        arms, rewards = rng.integers(3, size=rows), rng.normal(3.0, 1.0, rows)
        if not timing.by_time:
            return group, arms, rewards, None, None
        times = np.sort(rng.integers(rows // 3, size=rows))
        due = times + rng.choice([-2, 0, 0, 1, 5, 40], size=rows)
        due[rng.random(rows) < 0.1] = np.iinfo(np.int64).max  # never
        return group, arms, rewards, times, due

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("timing", TIMINGS, ids=str)
    def test_against_lists(self, timing, seed):
        group, arms, rewards, times, due = self.log(seed, timing)
        found = Past(3, timing).rows(group, arms, rewards, times, due)
        plain = PlainPast(3, timing)
        for i in range(arms.size):
            never = timing.by_time and due[i] == np.iinfo(np.int64).max
            when = () if times is None else (times[i], None if never else due[i])
            expected, number = plain.row(group[i], arms[i], rewards[i], *when)
            assert found.numbers[i] == number
            np.testing.assert_allclose(np.array(found[:3])[:, i].T, expected, rtol=1e-10, atol=1e-10)

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("timing", TIMINGS, ids=str)
    def test_pieces_and_restarts_change_nothing(self, timing, seed):
        log = self.log(seed, timing)
        whole = Past(3, timing).rows(*log)
        rng = np.random.default_rng(seed)
        past, found, start = Past(3, timing), [], 0
        while start < 300:
            if rng.random() < 0.4:
                state = json.loads(json.dumps(past.state()))
                past = Past(3, timing)
                past.recall(state)
                assert past.state() == state
            end = min(300, start + int(rng.choice([1, 2, 13, 70])))
            found.append(past.rows(*(None if column is None else column[start:end] for column in log)))
            start = end
        for one, pieces in zip(whole, zip(*found, strict=True), strict=True):
            np.testing.assert_array_equal(one, np.concatenate(pieces))

    def test_rewards_far_from_0_keep_their_spread(self):
        """Welford: 10⁸ ± 1 has the spread of ± 1."""
        arms, signs = np.zeros(2_000, dtype=np.int64), np.tile([1.0, -1.0], 1_000)
        found = Past(2, Timing()).rows(arms, arms, 1e8 + signs)
        assert found.spreads[-1, 0] == pytest.approx(1999 - 1 / 1999, rel=1e-7)


def reward_times(rng, row, n_logs):
    """Late by a few rows, or never."""
    return np.where(rng.random(n_logs) < 0.1, honest.NEVER, row + 1 + rng.integers(40, size=n_logs))


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
    """(arms, rewards, further arguments of `audit`) of every log."""
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
        """At least four logs of five, and with certainty over all."""
        reports = [feint.audit(arms, r, **(claim | wrong)) for arms, r, claim in logs_of(name, 2, 5, 1_000)]
        assert sum(report.rejected for report in reports) >= 4
        assert sum(report.highest_log_e_value for report in reports) > SURELY

    def test_one_agent_a_user(self):
        """30 agents, interleaved, each with a delay of 3 rows of its own."""
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
        """False failures: P(Binomial(1000, 0.05) > the limit) < 1e-6."""
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


class TestPropensities:
    def test_of_two_arms_are_probabilities(self):
        rng = np.random.default_rng(0)
        second = rng.uniform(0.01, 0.99, 500)
        arms = (rng.random(500) < second).astype(int)
        table = np.column_stack([1 - second, second])
        weak = feint.audit(arms, propensities=table[np.arange(500), arms], n_arms=2)
        strong = feint.audit(arms, probabilities=table)
        assert weak.log_e_value == pytest.approx(strong.log_e_value, rel=1e-9)
        assert [arm.expected for arm in weak.arms] == pytest.approx([arm.expected for arm in strong.arms])
        assert not any("weaker" in warning for warning in weak.warnings)

    @pytest.mark.parametrize("draws", [1, 2, 7, 40])
    def test_shares_of_draws_are_valid_exactly(self, draws):
        """Σ_X Binomial(X; n, π)·(π_A over what is tested) ≤ 1 for every expert, in fractions where it is 1/π."""
        for share in (Fraction(1, 1000), Fraction(1, 7), Fraction(1, 2), Fraction(99, 100), Fraction(1)):
            mean = sum(
                math.comb(draws, x) * share**x * (1 - share) ** (draws - x) * Fraction(draws + 1, x + 1)
                for x in range(draws + 1)
            )
            assert mean == (1 - (1 - share) ** (draws + 1)) / share <= 1 / share
            tested = shrink_propensities(np.arange(draws + 1) / draws, draws)
            weights = stats.binom.pmf(np.arange(draws + 1), draws, float(share))
            assert weights @ (1 / tested) == pytest.approx(float(mean), rel=1e-12)

    @pytest.mark.parametrize("draws", [1, 3, 20])
    def test_expected_e_value_of_a_row(self, draws):
        """Over all arms and all hits, E after one row is 1 on average at most; for three steps likewise."""
        pi = np.array([0.6, 0.3, 0.1])
        hits = np.arange(draws + 1)
        outcomes = [(a, x, pi[a] * stats.binom.pmf(x, draws, pi[a])) for a in range(3) for x in hits]
        for before in ([], [(0, 0)], [(2, 0), (1, draws)]):
            total, base = 0.0, 1.0
            for arm, x, chance in outcomes:
                test = PropensityMixture(3)
                for a, h in before:
                    base = math.exp(test.update(a, np.log(shrink_propensities(np.array([h / draws]), draws))))
                total += chance * math.exp(test.update(arm, np.log(shrink_propensities(np.array([x / draws]), draws))))
            assert total <= base * (1 + 1e-12)

    @staticmethod
    def monte_carlo(rng, rows, draws, boost=0.0):
        """Pulls from π with `boost` of the last arm, and what the agent logs: hits of fresh draws from π."""
        pi = rng.dirichlet([2.0, 2.0, 2.0, 2.0], rows)
        arms = honest.draw(rng, (1 - boost) * pi + boost * np.eye(4)[3])
        return arms, rng.binomial(draws, pi[np.arange(rows), arms]) / draws

    @pytest.mark.parametrize("draws", [5, 100])
    def test_monte_carlo_agents(self, draws):
        rng = np.random.default_rng(1)
        options = {"n_arms": 4, "propensity_draws": draws}
        reports = []
        for _ in range(30):
            arms, shares = self.monte_carlo(rng, 500, draws)
            reports.append(feint.audit(arms, propensities=shares, **options))
        assert sum(report.log_e_value for report in reports) < SURELY
        assert not any("cannot stay" in warning for report in reports for warning in report.warnings)
        assert f"{draws} draws" in reports[0].claim
        arms, shares = self.monte_carlo(rng, 3_000, draws, boost=0.25)
        assert feint.audit(arms, propensities=shares, **options).rejected

    def test_taken_at_their_word_they_would_be_rejected(self):
        """Few draws make 1/p̂ too large: that is what `propensity_draws` is for."""
        rng = np.random.default_rng(2)
        arms, shares = self.monte_carlo(rng, 2_000, 5)
        assert feint.audit(arms, propensities=shares, n_arms=4).rejected
        assert not feint.audit(arms, propensities=shares, n_arms=4, propensity_draws=5).rejected

    def test_of_arm_1_whatever_was_pulled(self):
        rng = np.random.default_rng(3)
        second = rng.uniform(0.05, 0.3, 1_000)
        arms = (rng.random(1_000) < second).astype(int)
        report = feint.audit(arms, propensities=second, n_arms=2)
        said = next(warning for warning in report.warnings if "cannot stay above the number of arms, 2" in warning)
        assert "as the probability of arm 1 it would be" in said
        assert report.rejected

    def test_rare_pulls_of_honest_agents_are_no_such_thing(self):
        """200 logs with arms of probability 0.001; a false warning has probability below 3e-4 in each."""
        rng = np.random.default_rng(4)
        pi = np.array([0.9, 0.097, 0.002, 0.001])
        for _ in range(200):
            arms = rng.choice(4, 300, p=pi)
            report = feint.audit(arms, propensities=pi[arms], n_arms=4)
            assert not any("cannot stay" in warning for warning in report.warnings)


class TestImpossiblePulls:
    ROWS = ((0, 1, 0), (0, 0.5, 0.5), (1, 1, 0), (0, 0.5, 0.5), (1, 1, 0))

    def test_python(self):
        arms, table = [row[0] for row in self.ROWS], [row[1:] for row in self.ROWS]
        for given in ({"probabilities": table}, {"propensities": [1, 0.5, 0, 0.5, 0], "n_arms": 2}):
            report = feint.audit(arms, **given)
            assert report.verdict == "rejected at row 3"
            assert report.impossible == (3, 1, 2)
            assert (report.p_value, report.log_e_value, report.tested) == (0, math.inf, 5)
            text = " ".join(report.warnings)
            assert "Row 3 pulled arm 1, to which the claim gives probability 0, and 1 more rows" in text
            found = json.loads(json.dumps(report.to_json(), allow_nan=False))
            assert found["log_e_value"] is found["highest_log_e_value"] is None
            assert found["impossible"] == {"row": 3, "arm": 1, "pulls": 2}
        weak = feint.audit([0, 1, 2], propensities=[0.5, 0, 0.2], n_arms=3)
        assert weak.verdict == "rejected at row 2"

    def test_an_earlier_rejection_stays(self):
        arms = [1] * 60 + [0]
        report = feint.audit(arms, probabilities=[[0.9, 0.1]] * 60 + [[0, 1]])
        assert report.rejected_at < 61
        assert report.impossible.row == 61

    @pytest.mark.parametrize("options", [(), ("--skip-bad",)])
    def test_command(self, options, tmp_path):
        path = write(tmp_path / "log.csv", "arm,p_0,p_1", [*self.ROWS, *[("x", 0.5, 0.5)] * bool(options)])
        code, out = run(path, *options)
        assert code == 1
        assert "rejected at row 3" in out
        assert "to which the claim gives probability 0" in " ".join(out.split())
        assert "--floor" in out
        code, out = run(path, "--json", *options)
        assert code == 1
        assert json.loads(out)["log_e_value"] is None
        assert run(path, "--floor", "0.05", *options)[0] == 0
        page = tmp_path / "page.html"
        assert run(path, "--html", page, *options)[0] == 1
        assert "∞" in page.read_text()

    def test_every_pull(self):
        report = feint.audit([1, 1], probabilities=[[1, 0]] * 2)
        assert (report.rejected_at, report.tested, report.diagnosis.explanations[0].arms) == (1, 2, (1,))

    def test_with_a_floor_they_are_not_impossible(self):
        """Half of the pulls are of an arm that may have had 1 %: there is less evidence than against exactly 1 %."""
        given = feint.audit([0, 1] * 20, probabilities=[[1, 0]] * 40, floor=0.01)
        exact = feint.audit([0, 1] * 20, probabilities=[[1 / 1.01, 0.01 / 1.01]] * 40)
        assert given.impossible is None
        assert 0.9 * exact.log_e_value < given.log_e_value < exact.log_e_value

    def test_a_group_with_one_is_named_first(self):
        rng = np.random.default_rng(0)
        groups = np.repeat(np.arange(50), 20)
        arms, table = rng.integers(2, size=1_000), np.full((1_000, 2), 0.5)
        arms[330], table[330] = 1, (1, 0)
        report = feint.audit(arms, probabilities=table, groups=groups)
        assert (report.groups[0].group, report.groups[0].named, report.groups[0].tested) == ("16", True, 20)
        assert sum(group.named for group in report.groups) == 1
        assert json.loads(json.dumps(report.to_json(), allow_nan=False))["groups"][0]["log_e_value"] is None


class TestWithin:
    @pytest.mark.parametrize(("truth", "rejected"), [(0.5025, False), (0.525, True), (0.5, False)])
    def test_a_long_split(self, truth, rejected, tmp_path):
        """0.5 % off is within 1 %, 5 % is not."""
        rng = np.random.default_rng(0)
        arms = (rng.random(200_000) < truth).astype(int)
        reference = Split([0.5, 0.5])
        assert feint.audit(arms, n_arms=2, reference=reference, within=0.01).rejected is rejected
        path = write(tmp_path / "log.csv", "arm", arms[:20_000, None])
        assert run(path, "--split", "0.5,0.5", "--within", "1%")[0] == int(rejected)

    def test_it_is_the_share_that_decides(self):
        rng = np.random.default_rng(1)
        arms = (rng.random(400_000) < 0.5045).astype(int)
        assert feint.audit(arms, n_arms=2, reference=Split([0.5, 0.5])).rejected
        assert not feint.audit(arms, n_arms=2, reference=Split([0.5, 0.5]), within=0.01).rejected

    def test_groups_are_allowed_as_much(self):
        """Every group 5 % off, for long: none is named if that is claimed, all are otherwise."""
        rng = np.random.default_rng(2)
        groups = np.tile(np.arange(4), 50_000)
        arms = (rng.random(200_000) < 0.525).astype(int)
        table = np.full((200_000, 2), 0.5)
        strict, wide = (feint.audit(arms, probabilities=table, groups=groups, within=w) for w in (0.0, 0.05))
        assert [group.named for group in strict.groups] == [True] * 4
        assert [group.named for group in wide.groups] == [False] * 4

    @pytest.mark.parametrize("within", [0.0, 0.1])
    def test_a_groups_e_value_by_hand(self, within):
        rng = np.random.default_rng(3)
        pi = rng.dirichlet(np.ones(3), 40)
        arms = honest.draw(rng, pi)
        test = GroupTilts(3, within)
        test.extend(np.zeros(40, dtype=np.int64), arms, np.log(pi))
        products = []
        for a in range(3):
            for tilt in (0.1, 0.4, 1.2, 3.0, -0.1, -0.4, -1.2, -3.0):
                product = 1.0
                for p, arm in zip(pi[:, a], arms, strict=True):
                    most = p + math.copysign(within * min(p, 1 - p), tilt)
                    product *= math.exp(tilt * (arm == a)) / (1 + most * (math.exp(tilt) - 1))
                products.append(product)
        assert test.log_e_values()[0] == pytest.approx(math.log(sum(products) / 24), rel=1e-9)


class TestGroups:
    def test_the_bad_one_of_200_is_named(self):
        rng = np.random.default_rng(0)
        groups = rng.integers(200, size=20_000)
        pi = rng.dirichlet(np.ones(3), 20_000)
        bent = np.where((groups == 77)[:, None], [0.1, 0.1, 0.8], pi)
        labels = np.array([f"user {group}" for group in groups])
        report = feint.audit(honest.draw(rng, bent), probabilities=pi, groups=labels)
        assert report.groups[0].group == "user 77"
        assert [group.group for group in report.groups if group.named] == ["user 77"]
        assert report.n_groups == 200
        assert report.groups[0].tested == (groups == 77).sum()
        honest_report = feint.audit(honest.draw(rng, pi), probabilities=pi, groups=labels)
        assert not any(group.named for group in honest_report.groups)

    def test_20000_groups_in_bounded_memory(self):
        """Past, ids and small tests of 20,000 agents of two arms in 40 MB, 2 kB each."""
        rng = np.random.default_rng(2)
        groups = np.tile(np.arange(20_000), 5)
        arms, rewards = rng.integers(2, size=100_000), rng.normal(size=100_000)
        claim = {"reference": Softmax(1e6), "n_arms": 2, "initial_round": False, "delay": 2}
        feint.audit(arms[:100], rewards[:100], groups=groups[:100], **claim)
        tracemalloc.start()
        report = feint.audit(arms, rewards, groups=groups, **claim)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert report.n_groups == 20_000
        assert report.log_e_value < SURELY
        assert peak < 40e6


class TestFiles:
    ARMS = ("control", "red", "blue")

    @staticmethod
    def table(rows=300, seed=0):
        """Labels, and probabilities that a text keeps whole."""
        rng = np.random.default_rng(seed)
        shares = np.array([[0.5, 0.25, 0.25], [0.125, 0.75, 0.125], [0.25, 0.5, 0.25]])[rng.integers(3, size=rows)]
        return [TestFiles.ARMS[a] for a in honest.draw(rng, shares)], shares

    @pytest.fixture
    def expected(self):
        labels, shares = self.table()
        return feint.audit([self.ARMS.index(label) for label in labels], probabilities=shares).log_e_value

    def test_columns_by_label(self, expected, tmp_path):
        labels, shares = self.table()
        rows = [(label, *p) for label, p in zip(labels, shares, strict=True)]
        path = write(tmp_path / "log.csv", "arm,p_control,p_red,p_blue", rows)
        report = feint.audit_log(path)
        assert report.log_e_value == expected
        assert [arm.label for arm in report.arms] == list(self.ARMS)
        shuffled = write(tmp_path / "b.csv", "p_blue,p_red,arm,p_control", [(b, r, a, c) for a, c, r, b in rows])
        assert feint.audit_log(shuffled).log_e_value == pytest.approx(expected, rel=1e-12)
        numbered = write(tmp_path / "c.csv", "arm,p_0,p_1,p_2", rows)
        assert feint.audit_log(numbered, n_arms=self.ARMS).log_e_value == expected
        with pytest.raises(ValueError, match="columns of probabilities are of"):
            feint.audit_log(path, n_arms=["control", "red", "green"])

    def test_lists(self, expected, tmp_path):
        labels, shares = self.table()
        texts = [f'"{p.tolist()}"' for p in shares]
        path = write(tmp_path / "log.csv", "arm,probabilities", zip(labels, texts, strict=True))
        assert feint.audit_log(path, n_arms=self.ARMS).log_e_value == expected
        assert json.loads(run(path, "--arms", "control,red,blue", "--json")[1])["log_e_value"] == expected
        by_label = [dict(zip(self.ARMS, p.tolist(), strict=True)) for p in shares]
        for cells, names in (
            ([p.tolist() for p in shares], Names(probabilities="chances")),
            ([" ".join(map(str, p)) for p in shares], Names(probabilities="chances")),
            (by_label, Names(prefix="chances.")),
        ):
            path = tmp_path / "log.jsonl"
            lines = (json.dumps({"arm": a, "chances": c}) for a, c in zip(labels, cells, strict=True))
            path.write_text("\n".join(lines) + "\n")
            assert feint.audit_log(path, n_arms=self.ARMS, names=names).log_e_value == expected

    def test_lists_that_do_not_fit_are_bad_rows(self, tmp_path):
        path = tmp_path / "log.jsonl"
        cells = [[0.5, 0.5], [0.5], "x", None, {"z": 1}, [None, 1], [[1], 2], [0.5, 0.5]]
        path.write_text("\n".join(json.dumps({"arm": 0, "probabilities": cell}) for cell in cells))
        with pytest.raises(ValueError, match=r"line 2: the list of probabilities must have 2 numbers; it has 1"):
            feint.audit_log(path, n_arms=["0", "1"])
        report = feint.audit_log(path, n_arms=["0", "1"], skip_bad=True)
        assert (report.rows, report.tested) == (8, 2)

    def test_dsjson(self, expected, tmp_path):
        """As Vowpal Wabbit writes it: actions from 1, the chosen one first."""
        labels, shares = self.table()
        lines = []
        for t, (label, p) in enumerate(zip(labels, shares, strict=True)):
            arm = self.ARMS.index(label)
            order = [arm, *(a for a in range(3) if a != arm)]
            lines.append(
                json.dumps(
                    {
                        "Timestamp": f"2026-01-01T00:{t // 60:02d}:{t % 60:02d}Z",
                        "_label_cost": 0, "_label_probability": p[arm], "_label_Action": arm + 1, "_labelIndex": arm,
                        "o": [], "a": [a + 1 for a in order], "p": [p[a] for a in order],
                        "c": {"_multi": [{}, {}, {}]},
                    }
                )
            )  # fmt: skip
        path = tmp_path / "log.dsjson"
        path.write_text("\n".join(lines) + "\n")
        assert feint.audit_log(path).log_e_value == pytest.approx(expected, rel=1e-12)

    def test_tables_pipes_and_packed_files(self, expected, tmp_path):
        labels, shares = self.table()
        columns = {"arm": labels} | {f"p_{label}": shares[:, a] for a, label in enumerate(self.ARMS)}
        for name, make in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "table")):
            library = pytest.importorskip(name)
            assert feint.audit_log(getattr(library, make)(columns)).log_e_value == expected
        text = "arm,p_control,p_red,p_blue\n"
        text += "".join(f"{a},{p[0]},{p[1]},{p[2]}\n" for a, p in zip(labels, shares, strict=True))
        (tmp_path / "log.csv.gz").write_bytes(gzip.compress(text.encode()))
        assert feint.audit_log(tmp_path / "log.csv.gz").log_e_value == expected
        command = [sys.executable, "-m", "feint", "audit", "-", "--json"]
        found = subprocess.run(command, input=text, capture_output=True, text=True)
        assert json.loads(found.stdout)["log_e_value"] == expected

    def test_labels_of_rewards(self, tmp_path):
        rng = np.random.default_rng(1)
        arms, rewards, _ = honest.play(rng, 1, 300, 3, honest.beta_sampling(), honest.flips(RATES))
        rows = [(self.ARMS[a], int(r)) for a, r in zip(arms[0], rewards[0], strict=True)]
        path = write(tmp_path / "log.csv", "arm,reward", rows)
        given = feint.audit_log(path, n_arms=self.ARMS, **BETA)
        assert given.log_e_value == feint.audit(arms[0], rewards[0], n_arms=3, **BETA).log_e_value
        found = feint.audit_log(path, **BETA)
        assert any("3 arms (blue, control, red) was taken from the log" in warning for warning in found.warnings)
        with pytest.raises(ValueError, match="not among the arms control, red"):
            feint.audit_log(path, n_arms=["control", "red"], **BETA)

    def test_times(self, tmp_path):
        moments = [f"2026-01-01 00:00:{second:02d} UTC" for second in (0, 0, 1, 1, 1, 5)]
        path = write(tmp_path / "log.csv", "arm,p_0,p_1,time", [(0, 0.5, 0.5, moment) for moment in moments])
        assert "3 rows have the time of the row before" in " ".join(feint.audit_log(path).warnings)
        back = write(tmp_path / "b.csv", "arm,p_0,p_1,time", [(0, 0.5, 0.5, m) for m in reversed(moments)])
        with pytest.raises(ValueError, match="lies before that of row"):
            feint.audit_log(back)

    @pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
    def test_reward_times_of_any_kind(self, unit, tmp_path):
        """Dates in a file, datetime64 in arrays, and the same as whole numbers."""
        rng = np.random.default_rng(2)
        arms, rewards, known = honest.play(rng, 1, 200, 3, honest.beta_sampling(), honest.flips(RATES), reward_times)
        arms, rewards, known = arms[0], rewards[0], known[0]
        start = np.datetime64("2026-01-01T00:00:00", unit)
        second = np.timedelta64(1, "s").astype(f"m8[{unit}]")
        times = start + np.arange(200) * second
        due = np.where(known == honest.NEVER, np.datetime64("NaT"), start + np.minimum(known, 999) * second)
        options = {"n_arms": 3, **BETA}
        by_date = feint.audit(arms, rewards, times=times, reward_times=due, **options)
        numbers = np.array([None if k == honest.NEVER else int(k) for k in known], dtype=object)
        by_number = feint.audit(arms, rewards, times=np.arange(200), reward_times=numbers, **options)
        assert by_date.log_e_value == by_number.log_e_value
        rows = [
            (a, "" if np.isnat(d) else int(r), f"{str(t)[:19]}Z".replace("T", " "), "" if np.isnat(d) else str(d)[:19])
            for a, r, t, d in zip(arms, rewards, times, due, strict=True)
        ]
        path = write(tmp_path / "log.csv", "arm,reward,time,seen", rows)
        assert feint.audit_log(path, names=Names(reward_time="seen"), **options).log_e_value == by_date.log_e_value

    def test_times_beyond_64_bits(self, tmp_path):
        """Not before the log ends; and what no float64 holds is no time."""
        rows = [(row % 2, 1, row, 10**20) for row in range(10)]
        path = write(tmp_path / "log.csv", "arm,reward,time,seen", rows)
        assert feint.audit_log(path, names=Names(reward_time="seen")).tested == 0
        path = write(tmp_path / "log.csv", "arm,p_0,p_1,time", [(0, 0.5, 0.5, "9" * 400)])
        with pytest.raises(ValueError, match="neither a number nor a date"):
            feint.audit_log(path)

    @pytest.mark.parametrize(
        ("cells", "accepted"),
        [
            (("0.333333", "0.333333", "0.333333"), True),
            (("0.33", "0.33", "0.33"), True),
            (("0.3", "0.3", "0.3", "0.05"), False),
            (("0.3333", "0.3333", "0.3300"), False),
            (("0.5", "0.25", ""), False),
        ],
    )
    def test_printed_probabilities(self, cells, accepted, tmp_path):
        path = write(tmp_path / "log.csv", "arm," + ",".join(f"p_{a}" for a in range(len(cells))), [(0, *cells)] * 5)
        if accepted:
            assert feint.audit_log(path).tested == 5
        else:
            with pytest.raises(ValueError, match=r"line 2: .*(sum to|is missing)"):
                feint.audit_log(path)

    def test_a_missing_probability_in_json(self, tmp_path):
        path = tmp_path / "log.jsonl"
        path.write_text('{"arm": 0, "p_0": 0.5, "p_1": 0.5}\n{"arm": 0, "p_0": null, "p_1": 0.5}\n')
        with pytest.raises(ValueError, match="line 2: the probability of arm 0 is missing"):
            feint.audit_log(path)

    def test_columns_that_look_like_a_claim(self, tmp_path):
        rows = [(row % 2, 0.1 * (row % 7), 0.5, 0.5, 1) for row in range(20)]
        path = write(tmp_path / "log.csv", "arm,reward,pscore,prob,price", rows)
        said = [warning for warning in feint.audit_log(path).warnings if "look like a claim" in warning]
        assert said == ["Columns that look like a claim are not used: 'pscore', 'prob'."]

    def test_options_that_do_not_apply_are_named(self):
        table = [[0.5, 0.5]] * 10
        report = feint.audit([0, 1] * 5, probabilities=table, propensity_draws=10, delay=3)
        assert "propensity_draws` is not used" in " ".join(report.warnings)
        assert "Reference, prior and rewards are not used" in " ".join(report.warnings)
        report = feint.audit([0, 1] * 5, [0.1, 0.2] * 5, floor=0.01)
        assert "`floor` is not used" in " ".join(report.warnings)

    def test_names_with_brackets_are_only_names(self, tmp_path):
        """Rich would take [/b] for the end of something."""
        rng = random.Random(0)
        rows = [(rng.choice(["[/b]", "[red]"]), rng.random(), "[/u]", 1) for _ in range(50)]
        path = write(tmp_path / "log.csv", "arm,reward,user,prob_[/x]", rows)
        for options in ((), ("--group", "user"), ("--split", "0.9,0.1")):
            code, out = run(path, *options)
            assert code in (0, 1), out
            assert "[/b]" in out
            assert "[/x]" in out


@pytest.fixture(scope="module")
def split_logs(tmp_path_factory):
    """(honest, wrong): 3,000 rows of halves, and of 0.6."""
    folder = tmp_path_factory.mktemp("split")
    rng = np.random.default_rng(0)
    return [
        write(folder / f"{name}.csv", "arm,p_0,p_1", [(int(u < p), 0.5, 0.5) for u in rng.random(3_000)])
        for name, p in (("honest", 0.5), ("wrong", 0.6))
    ]


class TestCommand:
    @pytest.mark.parametrize("options", [(), ("--json",), ("--follow", "--until-end")], ids=str)
    def test_a_closed_pipe_changes_no_exit_code(self, split_logs, options):
        for path, code in zip(split_logs, (0, 1), strict=True):
            reading, writing = os.pipe()
            os.close(reading)
            command = [sys.executable, "-m", "feint", "audit", str(path), *options]
            found = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
            os.close(writing)
            assert (found.returncode, found.stderr) == (code, "")

    def test_head(self, split_logs):
        command = f"{sys.executable} -m feint audit {split_logs[0]} | head -1; exit ${{PIPESTATUS[0]}}"
        assert subprocess.run(["bash", "-c", command], capture_output=True).returncode == 0

    @pytest.mark.parametrize("cut", [1, 400, 2_999])
    @pytest.mark.parametrize("kind", ["honest", "wrong", "rewards", "times"])
    def test_a_restart_goes_on_identically(self, kind, cut, split_logs, tmp_path):
        options = ["--follow", "--until-end"]
        if kind in ("rewards", "times"):
            rng = np.random.default_rng(1)
            arms, rewards, known = honest.play(
                rng, 1, 3_000, 3, honest.beta_sampling(), honest.flips(RATES),
                honest.batched(20) if kind == "rewards" else reward_times, 0.999,
            )  # fmt: skip
            rows = [
                (a, int(r), t, "" if k == honest.NEVER else k)
                for t, (a, r, k) in enumerate(zip(arms[0], rewards[0], known[0], strict=True))
            ]
            path = write(tmp_path / "log.csv", "arm,reward,time,seen", rows)
            options += ["--arms", "3", "--reference", "beta", "--discount", "0.999"]
            options += ["--batch", "20"] if kind == "rewards" else ["--reward-time", "seen"]
        else:
            path = split_logs[kind == "wrong"]
        header, *lines = path.read_text().splitlines(keepends=True)
        first, second = (
            tmp_path / "first.csv",
            tmp_path / "second.csv",
        )
        first.write_text(header + "".join(lines[:cut]))
        second.write_text(header + "".join(lines))  # the file has grown
        said, states = [], []
        for pieces, state in (([path], "one.json"), ([first, second], "two.json")):
            state = tmp_path / state
            said.append("")
            for piece in pieces:
                code, out = run(piece, *options, "--state", state)
                said[-1] += out if "rejected" in out or piece is pieces[-1] else ""
            said[-1] += str(code)
            states.append(json.loads(state.read_text()))
        assert said[0] == said[1]
        if kind == "wrong":  # it ends at the alarm, with what had arrived by then
            states = [state["rejected_at"] for state in states]
        assert states[0] == states[1]
        assert said[0].count("rejected") == said[0].count("\n") == 1 if kind == "wrong" else "rejected" not in said[0]

    def test_follow_says_what_a_whole_audit_says(self, split_logs):
        code, out = run(split_logs[1], "--follow")
        row = feint.audit_log(split_logs[1]).rejected_at
        assert code == 1
        assert out.splitlines() == [
            f"rejected at row {row} (claim: the logged probabilities are those of the pulls; α = 0.05)"
        ]

    def test_a_start_of_bad_rows_can_be_saved(self, tmp_path):
        """Nothing was known yet; the restart knows that."""
        first = write(tmp_path / "a.csv", "arm,reward", [("x", 1), (0, "y")])
        grown = [("x", 1), (0, "y"), *((row * row // 5 % 2, row % 3) for row in range(30))]
        second = write(tmp_path / "b.csv", "arm,reward", grown)
        options = ["--follow", "--until-end", "--arms", "2", "--skip-bad", "--state", str(tmp_path / "s.json")]
        for piece in (first, second):
            code, out = run(piece, *options)
            assert code == 0, out
        assert json.loads((tmp_path / "s.json").read_text())["rows"] == 32

    @pytest.mark.parametrize("state", ["[1]", "1", "null", "{}", "{", '{"feint_auditor": 1}', "damaged"])
    def test_states_that_are_none(self, state, split_logs, tmp_path):
        path = tmp_path / "s.json"
        arguments = [str(split_logs[0]), "--follow", "--until-end", "--state", str(path)]
        if state != "damaged":
            path.write_text(state)
            code, out = run(*arguments)
            assert (code, out.count("\n")) == ((0, 1) if state == "null" else (2, 1)), out
            return
        assert run(*arguments)[0] == 0
        whole = json.loads(path.read_text())
        for key in whole:
            for value in (None, [], {}, "x", [1], -1):
                path.write_text(json.dumps(whole | {key: value}))
                assert run(*arguments)[0] in (0, 1, 2), (key, value)

    @pytest.mark.parametrize(
        "options",
        [
            "--batch 0", "--batch -5", "--batch x", "--delay -1", "--delay 1.5", "--delay 3 --batch 20",
            "--split 0.5,0.6", "--split 0.5", "--split x", "--split 0.5,0.5,0", "--split 0.5,0.5 --reference beta",
            "--split 0.5,0.5 --prior 1,1", "--split 0.5,0.5 --sigma 2", "--clip 0.9", "--clip 0", "--clip nan",
            "--clip 0.4 --arms 3", "--within x", "--within -1%", "--within 100%", "--within nan", "--within %",
            "--sigma unknown --reference beta", "--sigma unknown --prior 0,1", "--sigma x", "--sigma 1,2",
            "--sigma unknown --prior 0,1,1,1;0,1,1,1", "--reference beta --sigma 1", "--reference normal:2 --sigma 1",
            "--prior missingfile", "--prior 0,1;0", "--prior 0,1;0,1;0,1", "--prior folder", "--prior ;",
            "--state s.json", "--follow --json", "--follow --group user", "--follow", "--group nobody",
            "--until-end", "--on-alarm cat", "--follow --on-alarm nobody-has-this", "--follow --on-alarm '",
            "--reward-time nowhen", "--reward-time seen", "--reward-time seen --time when --batch 2",
            "--discount 0", "--discount 1.1", "--discount nan", "--reference softmax", "--reference softmax:0",
            "--reference softmax:1,2", "--reference epsilon-greedy:2", "--reference uniform:3", "--reference magic",
            "--propensity-draws 0", "--propensity-draws x", "--floor 0.5", "--floor -1", "--arms a", "--arms a,a",
            "--arms ,", "--arms 0", "--mode probabilities", "--probabilities nothing", "--alpha nan",
        ],
    )  # fmt: skip
    def test_wrong_options_end_with_one_line(self, options, tmp_path, monkeypatch):
        rows = [(row % 2, row % 3 / 7, row, row + 1, row % 4) for row in range(30)]
        write(tmp_path / "log.csv", "arm,reward,when,seen,user", rows)
        (tmp_path / "folder").mkdir()
        monkeypatch.chdir(tmp_path)
        code, out = run("log.csv", *options.split())
        assert code == 2, out
        assert "Traceback" not in out
        assert "unexpected" not in out
        assert (out.startswith("feint: ") and out.count("\n") == 1) or "Usage:" in out

    def test_a_prior_file(self, tmp_path):
        rows = [(row % 2, row % 3 % 2) for row in range(30)]
        path = write(tmp_path / "log.csv", "arm,reward", rows)
        (tmp_path / "priors.txt").write_text("1,1\n8,2\n\n")
        options = (path, "--reference", "beta", "--arms", "2", "--json", "--prior")
        by_file, by_hand = (json.loads(run(*options, prior)[1]) for prior in (tmp_path / "priors.txt", "1,1;8,2"))
        assert by_file == by_hand
        report = feint.audit(*zip(*rows, strict=True), n_arms=2, family=feint.Bernoulli(),
                             reference=ThompsonSampling([(1, 1), (8, 2)]))  # fmt: skip
        assert by_file["log_e_value"] == report.log_e_value
