"""Test studies: the product, labels, chosen cells, files, and one clear sentence for each mistake."""

import dataclasses
import json
import math

import numpy as np
import pytest

import feint
from feint.sweep.study import Study
from feint.sweep.study_file import load_study
from shell import typed
from sweep_cases import COINS, PAPER, small_sweep


class Own:
    """An explorer of a user's."""

    def __init__(self, arm=0):
        self.arm = arm

    def choose(self, view, uniforms):
        return self.arm


def study(**changes):
    settings = {"bandits": {"paper": PAPER, "coins": COINS}, "epsilons": [0.1], "horizon": 100}
    return Study(**{**settings, **changes})


def test_budgets_of_every_kind_have_labels():
    numbers = study(epsilons=[0.01, 1, math.inf])
    assert list(numbers.axes["epsilon"]) == [0.01, 1.0, math.inf]
    mixed = study(epsilons=[0.1, feint.PowerLaw(1.0, 0.5), feint.TotalBudget(3.0, 100)])
    assert list(mixed.axes["epsilon"]) == [
        "0.1",
        "PowerLaw(scale=1.0, exponent=0.5)",
        "TotalBudget(total=3.0, horizon=100)",
    ]
    assert list(study(epsilons={"little": 0.01, "much": math.inf}).axes["epsilon"]) == ["little", "much"]


def test_parts_of_ones_own_are_told_apart_by_their_arguments():
    explorers = [Own(0), Own(1)]
    assert list(study(explorers=explorers).axes["explorer"]) == ["Own(arm=0)", "Own(arm=1)"]


def test_chosen_cells_and_what_they_leave_out():
    chosen = study(
        explorers={"a": feint.TopTwo(), "b": feint.Tracking()},
        epsilons=[0.1, 1.0],
        cells=[{"bandit": "paper", "epsilon": 1}, {"explorer": ["a"], "bandit": "coins"}],
    )
    assert list(chosen.cells()) == [(0, 0, 0, 1), (0, 1, 0, 1), (1, 0, 0, 0), (1, 0, 0, 1)]
    assert chosen.config()["cells"][0] == ["paper", "a", "ThompsonSampling(prior=None)", "1.0"]


def test_configurations_differ_exactly_where_studies_do():
    configs = [
        study(**changes).config()
        for changes in (
            {},
            {"seed": 1},
            {"delta": 0.1},
            {"observe": True},
            {"replications": 7},
            {"checkpoints": [10, 100]},
            {"bandits": {"paper": PAPER}},
            {"bandits": {"paper": PAPER, "coins": feint.Bandit([0.6, 0.3], [0.2, 0.5])}},
            {"references": [feint.Softmax(0.1)]},
            {"explorers": [Own()]},
            {"explorers": [Own(1)]},
            {"epsilons": [0.1, 1.0]},
            {"epsilons": [0.1, 1.0], "cells": [{"epsilon": 0.1}]},
        )
    ]
    texts = [json.dumps(config) for config in configs]
    assert len(set(texts)) == len(texts)
    assert study().config() == study().config()
    assert "self.arm = arm" in texts[9]  # the source of what only the user has


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bandits": {}}, "bandits is {}"),
        ({"bandits": {"": PAPER}}, "cannot be a label"),
        ({"bandits": {"x": 3}}, "Bandit 'x' is invalid"),
        ({"epsilons": []}, "epsilons is empty"),
        ({"epsilons": [-1.0]}, "epsilons has -1.0"),
        ({"epsilons": [0.1, 0.1]}, "Two epsilons have the label 0.1"),
        ({"explorers": [feint.TopTwo(), feint.TopTwo()]}, "Two explorers have the label 'TopTwo()'"),
        ({"explorers": "top-two"}, "give a list"),
        ({"explorers": [feint.RoundRobin([3])]}, r"The cell of bandit 'coins', explorer 'RoundRobin\(arms=\[3\]\)'"),
        ({"explorers": [3]}, "The cell of bandit 'paper', explorer '3', "),
        ({"horizon": 3}, "bandit 'paper' has 4 arms"),
        ({"replications": 0}, "replications is 0"),
        ({"seed": -1}, "seed"),
        ({"delta": 2}, "delta"),
        ({"method": "quick"}, "method is 'quick'"),
        ({"checkpoints": [2, 50]}, "checkpoints must be increasing whole numbers from 4"),
        ({"cells": []}, "cells is empty"),
        ({"cells": [{"bandit": "none"}]}, "Cell 0 names the bandit 'none'"),
        ({"cells": [{"budget": 1}]}, "Cell 0 is"),
    ],
)
def test_mistakes_are_named(changes, words):
    with pytest.raises(ValueError, match=words.replace("()", r"\(\)")):
        study(**changes)


def test_variables_are_those_of_simulate():
    for explorer, observe, delta in (
        (feint.TopTwo(), False, None),
        (feint.TopTwo(), True, 0.1),
        (feint.FixedTilting([0.0, 1.0, 0.0, 0.0]), False, None),
    ):
        runs = feint.simulate(PAPER, explorer, epsilon=0.1, horizon=20, replications=2, observe=observe, delta=delta)
        expected = Study({"p": PAPER}, [explorer], [0.1], horizon=20, observe=observe, delta=delta).variables()
        assert set(expected) == set(runs.data_vars) - {"answer"}  # which is the recommendation, for the best arm
        for name, (dimensions, kind) in expected.items():
            assert runs[name].dims == dimensions
            assert runs[name].dtype == np.dtype(kind)


FILE = """
horizon = 300
replications = 7
delta = 0.2
method = "eager"
explorers = [{kind = "top-two", label = "TopTwo()"}, {kind = "tracking", label = "Tracking()"}]
epsilons = [0.01, 0.1]
bandits.paper = {public = [0.6, 0.3, 0.0, 0.2], private = [0.2, 0.5, 0.1, 0.0]}
bandits.coins = {public = [0.6, 0.3], private = [0.2, 0.5], family = "bernoulli"}
"""


def test_a_file_is_the_same_study(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text(FILE)
    found = load_study(path)
    assert found.config() == small_sweep().config()
    assert found.text == FILE


def test_a_file_with_everything(tmp_path):
    (tmp_path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, arm): self.arm = arm\n"
        "    def choose(self, view, uniforms): return self.arm\n"
        "class Hedged:\n    def log_probabilities(self, view): return [-0.7] * view.pulls.size\n"
    )
    path = tmp_path / "study.toml"
    path.write_text(
        """
        horizon = 50
        seed = 3
        observe = true
        alpha = 0.1
        method = "eager"
        checkpoints = [10, 50]
        explorers = ["top-two", {kind = "round-robin", arms = [1, 2]}, {kind = "mine.py:Mine", arm = 1}]
        references = ["thompson-sampling", {kind = "softmax", temperature = 0.2, label = "soft"}, "mine.py:Hedged"]
        epsilons = [0.1, inf, {kind = "power-law", scale = 1.0, exponent = 0.5, label = "falling"}]
        cells = [{bandit = "b", epsilon = [0.1, "falling"]}]
        [bandits.b]
        public = [0.6, 0.3, 0.1]
        private = [0.2, 0.5, 0.1]
        family = ["bernoulli", "gaussian:2"]
        """
    )
    found = load_study(path)
    assert list(found.axes["explorer"]) == ["top-two", "round-robin(arms=[1, 2])", "mine.py:Mine(arm=1)"]
    assert list(found.axes["reference"]) == ["thompson-sampling", "soft", "mine.py:Hedged"]
    assert list(found.axes["epsilon"]) == ["0.1", "inf", "falling"]
    assert found.wanted.sum() == 18
    assert found.axes["bandit"]["b"].families == (feint.Bernoulli(), feint.Gaussian(2.0))
    assert found.plain[0].tolist() == [[False, False, True], [False, False, True], [True, True, True]]
    assert found.options == {
        "horizon": 50,
        "seed": 3,
        "checkpoints": [10, 50],
        "delta": None,
        "method": "eager",
        "observe": True,
        "alpha": 0.1,
    }


GOOD = {
    "horizon": "horizon = 100",
    "epsilons": "epsilons = [0.1]",
    "bandits": "bandits.b = {public = [0.6, 0.3], private = [0.2, 0.5]}",
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"horizn": "horizn = 3"}, "has 'horizn', which is unknown"),
        ({"horizon": ""}, "has no horizon"),
        ({"horizon": "horizon = 1"}, "bandit 'b' has 2 arms"),
        ({"horizon": "horizon = "}, "cannot be read"),
        ({"bandits": "bandits.b = {public = [0.6, 0.3], private = [0.2, 0.5], sd = 1}"}, "Bandit 'b' is invalid"),
        ({"bandits": "bandits = 3"}, "bandits are tables"),
        ({"explorers": 'explorers = ["none"]'}, "There is no explorer 'none'; choose among"),
        ({"explorers": 'explorers = ["top-two", "top-two"]'}, "Two explorers have the label 'top-two'"),
        ({"explorers": 'explorers = [{kind = "round-robin", arms = [5]}]'}, "The cell of bandit 'b', explorer 'round"),
        ({"explorers": 'explorers = [{kind = "top-two", arm = 5}]'}, "cannot be made"),
        ({"explorers": 'explorers = ["none.py:Mine"]'}, "There is no Python file"),
        ({"cells": 'cells = [{bandit = "c"}]'}, "Cell 0 names the bandit 'c'"),
    ],
)
def test_bad_files_end_with_one_line_and_create_nothing(changes, words, tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("\n".join({**GOOD, **changes}.values()))
    result = typed("sweep", path, "--out", tmp_path / "out.zarr")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert words in result.stderr
    assert [entry.name for entry in tmp_path.iterdir()] == ["study.toml"]


def test_unwritable_targets_end_with_one_line(tmp_path):
    path = tmp_path / "study.toml"
    path.write_text("\n".join(GOOD.values()))
    (tmp_path / "file").write_text("precious")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "thesis.tex").write_text("precious")
    before = sorted(str(entry) for entry in tmp_path.rglob("*"))
    for out in ("file", "folder", "file/out.zarr", "/proc/out.zarr", "nonsense://out.zarr"):
        result = typed("sweep", "study.toml", "--out", out, cwd=tmp_path)
        assert result.returncode == 2
        assert len(result.stderr.splitlines()) == 1
        assert result.stderr.startswith("feint: ")
    assert sorted(str(entry) for entry in tmp_path.rglob("*")) == before


def test_own_dataclasses_are_told_apart_by_their_fields():
    @dataclasses.dataclass(frozen=True)
    class Rare:
        arm: int

        def choose(self, view, uniforms):
            return self.arm

    with pytest.raises(ValueError, match="Two explorers have the label"):
        study(explorers=[Rare(0), Rare(0)])
    assert [label.rsplit(".")[-1] for label in study(explorers=[Rare(0), Rare(1)]).axes["explorer"]] == [
        "Rare(arm=0)",
        "Rare(arm=1)",
    ]
    both = study(explorers={"first": Rare(0), "second": Rare(1)}).config()["explorers"]
    assert both["first"]["state"] != both["second"]["state"]


def test_more_runs_than_a_store_holds_are_refused(tmp_path):
    (tmp_path / "study.toml").write_text(
        "horizon = 100\nreplications = 1_000_000_000_000\nepsilons = [0.1]\n"
        "[bandits.paper]\npublic = [0.6, 0.3]\nprivate = [0.2, 0.5]\n"
    )
    for options in ([], ["--dry-run"]):
        result = typed("sweep", tmp_path / "study.toml", "--out", tmp_path / "out.zarr", *options)
        assert result.returncode == 2
        assert "replications is 1,000,000,000,000" in result.stderr
        assert "a store holds at most 100,000,000 runs" in result.stderr
    # Few runs, but of so many pulls that each is a block of its own.
    with pytest.raises(ValueError, match=r"20,000,000 blocks; a store holds .* 10,000,000 blocks"):
        small_sweep(horizon=10**8, replications=2_500_000).plan(tmp_path / "out.zarr")
    assert not (tmp_path / "out.zarr").exists()
