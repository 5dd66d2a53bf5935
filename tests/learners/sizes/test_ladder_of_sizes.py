"""The ladder: each row is the training of that size, survives the file, and has the error of the whole model."""

from __future__ import annotations

import functools
import json
from typing import Any

import numpy as np
import pytest
from cnll_cases import loan_rows
from sklearn.metrics import f1_score

from rulekit import CNLLClassifier, RulesClassifier, load
from rulekit.errors import FormatError, InputError
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts, rules_of
from rulekit.graph.variants import resized
from rulekit.learners.base import RuleClassifier
from rulekit.learners.boosting.estimator import AdaBoostStumpClassifier
from rulekit.learners.sizes.choice import Curve
from rulekit.learners.sizes.path import joint_curve, row_sizes
from rulekit.simplification.passes import simplify


def three_classes(seed: int = 0, n: int = 300) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n, 4)), 2)
    high = X[:, 0] + 0.2 * rng.random(n) > 0.75
    return X, np.where(high, "c", np.where(X[:, 1] > 0.6, "b", "a"))


def fits() -> dict[str, tuple[RuleClassifier, Any, Any]]:
    return {
        "two": (RulesClassifier(6, positive="yes", n_folds=3), *loan_rows(300)),
        "several": (RulesClassifier(3, n_folds=2), *three_classes()),
        "ranked": (RulesClassifier(3, n_folds=2, ordered=["a", "b", "c"]), *three_classes()),
        "stumps": (AdaBoostStumpClassifier(6, n_folds=2), *three_classes()),
        "limits": (RulesClassifier(3, n_folds=2, max_total_clauses=3), *three_classes()),
    }


def with_ladder(model: RuleClassifier) -> RuleGraph:
    """The fitted model with its ladder; statistics that name the row, so that none is taken for another's."""
    ladder = model.path_.ladder(
        lambda graph: graph.with_(statistics={"columns": {}, "units": graph.provenance["units"]})
    )
    return ladder.at(ladder.chosen).model.with_(ladder=ladder)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", fits())
def test_a_row_is_the_training_of_its_size_and_comes_back_from_the_file(kind: str) -> None:
    estimator, X, y = fits()[kind]
    graph = with_ladder(estimator.fit(X, y))
    assert graph.ladder is not None
    read = from_json(to_json(graph))
    for size in graph.ladder.sizes:
        alone = estimator.set_params(size=size).fit(X, y)
        for model in (
            resized(graph, size),
            resized(read, size),
            resized(from_json(to_json(resized(read, size))), size),
        ):
            assert model == alone.rule_graph_
            assert model.ladder is not None
            assert (model.ladder.chosen, alone.ladder_.chosen) == (size, size)
            assert model.statistics["units"] == model.provenance["units"]
            assert [rung.error for rung in model.ladder.rungs] == [rung.error for rung in graph.ladder.rungs]
        assert resized(resized(read, size), graph.ladder.chosen) == graph


def test_the_error_of_a_row_is_that_of_the_joined_model_on_held_out_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the loop says, against models that are trained without each fold and decide its rows."""
    import rulekit.learners.sizes.path as module

    X, y = three_classes()
    rows: list[Any] = []

    def kept(frame: Any, runs: Any, wanted: Any, *rest: Any) -> Any:
        rows.extend(wanted)
        return joint_curve(frame, runs, wanted, *rest)

    monkeypatch.setattr(module, "joint_curve", kept)
    kind: dict[str, Any] = {"n_units": 3, "n_folds": 3, "max_bins": None, "backfit": 0, "min_rows": 1.0}
    model = CNLLClassifier(**kind).fit(X, y)
    wrong, decided = np.zeros(len(rows)), np.zeros((len(rows), len(y)), dtype=y.dtype)
    for fold in range(3):
        held = model.folds_ == fold
        alone = CNLLClassifier(**kind, stopping="none").fit(X[~held], y[~held])
        for j, places in enumerate(rows):
            graph = alone.path_.graph(
                [min(a, len(p.candidates)) for a, p in zip(places, alone.path_.paths, strict=True)]
            )
            decided[j, held] = graph.predict(X[held])
            wrong[j] += np.sum(decided[j, held] != y[held])
    told = [model.path_.errors[size][0] for size in model.path_.rows]
    # A value that a fold does not have lies between two others, on a side that the whole table decides.
    np.testing.assert_allclose(told, wrong / len(y), atol=0.02)
    told = [model.path_.errors[size][2] for size in model.path_.rows]
    np.testing.assert_allclose(told, [f1_score(y, each, average="macro") for each in decided], atol=0.03)


def test_a_fit_keeps_its_ladder_so_that_another_size_needs_no_training() -> None:
    X = np.round(np.random.default_rng(3).random((400, 4)), 2)
    y = np.where((X[:, 0] > 0.6) | (X[:, 1] * X[:, 2] > 0.5), "yes", "no")
    kind: dict[str, Any] = {"n_units": 4, "positive": "yes", "n_folds": 3}
    model = CNLLClassifier(**kind).fit(X, y)
    ladder = model.rule_graph_.ladder
    assert ladder is not None
    assert ladder is model.ladder_
    assert ladder.at(ladder.chosen).model.statistics == model.rule_graph_.statistics
    least = ladder.sizes[0]
    assert resized(from_json(to_json(model.rule_graph_)), least) == model.path_.graph(model.path_.rows[least])
    assert CNLLClassifier(**kind, stopping="none").fit(X, y).rule_graph_.ladder is None

    decided = np.full((len(ladder.sizes), len(y)), "", dtype=object)
    for fold in range(3):
        held = model.folds_ == fold
        path = CNLLClassifier(**kind, stopping="none").fit(X[~held], y[~held]).path_
        for j, size in enumerate(ladder.sizes):
            decided[j, held] = path.graph_at(min(size, len(path))).predict(X[held])
    told = [rung.macro_f1 for rung in ladder.rungs]
    np.testing.assert_allclose(told, [f1_score(y, each, average="macro") for each in decided], atol=0.04)


def test_classes_that_compete_are_sized_together() -> None:
    X, y = three_classes(1)
    model = RulesClassifier(4, n_folds=2).fit(X, y)
    best = min(error for error, *_ in model.path_.errors.values())
    assert model.path_.errors[model.path_.size][0] <= best + 0.02
    small = RulesClassifier(4, n_folds=2, parsimony=1.0).fit(X, y)
    assert small.ladder_.chosen == small.ladder_.smallest


def test_a_ladder_says_where_there_is_no_rule_or_none_of_the_size_that_was_asked_for() -> None:
    """A row of one size without any rule was once taken as "all rules that were found"."""
    rng = np.random.default_rng(0)
    X, noise = np.round(4 * rng.random((200, 3))), rng.random(200) < 0.25
    without, nowhere, small = (
        RulesClassifier(n_folds=2, random_state=0).fit(X, noise).ladder_,
        RulesClassifier(n_folds=2).fit(np.ones((200, 1)), noise).ladder_,
        RulesClassifier(size=5, n_folds=2).fit(X, X[:, 0] > 2).ladder_,
    )
    assert (without.chosen, without.why) == (0, "no rule was found")
    assert (nowhere.sizes, nowhere.why) == ((0,), "no rule was found")
    assert (small.sizes, small.why) == ((1,), "size 5 was asked for, the largest that was found is 1")


def test_sizes_that_simplify_to_the_same_rules_are_one_row() -> None:
    """A size whose second rule went in simplifying was once a row of two rules, beside the same row of one."""
    rng = np.random.default_rng(48)
    n, d, top = int(rng.integers(60, 250)), int(rng.integers(1, 4)), int(rng.integers(2, 6))
    X = rng.integers(0, top, (n, d)).astype(float)
    k = int(rng.integers(2, 4))
    y = (X[:, 0] + X[:, -1] * rng.integers(0, 2) + rng.integers(0, 2, n) * (rng.random(n) < 0.3)).astype(int) % k
    path = RulesClassifier(8, n_folds=2, positive=1 if k == 2 else None).fit(X, y).path_

    ladder = path.ladder(simplify)

    decisions = [rung.model.decision for rung in ladder.rungs]
    every = [path.chosen, *path.rows.values()] if path.size == 0 else list(path.rows.values())
    assert len(set(decisions)) == len(decisions) < len(every)
    assert set(decisions) == {simplify(path.graph(places)).decision for places in every}
    taken, fitted = ladder.at(ladder.chosen).model, simplify(path.graph(path.chosen))
    assert (taken, taken.provenance["units"]) == (fitted, fitted.provenance["units"])
    for rung in ladder.rungs:
        assert rung.rules == counts(rung.model).rules == len(rules_of(rung.model))
        assert ladder.within(rung.most).most == rung.most
        assert resized(fitted.with_(ladder=ladder), rung.size) == rung.model


def test_what_held_out_rows_let_a_model_have() -> None:
    """All places that paid for themselves; the best where the last is worse than no rule; none where that is too."""
    weights, nothing = np.full(3, 100.0), np.array([20.0, 21, 19])
    falling = Curve(np.array([[18.0, 15, 16], [19, 15, 16], [17, 14, 15]]), weights, nothing=nothing)
    rising = Curve(np.array([[18.0, 25, 30], [19, 25, 31], [17, 24, 30]]), weights, nothing=nothing)
    useless = Curve(np.array([[22.0, 25, 30], [23, 25, 31], [21, 24, 30]]), weights, nothing=nothing)
    stay = {"parsimony": 0.0, "all_stay": True}
    assert [curve.taken(3, **stay) for curve in (falling, rising, useless)] == [3, 1, 0]
    assert falling.taken(3, **stay, jointly=True) == 2
    assert [curve.taken(3, 0.0, all_stay=False) for curve in (falling, useless)] == [2, 0]


@pytest.mark.parametrize("longest", [1, 7, 8, 9, 20, 100, 500])
def test_rows_fit_on_a_screen(longest: int) -> None:
    sizes = row_sizes(longest)
    assert sizes[0] == 1
    assert sizes[-1] == longest
    assert len(sizes) <= 12
    assert list(sizes) == sorted(set(sizes))


def test_another_decision_has_no_ladder() -> None:
    graph = from_json(small_file())
    assert graph.with_(provenance={}).ladder is graph.ladder
    assert graph.with_(classes=("n", "y")).ladder is None
    with pytest.raises(InputError, match="no ladder"):
        resized(graph.with_(ladder=None), 1)
    with pytest.raises(InputError, match="no row of size 99; it has 1, "):
        resized(graph, 99)


@functools.cache
def small_file() -> str:
    return to_json(with_ladder(RulesClassifier(4, positive="yes", n_folds=2).fit(*loan_rows(200))))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("ladder",), [], "ladder: the ladder must be an object"),
        (("ladder", "chosen"), 77, "no row of size 77|unknown key|no key"),
        (("ladder", "chosen"), -1, "ladder: "),
        (("ladder", "rungs"), [{}] * 65, "65 rows are more than the 64"),
        (("ladder", "rungs", 0, "error"), 1e400, "Infinity|a share|number"),
        (("ladder", "rungs", 0, "error"), 2, "a share from 0 to 1"),
        (("ladder", "rungs", 0, "digest"), "0" * 64, "row 1: the digest is not that of the row"),
        (("ladder", "rungs", 0, "decision"), {"type": "Fires", "formula": "000000"}, "row 1: decision: "),
        (("ladder", "rungs", 0, "statistics"), {"rules": [{"id": 7}]}, "row 1: .*id"),
        (("ladder", "rungs", 0, "provenance"), {"units": "many"}, "row 1: .*units"),
        (("ladder", "nodes", 0, "type"), "Spell", "unknown node type"),
    ],
)
def test_a_hostile_ladder_is_one_line(tmp_path: Any, path: tuple[Any, ...], value: Any, message: str) -> None:
    data = place = json.loads(small_file())
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / "m.json"
    file.write_text(json.dumps(data))
    with pytest.raises(FormatError, match=message) as caught:
        load(file)
    assert "\n" not in str(caught.value)
