"""References among the arms that are available: probabilities by formulas of our own, E fair by enumeration, and honest
agents, which share no code with feint.
"""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betainc
from scipy.stats import beta as beta_law

import feint
from context_agents import play_linear, play_logistic, play_shared
from feint.auditing.available import AmongAvailable
from feint.references import Clipped
from feint.references.recomputation import LogRows, Recomputation
from honest_agents import Seen, draw, flips, play
from option_logs import BETA, RATES, SHARES, Case, check_rates, first_rejections, some_down

NODES, WEIGHTS = (part / 2 for part in np.polynomial.legendre.leggauss(80))
Sampling = feint.ThompsonSampling


def best(wins, losses):
    """Return P(best) of Beta posteriors, (…, K)."""
    x = NODES + 0.5
    wins, losses = (np.asarray(part, dtype=float)[..., None] for part in (wins, losses))
    below = betainc(wins, losses, x)
    arms = range(below.shape[-2])
    others = np.stack([np.delete(below, arm, axis=-2).prod(axis=-2) for arm in arms], axis=-2)
    found = (WEIGHTS * beta_law.pdf(x, wins, losses) * others).sum(-1)
    return found / found.sum(-1, keepdims=True)


def tempered(p, power):
    return p**power / (p**power).sum(-1, keepdims=True)


def top_two(p, beta):
    """Return top-two probabilities; sums leave out what they are not about, so that no digits are lost."""
    others = ~np.eye(p.shape[-1], dtype=bool)
    odds = p / np.where(others, p[..., None, :], 0.0).sum(-1)
    return p * (beta + (1 - beta) * np.where(others, odds[..., None, :], 0.0).sum(-1))


# --- Probabilities --------------------------------------------------------------------------------------------------

COUNTS, SUMS = np.array([4, 3, 5]), np.array([1, 2, 2])
WINS, LOSSES = np.array([1.0, 8.0, 1.0]), np.array([1.0, 2.0, 3.0])
MEANS = SUMS / COUNTS
PRIORS = tuple(zip(WINS, LOSSES, strict=True))
PAIRED = Sampling(PRIORS)
LAST = best((WINS + SUMS)[1:], (LOSSES + COUNTS - SUMS)[1:])  # of arms 1 and 2
SCORED = feint.ScoredThompson([1.0, 2.0, 1.0], [0.0, 0.3, 0.1], prior=PRIORS)


def scored():
    """Return P(2X − 0.3 > Y − 0.1) and its complement for the posteriors X and Y of arms 1 and 2."""
    x, y = (beta_law(WINS[a] + SUMS[a], LOSSES[a] + COUNTS[a] - SUMS[a]) for a in (1, 2))
    grid = (np.arange(400_000) + 0.5) / 400_000
    won = (x.pdf(grid) * y.cdf(2 * grid - 0.2)).mean()
    return np.array([won, 1 - won])


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (PAIRED, LAST),
        (feint.Softmax(0.2), np.exp(MEANS[1:] / 0.2) / np.exp(MEANS[1:] / 0.2).sum()),
        (feint.EpsilonGreedy(0.2), np.array([0.9, 0.1])),
        (feint.Split(SHARES), np.array([0.6, 0.4])),
        (feint.Split(), np.array([0.5, 0.5])),
        (Clipped(PAIRED, 0.2), np.clip(LAST, 0.2, 0.8)),
        (feint.TopTwoThompson(0.7, PRIORS), top_two(LAST, 0.7)),
        (SCORED, scored()),
        (feint.Tempered(PAIRED, 0.5), tempered(LAST, 0.5)),
        (feint.Tempered(PAIRED, "n/20"), tempered(LAST, 12 / 20)),
        (feint.Holdout(PAIRED, 0, 0.1), LAST),  # the arm held out is down
        (feint.Holdout(PAIRED, 2, 0.1), 0.9 * LAST + np.array([0, 0.1])),
        (feint.ControlShare(Sampling(PRIORS[1:]), 0, 0.4), LAST),
        (feint.ControlShare(Sampling(PRIORS[:1] + PRIORS[2:]), 1, 0.4), np.array([0.4, 0.6])),
        (feint.ControlShare(Sampling(PRIORS[:2]), 2, 0.4), np.array([0.6, 0.4])),
        (feint.references.NormalInverseGamma((0, 1, 1, 1)), None),
    ],
    ids=lambda value: None if isinstance(value, np.ndarray) or value is None else type(value).__name__,
)
def test_a_reference_among_two_of_three_arms(reference, expected):
    """By formulas of our own; where sigma is unknown, by 10⁶ draws of it and of the means."""
    rewards = np.concatenate([np.arange(n) < wins for n, wins in zip(COUNTS, SUMS, strict=True)]).astype(float)
    log = np.zeros(13, int), np.append(np.repeat(np.arange(3), COUNTS), 1), np.append(rewards, 0.0)
    available = np.ones((13, 3), dtype=bool)
    available[12, 0] = False
    recomputed = Recomputation(reference, feint.Bernoulli(), 3, initial_round=False)
    found, tested = AmongAvailable(recomputed).rows(LogRows(*log), available)
    error = 1e-9
    if expected is None:
        draws, n = [], 10**6
        for count, total in zip(COUNTS[1:], SUMS[1:], strict=True):
            rate = 1 + (total - total**2 / count) / 2 + count / (count + 1) * (total / count) ** 2 / 2
            variance = rate / np.random.default_rng(int(count)).gamma(1 + count / 2, size=n)
            draws.append(
                np.random.default_rng(7 + int(count)).normal(total / (count + 1), (variance / (count + 1)) ** 0.5)
            )
        share = (draws[0] > draws[1]).mean()
        expected, error = np.array([share, 1 - share]), 5 * math.sqrt(share * (1 - share) / n)
    assert tested[-1]
    assert found[-1, 0] == -math.inf
    np.testing.assert_allclose(np.exp(found[-1, 1:]), expected, atol=error, rtol=0)


@pytest.mark.parametrize("shared", [False, True], ids=["disjoint", "shared"])
def test_contexts_among_two_of_three_arms(shared):
    """Φ of the standardised difference of two scores, from the normal equations; arm 0 has no posterior at all."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(9, 3, 2) if shared else (9, 2))
    arms, rewards = np.tile([1, 2, 2], 3), rng.normal(size=9)
    available = np.tile([False, True, True], (9, 1))
    reference = feint.LinearThompsonSampling(np.inf, 0.7, shared=shared)
    recomputed = Recomputation(reference, feint.Gaussian(), 3, initial_round=False)
    log = np.zeros(9, int), arms, rewards, None, None, x.reshape(9, -1)
    found, tested = AmongAvailable(recomputed).rows(LogRows(*log), available)
    known = np.arange(8)
    if shared:
        seen, gap = x[known, arms[known]], x[8, 1] - x[8, 2]
        covariance = 0.49 * np.linalg.inv(seen.T @ seen)
        mean, variance = gap @ np.linalg.lstsq(seen, rewards[:8])[0], gap @ covariance @ gap
        enough = [row >= 2 for row in range(9)]
    else:
        mean = variance = 0.0
        for arm, sign in ((1, 1), (2, -1)):
            mine = known[arms[known] == arm]
            mean += sign * x[8] @ np.linalg.lstsq(x[mine], rewards[mine])[0]
            variance += 0.49 * x[8] @ np.linalg.inv(x[mine].T @ x[mine]) @ x[8]
        enough = [np.bincount(arms[:row], minlength=3)[1:].min() >= 2 for row in range(9)]
    assert tested.tolist() == enough
    assert (found[:, 0] == -math.inf).all()
    first = stats.norm.cdf(mean / math.sqrt(variance))
    np.testing.assert_allclose(np.exp(found[-1, 1:]), [first, 1 - first], rtol=1e-9)


def test_draws_of_the_auditor_among_available_arms():
    """Of five arms of one draw: four are drawn, three are exact, one is sure, and what was down is impossible."""
    rng = np.random.default_rng(4)
    rows, available = 400, np.ones((400, 5), dtype=bool)
    available[:, 0] = False
    available[100:200, 1] = available[200:, 1:4] = False
    x = np.tile(rng.normal(size=(5, 3)), (rows, 1, 1))
    reference = feint.LinearThompsonSampling(1.0, shared=True)
    recomputed = Recomputation(reference, feint.Gaussian(), 5, initial_round=False)
    log = np.zeros(rows, int), np.full(rows, 4), np.full(rows, np.nan), None, None, x.reshape(rows, -1)
    table, tested = AmongAvailable(recomputed).rows(LogRows(*log), available)
    assert tested.all()
    assert np.array_equal(np.isneginf(table[:, :5]), ~available)
    draws = rng.normal(size=(200_000, 3)) @ x[0].T
    draws[:, 0] = -np.inf
    expected = np.bincount(draws.argmax(1), minlength=5) / 200_000
    n = recomputed.draws
    hits = np.rint(np.exp(table[:100, 1:5]) * (n + 1) - 1).sum(0)
    assert hits.sum() == 100 * n
    np.testing.assert_allclose(hits / hits.sum(), expected[1:], atol=5 * math.sqrt(0.25 / 50_000 + 0.25 / 200_000))
    draws[:, 1] = -np.inf
    expected = np.bincount(draws.argmax(1), minlength=5) / 200_000
    exact = (np.exp(table[100, 2:5]) * (n + 1) - 1) / n
    np.testing.assert_allclose(exact, expected[2:], atol=5 * math.sqrt(0.25 / 200_000))
    assert (table[200:, 4] == 0).all()
    assert (table[200:, 5] == 4).all()
    options = {"reference": reference, "initial_round": False, "n_arms": 5, "explain": False}
    report = feint.audit([4, 4, 0], np.zeros(3), contexts=x[:3], available=available[:3], **options)
    assert report.impossible._asdict() == {"row": 3, "arm": 0, "pulls": 1}
    burnt = feint.audit(np.full(rows, 4), np.zeros(rows), burn_in=300, contexts=x, available=available, **options)
    assert burnt.tested == rows


# --- Validity -------------------------------------------------------------------------------------------------------

AVAILABLE = [(0, 1, 2), (0, 2), (0, 1, 2), (1, 2)]


def among(law):
    """Return probabilities (3,) of the arms that are available in a row, by a law of Beta(1, 1) posteriors."""

    def probabilities(row, arms, rewards):
        open_arms = np.array(AVAILABLE[row])
        arms, rewards = np.array(arms, dtype=int), np.array(rewards, dtype=float)
        wins, pulls = np.bincount(arms, rewards, minlength=3), np.bincount(arms, minlength=3)
        found = np.zeros(3)
        found[open_arms] = law(best((1 + wins)[open_arms], (1 + pulls - wins)[open_arms]), row, open_arms)
        return found

    return probabilities


def held_back(p, row, open_arms):
    return 0.8 * p + 0.2 * (open_arms == 0) if 0 in open_arms else p


def among_others(row, arms, rewards):
    """Return probabilities where arm 0 has a share of 0.4, and the others are drawn among themselves."""
    open_arms = np.array(AVAILABLE[row])
    others = open_arms[open_arms > 0]
    arms, rewards = np.array(arms, dtype=int), np.array(rewards, dtype=float)
    wins, pulls = np.bincount(arms, rewards, minlength=3), np.bincount(arms, minlength=3)
    found = np.zeros(3)
    found[others] = best((1 + wins)[others], (1 + pulls - wins)[others]) if others.size > 1 else 1.0
    if 0 in open_arms:
        found *= 0.6
        found[0] = 0.4
    return found


@pytest.mark.parametrize(
    ("reference", "law"),
    [
        (feint.TopTwoThompson(0.6), among(lambda p, row, arms: top_two(p, 0.6))),
        (feint.Tempered(Sampling(), 0.5), among(lambda p, row, arms: tempered(p, 0.5))),
        (feint.Tempered(Sampling(), "n/2"), among(lambda p, row, arms: tempered(p, row / 2))),
        (
            feint.Holdout(Sampling(), 0, 0.2),
            among(lambda p, row, arms: 0.8 * p + 0.2 * (arms == 0) if 0 in arms else p),
        ),
        (feint.ControlShare(Sampling(), 0, 0.4), among_others),
    ],
    ids=["top-two", "tempered", "tempered by n/M", "holdout", "control share"],
)
def test_the_mean_of_e_does_not_grow_at_any_node(reference, law):
    def e_value(arms, rewards):
        report = feint.audit(
            arms, rewards, available=AVAILABLE[: len(arms)], reference=reference, explain=False, **BETA
        )
        return math.exp(report.log_e_value) if report.impossible is None else math.inf

    rng = np.random.default_rng(4)
    for rows in range(4):
        for head in itertools.product(*AVAILABLE[:rows]):
            rewards = rng.integers(2, size=rows).tolist()
            p = law(rows, head, rewards)
            assert p.sum() == pytest.approx(1, abs=1e-12)
            before = e_value(head, rewards) if head else 1.0
            mean = sum(share * e_value((*head, arm), [*rewards, 0]) for arm, share in enumerate(p) if share > 0)
            assert before * (1 - 1e-7) <= mean <= before * (1 + 1e-9)


def down(choose):
    """Return `make` of a `Case` for a rule `choose(rng, seen, row, open_arms)`, which draws among available arms."""

    def make(rng, n_logs, rows, bent=False):
        available = some_down(rng, rows)

        def chosen(rng, seen, row):
            open_arms = np.flatnonzero(available[row])
            few = Seen(seen.counts[:, open_arms], seen.sums[:, open_arms], seen.squares[:, open_arms])
            return open_arms[choose(rng, few, row, open_arms)] if open_arms.size > 1 else np.full(n_logs, open_arms[0])

        arms, rewards, _ = play(rng, n_logs, rows, 3, chosen, flips(RATES))
        return [{"arms": a, "rewards": r, "available": available} for a, r in zip(arms, rewards, strict=True)]

    return make


def drawn(rng, seen):
    return rng.beta(1 + seen.sums, 1 + seen.counts - seen.sums)


def by_law(law):
    """Return `make` of a `Case` for an agent that draws by `law(p, row)`, p its probabilities of being best."""
    return down(lambda rng, seen, row, arms: draw(rng, law(best(1 + seen.sums, 1 + seen.counts - seen.sums), row)))


@down
def by_scores(rng, seen, row, arms):
    return (drawn(rng, seen) * np.array([1.0, 2.0, 1.0])[arms] - np.array([0.0, 0.4, 0.1])[arms]).argmax(1)


@down
def held_out(rng, seen, row, arms):
    chosen = drawn(rng, seen).argmax(1)
    return np.where((rng.random(chosen.size) < 0.1) & (0 in arms), 0, chosen)


@down
def controlled(rng, seen, row, arms):
    values = drawn(rng, seen)
    if 0 not in arms:
        return values.argmax(1)
    values[:, 0] = -1
    return np.where(rng.random(len(values)) < 0.4, 0, values.argmax(1))


def by_contexts(agent, n_arms, **options):
    """Return `make` of a `Case` for an agent with contexts of three features."""

    def make(rng, n_logs, rows, bent=False):
        found = []
        for _ in range(n_logs):
            shape = (rows, n_arms, 3) if agent is play_shared else (rows, 3)
            x, available = rng.normal(size=shape), some_down(rng, rows, n_arms)
            theta = rng.normal(size=3 if agent is play_shared else (n_arms, 3))
            arms, rewards = agent(rng, x, theta, available=available, **options)
            found.append({"arms": arms, "rewards": rewards, "available": available, "contexts": x})
        return found

    return make


CLAIMS = {
    "top-two": (by_law(lambda p, row: top_two(p, 0.6)), feint.TopTwoThompson(0.6)),
    "scored": (by_scores, feint.ScoredThompson([1, 2, 1], [0, 0.4, 0.1])),
    "tempered": (by_law(lambda p, row: tempered(p, 0.5)), feint.Tempered(Sampling(), 0.5)),
    "tempered by n/250": (by_law(lambda p, row: tempered(p, row / 250)), feint.Tempered(Sampling(), "n/250")),
    "holdout": (held_out, feint.Holdout(Sampling(), 0, 0.1)),
    "control share": (controlled, feint.ControlShare(Sampling(), 0, 0.4)),
}
WITH_CONTEXTS = {
    "linear": (3, play_linear, {"sigma": 0.8}, feint.LinearThompsonSampling(1.0, 0.8)),
    "logistic": (3, play_logistic, {"batch": 25}, feint.LogisticThompsonSampling()),
    "shared by 3": (3, play_shared, {}, feint.LinearThompsonSampling(shared=True)),
    "shared by 5": (5, play_shared, {}, feint.LinearThompsonSampling(shared=True)),
}
ALL_UP = {"available": None}
CASES = {
    name: Case(make, BETA | {"reference": reference}, "all arms available", ALL_UP)
    for name, (make, reference) in CLAIMS.items()
} | {
    name: Case(
        by_contexts(agent, n_arms, **options),
        {"initial_round": False, "n_arms": n_arms, "reference": reference, "batch": options.get("batch", 1)},
        "all arms available",
        ALL_UP,
    )
    for name, (n_arms, agent, options, reference) in WITH_CONTEXTS.items()
}


@pytest.mark.parametrize("name", CASES)
def test_honest_logs_pass_and_all_arms_available_does_not(name):
    check_rates(CASES[name], n_logs=20, most=8)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_thousand_honest_logs(name):
    rejected = np.isfinite(first_rejections(CASES[name], np.random.default_rng(10), 1000, 500)).sum()
    print(f"{name}: {rejected} of 1,000 rejected")
    assert rejected <= 50


def test_features_of_an_arm_that_is_down_may_be_missing():
    make = CASES["shared by 3"]
    log = make.make(np.random.default_rng(5), 1, 200)[0]
    log["available"][np.arange(200), log["arms"]] = True
    options = make.claim | {"available": log["available"], "explain": False}
    whole = feint.audit(log["arms"], log["rewards"], contexts=log["contexts"], **options)
    few = np.where(log["available"][:, :, None], log["contexts"], np.nan)
    assert feint.audit(log["arms"], log["rewards"], contexts=few, **options).log_e_value == whole.log_e_value
    few[7, log["arms"][7], 1] = np.nan
    with pytest.raises(ValueError, match=r"row 8: number \d of the context is missing"):
        feint.audit(log["arms"], log["rewards"], contexts=few, **options)


def test_an_arm_that_is_alone_is_tested_without_a_posterior():
    for reference, more in (
        (Sampling(), {}),
        (feint.LinearThompsonSampling(np.inf), {"contexts": np.ones((4, 1))}),
    ):
        options = {"reference": reference, "initial_round": False, "n_arms": 3, "explain": False, **more}
        assert feint.audit([1] * 4, np.ones(4), available=["1"] * 4, **options).tested == 4
        refuted = feint.audit([1, 1, 0, 1], np.ones(4), available=["1"] * 4, **options)
        assert refuted.impossible._asdict() == {"row": 3, "arm": 0, "pulls": 1}


def test_controls_inside_each_other():
    """Where only the two controls are available, the inner reference is not asked for any arm."""
    inner = feint.ControlShare(Sampling(PRIORS), 0, 0.3)
    options = {
        "reference": feint.ControlShare(inner, 0, 0.4),
        "explain": False,
        "n_arms": 5,
        "family": feint.Bernoulli(),
        "initial_round": False,
    }
    report = feint.audit([0, 1, 1], np.ones(3), available=["0 1"] * 3, **options)
    np.testing.assert_allclose([arm.expected for arm in report.arms], [1.2, 1.8, 0, 0, 0], rtol=1e-12)


class Even:
    """One's own reference that says what it is for some arms."""

    def log_probabilities(self, view):
        return np.full(len(view.pulls), -np.log(len(view.pulls)))

    def among(self, arms):
        return self


@pytest.mark.parametrize(
    ("reference", "sentence"),
    [
        (feint.Holdout(Even(), 0, 0.1), "Holdout cannot be recomputed where only some arms are available"),
        (Clipped(Sampling(), 0.1, 0.4), "Where only 2 arms are available: `high` is 0.4, with which 2 arms cannot sum"),
    ],
    ids=["one's own inside", "a limit that two arms cannot keep"],
)
def test_what_cannot_be_among_some_arms_is_refused(reference, sentence):
    with pytest.raises(ValueError, match=sentence):
        feint.audit([0, 1, 0], np.ones(3), reference=reference, available=["0 1"] * 3, **{**BETA, "n_arms": 4})


@pytest.mark.parametrize(("rule", "option"), [(held_out, "holdout"), (controlled, "control-share")])
def test_shares_of_an_arm_that_comes_and_goes_are_found(rule, option):
    """At least nine of ten logs that are claimed to be plain sampling are given the claim that is true of them."""
    named = 0
    for log in rule(np.random.default_rng(8), 10, 3000):
        report = feint.audit(log["arms"], log["rewards"], available=log["available"], **BETA)
        named += report.rejected and any(option in found.option for found in report.diagnosis.explanations)
    assert named >= 9


@pytest.mark.parametrize("reference", [feint.PermutedBlocks(4), feint.BiasedCoin(), feint.PlayTheWinner()])
def test_designs_are_refused(reference):
    """Their next draw depends on what all arms were given, so among some arms they say nothing."""
    with pytest.raises(ValueError, match=f"{type(reference).__name__} cannot be recomputed where only some arms"):
        feint.audit([0, 1], [1.0, 0.0], n_arms=2, reference=reference, available=["0 1", "0"])
