"""Progress, where a person looks: on standard error if it is a terminal, or below the cell of a notebook.

Without being asked it appears after two seconds; into a pipe or a file it is never written. The display lives in a
thread of its own, so the working code only counts. What runs inside something that shows progress shows none itself.
"""

import contextvars
import importlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

Tick = Callable[[int], object]
_P = ParamSpec("_P")
_R = TypeVar("_R")

PATIENCE = 2.0  # seconds after which progress is shown without being asked
_REFRESH = 0.2  # seconds between two updates
_WIDTH = 30  # characters of a bar in a notebook
_OPEN = threading.Lock()  # held by whoever shows progress


@cache
def say_once(line: str) -> None:
    """Print a line on standard error, unless this process has said it before."""
    print(line, file=sys.stderr, flush=True)


@dataclass
class _ProgressTask:
    """A piece of work in progress; its total is 0 if unknown."""

    what: str
    total: int
    done: int = 0

    def advance(self, made: int) -> None:
        with _COUNTING:
            self.done += made


_COUNTING = threading.Lock()


class _Terminal:
    """Bars on standard error. Nothing else is redirected: the thread that works may do so itself meanwhile."""

    def __init__(self, unit: str) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeElapsedColumn
        from rich.text import Text

        class Share(ProgressColumn):
            def render(self, task: Task) -> Text:
                return Text("" if task.total is None else f"{task.percentage:3.0f} %")

        class Speed(ProgressColumn):
            def render(self, task: Task) -> Text:
                return Text(f"{task.speed or 0:,.0f} {unit}/s")

        class Left(ProgressColumn):
            def render(self, task: Task) -> Text:
                left = task.time_remaining
                return Text("" if left is None else f"{_clock(left)} left")

        columns: list[Any] = [TextColumn("{task.description:>13}"), BarColumn(), Share()]
        columns += [Speed()] if unit else []
        self._bars = Progress(
            *columns,
            TimeElapsedColumn(),
            Left(),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._bars.start()

    def show(self, works: list[_ProgressTask]) -> None:
        for work in works[len(self._bars.tasks) :]:
            self._bars.add_task(work.what, total=work.total or None)
        for task, work in zip(self._bars.tasks, works, strict=False):
            self._bars.update(task.id, completed=work.done)
        self._bars.refresh()

    def close(self) -> None:
        self._bars.stop()


class _Notebook:
    """Lines of text below the cell that runs, which vanish at the end; nothing but IPython is needed."""

    def __init__(self, unit: str) -> None:
        display: Any = importlib.import_module("IPython.display")  # which feint does not require
        self._unit, self._start = unit, time.monotonic()
        self._handle = display.display({"text/plain": ""}, raw=True, display_id=True)

    def show(self, works: list[_ProgressTask]) -> None:
        self._handle.update({"text/plain": "\n".join(map(self._line, works))}, raw=True)

    def close(self) -> None:
        self._handle.update({"text/plain": ""}, raw=True)

    def _line(self, work: _ProgressTask) -> str:
        passed = time.monotonic() - self._start
        if not work.total:
            return f"{work.what:>13} {_clock(passed)}"
        share = min(1.0, work.done / work.total)
        filled = round(_WIDTH * share)
        left = f" {_clock(passed * (1.0 - share) / share)} left" if share > 0.0 else ""
        speed = f" {work.done / max(passed, _REFRESH):,.0f} {self._unit}/s" if self._unit else ""
        return f"{work.what:>13} {'━' * filled}{'╌' * (_WIDTH - filled)} {share:4.0%}{speed} {_clock(passed)}{left}"


def _clock(seconds: float) -> str:
    """Return seconds as 0:02:05."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def _display() -> type[_Terminal] | type[_Notebook] | None:
    """Return the display that a person sees, or None if there is none."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    if hasattr(shell, "kernel"):
        return _Notebook
    return _Terminal if sys.stderr is not None and sys.stderr.isatty() else None


@contextmanager
def progress_bars(unit: str = "", *, at_once: bool = False) -> Iterator[Callable[[str, int], Tick]]:
    """Yield start(what, total), which adds a bar and returns a function to call with progress; total is 0 if unknown.

    Bars appear after two seconds, or `at_once`, where a person looks. `unit` adds a speed.
    """
    display = _display()
    if display is None or not _OPEN.acquire(blocking=False):
        yield lambda what, total: lambda done: None
        return
    works: list[_ProgressTask] = []
    ended = threading.Event()

    def start(what: str, total: int) -> Tick:
        works.append(_ProgressTask(what, total))
        return works[-1].advance

    def watch() -> None:
        if ended.wait(0.0 if at_once else PATIENCE):
            return
        shown = display(unit)
        try:
            shown.show(works)
            while not ended.wait(_REFRESH):
                shown.show(works)
        finally:
            shown.close()

    # In a notebook the context says which cell is running.
    thread = threading.Thread(target=contextvars.copy_context().run, args=(watch,), daemon=True)
    thread.start()
    try:
        yield start
    finally:
        ended.set()
        thread.join()
        _OPEN.release()


@contextmanager
def ticking(show: bool | Tick | None, what: str, total: int, unit: str) -> Iterator[Tick]:
    """Yield a function to call with progress: the one given, one that does nothing (False), or one that moves a bar,
    which appears at once (True) or after two seconds (None).
    """
    if callable(show):
        yield show
    elif show is False:
        yield lambda done: None
    else:
        with progress_bars(unit, at_once=bool(show)) as start:
            yield start(what, total)


def shows_progress(what: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Let a function show that it is at work, and for how long, once it has taken two seconds."""

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @wraps(function)
        def run(*args: _P.args, **keywords: _P.kwargs) -> _R:
            with ticking(None, what, 0, ""):
                return function(*args, **keywords)

        return run

    return decorate
