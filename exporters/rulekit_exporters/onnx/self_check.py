"""An exported model is loaded and run before success is reported."""

from __future__ import annotations

import numpy as np

from rulekit.cells.axis import cells_of
from rulekit.cells.words import WordsApart
from rulekit.errors import RulekitError
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.table import Table
from rulekit_exporters.onnx.inputs import plan_of_form
from rulekit_exporters.onnx.running import run_apart, runtime_session

ROWS = 33


def check_artifact(artifact: bytes, graph: RuleGraph, words: WordsApart | None = None) -> None:
    """Run no row, one row and `ROWS` rows; raises RulekitError where a decision is not that of the graph.

    words: the columns of words of the graph, where it is the form of a model over texts.
    """
    session = runtime_session(artifact)
    for n_rows in (0, 1, ROWS):
        table = sample(graph, n_rows)
        labels = run_apart(artifact, graph, words, table, session).labels
        if not np.array_equal(labels, decide(graph, table)):
            raise RulekitError("the exported model decides otherwise than the graph", where="onnx", fix="report this")


def sample(graph: RuleGraph, n_rows: int) -> Table:
    """Rows that step through the cells of every used column, each at its own pace; the first are all missing."""
    found = readers(graph.roots)
    features = [graph.schema[name] for name in plan_of_form(graph, "columns").columns]
    cells = [cells_of(feature, found.get(feature.name, ())).encoded()[::-1] for feature in features]
    arrays = [values[np.arange(n_rows) * (j + 1) % len(values)] for j, values in enumerate(cells)]
    return Table(tuple(features), tuple(arrays), n_rows)
