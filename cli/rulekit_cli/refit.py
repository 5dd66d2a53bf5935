"""rulekit refit: probabilities learned anew, decisions as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import log, notes, result
from rulekit_cli.progress import shown_search


@options.reads_text
def refit(
    model: Annotated[Path, typer.Argument(help="A two-class model (.json) that reports a probability.")],
    data: Annotated[Path, typer.Argument(help="Labelled rows.")],
    output: options.ModelOutput,
    weight: options.Weight = None,
    missing_target: options.MissingTarget = "error",
    text_file: options.TextFile = options.DETECTED,
    time_limit: Annotated[
        float, typer.Option("--time-limit", metavar="SECONDS", help="Stop fitting then; take the best so far.", min=0)
    ] = options.SEARCH_SECONDS,
) -> None:
    """Fit the reported probability to rows; every decision stays as it is.

    The conditions stay, their strengths are those of maximum likelihood on the rows, with four digits. The probability
    is held on the side of the label. Statistics of the rules are those of these rows.

    \b
    Example:
      rulekit refit model.json new_rows.csv -o refitted.json
    """
    given = locals()
    from rulekit.work.changes.refitting import refit as fit

    with shown_search(time_limit) as deadline:
        found = fit(model, data, output, options.reading(given), deadline)
    notes(found.notes)
    loss = f"log loss {found.before.log_loss:.4f} -> {found.after.log_loss:.4f}"
    result(f"{loss}   (on {found.after.rows} rows of {data.name})")
    result("every decision is as before: what decides is the same, bit for bit")
    if found.sided:
        log("note: the probability is now held on the side of the label, which is decided with the old strengths")
    log(f"wrote {output}, digest {found.model.digest[:12]}")
