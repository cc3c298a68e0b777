"""Choose the columns of a log that matter."""

import re
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import NamedTuple

from feint.auditing.arms import given_labels
from feint.auditing.claim import MODE_NAMES, NO_TIME, Claim, Names
from feint.auditing.readers.arrays import TABLE_OF_CONTEXTS
from feint.auditing.readers.base import places
from feint.auditing.units import unit_columns
from feint.numerics._validate import is_whole
from feint.references.base import has_context_per_arm

_TIME_NAMES = ("time", "timestamp")
_MOST_SPARE = 20
# What others call the probability of the pulled arm, or of all arms.
_LOOKS_LIKE_A_CLAIM = re.compile(
    r"(p|prob|probs|probability|probabilities|pscore|propensity|propensity_score|weight)(_.*)?", re.I
)


class LogColumns(NamedTuple):
    """The columns that matter."""

    mode: str
    arm: str
    reward: str | None
    propensity: str | None
    probabilities: list[str]  # of one arm each
    listed: str | None  # of all arms
    time: str | None
    reward_time: str | None
    group: str | None
    labels: list[str] | None  # of the arms, if the columns of probabilities name them
    unused: list[str]  # columns that look like a claim
    stage: str | None = None
    available: str | None = None
    units: Sequence[str] = ()
    probability_of: str | int | None = None  # the arm whose probability `propensity` holds, if it is always the same
    order: str | None = None  # by which the rows are in order
    decimal: str = "."
    contexts: list[str] = []  # noqa: RUF012 - never changed; by arm and then by feature where arms have their own
    spare: Sequence[str] = ()  # that no option names; a diagnosis looks at them

    def used(self) -> list[str]:
        """Return the columns that are read."""
        wanted = [self.arm, self.reward, self.propensity, *self.probabilities, self.listed]
        wanted += [self.time, self.reward_time, self.group, self.stage, self.available, *self.units, *self.contexts]
        wanted += [self.order, *self.spare]
        return [name for name in dict.fromkeys(wanted) if name is not None]


def with_spare_columns(found: LogColumns, columns: Sequence[str]) -> LogColumns:
    """Return the columns that matter, and those that no option names: only a few, since all of them are read."""
    used = {*found.used(), *found.unused}
    return found._replace(spare=[name for name in columns if name not in used][:_MOST_SPARE])


def choose_columns(columns: list[str], claim: Claim) -> LogColumns:
    """Return the columns of the strongest claim that they allow, or of the one asked for."""
    names = replace(claim.names, time=NO_TIME) if claim.ignore_time else claim.names
    _check_names(columns, names)
    time = names.time or next((name for name in _TIME_NAMES if name in columns), None)
    others = (names.prefix, names.propensity)
    labels = [name[len(names.prefix) :] for name in columns if name.startswith(names.prefix) and name not in others]
    numbered = [label for label in labels if label.isdecimal() and label.isascii()]
    if numbered:  # p_0, p_1, … count; other columns with this prefix are something else
        labels = sorted(set(numbered), key=int)
    numbers = [int(label) for label in labels] if numbered else []
    from_0, from_1 = (bool(numbers) and numbers == [*range(first, first + len(numbers))] for first in (0, 1))
    listed = names.probabilities if names.probabilities in columns else None
    lone = None if listed is not None or names.propensity in columns else _lone_arm(labels, claim)
    there = {
        "probabilities": lone is None and (bool(numbered) or len(labels) > 1 or listed is not None),
        "propensities": lone is not None or names.propensity in columns,
        "rewards": names.reward in columns or not claim.needs_rewards,
    }
    chosen = claim.mode or next((name for name in MODE_NAMES if there[name]), None)
    if chosen is None or not there[chosen]:
        wanted = {
            "probabilities": f"{names.prefix}0, {names.prefix}1, …",
            "propensities": names.propensity,
            "rewards": names.reward,
        }
        missing = " or ".join(wanted.values()) if chosen is None else wanted[chosen]
        advice = "name it with an option"
        if len(labels) == 1 and not numbered:
            advice += (
                f"; if {names.prefix}{labels[0]} is the probability of one of two arms, give both labels (`n_arms`)"
            )
        raise ValueError(f"There is no column {missing} among {_name_columns(columns)}; {advice}.")
    single = chosen == "probabilities" and listed is None
    if single and numbered and (not (from_0 or from_1) or len(labels) < 2):
        raise ValueError(
            f"The probability columns are {_name_columns([names.prefix + label for label in labels])}; there must be "
            f"{names.prefix}0, {names.prefix}1, … for every arm, or {names.prefix}1, {names.prefix}2, …, without gaps."
        )
    found = LogColumns(
        mode=chosen,
        arm=names.arm,
        reward=names.reward if chosen == "rewards" and claim.needs_rewards else None,
        propensity=None if chosen != "propensities" else names.propensity if lone is None else names.prefix + lone,
        probabilities=[names.prefix + label for label in labels] if single else [],
        listed=listed if chosen == "probabilities" else None,
        time=time if names.time != NO_TIME else None,
        reward_time=names.reward_time if chosen == "rewards" else None,
        group=names.group,
        labels=labels if single and not from_0 else None,
        unused=[],
        stage=names.stage if chosen == "rewards" else None,
        available=names.available,
        units=unit_columns(names.unit, columns),
        order=names.order_by,
        decimal=claim.decimal,
        probability_of=lone if lone is not None and chosen == "propensities" else claim.probability_of,
    )
    if chosen == "rewards" and names.context is not None:
        found = _with_contexts(found, columns, names.context, claim)
    if found.reward_time is not None and found.time is None:
        raise ValueError("If rewards have times (`reward_time`), pulls need them too: name their column with `time`.")
    places(columns, found.used())
    known = {*found.used(), names.propensity} if chosen == "probabilities" else {*found.used()}
    return found._replace(
        unused=[name for name in columns if name not in known and _LOOKS_LIKE_A_CLAIM.fullmatch(name)]
    )


def _lone_arm(labels: list[str], claim: Claim) -> str | None:
    """Return the arm of the only column of probabilities, if it is one: a number, or one of two labels that were given.
    The other arm's is then known too.
    """
    if len(labels) != 1 or claim.mode == "probabilities":
        return None
    named = labels[0] in (given_labels(claim.n_arms) or [str(claim.probability_of)])
    return labels[0] if named or labels[0] in ("0", "1", "2") else None


def _with_contexts(found: LogColumns, columns: list[str], written: str, claim: Claim) -> LogColumns:
    """Add the columns of contexts. Where every arm has its own, they also tell what the arms are."""
    if written == TABLE_OF_CONTEXTS:
        return found._replace(contexts=[written])
    wanted = [name.strip() for name in written.split(",")]
    if not has_context_per_arm(claim.reference):
        if missing := [name for name in wanted if name not in columns]:
            raise ValueError(f"There is no column {missing[0]!r} among {_name_columns(columns)}; correct `context`.")
        return found._replace(contexts=wanted)
    labels = given_labels(claim.n_arms)
    if labels is None:
        prefix = f"{wanted[0]}_"
        labels = [name[len(prefix) :] for name in columns if name.startswith(prefix) and name != prefix]
        if is_whole(claim.n_arms, 2):
            labels = [str(a) for a in range(int(claim.n_arms))]  # type: ignore[arg-type]  # `is_whole` said that it is a number
    if all(label.isdecimal() and label.isascii() for label in labels):
        labels = sorted(labels, key=int)
    contexts = [f"{name}_{label}" for label in labels for name in wanted]
    if missing := [name for name in contexts if name not in columns]:
        raise ValueError(
            f"There is no column {missing[0]!r} among {_name_columns(columns)}; every arm needs its own context, such "
            f"as {wanted[0]}_<arm> (`context`, `n_arms`)."
        )
    if len(labels) < 2:
        raise ValueError(
            f"There are no columns {wanted[0]}_<arm> for two or more arms among {_name_columns(columns)}; correct "
            "`context`."
        )
    from_0 = labels == [str(a) for a in range(len(labels))]
    return found._replace(contexts=contexts, labels=None if from_0 else labels)


def _check_names(columns: list[str], names: Names) -> None:
    usual = Names()
    single = [f.name for f in fields(Names) if f.name not in ("prefix", "unit", "context")]
    for option in single:
        name = getattr(names, option)
        if name and name not in columns and (option == "arm" or name != getattr(usual, option)):
            what = "name the column of arms with `arm`" if option == "arm" else f"correct `{option}`"
            raise ValueError(f"There is no column {name!r} among {_name_columns(columns)}; {what}.")
    if names.prefix != usual.prefix and not any(name.startswith(names.prefix) for name in columns):
        raise ValueError(f"There is no column {names.prefix}0 among {_name_columns(columns)}; correct `prefix`.")


def _name_columns(columns: Sequence[str]) -> str:
    shown = ", ".join(repr(name if len(name) <= 40 else name[:37] + "…") for name in columns[:12])
    return shown + (", …" if len(columns) > 12 else "")
