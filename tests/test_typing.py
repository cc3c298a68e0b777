"""Type checkers accept users' right code, and report each mistake on its line."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import feint

SOURCES = Path(feint.__file__).parents[1]
# A user's script with every verb.
CLEAN = """
import math
from pathlib import Path

import numpy as np

import feint
from feint.explorers.base import PlainView


class Rarest:
    def choose(self, view: PlainView, uniforms: tuple[float, float, float]) -> int:
        return int(view.pulls.argmin())


class Bursts:
    def at(self, t: int) -> float:
        return 0.3 if t % 100 < 10 else 0.001


class Even:
    def probabilities(self) -> list[float]:
        return [0.25, 0.25, 0.25, 0.25]

    def pull(self) -> int:
        return 3

    def update(self, arm: int, reward: float) -> None:
        pass


bandit = feint.Bandit([0.6, 0.3, 0.0, 0.2], [0.2, 0.5, 0.1, 0.0], family=feint.Gaussian(1.0))
checks: list[feint.PolicyReport] = [feint.check_policy(policy, bandit, steps=20) for policy in (Even(), Even)]
print(checks[0].rejected, checks[1].to_json()["steps"])
own = feint.simulate(bandit, Rarest(), epsilon=Bursts(), horizon=100, replications=2, method="eager")
runs = feint.simulate(bandit, feint.TopTwo(), reference=feint.Softmax(0.5), epsilon=math.inf, horizon=100, observe=True)
print(own.sizes["time"], runs.pulls.mean("replication").values)
agent = feint.Agent(4, feint.Earn(), epsilon=feint.PowerLaw(1.0, 0.5), family=(feint.Gaussian(2.0), feint.Gaussian()))
agent.update(agent.pull(), 1.0, 0.3)
agent.save(Path("agent.json"))
print(feint.Agent.load("agent.json").time, agent.probabilities().sum())
observer = feint.Observer(4, feint.ThompsonSampling(prior=(0.0, 1.0)))
print(observer.update(0, 1.0) > 3.0, observer.p_value)
Path("log.csv").write_text("arm,reward\\n" + "0,1\\n1,0\\n" * 9)
planned = feint.plan(bandit, 0.1, 0.001, explorer=feint.FixedBoosting([0.0, 0.3, 0.3, 0.4]))
print(planned.time, feint.plan_epsilon(bandit, 1e4, 0.01), feint.plan_total(bandit, 10_000, 0.01))
print(feint.plan_unseen(bandit, 0.5, 0.05, 1000).budget)
report: feint.AuditReport = feint.audit(np.arange(10) % 2, np.ones(10), n_arms=2, reference=feint.Split([0.5, 0.5]))
print(report.verdict, feint.audit_log("log.csv", mode="rewards", family=feint.Bernoulli()).to_json()["alpha"])
sweep = feint.Sweep({"a": bandit}, [feint.TopTwo(), Rarest()], [0.1, feint.TotalBudget(3.0, 9)], horizon=9)
print(sweep.run("out.zarr").sizes["time"], feint.open_sweep("out.zarr").log_error)
print(feint.best_arm_probabilities([0.0, 1.0], [1.0, 1.0]).max(), feint.boost_probability(1e-6, 0.1))
best = feint.optimal_boosting(bandit)
print(best.gamma + feint.gamma(bandit, best.weights), feint.predicted_pulls(bandit, best.weights, 0.1, [100], "first"))
"""
# A user's mistakes, each with the kind of error that mypy calls it.
MISTAKES = """
import feint

bandit = feint.Bandit([0.6, 0.3], [0.2, 0.5])
print(feint.nothing)  # attr-defined
feint.simulate(bandit, epsilon="a", horizon=10)  # arg-type
feint.Agent(2, epsilon="0.1")  # arg-type
feint.plan(bandit, "0.1", 0.01)  # arg-type
feint.boost_probability(0.1, "a")  # arg-type
feint.tilt([0.5, 0.5], [0.0, 1.0], epsilon="a")  # arg-type
feint.simulate(bandit, epsilon=0.1, horizon=10, replication=3)  # call-arg
feint.audit([0, 1], n_arm=2)  # call-arg
feint.Agent.load("agent.json", explorr=feint.TopTwo())  # call-arg
feint.simulate(bandit, feint.TopTwo, epsilon=0.1, horizon=10)  # arg-type
feint.simulate(bandit, feint.ThompsonSampling(), epsilon=0.1, horizon=10)  # arg-type
feint.simulate(bandit, epsilon=0.1, horizon=10, method="fast")  # arg-type
feint.audit_log("log.csv", mode="reward")  # arg-type
feint.audit_log(3)  # arg-type
feint.check_policy(3, bandit, steps=10)  # arg-type
feint.check_policy(feint.TopTwo(), bandit, steps=10)  # arg-type
feint.audit_log("log.csv", skip_bat=True)  # call-arg
"""
EXPECTED = {n: line.split("  # ")[1] for n, line in enumerate(MISTAKES.splitlines(), 1) if "  # " in line}


def run_mypy(folder, *files):
    """Return [(file, line, code of the error)]; the package's own lines are not looked at, as if it were installed."""
    command = ["--strict", "--follow-imports=silent", "--config-file=", "--show-error-codes", "--no-pretty"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *command, "--cache-dir", folder, *files],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(SOURCES)},
    )
    assert done.returncode in (0, 1), done.stderr
    found = [line for line in done.stdout.splitlines() if ": error: " in line]
    return [(Path(line.split(":")[0]).name, int(line.split(":")[1]), line.rsplit("[", 1)[1][:-1]) for line in found]


def run_pyright(folder, *files):
    """Return [(file, line)] of the errors in pyright's strict mode."""
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCES)], "include": [str(file) for file in files]}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    done = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--project", folder, "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True,
        text=True,
    )
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    assert found["summary"]["filesAnalyzed"] == len(files)
    return [
        (Path(error["file"]).name, error["range"]["start"]["line"] + 1)
        for error in found["generalDiagnostics"]
        if error["severity"] == "error"
    ]


@pytest.fixture
def files(tmp_path):
    """Write the two scripts, and one that names everything the package offers."""
    every_name = "import feint\n" + "".join(f"print(feint.{name})\n" for name in feint.__all__)
    scripts = {"clean.py": CLEAN, "mistakes.py": MISTAKES, "names.py": every_name}
    for name, text in scripts.items():
        (tmp_path / name).write_text(text)
    return [tmp_path / name for name in scripts]


@pytest.mark.slow
def test_the_clean_script_runs(files, tmp_path):
    done = subprocess.run([sys.executable, files[0]], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_mypy_takes_what_is_right_and_names_what_is_wrong(files, tmp_path):
    assert run_mypy(tmp_path, *files) == [("mistakes.py", line, code) for line, code in EXPECTED.items()]


def test_pyright_takes_what_is_right_and_names_what_is_wrong(files, tmp_path):
    assert sorted(set(run_pyright(tmp_path, *files))) == [("mistakes.py", line) for line in EXPECTED]


def test_signatures_are_readable():
    """`help(feint.audit)` shows short names: NumPy's ArrayLike alone would be written out over three lines."""
    for name in feint.__all__:
        value = getattr(feint, name)
        for shown in [value, *vars(value).values()] if isinstance(value, type) else [value]:
            if callable(shown) and not isinstance(shown, str):
                signature = inspect.signature(shown)
                assert "numpy._typing" not in str(signature), name
                for parameter in signature.parameters.values():  # `**options` only with types
                    named = str(parameter.annotation).startswith("Unpack[")
                    assert parameter.kind is not inspect.Parameter.VAR_KEYWORD or named, name
