"""The instance: public and private mean rewards of each arm, and how rewards are distributed around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from feint._types import FloatArray
from feint.families import Families, Family, Gaussian
from feint.feedback import Feedback
from feint.feedback.base import check_feedback
from feint.numerics._validate import as_floats
from feint.support.own_parts import offers, read
from feint.support.printable import short_list, short_repr


@dataclass(frozen=True)
class Bandit:
    """A K-armed bandit with public and private means (the paper's Section 3).

    An instance whose best public arms tie can be simulated; only the theory refuses it.

    Parameters
    ----------
    public, private
        (K,) mean rewards of the arms, with K at least 2. Everyone sees public rewards; only the agent sees private
        ones. No two arms may tie for the best private mean. With `Linked`, private means follow from the public ones
        and are left out; they are given only to fix those that a spread would draw.
    sigma
        Shorthand for `family=Gaussian(sigma)`.
    family
        The distribution of the rewards, or a pair (public, private). Without `family` and `sigma`, `Gaussian(1.0)`.
    feedback
        What the agent sees of its private rewards, if not all of them: `Sometimes` or `Linked`.

    Examples
    --------
    >>> bandit = Bandit(public=[0.6, 0.3, 0.0, 0.2], private=[0.2, 0.5, 0.1, 0.0])
    >>> bandit.best_public, bandit.best_private
    (0, 1)
    >>> bandit.private_gaps
    array([0.3, 0. , 0.4, 0.5])
    >>> from feint import Bernoulli
    >>> Bandit([0.02, 0.01], [3.0, 5.0], family=(Bernoulli(), Gaussian(2.0))).families
    (Bernoulli(), Gaussian(sigma=2.0))
    """

    public: tuple[float, ...]
    private: tuple[float, ...]
    families: tuple[Any, Any]  # public, private; those of the package offer more than `Family`
    feedback: Any = None
    draws_private: bool = False  # whether every replication has private means of its own, around `private`

    def __init__(
        self,
        public: ArrayLike,
        private: ArrayLike | None = None,
        sigma: float | None = None,
        *,
        family: Families | None = None,
        feedback: Feedback | None = None,
    ) -> None:
        families = family_pair(family, sigma)
        means = {"public": _means(public, "public", families[0])}
        means["private"] = _private_means(means["public"], private, families, feedback)
        draws_private = feedback is not None and private is None and feedback.spread > 0
        if len(means["public"]) != len(means["private"]):
            raise ValueError(
                f"There are {len(means['public'])} public and {len(means['private'])} private means; "
                "give one of each per arm."
            )
        best = max(means["private"])
        if means["private"].count(best) > 1 and not draws_private:
            tied = [a for a, mean in enumerate(means["private"]) if mean == best]
            raise ValueError(
                f"Arms {tied} tie for the best private mean {best}, so no arm is the best; make one larger."
            )
        for name, value in means.items():
            object.__setattr__(self, name, value)
        object.__setattr__(self, "families", families)
        object.__setattr__(self, "feedback", feedback)
        object.__setattr__(self, "draws_private", draws_private)

    @property
    def sigma(self) -> float:
        """σ of normal rewards, if it is the same on both sides."""
        public, private = (getattr(family, "sigma", None) for family in self.families)
        if public is None or public != private:
            raise AttributeError(
                f"The rewards {short_repr(self.families)} have no common sigma; use bandit.families instead."
            )
        return float(public)

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return len(self.public)

    @property
    def best_public(self) -> int:
        """i*, the first arm with the largest public mean."""
        return int(np.argmax(self.public))

    @property
    def best_private(self) -> int:
        """The arm to be found, with the largest private mean; arm 1 in the paper's Section 5."""
        return int(np.argmax(self.private))

    @property
    def public_gaps(self) -> FloatArray:
        """Δ_a^pub = max μ^pub − μ_a^pub."""
        return max(self.public) - np.array(self.public)

    @property
    def private_gaps(self) -> FloatArray:
        """Δ_a^priv = max μ^priv − μ_a^priv."""
        return max(self.private) - np.array(self.private)

    def __repr__(self) -> str:
        public, private = map(short_repr, self.families)
        families = public if self.families[0] == self.families[1] else f"({public}, {private})"
        shown = list if self.n_arms <= 10 else short_list
        seen = "" if self.feedback is None else f", feedback={short_repr(self.feedback)}"
        return f"Bandit(public={shown(self.public)}, private={shown(self.private)}, family={families}{seen})"

    def _repr_html_(self) -> str:
        from feint.support.html import table

        rows = [
            (a, f"{self.public[a]:g}", f"{self.private[a]:g}", ", ".join(roles(self, a))) for a in range(self.n_arms)
        ]
        names = " and ".join(dict.fromkeys(map(short_repr, self.families)))
        return table(f"Bandit of {self.n_arms} arms, {names}", ("arm", "public mean", "private mean", ""), rows)


def roles(bandit: Bandit, arm: int) -> list[str]:
    """Return the roles of an arm, in words for tables."""
    found = {"best public": bandit.best_public, "best private": None if bandit.draws_private else bandit.best_private}
    return [name for name, best in found.items() if best == arm]


def _private_means(
    public: tuple[float, ...], private: ArrayLike | None, families: tuple[Any, Any], feedback: Any
) -> tuple[float, ...]:
    """Return the private means that are given, or that follow from the public ones."""
    if feedback is not None:
        check_feedback(feedback, len(public), families)
    linked = None if feedback is None else feedback.private_means(public)
    if private is not None:
        if linked is not None and not feedback.spread:
            raise ValueError(
                f"private is given, but with {short_repr(feedback)} private means follow from the public ones; "
                "leave it out, or give the feedback a spread."
            )
        return _means(private, "private", families[1])
    if linked is None:
        raise ValueError("private is missing; give one private mean per arm. Only Linked feedback does without them.")
    return _means(linked, "private", families[1])


def family_pair(family: Families | None, sigma: float | None = None) -> tuple[Any, Any]:
    """Return (public, private) from one family, from a pair, or from sigma alone."""
    if sigma is not None and family is not None:
        raise ValueError("Give either family or sigma (short for family=Gaussian(sigma)), not both.")
    if family is None:
        family = Gaussian() if sigma is None else Gaussian(sigma)
    pair = tuple(family) if isinstance(family, tuple | list) else (family, family)
    for side in pair:
        if isinstance(side, type) or not all(offers(side, name) for name in ("mean_range", "accepts", "draw")):
            raise ValueError(
                f"family is {short_repr(family)}; give one of feint.families with its parentheses, such as "
                "Bernoulli(), or your own (docs/extending.md), or a pair of these for public and private rewards."
            )
    if len(pair) != 2:
        raise ValueError(f"family has {len(pair)} entries; give one for both sides, or a pair (public, private).")
    return pair[0], pair[1]


def _means(value: ArrayLike, name: str, family: Family) -> tuple[float, ...]:
    array = as_floats(value, f"{name} means")
    if array.ndim != 1 or array.size < 2:
        given = f"has {array.size}" if array.ndim == 1 else f"has shape {array.shape}"
        raise ValueError(f"The list of {name} means {given}; give a flat list with one for each of at least two arms.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} means are {array.tolist()}; every mean must be finite.")
    low, high = read(family, "mean_range")
    if not ((array > low) & (array < high)).all():
        raise ValueError(
            f"{name} means are {array.tolist()}; those of {short_repr(family)} must lie strictly between {low:g} and "
            f"{high:g}."
        )
    return tuple(float(mean) for mean in array)
