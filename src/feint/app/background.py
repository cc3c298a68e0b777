"""Work in a thread, so that other visitors need not wait; what it found is shown when the page may be changed."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import panel as pn

from feint.app.saying import Line

_T = TypeVar("_T")
_POOL = ThreadPoolExecutor(4, "feint-app")


def in_background(work: Callable[[], _T], then: Callable[[_T], object], line: Line, end: Callable[[], object]) -> None:
    """`then` gets what `work` returns, under the document's lock; `line` says what went wrong; `end` comes always."""
    document = pn.state.curdoc

    def finish(done: "Future[_T]") -> None:
        with line.wrong():
            then(done.result())
        end()

    def hand_over(done: "Future[_T]") -> None:
        document.add_next_tick_callback(lambda: finish(done))

    _POOL.submit(work).add_done_callback(hand_over)


def later(seconds: float, action: Callable[[], Any]) -> None:
    """Once, under the document's lock."""
    pn.state.curdoc.add_timeout_callback(action, int(1000 * seconds))
