"""What users write for an explorer, a reference, a budget, a claim or a number, in the shell and on the page.

Heavy imports wait inside, since the commands read the names for their --help.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from feint.bandit import Bandit

EXPLORERS = ("top-two", "top-two-transport", "tracking", "round-robin", "earn")


def numbers(text: str, name: str) -> list[float]:
    """The numbers of an option such as 0.6,0.3,0,0.2."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} is {text!r}; give numbers with commas between, as 0.6,0.3,0,0.2.") from None


def whole(text: str, name: str) -> int:
    """The whole number of an option, also as 1e5.

    >>> whole("1e5", "--horizon")
    100000
    """
    try:
        value = float(text.replace("_", ""))
        number = int(text) if text.isdecimal() else int(value)
    except (ValueError, OverflowError):
        value, number = 0.5, 0
    if value != number:
        raise ValueError(f"{name} is {text!r}; give a whole number, as 100000 or 1e5.")
    return number


def budget_of(text: str, horizon: int) -> Any:
    """The budget of --epsilon: a number, power:SCALE,EXPONENT, total:NATS or rising:NATS over the horizon."""
    from feint.budgets import PowerLaw, RisingBudget, TotalBudget

    name, colon, given = text.partition(":")
    values = numbers(given if colon else text, "--epsilon")
    if not colon and len(values) == 1:
        return values[0]
    if name == "power" and len(values) == 2:
        return PowerLaw(*values)
    if name == "total" and len(values) == 1:
        return TotalBudget(values[0], horizon)
    if name == "rising" and len(values) == 1:
        return RisingBudget(values[0], horizon)
    raise ValueError(f"--epsilon is {text!r}; give a number, inf, power:SCALE,EXPONENT, total:NATS or rising:NATS.")


def reference_of(text: str) -> Any:
    """The reference of --reference: thompson, ucb, uniform, softmax:T or epsilon-greedy:E."""
    from feint.references import EpsilonGreedy, ObservedUCB, Softmax, Split, ThompsonSampling

    name, colon, given = text.partition(":")
    plain = {"thompson": ThompsonSampling, "ucb": ObservedUCB, "uniform": Split}
    tuned = {"softmax": Softmax, "epsilon-greedy": EpsilonGreedy}
    if name in plain and not colon:
        return plain[name]()
    if name in tuned and len(values := numbers(given, "--reference")) == 1:
        return tuned[name](values[0])
    raise ValueError(f"--reference is {text!r}; choose thompson, ucb, uniform, softmax:T or epsilon-greedy:E.")


def explorer_of(name: str, bandit: "Bandit") -> Any:
    """An explorer by name; round robin goes over all arms but the best public one."""
    from feint.explorers import Earn, RoundRobin, TopTwo, TopTwoTransport, Tracking

    if name == "round-robin":
        return RoundRobin([a for a in range(bandit.n_arms) if a != bandit.best_public])
    kinds = {"top-two": TopTwo, "top-two-transport": TopTwoTransport, "tracking": Tracking, "earn": Earn}
    if name not in kinds:
        raise ValueError(f"There is no explorer {name!r}; choose among {', '.join(EXPLORERS)}.")
    return kinds[name]()


def claimed_of(
    reference: str, sigma: str | None, prior: str | None, split: str | None, clip: float | None
) -> tuple[Any, Any]:
    """(reference, family) that the options describe."""
    from feint.instances import family_of
    from feint.references import Clipped, EpsilonGreedy, NormalInverseGamma, Softmax, Split, ThompsonSampling

    name, _, number = reference.partition(":")
    family: Any = None
    if split is not None and reference != "normal":
        raise ValueError(f"--split is a claim by itself; leave --reference {reference} out.")
    if number and (name == "uniform" or sigma is not None):
        raise ValueError(f"--reference is {reference!r}; leave :{number} out{' or --sigma' if sigma else ''}.")
    if split is not None:
        found: Any = Split(numbers(split, "--split"))
    elif name == "uniform":
        found = Split()
    elif name in ("softmax", "epsilon-greedy"):
        value = _one(number or "nan", "--reference", reference)
        found = (Softmax if name == "softmax" else EpsilonGreedy)(value)
    elif sigma == "unknown":
        if name not in ("normal", "gaussian"):
            raise ValueError(f"--sigma is about normal rewards, not --reference {reference}; leave it out.")
        given = [None] if prior is None else _priors(prior, 4)
        if len(given) > 1:
            raise ValueError(f"--prior is {prior!r}; with an unknown sigma all arms have the same one.")
        found, prior, sigma = NormalInverseGamma(given[0]), None, None  # type: ignore[arg-type]
    else:
        if sigma is not None and name not in ("normal", "gaussian"):
            raise ValueError(f"--sigma is about normal rewards, not --reference {reference}; leave it out.")
        family = family_of(reference if sigma is None else f"{name}:{_one(sigma, '--sigma', sigma)}")
        priors = None if prior is None else _priors(prior, 2)
        found = ThompsonSampling(None if priors is None else priors[0] if len(priors) == 1 else tuple(priors))
        prior = sigma = None
    if prior is not None or sigma is not None:
        raise ValueError("--prior and --sigma are about Thompson Sampling; leave them out.")
    return (found if clip is None else Clipped(found, clip)), family


def _one(text: str, name: str, given: str) -> float:
    """The number of an option that has one."""
    found = numbers(text, name)
    if len(found) != 1:
        raise ValueError(f"{name} is {given!r}; give one number.")
    return found[0]


def _priors(text: str, size: int) -> list[tuple[float, ...]]:
    """The numbers of a prior, or of every arm's: MEAN,SD;MEAN,SD;… or a file with a line an arm."""
    # Of priors that are longer than a path may be, pathlib raises an OSError.
    lines = Path(text).read_text(encoding="utf-8").split("\n") if os.path.isfile(text) else text.split(";")
    try:
        found = [tuple(float(part) for part in line.replace(";", ",").split(",")) for line in lines if line.strip()]
    except ValueError:
        found = []
    if not found or any(len(pair) != size for pair in found):
        what = (
            "two numbers, as 0,1 (mean and sd) or 1,1 (successes, failures)" if size == 2 else "MEAN,PULLS,SHAPE,SCALE"
        )
        raise ValueError(
            f"--prior is {text!r}; give {what}; of every arm with ; between, or a file with a line an arm."
        )
    return found
