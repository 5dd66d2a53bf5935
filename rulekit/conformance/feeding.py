"""Each form in which a target takes cells (`rulekit.targets.Feed`) against the cells and tables of `cells`."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rulekit.conformance.cells import (
    GOOD,
    KINDS,
    NAME,
    REFUSED,
    REFUSING_FORMS,
    Columns,
    beside_strangers,
    cells,
    expected,
    model_of,
    read_by_graph,
    refused,
    shown,
)
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.raw.sources import sort_of
from rulekit.targets import (
    BY_PLACE,
    BY_ROW,
    Answer,
    Feed,
    Target,
    arrays,
    holds_array,
    objects,
    rows_by_name,
    rows_by_place,
)


@dataclass(frozen=True, slots=True)
class Fed:
    """What a form of input made of one question. cases: tables; refused: those that the graph refuses; wrong: in words.

    reasons: why cells have no place in this form, each with how many there are.
    """

    feed: str
    question: str
    cases: int
    refused: int
    wrong: tuple[str, ...]
    reasons: tuple[tuple[str, int], ...] = ()


def fed_cells(target: Target, options: Any, feed: Feed, kinds: Sequence[str] = tuple(KINDS)) -> Iterator[Fed]:
    """Each kind of column: every cell alone, some refused ones below a good one, and all good ones in one column."""
    for kind in kinds:
        graph = model_of(kind)
        if not target.refuses(graph, target.parsed(options)):
            yield _fed_kind(kind, graph, target.emit(graph, options).main, feed)


def _fed_kind(kind: str, graph: RuleGraph, artifact: bytes, feed: Feed) -> Fed:
    feature, reasons = graph.schema[NAME], dict[str, int]()
    held: list[tuple[Any, Answer]] = []
    for cell, answer in zip(cells(), expected(kind), strict=True):
        reason = feed.holds(feature, cell)
        if reason:
            reasons[reason] = reasons.get(reason, 0) + 1
        else:
            held.append((cell, answer))
    good = [(cell, answer) for cell, answer in held if not isinstance(answer, str)]
    bad = [(cell, answer) for cell, answer in held if isinstance(answer, str)]
    questions: list[tuple[str, Columns, Answer]] = [(shown(cell), {NAME: [cell]}, answer) for cell, answer in held]
    if feed.mixed and good:
        below = [(f"{shown(cell)} below a good cell", {NAME: [good[0][0], cell]}, answer) for cell, answer in bad[::5]]
        together = {NAME: [cell for cell, _ in good]}
        questions += [*below, ("all good cells", together, [index for _, (index,) in good])]
    return _asked(feed, kind, artifact, graph, questions, tuple(reasons.items()))


def fed_tables(target: Target, options: Any, feed: Feed) -> Iterator[Fed]:
    """Each family of tables that are refused whole, and good tables with a further column."""
    parsed = target.parsed(options)
    graph = next((g for g in map(parse_graph, REFUSING_FORMS) if not target.refuses(g, parsed)), None)
    numbers = graph is not None and graph.schema["job"].kind == "numeric"
    good = _numbered(GOOD) if numbers else GOOD
    if graph is None or feed.holds(graph.schema["job"], good["job"][0]):
        return
    artifact = target.emit(graph, options).main
    for family in REFUSED:
        if family not in feed.without:
            tables = [_numbered(table) if numbers else table for table in refused(family)]
            right = read_by_graph(graph, tables)
            questions = [(_shape(table), table, answer) for table, answer in zip(tables, right, strict=True)]
            yield _asked(feed, family, artifact, graph, questions)
    strangers = [_numbered(table) if numbers else table for table in beside_strangers()]
    (answer,) = read_by_graph(graph, [{name: strangers[0][name] for name in GOOD}])
    if "further columns" not in feed.without:
        yield _asked(feed, "further columns", artifact, graph, [(_shape(t), t, answer) for t in strangers])


def _numbered(table: Columns) -> Columns:
    places = {job: float(place) for place, job in enumerate(GOOD["job"], 1)}
    return {name: [places.get(cell, cell) for cell in cells] for name, cells in table.items()}


def _shape(table: Columns) -> str:
    return ", ".join(f"{name!r}: {len(cells)} cells" for name, cells in table.items()) or "no column"


def _asked(
    feed: Feed,
    question: str,
    artifact: bytes,
    graph: RuleGraph,
    questions: list[tuple[str, Columns, Answer]],
    reasons: tuple[tuple[str, int], ...] = (),
) -> Fed:
    found = feed.run(artifact, graph, [table for _, table, _ in questions]) if questions else []
    wrong = tuple(
        f"{what}: the graph {_said(right)}, it {_said(answer)}"
        for (what, _, right), answer in zip(questions, found, strict=True)
        if answer != right and not (isinstance(answer, str) and isinstance(right, str) and "\n" not in answer)
    )
    n_refused = sum(isinstance(right, str) for _, _, right in questions)
    return Fed(feed.name, question, len(questions), n_refused, wrong, reasons)


def _said(answer: Answer) -> str:
    return f"refuses ({answer[:160]})" if isinstance(answer, str) else f"decides {answer[:8]}"


# The ways into the graph itself ---------------------------------------------------------------------------------------


def holds_polars(feature: Feature, cell: Any) -> str:
    """What polars does to a cell before anybody reads it."""
    if sort_of(type(cell)) == "decimal" and not cell.is_finite():
        return "polars panics"
    try:
        series = _polars({"": [cell]}, None)[""]
    except Exception:
        return "polars takes no such cell"
    made = sort_of(type(cell)) is None and series.dtype.is_numeric()
    return "polars makes a number of an object" if made else ""


def _pandas(table: Columns, kind: str | None) -> Any:
    import pandas as pd

    return pd.DataFrame({name: pd.Series(list(cells), dtype=kind) for name, cells in table.items()})


def _polars(table: Columns, kind: Any) -> Any:
    import polars as pl

    return pl.DataFrame({name: pl.Series(name, list(cells), dtype=kind) for name, cells in table.items()})


def _polars_objects(table: Columns) -> Any:
    import polars as pl

    return _polars(table, pl.Object)


FILLED = {"unequal lengths": "pandas fills up with NaN"}


def _by_graph(make: Callable[[Columns], Any]) -> Callable[..., list[Answer]]:
    def run(artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]) -> list[Answer]:
        found: list[Answer] = []
        for table in tables:
            try:
                data = make(table)
            except Exception as error:  # the container refuses the cells, in whatever way
                found.append(f"{type(error).__name__} before the graph was asked")
            else:
                found += read_by_graph(graph, [data])
        return found

    return run


def graph_feeds() -> tuple[Feed, ...]:
    """Every form in which the graph takes cells."""
    found = [
        Feed("arrays of objects", _by_graph(objects)),
        Feed("arrays", _by_graph(arrays), holds_array, mixed=False),
        Feed("rows by name", _by_graph(rows_by_name), without=BY_ROW),
        Feed("rows by place", _by_graph(rows_by_place), without=BY_PLACE),
        Feed("polars, objects", _by_graph(_polars_objects)),
        Feed("polars", _by_graph(partial(_polars, kind=None)), holds_polars, mixed=False),
    ]
    if importlib.util.find_spec("pandas"):
        found += [
            Feed("pandas, objects", _by_graph(partial(_pandas, kind="object")), without=FILLED),
            Feed("pandas", _by_graph(partial(_pandas, kind=None)), mixed=False, without=FILLED),
        ]
    return tuple(found)
