"""The numpy evaluator: labels, probabilities and node values of an encoded table.

Goals: the same decisions as rulekit.graph.evaluation.oracle, bit for bit, at memory speed. A list of nodes is compiled
once into a plan (each node once, children first, each result freed after its last use), and the plan runs over blocks
of rows that stay in the processor's cache. A new node type joins by one entry in `_RULES`.

Shapes: Boolean nodes give bool [n], Real and Probability nodes float64 [n]. Random nodes have no value for a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import GraphError, InputError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Decision, Ranked
from rulekit.graph.evaluation.circuit_values import (
    causes_of,
    circuit_values,
    is_looked_up,
    prepare,
    product_values,
    strength_values,
    tail_values,
)
from rulekit.graph.leaves import by_code
from rulekit.graph.model_parts import ModelParts
from rulekit.graph.nodes import Family, Node, topological
from rulekit.graph.probability.circuits import inputs, is_count
from rulekit.graph.probability.exponentials import Counted, Exponentials, Tails
from rulekit.schema import Feature
from rulekit.tables.kinds.encoding import encode_blocks
from rulekit.tables.table import Array, Table, absent
from rulekit.tables.token_sets import TokenSets

Values = dict[Node, Array]

ROWS_PER_BLOCK = 8192
"""Few enough for an array of doubles to stay below 128 KiB, from where on malloc asks the system for each one."""

_COUNTED_CUTS = 32  # above it a binary search beats counting


@dataclass(frozen=True, slots=True)
class _Plan:
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
        if isinstance(node, Exponentials) and is_looked_up(node):
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
    values: Values = {}
    for node, read, finished in zip(plan.nodes, plan.inputs, plan.finished, strict=True):
        values[node] = _RULES[type(node)](node, [values[child] for child in read], columns)
        for child in finished:
            del values[child]
    return values


class _Columns:
    def __init__(self, table: Table) -> None:
        self._arrays = {feature.name: array for feature, array in zip(table.features, table.arrays, strict=True)}
        self._features = {feature.name: feature for feature in table.features}
        self._source = table.source
        self._tables: dict[Node, Array] = {}
        self._words: dict[str, tuple[dict[str, int], Array, Array]] = {}
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

    def rows_of_word(self, node: rg.Contains, word: str) -> Array:
        """The rows of the block whose text has a word, counted from its beginning."""
        feature = self.feature(node, "text")
        known = self._words.get(node.feature)
        if known is None:
            sets = self._arrays[node.feature]
            assert isinstance(sets, TokenSets)
            known = {level: number for number, level in enumerate(feature.levels)}, *sets.by_token()
            self._words[node.feature] = known
        numbers, starts, every = known
        if word not in numbers:
            where, fix = f"column {node.feature!r}", "encode the data by the model's schema (RuleGraph.table)"
            raise InputError(f"the texts were read without the word {word!r}", where=where, fix=fix)
        rows = every[starts[numbers[word]] : starts[numbers[word] + 1]]
        first, last = np.searchsorted(rows, (self.rows.start, self.rows.stop))
        found: Array = rows[first:last] - self.rows.start
        return found


# One rule per node type: node, values of its inputs, columns -> value ------------------------------------------------


def _compare(node: rg.Compare, _: list[Array], columns: _Columns) -> Array:
    x = columns.block(node, "numeric")
    return _above(x, x.dtype.type(node.value), node.op == ">", node.missing)


def _above(x: Array, threshold: Any, above: bool, missing: bool) -> Array:
    """Whether x > t (or x <= t), NaN giving `missing`: a comparison is false for NaN, so its contrary gives true."""
    if above != missing:
        result: Array = x > threshold
    else:
        result = x <= threshold
    return np.logical_not(result, out=result) if missing else result


def _by_code(node: rg.Among | rg.LevelPoints, _: list[Array], columns: _Columns) -> Array:
    codes = columns.block(node, "categorical")
    result: Array = columns.by_code(node).take(codes)
    return result


def _contains(node: rg.Contains, _: list[Array], columns: _Columns) -> Array:
    result = np.zeros(columns.n, dtype=bool)
    for token in node.tokens:
        result[columns.rows_of_word(node, token)] = True
    if node.missing:
        result |= absent(columns.block(node))
    return result


def _joined(node: Node, children: list[Array], columns: _Columns) -> Array:
    if not children:
        return np.full(columns.n, isinstance(node, rg.And))
    result = children[0].copy()
    join = np.logical_and if isinstance(node, rg.And) else np.logical_or
    for child in children[1:]:
        join(result, child, out=result)
    return result


def _at_least(node: rg.AtLeast, children: list[Array], columns: _Columns) -> Array:
    if node.k <= 0 or node.k > len(children):
        return np.full(columns.n, node.k <= 0)
    count: Array = np.zeros(columns.n, dtype=np.uint8 if len(children) < 256 else np.int32)
    for child in children:
        count += child.view(np.uint8)
    enough: Array = count >= node.k
    return enough


def _odd(node: rg.Odd, children: list[Array], columns: _Columns) -> Array:
    result: Array = np.zeros(columns.n, dtype=bool)
    for child in children:
        np.logical_xor(result, child, out=result)
    return result


def _weighted_sum(node: Any, children: list[Array], columns: _Columns) -> Array:
    total = np.full(columns.n, node.bias)
    for weight, child in zip(node.weights, children, strict=True):
        total += np.multiply(child, np.float64(weight))
    return total


def _column(node: rg.Column, _: list[Array], columns: _Columns) -> Array:
    x = columns.block(node, "numeric", "boolean")
    result = x.astype(np.float64)
    np.clip(result, node.low, node.high, out=result)
    if node.step:
        result /= node.step
        np.rint(result, out=result)
        result *= node.step
    np.copyto(result, node.missing, where=np.isnan(x))
    return result


def _step(node: rg.Step, _: list[Array], columns: _Columns) -> Array:
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


def _probability(node: rg.Probability, children: list[Array], columns: _Columns) -> Array:
    if is_count(node.formula):
        row: Array = children[0][node.formula.k]  # type: ignore[attr-defined]
        return row
    return circuit_values(prepare(node.formula), children, columns.n)


def _rescaled(node: rg.Rescaled, children: list[Array], columns: _Columns) -> Array:
    part = node.odds * children[0]
    result: Array = part / (1.0 - children[0] + part)
    return result


_RULES: dict[type[Node], Callable[..., Array]] = {
    rg.Compare: _compare,
    rg.Among: _by_code,
    rg.IsTrue: lambda node, children, columns: _above(
        columns.block(node, "boolean"), np.float32(0.5), True, node.missing
    ),
    rg.Contains: _contains,
    rg.Missing: lambda node, children, columns: absent(columns.block(node)),
    rg.Constant: lambda node, children, columns: np.full(columns.n, node.value),
    rg.Not: lambda node, children, columns: ~children[0],
    rg.And: _joined,
    rg.Or: _joined,
    rg.AtLeast: _at_least,
    rg.Odd: _odd,
    rg.LinearThreshold: lambda node, children, columns: _weighted_sum(node, children, columns) >= 0.0,
    rg.Above: lambda node, children, columns: children[0] > node.threshold,
    rg.Column: _column,
    rg.Step: _step,
    rg.LevelPoints: _by_code,
    rg.Linear: _weighted_sum,
    rg.Strength: lambda node, children, columns: strength_values(
        node, dict(zip(inputs(node), children, strict=True)), columns.n
    ),
    rg.Probability: _probability,
    Tails: lambda node, children, columns: tail_values(node.most, children, columns.n),
    Exponentials: lambda node, children, columns: product_values(node, children, columns.n),
    rg.Logistic: lambda node, children, columns: 1.0 / (1.0 + np.exp(-children[0])),
    rg.Rescaled: _rescaled,
    rg.Difference: lambda node, children, columns: np.maximum(children[0] - children[1], 0.0),
    rg.Sided: lambda node, children, columns: np.where(
        children[1], np.maximum(children[0], node.above), np.minimum(children[0], node.below)
    ),
}


def decide(graph: ModelParts, table: Table) -> npt.NDArray[np.int64]:
    """Class index [n] of each row; raises InputError where the table lacks or encodes a used column differently."""
    check_encoding(graph, table)
    return _decide(graph, table)


def _decide(graph: ModelParts, table: Table) -> npt.NDArray[np.int64]:
    labels: npt.NDArray[np.int64] = decide_each((graph.decision,), graph.default, table)[0]
    return labels


def decide_each(decisions: Sequence[Decision], default: int, table: Table) -> npt.NDArray[np.int64]:
    """Class index [m, n] of each row by each of m decisions over the columns of a table; what they share is shared."""
    labels = np.empty((len(decisions), table.n_rows), dtype=np.int64)
    for rows, values in in_blocks(tuple(root for decision in decisions for root in decision.roots), table):
        for j, decision in enumerate(decisions):
            labels[j, rows] = labels_of(decision, default, values, rows.stop - rows.start)
    return labels


def probabilities(graph: ModelParts, table: Table) -> npt.NDArray[np.float64]:
    """Probabilities [n, K] in class order, each row of sum 1; raises as `decide`."""
    check_encoding(graph, table)
    return _probabilities(graph, table)


def _probabilities(graph: ModelParts, table: Table) -> npt.NDArray[np.float64]:
    result = np.zeros((table.n_rows, len(graph.classes)))
    needed = graph.reported or graph.decision.roots
    for rows, values in in_blocks(needed, table):
        _report(graph, values, result[rows])
    return result


def decide_data(graph: ModelParts, data: Any) -> npt.NDArray[np.int64]:
    """`decide` of whatever `RuleGraph.table` reads, encoded block by block; raises InputError as that does."""
    return np.concatenate([_decide(graph, part) for part in encode_blocks(data, graph.schema, graph.used_features)])


def probabilities_of_data(graph: ModelParts, data: Any) -> npt.NDArray[np.float64]:
    """`probabilities` of whatever `RuleGraph.table` reads, encoded block by block."""
    return np.concatenate(
        [_probabilities(graph, part) for part in encode_blocks(data, graph.schema, graph.used_features)]
    )


def evaluate_nodes(nodes: Sequence[Node], table: Table) -> Values:
    """The values [n] of Boolean, Real and Probability nodes over a table; raises GraphError for other nodes."""
    results: Values = {
        node: np.empty(table.n_rows, dtype=bool if node.family is Family.BOOLEAN else np.float64) for node in nodes
    }
    for rows, values in in_blocks(tuple(results), table):
        for node, result in results.items():
            result[rows] = values[node]
    return results


def check_encoding(graph: ModelParts, table: Table) -> None:
    """Raise InputError unless the table encodes every used column as the graph's schema does."""
    own = {feature.name: feature for feature in table.features}
    for name in graph.used_features:
        if name not in own:
            raise InputError(f"no column {name!r}", where=table.source or "table", fix="give every column of the model")
        wanted, given = graph.schema[name], own[name]
        wider = wanted.kind == "text" and set(wanted.levels) <= set(given.levels)
        for what in ("kind", "precision", *(() if wider else ("levels",))):
            if getattr(wanted, what) != getattr(given, what):
                raise InputError(
                    f"encoded with another {what} than the model's",
                    where=f"column {name!r}",
                    fix="encode the data by the model's schema (RuleGraph.table)",
                )


# Decisions ---------------------------------------------------------------------------------------------------------


def labels_of(decision: Decision, default: int, values: Values, n: int) -> Array:
    """Class index [n] of each row (truth values, of two classes), by the values [n] of the roots of the decision."""
    if decision.ranked:
        return _arg_max(decision.ranked, values, n, default)
    first, *others = decision.roots
    label = values[first]
    for node in others:
        label = np.add(label, values[node], dtype=np.int64)
    return label


def _arg_max(ranked: Sequence[Ranked], values: Values, n: int, default: int) -> Array:
    best = np.full(n, -np.inf)
    label = np.full(n, default, dtype=np.int64)
    none_yet = np.ones(n, dtype=bool)
    for index, node, threshold in ranked:
        score = values[node]
        better = (score > best) | none_yet
        better &= score > threshold
        np.copyto(best, score, where=better)
        np.copyto(label, index, where=better)
        none_yet &= ~better
    return label


def _report(graph: ModelParts, values: Values, result: Array) -> None:
    n = len(result)
    if not graph.reported:
        result[np.arange(n), labels_of(graph.decision, graph.default, values, n).astype(np.int64)] = 1.0
    elif len(graph.reported) == 1:
        result[:, 1] = values[graph.reported[0]]
        np.subtract(1.0, result[:, 1], out=result[:, 0])
    else:
        total = np.zeros(n)
        for k, node in enumerate(graph.reported):
            result[:, k] = values[node]
            total += result[:, k]
        nothing = ~(total > 0)
        np.copyto(total, 1.0, where=nothing)
        result /= total[:, None]
        result[nothing, graph.default] = 1.0
