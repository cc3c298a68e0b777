"""Make someone else's text, such as labels and file names, safe to show in a terminal, and shorten long lists."""

import re
from dataclasses import fields
from typing import Any
from unicodedata import category

_SHOWN = 6  # entries of a list
_ADDRESS = re.compile(r"<(?:[^<>]*\.)?(\w+) object at 0x[0-9a-fA-F]+>")


def printable(text: str) -> str:
    r"""Return `text` with its control characters escaped, as Python writes them.

    An escape sequence in a label could otherwise hide or rewrite a verdict. Control and format characters are escaped
    (line ends and those that change the direction of writing among them), and so are lone surrogates and what Unicode
    has not assigned. Visible characters, and blanks of every width, stay.

    >>> print(printable("red\x1b[2K\rno evidence"))
    red\x1b[2K\rno evidence
    >>> printable("größer 赤") == "größer 赤"
    True
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or category(c) == "Zs" else repr(c)[1:-1] for c in text)


def short_list(values: Any) -> str:
    """Return numbers as a list of at most six entries, to four digits.

    >>> short_list([0.123456, 2]), short_list([0.5] * 80)
    ('[0.1235, 2]', '[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, … 80 in all]')
    """
    shown = ", ".join(f"{float(value):.4g}" for value in values[:_SHOWN])
    return f"[{shown}, … {len(values)} in all]" if len(values) > _SHOWN else f"[{shown}]"


def short_repr(value: object) -> str:
    """Return `repr(value)` without addresses. An object without a repr of its own shows as its class with those plain
    attributes that its constructor takes; the others are state, which changes while the object is used.

    >>> class Mine:
    ...     def __init__(self, temperature): self.temperature, self.calls = temperature, 0
    >>> short_repr(Mine(0.3))
    'Mine(temperature=0.3)'
    """
    if type(value).__repr__ is not object.__repr__:
        return _ADDRESS.sub(r"\1()", repr(value))
    taken = getattr(type(value).__init__, "__code__", None)
    names = taken.co_varnames[1 : taken.co_argcount + taken.co_kwonlyargcount] if taken else ()
    attributes = {name: getattr(value, name) for name in names if name in getattr(value, "__dict__", {})}
    shown = (f"{name}={item!r}" for name, item in attributes.items() if isinstance(item, int | float | str))
    return f"{type(value).__name__}({', '.join(shown)})"


def repr_of_fields(described: Any) -> str:
    """Return the usual repr of a dataclass, but without the addresses of the parts that it holds."""
    said = [f"{field.name}={short_repr(getattr(described, field.name))}" for field in fields(described)]
    return f"{type(described).__name__}({', '.join(said)})"


def repr_of_changes(described: Any) -> str:
    """Return the name of a dataclass and the fields that differ from their defaults."""
    usual = {f.name: f.default_factory() if callable(f.default_factory) else f.default for f in fields(described)}
    found = [(name, getattr(described, name)) for name in usual]
    said = [f"{name}={short_repr(value)}" for name, value in found if value != usual[name]]
    return f"{type(described).__name__}({', '.join(said)})"
