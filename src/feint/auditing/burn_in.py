"""A burn-in: the first rows of every agent are drawn with fixed shares, whatever the reference says.

These rows are tested by their shares, and their rewards become known like all others. Where not every arm could be
drawn (`available`), the shares of those that could are divided by their sum. NumPy is imported late, as in `claim`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from feint.numerics._validate import SUM_TOLERANCE, is_whole

if TYPE_CHECKING:
    from feint._types import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class BurnIn:
    """The first `rows` rows of an agent, drawn with these `shares`, or uniformly if there are none.

    >>> str(BurnIn(150)), str(BurnIn(20, (0.5, 0.3, 0.2)))
    ('150', '20:0.5,0.3,0.2')
    """

    rows: int
    shares: tuple[float, ...] | None = None

    def __str__(self) -> str:
        return f"{self.rows}" + ("" if self.shares is None else ":" + ",".join(map(repr, self.shares)))

    def words(self) -> str:
        """Return a clause that describes it."""
        shown = "" if self.shares is None else ", ".join(f"{share:.4g}" for share in self.shares)
        return f"after {self.rows:,} rows drawn " + (f"with the shares {shown}" if shown else "uniformly")

    def log_shares(self, n_arms: int) -> FloatArray:
        """Return the log of every arm's share, (K,)."""
        import numpy as np

        if self.shares is not None and len(self.shares) != n_arms:
            raise ValueError(f"`burn_in` has {len(self.shares)} shares for {n_arms} arms; give one per arm.")
        shares = np.ones(n_arms) if self.shares is None else np.array(self.shares)
        return np.asarray(np.log(shares / shares.sum()))

    def overlay(
        self,
        claimed: FloatArray,
        numbers: IntArray,
        log_pi: FloatArray,
        tested: BoolArray,
        available: BoolArray | None,
    ) -> tuple[FloatArray, BoolArray]:
        """Return log π of the tested rows, `claimed` (K,) in those of the burn-in, and which rows these are, (n,).

        `numbers` (n,) counts the rows of each agent from 0; `log_pi` and `tested` are what the reference says.
        """
        import numpy as np

        from feint.references.scores import rows_of_shares

        burning = numbers < self.rows
        if not burning.any():
            return log_pi, tested
        table = np.empty((numbers.size, log_pi.shape[1]))
        table[tested] = log_pi
        logs = np.tile(claimed, (int(burning.sum()), 1))
        if available is not None:
            logs[~available[burning]] = -math.inf
            logs -= np.logaddexp.reduce(logs, axis=1)[:, np.newaxis]
        table[burning] = logs if log_pi.shape[1] == claimed.size else rows_of_shares(np.exp(logs))
        both = tested | burning
        return table[both], both


def read_burn_in(given: Any) -> BurnIn | None:
    """Return the burn-in that N, (N, shares) or the text N[:SHARES] describes.

    >>> read_burn_in("20:0.5,0.5") == read_burn_in((20, [0.5, 0.5])) == BurnIn(20, (0.5, 0.5))
    True
    """
    if given is None or isinstance(given, BurnIn):
        return given
    rows, shares = given, None
    try:
        if isinstance(given, str):
            number, _, listed = given.partition(":")
            rows, shares = int(number), [float(share) for share in listed.split(",")] if listed else None
        elif isinstance(given, tuple | list):
            rows, shares = given
        found = None if shares is None else tuple(float(share) for share in shares)
    except (TypeError, ValueError):
        rows, found = 0, None
    if not is_whole(rows, 1, 10**9):
        raise ValueError(
            f"`burn_in` is {given!r}; give a number of rows, 1 or more, or rows and shares, such as 150:0.5,0.3,0.2."
        )
    if found is not None and not (all(share > 0 for share in found) and abs(math.fsum(found) - 1) <= SUM_TOLERANCE):
        raise ValueError(f"`burn_in` is {given!r}; its shares must be numbers above 0, one per arm, that sum to 1.")
    return BurnIn(int(rows), found)
