"""Parts as people read them, the same everywhere: labels of data sets and stores, reprs, reports and messages.

`format_part` of `text` writes what a command line reads instead. Families, goals and feedbacks lie below the registry,
so their messages use `short_repr`.
"""

from typing import Any

from feint.registry.names import arguments, is_registered
from feint.support.printable import short_repr


def show_part(part: Any, sort: str) -> str:
    """Return a part as Python writes it, with lists for tuples; one of the user's own with its plain attributes.

    Labels of stores are made of it, and a study continues only if they are the same.

    >>> from feint.registry import parse
    >>> show_part(parse("clipped:(split:0.5;0.5),0.05", "reference"), "reference")
    'Clipped(reference=Split(weights=[0.5, 0.5]), low=0.05, high=1.0)'
    """
    if not is_registered(part, sort):
        return short_repr(part)
    cls: Any = type(part)
    items = ((argument.name, getattr(part, argument.name), argument.sort) for argument in arguments(cls))
    written = (
        f"{name}={show_part(item, of) if of and item is not None else _listed(item)}" for name, item, of in items
    )
    return f"{cls.__name__}({', '.join(written)})"


def _listed(item: Any) -> Any:
    return [_listed(inner) for inner in item] if isinstance(item, tuple) else item
