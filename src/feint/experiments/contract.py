"""The contract of an experiment: a module, with its name and title in this folder's `__init__`, that has

- `SETTINGS`: the paper's parameters and our horizons; `QUICK`: what a quick run changes; `FULL`: what a full run
  changes, with as many runs as a pilot on other seeds asked for (docs/samples.md);
- `CAPTION`, what the figure shows, with names of settings in braces;
- `steps(settings)`: how much there is to do, in the units with which `run` calls `tick`;
- `run(settings, seed, tick) -> Dataset`: simulate, nothing else;
- `plot(Dataset) -> Figure`: draw, nothing else;
- `claims(Dataset, settings) -> list[Finding]`: test what is claimed about the data.
"""

import json
from collections.abc import Callable, Sequence
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
    """Return a short digest of the settings of all experiments, which tells data and pages of other settings apart."""
    settings = json.dumps([settings_of(load_experiment(name), size) for name in TITLES])
    return sha256(settings.encode()).hexdigest()[:8]


def join_words(texts: Sequence[str]) -> str:
    """Join texts as in a sentence.

    >>> join_words(["2", "3", "4"]), join_words(["2"])
    ('2, 3 and 4', '2')
    """
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)


def in_words(value: Any) -> str:
    """Return a setting in words: numbers of runs that differ from point to point become a range, and lists in a list
    are kept apart.

    >>> in_words(100_000), in_words((60, 60)), in_words((150, 700, 500)), in_words((0.2, 0.5, 0.0))
    ('100,000', '60', '150 to 700', '0.2, 0.5 and 0')
    >>> in_words({"public": (0.6, 0.3), "sigma": 1.0})
    'public 0.6 and 0.3; sigma 1'
    >>> in_words((("top-arms:2", (0.6, 0.3), (0.2, 0.5)), ("top-arms:1", (0.6, 0.3), (0.1, 0.5))))
    '(top-arms:2; 0.6 and 0.3; 0.2 and 0.5); (top-arms:1; 0.6 and 0.3; 0.1 and 0.5)'
    """
    if isinstance(value, dict):
        return "; ".join(f"{key} {in_words(item)}" for key, item in value.items())
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:g}"
    if not isinstance(value, list | tuple):
        return str(value)
    if value and all(isinstance(item, int) for item in value):
        low, high = min(value), max(value)
        return in_words(low) if low == high else f"{low:,} to {high:,}"
    if not any(isinstance(item, list | tuple) for item in value):
        return join_words([in_words(item) for item in value])
    parts = (in_words(item) for item in value)
    return "; ".join(f"({part})" if "; " in part else part for part in parts)


def caption_of(experiment: Experiment, settings: dict[str, Any]) -> str:
    """Return the caption with the numbers of this run, in words."""
    return experiment.CAPTION.format(**{key: in_words(value) for key, value in settings.items()})
