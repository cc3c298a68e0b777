"""References with contexts: validity by enumeration and by honest agents of `context_agents`, which shares no code with
feint, and speed.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import feint
from context_agents import laplace, play_linear, play_logistic, play_shared
from feint.evidence.share_bets import _BETS, ShareBets

SURELY = math.log(1e6)
Linear, Logistic = feint.LinearThompsonSampling, feint.LogisticThompsonSampling


class TestValidity:
    def test_bets_with_shares_have_mean_1_exactly(self):
        """Over the draws X ~ Bin(n, π) and the pull, in fractions."""
        for pi, n, q in product([Fraction(1, 3), Fraction(1, 50)], [1, 5], [Fraction(9, 10), Fraction(-9, 10)]):
            total = Fraction(0)
            for x in range(n + 1):
                chance = math.comb(n, x) * pi**x * (1 - pi) ** (n - x)
                share = Fraction(x, n)
                total += chance * (pi * (1 + q * (1 - share)) + (1 - pi) * (1 - q * share))
            assert total == 1
        assert abs(_BETS).max() < 1  # otherwise a factor could be 0 or below
        test = ShareBets(3)
        test.extend(np.array([2, 0]), np.array([[0.2, 0.3, 0.5, 2], [0.6, 0.4, 0.0, 1]]))  # arm 2 leads, then arm 1
        rows = (2, (0.2, 0.3, 0.5), 2), (0, (0.6, 0.4, 0.0), 1)
        of_arms = [np.prod([1 + q * ((pull == a) - share[a]) for pull, share, _ in rows]) for a in range(3)
                   for q in _BETS]  # fmt: skip
        of_leader = [np.prod([1 + q * ((pull == a) - share[a]) for pull, share, a in rows]) for q in _BETS]
        by_hand = 0.5 * np.mean(of_arms) + 0.5 * np.mean(of_leader)
        assert math.isclose(test.log_e_value, math.log(by_hand), rel_tol=1e-12)

    @pytest.mark.parametrize(
        ("reference", "timing"),
        [(Linear(0.8, 0.5), {}), (Linear(0.8, 0.5), {"batch": 2}), (Linear(0.8, 0.5), {"delay": 1}),
         (Linear(1.2, shared=True), {}), (Linear(1.2, shared=True, joint=False), {}),
         (Logistic(2.0), {}), (Logistic(2.0), {"batch": 2}), (Logistic(2.0, covariance="diagonal"), {})],
        ids=str,
    )  # fmt: skip
    def test_enumerated(self, reference, timing):
        """E[E after the next pull] ≤ E at every node of four rows, with π from the normal equations in NumPy."""
        rng = np.random.default_rng(7)
        shared = getattr(reference, "shared", False)
        contexts = rng.normal(size=(4, 2, 2) if shared else (4, 2))
        outcomes = rng.integers(2, size=(4, 2)).astype(float)
        rows, delay = timing.get("batch", 1), timing.get("delay", 0)

        def e_value(arms):
            rewards = outcomes[np.arange(len(arms)), list(arms)]
            options = {"n_arms": 2, "reference": reference, "initial_round": False, "explain": False, **timing}
            return math.exp(feint.audit(list(arms), rewards, contexts=contexts[: len(arms)], **options).log_e_value)

        def probability(arms):
            """Return the probability that the next pull is of arm 0."""
            t = len(arms)
            known = [i for i in range(t) if (i // rows + 1) * rows + delay <= t]
            x = contexts[t]
            if shared:
                seen = np.array([contexts[i, arms[i]] for i in known]).reshape(-1, 2)
                y = np.array([outcomes[i, arms[i]] for i in known])
                covariance = np.linalg.inv(np.eye(2) / reference.prior_sd**2 + seen.T @ seen)
                gap = x[0] - x[1]
                of_gap = [gap] if reference.joint else x  # one draw for both, or one for each
                variance = sum(row @ covariance @ row for row in of_gap)
                return stats.norm.cdf(gap @ covariance @ seen.T @ y / math.sqrt(variance))
            means, variances = [], []
            for a in range(2):
                mine = [i for i in known if arms[i] == a]
                precision, mean = np.eye(2) / reference.prior_sd**2, np.zeros(2)
                if isinstance(reference, Linear):
                    seen = contexts[mine] / reference.sigma
                    precision = precision + seen.T @ seen
                    mean = np.linalg.solve(precision, seen.T @ outcomes[mine, a] / reference.sigma)
                else:
                    for first in range(0, len(known), rows):  # batch by batch
                        piece = [i for i in known[first : first + rows] if i in mine]
                        if piece:
                            diagonal = reference.covariance == "diagonal"
                            precision, mean = laplace(precision, mean, contexts[piece], outcomes[piece, a], diagonal)
                means.append(x @ mean)
                variances.append(x @ np.linalg.solve(precision, x))
            return stats.norm.cdf((means[0] - means[1]) / math.sqrt(sum(variances)))

        for t in range(4):
            for arms in product(range(2), repeat=t):
                p = probability(arms)
                after = p * e_value((*arms, 0)) + (1 - p) * e_value((*arms, 1))
                assert after <= (e_value(arms) if t else 1.0) * (1 + 1e-9)
                assert after > 0.4 * (e_value(arms) if t else 1.0)  # little is given away

    def test_three_arms_of_one_draw_enumerated(self):
        """With π as orthants of two differences, by SciPy's bivariate normal."""
        rng = np.random.default_rng(8)
        contexts, outcomes = rng.normal(size=(3, 3, 2)), rng.normal(size=(3, 3))
        options = {"n_arms": 3, "reference": Linear(1.2, shared=True), "initial_round": False, "explain": False}

        def e_value(arms):
            rewards = outcomes[np.arange(len(arms)), list(arms)]
            return math.exp(feint.audit(list(arms), rewards, contexts=contexts[: len(arms)], **options).log_e_value)

        def probabilities(arms):
            seen = np.array([contexts[i, a] for i, a in enumerate(arms)]).reshape(-1, 2)
            y = np.array([outcomes[i, a] for i, a in enumerate(arms)])
            covariance = np.linalg.inv(np.eye(2) / 1.2**2 + seen.T @ seen)
            found = []
            for a in range(3):
                gaps = np.array([contexts[len(arms), a] - contexts[len(arms), b] for b in range(3) if b != a])
                ahead = stats.multivariate_normal(gaps @ covariance @ seen.T @ y, gaps @ covariance @ gaps.T)
                lower = np.zeros(2)
                found.append(ahead.cdf([np.inf, np.inf], lower_limit=lower))
            return np.array(found)

        for t in range(3):
            for arms in product(range(3), repeat=t):
                p, now = probabilities(arms), e_value(arms) if t else 1.0
                assert p.sum() == pytest.approx(1, abs=1e-6)
                after = sum(p[a] * e_value((*arms, a)) for a in range(3))
                assert 0.5 * now < after <= now * (1 + 1e-6)

    def test_own_draws_enumerated(self, monkeypatch):
        """Four arms of one draw: over all wins of two draws of the auditor's and all pulls from the same law, whatever
        the law is, the mean of E does not grow at any node.
        """
        draws, law = 2, np.array([0.55, 0.3, 0.1, 0.05])
        wins = [w for w in product(range(draws + 1), repeat=4) if sum(w) == draws]
        chances = [stats.multinomial.pmf(w, draws, law) for w in wins]
        told = []
        monkeypatch.setattr("feint.references.scores.DRAWS", draws)
        monkeypatch.setattr("feint.references.contexts.DRAWS", draws)
        monkeypatch.setattr("feint.references.contexts.count_wins", lambda *given: np.array(told))
        contexts = np.random.default_rng(9).normal(size=(2, 4, 2))
        options = {"n_arms": 4, "reference": Linear(shared=True), "initial_round": False, "explain": False}

        def e_value(arms, counts):
            told[:] = counts
            report = feint.audit(list(arms), np.ones(len(arms)), contexts=contexts[: len(arms)], **options)
            assert set(report.log_e_values) == {"boosts", "serial", "shares"}
            return math.exp(report.log_e_value)

        def mean_after(arms, counts):
            return sum(
                chance * p * e_value((*arms, a), [*counts, w])
                for w, chance in zip(wins, chances, strict=True)
                for a, p in enumerate(law)
            )

        assert 0.9 < mean_after((), []) <= 1 + 1e-12
        for arm, count in product(range(4), wins):
            now = e_value((arm,), [count])
            assert mean_after((arm,), [count]) <= now * (1 + 1e-12)

    KINDS = ("linear", "linear in batches", "logistic", "logistic, diagonal", "shared by 2", "shared by 3",
             "shared by 5", "shared by 5, apart")  # fmt: skip

    @staticmethod
    def honest(kind, seed, rows, **bent):
        """Return (arms, rewards, the options of an audit) of an honest log; `bent` are options of the agent."""
        rng = np.random.default_rng([seed, *map(ord, kind)])
        options = {"n_arms": 3, "initial_round": False, "explain": False}
        if kind.startswith("shared"):
            n_arms, apart = int(kind[10]), kind.endswith("apart")
            x, theta = rng.normal(size=(rows, n_arms, 3)), rng.normal(size=3)
            arms, rewards = play_shared(rng, x, theta, sigma=0.8, joint=not apart, **bent)
            reference = Linear(1.0, 0.8, shared=True, joint=not apart)
            return arms, rewards, options | {"n_arms": n_arms, "contexts": x, "reference": reference}
        x, theta = rng.normal(size=(rows, 3)), rng.normal(size=(3, 3))
        batch = 25 if kind.endswith("batches") or kind.startswith("logistic") else 1
        if kind.startswith("linear"):
            arms, rewards = play_linear(rng, x, theta, sigma=0.8, prior_sd=1.5, batch=batch, **bent)
            reference = Linear(1.5, 0.8)
        else:
            diagonal = kind.endswith("diagonal")
            arms, rewards = play_logistic(rng, x, theta, batch=batch, diagonal=diagonal, scale=0.7, **bent)
            reference = Logistic(covariance="diagonal" if diagonal else "full", scale=0.7)
        return arms, rewards, options | {"contexts": x, "reference": reference, "batch": batch}

    @pytest.mark.parametrize("kind", KINDS)
    def test_few_honest_logs(self, kind):
        """Σ log E over independent logs reaches log 10⁶ with a probability below 1e-6."""
        total = 0.0
        for seed in range(3):
            arms, rewards, options = self.honest(kind, seed, 120)
            total += feint.audit(arms, rewards, **options).log_e_value
        assert total < SURELY

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", KINDS)
    def test_many_honest_logs(self, kind):
        """Of 1,000 logs of 500 rows at most α are rejected."""
        rejected = 0
        for seed in range(1000):
            arms, rewards, options = self.honest(kind, seed, 500)
            rejected += feint.audit(arms, rewards, **options).rejected
        assert rejected <= 50

    @pytest.mark.parametrize("kind", ["linear", "logistic", "shared by 3", "shared by 5"])
    def test_forced_rows_are_seen(self, kind):
        """A fifth of the rows goes to arm 2 whatever the draw."""
        force = np.where(np.arange(500) % 5 == 0, 2, -1)
        arms, rewards, options = self.honest(kind, 0, 500, force=force)
        assert feint.audit(arms, rewards, **options).rejected

    @pytest.mark.parametrize("size", [1e-200, 1e98])
    def test_the_scale_of_contexts_does_not_matter(self, size):
        """Under a prior of the same size: neither squares that underflow nor those that overflow refute a claim."""
        arms, rewards, options = self.honest("shared by 3", 0, 100)
        contexts, own = options.pop("contexts"), options.pop("reference")

        def audit(c):
            reference = Linear(1 / c, own.sigma, shared=True)
            return feint.audit(arms, rewards, contexts=c * contexts, reference=reference, **options)

        one, other = audit(1.0), audit(size)
        assert other.log_e_value == pytest.approx(one.log_e_value, rel=1e-6)

    def test_a_power_that_grows(self):
        """Two arms, so that π is a ratio of two powers; the plain one by Φ, row by row."""
        rng = np.random.default_rng(13)
        x, reference = rng.normal(size=(40, 2)), feint.Tempered(Linear(), "n/20")
        arms, rewards = rng.integers(2, size=40), rng.normal(size=40)
        observers = [feint.Observer(2, own, initial_round=False) for own in (Linear(), reference)]
        for t in range(40):
            plain, tempered = (observer.reference_probabilities(x[t]) for observer in observers)
            assert tempered == pytest.approx(plain ** (t / 20) / (plain ** (t / 20)).sum(), rel=1e-9)
            for observer in observers:
                observer.update(int(arms[t]), rewards[t], context=x[t])
        options = {"contexts": x, "n_arms": 2, "reference": reference, "initial_round": False}
        report = feint.audit(arms, rewards, **options)
        assert report.log_e_values["boosts"] == pytest.approx(observers[1].log_e_value, rel=1e-9)

    @pytest.mark.parametrize("shares", [None, (0.3, 0.3, 0.2, 0.1, 0.1)])
    def test_a_burn_in_where_probabilities_are_estimated(self, shares):
        """Its shares are known: the bets by hand, and honest logs of 20 uniform rows and then of five arms."""
        law = np.full(5, 0.2) if shares is None else np.array(shares)
        rng = np.random.default_rng(14)
        x, theta = rng.normal(size=(60, 5, 3)), rng.normal(size=3)
        claim = {"n_arms": 5, "reference": Linear(shared=True), "initial_round": False, "explain": False}
        claim |= {"burn_in": 20 if shares is None else (20, shares)}
        first = np.array([0, 3, 1, 1, 4])
        report = feint.audit(first, np.zeros(5), contexts=x[:5], **claim)
        of = [*range(5), int(law.argmax())]
        won = [[np.prod(1 + q * ((first == a) - law[a])) for q in _BETS] for a in of]
        by_hand = 0.5 * np.mean(won[:5]) + 0.5 * np.mean(won[5])
        assert report.log_e_values["shares"] == pytest.approx(math.log(by_hand), rel=1e-9)
        total = 0.0
        for _ in range(4):
            burnt = np.where(np.arange(60) < 20, rng.choice(5, 60, p=law), -1)
            arms, rewards = play_shared(rng, x, theta, force=burnt)
            total += feint.audit(arms, rewards, contexts=x, **claim).log_e_value
        assert total < SURELY
        rotated = (np.arange(60) % 2) + 3
        assert feint.audit(rotated, rewards, contexts=x, **claim).log_e_value > math.log(20)


@pytest.mark.slow
def test_speed():
    """10⁵ rows with 5 arms and 10 features take some two seconds; 20 are allowed."""
    import time

    rng = np.random.default_rng(0)
    x, arms, rewards = rng.normal(size=(100_000, 10)), rng.integers(5, size=100_000), rng.normal(size=100_000)
    feint.audit(arms[:9], rewards[:9], contexts=x[:9], n_arms=5, reference=Linear())  # compiles
    start = time.perf_counter()
    feint.audit(arms, rewards, contexts=x, n_arms=5, reference=Linear(), explain=False)
    assert time.perf_counter() - start < 20
