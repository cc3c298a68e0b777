"""Open a store as a Dataset that reads its numbers when they are needed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from feint.support.extras import need
from feint.sweep.axes import AXES
from feint.sweep.checksums import DamageError
from feint.sweep.store_layout import FAILED, FAILURE, chunk_key
from feint.sweep.store_root import RECORD, check_objects, read_root, without_seal
from feint.sweep.target import Folder, target_of

if TYPE_CHECKING:
    import xarray as xr


def open_sweep(store: str | os.PathLike[str]) -> xr.Dataset:
    """Open the runs of a sweep, finished or not, by bandit, explorer, reference, epsilon, replication, time and arm.

    Numbers are read when they are needed. They are NaN where a bandit has fewer arms than others (`is_arm` is False
    there) and where a replication has not been run (`complete` is False there; `failure` says why, if it was tried).
    `epsilon` has numbers if all budgets are numbers, otherwise labels; `budget` describes them in words. The attributes
    `study`, `text` and `versions` say what was run: as JSON, as written in its file, and by which versions. A damaged
    or missing chunk is named when it is read; damaged labels and metadata are named at once. Running the same sweep
    again repairs it.

    Parameters
    ----------
    store
        A folder, or an fsspec URL.

    Returns
    -------
    xarray.Dataset
        What `simulate` gives, with the dimensions above.

    Examples
    --------
    >>> open_sweep("nowhere.zarr")
    Traceback (most recent call last):
    FileNotFoundError: nowhere.zarr does not exist; write one with feint.Sweep(…).run or feint sweep.
    """
    need("zarr", "A sweep")
    import xarray as xr
    import zarr

    from feint.sweep.checked_store import CheckedStore, read_array

    target = target_of(store)
    root = read_root(target)
    for damage in check_objects(target, root):
        raise damage
    where: str | Path = target.path if isinstance(target, Folder) else str(target)
    group: Any = zarr.open_group(where, mode="r", zarr_format=3)
    records = read_array(group[RECORD], RECORD, target, full=True)
    failures = read_array(group[FAILURE], FAILURE, target, full=False)
    sizes = records[..., 0, 0]
    for index in np.argwhere((sizes == FAILED).any(axis=-1) & (failures == "")).tolist():
        place = (i // c for i, c in zip(index, group[FAILURE].chunks, strict=True))
        raise DamageError(str(target), chunk_key(FAILURE, place), missing=True)
    checked = CheckedStore(group.store, str(target), root, group[RECORD].attrs["variables"], records)
    data: xr.Dataset = xr.open_zarr(checked, consolidated=False, chunks=None, zarr_format=3)
    complete = np.repeat(sizes > 0, root.block, axis=-1)[..., : data.sizes["replication"]]
    data = data.drop_vars(RECORD).assign_coords(complete=((*AXES, "replication"), complete))
    data["complete"].attrs["long_name"] = "whether the replication has been run"
    data.attrs = without_seal(data.attrs)
    return data
