"""rulekit bounds: how far the error of a model may lie from the errors that were counted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import result, result_json

Rows = Annotated[Path | None, typer.Argument(help="Labelled rows: held-out ones, or those that trained the model.")]
Trained = Annotated[bool, typer.Option("--training", help="DATA trained the model, whatever its hashes of rows say.")]
Delta = Annotated[float, typer.Option("--delta", metavar="X", help="One minus the confidence of each bound.")]
Epsilon = Annotated[float, typer.Option("--epsilon", metavar="X", help="Say how many rows an error of X needs.")]


@options.reads_text
def bounds(
    model: options.Model,
    data: Rows = None,
    training: Trained = False,
    delta: Delta = 0.05,
    epsilon: Epsilon = 0.05,
    target: options.LabelColumn = None,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    missing: options.MissingLabel = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Bound the error of a model on further rows, by held-out rows, or by its training rows and its length.

    Each bound says what it assumes, and where it does not hold or says nothing. Without DATA it takes what training
    measured.

    \b
    Examples:
      rulekit bounds model.json
      rulekit bounds model.json test.csv --delta 0.01
    """
    given = locals()
    from rulekit.audit.guarantees.bounds import bound_lines
    from rulekit.work.evaluating import error_bounds

    found = error_bounds(model, data, options.reading(given), trained=training, delta=delta, epsilon=epsilon)
    if json_:
        result_json(asdict(found))
        return
    for line in bound_lines(found):
        result(line, "      " if line.startswith("    ") else "    ")
