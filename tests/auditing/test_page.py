"""The page of an audit has every section, escapes all that is from the log, and has the same bytes when made twice."""

import dataclasses
import math
import re
import shutil
import subprocess

import numpy as np
import pytest

import feint
from audit_reports import REPORTS, PageReader, audited, pull
from cases import HANGS
from feint.auditing import facts, picture
from feint.auditing.html_report import page
from feint.auditing.report import ArmReport

ALWAYS = ("claim", "numbers", "evidence", "arms", "warnings", "left-out", "repeat")
MARKUP = "<script>alert(\"1\" & '2')</script>"
CHROMIUM = shutil.which("chromium")


@pytest.fixture(scope="module")
def reports():
    return {name: make() for name, make in REPORTS.items()}


class TestPage:
    @pytest.mark.parametrize("name", REPORTS)
    def test_sections(self, reports, name):
        report = reports[name]
        read = PageReader(page(report, "log.csv", "feint audit log.csv"))
        extra = {"groups"} if report.n_groups else set()
        extra |= {"diagnosis"} if report.diagnosis is not None else set()
        assert set(read.sections) == {*ALWAYS, *extra}
        assert len(set(read.ids)) == len(read.ids)
        assert report.verdict in read.text.lower()
        assert read.text.index(report.verdict[1:]) < read.text.index(report.claim)
        for said in (report.claim, *report.warnings, *report.bad_examples, "feint audit log.csv", "log.csv"):
            assert said.replace("`", "") in read.text
        for arm in report.arms:
            assert f"{arm.observed:,}" in read.text

    def test_what_each_report_says(self, reports):
        texts = {name: PageReader(page(report, "log.csv", "")).text for name, report in reports.items()}
        assert "Rejected at row" in texts["rejected"]
        assert "* departs" in texts["rejected"]
        assert reports["rejected"].diagnosis.words[1:] in texts["rejected"]
        assert "No evidence against the claim" in texts["honest"]
        assert "does not show that the claim is true" in texts["honest"]
        assert "* departs" not in texts["honest"]
        assert "Rejected at row 301" in texts["impossible"]
        assert "Row 301 pulled arm blue, to which the claim gives probability 0. Such pulls: 2." in texts["impossible"]
        assert "∞" in texts["impossible"]
        assert "shop 0" in texts["grouped"]
        assert "Tested one by one, 1 of 30 groups is named" in texts["grouped"]
        assert texts["grouped"].count("* named") == sum(group.named for group in reports["grouped"].groups) == 1
        assert "Only propensities" in texts["propensities"]
        assert "2 of 100 rows were not tested" in texts["damaged"]

    def test_one_figure_where_expected_pulls_are_unknown(self, reports):
        assert page(reports["propensities"], "log", "").count("<svg") == 1
        assert page(reports["honest"], "log", "").count("<svg") == 2

    @pytest.mark.parametrize("name", REPORTS)
    def test_same_bytes_and_nothing_from_elsewhere(self, reports, name):
        text = page(reports[name], "log.csv", "feint audit log.csv")
        assert text == page(reports[name], "log.csv", "feint audit log.csv")
        assert text == page(REPORTS[name](), "log.csv", "feint audit log.csv")
        assert "http" not in text
        assert not re.search(r"\b(src|action)=|@import|url\((?!#)|href=\"(?!#)", text)
        assert PageReader(text).tags.isdisjoint({"script", "link", "iframe", "object", "img", "base"})

    def test_references_within_figures_are_met(self, reports):
        text = page(reports["rejected"], "log.csv", "")
        used = set(re.findall(r'href="#([^"]+)"', text)) | set(re.findall(r"url\(#([^)]+)\)", text))
        assert used
        assert used <= set(PageReader(text).ids)

    def test_no_style_of_the_reader_changes_it(self, reports):
        import matplotlib

        text = page(reports["rejected"], "log.csv", "")
        with matplotlib.rc_context({"font.size": 30, "svg.fonttype": "none", "axes.facecolor": "red"}):
            assert page(reports["rejected"], "log.csv", "") == text

    def test_whatever_comes_from_the_log_is_escaped(self):
        rng = np.random.default_rng(5)
        labels = [MARKUP, "a & b", "$x_$", "ends-->here"]
        claims = np.tile([0.25] * 4, (600, 1))
        arms = np.array(labels, dtype=object)[pull(rng, 0.6 * claims + 0.4 * np.eye(4)[0])]
        report = feint.audit(
            arms, probabilities=claims, n_arms=labels, groups=[MARKUP + str(t % 3) for t in range(600)]
        )
        report = dataclasses.replace(
            report,
            claim=MARKUP,
            warnings=(MARKUP, "read small ones as `floor`"),
            bad_rows={MARKUP: 1},
            bad_examples=(MARKUP,),
        )
        assert report.rejected
        text = page(report, MARKUP, f"feint audit '{MARKUP}'")
        read = PageReader(text)
        assert "script" not in read.tags
        assert "<script" not in text
        assert read.text.count(MARKUP) >= 9
        assert "<code>floor</code>" in text

    def test_a_log_too_short_to_test(self):
        text = page(feint.audit([0, 1], [0.1, 0.2]), "log.csv", "")
        assert "Nothing could be tested against the claim" in text
        assert "<pre" not in text

    def test_labels_that_no_figure_can_show_are_numbered(self):
        report = audited(labels=["红", "绿", "plain", "か"])
        assert [picture.shown_as(arm) for arm in report.arms] == ["#0", "#1", "plain", "#3"]
        assert "#0 is 红; #1 is 绿" in page(report, "log.csv", "")


def with_arms(report, n_arms, label="{}"):
    """Return `report` with n_arms arms, of which every ninth departs."""
    rng = np.random.default_rng(6)
    arms = []
    for a in range(n_arms):
        excess = 80.0 * (a % 9 == 1) + rng.normal(0, 5)
        arms.append(ArmReport(a, label.format(a), 100, 100 - excess, excess, excess - 30, excess + 30, 0.0))
    return dataclasses.replace(report, n_arms=n_arms, arms=tuple(arms), boosted_arm=1)


def with_evidence(report, log_e, rows=1_500):
    """Return `report` with an E that grows to exp(log_e)."""
    history = np.linspace(1, rows, 500).round().astype(np.int64)
    values = log_e * (history / rows) ** 2
    above = history[values >= -math.log(report.alpha)]
    return dataclasses.replace(
        report,
        rows=rows,
        log_e_value=log_e,
        highest_log_e_value=max(log_e, 0.0),
        rejected_at=int(above[0]) if above.size else None,
        history_rows=history,
        history_log_e_values=values,
    )


def check_texts(figure):
    """Check that no text leaves the canvas, and that no two texts overlap."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    inside = figure.bbox
    boxes = []
    ticks = [
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in axis.get_major_ticks()
        for label in (tick.label1, tick.label2)
        if not axis.get_view_interval().min() - 1e-9 <= tick.get_loc() <= axis.get_view_interval().max() + 1e-9
    ]
    for text in figure.findobj(Text):
        if not text.get_visible() or not text.get_text().strip() or text in ticks:
            continue
        box = text.get_window_extent(renderer)
        assert box.x0 >= inside.x0, text
        assert box.y0 >= inside.y0, text
        assert box.x1 <= inside.x1, text
        assert box.y1 <= inside.y1, text
        boxes.append((text.get_text(), box))
    for i, (one, box) in enumerate(boxes):
        for other, its in boxes[:i]:
            assert not box.overlaps(its), (one, other)
    return [text for text, _ in boxes]


class TestFigures:
    @pytest.mark.parametrize("log_e", [-20.0, 0.5, 5, 50, 5_000, 5e6])
    @pytest.mark.parametrize("draw", [picture.draw, picture.draw_evidence])
    def test_evidence_of_any_size(self, reports, draw, log_e):
        report = with_evidence(reports["rejected"], float(log_e))
        figure = draw(report)
        texts = check_texts(figure)
        assert "1/α = 20" in texts
        assert "1" in texts
        axes = figure.axes[0]
        assert axes.get_yscale() == "linear"  # in the exponent: no logarithm of a logarithm
        low, high = axes.get_ylim()
        assert low > -3 - 0.05 * (high - low)
        assert high > max(log_e / math.log(10), math.log10(20))

    @pytest.mark.parametrize("draw", [picture.draw, picture.draw_arms])
    @pytest.mark.parametrize("label", ["{}", "arm {}", "a very long label of arm {}"])
    @pytest.mark.parametrize("n_arms", [2, 4, 80])
    def test_arms_of_any_number(self, reports, draw, label, n_arms):
        texts = check_texts(draw(with_arms(reports["rejected"], n_arms, label)))
        assert reports["rejected"].confidence in texts
        assert label.format(1)[-4:] in {text[-4:] for text in texts}  # it departs, so it is named
        if label.startswith("a very"):
            assert sum(text.startswith("a very") for text in texts) >= min(n_arms, 8)

    @pytest.mark.parametrize(("alpha", "rows"), [(0.5, 3), (1e-3, 1_234_567), (1e-4, 1_999_999), (1e-300, 300_000_000)])
    def test_levels_and_lengths(self, reports, alpha, rows):
        report = dataclasses.replace(with_evidence(reports["rejected"], 40.0, rows), alpha=alpha)
        check_texts(picture.draw(report))
        check_texts(picture.draw_evidence(report))

    @pytest.mark.parametrize("row", [1, 301, 800])
    def test_an_infinite_e_value_is_a_line_with_words(self, reports, row):
        report = reports["impossible"]
        report = dataclasses.replace(report, impossible=report.impossible._replace(row=row), rejected_at=row)
        for draw in (picture.draw, picture.draw_evidence):
            figure = draw(report)
            assert f"E = ∞ from row {row} on" in check_texts(figure)
            assert max(figure.axes[0].lines[0].get_xdata()) < row

    def test_a_dollar_is_a_dollar(self):
        assert "$x_$" in check_texts(picture.draw(audited(labels=["$x_$", "{", "\\frac", "a_b"])))

    def test_what_a_claim_within_a_share_allows_is_drawn(self):
        figure = picture.draw_arms(audited(within=0.2))
        check_texts(figure)
        assert len(figure.axes[0].collections) == 2  # the intervals, and what is allowed

    @pytest.mark.parametrize(
        ("exponent", "said"), [(0, "1"), (1, "10"), (2, "100"), (3, "10³"), (-2, "10⁻²"), (1234567890, "10¹²³⁴⁵⁶⁷⁸⁹⁰")]
    )
    def test_powers_of_ten(self, exponent, said):
        assert facts.power_of_ten(exponent) == said

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (0.0, "1"),
            (math.log(20), "20"),
            (math.log(12_345), "12,345"),
            (1000 * math.log(10), "10¹⁰⁰⁰"),
            (1000 * math.log(10) + math.log(2.5), "2.5·10¹⁰⁰⁰"),
            (-7 * math.log(10) + math.log(9.999), "10⁻⁶"),
            (math.inf, "∞"),
            (-math.inf, "0"),
        ],
    )
    def test_numbers_of_any_size(self, value, said):
        assert facts.superscript(value) == said


MEASURE = (
    "<script>{ const root = document.documentElement;"
    "document.title = root.scrollWidth <= root.clientWidth ? innerWidth : 'cut at ' + root.scrollWidth }</script>"
)


@pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed, so no page can be rendered")
@pytest.mark.parametrize("width", [1200, 390])
def test_no_page_is_wider_than_its_window(reports, tmp_path, width):
    """The page is shown in frames, since the window of a browser cannot be made as narrow as a phone."""
    name = "a-very-long-name-without-a-break" * 6
    wide = dataclasses.replace(with_arms(reports["rejected"], 80, name + "{}"), claim=name)
    frames = []
    for k, report in enumerate((*reports.values(), wide)):
        text = page(report, name + ".csv", f"feint audit {name} --reference beta")
        (tmp_path / f"{k}.html").write_text(text.replace("</body>", MEASURE + "</body>"), encoding="utf-8")
        frames.append(f"<iframe src='{k}.html' width='{width}' height='900' frameborder='0'></iframe>")
    say = "document.body.dataset.found = [...document.querySelectorAll('iframe')].map(f => f.contentDocument.title)"
    (tmp_path / "all.html").write_text(f"{''.join(frames)}<script>onload = () => {{ {say} }}</script>", "utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files",
               f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom", (tmp_path / "all.html").as_uri()]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, check=True).stdout
    found = re.search(r'data-found="([^"]*)"', dom)
    assert found is not None, dom[:500]
    assert found[1].split(",") == [str(width)] * len(frames)
