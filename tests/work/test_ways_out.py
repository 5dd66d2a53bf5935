"""A note about a model without rules is true: the rule that it names, its rows, and the cost that it gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.parsing import parse_condition
from rulekit.learners.models.best_rule import best_rule
from rulekit.schema import FIRST_LEVEL_CODE, Feature, Schema
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import Table
from rulekit.work.finishing import ways_out


def rare(seed: int) -> LabelledTable:
    """A table whose rare class has a rule of one or two conditions, or none, right on some share of its rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.choice([600, 3_000, 20_000]))
    a, b = rng.normal(size=(2, n)).round(2).astype(np.float32)
    level = rng.integers(0, 12, n)
    a[rng.random(n) < 0.02] = np.nan
    kind = seed % 3
    rule = (a > 1.4) & (b > 1.2) if kind == 0 else (level < 2) if kind == 1 else (b > 0.3) & (b < 0.8)
    y = rng.random(n) < np.where(rule, rng.choice([0.1, 0.3, 0.7]), 0.004)
    y[:2] = (False, True)
    columns = (Feature("a"), Feature("b"), Feature("k", "categorical", tuple("abcdefghijkl")))
    table = Table(columns, (a, b, (FIRST_LEVEL_CODE + level).astype(np.int32)), n)
    weight = rng.integers(1, 4, n).astype(float) if seed % 5 == 0 else None
    return LabelledTable(table, y.astype(np.int64), ("no", "yes"), weight, None, None, "y")


def told(rows: LabelledTable, text: str) -> tuple[Any, float, float]:
    """The rows of a rule, and the weight on which it is right and wrong, counted again."""
    node = parse_condition(text, Schema(rows.table.features, rows.target))
    held = evaluate_nodes([node], rows.table)[node]
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    return held, float(weight[held & (rows.y == 1)].sum()), float(weight[held & (rows.y == 0)].sum())


def lower_bound(right: float, wrong: float) -> float:
    n, z = right + wrong, 1.645
    p = right / n
    return (p + z**2 / (2 * n) - z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))) / (1 + z**2 / n)


@pytest.mark.parametrize("seed", range(30))
def test_what_is_said_of_a_rare_class_is_true(seed: int) -> None:
    """It once said that no rule is right more often than wrong, and nothing had been looked at."""
    rows = rare(seed)

    said = ways_out(rows, "adaboost", {"threshold"})

    found = best_rule(rows, 1)
    assert found is not None
    held, right, wrong = told(rows, found.text)
    assert (found.rows, found.right, found.wrong) == (held.sum(), right, wrong)
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight / rows.weight.max()
    reached = lower_bound(weight[held & (rows.y == 1)].sum(), weight[held & (rows.y == 0)].sum())
    for array in rows.table.arrays[:2]:  # no simple condition is clearly better
        for cut in np.nanquantile(array, np.linspace(0.05, 0.95, 19)):
            for side in (array > cut, array <= cut):
                right_of, all_of = weight[side & (rows.y == 1)].sum(), weight[side].sum()
                assert lower_bound(right_of, all_of - right_of) <= reached + 0.03 if right_of else True
    text = " ".join(said)
    if cost := re.search(r"--cost 1:(\d+)", text):
        assert found.text in text
        assert int(cost[1]) * right > wrong  # at this cost it pays
        assert int(cost[1]) <= max(5, 2 * wrong / right + 1)  # and no rule that is right much less often does
    assert ("--learner rules" in text) == (cost is not None and right > wrong)
    if seed % 3 == 1 and len(rows) > 1_000:  # there is a rule, and it is found
        assert cost is not None


def test_columns_that_say_nothing_have_no_advice_of_a_cost() -> None:
    rng = np.random.default_rng(0)
    table = Table((Feature("x"),), (np.zeros(2_000, dtype=np.float32),), 2_000)
    rows = LabelledTable(table, (rng.random(2_000) < 0.05).astype(np.int64), ("no", "yes"), None, None, None, "y")

    assert ways_out(rows, "rules", set()) == (
        "the columns say little about y in these rows; other columns, or more rows, may",
    )
