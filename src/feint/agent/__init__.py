"""The live agent and its observer, one pull at a time, and the step (`step`, Algorithm 1) that simulations share.

Simulations, experiments, sweeps, the page and the commands import this folder.
"""
