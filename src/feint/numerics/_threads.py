"""Run a compiled kernel over slices of its rows on all cores.

Plain threads suffice, since kernels release the GIL: there is no threading layer to configure, Ctrl-C works between
slices, and a row's result cannot depend on the slice it is in.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise

from feint.support.progress import ticking

_MANY = 100  # slices of the smallest size, from which on progress may be worth showing
_ALONE: ContextVar[bool] = ContextVar("_ALONE", default=False)


@contextmanager
def one_thread() -> Iterator[None]:
    """Use only one thread for everything called inside; the caller already has one thread per core."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def thread_count() -> int:
    """Return the number of threads to use: FEINT_THREADS if set, otherwise the cores this process may run on."""
    if _ALONE.get():
        return 1
    setting = os.environ.get("FEINT_THREADS")
    if setting is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not setting.isdecimal() or int(setting) == 0:
        raise ValueError(f"FEINT_THREADS is {setting!r}; set it to a whole number of threads, 1 or more.")
    return int(setting)


def run_slices(task: Callable[[int, int], object], n_rows: int, *, smallest: int) -> None:
    """Call task(start, stop) for consecutive slices of range(n_rows), none much shorter than `smallest` rows."""
    threads = min(thread_count(), max(1, n_rows // smallest))
    if threads == 1:
        task(0, n_rows)
        return
    may_take_long = n_rows >= _MANY * smallest
    # Several per thread, so that slow rows even out.
    pieces = min((_MANY if may_take_long else 4) * threads, n_rows // smallest)
    edges = [n_rows * i // pieces for i in range(pieces + 1)]
    show = None if may_take_long else False
    with ticking(show, "computing", n_rows, "rows") as tick, ThreadPoolExecutor(threads) as pool:
        futures = {pool.submit(task, *edge): edge[1] - edge[0] for edge in pairwise(edges)}
        for future, rows in futures.items():
            future.result()
            tick(rows)
