"""Tree, network and DNF: the same decisions (Sahami, Figures 1 to 4)."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ltu_cases import shape_of

from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import And, Column, Compare, IsTrue, LinearThreshold, Not, Or, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.ltu.learner import nested
from rulekit.learners.ltu.trees import NONE, Shape
from rulekit.learners.papers.ltu_trees import dnf_of_paths
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.verification.proof.prove import prove, reading_of_graph

FIGURE_4 = Shape.of([1, 3, NONE, NONE], [2, NONE, NONE, NONE])
BITS = [IsTrue(f"x{i}") for i in range(12)]


@st.composite
def shapes(draw, most=9):
    return shape_of(np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.integers(1, most)))


def random_units(rng, size, n_columns):
    """Units of small whole numbers over numbers, so that many rows lie exactly on a plane."""
    columns = [Column(f"x{i}", 0.0, -4.0, 4.0, 1.0) for i in range(n_columns)]
    return [
        LinearThreshold(
            list(zip(rng.integers(-2, 3, n_columns).astype(float), columns, strict=True)), float(rng.integers(-2, 3))
        )
        for _ in range(size)
    ]


def differences(rng, n_trees, n_rows, n_columns=6):
    """Rows that some form of random trees answers otherwise than the tree; a third of them lie near the planes."""
    schema = Schema(tuple(Feature(f"x{i}") for i in range(n_columns)))
    wrong = 0
    for _ in range(n_trees):
        shape = shape_of(rng, int(rng.integers(1, 16)))
        units = random_units(rng, shape.size, n_columns)
        rows = rng.integers(-4, 5, (n_rows, n_columns)).astype(float)
        rows[: n_rows // 3] *= rng.random((n_rows // 3, 1)) < 0.5
        rows[n_rows // 3 : n_rows // 2] += rng.choice([-0.5, 0.5], (n_rows // 2 - n_rows // 3, n_columns))
        table = encode({f"x{i}": rows[:, i] for i in range(n_columns)}, schema)
        dnf, along = dnf_of_paths(shape, units), nested(shape, units)
        answers = evaluate_nodes([*units, dnf, along], table)
        fires = np.stack([answers[unit] for unit in units], axis=1).astype(bool)
        expected = shape.decides(fires)
        gates = ((fires[:, None, :] == (shape.gates > 0)) | (shape.gates == 0)).all(axis=2)
        for found in (
            answers[dnf].astype(bool),
            answers[along].astype(bool),
            gates.sum(axis=1) == 1,
            gates.any(axis=1),
        ):
            wrong += int((found != expected).sum())
    return wrong


@pytest.mark.long_from("trees", 500)
@pytest.mark.parametrize("trees", [60, 500])
def test_random_trees_decide_alike_in_every_form(trees):
    assert differences(np.random.default_rng(1), trees, 2000) == 0


@given(shapes())
def test_every_form_is_proved_to_be_the_tree(shape):
    units = BITS[: shape.size]
    schema = Schema(tuple(Feature(f"x{i}", "boolean") for i in range(len(BITS))))
    dnf, along = (RuleGraph(schema, ("no", "yes"), Fires(form(shape, units))) for form in (dnf_of_paths, nested))
    proof = prove(dnf, reading_of_graph(along, dnf), lambda columns, table: False)
    assert proof.proved, proof.reason


def test_units_over_numbers_are_proved_too():
    schema = Schema(tuple(Feature(f"x{i}") for i in range(3)))
    units = random_units(np.random.default_rng(4), 4, 3)
    dnf, along = (RuleGraph(schema, ("no", "yes"), Fires(form(FIGURE_4, units))) for form in (dnf_of_paths, nested))
    assert prove(dnf, reading_of_graph(along, dnf), lambda columns, table: False).proved


def test_figure_4_reads_as_its_gates():
    one, two, three, four = BITS[:4]
    assert dnf_of_paths(FIGURE_4, BITS[:4]) is Or(
        [And([Not(one), two]), And([one, three]), And([Not(one), Not(two), four])]
    )
    assert nested(FIGURE_4, BITS[:4]) is Or([And([one, three]), And([Not(one), Or([two, four])])])


def test_a_long_chain_needs_no_recursion():
    shape = Shape.chain(600)
    assert len(list(topological([nested(shape, [Compare("x0", ">", float(i)) for i in range(600)])]))) >= 600
