"""Make the options of a command from the fields of `Claim`, so that none is written twice."""

import inspect
from collections.abc import Callable
from typing import TypeVar

import typer

from feint.auditing.command_line import audit_options
from feint.auditing.option import Option

_Command = TypeVar("_Command", bound=Callable[..., None])


def with_claim_options(command: _Command) -> _Command:
    """Give a command that takes `**claimed` an option for everything that can be claimed, after its first argument."""
    signature = inspect.signature(command)
    first, *others = [p for p in signature.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
    options = [_parameter(name, option) for name, option in audit_options().items()]
    # Typer reads the signature from this attribute, which functions have only once it is set.
    command.__signature__ = signature.replace(parameters=[first, *options, *others])  # type: ignore[attr-defined]
    return command


def _parameter(name: str, option: Option) -> inspect.Parameter:
    # A flag that is off by default needs only its name; one that is on also needs --no-….
    flag = [f"--{name.replace('_', '-')}"] if option.kind is bool and not option.usual else []
    described = typer.Option(option.usual, *flag, help=option.help)
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=described, annotation=option.kind)
