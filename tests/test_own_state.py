"""If a user's own part keeps state, every replication, cell, bandit, agent, observer and audit has its copy."""

import threading
from typing import NamedTuple

import numpy as np
import pytest

import feint
from cases import PAPER
from feint.agent.public_log import RewardStream
from feint.kernels import inlined, parts
from feint.references.recomputation import Recomputation
from feint.support.own_parts import OwnPartError
from sweep_cases import contents

PAIR = feint.Bandit([0.6, 0.3], [0.2, 0.5])
SAME = ("pulls", "boosts", "log_error")


class Counts:
    """An explorer that goes round, by a counter of its own."""

    def __init__(self):
        self.calls = 0

    def choose(self, view, uniforms):
        self.calls += 1
        return (self.calls // 3) % view.pulls.size


class Caches:
    """An explorer that solves for w* once, for the bandit that it meets first."""

    w = None

    def choose(self, view, uniforms):
        if self.w is None:
            self.w = np.full(view.pulls.size, 1 / view.pulls.size)
        return int(np.searchsorted(np.cumsum(self.w), uniforms[2] * self.w.sum()))


class Starts:
    """The same explorer with `start`, which has no state before it."""

    def start(self, n_arms):
        self.order = list(range(n_arms))

    def choose(self, view, uniforms):
        self.order.append(self.order.pop(0))
        return self.order[0]


class Slides:
    """A reference whose temperature falls with every answer."""

    def __init__(self):
        self.asked = 0

    def log_probabilities(self, view):
        self.asked += 1
        scores = view.public_means * self.asked**0.2
        return scores - np.logaddexp.reduce(scores)


class Saves:
    """A budget that spends what it has saved, every seventh time that it is asked."""

    def __init__(self):
        self.saved = 0.0

    def at(self, t):
        self.saved += 0.01
        spent, self.saved = (self.saved, 0.0) if t % 7 == 0 else (0.0, self.saved)
        return spent


@inlined
def _choose(settings, view, bounds, uniforms):
    settings.calls[0] += 1
    return (settings.calls[0] // 3) % view.pulls.size


@parts(uses_posterior=False, choose=_choose)
class CountsKernel(NamedTuple):
    calls: np.ndarray


class CountsCompiled:
    """`Counts`, with a kernel that counts in its settings."""

    def kernel(self, n_arms):
        return CountsKernel(np.zeros(1, dtype=np.int64))


def runs(explorer=feint.TopTwo(), **changes):  # noqa: B008 - frozen
    settings = {"bandit": PAPER, "epsilon": 0.1, "horizon": 150, "replications": 3, "seed": 2, **changes}
    return feint.simulate(explorer=explorer, **settings)


def same(first, second):
    return all((first[name] == second[name]).all() for name in SAME)


STATEFUL = {
    "counter": {"explorer": Counts()},
    "cache": {"explorer": Caches()},
    "start": {"explorer": Starts()},
    "reference": {"reference": Slides()},
    "clipped": {"reference": feint.references.Clipped(Slides(), 0.01)},
    "budget": {"epsilon": Saves()},
    "all": {"explorer": Counts(), "reference": Slides(), "epsilon": Saves()},
}


@pytest.mark.parametrize("parts", STATEFUL.values(), ids=STATEFUL)
def test_a_shard_is_part_of_the_whole_with_any_number_of_threads(parts, monkeypatch):
    found = {}
    for threads in ("1", "2"):
        monkeypatch.setenv("FEINT_THREADS", threads)
        found[threads] = runs(**parts)
        assert same(runs(**parts, replications=range(1, 3)), found[threads].sel(replication=[1, 2]))
    assert same(found["1"], found["2"])


@pytest.mark.parametrize("method", ["eager", "lazy"])
def test_state_inside_a_kernel_too(method, monkeypatch):
    plain = runs(Counts())
    for threads in ("1", "2"):
        monkeypatch.setenv("FEINT_THREADS", threads)
        assert same(runs(CountsCompiled(), method="eager"), plain)
        shards = [runs(CountsCompiled(), method=method, replications=range(n, n + 1)) for n in range(3)]
        whole = runs(CountsCompiled(), method=method)
        assert all(same(shard, whole.sel(replication=[n])) for n, shard in enumerate(shards))


def test_what_was_handed_in_is_never_run():
    explorer, reference, budget = Counts(), Slides(), Saves()
    runs(explorer, reference=reference, epsilon=budget)
    feint.Agent(2, explorer, reference, epsilon=budget).update(0, 0.0, 0.0)
    assert (explorer.calls, reference.asked, budget.saved) == (0, 0, 0.0)


def test_a_cache_of_three_arms_never_reaches_four():
    explorer = Caches()
    three = feint.Bandit([0.6, 0.3, 0.0], [0.2, 0.5, 0.1])
    runs(explorer, bandit=three)
    assert same(runs(explorer), runs(Caches()))
    assert (runs(explorer).boosts.isel(time=-1) > 0).all()


def test_a_long_run_in_pieces_is_a_run_in_one(monkeypatch):
    whole = runs(Counts(), epsilon=Saves(), horizon=500)
    monkeypatch.setattr(feint.simulation.engine.replications, "_ARM_STEPS_PER_PIECE", 1)
    monkeypatch.setattr(feint.budgets.base, "_PIECES_KEPT", 2)
    assert same(runs(Counts(), epsilon=Saves(), horizon=500), whole)


def test_cells_of_a_sweep_have_copies(tmp_path):
    def sweep():
        settings = {"horizon": 60, "replications": 4, "checkpoints": [30, 60]}
        return feint.Sweep({"paper": PAPER, "pair": PAIR}, [Counts(), Caches()], [Saves()], [Slides()], **settings)

    whole = sweep().run(tmp_path / "whole.zarr").load()
    for name, bandit in (("paper", PAPER), ("pair", PAIR)):
        for explorer in (Counts(), Caches()):
            alone = runs(
                explorer, bandit=bandit, reference=Slides(), epsilon=Saves(), horizon=60, checkpoints=[30, 60], seed=0
            )
            cell = whole.sel(bandit=name, explorer=f"{type(explorer).__name__}()").isel(reference=0, epsilon=0)
            found = cell.pulls.values[:3, :, : bandit.n_arms]
            np.testing.assert_array_equal(found, alone.pulls.values)
    again = sweep()
    again.run(tmp_path / "again.zarr")
    again.run(tmp_path / "more.zarr")  # the objects have served once
    assert contents(tmp_path / "again.zarr") == contents(tmp_path / "whole.zarr") == contents(tmp_path / "more.zarr")


def test_agents_and_observers_have_copies():
    explorer, reference, budget = Counts(), Slides(), Saves()
    expected = runs(explorer, bandit=PAIR, reference=reference, epsilon=budget, horizon=40, replications=1)
    observers = feint.Observer(2, reference), feint.Observer(2, reference)
    for _ in range(2):
        agent = feint.Agent(2, explorer, reference, epsilon=budget, seed=2)
        stream = RewardStream(PAIR, 2, 0)
        for t in range(40):
            arm = agent.pull()
            public, private = stream.rewards(t, arm)
            if t >= 2:
                np.testing.assert_array_equal(agent.reference_probabilities(), observers[0].reference_probabilities())
            agent.update(arm, public, private)
            observers[0].update(arm, public)
            observers[1].update(arm, public)  # asked once a pull, and says the same
        np.testing.assert_array_equal(agent.pulls, expected.pulls.values[0, -1])
        np.testing.assert_array_equal(agent.boosts, expected.boosts.values[0, -1])
        assert observers[0].log_e_value == observers[1].log_e_value
        observers = feint.Observer(2, reference), feint.Observer(2, reference)


def test_audits_and_their_groups_have_copies():
    rng = np.random.default_rng(3)
    arms, rewards = rng.integers(0, 2, 60), rng.normal(size=60)
    reference = Slides()
    first, again = (feint.audit(arms, rewards, n_arms=2, reference=reference) for _ in range(2))
    assert first.log_e_value == again.log_e_value
    one, two = (Recomputation(reference, feint.Gaussian(), 2) for _ in range(2))
    alone, _ = one.rows(np.zeros(60, dtype=np.int64), arms, rewards)
    both, tested = two.rows(np.tile([0, 1], 60), np.repeat(arms, 2), np.repeat(rewards, 2))
    assert tested.sum() == 2 * len(alone)
    np.testing.assert_array_equal(both[::2], alone)
    np.testing.assert_array_equal(both[1::2], alone)
    assert reference.asked == 0


class Locked:
    """An explorer that cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()

    def choose(self, view, uniforms):
        return 0

    def log_probabilities(self, view):
        return np.log([0.5, 0.5])


def test_what_cannot_be_copied_is_named():
    for use in (
        lambda: runs(Locked()),
        lambda: feint.Agent(2, Locked(), epsilon=0.1),
        lambda: feint.Observer(2, Locked()),
        lambda: feint.audit([0, 1], [0.0, 1.0], n_arms=2, reference=Locked()),
    ):
        with pytest.raises(
            OwnPartError, match=r"Locked cannot be copied \(TypeError: .*\), .* create .* in start\(n_arms\)"
        ):
            use()
