"""What a part of a user's own raises is reported with class, method, step, file and line; a bug of ours is not."""

import math

import numpy as np
import pytest

import feint
from cases import PAPER
from feint.auditing.readers.base import naming
from feint.support.errors import blaming, is_users
from feint.support.own_parts import OwnPartError
from shell import typed

HERE = r"\(test_own_failures.py, line \d+\)"


class Fails:
    """A part that divides by zero at a step, as explorer, reference or budget."""

    def __init__(self, step=17):
        self.step = step

    def choose(self, view, uniforms):
        return int(1 / (view.time + 1 != self.step)) - 1

    def log_probabilities(self, view):
        return np.full(view.pulls.size, -math.log(view.pulls.size)) + 0 / int(view.time + 1 != self.step)

    def at(self, t):
        return 0.1 / (t != self.step)


class Asks:
    """An explorer that fails because of the reference that it asks for."""

    def choose(self, view, uniforms):
        return view.reference_probabilities.argmax()


class Tilts:
    def values(self, view, uniforms):
        return view.no_such_thing


class Unready:
    def start(self, n_arms):
        raise RuntimeError("not today")

    def choose(self, view, uniforms):
        return 0


class OneArgument:
    def choose(self, view):
        return 0


def run(explorer=feint.TopTwo(), **changes):  # noqa: B008 - frozen
    return feint.simulate(PAPER, explorer, **{"epsilon": 0.1, "horizon": 30, "replications": 2, **changes})


def live(agent):
    for _ in range(30):
        agent.update(agent.pull(), 0.0, 0.0)


def observe(observer):
    for t in range(30):
        observer.update(t % 2, 0.0)


DIVIDED = rf"failed at step 17 {HERE}: ZeroDivisionError: .*division by zero"


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda: run(Fails()), "Fails.choose " + DIVIDED),
        (lambda: run(reference=Fails()), "Fails.log_probabilities " + DIVIDED),
        (lambda: run(epsilon=Fails()), "Fails.at " + DIVIDED),
        (lambda: run(Asks(), reference=Fails()), "Fails.log_probabilities " + DIVIDED),
        (lambda: run(reference=feint.references.Clipped(Fails(), 0.1)), "Fails.log_probabilities " + DIVIDED),
        (lambda: live(feint.Agent(2, Fails(), epsilon=0.1)), "Fails.choose " + DIVIDED),
        (lambda: live(feint.Agent(2, epsilon=Fails())), "Fails.at " + DIVIDED),
        (lambda: observe(feint.Observer(2, Fails())), "Fails.log_probabilities " + DIVIDED),
        (
            lambda: feint.audit([0, 1] * 15, [0.0] * 30, n_arms=2, reference=Fails()),
            "Fails.log_probabilities " + DIVIDED,
        ),
        (lambda: feint.plan(PAPER, Fails(1), 0.1), rf"Fails.at failed at step 1 {HERE}: ZeroDivisionError"),
        (lambda: run(Tilts()), rf"Tilts.values failed at step 5 {HERE}: AttributeError"),
        (lambda: run(Unready()), rf"Unready.start failed {HERE}: RuntimeError: not today"),
        (lambda: run(OneArgument()), rf"OneArgument.choose failed at step 5 {HERE}: TypeError"),
    ],
)
def test_failures_name_class_method_step_and_line(use, says):
    with pytest.raises(OwnPartError, match=f"^{says}") as raised:
        use()
    assert type(raised.value.__cause__).__name__ in str(raised.value)


def test_the_line_is_the_one_in_the_users_file():
    line = Fails.choose.__code__.co_firstlineno + 1
    with pytest.raises(OwnPartError, match=rf"\(test_own_failures.py, line {line}\)"):
        run(Fails())


STUDY = """
explorers = ["mine.py:Mine"]
epsilons = [0.1]
horizon = 20
replications = 1
[bandits.paper]
public = [0.6, 0.3]
private = [0.2, 0.5]
"""


def test_a_study_records_it_and_the_command_says_it(tmp_path):
    (tmp_path / "study.toml").write_text(STUDY)
    (tmp_path / "mine.py").write_text("class Mine:\n    def choose(self, view, uniforms):\n        return 1 // 0\n")
    done = typed("sweep", "study.toml", "--out", "out.zarr", cwd=tmp_path)
    said = "Mine.choose failed at step 3 (mine.py, line 3): ZeroDivisionError"
    assert done.returncode == 2
    assert said in done.stderr
    assert said in feint.open_sweep(tmp_path / "out.zarr").failure.item()


def test_a_part_that_cannot_be_made_ends_the_command_with_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "study.toml").write_text(STUDY)
    source = "class Mine:\n    def kernel(self, n_arms):\n        return [][1]\n"
    (tmp_path / "mine.py").write_text(source)
    done = typed("sweep", "study.toml", "--out", "out.zarr", cwd=tmp_path)
    assert done.returncode == 2
    assert "Mine.kernel failed (mine.py, line 3): IndexError: list index out of range\n" in done.stderr
    assert done.stderr.count("\n") == 1
    monkeypatch.setenv("FEINT_DEBUG", "1")
    shown = typed("sweep", "study.toml", "--out", "out.zarr", cwd=tmp_path).stderr
    assert "Traceback" in shown
    assert "return [][1]" in shown  # the cause


@pytest.mark.parametrize("raised", ["KeyError('boo')", "SystemExit(1)", "TypeError('boo')", "ValueError('boo')"])
def test_what_a_constructor_raises_is_the_users(raised, tmp_path):
    (tmp_path / "mine.py").write_text(f"class Mine:\n    def __init__(self):\n        raise {raised}\n")
    means = ["--public", "0.6,0.3", "--private", "0.2,0.5"]
    done = typed("run", *means, "--explorer", "mine.py:Mine", cwd=tmp_path)
    assert done.returncode == 2
    assert f"Mine(…) failed (mine.py, line 3): {raised.partition('(')[0]}: " in done.stderr


def test_a_file_that_ends_the_program_is_named(tmp_path):
    (tmp_path / "mine.py").write_text("raise SystemExit(1)\n")
    means = ["--public", "0.6,0.3", "--private", "0.2,0.5"]
    done = typed("run", *means, "--explorer", "mine.py:Mine", cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "mine.py cannot be run: SystemExit: 1" in done.stderr


def _caught(function):
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - whichever it is
        function()
    return raised.value


def test_mistakes_of_ours_are_told_from_the_users():
    assert is_users(_caught(lambda: feint.Bandit([0.1], [0.2])))
    assert is_users(_caught(lambda: run(Fails())))
    assert is_users(OSError(28, "No space left on device"))
    assert not is_users(_caught(lambda: np.zeros(2) + np.zeros(3)))
    assert not is_users(_caught(lambda: int("seven")))
    assert not is_users(ValueError("never raised"))
    assert not is_users(KeyError("x"))


def test_a_bug_is_neither_the_users_nor_the_logs(monkeypatch):
    monkeypatch.setattr("feint.bandit._means", lambda *given: np.zeros(2) + np.zeros(3))
    done = typed("run", "--public", "0.6,0.3", "--private", "0.2,0.5", "--epsilon", "0.1", "--horizon", "10")
    assert done.returncode == 3
    assert done.stderr.startswith("feint: internal error, ValueError: operands could not be broadcast")
    assert done.stderr.endswith("; please report it (FEINT_DEBUG=1 shows the traceback)\n")


@pytest.mark.parametrize("context", [lambda: naming("log.csv"), lambda: blaming("log.csv: ")])
def test_what_is_read_is_blamed_for_what_is_wrong_with_it_alone(context):
    with pytest.raises(ValueError, match=r"^operands"), context():
        np.zeros(2) + np.zeros(3)
    with pytest.raises(ValueError, match=r"^log.csv: The list of public means"), context():
        feint.Bandit([0.1], [0.2])


def test_wrong_input_still_ends_with_2():
    done = typed("run", "--public", "0.6", "--private", "0.2", "--epsilon", "0.1", "--horizon", "10")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
