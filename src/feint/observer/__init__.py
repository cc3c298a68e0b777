"""The observer's side: tests that are valid whenever they are looked at. One test a file, one contract (`base`)."""

from feint.observer.base import EProcess
from feint.observer.boost_mixture import BoostMixture
from feint.observer.calibration import Calibration
from feint.observer.likelihood_ratio import LikelihoodRatio
from feint.observer.observer import Observer
from feint.observer.propensity_mixture import PropensityMixture

__all__ = ["BoostMixture", "Calibration", "EProcess", "LikelihoodRatio", "Observer", "PropensityMixture"]
