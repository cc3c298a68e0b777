"""`feint app` answers only this machine, and only under the address that it was started on."""

import http.client
import urllib.request
from urllib.parse import urlsplit

import pytest

pytest.importorskip("panel", reason="Panel, of feint[app], is not installed")
websocket = pytest.importorskip("websocket", reason="websocket-client is not installed")

from cases import HANGS  # noqa: E402
from chromium import CHROMIUM, Browser  # noqa: E402 - it needs websocket-client


@pytest.fixture(scope="module")
def port(url):
    return urlsplit(url).port


def status(port, path, **headers):
    """Return the status with which a GET with these headers is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
    connection.putrequest("GET", path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


FOREIGN = [
    {"Host": "evil.example:{port}"},
    {"Host": "evil.example:{port}", "Origin": "http://evil.example:{port}"},
    {"Host": "127.0.0.1"},
    {"Host": "localhost:1"},
    {"Host": "127.0.0.1.evil.example:{port}"},
    {"Host": "127.0.0.1:{port}", "Origin": "http://evil.example:{port}"},
    {"Host": "127.0.0.1:{port}", "Origin": "https://127.0.0.1:{port}"},
    {"Host": "127.0.0.1:{port}", "Origin": "null"},
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize("path", ["/", "/static/js/bokeh.min.js", "/ws", "/nothing"])
def test_requests_for_other_names_are_refused(path, headers, port):
    assert status(port, path, **{name: value.format(port=port) for name, value in headers.items()}) == 403


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LocalHost"])
def test_requests_for_this_address_are_answered(name, port):
    host = f"{name}:{port}"
    assert status(port, "/", Host=host) == 200
    assert status(port, "/", Host=host, Origin=f"http://127.0.0.1:{port}") == 200
    assert status(port, "/nothing", Host=host) == 404


@pytest.mark.parametrize("headers", FOREIGN)
def test_websockets_of_other_names_are_refused(headers, port):
    options = {name.lower(): value.format(port=port) for name, value in headers.items()}
    with pytest.raises(websocket.WebSocketBadStatusException, match="403"):
        websocket.create_connection(
            f"ws://127.0.0.1:{port}/ws", **options, suppress_origin="origin" not in options, timeout=HANGS
        )


def test_nobody_else_can_connect(url, port):
    """The server listens on 127.0.0.1 alone."""
    with open("/proc/net/tcp") as listening:
        addresses = [row.split()[1] for row in listening if f":{port:04X} " in row and row.split()[3] == "0A"]
    assert addresses == [f"0100007F:{port:04X}"]
    assert urllib.request.urlopen(url, timeout=HANGS).status == 200


@pytest.mark.skipif(CHROMIUM is None, reason="left out for want of a browser: Debian's package chromium")
def test_a_browser_at_another_name_gets_nothing(port, tmp_path):
    """A site whose name leads to this machine (DNS rebinding) gets neither the page nor its websocket."""
    browser = Browser(tmp_path, "--host-resolver-rules=MAP evil.example 127.0.0.1")
    try:
        tab = browser.open(f"http://evil.example:{port}/", 800)
        tab.until("document.readyState == 'complete' && location.hostname == 'evil.example'")
        assert tab.js("performance.getEntriesByType('navigation')[0].responseStatus") == 403
        connecting = """new Promise(done => {
            const socket = new WebSocket(`ws://${location.host}/ws`, ['bokeh', 'token']);
            socket.onopen = () => done('open');
            socket.onerror = () => done('refused');
        })"""
        assert tab.js(connecting) == "refused"
        tab.close()
    finally:
        browser.close()
