"""Additive rules: the best literal by brute force, exact weights, sizes, what polishing may change, promises."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from rulekit import AdditiveRulesClassifier
from rulekit.conformance.learners import learner_checks
from rulekit.exactness import SINGLE_BITS, span_of_sum
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import Above, Linear
from rulekit.graph.rules import counts_by_class
from rulekit.learners.additive import learner
from rulekit.learners.additive.extensions import Base, extensions
from rulekit.learners.additive.growth import SumPlan, SumSearch
from rulekit.learners.additive.literals import Layout, Loss, Penalties, RuleWeights, Values, mask_of, newton, rows_of
from rulekit.learners.contract import NO_WATCH
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.promises.kept import all_allowed
from rulekit.learners.sizes import choice
from rulekit.learners.sizes.choice import Losses
from rulekit.learners.sums_of_rows.histograms import RowCells
from rulekit.schema import Feature
from rulekit.synthetic import loans
from rulekit.tables.table import Table

PLAIN = Penalties(ridge=1.0, damping=1.0, least=1.0, per_literal=0.0, most=3)


def problem_of(number: np.ndarray, level: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> Problem:
    """A column of numbers, 0 for a missing cell, and one of levels, as codes."""
    features = (Feature("x"), Feature("c", "categorical", ("a", "b", "c", "d")))
    values = np.where(number == 0, np.nan, number).astype(np.float32)
    table = Table(features, (values, level.astype(np.int32)), len(labels))
    columns, codes = bin_table(table, weights, 255)
    return Problem(columns, codes, labels.astype(np.int64), weights.astype(np.int64), 1.0)


@given(st.data())
@settings(max_examples=60)
def test_no_literal_has_a_larger_gain(data: st.DataObject) -> None:
    """Of all cuts with missing cells on either side, and of all lists of levels that the order of steps allows."""
    n = data.draw(st.integers(3, 14))
    draw = lambda low, high: np.array(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))  # noqa: E731
    number, level, gradient, curvature = draw(0, 4), draw(2, 5), draw(-9, 9), draw(1, 5)
    problem = problem_of(number, level, np.zeros(n), np.ones(n))
    layout = Layout.of(problem.columns, all_allowed(2))
    values = np.column_stack([gradient, curvature, np.ones(n, dtype=np.int64)])
    sums = np.zeros((int(layout.offsets[-1]), 3), dtype=np.int64)
    for j in range(2):
        np.add.at(sums, layout.offsets[j] + problem.codes[j], values)
    over = Values(values, values.sum(axis=0), np.ones(3))
    found = extensions(layout, [Base((), np.arange(n, dtype=np.uint32), sums=sums, total=over.total)], over, PLAIN, 1)

    def gain(rows: np.ndarray) -> float:
        inside = values[rows].sum(axis=0)
        share = inside[1] / over.total[1]
        away = inside[0] - over.total[0] * share
        return float(away * away / (inside[1] * (1 - share) + PLAIN.damping))

    sides = [(number > 0) & (number <= cut) for cut in range(6)]
    rows = [each | ((number == 0) & missing) for each in sides for missing in (False, True)]
    rows += [level == one for one in range(2, 6)]
    legal = [each for each in rows if 0 < each.sum() < n]
    best = max(map(gain, legal), default=0.0)
    if found:
        held = found[0].literal.condition[problem.codes[found[0].literal.column]]
        assert found[0].value <= gain(held) + 1e-9
        assert found[0].value >= best - 1e-9
    else:
        assert best <= 0.0


def some_problem(n: int = 400, seed: int = 0) -> Problem:
    random = np.random.default_rng(seed)
    number, level = random.integers(0, 30, n), random.integers(2, 6, n)
    score = (number > 12) * 1.5 + (level == 3) * 2.0 - ((number > 20) & (level == 4)) * 3.0 - 1.0
    labels = random.random(n) < 1.0 / (1.0 + np.exp(-score))
    return problem_of(number, level, labels, random.integers(1, 3, n))


def search_on(problem: Problem, most: int) -> SumSearch:
    plan = SumPlan(Layout.of(problem.columns, all_allowed(2)), (PLAIN,), most)
    return SumSearch(problem, plan, PLAIN, 1, NO_WATCH)


def test_newton_ends_where_no_slope_is_left() -> None:
    problem = some_problem()
    found = list(search_on(problem, 6).grown())[-1]
    loss = Loss(found.cells, PLAIN.ridge, 1.0, np.zeros(len(found.rules)))
    at = newton(loss, found.at, 40, tolerance=0.0)

    assert np.abs(loss.slopes(at)).max() < 1e-3
    assert at.loss <= found.at.loss
    assert np.array_equal(at.weights, np.round(at.weights * 2.0**20) / 2.0**20)
    far = RuleWeights(9.0, np.zeros(0), np.inf)  # weights may start anywhere
    bias = newton(Loss(RowCells.of_all(problem.labels, problem.weights), 1.0, 1.0, np.zeros(0)), far, 20).bias
    assert bias == pytest.approx(np.log(problem.positive / (problem.total - problem.positive)), abs=1e-4)


def test_cells_know_which_rules_hold() -> None:
    problem = some_problem()
    found = list(search_on(problem, 5).grown())[-1]
    n, last = len(problem.labels), found.rules[1]
    for grown in (found, found.without(1).with_rule(last), found.without(2)):
        cells, held = grown.cells, [mask_of(rows_of(problem.codes, n, rule.literals), n) for rule in grown.rules]
        assert np.array_equal(cells.holds[cells.cell].T, held)
        counts = np.zeros_like(cells.counts)
        np.add.at(counts, (cells.cell, problem.labels), problem.weights)
        assert np.array_equal(counts, cells.counts)
    assert RowCells.of_all(problem.labels, problem.weights).counts.sum() == problem.weights.sum()


@pytest.mark.parametrize("seed", range(4))
def test_a_second_look_never_raises_the_loss_and_no_rule_stands_twice(seed: int) -> None:
    problem = some_problem(seed=seed)
    search = search_on(problem, 8)
    last = list(search.grown())[-1]
    better = search.polished(last, 2)

    assert better.at.loss <= search.fitted(last, 10).at.loss + 1e-9
    assert len({rule.mark for rule in better.rules}) == len(better.rules) == len(last.rules)


def test_logical_data_need_no_more_rules_than_there_are() -> None:
    random = np.random.default_rng(3)
    X = random.integers(0, 2, (3000, 12)).astype(bool)
    truth = (X[:, 0] & X[:, 1]) | (X[:, 2] & ~X[:, 3])
    model = AdditiveRulesClassifier().fit(X, truth ^ (random.random(3000) < 0.05))
    (counts,) = counts_by_class(model.rule_graph_).values()

    assert (counts.rules, counts.literals) == (2, 4)
    assert np.array_equal(model.predict(X), truth)
    why = r"larger sizes hardly fit the training rows better, or have more log loss on held-out rows \(0\.\d{3} by "
    assert re.fullmatch(why + r"3-fold cross-validation, 0\.\d{3} without a rule\)", model.ladder_.why)


def test_sums_are_exact_and_the_path_has_a_model_of_every_size() -> None:
    """Short weights change no decision, and the objective falls."""
    rows = loans(600, seed=4)
    model = AdditiveRulesClassifier(8, n_folds=2).fit(rows, rows.pop("default"))
    (root,) = model.rule_graph_.decision.roots
    assert isinstance(root, Above)
    assert isinstance(root.score, Linear)
    span = span_of_sum(root.score)
    assert span is not None
    assert span.fits(SINGLE_BITS)
    assert all(float(weight * 2**10).is_integer() for weight, _ in root.score.terms)
    assert len({print_node(node) for _, node in root.score.terms}) == len(root.score.terms)
    objectives = [point.objective for point in model.path_.points]
    assert len(objectives) == 8
    assert objectives == sorted(objectives, reverse=True)
    (counts,) = counts_by_class(model.path_.graph_at(3)).values()
    assert counts.rules <= 3


def test_many_equal_rows_count_once_where_variants_are_compared() -> None:
    twos, ones = np.full(500, 2.0), np.full(500, 1.0)
    losses = {0: np.append(twos, np.zeros(500)), 1: np.append(ones, np.full(500, 0.3))}
    unit = np.concatenate([np.zeros(500, dtype=np.int64), np.arange(1, 501)])
    alone = np.arange(1000)

    assert Losses(losses, np.ones(1000), unit).likely_best() == [0, 1]
    assert Losses(losses, np.ones(1000), alone).likely_best() == [1]


@pytest.mark.long
def test_scikit_learns_own_checks_pass() -> None:
    next(iter(learner_checks(AdditiveRulesClassifier, {"max_rules": 1, "n_folds": 2}))).run()


def test_probabilities_of_several_classes_are_between_one_against_the_rest_and_the_soft_max() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (600, 3)).astype(np.float32)
    y = np.where(X[:, 0] > 6, 2, np.where(X[:, 1] > 4, 1, 0)) * (rng.random(600) > 0.1)
    model = AdditiveRulesClassifier(8).fit(X, y)
    graph = model.rule_graph_
    values = evaluate_nodes(graph.decision.roots, graph.table(X))
    scores = np.array([values[node] for node in graph.decision.roots]).T
    share = 1.0 / (1.0 + np.exp(2.0 - scores))
    found = model.predict_proba(X)
    np.testing.assert_allclose(found, share / share.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_array_equal(np.argmax(found, axis=1), model.predict(X))


def test_a_sum_that_never_says_yes_ranks_rows() -> None:
    """It ended as no rule: which rows are likelier was known, and its probability was that of all."""
    random = np.random.default_rng(4)
    X = random.integers(0, 2, (3000, 3)).astype(bool)
    labels = random.random(3000) < np.where(X[:, 0], 0.2, 0.02)
    for points in (False, True):
        model = AdditiveRulesClassifier(points=points).fit(X, labels)
        found = model.predict_proba(X)[:, 1]

        assert not model.predict(X).any()
        assert sum(each.rules for each in counts_by_class(model.rule_graph_).values()) == 1
        assert found[X[:, 0]].min() > 5.0 * found[~X[:, 0]].max()


@pytest.mark.parametrize("part", [0.01, 0.05])
def test_a_rare_class_gets_a_card_that_ranks(part: float) -> None:
    """Held-out errors are those of no rule at any size, so that there was none."""
    random = np.random.default_rng(6)
    X = random.normal(size=(6000, 5)).astype(np.float32)
    odds = part / (1.0 - part) * np.exp(X[:, 0] + 0.7 * X[:, 1] - 0.7)
    labels = random.random(6000) < odds / (1.0 + odds)
    model = AdditiveRulesClassifier().fit(X[:3000], labels[:3000])
    found = model.predict_proba(X[3000:])[:, 1]

    assert roc_auc_score(labels[3000:], found) > roc_auc_score(labels[3000:], odds[3000:]) - 0.05


def test_labels_that_no_column_knows_end_as_no_rule() -> None:
    random = np.random.default_rng(5)
    model = AdditiveRulesClassifier().fit(random.normal(size=(1000, 6)), random.random(1000) < 0.1)

    assert sum(each.rules for each in counts_by_class(model.rule_graph_).values()) == 0
    assert model.ladder_.why == "no rule: by 3-fold cross-validation rules do no better than the share of the class"
    assert model.path_.points[-1].objective < model.path_.points[0].objective


@pytest.mark.parametrize("rows", [4_000, 35_000])
def test_many_rows_of_few_kinds_have_their_rule(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all rows of a kind stay in one fold, small sums may be poor there and as good as any on the training rows.

    And where rows are drawn, those of one kind are no single draw.
    """
    monkeypatch.setattr(learner, "_ROWS_OF_A_FOLD", 1 << 13)
    monkeypatch.setattr(learner, "_ROWS", 1 << 15)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (rows, 8)).astype(np.float32)
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)) ^ (rng.random(rows) < 0.1)
    model = AdditiveRulesClassifier().fit(X, y)
    assert counts_by_class(model.rule_graph_)[True].rules == 1
    assert (model.predict(X) == y).mean() == pytest.approx(0.9, abs=0.01)


def test_where_rows_are_drawn_the_model_is_that_of_all_rows_in_any_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are those of some rows, weights those of all; rows of weight 2 are drawn as two rows are."""
    monkeypatch.setattr(learner, "_ROWS_OF_A_FOLD", 300)
    monkeypatch.setattr(learner, "_ROWS", 400)
    monkeypatch.setattr(choice, "_HELD_OUT", 200)
    rng = np.random.default_rng(0)
    X = np.round(rng.normal(size=(2000, 4)), 1).astype(np.float32)
    y = (X[:, 0] > 0.3) & (X[:, 1] < 0.5) ^ (rng.random(2000) < 0.1)
    order, heavy = rng.permutation(2000), np.arange(300)
    model = AdditiveRulesClassifier(6).fit(X, y)
    assert AdditiveRulesClassifier(6).fit(X[order], y[order]).rule_graph_.decision == model.rule_graph_.decision
    weighted = AdditiveRulesClassifier(6).fit(X, y, sample_weight=1.0 + (np.arange(2000) < 300))
    twice = AdditiveRulesClassifier(6).fit(np.concatenate([X, X[heavy]]), np.concatenate([y, y[heavy]]))
    assert twice.rule_graph_.decision == weighted.rule_graph_.decision
    (curve,) = model.curve_
    assert curve is not None
    np.testing.assert_array_equal(curve.weights, 200.0)
    assert curve.error[-1] == pytest.approx(0.12, abs=0.05)  # of 600 rows, a tenth of all are decided otherwise
    for point, graph in zip(model.path_.points, model.path_, strict=True):
        assert point.training_error == pytest.approx(float(np.mean(graph.predict(X) != y)))
