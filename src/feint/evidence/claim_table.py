"""What was claimed before each pull, read once for all tests.

Many claims repeat themselves: a split has the same probabilities in every row, an agent that learns in batches those of
the batch. So a test gets a table of the claims that differ from the row above, and each row's place in it. What a bet
multiplies its wealth by is computed once per claim and side, not once per row.
"""

from typing import NamedTuple

import numpy as np

from feint._types import FloatArray, IntArray
from feint.evidence.slack import slack_shares
from feint.numerics._validate import SUM_TOLERANCE

LOG_P, P, REST, BELOW, ABOVE = 0, 1, 2, 3, 4  # rows of a claim
NOWHERE = -1.0  # a place in no table


class Claimed(NamedTuple):
    """The claims before n pulls."""

    places: IntArray  # (n,) of each row's claim in the table
    table: FloatArray  # (m, 5, K) log π, π, 1 − π, and how far the true π may lie below and above, in min(π, 1 − π)

    def part(self, rows: slice) -> "Claimed":
        """Return the claims before some of the pulls, one after another."""
        places = self.places[rows]
        return Claimed(places - places[0], self.table[places[0] : places[-1] + 1])


def of_pulled_arms(log_pi: FloatArray, arms: IntArray) -> FloatArray:
    """Return log π of the pulled arms, (n,), from those of all arms, (n, K), or of these alone."""
    if log_pi.ndim == 1:
        return log_pi
    if _is_one_row(log_pi):
        return log_pi[0].take(arms)
    return np.asarray(log_pi[np.arange(arms.size), arms])


def _is_one_row(log_pi: FloatArray) -> bool:
    """Return whether all rows are the same row in memory."""
    return log_pi.strides[0] == 0 and log_pi.size > 0


def read_claimed(log_pi: FloatArray, within: float = 0.0, floor: float = 0.0) -> Claimed:
    """Return what kernels need of log π (n, K), with the slack that `within` and `floor` allow (`slack`)."""
    differs = np.zeros(len(log_pi), dtype=bool)
    differs[:1] = True
    if not _is_one_row(log_pi):
        for column in log_pi.T:
            differs[1:] |= column[1:] != column[:-1]
    table = np.zeros((int(differs.sum()), 5, log_pi.shape[1]))
    log_p, p, rest = table[:, LOG_P], table[:, P], table[:, REST]
    log_p[:] = log_pi[differs]
    np.exp(log_p, out=p)
    check_logs(log_p, p)
    np.subtract(1.0, p, out=rest)
    likely = p >= 0.5  # only in this way do their complements keep their digits
    rest[likely] = -np.expm1(log_p[likely])
    if within > 0.0 or floor > 0.0:
        table[:, BELOW], table[:, ABOVE] = slack_shares(p, rest, within, floor)
    return Claimed(np.cumsum(differs) - 1, table)


def check_logs(log_pi: FloatArray, pi: FloatArray | None) -> None:
    """Raise ValueError unless log π is of probabilities; `pi` (n, K) has those of all arms, None if one is known."""
    if (log_pi > 0).any():
        raise ValueError(f"log_pi contains {log_pi.max()}; the logarithm of a probability is at most 0.")
    totals = np.ones(1) if pi is None or not pi.size else pi.sum(axis=1)
    if abs(totals - 1).max() > SUM_TOLERANCE:
        raise ValueError(f"Probabilities sum to {totals[abs(totals - 1).argmax()]}; normalise them to 1.")
