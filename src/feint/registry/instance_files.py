"""The paper's instance, and others from TOML or JSON files."""

from pathlib import Path
from typing import Any

from feint.bandit import Bandit
from feint.registry import from_table, parse, parse_families
from feint.support.files import read_fields

PAPER = Bandit((0.6, 0.3, 0.0, 0.2), (0.2, 0.5, 0.1, 0.0))  # Section 6
_FIELDS = {"public", "private", "sigma", "family", "feedback"}


def load_bandit(path: Path, usual_family: Any = None) -> Bandit:
    """Return a `Bandit` from a file with `public`, `private` and, if it is not Gaussian(1), `family` or `sigma`; and
    `feedback`, if not every private reward is seen. See `bandit_of`.
    """
    fields, _ = read_fields(path, "public, private and, optionally, sigma or family, and feedback")
    return bandit_of(fields, path.parent, str(path), usual_family)


def usual_arguments(*bandits: Bandit) -> dict[str, Any]:
    """Return what an explorer may leave out: round robin goes over all arms but the best public one, if these are the
    same for all bandits.
    """
    others = {tuple(a for a in range(bandit.n_arms) if a != bandit.best_public) for bandit in bandits}
    return {"arms": others.pop()} if len(others) == 1 else {}


def bandit_of(fields: Any, folder: Path, what: str = "It", usual_family: Any = None) -> Bandit:
    """Return a `Bandit` from the fields of a file; `folder` is where files of the user's own families are sought, and
    `usual_family` the family of rewards if the fields name none. A field that is null in JSON counts as left out.
    """
    given = {name for name, value in fields.items() if value is not None} if isinstance(fields, dict) else set()
    if not {"public"} <= given or not set(fields) <= _FIELDS or not {"private", "feedback"} & given:
        names = sorted(fields) if isinstance(fields, dict) else type(fields).__name__
        raise ValueError(
            f"{what} has {names}; it must have public, private and, optionally, sigma or family, and feedback, and "
            "nothing else; private may be left out if the feedback determines it."
        )
    fields = {name: value for name, value in fields.items() if value is not None}
    if "family" in fields:
        fields = {**fields, "family": parse_families(fields["family"], folder=folder)}
    elif "sigma" not in fields:
        fields = {**fields, "family": usual_family}
    if "feedback" in fields:
        seen = fields["feedback"]
        if isinstance(seen, dict) and isinstance(seen.get("kind"), str):
            seen = from_table(seen, "feedback", seen["kind"], folder, {})
        else:
            seen = parse(seen, "feedback")
        fields = {**fields, "feedback": seen}
    return Bandit(**fields)
