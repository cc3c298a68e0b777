"""Probabilities of references that trials and platforms claim, against enumeration, mpmath and closed forms."""

import functools
import itertools
import json
import math
from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from scipy import stats

import feint
from feint.references import NormalInverseGamma
from feint.references.past import Timing
from feint.references.recomputation import Recomputation
from recomputed import log_pi

TS, BERNOULLI, NORMAL = feint.ThompsonSampling(), feint.Bernoulli(), feint.Gaussian()


class TestBlocks:
    @staticmethod
    @functools.cache
    def orders(quotas):
        return sorted(set(itertools.permutations([a for a, n in enumerate(quotas) for _ in range(n)])))

    def chance(self, pulls, sizes, ratio, weights):
        """Return the probability that a log begins with these pulls, by going through all blocks and their orders."""
        if not pulls:
            return Fraction(1)
        total = Fraction(0)
        for size, weight in zip(sizes, weights, strict=True):
            orders = self.orders(tuple(size * r // sum(ratio) for r in ratio))
            block, rest = pulls[:size], pulls[size:]
            fitting = sum(order[: len(block)] == block for order in orders)
            if fitting:
                total += weight * Fraction(fitting, len(orders)) * self.chance(rest, sizes, ratio, weights)
        return total

    @pytest.mark.parametrize(
        ("sizes", "ratio", "weights", "rows"),
        [
            ((4,), (1, 1), (Fraction(1),), 7),
            ((2, 4), (1, 1), (Fraction(1, 4), Fraction(3, 4)), 7),
            ((2, 4, 6), (1, 1), (Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)), 8),
            ((3, 6), (2, 1), (Fraction(1, 2), Fraction(1, 2)), 7),
            ((3, 6), (1, 1, 1), (Fraction(1, 8), Fraction(7, 8)), 6),
        ],
    )
    def test_probabilities_are_those_of_all_blocks(self, sizes, ratio, weights, rows):
        reference = feint.PermutedBlocks(sizes, ratio, [float(weight) for weight in weights])
        for pulls in itertools.product(range(len(ratio)), repeat=rows):
            before = [self.chance(pulls[:t], sizes, ratio, weights) for t in range(rows)]
            possible = sum(chance > 0 for chance in before)
            found = np.exp(log_pi(reference, pulls, n_arms=len(ratio)))[:possible]
            for t in range(possible):
                each = [self.chance((*pulls[:t], a), sizes, ratio, weights) / before[t] for a in range(len(ratio))]
                assert found[t] == pytest.approx([float(p) for p in each], abs=1e-12)
                assert [p == 0 for p in each] == (found[t] == 0).tolist()

    def test_blocks_of_strata_and_pieces_of_a_log(self):
        """Strata have blocks of their own, in whatever pieces the log comes and after a restart."""
        rng = np.random.default_rng(0)
        arms, strata = rng.integers(0, 2, 300), rng.integers(0, 3, 300)
        reference = feint.Holdout(feint.PermutedBlocks((2, 4)), 1, 0.2)
        whole, _ = Recomputation(reference, NORMAL, 2).rows(strata, arms, np.zeros(300))
        for stratum in range(3):
            alone = log_pi(reference, arms[strata == stratum], n_arms=2)
            np.testing.assert_array_equal(whole[strata == stratum], alone)
        pieces, state = [], None
        for start, stop in itertools.pairwise([0, 1, 50, 51, 52, 200, 300]):
            part = Recomputation(reference, NORMAL, 2)
            if state is not None:
                part.recall(json.loads(json.dumps(state)))
            pieces.append(part.rows(strata[start:stop], arms[start:stop], np.zeros(stop - start))[0])
            state = part.state()
        np.testing.assert_array_equal(np.concatenate(pieces), whole)

    def test_pulls_count_whenever_their_rewards_are_known(self):
        arms, rewards = [0, 1, 1, 0, 0, 1], [1.0, math.nan, 0.0, 1.0, 1.0, 0.0]
        for reference in (feint.PermutedBlocks(), feint.BiasedCoin()):
            expected = log_pi(reference, arms, n_arms=2)
            np.testing.assert_array_equal(log_pi(reference, arms, rewards, n_arms=2, timing=Timing(delay=3)), expected)
            np.testing.assert_array_equal(log_pi(reference, arms, rewards, n_arms=2, timing=Timing(batch=4)), expected)
        report = feint.audit(arms, [1, 0, 1, 0, 1, 0], n_arms=2, reference=feint.PermutedBlocks(), delay=3)
        assert report.tested == 6

    def test_a_full_block_refutes(self):
        report = feint.audit([0, 1, 0, 0, 1], n_arms=2, reference=feint.PermutedBlocks())
        assert report.impossible == (4, 0, 1)
        observer = feint.Observer(2, feint.PermutedBlocks(), initial_round=False)
        for arm in (0, 1, 0):
            observer.update(arm, 0.0)
        with pytest.raises(ValueError, match="probability 0; that refutes the claim"):
            observer.update(0, 0.0)


def test_biased_coin():
    arms = [0, 0, 0, 1, 1, 1, 1, 1, 1]
    found = np.exp(log_pi(feint.BiasedCoin(0.75, mti=3), arms, n_arms=2))[:, 0]
    assert found.tolist() == [0.5, 0.25, 0.25, 0.0, 0.25, 0.25, 0.5, 0.75, 0.75]
    stick = np.exp(log_pi(feint.BiasedCoin(0.5, mti=2), [0, 0, 1, 1], n_arms=2))[:, 0]
    assert stick.tolist() == [0.5, 0.5, 0.0, 0.5]


def test_play_the_winner_is_an_urn():
    rng = np.random.default_rng(1)
    arms, rewards = rng.integers(0, 3, 40), rng.integers(0, 2, 40)
    reference = feint.PlayTheWinner(2, 3, 4)
    found = np.exp(log_pi(reference, arms, rewards, n_arms=3, family=BERNOULLI, timing=Timing(delay=1)))
    urn = [Fraction(2)] * 3
    for t in range(40):
        assert found[t] == pytest.approx([float(balls / sum(urn)) for balls in urn], rel=1e-12)
        if t:  # the reward of the row before becomes known
            for a in range(3):
                mine = a == arms[t - 1]
                urn[a] += 3 * mine if rewards[t - 1] else Fraction(4, 2) * (not mine)


class TestAroundAnother:
    INSIDE = feint.Split([0.6, 0.3, 0.09, 0.01])

    def of(self, reference):
        return np.exp(log_pi(reference, [0, 1, 2], n_arms=4))

    def test_holdout(self):
        assert self.of(feint.Holdout(self.INSIDE, 2, 0.2))[0] == pytest.approx([0.48, 0.24, 0.272, 0.008], rel=1e-12)

    def test_tempered(self):
        for t, power in enumerate([0.0, 0.25, 0.5]):
            weights = np.array([0.6, 0.3, 0.09, 0.01]) ** power
            found = self.of(feint.Tempered(self.INSIDE, "n/4"))[t]
            assert found == pytest.approx(weights / weights.sum(), rel=1e-12)
            if power:
                assert self.of(feint.Tempered(self.INSIDE, power))[0] == pytest.approx(found, rel=1e-12)
        impossible = feint.Tempered(feint.BiasedCoin(mti=1), 0.0)
        assert np.exp(log_pi(impossible, [0, 1], n_arms=2))[1].tolist() == [0.0, 1.0]

    def test_control_share(self):
        """The other arms are drawn as if there were no control."""
        rng = np.random.default_rng(2)
        arms, rewards = rng.integers(0, 4, 30), rng.integers(0, 2, 30)
        prior = [(1, 1), (5, 1), (2, 2)]
        reference = feint.ControlShare(feint.ThompsonSampling(prior), 1, 0.3)
        found = np.exp(log_pi(reference, arms, rewards, n_arms=4, family=BERNOULLI))
        others = [0, 2, 3]
        for t in (0, 10, 29):
            counts, sums = (np.bincount(arms[:t], by, minlength=4)[others] for by in (None, rewards[:t]))
            wins, losses = np.array(prior).T
            best = feint.beta_best_arm_probabilities(wins + sums, losses + counts - sums)
            assert found[t, others] == pytest.approx(0.7 * best, rel=1e-9)
            assert found[t, 1] == pytest.approx(0.3, rel=1e-15)

    def test_control_share_of_blocks_and_of_ones_own(self):
        """The references inside see the others alone, in their own order."""
        seen = []

        class Own:
            def log_probabilities(self, view):
                seen.append(view.arms.tolist())
                return np.log(np.full(2, 0.5))

        arms = [1, 0, 2, 2, 1, 0]
        blocks = np.exp(log_pi(feint.ControlShare(feint.PermutedBlocks((2,)), 1, 0.5), arms, n_arms=3))
        assert blocks[2].tolist() == [0.0, 0.5, 0.5]
        assert blocks[3].tolist() == [0.25, 0.5, 0.25]
        report = feint.audit([0, *arms], np.zeros(7), n_arms=3, reference=feint.ControlShare(Own(), 1, 0.5), delay=2)
        assert seen[-1] == [0, 0, 1, 1][: len(seen[-1])]
        assert report.tested == len(seen)

    @pytest.mark.parametrize(("low", "high"), [(0.0, 0.5), (0.02, 0.5), (0.05, 0.4), (0.2, 0.35), (0.1, 1.0)])
    def test_clipped_both_ways(self, low, high):
        """π' = min(max(c·π, low), high) sums to 1 for one c."""
        pi = np.array([0.6, 0.3, 0.09, 0.01])
        found = self.of(feint.Clipped(self.INSIDE, low, high))[0]
        assert found.sum() == pytest.approx(1, abs=1e-12)
        free = (found > low + 1e-9) & (found < high - 1e-9)
        assert free.any()
        assert found == pytest.approx(np.clip((found / pi)[free][0] * pi, low, high), rel=1e-9)

    def test_a_cap_that_no_scale_reaches(self):
        """An arm that is forced by a coin is capped, and the impossible one gets the rest."""
        reference = feint.Clipped(feint.BiasedCoin(mti=1), 0.0, 0.9)
        assert np.exp(log_pi(reference, [0, 1], n_arms=2))[1] == pytest.approx([0.1, 0.9])

    def test_around_what_is_for_whole_logs(self):
        rng = np.random.default_rng(3)
        arms, rewards = rng.integers(0, 3, 60), rng.normal(size=60)
        inside = np.exp(log_pi(NormalInverseGamma((0, 1, 1, 1)), arms, rewards, n_arms=3))
        held = np.exp(log_pi(feint.Holdout(NormalInverseGamma((0, 1, 1, 1)), 0, 0.25), arms, rewards, n_arms=3))
        assert held == pytest.approx(0.75 * inside + 0.25 * np.array([1, 0, 0]), rel=1e-9)
        share = feint.ControlShare(NormalInverseGamma((0, 1, 1, 1)), 0, 0.25)
        assert np.exp(log_pi(share, arms, rewards, n_arms=3))[:, 0] == pytest.approx(0.25)
        with pytest.raises(ValueError, match="give a number as the power"):
            log_pi(feint.Tempered(NormalInverseGamma(), "n/4"), arms, rewards, n_arms=3)


def test_top_two_against_its_definition():
    """π_a = β·p_a + (1 − β)·Σ_{b≠a} p_b·p_a/(1 − p_b) in 50 digits, also where the leader is all but sure."""
    for wins in (3, 60, 2_000):
        arms, rewards = [0] * wins + [1, 2] * wins + [0], [1] * wins + [0, 1] * wins + [0]
        found = log_pi(feint.TopTwoThompson(0.7), arms, rewards, n_arms=3, family=BERNOULLI)[-1]
        log_p = feint.beta_best_arm_probabilities([1 + wins, 1, 1 + wins], [1, 1 + wins, 1], log=True)
        with mp.workdps(50):
            p = [mp.exp(x) for x in log_p]
            p[0] = 1 - p[1] - p[2]
            for a in range(3):
                second = sum(p[b] * p[a] / sum(p[c] for c in range(3) if c != b) for b in range(3) if b != a)
                exact = mp.log(mp.mpf("0.7") * p[a] + mp.mpf("0.3") * second)
                assert found[a] == pytest.approx(float(exact), rel=1e-9)
        assert np.exp(found).sum() == pytest.approx(1, abs=1e-12)


def score_integral(alphas, betas, weights, costs):
    """Return P(argmax w·X − c) by mpmath, integrated over X of each arm and cut where another arm's support ends."""
    with mp.workdps(25):
        al, be, w, c = ([mp.mpf(x) for x in row] for row in (alphas, betas, weights, costs))
        k, found = len(w), []

        def cdf(j, x):
            return mp.mpf(0) if x <= 0 else mp.mpf(1) if x >= 1 else mp.betainc(al[j], be[j], 0, x, regularized=True)

        for a in range(k):
            cuts = {mp.mpf(0), mp.mpf(1)}
            for j in range(k):
                cuts |= {x for x in ((c[a] - c[j]) / w[a], (w[j] - c[j] + c[a]) / w[a]) if 0 < x < 1}
                cuts.add(al[j] / (al[j] + be[j]))

            def integrand(x, a=a):
                density = x ** (al[a] - 1) * (1 - x) ** (be[a] - 1) / mp.beta(al[a], be[a])
                others = (cdf(j, (w[a] * x - c[a] + c[j]) / w[j]) for j in range(k) if j != a)
                return density * mp.fprod(others)

            found.append(float(mp.quad(integrand, sorted(cuts))))
        return found


class TestScored:
    CASES = (
        ((1, 1), (1, 1), (1, 1), (0, 0.2)),
        ((0.5, 0.5), (0.5, 0.5), (1, 1), (0, 0)),
        ((0.5, 1.5, 7.5), (0.5, 2.5, 0.5), (1, 2, 0.7), (0, 0.3, -0.1)),
        ((6, 5, 3), (4, 45, 3), (1, 1.2, 0.5), (0.1, 0.2, 0)),
        ((2, 2), (3, 3), (1, 1), (0, 1.5)),
        ((5, 40), (1, 3), (1, 0.1), (0, -0.85)),
    )

    def found(self, alphas, betas, weights, costs):
        prior = list(zip(alphas, betas, strict=True))
        reference = feint.ScoredThompson(weights, costs, prior=prior)
        return np.exp(log_pi(reference, [0], [0.0], n_arms=len(prior), family=BERNOULLI)[0])

    @pytest.mark.parametrize("case", CASES)
    def test_beta_against_mpmath(self, case):
        assert self.found(*case) == pytest.approx(score_integral(*case), abs=1e-10)

    def test_scores_of_one_weight_are_thompson_sampling(self):
        """Without costs the arms' own scale does not matter, for which another kernel is exact; up to 10⁶ pulls."""
        rng = np.random.default_rng(4)
        for n in (3, 50, 10**4, 10**6):
            alphas = 1 + rng.binomial(n, 0.5, 5)
            expected = feint.beta_best_arm_probabilities(alphas, n + 2 - alphas)
            for weight in (1.0, 7.0):
                found = self.found(alphas, n + 2 - alphas, [weight] * 5, [0.3] * 5)
                assert found == pytest.approx(expected, abs=1e-10)

    def test_normal_against_draws(self):
        reference = feint.ScoredThompson([1, 2, 0.5], [0, 0.4, -0.2], 0.9, prior=(0.3, 1))
        found = np.exp(log_pi(reference, [0, 1, 2, 0], [1.0, 0.5, 0.2, 0.0], n_arms=3)[-1])
        rng = np.random.default_rng(5)
        means = np.array([(0.3 + 1.0) / 2, 0.4, 0.25])
        draws = rng.normal(means, math.sqrt(0.5), (10**6, 3))
        counts = np.bincount((np.array([1, 2, 0.5]) * draws - [0, 0.4, -0.2]).argmax(1), minlength=3)
        greedy = np.array([1.0, 0.0, 0.0])  # scores of the means: 0.65, 0.4, 0.325
        assert stats.chisquare(counts, 10**6 * (found - 0.1 * greedy) / 0.9).pvalue > 1e-6

    def test_ties_and_no_exploration(self):
        reference = feint.ScoredThompson([1, 1, 1], [0, 0, 0.1], 0.0)
        found = np.exp(log_pi(reference, [0], [0.0], n_arms=3, family=BERNOULLI)[0])
        assert found.tolist() == [0.5, 0.5, 0.0]
        both = np.exp(log_pi(feint.ScoredThompson([1, 1, 1], [0, 0, 0], 0.4), [0], [0], n_arms=3, family=BERNOULLI)[0])
        assert both == pytest.approx([1 / 3] * 3, abs=1e-12)
