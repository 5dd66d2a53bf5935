"""Discrete AdaBoost: the best stump by brute force, the textbook's sums, exact points, scikit-learn's checks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulekit import AdaBoostStumpClassifier
from rulekit.conformance.learners import learner_checks, rows_of
from rulekit.exactness import SINGLE_BITS, span_of_sum
from rulekit.graph.nodes import Above, Linear
from rulekit.learners.boosting.stumps import Stump, best_stump, counts_by_code, cuts_of, leads_by_code, totals_of
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.papers.early_boosting import PaperAdaBoostClassifier, purest_stump
from rulekit.learners.sums_of_rows.histograms import lead_by_code
from rulekit.schema import Feature
from rulekit.tables.table import Table


def drawn_problem(data: st.DataObject, monotone: int = 0) -> tuple[np.ndarray, np.ndarray, Problem]:
    """A column of numbers, 0 for a missing cell, and one of levels, of few rows, and the problem that they make."""
    n = data.draw(st.integers(2, 14))
    cells = st.lists(st.integers(0, 4), min_size=n, max_size=n)
    number, level = (np.array(data.draw(cells)) for _ in range(2))
    labels = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=np.int8)
    weights = np.array(data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n)), dtype=np.int64)
    features = (Feature("x", monotone=monotone), Feature("c", "categorical", ("a", "b", "c")))
    table = Table(features, (np.where(number == 0, np.nan, number).astype(np.float32), level.astype(np.int32)), n)
    columns, codes = bin_table(table, weights, 255)
    return number, level, Problem(columns, codes, labels, weights, 1.0)


def found_by(problem: Problem, *, impurity: bool = False, never: bool = False) -> Stump:
    weights, counts = problem.weights, counts_by_code(problem)
    cuts = cuts_of(problem.columns, counts, 0.0)
    if impurity:
        return purest_stump(problem, weights, cuts, counts, 1)
    leads = leads_by_code(problem, weights, 1)
    return best_stump(problem.columns, leads, totals_of(problem, weights), cuts, counts, never)


@given(st.data())
def test_no_stump_has_a_smaller_error(data: st.DataObject) -> None:
    """Of all cuts and all sets of levels, with a missing cell on either side, that keep what is promised."""
    way, never = data.draw(st.sampled_from((-1, 0, 1))), data.draw(st.booleans())
    number, level, problem = drawn_problem(data, way)
    labels, weights, codes, n = problem.labels, problem.weights, problem.codes, len(problem.labels)

    errors = [int(weights[labels == 1].sum()), int(weights[labels == 0].sum())]
    for cut, missing in itertools.product(range(6), (0, 1)):
        inside = number[number > 0]
        for side in (0, 1):
            if (never and missing) or (len({*(inside < cut)}) == 2 and way == (1 if side else -1)):
                continue
            answers = np.where(number == 0, missing, np.where(number < cut, side, 1 - side))
            errors.append(int(weights[answers != labels].sum()))
    for chosen in itertools.product((0, 1), repeat=5):
        if never and any(chosen[:2]):
            continue
        errors.append(int(weights[np.array(chosen)[level] != labels].sum()))
    found = found_by(problem, never=never)
    assert found.wrong == min(errors)
    assert found.right + found.wrong == weights.sum()
    votes = np.broadcast_to(found.votes, n) if found.column is None else found.votes[codes[found.column]]
    assert int(weights[(votes > 0) != (labels == 1)].sum()) == found.wrong


@pytest.mark.parametrize("numba_off", ["0", "1"])
@pytest.mark.parametrize("k", [1, 3, 4, 6])
def test_leads_are_the_weights_for_less_those_against(k: int, numba_off: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RULEKIT_NO_NUMBA", numba_off)
    rng = np.random.default_rng(2)
    matrix, labels = rng.integers(0, 5, (3000, k)).astype(np.uint8), rng.integers(0, 2, 3000)
    weights, leads = rng.integers(0, 1 << 30, 3000), np.zeros(5 * k, dtype=np.int64)

    lead_by_code(matrix, np.arange(k + 1) * 5, labels, weights, leads)

    signed = np.where(labels == 1, weights, -weights)
    assert leads.tolist() == [int(signed[matrix[:, j] == code].sum()) for j in range(k) for code in range(5)]


@given(st.data())
def test_no_stump_is_purer(data: st.DataObject) -> None:
    """Of all cuts of a number whose missing cells are a side of their own, and of all sets of levels."""
    number, level, problem = drawn_problem(data)
    labels, weights, codes, n = problem.labels, problem.weights, problem.codes, len(problem.labels)

    def purity(sides: np.ndarray) -> float:
        leads = np.bincount(sides, np.where(labels == 1, weights, -weights))
        return float(np.sum(leads**2 / np.maximum(np.bincount(sides, weights), 1)))

    purest = max(purity(np.where(number == 0, 0, np.where(number < cut, 1, 2))) for cut in range(6))
    for chosen in itertools.product((2, 3), repeat=3):  # missing cells, and levels that are none, are two more sides
        purest = max(purest, purity(np.array([0, 1, *chosen])[level]))
    found = found_by(problem, impurity=True)
    votes = np.broadcast_to(found.votes, n) if found.column is None else found.votes[codes[found.column]]
    assert int(weights[(votes > 0) != (labels == 1)].sum()) == found.wrong
    assert found.right + found.wrong == weights.sum()
    assert found.wrong <= min(weights[labels == 1].sum(), weights[labels == 0].sum())
    if found.column is not None:
        first = 1 if found.column == 0 else 2
        code = codes[found.column]
        if len({*votes[code >= first]}) == 2:  # both sides of a cut may vote alike, and do not show it then
            sides = np.where(code < first, code, np.where(votes > 0, 2, 3))
            assert purity(sides) == pytest.approx(purest)


def test_by_gini_impurity_it_is_scikit_learn_s() -> None:
    """Round by round the decisions of scikit-learn's AdaBoost, whose stumps are those of the least Gini impurity."""
    from sklearn.datasets import load_breast_cancer
    from sklearn.ensemble import AdaBoostClassifier

    X, y = load_breast_cancer(return_X_y=True)
    X = X.astype(np.float32)
    settings: dict[str, object] = {"stopping": "none", "early_stop": False, "max_bins": None, "min_rows": 0}
    ours = PaperAdaBoostClassifier(15, weak="gini", **settings).fit(X, y)
    theirs = AdaBoostClassifier(n_estimators=15, random_state=0).fit(X, y)
    differ = [(a.predict(X) != b).sum() for a, b in zip(ours.path_, theirs.staged_predict(X), strict=True)]
    assert max(differ) <= 2  # of 569 rows, where sums are 0 but for rounding, or stumps are equally pure
    by_error = PaperAdaBoostClassifier(15, weak="exact", **settings).fit(X, y)
    assert max((a.predict(X) != b).sum() for a, b in zip(by_error.path_, theirs.staged_predict(X), strict=True)) > 2


def test_it_decides_as_the_textbook_s() -> None:
    """Beside scikit-learn's AdaBoost on columns of few values, whose cuts are the same."""
    from sklearn.ensemble import AdaBoostClassifier

    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (3000, 5)).astype(np.float32)
    y = ((X[:, 0] > 2) & (X[:, 1] > 1) ^ (rng.random(3000) < 0.1)).astype(np.int64)
    ours = AdaBoostStumpClassifier(8, stopping="none").fit(X, y)
    theirs = AdaBoostClassifier(n_estimators=8, random_state=0).fit(X, y)
    assert len(ours.path_) == 8
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.999
    # The exponential loss falls by 2 sqrt(error (1 - error)) in a round. Their later stumps, which are those of the
    # least Gini impurity, differ; votes on a grid change each factor a little.
    errors = theirs.estimator_errors_[:5]
    expected = len(y) * np.cumprod(2.0 * np.sqrt(errors * (1.0 - errors)))
    np.testing.assert_allclose([step["objective"] for step in ours.history_[:5]], expected, rtol=1e-4)


@pytest.mark.parametrize("n_estimators", [1, 60])
def test_points_are_on_a_grid_so_that_every_sum_is_exact(n_estimators: int) -> None:
    table, y = rows_of(AdaBoostStumpClassifier, 2)
    graph = AdaBoostStumpClassifier(n_estimators, stopping="none", max_bins=None).fit(table, y).rule_graph_
    (decided,) = graph.decision.roots
    assert isinstance(decided, Above)
    total = decided.children[0]
    assert isinstance(total, Linear)
    span = span_of_sum(total)
    assert span is not None
    assert span.fits(SINGLE_BITS)


def test_rare_classes_get_their_score() -> None:
    """One against the rest is mostly no: without the constant answer no stump is better than guessing."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (2000, 3)).astype(np.float32)
    y = np.where(X[:, 0] + X[:, 1] >= 17, "rare", np.where(X[:, 2] > 6, "some", "most"))
    model = AdaBoostStumpClassifier(40, stopping="none").fit(X, y)
    assert 0.02 < (y == "rare").mean() < 0.05
    assert (model.predict(X)[y == "rare"] == "rare").mean() > 0.9
    assert (model.predict(X) == y).mean() > 0.98


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("settings", [{"n_estimators": 4, "n_folds": 2}, pytest.param({}, marks=pytest.mark.long)])
def test_scikit_learn_s_own_checks(settings: dict[str, int]) -> None:
    next(learner_checks(AdaBoostStumpClassifier, settings)).run()
