"""The version: pyproject.toml, the command and everything that is written read it here, and nowhere else."""

VERSION = "0.1.0"
