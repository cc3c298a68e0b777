"""Numba's internals: everything that feint uses of Numba beyond its documented interface, and what each part saves.

It is used with the releases that `_jit.KNOWN_NUMBA` names, which `make test-matrix` runs. With any other release,
`_public_doors` takes its place.

Nothing here outlives the compilation of feint's own kernels. One method of Numba's is replaced while Numba's
`compile_extra` runs one of the compilers below, under Numba's own lock and only for the thread that holds it. It is
restored when that ends, however it ends.

Without each of them, a first use takes this many more CPU seconds (`feint run`, 10 s; in brackets
`best_arm_probabilities`, 2.2 s; two cores, Numba 0.68):

| what | seconds |
| --- | --- |
| `_PartLibrary`: parts are not turned into machine code by themselves, nor given wrappers | 23 (2.4) |
| `_OPTIONS`: no wrappers for callers that parts and kernels do not have | 7 (0.3) |
| `_OPTIONS`: no reference counts, since kernels allocate nothing | 6 (0.3) |
| `_remembering`: Numba is asked once what an operator does with given types | 1 (0.1) |
| `_Cache`: machine code on disk, for the next start | 9 (1.7) |

`KernelCompiler.define_pipelines` is not in the table: Numba's manual documents it ("Customizing the compiler"). It
leaves out passes for features that kernels do not use, which saves 0.3 s (0.1).
"""

import ctypes
import hashlib
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite
import numba
import numpy as np
from numba.core import serialize, types
from numba.core.caching import NullCache
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
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

from feint.numerics import _kernel_files
from feint.support.progress import say_once


class _PartLibrary(JITCodeLibrary):
    """LLVM code that is only to be linked into a kernel."""

    def __init__(self, codegen: Any, function: Any) -> None:
        super().__init__(codegen, function.__qualname__)
        # Python's calling convention for a built-in function: (self, args, kwargs) -> result.
        self._from_python = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)(
            lambda _, args, keywords: _kernel_of(function)(*args)
        )

    def _optimize_final_module(self) -> None:
        """Do nothing: the kernel is optimised as a whole."""

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
        """Do nothing: a part has no address in memory for its environment."""


@cache
def _kernel_of(function: Any) -> Any:
    """Return a part as a kernel, for calls from Python; the decorator is in a module that imports this one."""
    from feint.numerics._jit import kernel

    return kernel(function)


class KernelCompiler(Compiler):
    """Numba's compiler without the passes for features that kernels do not use (closures, `with`, exceptions,
    generators, loops over tuples of several types, array expressions) and without annotations that nobody reads.
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

    def compile_extra(self, function: Any) -> Any:
        kept = _is_ours(function.__module__) and _all_ours(self.state.args)
        with global_compiler_lock, _remembering(), _NOTICE.compiling(kept):
            return super().compile_extra(function)

    def define_pipelines(self) -> list[Any]:
        lean = PassManager("feint")
        for found, description in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if found not in self._UNUSED:
                lean.add_pass(found, description)
        lean.finalize()
        return [lean]


class PartCompiler(KernelCompiler):
    """A `KernelCompiler` that compiles into a `_PartLibrary`."""

    def compile_extra(self, function: Any) -> Any:
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), function)
        return super().compile_extra(function)


_SELECTING = (min, max, int)
_get_call_type = types.Function.get_call_type  # inherited from the base class
assert "get_call_type" not in vars(types.Function)


@contextmanager
def _remembering() -> Iterator[None]:
    """Remember, while this thread compiles feint's own code, what an operator does with given types.

    At every + of a kernel Numba asks some twenty templates, once to infer types and once to generate code. Their
    answers do not change within a kernel, except for an `overload`: it is compiled with the options of its caller and
    is therefore asked every time. Those in `_SELECTING` are remembered, since they do no arithmetic that options could
    change.
    """
    if "get_call_type" in vars(types.Function):  # parts compile inside kernels
        yield
        return
    thread = threading.get_ident()
    known: dict[Any, Any] = {}

    def get_call_type(self: Any, context: Any, args: Any, keywords: Any) -> Any:
        if keywords or threading.get_ident() != thread or not _is_from_python(self.typing_key):
            return _get_call_type(self, context, args, keywords)
        key = id(self), context, tuple(args)
        if key not in known:
            signature = _get_call_type(self, context, args, keywords)
            if signature is None or not (
                self.typing_key in _SELECTING or self._impl_keys[signature.args] is self.typing_key
            ):
                return signature
            known[key] = self, signature  # `self` is kept alive, so that its id stays unique
        return known[key][1]

    # A class's method is replaced on purpose; see the module's docstring.
    types.Function.get_call_type = get_call_type  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        del types.Function.get_call_type


def _is_from_python(function: Any) -> bool:
    """Return whether an operator or function is Python's own; what others taught Numba may depend on anything."""
    return getattr(function, "__module__", None) in ("_operator", "builtins", "math")


class _Cache(NullCache):
    """Machine code of a kernel on disk, in `_kernel_files`.

    Numba's own cache checks the date of only one file, and raises an error if a file is damaged or no folder is
    writable. Code for a user's own types is not kept, because the user's file may change.
    """

    def __init__(self, function: Any) -> None:
        self._function = f"{function.__module__}.{function.__qualname__}"

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        if not _all_ours(signature):
            return None
        data = _kernel_files.load(self._name(signature, target_context.codegen()))
        if data is None:
            return None
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(data))
        except Exception:  # whatever makes it unusable, compiling again helps
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        if _all_ours(signature) and _kernel_files.keeps():
            name = self._name(signature, result.target_context.codegen())
            _kernel_files.save(name, serialize.dumps(result._reduce()))

    def _name(self, signature: Any, codegen: Any) -> str:
        """Return the file name; it includes qualified class names, since the signature has no modules."""
        classes = [f"{found.__module__}.{found.__qualname__}" for a in signature for found in _named_tuples(a)]
        versions = sys.implementation.cache_tag, numba.__version__, llvmlite.__version__, np.__version__
        facts = self._function, str(signature), classes, codegen.magic_tuple(), versions
        return f"{self._function.removeprefix('feint.')}-{hashlib.sha256(repr(facts).encode()).hexdigest()[:32]}"


def _is_ours(module: str | None) -> bool:
    return module is not None and module.split(".")[0] == "feint"


def _all_ours(arguments: Any) -> bool:
    return all(_is_ours(found.__module__) for argument in arguments for found in _named_tuples(argument))


def _named_tuples(found: Any) -> Iterator[type]:
    if isinstance(found, types.BaseNamedTuple):
        yield found.instance_class
    if isinstance(found, types.BaseTuple):
        for inner in found:
            yield from _named_tuples(inner)


class _CompileNotice:
    """A notice, given once, that kernels are compiling; it appears only if that takes long."""

    _PATIENCE = 2.0  # seconds, for all kernels together

    def __init__(self) -> None:
        self._depth = 0
        self._spent = 0.0

    @contextmanager
    def compiling(self, kept: bool) -> Iterator[None]:
        """Measure how long something compiles, under Numba's lock; parts count with the kernel that contains them."""
        self._depth += 1
        if self._depth > 1:
            try:
                yield
            finally:
                self._depth -= 1
            return
        since = time.monotonic()
        timer = threading.Timer(max(0.0, self._PATIENCE - self._spent), self._say, [kept])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            self._depth -= 1
            timer.cancel()
            self._spent += time.monotonic() - since

    def _say(self, kept: bool) -> None:
        if not kept:
            say_once("feint: compiling kernels for your own classes; these are not kept and compile at every start")
        elif _kernel_files.keeps():  # otherwise a message already says that nothing is kept
            say_once("feint: compiling kernels (`feint warm` does all at once)")
            _kernel_files.announce()


_NOTICE = _CompileNotice()

_OPTIONS: dict[str, Any] = {"_nrt": False, "no_cfunc_wrapper": True}
PART_OPTIONS = _OPTIONS | {"no_cpython_wrapper": True, "pipeline_class": PartCompiler}


def compile_part(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for kernels to call. Python calls it as a kernel, which is kept on disk."""
    dispatcher = numba.njit(**options, **PART_OPTIONS)(function)
    dispatcher._compile_for_args = lambda *_: _kernel_of(function)
    return dispatcher


def compile_kernel(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Return a function for Python to call, whose machine code is kept if it is the package's own."""
    dispatcher = numba.njit(**options, **_OPTIONS, pipeline_class=KernelCompiler)(function)
    if _is_ours(function.__module__):
        dispatcher._cache = _Cache(function)
    return dispatcher
