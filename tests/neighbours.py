"""Run other people's Numba code, and print what each piece returns and the flags of its LLVM instructions.

`python neighbours.py` runs it alone; `python neighbours.py feint` runs it after feint has compiled its own kernels.
"""

import json
import re
import sys
from collections import Counter

import numba
import numpy as np
from numba import float64, int64, njit, types, vectorize
from numba.experimental import jitclass
from numba.extending import lower_builtin, overload, type_callable

_FLAGGED = re.compile(
    r"= (?:tail )?(f(?:add|sub|mul|div|cmp|neg)|call)((?: (?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc))*)"
)


def flags(function):
    """Count each floating-point instruction with each of its sets of flags."""
    text = "\n".join(function.inspect_llvm().values())
    return sorted(Counter(name + set_ for name, set_ in _FLAGGED.findall(text) if name != "call" or set_).items())


def a_jitclass():
    @jitclass([("total", float64), ("count", int64)])
    class Mean:
        def __init__(self):
            self.total, self.count = 0.0, 0

        def add(self, x):
            self.total += x
            self.count += 1
            return self.total / self.count

    mean = Mean()
    return [mean.add(x) for x in (1.0, 2.5, 4.0)], None


def a_function_without_a_module():
    space = {"njit": njit}
    exec("@njit\ndef doubled(x):\n    return 2.0 * x + 1.0\n", space)
    return space["doubled"](3.0), flags(space["doubled"])


def a_parallel_loop():
    @njit(parallel=True)
    def total(x):
        found = 0.0
        for i in numba.prange(x.size):
            found += x[i] * 2.0
        return found

    return total(np.arange(1000.0)), None


STATE = {"returns": types.float64}


def stateful():
    raise NotImplementedError


@type_callable(stateful)
def _type_stateful(context):
    return lambda: STATE["returns"]


@lower_builtin(stateful)
def _lower_stateful(context, builder, signature, args):
    return context.get_constant(signature.return_type, 3)


def a_type_that_depends_on_state():
    def ask():
        return stateful()

    STATE["returns"] = types.float64
    first = njit(ask)()
    STATE["returns"] = types.int64
    second = njit(ask)()
    return [type(first).__name__, type(second).__name__], None


def least_with_fastmath_and_without():
    def least(x, y):
        return min((x * 2.0, y + 1.0)) + x * y

    fast, plain = njit(fastmath=True)(least), njit(least)
    return [fast(1.0, 2.0), plain(1.0, 2.0)], [flags(fast), flags(plain)]


def later(x):
    raise NotImplementedError


def an_overload_added_later():
    before = None
    try:
        njit(lambda x: later(x))(1.0)
    except numba.TypingError:
        before = "no such function"
    overload(later)(lambda x: lambda x: x + 40.0)
    return [before, njit(lambda x: later(x))(2.0)], None


def a_ufunc():
    @vectorize([float64(float64, float64)])
    def hypotenuse(x, y):
        return (x * x + y * y) ** 0.5

    return hypotenuse(np.array([3.0, 5.0]), np.array([4.0, 12.0])).tolist(), None


def a_typed_list():
    @njit
    def squares(n):
        found = numba.typed.List()
        for i in range(n):
            found.append(i * i)
        return found

    return list(squares(5)), None


PIECES = [
    a_jitclass,
    a_function_without_a_module,
    a_parallel_loop,
    a_type_that_depends_on_state,
    least_with_fastmath_and_without,
    an_overload_added_later,
    a_ufunc,
    a_typed_list,
]

if __name__ == "__main__":
    if sys.argv[1:] == ["feint"]:
        import feint

        feint.best_arm_probabilities([0.0, 1.0, 0.5], [1.0, 2.0, 1.0])
        feint.boost_probability(0.2, 0.1)
    print(json.dumps({piece.__name__: piece() for piece in PIECES}))
