"""The distributions of columns: the same in any blocks, of any weights, and read back without trust."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, Compare, Contains, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.shown import statistics
from rulekit.shown.statistics import MOST_BINS, Distributions, cuts_of, grid_of, rule_statistics
from rulekit.shown.table_figures import known_of
from rulekit.tables.table import Store, StoredArrays, Table

X, C = Feature("x"), Feature("c", "categorical", ("a", "b", "c"))
VALUES = st.lists(st.integers(-9, 9) | st.floats(-1e6, 1e6, width=32) | st.just(np.nan), min_size=1, max_size=120)


def _table(values: np.ndarray) -> Table:
    return Table((X,), (np.asarray(values, dtype=np.float32),), len(values))


@settings(max_examples=60, deadline=None)
@given(values=VALUES, data=st.data())
def test_bins_hold_the_rows_in_any_parts_and_by_weight(values: list[float], data: st.DataObject) -> None:
    table = _table(np.array(values))
    weight = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values))), dtype=float)
    entry = Distributions(table, weight).of(X)
    part = data.draw(st.integers(1, 50))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "PART", part)
        assert Distributions(table, weight).of(X) == entry
    known = table.array("x")[~np.isnan(table.array("x"))]
    if not len(known):
        assert entry == {"missing": 1.0, "low": None, "high": None}
        return
    cuts = np.array(entry["cuts"], dtype=np.float32)
    bins = np.array([(known > cut).sum() for cut in [-np.inf, *cuts, np.inf]])
    assert len(cuts) < MOST_BINS
    assert (np.diff(bins) < 0).all()  # no bin is empty
    codes = np.searchsorted(cuts, table.array("x"), side="left")
    kept = ~np.isnan(table.array("x"))
    expected = np.bincount(codes[kept], weight[kept], len(cuts) + 1) / weight.sum()
    assert entry["shares"] == pytest.approx(expected, abs=1e-6)
    assert sum(entry["shares"]) + entry["missing"] == pytest.approx(1.0, abs=1e-4)


def test_a_table_on_disk_says_the_same() -> None:
    rng = np.random.default_rng(0)
    columns = (rng.normal(size=5000).astype(np.float32), rng.integers(0, 5, 5000).astype(np.int32))
    held, store, stored = Table((X, C), columns, 5000), Store(), []
    for column in columns:
        writer = store.writer(column.dtype)
        writer.add(column)
        stored.append(writer)
    on_disk = Table((X, C), StoredArrays(tuple(stored)), 5000)
    assert [Distributions(on_disk).of(f) for f in (X, C)] == [Distributions(held).of(f) for f in (X, C)]


def test_a_frequent_value_has_a_bin_of_its_own() -> None:
    values = np.sort(np.concatenate([np.zeros(900), np.arange(1, 101)])).astype(np.float32)
    cuts = cuts_of(values, X)
    assert cuts[0] == 0.5
    assert len(cuts) == MOST_BINS - 1


def test_cuts_lie_between_values_and_are_short() -> None:
    assert cuts_of(np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32), X) == [1.5, 2.5, 3.5]
    assert cuts_of(np.array([7.0, 7.0], dtype=np.float32), X) == []


def test_cuts_of_many_rows_come_from_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "_CUT_ROWS", 100)
    values = np.random.default_rng(0).normal(size=10_000)
    entry = Distributions(_table(values)).of(X)
    assert sum(entry["shares"]) == pytest.approx(1.0, abs=1e-4)
    assert max(entry["shares"]) < 0.15
    assert (entry["low"], entry["high"]) == (np.float32(values.min()), np.float32(values.max()))


def test_grids_say_how_numbers_are_rounded() -> None:
    assert grid_of(np.array([100.0, 2300.0, 5000.0, 700.0], dtype=np.float32)) == {"1000": 0.25, "100": 1.0}
    assert grid_of(np.array([0.1, 0.25, 1.0], dtype=np.float32)) == {"1": 0.333, "0.1": 0.667, "0.01": 1.0}
    assert grid_of(np.zeros(0)) == {}


def test_words_are_those_of_the_rules() -> None:
    text = Feature("t", "text", ("late", "paid", "soon"))
    schema = Schema((text,))
    graph = RuleGraph(schema, ("no", "yes"), Fires(Contains("t", ("late",))))
    rows = graph.table({"t": ["late again", "paid", None, "Late"]})
    entry = rule_statistics(graph, rows, np.array([1, 0, 0, 1]))["columns"]["t"]
    assert entry == {"missing": 0.25, "words": {"late": 0.5}, "wordless": 0.25}


GRAPH = RuleGraph(Schema((X, C)), ("no", "yes"), Fires(Or((Compare("x", ">", 0.0), Among("c", ("a",))))))


@pytest.mark.parametrize(
    "columns",
    [
        {"x": {"missing": 2.0}},
        {"x": {"missing": 0.0, "low": 0.0, "high": 1.0, "cuts": [1.0, 0.0], "shares": [0.3, 0.3, 0.4]}},
        {"x": {"missing": 0.0, "low": 0.0, "high": 1.0, "cuts": [1.0], "shares": [0.3]}},
        {"x": {"missing": 0.0, "low": "0", "high": 1.0, "cuts": [], "shares": [1.0]}},
        {"c": {"missing": 0.0, "levels": {"a": 1.0}}},
        {"c": {"missing": 0.0, "levels": [1]}},
        {"x": 3, "c": None},
    ],
)
def test_what_is_malformed_is_not_compared(columns: dict) -> None:
    known = known_of(GRAPH.with_(statistics={"rows": 5, "columns": columns, "rules": [], "classes": 3}))
    assert known is not None
    assert known.columns == {}
    assert (known.rules, known.predicted) == ({}, None)


@pytest.mark.parametrize("statistics", [{}, {"rows": 0, "columns": {}}, {"rows": True, "columns": {}}, {"rows": 3}])
def test_a_model_without_statistics_says_nothing(statistics: dict) -> None:
    assert known_of(GRAPH.with_(statistics=statistics)) is None
