"""Sweep: a `study.Study` that can be run into a store; this is the public class."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from feint.sweep.open_store import open_sweep
from feint.sweep.runner import plan_study, run_study
from feint.sweep.study import Study
from feint.sweep.workload import Workload

if TYPE_CHECKING:
    import xarray as xr


class Sweep(Study):
    """Simulate every combination of bandits, explorers, references and budgets, on one machine or on many.

    Parameters
    ----------
    bandits
        A dict by name; they may differ in their numbers of arms and in their families.
    explorers, references, epsilons
        Lists, or dicts by label. As in `simulate`, each may be of your own.
    horizon, replications, seed, delta, observe, alpha, checkpoints, method, goal
        As in `simulate`, the same for all cells; checkpoints (n,) begin at the largest number of arms.
    cells
        Which combinations to run, if not all: dicts that name some of bandit, explorer, reference and epsilon by label,
        or by a list of labels; what is left out stands for all.
    text
        The text that the store keeps about the study; `feint sweep` puts its file there.

    Examples
    --------
    >>> import feint, tempfile
    >>> sweep = feint.Sweep(
    ...     bandits={"paper": feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0])},
    ...     explorers=[feint.TopTwo(), feint.Tracking()],
    ...     epsilons=[0.01, 0.1],
    ...     horizon=500,
    ...     replications=10,
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     runs = sweep.run(f"{folder}/out.zarr").load()
    >>> runs.log_error.sel(bandit="paper", explorer="TopTwo()", epsilon=0.1).dims
    ('reference', 'replication', 'time')
    """

    def run(
        self,
        store: str | os.PathLike[str],
        scheduler: Any = None,
        *,
        workers: int | None = None,
        retry_failed: bool = False,
        verify: bool = True,
        progress: bool | Callable[[int], object] | None = None,
    ) -> xr.Dataset:
        """Run what is missing in `store`, a folder or an fsspec URL, and open it.

        By default it runs on this machine's cores. With `scheduler` (an address or a `distributed.Client`) it runs on
        that Dask cluster; with `workers`, on that many local processes, which Dask starts. The store is the same, bit
        for bit, in all cases and however often the run was interrupted. Tasks that raise are recorded and left out
        until `retry_failed`. What is in the store is verified first, and what is damaged is run again; without `verify`
        only sizes are checked. By default a bar appears after two seconds, in a terminal or a notebook; `progress=True`
        says at once what there is to do, False shows nothing, and a function is called with the number of steps just
        made.
        """
        run_study(self, store, scheduler, workers, retry_failed, verify, progress)
        return open_sweep(store)

    def plan(
        self,
        store: str | os.PathLike[str],
        scheduler: Any = None,
        *,
        workers: int | None = None,
        retry_failed: bool = False,
        verify: bool = True,
    ) -> Workload:
        """Return what `run` would do, after a short measurement; nothing is written."""
        return plan_study(self, store, scheduler, workers, retry_failed, verify)
