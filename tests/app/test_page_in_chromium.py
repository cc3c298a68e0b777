"""`feint app` in Chromium, by a driver: sliders, play, the game, logs that are dropped, garbage, two visitors."""

import json
import re
import time

import pytest
from typer.testing import CliRunner

import feint
from cases import HANGS, PAPER
from feint.agent.public_log import public_log, write_log
from feint.cli import app
from feint.explorers import TopTwo

pytest.importorskip("panel", reason="Panel, of feint[app], is not installed")
websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")

from chromium import CHROMIUM  # noqa: E402 - it needs websocket-client

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="left out for want of a browser: Debian's package chromium")

PULL = "+texts('.pull').replace(',', '')"
WIDTHS = (1200, 390)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    directory = tmp_path_factory.mktemp("logs")
    for name, epsilon in (("honest", 0.0), ("deceptive", 0.3)):
        table = public_log(PAPER, TopTwo(), epsilon=epsilon, horizon=600, seed=1)
        write_log(table, directory / f"{name}.csv")
    (directory / "broken.csv").write_bytes(b"\x00\xff\xfe not a log\n" * 50)
    (directory / "cut.csv").write_text("arm,reward\n0,1\n1,0\n0,abc\n")
    (directory / "no_columns.csv").write_text("first,second\n1,2\n")
    (directory / "large.csv").write_bytes(b"arm,reward\n" + b"0,1\n" * 5_300_000)
    return directory


@pytest.fixture(scope="module")
def planned():
    return feint.plan(PAPER, 0.1, 0.1)


def line(tab):
    return tab.js("texts('.line')")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_unfolds(visit, width):
    """After Play, pause, one pull and on to the alarm, the pulls are those of a simulation."""
    tab = visit(width)
    tab.click("One pull")
    tab.until(f"{PULL} == 5")
    tab.click("Play")
    tab.until(f"{PULL} > 30")
    tab.click("Pause")
    tab.until("!!button('Play')")
    paused = tab.js(PULL)  # whoever hears that it is paused has heard of every pull before
    tab.click("One pull")
    tab.until(f"{PULL} == {paused + 1}")
    tab.click("On to the alarm")
    told = tab.until("texts('.cell').match(/deceives[^]*?alarm at pull ([\\d,]+)/)")
    runs = feint.simulate(PAPER, TopTwo(), epsilon=0.1, horizon=1000, replications=1, observe=True)
    assert int(told[1].replace(",", "")) == int(runs.detection_time[0]) == tab.js(PULL)
    assert not tab.js("!!button('Accuse')")
    assert tab.overflow() <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_the_game(visit, width):
    """The page hides who is who, the evidence and all that shows it until one is accused; then it shows everything."""
    tab = visit(width)
    tab.type("horizon", "200")
    tab.click("Game")
    tab.until("!!button('Accuse A') && !!button('Accuse B')")
    tab.choose("speed", "very fast")
    tab.click("Play")
    tab.until(f"{PULL} == 200")
    assert tab.js("charts()") == 1
    assert not re.search(r"e-value \d|alarm at|ε =|honest twin$", tab.js("texts('.cell')"))
    assert not tab.js("!!button('On to the alarm') || !!button('Audit this run')")
    tab.click("Accuse A")
    told = tab.until("texts('.line').includes('A ') && charts() == 4 && texts('.line')")
    assert re.match(r"(Right: A deceives; [\d,]+ of its 200 pulls were bent|Wrong: A is honest, the other)", told)
    cells = tab.js("texts('.cell')")
    assert ("A deceives" in cells) == told.startswith("Right") != ("B deceives" in cells)
    assert len(re.findall(r"e-value [\d.]+, (?:no alarm yet|alarm at)", cells)) == 2
    assert not tab.js("!!button('Accuse')")
    assert tab.overflow() <= 0


def test_sliders_make_the_instance(visit):
    """The run is that of the means that the sliders show."""
    tab = visit()
    tab.slide("private-1", "ArrowLeft", 5)  # by 0.02 each
    tab.slide("epsilon", "ArrowRight", 1)
    tab.until("inside('preset', 'select').value == 'Your own'")
    tab.until(f"{PULL} == 4 && texts('.cell').includes('ε = 0.3')")
    assert "0.40" in tab.js("host('private-1').shadowRoot.textContent")
    tab.click("On to the alarm")
    tab.until("/deceives[^]*?alarm at pull/.test(texts('.cell'))")
    bandit = feint.Bandit(PAPER.public, [0.2, 0.4, 0.1, 0.0])
    runs = feint.simulate(bandit, TopTwo(), epsilon=0.3, horizon=1000, replications=1, observe=True)
    assert tab.js(PULL) == int(runs.detection_time[0])
    tab.slide("arms", "ArrowLeft", 1)
    tab.until(f"{PULL} == {runs.detection_time[0]:.0f} && !texts('.legend').includes('arm 3')")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_plan_is_taken_into_explore(visit, width, planned):
    """The plan is that of `feint.plan`; a click on its point brings ε, explorer and pulls into Explore."""
    tab = visit(width)
    tab.choose("explorer", "round-robin")
    tab.type("horizon", "700")
    tab.click("Plan")
    tab.choose("delta", "90 %")
    tab.click("Plan it")
    tab.until("texts('.facts') && texts('td') && !button('Take ε = 0.1').disabled")
    assert f"{planned.time:,.0f} pulls" in tab.js("texts('.facts')")
    assert f"median {planned.observer.quantiles[1]:,.0f} ± " in tab.js("texts('.facts')")
    tab.until("texts('div').includes('Unseen for 700 pulls')")
    assert tab.overflow() <= 0
    tab.press_point("sure_median", 0)  # the only one so far, or that of the least ε
    tab.until(
        f"{PULL} == 4 && inside('explorer', 'select').value == 'top-two' && +inside('horizon', 'input').value > 700"
    )
    tab.choose("preset", "Two arms")  # which also ends the plans that are still to come
    tab.until("!texts('.legend').includes('arm 2')")
    tab.click("Plan")
    tab.until("texts('.line').includes('The settings have changed since: plan it again.')")


@pytest.mark.parametrize("width", WIDTHS)
def test_audits(visit, width, logs, tmp_path):
    """An honest and a deceptive log get the verdicts, pages, JSON and commands that the shell gives."""
    tab = visit(width)
    tab.downloads_to(tmp_path)
    tab.click("Audit")
    tab.type("arms-known", "4")
    for name, verdict in (("deceptive", "rejected at row"), ("honest", "no evidence against")):
        tab.drop(logs / f"{name}.csv")
        tab.until(f"texts('.line').includes('{name}.csv, ')")
        assert "columns time, arm, reward" in tab.js("texts('p')")
        tab.click("Audit it")
        tab.until(f"texts('.line').includes('{verdict}')")
        tab.until(f"deep('iframe').some(frame => frame.srcdoc.includes('Audit of {name}.csv'))")
        assert ("Diagnosis" in tab.js("texts('p')")) == (name == "deceptive")
        assert tab.overflow() <= 0
    command = tab.until("texts('.command')").split()
    assert command == ["feint", "audit", "honest.csv", "--arms", "4"]
    shell = CliRunner().invoke(app, ["audit", str(logs / "honest.csv"), *command[3:], "--json"])
    tab.click("Download the JSON")
    assert json.loads(arrived(tmp_path / "audit.json", "}\n")) == json.loads(shell.stdout)
    tab.click("Download the page")
    assert "No evidence against" in arrived(tmp_path / "audit.html", "</html>\n")


def arrived(path, end):
    """Return a download when it is complete."""
    limit = time.monotonic() + HANGS
    while not (path.exists() and path.read_text().endswith(end)):
        assert time.monotonic() < limit, f"{path.name} does not come"
        time.sleep(0.05)
    return path.read_text()


def test_broken_logs_and_garbage_in_the_fields_of_an_audit_get_a_sentence(visit, logs):
    tab = visit()
    tab.click("Audit")
    tab.drop(logs / "broken.csv")
    tab.until("texts('.line').startsWith('broken.csv: line 1: byte 2 of the text, 0xff, is not UTF-8')")
    assert tab.js("button('Audit it').disabled")
    tab.drop(logs / "large.csv")
    tab.until("host('drop').shadowRoot.textContent.includes('too large')")
    assert tab.js("button('Audit it').disabled")
    for name, words in (("cut.csv", "abc"), ("no_columns.csv", "no column")):
        tab.drop(logs / name)
        tab.until(f"texts('.line').includes('{name}, ')")
        tab.click("Audit it")
        said = tab.until(f"texts('.line').includes('{words}') && texts('.line')")
        assert "/" not in said + tab.js("texts('p')")  # no path of the server
    tab.drop(logs / "honest.csv")
    tab.until("texts('.line').includes('honest.csv, ')")
    fields = {"number": ("", "abc", "-1", "1e999", "💥"), "alpha": ("", "abc", "0", "2", "nan")}
    for field, texts in (fields | {"arms-known": ("0", "1", "9" * 30, "a,,b", "x")}).items():
        for text in texts:
            tab.type(field, text)
            tab.until("deep('.line.wrong').filter(seen).length == 0")
            tab.click("Audit it")
            tab.until("deep('.line.wrong').filter(seen).length == 1 && !texts('.line').includes('Unexpected')")
        tab.type(field, {"number": "1", "alpha": "0.05", "arms-known": ""}[field])
    tab.click("Audit it")
    tab.until("texts('.line').includes('no evidence against')")


GARBAGE = ("", "abc", "-1", "1e999", "nan", "💥" * 500, "<img src=x onerror=alert(1)>", "9" * 400, "1_0")


def test_garbage_in_a_field_gets_a_sentence(visit):
    """Whatever is written, one sentence says what to write instead, and a good value brings the run back."""
    tab = visit()
    for field, name in (("seed", "The seed"), ("sigma", "σ"), ("horizon", "The number of pulls")):
        for text in GARBAGE:
            tab.type(field, text)
            begin = json.dumps(f"{name} is {text[:12]!r}"[:-1])
            sentence = "/^[^\\n]* give a (whole )?number from [^\\n]*\\.$/.test(texts('.line'))"
            tab.until(f"texts('.line').startsWith({begin}) && {sentence} && deep('.old').length == 2")
        tab.type(field, "50")
        tab.until(f"texts('.line') == '' && {PULL} == 4 && deep('.old').length == 0")
    tab.type("horizon", "5001")
    tab.until("texts('.line').includes('from 5 to 5,000; feint run goes further')")


def test_two_visitors_are_apart(visit, logs):
    """One visitor does not see what another one does."""
    first, second = visit(), visit(390)
    first.click("One pull")
    first.until(f"{PULL} == 5")
    first.type("seed", "7")
    first.click("Start again")
    first.until(f"{PULL} == 4")
    first.click("One pull")
    first.until(f"{PULL} == 5")
    second.click("Audit")
    second.drop(logs / "honest.csv")
    second.until("texts('.line').includes('honest.csv, ')")
    first.click("Audit")
    assert "honest.csv" not in line(first)
    second.click("Explore")
    second.until(f"{PULL} == 4 && inside('seed', 'input').value == '0'")
