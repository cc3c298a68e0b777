"""Test the modes of `feint.audit`, its numbers, their validity, and what it refuses."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import feint
from cases import PAPER
from feint.auditing import chunks, evidence_history
from feint.auditing.modes import RecomputedReference
from feint.evidence import BoostMixture, Calibration, PropensityMixture, PropensitySerialMixture, SerialMixture
from feint.numerics import boost

PUBLIC = np.array(PAPER.public)


def random_claims(rng, rows, n_arms=4):
    return rng.dirichlet(np.full(n_arms, 0.5), rows)


def pull(rng, p):
    return (rng.random((len(p), 1)) > p.cumsum(1)).sum(1).clip(max=p.shape[1] - 1)


def beta_log(rng, rows, rates, bend=0.0):
    """Return a log of Thompson Sampling by draws from Beta posteriors; the share `bend` of the pulls goes to arm 1."""
    wins, losses = np.ones(len(rates)), np.ones(len(rates))
    arms, rewards = [], []
    for _ in range(rows):
        arm = 1 if rng.random() < bend else int(rng.beta(wins, losses).argmax())
        reward = float(rng.random() < rates[arm])
        wins[arm] += reward
        losses[arm] += 1 - reward
        arms.append(arm)
        rewards.append(reward)
    return arms, rewards


def normal_log(rng, rows, prior_sd=math.inf, sigma=1.0, bend=0.0):
    """Return a log of Thompson Sampling on normal rewards, by draws from the posteriors."""
    pulls, sums = np.zeros(4), np.zeros(4)
    arms, rewards = [], []
    for t in range(rows):
        with np.errstate(divide="ignore", invalid="ignore"):
            precision = 1 / prior_sd**2 + pulls / sigma**2
            sample = rng.normal(sums / sigma**2 / precision, 1 / np.sqrt(precision))
        arm = t if t < 4 and prior_sd == math.inf else 2 if rng.random() < bend else int(sample.argmax())
        reward = PUBLIC[arm] + sigma * rng.normal()
        pulls[arm] += 1
        sums[arm] += reward
        arms.append(arm)
        rewards.append(reward)
    return arms, rewards


class TestNumbers:
    def test_e_value_is_the_mean_of_the_tests(self):
        rng = np.random.default_rng(0)
        claims = random_claims(rng, 300)
        arms = pull(rng, np.array([boost(p, 2, 0.1) for p in claims]))
        report = feint.audit(arms, probabilities=claims)
        boosts = BoostMixture(4).extend(arms, np.log(claims))
        calibration = Calibration(4).extend(arms, np.log(claims))
        serial = SerialMixture(4).extend(arms, np.log(claims))
        expected = np.log(0.95 * (0.3 * np.exp(boosts) + 0.7 * np.exp(calibration)) + 0.05 * np.exp(serial))
        assert report.log_e_value == pytest.approx(expected[-1], rel=1e-9)
        parts = {"boosts": boosts[-1], "calibration": calibration[-1], "serial": serial[-1]}
        assert report.log_e_values == pytest.approx(parts, rel=1e-9)
        assert report.highest_log_e_value == pytest.approx(max(0.0, expected.max()), rel=1e-9)
        alarms = np.flatnonzero(expected >= math.log(20))
        assert report.rejected_at == (alarms[0] + 1 if alarms.size else None)
        assert report.history_log_e_values == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert report.smallest_log_probability == pytest.approx(np.log(claims[np.arange(300), arms]).min(), rel=1e-12)
        for a, row in enumerate(report.arms):
            assert row.observed == (arms == a).sum()
            assert row.expected == pytest.approx(claims[:, a].sum())
            assert row.excess == pytest.approx(row.observed - row.expected)
            assert row.low < row.excess < row.high

    def test_propensities_alone(self):
        rng = np.random.default_rng(1)
        claims = random_claims(rng, 200)
        arms = pull(rng, claims)
        chosen = claims[np.arange(200), arms]
        report = feint.audit(arms, propensities=chosen)
        boosts, serial = (
            kind(4).extend(arms, np.log(chosen))[-1] for kind in (PropensityMixture, PropensitySerialMixture)
        )
        assert report.log_e_values == {"boosts": boosts, "serial": serial}
        assert math.exp(report.log_e_value) == pytest.approx(
            0.95 * math.exp(boosts) + 0.05 * math.exp(serial), rel=1e-12
        )
        assert any("weaker" in warning for warning in report.warnings)
        assert report.arms[0].expected is None
        assert report.boosted_epsilon is None

    def test_rewards_are_recomputed_as_the_observer_does(self):
        rng = np.random.default_rng(2)
        arms, rewards = normal_log(rng, 400, sigma=2.0, bend=0.1)
        report = feint.audit(arms, rewards, sigma=2.0)
        observer = feint.Observer(4, sigma=2.0)
        for arm, reward in zip(arms, rewards, strict=True):
            observer.update(arm, reward)
        assert report.log_e_values["boosts"] == pytest.approx(observer.log_e_value, rel=1e-9)
        assert (report.tested, report.rows) == (396, 400)

    @pytest.mark.parametrize("given", ["probabilities", "propensities", "rewards"])
    def test_chunks_do_not_matter(self, given, monkeypatch):
        rng = np.random.default_rng(3)
        claims = random_claims(rng, 5_000)
        arms, rewards = pull(rng, claims), rng.normal(size=5_000)
        arms[:4] = range(4)
        claim = {
            "probabilities": {"probabilities": claims},
            "propensities": {"propensities": claims[np.arange(5_000), arms]},
            "rewards": {"rewards": rewards},
        }[given]
        whole = feint.audit(arms, **claim).to_json()
        monkeypatch.setattr(chunks, "CELLS_PER_CHUNK", 37)
        assert feint.audit(arms, **claim).to_json() == whole
        assert len(whole["history"]["rows"]) <= evidence_history.MOST_POINTS + 1
        assert whole["history"]["rows"][-1] == 5_000

    def test_names_the_boosted_arm_and_budget(self):
        rng = np.random.default_rng(4)
        claims = np.tile([0.9, 0.06, 0.03, 0.01], (4_000, 1))
        report = feint.audit(pull(rng, np.array([boost(p, 3, 0.03) for p in claims])), probabilities=claims)
        assert report.rejected
        assert (report.boosted_arm, report.boosted_epsilon) == (3, 0.016)
        assert report.arms[3].low > 0

    def test_probabilities_near_one_keep_their_digits(self):
        """π = (1 − 1e-20, 1e-20): the logged 1.0 and 1e-20 sum to 1, and a pull of the second is evidence 1e20."""
        report = feint.audit([1, 0, 0], probabilities=[[1.0, 1e-20]] * 3)
        assert report.smallest_log_probability == pytest.approx(math.log(1e-20))
        assert report.rejected_at == 1
        assert any("10^-20" in warning for warning in report.warnings)

    def test_report_says_what_may_be_said(self):
        rng = np.random.default_rng(5)
        claims = random_claims(rng, 100)
        honest = feint.audit(pull(rng, claims), probabilities=claims)
        assert honest.verdict == "no evidence against"
        caught = feint.audit(np.zeros(100, dtype=int), probabilities=claims)
        assert caught.verdict == f"rejected at row {caught.rejected_at}"
        for report in (honest, caught):
            text = json.dumps(report.to_json(), allow_nan=False) + str(report)
            assert "compliant" not in text.lower()
            assert report.p_value == math.exp(-report.highest_log_e_value)

    def test_figures(self, tmp_path):
        rng = np.random.default_rng(6)
        claims = random_claims(rng, 100)
        arms = pull(rng, claims)
        full = feint.audit(arms, probabilities=claims).plot()
        assert [axes.get_xlabel() for axes in full.axes] == ["row of the log", "arm"]
        weak = feint.audit(arms, propensities=claims[np.arange(100), arms]).plot()
        assert len(weak.axes) == 1
        full.savefig(tmp_path / "full.png")


@pytest.mark.parametrize(("claim", "truth"), [((0.5, 0.5), (0.505, 0.495)), ((0.98, 0.02), (0.979, 0.021))])
def test_small_lasting_departures_are_rejected(claim, truth):
    """Hundreds of thousands of rows are a little off; and if an arm's interval leaves out 0, the log is rejected."""
    rng = np.random.default_rng(9)
    arms = rng.choice(2, 600_000, p=truth)
    report = feint.audit(arms, probabilities=np.tile(claim, (600_000, 1)), explain=False)
    assert report.rejected
    assert report.arms[0].high < 0 or report.arms[0].low > 0


@pytest.mark.slow
def test_an_interval_without_0_is_a_rejection():
    """This holds by construction; it is tested on 300 bent logs, many of which are near the threshold."""
    rng = np.random.default_rng(10)
    stars = 0
    for _ in range(300):
        claims = random_claims(rng, 200, 3)
        bend = rng.uniform(0, 0.5)
        report = feint.audit(pull(rng, (1 - bend) * claims + bend * np.eye(3)[0]), probabilities=claims, explain=False)
        clear = any(arm.low > 0 or arm.high < 0 for arm in report.arms)
        assert report.rejected or not clear
        stars += clear
    assert 30 < stars < 270


def test_masked_rewards_are_missing():
    rewards = np.ma.array([0.1, 0.2, 0.3], mask=[False, False, True])
    with pytest.raises(ValueError, match="row 3: reward is missing"):
        feint.audit([0, 1, 0], rewards, n_arms=2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["probabilities", "propensities", "normal", "normal prior", "beta"])
def test_honest_logs_are_rarely_rejected(kind):
    """At most α are, by the exact binomial at 1e-6; the agents draw from posteriors, not from our probabilities."""
    rng = np.random.default_rng(7)
    runs = 400 if kind == "beta" else 1_500
    rejected = 0
    for _ in range(runs):
        if kind in ("probabilities", "propensities"):
            claims = random_claims(rng, 150)
            arms = pull(rng, claims)
            given = claims if kind == "probabilities" else claims[np.arange(150), arms]
            report = feint.audit(
                arms, n_arms=None if kind == "probabilities" else 4, alpha=0.1, **{kind: given}, explain=False
            )
        elif kind == "beta":
            arms, rewards = beta_log(rng, 150, [0.6, 0.5, 0.3])
            report = feint.audit(
                arms, rewards, n_arms=3, family=feint.Bernoulli(), initial_round=False, alpha=0.1, explain=False
            )
        else:
            sd = 0.5 if kind == "normal prior" else math.inf
            arms, rewards = normal_log(rng, 150, prior_sd=sd)
            reference = feint.ThompsonSampling((0.0, sd))
            report = feint.audit(
                arms, rewards, n_arms=4, reference=reference, initial_round=sd == math.inf, alpha=0.1, explain=False
            )
        rejected += report.rejected
    assert rejected <= stats.binom.ppf(1 - 1e-6, runs, 0.1)


@pytest.mark.parametrize("kind", ["probabilities", "propensities", "normal", "beta"])
def test_bent_logs_are_rejected(kind):
    """A tenth of the pulls go to one arm. Of 20 logs of 1,500 rows each mode rejects at least 18."""
    rng = np.random.default_rng(8)
    rejected = 0
    for _ in range(20):
        if kind == "normal":
            arms, rewards = normal_log(rng, 1_500, bend=0.1)
            report = feint.audit(arms, rewards, explain=False)
        elif kind == "beta":
            arms, rewards = beta_log(rng, 1_500, [0.6, 0.4, 0.3], bend=0.1)
            report = feint.audit(arms, rewards, family=feint.Bernoulli(), explain=False)
        else:
            claims = np.tile([0.9, 0.05, 0.05], (1_500, 1))
            arms = pull(rng, 0.9 * claims + 0.1 * np.eye(3)[1])
            given = claims if kind == "probabilities" else claims[np.arange(1_500), arms]
            report = feint.audit(arms, **{kind: given}, explain=False)
        rejected += report.rejected
    assert rejected >= 18


def test_the_deceptive_agent_is_caught_and_the_honest_one_is_not():
    from feint.agent.public_log import public_log
    from feint.explorers import TopTwo

    bandit = feint.Bandit(PUBLIC, [0.2, 0.5, 0.1, 0.0])
    honest, deceptive = (public_log(bandit, TopTwo(), epsilon=epsilon, horizon=3_000) for epsilon in (0.0, 0.1))
    assert not feint.audit(honest["arm"], honest["reward"]).rejected
    assert feint.audit(deceptive["arm"], deceptive["reward"]).rejected


def test_the_log_is_the_simulated_run():
    from feint.agent.public_log import public_log
    from feint.explorers import TopTwo

    bandit = feint.Bandit(PUBLIC, [0.2, 0.5, 0.1, 0.0], sigma=0.5)
    table = public_log(bandit, TopTwo(), epsilon=0.1, horizon=500, seed=3, delta=0.01)
    runs = feint.simulate(bandit, epsilon=0.1, horizon=500, replications=1, seed=3, delta=0.01)
    assert np.bincount(table["arm"], minlength=4).tolist() == runs.pulls[0, -1].values.tolist()
    assert len(table["arm"]) == runs.stopping_time.item()


class TestWarnings:
    def warnings_of(self, *args, **kwargs):
        return " ".join(feint.audit(*args, **kwargs).warnings)

    def test_an_arm_never_pulled(self):
        text = self.warnings_of([1, 2, 1, 2, 2], [0.1, 0.2, 0.3, 0.4, 0.5])
        assert "No row could be tested: arm 0 was never pulled" in text
        assert "The number of arms, 3" in text
        assert "was taken from the log; the level α is exact if" in text

    def test_an_arm_pulled_late(self):
        arms = [0, 1] * 10 + [2] + [0, 1, 2] * 3
        assert "21 rows came before a reward of every arm was known" in self.warnings_of(arms, np.linspace(0, 1, 30))

    def test_rewards_that_look_like_successes(self):
        assert "--reference beta" in self.warnings_of([0, 1, 0, 1, 1], [0, 1, 1, 0, 1])

    def test_skipped_rows(self):
        arms, rewards = [0, 1, 0, 1, 0, 1], [0.1, 0.2, math.nan, 0.3, 0.4, 0.5]
        assert "not a valid test" in self.warnings_of(arms, rewards, skip_bad=True, n_arms=2)

    def test_arms_that_count_from_one(self):
        text = self.warnings_of([1, 2, 1, 2, 1], [1, 0, 1, 1, 0], family=feint.Bernoulli())
        assert "count from 1?" in text


class TestBadInput:
    @pytest.mark.parametrize(
        ("arms", "given", "says"),
        [
            ([0, 5, 1], {"probabilities": [[0.5, 0.5]] * 3}, "row 2: arm 5 is out of range"),
            ([0, -1, 1], {"probabilities": [[0.5, 0.5]] * 3}, "row 2: arm -1 is out of range"),
            ([0, 0.5, 1], {"probabilities": [[0.5, 0.5]] * 3}, "row 2: arm is 0.5, not a whole number"),
            ([0, math.nan, 1], {"probabilities": [[0.5, 0.5]] * 3}, "row 2: arm is missing"),
            (["0", "x", "1"], {"probabilities": [[0.5, 0.5]] * 3}, "row 2: arm is 'x', not the arm's number from 0"),
            ([0, 1, 1], {"probabilities": [[0.5, 0.5], [0.5, 0.4], [0.5, 0.5]]}, "row 2: probabilities sum to 0.9"),
            ([0, 1, 1], {"probabilities": [[0.5, 0.5], [1.5, -0.5], [0.5, 0.5]]}, "row 2: a probability is 1.5"),
            ([0, 1, 1], {"probabilities": [[0.5, 0.5], [math.nan, 1], [0.5, 0.5]]}, "row 2: the probability of arm 0"),
            ([0, 1, 1], {"propensities": [0.5, 1.2, 0.5]}, "row 2: propensity is 1.2"),
            ([0, 1, 1], {"propensities": [0.5, math.nan, 0.5]}, "row 2: propensity is missing"),
            ([0, 1, 1], {"rewards": [0.5, math.inf, 0.5]}, "row 2: reward is inf"),
            ([0, 1, 1], {"rewards": [0.5, None, 0.5]}, "row 2: reward is missing"),
            ([0, 1, 1], {"rewards": [0.5, 1e13, 0.5]}, "within 1e6 sigma"),
            ([0, 1, 1], {"rewards": [1, 0.5, 0], "family": feint.Bernoulli()}, "row 2: reward is 0.5"),
        ],
    )
    def test_rows_are_named_or_counted(self, arms, given, says):
        with pytest.raises(ValueError, match=says) as refused:
            feint.audit(arms, **given)
        assert "`skip_bad`" in str(refused.value)
        if "probabilities" not in given:
            with pytest.raises(ValueError, match="must not decide"):
                feint.audit(arms, skip_bad=True, **given)
            given = {**given, "n_arms": 2}
        report = feint.audit(arms, skip_bad=True, **given)
        assert report.rows == 3
        assert sum(report.bad_rows.values()) == 1
        assert says.split(":")[0] in report.bad_examples[0] or "1e6" in says

    @pytest.mark.parametrize(
        ("arms", "given", "says"),
        [
            ([0, 1], {}, "Give rewards"),
            ([[0, 1]], {"rewards": [0, 1]}, "flat list"),
            ([0, 1], {"rewards": [0, 1, 2]}, "2 arms but 3 rewards"),
            ([0, 1], {"probabilities": [0.5, 0.5]}, "shape"),
            ([0, 1], {"probabilities": [[1.0], [1.0]]}, "shape"),
            ([0, 1], {"probabilities": [[0.5, 0.5]] * 2, "n_arms": 3}, "leave it out"),
            ([0, 0], {"rewards": [0, 1]}, "number of arms is unclear"),
            ([], {"rewards": []}, "number of arms is unclear"),
            ([0, 10**9], {"rewards": [0, 1]}, "number of arms is unclear"),
            ([0, 1], {"rewards": [0, 1], "n_arms": 1}, "from 2 to"),
            ([0, 1], {"rewards": [0, 1], "alpha": 0}, "strictly between"),
            ([0, 1], {"rewards": [0, 1], "sigma": 0}, "sigma"),
            ([0, 1], {"rewards": [0, 1], "reference": "TS"}, "reference is"),
            ([0, 1], {"rewards": [0, 1], "tolerance": -1}, "tolerance"),
            ([0, 1.5], {"rewards": [0, 1]}, "not a whole number"),
            ([0, 1 + 2j], {"rewards": [0, 1]}, "flat list of numbers"),
            ([0, 1], {"rewards": [0, 1], "reference": feint.ObservedUCB()}, "UCB does not draw"),
            ([0, 1], {"rewards": [0, 1], "reference": feint.ThompsonSampling((0, 1e-160))}, "does not fit sigma"),
            ([0, 1], {"rewards": [0, 1], "reference": feint.ThompsonSampling((1e200, 1))}, "does not fit sigma"),
        ],
    )
    def test_calls_that_make_no_sense(self, arms, given, says):
        with pytest.raises(ValueError, match=says):
            feint.audit(arms, **given)

    def test_an_empty_log_is_no_evidence(self):
        report = feint.audit([], probabilities=np.empty((0, 3)))
        assert report.verdict == "nothing could be tested against"
        assert "No row could be tested: the log has no rows" in report.warnings[0]
        report.plot()
        json.dumps(report.to_json(), allow_nan=False)


class TestMemory:
    """What is held at once is bounded by rows × arms: 10,000 arms must not mean 50,000 rows of them."""

    @pytest.fixture
    def held(self, monkeypatch):
        sizes = []
        read = RecomputedReference.read

        def noting(self, chunk, good, arms, groups):
            sizes.append(arms.size * self.arms.n)
            return read(self, chunk, good, arms, groups)

        monkeypatch.setattr(RecomputedReference, "read", noting)
        return sizes

    def test_arrays_and_files(self, held, tmp_path):
        n_arms, rows = 10_000, 25
        reference = feint.Split(np.full(n_arms, 1 / n_arms))
        arms, rewards = list(range(rows)), [0.5] * rows
        whole = feint.audit(arms, rewards, n_arms=n_arms, reference=reference, initial_round=False)
        assert whole.tested == rows
        assert 0 < max(held) <= 60_000
        held.clear()
        path = tmp_path / "log.csv"
        path.write_text("arm,reward\n" + "".join(f"{a},0.5\n" for a in arms))
        report = feint.audit_log(path, n_arms=n_arms, reference=reference, initial_round=False)
        assert report.log_e_value == whole.log_e_value
        assert 0 < max(held) <= 60_000
