"""rulekit show: the rules, for people."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli.console import log, width


class View(StrEnum):
    rules = "rules"
    full = "full"
    table = "table"
    csv = "csv"
    c50 = "c50"
    language = "language"
    json = "json"


def show(
    model: Annotated[Path, typer.Argument(help="A model (.json), an ONNX file, a rule text or a generated .py.")],
    format_: Annotated[View, typer.Option("--format", help="How to show it.")] = View.rules,
) -> None:
    """Show the rules of a model.

    A generated .py is read as data and never run.

    \b
    Examples:
      rulekit show model.json
      rulekit show model.onnx --format table
    """
    from rulekit.graph.files.model_files import load

    graph = load(model)
    stopped = graph.provenance.get("stopped")
    if stopped:
        log(f"note: training was stopped early ({stopped}); this was the best model so far")
    if format_ is View.json:
        from rulekit.graph.files.file_format import to_json

        text = to_json(graph)
    elif format_ is View.language:
        text = str(graph)
    elif format_ in (View.rules, View.full):
        from rulekit_exporters.text import show as show_rules

        text = show_rules(graph, width=width(), probability=format_ is View.full)
    else:
        from rulekit.targets import find_target

        text = find_target("text").emit(graph, {"format": format_.value}).main.decode()
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
