"""Use everything that feint offers once, for `make test-matrix`: does it run with these versions?

Whether it is right is tested elsewhere, with one set of versions. Here every part is found by looking, so that a new
one cannot be forgotten.
"""

import re
import subprocess
import sys
import urllib.request
from dataclasses import is_dataclass
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest

import feint
from cases import HANGS, PAPER
from feint.agent.public_log import public_log, write_log
from feint.explorers import TopTwo
from sweep_cases import contents, small_sweep

HORIZON = 300
# Parts whose constructor needs arguments.
ARGUMENTS = {
    "Clipped": (feint.ThompsonSampling(), 0.05),
    "Constant": (0.1,),
    "ControlShare": (feint.ThompsonSampling(), 0, 0.2),
    "EpsilonGreedy": (0.1,),
    "FixedBoosting": ([0.0, 0.5, 0.3, 0.2],),
    "FixedTilting": ([0.0, 0.5, 0.3, 0.2],),
    "Holdout": (feint.ThompsonSampling(), 0, 0.2),
    "Linked": ([0.0] * 4, [-1.0] * 4, 0.3),
    "PowerLaw": (1.0, 0.5),
    "RisingBudget": (10.0, HORIZON),
    "RoundRobin": ([1, 2, 3],),
    "ScoredThompson": ([1.0] * 4, [0.0, 0.1, 0.0, 0.1]),
    "Softmax": (0.5,),
    "Sometimes": (0.2, 0.8),
    "Tempered": (feint.ThompsonSampling(), 0.5),
    "TotalBudget": (10.0, HORIZON),
}
FOR_AUDITS_ONLY = {"NormalInverseGamma", "LinearThompsonSampling", "LogisticThompsonSampling"}
NOT_FOR_AUDITS = {"ObservedUCB"}  # it does not draw its arms
BANDITS = {  # of references that are about two arms, or rewards 0 and 1
    "BiasedCoin": feint.Bandit([0.6, 0.3], [0.2, 0.5]),
    "PlayTheWinner": feint.Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.3], family=feint.Bernoulli()),
}


def parts_of(module):
    """Return the public dataclasses of a module, or of a folder's `__init__`, as parameters of a test."""
    found = [
        value
        for name, value in vars(import_module(module)).items()
        if isinstance(value, type) and is_dataclass(value) and not name.startswith("_")
    ]
    assert found, f"{module} offers nothing; look for its parts in another place"
    return [pytest.param(cls, id=cls.__name__) for cls in found]


def make(cls):
    return cls(*ARGUMENTS.get(cls.__name__, ()))


def assert_runs(bandit=PAPER, *settings, **named):
    runs = feint.simulate(bandit, *settings, horizon=HORIZON, replications=2, **{"epsilon": 0.1, **named})
    assert (runs.pulls.isel(time=-1).sum("arm") == HORIZON).all()
    assert np.isfinite(runs.log_error).all()


@pytest.fixture(scope="module")
def log():
    """Return a bent agent's public log of 200 rows."""
    return public_log(PAPER, TopTwo(), epsilon=1.0, horizon=200)


@pytest.mark.parametrize("family", parts_of("feint.families"))
def test_family(family):
    assert_runs(feint.Bandit([0.6, 0.3, 0.1, 0.2], [0.2, 0.5, 0.1, 0.3], family=make(family)))


# The eager method compiles in half the time, and these parts are the same to all methods.
@pytest.mark.parametrize("explorer", parts_of("feint.explorers"))
def test_explorer(explorer):
    assert_runs(PAPER, make(explorer), method="eager")


@pytest.mark.parametrize("budget", parts_of("feint.budgets"))
def test_budget(budget):
    assert_runs(epsilon=make(budget), method="eager")


@pytest.mark.parametrize("reference", parts_of("feint.references"))
def test_reference(reference, log):
    name, made = reference.__name__, make(reference)
    bandit = BANDITS.get(name, PAPER)
    if name not in NOT_FOR_AUDITS:
        contexts = {"contexts": np.ones((200, 2))} if getattr(made, "takes_contexts", False) else {}
        rewards = np.array(log["reward"])
        if name.startswith(("Logistic", "PlayTheWinner")):
            rewards = rewards > 0
        arms, claimed = np.array(log["arm"]) % bandit.n_arms, {"reference": made, "family": bandit.families[0]}
        assert feint.audit(arms, rewards, n_arms=bandit.n_arms, **claimed, **contexts).rows == 200
    if name not in FOR_AUDITS_ONLY:
        assert_runs(bandit, reference=made, method="eager")


@pytest.mark.parametrize("feedback", parts_of("feint.feedback"))
def test_feedback(feedback):
    assert_runs(feint.Bandit(PAPER.public, PAPER.private, feedback=make(feedback)), method="eager")


def test_event_method():
    assert_runs(method="event")


@pytest.mark.parametrize(
    "claim",
    [
        {"probabilities": np.full((200, 4), 0.25)},
        {"propensities": np.full(200, 0.25)},
        {"reference": feint.Split([0.25, 0.25, 0.25, 0.25])},
    ],
    ids=["probabilities", "propensities", "split"],
)
def test_audit_against_an_even_split(claim, log):
    """Most pulls are of arm 0: every mode rejects."""
    assert feint.audit(log["arm"], log["reward"], n_arms=4, **claim).rejected


@pytest.mark.parametrize("form", ["CSV", "Parquet", "pandas", "Arrow"])
def test_audit_of_a_log_by_its_rewards(form, log, tmp_path):
    table = pd.DataFrame(log)
    if form == "CSV":
        write_log(log, source := tmp_path / "log.csv")
    elif form == "Parquet":
        table.to_parquet(source := tmp_path / "log.parquet")
    else:
        source = table if form == "pandas" else pyarrow.Table.from_pandas(table)
    assert feint.audit_log(source, n_arms=4).rows == 200


def test_sweep_in_threads_and_on_a_local_cluster(tmp_path):
    here = small_sweep().run(tmp_path / "threads.zarr")
    there = small_sweep().run(tmp_path / "cluster.zarr", workers=2)
    assert here.load().identical(there.load())
    assert contents(tmp_path / "threads.zarr") == contents(tmp_path / "cluster.zarr")


def test_page_answers():
    command = [sys.executable, "-m", "feint", "app", "--no-show", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as server:
        said = ""
        while not (found := re.search(r"http://127\.0\.0\.1:\d+/", said)):
            said += (line := server.stderr.readline())
            assert line, said
        with urllib.request.urlopen(found[0]) as answer:
            assert answer.status == 200
            assert "feint" in answer.read().decode()
        server.terminate()
        said += server.communicate(timeout=HANGS)[1]
        assert server.returncode == 0, said
        assert "Traceback" not in said
