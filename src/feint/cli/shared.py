"""What every command uses: the application, how options are read, and how messages name them."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperOption

from feint.support.extras import need
from feint.support.files import write_whole
from feint.support.printable import printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from feint.bandit import Bandit

FIGURES = (".pdf", ".png", ".svg")
_WRITTEN_WITH = {**dict.fromkeys((*FIGURES, ".html"), "matplotlib"), ".zarr": "zarr", ".parquet": "pyarrow"}

app = typer.Typer(
    name="feint",
    help="Deceptive exploration in multi-armed bandits: explore, plan and audit.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


_OPTIONS = {"n_arms": "--arms", "low": "--clip", "high": "--clip"}
_PARAMETER = re.compile(r"`([a-z_]+)`")
_SORT = re.compile(r"\{(explorer|reference|family|budget|feedback|goal)\}")
_KNOWN = ("arms", "horizon")  # arguments that a run knows by itself
_WIDEST_NAME = 44  # letters; --help has no room for more in 80 columns
FAMILY_HELP = "Rewards: {family}, {mine}, or a pair PUBLIC,PRIVATE."
FEEDBACK_HELP = "What the agent sees of private rewards, if not all: {feedback}."


def in_options(text: str) -> str:
    """Return a message of the library for a terminal: options have their names, control characters are gone."""
    return _PARAMETER.sub(lambda found: _OPTIONS.get(found[1], "--" + found[1].replace("_", "-")), printable(text))


class CommandWithNames(TyperCommand):
    """A command whose help lists what is registered: {explorer}, {reference}, {family}, {budget}, {feedback}, {goal}
    and {mine} stand for it in the help of its options and in its epilog. Making the list takes a second, so it waits
    until the help is shown.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Fill in the names, and show the help."""
        for parameter in self.params:
            if isinstance(parameter, TyperOption):
                parameter.help = _with_names(parameter.help, self.name)
        self.epilog = _with_names(self.epilog, self.name)
        super().format_help(ctx, formatter)


def _with_names(text: str | None, command: str | None) -> str | None:
    from feint.registry import signatures

    if text is None:
        return None
    known = _KNOWN if command == "run" else _KNOWN[:1]  # a plan may have no horizon
    return _SORT.sub(
        lambda found: ", ".join(map(_shortened, signatures(found[1], known))), text.replace("{mine}", "FILE.py:CLASS")
    )


def _shortened(written: str) -> str:
    """Return how a part is written, without its arguments where a terminal of 80 columns has no room for them."""
    if len(written) <= _WIDEST_NAME:
        return written
    name, colon, _ = written.partition("[:" if "[:" in written else ":")
    return f"{name}{colon}ARGUMENTS{']' if colon == '[:' else ''}"


def numbers(text: str, name: str) -> list[float]:
    """Return the numbers of an option such as 0.6,0.3,0,0.2."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"{name} is {text!r}; give numbers separated by commas, such as 0.6,0.3,0,0.2.") from None


def read_bandit(
    public: str | None,
    private: str | None,
    sigma: float | None,
    family: str | None,
    instance: Path | None,
    reference: str,
    feedback: str | None = None,
) -> "tuple[Bandit, Any]":
    """Return the instance of --public and --private with --sigma or --family and --feedback, or of --instance; and
    --reference. If nothing else gives the family of the rewards, it is the one that the reference implies.
    """
    from feint.bandit import Bandit
    from feint.registry import imply_family, is_family_of, parse, parse_families, show_part, usual_family
    from feint.registry.instance_files import load_bandit

    written, implied = imply_family(reference)
    expected = parse(written, "reference", folder=Path())
    usual = usual_family(expected) if implied is None else parse_families(implied)
    if instance is not None:
        if any(value is not None for value in (public, private, sigma, family, feedback)):
            raise ValueError(
                "Give either --instance, or --public and --private (and --sigma or --family, and --feedback), not both."
            )
        bandit = load_bandit(instance, usual)
    elif public is None or (private is None and feedback is None):
        raise ValueError("Give --public and --private, as in --public 0.6,0.3 --private 0.2,0.5, or --instance.")
    else:
        unsaid = usual if sigma is None else None
        chosen = unsaid if family is None else parse_families(family, folder=Path())
        seen = None if feedback is None else parse(feedback, "feedback")
        means = None if private is None else numbers(private, "--private")
        bandit = Bandit(numbers(public, "--public"), means, sigma, family=chosen, feedback=seen)
    if implied is not None and not is_family_of(implied, bandit.families[0]):
        raise ValueError(
            f"--reference {implied} contradicts the public rewards, {show_part(bandit.families[0], 'family')}; "
            f"write --reference {written}."
        )
    return bandit, expected


def check_output(path: Path | None, suffixes: tuple[str, ...], force: bool) -> None:
    """Check before any work that a file can be written: its ending is known, and it does not exist yet."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in {' or '.join(suffixes)}.")
    if path.is_dir() and ".zarr" not in suffixes:  # a store is a folder
        raise IsADirectoryError(f"{path} is a folder; a file cannot take its place. Choose another name.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or use --force.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} for {path.name}; make it first, or choose another.")
    if path.suffix.lower() in _WRITTEN_WITH:
        need(_WRITTEN_WITH[path.suffix.lower()], str(path))


@contextmanager
def naming_output(path: Path | str) -> Iterator[None]:
    """Name the file in the error if it cannot be written."""
    try:
        yield
    except ImportError as error:
        raise ValueError(f"{path} cannot be written: {error}; install it, or leave the option out.") from None
    except OSError as error:
        if error.strerror is None:  # it says so itself
            raise
        raise OSError(f"{path} cannot be written: {error.strerror}.") from None


def save_figure(figure: "Figure", path: Path, force: bool) -> None:
    """Write a figure completely or not at all."""
    write_whole(path, lambda name: figure.savefig(name, dpi=200), force=force)
