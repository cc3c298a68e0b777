"""Claims and the intervals behind them: verdicts, exact coverage, and levels measured under a simulated null."""

import math

import numpy as np
import pytest
from scipy import stats

from feint.cli.reproduce import claim_lines
from feint.experiments.claims_page import claims_page
from feint.experiments.findings import (
    KINDS,
    LEVEL,
    OURS,
    REFUTED,
    SHOWN,
    UNDECIDED,
    Finding,
    Point,
    at_every_point,
    count,
    count_lines,
)
from feint.support.intervals import (
    bootstrap,
    bounded_mean_interval,
    gappy_median_interval,
    median_interval,
    normal_interval,
    share_interval,
)


class TestVerdicts:
    @pytest.mark.parametrize(
        ("low", "high", "expected"),
        [
            (0.2, 0.8, SHOWN),
            (0.0, 1.0, SHOWN),
            (1.1, 2.0, REFUTED),
            (-2.0, -0.1, REFUTED),
            (0.5, 1.1, UNDECIDED),
            (-0.1, 0.5, UNDECIDED),
            (-1.0, 2.0, UNDECIDED),
            (-math.inf, math.inf, UNDECIDED),
        ],
    )
    def test_inside_outside_or_neither(self, low, high, expected):
        middle = 0.5 if math.isinf(low) else (low + high) / 2
        assert Finding("a", OURS, "q", middle, low, high, 0.0, 1.0).verdict == expected

    def test_one_sided(self):
        assert Finding("a", OURS, "q", 2.0, 1.0, 3.0, at_least=0.0).verdict == SHOWN
        assert Finding("a", OURS, "q", 2.0, 1.0, 3.0, at_most=0.0).verdict == REFUTED

    def test_a_claim_about_points_is_refuted_by_one_and_shown_by_all(self):
        inside, open_, outside = Point("in", 0.5, 0.4, 0.6), Point("open", 0.9, 0.7, 1.1), Point("out", 1.5, 1.2, 1.8)

        def found(*points):
            return at_every_point("a", OURS, "q", list(points), at_least=0.0, at_most=1.0)

        assert found(inside, inside).verdict == SHOWN
        assert found(inside, open_, inside).verdict == UNDECIDED
        assert "open" in found(open_, inside).quantity
        # A refuting point decides, though another is further from the range.
        wild = Point("wild", 9.0, -9.0, 30.0)
        assert found(inside, wild, outside).verdict == REFUTED
        assert "out" in found(inside, wild, outside).quantity

    def test_kinds_are_counted_apart(self):
        claims = [
            Finding("a", "the paper says", "q", 1.0, 1.0, 1.0, at_least=0.0),
            Finding("b", OURS, "q", 1.0, 1.0, 1.0, at_most=0.0, exploratory=True),
            Finding("c", "a theorem of the paper", "q", 1.0, 0.0, 2.0, at_most=1.0, theorem=True),
        ]
        paper, ours, theorems = KINDS
        assert count(claims, paper) == {SHOWN: 1, REFUTED: 0, UNDECIDED: 0}
        assert count(claims, ours) == {SHOWN: 0, REFUTED: 1, UNDECIDED: 0}
        assert count(claims, theorems) == {SHOWN: 0, REFUTED: 0, UNDECIDED: 1}
        assert len(count_lines(claims)) == 3
        page = claims_page({"x": claims}, "hand")
        assert r"| x | b \* | 1 |  | at most 0 | **refuted** |" in page
        assert page.index("| x | a |") < page.index("| x | b ") < page.index("| x | c |")
        assert any("b *" in line and "refuted" in line for line in claim_lines(claims))


class TestMedians:
    @pytest.mark.parametrize("n", [6, 20, 110, 111])
    def test_interval_covers_and_is_the_shortest(self, n):
        """Ranks k and n + 1 − k cover the median with probability P(k ≤ Bin(n, ½) ≤ n − k)."""
        median, low, high = median_interval(np.arange(n, 0, -1.0))
        assert median == (n + 1) / 2
        assert high == n + 1 - low

        def coverage(k):
            return stats.binom.cdf(n - k, n, 0.5) - stats.binom.cdf(k - 1, n, 0.5)

        assert coverage(low) >= 0.95 > coverage(low + 1)

    def test_never_is_later_than_every_time(self):
        times = np.array([3.0, math.nan, 1.0, 2.0, math.nan, 4.0, 5.0, 6.0])
        assert median_interval(times) == (4.5, 1.0, math.inf)
        assert median_interval(np.array([1.0, math.nan, math.nan]))[0] == math.inf
        assert median_interval(np.ones(3)) == (1.0, -math.inf, math.inf)

    def test_what_may_be_anything_counts_on_both_sides(self):
        values = np.concatenate([np.arange(1.0, 29.0), [math.nan, math.nan]])
        median, low, high = gappy_median_interval(values, 0.05)
        assert median == 14.5
        assert low == np.sort(np.where(np.isnan(values), -math.inf, values))[9]
        assert high == np.sort(np.where(np.isnan(values), math.inf, values))[20]


class TestLevels:
    """The chance of missing the truth, for each kind of interval that decides a claim."""

    @pytest.mark.parametrize("n", [11, 50, 100, 110, 130, 1000])
    @pytest.mark.parametrize("level", [LEVEL, LEVEL / 14, LEVEL / 32])
    def test_medians_exactly(self, n, level):
        """Whatever the law, the number of values below the median is Bin(n, ½)."""
        ordered = np.arange(1.0, n + 1)
        _, low, high = median_interval(ordered, level)
        if math.isinf(low):
            assert 2 * 0.5**n > level
        else:
            missed = stats.binom.cdf(low - 1, n, 0.5) + stats.binom.sf(high - 1, n, 0.5)
            assert missed <= level
            assert missed > level / 20  # and not for nothing

    def test_medians_of_skewed_values(self):
        """Lognormal with σ = 3, the skewness of pulls and more: 4 sds around the exact level."""
        rng = np.random.default_rng(0)
        n, trials, level = 20, 4_000, 0.02
        found = [median_interval(row, level) for row in rng.lognormal(0, 3, (trials, n))]
        missed = sum(not low <= 1.0 <= high for _, low, high in found)
        exact = 2 * stats.binom.cdf(stats.binom.ppf(level / 2, n, 0.5) - 1, n, 0.5)
        assert abs(missed - trials * exact) < 4 * math.sqrt(trials * exact)

    @pytest.mark.parametrize("n", [40, 110])
    def test_shares_exactly(self, n):
        """By enumeration over outcomes, at many true shares."""
        intervals = [share_interval(k, n, LEVEL)[1:] for k in range(n + 1)]
        for p in (1e-3, 0.01, 0.05, 0.2, 0.5, 0.77, 0.999):
            missed = sum(stats.binom.pmf(k, n, p) for k, (low, high) in enumerate(intervals) if not low <= p <= high)
            assert missed <= LEVEL

    @pytest.mark.parametrize("p", [0.002, 0.05, 0.5, 0.998])
    def test_bounded_means_exactly(self, p):
        """Coins are the hardest law; by enumeration over outcomes."""
        n = 300
        outcomes = [np.repeat([1.0, 0.0], [k, n - k]) for k in range(n + 1)]
        missed = 0.0
        for k, values in enumerate(outcomes):
            _, low, high = bounded_mean_interval(values, LEVEL)
            missed += 0.0 if low <= p <= high else stats.binom.pmf(k, n, p)
        assert missed <= LEVEL

    def test_bounded_means_are_kullback_leibler_balls(self):
        value, low, high = bounded_mean_interval(np.repeat([0.25, 0.75], 50), 0.05)
        assert value == 0.5
        for end in (low, high):
            divergence = 0.5 * math.log(0.5 / end) + 0.5 * math.log(0.5 / (1 - end))
            assert 100 * divergence == pytest.approx(math.log(40), rel=1e-9)

    @pytest.mark.slow
    def test_bootstraps(self):
        """Medians of a few skewed points, as in the planner's claim: at 1 %, 4 sds; 3,000 simulated nulls."""
        rng = np.random.default_rng(0)
        trials, level, missed = 3_000, 0.01, 0
        for _ in range(trials):
            value, error = bootstrap(lambda m: np.log(m).mean(0)[None], rng.lognormal(0, 0.5, (3, 110)))
            _, low, high = normal_interval(float(value[0]), float(error[0]), level)
            missed += not low <= 0 <= high
        assert missed < level * trials + 4 * math.sqrt(level * trials)


class TestPlanted:
    """Every kind of interval shows a planted truth and refutes a planted violation."""

    @pytest.mark.parametrize(("centre", "expected"), [(1.0, SHOWN), (1.2, REFUTED), (0.8, REFUTED), (1.05, UNDECIDED)])
    def test_medians(self, centre, expected):
        values = np.random.default_rng(0).normal(centre, 0.05, 100)
        assert Finding("a", OURS, "q", *median_interval(values, LEVEL), 0.95, 1.05).verdict == expected

    @pytest.mark.parametrize(("wrong", "expected"), [(10, SHOWN), (50, UNDECIDED), (200, REFUTED)])
    def test_shares(self, wrong, expected):
        assert Finding("a", OURS, "q", *share_interval(wrong, 1_000, LEVEL), at_most=0.05).verdict == expected

    @pytest.mark.parametrize(("power", "expected"), [(0.5, SHOWN), (0.6, UNDECIDED), (0.9, REFUTED)])
    def test_means(self, power, expected):
        values = np.random.default_rng(0).random(1_500) < power
        assert Finding("a", OURS, "q", *bounded_mean_interval(values, LEVEL), 0.38, 0.62).verdict == expected

    @pytest.mark.parametrize(("factor", "expected"), [(1.0, SHOWN), (1.25, UNDECIDED), (1.6, REFUTED), (0.6, REFUTED)])
    def test_bootstraps(self, factor, expected):
        times = factor * np.random.default_rng(0).lognormal(0, 0.5, (14, 110))
        value, error = bootstrap(lambda m: np.log(m).mean(0)[None], times)
        interval = normal_interval(float(value[0]), float(error[0]), LEVEL)
        assert Finding("a", OURS, "q", *interval, -math.log(1.25), math.log(1.25)).verdict == expected

    def test_more_data_decide_more(self):
        rng = np.random.default_rng(0)
        values = rng.normal(0.1, 1.0, 20_000)
        verdicts = [
            Finding("a", OURS, "q", *median_interval(values[:n], LEVEL), at_least=0.0).verdict for n in (20, 20_000)
        ]
        assert verdicts == [UNDECIDED, SHOWN]


def test_a_claim_is_one_line_of_80_columns():
    claims = [Finding("x" * 50, OURS, "q", -0.001234, -0.0012345, -0.0011111, at_most=0.0)]
    for line in claim_lines(claims):
        plain = line.replace("[green]", "").replace("[/]", "").replace("[bold]", "")
        assert len(plain) <= 80
