"""Terminal, page, notebook and JSON say the same about the same report."""

import json
import re

import pytest

import feint
from audit_reports import REPORTS, PageReader
from feint.auditing.facts import caret, facts_of, superscript
from feint.auditing.html_report import page
from feint.cli.audit_text import report_text
from feint.cli.shared import in_options


@pytest.fixture(scope="module", params=REPORTS)
def report(request):
    return REPORTS[request.param]()


@pytest.fixture
def texts(report, monkeypatch):
    """Return what each place says, as plain text on one line; the terminal is wide enough to break none."""
    monkeypatch.setenv("COLUMNS", "500")
    said = {
        "terminal": report_text(report),
        "page": PageReader(page(report, "log.csv", "")).text,
        "notebook": PageReader(report._repr_html_()).text,
    }
    return {place: " ".join(text.split()) for place, text in said.items()}


def test_verdict_and_claim(report, texts):
    found = report.to_json()
    for place, text in texts.items():
        assert found["verdict"] in text.lower(), place
        assert found["claim"] in text, place
        assert text.lower().index(found["verdict"]) < text.index(found["claim"]), place


def test_explanation(report, texts):
    diagnosis = report.to_json()["diagnosis"]
    explained = {place: "share of the evidence" in text for place, text in texts.items()}
    assert set(explained.values()) == {diagnosis is not None}, explained
    for place, text in texts.items() if diagnosis is not None else ():
        for explanation in diagnosis["explanations"][:5]:
            row = f"{explanation['words']} {100 * explanation['share']:.0f} %"
            assert row.replace(" ", "") in text.replace(" ", ""), place
        assert diagnosis["words"][1:] in text, place


def test_a_boost_is_named_only_where_nothing_else_explains_the_log(report, texts):
    kind = None if report.diagnosis is None else report.diagnosis.kind
    expected = report.boosted_arm is not None and kind in (None, "boosted", "share", "unclear")
    expected &= report.cause is None or report.boosted_arm in report.cause.arms
    said = {place: "most likely boosted" in text for place, text in texts.items()}
    assert said == dict.fromkeys(texts, expected)


def test_the_bet_that_caused_a_rejection_is_named(report, texts):
    cause = report.to_json()["cause"]
    assert (cause is None) == (not report.rejected or report.impossible is not None)
    for place, text in texts.items():
        for bet in report.log_e_values:
            assert {"calibration": "shares", "serial": "serial dependence"}.get(bet, bet) in text, place
        if cause is not None:
            assert cause["words"].replace(" ", "") in text.replace(" ", ""), place
            assert f"{cause['first_row']:,} … {cause['last_row']:,}" in text, place
            assert cause["last_row"] <= report.rejected_at


def test_the_boost_that_is_hidden_is_among_the_reports():
    assert REPORTS["explained otherwise"]().diagnosis.kind == "another row"


def test_groups(report, texts):
    found = report.to_json()
    for place, text in texts.items():
        if not found["n_groups"]:
            assert "groups" not in text, place
            continue
        assert f"{found['n_groups']} groups" in text, place
        power = caret if place == "terminal" else superscript
        for group in report.groups[:10]:
            cells = f"{group.group}{group.tested:,}{power(group.log_e_value)}".replace(" ", "")
            row = re.search(re.escape(cells) + r"(\*?)", text.replace(" ", ""))
            assert row is not None, (place, group)
            assert bool(row[1]) == group.named, (place, group)
        if report.groups:
            named = sum(group["named"] for group in found["groups"])
            assert f"{found['n_groups']} groups, {named} named (*) by e-BH" in text, place


def test_warnings_and_bad_rows(report, texts):
    found = report.to_json()
    for place, text in texts.items():
        for warning in found["warnings"]:
            said = in_options(warning) if place == "terminal" else warning.replace("`", "")
            assert said in text, place
        for example in found["bad_examples"]:
            assert example in text, place
        for kind, count in found["bad_rows"].items():
            assert re.search(rf"{re.escape(kind)}:? ?{count}", text), place


def test_numbers(report, texts):
    for place, text in texts.items():
        for name, value in facts_of(report, caret if place == "terminal" else superscript).numbers:
            assert name + value.replace(" ", "") in text.replace(" ", "").replace(name.replace(" ", ""), name), place


def test_json_is_json(report):
    assert json.loads(json.dumps(report.to_json(), allow_nan=False))["verdict"] == report.verdict


def test_reports_print_in_a_line(report):
    assert len(repr(report)) < 150
    assert report.verdict in repr(report)
    assert report.verdict in str(report)


class UCBSoftmax:
    """A reference without a repr of its own."""

    def log_probabilities(self, view):
        import numpy as np

        return np.log(np.full(view.pulls.size, 1 / view.pulls.size))


def test_a_reference_of_ones_own_is_called_by_its_class():
    report = feint.audit([0, 1, 0, 1, 1, 0], [1.0, 0.0, 1.0, 0.0, 0.5, 0.2], reference=UCBSoftmax(), n_arms=2)
    assert report.claim == "the reference UCBSoftmax()"
