"""What a user's own part raises at any call of feint's is reported as the user's, with class, method and line."""

import math

import numpy as np
import pytest

import feint
from cases import PAPER
from feint.support.own_parts import OwnPartError
from shell import typed, write_csv

HERE = r"\(test_own_questions.py, line \d+\)"


class FailingBudget:
    """A budget whose settings for kernels cannot be made."""

    def at(self, t):
        return 0.1

    def kernel(self):
        return [][1]


class FailingQuestion:
    """A reference that fails at one of the questions beside log_probabilities."""

    def __init__(self, question):
        setattr(self, question, self._fail)

    def log_probabilities(self, view):
        return np.full(view.pulls.size, -math.log(view.pulls.size))

    def _fail(self, family):
        raise KeyError("no answer")


class CoinFamily:
    """A family of rewards 0 and 1, in which every arm is equally likely to be the best."""

    mean_range, rewards = (0.0, 1.0), "0 or 1"

    def accepts(self, rewards):
        return (rewards == 0) | (rewards == 1)

    def draw(self, mean, uniform):
        return float(uniform < mean)

    def log_best(self, pulls, sums):
        return np.full(pulls.size, -math.log(pulls.size))


class AcceptsNothing(CoinFamily):
    def accepts(self, rewards):
        return 1 / 0


class NoRange(CoinFamily):
    @property
    def mean_range(self):
        return 1 / 0


class NoPhrase(CoinFamily):
    @property
    def rewards(self):
        return 1 / 0


COINS = [0.6, 0.3], [0.2, 0.5]


def audited(**claim):
    return feint.audit([0, 1] * 15, [0.0, 1.0] * 15, n_arms=2, **claim)


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (
            lambda: feint.simulate(PAPER, epsilon=FailingBudget(), horizon=30),
            "FailingBudget.kernel failed {}: IndexError",
        ),
        (lambda: feint.plan(PAPER, FailingBudget(), 0.1), "FailingBudget.kernel failed {}: IndexError"),
        *(
            (
                lambda question=question: audited(reference=FailingQuestion(question)),
                f"FailingQuestion.{question} failed {{}}: KeyError",
            )
            for question in ("min_pulls_per_arm", "describe", "family_of", "prior_of")
        ),
        (
            lambda: audited(reference=feint.references.Clipped(FailingQuestion("describe"), 0.1)),
            "FailingQuestion.describe failed {}: KeyError",
        ),
        (
            lambda: feint.simulate(feint.Bandit(*COINS, family=AcceptsNothing()), epsilon=0.1, horizon=30),
            "AcceptsNothing.accepts failed {}: ZeroDivisionError",
        ),
        (lambda: audited(family=AcceptsNothing()), "AcceptsNothing.accepts failed {}: ZeroDivisionError"),
        (lambda: feint.Bandit(*COINS, family=NoRange()), "NoRange.mean_range failed {}: ZeroDivisionError"),
        (
            lambda: feint.Agent(2, family=NoPhrase(), epsilon=0.1).update(0, 0.0, 0.0),
            "NoPhrase.rewards failed {}: ZeroDivisionError",
        ),
    ],
)
def test_every_question_to_a_part_is_reported(use, says):
    with pytest.raises(OwnPartError, match="^" + says.format(HERE)):
        use()


MINE = """
from feint import Bernoulli
class B:
    def at(self, t): return 0.1
    def kernel(self): return {}[0]
class F(Bernoulli):
    def accepts(self, rewards): return {}[0]
class R:
    def log_probabilities(self, view): return [-0.6931471805599453] * 2
    def min_pulls_per_arm(self, family): return {}[0]
"""


def test_commands_end_with_2_and_name_the_line(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    write_csv(tmp_path / "log.csv", "arm,reward", [(i % 2, i % 2) for i in range(20)])
    means = "--public", "0.6,0.3", "--private", "0.2,0.5"
    commands = {
        "B.kernel": [("run", *means, "--epsilon", "mine.py:B"), ("plan", *means, "--epsilon", "mine.py:B")],
        "F.accepts": [("audit", "log.csv", "--family", "mine.py:F")],
        "R.min_pulls_per_arm": [("audit", "log.csv", "--reference", "mine.py:R")],
    }
    for method, lines in commands.items():
        for line in lines:
            done = typed(*line, cwd=tmp_path)
            assert (done.returncode, f"{method} failed (mine.py, line " in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize(
    "ask",
    [
        lambda bandit: feint.gamma(bandit, [0, 1]),
        feint.optimal_boosting,
        feint.optimal_allocation,
        feint.optimal_earning,
        lambda bandit: feint.plan(bandit, 0.1, 0.1),
        lambda bandit: feint.plan(bandit, math.inf, 0.1),
        lambda bandit: feint.plan_epsilon(bandit, 1000, 0.1),
        lambda bandit: feint.plan_total(bandit, 1000, 0.1),
        lambda bandit: feint.plan_unseen(bandit, 0.5, 0.05, 1000),
        lambda bandit: feint.theory.pull_rate(bandit, 0.1),
        lambda bandit: feint.theory.error_exponent(bandit, [10, 10]),
        lambda bandit: feint.theory.predicted_pulls(bandit, [0, 1], 0.1, [100]),
        lambda bandit: feint.theory.log_error_limit(bandit, [0, 1], 0.1, [100]),
    ],
)
def test_theory_and_plans_say_that_a_family_in_plain_python_is_not_enough(ask):
    with pytest.raises(ValueError, match=r"^Theory and plans need families with a divergence and a kernel.*CoinFamily"):
        ask(feint.Bandit(*COINS, family=CoinFamily()))


GOAL = """
import numpy as np
class G:
    def answer(self, means): return 1 / 0
    def log_error(self, answer, pulls, sums): return 0.0
    def doubts(self, pulls, means, divergence): return np.ones((1, means.size))
"""


def test_a_goal_of_ones_own_is_accepted_by_plan_and_a_feedback_refused_by_all(tmp_path):
    (tmp_path / "mine.py").write_text(GOAL)
    means = "--public", "0.6,0.3", "--private", "0.2,0.5", "--epsilon", "0.1"
    for command in ("run", "plan"):
        assert "G.answer failed (mine.py, line 4)" in typed(command, *means, "--goal", "mine.py:G", cwd=tmp_path).stderr
    (tmp_path / "bandit.toml").write_text('public = [0.6, 0.3]\nprivate = [0.2, 0.5]\nfeedback = "mine.py:G"\n')
    for line in (
        ("run", *means, "--feedback", "mine.py:G"),
        ("plan", *means, "--feedback", "mine.py:G"),
        ("run", "--instance", "bandit.toml", "--epsilon", "0.1"),
    ):
        done = typed(*line, cwd=tmp_path)
        assert (done.returncode, "your own cannot be used" in done.stderr) == (2, True), done.stderr


def test_doors_take_names_alike_and_say_what_is_wrong(tmp_path):
    write_csv(tmp_path / "log.csv", "arm,reward", [(i % 2, i % 2) for i in range(20)])
    names = "thompson-sampling", "thompson"
    whole, alias = (typed("audit", "log.csv", "--reference", n, "--split", "0.5,0.5", cwd=tmp_path) for n in names)
    assert (alias.returncode, alias.stdout) == (whole.returncode, whole.stdout)
    assert whole.returncode == 1  # arms in turn are no coin's
    means = "--public", "0.6,0.3", "--private", "0.2,0.5", "--epsilon", "0.1"
    assert "leave the prior out" in typed("plan", *means, "--reference", "thompson-sampling:0,1").stderr
