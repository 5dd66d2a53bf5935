"""rulekit predict: score a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit.shown.lines import wrapped
from rulekit_cli import options
from rulekit_cli.console import log, notes, result_json, width, write


@options.reads_text
def predict(
    model: Annotated[Path, typer.Argument(help="A model (.json), or an artifact, which then does the scoring.")],
    data: options.Data,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="CSV to write; standard output without it.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Also which rules and conditions did it.")] = False,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="COL", help="Copy this column of DATA, an id for example.")
    ] = None,
    escape_formulas: Annotated[
        bool,
        typer.Option("--escape-formulas", help="Put ' before text that a spreadsheet would run as a formula."),
    ] = False,
    catalogue: options.Catalogue = None,
    adverse: options.Adverse = None,
    most: options.MostReasons = 4,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Predict labels and probabilities.

    One row of output for every row: the label, the probability of each class and, if asked, the rules that fired. Rules
    that are enough only together stand as r1+r2; where probabilities decide, the conditions that counted follow. Of a
    score card the total follows, the points that make it, the largest first, and the nearest change of the row that
    turns the decision. With a catalogue (rulekit reasons) the codes of the reasons of adverse decisions stand in a
    column `reasons`, the most important first.

    Extra columns are ignored and order is free; a missing column or an unparsable number is an error. Text is written
    as it is: where the result is opened in a spreadsheet, --escape-formulas keeps cells such as =cmd() from running.

    \b
    Examples:
      rulekit predict model.json new.csv -o predictions.csv --explain
      rulekit predict model.json new.csv --explain --json
    """
    given = locals()
    from rulekit.work.monitoring import notice
    from rulekit.work.scoring import ScoringRequest, score

    reading, classes = options.reading(given), options.several(adverse)
    scores = score(
        ScoringRequest(model, data, output, keep or [], explain, escape_formulas, reading, catalogue, classes, most)
    )
    notes(scores.notes)
    said = notice(scores.drift, model, data)
    if said:
        log(f"note: {said}")
    if json_:
        result_json(scores.as_rows())
        if output is None:
            return
    if output is None:
        write(scores.csv().decode())
    else:
        log(f"wrote {output}: {scores.n_rows} rows")
    for meaning in scores.meanings:
        for line in wrapped(str(meaning), width(), " " * (len(meaning.id) + 2)):
            log(line)
    if scores.test:
        log(f"{scores.test}; a change that turns the decision has the fewest columns, then the least distance")
    if any(meaning.nested for meaning in scores.meanings):
        log("their conditions count by strengths, which rulekit show prints")
