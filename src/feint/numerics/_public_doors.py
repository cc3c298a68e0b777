"""Kernels by Numba's documented interface alone, for releases whose internals feint does not know.

It has the same names as `_compiling`. A part is compiled by itself and again in every kernel, so a first use takes
several times as long. Numbers are the same, since every operation rounds as written. Numba's own cache keeps kernels.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numba

from feint.numerics._kernel_files import source_digest, stop_keeping

PART_OPTIONS: dict[str, Any] = {}


def compile_part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for kernels to call."""
    return numba.njit(**options)(function)


def compile_kernel(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for Python to call, whose machine code is kept if it is the package's own."""
    fresh = numba.njit(**options)(function)
    if not _is_ours(function):
        return fresh
    assert isinstance(function, FunctionType)
    twin = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    twin.__module__ = function.__module__
    # Numba checks the date of one file, but a kernel depends on many; so its name contains a digest of them all.
    twin.__qualname__ = f"{function.__qualname__}_{source_digest()}"
    try:
        kept = numba.njit(**options, cache=True)(twin)
    except RuntimeError:  # no folder is writable
        kept = None
    return _Kernel(kept, fresh)


class _Kernel:
    """A kernel kept on disk (None if it cannot be), and a second copy for a user's own types, whose file may change."""

    def __init__(self, kept: Any, fresh: Any) -> None:
        self._kept, self._fresh = kept, fresh
        self.py_func = fresh.py_func

    def __call__(self, *arguments: Any) -> Any:
        if not _all_ours(arguments):
            return self._fresh(*arguments)
        if self._kept is None:
            stop_keeping("Numba finds no folder that it can write")
            return self._fresh(*arguments)
        try:
            return self._kept(*arguments)
        except OSError as error:  # it is compiled, but could not be written
            stop_keeping(str(error))
        except Exception:  # a file of Numba's cache is damaged, or the arguments are wrong
            self._kept = self._fresh
        try:
            return self._kept(*arguments)
        except OSError:  # it could not even be read
            self._kept = self._fresh
            return self._fresh(*arguments)


def _is_ours(named: Any) -> bool:
    return str(named.__module__).split(".")[0] == "feint"


def _all_ours(values: Any) -> bool:
    return all(
        (type(value) is tuple or _is_ours(type(value))) and _all_ours(value)
        for value in values
        if isinstance(value, tuple)
    )
