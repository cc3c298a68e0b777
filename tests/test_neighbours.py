"""feint changes nothing in Numba except while its own kernels compile, so other people's code is not affected."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from feint.numerics._jit import KNOWN_NUMBA
from own_environment import make_environment

HERE = Path(__file__).parent
ROOT = HERE.parent


def python(*arguments, cache, **environment):
    """Run Python with an empty cache of kernels; return what it printed."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | environment
    done = subprocess.run([sys.executable, *map(str, arguments)], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_other_peoples_code_gives_the_same_after_feint(tmp_path):
    """Results and flags of instructions are the same, for all pieces of tests/neighbours.py."""
    alone = json.loads(python(HERE / "neighbours.py", cache=tmp_path / "alone"))
    beside = json.loads(python(HERE / "neighbours.py", "feint", cache=tmp_path / "beside"))
    assert beside == alone
    assert alone["least_with_fastmath_and_without"][1][0] != alone["least_with_fastmath_and_without"][1][1]


SNAPSHOTS = """
import gc, json, sys, types
import numba, numba.core.event as events
from numba import njit
from numba.extending import overload
numba.njit(lambda x: x + 1)(1)

def functions():
    "Every function of Numba's, by where it stands: of modules and of their classes."
    found = {}
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "numba" and module is not None:
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType):
                    found[f"{name}.{key}"] = value
                elif isinstance(value, type) and value.__module__.startswith("numba"):
                    found[f"{name}.{key}"] = value
                    for inner, method in list(vars(value).items()):
                        if isinstance(method, (types.FunctionType, staticmethod, classmethod, property)):
                            found[f"{name}.{key}.{inner}"] = method
    return found

def state():
    listeners = {type(one).__module__ for some in events._registered.values() for one in some}
    return functions(), gc.isenabled(), gc.get_threshold(), listeners - {"numba.core.event"}

def changed(after):
    "What differs, and what was added to a class that was there before."
    classes = {k for k, found in before[0].items() if isinstance(found, type)}
    return sorted(
        {k for k in before[0] if k in after[0] and before[0][k] is not after[0][k]}
        | {k for k in after[0] if k not in before[0] and k.rpartition(".")[0] in classes}
        | {f"{b} became {a}" for b, a in zip(before[1:], after[1:]) if a != b}
    )

before = state()
import feint
from feint.kernels import kernel
report = {}

def probe(x):
    raise NotImplementedError

@overload(probe)
def _probe(x):
    report["during"] = changed(state())
    if report.get("fail"):
        raise ZeroDivisionError
    return lambda x: x

feint.best_arm_probabilities([0.0, 1.0], [1.0, 1.0])
report["after feint's own"] = changed(state())
assert kernel(lambda x: probe(x) + 1)(1) == 2
report["after"] = changed(state())
report["fail"] = True
try:
    kernel(lambda x: probe(x) + 2)(1.5)
except Exception as error:
    report["fail"] = type(error).__name__
report["after an exception"] = changed(state())
print(json.dumps(report))
"""


def test_numbas_methods_are_its_own_but_while_a_kernel_compiles(tmp_path):
    report = json.loads(python("-c", SNAPSHOTS, cache=tmp_path))
    assert report["after feint's own"] == report["after"] == report["after an exception"] == []
    assert report["fail"] == "ZeroDivisionError"
    assert report["during"]
    assert all(name.endswith("Function.get_call_type") for name in report["during"])


NUMBERS = """
import sys, numba
pretended = numba.__version__ != sys.argv[1]
numba.__version__ = sys.argv[1]
import feint
from feint import Bandit, Bernoulli, simulate
print([x.hex() for x in feint.best_arm_probabilities([0.0, 1.0, 0.3], [1.0, 0.5, 2.0]).tolist()])
for family in (None, Bernoulli()):
    bandit = Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.1], family=family)
    runs = [simulate(bandit, epsilon=0.1, horizon=3000, replications=3, method=m) for m in ("lazy", "eager")]
    assert runs[0].equals(runs[1]), "lazy differs from eager"
    print(runs[0].pulls.values.tolist(), [x.hex() for x in runs[0].log_error.values.ravel().tolist()])
assert ("feint.numerics._compiling" in sys.modules) != pretended, "the other way of compiling was meant"
"""


def test_this_numba_is_known():
    assert ".".join(numba.__version__.split(".")[:2]) in KNOWN_NUMBA


def test_the_matrix_runs_every_numba_that_is_known():
    pins = "".join(path.read_text() for path in (ROOT / "requirements" / "matrix").glob("*.txt"))
    pinned = {line.split("==")[1] for line in pins.splitlines() if line.startswith("numba==")}
    assert {".".join(version.split(".")[:2]) for version in pinned} == set(KNOWN_NUMBA)


@pytest.mark.slow
def test_a_numba_that_is_not_known_gives_the_same_bits(tmp_path):
    """Every bit is the same, not only 1e-13, since every operation rounds as it is written."""
    known = python("-c", NUMBERS, numba.__version__, cache=tmp_path / "known")
    assert python("-c", NUMBERS, "0.99.0", cache=tmp_path / "unknown") == known


@pytest.mark.slow
def test_libraries_of_others_work_after_a_simulation(tmp_path):
    """stumpy, pynndescent and numba-stats, in an environment of their own with feint's wheel."""
    programs, environment = make_environment(tmp_path, "stumpy", "pynndescent", "numba-stats")
    done = subprocess.run(
        [programs / "python", "-c", OTHERS], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "all three\n"


OTHERS = """
import numpy as np
import feint

runs = feint.simulate(feint.Bandit([0.6, 0.3], [0.2, 0.5]), epsilon=0.1, horizon=200, replications=2)
assert runs.pulls.isel(time=-1).sum() == 400
import stumpy
from numba_stats import norm
from pynndescent import NNDescent
from scipy import stats

rng = np.random.default_rng(0)
series = rng.normal(size=300)
series[200:230] = series[50:80]
profile = stumpy.stump(series, m=30)
assert int(profile[:, 0].argmin()) in (50, 200)
x = np.linspace(-2, 2, 9)
np.testing.assert_allclose(norm.pdf(x, 0.0, 1.0), stats.norm.pdf(x), rtol=1e-12)
points = rng.normal(size=(400, 5))
near, _ = NNDescent(points, n_neighbors=5, random_state=0).neighbor_graph
exact = np.argsort(((points[:, None] - points[None]) ** 2).sum(-1), axis=1)[:, :5]
assert np.mean([len(set(a) & set(b)) / 5 for a, b in zip(near, exact)]) > 0.95
print("all three")
"""
