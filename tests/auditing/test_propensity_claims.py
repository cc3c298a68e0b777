"""Claims about logged propensities, impossible pulls, tolerances and groups.

"Not rejected" is tested by Σ log E < log 10⁶: a true claim fails that with probability below 1e-6.
"""

import json
import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import feint
import honest_agents as honest
from feint.evidence import PropensityMixture
from feint.evidence.group_tilts import GroupTilts
from feint.evidence.propensity_mixture import shrink_propensities
from feint.references import Softmax, Split
from shell import run_audit, write_csv

SURELY = math.log(1e6)


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
        """The mean of E after one row, over all arms and all hits, is at most 1; so it is after three rows."""
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
        """Return pulls from π with `boost` of the last arm, and the hits of fresh draws from π that the agent logs."""
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
        """A few draws make 1/p̂ too large on average, which is why there is `propensity_draws`."""
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
        path = write_csv(tmp_path / "log.csv", "arm,p_0,p_1", [*self.ROWS, *[("x", 0.5, 0.5)] * bool(options)])
        code, out = run_audit(path, *options)
        assert code == 1
        assert "rejected at row 3" in out
        assert "to which the claim gives probability 0" in " ".join(out.split())
        assert "--floor" in out
        code, out = run_audit(path, "--json", *options)
        assert code == 1
        assert json.loads(out)["log_e_value"] is None
        assert run_audit(path, "--floor", "0.05", *options)[0] == 0
        page = tmp_path / "page.html"
        assert run_audit(path, "--html", page, *options)[0] == 1
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
        """A share that is 0.5 % off is within 1 %, but one that is 5 % off is not."""
        rng = np.random.default_rng(0)
        arms = (rng.random(200_000) < truth).astype(int)
        reference = Split([0.5, 0.5])
        assert feint.audit(arms, n_arms=2, reference=reference, within=0.01).rejected is rejected
        path = write_csv(tmp_path / "log.csv", "arm", arms[:20_000, None])
        assert run_audit(path, "--split", "0.5,0.5", "--within", "1%")[0] == int(rejected)

    def test_it_is_the_share_that_decides(self):
        rng = np.random.default_rng(1)
        arms = (rng.random(400_000) < 0.5045).astype(int)
        assert feint.audit(arms, n_arms=2, reference=Split([0.5, 0.5])).rejected
        assert not feint.audit(arms, n_arms=2, reference=Split([0.5, 0.5]), within=0.01).rejected

    def test_groups_are_allowed_as_much(self):
        """Every group is 5 % off for long: if that is claimed, none is named; otherwise all are."""
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
        """The pasts, ids and small tests of 20,000 agents with two arms fit into 40 MB, 2 kB each."""
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
