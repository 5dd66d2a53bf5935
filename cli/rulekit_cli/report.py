"""rulekit report: one file about a model for those who question it and sign it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rulekit_cli import options
from rulekit_cli.console import log, notes, result
from rulekit_cli.progress import shown_search

Paths = list[Path] | None
_SEVERAL = ("by", "verifications", "artifacts", "stability", "comparison", "drift")


Outputs = Annotated[
    Paths,
    typer.Option(
        "-o", "--output", metavar="FILE", help="The file to write, repeatable: report.html, report.json, report.md."
    ),
]
Rows = Annotated[
    Path | None, typer.Argument(help="Labelled rows to measure it on: CSV (also .gz), Parquet or JSON lines.")
]
Title = Annotated[str | None, typer.Option("--title", help="The title of the report.")]
Purpose = Annotated[str | None, typer.Option("--purpose", help="What the model is for, in the words of its author.")]
Author = Annotated[str | None, typer.Option("--author", help="Who answers for the report.")]
Date = Annotated[str | None, typer.Option("--date", help="The date of the report; never taken from the clock.")]
Verifications = Annotated[
    Paths, typer.Option("--verification", metavar="FILE", help="A report that rulekit verify --report wrote.")
]
Artifacts = Annotated[
    Paths, typer.Option("--artifact", metavar="FILE", help="An artifact of the model, which is verified now.")
]
Stability = Annotated[Paths, typer.Option("--stability", metavar="FILE", help="What rulekit stability -o wrote.")]
Comparison = Annotated[Paths, typer.Option("--comparison", metavar="FILE", help="What rulekit compare --json wrote.")]
Drift = Annotated[Paths, typer.Option("--drift", metavar="FILE", help="What rulekit monitor --json wrote.")]


@options.reads_text
def report(
    model: options.Model,
    data: Rows = None,
    outputs: Outputs = None,
    title: Title = None,
    purpose: Purpose = None,
    author: Author = None,
    date: Date = None,
    by: options.By = None,
    verifications: Verifications = None,
    artifacts: Artifacts = None,
    stability: Stability = None,
    comparison: Comparison = None,
    drift: Drift = None,
    target: options.LabelColumn = None,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    missing: options.MissingLabel = None,
    types_file: options.LabelTypes = None,
    text_file: options.TextFile = options.DETECTED,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
) -> None:
    """Write one file about a model: its rules with their figures, proofs, groups, history and limits.

    The HTML file needs nothing beside it, sends nothing, prints, and scores a row. The same content is written as JSON
    with all digits, and as a Markdown model card. Rows that did not train the model measure it best; columns with the
    role audit, and those of --by, are measured by group.

    \b
    Examples:
      rulekit report model.json test.csv -o report.html
      rulekit report model.json test.csv --by sex --artifact model.onnx -o report.html -o report.json
      rulekit report model.json test.csv --title "Loans" --author "R. Roe" --date 2025-03-01 -o report.html
    """
    given = locals()
    from rulekit.work.reporting import ReportRequest
    from rulekit.work.reporting import report as write

    several: dict[str, Any] = {name: tuple(given[name] or ()) for name in _SEVERAL}
    words: dict[str, Any] = {name: given[name] or "" for name in ("title", "purpose", "author", "date")}
    written = tuple(outputs or [Path("report.html")])
    request = ReportRequest(model, data, written, reading=options.reading(given), **several, **words)
    with shown_search(time_limit) as deadline:
        found = write(request, deadline)
    notes(found.notes)
    for limit in found.document.section("summary").data["to_know"]:
        log(f"to know: {limit}")
    result(f"wrote {', '.join(map(str, written))}")
