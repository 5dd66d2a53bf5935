"""rulekit verify: parity of an artifact with its model, or with an earlier report of it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit_cli.console import log, result
from rulekit_cli.failures import CHECK_FAILED

ROWS, SEED = 20_000, 0
_USAGE = "rulekit verify MODEL ARTIFACT, or rulekit verify ARTIFACT --against REPORT"


def verify(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[MODEL] ARTIFACT",
            help="The model file (.json) and the exported file; with --against the exported file alone.",
        ),
    ],
    data: Annotated[Path | None, typer.Option("--data", help="A table whose rows are compared as well.")] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=0, help=f"How many adversarial rows to make; {ROWS:,} by default.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help=f"Seed of the adversarial rows; {SEED} by default.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the report (JSON) here.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="REPORT", help="Repeat the verification of this report.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option("--delimiter", help="Cell separator of DATA.")] = None,
    decimal: Annotated[str | None, typer.Option("--decimal", help="Decimal mark of DATA: . or ,")] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of DATA.")] = None,
    json_: Annotated[bool, typer.Option("--json", help="Print the report as JSON.")] = False,
) -> None:
    """Prove that an artifact decides like its model.

    What the artifact computes is read from it without running it, and compared as a formula or on every reachable cell;
    it is run on rows aimed at every threshold and level, and on given data.

    With --against the verification of a report is repeated on this machine, without the model: same file, same graph
    inside, same rows, same decisions.

    Exit status 1, and a row that shows it, where they differ.

    \b
    Examples:
      rulekit verify model.json model.onnx --data loans.csv --report parity.json
      rulekit verify model.onnx --against parity.json
    """
    from rulekit.errors import InputError

    if len(files) > 2:
        raise InputError(f"{len(files)} files are given", fix=_USAGE)
    for artifact in files[-1:]:
        if artifact.suffix.lower() == ".json":
            fix = "rulekit export MODEL --to onnx, text or python writes one"
            raise InputError("this is a model, not an artifact of one", where=str(artifact), fix=fix)
    if against is not None:
        options = {"--data": data, "--rows": rows, "--seed": seed, "--report": report}
        given = [name for name, value in options.items() if value is not None]
        if given:
            raise InputError(f"{given[0]} does not go with --against", fix="the report says which rows were made")
        if len(files) == 2:
            raise InputError("--against takes the artifact alone, which carries its model", fix=_USAGE)
        _repeat(files[0], against, json_)
        return
    if len(files) == 1:
        raise InputError("a model is needed, or the report of an earlier verification", fix=_USAGE)
    _compare(files[0], files[1], data, rows, seed, report, (delimiter, decimal, encoding), json_)


def _compare(
    model: Path,
    artifact: Path,
    data: Path | None,
    rows: int | None,
    seed: int | None,
    report: Path | None,
    dialect: tuple[str | None, str | None, str | None],
    json_: bool,
) -> None:
    """MODEL ARTIFACT."""
    from rulekit.errors import InputError
    from rulekit.graph.files.model_files import load, write_atomically
    from rulekit.tables.options import ReadingOptions
    from rulekit.tables.reading import read_table
    from rulekit.verification.parity import verify as compare
    from rulekit_cli.outputs import refuse_overwriting

    if rows == 0 and data is None:
        raise InputError("nothing to compare", fix="give --rows or --data")
    refuse_overwriting(report, model, artifact, data)
    graph = load(model)
    table = None
    if data is not None:
        delimiter, decimal, encoding = dialect
        options = ReadingOptions(delimiter=delimiter, decimal=decimal, encoding=encoding)
        table = read_table(data, options, schema=graph.schema, used=graph.used_features)
    outcome = compare(graph, artifact, data=table, rows=ROWS if rows is None else rows, seed=seed or SEED)
    if report is not None:
        write_atomically(report, outcome.to_json().encode())
        log(f"wrote {report}")
    _print(outcome.to_json() if json_ else "", "verified" if outcome.ok else "DIFFERENT", str(outcome), outcome.ok)


def _repeat(artifact: Path, report: Path, json_: bool) -> None:
    """ARTIFACT --against REPORT."""
    from rulekit.verification.against import verify_against

    outcome = verify_against(artifact, report)
    _print(outcome.to_json() if json_ else "", "repeated" if outcome.ok else "DIFFERENT", str(outcome), outcome.ok)


def _print(content: str, word: str, text: str, ok: bool) -> None:
    """The content as it is, or a word and lines that stand below each other; status 1 where not all is well."""
    if content:
        result(content.rstrip())
    else:
        first, *others = text.splitlines()
        result("\n".join([f"{word:9}  {first}", *(f"{'':11}{line}" for line in others)]))
    if not ok:
        raise typer.Exit(CHECK_FAILED)
