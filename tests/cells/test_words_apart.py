"""Words taken apart: a model over columns of words decides as the model over texts, on every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.cells.words import words_apart
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import Contains, topological
from rulekit.verification.rows import adversarial_rows

GRAPH = parse_graph(
    """rulekit rules 1
column t: text, missing {"n/a"}
column u: text
column "t is missing": numeric
label y: {no, yes}
decide yes when any of (
  t contains any of {corn, wheat} and not (u contains rye or missing),
  (t contains any of {rice, rye} or missing) and "t is missing" > 2,
  u is missing and t contains rice,
  at least 1 points of (0.5 if t contains wheat, 0.75 if u contains corn),
)
"""
)
WORDS = words_apart(GRAPH.schema)
TEXTS = st.one_of(st.none(), st.lists(st.sampled_from(["corn", "wheat", "rice", "rye", "x"])).map(" ".join))


@settings(max_examples=40)
@given(st.lists(st.tuples(TEXTS, TEXTS, st.sampled_from([1.0, 3.0, float("nan")])), min_size=1, max_size=20))
def test_both_decide_alike(rows: list[tuple[str | None, str | None, float]]) -> None:
    assert WORDS is not None
    columns = {name: np.array([row[j] for row in rows], dtype=object) for j, name in enumerate(GRAPH.schema.names)}
    columns["t is missing"] = columns["t is missing"].astype(np.float64)
    table = GRAPH.table(columns)
    expected = decide(GRAPH, table)
    apart = WORDS.graph(GRAPH)
    assert not any(isinstance(node, Contains) for node in topological(apart.roots))
    assert decide(apart, WORDS.table(table)).tolist() == expected.tolist()
    assert decide(apart, apart.table(WORDS.raw(columns))).tolist() == expected.tolist()


def test_every_combination_of_cells_is_a_text() -> None:
    assert WORDS is not None
    apart = WORDS.graph(GRAPH)
    rows = adversarial_rows(apart, 500)
    back = WORDS.texts(rows.columns)
    assert decide(GRAPH, GRAPH.table(back)).tolist() == decide(apart, rows.table).tolist()


def test_names_that_are_taken_are_others() -> None:
    assert WORDS is not None
    assert WORDS.columns["t"] == ("t is missing.", *(f"t contains {word}" for word in ("corn", "rice", "rye", "wheat")))
    assert words_apart(GRAPH.schema.__class__(GRAPH.schema.features[2:])) is None


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_text_model_reach_both_labels(seed: int) -> None:
    labels = decide(GRAPH, adversarial_rows(GRAPH, 300, seed).table)
    assert 0.1 < labels.mean() < 0.9
