"""Test names of parts as users write them: aliases, families as references, users' own classes, and mistakes."""

import json
import math
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import feint
from feint.auditing.claim import Claim
from feint.auditing.reference_text import read_reference
from feint.cli.shared import read_bandit
from feint.references import Clipped, NormalInverseGamma
from feint.registry import (
    USUAL_REFERENCE,
    config_of,
    format_part,
    from_config,
    imply_family,
    parse,
)
from feint.registry.instance_files import load_bandit
from feint.sweep.study_file import load_study

MEANS = {"public": [0.6, 0.3, 0.1, 0.2], "private": [0.2, 0.5, 0.1, 0.3]}


@pytest.mark.parametrize(
    ("sort", "alias", "text"),
    [
        ("reference", "thompson", "thompson-sampling"),
        ("reference", "uniform", "split"),
        ("reference", "observed-u-c-b", "ucb"),
        ("reference", "split:0.5,0.3,0.2", "split:0.5;0.3;0.2"),
        ("reference", "thompson:0,1;0,2", "thompson-sampling:(0;1);(0;2)"),
        ("reference", "clipped:thompson,0.05", "clipped:thompson-sampling,0.05"),
        ("family", "normal:2", "gaussian:2"),
        ("family", "beta", "bernoulli"),
        ("budget", "power-law:1,0.5", "power:1,0.5"),
        ("budget", "total-budget:1,1e3", "total:1,1000"),
        ("budget", "rising-budget:1,9", "rising:1,9"),
        ("budget", "constant:0.1", "0.1"),
        ("explorer", "round-robin:1,2", "round-robin:1;2"),
        ("explorer", " TopTwo ", "top-two"),
    ],
)
def test_other_names_and_forms(sort, alias, text):
    assert format_part(parse(alias, sort), sort) == text


class TestReferencesNamedByAFamily:
    """`--reference beta` is Thompson Sampling with Bernoulli rewards; a contradiction is refused."""

    def test_audit(self):
        thompson = feint.ThompsonSampling()
        for reference, family, rewards in (
            ("beta", None, feint.Bernoulli()),
            ("beta", "bernoulli", feint.Bernoulli()),
            ("normal", "gaussian:2", feint.Gaussian(2)),
            ("normal:2", None, feint.Gaussian(2)),
            ("thompson", "poisson", feint.Poisson()),
        ):
            assert read_reference(reference, family, None, None, None, None) == (thompson, rewards)
        assert read_reference("normal", None, "2", None, None, "0.1") == (Clipped(thompson, 0.1), feint.Gaussian(2))
        both = read_reference("normal", None, None, None, None, "0.1,0.8")
        assert both == (Clipped(thompson, 0.1, 0.8), feint.Gaussian())
        assert read_reference(USUAL_REFERENCE, "gaussian", "unknown", None, None, None) == (NormalInverseGamma(), None)

    @pytest.mark.parametrize(
        ("reference", "family", "sigma"),
        [
            ("beta", "poisson", None),
            ("normal:2", "gaussian:1", None),
            ("normal:1", None, "2"),
            ("beta", None, "1"),
            (USUAL_REFERENCE, "bernoulli", "unknown"),
            (USUAL_REFERENCE, "gaussian:2", "2"),
            ("softmax:1", None, "2"),
            (USUAL_REFERENCE, "bernoulli,gaussian", None),
        ],
    )
    def test_audit_refuses_a_contradiction(self, reference, family, sigma):
        with pytest.raises(ValueError, match=r"contradicts|leave (it|them) out|give one name"):
            read_reference(reference, family, sigma, None, None, None)

    def test_run(self, typed_run):
        found = typed_run("--reference", "beta")
        assert (found["reference"], found["family"]) == (feint.ThompsonSampling(), feint.Bernoulli())
        assert typed_run("--reference", "normal", "--sigma", "2")["family"] == feint.Gaussian(2)
        for options in (["--family", "poisson"], ["--sigma", "1"]):
            with pytest.raises(ValueError, match="--reference beta contradicts the public rewards"):
                typed_run("--reference", "beta", *options)

    def test_studies(self, tmp_path):
        path = tmp_path / "study.json"
        fields = {"horizon": 100, "epsilons": [0.1], "references": ["beta"]}
        path.write_text(json.dumps({**fields, "bandits": {"b": {**MEANS, "family": "bernoulli"}}}))
        assert load_study(path).axes["reference"] == {"beta": feint.ThompsonSampling()}
        path.write_text(json.dumps({**fields, "bandits": {"b": {**MEANS, "family": "poisson"}}}))
        with pytest.raises(ValueError, match="'beta' contradicts the public rewards of bandit 'b'"):
            load_study(path)
        path.write_text(json.dumps({**fields, "bandits": {"b": {**MEANS, "sigma": 1}}}))
        with pytest.raises(ValueError, match="'beta' contradicts the public rewards of bandit 'b'"):
            load_study(path)

    @pytest.mark.parametrize("suffix", ["toml", "json"])
    def test_tables_of_a_study(self, suffix, tmp_path):
        """Every alias works as a text and as a table; one that names a family takes that family's arguments."""
        tables = [{"kind": "thompson"}, {"kind": "normal", "sigma": 2, "label": "two"}, {"kind": "uniform"}]
        study = _study(tmp_path / f"study.{suffix}", ["normal:2", *tables], {"b": MEANS})
        assert [type(part) for part in study.axes["reference"].values()] == [feint.ThompsonSampling] * 3 + [feint.Split]
        assert study.axes["bandit"]["b"].families == (feint.Gaussian(2), feint.Gaussian(2))
        with pytest.raises(ValueError, match=r"'beta' contradicts the public rewards of bandit 'b'.*thompson-sampling"):
            _study(tmp_path / f"study.{suffix}", [{"kind": "beta"}], {"b": {**MEANS, "family": "poisson"}})
        with pytest.raises(ValueError, match="beta takes no arguments"):
            _study(tmp_path / f"study.{suffix}", [{"kind": "beta", "prior": [1, 1]}], {"b": MEANS})
        with pytest.raises(ValueError, match="'beta' is a family, not a reference; write thompson-sampling"):
            _study(tmp_path / f"study.{suffix}", [{"kind": "clipped", "reference": "beta", "low": 0.1}], {"b": MEANS})


def _study(path, references, bandits):
    fields = {"horizon": 100, "epsilons": [0.1], "references": references, "bandits": bandits}
    path.write_text(json.dumps(fields) if path.suffix == ".json" else _in_toml(fields))
    return load_study(path)


def _in_toml(fields):
    def written(value):
        if isinstance(value, dict):
            return "{" + ", ".join(f"{key} = {written(item)}" for key, item in value.items()) + "}"
        return "[" + ", ".join(map(written, value)) + "]" if isinstance(value, list) else json.dumps(value)

    return "\n".join(f"{key} = {written(value)}" for key, value in fields.items())


class TestReferencesAboutAFamily:
    """`play-the-winner` is about successes and failures: where no rewards are named, they are Bernoulli."""

    REFERENCES = ("play-the-winner", "clipped:play-the-winner,0.1", "beta")

    @pytest.mark.parametrize("reference", REFERENCES)
    def test_commands_studies_and_instances(self, reference, typed_run, tmp_path):
        assert typed_run("--reference", reference)["family"] == feint.Bernoulli()
        studies = [_study(tmp_path / "study.json", [reference, "thompson"], {"b": MEANS})]
        studies += [_study(tmp_path / "study.toml", ["split", {"kind": "play-the-winner"}], {"b": MEANS})]
        for study in studies:
            assert study.axes["bandit"]["b"].families[0] == feint.Bernoulli()
        (tmp_path / "instance.json").write_text(json.dumps(MEANS))
        read = read_bandit(None, None, None, None, tmp_path / "instance.json", reference)[0]
        assert read.families[0] == feint.Bernoulli()

    def test_python(self):
        winner = feint.PlayTheWinner()
        for reference in (winner, feint.Clipped(winner, 0.1)):
            assert Claim(reference=reference).family == feint.Bernoulli()
            assert feint.Observer(2, reference).state()["family"] == {"kind": "bernoulli"}
            assert feint.Agent(2, reference=reference, epsilon=0.1).state()["families"] == [{"kind": "bernoulli"}] * 2
        assert feint.Observer(2).state()["family"]["kind"] == "gaussian"

    def test_other_rewards_that_are_named_are_refused(self, typed_run, tmp_path):
        says = "PlayTheWinner is about successes and failures, not "
        with pytest.raises(ValueError, match=says):
            feint.Observer(2, feint.PlayTheWinner(), sigma=1.0)
        with pytest.raises(ValueError, match=says):
            _study(tmp_path / "study.json", ["play-the-winner"], {"b": {**MEANS, "family": "gaussian"}})
        with pytest.raises(ValueError, match=says):
            _study(tmp_path / "study.json", ["play-the-winner", "normal"], {"b": {**MEANS, "family": "gaussian"}})


class TestRoundRobinWithoutArms:
    """It boosts all arms but the best public one, in every function and command."""

    def test_a_study(self, tmp_path, typed_run):
        bandits = {"b": MEANS, "other": {**MEANS, "public": [0.7, 0.3, 0.2, 0.1]}}
        for explorer in ("round-robin", {"kind": "round-robin", "label": "round-robin"}):
            fields = {"horizon": 100, "epsilons": [0.1], "explorers": [explorer], "bandits": bandits}
            for suffix in ("json", "toml"):
                path = tmp_path / f"study.{suffix}"
                path.write_text(json.dumps(fields) if suffix == "json" else _in_toml(fields))
                assert load_study(path).axes["explorer"] == {"round-robin": feint.RoundRobin([1, 2, 3])}
        assert typed_run("--explorer", "round-robin")["explorer"] == feint.RoundRobin([1, 2, 3])

    def test_where_the_best_public_arm_differs(self, tmp_path):
        bandits = {"b": MEANS, "other": {**MEANS, "public": [0.2, 0.3, 0.7, 0.1]}}
        fields = {"horizon": 100, "epsilons": [0.1], "explorers": ["round-robin"], "bandits": bandits}
        (tmp_path / "study.json").write_text(json.dumps(fields))
        with pytest.raises(ValueError, match="'round-robin' cannot be made: it needs arms; write round-robin:ARMS"):
            load_study(tmp_path / "study.json")


OWN = """
import numpy as np

class Least:
    def choose(self, view, uniforms):
        return int(view.pulls.argmin())

class Even:
    def log_probabilities(self, view):
        return np.full(view.pulls.size, -np.log(view.pulls.size))

class Bursts:
    def at(self, t):
        return 0.1 if t % 2 else 0.0

class Coin:
    mean_range = (0.0, 1.0)
    rewards = "0 or 1"
    def accepts(self, rewards):
        return (rewards == 0) | (rewards == 1)
    def draw(self, mean, uniform):
        return float(uniform < mean)
    def log_best(self, pulls, sums):
        return np.full(pulls.size, -np.log(pulls.size))

class Needy:
    def __init__(self, number):
        self.number = number

nothing = 3
"""


class TestClassesOfAUser:
    """FILE.py:CLASS is accepted wherever a name is."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        (tmp_path / "mine.py").write_text(OWN)
        monkeypatch.chdir(tmp_path)

    def test_in_a_run(self, typed_run):
        options = [
            "--explorer",
            "mine.py:Least",
            "--reference",
            "clipped:mine.py:Even,0.1",
            "--epsilon",
            "mine.py:Bursts",
        ]
        found = typed_run(*options, "--family", "mine.py:Coin")
        assert {sort: type(part).__name__ for sort, part in found.items()} == {
            "explorer": "Least", "reference": "Clipped", "budget": "Bursts", "family": "Coin", "feedback": "NoneType",
            "goal": "BestArm",
        }  # fmt: skip
        assert type(found["reference"].reference).__name__ == "Even"

    def test_in_studies_instances_and_audits(self, tmp_path):
        instance = {**MEANS, "family": ["mine.py:Coin", "gaussian"]}
        fields = {
            "horizon": 100,
            "explorers": ["mine.py:Least"],
            "epsilons": ["mine.py:Bursts"],
            "bandits": {"b": instance},
        }
        fields["references"] = ["mine.py:Even", {"kind": "clipped", "reference": "mine.py:Even", "low": 0.1}]
        (tmp_path / "elsewhere").mkdir()
        shutil.move(tmp_path / "mine.py", tmp_path / "elsewhere" / "mine.py")
        (tmp_path / "elsewhere" / "study.json").write_text(json.dumps(fields))
        study = load_study(Path("elsewhere/study.json"))
        assert [type(part).__name__ for part in study.axes["reference"].values()] == ["Even", "Clipped"]
        (tmp_path / "elsewhere" / "instance.json").write_text(json.dumps(instance))
        assert type(load_bandit(Path("elsewhere/instance.json")).families[0]).__name__ == "Coin"
        reference, family = read_reference("mine.py:Even", "mine.py:Coin", None, None, None, None, Path("elsewhere"))
        assert (type(reference).__name__, type(family).__name__) == ("Even", "Coin")

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("none.py:Least", "There is no Python file"),
            ("mine.py:Nothing", "mine.py has no class Nothing"),
            ("mine.py:nothing", "mine.py has no class nothing"),
            ("mine.py:Needy", "'mine.py:Needy' cannot be made"),
        ],
    )
    def test_mistakes(self, text, says):
        with pytest.raises(ValueError, match=says):
            parse(text, "explorer", folder=Path())

    def test_an_edited_file_is_run_again(self, tmp_path):
        first = parse("mine.py:Bursts", "budget", folder=tmp_path)
        assert type(parse("mine.py:Bursts", "budget", folder=tmp_path)) is type(first)
        (tmp_path / "mine.py").write_text(OWN.replace("0.1 if", "0.2 if"))
        os.utime(tmp_path / "mine.py", ns=(1, 1))
        assert parse("mine.py:Bursts", "budget", folder=tmp_path).at(1) == 0.2

    def test_a_state_runs_no_file(self, tmp_path):
        (tmp_path / "evil.py").write_text("raise SystemExit('it ran')")
        for reference in ("evil.py:X", {"kind": "evil.py:X"}):
            with pytest.raises(ValueError, match=r"There is no reference 'evil\.py:X'"):
                from_config({"kind": "clipped", "reference": reference, "low": 0.1}, "reference")
        with pytest.raises(ValueError, match="known are"):
            from_config({"kind": "evil.py:X"}, "reference")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("magic", "There is no reference 'magic'; choose among biased-coin, clipped, "),
        ("", "There is no reference ''"),
        ("softmax", "it needs temperature; write softmax:TEMPERATURE"),
        ("softmax:", "write softmax:TEMPERATURE"),
        ("softmax:1,2", r"it takes 1 argument, not 2; write softmax:TEMPERATURE\.$"),
        ("permuted-blocks:4,6,8,2", "it takes 3 arguments, not 4; .*, with ; between the items of a list"),
        ("softmax:x", "temperature is 'x'; give a number"),
        ("softmax:__import__('os')", "temperature is"),
        ("clipped:softmax:1,0.1", "put it in parentheses"),
        ("clipped:(magic),0.1", "There is no reference 'magic'"),
        ("clipped:(softmax:1,0.1", "parentheses of .* do not match"),
        ("clipped:" + "(" * 1000 + ")" * 1000, "nested more than 10 deep"),
        ("clipped:" * 1000, "put it in parentheses"),
        ("clipped:beta,0.1", "'beta' is a family"),
        ("mine.py:Mine:0.3", "by file and class only"),
        ("split:a,b", "give numbers separated by ;"),
        (3, "names no reference"),
    ],
)
def test_mistakes_get_a_sentence(text, says):
    with pytest.raises(ValueError, match=says) as caught:
        parse(text, "reference")
    assert len(str(caught.value)) < 700


class Mine:
    """A user's own reference."""

    def log_probabilities(self, view):
        return np.full(view.pulls.size, -math.log(view.pulls.size))


@pytest.mark.parametrize("other", [Clipped(Mine(), 0.2), Clipped(feint.Softmax(0.5), 0.1)])
def test_a_saved_part_that_holds_ones_own_is_not_another(other):
    config = config_of(Clipped(Mine(), 0.1), "reference")
    assert from_config(json.loads(json.dumps(config)), "reference", Clipped(Mine(), 0.1)) is not None
    with pytest.raises(ValueError, match="saved with other arguments of Clipped"):
        from_config(config, "reference", other)


def test_a_reference_named_by_a_family_takes_no_prior():
    with pytest.raises(ValueError, match="beta takes no arguments"):
        imply_family("beta:2,3")


def test_null_in_an_instance_counts_as_left_out(tmp_path):
    path = tmp_path / "instance.json"
    path.write_text('{"public": [1, 0], "private": [0, 1], "family": null, "sigma": null, "feedback": null}')
    assert load_bandit(path) == feint.Bandit([1, 0], [0, 1])
