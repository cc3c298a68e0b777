"""The compiled heart of the simulation and of the live agent: one replication, moved forward in time.

Simulations and sweeps import this folder.
"""
