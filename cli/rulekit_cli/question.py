"""rulekit stability, sample, bounds and report: how far a model can be trusted."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from rulekit_cli import options
from rulekit_cli.console import log, notes, result, result_json, result_words
from rulekit_cli.progress import shown_search


@options.reads_text
def stability(
    model: options.Model,
    data: options.Data,
    resamples: Annotated[
        int, typer.Option("--resamples", min=2, metavar="N", help="How many halves of the table are learned from.")
    ] = 20,
    seed: options.Seed = 0,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0, metavar="SECONDS", help="Stop then, with the models so far.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the figures (JSON) here.")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every condition and every rule that comes again.")] = False,
    weight: options.Weight = None,
    group: options.Group = None,
    time: options.Time = None,
    cost: options.Cost = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Learn a model again from halves of its table: which rules come back, and how often labels agree.

    The table is parted into two halves, again and again, and the learner of the model, with its parameters, learns from
    each. A rule comes back where a rule for the same class reads the same columns and its conditions differ on at most
    5 % of the rows each. Ctrl-C and --time-limit keep what is done.

    \b
    Examples:
      rulekit stability model.json loans.csv
      rulekit stability model.json loans.csv --resamples 50 -o stability.json
    """
    given = locals()
    from rulekit.audit.stability import stability_lines
    from rulekit.work.stability import StabilityRequest
    from rulekit.work.stability import stability as learned_again
    from rulekit_cli.progress import shown_progress

    request = StabilityRequest(model, data, resamples, seed, time_limit, options.reading(given), output)
    with shown_progress(quiet, time_limit) as progress:
        stable = learned_again(request, progress)
    if json_:
        result_json(stable)
    else:
        result_words(stability_lines(stable, all_), 12, indented=10)
    if output is not None and not quiet:
        log(f"wrote {output}")


@options.reads_text
def sample(
    model: options.Model,
    data: options.Data,
    label: Annotated[
        str | None, typer.Option("--label", help="The class of the rules; by default the positive or last one.")
    ] = None,
    steps: Annotated[
        int, typer.Option("--steps", min=100, max=10**9, metavar="N", help="How many steps each walk takes.")
    ] = 20_000,
    parameters: Annotated[
        options.Texts,
        typer.Option("--param", metavar="K=V", help="Of the learner mcmc: likelihood, n_literals, price, n_chains."),
    ] = None,
    seed: options.Seed = 0,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", min=0, metavar="SECONDS", help="Stop then, with the steps so far.")
    ] = None,
    take: Annotated[
        int | None, typer.Option("--take", min=1, metavar="N", help="Write rule set number N as a model.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="That model (.json).")] = None,
    picture: Annotated[
        Path | None, typer.Option("--picture", metavar="FILE", help="Draw the walks and the rules (.png, .svg, .pdf).")
    ] = None,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """Find which other rule sets explain the rows as well as the model does, and how probable each is.

    Random walks over rule sets visit each as often as the rows make it probable. Ctrl-C and --time-limit keep the steps
    that are done. The same seed and steps give the same numbers.

    \b
    Examples:
      rulekit sample model.json loans.csv
      rulekit sample model.json loans.csv --take 2 -o other.json
    """
    given = locals()
    from rulekit.work.sampling import SamplingRequest
    from rulekit.work.sampling import sample as walked
    from rulekit_cli.progress import shown_progress

    request = SamplingRequest(
        model, data, steps, seed, parameters or (), label, time_limit, take, output, picture, options.reading(given)
    )
    with shown_progress(quiet, time_limit) as progress:
        found = walked(request, progress)
    if json_:
        result_json(asdict(found))
    else:
        for line in found.lines():
            result(line, hanging=" " * (11 if " %" in line[:9] else 4))
    for path in filter(None, (output, picture)):
        log(f"wrote {path}")


Counted = Annotated[Path | None, typer.Argument(help="Labelled rows: held-out ones, or those that trained the model.")]
Trained = Annotated[bool, typer.Option("--training", help="DATA trained the model, whatever its hashes of rows say.")]
Delta = Annotated[float, typer.Option("--delta", metavar="X", help="One minus the confidence of each bound.")]
Epsilon = Annotated[float, typer.Option("--epsilon", metavar="X", help="Say how many rows an error of X needs.")]


@options.reads_text
def bounds(
    model: options.Model,
    data: Counted = None,
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
    from rulekit.audit.guarantees import bound_lines
    from rulekit.work.evaluating import error_bounds

    found = error_bounds(model, data, options.reading(given), trained=training, delta=delta, epsilon=epsilon)
    if json_:
        result_json(asdict(found))
        return
    for line in bound_lines(found):
        result(line, hanging="      " if line.startswith("    ") else "    ")


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
