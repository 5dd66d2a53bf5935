"""What a model says of the rows of a table: labels, probabilities, why each is decided so, and the reasons to give.

Catalogues of reasons stand here too: to start one for a model, to read one, and to lint one, on rows as well.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rulekit.errors import InputError, reason_of
from rulekit.graph.files.model_files import check_outputs, load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.words import counted
from rulekit.graph.rule_graph import RuleGraph, class_array
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import label_text, printable
from rulekit.schema import require_column
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.columns import RawTable, cells_as_given
from rulekit.tables.reading import read_columns
from rulekit.targets import Outcome, find_target_for
from rulekit.work.changes.hand_edits import expired_notes
from rulekit.work.monitoring import glance

if TYPE_CHECKING:
    from rulekit.audit.drift.findings import Drift
    from rulekit.audit.explaining.explanations import ExplainOptions, RuleMeaning
    from rulekit.audit.reason_codes.linting import Lint
    from rulekit.audit.reason_codes.reasons import Catalogue
    from rulekit.search.moves import Direction
    from rulekit.tables.table import Table

_FORMULA = r"^[=+\-@\t\r]"


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


def score(
    model: Path,
    data: Path,
    *,
    keep: Sequence[str] = (),
    explain: bool = False,
    escape_formulas: bool = False,
    catalogue: Path | None = None,
    adverse: Sequence[str] = (),
    most: int = 4,
    output: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
) -> Scores:
    """Labels and probabilities of every row under a model or an artifact, which then does the scoring itself.

    keep: columns of the data that are copied. explain: also which rules and conditions did it. escape_formulas: put an
    apostrophe before text that a spreadsheet would take for a formula. catalogue: a file of reasons for the adverse
    classes, of which a row gets at most `most`. output: the CSV file to write. Raises InputError for a column that is
    missing or cannot be read.
    """
    check_outputs([output], model, data, catalogue)
    graph = load(model)
    asked = _with_reasons(graph, catalogue, adverse, most)
    _refuse_taken_names(graph, keep, explain, catalogue is not None)
    raw = read_columns(data, reading, columns={*graph.used_features, *keep}, keep_text=keep, schema=graph.schema)
    table = encode(raw, graph.schema, graph.used_features)
    outcome = _outcome(model, graph, table)
    for name in keep:
        require_column(name, raw.known_names, raw.source)
    columns: dict[str, Any] = {c.name: cells_as_given(c) for c in raw.columns if c.name in keep}
    columns["label"] = [label_text(label) for label in class_array(graph.classes)[outcome.labels].tolist()]
    for k, label in enumerate(graph.classes):
        columns[f"probability({label_text(label)})"] = outcome.probabilities[:, k]
    notes = expired_notes(graph.overrides) if graph.overrides else ()
    scores = Scores(columns, table.n_rows, notes=notes)
    if explain or asked is not None:
        scores = _explained(scores, graph, table, asked, explain)
    if escape_formulas:
        scores = replace(scores, columns=_without_formulas(scores.columns))
    if output is not None:
        write_atomically(output, scores.csv())
    return replace(scores, drift=glance(graph, table, raw, labels=outcome.labels))


def _explained(scores: Scores, graph: RuleGraph, table: Table, reasons: ExplainOptions | None, explain: bool) -> Scores:
    """With columns of what decided each row; the nearest change of a model that is no sum takes too long for many."""
    from rulekit.audit.explaining import explanations
    from rulekit.shown.score_cards import has_scores, threshold_words

    asked = replace(reasons or explanations.ExplainOptions(), changes=explain and has_scores(graph), sentences=False)
    found = explanations.explain(graph, table, asked)
    columns, meanings, test = dict(scores.columns), scores.meanings, ""
    if explain:
        columns |= explanations.explanation_columns(graph, found)
        meanings, test = explanations.meanings_of(graph), threshold_words(graph)
    if reasons is not None:
        columns |= explanations.reason_column(found)
    return replace(scores, columns=columns, meanings=meanings, test=test, explained=found)


def _outcome(path: Path, graph: RuleGraph, table: Table) -> Outcome:
    if path.suffix.lower() == ".json":
        from rulekit.graph.evaluation.evaluator import decide, probabilities

        return Outcome(decide(graph, table), probabilities(graph, table))
    from rulekit.verification.parity import artifact_bytes, check_as_written

    target, content = find_target_for(str(path)), artifact_bytes(path)
    check_as_written(graph, content, target)
    return target.run(content, graph, table)


def _refuse_taken_names(graph: RuleGraph, keep: Sequence[str], explain: bool, reasons: bool) -> None:
    """A column of the data that is called like one of the results would replace it or be replaced."""
    results = ["label", *(f"probability({label_text(label)})" for label in graph.classes), *["reasons"] * reasons]
    if explain:
        from rulekit.audit.explaining.explanations import explanation_names

        results += explanation_names(graph)
    if taken := [name for name in keep if name in results]:
        what = f"the predictions have a column {taken[0]!r} of their own"
        raise InputError(what, where="--keep", fix="rename the one of the data")


def _without_formulas(columns: Mapping[str, Any]) -> dict[str, Any]:
    """An apostrophe before names and text cells that a spreadsheet would take for a formula; numbers stay."""
    import polars

    frame = polars.DataFrame(columns)
    frame = frame.with_columns(polars.col(polars.String).str.replace(_FORMULA, "'${0}"))
    names = [f"'{name}" if re.match(_FORMULA, name) else name for name in frame.columns]
    return dict(zip(names, frame.get_columns(), strict=True))


def _with_reasons(graph: RuleGraph, path: Path | None, adverse: Sequence[str], most: int) -> ExplainOptions | None:
    """What is asked of the reasons of a catalogue; raises InputError where there is none, or it has a fault."""
    if path is None:
        if adverse:
            raise InputError(
                "reasons are given from a catalogue", where="--adverse", fix="name one by --catalogue FILE"
            )
        return None
    from rulekit.audit.explaining.explanations import ExplainOptions
    from rulekit.audit.reason_codes.reasons import adverse_classes, required

    found = read_catalogue(path)
    return ExplainOptions(reasons=required(found, graph), adverse=adverse_classes(graph, found, adverse), most=most)


# Rows in sentences ----------------------------------------------------------------------------------------------------

MOST_SHOWN = 20


@dataclass(frozen=True, slots=True)
class Explanations:
    """The rows that were asked for, in the order of the file: the number under `row`, then what `explain` says."""

    rows: tuple[dict[str, Any], ...]

    def lines(self) -> Iterator[str]:
        """The number of each row, and its sentences below."""
        for row in self.rows:
            yield f"Row {row['row']}"
            yield from (f"  {sentence}" for sentence in row["sentences"])

    def as_json(self) -> str:
        """All rows as JSON; many of them a line each, which takes a third of the time and of the room."""
        if len(self.rows) <= MOST_SHOWN:
            return json.dumps(self.rows, indent=2, ensure_ascii=False, default=_plain)
        lines = (json.dumps(row, ensure_ascii=False, default=_plain) for row in self.rows)
        return "[\n" + ",\n".join(lines) + "\n]"


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else label_text(value)


def explain(
    model: Path,
    data: Path,
    *,
    rows: Sequence[int] = (),
    ids: Mapping[str, str] | None = None,
    immutable: Sequence[str] = (),
    directions: Mapping[str, Direction] | None = None,
    to: str | None = None,
    catalogue: Path | None = None,
    adverse: Sequence[str] = (),
    most: int = 4,
    as_json: bool = False,
    output: Path | None = None,
    reading: ReadingOptions = DEFAULT_OPTIONS,
    deadline: Deadline = NO_LIMIT,
) -> Explanations:
    """Why rows are decided as they are; after the deadline no changes are looked for any more.

    rows: their numbers, from 1; ids: by column the value that a row must have; neither: all rows. immutable and
    directions: which changes of a row are allowed; to: the class that is wanted. catalogue: a file of reasons for the
    adverse classes, of which a row gets at most `most`. output: the file to write, JSON where `as_json`.

    Raises InputError for rows, columns or classes that there are not.
    """
    from rulekit.audit.explaining import explanations
    from rulekit.audit.reason_codes.reasons import class_of
    from rulekit.search.moves import Wishes

    check_outputs([output], model, data, catalogue)
    graph, ids = load(model), ids or {}
    wishes = Wishes(frozenset(immutable), directions or {})
    wishes.check(graph.schema)
    wanted = None if to is None else class_of(graph, to, "--to")
    asked = _with_reasons(graph, catalogue, adverse, most) or explanations.ExplainOptions()
    asked = replace(asked, wishes=wishes, to=wanted, deadline=deadline)
    raw = read_columns(data, reading, columns={*graph.used_features, *ids}, keep_text=ids, schema=graph.schema)
    table = encode(raw, graph.schema, graph.used_features)
    chosen = _chosen(raw, table.n_rows, rows, ids)
    if len(chosen) > MOST_SHOWN and not (as_json or output):
        fix = f"name one by --row N (1 to {table.n_rows}) or --id COL=VALUE, or take them all by --json or -o FILE"
        raise InputError(f"{len(chosen)} rows are more than one reads", where=raw.source, fix=fix)
    facts = explanations.explain(graph, table.take(np.array(chosen, dtype=np.int64) - 1), asked)
    found = Explanations(tuple({"row": number, **of} for number, of in zip(chosen, facts, strict=True)))
    if output is not None:
        text = f"{found.as_json()}\n" if as_json else "".join(f"{line}\n" for line in found.lines())
        write_atomically(output, text.encode())
    return found


def _chosen(raw: RawTable, n_rows: int, rows: Sequence[int], ids: Mapping[str, str]) -> list[int]:
    for number in rows:
        if not 1 <= number <= n_rows:
            fix = f"rows are 1 to {n_rows}; the header is none"
            raise InputError(f"there is no row {number}", where="--row", fix=fix)
    numbers = sorted(set(rows)) if rows else list(range(1, n_rows + 1))
    for column, value in ids.items():
        require_column(column, raw.known_names, raw.source)
        (cells,) = (cells_as_given(own) for own in raw.columns if own.name == column)
        held = [None if cell is None else str(cell).strip() for cell in cells]
        numbers = [number for number in numbers if held[number - 1] == value]
    if not numbers:
        said = printable(", ".join(f"{column}={value}" for column, value in ids.items()))
        raise InputError(f"no row has {said}", where="--id", fix="values are compared as the file writes them")
    return numbers


# Catalogues of reasons ------------------------------------------------------------------------------------------------

_MOST_ROWS = 5


@dataclass(frozen=True, slots=True)
class Linted:
    """The lint of a catalogue and, where there were rows, what it does on these.

    rows, adverse: how many there are, and how many of them have an adverse decision; given: by code how many of these
    get the reason. without: the numbers, from 1, of rows that a change turns but that have no reason; unturned: rows
    that no change turns; unknown: rows of which it was not found out which columns matter.
    """

    lint: Lint
    texts: Mapping[str, str]
    rows: int | None = None
    adverse: int = 0
    given: Mapping[str, int] | None = None
    without: tuple[int, ...] = ()
    unturned: int = 0
    unknown: int = 0

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.lint.ok and not self.without

    def lines(self) -> Iterator[tuple[str, str]]:
        """A word, "" for what stands under the line before, and a text."""
        for finding in self.lint.findings:
            yield "found", finding.text
            yield from (("", f"  {row.text}") for row in finding.rows)
        yield from (("proved", text) for text in self.lint.proved)
        yield from (("open", text) for text in self.lint.open)
        if self.without:
            shown = ", ".join(map(str, self.without[:_MOST_ROWS]))
            more = len(self.without) - _MOST_ROWS
            rows = f"{shown} and {more} more" if more > 0 else shown
            yield "found", f"{counted(len(self.without), 'adverse row')} of the data without a reason: {rows}"
        if self.rows is not None:
            yield "data", f"{self.adverse} of {counted(self.rows, 'row')} have an adverse decision"
        beside = "we could not find out which columns matter (search limit reached)"
        for many, said in ((self.unturned, "no change of values turns"), (self.unknown, beside)):
            if many:
                yield "", f"  {many:>6}  {said}"
        for code, many in (self.given or {}).items():
            yield "", f"  {many:>6}  {code}  {self.texts.get(code, '')}"

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        findings = [finding.as_dict() for finding in self.lint.findings]
        found: dict[str, Any] = {"ok": self.ok, "findings": findings}
        found |= {"proved": list(self.lint.proved), "open": list(self.lint.open)}
        if self.rows is not None:
            data = {"rows": self.rows, "adverse": self.adverse, "given": dict(self.given or {})}
            data |= {"without_reason": list(self.without), "that_no_change_turns": self.unturned}
            found["data"] = data | ({"not_found_out": self.unknown} if self.unknown else {})
        return found


def read_catalogue(path: Path) -> Catalogue:
    """The catalogue of a file; raises InputError where it cannot be read or is none."""
    from rulekit.audit.reason_codes.reasons import parse_catalogue

    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(reason_of(error), where=str(path), fix="name a catalogue (.toml)") from None
    return parse_catalogue(content, printable(path))


def start_catalogue(model: Path, output: Path, adverse: Sequence[str] = (), deadline: Deadline = NO_LIMIT) -> Catalogue:
    """Write a catalogue for the adverse classes of a model: a reason for each column not shown to never count."""
    from rulekit.audit.reason_codes.linting import starter
    from rulekit.audit.reason_codes.reasons import adverse_classes

    check_outputs([output], model)
    graph = load(model)
    begun = starter(graph, adverse_classes(graph, None, adverse), deadline)
    if not begun.reasons:
        fix = "there are no reasons to give"
        raise InputError("no column counts in an adverse decision", where=str(model), fix=fix)
    write_atomically(output, begun.toml().encode())
    return begun


def lint_catalogue(
    model: Path,
    catalogue: Path,
    data: Path | None = None,
    adverse: Sequence[str] = (),
    reading: ReadingOptions = DEFAULT_OPTIONS,
    deadline: Deadline = NO_LIMIT,
) -> Linted:
    """What is wrong in a catalogue for all rows that there can be, and its figures on the rows of a table.

    What is not settled by the deadline is open.
    """
    from rulekit.audit.reason_codes.linting import lint
    from rulekit.audit.reason_codes.reasons import adverse_classes, meant, reasons_of
    from rulekit.tables.reading import read_table

    graph, found = load(model), read_catalogue(catalogue)
    classes = adverse_classes(graph, found, adverse)
    texts = {reason.code: reason.text for reason in reversed(found.reasons)}  # of one code the first counts
    linted = Linted(lint(graph, found, classes, deadline), texts)
    if data is None:
        return linted
    table, reasons = read_table(data, reading, schema=graph.schema, used=graph.used_features), meant(found, graph)
    rows = reasons_of(graph, table, reasons, classes, most=len(reasons), deadline=deadline)
    given = dict.fromkeys((reason.code for reason in found.reasons), 0)
    for reason in (reason for row in rows for reason in row.get("reasons", ())):
        given[reason["code"]] += 1
    unnamed = [(number, row["counting"]) for number, row in enumerate(rows, 1) if row and not row["reasons"]]
    still = [row["counting"]["complete"] for row in rows if row and not row["counting"]["columns"]]
    return replace(
        linted,
        rows=table.n_rows,
        adverse=sum(map(bool, rows)),
        given=given,
        without=tuple(number for number, counting in unnamed if counting["columns"]),
        unturned=sum(still),
        unknown=len(still) - sum(still),
    )
