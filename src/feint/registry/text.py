"""Parts as users write them: NAME[:ARGUMENTS], or FILE.py:CLASS for a class of their own.

Arguments stand in the constructor's order with commas between them; what is left out at the end has its usual value. A
part inside a part is written by its name, in parentheses if it has arguments: clipped:(softmax:0.5),0.05. Lists have ;
between their items, and lists in lists have parentheses around them. If the only argument is a list, its items may have
commas between them, as in split:0.5,0.5, or be rows, as in thompson-sampling:0,1;0,2.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from feint.registry.names import (
    MOST_NESTED,
    Argument,
    arguments,
    class_of,
    is_list,
    is_registered,
    names_own_class,
    registered,
    signature,
)
from feint.support.errors import is_users
from feint.support.own_parts import OwnPartError, make

_NOTHING: dict[str, Any] = {}
_LETTERS_OF_THE_GRAMMAR = set(",;()")
_TYPES = {float: "a number", int: "a whole number", bool: "true or false"}


def parse(text: Any, sort: str, *, folder: Path | None = None, known: Mapping[str, Any] = _NOTHING) -> Any:
    """Return the explorer, reference, family or budget (`sort`) that a text names; a number is a budget too.

    `folder` is where files of the user's own are looked for; without it, no file is run. `known` has values of
    arguments that the text may leave out, by name, such as the horizon of a run.

    >>> parse("clipped:(softmax:0.5),0.05", "reference")
    Clipped(reference=Softmax(temperature=0.5), low=0.05, high=1.0)
    >>> parse("total:5", "budget", known={"horizon": 1000})
    TotalBudget(total=5.0, horizon=1000)
    """
    if not isinstance(text, str):
        raise ValueError(f"{text!r} names no {sort}; give a name, such as {next(iter(registered(sort)))!r}.")
    text = text.strip()
    if sort == "budget" and is_number(text):
        text = f"constant:{text}"
    if names_own_class(text):
        cls, written = class_of(text, sort, folder), None
    else:
        name, colon, rest = text.partition(":")
        cls, written = class_of(name.strip(), sort, folder), rest if colon else None
    with blaming_part(sort, text):
        return make(cls) if names_own_class(text) else cls(**_settings(cls, written, folder, known))


@contextmanager
def blaming_part(sort: str, text: str) -> Iterator[None]:
    """Name the part in the error if it cannot be made; bugs in feint pass unchanged."""
    try:
        yield
    except _NotMade as error:
        raise _NotMade(sort, text, error.reason, error.of) from None
    except ValueError as error:
        if isinstance(error, OwnPartError) or not is_users(error):  # an OwnPartError says it all
            raise
        # In messages `name` stands for an option, but the arguments of a part are not options.
        raise _NotMade(sort, text, str(error).replace("`", ""), text) from None


class _NotMade(ValueError):
    """A part cannot be made, for a `reason` that is about the text `of`: its own, or that of a part within it."""

    def __init__(self, sort: str, text: str, reason: str, of: str) -> None:
        within = "" if of == text else f"in {of[:80]!r}, "
        super().__init__(f"The {sort} {text[:200]!r} cannot be made: {within}{reason}")
        self.reason, self.of = reason, of


def _settings(cls: Any, written: str | None, folder: Path | None, known: Mapping[str, Any]) -> dict[str, Any]:
    takes = arguments(cls)
    given = [] if written is None else split(written, ",")
    if written is not None and len(takes) == 1 and takes[0].is_list:
        given = [_sole_list(written)]
    if len(given) > len(takes):
        most = f"{len(takes) or 'no'} argument{'' if len(takes) == 1 else 's'}"
        lists = ", with ; between the items of a list" if any(argument.is_list for argument in takes) else ""
        raise ValueError(f"it takes {most}, not {len(given)}; write {signature(cls, known)}{lists}.")
    if "" in given:
        raise ValueError(f"an argument is empty; write {signature(cls, known)}.")
    settings = {argument.name: _value(item, argument, folder) for argument, item in zip(takes, given, strict=False)}
    return settings | fill_in(cls, settings, known)


def fill_in(cls: Any, settings: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known values of arguments that `settings` lacks; refuse if any is unknown."""
    needed = [argument.name for argument in arguments(cls) if argument.name not in settings and not argument.optional]
    if missing := [name for name in needed if name not in known]:
        raise ValueError(f"it needs {' and '.join(missing)}; write {signature(cls, known)}.")
    return {name: known[name] for name in needed}


def _sole_list(text: str) -> str:
    """Write a list that has commas between its items, or between those of its rows, with ; and parentheses."""
    rows = [";".join(split(row, ",")) for row in split(text, ";")]
    in_rows = len(rows) > 1 and any(len(split(row, ";")) > 1 for row in rows)
    return ";".join(f"({row})" for row in rows) if in_rows else ";".join(rows)


def _value(text: str, argument: Argument, folder: Path | None) -> Any:
    if argument.sort is not None:
        inner = unwrap(text)
        if inner == text and ":" in text and not names_own_class(text):
            raise ValueError(f"{argument.name} is {text[:80]!r}, which has arguments; put it in parentheses.")
        return parse(inner, argument.sort, folder=folder)
    if argument.optional and argument.default is None and text.lower() == "none":
        return None
    for kind in sorted(argument.types, key=is_list):  # a number before a list of one
        try:
            return _of_type(text, kind)
        except ValueError:
            continue
    known = [_TYPES[kind] for kind in argument.types if kind in _TYPES]
    what = "numbers separated by ;" if argument.is_list else " or ".join(known) or "one of the values it accepts"
    raise ValueError(f"{argument.name} is {text[:80]!r}; give {what}.")


def _of_type(text: str, kind: Any) -> Any:
    if is_list(kind):
        return tuple(_of_type(item, get_args(kind)[0]) for item in split(text, ";"))
    if get_origin(kind) is Literal and text in get_args(kind):
        return text
    if kind is float:
        return float(text)
    if kind is int:
        return parse_whole(text)
    if kind is bool:
        if text not in ("true", "false"):
            raise ValueError(f"{text!r} is neither true nor false.")
        return text == "true"
    if kind is str:
        return unwrap(text)
    inner = unwrap(text)  # any other type: a list in a list, or a number
    return float(text) if inner == text else _of_type(inner, tuple[Any, ...])


def split(text: str, separator: str) -> list[str]:
    """Split a text at a separator, outside of parentheses."""
    items, depth, start = [], 0, 0
    for i, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if depth > MOST_NESTED:
            raise ValueError(f"parentheses are nested more than {MOST_NESTED} deep.")
        if depth < 0:
            break
        if letter == separator and depth == 0:
            items.append(text[start:i].strip())
            start = i + 1
    if depth != 0:
        raise ValueError(f"the parentheses of {text[:80]!r} do not match.")
    return [*items, text[start:].strip()]


def unwrap(text: str) -> str:
    """Return the text without the parentheses around the whole of it, if there are any."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    try:
        split(inner := text[1:-1], ",")
    except ValueError:  # as in (a),(b)
        return text
    return inner.strip()


def is_number(text: str) -> bool:
    """Return whether a text is a number, or inf."""
    try:
        return not math.isnan(float(text))
    except ValueError:
        return False


def parse_whole(text: str, name: str = "it") -> int:
    """Return the whole number of an option or argument, which may be written as 1e5.

    >>> parse_whole("1e5", "--horizon")
    100000
    """
    try:
        value = float(text.replace("_", ""))
        number = int(text) if text.isdecimal() else int(value)
    except (ValueError, OverflowError):
        value, number = 0.5, 0
    if value != number:
        raise ValueError(f"{name} is {text!r}; give a whole number, such as 100000 or 1e5.")
    return number


def format_part(part: Any, sort: str) -> str:
    """Return the text that `parse` reads as this part; for a user's own class, its name in Python.

    >>> format_part(parse("clipped:(softmax:0.50),0.05", "reference"), "reference")
    'clipped:(softmax:0.5),0.05'
    """
    cls: Any = type(part)
    if not is_registered(part, sort):
        return f"{cls.__name__}()"
    takes = list(arguments(cls))
    while takes and takes[-1].optional and getattr(part, takes[-1].name) == takes[-1].default:
        takes.pop()
    items = [_written(getattr(part, argument.name), argument.sort) for argument in takes]
    if cls.name == "constant":
        return items[0]
    return f"{cls.name}:{','.join(items)}" if items else str(cls.name)


def format_usual(cls: Any) -> str | None:
    """Return the usual value of a class's first argument as a text; None if it has none, or if it is None.

    >>> references = registered("reference")
    >>> format_usual(references["permuted-blocks"]), format_usual(references["thompson-sampling"])
    ('4', None)
    """
    takes = arguments(cls)
    return _written(takes[0].default) if takes and takes[0].optional and takes[0].default is not None else None


def _written(value: Any, sort: str | None = None) -> str:
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if sort is not None:
        text = format_part(value, sort)
        return f"({text})" if ":" in text else text
    if isinstance(value, tuple):
        return ";".join(f"({_written(item)})" if isinstance(item, tuple) else _written(item) for item in value)
    if isinstance(value, float):
        short = f"{value:g}"
        return short if float(short) == value else repr(value)
    text = str(value)
    return f"({text})" if _LETTERS_OF_THE_GRAMMAR & set(text) else text
