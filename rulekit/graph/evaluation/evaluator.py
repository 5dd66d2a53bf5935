"""The numpy evaluator: labels, probabilities and node values of an encoded table.

Goals: the same decisions as rulekit.graph.evaluation.oracle, bit for bit, at memory speed
(rulekit.graph.evaluation.node_values).

Shapes: Boolean nodes give bool [n], Real and Probability nodes float64 [n]. Random nodes have no value for a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.errors import InputError
from rulekit.graph.decisions import Decision, Ranked
from rulekit.graph.evaluation.node_values import Values, in_blocks
from rulekit.graph.model_parts import ModelParts
from rulekit.graph.nodes import Family, Node
from rulekit.tables.kinds.encoding import encode_blocks
from rulekit.tables.table import Array, Table


def decide(graph: ModelParts, table: Table) -> npt.NDArray[np.int64]:
    """Class index [n] of each row; raises InputError where the table lacks or encodes a used column differently."""
    check_encoding(graph, table)
    return _decide(graph, table)


def _decide(graph: ModelParts, table: Table) -> npt.NDArray[np.int64]:
    labels = np.empty(table.n_rows, dtype=np.int64)
    for rows, values in in_blocks(graph.decision.roots, table):
        labels[rows] = labels_of(graph.decision, graph.default, values, rows.stop - rows.start)
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
    return _joined([_decide(graph, part) for part in encode_blocks(data, graph.schema, graph.used_features)])


def probabilities_of_data(graph: ModelParts, data: Any) -> npt.NDArray[np.float64]:
    """`probabilities` of whatever `RuleGraph.table` reads, encoded block by block."""
    return _joined([_probabilities(graph, part) for part in encode_blocks(data, graph.schema, graph.used_features)])


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


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
    """Fill a block [rows, K] of zeros with its probabilities."""
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
