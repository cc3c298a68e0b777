"""One claim serves Python, the command and the page: its fields are the options of all three."""

import dataclasses
import math
import pydoc
import re
import shlex

import pytest
from typer.testing import CliRunner

import feint
from feint.auditing.claim import Claim, ClaimOptions, LogOptions, Names, list_options, shell_options
from feint.auditing.command_line import WrittenClaim, audit_options
from feint.cli import app


def test_the_typed_options_are_the_fields():
    short = {"sigma", "prior", "split", "clip"}
    assert set(LogOptions.__annotations__) == {field.name for field in dataclasses.fields(Claim)} | short
    files_only = {"names", "mode", "ignore_time", "delimiter", "encoding", "decimal"}
    files_only |= {"shards", "blocks", "dependent_groups"}
    assert set(LogOptions.__annotations__) - set(ClaimOptions.__annotations__) == files_only


@pytest.mark.parametrize("verb", [feint.audit, feint.audit_log])
def test_help_fits_on_two_screens(verb):
    """The help has at most 100 lines of 100 columns; until Python 3.13 a terminal breaks the one-line signature."""
    text = pydoc.plain(pydoc.render_doc(verb))
    assert sum(max(1, math.ceil(len(line) / 100)) for line in text.splitlines()) <= 100
    assert [line for line in text.splitlines() if len(line) > 100 and not line.startswith(verb.__name__)] == []
    assert "numpy._typing" not in text
    assert list_options(LogOptions if verb is feint.audit_log else ClaimOptions).split()[1] in text


def test_an_unknown_option_is_refused_with_the_nearest():
    with pytest.raises(TypeError, match=r"^audit\(\) has no option n_arm; did you mean n_arms\?$"):
        feint.audit([0, 1], n_arm=2)
    with pytest.raises(TypeError, match=r"^audit\(\) has no option propensity; did you mean propensities\?$"):
        feint.audit([0, 1], propensity=[0.5, 0.5])
    with pytest.raises(TypeError, match=r"^audit\(\) has no option stage; did you mean stages\?$"):
        feint.audit([0, 1], stage=[0, 0])
    with pytest.raises(TypeError, match=r"^audit_log\(\) has no option units; did you mean unit\?$"):
        feint.audit_log("log.csv", units="user")
    with pytest.raises(TypeError, match=r"^audit_log\(\) has no option xyz; it has n_arms, reference, "):
        feint.audit_log("log.csv", xyz=2)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"mode": "reward"}, "There is no mode 'reward'; choose among probabilities, propensities, rewards."),
        ({"names": "arm"}, "names is 'arm'; give feint.auditing.Names"),
        ({"delay": 1, "batch": 2}, "give only one"),
        ({"tolerance": 0.6}, "tolerance, of the sum of probabilities, must be a number from 0 to 0.5; got 0.6"),
        ({"floor": 0.2}, "must be a number from 0 to 0.1; got 0.2"),
        ({"propensity_draws": 0}, "give the number of Monte Carlo draws, 1 or more"),
        ({"alpha": 2}, "alpha, the level of the audit,"),
        ({"skip_bad": "yes"}, "skip_bad"),
        ({"ignore_time": 1}, "ignore_time"),
        ({"reference": feint.ObservedUCB()}, "UCB does not draw its arms"),
        ({"reference": feint.Softmax(0.1), "prior": (1, 1)}, "write Softmax(…) with its prior"),
        ({"split": [0.5, 0.5], "prior": (1, 1)}, "`split` is a claim of its own"),
        ({"clip": (0.1, 0.5, 0.9)}, "give the least probability, or (least, largest)"),
        ({"clip": 0.1, "reference": feint.Clipped(feint.ThompsonSampling(), 0.1)}, "is clipped already"),
    ],
)
def test_a_claim_checks_itself(wrong, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Claim(**wrong)
    with pytest.raises(TypeError):
        Claim(feint.ThompsonSampling())
    with pytest.raises(TypeError):
        Names("arm")


def test_every_option_of_a_shell_is_one_of_python():
    """By the same name, or the plural of a column in arrays; `arms` are the pulls, so that --arms is n_arms."""
    known = {*feint.auditing.verbs.ColumnOptions.__annotations__, *LogOptions.__annotations__}
    assert set(audit_options()) - known == {"arms"}
    assert [
        Claim(prior=(1, 1)).reference, Claim(split=[0.6, 0.4]).reference, Claim(clip=0.1).reference,
        Claim(reference=feint.Softmax(0.2), clip=(0.1, 0.8)).reference,
    ] == [
        feint.ThompsonSampling((1, 1)), feint.Split([0.6, 0.4]), feint.Clipped(feint.ThompsonSampling(), 0.1),
        feint.Clipped(feint.Softmax(0.2), 0.1, 0.8),
    ]  # fmt: skip
    short = {"prior": "1,1", "split": "0.6,0.4", "clip": "0.1,0.8"}
    for name, text in short.items():
        given = tuple(float(part) for part in text.split(","))
        assert WrittenClaim(**{name: text}).claim() == Claim(**{name: given})


# What a shell would write for every option: the text, and the field that must then differ from its default.
WRITTEN = {
    "batch": 2, "delay": 3, "discount": 0.5, "initial_round": False, "propensity_draws": 7, "floor": 0.01,
    "within": "1%", "alpha": 0.01, "arms": "a,b", "mode": "rewards", "ignore_time": True, "delimiter": ";",
    "encoding": "latin-1", "tolerance": 0.1, "skip_bad": True, "n_groups": 9, "burn_in": "150:0.5,0.5",
    "probability_of": "b", "decimal": ",", "missing": "never", "shards": 4, "blocks": 100, "dependent_groups": True,
} | dict.fromkeys(shell_options(Names), "column")  # fmt: skip


def test_every_option_of_the_command_reaches_the_claim():
    assert set(WRITTEN) == set(audit_options()) - {"reference", "family", "sigma", "prior", "split", "clip"}
    usual = WrittenClaim().claim()
    assert usual == Claim()
    for name, value in WRITTEN.items():
        claim = WrittenClaim(**{name: value}).claim()
        assert claim != usual, name


def test_the_command_line_says_the_same():
    """The command line that is written for a claim is read as the same claim, with nothing left out."""
    exclusive = {"batch", "reward_time", "stage", "blocks"}  # with a delay, and with dependent groups
    options = {name: value for name, value in WRITTEN.items() if name not in exclusive}
    options |= {"reference": "beta", "family": "bernoulli", "prior": "2,3", "clip": "0.01"}
    written = WrittenClaim(**options)
    words = shlex.split(written.command("nothing.csv"))
    assert words[:3] == ["feint", "audit", "nothing.csv"]
    assert len(words) == 3 + 2 * len(options) - sum(isinstance(value, bool) for value in options.values())
    read = []

    def remember(self, folder):
        read.append(self)
        raise ValueError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WrittenClaim, "claim", remember)
        CliRunner().invoke(app, words[1:])
    assert read == [written]


def test_claims_that_differ_are_told_apart():
    """A saved audit continues only with the same claim; how the file is read makes no other claim."""
    assert Claim().identity() == Claim(skip_bad=True, ignore_time=True, delimiter=";", n_arms=2).identity()
    others = [
        {"reference": feint.ThompsonSampling((0.0, 1.0))}, {"sigma": 2.0}, {"batch": 2}, {"floor": 0.01},
        {"within": 0.1}, {"alpha": 0.01}, {"initial_round": False}, {"names": Names(arm="dose")}, {"burn_in": 5},
        {"burn_in": (5, [0.5, 0.5])}, {"probability_of": 1}, {"names": Names(unit="user")},
    ]  # fmt: skip
    identities = [Claim(**other).identity() for other in others]
    assert all(identity not in (Claim().identity(), *identities[:i]) for i, identity in enumerate(identities))
