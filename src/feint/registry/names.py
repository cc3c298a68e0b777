"""Find the classes of the package by name, and classes of a user's own by file and name."""

import pkgutil
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from difflib import get_close_matches
from functools import cache
from hashlib import sha256
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, NoneType, UnionType
from typing import Any, NamedTuple, Union, get_args, get_origin, get_type_hints

# The folder of each sort, and the type by which a field says that it holds such a part.
_SORTS = {
    "explorer": ("feint.explorers", "Explorer"),
    "reference": ("feint.references", "Reference"),
    "family": ("feint.families", "Family"),
    "budget": ("feint.budgets", "Budget"),
    "feedback": ("feint.feedback", "Feedback"),
    "goal": ("feint.goals", "Goal"),
}
_OWN = re.compile(r"(.+\.py):([A-Za-z_]\w*)")
MOST_NESTED = 10  # parts in parts


class Argument(NamedTuple):
    """An argument of a part: its name, its possible types without None, and whether it may be left out."""

    name: str
    types: tuple[Any, ...]
    optional: bool
    default: Any
    sort: str | None  # of the part that it holds, if it holds one

    @property
    def is_list(self) -> bool:
        """Return whether it takes a list and nothing else."""
        return all(is_list(kind) for kind in self.types)


def is_list(kind: Any) -> bool:
    """Return whether a type is a tuple of something."""
    return get_origin(kind) is tuple


@cache
def registered(sort: str) -> Mapping[str, type]:
    """Return the classes of a sort (a key of `_SORTS`) by name, in alphabetical order.

    >>> list(registered("family"))
    ['bernoulli', 'exponential', 'gaussian', 'poisson']
    """
    found = {cls.__dict__["name"]: cls for cls in _classes(_SORTS[sort][0])}
    return dict(sorted(found.items()))


def _classes(home: str) -> Iterator[Any]:
    for info in pkgutil.iter_modules(import_module(home).__path__):
        module = import_module(f"{home}.{info.name}")
        for value in vars(module).values():
            is_ours = isinstance(value, type) and value.__module__ == module.__name__ and is_dataclass(value)
            if is_ours and isinstance(value.__dict__.get("name"), str):
                yield value


def find(name: str, sort: str) -> type | None:
    """Return the class that has this name, this alias or this name in Python; None if there is none."""
    return _by_any_name(sort).get(name)


@cache
def _by_any_name(sort: str) -> dict[str, type]:
    return {
        alias: cls
        for name, cls in registered(sort).items()
        for alias in (cls.__name__, *getattr(cls, "aliases", ()), name)
    }


def is_registered(part: Any, sort: str) -> bool:
    """Return whether an object is of a class of the package, not of a user's own."""
    return type(part) in registered(sort).values()


def class_of(name: str, sort: str, folder: Path | None) -> Any:
    """Return the class of a name, or of FILE.py:CLASS in `folder`; without a folder, no file is run."""
    own = _OWN.fullmatch(name)
    if own and sort == "feedback":
        raise ValueError(
            f"{name[:80]!r} is not a feedback: your own cannot be used, since kernels and theory know only those of "
            f"feint; choose among {', '.join(registered(sort))}."
        )
    if own and folder is not None:
        return _own_class(folder / own[1], own[2])
    cls = find(name, sort)
    if cls is None:
        if name.endswith(".py"):
            raise ValueError(
                f"Name your own {sort} by file and class only, as {name}:Mine; it is made without arguments."
            )
        if sort == "reference" and find(name, "family") is not None:
            raise ValueError(f"{name!r} is a family, not a {sort}; write thompson-sampling and set the family.")
        number, yours = "a number, " if sort == "budget" else "", ", or give your own as FILE.py:CLASS"
        near = get_close_matches(name, registered(sort), 1)
        meant = (
            f"did you mean {signature(registered(sort)[near[0]])}? Otherwise choose among" if near else "choose among"
        )
        known = f"{number}{', '.join(registered(sort))}{'' if folder is None else yours}"
        raise ValueError(f"There is no {sort} {name[:80]!r}; {meant} {known}.")
    return cls


def names_own_class(name: str) -> bool:
    """Return whether a name is FILE.py:CLASS."""
    return _OWN.fullmatch(name) is not None


@cache
def arguments(cls: Any) -> tuple[Argument, ...]:
    """Return the arguments of a registered class, in the order of its constructor."""
    hints = get_type_hints(cls)
    return tuple(_argument(field, hints[field.name]) for field in fields(cls) if field.init)


def _argument(field: "Field[Any]", hint: Any) -> Argument:
    types = _types(hint)
    held = [sort for sort, contract in _contracts() if contract <= set(types)]
    default = field.default if field.default_factory is MISSING else field.default_factory()
    return Argument(field.name, types, default is not MISSING, default, held[0] if held else None)


def _types(hint: Any) -> tuple[Any, ...]:
    is_union = get_origin(hint) in (Union, UnionType)
    return tuple(kind for kind in get_args(hint) if kind is not NoneType) if is_union else (hint,)


def _contracts() -> Iterator[tuple[str, set[Any]]]:
    """Yield the contract of each sort that a class may name: those of folders that are imported already."""
    for sort, (home, name) in _SORTS.items():
        if (contract := getattr(sys.modules.get(home), name, None)) is not None:
            yield sort, set(_types(contract))


def signature(cls: type, known: Collection[str] = ()) -> str:
    """Return how a registered class is written, with [] around what may be left out; `known` may be, too.

    >>> signature(registered("reference")["clipped"]), signature(registered("family")["gaussian"])
    ('clipped:REFERENCE,LOW[,HIGH]', 'gaussian[:SIGMA]')
    """
    text, closing = str(cls.__dict__["name"]), ""
    for i, argument in enumerate(arguments(cls)):
        mark = f"{',' if i else ':'}{argument.name.upper()}"
        if argument.optional or argument.name in known or closing:
            mark, closing = f"[{mark}", closing + "]"
        text += mark
    return text + closing


def needs_arguments(cls: Any, known: Collection[str] = ()) -> bool:
    """Return whether a class needs more than its name, even if the arguments in `known` are filled in."""
    return any(not (argument.optional or argument.name in known) for argument in arguments(cls))


def signatures(sort: str, known: Collection[str] = ()) -> list[str]:
    """Return how each class of a sort is written, for --help and error messages."""
    return [signature(cls, known) for cls in registered(sort).values()]


def _own_class(path: Path, attribute: str) -> type:
    cls = getattr(_run_file(path), attribute, None)
    if not isinstance(cls, type):
        raise ValueError(f"{path.name} has no class {attribute}; give FILE.py:CLASS with one that it has.")
    return cls


def find_own(text: str, what: str, folder: Path) -> Any:
    """Return the class, function or object that FILE.py:NAME or MODULE:NAME names; `what` is what it is for.

    Files are looked for in `folder`, and modules are looked for there first.
    """
    place, colon, attribute = text.rpartition(":")
    if not colon or not place or not attribute.isidentifier():
        raise ValueError(f"{what} is {text[:80]!r}; give FILE.py:NAME or MODULE:NAME.")
    if place.endswith(".py"):
        module = _run_file(folder / place)
    else:
        if str(folder.resolve()) not in sys.path:
            sys.path.insert(0, str(folder.resolve()))
        try:
            module = import_module(place)
        except (Exception, SystemExit) as error:
            raise ValueError(
                f"{what} is {text[:80]!r}, but the module {place[:80]} cannot be imported: {type(error).__name__}: "
                f"{error}"
            ) from None
    if not hasattr(module, attribute):
        raise ValueError(f"{what} is {text[:80]!r}, but {place[:80]} has no {attribute}; give a name that it has.")
    return getattr(module, attribute)


def _run_file(path: Path) -> ModuleType:
    path = path.resolve()
    if not path.is_file():
        raise ValueError(f"There is no Python file {path}.")
    return _load(path, path.stat().st_mtime_ns)


@cache
def _load(path: Path, modified: int) -> ModuleType:
    """Run a user's file, and again once it has been edited. Dask pickles such a module by value, so that workers need
    not have the file.
    """
    # The module has a name of its own: a user's random.py must not replace Python's, nor another mine.py this one.
    name = f"own_{path.stem}_{sha256(str(path).encode()).hexdigest()[:8]}"
    spec = spec_from_file_location(name, path)
    assert spec is not None  # the name ends in .py
    assert spec.loader is not None
    module = sys.modules[name] = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise ValueError(f"{path} cannot be run: {type(error).__name__}: {error}") from None
    with suppress(ImportError):  # without Dask, nothing is sent to workers
        import cloudpickle

        cloudpickle.register_pickle_by_value(module)
    return module
