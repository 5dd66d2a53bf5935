"""Baselines: against scikit-learn by hand on the same folds, with missing cells, categories and weights."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.tree import DecisionTreeClassifier

from rulekit.audit.figures.baselines import (
    MOST_FREQUENT,
    Baselines,
    measured_beside,
    measured_here,
    reported,
    sample_of,
)
from rulekit.schema import Feature
from rulekit.tables.table import Table


def rows(n: int = 400, seed: int = 0) -> tuple[Table, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, colour = rng.random(n).astype(np.float32), rng.integers(0, 5, n).astype(np.int32)
    x[rng.random(n) < 0.1] = np.nan
    features = (Feature("x"), Feature("colour", "categorical", ("red", "green", "blue")), Feature("z", role="audit"))
    y = ((np.nan_to_num(x) > 0.6) | (colour == 3)).astype(np.int64)
    return Table(features, (x, colour, y.astype(np.float32)), n), y, rng.integers(0, 3, n)


def baselines(
    table: Table, y: np.ndarray, classes: tuple[str, ...], weight: np.ndarray, fold: np.ndarray, seconds: float
) -> Baselines:
    """Measured by a process beside this one, which finds what this one finds."""
    sample = sample_of(table, y, weight, fold)
    with measured_beside() as measure:
        found = measure(sample, seconds)()
    assert found == measured_here(sample, seconds)
    return reported(found, sample, y, weight, classes)


@pytest.mark.parametrize("child", ["raise SystemExit(3)", "print('[1, 2')", "print('[[{}], []]')"])
def test_where_the_process_beside_ends_early_this_one_measures(child: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table, y, fold = rows(60)
    sample = sample_of(table, y, np.ones(60), fold)
    monkeypatch.setattr("rulekit.audit.figures.baselines._CHILD", child)
    with measured_beside() as measure:
        found = measure(sample, 60.0)()
    assert found == measured_here(sample, 60.0)


def test_errors_are_those_of_the_folds() -> None:
    table, y, fold = rows()
    weight = np.where(y == 1, 2.0, 1.0)
    found = baselines(table, y, ("no", "yes"), weight, fold, 60.0)
    errors = {model.name: model.error for model in found.models}
    assert (found.rows, found.left_out, [model.folds for model in found.models]) == (400, (), [3] * 5)
    x = np.column_stack([table.arrays[0], *(table.arrays[1] == code for code in range(5))])
    wrong, most, decided = 0.0, 0.0, np.zeros(len(y))
    for k in range(3):
        held = fold == k
        tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x[~held], y[~held], weight[~held])
        wrong += weight[held][tree.predict(x[held]) != y[held]].sum()
        decided[held] = tree.predict(x[held])
        most += weight[held][y[held] != np.bincount(y[~held], weight[~held]).argmax()].sum()
    assert errors["tree of depth 4"] == pytest.approx(wrong / weight.sum(), abs=0.01)
    f1 = f1_score(y, decided, average="macro", sample_weight=weight)
    assert found.models[2].macro_f1 == pytest.approx(f1, abs=0.01)
    assert errors[MOST_FREQUENT] == pytest.approx(most / weight.sum())
    assert errors["tree of depth 4"] < errors["best single condition"] <= errors[MOST_FREQUENT]
    assert errors["gradient boosting"] < 0.05


def test_many_rows_are_sampled_little_time_is_kept_and_a_rare_class_is_watched() -> None:
    table, y, fold = rows(200_000)
    rare = np.where(np.random.default_rng(1).random(len(y)) < 0.1, y, 0)
    sample = sample_of(table, rare, np.ones(len(y)), fold)
    found = reported(measured_here(sample, 0.0), sample, rare, np.ones(len(y)), ("no", "yes"))
    assert found.rows < found.of_rows == 200_000
    assert [model.name for model in found.models] == [MOST_FREQUENT]
    assert len(found.left_out) == 4
    assert found.rare == "yes"
    assert 0.45 < found.models[0].macro_f1 < 0.5  # the majority alone
