"""An exported model is loaded and run before success is reported."""

from __future__ import annotations

import numpy as np

from rulekit.errors import RulekitError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import cuts_of_leaf, levels_of_leaf, readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature
from rulekit.tables.table import Array, Table, encoded_dtype
from rulekit_exporters.onnx.running import outcome, run_all, runtime_session

ROWS = 33


def check_artifact(artifact: bytes, graph: RuleGraph) -> None:
    """Run no row, one row and `ROWS` rows; raises RulekitError where a decision is not that of the graph."""
    session = runtime_session(artifact)
    for n_rows in (0, 1, ROWS):
        table = sample(graph, n_rows)
        labels = outcome(graph, run_all(artifact, graph, table, session)).labels
        if not np.array_equal(labels, decide(graph, table)):
            raise RulekitError("the exported model decides otherwise than the graph", where="onnx", fix="report this")


def sample(graph: RuleGraph, n_rows: int) -> Table:
    """Rows that step through the thresholds and levels of every used column, the first all missing."""
    marks: dict[str, list[float]] = {name: [np.nan, 0.0, 1.0, np.inf, -np.inf] for name in graph.used_features}
    for name, leaves in readers(graph.roots).items():
        for leaf in leaves:
            marks[name] += cuts_of_leaf(leaf)
            members = set(levels_of_leaf(leaf)[:ROWS])
            codes = enumerate(graph.schema[name].levels, start=FIRST_LEVEL_CODE)
            marks[name] += (float(code) for code, level in codes if level in members)
    # a model of constants is fed one column all the same
    features = [graph.schema[name] for name in graph.used_features or graph.schema.names[:1]]
    arrays = [column_of(feature, marks.get(feature.name, [0.0]), j, n_rows) for j, feature in enumerate(features)]
    return Table(tuple(features), tuple(arrays), n_rows)


def column_of(feature: Feature, marks: list[float], j: int, n_rows: int) -> Array:
    """The marks in turn, each column at its own pace."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = np.array(marks)[(np.arange(n_rows) * (j + 1)) % len(marks)]
        if feature.kind == "categorical":
            top = len(feature.levels) + 1
            values = np.clip(np.nan_to_num(values, nan=0.0, posinf=top, neginf=0.0), 0, top)
            if feature.unseen == "missing":  # such a table holds no code for unseen
                values[values == UNSEEN_CODE] = MISSING_CODE
            known = {MISSING_CODE, UNSEEN_CODE, *feature.codes_of_texts.values()}  # not that of a level that is missing
            values[~np.isin(values, list(known))] = MISSING_CODE
        elif feature.kind == "boolean":
            values = np.where(np.isfinite(values), (values > 0.5).astype(float), np.nan)
        return values.astype(encoded_dtype(feature))
