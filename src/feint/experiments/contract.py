"""The contract of an experiment: a module, with its name and title in this folder's `__init__`, that has

- `SETTINGS`, the paper's parameters and our horizons, `QUICK`, what a quick run changes, and `FULL`, what a full run
  changes, which has as many runs as a pilot on other seeds asked for (docs/samples.md);
- `CAPTION`, what the figure shows, with names of settings in braces;
- `steps(settings)`: how much there is to do, in the units with which `run` calls `tick`;
- `run(settings, seed, tick) -> Dataset`: simulate, nothing else;
- `plot(Dataset) -> Figure`: draw, nothing else;
- `claims(Dataset, settings) -> list[Finding]`: test what is claimed about the data.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, Protocol

from feint.experiments import TITLES
from feint.experiments.findings import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from xarray import Dataset

Tick = Callable[[int], object]
Size = Literal["quick", "usual", "full"]


class Experiment(Protocol):
    """A module of the shape described above."""

    SETTINGS: dict[str, Any]
    QUICK: dict[str, Any]
    FULL: dict[str, Any]
    CAPTION: str

    def steps(self, settings: dict[str, Any]) -> int:
        """Return how much there is to do."""
        ...

    def run(self, settings: dict[str, Any], seed: int, tick: Tick) -> "Dataset":
        """Simulate, and return the data."""
        ...

    def plot(self, data: "Dataset") -> "Figure":
        """Draw the data."""
        ...

    def claims(self, data: "Dataset", settings: dict[str, Any]) -> list[Finding]:
        """Test what is claimed about the data."""
        ...


def in_units(tick: Tick, steps: int, units: int) -> Tick:
    """Return a tick that counts `units` in all for `steps` steps, where horizons differ far more than run times."""
    made = told = 0

    def count(more: int) -> None:
        nonlocal made, told
        made += more
        tick(made * units // steps - told)
        told = made * units // steps

    return count


def load_experiment(name: str) -> Any:
    """Return the module of an experiment."""
    return import_module(f"feint.experiments.{name}")


def settings_of(experiment: Experiment, size: Size) -> dict[str, Any]:
    """Return the settings of a run of this size."""
    changes: dict[Size, dict[str, Any]] = {"quick": experiment.QUICK, "usual": {}, "full": experiment.FULL}
    return {**experiment.SETTINGS, **changes[size]}


def digest_settings(size: Size) -> str:
    """Return a short digest of the settings of all experiments: data and pages of other settings have another."""
    settings = json.dumps([settings_of(load_experiment(name), size) for name in TITLES])
    return sha256(settings.encode()).hexdigest()[:8]


def caption_of(experiment: Experiment, settings: dict[str, Any]) -> str:
    """Return the caption with the numbers of this run."""
    numbers = {key: f"{value:,}" if isinstance(value, int) else value for key, value in settings.items()}
    return experiment.CAPTION.format(**numbers)
