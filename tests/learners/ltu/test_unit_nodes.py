"""What units read as; that it is the same is shown on every cell of their columns."""

import numpy as np
import pytest

from rulekit.cells.space import cell_rows
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import FALSE, TRUE, And, AtLeast, IsTrue, Not, Or
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.ltu.inputs import Unit, UnitTerm
from rulekit.learners.ltu.learner import unit_node
from rulekit.schema import Feature, Schema

SCHEMA = Schema(tuple(Feature(f"b{i}", "boolean") for i in range(20)))
COLUMNS = [BinnedColumn(f, i, 3, np.full(1, np.nan), np.full(1, np.nan)) for i, f in enumerate(SCHEMA.features)]
B = [IsTrue(f"b{i}") for i in range(20)]
HOLDS, FAILS = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])


def unit_of(weights, bias, against=()):
    terms = (UnitTerm(float(w), i, FAILS if i in against else HOLDS) for i, w in enumerate(weights))
    return Unit(tuple(terms), bias)


@pytest.mark.parametrize(
    ("weights", "bias", "node"),
    [
        ([1] * 5, -3.5, AtLeast(4, B[:5])),
        ([1] * 17, -6.5, AtLeast(7, B[:17])),
        ([1] * 17, -0.5, Or(B[:17])),
        ([1] * 17, -16.5, And(B[:17])),
        ([0.5] * 17, -8.25, And(B[:17])),
        ([2, 1, 1], -1.5, Or((B[0], And((B[1], B[2]))))),
        ([1], -0.5, B[0]),
        ([], 1.0, TRUE),
        ([], -1.0, FALSE),
    ],
)
def test_readings(weights, bias, node):
    assert unit_node(unit_of(weights, bias), COLUMNS, SCHEMA) is node


def test_contraries_and_other_sums():
    """A contrary does not hold where its column is missing; what reads as nothing else stays a sum."""
    node = unit_node(unit_of([1, 1, 1], -1.5, against=(1,)), COLUMNS, SCHEMA)
    assert node is AtLeast(2, (B[0], Not(IsTrue("b1", True)), B[2]))
    unit = unit_of([3, 2, 2, 1, 1, 1, 1], -5.5)
    assert unit_node(unit, COLUMNS, SCHEMA) is unit.node(COLUMNS)


def test_readings_are_the_same_on_every_cell():
    rng = np.random.default_rng(0)
    for _ in range(40):
        k = int(rng.integers(1, 8))
        against = np.flatnonzero(rng.random(k) < 0.4).tolist()
        unit = unit_of(rng.integers(1, 4, k), -rng.integers(0, 2 * k) - 0.5, against)
        pair = unit.node(COLUMNS), unit_node(unit, COLUMNS, SCHEMA)
        values = evaluate_nodes(pair, cell_rows(pair, SCHEMA, 1 << 20))
        assert np.array_equal(values[pair[0]] & True, values[pair[1]] & True)
