"""rulekit stability: what comes back when a model is learned again from other rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log, result, result_json

_INDENT = 12


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
        result_json(stable.as_dict())
    else:
        for word, text in stability_lines(stable, all_):
            hanging = " " * (_INDENT + (10 if text.startswith(" ") else 2))
            result(f"{word:{_INDENT}}{text}", hanging)
    if output is not None and not quiet:
        log(f"wrote {output}")
