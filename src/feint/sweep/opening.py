"""A store as a Dataset that reads what is asked for."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from feint.sweep.layout import RECORD
from feint.sweep.store import stored_attributes
from feint.sweep.study import AXES
from feint.sweep.target import Folder, target_of

if TYPE_CHECKING:
    import xarray as xr


def open_sweep(store: "str | os.PathLike[str]") -> "xr.Dataset":
    """The runs of a sweep, finished or not, by bandit, explorer, reference, epsilon, replication, time and arm.

    Numbers are read when they are asked for. They are NaN where a bandit has fewer arms than others (`is_arm` is False
    there) and where a replication has not been run (`complete` is False there; `failure` says why, if it was tried).
    `epsilon` has numbers if all budgets are numbers, else labels; `budget` has them in words. The attributes `study`,
    `text` and `versions` say what was run: as JSON, as it was written in its file, and by which versions.

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
    import xarray as xr

    attributes = stored_attributes(store)
    target = target_of(store)
    where: str | Path = target.path if isinstance(target, Folder) else str(target)
    data: xr.Dataset = xr.open_zarr(where, consolidated=False, chunks=None, zarr_format=3)
    block = attributes["replications_a_block"]
    sizes = data[RECORD].values
    complete = np.repeat(sizes > 0, block, axis=-1)[..., : data.sizes["replication"]]
    data = data.drop_vars(RECORD).assign_coords(complete=((*AXES, "replication"), complete))
    data["complete"].attrs["long_name"] = "whether the replication has been run"
    return data
