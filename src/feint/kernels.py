"""What a part of your own needs to run at the engine's speed; docs/extending.md has an example.

`inlined` and `part` make functions that kernels call, `kernel` an entry from Python. `parts` attaches them to a class
of settings, a NamedTuple, and `by_type` declares a function that is chosen by the type of such settings.
"""

from feint.numerics._jit import by_type, inlined, kernel, part, parts

__all__ = ["by_type", "inlined", "kernel", "part", "parts"]
