"""The five figures of docs/paper.md: the paper's settings and seeds, drawn by the experiments within a minute."""

from pathlib import Path

import feint
from feint.experiments.contract import load_experiment

# The settings that differ from those of `feint reproduce`, whose horizons are longer. The paper has 100 seeds in both
# cases of Figure 3.
FIGURES = {
    "figure1": {"horizon": 1_000_000},
    "figure2": {"horizon": 100_000, "spent": 0, "horizon_unlimited": 3_000},
    "figure3": {"horizon": 30_000, "replications_asymmetric": 100},
    "figure4": {"horizon": 1_000_000},
    "figure5": {},
}


def write(folder: Path) -> None:
    """Draw each figure into `folder`, unless it is newer than every source file."""
    folder.mkdir(parents=True, exist_ok=True)
    changed = max(path.stat().st_mtime for path in [Path(__file__), *Path(feint.__file__).parent.rglob("*.py")])
    for name, changes in FIGURES.items():
        path = folder / f"{name}.png"
        if path.exists() and path.stat().st_mtime > changed:
            continue
        experiment = load_experiment(name)
        data = experiment.run({**experiment.SETTINGS, **changes}, 0, lambda steps: None)
        experiment.plot(data).savefig(path, dpi=200)
