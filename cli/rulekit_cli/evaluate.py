"""rulekit evaluate: how well a model does on labelled rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit_cli.console import aligned, log, result, result_json

if TYPE_CHECKING:
    from rulekit.audit.metrics import Figures
    from rulekit.graph.rules import Counts


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model (.json), or an artifact that carries its rules.")],
    data: Annotated[Path, typer.Argument(help="A CSV, Parquet or JSON-lines file with the label column.")],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COL", help="The label column; the model's by default.")
    ] = None,
    weight: Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of row weights.")] = None,
    missing_target: Annotated[
        str, typer.Option("--missing-target", help="Rows without a label: error or drop.")
    ] = "error",
    missing: Annotated[
        list[str] | None,
        typer.Option("--missing", metavar="TOKEN", help="A text that means a missing label or weight."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Cell separator of DATA.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="Decimal mark of DATA: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of DATA.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure a model on labelled rows.

    Counts, precision, recall and F1 per class, macro and micro; AUC, log loss, rules, literals.

    \b
    Example:
      rulekit evaluate model.json test.csv
    """
    from rulekit.audit.metrics import figures
    from rulekit.graph.evaluation.evaluator import decide, probabilities
    from rulekit.graph.files.model_files import load
    from rulekit.graph.rules import counts
    from rulekit.tables.labels import read_for_model
    from rulekit.tables.options import ReadingOptions

    graph = load(model)
    rows = read_for_model(
        data,
        graph.schema,
        graph.classes,
        ReadingOptions(
            target=target,
            weight=weight,
            missing_target=missing_target,
            missing=missing or [],
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
        ),
        used=graph.used_features,
    )
    table = rows.table
    measured = figures(rows.y, decide(graph, table), probabilities(graph, table), graph.classes, rows.weight)
    size = counts(graph)
    if json_:
        result_json({**measured.as_dict(), "rules": size.rules, "literals": size.literals, "digest": graph.digest})
    else:
        for note in rows.notes:
            log(f"note: {note}")
        result(per_class(measured))
        result(totals(measured, size))


def per_class(measured: Figures) -> str:
    """One line per class: support, predicted, precision, recall, F1."""
    header = ["class", "rows", "predicted", "precision", "recall", "F1"]
    body = [
        [_shown(c.label), f"{c.support:g}", f"{c.predicted:g}", f"{c.precision:.3f}", f"{c.recall:.3f}", f"{c.f1:.3f}"]
        for c in measured.classes
    ]
    return aligned([header, *body])


def _shown(label: object) -> str:
    """A class as predictions write it; line breaks would tear the table."""
    text = str(label).lower() if isinstance(label, bool) else str(label)
    return text if text.isprintable() else repr(text)


def totals(measured: Figures, size: Counts) -> str:
    """One line: accuracy with its standard error, F1, AUC, log loss, size."""
    from rulekit.graph.language.readable import counted

    area = "-" if measured.auc is None else f"{measured.auc:.3f}"
    return (
        f"accuracy {measured.accuracy:.3f} ± {measured.accuracy_error:.3f} (majority class {measured.majority:.3f})   "
        f"macro F1 {measured.macro_f1:.3f}   micro F1 {measured.micro_f1:.3f}   AUC {area}   "
        f"log loss {measured.log_loss:.3f}   {counted(size.rules, 'rule')}, {counted(size.literals, 'literal')}"
    )
