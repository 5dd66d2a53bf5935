"""Comparing two models, and an artifact with its model or with an earlier report of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rulekit.errors import InputError, RulekitError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.schema import require_column
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.targets import find_target_for
from rulekit.work.outputs import check_outputs

if TYPE_CHECKING:
    from rulekit.audit.differences.compared import Compared
    from rulekit.tables.raw.columns import RawTable
    from rulekit.verification.against import Repetition
    from rulekit.verification.report import Report

    Comparison = Report | Repetition

MADE_ROWS = 2_000
"""On which an artifact is run, to see that it decides as the rules that it carries."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """Two models or artifacts, rows on which both are run, and columns of these by whose values flips are counted."""

    first: Path
    second: Path
    data: Path | None = None
    by: tuple[str, ...] = ()
    reading: ReadingOptions = DEFAULT_OPTIONS


def compare(request: ComparisonRequest, deadline: Deadline = NO_LIMIT) -> Compared:
    """What differs between two models; raises InputError and FormatError for files that cannot be compared.

    Of an artifact the rules that it carries are compared, and it is verified that it decides as they do; where it does
    not, or that is not proved, the models are not said to be equal. What is not settled by the deadline is open.
    """
    from rulekit.audit.differences.compared import compare

    if request.by and request.data is None:
        raise InputError("groups of which rows?", where="--by", fix="give --data FILE")
    graphs = [load(path, meetings=False) for path in (request.first, request.second)]
    raw = None if request.data is None else _rows(request, graphs)
    names = str(request.first), str(request.second)
    compared = compare(graphs[0], graphs[1], raw, request.by, names=names, deadline=deadline)
    faults = [
        fault
        for path, graph in zip((request.first, request.second), graphs, strict=True)
        if (fault := _fault(path, graph, deadline))
    ]
    return compared.with_faults(faults)


def _rows(request: ComparisonRequest, graphs: list[RuleGraph]) -> RawTable:
    from rulekit.tables.reading import read_columns

    assert request.data is not None
    used = {name for graph in graphs for name in graph.used_features}
    texts = {feature.name for graph in graphs for feature in graph.schema if feature.reads_text}
    raw = read_columns(request.data, request.reading, columns=used | set(request.by), keep_text=texts)
    for column in request.by:
        require_column(column, raw.known_names, raw.source)
    return replace(raw, source=request.data.name)


def _fault(path: Path, graph: RuleGraph, deadline: Deadline) -> str:
    """Why an artifact may not decide as the rules that it carries, "" where it is proved that it does."""
    from rulekit.verification.parity import verify

    try:
        target = find_target_for(str(path))
    except InputError:  # a model file
        return ""
    if target.name == "text":  # the text is the model
        return ""
    try:
        report = verify(graph, path, rows=MADE_ROWS, deadline=deadline)
    except RulekitError as error:
        return f"{path} could not be verified: {error}"
    if not report.ok:
        why = str(report).partition("\n")[0]
        return f"{path} does not decide as the rules that it carries ({report.failure.lower()}): {why}"
    if report.proof != "proved":
        return f"that {path} decides as the rules that it carries is {report.conclusion}"
    return ""


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
    artifact: Path, report: Path, key: Path | None = None, run_untrusted: bool = False, deadline: Deadline = NO_LIMIT
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
