"""What is claimed about a log and how it is read: one object, from Python, from the command line and from the page.

Every option of an audit is a field of `Claim` or of its `Names`, with a description and with how a shell writes it. To
add one, add a field here, its type to `ClaimOptions` or `LogOptions` (for type checkers), and the code that acts on it.

Heavy imports wait inside, since `feint --help` reads the fields.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, asdict, dataclass, field, fields
from difflib import get_close_matches
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Literal, TypedDict, get_args

from feint.auditing.option import Option, arms_of, option, share_of
from feint.support.printable import repr_of_changes, short_repr

if TYPE_CHECKING:
    from feint.auditing.burn_in import BurnIn
    from feint.families import Family
    from feint.references import Reference
    from feint.references.past import Timing

ModeName = Literal["probabilities", "propensities", "rewards"]  # the strongest claim first
MODE_NAMES: tuple[ModeName, ...] = get_args(ModeName)
MOST_ARMS = 10_000
NO_TIME = ""  # stands in for the name of the column of times where there is none
_WHOLE = {  # options that are whole numbers, if they are given
    "propensity_draws": "number of Monte Carlo draws",
    "n_groups": "number of groups",
    "shards": "number of shards",
    "blocks": "number of rows after which E is read",
}


def _thompson_sampling() -> Any:
    from feint.references import ThompsonSampling

    return ThompsonSampling()


@dataclass(frozen=True, kw_only=True, repr=False)
class Names:
    """The names of the columns; a column of one arm's probabilities is the prefix and the arm's number or label."""

    arm: str = option("arm", "Column of arms: numbers from 0, or labels.")
    reward: str = option("reward", "Column of public rewards.")
    propensity: str = option("propensity", "Column of the pulled arm's probability.")
    prefix: str = option("p_", "Columns of all probabilities: this prefix and the arm's number or label.")
    probabilities: str = option("probabilities", "Column with a list of all probabilities.")
    time: str | None = option(None, "Column of times; if not given, time or timestamp if it exists.")
    reward_time: str | None = option(None, "Column of the times from which rewards are known.")
    group: str | None = option(None, "Column that names the agent; each has its own past.")
    context: str | None = option(
        None, "Columns of the context, such as A,B; if arms have their own, A stands for A_<arm>."
    )
    stage: str | None = option(None, "Column of stages: rewards become known when it changes.")
    available: str | None = option(None, "Column that lists the arms that could be drawn in its row.")
    unit: str | None = option(None, "Column of units, or UNIT,VERSION: later rows of a unit repeat its first.")
    order_by: str | None = option(None, "Column by which the rows are sorted; their order is checked.")

    def __repr__(self) -> str:
        return repr_of_changes(self)


@dataclass(frozen=True, kw_only=True, repr=False)
class Claim:
    """What is claimed about a log, how the log is read, and at which level the claim is tested.

    >>> Claim(batch=100).timing.words()
    'rewards known after every 100 rows'
    """

    reference: Reference = field(
        default_factory=_thompson_sampling,
        metadata={"option": Option("What draws the pulls: one of `feint.references`, or your own.", in_shell=False)},
    )
    family: Any = option(None, "How public rewards are distributed: Bernoulli() for Beta posteriors.", in_shell=False)
    sigma: InitVar[float | None] = option(None, "Short for the family Gaussian(sigma).", in_shell=False)
    prior: InitVar[Sequence[Any] | None] = option(
        None, "Short for the reference ThompsonSampling(prior).", in_shell=False
    )
    split: InitVar[Sequence[float] | None] = option(None, "Short for the reference Split(split).", in_shell=False)
    clip: InitVar[float | Sequence[float] | None] = option(
        None, "LOW or (LOW, HIGH), short for the reference Clipped(reference, …).", in_shell=False
    )
    batch: int = option(1, "The posterior is updated once per this many rows.")
    delay: int = option(0, "A reward is known this many rows later.")
    discount: float = option(1.0, "What is known fades by this factor with every row.")
    initial_round: bool = option(True, "Whether every arm was first pulled once; those rows are not tested.")
    burn_in: BurnIn | int | str | tuple[int, Sequence[float]] | None = option(
        None, "An agent's first N rows are drawn uniformly, or with shares: N or N:SHARES, such as 150:0.5,0.3,0.2."
    )
    probability_of: str | int | None = option(None, "All propensities are probabilities of this arm, one of two.")
    propensity_draws: int | None = option(
        None, "The propensities are shares of this many Monte Carlo draws.", kind=int | None
    )
    floor: float = option(0.0, "Probabilities logged below this were rounded and may have been anything up to it.")
    within: float = option(
        0.0,
        "Each probability is claimed only up to this relative error, such as 1%.",
        kind=str, usual="0", parse=share_of,
    )  # fmt: skip
    alpha: float = option(0.05, "A true claim is rejected with at most this probability.")
    n_arms: int | Sequence[str] | None = option(
        None,
        "Number of arms, or their labels; otherwise taken from the log.",
        name="arms", parse=arms_of, distinguishes=False,
    )  # fmt: skip
    n_groups: int | None = option(
        None,
        "Number of groups, if known before the log was seen; otherwise groups are weighted by order of arrival.",
        kind=int | None,
    )
    mode: ModeName | None = option(None, "What to test: probabilities, propensities or rewards.")
    names: Names = option(Names(), "The names of the columns, as Names(arm=…).", in_shell=False)
    ignore_time: bool = option(False, "Do not check that times increase.", distinguishes=False)
    delimiter: str | None = option(None, "Delimiter of a CSV file; a comma if not given.", distinguishes=False)
    encoding: str | None = option(
        None, "Encoding of a text file, such as latin-1; UTF-8 if not given.", distinguishes=False
    )
    decimal: str = option(".", "Decimal mark of numbers in texts: a point or a comma.", distinguishes=False)
    missing: Literal["never"] | None = option(None, "never: empty rewards were never received.")
    tolerance: float = option(1e-6, "How far probabilities may be from summing to 1.")
    skip_bad: bool = option(False, "Leave bad rows out and count them.", distinguishes=False)
    shards: int | None = option(
        None,
        "Audit groups in this many shards; if not given, 1, or 16 with workers.",
        kind=int | None,
        distinguishes=False,
    )
    blocks: int | None = option(
        None,
        "In shards, read E after each block of this many rows, not only at the end.",
        kind=int | None, distinguishes=False,
    )  # fmt: skip
    dependent_groups: bool = option(
        False, "Groups may depend on each other; each is tested alone.", distinguishes=False
    )

    def __post_init__(
        self,
        sigma: float | None,
        prior: Sequence[Any] | None,
        split: Sequence[float] | None,
        clip: float | Sequence[float] | None,
    ) -> None:
        from feint.auditing.burn_in import read_burn_in
        from feint.auditing.short_reference import read_short_reference
        from feint.evidence.fixed_share import check_within
        from feint.numerics._validate import check_flag, check_level, checked_number, is_whole
        from feint.references import ObservedUCB
        from feint.registry import families_for

        if not isinstance(self.names, Names):
            raise ValueError(f"names is {self.names!r}; give feint.auditing.Names(arm=…, reward=…, …).")
        if self.mode is not None and self.mode not in MODE_NAMES:
            raise ValueError(f"There is no mode {self.mode!r}; choose among {', '.join(MODE_NAMES)}.")
        if self.decimal not in (".", ","):
            raise ValueError(f"`decimal` is {self.decimal!r}; the decimal mark is a point or a comma.")
        if self.missing not in (None, "never"):
            raise ValueError(
                f"`missing` is {self.missing!r}; say never if empty rewards were never received, or leave it out."
            )
        self.timing  # noqa: B018 - it checks itself
        checked_number(
            self.tolerance,
            "tolerance, of the sum of probabilities, must be a number from 0 to 0.5",
            lambda x: 0 <= x <= 0.5,
        )
        checked_number(
            self.floor,
            "`floor`, the value at which smaller probabilities are read, must be a number from 0 to 0.1",
            lambda x: 0 <= x <= 0.1,
        )
        for name, what in _WHOLE.items():
            if (given := getattr(self, name)) is not None and not is_whole(given, 1, 10**12):
                raise ValueError(f"`{name}` is {given!r}; give the {what}, 1 or more.")
        if self.blocks is not None and self.dependent_groups:
            raise ValueError(
                "If groups depend on each other, E is read once, at the end; leave `blocks` or `dependent_groups` out."
            )
        check_within(self.within)
        if isinstance(self.reference, ObservedUCB):
            raise ValueError("UCB does not draw its arms, so its logs cannot be tested here; see Observer.")
        object.__setattr__(self, "reference", read_short_reference(self.reference, prior, split, clip))
        object.__setattr__(self, "burn_in", read_burn_in(self.burn_in))
        for name in ("initial_round", "skip_bad", "ignore_time", "dependent_groups"):
            check_flag(getattr(self, name), name)
        object.__setattr__(self, "alpha", check_level(self.alpha, "alpha, the level of the audit,"))
        object.__setattr__(self, "family", families_for(self.reference, self.family, sigma)[0])

    @property
    def timing(self) -> Timing:
        """Return when rewards become known, and how the past fades."""
        from feint.references.past import Timing

        return Timing(
            delay=self.delay,
            batch=self.batch,
            by_time=self.names.reward_time is not None,
            by_stage=self.names.stage is not None,
            discount=self.discount,
        )

    @property
    def needs_rewards(self) -> bool:
        """Return whether the reference cannot be recomputed without rewards."""
        return not getattr(self.reference, "ignores_rewards", False)

    @property
    def is_usual(self) -> bool:
        """Return whether everything that says how a reference is recomputed has its default."""
        usual = Claim()
        mine, its = ((c.reference, c.family, c.timing, c.burn_in) for c in (self, usual))
        return mine == its

    def __repr__(self) -> str:
        return repr_of_changes(self)

    def identity(self) -> dict[str, Any]:
        """Return all that distinguishes this claim from others, as plain JSON types: a saved audit continues only with
        the same claim.
        """
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.metadata["option"].distinguishes}
        texts = {name: short_repr(found[name]) for name in ("reference", "family")}
        texts |= {name: str(found[name]) for name in ("burn_in", "probability_of") if found[name] is not None}
        return found | texts | {"names": asdict(self.names)}


class ClaimOptions(TypedDict, total=False):
    """The options of `feint.audit`, for type checkers: fields of `Claim`."""

    n_arms: int | Sequence[str] | None
    reference: Reference
    sigma: float | None
    family: Family | None
    prior: Sequence[Any] | None
    split: Sequence[float] | None
    clip: float | Sequence[float] | None
    initial_round: bool
    batch: int
    delay: int
    discount: float
    burn_in: int | str | tuple[int, Sequence[float]] | None
    probability_of: str | int | None
    propensity_draws: int | None
    floor: float
    within: float
    alpha: float
    n_groups: int | None
    missing: Literal["never"] | None
    tolerance: float
    skip_bad: bool


class LogOptions(ClaimOptions, total=False):
    """The options of `feint.audit_log`: also those about files."""

    names: Names
    mode: ModeName | None
    ignore_time: bool
    delimiter: str | None
    encoding: str | None
    decimal: str
    shards: int | None
    blocks: int | None
    dependent_groups: bool


def read_options(
    verb: Callable[..., Any], options: Mapping[str, Any], known: type, columns: Sequence[str], **more: Any
) -> Claim:
    """Return the claim that the options of a public function describe; refuse those it does not have. `columns` are its
    other options, which name or hold columns.
    """
    names = [*known.__annotations__, *columns]
    for name in options:
        if name not in names:
            others = [other for other in inspect.signature(verb).parameters if other != "options"]
            near = get_close_matches(name, [*names, *others], 1)
            advice = f"did you mean {near[0]}?" if near else f"it has {', '.join(names)}."
            raise TypeError(f"{verb.__name__}() has no option {name}; {advice}")
    return Claim(**{**options, **more})


def list_options(known: type) -> str:
    """Return a line for every option, for the docstring of a public function."""
    lines = []
    for name in known.__annotations__:
        described = Claim.__dataclass_fields__[name]
        plain = isinstance(described.default, int | float)
        usual = f" ({described.default!r})" if plain else ""
        text = f"- {name}{usual}: {described.metadata['option'].help}"
        lines += wrap(text, 100, initial_indent=" " * 8, subsequent_indent=" " * 10)
    return "\n".join(lines)


def shell_options(described: type) -> dict[str, Option]:
    """Return the options of a shell by the fields of `Claim` or `Names` that they set, with kind, default and name."""
    found = {}
    for f in fields(described):
        given: Option = f.metadata["option"]
        if given.in_shell:
            kind = given.kind or (str | None if f.default is None else type(f.default))
            usual = f.default if given.usual is None else given.usual
            found[f.name] = given._replace(kind=kind, usual=usual, name=given.name or f.name)
    return found
