"""rulekit export: write a model as ONNX, rules or Python."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rulekit_cli.console import log


def export(
    model: Annotated[Path, typer.Argument(help="A model file (.json), or an artifact that carries its rules.")],
    to: Annotated[str, typer.Option("--to", help="onnx, text, python, or another installed target.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
    input_: Annotated[str | None, typer.Option("--input", help="onnx: tensor, columns or codes.")] = None,
    opset: Annotated[int | None, typer.Option("--opset", help="onnx: operator set, 12 by default.")] = None,
    optimize: Annotated[str | None, typer.Option("--optimize", help="onnx: throughput, or latency of one row.")] = None,
    fired: Annotated[bool, typer.Option("--fired", help="onnx: one more output, which rules fired.")] = False,
    no_text: Annotated[bool, typer.Option("--no-text", help="onnx: leave the rule text out.")] = False,
    format_: Annotated[
        str | None, typer.Option("--format", help="text: rules, table, csv or c50; rules can be imported again.")
    ] = None,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of another target.")
    ] = None,
) -> None:
    """Export a model to ONNX, rules or Python.

    A target that cannot express the model says so and writes nothing. The artifact is not run here: rulekit verify
    proves that it decides like the model.

    \b
    Examples:
      rulekit export model.json --to onnx -o model.onnx
      rulekit export model.json --to text -o rules.txt
      rulekit export model.json --to python -o model.py
    """
    from rulekit.work.models import export as write

    given: dict[str, Any] = {"input": input_, "opset": opset, "optimize": optimize, "format": format_}
    options = {name: value for name, value in given.items() if value is not None}
    if fired:
        options["fired"] = True
    if no_text:
        options["text"] = False
    options.update(_pairs(option or []))
    artifact = write(model, output, to, options)
    for warning in artifact.warnings:
        log(f"note: {warning}")
    log(f"{output}   {size_text(len(artifact.main))}{', ' + artifact.summary if artifact.summary else ''}")


def size_text(count: int) -> str:
    """Bytes as a person says them."""
    return f"{count} bytes" if count < 1000 else f"{count / 1000:.1f} kB"


def _pairs(items: list[str]) -> dict[str, str]:
    from rulekit.errors import InputError

    pairs = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not equals:
            raise InputError(f"{item!r} is not NAME=VALUE", where="--option")
        pairs[name] = value
    return pairs
