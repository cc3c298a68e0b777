"""What your own explorer, reference, family or budget needs to run at the engine's speed; see docs/extending.md.

`inlined` and `part` make functions that kernels call; `kernel` makes one that Python calls. `parts` attaches them to a
class of settings (a NamedTuple), and `by_type` declares a function that is chosen by the type of such settings.
"""

from feint.numerics._jit import by_type, inlined, kernel, part, parts

__all__ = ["by_type", "inlined", "kernel", "part", "parts"]
