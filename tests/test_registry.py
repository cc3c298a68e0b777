"""The registry knows every part wherever a user can name it, and finds new parts without a change elsewhere."""

import json
import math
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import feint
from cases import PAPER
from feint.auditing.claim import Claim
from feint.auditing.reference_text import read_reference
from feint.budgets import Constant
from feint.explorers import FixedTilting
from feint.references import Clipped, NormalInverseGamma
from feint.registry import (
    USUAL_REFERENCE,
    config_of,
    format_part,
    from_config,
    parse,
    parse_families,
    registered,
    show_part,
    signatures,
)
from feint.registry.names import MOST_NESTED, arguments
from feint.simulation.dataset import Runs
from feint.simulation.scenario import RunOptions, Scenario
from feint.sweep.study_file import load_study

ROOT = Path(__file__).parents[1]
PACKAGE = Path(feint.__file__).parent

# Every part with every argument away from its default, as a user writes it; nested where it can be.
PARTS = {
    "explorer": {
        "earn": feint.Earn(),
        "fixed-boosting:0;0.5;0.3;0.2": feint.FixedBoosting([0, 0.5, 0.3, 0.2]),
        "fixed-tilting:-1e-05;0.5;0.3;0.2": FixedTilting([-1e-5, 0.5, 0.3, 0.2]),
        "round-robin:1;3": feint.RoundRobin([1, 3]),
        "top-two": feint.TopTwo(),
        "top-two-transport": feint.TopTwoTransport(),
        "tracking": feint.Tracking(),
    },
    "reference": {
        "biased-coin:0.7,3": feint.BiasedCoin(0.7, 3),
        "clipped:(clipped:(softmax:0.5),0.05,0.8),0.1,0.9": Clipped(Clipped(feint.Softmax(0.5), 0.05, 0.8), 0.1, 0.9),
        "clipped:(thompson-sampling:(0;inf);(0;1);(0;2);(0;3)),0.05,0.9": Clipped(
            feint.ThompsonSampling([(0, math.inf), (0, 1), (0, 2), (0, 3)]), 0.05, 0.9
        ),
        "control-share:thompson-sampling,0,0.3": feint.ControlShare(feint.ThompsonSampling(), 0, 0.3),
        "epsilon-greedy:0.1": feint.EpsilonGreedy(0.1),
        "holdout:thompson-sampling,0,0.1": feint.Holdout(feint.ThompsonSampling(), 0, 0.1),
        "linear-thompson-sampling:0.5;inf,2,1;0,true,true,false": feint.LinearThompsonSampling(
            (0.5, math.inf), 2.0, prior_mean=(1, 0), intercept=True, shared=True, joint=False
        ),
        "linear-thompson-sampling:(1;0.5);(0.5;2),2,0.5,true,true,false": feint.LinearThompsonSampling(
            [[1, 0.5], [0.5, 2]], 2.0, prior_mean=0.5, intercept=True, shared=True, joint=False
        ),
        "logistic-thompson-sampling:2,0.1,true,diagonal,0.5": feint.LogisticThompsonSampling(
            2.0, prior_mean=0.1, intercept=True, covariance="diagonal", scale=0.5
        ),
        "normal-inverse-gamma:0;1;1;1": NormalInverseGamma((0, 1, 1, 1)),
        "permuted-blocks:5;10,1;1;2;1,0.25;0.75": feint.PermutedBlocks((5, 10), (1, 1, 2, 1), (0.25, 0.75)),
        "play-the-winner:2,3,0.5": feint.PlayTheWinner(2, 3, 0.5),
        "scored-thompson:1;2;1;1,0;0.5;0.1;-0.1,0.9,1;2": feint.ScoredThompson(
            [1, 2, 1, 1], [0, 0.5, 0.1, -0.1], 0.9, (1, 2)
        ),
        "softmax:0.5": feint.Softmax(0.5),
        "split:0.4;0.3;0.2;0.1": feint.Split([0.4, 0.3, 0.2, 0.1]),
        "tempered:(softmax:0.5),0.5": feint.Tempered(feint.Softmax(0.5), 0.5),
        "tempered:thompson-sampling,n/400": feint.Tempered(feint.ThompsonSampling(), "n/400"),
        "thompson-sampling:0.5;2": feint.ThompsonSampling((0.5, 2)),
        "top-two-thompson:0.7,0.5;2": feint.TopTwoThompson(0.7, (0.5, 2)),
        "ucb:1.5": feint.ObservedUCB(1.5),
    },
    "family": {
        "bernoulli": feint.Bernoulli(),
        "exponential": feint.Exponential(),
        "gaussian:0.1": feint.Gaussian(0.1),
        "poisson": feint.Poisson(),
    },
    "budget": {
        "inf": Constant(math.inf),
        "power:1,0.3333333333333333": feint.PowerLaw(1.0, 1 / 3),
        "rising:3,1000": feint.RisingBudget(3.0, 1000),
        "total:5,100000": feint.TotalBudget(5.0, 100_000),
    },
    "feedback": {
        "linked:0;0.5;0;1,-1;2;-1;0.5,0.3": feint.Linked([0, 0.5, 0, 1], [-1, 2, -1, 0.5], 0.3),
        "sometimes:0.2,0.8": feint.Sometimes(0.2, 0.8),
    },
    "goal": {
        "above-threshold:0.25": feint.AboveThreshold(0.25),
        "best-arm": feint.BestArm(),
        "top-arms:2": feint.TopArms(2),
    },
}
CASES = [(sort, text) for sort, parts in PARTS.items() for text in parts]
# Not for agents, simulations and studies; references with contexts are also for observers.
FOR_AUDITS_ONLY = {text for text in PARTS["reference"] if text.startswith(("normal-inverse", "linear-", "logistic-"))}
MEANS = {"public": [0.6, 0.3, 0.1, 0.2], "private": [0.2, 0.5, 0.1, 0.3]}
ARMS = {"biased-coin:0.7,3": 2}  # others have 4
FAMILIES = {"play-the-winner:2,3,0.5": feint.Bernoulli()}  # others have the usual
USUAL = {
    "explorer": "top-two",
    "reference": "thompson-sampling",
    "family": "gaussian",
    "budget": "0.1",
    "goal": "best-arm",
}
PLURALS = {"explorer": "explorers", "reference": "references", "budget": "epsilons"}


def chosen(sort, text):
    """Return the usual parts of a run, except for one."""
    parts = {other: parse(text if other == sort else usual, other) for other, usual in USUAL.items()}
    return parts | {"feedback": parse(text, sort) if sort == "feedback" else None}


def in_toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key} = {in_toml(item)}" for key, item in value.items() if item is not None) + "}"
    return json.dumps(value)


def test_everything_is_here_with_every_argument_away_from_its_default():
    for sort, parts in PARTS.items():
        assert {type(part) for part in parts.values()} == set(registered(sort).values())
        for part in parts.values():
            for argument in arguments(type(part)):
                assert not argument.optional or getattr(part, argument.name) != argument.default
    assert not {"timing", "observed-u-c-b"} & set(registered("reference"))


@pytest.mark.parametrize(("sort", "text"), CASES)
def test_text_and_json_and_back(sort, text):
    part = PARTS[sort][text]
    assert parse(text, sort) == part
    assert format_part(part, sort) == text
    config = json.loads(json.dumps(config_of(part, sort), allow_nan=False))
    assert from_config(config, sort) == part
    assert from_config({**config, "kind": type(part).__name__}, sort) == part  # as states before had it


@pytest.mark.parametrize(("sort", "text"), [case for case in CASES if case[1] not in FOR_AUDITS_ONLY])
def test_saved_agents_and_observers(sort, text, tmp_path):
    parts = chosen(sort, text)
    explorer, reference, family, budget = (parts[name] for name in ("explorer", "reference", "family", "budget"))
    n_arms, family = ARMS.get(text, 4), FAMILIES.get(text, family)
    others = {"feedback": parts["feedback"], "goal": parts["goal"]}
    agent = feint.Agent(n_arms, explorer, reference, epsilon=budget, family=family, **others)
    agent.save(tmp_path / "agent.json")
    loaded = feint.Agent.load(tmp_path / "agent.json")
    assert loaded.state() == agent.state()
    assert from_config(loaded.state()["families"][0] if sort == "family" else _saved(loaded, sort), sort) == parts[sort]
    if sort in ("reference", "family"):
        observer = feint.Observer(n_arms, reference, family=family)
        observer.save(tmp_path / "observer.json")
        assert feint.Observer.load(tmp_path / "observer.json").state() == observer.state()


def _saved(agent, sort):
    return agent.state()["epsilon" if sort == "budget" else sort]


@pytest.mark.parametrize(("sort", "text"), CASES)
def test_attributes_of_data_sets(sort, text):
    parts = chosen(sort, text)
    bandit = feint.Bandit(**MEANS, family=parts["family"], feedback=parts["feedback"])
    scenario = Scenario(bandit, *(parts[name] for name in ("explorer", "reference", "budget", "goal")))
    data = Runs(scenario, RunOptions(horizon=4, replications=1), np.array([4]), {}).dataset()
    if sort == "family":
        config = json.loads(data.attrs["bandit"])["families"][0]
    elif sort == "feedback":
        config = json.loads(data.attrs["bandit"])["feedback"]
    else:
        config = json.loads(data.attrs["config"])["epsilon" if sort == "budget" else sort]
    assert from_config(config, sort) == parts[sort]
    assert data[sort].item() == show_part(parts[sort], sort)
    assert data[sort].item().startswith(type(parts[sort]).__name__ + "(")


@pytest.mark.parametrize(("sort", "text"), [case for case in CASES if case[0] == "goal"])
def test_the_goal_of_a_study(sort, text, tmp_path):
    path = tmp_path / "study.json"
    fields = {"horizon": 100, "epsilons": [0.1], "bandits": {"b": MEANS}}
    for written in (text, config_of(PARTS[sort][text], sort)):
        path.write_text(json.dumps({**fields, "goal": written}))
        assert load_study(path).goal == PARTS[sort][text]


@pytest.mark.parametrize("suffix", ["toml", "json"])
@pytest.mark.parametrize("sort", [sort for sort in PARTS if sort != "goal"])
def test_studies(sort, suffix, tmp_path):
    """Each part is named by its text and as a table."""
    parts = {text: part for text, part in PARTS[sort].items() if text not in {*FOR_AUDITS_ONLY, *ARMS, *FAMILIES}}
    _check_study(sort, suffix, tmp_path, parts, MEANS)
    if sort == "reference":
        two = {"public": [0.6, 0.3], "private": [0.2, 0.5], "family": "bernoulli"}
        _check_study(sort, suffix, tmp_path, {text: PARTS[sort][text] for text in (*ARMS, *FAMILIES)}, two)


def _check_study(sort, suffix, tmp_path, parts, bandit):
    fields = {"horizon": 100, "epsilons": [0.1], "bandits": {"b": bandit}}
    if sort == "family":
        fields["bandits"] = {text: {**MEANS, "family": text} for text in parts}
    elif sort == "feedback":
        tables = {f"table {text}": config_of(part, sort) for text, part in parts.items()}
        fields["bandits"] = {
            label: {**MEANS, "feedback": feedback}
            for label, feedback in [*zip(parts, parts, strict=True), *tables.items()]
        }
    else:
        tables = [{**config_of(part, sort), "label": f"table {text}"} for text, part in parts.items()]
        fields[PLURALS[sort]] = [*parts, *tables]
    path = tmp_path / f"study.{suffix}"
    lines = (
        f"{name} = {json.dumps(value) if isinstance(value, int) else _lines(value)}" for name, value in fields.items()
    )
    path.write_text(json.dumps(fields) if suffix == "json" else "\n".join(lines))
    study = load_study(path)
    if sort == "family":
        assert {text: bandit.families[0] for text, bandit in study.axes["bandit"].items()} == parts
    elif sort == "feedback":
        found = {label: bandit.feedback for label, bandit in study.axes["bandit"].items()}
        assert found == parts | {f"table {text}": part for text, part in parts.items()}
    else:
        found = study.axes["epsilon" if sort == "budget" else sort]
        assert found == parts | {f"table {text}": part for text, part in parts.items()}


def _lines(value):
    return "[" + ", ".join(map(in_toml, value)) + "]" if isinstance(value, list) else in_toml({
        json.dumps(key): item for key, item in value.items()
    })  # fmt: skip


@pytest.mark.parametrize(("sort", "text"), CASES)
def test_command_lines(sort, text, typed_run):
    assert typed_run("--epsilon" if sort == "budget" else f"--{sort}", text)[sort] == PARTS[sort][text]
    if sort == "reference":
        found = read_reference(text, None, None, None, None, None)
        assert found == (PARTS[sort][text], None)
        if text != "ucb:1.5":  # which no audit takes
            assert Claim(reference=found[0]).family == FAMILIES.get(text, feint.Gaussian())
    if sort == "family":
        assert read_reference(USUAL_REFERENCE, text, None, None, None, None)[1] == PARTS[sort][text]


def test_what_a_run_knows_may_be_left_out(typed_run):
    found = typed_run("--explorer", "round-robin", "--epsilon", "total:5", "--horizon", "1e3")
    assert found["explorer"] == feint.RoundRobin([1, 2, 3])
    assert found["budget"] == feint.TotalBudget(5.0, 1000)


def test_ten_parts_in_each_other_run():
    """The deepest nesting that is accepted also runs, with kernels nested as deep."""
    text = "softmax:0.5"
    for _ in range(MOST_NESTED - 1):
        text = f"clipped:({text}),0.01"
    feint.simulate(PAPER, reference=parse(text, "reference"), epsilon=0.1, horizon=5, replications=1, method="eager")


def test_parts_in_parts_have_an_end():
    config = {"kind": "softmax", "temperature": 1.0}
    for _ in range(500):
        config = {"kind": "clipped", "reference": config, "low": 0.1}
    with pytest.raises(ValueError, match="nested more than 10 deep"):
        from_config(config, "reference")


@settings(max_examples=300, deadline=None)
@given(
    pieces=st.lists(
        st.sampled_from([*"(),;:.0 1-", "clipped", "softmax", "split", "thompson", "inf", "nan", "1e400", "ε"])
    ),
    sort=st.sampled_from(list(PARTS)),
)
def test_any_text_is_read_or_refused(pieces, sort):
    for read in (lambda: parse("".join(pieces), sort), lambda: parse_families("".join(pieces))):
        with suppress(ValueError):
            read()


def test_the_guide_lists_every_name():
    guide = (ROOT / "docs" / "names.md").read_text(encoding="utf-8")
    for sort in PARTS:
        for text in signatures(sort):
            assert f"`{text}`" in guide, text


NEW = {
    "explorers": """
class Least:
    \"\"\"Boost the arm so many after the least pulled one.\"\"\"

    name: ClassVar[str] = "least"
    after: int = 0

    def choose(self, view, uniforms):
        return (int(view.pulls.argmin()) + self.after) % view.pulls.size
""",
    "references": """
class Hedged:
    \"\"\"Give a share to all arms alike, and the rest to what another reference says.\"\"\"

    name: ClassVar[str] = "hedged"
    share: float
    other: Reference = Split()

    def log_probabilities(self, view):
        return np.log(np.full(view.pulls.size, 1 / view.pulls.size))
""",
    "families": """
class Coin:
    \"\"\"Rewards 0 and 1.\"\"\"

    name: ClassVar[str] = "coin"
    mean_range = (0.0, 1.0)
    rewards = "0 or 1"

    def accepts(self, rewards):
        return (rewards == 0) | (rewards == 1)

    def draw(self, mean, uniform):
        return float(uniform < mean)

    def log_best(self, pulls, sums):
        return np.log(np.full(pulls.size, 1 / pulls.size))
""",
    "budgets": """
class Bursts:
    \"\"\"Spend on every other step.\"\"\"

    name: ClassVar[str] = "bursts"
    size: float

    def at(self, t):
        return self.size if t % 2 else 0.0
""",
}
HEAD = "from dataclasses import dataclass\nfrom typing import ClassVar\n\nimport numpy as np\n\n"


def test_a_new_file_and_its_export_are_all_it_takes(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "feint", ignore=shutil.ignore_patterns("__pycache__"))
    for folder, text in NEW.items():
        need = "from feint.references.base import Reference\nfrom feint.references.split import Split\n\n\n"
        head = HEAD + (need if folder == "references" else "\n") + "@dataclass(frozen=True)"
        (tmp_path / "feint" / folder / "added.py").write_text(head + text)
        with (tmp_path / "feint" / folder / "__init__.py").open("a") as file:
            file.write(f"\nfrom feint.{folder}.added import {text.split()[1].rstrip(':')}\n")
    (tmp_path / "study.toml").write_text(
        'horizon = 100\nexplorers = ["least:1"]\nreferences = ["hedged:0.1", "clipped:(hedged:0.1,(softmax:0.5)),0.2"]'
        "\n"
        'epsilons = ["bursts:0.1"]\n[bandits.b]\npublic = [0.6, 0.3]\nprivate = [0.2, 0.5]\nfamily = "coin"\n'
    )
    (tmp_path / "log.csv").write_text("arm,reward\n" + "0,1\n0,0\n1,0\n1,1\n0,1\n" * 4)
    environment = {
        **os.environ,
        "PYTHONPATH": str(tmp_path),
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
        "COLUMNS": "300",
    }

    def python(*arguments):
        command = [sys.executable, *arguments]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    shown = python("-m", "feint", "run", "--help")
    for text in ("least[:AFTER]", "hedged:SHARE[,OTHER]", "coin", "bursts:SIZE"):
        assert text in shown
    code = "import pathlib, feint.sweep.study_file as r; print(r.load_study(pathlib.Path('study.toml')).axes)"
    for text in ("Least(after=1)", "Hedged(share=0.1, other=Softmax(temperature=0.5))", "Coin()", "Bursts(size=0.1)"):
        assert text in python("-c", code)
    assert "hedged:SHARE[,OTHER]" in python("-m", "feint", "audit", "--help")
    found = json.loads(
        python("-m", "feint", "audit", "log.csv", "--reference", "hedged:0.1", "--family", "coin", "--json")
    )
    assert "Hedged(share=0.1" in found["claim"]
