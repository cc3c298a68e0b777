"""Progress on standard error, where it does not mix with results."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

Tick = Callable[[int], object]


@cache
def say_once(line: str) -> None:
    """Print a line on standard error, unless this process has said it before."""
    print(line, file=sys.stderr, flush=True)


@contextmanager
def progress_bars(unit: str = "", *, always: bool = False) -> Iterator[Callable[[str, int], Tick]]:
    """Yield start(what, total), which shows a bar and returns a function to call with progress.

    Nothing is shown where standard error is not a terminal, unless `always`. `unit` adds a speed.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.text import Text

    class Speed(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(f"{task.speed or 0:,.0f} {unit}/s")

    console = Console(stderr=True)
    columns: list[Any] = [TextColumn("{task.description:>13}"), BarColumn(), TextColumn("{task.percentage:3.0f} %")]
    columns += [Speed()] if unit else []
    bars: Progress
    with Progress(
        *columns,
        TimeRemainingColumn(),
        console=console,
        transient=not always,
        disable=not (always or console.is_terminal),
    ) as bars:

        def start(what: str, total: int) -> Tick:
            task = bars.add_task(what, total=max(total, 1))
            return lambda done: bars.advance(task, done)

        yield start
        for task in bars.tasks:  # runs that stopped early took fewer steps than expected
            bars.update(task.id, completed=task.total)


@contextmanager
def ticking(show: bool | Tick, what: str, total: int, unit: str) -> Iterator[Tick]:
    """Yield a function to call with progress: the one given, one that moves a bar, or one that does nothing."""
    if callable(show):
        yield show
    elif show:
        with progress_bars(unit, always=True) as start:
            yield start(what, total)
    else:
        yield lambda done: None
