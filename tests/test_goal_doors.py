"""Every goal works in every function and command, for every family and some pairs; so does a user's own goal."""

import json
import math
from importlib import import_module

import numpy as np
import pytest
from scipy.special import log_ndtr

import feint
from cases import FAMILIES, instance
from feint.agent.public_log import RewardStream
from feint.registry import config_of, format_part, parse
from shell import typed

GOALS = ["top-arms:2", "above-threshold:0.4", "best-arm"]
OPTIONS = {"epsilon": 0.5, "delta": 0.4}


@pytest.fixture(autouse=True)
def _few_paths(monkeypatch):
    """Plan with few paths: what matters here is that they have a goal."""
    for module, name in (("plan", "_PATHS"), ("plan", "_FEWER_PATHS"), ("notice", "PATHS")):
        monkeypatch.setattr(import_module(f"feint.planning.{module}"), name, 64)


def _in_options(bandit):
    """Return the options of commands that say what this instance is."""
    sides = [",".join(map(str, means)) for means in (bandit.public, bandit.private)]
    families = ",".join(format_part(family, "family") for family in bandit.families)
    return ["--public", sides[0], "--private", sides[1], "--family", families]


def check_runs(bandit, goal):
    """A run stops when the error of its answer is δ, and not one pull before: an agent with its rewards finds it so."""
    runs = feint.simulate(bandit, goal=goal, horizon=3000, replications=2, method="eager", **OPTIONS)
    assert runs.stopping_time.notnull().any()
    for r in range(2):
        stop = int(runs.stopping_time.fillna(3000)[r])
        agent = feint.Agent(4, goal=goal, family=bandit.families, epsilon=0.5, replication=r)
        rewards, sure = RewardStream(bandit, 0, r), False
        for t in range(stop):
            assert not sure
            arm = agent.pull()
            agent.update(arm, *rewards.rewards(t, arm))
            sure = t >= 3 and agent.log_error <= math.log(0.4)
        assert sure or np.isnan(runs.stopping_time[r])
        assert (agent.answer == runs.answer.values[r, -1]).all()
        assert agent.confidence == -math.expm1(agent.log_error)
        if (agent.answer == goal.answer(np.array(bandit.private))).all():
            assert agent.log_error == pytest.approx(float(runs.log_error[r, -1]), rel=1e-12)
    return runs


def check_theory(bandit, goal):
    """The optimum is proven, and Γ at its weights is its Γ*."""
    best = feint.optimal_boosting(bandit, goal=goal)
    assert -1e-14 <= best.gap / best.gamma <= 1e-10
    assert feint.gamma(bandit, best.weights, goal=goal) == pytest.approx(best.gamma, rel=1e-10)
    return best.gamma


def check_commands(bandit, text, runs, gamma):
    """`feint run` makes the same runs, and `feint plan` has the same Γ*."""
    goal = parse(text, "goal")
    options = [*_in_options(bandit), "--epsilon", "0.5", "--delta", "0.4", "--goal", text, "--json"]
    more = ["--horizon", "3000", "--replications", "2", "--method", "eager"]
    found = typed("run", *options, *more)
    assert found.returncode == 0, found.stderr
    right = (runs.answer.values[:, -1] == goal.answer(np.array(bandit.private))).all(1).sum()
    assert json.loads(found.stdout)["right_answers"] == right
    found = typed("plan", *options)
    assert found.returncode == 0, found.stderr
    planned = json.loads(found.stdout)
    assert planned["gamma"] == pytest.approx(gamma, rel=1e-12)
    assert planned["goal"] == config_of(goal, "goal")


def check_sweep(bandit, goal, runs, folder):
    """A sweep holds the same runs."""
    study = {"bandits": {"one": bandit}, "epsilons": [0.5], "horizon": 3000, "replications": 2, "delta": 0.4}
    with feint.Sweep(**study, goal=goal, method="eager").run(folder / "sweep.zarr", progress=False) as stored:
        np.testing.assert_array_equal(stored.stopping_time.values.ravel(), runs.stopping_time.values)
        if goal != feint.BestArm():  # whose answer is the recommendation
            np.testing.assert_array_equal(stored.answer.values.reshape(runs.answer.shape), runs.answer.values)
            assert json.loads(stored.attrs["study"])["goal"] == config_of(goal, "goal")


def check_page(name, text):
    """The page's form gives the goal to a run, which unfolds, and says what it answers."""
    pytest.importorskip("panel", reason="Panel, of feint[app], is not installed")
    from feint.app.choices import GOALS as OFFERED
    from feint.app.explore import _answer_text
    from feint.app.instance_form import InstanceForm
    from feint.app.unfolding import Unfolding

    form = InstanceForm()
    form.family.value = name
    wanted, _, argument = text.partition(":")
    form.goal.select.value = next(words for words, offered in OFFERED.items() if offered.name == wanted)
    form.goal.argument.value = argument
    run = Unfolding(form.setting(), 12)
    assert run.setting.goal == parse(text, "goal")
    assert "arm" in _answer_text(run.setting.goal, run.deceiver.agent) or not run.deceiver.agent.answer.any()


@pytest.mark.slow  # since each compiles kernels of its own
@pytest.mark.parametrize("text", GOALS)
@pytest.mark.parametrize("name", FAMILIES)
def test_every_goal_at_every_door(name, text, tmp_path):
    bandit, goal = instance(name), parse(text, "goal")
    runs = check_runs(bandit, goal)
    gamma = check_theory(bandit, goal)
    planned = feint.plan(bandit, goal=goal, **OPTIONS)
    assert planned.gamma == pytest.approx(gamma, rel=1e-12)
    assert planned.goal == goal
    assert planned.time > 4
    check_sweep(bandit, goal, runs, tmp_path)
    check_commands(bandit, text, runs, gamma)
    if not isinstance(FAMILIES[name], tuple):
        check_page(name, text)


class Negative:
    """Which private means are below a threshold, in plain Python: what `AboveThreshold` asks, the other way round."""

    def __init__(self, threshold):
        self.threshold = threshold

    def answer(self, means):
        return means < self.threshold

    def log_error(self, answer, pulls, sums):
        z = (self.threshold - sums / pulls) * np.sqrt(pulls)
        return float(np.log(-np.expm1(log_ndtr(np.where(answer, z, -z)).sum())))

    def doubts(self, pulls, means, divergence):
        return np.diag(pulls * divergence(means, np.full(means.size, self.threshold)))


class Counting(Negative):
    """A goal that keeps state: how often it was asked for an error."""

    asked = 0

    def log_error(self, answer, pulls, sums):
        self.asked += 1
        return super().log_error(answer, pulls, sums)


OWN = """
from test_goal_doors import Negative

class Own(Negative):
    def __init__(self):
        super().__init__(0.4)
"""


@pytest.mark.slow
def test_a_goal_of_ones_own_at_every_door(tmp_path):
    """Runs, agents, theory, plans and commands take it, and find what `AboveThreshold` finds."""
    bandit, own, usual = instance("gaussian"), Negative(0.4), feint.AboveThreshold(0.4)
    options = {"horizon": 40, "replications": 2, "method": "eager", "checkpoints": [40], **OPTIONS}
    explorer = feint.RoundRobin([1, 2, 3])
    runs = feint.simulate(bandit, explorer, goal=own, **options)
    rewards = RewardStream(bandit, 0, 0)
    agents = [feint.Agent(4, explorer, goal=goal, epsilon=0.5) for goal in (own, usual)]
    for t in range(int(runs.stopping_time.fillna(40)[0])):
        arms = [agent.pull() for agent in agents]
        assert arms[0] == arms[1]
        for agent in agents:
            agent.update(arms[0], *rewards.rewards(t, arms[0]))
    assert (agents[0].answer != agents[1].answer).all()
    assert agents[0].log_error == pytest.approx(agents[1].log_error, rel=1e-10)
    assert (runs.answer.values[0, -1] == agents[0].answer).all()
    best = check_theory(bandit, own)
    assert best == pytest.approx(feint.optimal_boosting(bandit, goal=usual).gamma, rel=1e-10)
    (tmp_path / "mine.py").write_text(OWN)
    words = [*_in_options(bandit), "--epsilon", "0.5", "--goal", "mine.py:Own", "--horizon", "40"]
    found = typed("run", *words, "--replications", "2", "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["runs"] == 2
    found = typed("plan", *words[:-2], "--json", cwd=tmp_path)
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout)["gamma"] == pytest.approx(best, rel=1e-10)


@pytest.mark.parametrize("explorer", [feint.TopTwo(), feint.FixedBoosting([0.0, 0.2, 0.5, 0.3])])
def test_plans_of_a_goal_of_ones_own(explorer):
    """It draws the paths of `AboveThreshold`, which asks the same; and all private rewards must be seen."""
    bandit, options = instance("gaussian"), {"explorer": explorer, **OPTIONS}
    own, usual = (feint.plan(bandit, goal=goal, **options) for goal in (Negative(0.4), feint.AboveThreshold(0.4)))
    assert own.quantiles == usual.quantiles
    assert own.observer.quantiles == usual.observer.quantiles
    np.testing.assert_allclose(own.pulls, usual.pulls, rtol=1e-9)
    counting = Counting(0.4)
    feint.plan(bandit, goal=counting, **options)
    assert counting.asked == 0  # a plan asks a copy
    seldom = feint.Bandit(bandit.public, bandit.private, feedback=feint.Sometimes(0.5))
    with pytest.raises(ValueError, match="can be answered only if all private rewards are seen; leave the feedback"):
        feint.plan(seldom, goal=Negative(0.4), **options)


def test_a_sweep_takes_a_goal_of_ones_own(tmp_path):
    bandit = instance("gaussian")
    study = {"bandits": {"one": bandit}, "epsilons": [0.5], "horizon": 40, "replications": 2, "checkpoints": [40]}
    own = feint.Sweep(**study, goal=Negative(0.4), method="eager")
    with own.run(tmp_path / "own.zarr", progress=False) as stored:
        runs = feint.simulate(bandit, goal=Negative(0.4), epsilon=0.5, horizon=40, replications=2, checkpoints=[40])
        np.testing.assert_array_equal(stored.answer.values.ravel(), runs.answer.values.ravel())
