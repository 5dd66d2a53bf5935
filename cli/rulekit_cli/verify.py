"""rulekit verify: parity of an artifact with its model, or with an earlier report of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit.errors import InputError
from rulekit_cli import options
from rulekit_cli.console import log, result, write
from rulekit_cli.failures import CHECK_FAILED

if TYPE_CHECKING:
    from rulekit.work.verifying import Comparison

_USAGE = "rulekit verify MODEL ARTIFACT, or rulekit verify ARTIFACT --against REPORT"


def verify(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="[MODEL] ARTIFACT", help="The model file and the exported file; --against: the latter."),
    ],
    data: Annotated[Path | None, typer.Option("--data", help="A table whose rows are compared as well.")] = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=0, help="How many adversarial rows to make; 20,000 by default.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", min=0, help="Seed of the adversarial rows; 0 by default.")
    ] = None,
    report: Annotated[Path | None, typer.Option("--report", help="Write the report (JSON) here.")] = None,
    against: Annotated[
        Path | None, typer.Option("--against", metavar="REPORT", help="Repeat the verification of this report.")
    ] = None,
    delimiter: options.Delimiter = None,
    decimal: options.Decimal = None,
    encoding: options.Encoding = None,
    json_: options.Json = False,
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
    from rulekit.tables.options import ReadingOptions
    from rulekit.work.verifying import ROWS, SEED, VerificationRequest, repeat, verify

    if len(files) > 2:
        raise InputError(f"{len(files)} files are given", fix=_USAGE)
    if against is not None:
        made = {"--data": data, "--rows": rows, "--seed": seed, "--report": report}
        given = [name for name, value in made.items() if value is not None]
        if given:
            raise InputError(f"{given[0]} does not go with --against", fix="the report says which rows were made")
        if len(files) == 2:
            raise InputError("--against takes the artifact alone, which carries its model", fix=_USAGE)
        _print(repeat(files[0], against), "repeated", json_)
        return
    if len(files) == 1:
        raise InputError("a model is needed, or the report of an earlier verification", fix=_USAGE)
    reading = ReadingOptions(delimiter=delimiter, decimal=decimal, encoding=encoding)
    made_rows = ROWS if rows is None else rows
    outcome = verify(VerificationRequest(files[0], files[1], data, made_rows, seed or SEED, report, reading))
    if report is not None:
        log(f"wrote {report}")
    _print(outcome, "verified", json_)


def _print(outcome: Comparison, word: str, json_: bool) -> None:
    """The outcome as JSON, or a word and lines that stand below each other; status 1 where not all is well."""
    if json_:
        write(outcome.to_json().rstrip() + "\n")
    else:
        first, *others = str(outcome).split("\n")
        result(f"{word if outcome.ok else 'DIFFERENT':9}  {first}")
        for line in others:
            result(f"{'':11}{line}")
    if not outcome.ok:
        raise typer.Exit(CHECK_FAILED)
