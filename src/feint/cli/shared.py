"""What every command uses: the application they register with, how they read options and how they speak of them."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from feint.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feint.bandit import Bandit

FIGURES = (".pdf", ".png", ".svg")

app = typer.Typer(
    name="feint",
    help="Deceptive exploration in multi-armed bandits: explore, plan and audit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


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


_OPTIONS = {"n_arms": "--arms"}
_PARAMETER = re.compile(r"`([a-z_]+)`")


def in_options(text: str) -> str:
    """The library's words for the command line: a parameter `skip_bad` is the option --skip-bad."""
    return _PARAMETER.sub(lambda found: _OPTIONS.get(found[1], "--" + found[1].replace("_", "-")), text)


def read_bandit(
    public: str | None, private: str | None, sigma: float | None, family: str | None, instance: Path | None
) -> "Bandit":
    """The instance of --public and --private with --sigma or --family, or of --instance."""
    from feint.bandit import Bandit
    from feint.instances import family_of, load_bandit

    if instance is not None:
        if any(value is not None for value in (public, private, sigma, family)):
            raise ValueError("Give either --instance, or --public and --private (and --sigma or --family), not both.")
        return load_bandit(instance)
    if public is None or private is None:
        raise ValueError("Give --public and --private, as in --public 0.6,0.3 --private 0.2,0.5, or --instance.")
    chosen = None if family is None else family_of(family)
    return Bandit(numbers(public, "--public"), numbers(private, "--private"), sigma, family=chosen)


def check_output(path: Path | None, suffixes: tuple[str, ...], force: bool) -> None:
    """Refuse a file to write before the work is done: of a kind that cannot be written, or one that is there."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in {' or '.join(suffixes)}.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or use --force.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for {path.name}; make it first, or choose another.")


def save_figure(figure: "Figure", path: Path, force: bool) -> None:
    """Write a figure, whole or not at all."""
    write_whole(path, lambda name: figure.savefig(name, dpi=200), force=force)
