"""What the paper's lemmas and equations say, computed where it can be; docs/paper.md names the test of each."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

import feint
from cases import PAPER
from feint.agent.public_log import RewardStream

CASE_2 = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.49, 0.5, 0.1, 0.0])


def divergence(q, p):
    """Return KL(Ber(q) ‖ Ber(p)), Equation 10."""
    return q * np.log(q / p) + (1 - q) * np.log((1 - q) / (1 - p))


def test_rewards_of_section_2_1_are_normal():
    """Public and private rewards of each arm against N(μ, σ²), by Kolmogorov and Smirnov at 1e-6."""
    bandit = feint.Bandit([0.6, -0.3], [0.2, 0.5], sigma=2.0)
    stream = RewardStream(bandit, seed=3, replication=0)
    for arm, means in enumerate(zip(bandit.public, bandit.private, strict=True)):
        rewards = np.array([stream.rewards(t, arm) for t in range(5_000)])
        for values, mean in zip(rewards.T, means, strict=True):
            assert stats.kstest(values, stats.norm(mean, 2.0).cdf).pvalue > 1e-6


def test_equation_1_is_the_normal_posterior():
    """Bayes' rule on a grid, reward by reward from a flat prior, against N(μ̂, σ²/N)."""
    sigma, rewards = 0.8, np.random.default_rng(0).normal(0.3, 0.8, 5)
    grid = np.linspace(-6, 6, 20_001)
    density = np.ones(grid.size)
    for reward in rewards:
        density *= stats.norm.pdf(reward, grid, sigma)
        density /= density.sum()
    mean = density @ grid
    family = feint.Gaussian(sigma)
    found = family.posterior(family.prior(None), np.array([5.0]), np.array([rewards.sum()]))
    assert [float(x[0]) for x in found] == pytest.approx([mean, math.sqrt(density @ (grid - mean) ** 2)], rel=1e-9)


def test_equation_7_is_the_leading_term():
    """log(1 − p*) over it tends to 1 as all pulls grow; what is missing is of the order of log N."""
    ratios = []
    for scale in (10, 1_000, 100_000):
        pulls = scale * np.array([30.0, 4.0, 5.0, 3.0])
        logs = feint.best_arm_probabilities(PAPER.private, 1 / np.sqrt(pulls), log=True)
        ratios.append(np.logaddexp.reduce(np.delete(logs, 1)) / feint.error_exponent(PAPER, pulls))
    assert ratios[0] > ratios[1] > ratios[2] > 1.0
    assert ratios[2] == pytest.approx(1.0, abs=1e-3)
    with pytest.raises(ValueError, match="a number above 0 for each of the 4 arms"):
        feint.error_exponent(PAPER, [1, 2, 3])


# The proof of Lemma 1 (Appendix A.1)


def test_equations_11_to_13_reduce_the_boost_to_one_number():
    """The chain rule of KL, and what follows: no Q with Q(E) = q is nearer to P than the one that keeps proportions."""
    rng = np.random.default_rng(1)
    event = np.array([True, True, False, False, False])
    for _ in range(100):
        p, q = rng.dirichlet(np.ones(5), 2)
        inside, outside = q[event].sum(), q[~event].sum()

        def kl(a, b):
            return float((a * np.log(a / b)).sum())

        parts = [kl(q[side] / q[side].sum(), p[side] / p[side].sum()) for side in (event, ~event)]
        between = divergence(inside, p[event].sum())
        assert kl(q, p) == pytest.approx(parts[0] * inside + parts[1] * outside + between, rel=1e-10, abs=1e-14)
        kept = np.where(event, p * inside / p[event].sum(), p * outside / p[~event].sum())
        assert kl(kept, p) == pytest.approx(between, rel=1e-10, abs=1e-14)


def test_equations_14_to_18_bound_the_divergence():
    """On a grid of q, p ≤ ½; and Equation 15's bound grows without limit as p falls."""
    x = np.linspace(1e-9, 0.5, 2_000)
    assert (-x - x**2 <= np.log1p(-x)).all()
    assert (np.log1p(-x) <= -x).all()
    assert (x <= -np.log1p(-x)).all()
    assert (-np.log1p(-x) <= x / (1 - x)).all()
    assert (x / (1 - x) <= 2 * x + 1e-16).all()
    q, p = np.meshgrid(np.linspace(1e-4, 0.5, 300), np.logspace(-12, math.log10(0.5), 300))
    exact, leading = divergence(q, p), q * np.log(q / p)
    assert (leading - q - q**2 <= exact + 1e-15).all()
    assert (exact <= leading - q + q**2 + 2 * p + 1e-15).all()
    bound = leading + (1 - q) * np.log(1 - q)
    assert (exact >= bound - 1e-15).all()
    assert np.diff(bound, axis=0) / np.diff(np.log(p), axis=0) == pytest.approx(-q[1:], rel=1e-6)  # so without limit


# Lemma 3 and the proof of Lemma 2 (Appendix A.2)


def law_of_the_sum(chances, until):
    """Return P(Σ X_i = n) for n = 0 … until, of independent geometric X_i ≥ 1."""
    law = np.eye(1, until + 1)[0]
    for p in chances:
        law = np.convolve(law, np.append(0.0, p * (1 - p) ** np.arange(until)))[: until + 1]
    return law


@pytest.mark.parametrize(("c", "offset", "h"), [(1.0, 1.0, 1), (1.0, 2.0, 6), (0.5, 3.0, 12)])
def test_lemma_3_bounds_the_tails_of_waiting_times(c, offset, h):
    """By convolution: E[T_h] is Equation 32, its upper tail that of Equations 29 and 33, and the lower corrected."""
    chances = c / (np.arange(h) + offset)
    mean = h * (h - 1) / (2 * c) + offset * h / c
    law = law_of_the_sum(chances, int(30 * mean) + 50)
    assert law.sum() == pytest.approx(1.0, abs=1e-6)
    assert law @ np.arange(law.size) == pytest.approx(mean, rel=1e-4)
    below = law.cumsum()
    for factor in (1.0, 1.2, 2.0, 5.0):
        upper = 1.0 - below[math.ceil(factor * mean) - 1]
        exponent = factor - 1 - math.log(factor)
        assert upper <= math.exp(-chances.min() * mean * exponent) + 1e-12  # Equation 29
        assert upper <= math.exp(-h * (h - 1) / (2 * (offset + h - 1)) * exponent) + 1e-12  # Equation 33
        lower = below[math.floor(mean / factor)]
        assert lower <= math.exp(-chances.min() * mean * (1 / factor - 1 + math.log(factor))) + 1e-12


# Lemmas 4 to 7 and the proof of Theorem 1 (Appendix A.3); tests/theory/test_errata.py has Lemma 4


def laws_of_the_count(chance, trials, most):
    """Return P(M_t = m), (trials + 1, most + 1); trial t succeeds with probability chance(t, m) after m successes."""
    laws = [np.eye(1, most + 1)[0]]
    for t in range(1, trials + 1):
        up = laws[-1] * chance(t, np.arange(most + 1))
        laws.append(laws[-1] - up + np.append(0.0, up[:-1]))
    return np.array(laws)


def test_lemma_5_orders_the_counts():
    """A chance between g(M) and f(M), whatever else it depends on, has a count between theirs (Equation 42)."""
    rng = np.random.default_rng(3)
    low, high = np.sort(rng.uniform(0.05, 0.95, (2, 41)), axis=0)
    between = rng.uniform(0, 1, (41, 41))
    chances = (lambda t, m: low[m], lambda t, m: low[m] + between[t, m] * (high[m] - low[m]), lambda t, m: high[m])
    tails = [laws_of_the_count(chance, 40, 40)[:, ::-1].cumsum(1)[:, ::-1] for chance in chances]
    for less, more in itertools.pairwise(tails):
        assert (less <= more + 1e-12).all()
        assert (less < more - 0.01).any()


def test_lemma_6_keeps_the_growth_between_the_rates():
    """A chance between c₁/(M + M_0) and c₂/(M + M_0) keeps M_T between √(2c₁T) and √(2c₂T), ever more surely."""
    low, high, offset, slack = 0.5, 1.5, 2.0, 0.3

    def chance(t, m):
        return (low + (high - low) * ((t + m) % 3) / 2) / (m + offset)

    laws, count = laws_of_the_count(chance, 8_000, 400), np.arange(401)
    outside = []
    for t in (500, 2_000, 8_000):
        above = laws[t][count > (1 + slack) * math.sqrt(2 * high * t)].sum()
        below = laws[t][count < math.sqrt(2 * low * t) / (1 + slack)].sum()
        outside.append((above, below))
    assert (np.diff(outside, axis=0) < 0).all()
    assert max(outside[-1]) < 1e-6


def test_lemma_7_the_best_public_arm_is_pulled_ever_more_often():
    """N_1/N_a of every boosted arm grows from decade to decade in every run, and like √T (Theorem 1) in the end."""
    times = [10**k for k in (4, 5, 6, 7, 8)]
    runs = feint.simulate(
        PAPER,
        feint.RoundRobin([1, 2, 3]),
        epsilon=0.1,
        horizon=times[-1],
        replications=20,
        checkpoints=times,
        seed=2,
        method="event",
    )
    ratios = runs.pulls.values[:, :, :1] / runs.pulls.values[:, :, 1:]
    assert (np.diff(ratios, axis=1) > 0).all()
    assert np.log10(ratios[:, -1] / ratios[:, -2]).mean() == pytest.approx(0.5, abs=0.02)


def test_equation_47_tends_to_one_where_all_arms_are_pulled():
    """c_t, the probability that the other arms lie below the bar, as pulls grow at the rates of Theorem 1."""
    times = np.array([1e2, 1e3, 1e4, 1e6])
    pulls = feint.predicted_pulls(PAPER, [0, 1 / 3, 1 / 3, 1 / 3], 0.1, times, "first")
    bar = PAPER.public[0] + 1.0 / np.sqrt(pulls[:, 0])
    c_t = [stats.norm.cdf(x, PAPER.public[2:], 1 / np.sqrt(n[2:])).prod() for x, n in zip(bar, pulls, strict=True)]
    assert (np.diff(c_t) > 0).all()
    assert c_t[-1] == pytest.approx(1.0, abs=1e-9)


def test_equations_55_to_57_bound_what_is_boosted_where_both_arms_grow_alike():
    """If N_1 ≥ c·N_a, then π_a ≤ exp(−N_a·c·Δ²/2(c + 1)), which boosted is at most of the order ε/N_a."""
    epsilon, gap, counts = 0.1, 0.6, np.array([1e3, 1e5, 1e7])
    for c in (0.1, 1.0, 10.0):
        rate = c * gap**2 / (2 * (c + 1))
        boosted = feint.boost_probability(None, epsilon, log_p=-rate * counts)
        assert (boosted * counts * rate / epsilon)[-1] == pytest.approx(1.0, abs=1e-3)


def test_equations_46_to_48_and_58_to_60_bound_the_reference():
    """P(B_t) ≤ π_a ≤ P(X_a > X_1) ≤ exp(−N_1·N_a·Δ²/2σ²(N_1 + N_a)), with σ_{1,t} a standard deviation (errata)."""
    rng = np.random.default_rng(4)
    for _ in range(50):
        pulls = np.array([rng.integers(50, 5_000), *rng.integers(2, 60, 3)]).astype(float)
        means = np.array([0.6, *rng.uniform(-0.5, 0.5, 3)])
        sds = 1 / np.sqrt(pulls)
        pi = feint.best_arm_probabilities(means, sds)
        for a, beta in itertools.product((1, 2, 3), (0.5, 1.0, 2.0)):
            bar = means[0] + beta * sds[0]
            others = [j for j in (1, 2, 3) if j != a]
            c_t = stats.norm.cdf(bar, means[others], sds[others]).prod()  # Equation 47
            assert c_t * stats.norm.cdf(beta) * stats.norm.sf(bar, means[a], sds[a]) <= pi[a] * (1 + 1e-12)
            gap = means[0] - means[a]
            beats_first = stats.norm.sf(gap / math.hypot(sds[0], sds[a]))
            bound = math.exp(-pulls[0] * pulls[a] * gap**2 / (2 * (pulls[0] + pulls[a])))
            assert pi[a] <= beats_first * (1 + 1e-12)
            assert beats_first <= bound
            ratio = pulls[0] / pulls[a]
            assert bound == pytest.approx(math.exp(-ratio * pulls[a] * gap**2 / (2 * (ratio + 1))), rel=1e-9)


def test_equations_50_and_51_lead_to_the_rate():
    """π_a = exp(−d·N) boosted is ε/(d·N + log ε) as N grows, so that by Lemma 2 N/√T tends to Theorem 1's rate."""
    d, epsilon = PAPER.public_gaps[2] ** 2 / 2, 0.1
    counts = np.array([1e3, 1e5, 1e7])
    boosted = feint.boost_probability(None, epsilon, log_p=-d * counts)
    ratio = boosted / (epsilon / (d * counts + math.log(epsilon)))
    assert (np.diff(ratio) < 0).all()
    assert ratio[-1] == pytest.approx(1.0, abs=1e-4)
    assert feint.pull_rate(PAPER, epsilon)[2] == pytest.approx(math.sqrt(2 * epsilon / d), rel=1e-12)


# Appendix B


@pytest.mark.parametrize("bandit", [PAPER, CASE_2], ids=["case 1", "case 2"])
def test_equations_64_to_70_solve_the_maximin(bandit):
    """The appendix's own way, by F(y) = 0, to the weights and the value of `optimal_boosting`."""
    one, i_star = bandit.best_private, bandit.best_public
    arms = [a for a in range(bandit.n_arms) if a not in (one, i_star)]
    d, gaps = bandit.public_gaps, bandit.private_gaps

    def root(a, y):  # √x_a(y), the inverse of g_a
        return y * d[a] / (gaps[a] ** 2 - y * d[one])

    def slope(a, y):  # x_a′(y)
        return 2 * root(a, y) * d[a] * gaps[a] ** 2 / (gaps[a] ** 2 - y * d[one]) ** 2

    def equation_69(y):
        return 1 + sum(root(a, y) ** 2 for a in arms) - y / 2 * sum(slope(a, y) for a in arms)

    top = min(gaps[a] for a in arms) ** 2 / d[one]
    grid = np.linspace(1e-6, 0.99, 200) * top
    assert (np.diff([equation_69(y) for y in grid]) < 0).all()  # Equation 70
    best = brentq(equation_69, 1e-9 * top, (1 - 1e-9) * top, xtol=1e-14)
    limit = gaps[i_star] ** 2 / d[one]
    assert (best > limit) == (bandit is CASE_2)
    y = min(best, limit)
    x = {a: root(a, y) ** 2 for a in arms}
    whole = 1 + sum(x.values())
    found = feint.optimal_boosting(bandit)
    assert found.weights[one] == pytest.approx(1 / whole, rel=1e-6)  # Equation 65
    assert found.weights[arms] == pytest.approx([x[a] / whole for a in arms], rel=1e-6)
    assert found.gamma == pytest.approx(y / math.sqrt(whole), rel=1e-10)  # Equations 66 to 68
