"""What the code of generated modules looks like beyond the golden files, and its arithmetic on probabilities."""

from __future__ import annotations

import datetime

import numpy as np
import pytest
from generated import module_of, plain_cells
from numpy.testing import assert_allclose
from random_tables import random_table
from rulekit_exporters.python import TARGET

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.probability.exponentials import exponentials_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema


def noisy_formulas():
    """Circuits of every kind of step: long products, sums of mixtures, bits and plain conditions that are shared."""
    causes = [rg.Compare("x", ">", i / 8) if i % 2 else rg.Compare("y", "<=", i / 16, missing=True) for i in range(40)]
    bits = [rg.Hidden(f"h{i}", cause, 0.1 + i / 7, i / 90) for i, cause in enumerate(causes)]
    always = rg.Hidden("always", rg.Constant(True), 0.3)
    yield rg.Or(bits)
    yield rg.And(bits[:20])
    yield rg.Or([rg.And([bits[k], bits[k + 1], bits[k + 2]]) for k in range(0, 30, 3)])
    yield rg.Or([rg.And([bits[0], bits[1]]), rg.And([bits[0], rg.Not(bits[2])]), rg.And([bits[1], causes[3]])])
    yield rg.AtLeast(3, bits[:6])
    yield rg.Odd([*bits[:6], always])
    yield rg.And([always, rg.Not(rg.Or(bits[:3])), causes[5]])
    yield rg.Or([always, rg.AtLeast(2, [rg.And([bits[0], always]), bits[4], rg.Not(bits[0])])])
    yield always
    yield bits[0]


@pytest.mark.parametrize("formula", list(noisy_formulas()), ids=range(10))
def test_probabilities_are_the_graph_s(formula, tmp_path):
    """To the last bit; exp, which differs between platforms there, to within 1e-13 of the value."""
    probability = rg.Probability(formula)
    schema = Schema((Feature("x"), Feature("y")))
    graph = RuleGraph(schema, (0, 1), Fires(rg.Above(probability, 0.4)), (probability,))
    table = random_table(np.random.default_rng(11), schema, 300)
    module = module_of(graph, tmp_path)
    rows = list(zip(*plain_cells(table), strict=True))
    within = 0.0 if exponentials_of(formula) is None else 1e-13
    for given in (rows, [{"x": x, "y": y} for x, y in rows]):
        found = [module.predict_proba(row) for row in given]
        assert_allclose(found, probabilities(graph, table), rtol=within, atol=0.0)
        assert [module.predict(row) for row in given] == decide(graph, table).tolist()
    assert module.predict_many(np.array(rows)) == decide(graph, table).tolist()


def test_only_levels_that_a_number_date_or_truth_value_may_write_are_read_as_those(tmp_path):
    """A number is no level where levels are words, so its text is not looked at."""
    for levels, read in ((("red", "a-1"), False), (("red", "1"), True), (("true",), True), (("2024-05-31",), True)):
        feature = Feature("c", "categorical", levels)
        graph = RuleGraph(Schema((feature,)), (0, 1), Fires(rg.Among("c", levels[-1:])))
        assert ("def level(" in TARGET.emit(graph, {}).main.decode()) == read
        module = module_of(graph, tmp_path, f"read_{len(levels[-1])}_{levels[-1][0]}")
        cells = [levels[-1], 1, 1.0, True, "1.0", None, np.int64(1), datetime.date(2024, 5, 31)]
        assert [module.predict([cell]) for cell in cells] == graph.predict([{"c": cell} for cell in cells]).tolist()


def test_a_rounded_column_is_cleaned_once_however_many_sums_read_it():
    """A tree of 15 linear threshold units over 30 columns rounded each of them 15 times."""
    cells = [rg.Column(f"x{j}", 0.0, -4.0, 4.0, 0.25) for j in range(3)]
    units = [rg.LinearThreshold([(0.5, cell) for cell in cells], 0.25 * k) for k in range(4)]
    schema = Schema(tuple(Feature(f"x{j}") for j in range(3)))
    source = TARGET.emit(RuleGraph(schema, (0, 1), Fires(rg.Or(units))), {"self_test": False}).main.decode()
    assert source.count("= clipped_float32(") == 3
