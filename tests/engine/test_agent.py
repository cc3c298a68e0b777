"""The live agent pulls what the simulator pulls, continues from its states, and refuses wrong updates completely."""

import json
import math

import numpy as np
import pytest

import feint
from cases import PAPER, first_is_quick
from feint.evidence import BoostMixture
from feint.numerics import RandomStream
from feint.numerics.streams import OBSERVER, PRIVATE, PUBLIC

BANDIT = feint.Bandit(PAPER.public, PAPER.private, sigma=0.8)
EXPLORERS = [
    feint.TopTwo(),
    feint.TopTwoTransport(),
    feint.Tracking(),
    feint.RoundRobin([3, 1]),
    feint.FixedBoosting([0, 0.5, 0.25, 0.25]),
    feint.Earn(),
]


def rewards(stream, t, arm, reference):
    noise = stream.normals([t])[0]
    public = noise[OBSERVER if isinstance(reference, feint.ObservedUCB) else PUBLIC]
    return BANDIT.public[arm] + BANDIT.sigma * public, BANDIT.private[arm] + BANDIT.sigma * noise[PRIVATE]


@pytest.mark.parametrize("method", first_is_quick(["eager", "lazy"]))
@pytest.mark.parametrize("explorer", EXPLORERS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("epsilon", [0.1, feint.PowerLaw(1.0, 0.3), math.inf])
def test_pulls_are_the_simulators(explorer, epsilon, method):
    check_pulls(explorer, feint.ThompsonSampling(), epsilon, method)


@pytest.mark.parametrize("method", first_is_quick(["eager", "lazy"]))
@pytest.mark.parametrize("explorer", first_is_quick(EXPLORERS), ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("epsilon", [0.1, feint.PowerLaw(1.0, 0.3), math.inf])
def test_pulls_are_the_simulators_for_another_reference(explorer, epsilon, method):
    check_pulls(explorer, feint.ObservedUCB(), epsilon, method)


def check_pulls(explorer, reference, epsilon, method):
    horizon, replication = 250, 2
    runs = feint.simulate(
        BANDIT,
        explorer,
        reference=reference,
        epsilon=epsilon,
        horizon=horizon,
        replications=3,
        seed=11,
        checkpoints=range(4, horizon + 1),
        method=method,
    ).isel(replication=replication)
    stream = RandomStream(11, replication)
    agent = feint.Agent(4, explorer, reference, epsilon=epsilon, sigma=BANDIT.sigma, seed=11, replication=replication)
    for t in range(horizon):
        if t >= 4:
            assert (agent.pulls == runs.pulls.sel(time=t).values).all()
            assert (agent.boosts == runs.boosts.sel(time=t).values).all()
        arm = agent.pull()
        assert arm == agent.pull()
        agent.update(arm, *rewards(stream, t, arm, reference))
    assert agent.best_arm == int(runs.recommendation[-1])
    if agent.best_arm == BANDIT.best_private:
        assert agent.log_error == float(runs.log_error[-1])
        assert agent.confidence == pytest.approx(-math.expm1(float(runs.log_error[-1])))


@pytest.mark.parametrize("explorer", EXPLORERS, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("saved_at", [0, 2, 4, 5, 60])
def test_restored_agent_goes_on_identically(explorer, saved_at, tmp_path):
    reference = feint.ThompsonSampling()
    stream = RandomStream(0, 0)
    agent = feint.Agent(4, explorer, reference, epsilon=feint.TotalBudget(3.0, 80), sigma=BANDIT.sigma)
    for t in range(saved_at):
        arm = agent.pull()
        agent.update(arm, *rewards(stream, t, arm, reference))
    path = tmp_path / "agent.json"
    agent.save(path)
    with pytest.raises(FileExistsError, match="`force`"):
        agent.save(path)
    other = feint.Agent.load(path)
    assert json.loads(path.read_text()) == other.state()
    for t in range(saved_at, 100):
        assert (agent.probabilities() == other.probabilities()).all()
        arm = agent.pull()
        assert arm == other.pull()
        for each in (agent, other):
            each.update(arm, *rewards(stream, t, arm, reference))
    assert agent.state() == other.state()


def test_infinite_budget_survives_json():
    agent = feint.Agent(2, epsilon=math.inf)
    assert feint.Agent.from_state(json.loads(json.dumps(agent.state()))).state() == agent.state()


@pytest.mark.parametrize(
    ("arm", "public", "private", "says"),
    [
        (4, 0.0, 0.0, "from 0 to 3"),
        (-1, 0.0, 0.0, "from 0 to 3"),
        (1.5, 0.0, 0.0, "whole number"),
        (True, 0.0, 0.0, "whole number"),
        (0, math.nan, 0.0, "public reward .* got nan"),
        (0, 0.0, math.inf, "private reward .* got inf"),
        (0, "1", 0.0, "public reward .* got '1'"),
        (0, None, 0.0, "finite number"),
        (0, 1j, 0.0, "finite number"),
        (0, 10**400, 0.0, "finite number"),
        (0, 1e200, 0.0, "within 1e100 sigma"),
    ],
)
def test_refused_updates_change_nothing(arm, public, private, says):
    agent = feint.Agent(4, epsilon=0.1)
    for t in range(10):
        agent.update(agent.pull() if t >= 4 else t, float(t % 3), float(t % 2))
    before = agent.state()
    with pytest.raises(ValueError, match=says) as error:
        agent.update(arm, public, private)
    assert "Nothing was recorded" in str(error.value)
    assert agent.state() == before


def test_initial_round():
    agent = feint.Agent(3, epsilon=0.1)
    with pytest.raises(ValueError, match="initial round"):
        _ = agent.best_arm
    with pytest.raises(ValueError, match="arm 0 comes next"):
        agent.update(1, 0.0, 0.0)
    for arm in range(3):
        assert agent.pull() == arm
        assert agent.boosted_arm is None
        assert agent.probabilities().tolist() == np.eye(3)[arm].tolist()
        agent.update(arm, 0.0, 0.0)
    assert agent.boosts.sum() == 0
    assert agent.confidence == pytest.approx(1 / 3)
    assert agent.best_arm == 0  # a tie goes to the first


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (lambda s: s.pop("pulls"), "incomplete or damaged"),
        (lambda s: s.update(feint_agent=99), "version 2"),
        (lambda s: s.update(pulls=[1, 2]), "not the counts of 3 arms"),
        (lambda s: s.update(pulls=[1, -2, 3]), "damaged"),
        (lambda s: s.update(pulls=[2, 0, 0]), "cannot come from an agent"),
        (lambda s: s.update(pulls=[1.7, 1, 1]), "whole numbers"),
        (lambda s: s.update(pulls=["x", 1, 1]), "whole numbers"),
        (lambda s: s.update(pulls=[2**70, 1, 1]), "whole numbers"),
        (lambda s: s.update(boosts=[1, 0, 0]), "cannot come from an agent"),
        (lambda s: s.update(public_sums=["0", "1", "2"]), "damaged"),
        (lambda s: s.update(public_sums=[0.0, None, 1.0]), "damaged|do not fit"),
        (lambda s: s.update(explorer={"kind": "Nobody"}), "known are"),
        (lambda s: s.update(families=[{"kind": "Gaussian", "sigma": -1.0}] * 2), "above 0"),
        (lambda s: s.update(families=[{"kind": "Cauchy"}] * 2), "known are"),
        (lambda s: s.update(public_sums=[math.inf, 0.0, 0.0]), "finite numbers"),
    ],
)
def test_damaged_states_are_explained(damage, says, tmp_path):
    state = feint.Agent(3, epsilon=0.1).state()
    damage(state)
    with pytest.raises(ValueError, match=says):
        feint.Agent.from_state(state)
    path = tmp_path / "broken.json"
    path.write_text("{not json")
    with pytest.raises(ValueError, match="not a JSON file"):
        feint.Agent.load(path)


def test_every_entry_of_a_state_is_checked():
    whole = feint.Agent(3, epsilon=0.1).state()
    for key in whole:
        for wrong in (None, "x", -1.5, [[2.0]], {"kind": 3}):
            with pytest.raises(ValueError, match=r"\w"):
                feint.Agent.from_state({**whole, key: wrong})
        rest = {name: value for name, value in whole.items() if name != key}
        if key != "goal":  # which states before goals lack
            with pytest.raises(ValueError, match=r"incomplete or damaged|not the state of an agent"):
                feint.Agent.from_state(rest)


@pytest.mark.parametrize("bug", [KeyError("pulls"), TypeError("boo"), AttributeError("boo"), IndexError("boo")])
def test_a_bug_is_not_called_damage(bug, monkeypatch):
    def fail(*arguments):
        raise bug

    agent, observer = feint.Agent(3, epsilon=0.1).state(), feint.Observer(3).state()
    monkeypatch.setattr("feint.agent.saved_known.restore_counts", fail)
    monkeypatch.setattr("feint.references.expectation.restore_counts", fail)
    for cls, state in ((feint.Agent, agent), (feint.Observer, observer)):
        with pytest.raises(type(bug)):
            cls.from_state(state)
    test = BoostMixture(3).state()
    monkeypatch.setattr("feint.evidence.base.restore", fail)
    with pytest.raises(type(bug)):
        BoostMixture.from_state(test)


class FailsAtStart:
    """An explorer that cannot begin."""

    fails = True

    def start(self, n_arms):
        if self.fails:
            raise KeyError("pulls")

    def choose(self, view, uniforms):
        return 0


def test_what_a_part_of_ones_own_raises_is_not_called_damage(monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(FailsAtStart, "fails", False)
        state = feint.Agent(3, FailsAtStart(), epsilon=0.1).state()
    with pytest.raises(ValueError, match=r"FailsAtStart\.start failed .*KeyError") as raised:
        feint.Agent.from_state(state, explorer=FailsAtStart())
    assert "damaged" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_arms": 1}, "2 or more"),
        ({"n_arms": 2.0}, "2 or more"),
        ({"sigma": 0.0}, "above 0"),
        ({"reference": "UCB"}, "with its parentheses"),
        ({"epsilon": -0.1}, "0 or more"),
        ({"epsilon": "big"}, "one of feint.budgets"),
        ({"seed": -1}, "whole number"),
        ({"explorer": "TopTwo"}, "with its parentheses"),
        ({"explorer": feint.RoundRobin([5])}, "boosts arm 5"),
    ],
)
def test_bad_settings_are_explained(arguments, says):
    with pytest.raises(ValueError, match=says):
        feint.Agent(**{"n_arms": 3, "epsilon": 0.1, **arguments})
