"""What a table says about the rules and columns of a model: JSON values for RuleGraph.statistics.

Rates are weighted by the rows' weights; counts are rows. Per rule, beside coverage and precision, the four figures of
table 4 of Yuille and Zheng (Compositional noisy-logical learning): the true positive rate and the error rate of the
classifier that is this rule alone, and of the one that is this rule together with all rules of its class before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.decisions import Median
from rulekit.graph.rules import Rule, fired, rules_of
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature

if TYPE_CHECKING:
    from rulekit.graph.rule_graph import RuleGraph
    from rulekit.tables.table import Table

Array = npt.NDArray[Any]


def rule_statistics(graph: RuleGraph, table: Table, y: Array, weight: Array | None = None) -> dict[str, Any]:
    """Statistics of a model's rules and columns on n rows with class indices y [n] and weights [n] (default 1).

    `rules`, in the order of rules_of: id, class, n (rows covered), coverage, precision (None if it covers nothing),
    true_positive, error, cumulative_true_positive, cumulative_error. A rule speaks for its class; a rule of `above[j]`
    of a median, whose class is j + 1, for that class or a higher one. `columns`: of each used column `missing`, and
    `low` and `high`, or `levels` and `unseen` (frequencies). `rows`: n.
    """
    weight = np.ones(table.n_rows) if weight is None else np.asarray(weight, dtype=np.float64)
    rules, active = rules_of(graph), fired(graph, table)
    entries = []
    together: dict[int, Array] = {}
    for j, rule in enumerate(rules):
        before = together.get(rule.class_index)
        together[rule.class_index] = active[:, j] if before is None else _combined(rule, before, active[:, j])
        entries.append(_rule_entry(graph, rule, active[:, j], together[rule.class_index], y, weight))
    columns = {name: _column_entry(graph.schema[name], table.array(name), weight) for name in graph.used_features}
    return {"rows": table.n_rows, "rules": entries, "columns": columns}


def _combined(rule: Rule, before: Array, active: Array) -> Array:
    result: Array = before & active if rule.connective == "and" else before | active
    return result


def _rule_entry(
    graph: RuleGraph, rule: Rule, active: Array, together: Array, y: Array, weight: Array
) -> dict[str, Any]:
    y = np.asarray(y)
    positive = y >= rule.class_index if isinstance(graph.decision, Median) else y == rule.class_index
    return {
        "id": rule.id,
        "class": graph.classes[rule.class_index],
        "n": int(np.count_nonzero(active)),
        "coverage": _rate(active, weight),
        "precision": _rate(positive[active], weight[active]),
        "true_positive": _rate(active[positive], weight[positive]),
        "error": _rate(active != positive, weight),
        "cumulative_true_positive": _rate(together[positive], weight[positive]),
        "cumulative_error": _rate(together != positive, weight),
    }


def _column_entry(feature: Feature, values: Array, weight: Array) -> dict[str, Any]:
    if feature.kind == "categorical":
        codes = np.bincount(values, weights=weight, minlength=FIRST_LEVEL_CODE + len(feature.levels))
        total = float(weight.sum())
        shares = [float(count) / total if total > 0 else 0.0 for count in codes]
        levels = dict(zip(feature.levels, shares[FIRST_LEVEL_CODE:], strict=True))
        return {"missing": shares[MISSING_CODE], "unseen": shares[UNSEEN_CODE], "levels": levels}
    known = values[np.isfinite(values)]
    return {
        "missing": _rate(np.isnan(values), weight),
        "low": float(known.min()) if len(known) else None,
        "high": float(known.max()) if len(known) else None,
    }


def _rate(truth: Array, weight: Array) -> float | None:
    """The weighted share of true entries; None of no weight."""
    total = float(weight.sum())
    return float(weight[truth].sum()) / total if total > 0 else None
