"""rulekit monitor: are the rows of today like those that trained the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import aligned, log, notes, result, result_json
from rulekit_cli.failures import CHECK_FAILED


@options.reads_text
def monitor(
    model: options.Model,
    data: Annotated[Path, typer.Argument(help="A CSV (also .gz), Parquet or JSON-lines file; with --counts, counts.")],
    fail_on: Annotated[
        str | None,
        typer.Option(
            "--fail-on",
            metavar="WHAT",
            help="Exit status 1 if: any, columns, rules, classes, psi=0.25 (one is above); several with commas.",
        ),
    ] = None,
    counts: Annotated[
        bool, typer.Option("--counts", help="DATA holds counts of rules that an SQL or Python export made.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the result as JSON there.")
    ] = None,
    target: options.LabelColumn = None,
    weight: options.Weight = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Compare rows with those that trained the model.

    By column what is missing, new, out of range and distributed otherwise, with a name for what happened where it has
    one; by rule on which share of the rows it holds; by class how often it is decided, and how often it is there.
    Rows that are like those of training are said to be otherwise in 1 % of tables.

    Exit status 0, unless --fail-on names something that is so.

    \b
    Examples:
      rulekit monitor model.json today.csv
      rulekit monitor model.json today.csv --fail-on any --json
      rulekit monitor model.json counts.csv --counts
    """
    given = locals()
    from rulekit.audit.drift.findings import WORD, column_rows, drift_lines, rule_rows
    from rulekit.work.monitoring import MonitoringRequest, monitor

    found = monitor(MonitoringRequest(model, data, counts, fail_on, output, options.reading(given)))
    if json_:
        result_json(found.as_dict())
    else:
        notes(found.notes)
        for word, text in drift_lines(found.drift):
            result(f"{word:{WORD}}{text}", " " * (WORD + 2))
        for rows in (column_rows(found.drift), rule_rows(found.drift)):
            if len(rows) > 1:
                result("")
                for line in aligned(rows, 2 if rows[0][0] == "rule" else 1):
                    result(line)
        if found.failed:
            log(f"failed: {', '.join(found.failed)}")
    if found.failed:
        raise typer.Exit(CHECK_FAILED)
