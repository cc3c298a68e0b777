"""Sweeps: simulate many cells, on one machine or a cluster, into one store that survives any interrupt.

Experiments and the commands import this folder.
"""

from feint.sweep.open_store import open_sweep
from feint.sweep.plot import draw_sweep
from feint.sweep.runner import SweepWarning
from feint.sweep.sweep import Sweep

__all__ = ["Sweep", "SweepWarning", "draw_sweep", "open_sweep"]
