"""References with contexts: posteriors against the normal equations in high precision and against libraries,
probabilities against mpmath.
"""

import json
import math
from itertools import product

import mpmath
import numpy as np
import pytest
from scipy import stats

import feint
from context_agents import laplace
from feint.references import Clipped
from feint.references.past import Timing
from feint.references.recomputation import Recomputation
from feint.references.scores import DRAWS, count_wins, log_best_scores
from oracles import log_orthant_by_angle

SURELY = math.log(1e6)
Linear, Logistic = feint.LinearThompsonSampling, feint.LogisticThompsonSampling


def follow(reference, log, n_arms=2, timing=Timing(), pieces=1):  # noqa: B008 - frozen
    """Return log π of all rows, recomputed in pieces that go over a saved state."""
    found, state, size = [], None, len(log["arms"])
    for rows in np.array_split(np.arange(size), pieces):
        expected = Recomputation(reference, None, n_arms, False, timing)
        if state is not None:
            expected.recall(json.loads(state))
        columns = (None if log.get(name) is None else log[name][rows] for name in ("times", "due"))
        group, arms, rewards = (log[name][rows] for name in ("group", "arms", "rewards"))
        contexts = log["contexts"][rows].reshape(rows.size, -1)
        log_pi, tested = expected.rows(group, arms, rewards, *columns, contexts)
        table = np.full((rows.size, max(n_arms, log_pi.shape[1])), np.nan)
        table[tested] = log_pi
        found.append(table)
        state = json.dumps(expected.state())
    return np.concatenate(found)


def some_log(seed, n=40, d=3, n_arms=2, n_groups=2, shape=None):
    rng = np.random.default_rng(seed)
    return {
        "group": rng.integers(n_groups, size=n), "arms": rng.integers(n_arms, size=n),
        "rewards": rng.normal(1.0, 2.0, n), "contexts": rng.normal(size=shape or (n, d)),
    }  # fmt: skip


def known_before(log, timing, row):
    """Return (weight, row) of every reward that the agent of a row knew before it, with lists alone."""
    mine = [i for i in range(row + 1) if log["group"][i] == log["group"][row]]
    number, found = len(mine) - 1, []
    for m, i in enumerate(mine[:-1]):
        due = (m // timing.batch + 1) * timing.batch if timing.batch > 1 else m + 1 + timing.delay
        if due <= number:
            found.append((timing.discount ** (number - due), i))
    return found


def exact_scores(known, x, rewards, contexts, prior):
    """Return mean and variance of x′θ by the normal equations with 40 digits; `prior` is (sd, mean, σ)."""
    sd, mean, sigma = prior
    size = len(x)
    information = mpmath.diag([1 / mpmath.mpf(s) ** 2 if s < math.inf else mpmath.mpf(0) for s in sd])
    moments = information * mpmath.matrix([mpmath.mpf(m) for m in mean])
    for weight, i in known:
        row = mpmath.matrix([mpmath.mpf(float(v)) for v in contexts[i]])
        information += mpmath.mpf(weight) * row * row.T / mpmath.mpf(sigma) ** 2
        moments += mpmath.mpf(weight) * row * mpmath.mpf(float(rewards[i])) / mpmath.mpf(sigma) ** 2
    goal = mpmath.matrix([mpmath.mpf(float(v)) for v in x])
    solved = mpmath.lu_solve(information, goal)
    assert len(solved) == size
    return (solved.T * moments)[0], (solved.T * goal)[0]


class TestPosteriors:
    @pytest.mark.parametrize(
        "timing", [Timing(), Timing(delay=3), Timing(batch=7), Timing(discount=0.8), Timing(batch=4, discount=0.9)],
        ids=str,
    )  # fmt: skip
    def test_disjoint_against_the_normal_equations(self, timing):
        """Two arms, so that π is Φ of one number; features of very different scale, and nearly collinear ones."""
        log = some_log(1)
        log["contexts"][:, 1] = 1e4 * log["contexts"][:, 0] + log["contexts"][:, 1]
        sd, mean = (0.5, 2.0, 3.0, 7.0), (0.1, 0.0, -0.2, 1.0)
        found = follow(Linear(sd, 1.7, prior_mean=mean, intercept=True), log, timing=timing, pieces=3)
        with_one = np.column_stack([log["contexts"], np.ones(40)])
        with mpmath.workdps(40):
            for row in range(40):
                known = known_before(log, timing, row)
                (m0, v0), (m1, v1) = (
                    exact_scores([(w, i) for w, i in known if log["arms"][i] == a], with_one[row], log["rewards"],
                                 with_one, (sd, mean, 1.7)) for a in range(2)
                )  # fmt: skip
                z = (m0 - m1) / mpmath.sqrt(v0 + v1)
                expected = [float(mpmath.log(mpmath.ncdf(z))), float(mpmath.log(mpmath.ncdf(-z)))]
                np.testing.assert_allclose(found[row], expected, rtol=1e-8, atol=1e-9)

    def test_a_covariance_and_a_flat_prior(self):
        """A covariance is one sd per feature after a rotation; features with a flat prior wait for their data."""
        log = some_log(2, n_groups=1)
        turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
        covariance = turn @ np.diag([0.25, 4.0, 9.0]) @ turn.T
        turned = {**log, "contexts": log["contexts"] @ turn}
        np.testing.assert_allclose(
            follow(Linear(covariance), log), follow(Linear((0.5, 2.0, 3.0)), turned), rtol=1e-9, atol=1e-12
        )
        flat = follow(Linear((1.0, math.inf, math.inf)), log)
        counts = [np.bincount(log["arms"][:row], minlength=2).min() for row in range(40)]
        assert [bool(np.isnan(row).any()) for row in flat] == [count < 2 for count in counts]
        nearly = follow(Linear((1.0, 1e6, 1e6)), log)
        np.testing.assert_allclose(flat[30:], nearly[30:], rtol=1e-6, atol=1e-9)

    def test_shared_by_two(self):
        log = some_log(3, shape=(40, 2, 3))
        sd = (0.5, 2.0, 3.0)
        found = follow(Linear(sd, 0.6, shared=True), log, pieces=4)
        pulled = log["contexts"][np.arange(40), log["arms"]]
        with mpmath.workdps(40):
            for row in range(40):
                gap = log["contexts"][row, 0] - log["contexts"][row, 1]
                m, v = exact_scores(known_before(log, Timing(), row), gap, log["rewards"], pulled, (sd, (0, 0, 0), 0.6))
                expected = [float(mpmath.log(mpmath.ncdf(side * m / mpmath.sqrt(v)))) for side in (1, -1)]
                np.testing.assert_allclose(found[row], expected, rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("diagonal", [False, True])
    @pytest.mark.parametrize("batch", [1, 6])
    def test_logistic_against_another_newton(self, batch, diagonal):
        """Large contexts and clicks that go against them, where plain Newton steps would overshoot."""
        log = some_log(4, n_groups=1)
        log["rewards"] = (log["rewards"] > 1).astype(float)
        log["contexts"][20:] *= 30
        reference = Logistic(3.0, prior_mean=0.5, covariance="diagonal" if diagonal else "full", scale=0.7)
        found = follow(reference, log, timing=Timing(batch=batch), pieces=3)
        precision, mean, waiting = [np.eye(3) / 9] * 2, [np.full(3, 0.5)] * 2, []
        for row, x in enumerate(log["contexts"]):
            if row % batch == 0:
                for a in {log["arms"][i] for i in waiting}:
                    mine = [i for i in waiting if log["arms"][i] == a]
                    old = precision[a], mean[a]
                    precision[a], mean[a] = laplace(*old, log["contexts"][mine], log["rewards"][mine], diagonal)
                waiting = []
            variances = [0.49 * x @ np.linalg.solve(precision[a], x) for a in range(2)]
            z = (x @ (mean[0] - mean[1])) / math.sqrt(sum(variances))
            np.testing.assert_allclose(found[row], stats.norm.logcdf([z, -z]), rtol=1e-7, atol=1e-8)
            waiting.append(row)

    @pytest.mark.parametrize("reference", [Linear(), Logistic(), Linear(shared=True), Clipped(Linear(), 0.05)], ids=str)
    def test_pieces_and_restarts_change_nothing(self, reference):
        shared = getattr(reference, "shared", False)
        log = some_log(5, n_arms=5, shape=(40, 5, 2) if shared else None)
        log["rewards"] = (log["rewards"] > 1).astype(float)
        whole = follow(reference, log, 5, Timing(delay=4))
        np.testing.assert_array_equal(whole, follow(reference, log, 5, Timing(delay=4), pieces=9))

    def test_rewards_known_by_time(self):
        """Rewards that arrive between two rows are one batch of a Laplace approximation, as with `batch`."""
        log = some_log(6, n_groups=1)
        log["rewards"] = (log["rewards"] > 1).astype(float)
        times = np.arange(40)
        by_time = {**log, "times": times, "due": (times // 5 + 1) * 5}
        found = follow(Logistic(), by_time, timing=Timing(by_time=True), pieces=2)
        np.testing.assert_array_equal(found, follow(Logistic(), log, timing=Timing(batch=5)))


class TestProbabilities:
    """Test the probabilities of scores with given means and roots."""

    def test_three_scores_of_one_draw(self):
        """Against mpmath, with acute and obtuse angles between the differences."""
        rng = np.random.default_rng(0)
        means, roots = 0.7 * rng.normal(size=(6, 3)), rng.normal(size=(6, 3, 2))
        roots[3:, 0] = 0.5 * roots[3:, 1] + 0.5 * roots[3:, 2] + 0.2 * rng.normal(size=(3, 2))
        means[3:] *= 0.1
        found = log_best_scores(means, roots, joint=True)
        np.testing.assert_allclose(np.exp(found).sum(1), 1.0, rtol=1e-12)
        for i, a in product(range(6), range(3)):
            b, c = (other for other in range(3) if other != a)
            first, second = roots[i, a] - roots[i, b], roots[i, a] - roots[i, c]
            lengths = np.linalg.norm(first), np.linalg.norm(second)
            r = abs(first[0] * second[1] - first[1] * second[0]) / np.prod(lengths)
            h, k = (means[i, b] - means[i, a]) / lengths[0], (means[i, c] - means[i, a]) / lengths[1]
            expected = float(log_orthant_by_angle(h, k, r, 1 if first @ second > 0 else -1, 50))
            assert abs(found[i, a] - expected) < 1e-10 * max(1.0, abs(expected))

    @pytest.mark.parametrize("joint", [False, True])
    def test_equal_zero_and_collinear_contexts(self, joint):
        """Against argmax over 400,000 draws; a false failure has a probability below 1e-6 (5.9 sd, 24 numbers)."""
        rng = np.random.default_rng(1)
        means = np.array([[0.5, 0.0, 0.3]] * 4)
        roots = np.array([
            [[1.0, 0.5], [1.0, 0.5], [0.2, 0.1]],  # 0 and 1 have equal contexts, all lie in one direction
            [[0.0, 0.0], [1.0, 0.5], [0.2, -1.0]],  # a context of zeros
            [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0]],
            [[1.0, 0.0], [-1.0, 0.0], [2.0, 0.0]],  # one direction
        ])  # fmt: skip
        means[0, 1] = means[0, 0]
        found = np.exp(log_best_scores(means, roots, joint=joint))
        for i in range(4):
            noise = rng.normal(size=(400_000, 2 if joint else 3))
            scores = means[i] + (noise @ roots[i].T if joint else noise * np.linalg.norm(roots[i], axis=1))
            shares = np.bincount(scores.argmax(axis=1), minlength=3) / 400_000
            np.testing.assert_array_less(abs(found[i] - shares), 5.9 * np.sqrt(found[i] * (1 - found[i]) / 4e5) + 1e-12)

    def test_ties_go_to_the_first_arm(self):
        for n_arms in (2, 3, 5):
            zero = np.zeros((1, n_arms))
            for joint in (False, True)[: 2 if n_arms <= 3 else 1]:
                found = log_best_scores(zero, np.zeros((1, n_arms, 2)), joint=joint)
                assert found.tolist() == [[0.0] + [-math.inf] * (n_arms - 1)]

    def test_own_draws_are_fresh_fair_and_reproducible(self):
        """The wins of many rows add up to the exact probabilities of three arms (χ², level 1e-6)."""
        means, roots = np.array([[0.4, 0.0, -0.2]]), np.array([[[1.0, 0.2], [-0.3, 1.0], [-0.5, -0.8]]])
        rows = np.arange(400)
        wins = count_wins(np.repeat(means, 400, 0), np.repeat(roots, 400, 0), np.zeros(400, dtype=int), rows)
        expected = np.exp(log_best_scores(means, roots, joint=True))[0] * 400 * DRAWS
        assert stats.chisquare(wins.sum(0), expected).pvalue > 1e-6
        assert len({tuple(row) for row in wins.tolist()}) > 300
        again = count_wins(means, roots, np.array([0]), np.array([7]))
        np.testing.assert_array_equal(again[0], wins[7])
        assert (count_wins(means, roots, np.array([1]), np.array([7]))[0] != wins[7]).any()


class TestLibraries:
    """Compare with what common libraries do, written out; docs/audit.md says which arguments reproduce which."""

    @staticmethod
    def obp(seed, rows=600, batch=1, wrong=None):
        """LinTS of obp 0.4.1 as its source has it: Woodbury's update, RandomState, one draw per arm, the last of the
        sorted scores. `wrong` has the mistakes of others instead.
        """
        rng, random = np.random.default_rng(seed), np.random.RandomState(seed)
        theta, x = (0.1 if wrong == "1/q for its root" else 0.6) * rng.normal(size=(3, 4)), rng.normal(size=(rows, 4))
        inverse, moments = np.repeat(np.eye(4)[None], 3, 0), np.zeros((4, 3))
        kept_inverse, kept_moments = inverse.copy(), moments.copy()
        arms, rewards = np.zeros(rows, dtype=int), np.zeros(rows)
        for t in range(rows):
            context = x[t : t + 1]
            means = [kept_inverse[a] @ kept_moments[:, a] for a in range(3)]
            if wrong == "one draw":
                z = random.normal(size=4)
                drawn = [means[a] + np.linalg.cholesky(kept_inverse[a]) @ z for a in range(3)]
            elif wrong == "A for its inverse":
                drawn = [random.multivariate_normal(means[a], np.linalg.inv(kept_inverse[a])) for a in range(3)]
            elif wrong == "1/q for its root":  # sds α/q of each coefficient, as a diagonal posterior would have α/√q
                drawn = [random.normal(means[a], 1 / np.diag(np.linalg.inv(kept_inverse[a]))) for a in range(3)]
            else:
                drawn = [random.multivariate_normal(means[a], kept_inverse[a]) for a in range(3)]
            arms[t] = (context @ np.array(drawn).T).flatten().argsort()[::-1][0]
            rewards[t] = x[t] @ theta[arms[t]] + rng.normal()
            a = arms[t]
            change = inverse[a] @ context.T @ context @ inverse[a]
            inverse[a] -= change / (1 + context @ inverse[a] @ context.T)[0][0]
            moments[:, a] += rewards[t] * x[t]
            if (t + 1) % batch == 0:
                kept_inverse, kept_moments = inverse.copy(), moments.copy()
        return arms, rewards, x

    @pytest.mark.parametrize("batch", [1, 50])
    def test_obp_passes_at_its_defaults_and_in_batches(self, batch):
        total = 0.0
        for seed in range(3):
            arms, rewards, x = self.obp(seed, rows=300, batch=batch)
            report = feint.audit(
                arms, rewards, contexts=x, n_arms=3, batch=batch, reference=Linear(), initial_round=False, explain=False
            )
            total += report.log_e_value
        assert total < SURELY

    @pytest.mark.parametrize("wrong", ["one draw", "A for its inverse", "1/q for its root"])
    def test_what_is_wrong_is_rejected(self, wrong):
        arms, rewards, x = self.obp(0, rows=600, wrong=wrong)
        report = feint.audit(arms, rewards, contexts=x, n_arms=3, reference=Linear(), explain=False)
        assert report.rejected

    def test_ridge(self):
        """N(A⁻¹X′y, α²A⁻¹), A = X′X + λI, by hand."""
        log = some_log(8, n_groups=1)
        found = follow(Linear.ridge(4.0, 0.5), log)
        x = log["contexts"][-1]
        means, variances = [], []
        for a in range(2):
            mine = log["arms"][:-1] == a
            seen, y = log["contexts"][:-1][mine], log["rewards"][:-1][mine]
            matrix = seen.T @ seen + 4.0 * np.eye(3)
            means.append(x @ np.linalg.solve(matrix, seen.T @ y))
            variances.append(0.25 * x @ np.linalg.solve(matrix, x))
        z = (means[0] - means[1]) / math.sqrt(sum(variances))
        np.testing.assert_allclose(found[-1], stats.norm.logcdf([z, -z]), rtol=1e-9)
