"""Figures of rows on disk, and as they stay with a model file; test_numbers of the report recomputes them."""

from __future__ import annotations

from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_rows import part_of, pieces

import rulekit
from rulekit import RulesClassifier
from rulekit.arrays import ends_of, exponent_of
from rulekit.audit.figures import metrics
from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.audit.figures.metrics import (
    area_under_curve,
    figures,
    figures_of,
    kept_baselines,
    kept_figures,
    measured,
    part_answers,
    together,
    with_kept_figures,
)
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires, Median
from rulekit.graph.evaluation.evaluator import probabilities
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.nodes import TRUE, Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.synthetic import loans, write_csv
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Budget, Table
from rulekit.work.training import TrainingRequest, train


def test_a_class_that_does_not_occur_leaves_no_hole() -> None:
    found = figures(np.array([0, 0]), np.array([0, 0]), np.array([[1.0, 0.0], [1.0, 0.0]]), ("a", "b"))
    assert found.auc is None
    assert found.accuracy == 1.0
    assert found.log_loss == pytest.approx(0.0, abs=1e-12)


def flat(value: Any) -> list[Any]:
    return [x for part in value for x in flat(part)] if isinstance(value, tuple | list) else [value]


@pytest.mark.parametrize("weight", [None, "w"])
def test_figures_of_rows_on_disk(tmp_path: Any, weight: str | None) -> None:
    rng = np.random.default_rng(0)
    n = 400
    frame = pl.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 5, n), "w": rng.integers(1, 4, n)})
    y = np.where((frame["a"] > 0).to_numpy() ^ (rng.random(n) < 0.2), "yes", "no")
    path = tmp_path / "t.csv"
    frame.with_columns(pl.Series("y", y)).write_csv(path)
    whole, parts = (read_labelled(path, ReadingOptions("y", weight=weight), *of) for of in ((), (Budget(10**9),)))
    graph = RulesClassifier(3, stopping="none", target="y").fit(parts).rule_graph_
    expected, found = (flat(astuple(measured(graph, rows))) for rows in (whole, parts))
    assert [x for x in found if isinstance(x, str)] == [x for x in expected if isinstance(x, str)]
    numbers = [[x for x in figures if not isinstance(x, str)] for figures in (found, expected)]
    np.testing.assert_allclose(*numbers, rtol=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("weighted", [None, "ones", "any"])
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("k", [2, 3])
def test_parts_add_up_to_the_figures_of_all_rows(
    k: int, few: bool, weighted: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng, n = np.random.default_rng(count), 900
    x = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n)).astype(np.float32)
    codes = rng.integers(0, 4, n).astype(np.int32)
    features = (Feature("x"), Feature("c", "categorical", ("a", "b")))
    sums = [
        rg.Linear(((1.0 + i, rg.Column("x", 0.25, -2.0, 2.0)), (i, rg.Among("c", ("a",)))), -i / 2) for i in range(3)
    ]
    scores = [rg.Logistic(each) for each in sums]
    third = rg.Difference(rg.Probability(TRUE), scores[0])
    decisions = {2: Fires(rg.Above(sums[0], 0.0)), 3: Median((rg.Above(sums[1], 0.0), rg.Above(sums[2], 0.5)))}
    reported = {2: (scores[0],), 3: (third, rg.Difference(scores[0], scores[0]), scores[0])}
    graph = RuleGraph(Schema(features), tuple("abc"[:k]), decisions[k], reported[k])
    table, y = Table(features, (x, codes), n), rng.integers(0, k, n)
    weights = {None: None, "ones": np.ones(n), "any": np.where(rng.random(n) < 0.5, 1.0, rng.random(n) * 1e-9)}
    weight = weights[weighted]
    whole = LabelledTable(table, y, graph.classes, weight)
    exact = measured(graph, whole)
    if not few:
        monkeypatch.setattr(metrics, "_EXACT_CHANCES", n)
    monkeypatch.setattr(metrics, "_WAITING", 100)
    expected = measured(graph, whole)
    assert expected == replace(exact, auc=expected.auc)
    assert expected.auc == pytest.approx(exact.auc, abs=1e-5)
    exponent = None if weight is None else exponent_of(*ends_of(weight))
    parts = [part_of(whole, own) for own in pieces(n, count, rng)]
    answers = [part_answers(graph, each.table, each.y, each.weight, exponent, n) for each in parts]
    assert figures_of(together(answers), graph.classes) == expected
    assert figures(y, graph.decide(table), probabilities(graph, table), graph.classes, weight) == expected


@settings(max_examples=60, deadline=None)
@given(data=st.data(), n=st.integers(2, 40), weighted=st.booleans())
def test_figures_are_those_of_sums_of_doubles(data: st.DataObject, n: int, weighted: bool) -> None:
    numbers = st.floats(1e-3, 1e3) if weighted else st.just(1.0)
    y, predicted, tenths, mass = (
        np.array(data.draw(st.lists(each, min_size=n, max_size=n)))
        for each in (st.integers(0, 1), st.integers(0, 1), st.integers(0, 10), numbers)
    )
    chances = np.column_stack([1.0 - tenths / 10.0, tenths / 10.0])
    found = figures(y, predicted, chances, ("a", "b"), mass if weighted else None)
    losses = -np.log(np.maximum(chances[np.arange(n), y], 1e-15))
    assert found.accuracy == pytest.approx(mass[y == predicted].sum() / mass.sum())
    assert found.log_loss == pytest.approx(float((losses * mass).sum() / mass.sum()), abs=1e-9)
    spread = found.accuracy * (1 - found.accuracy) * (mass**2).sum() / mass.sum() ** 2
    assert found.accuracy_error == pytest.approx(float(np.sqrt(max(spread, 0.0))), abs=1e-9)
    assert (found.auc is None) == (len(set(y.tolist())) < 2)
    if found.auc is not None:
        assert found.auc == pytest.approx(area_under_curve(y == 1, chances[:, 1], mass), abs=1e-12)


# What a training measured --------------------------------------------------------------------------------------------

MODEL = RuleGraph(Schema((Feature("x"),)), ("no", "yes"), Fires(Compare("x", ">", 0.5)))
FIGURES = figures(
    np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]]), MODEL.classes
)
BASELINES = Baselines((Baseline("most frequent class", 1 / 3, None, 0.4, 1), Baseline("tree", 0.1, 0.05, 0.9, 5)), 3, 9)
KEPT = from_json(to_json(with_kept_figures(MODEL, FIGURES, "3 rows held out", BASELINES, FIGURES)))


def test_figures_and_baselines_come_back_from_the_file() -> None:
    found = kept_figures(KEPT)
    assert found is not None
    assert (found.figures, found.measured_on, found.training) == (FIGURES, "3 rows held out", FIGURES.confusion)
    assert kept_baselines(KEPT) == BASELINES


def test_training_keeps_what_it_measured(tmp_path: Path) -> None:
    write_csv(loans(200), tmp_path / "loans.csv")
    reading, few = ReadingOptions(target="default"), {"max_rules": 2, "n_folds": 2}
    asked = TrainingRequest(tmp_path / "loans.csv", reading, parameters=few, holdout=0.4, output=tmp_path / "m.json")
    result = train(replace(asked, baselines=True))
    graph = rulekit.load(tmp_path / "m.json")
    found, baselines = kept_figures(graph), kept_baselines(graph)
    assert found is not None
    assert baselines is not None
    assert result.baselines is not None
    assert (found.figures, found.measured_on) == (result.figures, result.measured_on)
    assert baselines.models == result.baselines.models


def test_another_size_does_not_take_the_figures_for_its_own() -> None:
    other = KEPT.with_(decision=Fires(Compare("x", ">", 1.5)))
    assert kept_figures(other) is None
    assert kept_baselines(other) == BASELINES


@pytest.mark.parametrize(
    "note", [3, [], {"model": "x"}, {"confusion": 1}, {"rows": -1}, {"accuracy": 2.0}, {"auc": "x"}]
)
def test_what_is_no_such_note_is_taken_for_none(note: Any) -> None:
    measured_ = {**KEPT.provenance["measured"], **note} if isinstance(note, dict) else note
    changed = KEPT.with_(provenance={"measured": measured_, "baselines": note})
    assert kept_figures(changed) is None
    assert kept_baselines(changed) is None
