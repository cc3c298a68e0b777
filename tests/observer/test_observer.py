"""The observer is valid and powerful, and the same whether it watches a simulation or a log."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy import stats

import feint
from cases import PAPER, first_is_quick
from feint.evidence import BoostMixture
from feint.numerics import RandomStream, best_arm_probabilities, boost


def live(bandit, horizon, seed=0, replication=0, **settings):
    """Yield (agent, arm, public reward) of a live agent, pull by pull."""
    agent = feint.Agent(bandit.n_arms, sigma=bandit.sigma, seed=seed, replication=replication, **settings)
    noise = bandit.sigma * RandomStream(seed, replication).normals(range(horizon))
    column = 2 if isinstance(settings.get("reference"), feint.ObservedUCB) else 0
    for t in range(horizon):
        arm = agent.pull()
        reward = bandit.public[arm] + noise[t, column]
        yield agent, arm, reward
        agent.update(arm, reward, bandit.private[arm] + noise[t, 1])


@pytest.mark.parametrize("reference", first_is_quick([feint.ThompsonSampling(), feint.ObservedUCB(1.5)]))
@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_a_log_tells_what_the_simulation_saw(reference, sigma):
    bandit = feint.Bandit(PAPER.public, PAPER.private, sigma)
    runs = feint.simulate(
        bandit, reference=reference, epsilon=0.05, horizon=300, replications=2, observe=True, checkpoints=range(4, 301)
    )
    for r in range(2):
        observer = feint.Observer(4, reference, sigma)
        found = [
            observer.update(arm, reward)
            for _, arm, reward in live(bandit, 300, replication=r, reference=reference, epsilon=0.05)
        ]
        assert found[:4] == [0.0] * 4
        assert observer.tested == 296
        assert found[3:] == pytest.approx(runs.log_e_value[r].values, rel=1e-9, abs=1e-9)


def test_kl_spent_and_likelihood_ratio_of_every_step():
    """Against Σ q·log(q/π) over all arms, and log q/π of the one pulled, from the live agent's two distributions."""
    runs = feint.simulate(PAPER, epsilon=0.2, horizon=200, replications=1, observe=True, checkpoints=range(4, 201))
    spent = ratio = 0.0
    for agent, arm, _ in live(PAPER, 200, epsilon=0.2):
        now = runs.isel(replication=0).sel(time=max(4, agent.time))
        assert now.kl_spent.item() == pytest.approx(spent, rel=1e-9, abs=1e-12)
        assert now.log_likelihood_ratio.item() == pytest.approx(ratio, rel=1e-9, abs=1e-12)
        if agent.time >= 4:
            q, pi = agent.probabilities(), agent.reference_probabilities()
            spent += float((q[q > 0] * np.log(q[q > 0] / pi[q > 0])).sum())
            ratio += math.log(q[arm] / pi[arm])
    assert spent <= 0.2 * 196 * (1 + 1e-12)


def test_the_floor_knows_all_but_the_draws():
    """Against Algorithm 1 written out: leader by P, challenger among the rest, the leader with N_c/(N_c + N_l)."""
    runs = feint.simulate(PAPER, epsilon=0.2, horizon=120, replications=1, observe=True, checkpoints=range(4, 121))
    expected = 0.0
    for agent, arm, _ in live(PAPER, 120, epsilon=0.2):
        if agent.time < 4:
            continue
        now = runs.isel(replication=0).sel(time=agent.time)
        assert now.log_floor_ratio.item() == pytest.approx(expected, rel=1e-8, abs=1e-10)
        pulls, pi = np.array(agent.pulls), agent.reference_probabilities()
        best = best_arm_probabilities(np.array(agent.state()["private_sums"]) / pulls, 1 / np.sqrt(pulls))
        law = np.zeros(4)
        for leader, challenger in itertools.permutations(range(4), 2):
            drawn = best[leader] * best[challenger] / (1 - best[leader])
            share = pulls[challenger] / (pulls[challenger] + pulls[leader])
            law += drawn * (share * boost(pi, leader, 0.2) + (1 - share) * boost(pi, challenger, 0.2))
        expected += math.log(law[arm] / pi[arm])


@pytest.mark.parametrize("method", first_is_quick(["lazy", "eager"]))
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, math.inf, feint.PowerLaw(1.0, 0.5), feint.TotalBudget(2.0, 200)])
def test_watching_changes_nothing(epsilon, method):
    settings = {"epsilon": epsilon, "horizon": 400, "replications": 3, "method": method}
    alone, watched = (feint.simulate(PAPER, observe=observe, **settings) for observe in (False, True))
    for name in ("pulls", "boosts", "log_error", "recommendation"):
        assert (alone[name] == watched[name]).all()
    added = {"kl_spent", "log_e_value", "log_likelihood_ratio", "log_floor_ratio", "detection_time", "floor_time"}
    added |= {"p_value"}
    assert set(watched) - set(alone) == added
    assert (watched.kl_spent.diff("time") >= 0).all()
    assert (watched.kl_spent.isel(time=0) == 0).all()


def test_threads_and_methods_agree(monkeypatch):
    settings = {"epsilon": 0.1, "horizon": 500, "replications": 5, "observe": True}
    monkeypatch.setenv("FEINT_THREADS", "1")
    one = feint.simulate(PAPER, **settings)
    monkeypatch.setenv("FEINT_THREADS", "3")
    assert one.identical(feint.simulate(PAPER, **settings))
    eager = feint.simulate(PAPER, method="eager", **settings)
    for name in one:
        assert (one[name].fillna(-1) == eager[name].fillna(-1)).all()


def test_detection_time_is_the_first_alarm():
    runs = feint.simulate(
        PAPER, epsilon=0.3, horizon=300, replications=20, observe=True, alpha=0.01, checkpoints=range(4, 301)
    )
    alarm = runs.log_e_value >= math.log(100)
    first = runs.time.where(alarm).min("time")
    assert runs.detection_time.equals(first.astype(float))
    assert runs.detection_time.notnull().sum() > 10
    assert json.loads(runs.attrs["config"])["alpha"] == 0.01
    stopped = feint.simulate(PAPER, epsilon=0.3, horizon=300, replications=20, observe=True, delta=0.3)
    early = stopped.stopping_time < 20
    assert early.any()
    assert not (stopped.detection_time > stopped.stopping_time).any()
    for wrong in ({"alpha": 0}, {"alpha": 2.0}, {"observe": 1}):
        with pytest.raises(ValueError, match=r"alpha|observe"):
            feint.simulate(PAPER, epsilon=0.1, horizon=10, **{"observe": True, **wrong})


@pytest.mark.slow
def test_validity_under_the_null():
    """10⁴ honest runs of 1,000 pulls, looked at after each: alarms at most α of them, by the exact binomial at 1e-6;
    and the mean e-value at fixed times is at most 1, within 5 standard errors."""
    runs = feint.simulate(
        PAPER,
        feint.RoundRobin([1, 2, 3]),  # without a budget any explorer will do, and this one costs nothing
        epsilon=0.0,
        horizon=1_000,
        replications=10_000,
        observe=True,
        seed=11,
        checkpoints=[30, 100, 300, 1_000],
    )
    assert (runs.kl_spent == 0).all()
    assert ((runs.p_value <= 0.05) == runs.detection_time.notnull()).all()
    for alpha in (0.05, 0.01):
        assert (runs.p_value <= alpha).sum() <= stats.binom.ppf(1 - 1e-6, 10_000, alpha)
    # The raw mean has a heavy tail, and with it a large error; cut at 50 it is sharp, and still at most 1.
    for e_values, largest_error in (
        (np.exp(runs.log_e_value), math.inf),
        (np.exp(runs.log_e_value).clip(max=50), 0.03),
    ):
        error = e_values.std("replication") / 100
        assert (e_values.mean("replication") <= 1 + 5 * error).all()
        assert (error < largest_error).all()
    # A test that never alarms would pass all that.
    assert (runs.p_value <= 0.5).mean() > 0.1


ALL_PUBLICLY_WORSE = feint.RoundRobin([1, 2, 3])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("explorer", "epsilon", "horizon", "most"),
    [
        (feint.TopTwo(), 0.01, 3_000, 950),
        (feint.TopTwo(), 0.1, 600, 150),
        (feint.TopTwo(), 1.0, 150, 24),
        (ALL_PUBLICLY_WORSE, 0.1, 600, 150),
        (feint.RoundRobin([1]), 0.1, 400, 65),
    ],
)
def test_median_pulls_to_detection(explorer, epsilon, horizon, most):
    """Test medians of 400 runs on the paper's instance; an observer who knows the private posterior is sooner."""
    runs = feint.simulate(PAPER, explorer, epsilon=epsilon, horizon=horizon, replications=400, observe=True, seed=21)
    detected, floor = (float(times.fillna(math.inf).median()) for times in (runs.detection_time, runs.floor_time))
    assert floor <= detected <= most


def test_the_known_alternative_is_faster():
    """The likelihood ratio with the agent's own probabilities is the bound: it detects before the mixture in nearly
    every run, and at about log(20)/ε = 30 steps and an overshoot of a few nats."""
    known, unknown = [], []
    for r in range(60):
        log_ratio, mixture = 0.0, BoostMixture(4)
        times = [math.inf, math.inf]
        for agent, arm, _ in live(PAPER, 500, seed=3, replication=r, epsilon=0.1):
            if agent.time < 4:
                continue
            log_pi = np.log(agent.reference_probabilities())
            log_ratio += math.log(agent.probabilities()[arm]) - log_pi[arm]
            for i, log_e in enumerate((log_ratio, mixture.update(arm, log_pi))):
                if log_e >= math.log(20) and times[i] == math.inf:
                    times[i] = agent.time + 1 - 4
            if max(times) < math.inf:
                break
        known.append(times[0])
        unknown.append(times[1])
    assert (np.array(known) <= np.array(unknown)).mean() > 0.9
    assert 15 < np.median(known) < 90
    assert np.median(known) < np.median(unknown)


class TestReferences:
    def test_a_normal_prior_counts_like_pulls(self):
        """The posterior is that of the textbook, with precision 1/s² + N/σ²."""
        observer = feint.Observer(3, feint.ThompsonSampling((0.5, 0.7)), sigma=2.0, initial_round=False)
        rng = np.random.default_rng(0)
        sums, pulls = np.zeros(3), np.zeros(3)
        for _ in range(20):
            precision = 1 / 0.7**2 + pulls / 2.0**2
            means = (0.5 / 0.7**2 + sums / 2.0**2) / precision
            expected = best_arm_probabilities(means, 1 / np.sqrt(precision))
            assert observer.reference_probabilities() == pytest.approx(expected, rel=1e-10)
            arm, reward = int(rng.integers(3)), float(rng.normal())
            observer.update(arm, reward)
            sums[arm] += reward
            pulls[arm] += 1
        assert observer.tested == observer.time == 20

    def test_beta_posteriors(self):
        """Two arms, uniform prior: P(arm 0 best) is a ratio of binomials; after one success each it is ½."""
        observer = feint.Observer(2, family=feint.Bernoulli(), initial_round=False)
        assert observer.reference_probabilities() == pytest.approx([0.5, 0.5], rel=1e-9)
        observer.update(0, 1)
        # Beta(2, 1) against Beta(1, 1): ∫ 2x·x dx = 2/3.
        assert observer.reference_probabilities() == pytest.approx([2 / 3, 1 / 3], rel=1e-9)
        observer.update(1, 0.0)
        # Beta(2, 1) against Beta(1, 2): ∫ 2x·(1 − (1 − x)²) dx = 4/3 − 1/2 = 5/6.
        assert observer.reference_probabilities() == pytest.approx([5 / 6, 1 / 6], rel=1e-9)
        assert observer.tested == 2
        with pytest.raises(ValueError, match="0 or 1"):
            observer.update(0, 0.5)

    def test_untested_until_every_arm_was_pulled_in_any_order(self):
        observer = feint.Observer(3)
        for arm in (2, 2, 0, 0):
            assert observer.update(arm, 0.3) == 0.0
            assert observer.reference_probabilities() is None
        observer.update(1, 0.1)
        assert observer.tested == 0
        observer.update(1, 0.1)
        assert observer.tested == 1

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda: feint.Observer(4, feint.ThompsonSampling((0.0, 0.0))),
            lambda: feint.Observer(4, feint.ThompsonSampling((math.inf, 1.0))),
            lambda: feint.Observer(4, feint.ThompsonSampling((0.0, 1.0)), family=feint.Bernoulli()),
            lambda: feint.ThompsonSampling(1.0),
            lambda: feint.ThompsonSampling((1.0, math.nan)),
            lambda: feint.Observer(4, initial_round=1),
            lambda: feint.Observer(4, feint.ObservedUCB(), family=feint.Bernoulli()),
            lambda: feint.Observer(4, reference="TS"),
            lambda: feint.Observer(4, sigma=0),
            lambda: feint.Observer(1),
            lambda: feint.simulate(PAPER, reference=feint.ThompsonSampling((0.0, -1.0)), epsilon=0.1, horizon=10),
            lambda: feint.Agent(4, reference=feint.ThompsonSampling((0.0, 1e-9)), epsilon=0.1),
        ],
    )
    def test_wrong_settings_are_refused(self, wrong):
        with pytest.raises(ValueError, match=r"\w"):
            wrong()


class TestState:
    @pytest.mark.parametrize(
        ("reference", "family"),
        [
            (feint.ThompsonSampling(), None),
            (feint.ThompsonSampling((1.0, 2.0)), None),
            (feint.ThompsonSampling((0.5, 0.5)), feint.Bernoulli()),
            (feint.ThompsonSampling(), feint.Poisson()),
            (feint.Softmax(0.5), None),
        ],
    )
    def test_resumes_identically_through_json(self, reference, family, tmp_path):
        rng = np.random.default_rng(1)
        arms = [0, 1, 2, *rng.integers(0, 3, 60).tolist()]
        rewards = rng.integers(0, 2, len(arms)).astype(float).tolist()
        whole, parts = (feint.Observer(3, reference, family=family, epsilons=[0.1, 0.4], share=0.2) for _ in range(2))
        for i, (arm, reward) in enumerate(zip(arms, rewards, strict=True)):
            if i in (0, 2, 10, 40):
                parts.save(tmp_path / f"{i}.json")
                parts = feint.Observer.load(tmp_path / f"{i}.json")
            assert parts.update(arm, reward) == whole.update(arm, reward)
        assert parts.state() == whole.state()
        assert parts.p_value == whole.p_value
        with pytest.raises(FileExistsError):
            parts.save(tmp_path / "0.json")

    def test_damaged_states_are_refused(self, tmp_path):
        observer = feint.Observer(2)
        observer.update(0, 0.1)
        good = observer.state()
        for key in good:
            for wrong in (None, "x", -1.5, [[2.0]], {"kind": "?"}):
                with pytest.raises(ValueError, match=r"\w"):
                    feint.Observer.from_state({**good, key: wrong})
        (tmp_path / "x.json").write_text("{")
        with pytest.raises(ValueError, match="not a JSON file"):
            feint.Observer.load(tmp_path / "x.json")

    def test_wrong_pulls_change_nothing(self):
        observer = feint.Observer(2)
        before = observer.state()
        for arm, reward in [(2, 0.0), (-1, 0.0), (True, 0.0), (0.0, 0.0), (0, math.nan), (0, math.inf), (0, "1")]:
            with pytest.raises(ValueError, match=r"arm|reward"):
                observer.update(arm, reward)
        assert observer.state() == before
