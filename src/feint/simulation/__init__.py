"""Simulations of many replications: `simulate`, the data set it returns, and the compiled engine behind it.

Audits, sweeps, experiments and the commands import this folder.
"""
