"""The names of explorers, references, families, budgets, goals and feedbacks, as all interfaces read them: commands,
files, page and states.

A class in a file of `explorers`, `references`, `families`, `budgets`, `goals` or `feedback` names itself: `name` is
what users write, and the optional `aliases` are other names that are accepted. The fields of its dataclass are its
arguments. `names` finds the classes, `text` reads and writes NAME[:ARGUMENTS], `config` does the same for JSON,
`reward_families` reads families and knows which a reference implies, and `show` writes parts for people. Every module
above `bandit` may import it; it imports the classes only when they are asked for.
"""

from feint.registry.config import config_of, families_from_config, from_config, from_table
from feint.registry.names import find_own, needs_arguments, registered, signature, signatures
from feint.registry.reward_families import (
    USUAL_REFERENCE,
    families_for,
    imply_family,
    is_family_of,
    parse_families,
    usual_family,
)
from feint.registry.show import show_part
from feint.registry.text import format_part, format_usual, parse, parse_whole

__all__ = [
    "USUAL_REFERENCE",
    "config_of",
    "families_for",
    "families_from_config",
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
    "show_part",
    "signature",
    "signatures",
    "usual_family",
]
