"""The claims that a visitor can choose in Audit: options of `feint audit`, in words."""

from typing import Any, NamedTuple

from feint.registry import format_usual, registered, signature
from feint.registry.names import arguments


class Choice(NamedTuple):
    """A claim that a visitor can choose: options of `feint audit`, and what its number is called."""

    mode: str | None
    reference: str
    number: str | None = None
    usual: str = ""
    has_context: bool = False


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


def _choice(name: str, cls: Any) -> Choice:
    """Return the choice of a reference, or of Thompson Sampling with the family of this name."""
    example = _example(cls)
    # For a reference around another this is a property, which only an object can answer.
    always_has_context = getattr(cls, "takes_contexts", False) is True
    return Choice("rewards", name, "reference" if example else None, example, always_has_context)


STRONGEST, SPLIT = "the strongest that the log allows", "a split with these shares"
_REWARDS = {
    "gaussian": "normal rewards",
    "bernoulli": "0/1 rewards",
    "poisson": "counts",
    "exponential": "waiting times",
}
OF_FAMILY = {
    name: f"Thompson Sampling, {_REWARDS.get(name, f'{name} rewards')}"
    for name in dict.fromkeys((*_REWARDS, *registered("family")))  # families without words come last
}
CLAIMS = {
    STRONGEST: Choice(None, "thompson-sampling", "sigma", "1"),
    **{words: _choice(name, registered("family")[name]) for name, words in OF_FAMILY.items()},
    OF_FAMILY["gaussian"]: Choice("rewards", "thompson-sampling", "sigma", "1"),
    "uniform": Choice(None, "uniform"),
    "softmax": Choice("rewards", "softmax", "reference", "1"),
    "ε-greedy": Choice("rewards", "epsilon-greedy", "reference", "0.1"),
    SPLIT: Choice(None, "thompson-sampling", "split", "0.5,0.5"),
}
NUMBERS = {"sigma": "σ of the rewards", "reference": "Its arguments", "split": "Shares, with commas"}
_NOT_LISTED = {choice.reference for choice in CLAIMS.values()} | {"split", "ucb"}  # UCB does not draw its arms
CLAIMS |= {
    signature(cls): _choice(name, cls) for name, cls in registered("reference").items() if name not in _NOT_LISTED
}
