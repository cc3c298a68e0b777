"""Start a server of the page as a user does, and visit it with a browser."""

import os
import re
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest

from cases import HANGS


@pytest.fixture(scope="session")
def url(tmp_path_factory):
    """Yield the server's address; its warnings, such as unclosed files, are errors."""
    said = tmp_path_factory.mktemp("server") / "stderr"
    command = [sys.executable, "-m", "feint", "app", "--no-show", "--port", "0"]
    with open(said, "w") as stderr:
        environment = {**os.environ, "PYTHONWARNINGS": "error"}
        server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=stderr, env=environment)
    while not (found := re.search(r"http://127\.0\.0\.1:\d+/", said.read_text())):
        assert server.poll() is None, said.read_text()
        time.sleep(0.05)
    yield found[0]
    server.terminate()
    server.wait(HANGS)
    assert "Traceback" not in said.read_text()


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    from chromium import Browser  # it needs websocket-client

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
        tab.until("+texts('.pull') == 100 && charts() == 4")
        tab.click("Start again")
        tab.until("+texts('.pull') == 4")
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
