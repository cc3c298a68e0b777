"""A headless Chromium driven by its DevTools protocol: it clicks, types, drops files and collects complaints.

Widgets live in shadow roots, which selectors do not enter: `_DEEP` walks through them.
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from pathlib import Path

import websocket

from cases import HANGS

CHROMIUM = shutil.which("chromium")

_DEEP = """
window.deep = (selector, root = document) => {
  let found = [...root.querySelectorAll(selector)];
  for (const node of root.querySelectorAll('*')) if (node.shadowRoot) found.push(...deep(selector, node.shadowRoot));
  return found;
};
window.seen = node => { const box = node.getBoundingClientRect(); return box.width > 0 && box.height > 0; };
window.button = name => deep('button, a').find(node => seen(node) && node.innerText.trim().startsWith(name));
window.host = name => deep('.' + name).find(seen);
window.inside = (name, selector) => deep(selector, host(name).shadowRoot)[0];
window.charts = () => [...Bokeh.index.all_views()].filter(view => view.model.type == 'Figure' && seen(view.el)).length;
window.texts = selector => deep(selector).filter(seen).map(node => node.innerText).join('\\n');
"""


class Tab:
    """One page of a browser, in its own context: it shares nothing with other pages."""

    def __init__(self, port, url, width, height=1000):
        self._root = websocket.create_connection(_debugger(port), timeout=HANGS)
        context = self._call(self._root, "Target.createBrowserContext", {})["browserContextId"]
        target = self._call(self._root, "Target.createTarget", {"url": "about:blank", "browserContextId": context})
        self.context = context
        self._socket = websocket.create_connection(
            f"ws://127.0.0.1:{port}/devtools/page/{target['targetId']}", timeout=HANGS
        )
        self.requests, self.complaints = [], []
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.call("Page.addScriptToEvaluateOnNewDocument", source=_DEEP)
        self.call("Page.navigate", url=url)

    def call(self, method, **parameters):
        """Send one command of the protocol and return its result; events that come meanwhile are kept."""
        return self._call(self._socket, method, parameters)

    def _call(self, channel, method, parameters):
        self._sent = getattr(self, "_sent", 0) + 1
        number = self._sent
        channel.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while True:
            message = json.loads(channel.recv())
            if message.get("id") == number:
                assert "error" not in message, message
                return message["result"]
            self._hear(message)

    def _hear(self, message):
        what, about = message.get("method"), message.get("params", {})
        if what == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif what == "Network.webSocketCreated":
            self.requests.append(about["url"])
        elif what == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(about["exceptionDetails"]))
        elif what == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(about["args"]))
        elif what == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(json.dumps(about["entry"]))

    def resize(self, width, height=1000):
        """Set the size of the window."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """Let the visitor prefer light or dark pages."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def key(self, name, code=0):
        """Press and release a key, wherever the focus is."""
        text = {"text": "\r"} if name == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=name, code=name, windowsVirtualKeyCode=code, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=name, code=name, windowsVirtualKeyCode=code)

    def controls(self):
        """Return (role, name) of everything that can have the focus, as a screen reader is told."""
        found = []
        for node in self.call("Accessibility.getFullAXTree")["nodes"]:
            properties = {entry["name"]: entry["value"].get("value") for entry in node.get("properties", [])}
            if not node.get("ignored") and properties.get("focusable"):
                found.append((node["role"]["value"], node.get("name", {}).get("value", "")))
        return found

    def js(self, expression):
        """Evaluate a JavaScript expression and return its value."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def until(self, expression):
        """Wait until the expression is true and return its value; kernels may have to compile on a busy machine."""
        end = time.monotonic() + HANGS
        while time.monotonic() < end:
            answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
            if "exceptionDetails" not in answer and (value := answer["result"].get("value")):
                return value
            time.sleep(0.05)
        raise AssertionError(f"{expression} is not true after {HANGS} s; the page says: {self.js('texts(`.line`)')}")

    def click(self, name):
        """Click the button of this name with the mouse."""
        self.until(f"button({name!r}) && !button({name!r}).disabled")
        box = self.js(
            f"(() => {{ const node = button({name!r}); node.scrollIntoView({{block: 'center'}}); "
            "const b = node.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        self.press(*box)

    def press(self, x, y):
        """Press and release the mouse at a point of the window."""
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def slide(self, host, key="ArrowRight", times=1):
        """Move a slider by the keyboard."""
        self.until(f"!!inside({host!r}, '.noUi-handle')")
        self.js(f"inside({host!r}, '.noUi-handle').focus()")
        for _ in range(times):
            for kind in ("keyDown", "keyUp"):
                self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)

    def type(self, host, text):
        """Replace the text of a field, as a visitor would, and leave the field."""
        self.until(f"!!inside({host!r}, 'input')")
        self.js(f"(() => {{ const node = inside({host!r}, 'input'); node.focus(); node.select(); }})()")
        if text:
            self.call("Input.insertText", text=text)
        else:
            self.call("Input.dispatchKeyEvent", type="keyDown", key="Delete", code="Delete", windowsVirtualKeyCode=46)
        self.js(f"inside({host!r}, 'input').blur()")

    def choose(self, host, text):
        """Choose an entry of a list."""
        self.until(f"!!inside({host!r}, 'select')")
        found = self.js(
            f"(() => {{ const node = inside({host!r}, 'select'); "
            f"const entry = [...node.options].find(option => option.text == {text!r}); "
            "node.value = entry.value; node.dispatchEvent(new Event('change', {bubbles: true})); "
            "return entry.text; })()"
        )
        assert found == text

    def drop(self, path):
        """Drop a file into the place for it."""
        self.until("host('drop') && deep('input[type=file]').length")
        answer = self.call("Runtime.evaluate", expression="deep('input[type=file]')[0]")
        self.call("DOM.setFileInputFiles", files=[str(path)], objectId=answer["result"]["objectId"])

    def downloads_to(self, directory):
        """Set the folder for downloads."""
        self._call(
            self._root, "Browser.setDownloadBehavior",
            {"behavior": "allow", "downloadPath": str(directory), "browserContextId": self.context},
        )  # fmt: skip

    def press_point(self, column, row):
        """Click a point of the first chart that draws marks and whose data have this column."""
        box = self.until(
            "(() => { for (const view of Bokeh.index.all_views()) {"
            "  if (view.model.type != 'GlyphRenderer' || view.glyph.model.type != 'Scatter') continue;"
            f" if (!({column!r} in Object.fromEntries(view.model.data_source.data.entries"
            "     ? view.model.data_source.data.entries() : Object.entries(view.model.data_source.data)))) continue;"
            "  const plot = view.plot_view; plot.el.scrollIntoView({block: 'center'});"
            f" const edge = plot.canvas_view.el.getBoundingClientRect(), glyph = view.glyph;"
            f" return [edge.x + glyph.sx[{row}], edge.y + glyph.sy[{row}]]; }} }})()"
        )
        self.press(*box)

    def picture(self, path):
        """Write the whole page as PNG."""
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(answer["data"]))

    def overflow(self):
        """Return by how many pixels the page is wider than its window."""
        return self.js("document.documentElement.scrollWidth - window.innerWidth")

    def close(self):
        """Close the page and its context."""
        self._call(self._root, "Target.disposeBrowserContext", {"browserContextId": self.context})
        self._socket.close()
        self._root.close()


class Browser:
    """The process of a browser."""

    def __init__(self, directory, *flags):
        self.directory = Path(directory)
        self._process = subprocess.Popen(
            [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--remote-allow-origins=*", "--disable-background-networking", "--no-first-run", "--hide-scrollbars",
             f"--user-data-dir={directory}", *flags, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        port = self.directory / "DevToolsActivePort"
        end = time.monotonic() + HANGS
        while not (port.exists() and port.read_text().count("\n") >= 1):
            assert time.monotonic() < end, "Chromium does not start"
            time.sleep(0.05)
        self.port = int(port.read_text().split("\n")[0])

    def open(self, url, width):
        """Open a page as a new visitor."""
        return Tab(self.port, url, width)

    def close(self):
        """End the process with all of its children, which share its process group."""
        os.killpg(self._process.pid, signal.SIGTERM)
        self._process.wait(HANGS)


def _debugger(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/version", timeout=HANGS) as answer:
        return json.load(answer)["webSocketDebuggerUrl"]
