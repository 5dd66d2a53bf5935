"""Flags and help that a target or a learner brings with it, for the one that is named on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from rulekit.work.choices import DeclaredOption


def named(arguments: Sequence[str], flag: str) -> str | None:
    """The value of a flag on a command line that is not parsed yet."""
    for number, word in enumerate(arguments):
        if word == flag:
            return next(iter(arguments[number + 1 :]), None)
        if word.startswith(f"{flag}="):
            return word.removeprefix(f"{flag}=")
    return None


def with_flags(
    command: Callable[..., None],
    choices: Sequence[DeclaredOption],
    run: Callable[[Mapping[str, Any], Mapping[str, Any]], None],
) -> Callable[..., None]:
    """The command with one more flag for each choice; run takes what the command takes, and the choices that are made.

    A flag that is on by default is turned off by --no-NAME.
    """
    hints = get_type_hints(command, include_extras=True)
    own = [p.replace(annotation=hints[name]) for name, p in inspect.signature(command).parameters.items()]
    flags = [
        inspect.Parameter(choice.name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=_flag(choice))
        for choice in choices
    ]

    def extended(**values: Any) -> None:
        made = {choice.name: values.pop(choice.name) for choice in choices}
        run(values, {name: value for name, value in made.items() if value is not None})

    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own] + flags
    extended.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    extended.__annotations__ = {p.name: p.annotation for p in parameters}
    extended.__doc__ = command.__doc__
    return extended


def _flag(choice: DeclaredOption) -> Any:
    word = choice.name.replace("_", "-")
    said = choice.help
    if not all(str(value) in choice.help for value in choice.allowed):
        said += f": {', '.join(map(str, choice.allowed))}"
    if isinstance(choice.default, bool):
        name = f"--{word}/--no-{word}" if choice.default else f"--{word}"
        return Annotated[bool | None, typer.Option(name, help=f"{said}.", show_default=False)]
    kind = int if isinstance(choice.default, int) else str
    beside = "" if choice.default in (None, "") else f"; {choice.default} by default"
    return Annotated[kind | None, typer.Option(f"--{word}", help=f"{said}{beside}.", show_default=False)]


def with_parameters(command: Callable[..., None], learner: str) -> Callable[..., None]:
    """The command whose help lists the parameters of a learner; raises InputError for one that is not installed."""

    @wraps(command)
    def described(**values: Any) -> None:
        command(**values)

    from rulekit.work.learning import choices_of_learner

    choices = choices_of_learner(learner)
    column = max((len(f"{choice.name}={choice.default}") for choice in choices), default=0) + 2
    lines = [f"  {f'{choice.name}={choice.default}':{column}}{choice.help}" for choice in choices]
    head = f"    \b\n    Parameters of {learner}, with their defaults; --param NAME=VALUE sets one:"
    described.__doc__ = "\n".join([f"{command.__doc__}", head, *(f"    {line}" for line in lines)])
    return described
