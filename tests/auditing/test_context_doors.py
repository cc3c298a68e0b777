"""Contexts at every door: arrays, files, followed logs, `Observer`, references of one's own, and what is refused."""

import io
import json
import math
import re

import numpy as np
import pytest

import feint
from context_agents import play_linear, play_shared
from feint.auditing.claim import Claim
from feint.auditing.pipeline import follow_log, followed_state
from feint.auditing.readers import open_growing_log
from shell import typed

Linear, Logistic = feint.LinearThompsonSampling, feint.LogisticThompsonSampling


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
