"""The one place that sets compile options, and the few machine-level primitives that kernels need.

Kernels are scalar functions over workspaces that the caller owns: no allocation, no exceptions, no Python objects
inside. Every operation rounds as it is written, and where a multiplication and an addition are to round only once,
`fma` says so. So a result does not depend on how a loop was vectorised, on what a function was inlined into, or on the
compiler's version.

There are two kinds. A `kernel` is called from Python: it is compiled on first use together with all that it calls, and
its machine code is kept on disk. A `part` (or `inlined` part) is a piece of kernels: it is translated, but by itself
neither optimised nor turned into machine code, since that happens with every kernel that uses it. When Python calls a
part, it becomes a kernel of its own, so that tests can look at it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)
_T = TypeVar("_T")

if numba.config.DISABLE_JIT:
    raise ValueError(
        "NUMBA_DISABLE_JIT is set, but feint's kernels use machine instructions that Python lacks; unset it."
    )
KNOWN_NUMBA = ("0.66", "0.68")  # releases that `make test-matrix` runs
if ".".join(numba.__version__.split(".")[:2]) in KNOWN_NUMBA:
    from feint.numerics._compiling import PART_OPTIONS, compile_kernel, compile_part
else:
    from feint.numerics._public_doors import PART_OPTIONS, compile_kernel, compile_part

# `forceinline` is given even where it is false; otherwise Numba lets a function inherit it from its caller.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "fastmath": False, "forceinline": False}
_INLINED = _OPTIONS | {"forceinline": True}


def kernel(function: _F) -> _F:
    """Compile a function that Python calls; see the module's docstring."""
    return cast(_F, compile_kernel(function, _OPTIONS))


def part(function: _F) -> _F:
    """Compile a function that only kernels call."""
    return cast(_F, compile_part(function, _OPTIONS))


def inlined(function: _F) -> _F:
    """Compile a small part that is always inlined into its caller's loop, so that the loop vectorises."""
    return cast(_F, compile_part(function, _INLINED))


def by_type(function: _F) -> _F:
    """Declare a part that is chosen by the type of its first argument: settings, a NamedTuple whose class has a part
    (or a kernel) of this function's name as an attribute.

    So a new explorer, reference, family or budget is a new class, in the package or in a user's file, and there is no
    list of them. In plain Python the same attribute is called, which may then be any function; a part that receives
    something `Plain` runs as the Python function it was written as. The function decorated here runs for a class
    without such an attribute; most have hardly any body.
    """
    name = function.__name__
    usual = part(function)

    def choose(settings: Any, *others: Any) -> Any:
        implementation = getattr(settings.instance_class, name, usual)
        return lambda settings, *others: implementation(settings, *others)

    def call(settings: Any, *others: Any) -> Any:
        implementation = getattr(type(settings), name, usual)
        return kernel_or_python(implementation, settings, *others)(settings, *others)

    call.__name__, call.__doc__, call.__module__ = name, function.__doc__, function.__module__
    # Not `strict`: the stub's signature is for readers; the implementation's signature is the one that counts.
    overload(call, strict=False, jit_options=_INLINED | PART_OPTIONS)(choose)
    return cast(_F, call)


def shared(function: _F) -> _F:
    """Declare a part that stays an ordinary function for Python, so that its arguments may be `Plain`."""
    overload(function, strict=False, jit_options=_OPTIONS | PART_OPTIONS)(lambda *arguments: function)
    return function


def shared_inlined(function: _F) -> _F:
    """Declare a `shared` part that is always inlined into its caller's loop."""
    overload(function, strict=False, jit_options=_INLINED | PART_OPTIONS)(lambda *arguments: function)
    return function


class Plain:
    """The base of settings without a kernel: whatever uses them runs in plain Python."""


def has_plain(values: Any) -> bool:
    """Return whether something in these settings has no kernel."""
    return any(isinstance(value, Plain) or (isinstance(value, tuple) and has_plain(value)) for value in values)


def kernel_or_python(function: _F, *settings: Any) -> _F:
    """Return a kernel or a part, or the Python function that it was written as if something in `settings` has no
    kernel.
    """
    return getattr(function, "py_func", function) if has_plain(settings) else function


def parts(**named: Any) -> Callable[[_C], _C]:
    """Attach parts, or constants, to a class of settings, where `by_type` finds them."""

    def attach(settings: _C) -> _C:
        for name, value in named.items():
            setattr(settings, name, staticmethod(value) if callable(value) else value)
        return settings

    return attach


def _float_bits(typing_context: Any, x: Any) -> Any:
    """Return the 64 bits of a float64 as a signed integer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


float_bits = cast(Callable[[float], int], intrinsic(_float_bits))


def _bits_float(typing_context: Any, n: Any) -> Any:
    """Return the float64 whose 64 bits are the signed integer n."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


bits_float = cast(Callable[[int], float], intrinsic(_bits_float))


def _fma(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
    """Return a·b + c with one rounding (`math.fma` is not in Python 3.11)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float64(types.float64, types.float64, types.float64), generate


fma = cast(Callable[[float, float, float], float], intrinsic(_fma))


def _multiply_high(typing_context: Any, a: Any, b: Any) -> Any:
    """Return the upper 64 bits of the 128-bit product of two unsigned 64-bit integers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


multiply_high = cast(Callable[[np.uint64, np.uint64], np.uint64], intrinsic(_multiply_high))


def _shifted(typing_context: Any, values: Any, start: Any, end: Any, offset: Any) -> Any:
    """Return nested tuples in which every array that starts in [start, end) of memory starts `offset` bytes later."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value, start, end, offset = args

        def move(kind: Any, value: Any) -> Any:
            if isinstance(kind, types.BaseTuple):
                items = [move(item, builder.extract_value(value, i)) for i, item in enumerate(kind.types)]
                return context.make_tuple(builder, kind, items)
            if not isinstance(kind, types.Array):
                return value
            array = context.make_array(kind)(context, builder, value)
            address = builder.ptrtoint(array.data, ir.IntType(64))
            inside = builder.and_(builder.icmp_unsigned(">=", address, start), builder.icmp_unsigned("<", address, end))
            moved = builder.select(inside, builder.add(address, offset), address)
            array.data = builder.inttoptr(moved, array.data.type)
            return array._getvalue()

        return impl_ret_borrowed(context, builder, signature.return_type, move(signature.args[0], value))

    return values(values, types.int64, types.int64, types.int64), generate


shifted = cast(Callable[[_T, int, int, int], _T], intrinsic(_shifted))
