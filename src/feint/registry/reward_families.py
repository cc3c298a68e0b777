"""Families of rewards as users write them, and those that a reference implies.

A reference that is named by a family is Thompson Sampling with that family's posteriors: `beta` is for Bernoulli
rewards only. A reference with a `usual_family` is about rewards of that family if none is named.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from feint.registry.config import from_table
from feint.registry.names import arguments, find, registered
from feint.registry.text import parse, split, unwrap
from feint.support.own_parts import offers, read

USUAL_REFERENCE = "thompson-sampling"  # what is meant if no reference is named


def parse_families(given: Any, *, folder: Path | None = None) -> Any:
    """Return a family by name or as a table of a file, or a pair, such as "bernoulli,gaussian:2" or a list of two.

    >>> parse_families("bernoulli,gaussian:2")
    (Bernoulli(), Gaussian(sigma=2.0))
    >>> parse_families(["bernoulli", {"kind": "gaussian", "sigma": 2}])
    (Bernoulli(), Gaussian(sigma=2.0))
    """
    entries = split(given, ",") if isinstance(given, str) else [given] if isinstance(given, Mapping) else given
    if not isinstance(entries, list) or not 1 <= len(entries) <= 2 or not all(map(_names_a_part, entries)):
        known = ", ".join(registered("family"))
        raise ValueError(f"family is {given!r}; give one name, or two for public and private rewards: {known}.")
    found = tuple(_parse_family(entry, folder) for entry in entries)
    return found if len(found) == 2 else found[0]


def imply_family(reference: Any) -> tuple[Any, Any]:
    """Return (reference, family) of what a user wrote, texts or tables; the family is None if the name implies none.

    >>> imply_family("beta"), imply_family({"kind": "normal", "sigma": 2})
    (('thompson-sampling', 'beta'), ('thompson-sampling', {'kind': 'normal', 'sigma': 2}))
    >>> imply_family("softmax:0.5")
    ('softmax:0.5', None)
    """
    name = reference["kind"] if isinstance(reference, Mapping) else reference.partition(":")[0].strip()
    family = find(name, "family")
    if find(name, "reference") is not None or family is None:
        return reference, None
    if _has_arguments(reference) and not arguments(family):
        written = reference if isinstance(reference, str) else dict(reference)
        raise ValueError(
            f"The reference {written!r} cannot be made: {name} takes no arguments; a prior is written "
            f"{USUAL_REFERENCE}:(…), with {name} as the family."
        )
    return USUAL_REFERENCE, reference


def is_family_of(implied: Any, family: Any) -> bool:
    """Return whether a family is the one that a reference's name implies, with any arguments if the name has none."""
    found = _parse_family(implied, None)
    return bool(found == family) or (not _has_arguments(implied) and type(found) is type(family))


def usual_family(reference: Any) -> Any:
    """Return the family that a reference is about; None if it is about rewards of any family.

    >>> usual_family(parse("clipped:play-the-winner,0.1", "reference"))
    Bernoulli()
    """
    name = read(reference, "usual_family") if offers(reference, "usual_family") else None
    return None if name is None else parse(name, "family")


def families_for(reference: Any, family: Any, sigma: float | None = None) -> tuple[Any, Any]:
    """Return the (public, private) families that are given; if none are, those that the reference is about."""
    from feint.bandit import family_pair  # `feint --help` needs no families

    return family_pair(usual_family(reference) if family is None and sigma is None else family, sigma)


def _names_a_part(entry: Any) -> bool:
    return isinstance(entry, str) or (isinstance(entry, Mapping) and isinstance(entry.get("kind"), str))


def _has_arguments(entry: Any) -> bool:
    return ":" in entry if isinstance(entry, str) else set(entry) != {"kind"}


def _parse_family(entry: Any, folder: Path | None) -> Any:
    if isinstance(entry, Mapping):
        return from_table(entry, "family", entry["kind"], folder, {})
    return parse(unwrap(entry), "family", folder=folder)
