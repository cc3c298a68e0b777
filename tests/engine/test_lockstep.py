"""Explorers that choose for all replications at once: the same trajectories as with one choice per replication."""

import numpy as np
import pytest

import feint
from cases import PAPER, instance
from feint.feedback import Sometimes
from feint.goals import TopArms
from feint.references import PermutedBlocks
from feint.simulation.engine import replications
from feint.support.own_parts import OwnPartError
from feint.sweep import workload
from feint.sweep.store_layout import TOGETHER, block_size


class One:
    """An explorer that boosts by private and reference probabilities, and by the arm that it boosted before."""

    def start(self, n_arms):
        self.last = None

    def choose(self, view, uniforms):
        last = 0 if self.last is None else self.last
        score = view.private_probabilities - 0.3 * view.reference_probabilities + 0.01 * view.public_means
        score = score + view.private_means * uniforms[0] - 0.01 * view.boosts
        score[last] -= 0.1 * uniforms[2]
        self.last = int(score.argmax())
        return self.last


class Many(One):
    def choose_many(self, views, uniforms):
        rows = np.arange(len(uniforms))
        if self.last is None:
            self.last = np.zeros(len(uniforms), dtype=int)
        score = views.private_probabilities - 0.3 * views.reference_probabilities + 0.01 * views.public_means
        score = score + views.private_means * uniforms[:, :1] - 0.01 * views.boosts
        score[rows, self.last] -= 0.1 * uniforms[:, 2]
        self.last = score.argmax(1)
        return self.last


class Fails(One):
    def __init__(self, answer):
        self.answer = answer

    def choose_many(self, views, uniforms):
        return self.answer(views)


def run(explorer, bandit=PAPER, **changes):
    return feint.simulate(
        bandit, explorer, **{"epsilon": 0.1, "horizon": 300, "replications": 7, "delta": 0.005, "seed": 3, **changes}
    )


def same(first, second):
    assert set(first) == set(second)
    return all(np.array_equal(first[name], second[name], equal_nan=True) for name in first)


def test_trajectories_are_those_of_one_choice_at_a_time(monkeypatch):
    expected = run(One())
    assert 0 < np.isnan(expected.stopping_time).sum() < 7  # some replications stop, at different times
    for threads in ("1", "2"):
        monkeypatch.setenv("FEINT_THREADS", threads)
        assert same(run(Many()), expected)
    assert same(run(Many(), replications=range(2, 5)), expected.sel(replication=slice(2, 4)))
    monkeypatch.setattr(replications, "MOST_TOGETHER", 3)
    assert same(run(Many()), expected)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        {"observe": True},
        {"reference": PermutedBlocks(4)},  # remembers the order of the pulls
        {"bandit": feint.Bandit(PAPER.public, PAPER.private, feedback=Sometimes(0.5))},
        {"bandit": instance("clicks and revenue"), "epsilon": feint.PowerLaw(1.0, 0.5)},
        {"goal": TopArms(2), "delta": None},
    ],
    ids=str,
)
def test_so_they_are_with_every_kind_of_part(changes):
    assert same(run(Many(), **changes), run(One(), **changes))


def test_what_was_handed_in_is_not_run():
    explorer = Many()
    run(explorer)
    assert not hasattr(explorer, "last")


def test_an_explorer_beside_a_reference_in_plain_python_chooses_one_at_a_time():
    class Even:
        def log_probabilities(self, view):
            return np.full(4, -np.log(4))

    broken = Fails(lambda views: 1 / 0)
    assert same(run(broken, reference=Even(), horizon=20), run(One(), reference=Even(), horizon=20))


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (
            lambda views: np.full(7, 1 // (views.time != 16)),
            r"failed at step 17 \(test_lockstep.py, line \d+\): ZeroDivisionError",
        ),
        (
            lambda views: np.full(7, 4),
            "returned .* at step 5; it must be 7 whole numbers from 0 to 3, the arm to boost",
        ),
        (lambda views: np.full(6, 1), "returned"),
        (lambda views: np.full(7, 1.0), "returned"),
        (lambda views: 1, "returned"),
        (lambda views: [[1], [1, 2]], "returned"),
        (lambda views: views.pulls.fill(3), "failed at step 5 .* read-only"),
    ],
)
def test_failures_name_class_method_and_step(answer, says):
    with pytest.raises(OwnPartError, match=rf"^Fails\.choose_many {says}"):
        run(Fails(answer))


def study(*explorers):
    return feint.Sweep(bandits={"paper": PAPER}, explorers=explorers, epsilons=[0.1], horizon=100_000, replications=300)


def test_a_study_keeps_replications_together():
    assert block_size(study(Many())) == TOGETHER
    assert block_size(study(Many(), feint.TopTwo())) == TOGETHER
    assert block_size(study(Many(), One())) == block_size(study(One())) == 1


def test_its_time_is_measured_with_as_many_replications_as_run_together(monkeypatch):
    measured = []

    def timed(work):
        measured.append(len(work.options.replications))
        return 0.5

    monkeypatch.setattr(workload, "timed", timed)
    found = study(Many(), One())
    seconds = workload.measure(found, found.wanted.any(axis=3))
    assert set(measured) == {TOGETHER, 1}
    assert seconds[0, 0, 0] * TOGETHER == pytest.approx(seconds[0, 1, 0])
