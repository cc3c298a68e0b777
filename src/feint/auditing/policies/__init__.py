"""The check of a policy before its release: does it draw its arms with the probabilities that it states?

The policy plays against simulated rewards (`player`), and the audit's test watches it (`check`). The command
imports this folder.
"""
