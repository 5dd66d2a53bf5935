"""The steps of a program decide and report as the oracle says, on raw cells, for every node and decision."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from program_runs import run_row

from rulekit.conformance.models import NODES
from rulekit.conformance.random_graphs import random_graph
from rulekit.errors import Unsupported
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.nodes import Among, And, Compare, Hidden, IsTrue, Missing, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower, lower_nodes
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
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


def level_that_means_missing(levels: tuple[str, ...], token: str) -> RuleGraph:
    """One rule for each way in which a leaf may take the levels, missing cells and unseen ones; `n` picks the rule."""
    feature = Feature("c", "categorical", levels, missing_tokens=(token,))
    kinds = product([(levels[0],), levels[1:], levels], (False, True), (False, True))
    leaves = [Among("c", wanted, missing, unseen) for wanted, missing, unseen in kinds] + [Missing("c")]
    rules = [And((Compare("n", ">", k - 0.5), Compare("n", "<=", k + 0.5), leaf)) for k, leaf in enumerate(leaves)]
    return RuleGraph(Schema((Feature("n"), feature), "y"), ("no", "yes"), Fires(Or(rules)))


@pytest.mark.parametrize(("levels", "token"), [(("0", "1", "a"), "0"), (("true", "1"), "true"), (("a", "b"), "a")])
def test_another_spelling_of_a_level_that_means_missing_is_that_level(levels: tuple[str, ...], token: str) -> None:
    """Where "0" is a level and means missing, "0.0" is the level; programs took it for none."""
    graph = level_that_means_missing(levels, token)
    texts = [None, *graph.schema["c"].codes_of_texts, "never seen"]
    cells = [(float(k), text) for k in range(13) for text in texts]
    columns = {"n": np.array([n for n, _ in cells]), "c": np.array([c for _, c in cells], dtype=object)}
    expected = decide(graph, graph.table(columns)).tolist()
    program = lower(graph)
    assert [run_row(program, {"n": n, "c": c})[0] for n, c in cells] == expected
    for target in map(find_target, ("python", "sql")):
        found = target.run_raw(target.emit(graph).main, graph, columns)  # type: ignore[misc]
        assert found.labels.tolist() == expected, target.name


def test_a_column_that_no_step_reads_is_none_of_the_program() -> None:
    graph = NODES["DNF"]()
    assert lower(graph).columns == graph.used_features


def test_hidden_bits_have_no_step() -> None:
    with pytest.raises(Unsupported, match="Hidden"):
        lower_nodes([Hidden("h", IsTrue("a"), 1.0)], NODES["DNF"]().schema)
