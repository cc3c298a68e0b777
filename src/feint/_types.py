"""The types of arrays that the whole package names."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Numbers = float | Sequence[float] | Sequence[Sequence[float]] | FloatArray | IntArray  # `ArrayLike` takes a string
