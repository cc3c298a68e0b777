"""The options of `feint audit` as they are written in a shell: what they claim, and the command line that says so.

The command reads them, and the page asks with them.
"""

import shlex
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

from feint.auditing.claim import Claim, Names, shell_options
from feint.auditing.option import Option
from feint.registry import USUAL_REFERENCE

# How a reference is written with its rewards: `read_reference` reads all of these together.
_REFERENCE = {
    "reference": Option(
        "What is claimed if no probabilities are logged: NAME[:ARGUMENTS] of a reference below; normal, beta and the "
        "like are thompson-sampling with that --family.",
        kind=str,
        usual=USUAL_REFERENCE,
    ),
    "family": Option("Public rewards: {family} or {mine}; gaussian if not given.", kind=str | None),
    "sigma": Option("Standard deviation of normal rewards, or unknown; 1 if not given.", kind=str | None),
    "prior": Option(
        "normal: MEAN,SD (flat if not given), with an unknown sigma MEAN,PULLS,SHAPE,SCALE; beta: "
        "SUCCESSES,FAILURES (1,1 if not given); otherwise SHAPE,RATE. For one prior per arm, put ; between them, or "
        "name a file with one line per arm.",
        kind=str | None,
    ),
    "split": Option("A split test: the arms' shares, such as 0.5,0.5.", kind=str | None),
    "clip": Option("LOW or LOW,HIGH: no arm has a smaller or a larger probability than these.", kind=str | None),
}


def audit_options() -> dict[str, Option]:
    """Return every option that describes a claim, by its name in a shell."""
    claim, names = shell_options(Claim), shell_options(Names)
    return _REFERENCE | {str(option.name): option for option in (*claim.values(), *names.values())}


def read_words(text: str) -> dict[str, Any]:
    """Return the options in a piece of a command line by their names.

    >>> read_words("--batch 100 --no-initial-round --unit user,page --clip 0.1,0.6")
    {'batch': 100, 'initial_round': False, 'unit': 'user,page', 'clip': '0.1,0.6'}
    """
    known = audit_options()
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError(f"A quote is not closed in {text!r}.") from None
    found: dict[str, Any] = {}
    while words:
        flag, given, value = words.pop(0).partition("=")
        name = flag.removeprefix("--").replace("-", "_") if flag.startswith("--") else ""
        switch = name.removeprefix("no_")
        if switch in known and known[switch].kind is bool and not given:
            found[switch] = name == switch
        elif name in known and known[name].kind is not bool:
            if not given and not words:
                raise ValueError(f"{flag} needs a value.")
            found[name] = _typed_value(flag, value if given else words.pop(0), known[name])
        else:
            near = get_close_matches(flag, [f"--{other.replace('_', '-')}" for other in known], 1)
            raise ValueError(f"There is no option {flag} here" + (f"; did you mean {near[0]}?" if near else "."))
    return found


def _typed_value(flag: str, text: str, option: Option) -> Any:
    kind = (get_args(option.kind) or (option.kind,))[0]
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"{flag} is {text!r}; give {what}.") from None


class WrittenClaim:
    """A claim by the options of `feint audit`; options that are left out have their defaults.

    >>> written = WrittenClaim(reference="beta", arms="3", skip_bad=True)
    >>> written.command("log.csv")
    'feint audit log.csv --reference beta --arms 3 --skip-bad'
    >>> written.claim().n_arms
    3
    """

    def __init__(self, **options: Any) -> None:
        self._options = {name: option.usual for name, option in audit_options().items()} | options

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrittenClaim) and self._options == other._options

    __hash__ = None  # type: ignore[assignment]  # as for every dictionary

    def claim(self, folder: Path | None = None) -> Claim:
        """Return what is claimed; `folder` is where the user's own classes are found, None if they are not allowed."""
        from feint.auditing.reference_text import read_reference

        reference, family = read_reference(**{name: self._options[name] for name in _REFERENCE}, folder=folder)
        names = Names(**self._values(Names))
        return Claim(reference=reference, family=family, names=names, **self._values(Claim))

    def _values(self, described: type) -> dict[str, Any]:
        """Return the values of the fields of a class."""
        found = {}
        for field, option in shell_options(described).items():
            value = self._options[str(option.name)]
            found[field] = value if option.parse is None else option.parse(value)
        return found

    def command(self, log: str) -> str:
        """Return the command line that makes the same audit of a log."""
        words = ["feint", "audit", log]
        for name, option in audit_options().items():
            value, flag = self._options[name], name.replace("_", "-")
            if value == option.usual:
                continue
            if option.kind is bool:
                words.append(f"--{flag}" if value else f"--no-{flag}")
            else:
                words += [f"--{flag}", str(value)]
        return shlex.join(words)
