"""The event method is equal in law to the others, by enumeration where that is possible, otherwise by two samples."""

import math
from collections import defaultdict
from functools import cache

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import betaln

import feint
from cases import PAPER, instance
from feint.agent.assembly import assemble
from feint.agent.step import space, update
from feint.kernels import kernel
from feint.numerics.sequence import sequence, start_sequence
from feint.simulation.engine import event, event_region
from feint.simulation.engine.record import Records, Run
from feint.simulation.engine.region import region
from feint.simulation.engine.rewards import rewards_of
from feint.simulation.engine.walk import bridges, pull_many
from feint.simulation.engine.watch import NoObserver

FALSE_FAILURES = 1e-6  # of each comparison below, were the laws equal


# --- The walk alone --------------------------------------------------------------------------------------------------


@kernel
def _walk(rewards, known, box, n, ahead, draws, sums, out):
    for i in range(out.shape[0]):
        known.pulls[0] = 50
        known.public.sums[0] = sums[0]
        known.private.sums[0] = sums[1]
        left = pull_many(rewards, known, box, 0, n, ahead, draws)
        out[i, 0] = known.pulls[0] - 50
        out[i, 1] = 1.0 if left else 0.0
        out[i, 2] = known.public.sums[0]
        out[i, 3] = known.private.sums[0]


def walked(family, mean, half_widths, n, runs):
    """Return (pulls made, whether the region was left, both sums) of n pulls of an arm that was pulled 50 times."""
    bandit = feint.Bandit([mean, mean], [mean * 1.1, mean], family=family)
    _, known = assemble(2, bandit.families, feint.TopTwo(), feint.ThompsonSampling()).instantiate()
    box = region(2)
    for side, width in zip((box.public_box, box.private_box), half_widths, strict=True):
        side[:] = mean - width, mean + width, 50 + n
    draws = sequence()
    start_sequence(draws, np.uint64(7), np.uint64(0))
    out = np.empty((runs, 4))
    _walk(rewards_of(bandit, False, 0, 0), known, box, n, bridges(), draws, np.full(2, 50 * mean), out)
    return out


def stepped(draw, mean, half_widths, n, runs):
    """Return the same as `walked`, one pull after the other in NumPy."""
    rng = np.random.default_rng(8)
    sums = 50 * mean + np.stack([draw(rng, m, (runs, n)).cumsum(1) for m in (mean, mean * 1.1)])
    pulls = 50 + np.arange(1, n + 1)
    outside = np.zeros((runs, n), dtype=bool)
    for side, width in zip(sums, half_widths, strict=True):
        outside |= abs(side / pulls - mean) > width
    left = outside.any(1)
    last = np.where(left, outside.argmax(1), n - 1)
    rows = np.arange(runs)
    return np.stack([last + 1.0, left.astype(float), sums[0][rows, last], sums[1][rows, last]], 1)


WALKS = {
    "gaussian": (feint.Gaussian(1.0), 1.0, (0.06, 0.08), lambda rng, m, shape: rng.normal(m, 1.0, shape)),
    "bernoulli": (feint.Bernoulli(), 0.4, (0.035, 0.05), lambda rng, m, shape: rng.random(shape) < m),
    "poisson": (feint.Poisson(), 1.5, (0.09, 0.12), lambda rng, m, shape: rng.poisson(m, shape)),
}


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("name", WALKS)
def test_walks_leave_the_region_as_steps_do(name, n):
    """The lines are so near that most walks of 40 pulls pass one; there are 50,000 walks."""
    family, mean, widths, draw = WALKS[name]
    ours, theirs = walked(family, mean, widths, n, 50_000), stepped(draw, mean, widths, n, 50_000)
    if n == 40:
        assert 0.5 < theirs[:, 1].mean() < 0.995
    assert same_means(ours, theirs)
    for column in range(4):
        assert stats.ks_2samp(ours[:, column], theirs[:, column], method="asymp").pvalue > FALSE_FAILURES
    # Exits and where they happen belong together: their product tells.
    assert same_means(ours[:, :1] * ours[:, 2:], theirs[:, :1] * theirs[:, 2:])


def same_means(first, second):
    error = np.sqrt(first.var(0) / len(first) + second.var(0) / len(second))
    limit = stats.norm.isf(FALSE_FAILURES / 2)
    return bool((abs(first.mean(0) - second.mean(0)) <= limit * error + 1e-12).all())


def test_a_wide_region_is_not_left():
    out = walked(feint.Gaussian(1.0), 1.0, (10.0, 10.0), 10**12, 1000)
    assert (out[:, 1] == 0).all()
    z = (out[:, 2] - 50 - 1e12) / 1e6
    assert stats.kstest(z, "norm").pvalue > FALSE_FAILURES


# --- The law of a few steps, enumerated ------------------------------------------------------------------------------

START = {"pulls": (200, 12), "public": (160, 3), "private": (60, 8)}
EPSILON, STEPS = 0.02, 7
MEANS = (0.8, 0.3), (0.3, 0.6)


@cache
def beats(a, b, c, d):
    """Return P(Beta(a, b) > Beta(c, d)) for whole a, by its finite sum."""
    i = np.arange(a)
    return float(np.exp(betaln(c + i, b + d) - np.log(b + i) - betaln(1 + i, b) - betaln(c, d)).sum())


@cache
def boosted_to(p):
    """Return q ≥ p with KL(q, p) = ε."""
    if -math.log(p) <= EPSILON:
        return 1.0
    return brentq(lambda q: q * math.log(q / p) + (1 - q) * math.log((1 - q) / (1 - p)) - EPSILON, p, 1 - 1e-15)


def best(pulls, sums):
    arms = [(1 + s, 1 + n - s) for n, s in zip(pulls, sums, strict=True)]
    return beats(*arms[1], *arms[0])


def enumerated(shares):
    """Return {(pulls of arm 1, boosts of arm 1, both sums of arm 0): probability} after this many steps."""
    states = {(START["pulls"], START["public"], START["private"], (0, 0)): 1.0}
    for _ in range(STEPS):
        after = defaultdict(float)
        for (pulls, public, private, boosts), p in states.items():
            pi = best(pulls, public)
            for boosted, share in enumerate(shares(pulls, private, boosts)):
                q = boosted_to(pi) if boosted else 1.0 - boosted_to(1.0 - pi)
                for arm, chance in enumerate((1.0 - q, q)):
                    for x in (0, 1):
                        for y in (0, 1):
                            reward = abs(1 - x - MEANS[0][arm]) * abs(1 - y - MEANS[1][arm])
                            move = lambda t, k: tuple(v + (k if i == arm else 0) for i, v in enumerate(t))  # noqa: E731, B023
                            counted = tuple(b + (i == boosted) for i, b in enumerate(boosts))
                            key = move(pulls, 1), move(public, x), move(private, y), counted
                            after[key] += p * share * chance * reward
        states = after
    law = defaultdict(float)
    for (pulls, public, private, boosts), p in states.items():
        law[pulls[1], boosts[1], public[0], private[0]] += p
    return law


def top_two_shares(pulls, private, boosts):
    p = best(pulls, private)
    share = p * pulls[0] / (pulls[0] + pulls[1]) + (1 - p) * pulls[0] / (pulls[0] + pulls[1])
    return 1 - share, share


def in_turn(pulls, private, boosts):
    return (1.0, 0.0) if sum(boosts) % 2 else (0.0, 1.0)


@kernel
def _few_steps(run, box, between, state, t, t_end, out):
    for r in range(out.shape[0]):
        for a in range(2):
            run.known.pulls[a] = state[0, a]
            run.known.public.sums[a] = state[1, a]
            run.known.private.sums[a] = state[2, a]
            run.known.boosts[a] = 0
            update(run.known, a)
        start_sequence(between.draws, np.uint64(3), np.uint64(r))
        between.now[:] = 0.0
        between.now[event_region.IS_CALM] = 1.0
        between.now[event_region.BETWEEN] = 1.0  # a region of 1.6 successes, 7 pulls long
        event._advance(run, box, between, 0, t, 0, t_end, -1)
        out[r, 0] = run.known.pulls[1]
        out[r, 1] = run.known.boosts[1]
        out[r, 2] = run.known.public.sums[0]
        out[r, 3] = run.known.private.sums[0]


def few_steps(explorer, runs):
    bandit = feint.Bandit(*MEANS, family=feint.Bernoulli())
    problem, known = assemble(2, bandit.families, explorer, feint.ThompsonSampling()).instantiate()
    t = sum(START["pulls"])
    shape = 1, 1, 2
    records = Records(
        np.array([t + STEPS]),
        np.empty(shape, dtype=np.int64),
        np.empty(shape, dtype=np.int64),
        np.empty((1, 1)),
        np.empty((1, 1), dtype=np.int64),
        np.empty(1),
    )
    problem = problem._replace(budget=feint.budgets.Constant(EPSILON).kernel())
    run = Run(problem, rewards_of(bandit, False, 0, 0), known, space(2), records, NoObserver(), np.array([1]), 0.0)
    between, out = event_region.events(2), np.empty((runs, 4))
    state = np.array([START["pulls"], START["public"], START["private"]])
    _few_steps(run, region(2), between, state, t, t + STEPS, out)
    assert 0 < between.now[event_region.RATE] < event_region.CALM  # otherwise no region has been tried
    return out


@pytest.mark.slow  # since each compiles kernels of its own
@pytest.mark.parametrize(
    ("explorer", "shares"),
    [(feint.TopTwo(), top_two_shares), (feint.RoundRobin([1, 0]), in_turn)],
    ids=["drawn", "fixed"],
)
def test_a_few_steps_have_the_enumerated_law(explorer, shares):
    """Pearson's test of 40,000 runs from one state of a Bernoulli bandit, in a region whose lines are often passed."""
    runs = 40_000
    law = enumerated(shares)
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-12)
    keys, counts = np.unique(few_steps(explorer, runs), axis=0, return_counts=True)
    found = {tuple(int(v) for v in key): count for key, count in zip(keys, counts, strict=True)}
    assert set(found) <= set(law)
    large = [key for key, p in law.items() if p * runs >= 10]
    expected = np.array([law[key] * runs for key in large])
    observed = np.array([found.get(key, 0) for key in large])
    rest = runs - observed.sum(), runs - expected.sum()
    statistic = ((observed - expected) ** 2 / expected).sum() + (rest[0] - rest[1]) ** 2 / rest[1]
    assert len(large) > 20
    assert stats.chi2.sf(statistic, len(large)) > FALSE_FAILURES


# --- Whole runs, two samples -----------------------------------------------------------------------------------------


def samples_agree(bandit, explorer, epsilon, horizon, runs, delta=None, reference=None):
    """Compare pulls, boosts, log error and stopping times of the event and the lazy method, at different seeds."""
    settings = {
        "epsilon": epsilon,
        "horizon": horizon,
        "replications": runs,
        "delta": delta,
        "reference": reference or feint.ThompsonSampling(),
        "checkpoints": [horizon // 10, horizon],
    }
    ours = feint.simulate(bandit, explorer, seed=1, method="event", **settings)
    theirs = feint.simulate(bandit, explorer, seed=2, method="lazy", **settings)
    columns = []
    for data in (ours, theirs):
        found = [data[name].values.reshape(runs, -1) for name in ("pulls", "boosts", "log_error")]
        if delta is not None:
            found.append(data.stopping_time.fillna(2.0 * horizon).values[:, None])
        columns.append(np.hstack(found))
    assert same_means(*columns), (columns[0].mean(0), columns[1].mean(0))
    for first, second in zip(columns[0].T, columns[1].T, strict=True):
        assert stats.ks_2samp(first, second, method="asymp").pvalue > FALSE_FAILURES


@pytest.mark.slow
def test_whole_runs_agree():
    samples_agree(PAPER, feint.TopTwo(), 0.1, 3000, 500, delta=1e-6)


@pytest.mark.slow
def test_whole_runs_agree_for_clicks():
    samples_agree(instance("bernoulli"), feint.RoundRobin([1, 2, 3]), 0.05, 2000, 200)


NEAR = feint.Bandit([0.6, 0.5, 0.4], [0.2, 0.5, 0.1])
BOTH = feint.Bandit([0.6, 0.3, 0.0], [0.5, 0.3, 0.1])
CASES = {
    "paper": (PAPER, feint.TopTwo(), 0.1, 30_000, 4000, 1e-12),
    "paper, small budget": (PAPER, feint.TopTwo(), 0.005, 30_000, 4000, 1e-3),
    "paper, large budget": (PAPER, feint.TopTwo(), 1.0, 20_000, 3000, 1e-30),
    "transport": (PAPER, feint.TopTwoTransport(), 0.1, 30_000, 4000, 1e-12),
    "in turn": (PAPER, feint.RoundRobin([1, 2, 3]), 0.1, 30_000, 4000, 1e-12),
    "fixed shares": (PAPER, feint.FixedBoosting([0.1, 0.3, 0.4, 0.2]), 0.1, 30_000, 4000, 1e-12),
    "near": (NEAR, feint.TopTwo(), 0.1, 20_000, 3000, 1e-9),
    "the same best arm": (BOTH, feint.TopTwo(), 0.1, 30_000, 4000, 1e-12),
    "falling budget": (PAPER, feint.TopTwo(), feint.PowerLaw(1.0, 0.5), 30_000, 4000, 1e-9),
    "a total": (PAPER, feint.TopTwoTransport(), feint.TotalBudget(300.0, 10_000), 30_000, 4000, 1e-9),
    "clicks": (instance("bernoulli"), feint.TopTwo(), 0.1, 10_000, 2500, 1e-9),
    "counts": (instance("poisson"), feint.TopTwo(), 0.1, 10_000, 2500, 1e-9),
    "clicks and revenue": (instance("clicks and revenue"), feint.TopTwo(), 0.1, 10_000, 2500, 1e-3),
    "two noises": (instance("two noises"), feint.TopTwoTransport(), 0.1, 20_000, 3000, 1e-3),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_whole_runs_agree_everywhere(name):
    """2,500 to 4,000 runs a side: means of pulls and boosts have standard errors of 0.2 to 0.5 %, so that 2 % shows."""
    samples_agree(*CASES[name])


@pytest.mark.slow
def test_whole_runs_agree_with_a_prior():
    prior = feint.ThompsonSampling(prior=(0.5, 0.2))
    samples_agree(PAPER, feint.TopTwo(), 0.1, 20_000, 3000, 1e-9, prior)


# --- What holds of every method --------------------------------------------------------------------------------------


def test_threads_shards_and_pieces_do_not_matter(monkeypatch):
    settings = {"epsilon": 0.1, "horizon": 300_000, "method": "event", "seed": 5}
    runs = feint.simulate(PAPER, replications=6, **settings)
    monkeypatch.setattr("feint.simulation.engine.replications._EVENTS_PER_PIECE", 37)
    monkeypatch.setattr("feint.simulation.engine.replications.thread_count", lambda: 1)
    again = [feint.simulate(PAPER, replications=range(first, first + 2), **settings) for first in (0, 2, 4)]
    for name in runs.data_vars:
        assert np.array_equal(runs[name], np.concatenate([part[name] for part in again]))
    block = feint.simulate(PAPER, replications=200, epsilon=0.1, horizon=1000, method="event", seed=5)
    alone = feint.simulate(PAPER, replications=range(150, 151), epsilon=0.1, horizon=1000, method="event", seed=5)
    assert np.array_equal(block.pulls[150], alone.pulls[0])


def test_counts_add_up():
    """Counts add up at a horizon that no other method reaches."""
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=10**8, replications=2, method="event")
    assert (runs.pulls.sum("arm") == runs.time).all()
    assert (runs.boosts.sum("arm") == runs.time - 4).all()
    assert (runs.pulls.diff("time") >= 0).all()


def test_stops():
    runs = feint.simulate(PAPER, epsilon=0.1, horizon=10**7, replications=4, delta=1e-30, method="event")
    assert (runs.stopping_time < 10**7).all()
    assert (runs.log_error[:, -1] <= math.log(1e-30)).all()


class Growing:
    def at(self, t):
        return 0.01 * t


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"observe": True}, "observe"),
        ({"explorer": feint.Tracking()}, "Tracking"),
        ({"reference": feint.Softmax(0.1)}, "Softmax"),
        ({"reference": feint.ObservedUCB()}, "ObservedUCB"),
        ({"epsilon": Growing()}, "grow"),
        ({"epsilon": feint.RisingBudget(10.0, 100)}, "grow"),
        ({"bandit": instance("exponential")}, "Exponential"),
        ({"bandit": instance("bernoulli"), "horizon": 10**10}, "1,000,000,000 pulls"),
    ],
)
def test_what_it_cannot_do_is_refused(changes, word):
    settings = {"bandit": PAPER, "epsilon": 0.1, "horizon": 100, "method": "event"} | changes
    with pytest.raises(ValueError, match=word):
        feint.simulate(**settings)
