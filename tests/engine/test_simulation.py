"""Test what `simulate` returns, how it stops, how it is interrupted, and what it says about bad input."""

import json
import math
import os
import signal
import threading
import tracemalloc
from itertools import pairwise
from types import SimpleNamespace

import mpmath as mp
import numpy as np
import pytest

import feint
from cases import HANGS, PAPER
from feint.budgets import as_budget
from feint.registry import config_of, from_config
from feint.simulation.engine import replications


def test_dataset():
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=500, replications=7, seed=1)
    assert runs.pulls.dims == runs.boosts.dims == ("replication", "time", "arm")
    assert runs.log_error.dims == runs.recommendation.dims == ("replication", "time")
    assert dict(runs.sizes) == {"replication": 7, "time": runs.time.size, "arm": 4}
    assert "stopping_time" not in runs
    assert (runs.pulls.sum("arm") == runs.time).all()
    assert (runs.boosts.sum("arm") == runs.time - 4).all()
    assert (runs.boosts.isel(time=0) == 0).all()
    assert (runs.pulls.isel(time=0) == 1).all()
    assert runs.time[0] == 4
    assert runs.time[-1] == 500
    assert (runs.pulls.diff("time") >= 0).all()
    assert set(runs.data_vars) < set(runs.to_dataframe().columns)


def test_attributes_are_enough_to_run_it_again(tmp_path):
    first = feint.simulate(
        PAPER,
        feint.RoundRobin([1, 2]),
        epsilon=feint.PowerLaw(1.0, 0.5),
        horizon=300,
        replications=3,
        seed=9,
        delta=0.1,
    )
    first.to_zarr(tmp_path / "runs.zarr", consolidated=False)
    config, bandit = json.loads(first.attrs["config"]), json.loads(first.attrs["bandit"])
    explorer = {"round-robin": feint.RoundRobin}[config["explorer"].pop("kind")](**config["explorer"])
    second = feint.simulate(
        feint.Bandit(
            bandit["public"], bandit["private"], family=[from_config(side, "family") for side in bandit["families"]]
        ),
        explorer,
        epsilon=from_config(config["epsilon"], "budget"),
        replications=range(*config["replications"]),
        **{key: config[key] for key in ("horizon", "seed", "delta", "method")},
    )
    assert first.identical(second)
    assert json.loads(first.attrs["versions"])["feint"] == feint.__version__


def test_log_error_is_that_of_the_true_best_arm():
    """At the first checkpoint every arm has one pull; the posterior is recomputed from the stream's normals."""
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=4, replications=5, seed=2)
    for replication in range(5):
        noise = feint.numerics.RandomStream(2, replication).normals(range(4))[:, 1]
        p = feint.best_arm_probabilities(np.array(PAPER.private) + noise, np.ones(4))
        assert float(runs.log_error[replication, 0]) == pytest.approx(math.log(p[[0, 2, 3]].sum()), rel=1e-12)
        assert int(runs.recommendation[replication, 0]) == int(p.argmax())


@pytest.mark.parametrize("delta", [0.3, 0.05, 1e-3])
def test_stops_at_the_first_time_that_is_sure_enough(delta):
    """Up to the stopping time the path is that of a run without stopping, which is recorded at every step."""
    free = feint.simulate(PAPER, epsilon=1.0, horizon=3000, replications=6, checkpoints=range(4, 3001))
    stopped = feint.simulate(PAPER, epsilon=1.0, horizon=3000, replications=6, delta=delta)
    for r in range(6):
        error, best = free.log_error[r].values, free.recommendation[r].values
        reached = np.where((best == PAPER.best_private) & (error <= math.log(delta)))[0]
        wrong = np.where(best != PAPER.best_private)[0]
        stop = float(stopped.stopping_time[r])
        if reached.size and (not wrong.size or wrong[wrong < reached[0]].size == 0):
            assert stop == 4 + reached[0]
        if not math.isnan(stop):
            last = stopped.isel(replication=r, time=-1)
            assert (last.pulls == free.pulls.isel(replication=r).sel(time=int(stop))).all()
            assert float(last.pulls.sum()) == stop
            if int(last.recommendation) == PAPER.best_private:
                assert float(last.log_error) <= math.log(delta)


def test_tiny_delta():
    """δ = 1e-30 is far below 1 − (1 − δ) in float64."""
    runs = feint.simulate(PAPER, epsilon=math.inf, horizon=20_000, replications=4, delta=1e-30)
    final = runs.isel(time=-1)
    assert np.isfinite(runs.stopping_time).all()
    assert (final.log_error <= math.log(1e-30)).all()
    assert (final.log_error > math.log(1e-30) - 5).all()
    assert (final.pulls.sum("arm") == runs.stopping_time).all()


def test_more_budget_pulls_more_of_the_boosted_arm():
    pulls = [
        float(
            feint.simulate(PAPER, feint.RoundRobin([2]), epsilon=e, horizon=2000, replications=50)
            .pulls[:, -1, 2]
            .mean()
        )
        for e in (0.0, 1e-3, 1e-2, 0.1, 1.0)
    ]
    assert (np.diff(pulls) > 0).all()


def test_infinite_budget_pulls_what_it_boosts():
    runs = feint.simulate(PAPER, feint.RoundRobin([2, 3]), epsilon=math.inf, horizon=1004, replications=2)
    assert runs.pulls[:, -1].values.tolist() == [[1, 1, 501, 501]] * 2


def test_a_tie_for_the_best_public_arm_is_a_fair_instance():
    runs = feint.simulate(feint.Bandit([0.5, 0.5, 0.1], [0.0, 1.0, 0.5]), epsilon=0.1, horizon=2000, replications=20)
    final = runs.isel(time=-1)
    assert (final.recommendation == 1).mean() > 0.5


def test_memory_does_not_grow_with_the_horizon(monkeypatch):
    """Python's own count of allocations, arrays included: 300 times the horizon, the same peak within 64 KiB.

    On one thread: of two that have space of their own, the first may be done with short runs before the other begins.
    """
    monkeypatch.setenv("FEINT_THREADS", "1")
    peaks = []
    for horizon in (1_000, 300_000):
        times = np.unique(np.geomspace(4, horizon, 30).astype(int))
        tracemalloc.start()
        feint.simulate(PAPER, epsilon=0.1, horizon=horizon, replications=4, checkpoints=times)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] + 65_536


def test_an_interrupt_ends_every_thread_at_its_next_piece(monkeypatch):
    """Two threads that have just made a piece are held until the interrupt has been served; neither makes another."""
    threads_before = set(threading.enumerate())
    stops, made = [], []

    class Stop(threading.Event):
        def __init__(self):
            super().__init__()
            stops.append(self)

    def hold(steps):
        made.append(steps)
        assert len(made) <= 2
        if len(made) == 1:
            os.kill(os.getpid(), signal.SIGINT)
        assert stops[0].wait(HANGS)

    monkeypatch.setenv("FEINT_THREADS", "2")
    watched = SimpleNamespace(Event=Stop, Lock=threading.Lock, Thread=threading.Thread)
    monkeypatch.setattr(replications, "threading", watched)
    with pytest.raises(KeyboardInterrupt):
        feint.simulate(PAPER, epsilon=0.1, horizon=10**9, replications=8, progress=hold)
    assert 1 <= len(made) <= 2
    for thread in set(threading.enumerate()) - threads_before:  # one that has ended may be listed for a moment
        thread.join(HANGS)
        assert not thread.is_alive()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"horizon": 3}, "4 or more"),
        ({"horizon": 100.0}, "whole number"),
        ({"replications": 0}, "1 or more"),
        ({"seed": -1}, "whole number"),
        ({"epsilon": -1}, "0 or more"),
        ({"epsilon": math.nan}, "must be a number"),
        ({"epsilon": None}, "one of feint.budgets"),
        ({"delta": 0}, "between 0 and 1"),
        ({"delta": 1.0}, "between 0 and 1"),
        ({"method": "fast"}, "lazy, eager"),
        ({"checkpoints": [3, 50]}, "increasing whole numbers"),
        ({"checkpoints": [50, 50]}, "increasing whole numbers"),
        ({"checkpoints": [50, 101]}, "increasing whole numbers"),
        ({"checkpoints": []}, "increasing whole numbers"),
        ({"checkpoints": [[4], [5, 6]]}, "increasing whole numbers"),
        ({"checkpoints": np.array([40, 10, 50], dtype=np.uint64)}, "increasing whole numbers"),
        ({"horizon": 2**64}, "at most"),
        ({"replications": 10**15}, "do not fit into memory"),
        ({"observe": 1}, "True or False"),
        ({"bandit": "paper"}, "feint.Bandit"),
        ({"bandit": feint.Bandit([0, 1], [0, 1], sigma=1e-20)}, "Rescale"),
        ({"bandit": feint.Bandit([0, 1e308], [0, 1e308])}, "Rescale"),
        ({"epsilon": np.complex128(1)}, "one of feint.budgets"),
        ({"explorer": feint.TopTwo}, "with its parentheses"),
        ({"reference": "TS"}, "with its parentheses"),
        ({"explorer": feint.FixedBoosting([0.5, 0.5])}, "2 weights for 4 arms"),
    ],
)
def test_bad_input_is_explained(arguments, says):
    with pytest.raises(ValueError, match=says):
        feint.simulate(**{"bandit": PAPER, "epsilon": 0.1, "horizon": 100, "replications": 2, **arguments})


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([0.1], [0.2]), "at least two arms"),
        (([0.1, 0.2], [0.2, 0.1, 0.0]), "2 public and 3 private"),
        (([0.1, 0.2], [0.2, 0.2]), "tie for the best private"),
        (([0.1, math.nan], [0.2, 0.1]), "contains NaN"),
        (([0.1, 0.2], [math.inf, 0.1]), "finite"),
        (([0.1, 0.2], [0.2, 0.1], 0.0), "above 0"),
        (([0.1, 0.2], [0.2, 0.1], math.nan), "above 0"),
        (([0.1, 0.2], [0.2, 0.1], 10**400), "above 0"),
        (([0.1, 0.2], [0.2, 0.1], 1j), "above 0"),
        ((["a", "b"], [0.2, 0.1]), "real numbers"),
        (([[0.1, 0.2]], [0.2, 0.1]), "flat list"),
    ],
)
def test_bad_instances_are_explained(arguments, says):
    with pytest.raises(ValueError, match=says):
        feint.Bandit(*arguments)


def test_numpy_scalars_are_numbers():
    plain = feint.simulate(PAPER, epsilon=0.5, horizon=50, replications=2, delta=0.25)
    numpy = feint.simulate(
        PAPER, epsilon=np.float32(0.5), horizon=np.int32(50), replications=np.int64(2), delta=np.float32(0.25)
    )
    assert plain.identical(numpy)
    assert feint.PowerLaw(np.int64(1), np.float32(0.5)) == feint.PowerLaw(1.0, 0.5)


def test_power_law_sums_are_exact_for_long_horizons():
    """They are compared with Hurwitz's zeta function: Σ t^(−s) = ζ(s, 5) − ζ(s, T + 1)."""
    for exponent in (0.0, 0.3, 0.5, 1.0, 1.5, 3.0):
        with mp.workdps(30):
            if exponent == 1.0:
                exact = mp.digamma(10**9 + 1) - mp.digamma(5)
            else:
                exact = mp.zeta(exponent, 5) - mp.zeta(exponent, 10**9 + 1)
        assert feint.PowerLaw(2.0, exponent).sum_to(4, 10**9) == pytest.approx(2 * float(exact), rel=1e-13)
    assert as_budget(math.inf).sum_to(4, 4) == 0


def test_bandit_is_frozen_and_comparable():
    assert feint.Bandit([1, 0], [0, 1]) == feint.Bandit(np.array([1.0, 0.0]), (0, 1))
    with pytest.raises(AttributeError):
        PAPER.sigma = 2.0


@pytest.mark.parametrize("budget", [0.1, math.inf, 0.0, feint.PowerLaw(2.0, 0.7), feint.TotalBudget(5.0, 40)])
def test_budgets_sum_up_and_come_back_from_json(budget):
    budget = as_budget(budget)
    assert from_config(json.loads(json.dumps(config_of(budget, "budget"))), "budget") == budget
    steps = [budget.at(t) for t in range(5, 61)]
    assert all(a >= b for a, b in pairwise(steps))
    assert budget.sum_to(4, 60) == pytest.approx(math.fsum(steps) if math.isfinite(steps[0]) else math.inf)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: feint.PowerLaw(-1.0, 0.5), "scale .* got -1.0"),
        (lambda: feint.PowerLaw(1.0, -0.5), "exponent .* got -0.5"),
        (lambda: feint.PowerLaw(1.0, 0.5).at(0), "count from 1"),
        (lambda: feint.PowerLaw(1j, 0.5), "scale .* got 1j"),
        (lambda: feint.PowerLaw(math.inf, 0.5), "finite"),
        (lambda: feint.TotalBudget(-1.0, 10), "total .* got -1.0"),
        (lambda: feint.TotalBudget(10**400, 10), "total .* got inf"),
        (lambda: feint.TotalBudget(1.0, 0), "1 or more"),
        (lambda: feint.TotalBudget(1.0, 2.5), "whole number"),
    ],
)
def test_bad_budgets_are_explained(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_many_short_replications_are_run_in_blocks(monkeypatch):
    """A kernel runs thousands of short replications at once: a million of them must not make a million futures."""
    calls = []
    advance = replications.advance_lazily
    monkeypatch.setattr(replications, "advance_lazily", lambda *args: calls.append(args[3:5]) or advance(*args))
    bandit = feint.Bandit([1.0, 0.0], [0.0, 1.0])
    runs = feint.simulate(bandit, epsilon=0.1, horizon=3, replications=50_000, seed=8)
    assert len(calls) <= 8
    assert sorted(r for first, last in calls for r in range(first, last)) == list(range(50_000))
    few = feint.simulate(bandit, epsilon=0.1, horizon=3, replications=range(49_990, 50_000), seed=8)
    assert (runs.pulls[-10:] == few.pulls).all()
