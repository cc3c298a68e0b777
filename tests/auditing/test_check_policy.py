"""`check_policy` and `feint check`: honest policies pass, mutations are caught, failures name the policy."""

import json
import math
from functools import cache

import numpy as np
import pytest
from scipy import stats

import feint
import planted_policies as policies
from audit_reports import PageReader
from feint.auditing.facts import caret
from feint.auditing.policies.facts import facts_of_check
from planted_policies import BANDIT, HONEST, MUTATIONS, Contextual, Honest, Softmax
from shell import typed

STEPS = 20_000


def check(policy, **options):
    return feint.check_policy(policy, BANDIT, **{"steps": STEPS, **options})


@cache
def checked(mutation):
    return check(mutation())


class TestMutations:
    @pytest.mark.parametrize("mutation", MUTATIONS)
    def test_are_caught(self, mutation):
        report = checked(mutation)
        assert report.rejected
        assert report.rejected_at <= report.steps <= STEPS
        assert report.verdict == f"rejected at step {report.rejected_at}"

    @pytest.mark.slow
    @pytest.mark.parametrize("mutation", MUTATIONS)
    def test_are_caught_with_any_seed(self, mutation):
        assert all(check(mutation(seed), seed=seed).rejected for seed in range(20))

    @pytest.mark.parametrize(
        ("mutation", "words"),
        [
            (policies.SaysNextRow, "its pulls fit the probabilities that it stated 1 step before"),
            (policies.ReusesSeed, "its pulls repeat those of 50 steps before: is a seed set again?"),
            (policies.SaysUniform, "arm 0 pulled too often"),
        ],
    )
    def test_are_explained(self, mutation, words):
        numbers = dict(facts_of_check(checked(mutation), caret).numbers)
        assert numbers["what explains it best"].startswith(words)

    def test_a_pull_that_was_said_to_be_impossible(self):
        report = checked(policies.UnderflowsInFloat32)
        assert report.audit.impossible is not None
        assert "its probability was 0" in facts_of_check(report, caret).meaning
        assert report.to_json()["log_e_value"] is None


class TestHonest:
    @pytest.mark.parametrize("policy", [*HONEST, policies.CostSoftmax])
    def test_pass(self, policy):
        """Ten policies with fixed seeds pass at α = 0.001."""
        report = check(policy(), steps=1_500)
        assert report.verdict == "no evidence against what it says"
        assert report.steps == 1_500

    def test_keep_the_level(self):
        """With 60 checks at α = 0.2, more than 28 rejections have probability below 1e-6."""
        assert stats.binom.sf(28, 60, 0.2) < 1e-6
        assert sum(check(HONEST[i % 5](i), seed=i, steps=100, alpha=0.2).rejected for i in range(60)) <= 28

    @pytest.mark.slow
    def test_keep_the_level_of_many(self):
        """With 2,000 checks at α = 0.05, more than 150 rejections have probability below 1e-6."""
        assert stats.binom.sf(150, 2_000, 0.05) < 1e-6
        options = {"steps": 600, "alpha": 0.05}
        assert sum(check(HONEST[i % len(HONEST)](i), seed=i, **options).rejected for i in range(2_000)) <= 150

    def test_what_was_handed_in_does_not_change(self):
        policy = Softmax()
        before = policy.rng.bit_generator.state
        first, second = (check(policy, steps=500) for _ in range(2))
        assert policy.step == 0
        assert policy.rng.bit_generator.state == before
        assert first.to_json() == second.to_json()

    def test_numbers_of_the_policy_are_not_those_of_the_rewards(self):
        """A policy that has default_rng(seed) itself draws other numbers than its rewards."""
        rewards = []

        class Noting(Honest):
            def update(self, arm, reward):
                rewards.append(reward)

        means = (0.5, 0.5, 0.5)
        bandit = feint.Bandit(means, (0.0, 1.0, 2.0), family=(feint.Bernoulli(), feint.Gaussian()))
        for seed in (0, 1):
            rewards.clear()
            feint.check_policy(Noting(), bandit, steps=300, seed=seed)
            own = np.random.default_rng(seed).random(300) < 0.5
            # 300 fair coins agree in 110 to 190 places with probability 1 − 4e-6.
            assert 110 < sum(own == np.array(rewards)) < 190


class TestPrecision:
    def test_ends_when_it_is_reached(self):
        report = check(Softmax(), precision=0.06)
        assert report.verdict == "within 0.06 of what it says"
        assert report.steps < STEPS
        assert report.largest_departure <= 0.06
        assert check(Softmax(), steps=report.steps - 100, precision=0.06).verdict == "no evidence against what it says"

    def test_is_not_claimed_of_one_that_departs_by_more(self):
        """Arm 0 is pulled 0.03 more often than said: a narrow interval around +0.03 is not within 0.02."""

        class Departs(Honest):
            def pull(self):
                return self.draw(np.array([1 / 3 + 0.03, 1 / 3 - 0.03, 1 / 3]))

        report = check(Departs(2), precision=0.02, steps=200_000)
        assert report.rejected
        arm = report.arms[0]
        assert arm.low <= 0.03 <= arm.high
        assert arm.departure == pytest.approx(arm.observed - arm.said)

    def test_the_interval_is_that_of_the_paper_it_cites(self):
        """D/t ± u(V)/t with mean_k exp(λ_k·u − ψ(λ_k)·V) = 2K/level, solved here by bisection."""
        report = check(Honest(4), steps=900)
        pulled = np.array([arm.observed for arm in report.arms]) * 900
        level = 0.001 * 0.7 * (2 / 7) * 0.95 * 0.9  # what the shares of the audit and of the replays leave
        for a, arm in enumerate(report.arms):
            variance = pulled[a] * (2 / 3) ** 2 + (900 - pulled[a]) * (1 / 3) ** 2
            sizes = np.geomspace(0.9, 1e-4, 16)
            low, high = 0.0, 900.0
            while high - low > 1e-9:
                u = (low + high) / 2
                mean = np.exp(sizes * u + (np.log1p(-sizes) + sizes) * variance).mean()
                low, high = (u, high) if mean < 6 / level else (low, u)
            assert arm.high - arm.departure == pytest.approx(u / 900, abs=1e-6)
            assert arm.departure - arm.low == pytest.approx(u / 900, abs=1e-6)


class TestContexts:
    def test_in_order_and_again(self):
        seen = []

        class Noting(Contextual):
            def probabilities(self, context):
                seen.append(context)
                return super().probabilities(context)

        contexts = [[0.0, 1.0, 2.0], [1.0, 0.0, 0.0], [0.5, 0.5, 3.0]]
        assert not check(Noting(), contexts=contexts, steps=200).rejected
        assert seen[::2][:4] == [*contexts, contexts[0]]
        assert not check(Contextual(), contexts=np.array(contexts), steps=200).rejected

    def test_drawn(self):
        first, second = (check(Contextual(), contexts=lambda rng: rng.normal(size=3), steps=400) for _ in range(2))
        assert not first.rejected
        assert first.to_json() == second.to_json()
        assert check(Contextual(), contexts=lambda rng: rng.normal(size=3), steps=400, seed=1).to_json() != (
            first.to_json()
        )

    def test_a_policy_that_mixes_contexts_up_is_caught(self):
        class Mixed(Contextual):
            def pull(self, context):
                return super().pull(context[::-1])

        report = check(Mixed(), contexts=lambda rng: rng.normal(size=3))
        assert report.rejected
        assert report.steps < 1_000

    @pytest.mark.parametrize("contexts", [[], "abc", {"a": 1}, 3])
    def test_wrong_ones(self, contexts):
        with pytest.raises(ValueError, match=r"contexts is .*; give a list or an array with one context per entry"):
            check(Contextual(), contexts=contexts)

    def test_a_function_that_fails(self):
        with pytest.raises(ValueError, match="contexts failed at step 1: ZeroDivisionError"):
            check(Contextual(), contexts=lambda rng: 1 / 0)


class TestFailures:
    def test_of_every_method_name_class_method_step_and_line(self):
        for method in ("probabilities", "pull", "update"):

            class Fails(Honest):
                calls = 0

                def broken(self, *arguments):
                    Fails.calls += 1
                    if Fails.calls == 7:
                        raise RuntimeError("no more")
                    return getattr(Honest, self.method)(self, *arguments)

            Fails.method = method
            setattr(Fails, method, Fails.broken)
            with pytest.raises(
                ValueError, match=rf"Fails\.{method} failed at step 7 \(test_check_policy\.py, line \d+"
            ):
                check(Fails())

    @pytest.mark.parametrize(
        ("said", "words"),
        [
            ([0.5, 0.5], r"numbers of shape \(2,\); give one per arm, 3"),
            ([[0.5, 0.2, 0.3]], r"numbers of shape \(1, 3\)"),
            ([0.5, 0.2, 0.2], "numbers that sum to 0.9; they must sum to 1"),
            ([0.5, 0.2, 0.27], "numbers that sum to 0.97; they must sum to 1"),
            ([0.0, 0.0, 0.0], "numbers that sum to 0; they must sum to 1"),
            ([1.2, -0.2, 0.0], "1.2 as a probability; it must lie between 0 and 1"),
            ([math.nan, 0.5, 0.5], "nan as a probability"),
            (None, "nan as a probability|numbers of shape"),
            ("abc", "'abc'; give a list of numbers"),
            ({"a": 1}, r"\{'a': 1\}; give a list of numbers"),
        ],
    )
    def test_what_is_no_distribution(self, said, words):
        class Says(Honest):
            def probabilities(self):
                return said

        with pytest.raises(ValueError, match=rf"^Says\.probabilities returned at step 1 ({words})"):
            check(Says())

    @pytest.mark.parametrize("said", [[0.33, 0.33, 0.33], [0.34, 0.34, 0.33], [0.5, 0.5, 0.01]])
    def test_two_digits_need_not_sum_to_one(self, said):
        class Says(Honest):
            def probabilities(self):
                return said

        assert check(Says(), steps=10).arms[2].said == pytest.approx(said[2] / sum(said))

    @pytest.mark.parametrize("pulled", [3, -1, 1.0, "1", None, True, [1]])
    def test_what_is_no_arm(self, pulled):
        class Pulls(Honest):
            def pull(self):
                return pulled

        with pytest.raises(ValueError, match=r"Pulls\.pull returned at step 1 .*; give the arm's number, 0 to 2"):
            check(Pulls())

    def test_numbers_of_numpy_are_arms(self):
        class Pulls(Honest):
            def pull(self):
                return np.array(super().pull())

        assert check(Pulls(), steps=300).to_json()["arms"] == check(Honest(), steps=300).to_json()["arms"]

    def test_what_is_no_policy(self):
        with pytest.raises(ValueError, match=r"object has no method probabilities and no pull and no update; a policy"):
            check(object())
        with pytest.raises(ValueError, match=r"dict cannot be made|dict has no method"):
            check(dict)

        class Needs(Honest):
            def __init__(self, something):
                pass

        with pytest.raises(ValueError, match="The policy Needs cannot be made without arguments"):
            check(Needs)

    @pytest.mark.parametrize(
        ("options", "words"),
        [
            ({"steps": 0}, "steps is 0"),
            ({"steps": 1e4}, "steps is 10000.0"),
            ({"seed": -1}, "seed is -1"),
            ({"alpha": 0}, "alpha, the level of the check"),
            ({"precision": 0}, "precision, of the mean departure"),
            ({"precision": 1.5}, "precision, of the mean departure"),
        ],
    )
    def test_wrong_options(self, options, words):
        with pytest.raises(ValueError, match=words):
            check(Honest(), **options)
        with pytest.raises(ValueError, match="bandit is 3"):
            feint.check_policy(Honest(), 3, steps=1)

    def test_classes_functions_and_start(self):
        class Starts(Honest):
            def start(self, n_arms):
                self.started = n_arms

            def law(self):
                return np.full(self.started, 1 / self.started)

        numbers = [check(policy, steps=200).to_json() for policy in (Starts, Starts(), lambda: Starts(0))]
        assert numbers[0] == numbers[1] == numbers[2]

    def test_one_that_cannot_be_copied(self):
        class Holds(Honest):
            def __init__(self):
                super().__init__()
                self.numbers = (i for i in range(3))

        with pytest.raises(ValueError, match="Holds cannot be copied"):
            check(Holds())
        assert not check(Holds, steps=100).rejected


KINDS = {"rejected": (policies.SaysUniform, {}), "within": (Softmax, {"precision": 0.08}), "kept": (Honest, {})}


@pytest.mark.parametrize("kind", KINDS)
class TestWords:
    @staticmethod
    @cache
    def report(kind):
        policy, options = KINDS[kind]
        return check(policy(), **{"steps": 3_000, **options})

    def test_notebook_and_facts_say_the_same(self, kind):
        report = self.report(kind)
        text = "".join(PageReader(report._repr_html_()).text.split())
        facts = facts_of_check(report, caret)
        for said in (
            report.verdict,
            facts.meaning,
            *facts.arms.notes,
            *(cell for row in facts.arms.rows for cell in row),
        ):
            assert "".join(said.split()) in text

    def test_repr_is_short(self, kind):
        report = self.report(kind)
        for shown in (repr(report), str(report)):
            assert report.verdict in shown
            assert "\n" not in shown
            assert len(shown) < 300


MINE = """
import numpy as np

class Uniform:
    def __init__(self):
        self.rng = np.random.default_rng(0)
    def probabilities(self):
        return [0.5, 0.5]
    def pull(self):
        return self.rng.integers(2)
    def update(self, arm, reward):
        assert reward in (0, 1)

class Bent(Uniform):
    def pull(self):
        return int(self.rng.random() < 0.7)

class Breaks(Uniform):
    def update(self, arm, reward):
        raise SystemExit(1)

class Seeing(Uniform):
    def probabilities(self, x):
        print("probabilities of", x)
        return [x, 1 - x]
    def pull(self, x):
        return int(self.rng.random() >= x)
    def update(self, arm, reward, x):
        pass

seen = [0.2, 0.7]
made = Uniform()
"""


class TestCommand:
    @pytest.fixture
    def run(self, tmp_path, monkeypatch):
        (tmp_path / "mine_to_check.py").write_text(MINE)
        monkeypatch.syspath_prepend(tmp_path)

        def run(policy, *options, family="bernoulli"):
            return typed("check", policy, "--public", "0.7,0.5", "--family", family, *options, cwd=tmp_path)

        return run

    @pytest.mark.parametrize("name", ["mine_to_check.py:Uniform", "mine_to_check:Uniform", "mine_to_check:made"])
    def test_an_honest_one_ends_with_0(self, name, run):
        result = run(name, "--steps", "2e3")
        assert result.returncode == 0, result.stderr
        assert "Uniform: no evidence against what it says (α = 0.001)" in result.stdout
        assert "2,000 of 2,000" in result.stdout

    def test_a_bent_one_ends_with_1(self, run):
        result = run("mine_to_check.py:Bent")
        assert result.returncode == 1
        assert "Bent: rejected at step" in result.stdout
        assert "arm 1 pulled too often" in result.stdout

    def test_the_numbers_are_those_of_python(self, run):
        options = ["--alpha", "0.01", "--precision", "0.1", "--seed", "4", "--steps", "5000"]
        found = json.loads(
            run("mine_to_check.py:Seeing", "--contexts", "mine_to_check:seen", "--json", *options).stdout
        )
        import mine_to_check

        bandit = feint.Bandit([0.7, 0.5], [0.0, 1.0], family=feint.Gaussian(1.0))
        report = feint.check_policy(
            mine_to_check.Seeing, bandit, steps=5_000, alpha=0.01, precision=0.1, contexts=[0.2, 0.7], seed=4
        )
        assert found == json.loads(json.dumps(report.to_json()))
        assert found["precise"] is True

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("mine_to_check.py:Breaks", "Breaks.update failed at step 1 (mine_to_check.py, line 20): SystemExit: 1"),
            ("mine_to_check.py:Nothing", "mine_to_check.py has no Nothing"),
            ("nobody.py:Mine", "There is no Python file"),
            ("nobody_at_all:Mine", "the module nobody_at_all cannot be imported: ModuleNotFoundError"),
            ("mine_to_check", "give FILE.py:NAME or MODULE:NAME"),
            ("mine_to_check:", "give FILE.py:NAME or MODULE:NAME"),
            ("mine_to_check:seen", "list has no method probabilities"),
            ("mine_to_check.py:Seeing", "Seeing.probabilities failed at step 1"),
        ],
    )
    def test_what_fails_ends_with_2_and_one_line(self, name, words, run):
        result = run(name)
        assert result.returncode == 2
        assert words in result.stderr
        assert result.stderr.count("\n") == 1

    @pytest.mark.parametrize("options", [["--steps", "x"], ["--alpha", "2"], ["--precision", "-1"], ["--seed", "-1"]])
    def test_wrong_options(self, options, run):
        result = run("mine_to_check:Uniform", *options)
        assert result.returncode == 2
        assert result.stdout == ""

    def test_rejected_into_a_closed_pipe(self, run, monkeypatch):
        monkeypatch.setattr("feint.cli.check.write_now", lambda text: None)
        assert run("mine_to_check.py:Bent").returncode == 1
