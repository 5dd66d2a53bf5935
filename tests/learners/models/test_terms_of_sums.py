"""Terms of a sum: every level has the points of its code, pooled ones those of 1, and rules are said of few levels."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Among, LevelPoints, Linear
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.models.plain import terms_of, terms_of_rules
from rulekit.schema import Feature
from rulekit.tables.table import Table

# The levels b and d have few rows: they have code 1, as a level never seen.
FEATURE = Feature("c", "categorical", ("a", "b", "c", "d"))
NONE = np.full(1, np.nan)
COLUMN = BinnedColumn(FEATURE, 0, 4, NONE, NONE, ("a", "c"))
CODES = np.arange(6, dtype=np.int32)  # missing, unseen, a, b, c, d


@given(st.lists(st.integers(-3, 3).map(float), min_size=4, max_size=4))
def test_every_level_has_the_points_of_its_code(points):
    score = Linear(terms_of(COLUMN, np.array(points)), 0.0)
    values = evaluate_nodes([score], Table((FEATURE,), (CODES,), len(CODES)))[score]
    assert values.tolist() == [points[code] for code in (0, 1, 2, 1, 3, 1)]


def test_several_points_are_one_node_and_one_number_is_a_weighted_condition():
    ((weight, node),) = terms_of(COLUMN, np.array([0.25, -1.0, 2.0, -1.0]))
    assert (weight, node) == (1.0, LevelPoints("c", (("a", 2.0), ("b", -1.0), ("c", -1.0), ("d", -1.0)), 0.25, -1.0))
    assert terms_of(COLUMN, np.array([0.0, 0.0, 2.0, 0.0])) == [(2.0, Among("c", ("a",)))]


@given(st.lists(st.tuples(st.lists(st.booleans(), min_size=4, max_size=4), st.integers(-3, 3).map(float)), max_size=4))
def test_rules_on_levels_add_up_to_the_same(rules):
    given_rules = [({0: np.array(held)}, weight) for held, weight in rules]
    terms, constant = terms_of_rules(given_rules, [COLUMN])
    score = Linear(terms, constant)
    values = evaluate_nodes([score], Table((FEATURE,), (CODES,), len(CODES)))[score]
    added = sum((weight * np.array(held) for held, weight in rules), np.zeros(4))
    assert values.tolist() == [added[code] for code in (0, 1, 2, 1, 3, 1)]


def test_a_rule_on_all_levels_but_one_is_a_rule_on_that_one_with_the_other_sign():
    but_a = np.array([True, True, False, True])
    assert terms_of_rules([({0: but_a}, 1.5)], [COLUMN]) == ([(-1.5, Among("c", ("a",)))], 1.5)
    assert terms_of_rules([({0: but_a & [False, True, True, True]}, 1.5)], [COLUMN])[1] == 0.0
