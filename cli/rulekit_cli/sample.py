"""rulekit sample: which rule sets explain a table, and how probable each is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log, result, result_json


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
            result(line, " " * (11 if " %" in line[:9] else 4))
    for path in filter(None, (output, picture)):
        log(f"wrote {path}")
