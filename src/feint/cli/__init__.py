"""The `feint` command, one file per subcommand. Nothing but `__main__` imports this folder.

Heavy imports wait inside the subcommands, so that --help answers at once.
"""

import gc
import os
import sys
import traceback
from typing import Annotated, Any

import typer
import typer.main

from feint.cli import audit, check, open_page, plan, reproduce, run, sweep, warm
from feint.cli.shared import app, in_options
from feint.support import interrupts
from feint.support.errors import is_users
from feint.support.printable import printable
from feint.version import VERSION

# Typer uses the exceptions of click, either its own copy or the package, and exports only the most specific ones.
_UsageError: Any = typer.BadParameter.__base__
_WrongCommandLine: Any = _UsageError.__base__

__all__ = ["app", "audit", "check", "main", "open_page", "plan", "reproduce", "run", "sweep", "warm"]


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
    """Run the command and exit with 0, or with 1 if `feint audit` or `feint check` rejects.

    Wrong input prints one clear line and exits with 2, an interrupt exits with 130, a closed pipe with 141, and a bug
    in feint with 3. Nothing else exits with 1. A traceback is shown only if FEINT_DEBUG is set.
    """
    # Imports and compiling create a million objects that stay; scanning them took a twentieth of a first use.
    gc.set_threshold(1_000_000, 20, 100)
    try:
        code = _run_command(sys.argv[1:] or ["--help"])
    except BaseException as error:
        if os.environ.get("FEINT_DEBUG"):
            traceback.print_exc()
        code = _report_error(error)
    if interrupts.arrived():  # even if a library swallowed it or turned it into its own error
        code = 130
    sys.exit(code)


def _run_command(arguments: list[str]) -> int:
    """Run a command as click does, but let exceptions pass: click would exit with 1 for some of them."""
    command = typer.main.get_command(app)
    try:
        with command.make_context("feint", arguments) as context:
            command.invoke(context)
        sys.stdout.flush()
    except typer.Exit as ended:
        return ended.exit_code
    return 0


def _report_error(error: BaseException) -> int:
    """Print in one line what went wrong, and return the exit code."""
    if isinstance(error, KeyboardInterrupt | typer.Abort) or interrupts.arrived():
        if not isinstance(error, SystemExit):  # otherwise the command has already said so
            typer.echo("feint: interrupted", err=True)
        return 130
    if isinstance(error, BrokenPipeError) or isinstance(error.__context__, BrokenPipeError):  # Rich would exit with 1
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the last flush succeeds
        return 141
    if isinstance(error, SystemExit):  # raised by a command, or by a library
        return error.code if isinstance(error.code, int) and error.code in (0, 2, 130) else 3
    line = " ".join(_message(error).split())
    if isinstance(error, _UsageError):
        if not line:  # a group without a command: its help is already printed
            return 2
        line += f" See {error.ctx.command_path} --help." if error.ctx is not None else ""
    if isinstance(error, _WrongCommandLine) or is_users(error):
        typer.echo(f"feint: {in_options(line)}", err=True)
        return 2
    said = f"internal error, {type(error).__name__}: {printable(line)}"
    typer.echo(f"feint: {said}; please report it (FEINT_DEBUG=1 shows the traceback)", err=True)
    return 3


def _message(error: BaseException) -> str:
    """Return the message of an error, without the number that errors of the system carry."""
    if isinstance(error, _WrongCommandLine):
        return str(error.format_message())
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    if isinstance(error, FileNotFoundError) and error.filename is not None:
        return f"There is no file {error.filename}."
    return f"{error.strerror}." if error.filename is None else f"{error.filename}: {error.strerror}."
