"""`diagnose` names planted departures, with their arms and rows."""

import math
import re
import tracemalloc

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import feint
from feint.auditing.diagnosis import UNCLEAR, Alternative, diagnose, expert_evidence, expert_families
from feint.auditing.diagnosis.alternatives import rows_looked_at
from feint.auditing.diagnosis.pulls import read_pulls
from feint.numerics import boost, boost_probability
from planted_logs import CLAIM, View, check_named, draw, others, play, recompute

MEANS = {
    2: (True, [0.5, 0.56]),
    4: (False, [0.3, 0.15, 0.0, 0.2]),
    10: (True, [0.5, 0.42, 0.45, 0.4, 0.3, 0.47, 0.35, 0.45, 0.4, 0.38]),
}
WORSE, SECOND = {2: 0, 4: 1, 10: 1}, {2: 0, 4: 3, 10: 5}  # arms of these instances
# With two arms a large boost of the worse one soon makes it sure, and an agent that pulls one arm for ever is explained
# as well by that arm's share, by greed or by repetition: nobody could tell.
BOOST = {2: 0.03, 4: 0.1, 10: 0.1}
SEED = 11
ROWS = {2: 12_000, 4: 3_000, 10: 3_000}  # of a log; with two arms departures differ least
LONGER = {("too random by a mixture", 10): 6_000, ("contextual, too greedy", 10): 6_000}
# An agent that has settled says nothing more: late by 10 rows or in batches of 20 stay 5 nats apart, with which the
# likeliest name is wrong in 7 of 100 logs, however long they are. Two equal arms never settle.
UNSETTLED = {("10 rows late", 2): [0.5, 0.5]}
LOGS = {("10 rows late", 2): 240}  # so that about a hundred are rejected


def one_arm(arm, epsilon):
    return lambda pi, t, before, pulls: boost(pi, arm, epsilon)


def in_turn(arms, epsilon):
    def bend(pi, t, before, pulls):
        weights = 1 / (1 + pulls[:, arms])
        weights /= weights.sum(1, keepdims=True)
        return sum(weights[:, i : i + 1] * boost(pi, a, epsilon) for i, a in enumerate(arms))

    return bend


def share(arm, tilt, since=0):
    def bend(pi, t, before, pulls):
        odds = pi.copy()
        odds[:, arm] *= math.exp(tilt * (t >= since))
        return odds / odds.sum(1, keepdims=True)

    return bend


def repeats(weight):
    def bend(pi, t, before, pulls):
        return pi if before is None else (1 - weight) * pi + weight * np.eye(pi.shape[1])[before]

    return bend


def avoids(factor):
    def bend(pi, t, before, pulls):
        return pi if before is None else pi * np.where(np.eye(pi.shape[1])[before] > 0, factor, 1.0)

    return bend


def power(tau):
    return lambda pi, t, before, pulls: pi**tau / (pi**tau).sum(1, keepdims=True)


def uniform(weight):
    return lambda pi, t, before, pulls: (1 - weight) * pi + weight / pi.shape[1]


# name: (kind, how the agent bends its probabilities, what its posteriors hold, whether the caller offers alternatives)
PLANTED = {
    "one arm boosted": ("boosted", lambda n: one_arm(WORSE[n], BOOST[n]), CLAIM, False),
    "one arm boosted, alternatives": ("boosted", lambda n: one_arm(WORSE[n], BOOST[n]), CLAIM, True),
    "two arms boosted in turn": ("boosted", lambda n: in_turn([0, n - 2] if n > 2 else [0, 1], 0.1), CLAIM, False),
    "all arms boosted in turn": ("boosted", lambda n: in_turn(list(range(n)), 0.2), CLAIM, False),
    "too often": ("share", lambda n: share(SECOND[n], 1.5), CLAIM, False),
    "too rarely": ("share", lambda n: share(SECOND[n], -1.5), CLAIM, False),
    "too often from row 1,000 on": ("share", lambda n: share(SECOND[n], 2.0, 1000), CLAIM, False),
    "repeats": ("repeats", lambda n: repeats(0.2), CLAIM, False),
    "avoids": ("alternation", lambda n: avoids(0.4), CLAIM, False),
    "too greedy": ("too greedy", lambda n: power(1.6), CLAIM, False),
    "too random by a power": ("too random", lambda n: power(0.3 if n == 2 else 0.5), CLAIM, False),
    "too random by a mixture": ("too random", lambda n: uniform(0.1), CLAIM, False),
    "batches, no alternatives": ("another row", None, View(batch=100), False),
    "50 rows late, no alternatives": ("another row", None, View(late=50), False),
    "10 rows late": ("late", None, View(late=10), True),
    "50 rows late": ("late", None, View(late=50), True),
    "batches of 20": ("batched", None, View(batch=20), True),
    "batches of 100": ("batched", None, View(batch=100), True),
    "discounted": ("discount", None, View(discount=0.99), True),
    "other sigma": ("sigma", None, View(sigma=2.0), True),
    "other prior": ("prior", None, View(prior=(10, 10), prior_sd=0.1), True),
}
UNPLANTED = {("other sigma", 2), ("other sigma", 10), ("other prior", 2)}  # no sigma, and too weak to be rejected
# Logs whose probabilities do not come from rewards: a contextual policy, or the same in every row.
# name: (kind, probabilities, shift of the rows that were used, how they were bent)
GIVEN = {
    "contextual, one row before": ("another row", "contextual", 1, None),
    "contextual, boosted": ("boosted", "contextual", 0, lambda n: one_arm(1, 0.1)),
    "contextual, too often": ("share", "contextual", 0, lambda n: share(1, 1.2)),
    "contextual, repeats": ("repeats", "contextual", 0, lambda n: repeats(0.4)),
    "contextual, too greedy": ("too greedy", "contextual", 0, lambda n: power(1.6)),
    "contextual, too random": ("too random", "contextual", 0, lambda n: uniform(0.3)),
    "constant, too often": ("share", "constant", 0, lambda n: share(1, 0.6)),
    "constant, two too often": ("share", "constant", 0, lambda n: in_turn([0, n - 1], 0.1)),
    "constant, repeats": ("repeats", "constant", 0, lambda n: repeats(0.5)),
}


def diagnosed(arms, log_pi, alternatives=()):
    """Return the diagnosis of a rejected log, or None."""
    report = feint.audit(arms, probabilities=np.exp(log_pi))
    if report.rejected_at is None:
        return None
    rows = np.arange(1, arms.size + 1)
    for limit in rows_looked_at(report.rejected_at, log_pi.shape[1]):
        shown = slice(0, limit)
        rest = [Alternative(kind, words, table[shown]) for kind, words, table in alternatives]
        found = diagnose(arms[shown], log_pi[shown], rows[shown], [f"<{a}>" for a in range(log_pi.shape[1])], rest)
        if found.is_settled or limit > arms.size:
            break
    return found


def run(seed, name, n_arms, n_logs):
    """Return the diagnoses of those of `n_logs` logs that are rejected."""
    rng = np.random.default_rng([seed, n_arms])
    _, bend, view, offers = PLANTED[name]
    binary, means = MEANS[n_arms]
    means, rows = UNSETTLED.get((name, n_arms), means), LONGER.get((name, n_arms), ROWS[n_arms])
    extra = {} if bend is None else {"bend": bend(n_arms)}
    found = []
    for arms, rewards in zip(*play(rng, n_logs, rows, means, binary=binary, view=view, **extra), strict=True):
        claimed = recompute(arms, rewards, n_arms, binary=binary)
        rest = [
            (kind, words, recompute(arms, rewards, n_arms, binary=binary, view=other))
            for kind, words, other in (others(binary) if offers else ())
        ]
        found.append(diagnosed(arms, claimed, rest))
    return [diagnosis for diagnosis in found if diagnosis is not None]


def run_given(seed, name, n_arms, n_logs):
    rows = LONGER.get((name, n_arms), 2_000)
    rng = np.random.default_rng([seed, n_arms, 1])
    _, claim, shift, bend = GIVEN[name]
    concentrations = np.linspace(0.5, 2.0, n_arms)
    tables = rng.dirichlet(concentrations, (n_logs, rows))
    if claim == "constant":
        tables[:] = (concentrations + 1) / (concentrations + 1).sum()
    used, pulls, before = np.roll(tables, shift, axis=1), np.zeros((n_logs, n_arms)), None
    arms = np.empty((n_logs, rows), dtype=np.int64)
    for t in range(rows):
        before = draw(rng, bend(n_arms)(used[:, t], t, before, pulls) if bend else used[:, t])
        arms[:, t] = before
        pulls[np.arange(n_logs), before] += 1
    found = [diagnosed(chosen, np.log(table)) for chosen, table in zip(arms, tables, strict=True)]
    return [diagnosis for diagnosis in found if diagnosis is not None]


def check(name, n_arms, n_logs, fewest):
    """Ask that half of the logs (at most 50) or more are rejected, and that their kind is named."""
    found = (run if name in PLANTED else run_given)(SEED, name, n_arms, n_logs)
    assert len(found) >= min(n_logs, 100) / 2
    check_named(f"{name}, {n_arms} arms", (PLANTED | GIVEN)[name][0], found, fewest)


def nearly_95_percent(n):
    """Return the number that a rate of 95 % falls short of once in a million."""
    return stats.binom.ppf(1e-6, n, 0.95)


class TestNames:
    @pytest.mark.parametrize("name", [next(iter(GIVEN))])
    def test_a_few_logs(self, name):
        check(name, 4, 12, nearly_95_percent)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_arms", [4, 2, 10])
    @pytest.mark.parametrize("name", [*PLANTED, *GIVEN])
    def test_a_hundred_logs(self, name, n_arms):
        if (name, n_arms) in UNPLANTED:
            pytest.skip("nothing planted")
        check(name, n_arms, LOGS.get((name, n_arms), 100), lambda n: 0.95 * n)

    @pytest.mark.parametrize("n_arms", [2, 4])
    def test_honest_logs_are_unclear(self, n_arms):
        rng = np.random.default_rng(SEED)
        for _ in range(10):
            pi = rng.dirichlet(np.ones(n_arms), 1000)
            found = diagnose(draw(rng, pi), np.log(pi), np.arange(1000), range(n_arms))
            # The mean of all kinds' evidence is an e-value but for the experts that are refined.
            assert found.kind == UNCLEAR
            assert found.explanations[0].log_gain < math.log(20)

    def test_more_rows_do_not_unsay_what_was_clear(self):
        """Of 60,034 rows the first 34 depart from the claim: in 12,000 rows that is clear, in 48,000 it is not."""
        arms = np.r_[np.zeros(34, int), np.random.default_rng(1).integers(2, size=60_000)]
        report = feint.audit(arms, reference=feint.Split(), n_arms=2)
        assert (report.diagnosis.kind, report.diagnosis.rows) == ("share", 12_000)
        assert diagnose(arms[:48_000], np.full((48_000, 2), np.log(0.5)), np.arange(48_000), "ab").kind == UNCLEAR

    def test_rows_that_are_looked_at(self):
        assert rows_looked_at(20, 2) == [12_000, 24_000, 48_000]
        assert rows_looked_at(10_000, 2) == [40_000]
        assert rows_looked_at(20, 4) == [6_000, 12_000, 24_000]
        assert rows_looked_at(20, 1_000) == [2_000]  # 2 million probabilities are the most
        assert rows_looked_at(10**9, 4) == [500_000]

    @pytest.mark.slow
    def test_what_the_words_say(self):
        found = run(SEED, "one arm boosted", 4, 6)
        assert sum(re.match(r"arm <1> boosted, ε ≈ 0\.\d", diagnosis.words) is not None for diagnosis in found) >= 5
        assert sum(diagnosis.explanations[0].arms == (1,) for diagnosis in found) >= 5
        found = run(SEED, "two arms boosted in turn", 10, 6)
        assert sum("arms <0> and <8> boosted in turn" in diagnosis.words for diagnosis in found) >= 5
        found = run(SEED, "too rarely", 4, 6)
        assert sum("arm <3> pulled too rarely" in diagnosis.words for diagnosis in found) >= 5
        found = run_given(SEED, "contextual, one row before", 4, 6)
        assert {diagnosis.words for diagnosis in found} == {"each pull fits the probabilities one row before its own"}
        found = run(SEED, "50 rows late", 4, 6)
        assert {diagnosis.words for diagnosis in found} == {"rewards known 50 rows late"}


def contextual_log(rng, rows, n_arms, bend, stretch):
    """Return a log that is bent between two rows."""
    pi = rng.dirichlet(np.ones(n_arms), rows)
    used = pi.copy()
    used[stretch] = bend(pi[stretch], 0, None, None)
    return draw(rng, used), pi


class TestRows:
    def test_since_a_row(self):
        rng = np.random.default_rng(3)
        for _ in range(10):
            arms, pi = contextual_log(rng, 3000, 4, share(2, 1.0), slice(1200, None))
            best = diagnose(arms, np.log(pi), 101 + np.arange(3000), "abcd").explanations[0]
            # The mean is 0.1 nats per row; a chance excursion of 15 nats (150 rows) comes less than once in 10⁶ logs.
            assert abs(best.first_row - 1301) < 150
            assert best.last_row > 3100 - 150
            assert best.words == f"arm c pulled too often from row {best.first_row} on"

    def test_between_rows(self):
        rng = np.random.default_rng(4)
        for _ in range(10):
            arms, pi = contextual_log(rng, 3000, 4, one_arm(0, 0.1), slice(1000, 2000))
            best = diagnose(arms, np.log(pi), 1 + np.arange(3000), "abcd").explanations[0]
            assert best.kind == "boosted"
            assert abs(best.first_row - 1001) < 150
            assert abs(best.last_row - 2000) < 150
            assert f"from row {best.first_row} to row {best.last_row}" in best.words

    def test_the_whole_log_needs_no_rows_in_words(self):
        rng = np.random.default_rng(5)
        arms, pi = contextual_log(rng, 3000, 4, share(2, 1.0), slice(None))
        found = diagnose(arms, np.log(pi), 1 + np.arange(3000), "abcd")
        assert found.words == "arm c pulled too often"
        assert found.rows == 3000


class TestExperts:
    def test_every_expert_is_a_distribution(self):
        """Σ_a π(a)·exp ℓ(a) = 1 in the last row, whatever was pulled before, for every family and size."""
        rng = np.random.default_rng(6)
        pi = rng.dirichlet([1.0, 0.5, 2.0, 1.0], 60)
        arms = draw(rng, pi)
        other = [Alternative("late", "w", np.log(rng.dirichlet(np.ones(4), 60)))]
        sums = {}
        for a in range(4):
            arms[-1] = a
            log = read_pulls(arms.copy(), np.log(pi), np.arange(60), "abcd")
            for i, family in enumerate(expert_families.expert_families(log, other)):
                # Pairs are chosen by excess, which the last pull moves; with 4 arms all are there.
                for label, k, log_ratios in family.grid():
                    key = (i, type(family).__name__, label, k)
                    sums[key] = sums.get(key, 0.0) + pi[-1, a] * math.exp(log_ratios[-1])
        assert len(sums) > 200
        for key, total in sums.items():
            assert total == pytest.approx(1, abs=1e-3), key

    @pytest.mark.parametrize("epsilon", [0.001, 0.03, 0.5, 1.0])
    def test_boosts_from_a_table(self, epsilon):
        odds = np.random.default_rng(7).normal(0, 8, 3000)
        log_p = -np.logaddexp(0, -odds)
        q = boost_probability(None, epsilon, log_p=log_p)
        chosen = np.ones(odds.size)
        boosts = expert_evidence.Boosts(epsilon)
        assert boosts(odds, chosen) == pytest.approx(np.log(1e-4 + 0.9999 * q / np.exp(log_p)), abs=2e-4)
        missed = 1e-4 + 0.9999 * (1 - q) * (1 + np.exp(odds))
        assert boosts(odds, 0 * chosen) == pytest.approx(np.log(missed), abs=5e-3)

    @pytest.mark.parametrize("size", [0.1, 30.0])
    def test_score_is_the_mean_over_stretches(self, size):
        log_ratios = np.random.default_rng(8).normal(0, size, 40)
        facts = np.empty(expert_evidence.N_FACTS)
        expert_evidence.score(log_ratios, facts)
        sums = np.append(0, log_ratios.cumsum())
        stretches = [(sums[e] - sums[s], s, e) for s in range(40) for e in range(s + 1, 41)]
        since = [sums[40] - sums[s] for s in range(40)]
        expected = np.logaddexp.reduce(
            [
                sums[-1] - math.log(2),
                logsumexp(since) - math.log(4 * len(since)),
                logsumexp([won for won, _, _ in stretches]) - math.log(4 * len(stretches)),
            ]
        )
        assert facts[expert_evidence.EVIDENCE] == pytest.approx(expected, rel=1e-10)
        won, first, end = max(stretches)
        assert facts[[expert_evidence.WON, expert_evidence.FIRST, expert_evidence.LAST]] == pytest.approx(
            [won, first, end - 1]
        )


class TestCall:
    @pytest.mark.parametrize("n_arms", [2, 5])
    def test_permuted_arms_permute_the_answer(self, n_arms):
        rng = np.random.default_rng(9)
        arms, pi = contextual_log(rng, 1500, n_arms, one_arm(1, 0.05), slice(None))
        place = np.roll(np.arange(n_arms), 1)  # arm a becomes place[a]
        permuted = np.empty_like(pi)
        permuted[:, place] = pi
        names = [f"arm-{a}" for a in range(n_arms)]
        moved = [names[place.tolist().index(a)] for a in range(n_arms)]
        found = diagnose(arms, np.log(pi), np.arange(1500), names).explanations
        again = diagnose(place[arms], np.log(permuted), np.arange(1500), moved).explanations
        assert [(e.kind, e.words, e.first_row, e.last_row) for e in found] == [
            (e.kind, e.words, e.first_row, e.last_row) for e in again
        ]
        assert [tuple(place[list(e.arms)]) for e in found] == [e.arms for e in again]
        assert [e.share for e in again] == pytest.approx([e.share for e in found])
        assert "arm-1" in found[0].words

    def test_shares_sum_to_1_and_sink(self):
        rng = np.random.default_rng(10)
        pi = rng.dirichlet(np.ones(3), 300)
        found = diagnose(draw(rng, pi), np.log(pi), np.arange(300), "abc").explanations
        shares = [e.share for e in found]
        assert shares == sorted(shares, reverse=True)
        assert min(shares) >= 0.01
        assert 0.9 < sum(shares) <= 1 + 1e-12

    def test_probabilities_of_0(self):
        rng = np.random.default_rng(11)
        pi = np.zeros((400, 3))
        pi[np.arange(400), rng.integers(0, 3, 400)] = 1.0
        pi = 0.5 * pi + 0.5 * np.roll(pi, 1, axis=1)
        arms = draw(rng, np.roll(pi, 1, axis=0))
        with np.errstate(divide="ignore"):
            found = diagnose(arms, np.log(pi), np.arange(400), "abc")
        assert found.kind == "another row"
        assert found.words == "each pull fits the probabilities one row before its own"

    def test_no_rows(self):
        found = diagnose(np.zeros(0, np.int64), np.zeros((0, 2)), np.zeros(0, np.int64), "ab")
        assert (found.kind, found.explanations, found.rows) == (UNCLEAR, (), 0)

    def test_memory_is_that_of_a_few_columns(self):
        rng = np.random.default_rng(12)
        pi = rng.dirichlet(np.ones(40), 4000)
        log_pi = np.log(pi)
        arms = draw(rng, pi)
        diagnose(arms[:50], log_pi[:50], np.arange(50), range(40))
        tracemalloc.start()
        diagnose(arms, log_pi, np.arange(4000), range(40))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 2 * log_pi.nbytes  # there are thousands of experts, each as long as a column

    def test_experts_grow_no_faster_than_arms(self):
        """Each expert goes through all rows, and pairs of 80 arms would be three thousand more experts."""
        rng = np.random.default_rng(13)
        counts = []
        for n_arms in (20, 40, 80):
            pi = rng.dirichlet(np.ones(n_arms), 50)
            log = read_pulls(draw(rng, pi), np.log(pi), np.arange(50), [str(a) for a in range(n_arms)])
            found = expert_families.expert_families(log, [])
            counts.append(sum(len(family.labels()) * family.SIZES.size for family in found))
        assert counts[0] < counts[1] < 2 * counts[0]
        assert counts[1] < counts[2] < 2 * counts[1]
