"""Trees of linear threshold units as nested `if`s: a row evaluates only the units on its path."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from generated import module_of, plain_cells
from hypothesis import given, settings
from hypothesis import strategies as st
from rulekit_exporters.python import functions as written
from unit_trees import nested, paths

from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.nodes import And, AtLeast, Column, IsTrue, LinearThreshold, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.lower import lower
from rulekit.schema import Feature, Schema
from rulekit.verification.rows import adversarial_rows

FLAGS = 15
SCHEMA = Schema((*(Feature(f"b{j}", "boolean") for j in range(FLAGS)), Feature("x"), Feature("y")), "target")
# Each unit reads a Boolean column of its own, by which a row tells that it was evaluated.
UNITS = [
    LinearThreshold([(2.0, IsTrue(f"b{j}")), (-0.25, Column("x", 0.5, -4.0, 4.0, 0.25 * 2.0**-j))], -1.0)
    for j in range(FLAGS)
]


def model(formula: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(formula))


def assert_exact(graph: RuleGraph, folder: Path) -> None:
    """Rows as sequences and as mappings decide as the graph."""
    module, table = module_of(graph, folder), adversarial_rows(graph, 40).table
    for row, index in zip(zip(*plain_cells(table), strict=True), decide(graph, table).tolist(), strict=True):
        for cells in (list(row), dict(zip(SCHEMA.names, row, strict=True))):
            assert module.predict(cells) == graph.classes[index]


class Watched(float):
    """A cell that says when it is compared."""

    def __new__(cls, value: float, told: Callable[[], None]) -> Watched:
        cell = super().__new__(cls, value)
        cell.told = told
        return cell

    def __gt__(self, other: float) -> bool:
        self.told()
        return float(self) > other

    def __le__(self, other: float) -> bool:
        return not self > other


@pytest.mark.parametrize("shape", [nested, paths])
def test_a_row_evaluates_the_units_on_its_path_alone(shape, tmp_path):
    graph = model(shape(UNITS))
    module = module_of(graph, tmp_path)
    tests = [test for test, _ in written.walk(written.tree_of(lower(graph).label))]
    assert len(tests) == len(set(tests)) == FLAGS  # each unit is written once
    rng = np.random.default_rng(0)
    for _ in range(50):
        row = {f"b{j}": float(rng.integers(2)) for j in range(FLAGS)} | {"x": float(rng.normal())}
        asked: set[str] = set()
        cells = (Watched(cell, partial(asked.add, name)) for name, cell in row.items())
        label = module.CLASSES[module.decide(*cells)]
        node, path = 0, []
        while node < FLAGS:
            path.append(f"b{node}")
            x = min(max(round(row["x"] / (0.25 * 2.0**-node)) * 0.25 * 2.0**-node, -4.0), 4.0)
            node = 2 * node + (2 if 2.0 * row[f"b{node}"] - 0.25 * x - 1.0 >= 0.0 else 1)
        assert label == ("yes" if node % 2 == 0 else "no")
        assert asked == {*path, "x"}


def test_a_chain_is_not_indented():
    """Forty units one after another would else be deeper than Python's parser allows."""
    units = [LinearThreshold([(1.0, IsTrue(f"b{j % FLAGS}")), (float(j), IsTrue("b0"))], -1.0) for j in range(40)]
    found: Node = units[-1]
    for k, unit in reversed(list(enumerate(units[:-1]))):
        found = And([Not(unit), found]) if k % 2 else Or([unit, found])
    tree = written.tree_of(lower(model(found)).label)
    assert tree is not None
    assert len(list(written.walk(tree))) == 40 > written.DEEPEST


@pytest.mark.parametrize(
    "formula", [UNITS[0], AtLeast(2, UNITS[:3]), And([Or(UNITS[k : k + 3]) for k in (0, 3, 6, 9)])]
)
def test_what_is_no_tree_is_written_as_it_was(formula, tmp_path):
    """A conjunction of disjunctions would say its units again and again."""
    graph = model(formula)
    assert written.tree_of(lower(graph).label) is None
    assert_exact(graph, tmp_path)


def test_the_rule_of_a_leaf_stands_above_it(tmp_path):
    module_of(model(paths(UNITS[:3])), tmp_path)
    source = next(tmp_path.glob("*.py")).read_text()
    body = source[source.index("def decide(") : source.index("def probabilities(")]
    assert body.count("# r") == body.count("return 1") == 2


leaves = st.sampled_from(UNITS[:4]).flatmap(lambda unit: st.sampled_from([unit, Not(unit)]))
formulas = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=3).map(And),
        st.lists(inner, min_size=2, max_size=3).map(Or),
        inner.map(Not),
    ),
    max_leaves=8,
)


@given(formula=formulas)
@settings(max_examples=10, deadline=None)
def test_any_logic_over_units_is_exact(formula, tmp_path_factory):
    assert_exact(model(formula), tmp_path_factory.mktemp("module"))
