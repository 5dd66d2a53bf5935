"""rulekit show: the rules, for people."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log, width, write


class View(StrEnum):
    rules = "rules"
    full = "full"
    table = "table"
    csv = "csv"
    c50 = "c50"
    language = "language"
    json = "json"


def show(
    model: options.Model,
    format_: Annotated[
        View, typer.Option("--format", help="How to show it; full: every level, and the rules behind probabilities.")
    ] = View.rules,
) -> None:
    """Show the rules of a model.

    The file is read as data and never run.

    \b
    Examples:
      rulekit show model.json
      rulekit show model.onnx --format table
    """
    from rulekit.work.models import show

    shown = show(model, "show" if format_ is View.rules else format_.value, width())
    if shown.stopped:
        log(f"note: training was stopped early ({shown.stopped}); this was the best model so far")
    write(shown.text if shown.text.endswith("\n") else shown.text + "\n")
