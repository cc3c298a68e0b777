"""What a user writes about a reference, in a shell or on the page: reference, family, σ and prior as texts."""

import os
from pathlib import Path
from typing import Any

from feint.families import Gaussian
from feint.references import Clipped, NormalInverseGamma, ThompsonSampling
from feint.registry import USUAL_REFERENCE, imply_family, is_family_of, parse, parse_families
from feint.registry.names import find

_NORMAL = (None, "gaussian", "normal")  # families that leave σ to --sigma


def read_reference(
    reference: str,
    family: str | None,
    sigma: str | None,
    prior: str | None,
    split: str | None,
    clip: str | None,
    folder: Path | None = None,
) -> tuple[Any, Any]:
    """Return the (reference, family) that the options describe, None for a family that they do not name; `folder` is
    where files of the user's own are, None if no file may be read.
    """
    if split is not None:
        if find(reference, "reference") is not ThompsonSampling:  # by any of its names
            raise ValueError(f"--split is a claim of its own; leave --reference {reference} out.")
        reference = f"split:{split}"
    written = reference
    reference, implied = imply_family(reference)
    given = implied if family is None else family
    rewards = None if given is None else parse_families(given, folder=folder)
    if isinstance(rewards, tuple):
        raise ValueError(f"--family is {family!r}; a log has public rewards only, so give one name.")
    if implied is not None and not is_family_of(implied, rewards):
        raise ValueError(f"--reference {written} contradicts --family {family}; leave one of them out.")
    found = parse(reference, "reference", folder=folder)
    if (sigma is not None or prior is not None) and found != ThompsonSampling():
        raise ValueError(
            f"--prior and --sigma are about {USUAL_REFERENCE}; leave them out of --reference {written}, or write them "
            "with it and with --family gaussian:SIGMA."
        )
    if sigma is not None and given not in _NORMAL:
        if isinstance(rewards, Gaussian):
            raise ValueError(f"--sigma contradicts {given}; leave one of them out.")
        raise ValueError(f"--sigma is for normal rewards, not {given}; leave it out.")
    if sigma == "unknown":
        found, rewards = NormalInverseGamma(_sole_prior(prior, folder)), None
    else:
        rewards = rewards if sigma is None else parse(f"gaussian:{sigma}", "family")
        priors = [] if prior is None else _priors(prior, 2, folder)
        found = ThompsonSampling(priors[0] if len(priors) == 1 else tuple(priors)) if priors else found
    if clip is None:
        return found, rewards
    if isinstance(found, Clipped):
        raise ValueError(f"--clip contradicts --reference {written}, which is clipped already; leave one of them out.")
    return Clipped(found, *_limits(clip)), rewards


def _limits(text: str) -> list[float]:
    """Return the numbers of LOW or LOW,HIGH."""
    try:
        found = [float(part) for part in text.split(",")]
    except ValueError:
        found = []
    if not 1 <= len(found) <= 2:
        raise ValueError(
            f"--clip is {text!r}; give the least probability, or the least and the largest, such as 0.05,0.9."
        )
    return found


def _sole_prior(text: str | None, folder: Path | None) -> Any:
    """Return the prior of all arms for an unknown sigma, four numbers."""
    found = [None] if text is None else _priors(text, 4, folder)
    if len(found) > 1:
        raise ValueError(f"--prior is {text!r}; with an unknown sigma all arms have the same one.")
    return found[0]


def _priors(text: str, size: int, folder: Path | None) -> list[tuple[float, ...]]:
    """Return the numbers of a prior, or of a prior per arm: MEAN,SD;MEAN,SD;… or a file with one line per arm.

    Without a folder no file is read: a visitor of the page must not learn what is on the server.
    """
    # For priors that are longer than a path may be, pathlib would raise an OSError.
    is_file = folder is not None and os.path.isfile(folder / text)
    lines = Path(folder or "", text).read_text(encoding="utf-8").split("\n") if is_file else text.split(";")
    try:
        found = [tuple(float(part) for part in line.replace(";", ",").split(",")) for line in lines if line.strip()]
    except ValueError:
        found = []
    if not found or any(len(pair) != size for pair in found):
        what = (
            "two numbers, as 0,1 (mean and sd) or 1,1 (successes, failures)" if size == 2 else "MEAN,PULLS,SHAPE,SCALE"
        )
        raise ValueError(
            f"--prior is {text!r}; give {what}. For one prior per arm, put ; between them, or name a file with one "
            "line per arm."
        )
    return found
