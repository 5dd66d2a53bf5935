"""What a sum can add up to, beside the sums of a row of every combination of cells."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rulekit.cells.space import cell_rows
from rulekit.cells.sums import attainable_totals
from rulekit.conformance.models import random_leaf, random_schema
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import And, Linear, Node, Step
from rulekit.schema import Feature, Schema


def _random_sum(seed: int) -> tuple[Linear, Schema]:
    rng = np.random.default_rng(seed)
    schema = random_schema(rng)
    terms: list[tuple[float, Node]] = []
    for _ in range(int(rng.integers(1, 6))):
        leaves = [random_leaf(rng, schema) for _ in range(int(rng.integers(1, 4)))]
        terms.append((float(rng.integers(-10, 11)), leaves[0] if len(leaves) == 1 else And(leaves)))
    for feature in schema.features[:2]:
        if feature.kind == "numeric":
            values = tuple(float(value) for value in rng.integers(-9, 10, 3))
            terms.append((float(rng.choice([1, 2, -3])), Step(feature.name, (-0.5, 1.25), values, 4.0)))
    return Linear(terms, float(rng.integers(-3, 4)) / 2.0), schema


@given(st.integers(0, 10**6))
def test_attainable_totals_are_those_of_all_cells(seed: int) -> None:
    node, schema = _random_sum(seed)
    table = cell_rows([node], schema, 200_000)
    if table is None:
        return

    found = attainable_totals(node, schema, most=1000)

    assert found == tuple(np.unique(evaluate_nodes([node], table)[node]).tolist())


def test_too_many_totals_are_not_listed() -> None:
    schema = Schema((Feature("x", "numeric"),))
    node = Linear([(1.0, Step("x", (0.0, 1.0, 2.0), (0.0, 1.0, 2.0, 3.0), 0.0))], 0.5)

    assert attainable_totals(node, schema) == (0.5, 1.5, 2.5, 3.5)
    assert attainable_totals(node, schema, most=3) is None
