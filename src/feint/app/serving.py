"""The page's server: this machine only, this machine's browser only."""

import errno
import logging
import socket
from collections.abc import Callable

HOST = "127.0.0.1"
PORT = 5006


def serve(port: int = PORT, *, show: bool = True, say: Callable[[str], object] = print) -> None:
    """Serve the page on loopback until interrupted; port 0 takes any that is free.

    The websocket answers only pages that this server sent: another site's script cannot reach it.
    """
    port = _free(port)
    try:
        import panel as pn
    except ImportError:
        raise ValueError("The page needs Panel, which is not installed: pip install 'feint[app]'.") from None
    from feint.app.page import new_page

    for name in ("asyncio", "bokeh.server.views.ws"):
        logging.getLogger(name).addFilter(_is_news)
    server = pn.serve(
        {"/": new_page},
        address=HOST,
        port=port,
        websocket_origin=[f"{HOST}:{port}", f"localhost:{port}"],
        title="feint",
        show=show,
        verbose=False,
        start=False,
        autoreload=False,
    )
    say(f"feint: http://{HOST}:{port}/ (end with Ctrl-C)")
    server.run_until_shutdown()


def _is_news(record: logging.LogRecord) -> bool:
    """That a visitor left while something was being sent is none."""
    from tornado.iostream import StreamClosedError
    from tornado.websocket import WebSocketClosedError

    error = record.exc_info[1] if record.exc_info else None
    closed = isinstance(error, StreamClosedError | WebSocketClosedError)
    return not closed and "connection was closed" not in record.getMessage()


def _free(port: int) -> int:
    """The port itself if it can be had, or any for 0."""
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((HOST, port))
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
            why = "is in use" if taken else "cannot be used"
            raise ValueError(f"Port {port} {why}; choose another with `port`, or 0 for any that is free.") from None
        return int(trial.getsockname()[1])
