"""The version: pyproject.toml, the command and every written file take it from here, and from nowhere else."""

import platform

VERSION = "0.1.0"


def versions() -> dict[str, str]:
    """Return the versions of the software that the numbers depend on."""
    import numba
    import numpy as np

    return {
        "feint": VERSION,
        "numpy": np.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }
