"""Burn-ins, stages, available arms, units, the probability of one arm: the same everywhere, and reported in words."""

import csv
import json
import math
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import feint
from feint.auditing import Names
from feint.auditing.burn_in import BurnIn
from feint.auditing.claim import Claim
from feint.auditing.command_line import WrittenClaim, read_words
from feint.cli import app
from option_logs import CASES

# --- Every door says the same ----------------------------------------------------------------------------------------

COLUMNS = {"stages": "stage", "available": "available", "units": "unit", "rewards": "reward", "groups": "group"}
WRITTEN = {
    "`--burn-in 150`": "--burn-in 150",
    "`--burn-in 150:0.5,0.3,0.2`": "--burn-in 150:0.5,0.3,0.2",
    "`--stage`": "--stage stage",
    "`--available`": "--available available",
    "`--unit`": "--unit unit",
}


def two_agents(case, rng):
    """Return a log of two honest agents, row by row in turn, with the rows of each in its own order."""
    one, other = case.make(rng, 2, 200)
    merged = {"groups": ["x", "y"] * 200}
    for name in one:
        merged[name] = [cell for pair in zip(one[name], other[name], strict=True) for cell in pair]
    return merged


def write(log, path):
    """Write a log as CSV; arms that are available have ; between."""
    table = {COLUMNS.get(name, "arm"): cells for name, cells in log.items()}
    if "available" in table:
        table["available"] = [";".join(map(str, np.flatnonzero(cell))) for cell in table["available"]]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(table), *zip(*table.values(), strict=True)])


@pytest.mark.parametrize("name", WRITTEN)
def test_python_files_the_command_and_the_page_agree(name, tmp_path):
    """For a log of two agents, arrays, a table, `feint audit` and the field of the page give the same."""
    case = CASES[name]
    log = two_agents(case, np.random.default_rng(3))
    write(log, tmp_path / "log.csv")
    options = case.claim | {name: cells for name, cells in log.items() if name not in ("arms", "rewards")}
    if "available" in options:
        options["available"] = np.array(options["available"])
    expected = feint.audit(log["arms"], log["rewards"], **options)
    assert not expected.rejected
    assert expected.n_groups == 2
    names = Names(group="group", **{option: option for option in ("stage", "available", "unit") if option in name})
    assert feint.audit_log(tmp_path / "log.csv", names=names, **case.claim).to_json() == expected.to_json()
    words = f"{WRITTEN[name]} --group group --arms 3 --no-initial-round"
    shell = CliRunner().invoke(
        app, ["audit", str(tmp_path / "log.csv"), "--reference", "beta", "--json", *words.split()]
    )
    assert json.loads(shell.stdout) == expected.to_json()
    read = read_words(words)
    assert {read.get("group"), read.get("arms"), read.get("initial_round")} == {"group", "3", False}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_followed_log_goes_on_identically(name, tmp_path):
    """Half of the log, and then the whole log with the state, give log E as in one piece."""
    log = CASES[name].make(np.random.default_rng(5), 1, 300)[0]
    if "units" in log:
        log["units"][299] = log["units"][0]  # which has a row before the state was taken
        log["arms"][299] = (log["arms"][0] + 1) % 3
    write(log, tmp_path / "whole.csv")
    lines = (tmp_path / "whole.csv").read_text().splitlines(keepends=True)
    (tmp_path / "log.csv").write_text("".join(lines[:140]))
    follow = ["audit", str(tmp_path / "log.csv"), "--reference", "beta", "--arms", "3", "--no-initial-round",
              *WRITTEN[name].split(), "--follow", "--until-end", "--state"]  # fmt: skip
    assert CliRunner().invoke(app, [*follow, str(tmp_path / "a.json")]).exit_code == 0
    (tmp_path / "log.csv").write_text("".join(lines))
    results = [CliRunner().invoke(app, [*follow, str(tmp_path / file)]) for file in ("a.json", "b.json")]
    one, other = (json.loads((tmp_path / file).read_text()) for file in ("a.json", "b.json"))
    assert one == other
    assert results[0].output == results[1].output
    assert results[0].exit_code == ("units" in log)
    if "units" in log:
        assert one["units"]["changed"][0] == 300


# --- What is said ----------------------------------------------------------------------------------------------------


def test_a_unit_that_changes_refutes():
    report = feint.audit(
        ["a", "b", "a", "b", "b"], units=["x", "y", "x", "x", "y"], reference=feint.Split(), n_arms=["a", "b"]
    )
    assert (report.verdict, report.log_e_value, report.tested, report.repeated) == ("rejected at row 4", math.inf, 2, 3)
    assert report.changed._asdict() == {"row": 4, "unit": "x", "arm": 1, "first_arm": 0, "rows": 1}
    assert "Row 4 shows arm b to the unit x, whose first row has arm a: that refutes the claim." in report.warnings
    assert report.diagnosis is None
    versions = [["x", 1], ["y", 1], ["x", 1], ["x", 2], ["y", 1]]
    assert not feint.audit(
        ["a", "b", "a", "b", "b"], units=versions, reference=feint.Split(), n_arms=["a", "b"]
    ).rejected
    by_group = feint.audit(
        [0, 1, 0, 1], units=["x"] * 4, groups=["g", "h", "g", "h"], reference=feint.Split(), n_arms=2
    )
    assert (by_group.rejected, by_group.tested) == (False, 2)


def test_a_pull_of_an_arm_that_was_not_available_refutes():
    report = feint.audit([0, 1, 2], available=["0;1", "1 2", "[0, 1]"], reference=feint.Split(), n_arms=3)
    assert report.impossible._asdict() == {"row": 3, "arm": 2, "pulls": 1}


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [("0;9", "the available arms name '9'"), ("", "no arm was available"), ("x", "the available arms name 'x'")],
)
def test_a_row_without_available_arms_is_bad(cell, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        feint.audit([0, 1], available=["0;1", cell], reference=feint.Split(), n_arms=3)


def test_logged_probabilities_of_arms_that_were_not_available_are_bad():
    with pytest.raises(ValueError, match=r"row 2: arm 1 has the probability 0\.5, but was not available"):
        feint.audit([0, 0], probabilities=[[0.5, 0.5], [0.5, 0.5]], available=["0;1", "0"])
    report = feint.audit([0, 0], probabilities=[[0.5, 0.5], [1.0, 0.0]], available=["0;1", "0"], floor=0.1)
    assert report.arms[1].expected == pytest.approx(0.5)  # no floor where an arm could not be drawn


class Looks:
    """A user's own reference, uniform among the available arms."""

    def log_probabilities(self, view):
        with np.errstate(divide="ignore"):
            return np.log(view.available / view.available.sum())


class Ignores(Looks):
    def log_probabilities(self, view):
        return np.log(np.full(3, 1 / 3))


def test_ones_own_reference_sees_what_is_available():
    rng = np.random.default_rng(6)
    available = rng.random((200, 3)) < 0.6
    available[~available.any(1)] = True
    arms = np.array([rng.choice(np.flatnonzero(row)) for row in available])
    given = {"rewards": np.zeros(200), "available": available, "n_arms": 3, "explain": False}
    found = feint.audit(arms, reference=Looks(), initial_round=False, **given)
    split = feint.audit(arms, reference=feint.Split(), **given)
    assert not found.rejected
    assert found.tested > 190
    assert split.tested == 200
    with pytest.raises(ValueError, match=r"Ignores\.log_probabilities at step .* gave arm . a probability, but it was"):
        feint.audit(arms, reference=Ignores(), **given)


def test_the_probability_of_one_arm(tmp_path):
    """Test one column for two arms, by number and by label, and columns and labels that count from 1."""
    rng = np.random.default_rng(7)
    p = rng.uniform(0.1, 0.9, 300)
    arms = (rng.random(300) < p).astype(int)
    expected = feint.audit(arms, probabilities=np.column_stack([1 - p, p]), explain=False)
    for labels, prefix in ((["0", "1"], "p_1"), (["no", "yes"], "p_yes"), (["1", "2"], "p_2")):
        path = tmp_path / f"{prefix}.csv"
        rows = [("arm", prefix), *((labels[arm], repr(float(q))) for arm, q in zip(arms, p, strict=True))]
        path.write_text("\n".join(",".join(row) for row in rows))
        given = 2 if labels[0] == "0" else labels
        found = feint.audit_log(path, n_arms=given, explain=False)
        assert found.mode == "propensities"
        assert found.claim == f"the logged propensities are those of arm {labels[1]}"
        assert math.isclose(found.log_e_value, expected.log_e_value, rel_tol=1e-9)
        shell = ["audit", str(path), "--arms", "2" if labels[0] == "0" else ",".join(labels), "--json"]
        by_option = [*shell, "--propensity", prefix, "--probability-of", labels[1]]
        one, other = (json.loads(CliRunner().invoke(app, words).stdout) for words in (shell, by_option))
        assert one == other
    path = tmp_path / "counted.csv"
    path.write_text(
        "arm,p_1,p_2,p_3\n" + "".join(f"{arm},0.2,0.3,0.5\n" for arm in rng.choice([1, 2, 3], 30, p=[0.2, 0.3, 0.5]))
    )
    assert not feint.audit_log(path, n_arms=["1", "2", "3"]).rejected
    assert [arm.label for arm in feint.audit_log(path).arms] == ["1", "2", "3"]
    with pytest.raises(ValueError, match="if p_yes is the probability of one of two arms, give both labels"):
        feint.audit_log(tmp_path / "p_yes.csv")
    with pytest.raises(ValueError, match="The log has 3 arms, but only the probability of arm 1"):
        feint.audit(arms, propensities=p, n_arms=3, probability_of=1)
    with pytest.raises(ValueError, match="`probability_of` is 'x', which is none of the arms 0, 1"):
        feint.audit(arms, propensities=p, n_arms=2, probability_of="x")


@pytest.mark.parametrize("wrong", [0, -1, "x", "5:", 1.5, "5:0.5,0.6", (5, [1.0, 0.0]), (5, 5), [5]])
def test_a_burn_in_checks_itself(wrong):
    if wrong == "5:":
        assert feint.auditing.Claim(burn_in=wrong).burn_in == BurnIn(5)
        return
    with pytest.raises(ValueError, match="`burn_in` is "):
        feint.auditing.Claim(burn_in=wrong)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"stages": [0, 0, 1], "batch": 2}, "give only one"),
        ({"stages": [0, None, 1]}, "row 2: stage is missing"),
        ({"units": ["a", "", "b"]}, "row 2: unit is missing"),
        ({"units": [[1, 2, 3]] * 3}, "give a unit for each pull, or a unit and a version"),
        ({"available": [[True, False, True]] * 3}, "`available` has 3 columns for 2 arms"),
        ({"burn_in": (2, [0.2, 0.3, 0.5])}, "`burn_in` has 3 shares for 2 arms"),
        ({"stages": [0]}, "There are 3 arms but 1 stages"),
        ({"propensities": [0.5] * 3, "available": ["0 1"] * 3}, "says nothing about the propensities"),
    ],
)
def test_what_cannot_be_is_refused(options, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        feint.audit([0, 1, 0], [1.0, 0.0, 1.0], n_arms=2, **options)


def test_a_reference_that_cannot_be_restricted_is_refused(monkeypatch):
    monkeypatch.delattr(feint.Softmax, "among")
    with pytest.raises(ValueError, match="Softmax cannot be recomputed where only some arms are available"):
        feint.audit([0, 1, 0, 1, 0], [1.0] * 5, n_arms=2, reference=feint.Softmax(1.0), available=["0 1"] * 4 + ["0"])


def test_words_of_a_shell():
    assert read_words("--within=1% --skip-bad") == {"within": "1%", "skip_bad": True}
    assert read_words("--family poisson --prior 1,1") == {"family": "poisson", "prior": "1,1"}
    written = {"family": "bernoulli", "prior": "2,1", "clip": "0.1,0.6"}
    assert read_words("--family bernoulli --prior 2,1 --clip 0.1,0.6") == written
    claim = Claim(family=feint.Bernoulli(), prior=(2, 1), clip=(0.1, 0.6))
    assert WrittenClaim(**written).claim() == claim
    for wrong, sentence in (
        ("--bach 2", "did you mean --batch?"),
        ("batch", "There is no option batch here"),
        ("--batch x", "--batch is 'x'; give a whole number."),
        ("--batch", "--batch needs a value."),
        ("--unit 'a", "A quote is not closed"),
        ("--priors 1,1", "There is no option --priors here; did you mean --prior?"),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            read_words(wrong)


def test_what_a_visitor_writes_reads_no_file(tmp_path):
    path = tmp_path / "priors.txt"
    path.write_text("1,1\n2,1\n")
    written = WrittenClaim(reference="beta", prior=str(path))
    assert written.claim(tmp_path).reference == feint.ThompsonSampling([(1, 1), (2, 1)])
    with pytest.raises(ValueError, match="give two numbers"):
        written.claim()


def test_a_rejection_by_one_arm_of_probability_0_is_explained():
    """The agent keeps its claim except for 3 % of the pulls, which are of an arm that often has probability 0."""
    rng = np.random.default_rng(8)
    pi = rng.dirichlet(np.ones(3), 1000)
    pi[::2, 2] = 0.0
    pi /= pi.sum(1, keepdims=True)
    arms = (rng.random((1000, 1)) > pi.cumsum(1)).sum(1).clip(max=2)
    arms[rng.random(1000) < 0.03] = 2
    diagnosis = feint.audit(arms, probabilities=pi).diagnosis
    assert (diagnosis.kind, diagnosis.explanations[0].arms) == ("share", (2,))
    assert re.match(r"\d\.?\d? % of the pulls go to arm 2, whatever its probability", diagnosis.words)
