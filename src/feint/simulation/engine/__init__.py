"""The compiled heart of the simulation: one replication, moved forward in time by the step that the live agent shares.

Simulations and sweeps import this folder.
"""
