"""Test every reward family for what all promise: its laws, the live agent, the observer and the engine."""

import json
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

import feint
from cases import FAMILIES, first_is_quick, instance
from feint.agent.public_log import RewardStream, public_log
from feint.families.base import divergences
from feint.families.poisson import draw_poisson
from feint.registry import config_of, from_config, registered

SINGLE = {name: family for name, family in FAMILIES.items() if not isinstance(family, tuple)}
LAWS = {
    "gaussian": lambda mean: stats.norm(mean, 1.0),
    "bernoulli": stats.bernoulli,
    "poisson": stats.poisson,
    "exponential": lambda mean: stats.expon(scale=mean),
}
EXPLORERS = [
    feint.TopTwo(),
    feint.TopTwoTransport(),
    feint.Tracking(),
    feint.RoundRobin([1, 2, 3]),
    feint.FixedBoosting([0.1, 0.4, 0.2, 0.3]),
]


def test_every_family_is_tested_here():
    assert {type(family) for family in SINGLE.values()} == set(registered("family").values())


@pytest.mark.parametrize("name", SINGLE)
class TestConformance:
    def test_rewards_have_their_law(self, name):
        """Kolmogorov–Smirnov or, for whole numbers, chi-square tests at 1e-6, on the stream that `simulate` reads."""
        family, means = SINGLE[name], (0.2, 0.7)
        stream = RewardStream(feint.Bandit(means, means, family=family), seed=5)
        drawn = np.array([stream.rewards(t, 1) for t in range(4000)])
        for rewards in drawn.T:
            assert family.accepts(rewards).all()
            law = LAWS[name](0.7)
            if name in ("bernoulli", "poisson"):
                counts = np.bincount(rewards.astype(int), minlength=6)[:6]
                expected = np.array([law.pmf(k) for k in range(6)])
                kept = expected * 4000 > 5
                counts = np.append(counts[kept], 4000 - counts[kept].sum())
                expected = 4000 * np.append(expected[kept], 1 - expected[kept].sum())
                if expected[-1] < 1e-9:
                    counts, expected = counts[:-1], expected[:-1]
                assert stats.chisquare(counts, expected).pvalue > 1e-6
            else:
                assert stats.kstest(rewards, law.cdf).pvalue > 1e-6
        # Public and private noise are independent: a correlation of 4,000 pairs beyond 4.9/√4000 has probability 1e-6.
        assert abs(np.corrcoef(drawn.T)[0, 1]) < 4.9 / math.sqrt(4000)

    def test_divergence_is_the_integral_of_its_definition(self, name):
        family = SINGLE[name]
        for x, y in [(0.3, 0.7), (0.7, 0.3), (0.05, 0.9)]:
            p, q = LAWS[name](x), LAWS[name](y)
            if name in ("bernoulli", "poisson"):
                k = np.arange(0, 2 if name == "bernoulli" else 60)
                expected = float((p.pmf(k) * (p.logpmf(k) - q.logpmf(k))).sum())
            else:
                low, high = p.ppf(1e-16), p.isf(1e-16)
                found = integrate.quad(
                    lambda r, p=p, q=q: p.pdf(r) * (p.logpdf(r) - q.logpdf(r)), low, high, epsabs=1e-12
                )
                expected = found[0]
            assert float(family.divergence(x, y)) == pytest.approx(expected, rel=1e-8)

    def test_small_divergences_keep_their_digits(self, name):
        """KL(ν_x ‖ ν_{x+δ}) tends to δ²/2V, and the next term is of relative size δ."""
        family = SINGLE[name]
        for change in (1e-6, -1e-9, 1e-150):
            found = float(divergences(family.kernel(), 0.4, change))
            assert found == pytest.approx(
                0.5 * change * change / float(family.variance(0.4)), rel=20 * abs(change) + 1e-14
            )
        assert float(family.divergence(0.4, 0.4)) == 0.0

    def test_posterior_probabilities_by_drawing_from_the_posterior(self, name):
        """With 100,000 draws of every arm's mean, each frequency is within 5 standard errors (1e-6 in all)."""
        family, rng = SINGLE[name], np.random.default_rng(3)
        pulls, sums = np.array([40.0, 12.0, 25.0]), np.array([20.0, 7.0, 11.0])
        first, second = family.posterior(family.prior(None), pulls, sums)
        n = 100_000
        draws = {
            "gaussian": lambda: rng.normal(sums / pulls, 1 / np.sqrt(pulls), (n, 3)),
            "bernoulli": lambda: rng.beta(1 + sums, 1 + pulls - sums, (n, 3)),
            "poisson": lambda: rng.gamma(0.5 + sums, 1 / pulls, (n, 3)),
            "exponential": lambda: 1 / rng.gamma(pulls, 1 / sums, (n, 3)),
        }[name]()
        found = np.bincount(draws.argmax(1), minlength=3) / n
        p = np.exp(family.log_probabilities(first, second))
        assert (abs(found - p) < 5.3 * np.sqrt(p * (1 - p) / n)).all()

    def test_means_outside_the_range_get_a_sentence(self, name):
        family = SINGLE[name]
        wrong = {"gaussian": [math.inf], "bernoulli": [0.0, 1.0, 1.2], "poisson": [0.0, -1.0], "exponential": [0.0]}[
            name
        ]
        for mean in wrong:
            with pytest.raises(ValueError, match=r"must lie strictly between|every mean must be finite"):
                feint.Bandit([0.5, mean], [0.2, 0.3], family=family)
            with pytest.raises(ValueError, match=r"private means"):
                feint.Bandit([0.5, 0.4], [mean, 0.3], family=family)

    def test_description_makes_it_again(self, name):
        described = json.loads(json.dumps(config_of(SINGLE[name], "family")))
        assert from_config(described, "family") == SINGLE[name]


@pytest.mark.parametrize("method", first_is_quick(["eager", "lazy"]))
@pytest.mark.parametrize("name", first_is_quick(sorted(FAMILIES, key="clicks and revenue".__ne__)))
def test_agent_and_observer_repeat_the_simulation(name, method, tmp_path):
    """They repeat pulls, boosts and log E of every step, with a saved state half-way."""
    bandit, horizon = instance(name), 150
    runs = feint.simulate(
        bandit,
        epsilon=0.2,
        horizon=horizon,
        replications=1,
        seed=4,
        observe=True,
        checkpoints=range(4, horizon + 1),
        method=method,
    ).isel(replication=0)
    agent = feint.Agent(4, epsilon=0.2, family=bandit.families, seed=4)
    observer = feint.Observer(4, family=bandit.families[0])
    source = RewardStream(bandit, 4)
    for t in range(horizon):
        if t >= 4:
            assert (agent.pulls == runs.pulls.sel(time=t).values).all()
            assert (agent.boosts == runs.boosts.sel(time=t).values).all()
        if t == 80:
            agent.save(tmp_path / "agent.json")
            observer.save(tmp_path / "observer.json")
            agent, observer = feint.Agent.load(tmp_path / "agent.json"), feint.Observer.load(tmp_path / "observer.json")
        arm = agent.pull()
        public, private = source.rewards(t, arm)
        log_e = observer.update(arm, public)
        agent.update(arm, public, private)
        if t >= 4:
            assert log_e == pytest.approx(float(runs.log_e_value.sel(time=t + 1)), rel=1e-9, abs=1e-9)
    assert observer.tested == horizon - 4
    if agent.best_arm == bandit.best_private:
        assert agent.log_error == float(runs.log_error[-1])


@pytest.mark.parametrize("name", FAMILIES)
def test_logs_are_audited_as_the_observer_sees_them(name):
    """The audit's boost test is the observer's: the same log E at the end; and an honest log is not rejected."""
    bandit = instance(name)
    log = public_log(bandit, feint.TopTwo(), epsilon=0.1, horizon=400)
    report = feint.audit(log["arm"], log["reward"], n_arms=4, family=bandit.families[0])
    observer = feint.Observer(4, family=bandit.families[0])
    for arm, reward in zip(log["arm"].tolist(), log["reward"].tolist(), strict=True):
        log_e = observer.update(arm, reward)
    assert report.tested == 396
    assert report.log_e_values["boosts"] == pytest.approx(log_e, rel=1e-8, abs=1e-8)
    honest = public_log(bandit, feint.TopTwo(), epsilon=0.0, horizon=400)
    assert not feint.audit(honest["arm"], honest["reward"], n_arms=4, family=bandit.families[0]).rejected


@pytest.mark.slow
@pytest.mark.parametrize("explorer", EXPLORERS, ids=lambda explorer: type(explorer).__name__)
def test_every_explorer_runs_with_other_families(explorer):
    runs = feint.simulate(instance("counts and waits"), explorer, epsilon=0.2, horizon=300, replications=3, delta=1e-3)
    assert (runs.pulls.sum("arm") <= runs.time).all()
    assert np.isfinite(runs.log_error).all()


@pytest.mark.parametrize(
    ("family", "reward"),
    [(feint.Bernoulli(), 0.3), (feint.Poisson(), 1.5), (feint.Poisson(), -1), (feint.Exponential(), 0.0)],
)
def test_rewards_outside_the_support_are_refused_and_nothing_is_recorded(family, reward):
    agent = feint.Agent(2, epsilon=0.1, family=(family, feint.Gaussian()))
    agent.update(0, 1.0, 0.5)
    before = agent.state()
    with pytest.raises(ValueError, match="Nothing was recorded: the public reward must be"):
        agent.update(1, reward, 0.5)
    with pytest.raises(ValueError, match="Nothing was recorded: the private reward must be"):
        feint.Agent(2, epsilon=0.1, family=(feint.Gaussian(), family)).update(0, 0.5, reward)
    assert agent.state() == before
    observer = feint.Observer(2, family=family)
    with pytest.raises(ValueError, match="public_reward must be"):
        observer.update(0, reward)
    assert observer.time == 0
    with pytest.raises(ValueError, match="row 2: reward is"):
        feint.audit([0, 1], [1.0, reward], n_arms=2, family=family)


@pytest.mark.parametrize(
    ("family", "prior"),
    [
        (feint.Gaussian(0.7), (0.3, 0.5)),
        (feint.Bernoulli(), (2.0, 5.0)),
        (feint.Poisson(), (3.0, 2.0)),
        (feint.Exponential(), (2.5, 1.5)),
    ],
)
def test_priors_are_those_of_the_textbook(family, prior):
    """P(arm 0 best) of two arms after three pulls, by integrating the posterior density on a grid of means."""
    agent = feint.Agent(2, reference=feint.ThompsonSampling(prior), epsilon=0.0, family=family)
    rewards = [1.0, 0.0, 1.0] if not isinstance(family, feint.Exponential) else [1.0, 0.4, 2.0]
    for arm, reward in zip((0, 1, 0), rewards, strict=True):
        agent.update(arm, reward, 1.0)
    x = np.linspace(-6, 6, 200_001) if isinstance(family, feint.Gaussian) else np.linspace(1e-6, 40, 1_000_001)
    if isinstance(family, feint.Bernoulli):
        x = np.linspace(1e-7, 1 - 1e-7, 400_001)
    log_prior = {
        feint.Gaussian: lambda x: stats.norm.logpdf(x, *prior),
        feint.Bernoulli: lambda x: stats.beta.logpdf(x, *prior),
        feint.Poisson: lambda x: stats.gamma.logpdf(x, prior[0], scale=1 / prior[1]),
        # Gamma(shape, rate) of 1/x
        feint.Exponential: lambda x: stats.invgamma.logpdf(x, prior[0], scale=prior[1]),
    }[type(family)](x)
    log_likelihood = {
        feint.Gaussian: lambda r: stats.norm.logpdf(r, x, 0.7),
        feint.Bernoulli: lambda r: r * np.log(x) + (1 - r) * np.log1p(-x),
        feint.Poisson: lambda r: r * np.log(x) - x,
        feint.Exponential: lambda r: -np.log(x) - r / x,
    }[type(family)]
    weights = []
    for seen in ((rewards[0], rewards[2]), (rewards[1],)):
        log_density = log_prior + sum(log_likelihood(r) for r in seen)
        weights.append(np.exp(log_density - special.logsumexp(log_density)))
    below = np.cumsum(weights[1]) - weights[1] / 2
    assert agent.reference_probabilities()[0] == pytest.approx(float(weights[0] @ below), rel=2e-5)


def test_poisson_numbers_from_the_largest_mean_to_the_smallest():
    """Over a fine grid of uniforms, the shares of outcomes are the probabilities, up to the grid's spacing."""
    for mean in (1e-3, 0.9, 7.0, 80.5):
        u = (np.arange(200_000) + 0.5) / 200_000
        counts = np.bincount([int(draw_poisson(mean, x)) for x in u[::10]], minlength=3)
        p = stats.poisson.pmf(np.arange(counts.size), mean)
        assert abs(counts / 20_000 - p).max() < 2.1 / 20_000 * 2
    large = [draw_poisson(1e6, x) for x in (0.1, 0.5, 0.9)]
    assert all(abs(k - 1e6) < 6e3 for k in large)


def test_a_pair_is_not_one_family_twice():
    same = feint.Bandit([0.6, 0.3], [0.2, 0.5], family=feint.Bernoulli())
    assert same.families == (feint.Bernoulli(), feint.Bernoulli())
    with pytest.raises(AttributeError, match="no common sigma"):
        _ = same.sigma
    assert feint.Bandit([0.6, 0.3], [0.2, 0.5], 0.7).sigma == 0.7
    for wrong in (feint.Bernoulli, "bernoulli", (feint.Bernoulli(),) * 3, (feint.Bernoulli(), 1.0)):
        with pytest.raises(ValueError, match=r"family"):
            feint.Bandit([0.6, 0.3], [0.2, 0.5], family=wrong)
    with pytest.raises(ValueError, match="not both"):
        feint.Bandit([0.6, 0.3], [0.2, 0.5], 1.0, family=feint.Gaussian())
