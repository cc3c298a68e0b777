"""Rows whose claims repeat themselves are tested together: the results are those of testing them one by one."""

import numpy as np
import pytest

from feint.evidence import BoostMixture, Calibration, SerialMixture
from feint.evidence import boost_mixture as module
from feint.evidence.boost_bet import bet, bets_of
from feint.evidence.calibration import _BETS, _SHARES, _TILTS

RARE = [1.0 - 2e-140, 1e-140, 1e-140]
CLAIMS = {
    "split": ([0.5, 0.5], 0.52, {}),
    "uneven": ([0.7, 0.2, 0.1], 0.6, {}),
    "within": ([0.7, 0.2, 0.1], 0.6, {"within": 0.1}),
    "far": ([0.5, 0.3, 0.2], 1.0, {}),  # E leaves float64's range, and its unit changes
    "rare": (RARE, 0.99, {}),  # within one block of rows
    "many": ([1 / 14] * 14, 0.1, {}),
}


def rows_of(claim, n=3_000):
    """Return pulls in which arm 0 has another share than claimed; two claims take turns after 700 rows each."""
    weights, share, options = CLAIMS[claim]
    rng = np.random.default_rng(4)
    others = np.array(weights[1:]) / sum(weights[1:])
    arms = rng.choice(len(weights), n, p=[share, *(1.0 - share) * others])
    turned = np.array(weights) if claim == "rare" else np.roll(weights, 1)
    table = np.where((np.arange(n) // 700 % 2 == 0)[:, None], weights, turned)
    return arms, np.log(table), options


@pytest.mark.parametrize("claim", CLAIMS)
@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("test", [BoostMixture, Calibration, SerialMixture])
def test_together_as_one_by_one(monkeypatch, test, claim, timed):
    """Results agree to the last bit, so an audit does not depend on how its rows came."""
    arms, log_pi, options = rows_of(claim)
    begins = np.arange(arms.size) % 5 == 0 if timed else np.ones(arms.size, dtype=bool)
    monkeypatch.setattr(module, "_WORTH_COMPILING", 1)
    together = test(len(log_pi[0]), **options)
    found = together.extend(arms, log_pi, begins)
    monkeypatch.setattr(module, "_WORTH_COMPILING", 10**9)
    apart = test(len(log_pi[0]), **options)
    each = [apart.extend(arms[i : i + 1], log_pi[i : i + 1], begins[i : i + 1])[0] for i in range(arms.size)]
    np.testing.assert_array_equal(found, each)
    first, second = together.state(), apart.state()
    if timed:  # one row at a time, every row is read
        first.pop("highest_log_e_value"), second.pop("highest_log_e_value")
    assert first == second


@pytest.mark.parametrize("claim", ["split", "uneven", "many"])
def test_boosts_as_the_observer_bets(monkeypatch, claim):
    """They are compared with the kernel that follows an agent pull by pull and has formulas of its own."""
    arms, log_pi, _ = rows_of(claim)
    monkeypatch.setattr(module, "_WORTH_COMPILING", 1)
    found = BoostMixture(len(log_pi[0])).extend(arms, log_pi)
    bets = bets_of(BoostMixture(len(log_pi[0])).experts)
    expected = [bet(bets, row, int(arm)) for arm, row in zip(arms, log_pi, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("claim", ["split", "uneven", "far", "many"])
def test_calibration_in_closed_form(claim):
    """With a single claim each bet is a product of powers of two factors, by how often its arm was pulled."""
    weights, _, _ = CLAIMS[claim]
    arms, p = rows_of(claim)[0], np.array(weights)[:, None]
    found = Calibration(len(weights)).extend(arms, np.log(np.tile(weights, (arms.size, 1))))
    tilts = np.expm1(_TILTS)
    log_hit = np.hstack([_TILTS - np.log1p(p * tilts), np.log1p(_BETS * (1.0 - p))])
    log_miss = np.hstack([-np.log1p(p * tilts), np.log1p(-_BETS * p)])
    for row in (0, 1, 200, 255, 256, 257, 2_999):
        hits = np.bincount(arms[: row + 1], minlength=len(weights))[:, None]
        logs = hits * log_hit + (row + 1 - hits) * log_miss + np.log(_SHARES) - np.log(len(weights))
        assert found[row] == pytest.approx(np.logaddexp.reduce(logs, axis=None), rel=1e-12, abs=1e-12)
