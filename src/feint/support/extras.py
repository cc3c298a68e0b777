"""The libraries that an installation may lack, each in an extra of pyproject.toml, and one sentence that says so."""

from functools import cache
from importlib import import_module

_EXTRAS = {
    "matplotlib": "plot",
    "pyarrow": "arrow",
    "zarr": "sweep",
    "distributed": "cluster",
    "fsspec": "cluster",
    "panel": "app",
}


class MissingExtra(ImportError, ValueError):
    """A library is not installed: an ImportError for programs, and a user's error (ValueError) for the command."""


@cache
def is_there(library: str) -> bool:
    """Return whether a library can be imported. One that is installed but broken raises its own error."""
    try:
        import_module(library)
    except ModuleNotFoundError as error:
        if error.name != library:
            raise
        return False
    return True


def need(library: str, what: str) -> None:
    """Check that a library is installed; `what` says what needs it.

    >>> need("matplotlib", "A figure")
    """
    if not is_there(library):
        raise MissingExtra(f"{what} needs {library}, which is not installed: pip install 'feint[{_EXTRAS[library]}]'.")
