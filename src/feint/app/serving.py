"""The page's server, which answers only browsers on this machine."""

import asyncio
import errno
import logging
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from feint.support.extras import need

HOST = "127.0.0.1"
PORT = 5006


def serve(port: int = PORT, *, show: bool = True, say: Callable[[str], object] = print) -> None:
    """Serve the page on loopback until interrupted; port 0 takes any free one.

    It answers only requests for this address, and only scripts of pages that it sent. Another site's script gets
    nothing, even if a name of that site leads to this machine.
    """
    port = _free(port)
    need("panel", "The page")
    import panel as pn

    from feint.app.page import new_page

    addresses = _addresses(port)
    for name in ("asyncio", "bokeh.server.views.ws"):
        logging.getLogger(name).addFilter(_is_news)
    with asyncio.Runner() as runner:
        # Tornado asks for the current loop; where there is none, Python 3.12 and 3.13 warn.
        asyncio.set_event_loop(runner.get_loop())
        server = pn.serve(
            {"/": new_page},
            address=HOST,
            port=port,
            websocket_origin=addresses,
            title="feint",
            show=show,
            verbose=False,
            start=False,
            autoreload=False,
        )
        _refuse_others(server, addresses)
        say(f"feint: http://{HOST}:{port}/ (end with Ctrl-C)")
        _run_until_ended(server, runner.get_loop())


def _run_until_ended(server: Any, loop: asyncio.AbstractEventLoop) -> None:
    """Serve until SIGTERM or Ctrl-C.

    Bokeh's own `run_until_shutdown` calls, in its handler of SIGTERM, what Tornado has deprecated. Where warnings are
    errors, the error may land in any callback of the loop, which would log it and go on for ever.
    """
    with suppress(NotImplementedError):  # on Windows
        loop.add_signal_handler(signal.SIGTERM, loop.stop)
    server.start()
    try:
        loop.run_forever()
    finally:
        server.stop()


def _addresses(port: int) -> list[str]:
    """Return what a browser calls this server in Host, and after http:// in Origin."""
    end = "" if port == 80 else f":{port}"
    return [f"{HOST}{end}", f"localhost{end}"]


def _refuse_others(server: Any, addresses: list[str]) -> None:
    """Answer 403 to every request, for a page or a websocket, whose Host or Origin is not this server.

    Bokeh compares the Origin of a websocket alone, and takes one that equals Host, whatever that is.
    """
    from tornado.routing import Rule
    from tornado.web import ErrorHandler

    # The first rule that matches decides; Bokeh has no public way to the application's rules.
    rules = server._tornado.default_router.rules
    rules.insert(0, Rule(_OfOthers(addresses), ErrorHandler, {"status_code": 403}))


class _OfOthers:
    """A matcher for Tornado's routes, of requests whose Host or Origin is none of these addresses."""

    def __init__(self, addresses: list[str]) -> None:
        self._addresses = addresses

    def match(self, request: Any) -> dict[str, Any] | None:
        """Return the handler's arguments, an empty dictionary, for such a request; None for all others."""
        origin = request.headers.get("Origin", f"http://{self._addresses[0]}")
        names = (request.host.lower(), origin.lower().removeprefix("http://"))
        return None if all(name in self._addresses for name in names) else {}


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a record is worth showing; one about a visitor who left during a transfer is not."""
    from tornado.iostream import StreamClosedError
    from tornado.websocket import WebSocketClosedError

    error = record.exc_info[1] if record.exc_info else None
    closed = isinstance(error, StreamClosedError | WebSocketClosedError)
    return not closed and "connection was closed" not in record.getMessage()


def _free(port: int) -> int:
    """Return the port if it is free, or any free one for 0."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            why = "is in use" if taken else "cannot be used"
            raise ValueError(f"Port {port} {why}; choose another with `port`, or 0 for any free one.") from None
        return int(trial.getsockname()[1])
