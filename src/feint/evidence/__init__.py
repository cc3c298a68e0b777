"""Evidence: tests that are valid whenever you look at them. One test per file, one contract (`base`).

The observer, plans, the engine and audits import this folder.
"""

from feint.evidence.base import EProcess
from feint.evidence.boost_mixture import BoostMixture
from feint.evidence.calibration import Calibration
from feint.evidence.propensity_mixture import PropensityMixture
from feint.evidence.propensity_serial import PropensitySerialMixture
from feint.evidence.serial import SerialMixture

__all__ = [
    "BoostMixture", "Calibration", "EProcess", "PropensityMixture", "PropensitySerialMixture",
    "SerialMixture",
]  # fmt: skip
