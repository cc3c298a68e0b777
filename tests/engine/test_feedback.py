"""Private rewards seldom or never seen: beliefs against a Kalman filter, runs against Algorithm 1 in plain NumPy."""

import json
import math

import numpy as np
import pytest
from scipy import stats

import feint
from cases import PAPER
from feint.agent.agent import _add_pull
from feint.agent.assembly import assemble
from feint.numerics import RandomStream
from feint.numerics.streams import PRIVATE, PUBLIC
from feint.simulation.engine.rewards import private_truth
from slow_agent import best_arm, boost

FALSE_FAILURES = 1e-6  # of each comparison of samples, were the laws equal
FAMILIES = feint.Gaussian(0.5), feint.Gaussian(2.0)
LINK = feint.Linked([0.1, -0.2, 0.0], [-1.0, 2.0, 0.5], 0.3)


# --- Beliefs ---------------------------------------------------------------------------------------------------------


def kalman(first, rows, observe, noise):
    """A Kalman filter in plain NumPy for a constant (public mean, private mean): the state after `first` = (mean,
    covariance) and each (row of the observation matrix, noise covariance, observation).
    """
    mean, covariance = first
    for values in rows:
        matrix, scatter = observe(values), noise(values)
        seen = np.atleast_1d([v for v in values if not math.isnan(v)])
        gain = covariance @ matrix.T @ np.linalg.inv(matrix @ covariance @ matrix.T + scatter)
        mean = mean + gain @ (seen - matrix @ mean)
        left = np.eye(2) - gain @ matrix
        covariance = left @ covariance @ left.T + gain @ scatter @ gain.T  # Joseph's form
    return mean, covariance


def filtered(rewards, feedback):
    """Return the posterior (mean, sd) of one arm's private mean from its rewards (n, 2), NaN where unseen."""
    sigma_x, sigma_y = (family.sigma for family in FAMILIES)
    if isinstance(feedback, feint.Sometimes):
        shared = feedback.correlation * sigma_x * sigma_y
        whole = np.array([[sigma_x**2, shared], [shared, sigma_y**2]])
        first = rewards[0], whole
    else:
        arm_line = feedback
        c, b, tau = arm_line
        first = (
            np.array([rewards[0, 0], c + b * rewards[0, 0]]),
            np.array([[1, b], [b, b * b]]) * sigma_x**2 + np.array([[0, 0], [0, tau**2]]),
        )
        whole = None
    mean, covariance = kalman(
        first,
        rewards[1:],
        lambda row: np.eye(2) if not math.isnan(row[1]) else np.array([[1.0, 0.0]]),
        lambda row: whole if not math.isnan(row[1]) else np.array([[sigma_x**2]]),
    )
    return mean[1], math.sqrt(covariance[1, 1])


def taught(feedback, rewards, arms):
    """Return what the agent knows after these rewards (n, 2) of these arms."""
    _, known = assemble(
        3, FAMILIES, feint.RoundRobin([1]), feint.ThompsonSampling((1.0, 0.7)), feedback=feedback
    ).instantiate()
    for arm, (public, private) in zip(arms, rewards, strict=True):
        _add_pull(known, int(arm), float(public), float(private))
    return known


@pytest.mark.parametrize("share", [0.05, 0.5, 1.0])
@pytest.mark.parametrize("correlation", [0.0, 0.8, -0.999])
def test_beliefs_of_rewards_seen_sometimes_are_those_of_a_kalman_filter(share, correlation):
    feedback, rng = feint.Sometimes(share, correlation), np.random.default_rng(3)
    arms = np.append(np.arange(3), rng.integers(3, size=300))
    noise = rng.standard_normal((303, 2))
    noise[:, 1] = correlation * noise[:, 0] + math.sqrt(1 - correlation**2) * noise[:, 1]
    rewards = np.array([1.0, -2.0]) + noise * [0.5, 2.0]
    rewards[3:, 1][rng.random(300) >= share] = math.nan
    known = taught(feedback, rewards, arms)
    for arm in range(3):
        expected = filtered(rewards[arms == arm], feedback)
        np.testing.assert_allclose(known.private.posterior[:, arm], expected, rtol=1e-10)
        assert known.private.means[arm] == known.private.posterior[0, arm]


def test_beliefs_of_linked_rewards_are_those_of_a_kalman_filter():
    rng = np.random.default_rng(4)
    arms = np.append(np.arange(3), rng.integers(3, size=300))
    rewards = np.column_stack([1.0 + 0.5 * rng.standard_normal(303), np.full(303, math.nan)])
    known = taught(LINK, rewards, arms)
    for arm, line in enumerate(zip(LINK.intercepts, LINK.slopes, strict=True)):
        expected = filtered(rewards[arms == arm], (*line, LINK.spread))
        np.testing.assert_allclose(known.private.posterior[:, arm], expected, rtol=1e-10)


@pytest.mark.parametrize("correlation", [0.0, 0.8, 1.0])
def test_where_all_is_seen_correlation_changes_no_belief(correlation):
    rng = np.random.default_rng(5)
    arms, rewards = np.append(np.arange(3), rng.integers(3, size=200)), rng.standard_normal((203, 2))
    known, plain = (taught(feedback, rewards, arms) for feedback in (feint.Sometimes(1.0, correlation), None))
    np.testing.assert_array_equal(known.private.posterior, plain.private.posterior)
    np.testing.assert_array_equal(known.public.posterior, plain.public.posterior)


def test_kappa_is_the_worth_of_a_pull():
    """κ is compared with the inverse of the 2×2 information of N pulls, of which n = sN are seen."""
    for share, correlation in ((0.2, 0.8), (0.2, 0.0), (0.7, -0.3), (1.0, 0.5)):
        n, whole = 1000, np.linalg.inv([[1, correlation], [correlation, 1]])
        information = n * share * whole + n * (1 - share) * np.diag([1.0, 0.0])
        assert feint.Sometimes(share, correlation).kappa == pytest.approx(
            1 / (n * np.linalg.inv(information)[1, 1]), rel=1e-12
        )
    assert feint.Sometimes(0.2, 0.8).kappa == pytest.approx(0.2 / (1 - 0.8 * 0.64), rel=1e-15)
    assert feint.Sometimes(0.3, 1.0).kappa == 1.0


# --- Runs ------------------------------------------------------------------------------------------------------------

SEEN = feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Sometimes(0.3, -0.6))


def draw(p, u):
    """Return the first index at which the cumulative shares of p exceed u."""
    return int(np.searchsorted(np.cumsum(p) / p.sum(), u, side="right"))


def plainly(bandit, epsilon, horizon, seed, replication):
    """Algorithm 1 in plain NumPy on the simulator's random numbers: (pulls, log error) at the end. Beliefs are least
    squares: of Y on what is known of X for `Sometimes`, the line at the mean of X for `Linked`.
    """
    stream, feedback, n_arms = RandomStream(seed, replication), bandit.feedback, bandit.n_arms
    steps = range(horizon)
    uniforms, normals, chances = stream.uniforms(steps), stream.normals(steps), stream.chances(steps)
    rewards = [[] for _ in range(n_arms)]

    def pull(arm, t):
        x, e = normals[t, PUBLIC], normals[t, PRIVATE]
        y = math.nan
        if isinstance(feedback, feint.Sometimes) and (t < n_arms or chances[t, PRIVATE] < feedback.share):
            y = bandit.private[arm] + feedback.correlation * x + math.sqrt(1 - feedback.correlation**2) * e
        rewards[arm].append((bandit.public[arm] + x, y))

    def private():
        means, sds = np.empty(n_arms), np.empty(n_arms)
        for arm, rows in enumerate(map(np.array, rewards)):
            x, y, n = rows[:, 0], rows[:, 1], len(rows)
            if isinstance(feedback, feint.Linked):
                means[arm] = feedback.intercepts[arm] + feedback.slopes[arm] * x.mean()
                sds[arm] = math.hypot(feedback.slopes[arm] / math.sqrt(n), feedback.spread)
            else:
                there, rho = ~np.isnan(y), feedback.correlation
                means[arm] = y[there].mean() + rho * (x.mean() - x[there].mean())
                sds[arm] = math.sqrt((1 - rho**2) / there.sum() + rho**2 / n)
        return means, sds

    def worth(arm):
        each = feedback.slopes[arm] ** -2 if isinstance(feedback, feint.Linked) else 1.0
        return len(rewards[arm]) * each

    for arm in range(n_arms):
        pull(arm, arm)
    for t in range(n_arms, horizon):
        means, sds = private()
        p = best_arm(means[None], sds[None])[0]
        leader = draw(p, uniforms[t, 0])
        p[leader] = 0.0
        challenger = draw(p, uniforms[t, 1])
        is_leader = uniforms[t, 2] < worth(challenger) / (worth(challenger) + worth(leader))
        boosted = leader if is_leader else challenger
        counts = np.array([len(rows) for rows in rewards])
        pi = best_arm(np.array([[np.mean(rows, 0)[0] for rows in rewards]]), 1 / np.sqrt(counts)[None])[0]
        q = float(boost(pi[[boosted]], epsilon)[0])
        policy = np.where(np.arange(n_arms) == boosted, 0.0, pi)
        policy *= (1 - q) / policy.sum()
        policy[boosted] = q
        dominant = int(np.argmax(counts))
        order = [boosted] if boosted != dominant else []
        order += [a for a in range(n_arms) if a not in (boosted, dominant)] + [dominant]
        pull(order[draw(policy[order], uniforms[t, 3])], t)
    means, sds = private()
    logs = np.log(best_arm(means[None], sds[None])[0])
    best = int(np.argmax(bandit.private))
    return [len(rows) for rows in rewards], float(np.logaddexp.reduce(np.delete(logs, best)))


def check_plainly(bandit, method):
    horizon = 120
    runs = feint.simulate(bandit, epsilon=0.3, horizon=horizon, replications=range(2, 5), seed=9, method=method)
    for replication in runs.replication.values:
        pulls, log_error = plainly(bandit, 0.3, horizon, 9, int(replication))
        last = runs.sel(replication=replication).isel(time=-1)
        assert last.pulls.values.tolist() == pulls
        assert float(last.log_error) == pytest.approx(log_error, abs=1e-9)


@pytest.mark.slow
def test_runs_are_algorithm_1_with_fewer_rewards():
    check_plainly(SEEN, "lazy")


@pytest.mark.slow  # since each compiles kernels of its own
@pytest.mark.parametrize("method", ["eager", "lazy"])
def test_runs_are_algorithm_1_on_public_rewards_alone(method):
    check_plainly(feint.Bandit(PAPER.public, feedback=feint.Linked([0.1, 0, 0, 0], [-1, 2, -0.5, 1])), method)
    check_plainly(feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Linked([0] * 4, [-1] * 4, 0.3)), method)


def same(first, second):
    for name in ("pulls", "boosts", "log_error", "recommendation", "private_regret"):
        np.testing.assert_array_equal(first[name].values, second[name].values)


def check_seen_wholly(method, **options):
    whole = feint.Bandit(PAPER.public, PAPER.private, sigma=0.7, feedback=feint.Sometimes(1.0))
    plain = feint.Bandit(PAPER.public, PAPER.private, sigma=0.7)
    settings = {"epsilon": 0.2, "replications": 3, "seed": 5, "method": method, **options}
    same(feint.simulate(whole, **settings), feint.simulate(plain, **settings))


def test_where_all_is_seen_runs_are_those_without_a_feedback():
    check_seen_wholly("lazy", horizon=20_000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "options"),
    [("eager", {"horizon": 2000}), ("event", {"horizon": 10**7}), ("lazy", {"horizon": 2000, "observe": True})],
)
def test_where_all_is_seen_every_method_is_the_same(method, options):
    check_seen_wholly(method, **options)


@pytest.mark.slow
def test_boosts_in_fixed_shares_show_nothing_of_what_is_seen():
    settings = {"epsilon": 0.2, "horizon": 3000, "replications": 3, "method": "eager"}
    seen, plain = (feint.simulate(bandit, feint.RoundRobin([1, 2, 3]), **settings) for bandit in (SEEN, PAPER))
    np.testing.assert_array_equal(seen.pulls.values, plain.pulls.values)


LAZY_CASES = {
    "seldom": SEEN,
    "hardly ever": feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Sometimes(0.01, 0.9)),
    "fully correlated": feint.Bandit(PAPER.public, PAPER.private, feedback=feint.Sometimes(0.1, -1.0)),
    "linked": feint.Bandit(PAPER.public, feedback=feint.Linked([0, 0, 0.5, 0], [-1, 2, -0.5, 1])),
    "with a spread": feint.Bandit(PAPER.public, feedback=feint.Linked([0] * 4, [-1] * 4, 0.3)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LAZY_CASES)
@pytest.mark.parametrize("delta", [None, 0.05])
def test_lazy_is_eager(name, delta):
    settings = {"epsilon": 0.2, "horizon": 20_000, "replications": 4, "seed": 1, "delta": delta}
    same(*(feint.simulate(LAZY_CASES[name], method=method, **settings) for method in ("lazy", "eager")))


@pytest.mark.slow
@pytest.mark.parametrize("explorer", [feint.TopTwo(), feint.FixedBoosting([0, 0.4, 0.3, 0.3])], ids=["drawn", "fixed"])
@pytest.mark.parametrize("name", LAZY_CASES)
def test_event_is_equal_in_law(name, explorer):
    """Kolmogorov–Smirnov tests of pulls, errors and boosts; 2,000 runs show a shift of an eighth of an sd."""
    settings = {"epsilon": 0.2, "horizon": 3000, "checkpoints": [300, 3000], "replications": 2000}
    lazy = feint.simulate(LAZY_CASES[name], explorer, seed=1, **settings)
    event = feint.simulate(LAZY_CASES[name], explorer, seed=2, method="event", **settings)
    p = [
        stats.ks_2samp(first, second).pvalue
        for t in range(2)
        for first, second in [
            (lazy.log_error.values[:, t], event.log_error.values[:, t]),
            *((lazy.pulls.values[:, t, a], event.pulls.values[:, t, a]) for a in range(4)),
            *((lazy.boosts.values[:, t, a], event.boosts.values[:, t, a]) for a in range(4)),
        ]
    ]
    assert min(p) > FALSE_FAILURES


# --- The live agent --------------------------------------------------------------------------------------------------


def test_an_agent_follows_the_simulator_and_its_state_goes_on(tmp_path):
    stream, horizon = RandomStream(9, 2), 60
    agent = feint.Agent(4, epsilon=0.3, feedback=SEEN.feedback, seed=9, replication=2)
    for t in range(horizon):
        if t == 30:
            assert json.loads(json.dumps(agent.state()))["seen"] == agent._known.private.family.seen.tolist()
            agent.save(tmp_path / "agent.json")
            agent = feint.Agent.load(tmp_path / "agent.json")
        arm, noise = agent.pull(), stream.normals([t])[0]
        private = SEEN.private[arm] - 0.6 * noise[PUBLIC] + 0.8 * noise[PRIVATE]
        seen = t < 4 or stream.chances([t])[0, PRIVATE] < 0.3
        agent.update(arm, SEEN.public[arm] + noise[PUBLIC], private if seen else None)
    runs = feint.simulate(SEEN, epsilon=0.3, horizon=horizon, replications=range(2, 3), seed=9)
    assert agent.pulls.tolist() == runs.pulls.values[0, -1].tolist()
    assert agent.boosts.tolist() == runs.boosts.values[0, -1].tolist()


@pytest.mark.parametrize("seen", [[0, 1], [2, 1], [1, 0]])
def test_a_state_with_counts_that_cannot_be_is_refused(seen):
    state = feint.Agent(2, epsilon=0.1, feedback=feint.Sometimes(0.5)).state()
    with pytest.raises(ValueError, match="its counts of seen rewards cannot come from an agent"):
        feint.Agent.from_state({**state, "pulls": [1, 1], "seen": seen})


def test_an_agent_refuses_what_its_feedback_does_not_show():
    with pytest.raises(ValueError, match="initial round are always seen"):
        feint.Agent(2, epsilon=0.1, feedback=feint.Sometimes(0.5)).update(0, 1.0)
    with pytest.raises(ValueError, match="with Linked no private reward is seen"):
        feint.Agent(2, epsilon=0.1, feedback=feint.Linked([0, 0], [1, 1])).update(0, 1.0, 2.0)
    with pytest.raises(ValueError, match="private reward must be"):
        feint.Agent(2, epsilon=0.1).update(0, 1.0)


# --- Instances and data sets -----------------------------------------------------------------------------------------


DRAWN = feint.Bandit(PAPER.public, feedback=feint.Linked([0.1, 0, 0, 0], [-1, 2, -0.5, 1], 0.4))


def test_private_means_are_drawn_around_the_line():
    drawn = (private_truth(DRAWN, 3, range(400)) - np.array([-0.5, 0.6, 0.0, 0.2])) / 0.4
    np.testing.assert_array_equal(private_truth(DRAWN, 3, range(20, 23)), private_truth(DRAWN, 3, range(400))[20:23])
    assert stats.kstest(drawn.ravel(), "norm").pvalue > FALSE_FAILURES
    assert abs(np.corrcoef(drawn.T) - np.eye(4)).max() < 0.25  # 5 standard errors
    given = feint.Bandit(PAPER.public, PAPER.private, feedback=DRAWN.feedback)
    np.testing.assert_array_equal(private_truth(given, 3, range(2)), [PAPER.private] * 2)


@pytest.mark.slow
def test_private_means_are_drawn_per_replication_and_are_its_truth():
    bandit, link = DRAWN, DRAWN.feedback
    settings = {"epsilon": 0.1, "horizon": 30, "seed": 3}
    runs = feint.simulate(bandit, replications=200, **settings)
    same(runs.sel(replication=slice(20, 22)), feint.simulate(bandit, replications=range(20, 23), **settings))
    np.testing.assert_array_equal(runs.private_mean.values, private_truth(bandit, 3, range(200)))
    np.testing.assert_array_equal(runs.best_private.values, runs.private_mean.values.argmax(1))
    gaps = runs.private_mean.values.max(1, keepdims=True) - runs.private_mean.values
    np.testing.assert_allclose(runs.private_regret.values, np.einsum("rta,ra->rt", runs.pulls.values, gaps), rtol=1e-13)
    # The error is that of the replication's own best arm: the recommended arm's error is below ½ where it is that arm.
    sure = runs.log_error.values < math.log(0.5)
    right = runs.recommendation.values == runs.best_private.values[:, None]
    assert (right | ~sure).all()
    assert (right & sure).any()
    fixed = feint.simulate(feint.Bandit(PAPER.public, PAPER.private, feedback=link), replications=2, **settings)
    assert fixed.best_private.item() == 1


def test_data_sets_say_what_was_seen():
    runs = feint.simulate(SEEN, epsilon=0.1, horizon=10, replications=1)
    assert runs.feedback.item() == "Sometimes(share=0.3, correlation=-0.6)"
    assert json.loads(runs.attrs["bandit"])["feedback"] == {"kind": "sometimes", "share": 0.3, "correlation": -0.6}
    plain = feint.simulate(PAPER, epsilon=0.1, horizon=10, replications=1)
    assert "feedback" not in plain.coords
    assert set(json.loads(plain.attrs["bandit"])) == {"public", "private", "families"}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: feint.Sometimes(0.0), "above 0 and at most 1"),
        (lambda: feint.Sometimes("a"), "must be a number"),
        (lambda: feint.Sometimes(0.5, 1.5), "from -1 to 1"),
        (lambda: feint.Linked([0, 0], [1, 0]), "pulls teach nothing"),
        (lambda: feint.Linked([0, 0], [1]), "give one finite number per arm"),
        (lambda: feint.Linked([0, 0, 0], [1, 1]), "one of each per arm"),
        (lambda: feint.Linked([0, 0], [1, -1e-200]), "must be from 1e-75 to 1e"),
        (lambda: feint.Linked([0, 0], [1e200, 1]), "must be from 1e-75 to 1e"),
        (lambda: feint.Linked([0, 0], [1, 1], -1), "0 or more"),
        (lambda: feint.Bandit([0, 1]), "private is missing"),
        (lambda: feint.Bandit([0, 1], feedback=feint.Sometimes(0.5)), "private is missing"),
        (lambda: feint.Bandit([0, 1], [1, 0], feedback=feint.Linked([0, 0], [1, 1])), "follow from the public ones"),
        (lambda: feint.Bandit([0, 1], feedback=feint.Linked([0] * 3, [1] * 3)), "3 slopes, but there are 2 arms"),
        (lambda: feint.Bandit([0, 1], [1, 0], feedback=feint.Sometimes), "with its arguments"),
        (lambda: feint.Agent(2, epsilon=0.1, feedback=feint.Sometimes), "with its arguments"),
        (lambda: feint.Agent(2, epsilon=0.1, feedback="sometimes:0.5"), "feedback is 'sometimes:0.5'; give"),
        (lambda: feint.Bandit([0.2, 0.5], [0.5, 0.1], family=feint.Bernoulli(), feedback=feint.Sometimes(1)), "normal"),
    ],
)
def test_what_does_not_fit_is_refused(make, words):
    with pytest.raises(ValueError, match=words):
        make()


@pytest.mark.parametrize(
    ("explorer", "reference", "bandit", "words"),
    [
        (feint.Earn(), feint.ThompsonSampling(), SEEN, "earns by private rewards"),
        (feint.TopTwo(), feint.ObservedUCB(), SEEN, "the observer's own"),
        (feint.Tracking(), feint.ThompsonSampling(), LAZY_CASES["linked"], "worth the same"),
        (feint.TopTwoTransport(), feint.ThompsonSampling(), LAZY_CASES["linked"], "worth the same"),
    ],
)
def test_parts_that_do_not_know_the_feedback_are_refused(explorer, reference, bandit, words):
    with pytest.raises(ValueError, match=words):
        feint.simulate(bandit, explorer, reference=reference, epsilon=0.1, horizon=10)
    if bandit is LAZY_CASES["linked"]:
        return
    with pytest.raises(ValueError, match=words):
        feint.Agent(4, explorer, reference, epsilon=0.1, feedback=bandit.feedback)


def test_goals_that_a_feedback_leaves_open_are_refused():
    class Own:
        def answer(self, means):
            return means > 0

    for goal, words in ((feint.TopArms(2), "spread leaves the answer open"), (Own(), "all private rewards are seen")):
        with pytest.raises(ValueError, match=words):
            feint.Agent(3, feint.RoundRobin([1]), goal=goal, epsilon=0.1, feedback=LINK)
