"""`feint app` in Chromium, by a driver: sliders, play, accusations, logs that are dropped, garbage, two visitors.

Every test ends with what must hold of all of them: no complaint in the console and no request to another host.
"""

import json
import re
import subprocess
import sys
import time
import urllib.request
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

import feint
from feint.cli import app
from feint.explorers import TopTwo
from feint.logs import public_log, write_log

pytest.importorskip("panel", reason="Panel, of feint[app], is not installed")
websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")

from chromium import CHROMIUM, Browser  # noqa: E402 - it needs websocket-client

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="left out for want of a browser: Debian's package chromium")

PAPER = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])
PULL = "+texts('.pull').replace(',', '')"
WIDTHS = (1200, 390)


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A server of its own, as a user starts it."""
    said = tmp_path_factory.mktemp("server") / "stderr"
    command = [sys.executable, "-m", "feint", "app", "--no-show", "--port", "0"]
    with open(said, "w") as stderr:
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr)
    while not (found := re.search(r"http://127\.0\.0\.1:\d+/", said.read_text())):
        assert server.poll() is None, said.read_text()
        time.sleep(0.05)
    yield found[0]
    server.terminate()
    server.wait(20)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    opened = Browser(tmp_path_factory.mktemp("chromium"))
    yield opened
    opened.close()


@pytest.fixture
def visit(url, browser):
    """Open the page as a new visitor; afterwards nobody has complained and nobody else was asked."""
    tabs = []

    def open_page(width=1200):
        tab = browser.open(url, width)
        tabs.append(tab)
        tab.until(f"{PULL} == 4", 120)
        return tab

    yield open_page
    hosts = set()
    for tab in tabs:
        tab.js("1")  # what is still to be heard
        assert tab.complaints == []
        hosts |= {
            urlsplit(asked).netloc for asked in tab.requests if not asked.startswith(("data:", "blob:", "about:"))
        }
        tab.close()
    assert hosts == {urlsplit(url).netloc}


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


def line(tab):
    return tab.js("texts('.line')")


@pytest.mark.parametrize("width", WIDTHS)
def test_a_run_unfolds(visit, width, tmp_path):
    tab = visit(width)
    tab.click("Step")
    tab.until(f"{PULL} == 5")
    tab.click("Play")
    tab.until(f"{PULL} > 30")
    tab.click("Pause")
    tab.until("!!button('Play')")
    time.sleep(0.4)  # a tick under way may still arrive
    paused = tab.js(PULL)
    time.sleep(0.6)
    assert tab.js(PULL) == paused
    tab.click("Jump to detection")
    told = tab.until("texts('.cell').match(/deceives[^]*?alarm at pull ([\\d,]+)/)")
    runs = feint.simulate(PAPER, TopTwo(), epsilon=0.1, horizon=1000, replications=1, observe=True)
    assert int(told[1].replace(",", "")) == int(runs.detection_time[0]) == tab.js(PULL)
    assert tab.overflow() <= 0


def test_sliders_make_the_instance(visit):
    """The run is that of the means that the sliders show."""
    tab = visit()
    tab.slide("private-1", "ArrowLeft", 5)  # by 0.02 each
    tab.slide("epsilon", "ArrowRight", 1)
    tab.until("inside('preset', 'select').value == 'your own'")
    tab.until(f"{PULL} == 4 && texts('.cell').includes('ε = 0.3')")
    assert "0.40" in tab.js("host('private-1').shadowRoot.textContent")
    tab.click("Jump to detection")
    tab.until("/deceives[^]*?alarm at pull/.test(texts('.cell'))")
    bandit = feint.Bandit(PAPER.public, [0.2, 0.4, 0.1, 0.0])
    runs = feint.simulate(bandit, TopTwo(), epsilon=0.3, horizon=1000, replications=1, observe=True)
    assert tab.js(PULL) == int(runs.detection_time[0])
    tab.slide("arms", "ArrowLeft", 1)
    tab.until(f"{PULL} == 3")


@pytest.mark.parametrize("width", WIDTHS)
def test_accusations(visit, width):
    """Who is who stays hidden until one is accused; then it is told, and it is the same whoever was accused."""
    tab = visit(width)
    tab.choose("view-of", "guess who deceives")
    tab.until(f"{PULL} == 4 && !texts('.cell').includes('deceives')")
    tab.click("Jump to detection")
    tab.until(f"{PULL} > 20")
    assert "deceives" not in tab.js("texts('.cell')")
    tab.click("Accuse A")
    first = tab.until("texts('.line')")
    assert re.match(r"(Right: A deceives; [\d,]+ of its [\d,]+ pulls were bent|Wrong: A is honest, the other)", first)
    tab.click("Accuse B")
    tab.until("texts('.line').includes(': B ')")
    assert line(tab).startswith("Right" if first.startswith("Wrong") else "Wrong")
    cells = tab.js("texts('.cell')")
    assert ("A deceives" in cells) == first.startswith("Right")
    assert tab.overflow() <= 0


@pytest.mark.parametrize("width", WIDTHS)
def test_a_plan_is_taken_into_explore(visit, width):
    tab = visit(width)
    tab.click("Plan")
    tab.choose("delta", "until sure to 90 %")
    tab.click("Plan it")
    tab.until("texts('td') && texts('.cell').includes('nats are spent')", 120)
    assert "What can be had unseen" in tab.js("texts('div')")
    assert tab.overflow() <= 0
    tab.click("Take ε = 0.1 into Explore")
    tab.until(f"{PULL} == 4")


@pytest.mark.parametrize("width", WIDTHS)
def test_audits(visit, width, logs, tmp_path):
    """An honest and a deceptive log get the verdicts, pages, JSON and commands that the shell gives."""
    tab = visit(width)
    tab.downloads_to(tmp_path)
    tab.click("Audit")
    for name, verdict in (("deceptive", "rejected at row"), ("honest", "no evidence against")):
        tab.drop(logs / f"{name}.csv")
        tab.until(f"texts('.line').includes('{name}.csv, ')")
        assert "columns time, arm, reward" in tab.js("texts('p')")
        tab.click("Audit it")
        tab.until(f"texts('.line').includes('{verdict}')", 120)
        tab.until("deep('iframe').some(frame => frame.srcdoc.includes('What was claimed'))")
        assert tab.overflow() <= 0
    assert tab.until("texts('.command')").split() == ["feint", "audit", "honest.csv"]
    tab.click("JSON")
    kept = tmp_path / "audit.json"
    for _ in range(200):
        if kept.exists() and kept.read_text().endswith("\n"):
            break
        time.sleep(0.05)
    shell = CliRunner().invoke(app, ["audit", str(logs / "honest.csv"), "--json"])
    assert json.loads(kept.read_text()) == json.loads(shell.stdout)


def test_broken_logs_get_a_sentence(visit, logs):
    tab = visit()
    tab.click("Audit")
    for name, words in (("broken.csv", "broken.csv"), ("large.csv", "too large")):
        tab.drop(logs / name)
        said = "texts('.line') + host('drop').shadowRoot.textContent"
        tab.until(f"({said}).toLowerCase().includes('{words}')", 60)
        assert tab.js("button('Audit it').disabled")
    for name, words in (("cut.csv", "abc"), ("no_columns.csv", "no column")):
        tab.drop(logs / name)
        tab.until(f"texts('.line').includes('{name}, ')")
        tab.click("Audit it")
        said = tab.until(f"texts('.line').includes('{words}') && texts('.line')")
        assert "/" not in said.split(name, 1)[1].replace("1/2", "")  # no path of the server
    tab.drop(logs / "honest.csv")
    tab.until("texts('.line').includes('honest.csv, ')")
    tab.click("Audit it")
    tab.until("texts('.line').includes('no evidence against')")


GARBAGE = ("", "abc", "-1", "1e999", "nan", "💥" * 500, "<img src=x onerror=alert(1)>", "9" * 400, "1_0")


@pytest.mark.parametrize("field", ["seed", "sigma", "horizon"])
def test_garbage_in_a_field_gets_a_sentence(visit, field):
    """Whatever is written, one sentence says what to write instead, and a good value brings the run back."""
    tab = visit()
    for text in GARBAGE:
        tab.type(field, text)
        tab.until("/^[^\\n]* give a (whole )?number from [^\\n]*\\.$/.test(texts('.line'))")
        tab.type(field, "50")
        tab.until(f"texts('.line') == '' && {PULL} == 4")


def test_a_run_that_is_too_long_gets_a_sentence(visit):
    tab = visit()
    tab.type("horizon", "5001")
    tab.until("texts('.line').includes('from 5 to 5,000; feint run goes further')")


def test_garbage_in_the_fields_of_an_audit(visit, logs):
    tab = visit()
    tab.click("Audit")
    tab.drop(logs / "honest.csv")
    tab.until("texts('.line').includes('honest.csv, ')")
    for field, texts in (("number", ("", "abc", "-1", "1e999", "💥")), ("alpha", ("", "abc", "0", "2", "nan"))):
        for text in texts:
            tab.type(field, text)
            tab.click("Audit it")
            tab.until("deep('.line.wrong').filter(seen).length == 1 && !texts('.line').includes('Unexpected')")
            tab.type(field, "0.05")
            tab.until("deep('.line.wrong').filter(seen).length == 0")


def test_two_visitors_are_apart(visit, logs):
    """What one does, the other does not see."""
    first, second = visit(), visit(390)
    first.click("Step")
    first.until(f"{PULL} == 5")
    first.type("seed", "7")
    first.until(f"{PULL} == 4")
    first.click("Step")
    first.until(f"{PULL} == 5")
    second.click("Audit")
    second.drop(logs / "honest.csv")
    second.until("texts('.line').includes('honest.csv, ')")
    first.click("Audit")
    assert "honest.csv" not in line(first)
    second.click("Explore")
    second.until(f"{PULL} == 4")
    assert second.js("inside('seed', 'input').value") == "0"


def test_only_this_machine_is_answered(url):
    """The server listens on 127.0.0.1, and a page of another origin may not open its websocket."""
    port = urlsplit(url).port
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        websocket.create_connection(
            f"ws://127.0.0.1:{port}/ws", origin="http://example.org", subprotocols=["bokeh", "x"], timeout=20
        )
    with open("/proc/net/tcp") as listening:
        addresses = [row.split()[1] for row in listening if f":{port:04X} " in row and row.split()[3] == "0A"]
    assert addresses == [f"0100007F:{port:04X}"]
    assert urllib.request.urlopen(url, timeout=60).status == 200
