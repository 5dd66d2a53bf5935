"""rulekit bounds: how far the error of a model may lie from the errors that were counted."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import result, result_json, width


class Role(StrEnum):
    """Which rows the data are."""

    held_out = "held-out"
    training = "training"


@options.reads_text
def bounds(
    model: options.Model,
    data: Annotated[
        Path | None, typer.Argument(help="Labelled rows: held-out ones, or those that trained the model.")
    ] = None,
    role: Annotated[
        Role | None,
        typer.Option("--rows", help="Which of the two DATA are; by default the row hashes in the model say it."),
    ] = None,
    delta: Annotated[
        float, typer.Option("--delta", metavar="X", help="One minus the confidence of each bound.")
    ] = 0.05,
    epsilon: Annotated[
        float, typer.Option("--epsilon", metavar="X", help="The error for which rows are counted.")
    ] = 0.05,
    target: options.LabelColumn = None,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    missing: options.MissingLabel = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Bound the error of a model on further rows, by held-out rows, and by its length and its training rows.

    Each bound says what it assumes, and where it does not hold or says nothing. Without DATA it takes what training
    measured.

    \b
    Examples:
      rulekit bounds model.json
      rulekit bounds model.json test.csv --delta 0.01
    """
    given = locals()
    from rulekit.audit.guarantees.bound_lines import bound_lines
    from rulekit.audit.lines import wrapped
    from rulekit.work.bounding import error_bounds

    found = error_bounds(model, data, options.reading(given), role.name if role else "", delta, epsilon)
    if json_:
        result_json(found.as_dict())
        return
    for line in bound_lines(found):
        hanging = " " * (len(line) - len(line.lstrip()) + 2)
        for part in wrapped(line, width(), hanging):
            result(part)
