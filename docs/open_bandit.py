"""Convert the sample of the Open Bandit Data that the package obp carries into logs for `feint audit`.

    pip install --no-deps obp
    python docs/open_bandit.py FOLDER

Six files appear in FOLDER: the policies `random` and `bts` (Bernoulli Thompson Sampling) in the campaigns all, men and
women. A row is one item that was shown: the time, the item, its place on the page, the probability that was logged, and
whether it was clicked. Nothing is sorted or left out.
"""

import csv
import sys
from importlib.util import find_spec
from pathlib import Path

COLUMNS = {
    "time": "timestamp",
    "arm": "item_id",
    "place": "position",
    "propensity": "propensity_score",
    "reward": "click",
}


def convert(source: Path, target: Path) -> None:
    """Write the rows of a published file under the names that `feint audit` looks for."""
    with source.open(newline="") as published, target.open("x", newline="") as log:
        writer = csv.writer(log)
        writer.writerow(COLUMNS)
        for row in csv.DictReader(published):
            writer.writerow([row[name] for name in COLUMNS.values()])


def main(folder: Path) -> None:
    """Convert all six files."""
    obp = find_spec("obp")
    if obp is None or obp.origin is None:
        sys.exit("The sample is part of the package obp: pip install --no-deps obp")
    folder.mkdir(parents=True, exist_ok=True)
    for policy in ("random", "bts"):
        for campaign in ("all", "men", "women"):
            source = Path(obp.origin).parent / "dataset" / "obd" / policy / campaign / f"{campaign}.csv"
            convert(source, folder / f"{policy}-{campaign}.csv")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) == 2 else sys.exit(__doc__))
