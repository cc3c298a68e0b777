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

import ctypes
import gc
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from llvmlite import ir
from numba.core import event, types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import AnnotateTypes, InlineOverloads, NopythonRewrites
from numba.core.untyped_passes import (
    DeadBranchPrune,
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    WithLifting,
)
from numba.extending import intrinsic, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_C = TypeVar("_C", bound=type)

_PACKAGE = Path(__file__).resolve().parents[1]
# `forceinline` is said even where it is false: Numba would let a function inherit it from the one that is compiling.
_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "_nrt": False,
    "no_cfunc_wrapper": True,
    "forceinline": False,
}
_FUSED = {"contract"}


class _PartLibrary(JITCodeLibrary):
    """LLVM code that is ready to be linked into a kernel, and nothing more."""

    def __init__(self, codegen: Any, function: Any) -> None:
        super().__init__(codegen, function.__qualname__)
        as_kernel = cache(lambda: kernel(function))
        # Python's calling convention for a built-in function: (self, args, kwargs) -> result.
        self._from_python = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
            lambda _, args, keywords: as_kernel()(*args)
        )

    def _optimize_final_module(self) -> None:
        """Left to the kernel."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return ctypes.cast(self._from_python, ctypes.c_void_p).value or 0

    @property
    def codegen(self) -> Any:
        return self

    def set_env(self, name: str, environment: Any) -> None:
        """A part has no address in memory at which its environment could be noted."""


class _LeanCompiler(Compiler):
    """Numba's compiler without the passes for what kernels do not have (closures, `with`, exceptions, generators,
    loops over tuples of several types, array expressions) and without the annotations nobody reads; a quarter of its
    time. `pipeline_class` and `define_pipelines` are Numba's own doors for that.
    """

    _UNUSED = (
        WithLifting,
        InlineClosureLikes,
        RewriteDynamicRaises,
        MakeFunctionToJitFunction,
        InlineInlinables,
        FindLiterallyCalls,
        LiteralUnroll,
        LiteralPropagationSubPipelinePass,
        DeadBranchPrune,
        InlineOverloads,
        NopythonRewrites,
        AnnotateTypes,
    )

    def define_pipelines(self) -> list[Any]:
        lean = PassManager("feint")
        for found, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if found not in self._UNUSED:
                lean.add_pass(found, description)
        lean.finalize()
        return [lean]


class _PartCompiler(_LeanCompiler):
    """Compiles into a `_PartLibrary`."""

    library: type[_PartLibrary] = _PartLibrary

    def compile_extra(self, function: Any) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), function)
        return super().compile_extra(function)


class _SealedLibrary(_PartLibrary):
    def add_llvm_module(self, module: Any) -> None:
        for function in module.functions:
            if not function.is_declaration:
                function.add_function_attribute("noinline")
        super().add_llvm_module(module)


class _SealedCompiler(_PartCompiler):
    library = _SealedLibrary


def _remembering(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Numba's own choice of what a function or an operator does with given types, remembered.

    Numba asks some twenty templates at every + of a kernel, once to infer types and once to write code, which is a
    third of the time of compiling. What a type of function (an immutable tuple of templates) answers never changes,
    except for an `overload`, which is compiled with the options of its caller and is therefore asked every time; those
    of `_SELECTING` do no arithmetic that options could change.
    """
    known: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, keywords: Any) -> Any:
        key = id(self), context, tuple(args)
        if keywords or key not in known:
            signature = resolve(self, context, args, keywords)
            ours = self.typing_key in _SELECTING or self._impl_keys[signature.args] is self.typing_key
            if keywords or not ours:
                return signature
            known[key] = self, signature  # with what makes its id its own
        return known[key][1]

    return get_call_type


_SELECTING = (min, max, int)
# Numba has no door for this one; the pinned version is what tests run with.
types.Function.get_call_type = _remembering(types.Function.get_call_type)  # type: ignore[method-assign]
_PART_OPTIONS = _OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": _PartCompiler}


def kernel(function: _F) -> _F:
    """An entry from Python; see the module's docstring."""
    dispatcher = _without_literals(numba.njit(**_OPTIONS, fastmath=_FUSED, pipeline_class=_LeanCompiler)(function))
    if _is_ours(function.__module__):
        dispatcher._cache = _Cache(function)
    return cast(_F, dispatcher)


def part(function: _F) -> _F:
    """A function that only kernels call."""
    return _part(function, fastmath=_FUSED)


def sealed(function: _F) -> _F:
    """A part that is never dissolved into its caller, so that every kernel has the same code of it: where LLVM fuses a
    multiplication and an addition then does not depend on who calls, and neither do the last bits of the result.
    """
    return _part(function, fastmath=_FUSED, pipeline_class=_SealedCompiler)


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


class _Cache(FunctionCache):
    """Numba's cache on disk, which knows the date of one file only; ours knows those of the whole package.

    Code for a user's own types is not kept: the user's file may change.
    """

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        return super().load_overload(signature, target_context) if _all_ours(signature) else None

    def save_overload(self, signature: Any, data: Any) -> None:
        if _all_ours(signature):
            super().save_overload(signature, data)

    def _index_key(self, signature: Any, codegen: Any) -> Any:
        return (*super()._index_key(signature, codegen), _source_stamp())


@cache
def _source_stamp() -> int:
    """Changes with every file of the package."""
    facts = [(path.as_posix(), path.stat().st_mtime_ns, path.stat().st_size) for path in _PACKAGE.rglob("*.py")]
    import hashlib

    return int.from_bytes(hashlib.sha256(repr(sorted(facts)).encode()).digest()[:8], "little")


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "feint"


def _all_ours(signature: Any) -> bool:
    return all(_is_ours(found.__module__) for argument in signature for found in _named_tuples(argument))


def _named_tuples(found: Any) -> Iterator[type]:
    if isinstance(found, types.BaseNamedTuple):
        yield found.instance_class
    if isinstance(found, types.BaseTuple):
        for inner in found:
            yield from _named_tuples(inner)


class _Notice(event.Listener):
    """Says once that kernels compile when that takes long; on standard error, where it mixes with no result."""

    _PATIENCE = 2.0  # seconds

    def __init__(self) -> None:
        self._depth = 0
        self._timer: threading.Timer | None = None
        self._said = False
        self._collecting = False

    def on_start(self, happening: Any) -> None:
        self._depth += 1
        if self._depth == 1 and gc.isenabled():
            gc.disable()  # compiling makes much and drops little: looking for it takes a tenth of the time
            self._collecting = True
        if self._depth == 1 and not self._said and _is_ours(happening.data["dispatcher"].py_func.__module__):
            self._timer = threading.Timer(self._PATIENCE, self._say)
            self._timer.daemon = True
            self._timer.start()

    def on_end(self, happening: Any) -> None:
        self._depth -= 1
        if self._depth == 0 and self._collecting:
            gc.enable()
            self._collecting = False
        if self._depth == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _say(self) -> None:
        self._said = True
        print(
            "feint: compiling kernels; this is kept, and the next start is quick (`feint warm` does all at once)",
            file=sys.stderr,
            flush=True,
        )


event.register("numba:compile", _Notice())


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
