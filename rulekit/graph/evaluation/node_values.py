"""The values of nodes over the rows of a table, block by block.

A list of nodes is compiled once into a plan (each node once, children first, each result freed after its last use),
and the plan runs over blocks of rows that stay in the processor's cache. A new node type joins by one entry in
`_RULES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from rulekit.errors import GraphError, InputError
from rulekit.graph.evaluation.circuit_values import circuit_values, index_of_truths, prepare
from rulekit.graph.evaluation.strength_values import (
    causes_of,
    exponential_table,
    exponential_values,
    strength_values,
)
from rulekit.graph.leaves import by_code
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Contains,
    Difference,
    Family,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Odd,
    Or,
    Probability,
    Rescaled,
    Sided,
    Step,
    Strength,
)
from rulekit.graph.probability.compilation import inputs, is_count
from rulekit.graph.probability.counting import Counted, Tails
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.graph.traversal import topological
from rulekit.schema import Feature
from rulekit.tables.table import Array, Table, absent
from rulekit.tables.token_sets import TokenSets

Values = dict[Node, Array]

ROWS_PER_BLOCK = 16384

_LOOKED_UP = 12  # Boolean nodes of a table
_COUNTED_CUTS = 32  # above it a binary search beats counting


@dataclass(frozen=True, slots=True)
class _Plan:
    """The nodes to compute in order, and after each the nodes whose values are no longer needed."""

    nodes: tuple[Node, ...]
    inputs: tuple[tuple[Node, ...], ...]
    finished: tuple[tuple[Node, ...], ...]


@lru_cache(maxsize=64)
def _plan(roots: tuple[Node, ...]) -> _Plan:
    needed: dict[Node, tuple[Node, ...]] = {}

    counted = Counted(roots)

    def read(node: Node) -> tuple[Node, ...]:
        if type(node) not in _RULES or node.family is Family.RANDOM:
            raise GraphError(f"{type(node).__name__} ({node.family.value}) has no value for a row", where=repr(node))
        needed[node] = counted.inputs(node)
        if isinstance(node, Exponentials) and len(causes_of(node)) <= _LOOKED_UP:
            needed[node] = causes_of(node)
        return needed[node]

    order = topological(roots, read)
    last_use = {child: node for node in order for child in needed[node]}
    finished: dict[Node, list[Node]] = {node: [] for node in order}
    for child in last_use.keys() - set(roots):
        finished[last_use[child]].append(child)
    return _Plan(tuple(order), tuple(needed[node] for node in order), tuple(tuple(finished[node]) for node in order))


def in_blocks(roots: tuple[Node, ...], table: Table) -> Iterator[tuple[slice, Values]]:
    """Block by block of rows the values of the roots."""
    plan = _plan(tuple(roots))
    names = tuple(feature for node in plan.nodes if (feature := getattr(node, "feature", None)) is not None)
    before = 0
    for part in table.blocks(names):
        columns = _Columns(part)
        for start in range(0, part.n_rows, ROWS_PER_BLOCK):
            columns.rows = slice(start, min(start + ROWS_PER_BLOCK, part.n_rows))
            with np.errstate(all="ignore"):
                values = _values(plan, columns)
            yield slice(before + start, before + columns.rows.stop), values
        before += part.n_rows


def _values(plan: _Plan, columns: _Columns) -> Values:
    """The values of the roots over the rows of the present block."""
    values: Values = {}
    for node, read, finished in zip(plan.nodes, plan.inputs, plan.finished, strict=True):
        values[node] = _RULES[type(node)](node, [values[child] for child in read], columns)
        for child in finished:
            del values[child]
    return values


class _Columns:
    """The columns of a table, cut to the rows of the present block."""

    def __init__(self, table: Table) -> None:
        self._arrays = {feature.name: array for feature, array in zip(table.features, table.arrays, strict=True)}
        self._features = {feature.name: feature for feature in table.features}
        self._source = table.source
        self._tables: dict[Node, Array] = {}
        self._rows_of_words: dict[str, _RowsOfWords] = {}
        self.rows = slice(0, table.n_rows)

    @property
    def n(self) -> int:
        return self.rows.stop - self.rows.start

    def feature(self, node: Any, *kinds: str) -> Feature:
        feature = self._features.get(node.feature)
        if feature is None:
            raise InputError(f"no column {node.feature!r}", where=self._source or "table")
        if kinds and feature.kind not in kinds:
            raise GraphError(
                f"{type(node).__name__} does not fit a {feature.kind} column", where=f"column {node.feature!r}"
            )
        return feature

    def block(self, node: Any, *kinds: str) -> Array:
        self.feature(node, *kinds)
        return self._arrays[node.feature][self.rows]

    def by_code(self, node: Node) -> Array:
        """Truth or number [2 + levels] for each code of a category."""
        known = self._tables.get(node)
        if known is None:
            known = self._tables[node] = by_code(node, self.feature(node, "categorical"))
        return known

    def rows_of_words(self, node: Contains) -> _RowsOfWords:
        self.feature(node, "text")
        known = self._rows_of_words.get(node.feature)
        if known is None:
            sets, feature = self._arrays[node.feature], self._features[node.feature]
            assert isinstance(sets, TokenSets)
            known = self._rows_of_words[node.feature] = _RowsOfWords(feature, *sets.by_token())
        return known


class _RowsOfWords:
    """In which rows of a table each word of a text column stands."""

    def __init__(self, feature: Feature, starts: Array, rows: Array) -> None:
        self._number = {word: number for number, word in enumerate(feature.levels)}
        self._column, self._starts, self._rows = feature.name, starts, rows

    def within(self, word: str, block: slice) -> Array:
        """The rows of a block with a word, counted from its beginning."""
        number = self._number.get(word)
        if number is None:
            where, fix = f"column {self._column!r}", "encode the data by the model's schema (RuleGraph.table)"
            raise InputError(f"the texts were read without the word {word!r}", where=where, fix=fix)
        rows = self._rows[self._starts[number] : self._starts[number + 1]]
        first, last = np.searchsorted(rows, (block.start, block.stop))
        found: Array = rows[first:last] - block.start
        return found


# One rule per node type: node, values of its inputs, columns -> value ------------------------------------------------


def _compare(node: Compare, _: list[Array], columns: _Columns) -> Array:
    x = columns.block(node, "numeric")
    return _above(x, x.dtype.type(node.value), node.op == ">", node.missing)


def _above(x: Array, threshold: Any, above: bool, missing: bool) -> Array:
    """Whether x > t (or x <= t), NaN giving `missing`: a comparison is false for NaN, so its contrary gives true."""
    if above != missing:
        result: Array = x > threshold
    else:
        result = x <= threshold
    return np.logical_not(result, out=result) if missing else result


def _by_code(node: Among | LevelPoints, _: list[Array], columns: _Columns) -> Array:
    codes = columns.block(node, "categorical")
    result: Array = columns.by_code(node).take(codes)
    return result


def _is_true(node: IsTrue, _: list[Array], columns: _Columns) -> Array:
    return _above(columns.block(node, "boolean"), np.float32(0.5), True, node.missing)


def _contains(node: Contains, _: list[Array], columns: _Columns) -> Array:
    words, result = columns.rows_of_words(node), np.zeros(columns.n, dtype=bool)
    for token in node.tokens:
        result[words.within(token, columns.rows)] = True
    if node.missing:
        result |= absent(columns.block(node))
    return result


def _missing(node: Missing, _: list[Array], columns: _Columns) -> Array:
    return absent(columns.block(node))


def _joined(node: Node, children: list[Array], columns: _Columns) -> Array:
    if not children:
        return np.full(columns.n, isinstance(node, And))
    result = children[0].copy()
    join = np.logical_and if isinstance(node, And) else np.logical_or
    for child in children[1:]:
        join(result, child, out=result)
    return result


def _at_least(node: AtLeast, children: list[Array], columns: _Columns) -> Array:
    if node.k <= 0 or node.k > len(children):
        return np.full(columns.n, node.k <= 0)
    count: Array = np.zeros(columns.n, dtype=np.uint8 if len(children) < 256 else np.int32)
    for child in children:
        count += child.view(np.uint8)
    enough: Array = count >= node.k
    return enough


def _odd(node: Odd, children: list[Array], columns: _Columns) -> Array:
    result: Array = np.zeros(columns.n, dtype=bool)
    for child in children:
        np.logical_xor(result, child, out=result)
    return result


def _weighted_sum(node: Any, children: list[Array], columns: _Columns) -> Array:
    total = np.full(columns.n, node.bias)
    for weight, child in zip(node.weights, children, strict=True):
        total += np.multiply(child, np.float64(weight))
    return total


def _strength(node: Strength, children: list[Array], columns: _Columns) -> Array:
    return strength_values(node, dict(zip(inputs(node), children, strict=True)), columns.n)


def _column(node: Column, _: list[Array], columns: _Columns) -> Array:
    x = columns.block(node, "numeric", "boolean")
    result = x.astype(np.float64)
    np.clip(result, node.low, node.high, out=result)
    if node.step:
        result /= node.step
        np.rint(result, out=result)
        result *= node.step
    np.copyto(result, node.missing, where=np.isnan(x))
    return result


def _step(node: Step, _: list[Array], columns: _Columns) -> Array:
    x = columns.block(node, "numeric")
    cuts = np.asarray(node.cuts).astype(x.dtype)
    values = np.asarray((*node.values, node.missing))
    if len(cuts) > _COUNTED_CUTS:
        place = np.searchsorted(cuts, x, side="left")
        np.copyto(place, len(cuts) + 1, where=np.isnan(x))
        return values.take(place)
    index: Array = np.isnan(x).view(np.uint8) * np.uint8(len(cuts) + 1)  # NaN is above no cut
    for cut in cuts:
        index += (x > cut).view(np.uint8)
    return values.take(index)


def _tails(node: Tails, children: list[Array], columns: _Columns) -> Array:
    """[most + 1, n]: the row of numbers of each row."""
    tails = np.zeros((node.most + 1, columns.n))
    tails[0] = 1.0
    for i, chance in enumerate(reversed(children), start=1):
        top = min(i, node.most)
        moved = chance * tails[:top]
        tails[1 : top + 1] *= 1.0 - chance
        tails[1 : top + 1] += moved
    return tails


def _probability(node: Probability, children: list[Array], columns: _Columns) -> Array:
    if is_count(node.formula):
        row: Array = children[0][node.formula.k]  # type: ignore[attr-defined]
        return row
    return circuit_values(prepare(node.formula), children, columns.n)


def _exponentials(node: Exponentials, children: list[Array], columns: _Columns) -> Array:
    """Looked up where it hangs on few Boolean nodes, whose truth the children are."""
    if len(causes_of(node)) > _LOOKED_UP:
        return exponential_values(children[0], children[1:])
    table = exponential_table(node)
    return table.take(index_of_truths(children)) if children else np.full(columns.n, table[0])


def _logistic(node: Logistic, children: list[Array], columns: _Columns) -> Array:
    result: Array = 1.0 / (1.0 + np.exp(-children[0]))
    return result


def _rescaled(node: Rescaled, children: list[Array], columns: _Columns) -> Array:
    part = node.odds * children[0]
    result: Array = part / (1.0 - children[0] + part)
    return result


def _sided(node: Sided, children: list[Array], columns: _Columns) -> Array:
    p, holds = children
    return np.where(holds, np.maximum(p, node.above), np.minimum(p, node.below))


_RULES: dict[type[Node], Callable[..., Array]] = {
    Compare: _compare,
    Among: _by_code,
    IsTrue: _is_true,
    Contains: _contains,
    Missing: _missing,
    Constant: lambda node, children, columns: np.full(columns.n, node.value),
    Not: lambda node, children, columns: ~children[0],
    And: _joined,
    Or: _joined,
    AtLeast: _at_least,
    Odd: _odd,
    LinearThreshold: lambda node, children, columns: _weighted_sum(node, children, columns) >= 0.0,
    Above: lambda node, children, columns: children[0] > node.threshold,
    Column: _column,
    Step: _step,
    LevelPoints: _by_code,
    Linear: _weighted_sum,
    Strength: _strength,
    Probability: _probability,
    Tails: _tails,
    Exponentials: _exponentials,
    Logistic: _logistic,
    Rescaled: _rescaled,
    Difference: lambda node, children, columns: np.maximum(children[0] - children[1], 0.0),
    Sided: _sided,
}
