"""Terminal, page, notebook and JSON say the same about the same plan and the same runs.

The page needs Panel; where it is not installed, the other places are compared.
"""

import dataclasses
import json
import math
import re
from importlib.util import find_spec

import numpy as np
import pytest
from typer.testing import CliRunner

import feint
from audit_reports import PageReader
from cases import PAPER
from feint.cli import app
from feint.planning import Unseen
from feint.planning.facts import facts_of_plan, facts_of_unseen

MEANS = ["--public", "0.6,0.3,0,0.2", "--private", "0.2,0.5,0.1,0"]
PLANS = {
    "a constant budget": (["--epsilon", "0.1", "--delta", "0.1"], lambda: feint.plan(PAPER, 0.1, 0.1)),
    "one that some runs exhaust": (
        ["--total", "9", "--horizon", "300", "--delta", "0.1"],
        lambda: feint.plan(PAPER, feint.TotalBudget(9.0, 300), 0.1),
    ),
    "another explorer": (
        ["--epsilon", "power:1,0.5", "--delta", "0.2", "--explorer", "fixed-boosting:0,0.5,0.5,0"],
        lambda: feint.plan(PAPER, feint.PowerLaw(1.0, 0.5), 0.2, explorer=feint.FixedBoosting([0, 0.5, 0.5, 0])),
    ),
    "unseen": (["--unseen", "0.5", "--horizon", "1000"], lambda: feint.plan_unseen(PAPER, 0.5, 0.05, 1000)),
}


def typed(*arguments):
    """Return what a command prints on a terminal so wide that no line is broken."""
    result = CliRunner().invoke(app, [*arguments], env={"COLUMNS": "500"}, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def squeezed(text):
    return "".join(text.split())


@pytest.fixture(scope="module", params=PLANS)
def said(request):
    """Return (the facts, the JSON, what each place says without its blanks)."""
    options, make = PLANS[request.param]
    answer, command = make(), ["plan", *MEANS, *options]
    facts = facts_of_unseen(answer) if isinstance(answer, Unseen) else facts_of_plan(answer)
    texts = {"terminal": typed(*command), "notebook": PageReader(answer._repr_html_()).text}
    if find_spec("panel") is not None:
        from feint.app.plan import section

        texts["page"] = PageReader(section(facts)).text
    return facts, json.loads(typed(*command, "--json")), {place: squeezed(text) for place, text in texts.items()}


def test_a_plan_has_one_title_one_table_and_the_same_numbers_everywhere(said):
    facts, _, texts = said
    head, rows = facts.arms.with_marks()
    for place, text in texts.items():
        assert squeezed(facts.title) in text, place
        for row in (head, *rows):
            assert squeezed("".join(row)) in text, (place, row)
        for name, value in facts.numbers:
            colon = ":" if place == "notebook" else ""
            assert squeezed(f"{name}{colon}{value}") in text, (place, name)


def test_a_plan_says_in_words_what_its_json_has(said):
    """The words are made here again, from the JSON alone."""
    facts, found, _ = said
    unseen = "own_error" in found
    columns = {"public": "{:g}", "private": "{:g}", "weights": "{:.4f}"}
    columns |= {} if unseen else {"best_weights": "{:.4f}"}
    columns |= (
        {"pulls": "{:,.1f}", "gained": "{:+,.1f}", "first_order": "{:,.1f}"}
        if unseen
        else {"pulls": "{:,.0f}", "costs": "{:,.3g}"}
    )
    for arm, row in enumerate(facts.arms.rows):
        shown = (str(arm), *(form.format(found[name][arm]) for name, form in columns.items()))
        assert row == tuple(cell.replace("-0.0", "+0.0") for cell in shown)
    assert facts.arms.marks == ["best public", "best private", "", ""]
    numbers = dict(facts.numbers)
    if unseen:
        assert f"{found['horizon']:,} pulls" in facts.title
        assert numbers["total KL"].startswith(f"{found['total']:.4g} nats")
        assert numbers["error reached"] == f"{found['error']:.4g} (± {found['standard_error']:.2g} Monte Carlo)"
        assert numbers["error without any boost"] == f"{found['own_error']:.4g}"
        assert numbers["a test that knew every boost"].endswith(f"{found['informed_power']:.3g}")
        for way, (gained, _) in found["ways"].items():
            who, when = way.split(", ")
            ways = numbers["ways to spend it"]
            told = re.search(rf"if ε rises over time, or stays the same:.* {re.escape(who)} (\S+) or (\S+?)(;|$)", ways)
            assert told[1 + ("rising", "even").index(when)] == f"{gained:.3g}"
        return
    assert numbers["expected time"] == f"{found['time']:,.0f} pulls (± {found['standard_error']:,.0f} Monte Carlo)"
    for share, point, error in zip((10, 50, 90), found["quantiles"], found["errors"]["quantiles"], strict=True):
        words = numbers[f"{share} % of runs are sure by"]
        if point == "inf":
            assert words == "never: too few runs become sure"
        else:
            assert words == f"{point:,.0f} pulls (± {100 * error / point:.0f} %)"
    assert ("never sure" in numbers) == (found["never"] > 0)
    law = " in exp(−Γ*·√(ε·pulls)), about the error in the long run" if "Plan for ε = 0.1 " in facts.title else ""
    assert numbers["exponent Γ*"] == f"{found['gamma']:.6g}{law}, {found['case']}"
    assert numbers["KL spent by then"] == f"{found['kl_spent']:,.4g} nats"  # all of them are below 10,000
    bound = f"{found['power']:.4g}"
    assert numbers.get("power of any test") == (
        None if bound == "1" else f"at most {bound} at level {found['alpha']:g}"
    )
    assert facts.arms.head[4] == "w*"
    keys = f"noticed at level {found['alpha']:g}", "noticed, private rewards known"
    for name, key in zip(("observer", "informed"), keys, strict=True):
        notice, words = found[name], numbers[key]
        assert words.startswith(f"median {float(notice['quantiles'][1]):,.0f}")
        assert words.endswith(f"error by then {notice['error']:.2g}")


def test_large_numbers_of_nats_are_written_out():
    plan = feint.plan(PAPER, 0.1, 0.1)
    many = dataclasses.replace(plan, kl_spent=144_404.5, costs=np.array([4.2449, 617.3, 98_765.4, 0.01234]))
    facts = facts_of_plan(many)
    assert dict(facts.numbers)["KL spent by then"] == "144,404 nats"
    assert [row[facts.arms.head.index("nats")] for row in facts.arms.rows] == ["4.24", "617", "98,765", "0.0123"]


@pytest.mark.parametrize(
    ("options", "medians"),
    [
        (["--delta", "0.3", "--observe", "--alpha", "0.5", "--epsilon", "0.5"], {"stopping_time", "detection_time"}),
        (["--explorer", "earn"], {"private_gain"}),
    ],
)
def test_runs_print_what_their_json_has(options, medians):
    """The words are made here again, from the JSON alone."""
    command = ["run", *MEANS, "--horizon", "400", "--replications", "20", *options]
    text, found = squeezed(typed(*command)), json.loads(typed(*command, "--json"))
    words = {
        "stopping_time": "{runs} runs stopped, median {median:,.0f} pulls",
        "detection_time": "{runs} runs were detected, median {median:,.0f} pulls",
        "private_gain": "median private gain over the reference itself {median:,.1f}",
    }
    assert {name for name in words if found.get(name, {"runs": 0})["runs"]} == medians
    says = [
        f"{found['runs']} runs of {found['pulls']:,} pulls: best private arm found in {found['best_private_found']};",
        f"mean posterior error is {found['mean_error']:.2g} (log₁₀ error "
        f"{found['mean_log_error'] / math.log(10):.3g} on average)",
        *(words[name].format(**found[name]) for name in medians),
    ]
    for arm, (public, private) in enumerate(zip(PAPER.public, PAPER.private, strict=True)):
        stars = "*" * (arm == PAPER.best_public), "*" * (arm == PAPER.best_private)
        means = (found[name][arm] for name in ("mean_pulls", "pulls_half_width", "mean_boosts"))
        numbers = " ".join(f"{mean:,.1f}" for mean in means)
        says.append(f"{arm} {public:g}{stars[0]} {private:g}{stars[1]} {numbers} {found['recommended'][arm]}")
    for sentence in says:
        assert squeezed(sentence) in text
    assert found["best_private_found"] == found["recommended"][PAPER.best_private]
