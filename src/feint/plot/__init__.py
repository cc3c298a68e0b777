"""Pictures of runs: each function takes Matplotlib axes, or makes them, and returns them.

Data hold natural logarithms, pictures show log₁₀, and each axis says so. Intervals are valid for any law.
Experiments may import this folder; users find it as `feint.plot`.
"""

from feint.plot.detection import detection_curves
from feint.plot.differences import compare
from feint.plot.error_curves import error_curves
from feint.plot.shares import allocation

__all__ = ["allocation", "compare", "detection_curves", "error_curves"]
