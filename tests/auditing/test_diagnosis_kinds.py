"""Kinds of departures from whole audits: planted in logs by plain NumPy, and named with the option that is missing."""

import shlex

import numpy as np
import pytest
from scipy import stats

import feint
import feint.auditing.facts
from departing_agents import MEANS, alternating, blocks, coin, exp3, repeats, thompson, treatment, urn
from feint.auditing.arms import LogArms
from feint.auditing.claim import Claim
from feint.auditing.diagnosis.other_claims import change_claim, other_claims, write_option
from feint.auditing.reference_text import read_reference
from planted_logs import check_named, draw

SEED = 27
BETA = {"family": feint.Bernoulli(), "initial_round": False, "n_arms": 3}
EVEN = {"reference": feint.Split([0.5, 0.5]), "n_arms": 2}


def sorted_within(rng, rows=600, size=100):
    arms, rewards = thompson(rng, rows, [0.2, 0.3, 0.25])
    times = np.arange(rows) // size
    order = np.lexsort((arms, times))
    return feint.audit(arms[order], rewards[order], times=times, **BETA)


def audit_beta(arms, rewards, **claim):
    return feint.audit(arms, rewards, **{**BETA, **claim})


def audit_treatment(arms, p):
    return feint.audit(arms, propensities=p, n_arms=2)


# name: (kind, what the option must be or begin with, or None; a log's report)
KINDS = {
    "blocks of 4": (
        "balance",
        "--reference permuted-blocks",
        lambda rng: feint.audit(blocks(rng, [0, 0, 1, 1]), **EVEN),
    ),
    "blocks of 9, 2:1, logged": (
        "balance",
        "--reference 'permuted-blocks:9,2;1'",
        lambda rng: feint.audit(blocks(rng, [0] * 6 + [1] * 3), probabilities=np.tile([2 / 3, 1 / 3], (1197, 1))),
    ),
    "biased coin 2/3": (
        "balance",
        "--reference biased-coin:0.",
        lambda rng: feint.audit(coin(rng, 2 / 3), **EVEN),
    ),
    "strict alternation": ("alternation", None, lambda rng: feint.audit(alternating(rng, 1.0), **EVEN)),
    "alternation": ("alternation", None, lambda rng: feint.audit(alternating(rng, 0.65), **EVEN)),
    "5 % repeats, 40 arms": (
        "repeats",
        None,
        lambda rng: feint.audit(repeats(rng, 40, 0.05), reference=feint.Split(), n_arms=40),
    ),
    "P(arm = 1)": ("reading", "--probability-of 1", lambda rng: audit_treatment(*treatment(rng, (0.6, 1)))),
    "P(arm = 1), symmetric": ("reading", "--probability-of 1", lambda rng: audit_treatment(*treatment(rng, (1, 1)))),
    "burn-in of 150": ("burn-in", "--burn-in 1", lambda rng: audit_beta(*thompson(rng, 600, MEANS, burn_in=150))),
    "power 0.5": (
        "too random",
        "--reference tempered:thompson-sampling,0.",
        lambda rng: audit_beta(*thompson(rng, 1000, MEANS, lambda t, pi: pi**0.5)),
    ),
    "power n/400": (
        "temperature",
        "--reference tempered:thompson-sampling,n/",
        lambda rng: audit_beta(*thompson(rng, 800, MEANS, lambda t, pi: pi ** (t / 400))),
    ),
    "urn": ("design", "--reference play-the-winner", lambda rng: audit_beta(*urn(rng), n_arms=2)),
    "sorted": ("sorted", None, sorted_within),
    "EXP3, 30 % forced": (
        "share",
        None,
        lambda rng: (lambda arms, table: feint.audit(arms, probabilities=table))(*exp3(rng, 1500, 0.3)),
    ),
}


def check(name, n_logs, fewest):
    kind, option, report_of = KINDS[name]
    reports = [report_of(np.random.default_rng([SEED, i])) for i in range(n_logs)]
    found = [report.diagnosis for report in reports if report.rejected]
    assert len(found) >= n_logs / 2
    check_named(name, kind, found, fewest)
    # The true claim is rejected on these rows with probability 5 % at most, a fitted one a little more often.
    if option is not None:
        suggested = sum(any(e.option.startswith(option) for e in diagnosis.explanations) for diagnosis in found)
        assert suggested >= stats.binom.ppf(1e-6, len(found), 0.85)


@pytest.mark.parametrize("name", ["blocks of 4", "biased coin 2/3", "strict alternation", "P(arm = 1)"])
def test_a_few_logs(name):
    check(name, 8, lambda n: stats.binom.ppf(1e-6, n, 0.95))


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_a_hundred_logs(name):
    check(name, 100, lambda n: 0.95 * n)


class TestPeeking:
    def test_honest_exp3_gains_nothing(self):
        """The next row's probabilities depend on the pull; an expert that used them would win some 30 nats."""
        for seed in range(5):
            arms, table = exp3(np.random.default_rng(seed), 1500, 0.0)
            found = feint.auditing.diagnosis.diagnose(arms, np.log(table), np.arange(1, 1501), "abc")
            assert found.kind == "unclear"

    def test_the_true_reading_of_a_column_is_not_explained_by_another(self):
        """The probability of the pulled arm shows which arm it was; read as that of one arm it would fit every log."""
        for seed in range(5):
            rng = np.random.default_rng(seed)
            arms = (rng.random(1500) < 0.35).astype(int)  # claimed: 0.1
            report = feint.audit(arms, propensities=np.where(arms == 1, 0.1, 0.9), n_arms=2)
            assert report.rejected
            assert report.diagnosis.kind == "share"
            assert all(explanation.kind != "reading" for explanation in report.diagnosis.explanations)


def test_a_missing_option_is_suggested_with_what_that_means():
    arms, p = treatment(np.random.default_rng(1), (0.6, 1))
    report = feint.audit(arms, propensities=p, n_arms=2)
    notes = " ".join(feint.auditing.facts.facts_of(report, str).explanation.notes)
    assert "With --probability-of 1, the claim would not be rejected on these rows." in notes
    assert "A claim that is chosen because it passes has passed no test." in notes
    assert not feint.audit(arms, propensities=p, n_arms=2, probability_of=1).rejected


def test_the_end_of_a_burn_in():
    """Uniform pulls in place of near-certain ones show the row: each is worth 2 nats, so 8 rows are worth 16 nats."""
    rng = np.random.default_rng(2)
    pi = np.tile([0.05, 0.9, 0.05], (500, 1))
    arms = np.concatenate([rng.integers(3, size=120), draw(rng, pi[120:])])
    report = feint.audit(arms, probabilities=pi)
    assert report.diagnosis.kind == "burn-in"
    rows = int(report.diagnosis.words.split()[2])
    assert abs(rows - 120) <= 8


@pytest.mark.parametrize(
    "claim",
    [
        Claim(family=feint.Bernoulli(), reference=feint.ThompsonSampling((1, 1))),
        Claim(sigma=2.0),
        Claim(reference=feint.Split([0.75, 0.25])),
        Claim(reference=feint.Tempered(feint.ThompsonSampling(), 0.5)),
    ],
    ids=["beta", "normal", "split", "tempered"],
)
def test_a_suggested_reference_is_read_as_the_claim_that_was_tested(claim):
    settings = [other.setting for other in other_claims(claim, "rewards", LogArms(2), binary=True)]
    settings += [("power", 0.5)] if claim.needs_rewards else [("coin", 0.7)]
    n_references = 0
    for setting in settings:
        words = shlex.split(write_option(claim, setting))
        if words[0] == "--reference":
            family = words[3] if words[2:3] == ["--family"] else None
            reference, rewards = read_reference(words[1], family, None, None, None, None)
            other = change_claim(claim, setting)
            assert reference == other.reference
            assert not other.needs_rewards or Claim(reference=reference, family=rewards).family == other.family
            n_references += 1
    assert n_references
