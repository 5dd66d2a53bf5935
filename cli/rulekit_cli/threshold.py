"""rulekit threshold: another decision threshold, chosen for a purpose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli.console import log, result


def threshold(
    model: Annotated[Path, typer.Argument(help="A two-class model (.json) that reports a probability.")],
    data: Annotated[Path, typer.Argument(help="Labelled rows; not those that trained the model.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    precision: Annotated[float | None, typer.Option("--precision", help="At least this precision.")] = None,
    recall: Annotated[float | None, typer.Option("--recall", help="At least this recall.")] = None,
    cost: Annotated[
        str | None, typer.Option("--cost", metavar="FP:FN", help="Least cost of false positives and negatives.")
    ] = None,
    f1: Annotated[bool, typer.Option("--f1", help="Largest F1 of the positive class.")] = False,
    weight: Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of row weights.")] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Cell separator of DATA.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="Decimal mark of DATA: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of DATA.")] = None,
) -> None:
    """Move the decision threshold for a purpose.

    The purpose is a least precision or recall, the least cost, or the largest F1 on the given rows.

    \b
    Example:
      rulekit threshold model.json validation.csv --precision 0.9 -o careful.json
    """
    from rulekit.audit.statistics import rule_statistics
    from rulekit.audit.threshold import Purpose, choose_threshold, with_threshold
    from rulekit.errors import InputError
    from rulekit.graph.evaluation.evaluator import decide, probabilities
    from rulekit.graph.files.model_files import load
    from rulekit.tables.labels import parse_cost, read_for_model
    from rulekit.tables.options import ReadingOptions
    from rulekit_cli.outputs import refuse_artifact_ending, refuse_overwriting

    purpose = Purpose(precision, recall, parse_cost(cost) if cost is not None else None, f1)
    refuse_artifact_ending(output)
    refuse_overwriting(output, data)
    graph = load(model)
    if len(graph.classes) != 2 or len(graph.probability) != 1:
        raise InputError(
            "this model has no threshold to choose",
            where=str(model),
            fix="a two-class model that reports a probability has one",
        )
    current = float(graph.provenance.get("threshold", 0.5))
    rows = read_for_model(
        data,
        graph.schema,
        graph.classes,
        ReadingOptions(weight=weight, delimiter=delimiter, decimal=decimal, encoding=encoding),
        used=graph.used_features,
    )
    chances = probabilities(graph, rows.table)[:, 1]
    if ((chances > current) != (decide(graph, rows.table) == 1)).any():
        raise InputError(
            f"the rules of this model do not say that its probability is above {current:g}: they were edited",
            where=str(model),
            fix="train anew, or edit the rules further; a new threshold would drop the edit",
        )
    choice = choose_threshold(rows.y == 1, chances, purpose, rows.weight)
    moved = with_threshold(graph, choice.threshold)
    statistics = rule_statistics(moved, rows.table, rows.y, rows.weight)
    moved.with_(statistics={**moved.statistics, **statistics}).save(output)
    result(
        f"positive above {choice.threshold!r}: precision {choice.precision:.3f}, recall {choice.recall:.3f}, "
        f"F1 {choice.f1:.3f}"
        + (f", cost {choice.cost:g}" if cost is not None else "")
        + f"   (on {len(rows.y)} rows of {data.name})"
    )
    log(f"wrote {output}")
