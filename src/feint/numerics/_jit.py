"""The one place that sets compile options, and the few machine-level primitives kernels need.

Every kernel is a scalar function over caller-owned workspaces: no allocation, no exceptions, no Python
objects inside. `contract` lets LLVM fuse multiply and add; nothing else of IEEE arithmetic is given up, so a
result never depends on how a loop was vectorised across rows or threads.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., Any])

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
    "_nrt": False,
}


def kernel(function: _F) -> _F:
    """Compile a kernel on first use and keep the machine code on disk."""
    return numba.njit(**_OPTIONS)(function)


def inlined(function: _F) -> _F:
    """Compile a small scalar function that must dissolve into its caller's loop, so that the loop vectorises."""
    return numba.njit(**_OPTIONS, forceinline=True)(function)


def strict_kernel(function: _F) -> _F:
    """Compile a kernel whose every operation rounds as written: for double-double arithmetic."""
    return numba.njit(**{**_OPTIONS, "fastmath": False})(function)


def strict_inlined(function: _F) -> _F:
    """An `inlined` function whose every operation rounds as written: where NumPy must be able to give the same bits."""
    return numba.njit(**{**_OPTIONS, "fastmath": False}, forceinline=True)(function)


def reordered_sum(function: _F) -> _F:
    """Compile a small reduction whose terms may be added in any order, so that it vectorises; the order is fixed
    when it is compiled, so the result stays reproducible.
    """
    options = {**_OPTIONS, "fastmath": {"contract", "reassoc"}}
    return numba.njit(**options, forceinline=True)(function)


def _float_bits(typing_context: Any, x: Any) -> Any:
    """The 64 bits of a float64 as a signed integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


float_bits = cast(Callable[[float], int], intrinsic(_float_bits))


def _bits_float(typing_context: Any, n: Any) -> Any:
    """The float64 whose 64 bits are the signed integer n."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


bits_float = cast(Callable[[int], float], intrinsic(_bits_float))


def _fused_multiply_add(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """a·b + c with one rounding (`math.fma` is not in Python 3.11)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


fused_multiply_add = cast(Callable[[float, float, float], float], intrinsic(_fused_multiply_add))


def _multiply_high(typing_context: Any, a: Any, b: Any) -> Any:
    """The upper 64 bits of the 128-bit product of two unsigned 64-bit integers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


multiply_high = cast(Callable[[np.uint64, np.uint64], np.uint64], intrinsic(_multiply_high))
