"""rulekit check: what a model promises, proved or broken by a row, and what is odd in its rules."""

from __future__ import annotations

from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import result, result_json, width
from rulekit_cli.failures import CHECK_FAILED
from rulekit_cli.progress import shown_search

_INDENT = 12


def check(
    model: options.Model,
    all_: Annotated[bool, typer.Option("--all", help="Each rule and each pair of rules by itself.")] = False,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
    """Prove what a model promises, and find rules that do nothing or meet others.

    Promises are declared in training (--monotone, --forbid, --require, --missing-never-helps) or in the rule text. Each
    is proved for every possible row, or broken by a row that is shown, or said to be open. The same holds for rules:
    which are never true, which change no decision, which meet a rule of another class, and which a missing or new value
    can satisfy. What is found of many rules is said in one line; --all and --json list each.

    Exit status 1 where a promise is broken.

    \b
    Examples:
      rulekit check model.json
      rulekit check model.json --all
      rulekit check rules.txt --json
    """
    from rulekit.audit.checks.check_lines import check_lines
    from rulekit.audit.lines import wrapped
    from rulekit.work.models import check

    with shown_search(time_limit) as deadline:
        checked = check(model, deadline)
    if json_:
        result_json(checked.as_dict())
    else:
        for word, text in check_lines(checked, all_):
            for line in wrapped(f"{word:{_INDENT}}{text}", width(), " " * (_INDENT + 2)):
                result(line)
    if not checked.ok:
        raise typer.Exit(CHECK_FAILED)
