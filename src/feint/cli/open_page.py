"""`feint app`: a local page to play with."""

from typing import Annotated

import typer

from feint.cli.shared import app


@app.command("app")
def open_page(
    port: Annotated[int, typer.Option(help="Port on this machine; 0 takes any free one.")] = 5006,
    show: Annotated[bool, typer.Option("--show/--no-show", help="Whether to open the page in a browser.")] = True,
) -> None:
    """Open a local page: explore, plan and audit. It listens on this machine only and sends nothing anywhere."""
    from feint.app import serve

    serve(port, show=show, say=lambda text: typer.echo(text, err=True))
