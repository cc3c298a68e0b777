"""Every public object prints as one short line that says what it is."""

import numpy as np
import pytest

import feint
from audit_reports import PageReader
from cases import PAPER
from feint.auditing.claim import Claim, Names
from feint.registry import show_part


class Own:
    def log_probabilities(self, view):
        return np.log(np.full(view.pulls.size, 1 / view.pulls.size))

    def choose(self, view, uniforms):
        return 0

    def at(self, t):
        return 0.1


class OwnFamily:
    mean_range, rewards = (0.0, 1.0), "a number"

    def accepts(self, rewards):
        return rewards == rewards

    def draw(self, mean, uniform):
        return mean

    def log_best(self, pulls, sums):
        return np.full(pulls.size, -np.log(pulls.size))


WIDE = feint.Bandit(np.linspace(0, 1, 80), np.linspace(1, 0, 80))
MADE = {
    "Agent": lambda: feint.Agent(2, Own(), Own(), epsilon=Own()),
    "Bandit": lambda: WIDE,
    "Observer": lambda: feint.Observer(2, Own()),
    "Sweep": lambda: feint.Sweep({"paper": PAPER}, [Own()], [Own()], [Own()], horizon=10),
    "FixedBoosting": lambda: feint.FixedBoosting([0.5, 0.5]),
    "FixedTilting": lambda: feint.FixedTilting([0.5, 0.5]),
    "RoundRobin": lambda: feint.RoundRobin([0, 1]),
    "PowerLaw": lambda: feint.PowerLaw(np.float64(1.0), 0.5),
    "RisingBudget": lambda: feint.RisingBudget(np.float64(1.0), np.int64(10)),
    "TotalBudget": lambda: feint.TotalBudget(np.float64(1.0), np.int64(10)),
    "AboveThreshold": lambda: feint.AboveThreshold(np.float64(0.5)),
    "TopArms": lambda: feint.TopArms(2),
    "EpsilonGreedy": lambda: feint.EpsilonGreedy(np.float64(0.1)),
    "ControlShare": lambda: feint.ControlShare(feint.ThompsonSampling(), np.int64(1), np.float64(0.3)),
    "Holdout": lambda: feint.Holdout(feint.ThompsonSampling(), np.int64(1), np.float64(0.1)),
    "PermutedBlocks": lambda: feint.PermutedBlocks(np.array([4, 6]), weights=np.array([0.5, 0.5])),
    "ScoredThompson": lambda: feint.ScoredThompson(np.array([1.0, 2.0]), [0, 0], np.float64(0.5)),
    "Softmax": lambda: feint.Softmax(np.float64(0.5)),
    "Tempered": lambda: feint.Tempered(feint.ThompsonSampling(), np.float64(0.5)),
    "Gaussian": lambda: feint.Gaussian(np.float64(0.5)),
    "Linked": lambda: feint.Linked(np.zeros(2), np.ones(2), np.float64(0.1)),
    "Sometimes": lambda: feint.Sometimes(np.float64(0.1)),
    "Clipped": lambda: feint.references.Clipped(feint.ThompsonSampling(), np.float64(0.05)),
}
RESULTS = {
    "Plan": lambda: feint.plan(PAPER, Own(), 0.1),
    "Notice": lambda: feint.plan(PAPER, 0.1, 0.1).observer,
    "Unseen": lambda: feint.plan_unseen(PAPER, 0.5, 0.05, 1000),
    "Allocation": lambda: feint.optimal_boosting(WIDE),
    "Earning": lambda: feint.optimal_earning(WIDE),
    "Claim": lambda: Claim(batch=7, alpha=0.01, names=Names(arm="pulled")),
    "Names": lambda: Names(arm="pulled"),
    "ArmReport": lambda: feint.audit([0, 1] * 50, reference=feint.Split([0.7, 0.3])).arms[0],
}
PUBLIC = [name for name in feint.__all__ if isinstance(getattr(feint, name), type) and not name.endswith("Report")]


@pytest.mark.parametrize("name", [*dict.fromkeys([*PUBLIC, *MADE, *RESULTS])])
def test_it_is_short_and_says_what_it_is(name):
    made = (MADE | RESULTS).get(name, getattr(feint, name, None))()
    assert type(made).__name__ == name
    for shown in (repr(made), str(made)):
        assert name in shown
        assert len(shown) <= 300
        assert "\n" not in shown
        assert " at 0x" not in shown
        assert "np.float64" not in shown


def test_an_observer_shows_in_a_notebook_what_its_properties_are():
    observer = feint.Observer(2)
    assert "explains" not in observer._repr_html_()
    for arm in [0, 1] * 20:
        observer.update(arm, float(arm == 0))
    arm, epsilon = observer.likeliest
    text = PageReader(observer._repr_html_()).text
    assert repr(observer)[1:-1] in text
    for shown in (
        f"{observer.log_e_value / np.log(10):.4g}",
        f"{observer.p_value:.4g}",
        f"arm {arm}, ε = {epsilon:g} nats per step",
    ):
        assert shown in text


def test_a_sweep_shows_its_labels_in_a_notebook():
    sweep = feint.Sweep({"paper": PAPER}, [Own(), feint.TopTwo()], np.arange(1, 9) / 10, {"<b>": Own()}, horizon=10)
    text = PageReader(sweep._repr_html_()).text
    assert repr(sweep)[1:-1] in text
    squeezed = "".join(text.split())
    for row in ("bandit1paper", "explorer2Own(),TopTwo()", "epsilon80.1,0.2,0.3,0.4,0.5,0.6and2more", "reference1<b>"):
        assert row in squeezed


@pytest.mark.parametrize(
    "around",
    [
        lambda own: feint.Clipped(own, 0.05),
        lambda own: feint.Tempered(own, 0.5),
        lambda own: feint.Holdout(own, 0, 0.1),
        lambda own: feint.ControlShare(own, 0, 0.1),
        lambda own: feint.Clipped(feint.Tempered(own, 0.5), 0.05),
        lambda own: feint.Bandit([0.6, 0.3], [0.2, 0.5], family=OwnFamily()),
        lambda own: feint.Bandit([0.6, 0.3], [0.2, 0.5], family=(feint.Bernoulli(), OwnFamily())),
        lambda own: Claim(reference=feint.Clipped(own, 0.05), family=OwnFamily()),
    ],
)
def test_a_part_of_ones_own_inside_has_no_address(around):
    made = around(Own())
    for shown in (repr(made), str(made)):
        assert "Own" in shown
        assert " at 0x" not in shown


@pytest.mark.parametrize(
    "wrong",
    [
        lambda family: feint.Bandit([2.0, 0.3], [0.2, 0.5], family=family),
        lambda family: feint.Bandit([0.6, 0.3], [0.2, 0.5], family=family).sigma,
        lambda family: feint.audit([0, 1], [1, 0], family=family, reference=feint.ThompsonSampling((1, 1))),
        lambda family: feint.audit([0, 1], [1, 0], family=family, reference=feint.PlayTheWinner()),
        lambda family: feint.audit([0, 1], [1, 0], family=family, reference=feint.ScoredThompson([1, 2], [0, 0])),
        lambda family: feint.Agent(2, family=family, reference=feint.references.ObservedUCB(), epsilon=0.1),
    ],
)
def test_errors_about_a_family_of_ones_own_have_no_address(wrong):
    with pytest.raises((ValueError, AttributeError), match=r"OwnFamily\(\)") as raised:
        wrong(OwnFamily())
    assert " at 0x" not in str(raised.value)


def test_a_family_of_ones_own_is_named_in_reports():
    report = feint.audit([0, 1, 1], [0.1, 0.2, 0.3], n_arms=2, family=OwnFamily())
    assert report.claim == "Thompson Sampling with OwnFamily()"


class Warm:
    """A part of every sort, with an argument."""

    def __init__(self, warmth):
        self.warmth = warmth

    def log_probabilities(self, view):
        return np.log(np.full(view.pulls.size, 1 / view.pulls.size))

    def choose(self, view, uniforms):
        return 0

    def at(self, t):
        return 0.1


@pytest.mark.parametrize(
    ("reference", "words"),
    [
        (Warm(0.3), "Warm(warmth=0.3)"),
        (feint.Clipped(Warm(0.3), 0.05), "Clipped(reference=Warm(warmth=0.3), low=0.05, high=1.0)"),
        (feint.Split([0.25, 0.75]), "Split(weights=[0.25, 0.75])"),
        (feint.Tempered(feint.Softmax(0.5), "n/400"), "Tempered(reference=Softmax(temperature=0.5), power=n/400)"),
    ],
)
def test_a_part_is_written_in_one_way(reference, words):
    pair = feint.Bandit([0.6, 0.3], [0.2, 0.5])
    assert show_part(reference, "reference") == words
    assert words in repr(feint.Agent(2, feint.RoundRobin([1]), reference, epsilon=0.1))
    assert "RoundRobin(arms=[1])" in repr(feint.Agent(2, feint.RoundRobin([1]), reference, epsilon=0.1))
    assert words in repr(feint.Observer(2, reference))
    runs = feint.simulate(pair, epsilon=0.1, horizon=3, replications=1, reference=reference, method="eager")
    assert runs.reference.item() == words
    study = feint.Sweep({"pair": pair}, epsilons=[0.1], references=[reference], horizon=10)
    assert list(study.axes["reference"]) == [words]


def test_a_plan_of_a_sweep(tmp_path):
    shown = repr(feint.Sweep({"paper": PAPER}, epsilons=[0.1], horizon=10).plan(tmp_path / "out.zarr"))
    assert shown.startswith("<Workload: 1 cell, ")
    assert len(shown) <= 300


def test_a_reference_of_ones_own_is_named_in_reports():
    report = feint.audit([0, 1, 1], [0.1, 0.2, 0.3], n_arms=2, reference=Own())
    assert "the reference Own()" in report.claim


def test_a_part_around_ones_own_keeps_its_arguments_in_labels():
    references = [feint.Clipped(Own(), 0.01), feint.Clipped(Own(), 0.05)]
    study = feint.Sweep({"paper": PAPER}, epsilons=[0.1], references=references, horizon=10)
    assert "2 references" in repr(study)
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=10, replications=1, reference=references[0])
    assert runs.reference.item() == "Clipped(reference=Own(), low=0.01, high=1.0)"
