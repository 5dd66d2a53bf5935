"""rulekit check: what a model promises, proved or broken by a row, and what is odd in its rules."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import result, result_json, width
from rulekit_cli.failures import CHECK_FAILED
from rulekit_cli.progress import shown_search

_INDENT = 12


def check(
    model: Annotated[Path | None, typer.Argument(help=options.MODEL_HELP)] = None,
    all_: Annotated[bool, typer.Option("--all", help="Each rule and each pair of rules by itself.")] = False,
    sentence: Annotated[
        str | None, typer.Option("--sentence", metavar="TEXT", help="In place of a model: where this sentence tends.")
    ] = None,
    graph: Annotated[
        list[str] | None,
        typer.Option("--graph", metavar="R", help="Of the sentence: R is symmetric, never from an object to itself."),
    ] = None,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
    """Prove what a model promises, and find rules that do nothing or meet others.

    Promises are declared in training (--monotone, --forbid, --require, --missing-never-helps) or in the rule text. Each
    is proved for every possible row, or broken by a row that is shown, or said to be open. The same holds for rules:
    which are never true, which change no decision, which meet a rule of another class, and which a missing or new value
    can satisfy. What is found of many rules is said in one line; --all and --json list each.

    Exit status 1 where a promise is broken.

    --sentence says where the truth of a sentence tends on random structures as they get more objects, for every fixed
    probability of their atoms: to 0, to 1, or with constants to a sentence about these.

    \b
    Examples:
      rulekit check model.json
      rulekit check model.json --all
      rulekit check rules.txt --json
      rulekit check --sentence "exists x, y, z: E(x, y) and E(y, z) and E(z, x)" --graph E
    """
    from rulekit.audit.checks.checking import check_lines
    from rulekit.shown.lines import wrapped
    from rulekit.work.models import check, tendency

    if (model is None) == (sentence is None) or (graph and sentence is None):
        raise InputError("give a model, or a sentence with --sentence", where="rulekit check", fix="give one of them")
    if model is None:
        found = tendency(sentence or "", graph or ())
        if json_:
            result_json(found.as_dict())
        else:
            result("\n".join(wrapped(found.text, width(), "  ")))
        return
    with shown_search(time_limit) as deadline:
        checked = check(model, deadline)
    if json_:
        result_json(checked.as_dict())
    else:
        for word, text in check_lines(checked, all_):
            result(f"{word:{_INDENT}}{text}", " " * (_INDENT + 2))
    if not checked.ok:
        raise typer.Exit(CHECK_FAILED)
