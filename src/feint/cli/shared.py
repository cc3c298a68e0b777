"""What every command uses: the application they register with, and how they read lists of numbers."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from feint.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

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


def check_output(path: Path | None, suffixes: tuple[str, ...], force: bool) -> None:
    """Refuse a file to write before the work is done: of a kind that cannot be written, or one that is there."""
    if path is None:
        return
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must end in {' or '.join(suffixes)}.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists already; choose another name, or use --force.")


def save_figure(figure: "Figure", path: Path, force: bool) -> None:
    """Write a figure, whole or not at all."""
    write_whole(path, lambda name: figure.savefig(name, dpi=200), force=force)
