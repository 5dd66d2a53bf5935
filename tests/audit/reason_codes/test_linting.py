"""The lint of reasons against brute force over the cells of random models, with catalogues wrong in every way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from rulekit.audit.reason_codes import linting
from rulekit.audit.reason_codes.linting import lint, starter
from rulekit.audit.reason_codes.reasons import Catalogue, Reason, meant, parse_catalogue, reasons_of
from rulekit.cells.axis import cells_of
from rulekit.cells.space import product
from rulekit.conformance.models import graph_of, random_graph, random_leaf, random_schema
from rulekit.errors import GraphError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.words import name
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import Above, And, AtLeast, Linear, LinearThreshold, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import label_text
from rulekit.schema import Feature, Schema
from rulekit.search.nearest import nearest_changes
from rulekit.search.row_search import RowSearch
from rulekit.search.takes_part import Counting, Nearer
from rulekit.tables.table import Table
from rulekit.verification.rows import adversarial_rows

MOST = 6_000


def random_model(seed: int) -> RuleGraph:
    """A legal model of any decision over at most four columns whose values are not added up."""
    rng = np.random.default_rng(seed)
    while True:
        schema = Schema(random_schema(rng).features[:4])
        try:
            graph = _far_from_turning(rng, schema) if rng.random() < 0.6 else random_graph(rng, schema=schema)
            check(graph)
        except GraphError:
            continue
        roots = graph.decision.roots
        size = math.prod(len(cells_of(graph.schema[c], own)) for c, own in readers(roots).items())
        if not any(map(has_column, roots)) and 8 < size <= MOST:
            return graph


def _far_from_turning(rng: np.random.Generator, schema: Schema) -> RuleGraph:
    """A count, a sum, rules of several conditions, or three sums: decisions that one column seldom turns."""
    leaves = [random_leaf(rng, Schema((feature,))) for feature in schema for _ in range(int(rng.integers(1, 3)))]
    weights = [float(np.round(rng.normal(), 1)) for _ in leaves]
    terms = tuple(zip(weights, leaves, strict=True))
    match int(rng.integers(5)):
        case 0:
            return graph_of(AtLeast(int(rng.integers(1, len(leaves) + 1)), leaves), schema)
        case 1:
            return graph_of(Above(Linear(terms, 0.0), float(np.round(rng.normal(), 1))), schema)
        case 2:
            return graph_of(LinearThreshold(terms, float(np.round(rng.normal(), 1))), schema)
        case 3:
            chosen = [[leaf for leaf in leaves if rng.random() < 0.6] for _ in range(3)]
            return graph_of(Or([And(some) for some in chosen]), schema)
    scores = [Linear(tuple((float(np.round(rng.normal(), 1)), leaf) for leaf in leaves), 0.0) for _ in range(3)]
    order = tuple(int(k) for k in rng.permutation(3))
    return RuleGraph(schema, ("low", "mid", "high"), ArgMax(tuple(scores), (-math.inf,) * 3, order))


def random_catalogue(rng: np.random.Generator, graph: RuleGraph) -> Catalogue:
    """Reasons of most columns, some of several, some conditional, for one class, unknown or of a code given before.

    Now and then the catalogue that the model itself would start, or that without one of its reasons.
    """
    if rng.random() < 0.4:
        begun = starter(graph, (0,)).reasons
        kept = begun if rng.random() < 0.4 or len(begun) < 2 else begun[1:]
        return Catalogue(kept or (Reason("R1", "text", graph.schema.names[:1]),))
    read = [c for c in graph.schema.names if c in readers(graph.decision.roots)]
    reasons = []
    for column in (c for c in graph.schema.names if rng.random() < 0.8):
        feature = graph.schema[column]
        columns = (column,)
        ordered = feature.kind in ("numeric", "boolean") or feature.ordered
        direction: Any = rng.choice(["up", "down"]) if ordered and rng.random() < 0.3 else ""
        when = str(rng.choice(_conditions(feature))) if rng.random() < 0.3 else ""
        if not when and rng.random() < 0.2:
            columns = tuple(dict.fromkeys([column, str(rng.choice([*read, "no such column"]))]))
            direction = ""
        label = _some_class(rng, graph) if rng.random() < 0.2 else ""
        reasons.append(Reason(f"R{int(rng.integers(1, 12))}", "text", columns, direction, when, label))
        if direction and rng.random() < 0.7:
            reasons.append(Reason("R0", "text", columns, "down" if direction == "up" else "up", when, label))
        if when and rng.random() < 0.7:
            reasons.append(Reason("R0", "text", columns, "", f"not ({when})", label))
    return Catalogue(tuple(reasons or [Reason("R1", "text", ("no such column",))]))


def _some_class(rng: np.random.Generator, graph: RuleGraph) -> str:
    return str(rng.choice([*map(label_text, graph.classes), "no such class"]))


def _conditions(feature: Feature) -> list[str]:
    column = name(feature.name)
    if feature.kind == "numeric":
        return [f"{column} is missing", f"{column} <= 0.5", f"({column} > 2 or missing)"]
    return [
        f"{column} is missing",
        column if feature.kind == "boolean" else f"{column} in {{{name(feature.levels[0])}}}",
    ]


@dataclass(frozen=True)
class Brute:
    """All cells of a model and one class, with the smallest changes of each, found by trying all of them."""

    graph: RuleGraph
    reasons: tuple[Reason, ...]
    class_index: int

    @cached_property
    def columns(self) -> list[tuple[Feature, Any]]:
        nodes = [*self.graph.decision.roots, *(r.node for r in self.reasons if r.node is not None)]
        found = readers(nodes)
        names = [c for c in self.graph.schema.names if c in readers(self.graph.decision.roots)]
        return [(self.graph.schema[c], np.unique(cells_of(self.graph.schema[c], found[c]).encoded())) for c in names]

    @cached_property
    def table(self) -> Any:
        return product([feature for feature, _ in self.columns], [values for _, values in self.columns])

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(values) for _, values in self.columns)

    @cached_property
    def turned(self) -> Any:
        deciding = self.graph.with_(probability=(), required=())
        return (decide(deciding, self.table) != self.class_index).reshape(self.shape)

    def known(self, axis: int) -> Any:
        values = self.columns[axis][1]
        return np.flatnonzero(~np.isnan(values) if values.dtype.kind == "f" else values > 1)

    def reached(self, axes: tuple[int, ...]) -> Any:
        """Whether changes of these columns alone turn each cell (in the shape, 1 along the columns)."""
        found = self.turned
        for axis in axes:
            found = found.take(self.known(axis), axis=axis).any(axis=axis, keepdims=True)
        return found

    @cached_property
    def distance(self) -> Any:
        far = np.where(self.turned, 0, 99)
        for k in range(len(self.shape), 0, -1):
            for axes in combinations(range(len(self.shape)), k):
                far = np.where(~self.turned & self.reached(axes), k, far)
        return far

    @cached_property
    def counts(self) -> list[Any]:
        """By column whether each of its known values is part of a smallest change [cells, values]."""
        found = [np.zeros((*self.shape, len(self.known(axis))), dtype=bool) for axis in range(len(self.shape))]
        for axis, marks in enumerate(found):
            others = [j for j in range(len(self.shape)) if j != axis]
            for axes in (axes for k in range(len(self.shape)) for axes in combinations(others, k)):
                for v, value in enumerate(self.known(axis)):
                    marks[..., v] |= self.reached(axes).take([value], axis=axis) & (self.distance == len(axes) + 1)
        return found

    def applies(self, reason: Reason, column: str) -> Any:
        """The cells to which a reason applies by a column."""
        held = np.zeros(self.shape, dtype=bool)
        for axis, (feature, values) in enumerate(self.columns):
            if feature.name != column or not reason.covers(self.class_index):
                continue
            marks = self.counts[axis]
            if reason.direction:
                there = values[self.known(axis)].astype(float)
                own = np.where(np.isin(np.arange(len(values)), self.known(axis)), values.astype(float), np.nan)
                sign = 1 if reason.direction == "up" else -1
                ways = sign * there[None, :] > sign * own[:, None]
                around = [1] * len(self.shape) + [ways.shape[1]]
                around[axis] = ways.shape[0]
                marks = marks & ways.reshape(around)
            held |= marks.any(axis=-1)
        if reason.node is not None and column in [feature.name for feature, _ in self.columns]:
            held &= evaluate_nodes([reason.node], self.table)[reason.node].reshape(self.shape)
        return held


def expected(graph: RuleGraph, catalogue: Catalogue, adverse: tuple[int, ...]) -> set[tuple[str, str, str]]:
    """What is wrong, by brute force: kind, code and column."""
    reasons = meant(catalogue, graph)
    brutes = [Brute(graph, reasons, k) for k in adverse]
    codes = [reason.code for reason in catalogue.reasons]
    found = {("duplicate code", code, "") for code in codes if codes.count(code) > 1}
    for written, reason in zip(catalogue.reasons, reasons, strict=True):
        code = reason.code
        found |= {("unknown class", code, "")} if reason.class_index == -1 else set()
        found |= {("unknown column", code, c) for c in written.columns if c not in graph.schema}
        alive = [c for c in reason.columns if any(brute.applies(reason, c).any() for brute in brutes)]
        if not alive and reason.columns:
            found.add(("never given", code, reason.columns[0]))
        elif reason.columns:
            found |= {("cannot count", code, c) for c in reason.columns if c not in alive}
    for brute in brutes:
        turnable = (brute.distance > 0) & (brute.distance < 99)
        if not turnable.any() and not brute.turned.all():
            found.add(("cannot turn", "", ""))
        reasoned = np.zeros(brute.shape, dtype=bool)
        for reason in reasons:
            for column in reason.columns:
                reasoned |= brute.applies(reason, column)
        if (turnable & ~reasoned).any():
            found.add(("no reason", "", ""))
    return found


def said(found: linting.Lint) -> set[tuple[str, str, str]]:
    return {(f.kind, f.ids[0] if f.ids else "", "" if f.kind == "no reason" else f.column) for f in found.findings}


def holds(seed: int, monkeypatch: pytest.MonkeyPatch, few: int | None = None) -> set[str]:
    """The lint is what brute force says, each row that it shows has no reason, and what counts is right."""
    rng = np.random.default_rng(1_000 + seed)
    graph = random_model(seed)
    catalogue = random_catalogue(rng, graph)
    adverse = (0,) if rng.random() < 0.7 else tuple(range(1, len(graph.classes)))
    if few is not None:
        searching = lambda graph, nodes, **limit: RowSearch(graph, nodes, few=few, **limit)  # noqa: E731
        monkeypatch.setattr("rulekit.audit.reason_codes.linting.RowSearch", searching)
    linted = lint(graph, catalogue, adverse)
    if few is None:
        assert not linted.open
    if not linted.open:
        assert said(linted) == expected(graph, catalogue, adverse)
    reasons = meant(catalogue, graph)
    for finding in linted.findings:
        for row in finding.rows if finding.kind == "no reason" else ():
            (own,) = reasons_of(graph, graph.table([dict(row.row)]), reasons, adverse) if not row.new else [None]
            assert own is None or (own["reasons"] == [] and finding.column in own["counting"]["columns"])
    for k in adverse:
        brute = Brute(graph, reasons, k)
        rows = np.flatnonzero(~brute.turned.ravel())
        if len(rows) and few is None:
            for way in (Counting(graph), Counting(graph, few=0)):
                some = rows if way._few else rows[:: max(1, len(rows) // 20)]
                near = way.of(brute.table.take(some), k)
                counted = {p.column: own.any(axis=1) for p, own in zip(way.places, near.nearer, strict=True)}
                for axis, (feature, _) in enumerate(brute.columns):
                    mine = counted.get(feature.name, np.zeros(len(some), dtype=bool))
                    wanted = brute.counts[axis].any(axis=-1).ravel()[some]
                    assert (mine == wanted)[near.exact].all()
                assert near.exact.mean() > 0.9
    return {kind for kind, *_ in said(linted)}


def test_a_catalogue_that_a_model_starts_passes_the_lint() -> None:
    for seed in range(8):
        graph = random_model(seed)
        begun = starter(graph, (0,))
        if begun.reasons:
            assert parse_catalogue(begun.toml().encode()) == begun
            assert lint(graph, begun, (0,)).ok


@pytest.mark.parametrize(("seed", "few"), [*((seed, None) for seed in range(14)), *((seed, 0) for seed in range(6))])
def test_the_lint_says_what_all_cells_say(seed: int, few: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """few: by the solver."""
    holds(seed, monkeypatch, few)


@pytest.mark.long
@pytest.mark.parametrize("start", range(14, 200, 31))
def test_the_lint_is_right_on_random_models(start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found: set[str] = set()
    for seed in range(start, min(start + 31, 200)):
        found |= holds(seed, monkeypatch)
    assert {"no reason", "never given", "duplicate code"} <= found


@pytest.mark.long_from("first", 20)
@pytest.mark.parametrize("first", range(0, 60, 20))
def test_columns_of_a_proved_smallest_change_count(first: int) -> None:
    """One screen said "Proved: no smaller change does" and "no column counts": rows and cells were tried in vain."""
    seen = 0
    for seed in range(first, first + 20):
        graph = random_model(seed)
        table = adversarial_rows(graph, 40, seed).table
        changes = nearest_changes(graph, table)
        for counting in (Counting(graph), Counting(graph, few=0), _Blind(graph)):
            found = reasons_of(graph, table, (), range(len(graph.classes)), changes=changes, counting=counting)
            texts = {f"{name} contains": name for name in graph.schema.names}
            for change, row in zip(changes, found, strict=True):
                moved = {texts.get(c.column.rpartition(" ")[0], c.column) for c in change.columns}
                if change.proved and moved <= set(graph.schema.names):
                    assert moved <= set(row["counting"]["columns"]), (seed, change)
                    assert moved or not row["counting"]["columns"]
                    seen += bool(moved)
    assert seen > 100


class _Blind(Counting):
    """Finds nothing by itself, as where rows are too many to try."""

    def of(self, table: Table, class_index: int) -> Nearer:
        nearer = tuple(np.zeros((table.n_rows, len(place.values)), dtype=bool) for place in self.places)
        return Nearer(np.zeros(table.n_rows, dtype=np.int64), nearer, np.zeros(table.n_rows, dtype=bool))
