"""The rows that a generated module carries to test itself, and their answers by the graph.

They are chosen among rows that rulekit.verification aims at the graph, with every number moved to the edge of its
interval between thresholds, which changes no comparison and keeps the list of different cells short. For neighbouring
cells of a column that some leaf tells apart one such row is found whose label (else: whose probability) hangs on which
of them it has, and taken with both.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import cuts_of, fresh_text, unseen_text
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes, probabilities
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Column, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, look_alikes
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table, missing_cells
from rulekit.verification.rows import adversarial_rows
from rulekit_exporters.python.spelling import filled, literal

ROWS, MIN_ROWS = 64, 32
MAX_EDGES = 40
MAX_TEXT = 8000
_DIGITS = 13
CANDIDATES = 200
MOST_CHARACTERS = 200
MAX_CELLS = 10_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """The cells of one column that rows are made of, each once, and the index [n] of the cell of each candidate."""

    values: tuple[Any, ...]
    index: npt.NDArray[np.intp]


def self_test(graph: RuleGraph) -> str:
    """Rows as constants, with class and probabilities by the graph, and the function that scores them.

    There are ROWS of them, more where the leaves need more, and fewer where their text is longer than MAX_TEXT.
    """
    names = graph.used_features
    columns = _candidates(graph)
    rows = _chosen(graph, columns) if names else [()]
    table = _table(graph, columns, np.array(rows, dtype=np.intp).reshape(len(rows), len(names)))
    # processors differ in the last digits of a logarithm, and the module is to be the same from all of them
    chances_of_rows = probabilities(graph, table).round(_DIGITS).tolist()
    labels, reported = decide(graph, table).tolist(), list(map(tuple, chances_of_rows))
    chances = tuple(dict.fromkeys(reported))
    kept: list[dict[int, int]] = [{} for _ in names]
    items: list[tuple[int, ...]] = []
    length = 0
    for row, label, chance in zip(rows, labels, reported, strict=True):
        places = [own.setdefault(i, len(own)) for own, i in zip(kept, row, strict=True)]
        items.append((label, chances.index(chance), *places))
        length += len(literal(items[-1]))
        if length > MAX_TEXT and len(items) >= MIN_ROWS:
            break
    cells = [[columns[name].values[i] for i in own] for name, own in zip(names, kept, strict=True)]
    used = chances[: 1 + max(chances.index(chance) for chance in reported[: len(items)])]
    return "\n\n".join(
        (
            "# Of each column of USED the cells that the rows are made of.\n" + _tuple("TEST_CELLS", "Any", cells, 1),
            f"TEST_CLASSES = {literal(graph.classes)}",
            "# Probabilities of the classes.\n" + _tuple("TEST_CHANCES", "float", used),
            "# Rows: the number of the class, of its probabilities, and of each cell.\n"
            + _tuple("TEST_ROWS", "int", items),
            _FUNCTION,
        )
    )


def _tuple(name: str, of: str, items: Sequence[Iterable[Any]], most: int = 100) -> str:
    """An assignment of a tuple of tuples, at most `most` on a line; a longer one is broken between its own items."""
    lines: list[str] = []
    for start in range(0, len(items), most):
        lines += filled(piece for item in items[start : start + most] for piece in _pieces(tuple(item)))
    return "\n".join([f"{name}: tuple[tuple[{of}, ...], ...] = (", *lines, ")"])


def _pieces(item: tuple[Any, ...]) -> list[str]:
    whole = f" {literal(item)},"
    return [whole] if len(whole) < 112 else [f" ({literal(item[0])},", *(f" {literal(v)}," for v in item[1:]), " ),"]


_FUNCTION = '''
def self_test() -> int:
    """Score the rows above in every form of input; returns 0 where all answers are the model's, else 1."""
    rows = test_rows(TEST_CELLS, TEST_CHANCES, TEST_ROWS)
    ways = {"predict": predict, "predict_proba": predict_proba, "predict_many": predict_many}
    return check_rows(rows, TEST_CLASSES, ways)'''


# Candidates ----------------------------------------------------------------------------------------------------------


def _candidates(graph: RuleGraph) -> dict[str, _Cells]:
    """Adversarial rows, by used column, every cell moved to the edge of its interval."""
    n_rows = max(24, min(CANDIDATES, MAX_CELLS // (2 * MAX_EDGES * (len(graph.used_features) + len(graph.nodes())))))
    raw = adversarial_rows(graph, n_rows)
    found, read = {}, readers(graph.roots)
    for name in graph.used_features:
        feature = graph.schema[name]
        if feature.kind == "text":
            found[name] = _texts(raw.columns[name].tolist(), fresh_text("-", feature.missing_tokens))
        elif feature.kind == "categorical":
            strict = feature.unseen == "error"
            unseen = [] if strict else [unseen_text(feature)]
            # with another way in which a table may write the last level that has one
            alike = [text for level in feature.levels for text in look_alikes(level) if text not in feature.levels][-1:]
            codes = raw.table.array(name).astype(np.intp)
            values = (None, *unseen, *feature.levels, *feature.missing_tokens, *alike)
            found[name] = _Cells(values, np.where(codes, codes - strict, 0))
        else:
            found[name] = _numbers(feature, raw.columns[name], read[name])
    return found


def _texts(given: list[str | None], plain: str) -> _Cells:
    """Missing, a text without a word (`plain`), then the texts that came; for a long one the second stands there."""
    shown = [text if text is None or len(text) <= MOST_CHARACTERS else plain for text in given]
    place: dict[str | None, int] = {None: 0, plain: 1}
    index = np.array([place.setdefault(text, len(place)) for text in shown], dtype=np.intp)
    return _Cells(tuple(place), index)


def _numbers(feature: Feature, given: npt.NDArray[Any], nodes: Sequence[Node]) -> _Cells:
    """Both edges at each cut, infinities, zero, numbers that mean missing; bounds of columns and what lies between and
    beyond; NaN comes last.
    """
    columns = [node for node in nodes if isinstance(node, Column)]
    cuts = cuts_of(feature, [node for node in nodes if not isinstance(node, Column)])
    edges = {edge for cut in cuts if math.isfinite(cut) for edge in (cut, math.nextafter(cut, math.inf))}
    for node in columns:
        middle = node.low + (node.high - node.low) / 2
        edges |= {node.low, node.high, middle, node.low + node.step * 1.5, 2 * node.high - middle}
    special = (0.0, 1.0) if feature.kind == "boolean" else (0.0, -math.inf, math.inf)
    ordered = sorted({*edges, *special, *feature.missing_numbers})
    return _Cells((*ordered, math.nan), np.searchsorted(ordered, given))


# Choice --------------------------------------------------------------------------------------------------------------


def _chosen(graph: RuleGraph, columns: Mapping[str, _Cells]) -> list[tuple[int, ...]]:
    """Rows as the index of the cell of each used column, the most telling first: of one kind of cell throughout."""
    own = [columns[name] for name in graph.used_features]
    matrix = np.stack([cells.index for cells in own], axis=1)
    missing = [0 if isinstance(cells.values[-1], str) else -1 for cells in own]
    kinds = (missing, *([place] * len(own) for place in (0, 1, -2, -1)))
    places = [tuple(k % len(cells.values) for k, cells in zip(kind, own, strict=True)) for kind in kinds]
    found = dict.fromkeys(places)
    edges = _edges(graph, columns)
    pairs = np.tile(matrix, (len(edges), 2, 1, 1))
    for pair, (position, low) in zip(pairs, edges, strict=True):
        pair[0, :, position], pair[1, :, position] = low, low + 1
    for pair, row in zip(pairs, _deciding(graph, columns, pairs), strict=True):
        found.update(dict.fromkeys(tuple(half[row].tolist()) for half in pair))
    others = dict.fromkeys(row for row in map(tuple, matrix.tolist()) if row not in found)
    return [*found, *list(others)[: max(0, ROWS - len(found))]]


def _deciding(graph: RuleGraph, columns: Mapping[str, _Cells], pairs: npt.NDArray[np.intp]) -> list[int]:
    """For each pair of `pairs` [m, 2, n, columns] the first row whose label differs, else its probability, else 0."""
    table = _table(graph, columns, pairs.reshape(-1, pairs.shape[3]))
    labels = decide(graph, table).reshape(pairs.shape[:3])
    chances = probabilities(graph, table).reshape(*pairs.shape[:3], len(graph.classes))
    by_label = labels[:, 0] != labels[:, 1]
    by_chance = (chances[:, 0] != chances[:, 1]).any(axis=2)
    rows: list[int] = np.where(by_label.any(axis=1), by_label.argmax(axis=1), by_chance.argmax(axis=1)).tolist()
    return rows


def _edges(graph: RuleGraph, columns: Mapping[str, _Cells]) -> list[tuple[int, int]]:
    """Column, and the first of two neighbouring cells of it that some leaf tells apart; of at most MAX_EDGES."""
    read, found = readers(graph.roots), []
    for position, name in enumerate(graph.used_features):
        size = len(columns[name].values)
        rows = np.zeros((size, len(graph.used_features)), dtype=np.intp)
        rows[:, position] = np.arange(size)
        told = evaluate_nodes(read[name], _table(graph, columns, rows))
        apart = np.any([told[leaf][1:] != told[leaf][:-1] for leaf in read[name]], axis=0)
        own = [(position, place) for place in np.flatnonzero(apart).tolist()]
        found += _thinned(own, max(2, MAX_EDGES // len(columns)))
    return _thinned(found, MAX_EDGES)


def _thinned(items: list[tuple[int, int]], most: int) -> list[tuple[int, int]]:
    count = min(most, len(items))
    return [items[i * len(items) // count] for i in range(count)]


def _table(graph: RuleGraph, columns: Mapping[str, _Cells], rows: npt.NDArray[np.intp]) -> Table:
    """Rows [n, columns] of indices of cells, encoded."""
    data: dict[str, npt.NDArray[Any]] = {}
    for name, places in zip(graph.used_features, rows.T, strict=True):
        own = columns[name].values
        values = np.empty(len(own), dtype=object if graph.schema[name].has_text_cells else np.float64)
        values[:] = own
        data[name] = values[places]
    if data:
        return encode(data, graph.schema, used=data)
    return Table(graph.schema.features, tuple(missing_cells(feature, len(rows)) for feature in graph.schema), len(rows))
