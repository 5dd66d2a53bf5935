"""rulekit check: what a model promises, proved or broken by a row, and what is odd in its rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from rulekit_cli import options
from rulekit_cli.console import result, result_json, width
from rulekit_cli.failures import CHECK_FAILED

if TYPE_CHECKING:
    from rulekit.audit.checking import Checked

_INDENT = 12


def check(model: options.Model, json_: options.Json = False) -> None:
    """Prove what a model promises, and find rules that do nothing or contradict each other.

    Promises are declared in training (--monotone, --forbid, --require, --missing-never-helps) or in the rule text. Each
    is proved for every possible row, or broken by a row that is shown, or said to be open. The same holds for rules:
    which are never true, which change no decision, which meet a rule of another class, and which a missing or new value
    can satisfy.

    Exit status 1 where a promise is broken.

    \b
    Examples:
      rulekit check model.json
      rulekit check rules.txt --json
    """
    from rulekit.audit.lines import wrapped
    from rulekit.work.models import check

    checked = check(model)
    if json_:
        result_json(checked.as_dict())
    else:
        for word, text in _lines(checked):
            for line in wrapped(f"{word:{_INDENT}}{text}", width(), " " * (_INDENT + 2)):
                result(line)
    if not checked.ok:
        raise typer.Exit(CHECK_FAILED)


def _lines(checked: Checked) -> Iterator[tuple[str, str]]:
    """A word and a text for each line."""
    for verdict in checked.verdicts:
        yield ("FAILS" if verdict.outcome == "fails" else verdict.outcome), verdict.promise.text
        why = verdict.reason or (f"broken by {', '.join(verdict.rules)}" if verdict.rules else "")
        yield from (("", f"  {line}") for line in [*filter(None, [why]), *(row.text for row in verdict.rows)])
    if not checked.verdicts:
        yield "no promise", "is declared; rulekit train --monotone, --forbid, --require, --missing-never-helps do so"
    yield from (("proved", text) for text in checked.clear)
    for finding in checked.findings:
        yield "found", finding.text
        yield from (("", f"  {row.text}") for row in finding.rows)
    yield from (("open", text) for text in checked.open)
