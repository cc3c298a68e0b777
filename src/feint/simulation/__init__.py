"""Simulations of many replications: `simulate`, the data set it returns, and the compiled engine behind it.

Sweeps, experiments and the commands import this folder.
"""
