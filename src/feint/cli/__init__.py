"""The `feint` command, one file a subcommand. Heavy imports wait inside them, so that --help answers at once."""

import gc
import io
import sys
from typing import Annotated

import typer

from feint.cli import audit, page, plan, reproduce, run, sweep, warm
from feint.cli.shared import app, in_options
from feint.version import VERSION

__all__ = ["app", "audit", "main", "page", "plan", "reproduce", "run", "sweep", "warm"]


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"feint {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command; wrong input ends with one clear line and exit code 2, never a traceback.

    A mistake of ours ends with 3: 1 is what `feint audit` says of a log that it rejects.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without ε still gets the numbers
    # Imports and compiling make a million objects that stay: looking through them was a twentieth of a first use.
    gc.set_threshold(200_000, 20, 100)
    try:
        app()
    except (ValueError, OSError) as error:
        typer.echo(f"feint: {in_options(' '.join(str(error).split()))}", err=True)
        sys.exit(2)
    except Exception as error:
        typer.echo(f"feint: unexpected {type(error).__name__}: {' '.join(str(error).split())}", err=True)
        sys.exit(3)
