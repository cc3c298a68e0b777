"""Test a user's own explorers, references and budgets, in plain Python and with a kernel in the user's file."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import feint
from cases import PAPER, first_is_quick
from feint.support.html import table

SOURCE = Path(feint.__file__).parent / "explorers" / "top_two.py"


class PlainTopTwo:
    """An explorer in NumPy that follows lines 3 to 6 of Algorithm 1."""

    def choose(self, view, uniforms):
        leader = self._draw(view.private_probabilities, uniforms[0])
        rest = view.private_probabilities.copy()
        rest[leader] = 0
        challenger = self._draw(rest, uniforms[1])
        share = view.pulls[challenger] / (view.pulls[leader] + view.pulls[challenger])
        return leader if uniforms[2] < share else challenger

    def _draw(self, p, u):
        return int(np.searchsorted(np.cumsum(p) / p.sum(), u, side="right"))


class PlainThompson:
    """A reference for Thompson Sampling with σ = 1, by the public function."""

    def log_probabilities(self, view):
        return feint.best_arm_probabilities(view.public_means, 1 / np.sqrt(view.pulls), log=True)


class Returns:
    """A part that returns what it was told to, as explorer, reference or budget."""

    def __init__(self, value):
        self.value = value

    def choose(self, view, uniforms):
        return self.value

    def log_probabilities(self, view):
        return self.value


class Grows:
    def at(self, t):
        return 1e-3 * t**0.7


class Spends:
    def __init__(self, value):
        self.value = value

    def at(self, t):
        return self.value


def trajectories(*args, **kwargs):
    return feint.simulate(*args, **{"epsilon": 0.1, "horizon": 400, "replications": 2, "seed": 3, **kwargs})


def same(first, second):
    return all((first[name] == second[name]).all() for name in ("pulls", "boosts", "recommendation"))


class TestPlain:
    def test_a_copy_of_top_two_gives_identical_trajectories(self):
        ours, own = trajectories(PAPER), trajectories(PAPER, PlainTopTwo())
        assert same(ours, own)
        assert (ours.log_error == own.log_error).all()

    def test_a_copy_of_thompson_sampling_too(self):
        ours, own = trajectories(PAPER, observe=True), trajectories(PAPER, reference=PlainThompson(), observe=True)
        assert same(ours, own)
        assert np.allclose(ours.log_e_value, own.log_e_value, rtol=1e-9, atol=1e-9)
        stopped = trajectories(PAPER, PlainTopTwo(), reference=PlainThompson(), delta=0.05, epsilon=1.0)
        assert same(stopped, trajectories(PAPER, delta=0.05, epsilon=1.0))

    def test_agent_observer_and_audit_take_them(self, tmp_path):
        agent = feint.Agent(2, PlainTopTwo(), PlainThompson(), epsilon=0.1)
        twin = feint.Agent(2, epsilon=0.1)
        observer, other = feint.Observer(2, PlainThompson()), feint.Observer(2)
        rng = np.random.default_rng(0)
        arms, rewards = [], []
        for _ in range(40):
            arm = agent.pull()
            assert arm == twin.pull()
            public, private = rng.normal(size=2)
            agent.update(arm, public, private)
            twin.update(arm, public, private)
            assert observer.update(arm, public) == pytest.approx(other.update(arm, public), rel=1e-9, abs=1e-12)
            arms.append(arm)
            rewards.append(public)
        own, ours = (feint.audit(arms, rewards, n_arms=2, **given) for given in ({"reference": PlainThompson()}, {}))
        assert own.log_e_value == pytest.approx(ours.log_e_value, rel=1e-9)
        assert own.tested == ours.tested == 38
        agent.save(tmp_path / "agent.json")
        observer.save(tmp_path / "observer.json")
        with pytest.raises(ValueError, match=r"explorer of your own, PlainTopTwo; hand it in again"):
            feint.Agent.load(tmp_path / "agent.json")
        with pytest.raises(ValueError, match=r"saved with the explorer PlainTopTwo, but TopTwo was handed in"):
            feint.Agent.load(tmp_path / "agent.json", explorer=feint.TopTwo())
        with pytest.raises(ValueError, match=r"reference of your own, PlainThompson"):
            feint.Observer.load(tmp_path / "observer.json")
        again = feint.Agent.load(tmp_path / "agent.json", explorer=PlainTopTwo(), reference=PlainThompson())
        assert again.state() == agent.state()
        assert (again.probabilities() == agent.probabilities()).all()
        restored = feint.Observer.load(tmp_path / "observer.json", reference=PlainThompson())
        assert restored.update(0, 0.1) == observer.update(0, 0.1)

    @pytest.mark.parametrize("value", [4, -1, 1.5, None, True, math.nan, "1", np.array([1])])
    def test_arms_that_do_not_exist_are_named_with_class_and_step(self, value):
        with pytest.raises(
            ValueError, match=r"Returns.choose returned .* at step 5; it must be a whole number from 0 to 3"
        ):
            trajectories(PAPER, Returns(value))

    @pytest.mark.parametrize(
        ("value", "says"),
        [
            (np.log([0.25] * 3), "4 numbers"),
            (None, "4 numbers"),
            ("abcd", "4 numbers"),
            ([0.25] * 4, "sum to"),
            (np.log([0.5, 0.3, 0.1, 0.2]), "sum to 1.1"),
            ([0.0, -math.inf, -math.inf, math.nan], "sum to nan"),
        ],
    )
    def test_probabilities_that_are_none_are_named_with_class_and_step(self, value, says):
        with pytest.raises(ValueError, match=rf"Returns.log_probabilities at step 5 .*{says}"):
            trajectories(PAPER, reference=Returns(value))

    def test_the_view_cannot_be_written_to(self):
        class Cheats:
            def choose(self, view, uniforms):
                view.pulls[0] = 1000

        with pytest.raises(ValueError, match="read-only"):
            trajectories(PAPER, Cheats())

    @pytest.mark.parametrize("what", ["explorer", "reference"])
    def test_what_is_none_is_refused(self, what):
        for wrong in (object(), PlainTopTwo if what == "explorer" else PlainThompson, None, 3):
            with pytest.raises(ValueError, match=what):
                trajectories(PAPER, **{what: wrong})


class TestBudgets:
    @pytest.mark.parametrize("budget", [Grows(), Spends(0.05)])
    def test_lazy_equals_eager(self, budget):
        lazy, eager = (trajectories(PAPER, epsilon=budget, horizon=3000, method=method) for method in ("lazy", "eager"))
        assert same(lazy, eager)
        if isinstance(budget, Spends):
            assert same(lazy, trajectories(PAPER, epsilon=0.05, horizon=3000))

    def test_the_agent_and_the_theory_take_them(self):
        agent = feint.Agent(2, epsilon=Grows())
        for _ in range(10):
            agent.update(agent.pull(), 0.0, 1.0)
        pulls = feint.predicted_pulls(PAPER, [0, 0.4, 0.5, 0.1], Spends(0.1), [1000.0, 5000.0])
        assert pulls == pytest.approx(feint.predicted_pulls(PAPER, [0, 0.4, 0.5, 0.1], 0.1, [1000.0, 5000.0]), rel=1e-6)
        assert feint.plan(PAPER, Spends(0.5), 0.1).time == pytest.approx(feint.plan(PAPER, 0.5, 0.1).time, rel=1e-6)

    @pytest.mark.parametrize("value", [-0.1, math.nan, "big", None, True])
    def test_wrong_values_are_named_with_class_and_step(self, value):
        with pytest.raises(ValueError, match=r"Spends.at\(1\), the KL budget of step 1, must be a number"):
            trajectories(PAPER, epsilon=Spends(value))


class TestKernels:
    def run(self, folder, source, method):
        (folder / "mine.py").write_text(source)
        code = (
            "import feint, mine; b = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0]); "
            "r = feint.simulate(b, mine.TopTwo(), epsilon=0.1, horizon=3000, replications=2, seed=3, "
            f"method={method!r}); "
            "print(r.pulls.values[:, -1].tolist(), r.boosts.values[:, -1].tolist())"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    @pytest.mark.parametrize("method", first_is_quick(["eager", "lazy"]))
    def test_a_copy_runs_the_same_and_an_edited_one_never_runs_old_code(self, method, tmp_path):
        ours = trajectories(PAPER, horizon=3000)
        expected = f"{ours.pulls.values[:, -1].tolist()} {ours.boosts.values[:, -1].tolist()}"
        source = SOURCE.read_text()
        assert self.run(tmp_path, source, method) == expected
        edited = source.replace("    return select(view, leader, challenger, uniforms[2])", "    return challenger")
        assert edited != source
        assert self.run(tmp_path, edited, method) != expected


def test_data_sets_describe_themselves_and_concatenate():
    runs = [trajectories(PAPER, epsilon=epsilon, horizon=50) for epsilon in (0.01, 0.1)]
    assert runs[0].public_mean.values.tolist() == list(PAPER.public)
    assert runs[0].private_gap.values == pytest.approx(PAPER.private_gaps)
    assert int(runs[0].best_private) == 1
    for name, values in runs[0].variables.items():
        if values.dtype != object and name != "seed":
            assert values.attrs["long_name"], name
            assert values.attrs["units"], name
    both = xr.concat(runs, "run")
    assert both.epsilon.values.tolist() == [0.01, 0.1]
    assert both.explorer.item() == "TopTwo()"
    assert both.budget.values.tolist() == ["Constant(epsilon=0.01)", "Constant(epsilon=0.1)"]
    last = runs[0].isel(time=-1)
    assert (last.public_regret == (last.pulls * last.public_gap).sum("arm")).all()
    assert (last.private_regret == (last.pulls * last.private_gap).sum("arm")).all()


def test_a_shard_is_part_of_the_whole():
    whole = trajectories(PAPER, replications=7)
    shard = trajectories(PAPER, replications=range(3, 6))
    assert shard.replication.values.tolist() == [3, 4, 5]
    assert same(shard, whole.sel(replication=[3, 4, 5]))
    for wrong in (range(0), range(-1, 2), range(0, 6, 2)):
        with pytest.raises(ValueError, match="a shard is"):
            trajectories(PAPER, replications=wrong)


def test_objects_show_themselves_in_a_notebook():
    agent = feint.Agent(2, epsilon=0.1)
    agent.update(0, 1.0, 0.5)
    report = feint.audit([0, 1, 1], [0.1, 0.2, 0.3], n_arms=2)
    for shown, text in (
        (PAPER, "best private"),
        (agent, "after 1 pulls"),
        (feint.plan(PAPER, 1.0, 0.1), "boosted"),
        (report, "observed"),
    ):
        assert text in shown._repr_html_()
        assert "object at 0x" not in repr(shown)
    escaped = table("<b>", ("<i>",), [("<script>",)], ("&",))
    assert "<script>" not in escaped
    assert "&lt;script&gt;" in escaped
