"""`simulate` for long experiments: it runs a sweep of one cell, so that an interrupt loses only seconds.

While `reproduce` runs an experiment, it names a folder. A long simulation writes its blocks there as they are done, and
finds them again when the run is resumed. The result equals that of `simulate` bit for bit.
"""

import json
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from feint.bandit import Bandit
from feint.explorers import TopTwo
from feint.references import ThompsonSampling
from feint.simulation.dataset import Runs
from feint.simulation.scenario import RunOptions
from feint.simulation.simulate import simulate
from feint.sweep import Sweep, SweepWarning

if TYPE_CHECKING:
    import xarray as xr

_FOLDER: ContextVar[Path | None] = ContextVar("_FOLDER", default=None)
_LONG = 30_000_000  # steps, some seconds; shorter simulations are simply run again
_WATCHED = 30  # a step with an observer takes as long as this many without


@contextmanager
def keep_blocks(folder: Path) -> Iterator[None]:
    """Keep the blocks of long simulations in `folder` while the context lasts."""
    token = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(token)


def simulate_resumably(
    bandit: Bandit,
    explorer: Any = TopTwo(),  # noqa: B008 - frozen
    *,
    reference: Any = ThompsonSampling(),  # noqa: B008 - frozen
    epsilon: Any,
    horizon: int,
    replications: int,
    progress: Any = False,
    **options: Any,
) -> "xr.Dataset":
    """Simulate as `feint.simulate` does, and keep what is done if it takes long."""
    folder = _FOLDER.get()
    at_once = partial(simulate, bandit, explorer, reference=reference, epsilon=epsilon, horizon=horizon, **options)
    steps = horizon * replications * (_WATCHED if options.get("observe") else 1)
    if folder is None or steps < _LONG:
        return at_once(replications=replications, progress=progress)
    sweep = Sweep(
        {"bandit": bandit}, [explorer], [epsilon], [reference], horizon=horizon, replications=replications, **options
    )
    name = sha256(json.dumps(sweep.config()).encode()).hexdigest()[:16]
    return _as_simulated(sweep, folder / f"{name}.zarr", progress)


def _as_simulated(sweep: Sweep, store: Path, progress: Any) -> "xr.Dataset":
    """Run or resume a sweep, and return it in the form of a simulation."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", SweepWarning)  # an experiment must be complete
        runs = sweep.run(store, retry_failed=True, progress=progress).isel(bandit=0, explorer=0, reference=0, epsilon=0)
    variables: dict[str, Any] = {name: runs[name].values.astype(kind) for name, (_, kind) in sweep.variables().items()}
    options = RunOptions(replications=sweep.replications, **sweep.options)
    return Runs(sweep.cell((0, 0, 0, 0)), options, sweep.times, variables).dataset()
