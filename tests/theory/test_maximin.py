"""The exponent, the optimal boosting and the classical allocation agree with closed forms and two other methods."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize

from cases import PAPER
from feint.bandit import Bandit
from feint.theory import gamma, optimal_allocation, optimal_boosting

CASE_2 = Bandit([0.6, 0.3, 0.0, 0.2], [0.49, 0.5, 0.1, 0.0])


def random_bandit(rng, n_arms, low=-6.0, high=3.0):
    """Draw a bandit with gaps spread evenly in their logarithm, and best arms anywhere."""
    public, private = -(10.0 ** rng.uniform(low, high, (2, n_arms)))
    public[rng.integers(n_arms)] = 0.0
    private[rng.integers(n_arms)] = 0.0
    return Bandit(public, private)


def evidence_terms(bandit, weights):
    """Return {arm: f_a(w)} of Equation 8, written out term by term."""
    one, i_star = bandit.best_private, bandit.best_public
    d, gaps = bandit.public_gaps, bandit.private_gaps
    terms = {}
    for a in range(bandit.n_arms):
        if a == one:
            continue
        if one == i_star:
            terms[a] = math.sqrt(weights[a]) * gaps[a] ** 2 / d[a]
        elif a == i_star:
            terms[a] = math.sqrt(weights[one]) * gaps[a] ** 2 / d[one]
        else:
            top = math.sqrt(weights[one] * weights[a]) * gaps[a] ** 2
            terms[a] = top / (math.sqrt(weights[one]) * d[a] + math.sqrt(weights[a]) * d[one])
    return {a: value / bandit.sigma for a, value in terms.items()}


def oracle(bandit):
    """Return (weights, Γ*) in 60 digits, from the dual view: the cheapest pulls that gather evidence 1.

    With N_a = √w_a/d_a the problem is to minimise Σ d_a²·N_a² subject to 1/N_1 + 1/N_a ≤ Δ_a², Γ* = 1/√minimum. Given
    N_1 the others follow, and the cost is convex in N_1 with derivative 0 where d_1²·N_1³ = Σ d_a²·N_a³. Bisection.
    """
    one, i_star = bandit.best_private, bandit.best_public
    assert one != i_star
    with mp.workdps(60):
        public, private = [[mp.mpf(x) for x in means] for means in (bandit.public, bandit.private)]
        d = [public[i_star] - x for x in public]
        gaps = [private[one] - x for x in private]
        others = [a for a in range(bandit.n_arms) if a not in (one, i_star)]
        nearest = min(gaps[a] for a in others)

        def pulls(first):
            return {a: 1 / (gaps[a] ** 2 - 1 / first) for a in others}

        low, high = mp.mpf(-200), mp.mpf(200)  # first = (1 + e^z)/Δ_m²
        for _ in range(200):
            z = (low + high) / 2
            first = (1 + mp.exp(z)) / nearest**2
            if d[one] ** 2 * first**3 < sum(d[a] ** 2 * n**3 for a, n in pulls(first).items()):
                low = z
            else:
                high = z
        first = max(first, 1 / gaps[i_star] ** 2)
        costs = {one: d[one] ** 2 * first**2} | {a: d[a] ** 2 * n**2 for a, n in pulls(first).items()}
        total = sum(costs.values())
        weights = [costs.get(a, mp.mpf(0)) / total for a in range(bandit.n_arms)]
        return weights, 1 / mp.sqrt(total)


@pytest.mark.parametrize("bandit", [PAPER, CASE_2, Bandit([1.0, 0.2, 0.4], [2.0, 0.0, 1.0], sigma=3.0)])
def test_gamma_is_the_papers_formula(bandit):
    rng = np.random.default_rng(0)
    for weights in rng.dirichlet(np.ones(bandit.n_arms), 50):
        assert gamma(bandit, weights) == pytest.approx(min(evidence_terms(bandit, weights).values()), rel=1e-14)


def test_weight_on_the_best_public_arm_is_wasted():
    """Γ is homogeneous of degree ½ in the other weights and does not see this one."""
    assert gamma(PAPER, [0.75, 0.1, 0.1, 0.05]) == pytest.approx(0.5 * gamma(PAPER, [0.0, 0.4, 0.4, 0.2]), rel=1e-14)
    assert gamma(PAPER, [1.0, 0.0, 0.0, 0.0]) == 0.0


@pytest.mark.parametrize("seed", range(60))
def test_optimum_matches_60_digits(seed):
    """Weights and Γ* agree to 1e-10, for gaps from 1e-6 to 1e3."""
    rng = np.random.default_rng(seed)
    bandit = random_bandit(rng, int(rng.integers(3, 9)))
    if bandit.best_public == bandit.best_private:
        bandit = Bandit(bandit.public, np.roll(bandit.private, 1))
    weights, best = oracle(bandit)
    found = optimal_boosting(bandit)
    assert found.gamma == pytest.approx(float(best), rel=1e-13)
    np.testing.assert_allclose(found.weights, [float(w) for w in weights], rtol=1e-11)


@pytest.mark.parametrize("closeness", [1e-3, 1e-7, 1e-12])
def test_nearly_equal_private_gaps(closeness):
    """Where differences of squared gaps would cancel, in case 1 and case 2."""
    for last in (0.0, -1.0):
        bandit = Bandit([0.0, -1.0, -1e-3, -1e-3], [-1.0, 0.0, -1.0 - closeness, -1.0 + last * closeness])
        weights, best = oracle(bandit)
        found = optimal_boosting(bandit)
        assert found.gamma == pytest.approx(float(best), rel=1e-13)
        np.testing.assert_allclose(found.weights, [float(w) for w in weights], rtol=1e-11)


@pytest.mark.parametrize("seed", range(20))
def test_a_general_solver_finds_the_same(seed):
    """SLSQP on max t with f_a(w) ≥ t, which knows nothing of cases; its w, made feasible, comes as close as it can."""
    rng = np.random.default_rng(100 + seed)
    bandit = random_bandit(rng, int(rng.integers(2, 6)), low=-0.7, high=0.3)
    n = bandit.n_arms
    found = optimal_boosting(bandit)
    start = np.append(np.full(n, 1.0 / n), gamma(bandit, np.full(n, 1.0 / n)))

    def terms(x):
        return np.array(list(evidence_terms(bandit, np.maximum(x[:n], 1e-15)).values())) - x[n]

    solved = minimize(
        lambda x: -x[n],
        start,
        method="SLSQP",
        bounds=[(1e-12, 1.0)] * n + [(0.0, None)],
        constraints=[{"type": "ineq", "fun": terms}, {"type": "eq", "fun": lambda x: x[:n].sum() - 1.0}],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    reached = min(evidence_terms(bandit, solved.x[:n] / solved.x[:n].sum()).values())
    assert reached == pytest.approx(found.gamma, rel=1e-5)
    assert reached <= found.gamma * (1 + 1e-14)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("n_arms", [2, 3, 10, 1000])
def test_the_gap_proves_the_optimum(seed, n_arms):
    rng = np.random.default_rng(seed)
    bandit = random_bandit(rng, n_arms)
    for solve in (optimal_boosting, optimal_allocation):
        found = solve(bandit)
        assert abs(found.gap) <= 1e-12 * found.gamma
        assert found.weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert (found.weights >= 0).all()


@given(st.lists(st.floats(0.001, 1.0), min_size=4, max_size=4))
def test_no_other_weights_do_better(raw):
    weights = np.array(raw) / sum(raw)
    for bandit in (PAPER, CASE_2):
        found = optimal_boosting(bandit)
        assert gamma(bandit, weights) <= found.gamma + found.gap + 1e-15


@pytest.mark.parametrize("bandit", [PAPER, CASE_2])
def test_information_balance(bandit):
    """All f_a with a ∉ {1, i*} agree; that of i* is not below, and equal in case 2."""
    found = optimal_boosting(bandit)
    terms = evidence_terms(bandit, found.weights)
    of_best_public = terms.pop(bandit.best_public)
    assert max(terms.values()) == pytest.approx(min(terms.values()), rel=1e-13)
    if found.case.startswith("case 2"):
        assert of_best_public == pytest.approx(found.gamma, rel=1e-13)
    else:
        assert of_best_public > found.gamma * 1.1


def test_balance_equation_as_printed_does_not_hold():
    """Errata: the paper's right-hand denominator has √w_a for √w_{a'}."""
    w = optimal_boosting(PAPER).weights
    d, gaps = PAPER.public_gaps, PAPER.private_gaps
    a, other = 2, 3
    left = math.sqrt(w[1] * w[a]) * gaps[a] ** 2 / (math.sqrt(w[1]) * d[a] + math.sqrt(w[a]) * d[1])
    top = math.sqrt(w[1] * w[other]) * gaps[other] ** 2
    corrected = top / (math.sqrt(w[1]) * d[other] + math.sqrt(w[other]) * d[1])
    printed = top / (math.sqrt(w[1]) * d[other] + math.sqrt(w[a]) * d[1])
    assert corrected == pytest.approx(left, rel=1e-13)
    assert abs(printed / left - 1) > 0.2


def test_gaussian_maximin_as_printed_is_degenerate():
    """Errata: with w_1·w_{a*} for w_{a*}·w_a (a* = 1) all weight on arm 1 is best, against the paper's w*_a > 0."""
    w = optimal_allocation(PAPER).weights
    rivals = [a for a in range(4) if a != PAPER.best_private]

    def printed(weights):
        one = weights[PAPER.best_private]
        return min(one * one * PAPER.private_gaps[a] ** 2 / (2 * (one + weights[a])) for a in rivals)

    assert printed(np.eye(4)[PAPER.best_private]) > printed(w)
    assert (w > 0).all()


@pytest.mark.parametrize("n_arms", [3, 4, 10, 1000])
def test_equal_gaps_closed_form(n_arms):
    """All rivals alike: (K − 2)·v³ = 1, so w_1 = 1/(1 + (K − 2)^⅓) and Γ* = (Δ²/d)·√w_1·v/(1 + v)."""
    d, gap = 0.7, 0.3
    public, private = np.full(n_arms, -d), np.full(n_arms, -gap)
    public[0] = 0.0
    private[1] = 0.0
    private[0] = -5.0  # far enough: case 1
    found = optimal_boosting(Bandit(public, private))
    v = (n_arms - 2) ** (-1 / 3)
    assert found.case.startswith("case 1")
    assert found.weights[1] == pytest.approx(1 / (1 + (n_arms - 2) ** (1 / 3)), rel=1e-13)
    assert found.gamma == pytest.approx(gap**2 / d * math.sqrt(found.weights[1]) * v / (1 + v), rel=1e-13)


def test_two_arms_closed_form():
    found = optimal_boosting(Bandit([1.5, 1.0], [0.0, 0.2], sigma=2.0))
    assert found.weights.tolist() == [0.0, 1.0]
    assert found.gamma == pytest.approx(0.2**2 / 0.5 / 2.0, rel=1e-14)
    assert found.case.startswith("two arms")


def test_same_best_arm_closed_form():
    """w_a ∝ (d_a/Δ_a²)² and Γ* = 1/√Σ (d_a/Δ_a²)², from √w_a·Δ_a²/d_a all equal."""
    bandit = Bandit([1.0, 0.5, 0.0, 0.7], [1.0, 0.3, 0.4, 0.9])
    found = optimal_boosting(bandit)
    ratios = np.array([0.0, (0.5 / 0.7**2) ** 2, (1.0 / 0.6**2) ** 2, (0.3 / 0.1**2) ** 2])
    np.testing.assert_allclose(found.weights, ratios / ratios.sum(), rtol=1e-12)
    assert found.gamma == pytest.approx(1 / math.sqrt(ratios.sum()), rel=1e-12)
    assert "same" in found.case


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("solve", [optimal_boosting, optimal_allocation])
def test_permutation_shift_and_scale(seed, solve):
    """Γ has units Δ²/(d·σ) for boosting, Δ²/σ² for the classical problem; weights have none."""
    rng = np.random.default_rng(seed)
    bandit = random_bandit(rng, 6, low=-1.0, high=1.0)
    public, private = np.array(bandit.public), np.array(bandit.private)
    found = solve(bandit)
    order = rng.permutation(6)
    permuted = solve(Bandit(public[order], private[order]))
    np.testing.assert_allclose(permuted.weights, found.weights[order], rtol=1e-12)
    assert permuted.gamma == pytest.approx(found.gamma, rel=1e-13)
    power = {optimal_boosting: (-1, 2, -1), optimal_allocation: (0, 2, -2)}[solve]
    for factors in ((4.0, 1.0, 1.0), (1.0, 4.0, 1.0), (1.0, 1.0, 4.0), (4.0, 4.0, 4.0)):
        scaled = solve(Bandit(public * factors[0], private * factors[1], sigma=factors[2]))
        np.testing.assert_allclose(scaled.weights, found.weights, rtol=1e-13)
        expected = found.gamma * math.prod(f**p for f, p in zip(factors, power, strict=True))
        assert scaled.gamma == pytest.approx(expected, rel=1e-13)
    shifted = solve(Bandit(public + 1.0, private - 2.0))
    np.testing.assert_allclose(shifted.weights, found.weights, rtol=1e-9)  # the shift rounds the means


def test_a_thousand_arms_are_solved_as_few_are():
    bandit = random_bandit(np.random.default_rng(0), 1000)
    for solve in (optimal_boosting, optimal_allocation):
        found = solve(bandit)
        assert found.weights.shape == (1000,)
        assert 0 <= found.gap <= 1e-9 * found.gamma


def track_and_stop_weights(means, divergence):
    """Return the weights of Garivier & Kaufmann (2016), Theorem 5 and Section 2.2, by nested root finding."""
    first, rest = means[0], means[1:]

    def g(x, mean):
        middle = (first + x * mean) / (1 + x)
        return divergence(first, middle) + x * divergence(mean, middle)

    def ratio(y, mean):
        return brentq(lambda x: g(x, mean) - y, 0.0, 1e9, xtol=1e-14, rtol=1e-14, maxiter=500)

    def excess(y):
        total = -1.0
        for mean in rest:
            x = ratio(y, mean)
            middle = (first + x * mean) / (1 + x)
            total += divergence(first, middle) / divergence(mean, middle)
        return total

    y = brentq(excess, 1e-6, divergence(first, max(rest)) * (1 - 1e-3), xtol=1e-16, rtol=1e-14)
    x = np.append(1.0, [ratio(y, mean) for mean in rest])
    return x / x.sum()


def bernoulli_divergence(p, q):
    return p * math.log(p / q) + (1 - p) * math.log((1 - p) / (1 - q))


@pytest.mark.parametrize(
    ("means", "published"),
    [  # Garivier & Kaufmann (2016), Section 6: their two Bernoulli bandits
        ([0.5, 0.45, 0.43, 0.4], [0.417, 0.390, 0.136, 0.057]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.336, 0.251, 0.177, 0.132, 0.104]),
    ],
)
def test_published_track_and_stop_weights(means, published):
    """The general solver gives the published Bernoulli weights; with the Gaussian divergence it gives ours."""
    np.testing.assert_allclose(track_and_stop_weights(means, bernoulli_divergence), published, atol=5.1e-4)
    ours = optimal_allocation(Bandit(means[::-1], means, sigma=0.7))
    gaussian = track_and_stop_weights(means, lambda a, b: (a - b) ** 2 / (2 * 0.7**2))
    np.testing.assert_allclose(ours.weights, gaussian, atol=1e-8)


@pytest.mark.parametrize("n_arms", [2, 3, 17, 1000])
def test_classical_allocation_closed_form(n_arms):
    """Equal gaps: w_1 = 1/(1 + √(K − 1)), T* = (1 + √(K − 1))²·2σ²/Δ²."""
    private = np.zeros(n_arms)
    private[-1] = 0.4
    found = optimal_allocation(Bandit(np.arange(n_arms), private, sigma=1.5))
    assert found.weights[-1] == pytest.approx(1 / (1 + math.sqrt(n_arms - 1)), rel=1e-13)
    assert 1 / found.gamma == pytest.approx((1 + math.sqrt(n_arms - 1)) ** 2 * 2 * 1.5**2 / 0.4**2, rel=1e-13)


@pytest.mark.parametrize("seed", range(10))
def test_classical_complexity_bounds(seed):
    """Garivier & Kaufmann (2016), Section 2.2: H ≤ T* ≤ 2H with H = Σ 2σ²/Δ_a², Δ_1 = Δ_2."""
    bandit = random_bandit(np.random.default_rng(seed), 7)
    gaps = np.sort(bandit.private_gaps)
    gaps[0] = gaps[1]
    hardness = (2.0 / gaps**2).sum()
    assert hardness <= 1 / optimal_allocation(bandit).gamma * (1 + 1e-12)
    assert 1 / optimal_allocation(bandit).gamma <= 2 * hardness


def test_bad_input_is_explained():
    tied = Bandit([0.5, 0.5, 0.0], [0.0, 1.0, 0.5])
    with pytest.raises(ValueError, match=r"Arms \[0, 1\] tie for the best public mean 0.5"):
        optimal_boosting(tied)
    with pytest.raises(ValueError, match="tie for the best public mean"):
        gamma(tied, [0.0, 0.5, 0.5])
    with pytest.raises(ValueError, match="sum to 1"):
        gamma(PAPER, [0.0, 0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="0 or more"):
        gamma(PAPER, [-0.5, 0.5, 0.5, 0.5])
    with pytest.raises(ValueError, match="one for each of the 4 arms"):
        gamma(PAPER, [0.5, 0.5])
    with pytest.raises(ValueError, match="NaN"):
        gamma(PAPER, [0.5, 0.5, math.nan, 0.0])
    with pytest.raises(ValueError, match="leave float64's range"):
        optimal_boosting(Bandit([0.0, -1e-200, -1.0], [-1.0, 0.0, -1e-200]))
