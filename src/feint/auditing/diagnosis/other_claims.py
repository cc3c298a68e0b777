"""Claims that are often the true one when another is rejected, and how they are written."""

import math
import shlex
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, NamedTuple

from feint.auditing.arms import LogArms, label_of
from feint.auditing.claim import Claim
from feint.auditing.diagnosis.clip_limits import CLIP
from feint.auditing.diagnosis.expert_families import READING
from feint.auditing.diagnosis.experts import HOLDOUT, POWER, Setting
from feint.auditing.diagnosis.order import BALANCE, COIN
from feint.auditing.modes import LoggedPropensities, RecomputedReference
from feint.families import Bernoulli, Gaussian
from feint.references import (
    BiasedCoin,
    Clipped,
    ControlShare,
    Holdout,
    LinearThompsonSampling,
    PermutedBlocks,
    PlayTheWinner,
    Split,
    Tempered,
    ThompsonSampling,
    TopTwoThompson,
)
from feint.registry.text import format_part

DESIGN, FAMILY = "design", "family"
TOP_TWO, CONTROL = "top-two", "control"  # settings: β, and the arguments of `ControlShare`
_DELAYS, _BATCHES, _DISCOUNTS = (1, 10, 50), (20, 100, 500), (0.9, 0.99, 0.999, 1.0)
_BETA_PRIORS = ((1.0, 1.0), (0.5, 0.5), (2.0, 2.0), (10.0, 10.0))
_BLOCKS, _MIXED_BLOCKS = (1, 2, 3, 4, 5, 6, 8, 10), ((2, 3), (2, 3, 4))  # in the smallest blocks
_LARGEST_RATIO = 20  # rows of the smallest block
_REFERENCE = "reference"
STAGE, UNIT, AVAILABLE = NAMES = "stage", "unit", "available"  # kinds, and the options that name a column


class OtherClaim(NamedTuple):
    """A claim that differs from the one rejected by a setting."""

    kind: str
    words: str
    setting: Setting


def other_claims(claim: Claim, mode: str, arms: LogArms, *, binary: bool) -> Iterator[OtherClaim]:
    """Yield the claims to compare with the one that was rejected in this mode; `binary`: all rewards are 0 or 1."""
    if mode == LoggedPropensities.NAME and arms.n == 2:
        for name in arms.names():
            if claim.probability_of is None or label_of(claim.probability_of) != name:
                words = f"the propensities are the probabilities of arm {name}"
                yield OtherClaim(READING, words, ("probability_of", name))
    if mode == RecomputedReference.NAME:
        yield from _timings(claim)
        yield from _references(claim)
        yield from _families(claim, binary)
        if isinstance(claim.reference, Split):
            yield from permuted_blocks(claim.reference.weights or (1.0 / arms.n,) * arms.n)


def _timings(claim: Claim) -> Iterator[OtherClaim]:
    if claim.timing.by_clock or not claim.needs_rewards:
        return
    for delay in _DELAYS:
        if delay != claim.delay:
            yield OtherClaim("late", f"rewards known {delay} row{'s' * (delay > 1)} late", ("delay", delay))
    for batch in _BATCHES:
        if batch != claim.batch:
            yield OtherClaim("batched", f"rewards known after every {batch} rows", ("batch", batch))
    for discount in _DISCOUNTS:
        if discount != claim.discount:
            words = f"a discount of {discount:g} per row" if discount < 1 else "a past that does not fade"
            yield OtherClaim("discount", words, ("discount", discount))


def _references(claim: Claim) -> Iterator[OtherClaim]:
    reference = claim.reference
    if isinstance(reference, LinearThompsonSampling):
        for factor in (0.5, 2.0):
            sigma = reference.sigma * factor
            yield OtherClaim("sigma", f"σ = {sigma:g}", (_REFERENCE, replace(reference, sigma=sigma)))
    if not isinstance(reference, ThompsonSampling):
        return
    if isinstance(claim.family, Gaussian):
        for factor in (0.5, 2.0):
            sigma = claim.family.sigma * factor
            yield OtherClaim("sigma", f"σ = {sigma:g}", ("sigma", sigma))
        if reference.prior is not None:
            yield OtherClaim("prior", "a flat prior", (_REFERENCE, ThompsonSampling()))
        else:
            yield OtherClaim("prior", "the prior N(0, 1)", (_REFERENCE, ThompsonSampling((0.0, 1.0))))
    if isinstance(claim.family, Bernoulli):
        for prior in _BETA_PRIORS:
            if prior != (reference.prior or (1.0, 1.0)):
                words = f"the prior Beta({prior[0]:g}, {prior[1]:g})"
                yield OtherClaim("prior", words, (_REFERENCE, ThompsonSampling(prior)))
        yield OtherClaim(DESIGN, "an urn, play the winner", (_REFERENCE, PlayTheWinner()))


def _families(claim: Claim, binary: bool) -> Iterator[OtherClaim]:
    if not isinstance(claim.reference, ThompsonSampling):
        return
    yield OtherClaim(DESIGN, "top-two Thompson Sampling", (TOP_TWO, 0.5))
    if isinstance(claim.family, Gaussian) and binary:
        yield OtherClaim(FAMILY, "Beta posteriors, as of rewards that are 0 or 1", (FAMILY, Bernoulli()))
    elif isinstance(claim.family, Bernoulli):
        yield OtherClaim(FAMILY, "normal posteriors, σ = 1, under a flat prior", (FAMILY, Gaussian(1.0)))


def control_share(claim: Claim, n_arms: int, arm: int, share: float, name: str) -> Iterator[OtherClaim]:
    """Yield the claim of a fixed share for this arm, if Thompson Sampling may draw among the others."""
    if isinstance(claim.reference, ThompsonSampling):
        words = f"a share of {share:g} for arm {name}, and Thompson Sampling among the others"
        inside = claim.reference.among([other for other in range(n_arms) if other != arm])
        yield OtherClaim(DESIGN, words, (CONTROL, (inside, arm, share)))


def permuted_blocks(weights: tuple[float, ...]) -> Iterator[OtherClaim]:
    """Yield permuted blocks whose shares are those of a split."""
    shares = [Fraction(weight).limit_denominator(_LARGEST_RATIO) for weight in weights]
    smallest = math.lcm(*(share.denominator for share in shares))
    exact = all(abs(share - weight) <= 1e-6 for share, weight in zip(shares, weights, strict=True))
    if sum(shares) != 1 or smallest > _LARGEST_RATIO or not exact:
        return
    ratio = tuple(int(share * smallest) for share in shares)
    if min(ratio) == 0:
        return
    even = len(set(ratio)) == 1
    for times in (*((times,) for times in _BLOCKS), *(_MIXED_BLOCKS if even else ())):
        sizes = tuple(smallest * k for k in times)
        words = f"balance in permuted blocks of {' or '.join(map(str, sizes))} rows"
        yield OtherClaim(BALANCE, words, (_REFERENCE, PermutedBlocks(sizes, None if even else ratio)))


def change_claim(claim: Claim, setting: Setting) -> Claim:
    """Return the claim with this setting; raise a ValueError where it cannot have it."""
    name, value = setting
    if name == POWER:
        return replace(claim, reference=_tempered(claim, value))
    if name == COIN:
        return replace(claim, reference=BiasedCoin(value))
    if name == CLIP:
        return replace(claim, reference=Clipped(claim.reference, *map(float, value.split(","))))
    if name == HOLDOUT:
        return replace(claim, reference=Holdout(claim.reference, *value))
    if name == CONTROL:
        return replace(claim, reference=ControlShare(*value))
    if name == TOP_TWO:
        return replace(claim, reference=TopTwoThompson(value, getattr(claim.reference, "prior", None)))
    if name == "sigma":
        return replace(claim, family=Gaussian(value))
    if name == FAMILY:
        return replace(claim, family=value, reference=ThompsonSampling())
    changes: dict[str, Any] = {"delay": 0, "batch": 1} if name in ("delay", "batch", STAGE) else {}
    if name in NAMES:
        return replace(claim, names=replace(claim.names, **{name: value}), **changes)
    return replace(claim, **(changes | {name: value}))


def _tempered(claim: Claim, power: float | str) -> Tempered:
    inner = claim.reference
    if not isinstance(inner, Tempered):
        return Tempered(inner, power)
    if isinstance(inner.power, str) or isinstance(power, str):
        raise ValueError("A growing power cannot be raised to another.")
    return Tempered(inner.reference, inner.power * power)


def write_option(claim: Claim, setting: Setting) -> str:
    """Return how a shell writes the claim with this setting."""
    name, value = setting
    if name == FAMILY:
        return f"--family {shlex.quote(format_part(value, 'family'))}"
    if name not in (POWER, COIN, HOLDOUT, CONTROL, TOP_TWO, _REFERENCE):
        return f"--{name.replace('_', '-')} {shlex.quote(str(value))}"
    other = change_claim(claim, setting)
    option = f"--reference {shlex.quote(format_part(other.reference, 'reference'))}"
    if not other.needs_rewards or other.family == Claim().family:
        return option
    return f"{option} --family {shlex.quote(format_part(other.family, 'family'))}"
