"""A summary of a sweep, cell by cell: medians over replications with 95 % intervals."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from feint.support.intervals import median_interval
from feint.sweep.axes import AXES, CellIndex

if TYPE_CHECKING:
    import xarray as xr

Interval = tuple[float, float, float]  # median, low, high


class Row(NamedTuple):
    """The summary of one cell. Intervals lie between two order statistics: exact for any law, and infinite with fewer
    than six runs. A time that did not come by the horizon is ∞.
    """

    labels: tuple[str, ...]
    replications: int  # how many have been run
    time: Interval | None  # to δ, if the study has one
    log_error: Interval | None  # at the horizon; None where nothing has been run
    pulls: Interval | None  # of the best private arm, at the horizon
    failure: str


def summarise(data: "xr.Dataset") -> Iterator[Row]:
    """Yield a row for every cell of a sweep that `open_sweep` opened; one cell is read at a time."""
    for index in wanted_cells(data):
        cell = data.isel(dict(zip(AXES, index, strict=True)))
        labels = tuple(str(cell[axis].item()) for axis in AXES)
        done = np.flatnonzero(cell["complete"].values)
        failure = str(cell["failure"].item())
        if not done.size:
            yield Row(labels, 0, None, None, None, failure)
            continue
        final = cell.isel(replication=done, time=-1)
        arm = int(cell["best_private"])
        yield Row(
            labels,
            done.size,
            median_interval(cell["stopping_time"].values[done]) if "stopping_time" in data else None,
            median_interval(final["log_error"].values),
            median_interval(final["pulls"].isel(arm=arm).values),
            failure,
        )


def wanted_cells(data: "xr.Dataset") -> Iterator[CellIndex]:
    """Yield the cells of the study, in order, as far as `data` has them; it may be a part of the study."""
    chosen = json.loads(data.attrs["study"])["cells"]
    if chosen is None:
        yield from np.ndindex(*(data.sizes[axis] for axis in AXES))
        return
    places = [{str(label): i for i, label in enumerate(data[axis].values.tolist())} for axis in AXES]
    for labels in chosen:
        if all(label in place for place, label in zip(places, labels, strict=True)):
            yield tuple(place[label] for place, label in zip(places, labels, strict=True))
