"""`feint warm`: compile what the commands use, before they are used."""

from typing import Annotated

import typer

from feint.cli.shared import CommandWithNames, app


@app.command(cls=CommandWithNames)
def warm(
    family: Annotated[
        str | None,
        typer.Option(help="Compile for this family of rewards ({family}), or a pair such as bernoulli,gaussian."),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Compile for every pair of families; this takes minutes.")
    ] = False,
    clear: Annotated[bool, typer.Option("--clear", help="Only remove all compiled kernels.")] = False,
) -> None:
    """Compile the kernels that run, plan, audit and app use, on all cores, and keep them for the next start."""
    from feint.cli.compile_ahead import compile_tasks
    from feint.numerics._kernel_files import remove, writable_folder

    if sum([family is not None, everything, clear]) > 1:
        raise ValueError("Give one of --family, --all and --clear.")
    if clear:
        removed, left = remove(stale_only=False)
        typer.echo(f"feint: removed {len(removed)} folders of kernels", err=True)
        if left:
            raise ValueError(f"{', '.join(map(str, left))} cannot be removed; remove it as the user who owns it.")
        return
    if writable_folder() is None:  # it has said why
        raise typer.Exit(2)
    seconds, failed = compile_tasks("all" if everything else family, lambda line: typer.echo(line, err=True))
    if failed:
        raise ValueError(f"Kernels could not be compiled for {', '.join(failed)}.")
    typer.echo(f"feint: kernels are ready ({seconds:.0f} s)", err=True)
