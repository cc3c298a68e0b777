"""How Numba compiles kernels here: what it leaves out, what it remembers, what it keeps on disk, and what it says.

Numba's own doors are used where it has them (`pipeline_class`, `define_pipelines`, a cache class, events).
"""

import ctypes
import gc
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

from numba.core import event, types
from numba.core.caching import FunctionCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager
from numba.core.cpu import CPUContext
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
from numba.np import linalg

_PACKAGE = Path(__file__).resolve().parents[1]


class _PartLibrary(JITCodeLibrary):
    """LLVM code that is ready to be linked into a kernel, and nothing more."""

    def __init__(self, codegen: Any, function: Any) -> None:
        super().__init__(codegen, function.__qualname__)
        as_kernel = cache(lambda: _kernel_of(function))
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


def _kernel_of(function: Any) -> Any:
    """A part that Python calls becomes a kernel; its decorator is above this file."""
    from feint.numerics._jit import kernel

    return kernel(function)


class LeanCompiler(Compiler):
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


class PartCompiler(LeanCompiler):
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


class SealedCompiler(PartCompiler):
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


def _once(load: Callable[[Any], None]) -> Callable[[Any], None]:
    """Numba installs its own registries anew whenever it looks in vain for an implementation, 700 times for an audit;
    they do not change. What users register is in another one, which is still looked at.

    It also imports scipy.linalg, to see whether that is there; it is.
    """
    loaded: list[Any] = []

    def load_additional_registries(self: Any) -> None:
        if not any(context is self for context in loaded):
            looking, linalg.ensure_blas = linalg.ensure_blas, lambda: None
            try:
                load(self)
            finally:
                linalg.ensure_blas = looking
            loaded.append(self)

    return load_additional_registries


# Numba has no door for these two; the pinned version is what tests run with.
CPUContext.load_additional_registries = _once(CPUContext.load_additional_registries)  # type: ignore[method-assign]
types.Function.get_call_type = _remembering(types.Function.get_call_type)  # type: ignore[method-assign]


class Cache(FunctionCache):
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


def is_ours(module: str) -> bool:
    return module.split(".")[0] == "feint"


def _all_ours(signature: Any) -> bool:
    return all(is_ours(found.__module__) for argument in signature for found in _named_tuples(argument))


def _named_tuples(found: Any) -> Iterator[type]:
    if isinstance(found, types.BaseNamedTuple):
        yield found.instance_class
    if isinstance(found, types.BaseTuple):
        for inner in found:
            yield from _named_tuples(inner)


class _Notice(event.Listener):
    """Says once that kernels compile when that takes long; on standard error, where it mixes with no result."""

    _PATIENCE = 2.0  # seconds, of all kernels together

    def __init__(self) -> None:
        self._depth = 0
        self._since = self._spent = 0.0
        self._timer: threading.Timer | None = None
        self._said = False
        self._collecting = False

    def on_start(self, happening: Any) -> None:
        self._depth += 1
        if self._depth == 1 and gc.isenabled():
            gc.disable()  # compiling makes much and drops little: looking for it takes a tenth of the time
            self._collecting = True
        if self._depth == 1 and not self._said and is_ours(happening.data["dispatcher"].py_func.__module__):
            self._since = time.monotonic()
            self._timer = threading.Timer(max(0.0, self._PATIENCE - self._spent), self._say)
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
            self._spent += time.monotonic() - self._since

    def _say(self) -> None:
        self._said = True
        print(
            "feint: compiling kernels; this is kept, and the next start is quick (`feint warm` does all at once)",
            file=sys.stderr,
            flush=True,
        )


event.register("numba:compile", _Notice())
