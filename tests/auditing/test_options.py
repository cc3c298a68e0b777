"""Burn-ins, stages, available arms, units, floors, the probability of one arm: valid, powerful, at every door."""

import csv
import itertools
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.special import betainc
from scipy.stats import beta as beta_law
from scipy.stats import binom
from typer.testing import CliRunner

import feint
from feint.auditing import Names
from feint.auditing.available import AmongAvailable
from feint.auditing.burn_in import BurnIn
from feint.auditing.command_line import read_words
from feint.cli import app
from feint.references import Clipped
from feint.references.past import KnownRewards
from feint.references.recomputation import Recomputation
from option_logs import BETA, CASES, SHARES, first_rejections

GUIDE = (Path(__file__).parent.parent.parent / "docs" / "audit.md").read_text(encoding="utf-8")


# --- Validity, by enumeration ----------------------------------------------------------------------------------------

NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(24))


def best(wins, losses):
    """Return P(arm is best) for integer Beta posteriors: the integrand is a polynomial, so the rule is exact."""
    x = NODES + 0.5
    inside = [betainc(a, b, x) for a, b in zip(wins, losses, strict=True)]
    shares = []
    for arm in range(len(wins)):
        others = np.prod([f for other, f in enumerate(inside) if other != arm], axis=0)
        shares.append(float((WEIGHTS * beta_law.pdf(x, wins[arm], losses[arm]) * others).sum()))
    return np.array(shares)


def known_best(arms, rewards, until, among):
    """Return P(best among `among`) given the first `until` rows, over all arms."""
    wins, losses = np.ones(3), np.ones(3)
    for arm, reward in zip(arms[:until], rewards[:until], strict=True):
        wins[arm] += reward
        losses[arm] += 1 - reward
    shares = np.zeros(3)
    shares[list(among)] = best(wins[list(among)], losses[list(among)]) if len(among) > 1 else 1.0
    return shares


ALL = (0, 1, 2)
AVAILABLE = [(0, 1, 2), (0, 2), (1, 2), (1,)]
STAGE = ["a", "a", "b", "a"]
UNITS = ["u", "v", "u", "w"]


def after_burn_in(t, arms, rewards):
    return np.array(SHARES) if t < 2 else known_best(arms, rewards, t, ALL)


def by_stage(t, arms, rewards):
    return known_best(arms, rewards, (0, 0, 2, 3)[t], ALL)


def among_available(t, arms, rewards):
    return known_best(arms, rewards, t, AVAILABLE[t])


def by_unit(t, arms, rewards):
    return np.eye(3)[arms[0]] if t == 2 else known_best(arms, rewards, t, ALL)


@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({"burn_in": (2, SHARES)}, after_burn_in),
        ({"stages": STAGE}, by_stage),
        ({"available": AVAILABLE}, among_available),
        ({"units": UNITS}, by_unit),
    ],
    ids=["burn_in", "stages", "available", "units"],
)
def test_the_mean_of_e_does_not_grow_at_any_node(options, law):
    """All logs of four rows and three arms whose probabilities, by an integral of our own, are those of the claim."""
    rng = np.random.default_rng(4)
    e = {(): 1.0}
    outcomes = {}
    for arms in itertools.product(range(3), repeat=4):
        rewards = outcomes.setdefault(arms[:3], rng.integers(2, size=3).tolist())  # known to the agent before row 4
        report = feint.audit(arms, [*rewards, 0], explain=False, **BETA, **options)
        whole = math.inf if report.log_e_value == math.inf else math.exp(report.log_e_value)
        e[arms] = whole
    for head in itertools.product(range(3), repeat=3):
        shares = law(3, head, outcomes[head])
        possible = feint.audit(head, outcomes[head], explain=False, **BETA, **_cut(options, 3))
        if possible.rejected and possible.log_e_value == math.inf:
            continue
        before = math.exp(possible.log_e_value)
        after = sum(share * e[(*head, arm)] for arm, share in enumerate(shares) if share > 0)
        assert after <= before * (1 + 1e-9)
        impossible = [arm for arm, share in enumerate(shares) if share == 0]
        assert all(e[(*head, arm)] == math.inf for arm in impossible)
        # Bets are fair, but for what they stake on arms of probability 0: a claim that differs from the law would show.
        assert after >= before * (1 - 1e-7)


def _cut(options, n):
    return {name: value if name == "burn_in" else value[:n] for name, value in options.items()}


@pytest.mark.parametrize("rows", [1, 2])
def test_the_mean_of_e_does_not_grow_in_the_first_rows(rows):
    """The nodes before: a burn-in, a first stage, and a unit that comes back in the third row."""
    for options, law in (({"burn_in": (2, SHARES)}, after_burn_in), ({"stages": STAGE}, by_stage),
                         ({"available": AVAILABLE}, among_available), ({"units": UNITS}, by_unit)):  # fmt: skip
        for head in itertools.product(range(3), repeat=rows):
            rewards = [1, 0][:rows]
            before = feint.audit(head, rewards, explain=False, **BETA, **_cut(options, rows))
            if before.log_e_value == math.inf:
                continue
            after = [
                feint.audit((*head, arm), [*rewards, 0], explain=False, **BETA, **_cut(options, rows + 1)).log_e_value
                for arm in range(3)
            ]
            shares = law(rows, head, rewards)
            mean = sum(share * math.exp(after[arm]) for arm, share in enumerate(shares) if share > 0)
            assert math.exp(before.log_e_value) * (1 - 1e-7) <= mean <= math.exp(before.log_e_value) * (1 + 1e-9)


def box(logged, floor):
    """Return the least and largest probabilities that a floor allows, from its null in the guide."""
    rare = logged < floor
    rest = logged[~rare].sum()
    most = 1 - rare.sum() * floor
    return np.where(rare, 0.0, logged * most / rest), np.where(rare, floor, logged / rest)


def corners(low, high):
    """Yield the corners of the box that are probabilities: all arms but one at an end."""
    for free in range(low.size):
        others = [a for a in range(low.size) if a != free]
        for ends in itertools.product((low, high), repeat=low.size - 1):
            p = np.zeros(low.size)
            for arm, end in zip(others, ends, strict=True):
                p[arm] = end[arm]
            p[free] = 1.0 - p.sum()
            if low[free] - 1e-12 <= p[free] <= high[free] + 1e-12:
                yield p


@pytest.mark.parametrize("within", [0.0, 0.05])
def test_a_floor_is_valid_for_every_agent_that_it_allows(within):
    """The mean of E is linear in the true probabilities, so it is largest at a corner of what the claim allows."""
    logged = np.array([[1.0, 0.0, 0.0], [0.9, 0.099, 0.001], [0.5, 0.45, 0.05], [0.2, 0.3, 0.5]])
    e, largest = {(): 1.0}, 0.0
    for arms in itertools.product(range(3), repeat=4):
        report = feint.audit(
            arms, probabilities=logged, groups=["g", "h", "g", "h"], floor=0.1, within=within, explain=False
        )
        e |= {arms[: t + 1]: math.exp(x) for t, x in enumerate(report.history_log_e_values)}
    for head in [head for head in e if len(head) < 4]:
        low, high = box(logged[len(head)], 0.1)
        low, high = low - within * np.minimum(low, 1 - low), high + within * np.minimum(high, 1 - high)
        means = [sum(p[a] * e[(*head, a)] for a in range(3)) for p in corners(low, high)]
        assert max(means) <= e[head] * (1 + 1e-9)
        largest = max(largest, max(means) / e[head])
    assert largest > 0.99  # little more is given away than has to be


def test_a_floor_of_two_propensities_does_not_depend_on_the_pull():
    arms, of_one = [0, 1, 1, 0], np.array([0.02, 0.0, 0.97, 1.0])
    propensities = np.where(np.array(arms) == 1, of_one, 1 - of_one)
    tables = np.column_stack([1 - of_one, of_one])
    one, other = (
        feint.audit(arms, floor=0.1, explain=False, n_arms=2, **what)
        for what in ({"propensities": propensities}, {"probabilities": tables})
    )
    assert math.isclose(one.log_e_value, other.log_e_value, rel_tol=1e-12)


def test_honest_logs_with_a_rare_arm_keep_a_large_floor():
    """FINDINGS 3.3: an arm of 0.001, floor 0.1, 400 rows; all of 40 were rejected."""
    rng = np.random.default_rng(9)
    logs = (rng.random((40, 400)) < 0.001).astype(int)
    table = np.tile([0.999, 0.001], (400, 1))
    found = [feint.audit(arms, probabilities=table, floor=0.1, explain=False).rejected for arms in logs]
    assert sum(found) <= binom.isf(1e-6, 40, 0.05)


@pytest.mark.parametrize("name", CASES)
def test_honest_logs_pass_and_misstated_ones_do_not(name):
    """At most 5 % of honest logs are rejected: more than 13 of 50 would be with probability below 1e-6."""
    honest = first_rejections(CASES[name], np.random.default_rng(1), 50, 250)
    assert binom.sf(13, 50, 0.05) < 1e-6
    assert np.isfinite(honest).sum() <= 13
    wrong = first_rejections(CASES[name], np.random.default_rng(2), 10, 600, wrong=True)
    assert np.isfinite(wrong).sum() >= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_thousand_honest_logs(name):
    assert np.isfinite(first_rejections(CASES[name], np.random.default_rng(10), 1000, 500)).mean() <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_guide_has_the_medians(name):
    row = next(line for line in GUIDE.splitlines() if line.startswith(f"| {name} |"))
    forced, misstated, wrong = (cell.strip() for cell in row.split("|")[2:5])
    measured = power(name)
    assert (forced, misstated, wrong) == measured


def power(name):
    """Return the cells of the guide's table: medians of 100 logs of 4,000 rows."""
    case = CASES[name]
    medians = [
        np.median(first_rejections(case, np.random.default_rng(seed), 100, 4_000, **how))
        for seed, how in ((11, {"bent": True}), (12, {"wrong": True}))
    ]
    forced, wrong = ("never" if median == np.inf else f"{median:,.0f}" for median in medians)
    return forced, case.misstated, wrong


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
    """With two agents: arrays, a table, `feint audit` and what the page reads from its field."""
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
    """Half of the log, and then the whole of it with the state: log E as in one piece."""
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


def clipped(p, low):
    """Return two probabilities of which none is below `low`."""
    return np.clip(p, low, 1 - low)


COUNTS, SUMS = np.array([4.0, 3.0, 5.0]), np.array([1.0, 2.0, 2.0])
WINS, LOSSES = np.array([1.0, 8.0, 1.0]), np.array([1.0, 2.0, 3.0])
MEANS = SUMS / COUNTS
PAIRED = feint.ThompsonSampling(tuple(zip(WINS, LOSSES, strict=True)))


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (PAIRED, best((WINS + SUMS)[1:], (LOSSES + COUNTS - SUMS)[1:])),
        (feint.Softmax(0.2), np.exp(MEANS[1:] / 0.2) / np.exp(MEANS[1:] / 0.2).sum()),
        (feint.EpsilonGreedy(0.2), np.array([0.9, 0.1])),
        (feint.Split(SHARES), np.array([0.6, 0.4])),
        (feint.Split(), np.array([0.5, 0.5])),
        (Clipped(PAIRED, 0.2), clipped(best((WINS + SUMS)[1:], (LOSSES + COUNTS - SUMS)[1:]), 0.2)),
        (feint.references.NormalInverseGamma((0, 1, 1, 1)), None),
    ],
    ids=["priors", "softmax", "greedy", "split", "uniform", "clipped", "unknown sigma"],
)
def test_a_reference_among_two_of_three_arms(reference, expected):
    """By formulas of our own; where sigma is unknown, by 10⁶ draws of it and of the means."""
    known = KnownRewards(COUNTS[None], SUMS[None], (SUMS - SUMS**2 / COUNTS)[None], np.array([12]))
    recomputed = Recomputation(reference, feint.Bernoulli(), 3)
    found, tested = AmongAvailable(recomputed).rows(known, *np.zeros((2, 1), int), np.array([[False, True, True]]))
    error = 1e-9
    if expected is None:
        draws, n = [], 10**6
        for count, total in zip(COUNTS[1:], SUMS[1:], strict=True):
            rate = 1 + (total - total**2 / count) / 2 + count / (count + 1) * (total / count) ** 2 / 2
            variance = rate / np.random.default_rng(int(count)).gamma(1 + count / 2, size=n)
            draws.append(
                np.random.default_rng(7 + int(count)).normal(total / (count + 1), (variance / (count + 1)) ** 0.5)
            )
        share = (draws[0] > draws[1]).mean()
        expected, error = np.array([share, 1 - share]), 5 * math.sqrt(share * (1 - share) / n)
    assert tested.all()
    assert found[0, 0] == -math.inf
    np.testing.assert_allclose(np.exp(found[0, 1:]), expected, atol=error, rtol=0)


class Looks:
    """A reference of one's own: uniform among the available arms."""

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
    """One column of two arms, by number and by label; columns that count from 1 with labels that do."""
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
    with pytest.raises(ValueError, match="The log has the probability of arm 1 alone, and 3 arms"):
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
    for wrong, sentence in (
        ("--bach 2", "did you mean --batch?"),
        ("batch", "There is no option batch here"),
        ("--batch x", "--batch is 'x'; give a whole number."),
        ("--batch", "--batch needs a value."),
        ("--unit 'a", "A quote is not closed"),
        ("--prior 1,1", "There is no option --prior"),
    ):
        with pytest.raises(ValueError, match=re.escape(sentence)):
            read_words(wrong)


def test_a_rejection_by_one_arm_of_probability_0_is_explained():
    """FINDINGS 4.8: the agent keeps its claim but for 3 % of the pulls, of an arm that often has probability 0."""
    rng = np.random.default_rng(8)
    pi = rng.dirichlet(np.ones(3), 1000)
    pi[::2, 2] = 0.0
    pi /= pi.sum(1, keepdims=True)
    arms = (rng.random((1000, 1)) > pi.cumsum(1)).sum(1).clip(max=2)
    arms[rng.random(1000) < 0.03] = 2
    diagnosis = feint.audit(arms, probabilities=pi).diagnosis
    assert (diagnosis.kind, diagnosis.explanations[0].arms) == ("share", (2,))
    assert re.match(r"\d\.?\d? % of the pulls go to arm 2, whatever its probability", diagnosis.words)
