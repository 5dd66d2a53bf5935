"""rulekit verify: parity of an artifact with its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli.console import log, result
from rulekit_cli.failures import CHECK_FAILED


def verify(
    model: Annotated[Path, typer.Argument(help="The model file (.json).")],
    artifact: Annotated[Path, typer.Argument(help="The exported file.")],
    data: Annotated[Path | None, typer.Option("--data", help="A table whose rows are compared as well.")] = None,
    rows: Annotated[int, typer.Option("--rows", min=0, help="How many adversarial rows to make.")] = 20_000,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the adversarial rows.")] = 0,
    report: Annotated[Path | None, typer.Option("--report", help="Write the report (JSON) here.")] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Cell separator of DATA.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="Decimal mark of DATA: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of DATA.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Prove that an artifact decides like its model.

    They are compared on rows aimed at every threshold and level, and on given data.

    Exit status 1, and a row that shows it, where they differ.

    \b
    Example:
      rulekit verify model.json model.onnx --data loans.csv --report parity.json
    """
    from rulekit.errors import InputError
    from rulekit.graph.files import load, write_atomically
    from rulekit.tables.reading import read_table
    from rulekit.verification.parity import verify as compare
    from rulekit_cli.outputs import refuse_overwriting

    if rows == 0 and data is None:
        raise InputError("nothing to compare", fix="give --rows or --data")
    if artifact.suffix.lower() == ".json":
        fix = "rulekit export MODEL --to onnx, text or python writes one"
        raise InputError("this is a model, not an artifact of one", where=str(artifact), fix=fix)
    refuse_overwriting(report, model, artifact, data)
    graph = load(model)
    table = None
    if data is not None:
        table = read_table(
            data,
            schema=graph.schema,
            used=graph.used_features,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
        )
    outcome = compare(graph, artifact, data=table, rows=rows, seed=seed)
    if report is not None:
        write_atomically(report, outcome.to_json().encode())
        log(f"wrote {report}")
    if json_:
        result(outcome.to_json().rstrip())
    else:
        result(f"{'verified' if outcome.ok else 'DIFFERENT'}   {outcome}")
    if not outcome.ok:
        raise typer.Exit(CHECK_FAILED)
