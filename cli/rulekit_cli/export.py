"""rulekit export: write a model as an artifact of a target, with the options that the target declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from rulekit_cli import options
from rulekit_cli.console import log


def export(
    model: options.Model,
    to: Annotated[
        str, typer.Option("--to", metavar="TARGET", help="javascript, onnx, python, sql, text, or one installed.")
    ],
    output: Annotated[Path, typer.Option("-o", "--output", help="The file to write.")],
) -> None:
    """Export a model to ONNX, Python, SQL, rule text or another target.

    Each target has options of its own, which rulekit export --to TARGET --help lists. A target that cannot express the
    model says so and writes nothing. The artifact is not run here: rulekit verify proves that it decides alike.

    \b
    Examples:
      rulekit export model.json --to onnx -o model.onnx
      rulekit export model.json --to text -o rules.txt
      rulekit export model.json --to python -o model.py
      rulekit export model.json --to sql --table loans -o model.sql
    """
    _run({"model": model, "to": to, "output": output}, {})


def export_to(target: str) -> Callable[..., None]:
    """The command with the options of a target; raises InputError for one that is not installed."""
    from rulekit.work.choices import choices_of_target
    from rulekit_cli.named_options import with_flags

    return with_flags(export, choices_of_target(target), _run)


def _run(given: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    from rulekit.work.models import export

    artifact = export(given["model"], given["output"], given["to"], chosen)
    for warning in artifact.warnings:
        log(f"note: {warning}")
    size = len(artifact.main)
    said = f"{size} bytes" if size < 1000 else f"{size / 1000:.1f} kB"
    log(f"{given['output']}   {said}{', ' + artifact.summary if artifact.summary else ''}")
