"""Parts of the page that need no browser: a run that unfolds, the options of an audit, the contents of fields."""

import json
import math
import runpy
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import feint
from cases import PAPER
from feint.agent.public_log import public_log, write_log
from feint.cli import app
from feint.explorers import TopTwo

pytest.importorskip("panel", reason="Panel, of feint[app], is not installed")

import feint.app.plan as plan_page
from feint.app.audit import CLAIMS, Audit
from feint.app.instance_form import InstanceForm
from feint.app.messages import in_words_of_the_page, number_of
from feint.app.unfolding import Setting, Unfolding
from feint.auditing.pipeline import audit_source
from feint.registry import registered
from feint.support.errors import is_users


def test_a_run_and_its_twin_are_simulations():
    run = Unfolding(Setting(PAPER, TopTwo(), 0.1, 3, 300))
    run.advance(10**6)
    assert run.finished
    for trace, epsilon in ((run.deceiver, 0.1), (run.twin, 0.0)):
        times = np.arange(4, 301)
        runs = feint.simulate(
            PAPER, TopTwo(), epsilon=epsilon, horizon=300, replications=1, seed=3, checkpoints=times, observe=True
        )
        np.testing.assert_array_equal(np.array(trace.pulls)[3:], runs.pulls[0])
        np.testing.assert_allclose(trace.log_e_values[3:], runs.log_e_value[0], rtol=1e-9, atol=1e-12)
        if trace.agent.best_arm == PAPER.best_private:  # the simulation's error is about the true best arm
            assert trace.log_errors[-1] == pytest.approx(float(runs.log_error[0, -1]), rel=1e-12)


@pytest.mark.parametrize(
    ("epsilon", "of_deceiver", "of_twin"),
    [
        (0.3, "Right: A deceives; 1 of its 5 pulls", "Wrong: B is honest, the other"),
        (0.0, "Wrong: A has", "Wrong: B is"),
    ],
)
def test_an_accused_agent_is_what_it_is(epsilon, of_deceiver, of_twin):
    run = Unfolding(Setting(PAPER, TopTwo(), epsilon, 0, 100))
    run.advance(1)
    assert run.accused("A", True).startswith(of_deceiver)
    assert run.accused("B", False).startswith(of_twin)


@pytest.mark.parametrize("claim", CLAIMS)
def test_the_command_of_an_audit_gives_the_same(claim, tmp_path):
    """Every claim that can be chosen gives the shell's JSON, or the same sentence about why there is none."""
    log = tmp_path / "log.csv"
    write_log(public_log(PAPER, TopTwo(), epsilon=0.1, horizon=60, seed=1), log)
    form = Audit()
    form.claim.value = claim
    form.alpha.value, form.arms.value = "0.012345678", "4"
    form.more.value = "--burn-in 9 --batch 2 --no-initial-round"
    if claim == "a split with these shares":
        form.number.value = "0.7,0.1,0.1,0.1"
    if CLAIMS[claim].has_context:
        form.context.value = "reward"
    asked = form.asked()
    form.close()
    try:
        found = audit_source(log, asked.claim()).to_json()
    except ValueError as error:
        found = str(error)
    command = shlex.split(asked.command(str(log)))
    assert command[0] == "feint"
    shell = CliRunner().invoke(app, [*command[1:], "--json"])
    if isinstance(found, str):
        assert str(shell.exception) == found
    else:
        assert json.loads(shell.stdout) == json.loads(json.dumps(found))


@pytest.mark.parametrize(
    ("claim", "number", "more"),
    [
        ("clipped:REFERENCE,LOW[,HIGH]", "thompson-sampling,0.05", "--family bernoulli"),
        ("the strongest that the log allows", "2", "--reference clipped:thompson-sampling,0.05 --family bernoulli"),
        ("Thompson Sampling, 0/1 rewards", None, "--prior 2,1"),
        ("the strongest that the log allows", "1", "--family poisson --prior 1,1"),
        ("softmax", "0.5", "--split 0.3,0.7"),
    ],
)
def test_other_options_may_name_family_prior_and_reference(claim, number, more, tmp_path):
    log = tmp_path / "log.csv"
    bandit = feint.Bandit([0.6, 0.3], [0.2, 0.5], family=feint.Bernoulli())
    write_log(public_log(bandit, TopTwo(), epsilon=0.1, horizon=60, seed=1), log)
    form = Audit()
    form.claim.value = claim
    form.number.value, form.more.value = number or "", more
    asked = form.asked()
    form.close()
    found = audit_source(log, asked.claim()).to_json()
    assert ("no probability below 0.05" in found["claim"]) == ("clipped" in claim + more)
    assert ("Beta" in found["claim"]) == ("bernoulli" in more or "0/1" in claim)
    shell = CliRunner().invoke(app, [*shlex.split(asked.command(str(log)))[1:], "--json"])
    assert json.loads(shell.stdout) == json.loads(json.dumps(found))


def test_a_visitor_learns_nothing_of_files_on_the_server(tmp_path):
    (tmp_path / "priors").write_text("1,1\n1,1\n")
    form = Audit()
    form.more.value = f"--family bernoulli --prior {tmp_path / 'priors'}"
    asked = form.asked()
    form.close()
    assert asked.claim(tmp_path).reference.prior == ((1, 1), (1, 1))
    with pytest.raises(ValueError, match=r"--prior is .*; give two numbers"):
        asked.claim()


def test_a_new_family_can_be_claimed(monkeypatch):
    monkeypatch.setitem(registered("family"), "laplace", feint.Gaussian)
    claims = runpy.run_path(feint.app.claims.__file__)["CLAIMS"]
    assert {choice.reference for choice in claims.values()} >= {*registered("family")} - {"gaussian"}
    assert claims["Thompson Sampling, laplace rewards"][:4] == ("rewards", "laplace", "reference", "1")


def test_numbers_of_fields():
    assert number_of(" 7 ", "The seed", int, 0, 9) == 7
    assert number_of("1e-3", "σ", float, 0, 1) == 0.001
    for text in ("", "x", "10", "-1", "nan", "inf", "1_0", "0x1", None, math.nan):
        with pytest.raises(ValueError, match=r"^The seed is .*; give a whole number from 0 to 9\.$"):
            number_of(text, "The seed", int, 0, 9)


def test_sentences_name_the_fields_of_the_page():
    text = "Correct the log, or leave such rows out (`skip_bad`);\n --sigma is 'x'."
    assert in_words_of_the_page("--prior is 'x'; --reference is 'y'") == "--prior is 'x'; The claim is 'y'"
    expected = "Correct the log, or leave such rows out (tick “Leave bad rows out”); σ of the rewards is 'x'."
    assert in_words_of_the_page(text) == expected


def test_a_bug_is_not_told_as_a_visitors_mistake(monkeypatch):
    """What a library raises in an audit or a plan stays a bug; what feint refuses is a sentence."""
    with pytest.raises(ValueError, match="invalid literal") as found, Audit()._without_directory():
        int("seven")
    assert not is_users(found.value)
    asked = []
    monkeypatch.setattr(plan_page, "in_background", lambda work, *others: asked.append(work))
    tab = plan_page.PlanTab(InstanceForm(), lambda *taken: None)
    for work in (lambda: int("seven"), lambda: feint.plan(PAPER, -1.0, 0.1)):
        tab._next(0, [plan_page.Job("a question", work, lambda answer: None)], math.inf)
    with pytest.raises(ValueError, match="invalid literal") as found:
        asked[0]()
    assert not is_users(found.value)
    assert "a KL budget must be 0 or more" in str(asked[1]())
