"""rulekit threshold: another decision threshold, chosen for a purpose."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit_cli import options
from rulekit_cli.console import joined, log, notes, result

if TYPE_CHECKING:
    from rulekit.audit.threshold import ThresholdStep


@options.reads_text
def threshold(
    model: Annotated[Path, typer.Argument(help="A two-class model (.json) that reports a probability.")],
    data: Annotated[Path, typer.Argument(help="Labelled rows; not those that trained the model.")],
    output: options.ModelOutput,
    precision: Annotated[float | None, typer.Option("--precision", help="At least this precision.")] = None,
    recall: Annotated[float | None, typer.Option("--recall", help="At least this recall.")] = None,
    cost: options.Cost = None,
    f1: Annotated[bool, typer.Option("--f1", help="Largest F1 of the positive class.")] = False,
    at: Annotated[float | None, typer.Option("--at", metavar="T", help="This threshold: yes above T.")] = None,
    weight: options.Weight = None,
    text_file: options.TextFile = options.DETECTED,
) -> None:
    """Move the decision threshold for a purpose.

    The purpose is a least precision or recall, the least cost, the largest F1 on the given rows, or a threshold itself.
    A model of few rules has few steps to choose from: those beside the chosen one are printed too. A purpose that no
    step serves is refused, with the steps that there are.

    \b
    Example:
      rulekit threshold model.json validation.csv --precision 0.9 -o careful.json
      rulekit threshold model.json validation.csv --at 0.3 -o lax.json
    """
    given = locals()
    from rulekit.audit.threshold import Purpose
    from rulekit.work.evaluating import move_threshold

    moved = move_threshold(
        model, data, Purpose.of(precision, recall, cost, f1, at), output, options.reading({**given, "precision": None})
    )
    choice = moved.choice
    notes(moved.notes)
    for line in joined([_said(choice.chosen, cost is not None), f"(on {moved.n_rows} rows of {data.name})"]):
        result(line)
    for name, step in (("stricter", choice.stricter), ("laxer", choice.laxer)):
        if step is not None:
            result(f"next {name} step: {_said(step, cost is not None)}", "  ")
    if moved.by_probability:
        log(f"note: the label is now yes where the reported probability is above {choice.chosen.threshold!r}")
    log(f"wrote {output}")


def _said(step: ThresholdStep, with_cost: bool) -> str:
    figures = f"precision {step.precision:.3f}, recall {step.recall:.3f}, F1 {step.f1:.3f}"
    return f"positive above {step.threshold!r}: {figures}" + (f", cost {step.cost:.12g}" if with_cost else "")
