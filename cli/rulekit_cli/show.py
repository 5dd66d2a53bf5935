"""rulekit show: the rules, for people."""

from __future__ import annotations

from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log, width, write


def show(
    model: options.Model,
    format_: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="HOW",
            help="rules (for people), table, csv or c50; language; json.",
        ),
    ] = "rules",
    all_: Annotated[
        bool, typer.Option("--all", help="Rules with every level, and the conditions behind probabilities.")
    ] = False,
) -> None:
    """Show the rules of a model.

    The file is read as data and never run.

    \b
    Examples:
      rulekit show model.json
      rulekit show model.onnx --format table
    """
    from rulekit.work.models import show

    shown = show(model, format_, width(), everything=all_)
    if shown.stopped:
        log(f"note: training was stopped early ({shown.stopped}); this was the best model so far")
    for fading in shown.fading:
        log(f"note: {fading}")
    write(shown.text.removesuffix("\n") + "\n", exact=format_ not in ("rules", "table"))
