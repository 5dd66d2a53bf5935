"""The steps of a program decide and report as the oracle says, on raw cells, for every node and decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from program_runs import run_row

from rulekit.conformance.models import NODES
from rulekit.conformance.random_graphs import random_graph
from rulekit.errors import Unsupported
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.nodes import Hidden, IsTrue
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower, lower_nodes
from rulekit.verification.rows.adversarial import adversarial_rows


def rows_of(graph: RuleGraph, n_rows: int, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of raw cells: doubles between two float32, texts, None."""
    columns = adversarial_rows(graph, n_rows, seed).columns
    names = [name for name in columns if name in graph.used_features]
    for cells in zip(*(columns[name].tolist() for name in names), strict=True):
        yield dict(zip(names, cells, strict=True))


def check(graph: RuleGraph, n_rows: int, seed: int = 0) -> None:
    program = lower(graph)
    for row in rows_of(graph, n_rows, seed):
        label, probabilities = run_row(program, row)
        expected, reported = evaluate_row(graph, row)
        assert label == expected, row
        assert probabilities == pytest.approx(reported, abs=1e-12), row


@pytest.mark.parametrize("name", NODES)
def test_a_program_decides_as_its_model(name: str) -> None:
    check(NODES[name](), 60)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
@example(seed=88171107)
def test_a_program_decides_as_any_graph(seed: int) -> None:
    check(random_graph(np.random.default_rng(seed)), 40, seed % 1000)


def test_a_column_that_no_step_reads_is_none_of_the_program() -> None:
    graph = NODES["DNF"]()
    assert lower(graph).columns == graph.used_features


def test_hidden_bits_have_no_step() -> None:
    with pytest.raises(Unsupported, match="Hidden"):
        lower_nodes([Hidden("h", IsTrue("a"), 1.0)], NODES["DNF"]().schema)
