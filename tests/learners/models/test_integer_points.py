"""Whole points in the place of real ones."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import AdaBoostStumpClassifier, AdditiveRulesClassifier
from rulekit.audit.checks.checking import check_model, unproved
from rulekit.audit.threshold import with_threshold
from rulekit.cells.sums import attainable_totals
from rulekit.graph.nodes import Above, Step
from rulekit.learners.models.integer_points import Links, Parts, by_total, calibrated, whole_points
from rulekit.shown.score_cards import score_table, total_of
from rulekit.synthetic import loans
from rulekit.verification.proof.prove import guarantee


def _random_parts(seed: int) -> Parts:
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 5, int(rng.integers(1, 6)))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values, fixed = list[float](), list[bool]()
    for size in sizes:
        own = np.sort(rng.normal(0.0, 1.5, size))
        stays = int(rng.integers(size))
        values += (own - own[stays]).tolist()
        fixed += [k == stays for k in range(size)]
    cells = int(rng.integers(1, 60))
    groups = starts[:-1] + (rng.random((cells, len(sizes))) * sizes).astype(np.int64)
    offset = float(rng.normal())
    said = 1.0 / (1.0 + np.exp(-(np.array(values)[groups].sum(axis=1) + offset)))
    weights = rng.integers(1, 9, cells)
    counts = np.stack([weights * (1.0 - said), weights * said], axis=1)
    return Parts(groups, starts, np.array(values), np.array(fixed), offset, counts)


def _loss(parts: Parts, points: np.ndarray) -> float:
    totals = parts.totals(points)
    table = by_total(parts.counts, totals - totals.min(), int(np.ptp(totals)) + 1)
    axis = np.arange(totals.min(), totals.max() + 1.0)
    return float(calibrated(table[None], axis, Links.single(0.1, parts.offset), 60).loss[0])


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), most=st.sampled_from((1, 3, 10, 40)))
def test_points_are_bounded_ordered_and_no_worse_than_rounded_ones(seed: int, most: int) -> None:
    parts = _random_parts(seed)
    largest = np.abs(parts.values).max()

    found = whole_points(parts, most)

    assert np.abs(found.points).max() <= most
    assert not found.points[parts.fixed].any()
    for own in np.split(found.points, parts.starts[1:-1]):
        assert (np.diff(own) >= 0).all()
    rounded = np.rint(parts.values * (most / largest)).astype(np.int64)
    assert found.loss <= _loss(parts, rounded) * (1.0 + 3e-4) + 1e-9
    assert found.loss == pytest.approx(_loss(parts, found.points), rel=1e-6, abs=1e-9)
    assert whole_points(parts, most).points.tolist() == found.points.tolist()


LEARNERS = [(AdditiveRulesClassifier, {"max_rules": 4}), (AdaBoostStumpClassifier, {"n_estimators": 12})]


@pytest.fixture(scope="module")
def rows() -> tuple[dict[str, list[object]], list[str]]:
    columns = dict(loans(400, seed=3))
    labels = columns.pop("default")
    return columns, labels


@pytest.mark.parametrize(("learner", "size"), LEARNERS)
def test_a_score_card_has_whole_points_and_its_threshold_half_way(learner, size, rows) -> None:  # type: ignore[no-untyped-def]
    model = learner(points=True, stopping="none", target="default", **size).fit(*rows)
    graph = model.rule_graph_
    total = total_of(graph)
    assert total is not None
    decision = graph.decision.roots[0]
    assert isinstance(decision, Above)

    points = [value for w, node in total.terms for value in (node.values if isinstance(node, Step) else (w,))]
    totals = attainable_totals(total, graph.schema)
    table = score_table(graph)

    assert all(value.is_integer() and abs(value) <= 10 for value in points)
    assert total.bias == 0.0
    assert totals is not None
    assert table is not None
    below = max(value for value in totals if value < decision.threshold)
    assert decision.threshold == (below + totals[totals.index(below) + 1]) / 2
    assert [row.positive for row in table] == [row.probability > 0.5 for row in table]
    chances = [row.probability for row in table]
    assert chances == sorted(chances)
    assert guarantee(graph).basis == "grid sum"
    moved = with_threshold(graph, 0.2)
    assert guarantee(moved).basis == "grid sum"
    root = moved.decision.roots[0]
    assert isinstance(root, Above)
    assert root.score is total
    assert [value > root.threshold for value in totals] == [row.probability > 0.2 for row in table]


@pytest.mark.parametrize("points", [3, 10])
def test_the_largest_point_may_be_said(points: int, rows) -> None:  # type: ignore[no-untyped-def]
    model = AdditiveRulesClassifier(6, points=points, stopping="none").fit(*rows)

    total = total_of(model.rule_graph_)

    assert total is not None
    assert max(map(abs, total.weights)) <= points


@pytest.mark.parametrize(("learner", "size"), LEARNERS)
def test_classes_that_compete_have_points_on_one_scale(learner, size, rows) -> None:  # type: ignore[no-untyped-def]
    columns, labels = rows
    income = np.nan_to_num(np.asarray(columns["income"], dtype=float), nan=4e4)
    three = np.where(income > 70_000, "low", np.where(np.asarray(labels) == "yes", "high", "mid"))
    for ordered in (None, ["low", "mid", "high"]):
        settings = {"stopping": "none", "ordered": ordered, **size}
        real, whole = (learner(points=points, **settings).fit(columns, three) for points in (False, True))
        graph = whole.rule_graph_

        assert whole.score(columns, three) >= real.score(columns, three) - 0.03
        assert guarantee(graph).basis == "grid sum"
        chances = graph.predict_proba(columns)
        assert np.allclose(chances.sum(axis=1), 1.0)
        most_likely = np.asarray(graph.classes)[chances.argmax(axis=1)]
        assert (most_likely == graph.predict(columns)).mean() > 0.9


@pytest.mark.parametrize(("learner", "size"), LEARNERS)
def test_promises_are_proved_with_whole_points(learner, size, rows) -> None:  # type: ignore[no-untyped-def]
    promises = {"monotone": {"late_payments": "increasing", "income": "decreasing"}, "missing_never_helps": True}
    model = learner(points=True, stopping="none", positive="yes", **promises, **size).fit(*rows)

    assert unproved(model.rule_graph_) == ()
    assert check_model(model.rule_graph_).verdicts


@pytest.mark.parametrize(("learner", "size"), LEARNERS)
def test_points_depend_neither_on_the_order_of_rows_nor_on_where_they_are_kept(learner, size, rows) -> None:  # type: ignore[no-untyped-def]
    columns, labels = rows
    order = np.random.default_rng(0).permutation(len(labels))
    shuffled = {name: [values[i] for i in order] for name, values in columns.items()}
    settings = {"points": True, "stopping": "none", "positive": "yes", **size}

    first = learner(**settings).fit(columns, labels).rule_graph_

    assert learner(**settings).fit(shuffled, [labels[i] for i in order]).rule_graph_ == first
    assert learner(memory="2GB", n_threads=1, **settings).fit(columns, labels).rule_graph_ == first
