"""What is claimed of a log, whatever its columns."""

from dataclasses import dataclass
from typing import Any

from feint.auditing.claims import Claim, LoggedProbabilities, LoggedPropensities, Options, Recomputed
from feint.auditing.layout import Arms
from feint.bandit import family_pair
from feint.evidence.fixed_share import check_within
from feint.numerics._validate import as_number, check_flag, is_whole
from feint.references import ObservedUCB, ThompsonSampling
from feint.references.base import reference_settings
from feint.references.past import Timing
from feint.references.recomputation import Recomputation

TOLERANCE = 1e-6  # of the sum of logged probabilities


@dataclass(frozen=True)
class Claimed:
    """The claim, and how it is read."""

    reference: Any
    family: Any
    initial_round: bool
    timing: Timing
    options: Options

    @classmethod
    def of(
        cls, reference: Any, sigma: float | None, family: Any, initial_round: bool, timing: Timing, options: Options
    ) -> "Claimed":
        """Check what was given."""
        what = "tolerance, of the sum of probabilities, must be a number from 0 to 0.5"
        if not 0 <= as_number(options.tolerance, what) <= 0.5:
            raise ValueError(f"{what}; got {options.tolerance!r}.")
        what = "`floor`, as which smaller probabilities are read, must be a number from 0 to 0.1"
        if not 0 <= as_number(options.floor, what) <= 0.1:
            raise ValueError(f"{what}; got {options.floor!r}.")
        if options.draws is not None and not is_whole(options.draws, 1, 10**12):
            raise ValueError(
                f"`propensity_draws` is {options.draws!r}; it is a number of Monte Carlo draws, 1 or more."
            )
        check_within(options.within)
        if isinstance(reference, ObservedUCB):
            raise ValueError("UCB does not draw its arms, so no log of it can be tested here; see Observer.")
        side = family_pair(family, sigma)[0]
        return cls(reference, side, check_flag(initial_round, "initial_round"), timing, options)

    @property
    def usual(self) -> bool:
        """Whether nothing was said of how a reference is recomputed."""
        return self.reference == ThompsonSampling() and self.family == family_pair(None)[0] and self.timing == Timing()

    def claim(self, mode: str, arms: Arms) -> Claim:
        """The claim of a mode, about which nothing has been learned; the reference is checked whether or not used."""
        reference_settings(self.reference, self.family, arms.n)
        if mode == Recomputed.MODE:
            return Recomputed(arms, self.options, self.recomputed(arms))
        return (LoggedProbabilities if mode == LoggedProbabilities.MODE else LoggedPropensities)(arms, self.options)

    def recomputed(self, arms: Arms) -> Recomputation:
        """What the reference says."""
        return Recomputation(self.reference, self.family, arms.n, self.initial_round, self.timing)
