"""Turn array-likes into float64 arrays, or say in one sentence what is wrong with them."""

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def as_floats(value: npt.ArrayLike, name: str) -> FloatArray:
    """`value` as float64; ValueError for text, complex numbers, ragged lists and NaN."""
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


def broadcast(first: FloatArray, second: FloatArray, names: str) -> tuple[FloatArray, FloatArray]:
    """Both arrays at their common shape, contiguous."""
    try:
        a, b = np.broadcast_arrays(first, second)
    except ValueError:
        raise ValueError(
            f"{names} have shapes {first.shape} and {second.shape}, which do not broadcast; give them the same shape."
        ) from None
    return np.asarray(a, order="C"), np.asarray(b, order="C")


def check_epsilon(epsilon: FloatArray) -> None:
    """KL budgets are numbers from 0 to ∞."""
    if (epsilon < 0).any():
        raise ValueError(f"epsilon is {epsilon.min()}; a KL budget must be 0 or more (math.inf for no limit).")
