"""The names of explorers, references, families, budgets, goals and feedbacks, which every door reads: commands, files,
page and states.

A class in a file of `explorers`, `references`, `families`, `budgets`, `goals` or `feedback` names itself: `name` is
what users write, and the optional `aliases` are other names that are accepted. The fields of its dataclass are its
arguments. `names` finds the classes, `text` reads and writes NAME[:ARGUMENTS], and `config` does the same for JSON.
Every module above `bandit` may import it; it imports the classes only when they are asked for.
"""

from feint.registry.config import config_of, from_config, from_table
from feint.registry.names import find_own, needs_arguments, registered, signature, signatures
from feint.registry.text import (
    USUAL_REFERENCE,
    format_part,
    format_usual,
    imply_family,
    is_family_of,
    parse,
    parse_families,
    parse_whole,
)

__all__ = [
    "USUAL_REFERENCE",
    "config_of",
    "find_own",
    "format_part",
    "format_usual",
    "from_config",
    "from_table",
    "imply_family",
    "is_family_of",
    "needs_arguments",
    "parse",
    "parse_families",
    "parse_whole",
    "registered",
    "signature",
    "signatures",
]
