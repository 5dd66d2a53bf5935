"""Verifying an artifact against its model, or against an earlier report of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.outputs import check_outputs

if TYPE_CHECKING:
    from rulekit.verification.against import Repetition
    from rulekit.verification.report import Report

    Comparison = Report | Repetition

ROWS, SEED = 20_000, 0


@dataclass(frozen=True, slots=True)
class VerificationRequest:
    """An artifact, its model, and the rows on which both are run: made ones, and those of `data`.

    key: a file whose bytes sign the report. run_untrusted: also run what is not as its exporter writes it.
    """

    model: Path
    artifact: Path
    data: Path | None = None
    rows: int = ROWS
    seed: int = SEED
    report: Path | None = None
    reading: ReadingOptions = DEFAULT_OPTIONS
    key: Path | None = None
    run_untrusted: bool = False


def verify(request: VerificationRequest, deadline: Deadline = NO_LIMIT) -> Report:
    """Compare, and prove until the deadline; the report is written where the request says so.

    Raises InputError for files that are none.
    """
    from rulekit.tables.reading import read_table
    from rulekit.verification.parity import verify as compare
    from rulekit.verification.report import read_key

    _refuse_model(request.artifact)
    if request.rows == 0 and request.data is None:
        raise InputError("nothing to compare", fix="give --rows or --data")
    check_outputs([request.report], request.model, request.artifact, request.data, request.key)
    key = None if request.key is None else read_key(request.key)
    graph = load(request.model)
    table = None
    if request.data is not None:
        table = read_table(request.data, request.reading, schema=graph.schema, used=graph.used_features)
    report = compare(
        graph,
        request.artifact,
        data=table,
        rows=request.rows,
        seed=request.seed,
        run_untrusted=request.run_untrusted,
        deadline=deadline,
    )
    if request.report is not None:
        write_atomically(request.report, report.to_json(key).encode())
    return report


def repeat(
    artifact: Path,
    report: Path,
    key: Path | None = None,
    run_untrusted: bool = False,
    deadline: Deadline = NO_LIMIT,
) -> Repetition:
    """Verify again what a report says, on this machine and without the model file."""
    from rulekit.verification.against import verify_against
    from rulekit.verification.report import read_key

    _refuse_model(artifact)
    secret = None if key is None else read_key(key)
    return verify_against(artifact, report, key=secret, run_untrusted=run_untrusted, deadline=deadline)


def _refuse_model(artifact: Path) -> None:
    if artifact.suffix.lower() == ".json":
        fix = "rulekit compare A B compares two models, and rulekit export MODEL --to TARGET writes an artifact"
        raise InputError("this is a model, not an artifact of one", where=str(artifact), fix=fix)
