"""Every option whose absence makes an honest log look bent is suggested: one log of plain NumPy each."""

import numpy as np
import pandas
import pytest

import feint
from departing_agents import blocks, coin, thompson, treatment, urn
from feint.auditing.diagnosis import alternatives, weighing
from feint.auditing.diagnosis.clip_limits import Limited
from feint.auditing.diagnosis.pulls import read_pulls
from feint.auditing.facts import facts_of
from feint.auditing.readers.base import no_progress
from honest_agents import batched, beta_sampling, flips, late, play
from option_logs import burning, lacking, returning, staged

BETA = {"family": feint.Bernoulli(), "initial_round": False, "n_arms": 3}
EVEN = {"reference": feint.Split([0.5, 0.5]), "n_arms": 2}
SEED = 5
read = alternatives.read_claims


def of_table(log, claim=BETA, **columns):
    """Audit a log as a table; `columns` rename some of what an agent returned, so that nothing is told by a name."""
    table = pandas.DataFrame({"arm": log["arms"], "reward": log["rewards"]})
    for given, name in columns.items():
        table[name] = (
            [";".join(map(str, np.flatnonzero(c))) for c in log[given]] if given == "available" else log[given]
        )
    table["noise"] = np.random.default_rng(0).normal(size=len(table))
    return feint.audit_log(table, progress=no_progress, **claim)


def of_beta(log, **claim):
    arms, rewards = log
    return feint.audit(arms, rewards, **(BETA | claim))


def of_propensities(arms, p):
    return feint.audit(arms, propensities=p, n_arms=2)


def with_rewards(rng, rows, choose):
    """Return a log of an agent that draws by `choose(rng, successes, failures)`."""
    counts, arms, rewards = np.ones((3, 2)), np.empty(rows, dtype=np.int64), np.empty(rows)
    for t in range(rows):
        arms[t] = choose(rng, *counts.T)
        rewards[t] = rng.random() < (0.3, 0.5, 0.45)[arms[t]]
        counts[arms[t], 0 if rewards[t] else 1] += 1
    return arms, rewards


def top_two(rng, successes, failures):
    first = int(rng.beta(successes, failures).argmax())
    if rng.random() < 0.5:
        return first
    while (second := int(rng.beta(successes, failures).argmax())) == first:
        pass
    return second


def held_out(rng, successes, failures):
    return 0 if rng.random() < 0.2 else int(rng.beta(successes, failures).argmax())


def with_control(rng, successes, failures):
    return 0 if rng.random() < 0.4 else 1 + int(rng.beta(successes[1:], failures[1:]).argmax())


def with_prior(rng, successes, failures):
    return int(rng.beta(9 + successes, 9 + failures).argmax())


def clipped(t, pi):
    """Raise probabilities below 0.1 to it; the others share what is left."""
    low = pi < 0.1
    while True:
        q = np.where(low, 0.1, pi * (1 - 0.1 * low.sum()) / pi[~low].sum())
        if (q >= 0.1 - 1e-12).all():
            return q
        low |= q < 0.1


def lately(rng, arrival, rows=600, **more):
    arms, rewards, _ = play(rng, 1, rows, 3, beta_sampling(), flips((0.3, 0.5, 0.4)), arrival=arrival, **more)
    return arms[0], rewards[0]


# what the option begins with -> the report of a log whose agent has it, audited without
OPTIONS = {
    "--stage wave": lambda rng: of_table(staged(rng, 1, 600)[0], stages="wave"),
    "--unit visitor": lambda rng: of_table(returning(rng, 1, 600)[0], units="visitor"),
    "--available open": lambda rng: of_table(lacking(rng, 1, 600)[0], available="open"),
    "--burn-in 1": lambda rng: of_table(burning((1 / 3,) * 3)(rng, 1, 600)[0]),
    "--probability-of 1": lambda rng: of_propensities(*treatment(rng, (0.6, 1), 500)),
    "--batch 100": lambda rng: of_beta(lately(rng, batched(100))),
    "--delay 50": lambda rng: of_beta(lately(rng, late(50))),
    "--discount 0.9": lambda rng: of_beta(lately(rng, late(0), discount=0.9)),
    "--clip 0.": lambda rng: of_beta(thompson(rng, 600, (0.3, 0.6, 0.5), clipped)),
    "--family bernoulli": lambda rng: of_beta(thompson(rng, 600, (0.3, 0.6, 0.5)), family=None),
    "--reference 'thompson-sampling:10;10'": lambda rng: of_beta(with_rewards(rng, 600, with_prior)),
    "--reference top-two-thompson": lambda rng: of_beta(with_rewards(rng, 600, top_two)),
    "--reference holdout:thompson-sampling,0": lambda rng: of_beta(with_rewards(rng, 600, held_out)),
    "--reference control-share:thompson-sampling,0": lambda rng: of_beta(with_rewards(rng, 600, with_control)),
    "--reference tempered:thompson-sampling,0.": lambda rng: of_beta(
        thompson(rng, 600, (0.3, 0.5, 0.55), lambda t, pi: pi**0.5)
    ),
    "--reference tempered:thompson-sampling,n/": lambda rng: of_beta(
        thompson(rng, 600, (0.3, 0.5, 0.55), lambda t, pi: pi ** (t / 400))
    ),
    "--reference play-the-winner": lambda rng: of_beta(urn(rng), n_arms=2),
    "--reference permuted-blocks": lambda rng: feint.audit(blocks(rng, [0, 0, 1, 1], 400), **EVEN),
    "--reference biased-coin:0.": lambda rng: feint.audit(coin(rng, 2 / 3, 800), **EVEN),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_a_missing_option_is_suggested(option):
    report = OPTIONS[option](np.random.default_rng(SEED))
    assert report.rejected
    suggested = [explanation.option for explanation in report.diagnosis.explanations if explanation.option]
    assert any(written.startswith(option) for written in suggested), (suggested, report.diagnosis.words)
    notes = " ".join(facts_of(report, str).explanation.notes)
    assert f"With {', or with '.join(suggested)}, the claim would not be rejected on these rows." in notes


@pytest.mark.parametrize("initial_round", [True, False])
@pytest.mark.parametrize("prior", [None, (1.0, 1.0)], ids=["flat", "beta"])
def test_what_is_read_from_the_claim_is_what_recomputing_gives(prior, initial_round, monkeypatch):
    """Delays, batches, top-two Thompson Sampling, powers, limits and holdouts from one table, a control share from the
    others' draws.
    """
    logs = []
    other_claims = alternatives._ReadLog.other_claims
    monkeypatch.setattr(alternatives._ReadLog, "other_claims", lambda log: logs.append(log) or other_claims(log))
    rng = np.random.default_rng(6)
    arms, groups = rng.integers(3, size=400), rng.integers(2, size=400)
    rewards = (rng.random(400) < 0.2 + 0.3 * arms).astype(float)
    claim = {"sigma": 0.5} if prior is None else {"family": feint.Bernoulli()}
    assert feint.audit(arms, rewards, groups=groups, n_arms=3, initial_round=initial_round, **claim).rejected
    [log] = logs
    known_from_claim = ("delay", "batch", "top-two", "control")
    settings = [other.setting for other in other_claims(log) if other.setting[0] in known_from_claim]
    assert [name for name, _ in settings] == ["delay"] * 3 + ["batch"] * 3 + ["top-two", "control"]
    settings += [("power", 0.4), ("power", "n/300"), ("clip", "0.05"), ("clip", "0.02,0.7"), ("holdout", (1, 0.2))]
    recomputed = []
    monkeypatch.setattr(alternatives, "read_claims", lambda *given: recomputed.append(given) or read(*given))
    for setting in settings:
        table, known = read(log._pieces, log._mode(setting))
        exact = np.where(known[:, np.newaxis], table, log._log_pi)[log.tested]
        np.testing.assert_allclose(np.exp(log._table(setting)), np.exp(exact), rtol=1e-9, atol=1e-15)
    assert len(recomputed) <= 1  # the control share


def late_departure(rng, rows=12_000):
    """Return a log of Beta sampling among four arms, of which one is forced in every tenth of the last rows."""
    counts, arms, rewards = np.ones((4, 2)), np.empty(rows, dtype=np.int64), np.empty(rows)
    for t in range(rows):
        forced = t > 0.6 * rows and rng.random() < 0.1
        arms[t] = 3 if forced else rng.beta(*counts.T).argmax()
        rewards[t] = rng.random() < (0.5, 0.5, 0.45, 0.4)[arms[t]]
        counts[arms[t], 0 if rewards[t] else 1] += 1
    return arms, rewards


def test_claims_that_explain_nothing_are_never_made_exactly(monkeypatch):
    arms, rewards = late_departure(np.random.default_rng(9))
    exact_rows, quickly = [], feint.Bernoulli.log_probabilities

    def count(family, first, second):
        exact_rows.append(len(first))
        return quickly(family, first, second)

    def diagnose():
        exact_rows.clear()
        report = of_beta((arms, rewards), n_arms=4)
        return report.diagnosis, sum(exact_rows)

    monkeypatch.setattr(feint.Bernoulli, "log_probabilities", count)
    found, rows = diagnose()
    assert found.kind == "share"
    assert rows <= 3 * arms.size  # of the audit, of the cause and of the claim in the diagnosis
    monkeypatch.setattr(weighing, "_FAR", np.inf)
    expected, all_rows = diagnose()
    assert all_rows >= 8 * arms.size
    assert len(found.explanations) == len(expected.explanations)
    for one, other in zip(found.explanations, expected.explanations, strict=True):
        assert one._replace(share=0) == other._replace(share=0)
        assert one.share == pytest.approx(other.share, rel=1e-9)


@pytest.mark.parametrize(("label", "size", "limits"), [("below", 0.12, (0.12, 1.0)), ("above", 0.3, (0.0, 0.7))])
def test_limits_are_those_of_the_reference(label, size, limits):
    pi = np.array([[0.8, 0.15, 0.05], [0.97, 0.02, 0.01], [0.1, 0.5, 0.4], [0.05, 0.9, 0.05]])
    for arm in range(3):
        log = read_pulls(np.full(4, arm), np.log(pi), np.arange(4), "abc")
        found = np.exp(Limited("clip", log).log_ratios(label, size) + log.pulled)
        for row, q in zip(pi, found, strict=True):
            clipped = feint.Clipped(feint.Split(row.tolist()), *limits)
            expected = feint.Observer(3, clipped, initial_round=False).reference_probabilities()[arm]
            assert q == pytest.approx(expected, rel=1e-9)


def test_arms_that_are_not_available_stay_so_in_every_explanation():
    log = lacking(np.random.default_rng(7), 1, 600)[0]
    open_to_2 = log["available"][:, 2] & (np.random.default_rng(8).random(600) < 0.3)
    log["arms"] = np.where(open_to_2, 2, log["arms"])
    report = feint.audit(log["arms"], log["rewards"], available=log["available"], **BETA)
    assert report.rejected
    assert report.diagnosis.kind != "clip"
