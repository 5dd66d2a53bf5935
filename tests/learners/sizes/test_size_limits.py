"""Hard limits: no model ever has more columns, rules or literals than it was allowed, whatever it was learned from."""

from __future__ import annotations

from typing import Any

import numpy as np
from cnll_cases import TREE, loan_rows, small_table
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rulekit import CNLLClassifier, RulesClassifier
from rulekit.graph.rules import counts, counts_by_class
from rulekit.learners.base import RuleClassifier
from rulekit.learners.cnll.formula_on_cells import allowed_moves
from rulekit.learners.contract import SizeLimits
from rulekit.learners.models.noisy_formulas import Move, ReadOnceTree
from rulekit.learners.papers.cnll_paper import CNLLPaperClassifier
from rulekit.learners.promises.kept import clauses_of

SEEDS = st.integers(0, 2**16)
SIZES = st.none() | st.integers(1, 6)


@example(0, 3, False, None, None, None, False, CNLLClassifier)
@example(0, 3, False, 2, 1, 2, True, RulesClassifier)
@settings(max_examples=6, deadline=None)
@given(
    SEEDS,
    st.sampled_from([2, 2, 3]),
    st.booleans(),
    SIZES,
    SIZES,
    SIZES,
    st.booleans(),
    st.sampled_from([RulesClassifier, CNLLClassifier, CNLLPaperClassifier]),
)
def test_the_limits_hold(
    seed: int, classes: int, ordered: bool, features: Any, clauses: Any, literals: Any, total: bool, learner: Any
) -> None:
    X, y = small_table(seed, classes)
    sizes = {"clauses": clauses, "literals": literals}
    limits = {"max_features": features} | {f"max_{'total_' * total}{name}": most for name, most in sizes.items()}
    ranks = sorted(set(y)) if ordered else None
    shared = {"stopping": "none", "ordered": ranks, **limits}
    model: RuleClassifier = learner(6, **shared).fit(X, y)
    graph = model.rule_graph_
    each = [counts(graph)] if total else list(counts_by_class(graph).values())
    assert features is None or len(graph.used_features) <= features
    assert clauses is None or all(size.rules <= clauses for size in each)
    assert literals is None or all(size.literals <= literals for size in each)
    units, chosen = graph.provenance["units"], model.path_.chosen
    if graph.decision.rule_sets:  # a class whose rules would change nothing has none in the model
        assert units == [
            min(place, len(clauses_of(root))) for place, root in zip(chosen, graph.decision.roots, strict=True)
        ]
    else:
        assert units == list(chosen)


def test_a_limit_is_reached_not_undercut() -> None:
    X, y = loan_rows()
    kind = {**TREE, "stopping": "none", "positive": "yes"}
    free = CNLLClassifier(6, **kind).fit(X, y).rule_graph_
    assert (counts(free).rules, counts(free).literals, len(free.used_features)) == (3, 5, 5)
    few = CNLLClassifier(6, max_features=3, **kind).fit(X, y).rule_graph_
    assert len(few.used_features) == 3
    assert counts(CNLLClassifier(6, max_clauses=2, **kind).fit(X, y).rule_graph_).rules == 2
    assert counts(CNLLClassifier(6, max_literals=3, **kind).fit(X, y).rule_graph_).literals == 3


def test_the_columns_of_several_classes_are_shared() -> None:
    """Once the first class took what it liked, and the last had to do with that."""
    rng = np.random.default_rng(0)
    X = rng.random((600, 6))
    y = np.where(X[:, 4] > 0.8, 2, np.where(X[:, 5] > 0.8, 1, 0))
    model = RulesClassifier(4, max_features=2, stopping="none").fit(X, y)
    assert model.rule_graph_.used_features == ("x4", "x5")
    assert model.score(X, y) > 0.97


def test_a_formula_without_units_speaks_for_no_class() -> None:
    """Its hidden bit of no condition was once shown as a rule, so that three classes never had fewer than three."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 3))
    y = np.where(X[:, 0] > 0.7, 2, np.where(X[:, 1] > 0.6, 1, 0))
    free = RulesClassifier(1, stopping="none").fit(X, y)
    limited = RulesClassifier(1, stopping="none", max_total_clauses=1).fit(X, y)
    assert counts(free.rule_graph_).rules == 2, "that of the default would change nothing"
    assert counts(limited.rule_graph_).rules == 1
    assert sum(limited.rule_graph_.provenance["units"]) == 1
    assert np.allclose(limited.predict_proba(X).sum(axis=1), 1.0)


def tree_of(*moves: Move) -> ReadOnceTree:
    tree = ReadOnceTree()
    for bit, move in enumerate((Move("bit", -1), *moves)):
        tree.join(move, bit)
    return tree


def test_moves_beyond_a_limit_are_not_offered() -> None:
    pair = tree_of(Move("or", 0))
    assert allowed_moves(SizeLimits(literals=2), pair) == []
    inside = allowed_moves(SizeLimits(clauses=2), pair)
    assert Move("or", pair.root) not in inside
    assert {move.operator for move in inside} == {"and"}
    conjunction = tree_of(Move("and", 0))
    longer = allowed_moves(SizeLimits(clauses=1), conjunction)
    assert longer == [Move("and", conjunction.root)]
