"""rulekit import: a model from its rule text or from an artifact that carries it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log


def import_model(
    source: Annotated[
        Path, typer.Argument(help="A rule text (.txt, .rules), an edited .json, or an artifact that carries its rules.")
    ],
    output: options.ModelOutput,
) -> None:
    """Make a model from edited rules or an artifact.

    \b
    Example:
      rulekit import rules.txt -o model.json
    """
    from rulekit.work.models import import_model

    imported = import_model(source, output)
    if imported.disagrees:
        log("note: on some rows the label and the probability point different ways; edit `report` with `decide`")
    log(f"wrote {output}: {imported.size}, digest {imported.model.digest[:12]}")
