"""rulekit verify: parity of an artifact with its model, or with an earlier report of it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit.errors import InputError
from rulekit.shown.lines import wrapped
from rulekit_cli import options
from rulekit_cli.console import log, red, result, width, write
from rulekit_cli.failures import CHECK_FAILED
from rulekit_cli.progress import shown_search

if TYPE_CHECKING:
    from rulekit.work.verifying import Comparison

_USAGE = "rulekit verify MODEL ARTIFACT, or rulekit verify ARTIFACT --against REPORT"


@options.reads_text
def verify(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="[MODEL] ARTIFACT", help="The model file and the exported file; --against: the latter."),
    ],
    data: options.Compared = None,
    rows: options.Rows = None,
    seed: options.RowSeed = None,
    report: options.Report = None,
    against: options.Against = None,
    text_file: options.TextFile = options.DETECTED,
    require: options.Required = None,
    key: options.Key = None,
    run_untrusted: options.Untrusted = False,
    time_limit: options.SearchLimit = options.SEARCH_SECONDS,
    json_: options.Json = False,
) -> None:
    """Prove that an artifact decides like its model.

    What the artifact computes is read from it without running it, and compared as a formula or on every reachable cell;
    it is run on rows aimed at every threshold and level, and on given data. An artifact that is not built of what the
    exporter writes alone is read and not run, unless --run-untrusted says so.

    With --against the verification of a report is repeated on this machine, without the model: same file, same graph
    inside, same rows, same decisions. A file that is not that of the report is not run.

    Exit status 1 where they differ, with a row that shows it, where nothing was run, and where --require is not met.

    \b
    Examples:
      rulekit verify model.json model.onnx --data loans.csv --report parity.json
      rulekit verify model.onnx --against parity.json
    """
    given = locals()
    from rulekit.work.verifying import ROWS, SEED, VerificationRequest, repeat
    from rulekit.work.verifying import verify as compare

    if len(files) > 2:
        raise InputError(f"{len(files)} files are given", fix=_USAGE)
    if against is not None:
        _check_alone(files, {f"--{name}": given[name] for name in ("data", "rows", "seed", "report")})
        with shown_search(time_limit) as deadline:
            repeated = repeat(files[0], against, key, run_untrusted, deadline)
        _print(repeated, "repeated", require, json_)
        return
    if len(files) == 1:
        raise InputError("a model is needed, or the report of an earlier verification", fix=_USAGE)
    made, reading = ROWS if rows is None else rows, options.reading(given)
    request = VerificationRequest(files[0], files[1], data, made, seed or SEED, report, reading, key, run_untrusted)
    with shown_search(time_limit) as deadline:
        outcome = compare(request, deadline)
    if report is not None:
        log(f"wrote {report}")
    _print(outcome, "verified", require, json_)


def _check_alone(files: list[Path], made: Mapping[str, object]) -> None:
    """Raises InputError for what does not go with --against."""
    given = [name for name, value in made.items() if value is not None]
    if given:
        raise InputError(f"{given[0]} does not go with --against", fix="the report says which rows were made")
    if len(files) == 2:
        raise InputError("--against takes the artifact alone, which carries its model", fix=_USAGE)


def _print(outcome: Comparison, word: str, require: options.Require | None, json_: bool) -> None:
    """The outcome as JSON, or a word and lines that stand below each other; status 1 where not all is well."""
    met = outcome.meets(require.value if require else "")
    if not met:
        word = "NOT PROVED" if outcome.ok else outcome.failure
    if json_:
        write(outcome.to_json().rstrip() + "\n")
    else:
        head = f"{word:9}  "
        lines = [part for line in str(outcome).split("\n") for part in wrapped(line, width() - len(head), "  ")]
        write(head if met else red(head, sys.stdout))
        result(lines[0])
        for line in lines[1:]:
            result(" " * len(head) + line)
    if not met:
        raise typer.Exit(CHECK_FAILED)
