"""CNLLClassifier: what is learned is what the graph decides, for every kind of column, class, weight and accident."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from cnll_cases import TREE, loan_rows
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.utils.estimator_checks import check_estimator
from table_rows import split_labels

from rulekit import CNLLClassifier, RuleGraph
from rulekit.errors import InputError
from rulekit.graph.check import check
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.nodes import Among, And, Compare, IsTrue, Node, Not, Or
from rulekit.learners import rule_learner
from rulekit.learners.learning import Run
from rulekit.learners.models.noisy_formulas import NoisyFormula
from rulekit.learners.papers.cnll_paper import CNLLPaperClassifier
from rulekit.schema import Constraints, Feature, Schema
from rulekit.synthetic import exclusive_or, noisy_logical
from rulekit.tables.equal_rows import data_hash
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Table


def clauses(graph: RuleGraph) -> set[frozenset[Node]]:
    """The clauses of the deterministic decision rule."""
    assert isinstance(graph.decision, Fires)
    formula = graph.decision.formula
    parts = formula.children if isinstance(formula, Or) else (formula,)
    return {frozenset(part.children if isinstance(part, And) else (part,)) for part in parts}


def test_the_true_rule_of_the_loans_is_found() -> None:
    X, y = loan_rows()
    model = CNLLClassifier(positive="yes", n_folds=2).fit(X, y)
    graph = model.rule_graph_
    check(graph)
    assert graph.classes == ("no", "yes")
    shapes = {frozenset((type(leaf), getattr(leaf, "feature", "homeowner")) for leaf in c) for c in clauses(graph)}
    assert shapes == {
        frozenset([(Among, "purpose")]),
        frozenset([(Compare, "late_payments"), (Not, "homeowner")]),
        frozenset([(Compare, "income"), (Compare, "amount")]),
    }
    assert Among("purpose", ("gambling",)) in {leaf for c in clauses(graph) for leaf in c}
    assert model.score(X, y) > 0.94
    assert len(set(model.predict_proba(X)[:, 1])) > 3


@pytest.mark.parametrize("learner", [CNLLClassifier, CNLLPaperClassifier])
def test_the_graph_gives_the_probabilities_that_were_learned(learner: Any) -> None:
    """Thresholds, missing branches, level sets and pooled levels move no training row."""
    X, y = loan_rows(600, 3)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 200, 600)
    X["code"] = [f"c{code if code > 20 else code % 4}" for code in codes]
    y[(codes > 180) | (codes == 2)] = "yes"
    learned: list[Run] = []

    class Keeping(learner):  # type: ignore[misc, valid-type]
        def conclude(self, runs: Any, path: Any) -> None:
            learned.extend(runs)
            super().conclude(runs, path)

    model = Keeping(9, stopping="none", max_bins=None).fit(X, y)
    check(model.rule_graph_)
    assert "code" in model.rule_graph_.used_features
    (run,) = learned
    last = run.path[run.chosen - 1].model
    assert isinstance(last, NoisyFormula)
    expected = last.probability(run.question.problem.codes)
    assert model.predict_proba(X)[:, 1] == pytest.approx(expected, abs=2e-3)  # each bit has four digits
    assert np.array_equal(model.predict(X) == "yes", expected > 0.5)


@pytest.mark.parametrize("rare_side", [False, True])
@pytest.mark.parametrize("common", [3, 40])
def test_pooled_levels_decide_as_they_were_learned(rare_side: bool, common: int) -> None:
    """A pooled level is a known one, which `Among` without it calls false: the truth of the pool must be kept."""
    rng = np.random.default_rng(common)
    n = 1200
    level = np.where(rng.random(n) < 0.25, rng.integers(100, 300, n), rng.integers(0, common, n))
    cells = [None if rng.random() < 0.05 else f"v{code}" for code in level]
    y = ((level >= 100) == rare_side) ^ (level == 1) ^ (rng.random(n) < 0.05)
    frame = pl.DataFrame({"code": cells, "x": rng.random(n)})
    model = CNLLClassifier(4, stopping="none", refit=1).fit(frame, y)
    graph = model.rule_graph_
    check(graph)
    assert graph.used_features[0] == "code"
    assert (model.predict(frame) == y).mean() > 0.9
    assert model.history_[-1]["error"] == pytest.approx(1 - model.score(frame, y), abs=1e-12)
    listed = {level for node in graph.nodes() if isinstance(node, Among) for level in node.levels}
    assert len(listed) <= max(common, 8)
    assert listed <= {f"v{code}" for code in range(common)}
    unseen = pl.DataFrame({"code": ["never", "v100"], "x": [0.5, 0.5]})
    assert model.predict(unseen).tolist() == [rare_side] * 2


def test_missing_values_in_training_and_in_prediction() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    y = ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)
    X[(rng.random((400, 3)) < 0.15)] = np.nan
    y = y | np.isnan(X[:, 2])
    model = CNLLClassifier(n_folds=2).fit(X, y)
    assert model.score(X, y) > 0.9
    one = np.array([[np.nan, np.nan, np.nan], [1.0, 1.0, 1.0], [-1.0, -1.0, 1.0]])
    assert model.predict(one).tolist() == [1, 1, 0]


def test_what_training_never_saw_satisfies_no_condition() -> None:
    frame = pd.DataFrame({"colour": ["red", "green", "blue", "red"] * 20})
    model = CNLLClassifier(positive=True).fit(frame, frame["colour"].isin(["red", "blue"]))
    asked = pd.DataFrame({"colour": ["red", "green", "mauve", None]})
    assert model.predict(asked).tolist() == [True, False, False, False]
    X = np.arange(40.0)[:, None]
    model = CNLLClassifier(1, stopping="none", positive=1).fit(X, (X[:, 0] > 20).astype(int))
    assert clauses(model.rule_graph_) == {frozenset([Compare("x0", ">", 20)])}
    assert model.predict([[None]]).tolist() == [0]
    turned = CNLLClassifier(1, stopping="none", positive=1).fit(X, (X[:, 0] <= 20).astype(int))
    assert turned.predict([[None]]).tolist() == [0]


def test_ordered_categories_are_cut_by_rank() -> None:
    feature = Feature("size", "categorical", ("small", "medium", "large"), ordered=True)
    codes = np.tile(np.array([2, 3, 4], dtype=np.int32), 20)
    model = CNLLClassifier(1, positive=True).fit(Table((feature,), (codes,), 60), codes >= 3)
    assert clauses(model.rule_graph_) == {frozenset([Among("size", ("medium", "large"))])}


@pytest.mark.parametrize(
    "make", [pd.DataFrame, pl.DataFrame, dict, infer], ids=["pandas", "polars", "mapping", "table"]
)
def test_containers_agree(make: Any) -> None:
    X, y = loan_rows(400)
    reference = CNLLClassifier(4, stopping="none").fit(pd.DataFrame(X), y)
    model = CNLLClassifier(4, stopping="none").fit(make(X), y)
    assert model.rule_graph_ == reference.rule_graph_
    assert model.feature_names_in_.tolist() == list(X)
    assert model.n_features_in_ == len(X)
    assert np.array_equal(model.predict(make(X)), reference.predict(pd.DataFrame(X)))


def test_lists_of_mixed_cells_are_read() -> None:
    rows = [["a", 1, True], ["b", 2, False], ["a", 3, None], ["b", 4, True]] * 5
    model = CNLLClassifier(n_folds=2).fit(rows, ["p", "q"] * 10)
    assert model.score(rows, ["p", "q"] * 10) == 1.0


def test_three_classes() -> None:
    X, y = load_wine(return_X_y=True)
    model = CNLLClassifier(6, n_folds=2).fit(X, y)
    graph = model.rule_graph_
    check(graph)
    assert isinstance(graph.decision, ArgMax)
    assert graph.default == graph.decision.preference[0] == 1  # 71 of 178 rows
    assert model.score(X, y) > 0.95
    assert {step["class"] for step in model.history_} == {0, 1, 2}


@pytest.mark.parametrize(("seed", "default"), [(0, None), (1, None), (2, None), (3, 1)])
def test_the_reported_class_is_the_decided_one(seed: int, default: int | None) -> None:
    """Also where no rule fires, and the default class is decided, which may be given."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(150, 3)), rng.integers(0, 4, 150)
    model = CNLLClassifier(3, stopping="none", default=default).fit(X, y)
    decided, proba = model.predict(X), model.predict_proba(X)
    assert np.bincount(decided, minlength=4)[model.rule_graph_.default] > 20
    assert default in (None, model.rule_graph_.default)
    assert np.array_equal(proba.argmax(axis=1), decided)
    assert proba.sum(axis=1) == pytest.approx(np.ones(150))


def test_the_order_of_classes_may_be_an_array() -> None:
    X, y = load_wine(return_X_y=True)
    orders = (np.array([2, 0, 1]), [2, 0, 1], range(3))
    models = [CNLLClassifier(2, ordered=order, stopping="none").fit(X, y) for order in orders]
    assert [list(model.rule_graph_.classes) for model in models] == [[2, 0, 1], [2, 0, 1], [0, 1, 2]]
    assert all(model.classes_.tolist() == [0, 1, 2] for model in models)


def test_ordered_classes_are_decided_by_the_median() -> None:
    X = np.linspace(0, 1, 200)[:, None]
    y = np.array(["low", "mid", "high"])[(X[:, 0] > 0.3).astype(int) + (X[:, 0] > 0.7)]
    model = CNLLClassifier(ordered=("low", "mid", "high"), n_folds=2, max_bins=None).fit(X, y)
    check(model.rule_graph_)
    assert isinstance(model.rule_graph_.decision, Median)
    assert model.rule_graph_.schema.ordered_classes
    assert model.rule_graph_.classes == ("low", "mid", "high")
    assert model.classes_.tolist() == ["high", "low", "mid"]
    assert model.score(X, y) == 1.0
    assert np.array_equal(model.rule_graph_.predict_proba(X).argmax(axis=1), np.searchsorted([0.3, 0.7], X[:, 0]))
    assert np.array_equal(model.classes_[model.predict_proba(X).argmax(axis=1)], model.predict(X))


@pytest.mark.parametrize("class_weight", ["balanced", {"yes": 0.7, "no": 0.3}, {"yes": 1 / 3}, {"no": 1e-3}])
def test_class_weights_count_rows_alike(class_weight: Any) -> None:
    """A row of weight 2 is two rows of it, to the last bit; and no sum depends on the order of the rows."""
    X, labels = loan_rows(128)
    frame = pd.DataFrame(X)
    weight = np.random.default_rng(0).integers(0, 4, 128)
    settings = {"ridge": 2, "min_rows": 3, "class_weight": class_weight, "stopping": "none"}
    weighted = CNLLClassifier(4, **settings).fit(infer(frame), labels, sample_weight=weight)
    repeated = CNLLClassifier(4, **settings).fit(
        infer(frame).take(np.repeat(np.arange(128), weight)), np.repeat(labels, weight)
    )
    assert weighted.rule_graph_ == repeated.rule_graph_
    order = np.random.default_rng(1).permutation(128)
    one = CNLLClassifier(4, **settings).fit(frame, labels, sample_weight=weight + 0.1)
    two = CNLLClassifier(4, **settings).fit(frame.iloc[order], labels[order], sample_weight=weight[order] + 0.1)
    assert one.rule_graph_ == two.rule_graph_


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("size", [5e-324, 1e-300, 2.0**-40, 1e300, 1.7e308])
def test_weights_may_have_any_size(size: float) -> None:
    X, y = loan_rows(100)
    plain = CNLLClassifier(3, ridge=0, stopping="none").fit(X, y)
    for parameters, weight in (({}, size), ({"class_weight": {"yes": size, "no": size}}, 1.0)):
        model = CNLLClassifier(3, ridge=0, stopping="none", **parameters)
        model.fit(X, y, sample_weight=np.full(100, weight))
        assert np.array_equal(model.predict(X), plain.predict(X))
        assert np.isfinite([step["objective"] for step in model.history_]).all()


def test_weights_that_sum_to_one_are_weights() -> None:
    X, y = loan_rows(300)
    settings = {"ridge": 8, "min_rows": 5, "stopping": "none"}
    plain = CNLLClassifier(4, **settings).fit(X, y)
    scaled = CNLLClassifier(4, **settings).fit(X, y, sample_weight=np.full(300, 1 / 300))
    assert scaled.predict_proba(X) == pytest.approx(plain.predict_proba(X), abs=1e-9)


def test_several_threads_may_fit_at_once() -> None:
    X, y = loan_rows(500)
    model = CNLLClassifier(6, **TREE, positive="yes", stopping="none")
    expected = model.fit(X, y).rule_graph_
    with ThreadPoolExecutor(2) as pool:
        assert all(fitted.rule_graph_ == expected for fitted in pool.map(lambda _: clone(model).fit(X, y), range(2)))


def test_class_weights_move_the_errors() -> None:
    X, y = loan_rows(500)
    plain, careful, balanced = (
        CNLLClassifier(8, positive="yes", n_folds=2, class_weight=weight).fit(X, y)
        for weight in (None, {"yes": 20}, "balanced")
    )
    missed = [sum((m.predict(X) == "no") & (y == "yes")) for m in (plain, balanced, careful)]
    assert missed[0] >= missed[1] >= missed[2]
    assert missed[2] < missed[0]


def test_groups_reach_the_inner_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rows of weight zero."""
    import rulekit.learners.data.folds as module

    X, y = loan_rows(60)
    given: list[Any] = []
    original = module.fold_of_rows
    monkeypatch.setattr(module, "fold_of_rows", lambda *args: given.append(args[2]) or original(*args))
    weight = np.arange(60) % 3
    CNLLClassifier(2, n_folds=2).fit(X, y, sample_weight=weight, groups=np.arange(60) // 2)
    assert given[0].tolist() == (np.arange(60) // 2)[weight > 0].tolist()


def test_groups_may_have_any_type_and_none_may_be_missing() -> None:
    X, y = loan_rows(60)
    texts = pd.Series(["a", None] * 30, dtype="string")
    for groups in ([None] * 60, [1.0, np.nan] * 30, [1, "a", None] * 20, texts):
        with pytest.raises(InputError, match=r"the group of row [012] is missing"):
            CNLLClassifier().fit(X, y, groups=groups)
    expected = CNLLClassifier(4, n_folds=2).fit(X, y, groups=np.arange(60) % 20).rule_graph_
    for names in ([str(i % 20) for i in range(60)], [(i if i % 20 < 9 else f"g{i}") for i in np.arange(60) % 20]):
        assert CNLLClassifier(4, n_folds=2).fit(X, y, groups=names).rule_graph_ == expected


def test_no_column_tells_the_classes_apart() -> None:
    model = CNLLClassifier().fit(np.ones((9, 2)), [0] * 6 + [1] * 3)
    check(model.rule_graph_)
    assert model.predict([[1.0, 1.0]]).tolist() == [0]
    assert model.predict_proba([[5.0, 1.0]])[0, 1] == pytest.approx(1 / 3, abs=1e-4)


def test_callback_cancels_and_the_model_says_so() -> None:
    X, y = exclusive_or(0)
    seen: list[dict[str, Any]] = []

    def cancel(event: Any) -> bool:
        seen.append(dict(event))
        return event["unit"] == 2

    provenance = CNLLClassifier(callback=cancel).fit(X, y).rule_graph_.provenance
    assert (provenance["stopped"], provenance["units"]) == ("cancelled", [2])
    assert [event["unit"] for event in seen] == [1, 2]
    assert seen[0].keys() == {"class", "unit", "n_units", "objective", "error", "questions", "folds"}


def test_ctrl_c_keeps_the_best_so_far() -> None:
    X, y = exclusive_or(0)

    def interrupted(name: str, value: int, most: int) -> CNLLClassifier:
        def interrupt(event: Any) -> bool:
            if event.get(name) == value:
                raise KeyboardInterrupt
            return False

        model = CNLLClassifier(most, callback=interrupt).fit(X, y)
        assert model.rule_graph_.provenance["stopped"] == "interrupted"
        return model

    model = interrupted("unit", 3, 20)
    assert model.curve_[0].wrong.shape == (1, 3)
    assert model.rule_graph_.provenance["units"] == [model.curve_[0].best()]
    model = interrupted("fold", 2, 6)
    assert model.curve_[0].folds == 2
    assert model.score(X, y) > 0.99


def test_formulas_that_were_not_reached_have_no_units() -> None:
    """They keep the share of their class, and the provenance says so."""
    X, y = load_wine(return_X_y=True)
    model = CNLLClassifier(callback=lambda event: event["class"] == 1).fit(X, y)
    check(model.rule_graph_)
    provenance = model.rule_graph_.provenance
    assert provenance["stopped"] == "cancelled"
    assert provenance["units"] == [1, 1, 0]
    assert "the model has 2 units; none for class 2" in repr(model.path_)  # it was "1 + 1 + 0 units"
    assert model.path_.size_text([0, 1, 0]) == "1 unit; none for classes 0 and 2"
    assert model.path_.size_text([0, 0, 0]) == "0 units"


def test_a_rare_class_of_ordered_ones_is_learned() -> None:
    """Bits of a rare class start far below 1/2; growth was stuck, and its one unit never fired."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (1500, 6)).astype(np.float64)
    y = (X[:, 0] == 0).astype(int) + (X[:, :4] == 0).all(axis=1)
    model = CNLLClassifier(ordered=(0, 1, 2), n_folds=2).fit(X, y)
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize("cut", [1, 2, 5])
def test_a_stop_keeps_the_best_size_that_was_checked(cut: int) -> None:
    """The largest model once was kept, unchecked; and late classes had no rule where the first had many."""
    rng = np.random.default_rng(cut)
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 4, 300)
    y[X[:, 0] > 0.5] = 3
    seen: list[tuple[Any, int]] = []

    def interrupt(event: Any) -> bool:
        seen.append((event["class"], event["unit"]))
        if len(seen) == 4 * cut + 2:
            raise KeyboardInterrupt
        return False

    model = CNLLClassifier(20, callback=interrupt).fit(X, y)
    assert seen[:8] == [(k, unit) for unit in (1, 2) for k in range(4)][: len(seen)]
    assert model.rule_graph_.provenance["stopped"] == "interrupted"
    for chosen, curve in zip(model.path_.chosen, model.curve_, strict=True):
        assert curve is None or chosen == min(curve.best(), curve.wrong.shape[1])
    assert all(1 <= units <= cut + 1 for units in model.rule_graph_.provenance["units"])
    assert cut == 1 or None not in model.curve_
    assert min(model.rule_graph_.provenance["units"]) < cut + 1


def test_an_interrupted_step_is_not_in_the_history(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bit was joined, and backfit was cut short: the formula is the one before."""
    import rulekit.learners.cnll.learner as module

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_backfit", interrupt)
    X, y = loan_rows(200)
    model = CNLLClassifier(5, backfit=3, stopping="none").fit(X, y)
    assert model.rule_graph_.provenance["units"] == [2]
    assert [step["unit"] for step in model.history_] == [1, 2]
    assert model.history_[-1]["error"] == pytest.approx(1 - model.score(X, y))


def test_provenance_has_no_clock_and_no_host_and_names_the_data_as_the_tables_do() -> None:
    X, y = exclusive_or(0)
    one, two = (
        CNLLClassifier(2, stopping="none", callback=lambda event: False).fit(X, y).rule_graph_.provenance
        for _ in range(2)
    )
    assert one == two
    assert one["learner"] == "CNLLClassifier"
    assert one["rows"] == 3000
    assert "callback" not in one["parameters"]
    frame = pl.DataFrame({"x": [1.0, 2.0, 3.0, 4.0], "y": ["a", "b", "a", "b"]})
    named = CNLLClassifier(target="y").fit(frame[["x"]], frame["y"]).rule_graph_.provenance["data"]
    assert named == data_hash(split_labels(frame, ReadingOptions("y", positive="b"))) != one["data"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"positive": "maybe"}, "positive names 'maybe', which is no class"),
        ({"class_weight": {"maybe": 2}}, "class_weight names 'maybe'"),
        ({"ordered": ("yes",)}, "ordered leaves out the class 'no'"),
        ({"ordered": ("yes", "no", "yes")}, "ordered names the class 'yes' twice"),
        ({"ordered": ("yes", "no"), "positive": "yes"}, "positive is 'yes', but 'no' is the highest"),
        ({"ordered": ("yes", "no"), "default": "no"}, "default is for more than two classes"),
        ({"default": "maybe"}, "default names 'maybe', which is no class"),
        ({"default": "yes"}, "default is for more than two classes"),
        ({"cost": {"maybe": 2}}, "cost names 'maybe'"),
        ({"cost": [[0, 1, 1], [1, 0, 1], [1, 1, 0]]}, r"costs of shape \(3, 3\) for 2 classes"),
        ({"cost": [[1, 1], [1, 0]]}, "a right decision has a cost"),
        ({"cost": "1:2:3"}, "write FP:FN"),
        ({"cost": {"yes": 0}}, "a cost of 0"),
        ({"types": {"incme": "numeric"}}, "no column 'incme'.*did you mean 'income'"),
        ({"types": {"income": "number"}}, "no kind 'number'"),
    ],
)
def test_wrong_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    X, y = loan_rows(50)
    with pytest.raises(InputError, match=message):
        CNLLClassifier(**parameters).fit(X, y)


WRONG = {
    "n_units": ("many", 0, 2.0, True, None, float("nan")),
    "ridge": (-1, "8", "auto"),
    "refit": (-1, 1.5, True, None),
    "backfit": (-1, "2", None),
    "max_bins": (1, 4.0, "auto", True),
    "stopping": (None, "loo"),
    "n_folds": (1, 5.0, None),
    "parsimony": (-0.1, None, "one"),
    "min_rows": (-1, None, "5"),
    "min_level_rows": (-1, "10", True),
    "max_features": (0, 2.0, "2", True),
    "max_clauses": (0, 2.5, "all", True),
    "max_literals": (-1, 2.0, [2], True),
    "max_total_clauses": (0, 2.5, "all"),
    "max_total_literals": (-1, 2.0, [2]),
    "size": (0, 1.5, "3"),
    "start": ("rules.txt", {}),
    "freeze": ("some", None, [1], 3),
    "class_weight": ("fair", {"yes": 0}, {"yes": "2"}, 3),
    "ordered": ("yes,no", 3, {"yes", "no"}),
    "target": ("", 3),
    "types": ("numeric", {"x": 3}, ["x=numeric"]),
    "missing": ("?", {"x": "?"}, [3]),
    "units": ("EUR", {3: "EUR"}),
    "roles": ("use", {"x": None}),
    "unseen": ("error", 3),
    "precision": ("float64", {"x": 64}),
    "cost": (-1, [], {"yes": "5"}, [[0, -1], [1, 0]], (1, float("nan"))),
    "random_state": ("x", -1, 1.5, True),
    "n_threads": (0, 1.5, "2", True),
    "memory": (0, -1, "much", "0MB", True, "-5MB", float("nan")),
    "time_limit": (-1, "soon", True, float("nan")),
    "callback": (3, "print"),
    "verbose": (2, "yes", None),
    "monotone": ({"x": 1}, "x=increasing", ["x"]),
    "forbid": ("x", ["x", 3], 3),
    "require": ("x > 3 -> yes", [3]),
    "missing_never_helps": (None, 1, "yes"),
}


@pytest.mark.parametrize("name", sorted(set(CNLLClassifier.parameters) - {"positive", "default"}))
def test_every_parameter_has_a_type_and_a_range(name: str) -> None:
    """Before any work: X is not even looked at. A wrong type once was a TypeError from somewhere inside."""
    for value in WRONG[name]:
        with pytest.raises(InputError) as caught:
            CNLLClassifier(**{name: value}).fit(None, None)
        message = str(caught.value)
        assert f"{name} is {value!r}; " in message
        allowed = CNLLClassifier.parameters[name].allowed
        assert allowed.words in message
        assert ("None, or" in message) == allowed.optional
        assert "\n" not in message


def test_every_parameter_is_in_the_table() -> None:
    free = {"positive", "default"}  # any class label
    assert set(CNLLClassifier.parameters) == set(CNLLClassifier().given_parameters()) == free | set(WRONG)
    assert all(parameter.help for parameter in CNLLClassifier.parameters.values())


def test_numbers_of_numpy_are_numbers() -> None:
    X, y = loan_rows(100)
    parameters = {"n_units": np.int64(2), "ridge": np.float32(1), "random_state": np.random.RandomState(0)}
    assert CNLLClassifier(**parameters).fit(X, y).rule_graph_.provenance["units"]


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", None] * 20, dtype="string"),
        pd.Series(["a", None] * 20, dtype=object),
        pd.Series([1, pd.NA] * 20, dtype=object),
        pd.Series([1, None] * 20, dtype="Int64"),
        pd.Series([True, None] * 20, dtype="boolean"),
        np.array([1.0, np.nan] * 20),
        [0.0, np.nan] * 20,
        ["a", None] * 20,
    ],
)
def test_a_missing_label_is_named(labels: Any) -> None:
    with pytest.raises(InputError, match="the label of row 1 is missing"):
        CNLLClassifier().fit(np.eye(40), labels)


@pytest.mark.parametrize("one", [1, True, 1.0, np.int8(1), np.True_])
def test_labels_in_an_array_of_objects_are_what_they_are(one: Any) -> None:
    labels = np.array([one, type(one)(0)] * 10, dtype=object)
    model = CNLLClassifier(1, stopping="none").fit(np.arange(20).reshape(-1, 1) % 2, labels)
    assert model.classes_.dtype == np.asarray([one.item() if isinstance(one, np.generic) else one]).dtype
    assert model.score(np.arange(20).reshape(-1, 1) % 2, labels.astype(type(one))) == 1.0


def test_wrong_data_are_named() -> None:
    X, y, schema = (
        np.arange(6.0)[:, None],
        [0, 1] * 3,
        Schema((Feature("x0"),), constraints=Constraints(together=(("x0",),))),
    )
    numbers = (X[:, 0].astype(np.float32),)
    promised = "together 'x0': CNLLClassifier cannot promise which columns"
    for data, labels, weight, said in (
        (X, np.ones(6, dtype=int), None, "only one class, 1"),
        (X, np.array(["a", 1, "b"] * 2, dtype=object), None, "labels mix text with int"),
        (X, pd.to_datetime(["2020-01-01", "2020-01-02"] * 3), None, "the labels are dates or times"),
        (X, y, [1, 1, -1, 1, 1, 1], "weight is negative"),
        (X, y, np.zeros(6), "weights are all zero"),
        (pd.DataFrame(np.eye(6)[:, :4], columns=list("abca")), y, None, "two columns are called 'a'"),
        (encode({"x0": X[:, 0]}, schema).take(np.arange(6)), y, None, promised),
        (encode(Table((Feature("x0"),), numbers, 6), schema), y, None, promised),
    ):
        with pytest.raises(InputError, match=said):
            CNLLClassifier().fit(data, labels, sample_weight=weight)


def test_forbidden_and_audit_columns_are_not_used() -> None:
    X, y = exclusive_or(0)
    label = y.astype(np.float32)
    features = (Feature("a"), Feature("b"), Feature("leak", role="forbidden"), Feature("seen", role="audit"))
    table = Table(features, (*(X[:, j].astype(np.float32) for j in range(2)), label, label), len(y))
    model = CNLLClassifier(4, stopping="none").fit(table, y)
    assert set(model.rule_graph_.used_features) == {"a", "b"}


def test_ten_thousand_levels() -> None:
    rng = np.random.default_rng(0)
    level = rng.integers(0, 10_000, 20_000)
    frame = pd.DataFrame({"code": level.astype(str)}).astype({"code": "category"})
    model = CNLLClassifier(2, stopping="none", min_level_rows=1).fit(frame, level % 3 == 0)
    assert model.score(frame, level % 3 == 0) == 1.0


def test_a_level_for_each_row_is_not_learned_by_heart() -> None:
    """The best condition once was a list of half of all levels, right on every training row and on no other."""
    rng = np.random.default_rng(0)
    n = 2000
    x = rng.random(n)
    y = (x > 0.5) ^ (rng.random(n) < 0.1)
    frame = pd.DataFrame({"code": [f"id{i}" for i in range(n)], "pair": [f"p{i // 2}" for i in range(n)], "x": x})
    model = CNLLClassifier(n_folds=2).fit(frame, y)
    assert model.rule_graph_.used_features == ("x",)


def test_noise_features_are_left_alone() -> None:
    X, y = noisy_logical("I", 1000, 5)
    model = CNLLClassifier(n_folds=2).fit(X, y)
    expected = {frozenset([IsTrue("x0"), IsTrue("x1")]), frozenset([IsTrue("x2"), IsTrue("x3")])}
    assert clauses(model.rule_graph_) == expected


# Scikit-learn's own checks, none of which is expected to fail ---------------------------------------------------------


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("estimator", "first"),
    [
        (CNLLClassifier(), False),
        (CNLLClassifier(2, n_folds=2), True),
        (CNLLPaperClassifier(4, algorithm="I", weak="llr", stopping="none"), False),
    ],
    ids=["default", "small", "paper"],
)
def test_check_estimator(estimator: Any, first: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """first: of two classes the first in sorted order is the positive one, whatever they are called."""
    if first:
        monkeypatch.setattr(rule_learner, "class_order", _first_is_positive)
    results = check_estimator(estimator, on_fail=None, on_skip=None)
    failed = [(r["check_name"], repr(r["exception"])) for r in results if r["status"] not in ("passed", "skipped")]
    assert failed == []
    assert len(results) > 50


def _first_is_positive(learner: str, classes: tuple[Any, ...], *others: Any) -> list[int]:
    return list(range(len(classes)))[::-1] if len(classes) == 2 else list(range(len(classes)))
