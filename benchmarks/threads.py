"""Set how many threads feint uses during a measurement."""

import os
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use this many threads inside the context; with one, CPU time is that of a single core."""
    before = os.environ.get("FEINT_THREADS")
    os.environ["FEINT_THREADS"] = str(count)
    try:
        yield
    finally:
        if before is None:
            del os.environ["FEINT_THREADS"]
        else:
            os.environ["FEINT_THREADS"] = before
