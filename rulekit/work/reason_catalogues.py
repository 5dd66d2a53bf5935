"""Catalogues of reasons as files: to start one for a model, to read one, and to lint one, on rows too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.errors import InputError, reason_of
from rulekit.graph.files.model_files import load
from rulekit.graph.files.safe_files import write_atomically
from rulekit.graph.language.words import counted
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.names import printable
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.work.outputs import check_outputs

if TYPE_CHECKING:
    from rulekit.audit.reason_codes.linting import Lint
    from rulekit.audit.reason_codes.reasons import Catalogue, Reason
    from rulekit.graph.rule_graph import RuleGraph

_MOST_ROWS = 5


@dataclass(frozen=True, slots=True)
class RowFigures:
    """What a catalogue does on the rows of a table.

    adverse: rows with an adverse decision; given: by code how many of these get the reason; without: the numbers, from
    1, of rows that a change turns but that have no reason; unturned: rows that no change turns; unknown: rows of which
    it was not found out which columns matter.
    """

    rows: int
    adverse: int
    given: Mapping[str, int]
    without: tuple[int, ...] = ()
    unturned: int = 0
    unknown: int = 0

    def as_dict(self) -> dict[str, Any]:
        found = {"rows": self.rows, "adverse": self.adverse, "given": dict(self.given)}
        found |= {"without_reason": list(self.without), "that_no_change_turns": self.unturned}
        return found | ({"not_found_out": self.unknown} if self.unknown else {})


@dataclass(frozen=True, slots=True)
class Linted:
    """The lint of a catalogue, and its figures on rows where there were any."""

    lint: Lint
    figures: RowFigures | None = None
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.lint.ok and (self.figures is None or not self.figures.without)

    def lines(self) -> Iterator[tuple[str, str]]:
        """A word, "" for what stands under the line before, and a text."""
        for finding in self.lint.findings:
            yield "found", finding.text
            yield from (("", f"  {row.text}") for row in finding.rows)
        yield from (("proved", text) for text in self.lint.proved)
        yield from (("open", text) for text in self.lint.open)
        if self.figures is not None:
            yield from self._figures(self.figures)

    def _figures(self, figures: RowFigures) -> Iterator[tuple[str, str]]:
        if figures.without:
            shown = ", ".join(map(str, figures.without[:_MOST_ROWS]))
            more = len(figures.without) - _MOST_ROWS
            rows = f"{shown} and {more} more" if more > 0 else shown
            yield "found", f"{counted(len(figures.without), 'adverse row')} of the data without a reason: {rows}"
        yield "data", f"{figures.adverse} of {counted(figures.rows, 'row')} have an adverse decision"
        if figures.unturned:
            yield "", f"  {figures.unturned:>6}  no change of values turns"
        if figures.unknown:
            yield "", f"  {figures.unknown:>6}  we could not find out which columns matter (search limit reached)"
        for code, many in figures.given.items():
            yield "", f"  {many:>6}  {code}  {self.texts.get(code, '')}"

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        found: dict[str, Any] = {
            "ok": self.ok,
            "findings": [finding.as_dict() for finding in self.lint.findings],
            "proved": list(self.lint.proved),
            "open": list(self.lint.open),
        }
        return found if self.figures is None else found | {"data": self.figures.as_dict()}


def read_catalogue(path: Path) -> Catalogue:
    """The catalogue of a file; raises InputError where it cannot be read or is none."""
    from rulekit.audit.reason_codes.reasons import parse_catalogue

    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(reason_of(error), where=str(path), fix="name a catalogue (.toml)") from None
    return parse_catalogue(content, printable(path))


def catalogue_for(graph: RuleGraph, path: Path, adverse: Sequence[str]) -> tuple[tuple[Reason, ...], tuple[int, ...]]:
    """The reasons of a file for a model, and its adverse classes; raises InputError where the file has a fault."""
    from rulekit.audit.reason_codes.reasons import adverse_classes, required

    found = read_catalogue(path)
    return required(found, graph), adverse_classes(graph, found, adverse)


def without_catalogue(adverse: Sequence[str]) -> None:
    """Raises InputError where adverse classes are named and there is no catalogue."""
    if adverse:
        raise InputError("reasons are given from a catalogue", where="--adverse", fix="name one by --catalogue FILE")


def start_catalogue(model: Path, output: Path, adverse: Sequence[str] = (), deadline: Deadline = NO_LIMIT) -> Catalogue:
    """Write a catalogue for the adverse classes of a model: a reason for each column not shown to never count."""
    from rulekit.audit.reason_codes.linting import starter
    from rulekit.audit.reason_codes.reasons import adverse_classes

    check_outputs([output], model)
    graph = load(model)
    begun = starter(graph, adverse_classes(graph, None, adverse), deadline)
    if not begun.reasons:
        raise InputError(
            "no column counts in an adverse decision", where=str(model), fix="there are no reasons to give"
        )
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
    from rulekit.audit.reason_codes.reasons import adverse_classes

    graph, found = load(model), read_catalogue(catalogue)
    classes = adverse_classes(graph, found, adverse)
    linted = lint(graph, found, classes, deadline)
    texts: dict[str, str] = {}
    for reason in found.reasons:
        texts.setdefault(reason.code, reason.text)
    figures = None if data is None else _row_figures(graph, found, classes, data, reading, deadline)
    return Linted(linted, figures, texts)


def _row_figures(
    graph: RuleGraph,
    catalogue: Catalogue,
    adverse: Sequence[int],
    data: Path,
    reading: ReadingOptions,
    deadline: Deadline,
) -> RowFigures:
    from rulekit.audit.reason_codes.reasons import meant, reasons_of
    from rulekit.tables.reading import read_table

    table = read_table(data, reading, schema=graph.schema, used=graph.used_features)
    reasons = meant(catalogue, graph)
    rows = reasons_of(graph, table, reasons, adverse, most=len(reasons), deadline=deadline)
    given = dict.fromkeys((reason.code for reason in catalogue.reasons), 0)
    for row in rows:
        for reason in row.given:
            given[reason.code] += 1
    without = tuple(number for number, row in enumerate(rows, 1) if row.adverse and not row.given and row.counting)
    unturned = sum(row.adverse and not row.counting and row.exact for row in rows)
    unknown = sum(row.adverse and not row.counting and not row.exact for row in rows)
    return RowFigures(table.n_rows, sum(row.adverse for row in rows), given, without, unturned, unknown)
