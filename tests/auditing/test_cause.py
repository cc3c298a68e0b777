"""What caused a rejection: the rows and arms whose bets won most until the row of rejection, and nothing after it."""

import numpy as np
import pytest

import feint

EVEN = np.full((3_000, 8), 1 / 8)


def honest(rng):
    return rng.integers(8, size=3_000)


def with_repeats(rng):
    """From row 1,001 on arms 1, 3 and 5 come in pairs, and every arm has its share."""
    arms = honest(rng).tolist()[:1_000]
    while len(arms) < 3_000:
        arms += 2 * [rng.choice([1, 3, 5])] if rng.random() < 3 / 13 else [rng.choice([0, 2, 4, 6, 7])]
    return np.array(arms[:3_000])


def with_one_arm(rng):
    """From row 1,001 on a quarter of the pulls goes to arm 6."""
    arms = honest(rng)
    arms[1_000:] = np.where(rng.random(2_000) < 0.25, 6, arms[1_000:])
    return arms


def with_a_group(rng):
    """Group 4 of ten sees arm 2 alone."""
    arms, groups = honest(rng), rng.integers(10, size=3_000)
    return np.where(groups == 4, 2, arms), groups


@pytest.mark.parametrize("given", ["probabilities", "propensities", "rewards"])
def test_repeats_of_three_arms(given):
    claim = {
        "probabilities": {"probabilities": EVEN},
        "propensities": {"propensities": EVEN[:, 0], "n_arms": 8},
        "rewards": {"reference": feint.Split(), "n_arms": 8},
    }[given]
    for seed in range(4):
        report = feint.audit(with_repeats(np.random.default_rng(seed)), **claim)
        cause = report.cause
        assert cause.part == "serial"
        assert cause.words == "the arm of the row before was pulled again more often than claimed"
        assert set(cause.arms) == {1, 3, 5}
        assert cause.first_row <= 1_010
        assert 1_010 < cause.last_row <= report.rejected_at


def test_a_rare_pull_after_the_rejection_is_not_blamed():
    """A repeat rejected the log, and the report named an arm with one pull, much later, at ρ = 10⁻⁶."""
    rng = np.random.default_rng(0)
    arms, propensities = with_repeats(rng), EVEN[:, 0].copy()
    arms[2_999], propensities[2_999] = 8, 1e-6
    report = feint.audit(arms, propensities=propensities, n_arms=9)
    assert report.rejected_at < 2_999
    assert report.cause.part == "serial"
    assert set(report.cause.arms) <= {1, 3, 5}


@pytest.mark.parametrize("given", ["probabilities", "propensities"])
def test_one_arm_from_a_row_on(given):
    claim = {"probabilities": EVEN} if given == "probabilities" else {"propensities": EVEN[:, 0], "n_arms": 8}
    for seed in range(4):
        report = feint.audit(with_one_arm(np.random.default_rng(seed)), **claim)
        assert report.cause.arms == (6,)
        assert report.cause.words == "arm 6 was pulled more often than claimed"
        assert report.cause.first_row <= 1_010
        assert 1_010 < report.cause.last_row <= report.rejected_at


def test_one_group():
    for seed in range(4):
        arms, groups = with_a_group(np.random.default_rng(seed))
        report = feint.audit(arms, probabilities=EVEN, groups=groups)
        assert report.cause.words == "in group 4 arm 2 was pulled more often than claimed"
        assert report.cause.arms == (2,)


@pytest.mark.parametrize("plant", [with_repeats, with_one_arm])
def test_no_row_after_the_rejection_is_used(plant):
    arms = plant(np.random.default_rng(7))
    whole = feint.audit(arms, probabilities=EVEN)
    end = whole.rejected_at
    assert feint.audit(arms[:end], probabilities=EVEN[:end]).cause == whole.cause
