"""The paper's figures and tables, one file each: SETTINGS, run() -> Dataset, and how to draw or print it."""
