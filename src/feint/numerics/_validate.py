"""Turn array-likes into float64 arrays, or say in one sentence what is wrong with them."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from feint._types import FloatArray, IntArray

SUM_TOLERANCE = 1e-9  # by which the sum of probabilities may differ from 1


def as_floats(value: npt.ArrayLike, name: str) -> FloatArray:
    """Return `value` as float64; raise ValueError for text, complex numbers, ragged lists and NaN."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "fiu":
            raise TypeError
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be real numbers in a rectangular array; got {value!r}.") from None
    array = array.astype(np.float64, copy=False)
    if np.isnan(array).any():
        raise ValueError(f"{name} contains NaN; remove or replace the missing values first.")
    return array


def as_probabilities(value: npt.ArrayLike, name: str) -> FloatArray:
    """Return `value` as numbers from 0 to 1, or raise ValueError."""
    array = as_floats(value, name)
    if ((array < 0) | (array > 1)).any():
        worst = array[(array < 0) | (array > 1)][0]
        raise ValueError(f"{name} contains {worst}; probabilities lie between 0 and 1.")
    return array


def as_distribution(value: npt.ArrayLike, name: str) -> FloatArray:
    """Return `value` as rows of at least 2 probabilities, each row summing to 1 within 1e-9, or raise ValueError."""
    array = as_probabilities(value, name)
    if array.ndim == 0 or array.shape[-1] < 2:
        raise ValueError(f"{name} has shape {array.shape}; its last axis must hold at least 2 arms.")
    total = array.sum(-1)
    if array.size and abs(total - 1.0).max() > SUM_TOLERANCE:
        raise ValueError(f"{name} sums to {total.flat[abs(total - 1.0).argmax()]}; normalise it so that it sums to 1.")
    return array


def as_number(value: object, what: str) -> float:
    """Return a plain or NumPy real number as a float; `what` is a clause that says what it must be."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        raise ValueError(f"{what}; got {value!r}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise ValueError(f"{what}; got {value!r}.")
    return number


def checked_number(value: object, what: str, allowed: Callable[[float], bool]) -> float:
    """Return `as_number`; raise ValueError unless this number is `allowed`."""
    number = as_number(value, what)
    if not allowed(number):
        raise ValueError(f"{what}; got {value if math.isfinite(number) else number!r}.")  # a huge int has many digits
    return number


def set_number(part: object, name: str, what: str, allowed: Callable[[float], bool]) -> None:
    """Make a field of a frozen dataclass a `checked_number`."""
    object.__setattr__(part, name, checked_number(getattr(part, name), what, allowed))


def is_whole(value: object, least: int, most: float = math.inf) -> bool:
    """Return whether `value` is a whole number (True and 1.0 are not) from `least` to `most`."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(least <= value <= most)


def as_integers(value: npt.ArrayLike, what: str) -> npt.NDArray[np.int64]:
    """Return a flat list of whole numbers as int64; `what` is a clause that says what it must be."""
    try:
        array = np.asarray(value)
        if array.ndim != 1 or array.dtype.kind not in "iu" or (array.size and array.max() > 2**62):
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{what}; got {value!r}.") from None
    return array.astype(np.int64)


def broadcast(first: FloatArray, second: FloatArray, names: str) -> tuple[FloatArray, FloatArray]:
    """Return both arrays in their common shape, contiguous."""
    try:
        shape = np.broadcast_shapes(first.shape, second.shape)
    except ValueError:
        raise ValueError(
            f"{names} have shapes {first.shape} and {second.shape}, which do not broadcast; give them the same shape."
        ) from None
    a, b = (np.array(np.broadcast_to(x, shape)) if x.shape != shape else x for x in (first, second))
    return np.asarray(a, order="C"), np.asarray(b, order="C")


def as_arms(**parameters: npt.ArrayLike) -> tuple[FloatArray, ...]:
    """Return named parameters of posteriors, (…, K) each, as floats in their common shape, with K ≥ 2."""
    names = list(parameters)
    arrays = [as_floats(value, name) for name, value in parameters.items()]
    for i in range(1, len(arrays)):
        arrays[0], arrays[i] = broadcast(arrays[0], arrays[i], f"{names[0]} and {names[i]}")
    if arrays[0].ndim == 0 or arrays[0].shape[-1] < 2:
        raise ValueError(
            f"{names[0]} have shape {arrays[0].shape}; the last axis counts the arms and must hold at least 2 of them."
        )
    return tuple(broadcast(arrays[0], array, "")[1] for array in arrays)


def restore(target: FloatArray, value: npt.ArrayLike, name: str) -> None:
    """Fill an array from a saved state; raise ValueError if the value does not fit."""
    values = as_floats(value, f"The state is damaged: {name}")
    if values.shape != target.shape or not np.isfinite(values).all():
        raise ValueError(
            f"The state is damaged: {name} needs finite numbers of shape {target.shape}, and has shape {values.shape}."
        )
    target[...] = values


def restore_counts(target: IntArray, value: npt.ArrayLike, name: str) -> None:
    """Fill an array of counts from a saved state; raise ValueError if the value does not fit."""
    values = as_integers(value, f"The state is damaged: {name} must be whole numbers")
    if values.shape != target.shape or (values < 0).any() or (values > 2**53).any():
        raise ValueError(f"The state is damaged: {name} are not the counts of {target.size} arms.")
    target[:] = values


def check_epsilon(epsilon: FloatArray) -> None:
    """Raise ValueError unless all KL budgets are 0 or more (∞ is allowed)."""
    if (epsilon < 0).any():
        raise ValueError(f"epsilon is {epsilon.min()}; a KL budget must be 0 or more (math.inf for no limit).")


def check_exactly_one(**arguments: object) -> None:
    """Raise ValueError unless exactly one of the named arguments is given; None means that it is not."""
    if sum(value is not None for value in arguments.values()) != 1:
        raise ValueError(f"Give exactly one of {' and '.join(arguments)}; the other must be None.")


def check_level(value: object, name: str) -> float:
    """Return a probability strictly between 0 and 1 as a float, or raise ValueError."""
    return checked_number(value, f"{name} must lie strictly between 0 and 1", lambda x: 0 < x < 1)


def check_flag(value: object, name: str) -> bool:
    """Return True or False; raise ValueError for anything else, such as 0 or 1."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}; it must be True or False.")
    return value


def read_only(array: Any) -> Any:
    """Return a read-only view of an array."""
    shown = np.asarray(array).view()
    shown.flags.writeable = False
    return shown
