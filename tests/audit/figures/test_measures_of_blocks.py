"""Figures of rows on disk are those of the same rows in memory."""

from __future__ import annotations

from dataclasses import astuple
from typing import Any

import numpy as np
import polars as pl
import pytest

from rulekit import RulesClassifier
from rulekit.audit.figures.metrics import measured
from rulekit.tables.labelling import read_labelled
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Budget


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
    whole, parts = (
        read_labelled(path, ReadingOptions("y", weight=weight)),
        read_labelled(path, ReadingOptions("y", weight=weight), Budget(10**9)),
    )
    graph = RulesClassifier(3, stopping="none", target="y").fit(parts).rule_graph_
    expected, found = (flat(astuple(measured(graph, rows))) for rows in (whole, parts))
    assert [x for x in found if isinstance(x, str)] == [x for x in expected if isinstance(x, str)]
    numbers = [[x for x in figures if not isinstance(x, str)] for figures in (found, expected)]
    np.testing.assert_allclose(*numbers, rtol=1e-12)
