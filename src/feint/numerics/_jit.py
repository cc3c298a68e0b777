"""The one place that sets compile options, and the few machine-level primitives kernels need.

Kernels are scalar functions over caller-owned workspaces: no allocation, no exceptions, no Python objects inside.
`contract` lets LLVM fuse multiply and add; nothing else of IEEE arithmetic is given up, so a result never depends on
how a loop was vectorised across rows or threads.

There are two sorts. A `kernel` is an entry from Python: it is compiled on first use with all that it calls, and its
machine code is kept on disk. A `part` (or `inlined` part) is what kernels are made of: it is translated, but not
optimised and not turned into machine code by itself, since every kernel that uses it does that with its whole body
anyway. That takes 60 % off the time of a first use. Called from Python, a part becomes a kernel of its own, so that
tests can look at it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from feint.numerics._compiling import Cache, LeanCompiler, PartCompiler, SealedCompiler, is_ours

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)

# `forceinline` is said even where it is false: Numba would let a function inherit it from the one that is compiling.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "forceinline": False,
}
_FUSED = {"contract"}
_PART_OPTIONS = _OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": PartCompiler}


def kernel(function: _F) -> _F:
    """An entry from Python; see the module's docstring."""
    dispatcher = _without_literals(numba.njit(**_OPTIONS, fastmath=_FUSED, pipeline_class=LeanCompiler)(function))
    if is_ours(function.__module__):
        dispatcher._cache = Cache(function)
    return cast(_F, dispatcher)


def part(function: _F) -> _F:
    """A function that only kernels call."""
    return _part(function, fastmath=_FUSED)


def sealed(function: _F) -> _F:
    """A part that is never dissolved into its caller, so that every kernel has the same code of it: where LLVM fuses a
    multiplication and an addition then does not depend on who calls, and neither do the last bits of the result.
    """
    return _part(function, fastmath=_FUSED, pipeline_class=SealedCompiler)


def inlined(function: _F) -> _F:
    """A small part that must dissolve into its caller's loop, so that the loop vectorises."""
    return _part(function, fastmath=_FUSED, forceinline=True)


def strict_part(function: _F) -> _F:
    """A part whose every operation rounds as written: for double-double arithmetic."""
    return _part(function, fastmath=False)


def strict_inlined(function: _F) -> _F:
    """An `inlined` part whose every operation rounds as written: where NumPy must be able to give the same bits."""
    return _part(function, fastmath=False, forceinline=True)


def reordered_sum(function: _F) -> _F:
    """A small reduction whose terms may be added in any order, so that it vectorises; the order is fixed when it is
    compiled, so the result stays reproducible.
    """
    return _part(function, fastmath={"contract", "reassoc"}, forceinline=True)


def by_type(function: _F) -> _F:
    """A part that is chosen by the type of its first argument: settings, a NamedTuple whose class has a part (or a
    kernel) of this function's name as an attribute.

    So a new explorer, reference, family or budget is a new class, in the package or in a user's file, and nothing has
    a list of them. In plain Python the same attribute is called, which may then be any function; a part that is handed
    something `Plain` runs as the Python function it was written as. The function decorated here is what runs for a
    class without such an attribute; most have no body to speak of.
    """
    name = function.__name__
    usual = part(function)

    def choose(settings: Any, *others: Any) -> Any:
        implementation = getattr(settings.instance_class, name, usual)
        return lambda settings, *others: implementation(settings, *others)

    def call(settings: Any, *others: Any) -> Any:
        implementation = getattr(type(settings), name, usual)
        if has_plain((settings, *others)):
            implementation = getattr(implementation, "py_func", implementation)
        return implementation(settings, *others)

    call.__name__, call.__doc__, call.__module__ = name, function.__doc__, function.__module__
    # Not `strict`: the signature of the stub is for readers, that of the implementation counts.
    overload(call, strict=False, jit_options=_PART_OPTIONS | {"fastmath": _FUSED, "forceinline": True})(choose)
    return cast(_F, call)


def shared(function: _F) -> _F:
    """A part that stays an ordinary function for Python: what it is handed may then be `Plain`."""
    overload(function, strict=False, jit_options=_PART_OPTIONS | {"fastmath": _FUSED})(lambda *arguments: function)
    return function


def shared_inlined(function: _F) -> _F:
    """The same for a small one that must dissolve into its caller's loop."""
    options = _PART_OPTIONS | {"fastmath": _FUSED, "forceinline": True}
    overload(function, strict=False, jit_options=options)(lambda *arguments: function)
    return function


class Plain:
    """The base of what has no kernel: it stands where settings would, and makes what uses it run in plain Python."""


def has_plain(values: Any) -> bool:
    """Whether something in these settings has no kernel."""
    return any(isinstance(value, Plain) or (isinstance(value, tuple) and has_plain(value)) for value in values)


def parts(**named: Any) -> Callable[[_C], _C]:
    """Attach parts, or constants, to a class of settings, where `by_type` finds them."""

    def attach(settings: _C) -> _C:
        for name, value in named.items():
            setattr(settings, name, staticmethod(value) if callable(value) else value)
        return settings

    return attach


def _part(function: _F, **options: Any) -> _F:
    return cast(_F, _without_literals(numba.njit(**(_PART_OPTIONS | options))(function)))


def _without_literals(dispatcher: Any) -> Any:
    """Numba would compile a second copy for every call with a literal number; one for its type is enough."""
    fold = dispatcher._compiler.fold_argument_types

    def fold_to_types(args: Any, keywords: Any) -> Any:
        signature, folded = fold(args, keywords)
        return signature, tuple(types.unliteral(argument) for argument in folded)

    dispatcher._compiler.fold_argument_types = fold_to_types
    return dispatcher


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
