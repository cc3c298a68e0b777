"""The claims that a visitor can choose in Audit: options of `feint audit`, in words."""

from typing import Any, NamedTuple

from feint.references.base import takes_contexts
from feint.registry import format_usual, registered, signature
from feint.registry.names import arguments


class Choice(NamedTuple):
    """A claim that a visitor can choose: options of `feint audit`, and what its number is called."""

    mode: str | None
    reference: str
    number: str | None = None
    usual: str = ""
    has_context: bool = False


STRONGEST, SPLIT = "the strongest that the log allows", "a split with these shares"
OF_FAMILY = {
    "gaussian": "Thompson Sampling, normal rewards", "bernoulli": "Thompson Sampling, 0/1 rewards",
    "poisson": "Thompson Sampling, counts", "exponential": "Thompson Sampling, waiting times",
}  # fmt: skip
CLAIMS = {
    STRONGEST: Choice(None, "thompson-sampling", "sigma", "1"),
    OF_FAMILY["gaussian"]: Choice("rewards", "thompson-sampling", "sigma", "1"),
    OF_FAMILY["bernoulli"]: Choice("rewards", "beta"),
    OF_FAMILY["poisson"]: Choice("rewards", "poisson"),
    OF_FAMILY["exponential"]: Choice("rewards", "exponential"),
    "uniform": Choice(None, "uniform"),
    "softmax": Choice("rewards", "softmax", "reference", "1"),
    "ε-greedy": Choice("rewards", "epsilon-greedy", "reference", "0.1"),
    SPLIT: Choice(None, "thompson-sampling", "split", "0.5,0.5"),
}
NUMBERS = {"sigma": "σ of the rewards", "reference": "Its arguments", "split": "Shares, with commas"}
_NOT_LISTED = {choice.reference for choice in CLAIMS.values()} | {"split", "ucb"}  # UCB does not draw its arms


def _example(cls: Any) -> str:
    """Return arguments that a visitor can edit: those that are needed, with a reference inside, an arm, small shares
    and a number for each of two arms; otherwise the first, with its usual value.
    """
    needed = [argument for argument in arguments(cls) if not argument.optional]
    if not needed:
        usual = format_usual(cls)
        return "" if usual is None else usual
    texts = {int: "0", float: "0.05"}
    return ",".join(
        "thompson-sampling" if argument.sort else "1;1" if argument.is_list else texts.get(argument.types[0], "0.05")
        for argument in needed
    )


CLAIMS |= {
    signature(cls): Choice("rewards", name, "reference" if _example(cls) else None, _example(cls), takes_contexts(cls))
    for name, cls in registered("reference").items()
    if name not in _NOT_LISTED
}
