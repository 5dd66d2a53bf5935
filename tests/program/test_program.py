"""The steps of a program decide and report as the oracle says, on raw cells, for every node and decision."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from program_runs import run_row, values_of

from rulekit.conformance.models import NODES, random_graph
from rulekit.errors import Unsupported
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.evaluation.oracle import evaluate_row
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    Column,
    Compare,
    Hidden,
    IsTrue,
    LevelPoints,
    Linear,
    Logistic,
    Missing,
    Not,
    Or,
    Probability,
    Step,
    topological,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower, lower_nodes
from rulekit.program.nodes import Largest, elementary
from rulekit.program.spelling import Spelling
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.rows import adversarial_rows


def rows_of(graph: RuleGraph, n_rows: int, seed: int) -> Iterator[dict[str, Any]]:
    """Rows of raw cells: doubles between two float32, texts, None."""
    columns = adversarial_rows(graph, n_rows, seed).columns
    names = [name for name in columns if name in graph.used_features]
    for cells in zip(*(columns[name].tolist() for name in names), strict=True):
        yield dict(zip(names, cells, strict=True))


def check(graph: RuleGraph, n_rows: int, seed: int = 0) -> None:
    """The program, and that of elementary steps alone."""
    programs = lower(graph), lower(graph, elementary)
    steps = topological((programs[1].label, *programs[1].probabilities))
    assert not set(map(type, steps)) & {Column, Step, LevelPoints, Logistic, Largest}
    for row in rows_of(graph, n_rows, seed):
        expected, reported = evaluate_row(graph, row)
        for program in programs:
            label, probabilities = run_row(program, row)
            assert label == expected, row
            assert probabilities == pytest.approx(reported, abs=1e-12), row


@settings(max_examples=300, deadline=None)
@given(
    st.floats(allow_nan=False) | st.floats(width=32, allow_nan=False),
    st.sampled_from([0.0, 0.25, 1.0, 2.0**-140, 2.0**60]),
    st.sampled_from([4.0, 1e40, 2.0**-130]),
    st.sampled_from(["float32", "float64"]),
)
@example(x=float(2**128 - 2**103), step=0.0, bound=1e300, precision="float32")
@example(x=-0.125, step=0.25, bound=4.0, precision="float64")
def test_a_column_is_rounded_alike_by_elementary_steps(x: float, step: float, bound: float, precision: Any) -> None:
    column = Column("x", 0.5, -bound, bound, step)
    schema = Schema((Feature("x", precision=precision),), "y")
    row = {"x": x}
    found = lower_nodes([column], schema, elementary)[column]
    assert values_of([found], schema, row)[found] == values_of([column], schema, row)[column]


def test_terms_of_a_sum_are_added_one_by_one(long_runs: bool) -> None:
    """`total + 1.0 - p` is not `total + (1.0 - p)`, and `0.3 * 1.0 - p` not `0.3 * (1.0 - p)`."""
    schema = Schema(tuple(map(Feature, "xyz")), "y")
    bits = [Hidden(f"h{k}", Compare(name, ">", 1.5), 0.1 + k / 7, 0.03) for k, name in enumerate("xyz")]
    both = [Probability(Not(And((a, b)))) for a, b in combinations(bits, 2)]
    products = [Probability(And((a, b))) for a, b in combinations(bits, 2)]
    inner = Linear([(0.1, both[0]), (0.7, products[0])], 0.3)
    for last in (1.0, 0.3):
        terms = [*zip((1.0, 0.3, last), both, strict=True), (0.7, inner), (1.0, inner), (0.3, products[1])]
        score = Linear(terms, 0.1)
        cells = list(product((1.0, 2.0), repeat=3))
        columns = {name: np.array(column) for name, column in zip("xyz", zip(*cells, strict=True), strict=True)}
        plain = RuleGraph(schema, (0, 1), Fires(Above(score, 0.0)))
        cuts = evaluate_nodes([score], plain.table(columns))[score].tolist()
        for cut in cuts:
            graph = RuleGraph(schema, (0, 1), Fires(Or((Above(score, cut), Above(score, math.nextafter(cut, 0.0))))))
            expected = decide(graph, graph.table(columns)).tolist()
            for target in map(find_target, ("python", "sql") if long_runs or cut == cuts[0] else ("sql",)):
                found = target.run_raw(target.emit(graph).main, graph, columns)  # type: ignore[misc]
                assert found.labels.tolist() == expected, target.name


@pytest.mark.one_in(2)
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


def test_hidden_bits_have_no_step() -> None:
    with pytest.raises(Unsupported, match="Hidden"):
        lower_nodes([Hidden("h", IsTrue("a"), 1.0)], NODES["DNF"]().schema)


def test_a_spelling_that_lacks_what_every_language_has_is_not_made() -> None:
    with pytest.raises(TypeError, match=r"literal.*within"):
        type("Silent", (Spelling,), {})()
