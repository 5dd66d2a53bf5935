"""The rows that a generated module carries to test itself, and their answers by the graph.

They are chosen among rows that rulekit.verification aims at the graph, with every number moved to the edge of its
interval between thresholds, which changes no comparison and keeps the list of different cells short. For each leaf one
such row is found on which the leaf decides (else: changes the probability), and taken with the leaf on either side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import cuts_of, fresh_text, unseen_text
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.leaves import column_of, levels_of_leaf, readers, tokens_of_leaf
from rulekit.graph.nodes import Column, IsTrue, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, look_alikes
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table, missing_cells
from rulekit.tokens import tokens
from rulekit.verification.rows import adversarial_rows
from rulekit_exporters.python.spelling import filled, literal

ROWS, MIN_ROWS = 64, 32
MAX_LEAVES = 40
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
    n_rows = max(24, min(CANDIDATES, MAX_CELLS // (2 * MAX_LEAVES * (len(graph.used_features) + len(graph.nodes())))))
    raw = adversarial_rows(graph, n_rows)
    found, read = {}, readers(graph.roots)
    for name in graph.used_features:
        feature = graph.schema[name]
        if feature.kind == "text":
            found[name] = _texts(raw.columns[name].tolist(), fresh_text("-", feature.missing_tokens))
        elif feature.kind == "categorical":
            codes = raw.table.array(name).astype(np.intp)
            others = (*feature.missing_tokens, *_look_alikes(feature))
            found[name] = _Cells((None, unseen_text(feature), *feature.levels, *others), codes)
        else:
            found[name] = _numbers(feature, raw.columns[name], read[name])
    return found


def _texts(given: list[str | None], plain: str) -> _Cells:
    """Missing, a text without a word (`plain`), then the texts that came; for a long one the second stands there."""
    shown = [text if text is None or len(text) <= MOST_CHARACTERS else plain for text in given]
    place: dict[str | None, int] = {None: 0, plain: 1}
    index = np.array([place.setdefault(text, len(place)) for text in shown], dtype=np.intp)
    return _Cells(tuple(place), index)


def _look_alikes(feature: Feature) -> list[str]:
    """Another way in which a table may write the last level that has one."""
    return [text for level in feature.levels for text in look_alikes(level) if text not in feature.levels][-1:]


def _cuts(node: Node, feature: Feature) -> list[float]:
    """The doubles at which a comparison or a step function changes; a column that is clipped has points."""
    return [] if isinstance(node, Column) else cuts_of(feature, [node])


def _points(node: Column) -> set[float]:
    """Values of a clipped column: its bounds and beyond them, and between them on and off its grid."""
    middle = node.low + (node.high - node.low) / 2
    return {node.low, node.high, middle, node.low + node.step * 1.5, 2 * node.high - middle}


def _numbers(feature: Feature, given: npt.NDArray[Any], nodes: Sequence[Node]) -> _Cells:
    """Both edges at each cut, infinities, zero, numbers that mean missing, points of columns; NaN comes last."""
    points = {point for node in nodes if isinstance(node, Column) for point in _points(node)}
    edges = {
        edge
        for node in nodes
        for cut in _cuts(node, feature)
        if math.isfinite(cut)
        for edge in (cut, math.nextafter(cut, math.inf))
    }
    special = (0.0, 1.0) if feature.kind == "boolean" else (0.0, -math.inf, math.inf)
    ordered = sorted({*edges, *points, *special, *feature.missing_numbers})
    return _Cells((*ordered, math.nan), np.searchsorted(ordered, given))


# Choice --------------------------------------------------------------------------------------------------------------


def _chosen(graph: RuleGraph, columns: Mapping[str, _Cells]) -> list[tuple[int, ...]]:
    """Rows as the index of the cell of each used column, the most telling first."""
    matrix = np.stack([columns[name].index for name in graph.used_features], axis=1)
    found = dict.fromkeys(tuple(row) for row in _uniform(graph, columns))
    edges = _edges(graph, columns)
    pairs = np.tile(matrix, (len(edges), 2, 1, 1))
    for pair, (position, low, high) in zip(pairs, edges, strict=True):
        pair[0, :, position], pair[1, :, position] = low, high
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


def _uniform(graph: RuleGraph, columns: Mapping[str, _Cells]) -> Iterator[list[int]]:
    """Rows of one kind of cell throughout: missing, lowest, highest, zero, levels never seen, look-alikes."""
    values = [columns[name].values for name in graph.used_features]
    features = [graph.schema[name] for name in graph.used_features]
    last = [0 if f.has_text_cells else len(own) - 1 for f, own in zip(features, values, strict=True)]
    yield last
    numeric = [not f.has_text_cells for f in features]
    if any(numeric):
        yield [0 if is_number else place for is_number, place in zip(numeric, last, strict=True)]
        yield [place - 1 if is_number else place for is_number, place in zip(numeric, last, strict=True)]
        yield [own.index(0.0) if n else place for n, own, place in zip(numeric, values, last, strict=True)]
    if not all(numeric):
        yield [place if n or f.unseen == "error" else 1 for n, f, place in zip(numeric, features, last, strict=True)]
        yield [place if n else len(own) - 1 for n, own, place in zip(numeric, values, last, strict=True)]


def _edges(graph: RuleGraph, columns: Mapping[str, _Cells]) -> list[tuple[int, int, int]]:
    """Column, and the indices of two of its cells on either side of a leaf; of at most MAX_LEAVES leaves and cuts."""
    position = {name: i for i, name in enumerate(graph.used_features)}
    found: dict[tuple[int, int, int], None] = {}
    for node in graph.nodes():
        name = column_of(node)
        if name is not None:
            found.update(
                ((position[name], *pair), None) for pair in _sides(node, graph.schema[name], columns[name].values)
            )
    edges = list(found)
    count = min(MAX_LEAVES, len(edges))
    return [edges[i * len(edges) // count] for i in range(count)]


def _sides(node: Node, feature: Feature, values: Sequence[Any]) -> Iterator[tuple[int, int]]:
    """Pairs of indices of cells between which the leaf changes its value."""
    missing = 0 if feature.has_text_cells else len(values) - 1
    for edge in _cuts(node, feature):
        if math.isfinite(edge):
            low = values.index(edge)
            yield low, low + 1
    if wanted_words := set(tokens_of_leaf(node)):
        inside = [i for i, text in enumerate(values) if text and not wanted_words.isdisjoint(tokens(text))][:1]
        yield from ((i, j) for i in inside for j in (1, missing))
    elif levels_of_leaf(node):
        wanted = set(levels_of_leaf(node))
        inside = [i for i, level in enumerate(feature.levels, 2) if level in wanted][:1]
        outside = [i for i, level in enumerate(feature.levels, 2) if level not in wanted][:1]
        unseen = [] if feature.unseen == "error" else [1]
        yield from ((i, j) for i in inside for j in (*(outside or unseen), *unseen, missing))
    elif isinstance(node, IsTrue | Column) and feature.kind == "boolean":
        yield values.index(0.0), values.index(1.0)
    elif isinstance(node, Column):
        yield values.index(node.low), values.index(node.high)
    if not feature.has_text_cells:
        yield missing, values.index(0.0)


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
