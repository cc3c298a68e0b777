"""References with contexts: validity by enumeration and by honest agents of `context_agents`, which shares no code with
feint; files and refusals.
"""

import io
import json
import math
import re
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats

import feint
from context_agents import laplace, play_linear, play_logistic, play_shared
from feint.auditing.claim import Claim
from feint.auditing.pipeline import follow_log, followed_state
from feint.auditing.readers import open_growing_log
from feint.evidence.share_bets import _BETS, ShareBets
from shell import typed

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


class TestDoors:
    @pytest.fixture
    def log(self):
        rng = np.random.default_rng(9)
        x = rng.normal(size=(120, 2))
        arms, rewards = play_linear(rng, x, np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]))
        return x, arms, rewards

    def test_files_and_arrays_agree(self, log, tmp_path):
        x, arms, rewards = log
        path = tmp_path / "log.csv"
        lines = (f"{a},{float(r)!r},{float(u)!r},{float(v)!r}" for a, r, (u, v) in zip(arms, rewards, x, strict=True))
        path.write_text("arm,reward,age,clicks\n" + "\n".join(lines) + "\n")
        names = feint.auditing.Names(context="age,clicks")
        reference = Linear(0.5, 2.0, intercept=True)
        by_file = feint.audit_log(path, names=names, n_arms=3, reference=reference)
        by_array = feint.audit(arms, rewards, contexts=x, n_arms=3, reference=reference)
        assert by_file.log_e_value == by_array.log_e_value
        words = ["--reference", "linear-thompson-sampling:0.5,2,0,true", "--context", "age, clicks", "--arms", "3"]
        printed = json.loads(typed("audit", str(path), *words, "--json").stdout)
        assert printed["log_e_value"] == by_array.log_e_value
        wrong = typed("audit", str(path), "--reference", "linear-thompson-sampling", "--context", "age,visits")
        assert wrong.returncode == 2
        assert "no column 'visits'" in wrong.stderr

    @pytest.mark.parametrize("n_arms", [3, 5])
    def test_a_followed_log_goes_on_where_it_was(self, log, n_arms):
        """A saved state continues to the same E, with bets on the leader and, with five arms, with bets on shares."""
        x, arms, rewards = log
        contexts = x if n_arms == 3 else x[:, None] * np.arange(1, 6)[:, None]
        suffixes = [""] if n_arms == 3 else [f"_{a}" for a in range(5)]
        head = ",".join(["arm", "reward", *(f"{name}{suffix}" for suffix in suffixes for name in "uv")])
        lines = [
            ",".join([str(arm), repr(float(reward)), *(repr(float(v)) for v in row.ravel())])
            for arm, reward, row in zip(arms, rewards, contexts, strict=True)
        ]
        reference = Linear(shared=n_arms > 3)
        claim = Claim(reference=reference, n_arms=n_arms, names=feint.auditing.Names(context="u,v"))
        state = None
        for piece in (lines[:50], lines[50:]):
            stream = open_growing_log(io.BytesIO(("\n".join([head, *piece]) + "\n").encode()))
            auditor = list(follow_log(stream, claim, state))[-1]
            state = json.loads(json.dumps(followed_state(auditor, stream)))
        whole = feint.audit(arms, rewards, contexts=contexts, n_arms=n_arms, reference=reference)
        assert auditor.rows == 120
        assert state["log_e"] == pytest.approx(whole.log_e_value, rel=1e-12)

    def test_columns_of_every_arm(self, tmp_path):
        rng = np.random.default_rng(10)
        x = rng.normal(size=(80, 3, 2))
        arms, rewards = play_shared(rng, x, np.array([0.7, -0.4]))
        labels = ["b", "a", "c"]
        path = tmp_path / "log.csv"
        head = [f"{name}_{label}" for name in ("price", "size") for label in labels]
        lines = [
            ",".join([labels[arm], repr(float(r)), *(repr(float(v)) for v in row.T.ravel())])
            for arm, r, row in zip(arms, rewards, x, strict=True)
        ]
        path.write_text("\n".join([",".join(["arm", "reward", *head]), *lines]) + "\n")
        names = feint.auditing.Names(context="price,size")
        by_file = feint.audit_log(path, names=names, reference=Linear(shared=True))
        by_array = feint.audit(arms, rewards, contexts=x, reference=Linear(shared=True))
        assert [arm.label for arm in by_file.arms] == labels
        assert by_file.log_e_value == by_array.log_e_value
        text = typed(
            "audit", str(path), "--reference", "linear-thompson-sampling:1,1,0,false,true", "--context", "cost"
        )
        assert text.returncode == 2

    def test_the_observer_bets_the_same(self, log):
        x, arms, rewards = log
        observer = feint.Observer(3, Linear(), initial_round=False)
        for i in range(60):
            if i == 30:
                state = json.loads(json.dumps(observer.state()))
                observer = feint.Observer.from_state(state)
                assert observer.state() == state
            before = observer.reference_probabilities(x[i])
            assert abs(before.sum() - 1) < 1e-12
            log_e = observer.update(int(arms[i]), float(rewards[i]), context=x[i])
        options = {"n_arms": 3, "reference": Linear(), "initial_round": False}
        report = feint.audit(arms[:60], rewards[:60], contexts=x[:60], **options)
        assert observer.time == observer.tested == 60
        assert math.isclose(log_e, report.log_e_values["boosts"], rel_tol=1e-12)

    def test_groups_have_pasts_of_their_own(self, log):
        x, arms, rewards = log
        twice = [np.repeat(column, 2, axis=0) for column in (x, arms, rewards)]
        options = {"n_arms": 3, "reference": Linear(), "initial_round": False}
        both = feint.audit(twice[1], twice[2], contexts=twice[0], groups=np.tile(["u", "v"], 120), **options)
        one = feint.audit(arms, rewards, contexts=x, **options)
        assert [arm.expected for arm in both.arms] == pytest.approx([2 * arm.expected for arm in one.arms], rel=1e-12)

    def test_estimated_probabilities_say_so(self):
        rng = np.random.default_rng(11)
        x = rng.normal(size=(100, 5, 2))
        arms, rewards = play_shared(rng, x, np.array([0.7, -0.4]))
        report = feint.audit(arms, rewards, contexts=x, reference=Linear(shared=True))
        assert set(report.log_e_values) == {"boosts", "serial", "shares"}
        assert not report.calibrated
        assert "estimated from 499 draws" in " ".join(report.warnings)
        assert feint.audit(arms, rewards, contexts=x, reference=Linear(shared=True)).log_e_value == report.log_e_value

    @pytest.mark.parametrize(
        ("call", "sentence"),
        [
            (lambda x, a, r: feint.audit(a, r, n_arms=3, reference=Linear()), "needs contexts; name their columns"),
            (lambda x, a, r: feint.audit(a, r, contexts=x[:-1], n_arms=3, reference=Linear()), "need (n, d)"),
            (lambda x, a, r: feint.audit(a, r, contexts=x, n_arms=3, reference=Linear(shared=True)), "need (n, K, d)"),
            (lambda x, a, r: feint.audit(a, r, contexts=x, n_arms=3, reference=Linear((1.0, 2.0, 3.0))),
             "prior_sd has 3 numbers for 2 coefficients"),
            (lambda x, a, r: feint.audit(a, r, contexts=x, n_arms=3, reference=Logistic()), "it must be 0 or 1"),
            (lambda x, a, r: feint.audit(a, a % 2, contexts=x, n_arms=3, reference=Logistic(), discount=0.9),
             "has no discount"),
            (lambda x, a, r: feint.audit(a, r, contexts=np.where(x > 2, np.nan, x), n_arms=3, reference=Linear()),
             "of the context is missing"),
            (lambda x, a, r: feint.audit(a, r, contexts=np.where(x > 2, np.inf, x), n_arms=3, reference=Linear()),
             "of the context is inf; it must be within ±1e+100"),
            (lambda x, a, r: feint.audit(a, r, contexts=np.where(x > 2, -1e200, x), n_arms=3, reference=Linear()),
             "of the context is -1e+200; it must be within ±1e+100"),
            (lambda x, a, r: feint.audit(a, r, contexts=x, n_arms=3, reference=feint.ControlShare(Linear(), 0, 0.1)),
             "ControlShare has no version of LinearThompsonSampling for the other arms alone"),
            (lambda x, a, r: feint.Agent(3, reference=Linear(), epsilon=0.1), "use it in audits and with Observer"),
            (lambda x, a, r: feint.simulate(feint.Bandit([0.1, 0.2], [0.2, 0.1]), reference=Logistic(), epsilon=0.1,
                                            horizon=9, replications=1), "use it in audits and with Observer"),
            (lambda x, a, r: feint.Observer(4, Linear(shared=True)), "audit the log instead"),
            (lambda x, a, r: feint.Observer(3, Linear()).update(0, 1.0), "context is missing"),
            (lambda x, a, r: feint.Observer(3, Linear()).update(0, 1.0, context=[1e200]), "within ±1e+100"),
            (lambda x, a, r: feint.Observer(3).update(0, 1.0, context=[1.0]), "uses no context"),
            (lambda x, a, r: Linear(-1.0), "give a number above 0"),
            (lambda x, a, r: Linear([[1.0, 2.0], [2.0, 1.0]]), "whose eigenvalues are above 0"),
            (lambda x, a, r: Linear(joint=False), "joint is about arms that share coefficients"),
            (lambda x, a, r: Logistic(math.inf), "give a number above 0"),
            (lambda x, a, r: Logistic(covariance="some"), "give 'full' or 'diagonal'"),
        ],
    )  # fmt: skip
    def test_refusals_are_sentences(self, log, call, sentence):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            call(*log)

    def test_commands_that_have_no_contexts_say_so(self):
        bandit = ["--public", "0.6,0.3", "--private", "0.2,0.5", "--epsilon", "0.1", "--horizon", "10"]
        found = typed("run", *bandit, "--reference", "linear-thompson-sampling")
        assert found.returncode == 2
        assert "use it in audits and with Observer" in " ".join(found.stderr.split())
        with pytest.raises(ValueError, match="use it in audits and with Observer"):
            feint.Sweep(
                bandits={"b": feint.Bandit([0.1, 0.2], [0.2, 0.1])},
                epsilons=[0.1],
                references={"l": Linear()},
                horizon=10,
                replications=1,
            )


class Leaning:
    """A user's own reference, which gives arm 1 the probability expit(context)."""

    def log_probabilities(self, view):
        p = 1 / (1 + np.exp(-view.context[0]))
        return np.log([1 - p, p])


def test_own_references_see_the_context():
    rng = np.random.default_rng(12)
    x = rng.normal(size=(300, 1))
    arms = (rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))).astype(int)
    rewards = rng.normal(size=300)
    report = feint.audit(arms, rewards, contexts=x, n_arms=2, reference=Leaning())
    assert not report.rejected
    assert not any("context" in warning for warning in report.warnings)
    assert feint.audit(1 - arms, rewards, contexts=x, n_arms=2, reference=Leaning(), explain=False).rejected
    observer = feint.Observer(2, Leaning())
    for i in range(300):
        observer.reference_probabilities(x[i - 1])  # another context than the pull's
        observer.update(int(arms[i]), float(rewards[i]), context=x[i])
    assert math.isclose(observer.log_e_value, report.log_e_values["boosts"], rel_tol=1e-9)


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
