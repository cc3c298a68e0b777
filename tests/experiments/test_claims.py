"""Test the verdicts of claims, the exact coverage of their intervals, and levels measured under a simulated null."""

import math

import numpy as np
import pytest
from scipy import stats

from feint.cli.reproduce import claim_lines
from feint.experiments.claims_page import claims_page
from feint.experiments.findings import (
    KINDS,
    LEVEL,
    MEASURED,
    OURS,
    REFUTED,
    SHOWN,
    UNDECIDED,
    Finding,
    Point,
    at_every_point,
    count,
    count_lines,
    family_words,
)
from feint.support.intervals import (
    bounded_mean_interval,
    gappy_median_interval,
    median_interval,
    median_ratio_interval,
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
            Finding("a", "the paper says", "q", 1.0, 1.0, 1.0, at_least=0.0, level=0.0),
            Finding("b", OURS, "q", 1.0, 1.0, 1.0, at_most=0.0, changed=("abc1234", "def5678")),
            Finding("c", "a theorem of the paper", "q", 1.0, 0.0, 2.0, at_most=1.0, theorem=True),
        ]
        paper, ours, theorems, _ = KINDS
        assert count(claims, paper) == {SHOWN: 1, REFUTED: 0, UNDECIDED: 0}
        assert count(claims, ours) == {SHOWN: 0, REFUTED: 1, UNDECIDED: 0}
        assert count(claims, theorems) == {SHOWN: 0, REFUTED: 0, UNDECIDED: 1}
        assert len(count_lines(claims)) == 3
        page = claims_page({"x": claims}, "hand", 0)
        assert "| x | a | 1 |  | at least 0 | shown |" in page  # nothing is random
        assert r"| x | b \* | 1 | 1 … 1 | at most 0 | **refuted** |" in page
        assert r"- **b**: q. \* Changed after data had been seen: abc1234, def5678." in page
        assert page.index("| x | a |") < page.index("| x | b ") < page.index("| x | c |")
        assert any("b *" in line and "refuted" in line for line in claim_lines(claims))

    def test_a_number_without_a_range_is_measured_and_not_counted_as_a_claim(self):
        number = Finding("n", OURS, "q", 1.0, 0.5, 2.0)
        assert (number.verdict, number.kind, number.claimed) == (MEASURED, "measurements", "")
        claims = [Finding("a", OURS, "q", 1.0, 1.0, 1.0, at_least=0.0), number]
        assert count(claims, "ours") == {SHOWN: 1, REFUTED: 0, UNDECIDED: 0}
        assert count_lines(claims) == ["ours: 1 shown, 0 refuted, 0 undecided (of 1)", "measurements: 1"]
        assert "| x | n | 1 | 0.5 … 2 |\n" in claims_page({"x": claims}, "hand", 0)

    def test_the_rate_of_all_verdicts_together_is_said_once(self):
        """Two intervals rest on chance, at 0.1 % each, and one does not."""
        chance = Finding("a", OURS, "q", 1.0, 0.5, 2.0, at_least=0.0)
        sure = Finding("c", OURS, "q", 1.0, 1.0, 1.0, at_least=0.0, level=0.0)
        assert "2 × 0.1 % = 0.2 %" in family_words([chance, chance, sure])
        page = claims_page({"x": [chance, sure], "y": [chance]}, "hand", 0)
        assert page.count("2 × 0.1 % = 0.2 %") == 1
        assert "seed 0 had been seen" in page
        assert "No data of seed 27 had been seen" in claims_page({"x": [chance]}, "hand", 27)

    @pytest.mark.parametrize(("low", "high", "how"), [(-2.0, -1.0, "contradict"), (-1.0, 1.0, "do not decide")])
    def test_words_of_the_paper_that_are_not_shown_are_named_with_what_would_have_to_be_true(self, low, high, how):
        claim = Finding("x falls", "it gets smaller", "median fall", -0.5, low, high, at_least=0.0)
        for words in (f"These data {how}", "“it gets smaller”", "at least 0", "median fall", f"{low:g} … {high:g}"):
            assert words in claim.words_in_doubt
        page = claims_page({"x": [claim]}, "hand", 0)
        assert page.index("Where the paper's words are not shown") < page.index("“it gets smaller”")
        assert Finding("x falls", "it gets smaller", "median fall", 0.5, 0.2, 1.0, at_least=0.0).words_in_doubt == ""
        assert Finding("x falls", OURS, "median fall", -0.5, low, high, at_least=0.0).words_in_doubt == ""
        assert "Where the paper's words" not in claims_page({"x": []}, "hand", 0)


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
    """Measure the chance of missing the truth, for each kind of interval that decides a claim."""

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
        """The level is exact, by enumeration over outcomes, at many true shares."""
        intervals = [share_interval(k, n, LEVEL)[1:] for k in range(n + 1)]
        for p in (1e-3, 0.01, 0.05, 0.2, 0.5, 0.77, 0.999):
            missed = sum(stats.binom.pmf(k, n, p) for k, (low, high) in enumerate(intervals) if not low <= p <= high)
            assert missed <= LEVEL

    @pytest.mark.parametrize("p", [0.002, 0.05, 0.5, 0.998])
    def test_bounded_means_exactly(self, p):
        """The level is exact for coins, the hardest law, by enumeration over outcomes."""
        n = 300
        outcomes = [np.repeat([1.0, 0.0], [k, n - k]) for k in range(n + 1)]
        missed = 0.0
        for k, values in enumerate(outcomes):
            _, low, high = bounded_mean_interval(values, LEVEL)
            missed += 0.0 if low <= p <= high else stats.binom.pmf(k, n, p)
        assert missed <= LEVEL

    def test_bounded_means_are_the_shorter_of_two_intervals(self):
        """Few values: a ball of KL at level/2. Many that differ less than coins: Maurer and Pontil's theorem 4."""
        value, low, high = bounded_mean_interval(np.repeat([0.25, 0.75], 50), 0.05)
        assert value == 0.5
        for end in (low, high):
            divergence = 0.5 * math.log(0.5 / end) + 0.5 * math.log(0.5 / (1 - end))
            assert 100 * divergence == pytest.approx(math.log(80), rel=1e-9)
        n, log = 20_000, math.log(8 / 0.05)
        value, low, high = bounded_mean_interval(np.repeat([0.45, 0.55], n // 2), 0.05)
        half = math.sqrt(2 * (0.05**2 * n / (n - 1)) * log / n) + 7 * log / (3 * (n - 1))
        assert (low, high) == pytest.approx((0.5 - half, 0.5 + half), rel=1e-12)

    @pytest.mark.parametrize("n", [5, 12, 40])
    @pytest.mark.parametrize(
        "law", [stats.beta(0.05, 1.0), stats.beta(0.2, 5.0), stats.beta(1.0, 0.02)], ids=["rare", "small", "high"]
    )
    def test_bounded_means_of_skewed_values(self, n, law):
        """At 2 % and small n, 800 trials: the share of misses is above the level by less than 4 sds of the level."""
        level, trials = 0.02, 800
        rows = law.rvs((trials, n), random_state=0)
        missed = sum(not low <= law.mean() <= high for _, low, high in (bounded_mean_interval(x, level) for x in rows))
        assert missed <= trials * level + 4 * math.sqrt(trials * level)

    @pytest.mark.parametrize("n", [13, 31, 101])
    def test_ratios_of_medians_of_skewed_values(self, n):
        """Lognormal with σ = 3 over exponential; where the bootstrap missed with 0.6 % instead of 0.1 % (n = 31)."""
        rng, level, trials = np.random.default_rng(0), 0.02, 1_000
        above, below = rng.lognormal(0, 3, (trials, n)), rng.exponential(1 / math.log(2), (trials, n))
        found = [median_ratio_interval(a, b, level) for a, b in zip(above, below, strict=True)]
        missed = sum(not low <= 1.0 <= high for _, low, high in found)
        assert missed <= trials * level + 4 * math.sqrt(trials * level)
        assert all(low < value < high for value, low, high in found)

    def test_a_ratio_of_few_values_is_unbounded(self):
        assert median_ratio_interval(np.ones(4), np.full(4, 2.0), LEVEL) == (0.5, 0.0, math.inf)

    def test_medians_of_pooled_values_that_differ_in_law(self):
        """One law has 90 % below 1, the other 10 %; there are no more misses than for one law (Hoeffding 1956)."""
        rng, level, trials, n = np.random.default_rng(0), 0.02, 1_000, 15
        early = rng.exponential(1 / math.log(10), (trials, n))
        late = rng.lognormal(-3 * stats.norm.ppf(0.1), 3, (trials, n))
        found = [median_interval(row, level) for row in np.concatenate([early, late], 1)]
        missed = sum(not low <= 1.0 <= high for _, low, high in found)
        assert missed <= trials * level + 4 * math.sqrt(trials * level)


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
    def test_ratios(self, factor, expected):
        times = np.random.default_rng(0).lognormal(0, 0.5, (2, 1_000))
        interval = median_ratio_interval(factor * times[0], times[1], LEVEL)
        assert Finding("a", OURS, "q", *interval, 1 / 1.25, 1.25).verdict == expected

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
