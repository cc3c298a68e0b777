"""`feint warm`: compile what the commands use, before they are used."""

import typer

from feint.cli.shared import app


@app.command()
def warm() -> None:
    """Compile the kernels that run, plan, audit and app use, on all cores; they are kept for the next start."""
    from feint.warming import warm_all

    seconds, failed = warm_all(lambda line: typer.echo(line, err=True))
    if failed:
        raise ValueError(f"Kernels of {', '.join(failed)} could not be compiled; run the command itself to see why.")
    typer.echo(f"feint: kernels are ready ({seconds:.0f} s)", err=True)
