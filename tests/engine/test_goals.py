"""Goals other than the best arm in the engine and the agent, against plain Python."""

import math

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

import feint
from cases import PAPER
from feint.agent.public_log import RewardStream
from feint.explorers.base import View, explorer_settings, fill_shares
from feint.families.base import belief
from feint.goals.base import answer_of, fill_boost_shares, fill_weights, goal_settings
from feint.numerics._jit import kernel
from feint.theory.instance import public_divergences

CLICKS = feint.Bandit([0.6, 0.45, 0.3, 0.2], [0.3, 0.4, 0.7, 0.55], family=feint.Bernoulli())
GOALS = [feint.TopArms(2), feint.AboveThreshold(0.25)]


class LastTwo:
    """A goal in plain Python that asks for the top two arms of normal rewards, by a grid."""

    def answer(self, means):
        return np.isin(np.arange(means.size), np.argsort(-means, kind="stable")[:2])

    def log_error(self, answer, pulls, sums):
        means, sds = sums / pulls, 1 / np.sqrt(pulls)
        x = np.linspace((means - 10 * sds).min(), (means + 10 * sds).max(), 20_001)
        z = (x - means[:, None]) / sds[:, None]
        below, above = log_ndtr(z), log_ndtr(-z)
        density = -0.5 * z * z - np.log(sds * math.sqrt(2 * math.pi))[:, None]
        wrong = below[~answer].sum(0) + logsumexp(density[~answer] - below[~answer], axis=0)
        return float(logsumexp(wrong + np.log(-np.expm1(np.minimum(above[answer].sum(0), -1e-300))), b=x[1] - x[0]))

    def doubts(self, pulls, means, divergence):
        rows = []
        for i in np.flatnonzero(self.answer(means)):
            for j in np.flatnonzero(~self.answer(means)):
                x = (pulls[i] * means[i] + pulls[j] * means[j]) / (pulls[i] + pulls[j])
                row = np.zeros(means.size)
                row[i], row[j] = pulls[i] * divergence(means[i], x), pulls[j] * divergence(means[j], x)
                rows.append(row)
        return np.array(rows)


@kernel
def _fill(goal, private, pulls, means, sampled, shares):
    return fill_boost_shares(goal, private.family, pulls, means, sampled, shares)


@pytest.mark.parametrize("goal", GOALS)
def test_shares_of_boosts(goal):
    """Rows are drawn by Φ(−√(2E)), or the weakest is taken; the boosts of each are shared as its evidence is."""
    random, family = np.random.default_rng(0), feint.Gaussian()
    known = belief(family, (0.0, 0.0), np.zeros(4, dtype=np.int64))
    for sampled in (True, False):
        for _ in range(20):
            pulls, means, shares = random.integers(1, 200, 4), random.normal(size=4), np.empty(4)
            least = _fill(goal_settings(goal, 4, family), known, pulls, means, sampled, shares)
            rows = goal.doubts(pulls.astype(float), means, family.divergence)
            evidence = rows.sum(1)
            weights = np.exp(log_ndtr(-np.sqrt(2 * evidence)) - log_ndtr(-np.sqrt(2 * evidence.min())))
            weights = weights if sampled else (evidence == evidence.min()) * 1.0
            expected = weights @ (rows / evidence[:, None]) / weights.sum()
            assert shares == pytest.approx(expected, abs=1e-12)
            assert least == pytest.approx(evidence.min(), rel=1e-12)


@kernel
def _fill_weights(goal, private, means, cost, weights):
    return fill_weights(goal, private.family, means, cost, weights)


@pytest.mark.parametrize("family", [feint.Gaussian(), feint.Bernoulli()])
def test_optimal_weights_of_kernels(family):
    """The weights are those of cutting planes with a certificate, on random instances of 3 to 6 arms."""
    random = np.random.default_rng(4)
    for case in range(24):
        n_arms = int(random.integers(3, 7))
        bandit = feint.Bandit(*random.uniform(0.05, 0.95, (2, n_arms)), family=family)
        goal = feint.TopArms(int(random.integers(1, n_arms))) if case % 3 else feint.AboveThreshold(0.5)
        known = belief(family, family.prior(None), np.zeros(n_arms, dtype=np.int64))
        weights, cost = np.empty(n_arms), public_divergences(bandit)
        assert _fill_weights(goal_settings(goal, n_arms, family), known, np.array(bandit.private), cost, weights)
        best = feint.optimal_boosting(bandit, goal=goal)
        assert weights == pytest.approx(best.weights, abs=1e-5)
        assert feint.gamma(bandit, weights, goal=goal) >= best.gamma * (1 - 1e-6)
        means = np.full(n_arms, 0.5)
        assert not _fill_weights(goal_settings(goal, n_arms, family), known, means, cost, weights)


class PlainTracking:
    """D-tracking in plain Python, as the docstring of `Tracking` describes it."""

    def __init__(self, goal):
        self.goal = goal

    def choose(self, view, uniforms):
        made, n_arms = int(view.boosts.sum()), view.boosts.size
        if view.boosts.min() < math.sqrt(made) - n_arms / 2:
            return int(view.boosts.argmin())
        weights = feint.optimal_boosting(feint.Bandit(view.public_means, view.private_means), goal=self.goal).weights
        return int(((made + 1) * weights - view.boosts).argmax())


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS)
def test_tracking_follows_the_optimum_of_the_estimates(goal):
    options = {"goal": goal, "epsilon": 0.3, "horizon": 120, "replications": 2, "checkpoints": range(4, 121)}
    runs, plain = (feint.simulate(PAPER, explorer, **options) for explorer in (feint.Tracking(), PlainTracking(goal)))
    assert (runs.boosts == plain.boosts).all()
    assert (runs.pulls == plain.pulls).all()


@kernel
def _fill_shares_seen(explorer, private, pulls, means, scratch, shares):
    view = View(0, pulls, pulls, means, means, private.family, private.family, scratch, private)
    fill_shares(explorer, view, means, shares)


@pytest.mark.parametrize(
    ("feedback", "worth"),
    [  # in rewards of the σ that the rows below are given: σ_y = 2, and σ_x = 0.5
        (feint.Sometimes(0.2, 0.8), np.full(4, 0.2 / (1 - 0.8 * 0.64))),
        (feint.Linked([0.0] * 4, [-1.0, 2.0, 0.5, 3.0]), 1 / np.array([-1.0, 2.0, 0.5, 3.0]) ** 2),
    ],
)
def test_boosts_count_what_pulls_are_worth(feedback, worth):
    """Where few private rewards are seen, the rows are those of as many seen ones as the pulls are worth."""
    random, families = np.random.default_rng(1), (feint.Gaussian(0.5), feint.Gaussian(2.0))
    family = families[isinstance(feedback, feint.Sometimes)]
    known = belief(families[1], (0.0, 0.0), np.zeros(4, dtype=np.int64))
    known = known._replace(family=feedback.kernel(families, known.sums))
    for goal in GOALS:
        explorer = explorer_settings(feint.TopTwo(), 4, goal_settings(goal, 4, families[1]))
        for _ in range(10):
            pulls, means, shares = random.integers(1, 200, 4), random.normal(size=4), np.empty(4)
            _fill_shares_seen(explorer, known, pulls, means, np.empty((7, 4)), shares)
            rows = goal.doubts(pulls * worth, means, family.divergence)
            tails = log_ndtr(-np.sqrt(2 * rows.sum(1)))
            weights = np.exp(tails - tails.max())
            assert shares == pytest.approx(weights @ (rows / rows.sum(1)[:, None]) / weights.sum(), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS)
def test_goals_where_all_is_seen_are_those_without_a_feedback(goal):
    whole = feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Sometimes(1.0))
    options = {"goal": goal, "epsilon": 0.5, "horizon": 2000, "replications": 3, "delta": 0.05}
    one, other = (feint.simulate(bandit, **options) for bandit in (PAPER, whole))
    for name in ("pulls", "boosts", "answer", "log_error", "stopping_time"):
        np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.slow
def test_the_error_of_an_answer_where_few_rewards_are_seen():
    """Without correlation the posterior is that of the seen rewards alone."""
    goals = [feint.TopArms(2), feint.AboveThreshold(0.25)]
    agents = [feint.Agent(4, goal=goal, epsilon=0.5, feedback=feint.Sometimes(0.4)) for goal in goals]
    random = np.random.default_rng(5)
    for agent, goal in zip(agents, goals, strict=True):
        seen, sums = np.zeros(4), np.zeros(4)
        for t in range(80):
            arm, private = agent.pull(), float(random.normal())
            if t >= 4 and random.random() > 0.4:
                agent.update(arm, float(random.normal()))
                continue
            agent.update(arm, float(random.normal()), private)
            seen[arm] += 1
            sums[arm] += private
        if goal == goals[0]:
            expected = LastTwo().log_error(agent.answer, seen, sums)
        else:
            right = log_ndtr(np.where(agent.answer, 1, -1) * (sums / seen - 0.25) * np.sqrt(seen)).sum()
            expected = math.log(-math.expm1(right))
        assert agent.log_error == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_plans_where_all_is_seen_are_those_without_a_feedback():
    """The same draws make the same paths, up to rounding; and a pull that is worth less makes them longer."""
    goal, options = feint.AboveThreshold(0.25), {"explorer": feint.FixedBoosting([0, 0.1, 0.8, 0.1])}
    feedbacks = None, feint.Sometimes(1.0), feint.Sometimes(0.4, 0.5)
    bandits = [feint.Bandit(PAPER.public, PAPER.private, feedback=feedback) for feedback in feedbacks]
    plain, whole, seldom = (feint.plan(bandit, 1.0, 0.1, goal=goal, **options) for bandit in bandits)
    assert whole.quantiles == pytest.approx(plain.quantiles, rel=1e-3)
    assert whole.gamma == plain.gamma
    kappa = 0.4 / (1 - 0.6 * 0.25)
    assert seldom.gamma == pytest.approx(kappa * plain.gamma, rel=1e-10)
    assert 2 < seldom.quantiles[1] / plain.quantiles[1] < 1 / kappa**2


@pytest.mark.slow
def test_a_goal_of_ones_own_is_the_goal_of_the_package():
    """Both goals make the same agent: the pulls are equal, and the errors agree to the accuracy of the grid."""
    agents = [feint.Agent(4, goal=goal, epsilon=0.3, seed=3) for goal in (feint.TopArms(2), LastTwo())]
    rewards = RewardStream(PAPER, 3, 0)
    for t in range(60):
        arms = [agent.pull() for agent in agents]
        assert arms[0] == arms[1]
        for agent in agents:
            agent.update(arms[0], *rewards.rewards(t, arms[0]))
        if t >= 4:
            assert (agents[0].answer == agents[1].answer).all()
            assert agents[0].log_error == pytest.approx(agents[1].log_error, rel=1e-6)
    assert agents[0].confidence == pytest.approx(-math.expm1(agents[0].log_error))
    again = feint.Agent.from_state(agents[0].state())
    assert again.pull() == agents[0].pull()
    assert again.log_error == agents[0].log_error
    with pytest.raises(ValueError, match="goal of your own, LastTwo"):
        feint.Agent.from_state(agents[1].state())


def test_the_best_arm_has_an_answer_too():
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=300, replications=3)
    assert (runs.answer == (runs.recommendation == runs.arm)).all()
    assert runs.goal.item() == "BestArm()"


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize("explorer", [feint.TopTwo(), feint.TopTwoTransport(), feint.RoundRobin([1, 2, 3])])
@pytest.mark.parametrize("bandit", [PAPER, CLICKS])
def test_lazy_is_eager(goal, explorer, bandit):
    one, other = (
        feint.simulate(bandit, explorer, goal=goal, epsilon=0.1, horizon=1500, replications=3, method=method)
        for method in ("lazy", "eager")
    )
    for name in one.data_vars:
        assert (one[name] == other[name]).all()
    assert one.answer.dtype == bool
    assert (one.log_error <= 0).all()
    assert "recommendation" not in one


@pytest.mark.slow
@pytest.mark.parametrize("goal", GOALS)
def test_stopping(goal):
    """A run stops when the error of its answer, which an agent computes anew, is δ, and not one pull before."""
    options = {"goal": goal, "epsilon": 1.0, "horizon": 20_000, "replications": 4, "delta": 0.2}
    runs = feint.simulate(PAPER, **options)
    assert (runs.stopping_time == feint.simulate(PAPER, **options, method="eager").stopping_time).all()
    for r in range(4):
        stopped = int(runs.stopping_time[r])
        agent = feint.Agent(4, goal=goal, epsilon=1.0, replication=r)
        rewards = RewardStream(PAPER, 0, r)
        before = 0.0
        for t in range(stopped):
            before = agent.log_error if t == stopped - 1 and t >= 4 else before
            arm = agent.pull()
            agent.update(arm, *rewards.rewards(t, arm))
        assert agent.log_error <= math.log(0.2)
        assert stopped == 4 or before > math.log(0.2)
        assert (agent.pulls == runs.pulls.values[r, -1]).all()


@pytest.mark.slow
def test_shares_of_boosts_tend_to_the_optimum():
    """At ε = 1 after 3·10⁶ pulls the mean shares of 40 runs are within 0.03 of w* (0.01 later; docs/theory.md)."""
    for goal in GOALS:
        runs = feint.simulate(
            PAPER, goal=goal, epsilon=1.0, horizon=3_000_000, replications=40, checkpoints=[3_000_000]
        )
        shares = (runs.boosts / runs.boosts.sum("arm")).mean("replication").values[-1]
        assert abs(shares - feint.optimal_boosting(PAPER, goal=goal).weights).max() < 0.03
        truth = answer_of(goal, np.array(PAPER.private))
        assert (runs.answer.values[:, -1] == truth).all(1).mean() > 0.5
