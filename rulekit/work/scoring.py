"""Scoring: labels, probabilities and reasons for the rows of a table, as columns that a CSV file can hold."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.names import label_text
from rulekit.schema import require_column
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import cells_as_given
from rulekit.tables.reading import read_columns
from rulekit.targets import Outcome, find_target_for
from rulekit.work.changes.hand_edits import expired_notes
from rulekit.work.monitoring import glance
from rulekit.work.outputs import check_outputs
from rulekit.work.reason_catalogues import without_catalogue

if TYPE_CHECKING:
    from rulekit.audit.drift.findings import Drift
    from rulekit.audit.explaining.explanations import ExplainOptions, RuleMeaning
    from rulekit.tables.table import Table

_FORMULA = r"^[=+\-@\t\r]"


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """The rows of `data` under a model or an artifact; an artifact does its own scoring.

    keep: columns of the data that are copied. explain: also which rules and conditions did it. escape_formulas: put an
    apostrophe before text that a spreadsheet would take for a formula. output: the CSV file to write, or None.
    catalogue: a file of reasons for the adverse classes, of which a row gets at most `most`.
    """

    model: Path
    data: Path
    output: Path | None = None
    keep: Sequence[str] = ()
    explain: bool = False
    escape_formulas: bool = False
    reading: ReadingOptions = DEFAULT_OPTIONS
    catalogue: Path | None = None
    adverse: Sequence[str] = ()
    most: int = 4


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The result by column, each [n_rows], and what the ids of rules in it stand for.

    test: of a sum what the total must be. explained: what `RuleGraph.explain` says of each row, where it was asked.
    notes: which overrides have expired. drift: how the rows differ from those of training, None where the model does
    not say.
    """

    columns: Mapping[str, Any]
    n_rows: int
    meanings: tuple[RuleMeaning, ...] = ()
    test: str = ""
    explained: Sequence[Mapping[str, Any]] = ()
    notes: tuple[str, ...] = ()
    drift: Drift | None = None

    def csv(self) -> bytes:
        """The columns as CSV in UTF-8."""
        import polars

        return polars.DataFrame(self.columns).write_csv().encode()

    def as_rows(self) -> list[dict[str, Any]]:
        """The columns by row as JSON values, and under `explanation` what `RuleGraph.explain` says of it."""
        import polars

        rows = polars.DataFrame(self.columns).to_dicts()
        for row, explanation in zip(rows, self.explained, strict=False):
            row["explanation"] = dict(explanation)
        return rows


def score(request: ScoringRequest) -> Scores:
    """Labels and probabilities of every row; raises InputError for a column that is missing or cannot be read."""
    check_outputs([request.output], request.model, request.data, request.catalogue)
    if request.adverse and request.catalogue is None:
        without_catalogue(request.adverse)
    graph = load(request.model)
    _refuse_taken_names(request, graph)
    raw = read_columns(
        request.data,
        request.reading,
        columns={*graph.used_features, *request.keep},
        keep_text=request.keep,
        schema=graph.schema,
    )
    table = encode(raw, graph.schema, graph.used_features)
    outcome = _outcome(request.model, graph, table)
    for name in request.keep:
        require_column(name, raw.known_names, raw.source)
    columns: dict[str, Any] = {c.name: cells_as_given(c) for c in raw.columns if c.name in request.keep}
    columns["label"] = [label_text(label) for label in class_array(graph.classes)[outcome.labels].tolist()]
    for k, label in enumerate(graph.classes):
        columns[f"probability({label_text(label)})"] = outcome.probabilities[:, k]
    meanings: tuple[RuleMeaning, ...] = ()
    explained: list[dict[str, Any]] = []
    test = ""
    if request.explain or request.catalogue is not None:
        from rulekit.audit.explaining.explanations import explain, explanation_columns, meanings_of, reason_column
        from rulekit.shown.score_cards import threshold_words

        explained = explain(graph, table, _asked(request, graph))
        if request.explain:
            columns |= explanation_columns(graph, explained)
            meanings, test = meanings_of(graph), threshold_words(graph)
        if request.catalogue is not None:
            columns |= reason_column(explained)
    if request.escape_formulas:
        columns = _without_formulas(columns)
    notes = expired_notes(graph.overrides) if graph.overrides else ()
    scores = Scores(columns, table.n_rows, meanings, test, explained, notes)
    if request.output is not None:
        write_atomically(request.output, scores.csv())
    return replace(scores, drift=glance(graph, table, raw, labels=outcome.labels))


def _asked(request: ScoringRequest, graph: RuleGraph) -> ExplainOptions:
    """What is asked of each row; the nearest change of a model that is no sum takes longer than its prediction."""
    from rulekit.audit.explaining.explanations import ExplainOptions
    from rulekit.shown.score_cards import has_scores
    from rulekit.work.reason_catalogues import catalogue_for

    asked = ExplainOptions(changes=request.explain and has_scores(graph), sentences=False)
    if request.catalogue is None:
        return asked
    reasons, adverse = catalogue_for(graph, request.catalogue, request.adverse)
    return replace(asked, reasons=reasons, adverse=adverse, most=request.most)


def _outcome(path: Path, graph: RuleGraph, table: Table) -> Outcome:
    if path.suffix.lower() == ".json":
        from rulekit.graph.evaluation.evaluator import decide, probabilities

        return Outcome(decide(graph, table), probabilities(graph, table))
    from rulekit.verification.parity import artifact_bytes, check_as_written

    target, content = find_target_for(str(path)), artifact_bytes(path)
    check_as_written(graph, content, target)
    return target.run(content, graph, table)


def _refuse_taken_names(request: ScoringRequest, graph: RuleGraph) -> None:
    """A column of the data that is called like one of the results would replace it or be replaced."""
    explained = ["reasons"] * (request.catalogue is not None)
    if request.explain:
        from rulekit.audit.explaining.explanations import explanation_names

        explained += explanation_names(graph)
    results = {"label", *(f"probability({label_text(label)})" for label in graph.classes), *explained}
    taken = [name for name in request.keep if name in results]
    if taken:
        raise InputError(
            f"the predictions have a column {taken[0]!r} of their own", where="--keep", fix="rename the one of the data"
        )


def _without_formulas(columns: Mapping[str, Any]) -> dict[str, Any]:
    """An apostrophe before names and text cells that a spreadsheet would take for a formula; numbers stay."""
    import polars

    frame = polars.DataFrame(columns)
    frame = frame.with_columns(polars.col(polars.String).str.replace(_FORMULA, "'${0}"))
    names = [f"'{name}" if re.match(_FORMULA, name) else name for name in frame.columns]
    return dict(zip(names, frame.get_columns(), strict=True))
