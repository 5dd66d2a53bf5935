"""Statistics of rules and columns, against figures worked out by hand, and read back without trust."""

from __future__ import annotations

import json
import math
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_rows import pieces

from rulekit.arrays import ExactWeights, ends_of, exponent_of, rounded
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.language.figures import interval
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.schema import Feature, Schema
from rulekit.shown import statistics
from rulekit.shown.score_cards import score_table
from rulekit.shown.statistics import (
    MOST_BINS,
    ColumnSums,
    Distributions,
    column_entry,
    column_facts,
    column_shares,
    cuts_of,
    grid_of,
    part_tally,
    rule_statistics,
    statistics_of,
    with_shares,
)
from rulekit.shown.table_figures import known_of
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Store, StoredArrays, Table

SCHEMA = Schema(
    (Feature("x"), Feature("b", "boolean"), Feature("c", "categorical", ("red", "blue")), Feature("unused"))
)
TABLE = Table(
    SCHEMA.features,
    (
        np.array([-1.0, 1.0, 3.0, np.nan, 5.0], dtype=np.float32),
        np.array([1.0, 0.0, 1.0, np.nan, 1.0], dtype=np.float32),
        np.array([2, 3, 1, 0, 2], dtype=np.int32),
        np.zeros(5, dtype=np.float32),
    ),
    5,
)
Y = np.array([1, 0, 1, 1, 0])
X, B, C = rg.Compare("x", ">", 0.0), rg.IsTrue("b"), rg.Among("c", ("red",))


RATES = ("n", "coverage", "precision", "base_rate", "true_positive", "error")
TOGETHER = ("cumulative_true_positive", "cumulative_error")


def test_table_4_of_the_paper():
    model = RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Or((X, rg.And((B, C))))))
    entries = rule_statistics(model, TABLE, Y)["rules"]
    assert [(entry["id"], entry["class"]) for entry in entries] == [(rule.id, "yes") for rule in rules_of(model)]
    assert all(set(entry) == {"id", "class", *RATES, *TOGETHER} for entry in entries)
    first, second = ([entry[name] for name in (*RATES, *TOGETHER)] for entry in entries)
    # rows 1, 2 and 4 are covered; 0, 2 and 3 are of the class; 0, 1, 3 and 4 are wrong
    assert first == pytest.approx([3, 0.6, 1 / 3, 0.6, 1 / 3, 0.8, 1 / 3, 0.8])
    assert second == pytest.approx([2, 0.4, 0.5, 0.6, 1 / 3, 0.6, 2 / 3, 0.6])  # rows 0 and 4


def test_weights_count_instead_of_rows():
    model = RuleGraph(SCHEMA, ("no", "yes"), Fires(X))
    (entry,) = rule_statistics(model, TABLE, Y, np.array([4.0, 1.0, 2.0, 1.0, 0.0]))["rules"]
    assert (entry["n"], entry["coverage"], entry["precision"]) == (3, 0.375, pytest.approx(2 / 3))
    assert entry["true_positive"] == pytest.approx(2 / 7)
    assert entry["effective_n"] == pytest.approx((1 + 2) ** 2 / (1 + 4))  # rows 1, 2 and 4, of no weight


def test_conjoined_rules_accumulate_by_conjunction():
    formula = rg.And((rg.Or((X, rg.Hidden("h", rg.TRUE, 0.1))), rg.Or((B, rg.Hidden("g", rg.TRUE, 0.1)))))
    model = RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Above(rg.Probability(formula), 0.5)))
    first, second = rule_statistics(model, TABLE, Y)["rules"]
    assert (first["n"], second["n"]) == (3, 3)
    assert second["cumulative_true_positive"] == pytest.approx(1 / 3)  # row 2
    assert second["cumulative_error"] == pytest.approx(3 / 5)  # rows 0, 3, 4


def test_classes_accumulate_apart():
    model = RuleGraph(SCHEMA, ("no", "yes"), ArgMax((X, rg.Or((B, C))), (0.5, 0.5), (0, 1)))
    entries = rule_statistics(model, TABLE, Y)["rules"]
    assert [entry["class"] for entry in entries] == ["no", "yes", "yes"]
    assert entries[1]["cumulative_error"] == entries[1]["error"]


def test_a_rule_of_a_median_speaks_for_all_classes_above() -> None:
    """It was counted against the one class next above its cut, so a perfect rule looked half right."""
    schema = Schema(SCHEMA.features, ordered_classes=True)
    above = (rg.Compare("x", ">", 0.0), rg.Compare("x", ">", 4.0))
    model = RuleGraph(schema, ("low", "mid", "high"), Median(above))
    first, second = rule_statistics(model, TABLE, np.array([0, 1, 2, 0, 2]))["rules"]  # x: -1, 1, 3, missing, 5
    assert [first[name] for name in ("class", *RATES, *TOGETHER)] == ["mid", 3, 0.6, 1.0, 0.6, 1.0, 0.0, 1.0, 0.0]
    assert (second["class"], second["precision"], second["true_positive"]) == ("high", 1.0, 0.5)
    assert second["error"] == pytest.approx(0.2)  # row 2


def test_columns_have_ranges_levels_and_missing_shares():
    model = RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Or((X, B, C))))
    assert rule_statistics(model, TABLE, Y)["columns"] == {
        "x": {
            "missing": 0.2,
            "low": -1.0,
            "high": 5.0,
            "spread": 4.0,  # of -1, 1, 3, 5 the second and the fourth
            "cuts": [0.0, 2.0, 4.0],
            "shares": [0.2, 0.2, 0.2, 0.2],
            "grid": {"1": 1.0},
        },
        "b": {"missing": 0.2, "low": 0.0, "high": 1.0, "spread": 1.0, "cuts": [0.5], "shares": [0.2, 0.6]},
        "c": {"missing": 0.2, "unseen": 0.2, "levels": {"red": 0.4, "blue": 0.2}},
    }


@pytest.mark.parametrize(("right", "n"), [(0, 1), (1, 7), (66, 75), (75, 75), (499_999, 500_000)])
def test_the_interval_of_a_share_is_that_of_wilson(right, n):
    low, high = interval(right / n, n)
    for bound in {low, high} - {0.0, 1.0}:  # the bounds are the shares from which the one seen is 1.96 errors away
        assert abs(right / n - bound) == pytest.approx(1.959963984540054 * (bound * (1 - bound) / n) ** 0.5)
    assert 0.0 <= low <= right / n <= high <= 1.0


def test_no_rows_give_no_rates_and_everything_is_json():
    model = RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Or((X, B, C))))
    empty = rule_statistics(model, TABLE.take(np.zeros(0, dtype=np.int64)), Y[:0])
    assert empty["rules"][0]["precision"] is None
    assert json.loads(json.dumps(empty, allow_nan=False)) == empty
    full = rule_statistics(model, TABLE, Y)
    assert json.loads(json.dumps(full, allow_nan=False)) == full


def test_totals_of_a_sum_are_counted_in_any_blocks_and_by_weight() -> None:
    schema = Schema((Feature("x"), Feature("y")))
    total = rg.Linear([(2.0, rg.Compare("x", ">", 0.5)), (-1.0, rg.Compare("y", ">", 0.5))], 0.0)
    graph = RuleGraph(schema, ("no", "yes"), Fires(rg.Above(total, 0.5)), (rg.Logistic(total),))
    rows = graph.table({"x": [0.0, 1.0, 1.0, 1.0], "y": [1.0, 1.0, 0.0, 0.0]})

    found = rule_statistics(graph, rows, np.array([0, 1, 1, 0]), np.array([1.0, 1.0, 1.0, 5.0]))["totals"]

    assert found == [
        {"total": -1.0, "share": 1 / 8, "observed": 0.0},
        {"total": 1.0, "share": 1 / 8, "observed": 1.0},
        {"total": 2.0, "share": 6 / 8, "observed": 1 / 6},
    ]
    table = score_table(graph.with_(statistics={"totals": found}))
    assert table is not None
    broken = graph.with_(statistics={"totals": [3, {"total": "x"}]})
    assert score_table(broken) == score_table(graph.with_(statistics={}))
    assert [(row.total, row.share) for row in table] == [(-1.0, 1 / 8), (0.0, 0.0), (1.0, 1 / 8), (2.0, 6 / 8)]


def test_blocks_of_rows_say_what_all_rows_say(monkeypatch: pytest.MonkeyPatch) -> None:
    model = RuleGraph(SCHEMA, ("no", "yes"), Fires(rg.Or((X, B, C))))
    weights = np.linspace(0.1, 3.0, len(Y))
    whole = rule_statistics(model, TABLE, Y, weights)
    monkeypatch.setattr(statistics, "_TOGETHER", 3)
    assert rule_statistics(model, TABLE, Y, weights) == whole


AS_TEXT = ReadingOptions(types={"t": "text"})
FEATURES = (*SCHEMA.features[:3], Feature("d", precision="float64"), Feature("t", "text", ("late", "paid")))
RULES = (rg.Or((X, rg.And((B, C)))), rg.Or((rg.Compare("d", "<=", 0.2), rg.Contains("t", ("late",)))))
ADDED = rg.Linear(((0.5, X), (-0.25, C), (1.5, RULES[1])), 0.25)
MODELS = {
    "rules": (("no", "yes"), Fires(RULES[0])),
    "a sum": (("no", "yes"), Fires(rg.Above(ADDED, 0.5))),
    "a list": (("a", "b", "c"), ArgMax.first_of({2: RULES[0], 0: RULES[1]}, 3)),
    "a median": (("a", "b", "c"), Median((RULES[0], rg.And(RULES)))),
}


def rows_with_gaps(n: int, rng: np.random.Generator) -> Table:
    x = rng.choice([-1.5, -0.0, 0.0, 1.0, 2.0, np.nan, 7.25], n).astype(np.float32)
    d = np.where(rng.random(n) < 0.1, np.nan, np.round(rng.normal(size=n), 3))
    t = infer({"t": rng.choice(["late again", "paid", "so late paid", "again", ""], n).tolist()}, AS_TEXT)
    columns = (x, rng.choice([0, 1, np.nan], n).astype(np.float32), rng.integers(0, 4, n).astype(np.int32), d)
    return Table((*FEATURES[:4], *t.features), (*columns, *t.arrays), n)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("weighted", [None, "ones", "any"])
@pytest.mark.parametrize("name", MODELS)
def test_parts_add_up_to_what_all_rows_say(
    name: str, weighted: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for constant, value in (("_TOGETHER", 150), ("PART", 170), ("_CUT_ROWS", 200)):
        monkeypatch.setattr(statistics, constant, value)
    rng, n = np.random.default_rng(count), 900
    table, (classes, decision) = rows_with_gaps(n, rng), MODELS[name]
    model = RuleGraph(Schema(FEATURES), classes, decision)
    y = rng.integers(0, len(classes), n)
    weights = {None: None, "ones": np.ones(n), "any": np.where(rng.random(n) < 0.5, 1.0, rng.random(n) * 1e-9)}
    weight = weights[weighted]
    parts = pieces(n, count, rng)
    tables = [table.take(np.arange(own.start, own.stop)) for own in parts]
    ends = [ends_of(np.ones(0) if weight is None else weight[own]) for own in parts]
    exponent = exponent_of(min(low for low, _ in ends), max(high for _, high in ends))
    own_weights = [None if weight is None or exponent is None else weight[own] for own in parts]
    pairs = list(zip(tables, own_weights, strict=True))
    tallies = [part_tally(model, t, y[own], w, exponent) for (t, w), own in zip(pairs, parts, strict=True)]
    used = [model.schema[name] for name in model.used_features]
    facts = added([column_facts(used, *pair, own.start, n) for pair, own in zip(pairs, parts, strict=True)])
    tally = reduce(add, tallies)
    entries = {each.name: column_entry(each, facts[each.name], tally.total) for each in used}
    cuts = {name: entry["cuts"] for name, entry in entries.items() if "cuts" in entry}
    shares = added([column_shares(cuts, *pair) for pair in pairs])
    entries |= {name: with_shares(entries[name], shares[name], tally.total) for name in cuts}
    whole = rule_statistics(model, table, y, weight)
    assert json.dumps(statistics_of(model, tally, entries)) == json.dumps(whole)
    assert (weighted == "any", name == "a sum") == ("effective_rows" in whole, "totals" in whole)


def added(parts: list[dict[str, ColumnSums]]) -> dict[str, ColumnSums]:
    return reduce(lambda one, other: {name: one[name] + other[name] for name in one}, parts)


# Columns ---------------------------------------------------------------------------------------------------------

NUMBER, CATEGORY = Feature("x"), Feature("c", "categorical", ("a", "b", "c"))
VALUES = st.lists(st.integers(-9, 9) | st.floats(-1e6, 1e6, width=32) | st.just(np.nan), min_size=1, max_size=120)


def _table(values: np.ndarray) -> Table:
    return Table((NUMBER,), (np.asarray(values, dtype=np.float32),), len(values))


@settings(max_examples=60, deadline=None)
@given(values=VALUES, data=st.data())
def test_bins_hold_the_rows_in_any_parts_and_by_weight(values: list[float], data: st.DataObject) -> None:
    table = _table(np.array(values))
    weight = np.array(data.draw(st.lists(st.integers(1, 5), min_size=len(values), max_size=len(values))), dtype=float)
    entry = Distributions(table, weight).of(NUMBER)
    part = data.draw(st.integers(1, 50))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(statistics, "PART", part)
        assert Distributions(table, weight).of(NUMBER) == entry
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
    held, store, stored = Table((NUMBER, CATEGORY), columns, 5000), Store(), []
    for column in columns:
        writer = store.writer(column.dtype)
        writer.add(column)
        stored.append(writer)
    on_disk = Table((NUMBER, CATEGORY), StoredArrays(tuple(stored)), 5000)
    assert [Distributions(on_disk).of(f) for f in (NUMBER, CATEGORY)] == [
        Distributions(held).of(f) for f in (NUMBER, CATEGORY)
    ]


def test_cuts_lie_between_values_and_are_short_and_a_frequent_value_has_a_bin_of_its_own() -> None:
    assert cuts_of(np.array([1.0, 2.0, 3.0, 4.0], dtype=np.float32), NUMBER) == [1.5, 2.5, 3.5]
    assert cuts_of(np.array([7.0, 7.0], dtype=np.float32), NUMBER) == []
    cuts = cuts_of(np.sort(np.concatenate([np.zeros(900), np.arange(1, 101)])).astype(np.float32), NUMBER)
    assert (cuts[0], len(cuts)) == (0.5, MOST_BINS - 1)


def test_cuts_of_many_rows_come_from_some_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "_CUT_ROWS", 100)
    values = np.random.default_rng(0).normal(size=10_000)
    entry = Distributions(_table(values)).of(NUMBER)
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
    graph = RuleGraph(schema, ("no", "yes"), Fires(rg.Contains("t", ("late",))))
    rows = graph.table({"t": ["late again", "paid", None, "Late"]})
    entry = rule_statistics(graph, rows, np.array([1, 0, 0, 1]))["columns"]["t"]
    assert entry == {"missing": 0.25, "words": {"late": 0.5}, "wordless": 0.25}


GRAPH = RuleGraph(
    Schema((NUMBER, CATEGORY)), ("no", "yes"), Fires(rg.Or((rg.Compare("x", ">", 0.0), rg.Among("c", ("a",)))))
)


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


# Exact sums of weights -------------------------------------------------------------------------------------------

WEIGHTS = st.lists(st.floats(0, 1e300) | st.sampled_from([0.1, 1.0, 5e-324, 1e16]), min_size=1, max_size=40)


@settings(max_examples=80, deadline=None)
@given(values=WEIGHTS, data=st.data())
def test_sums_are_those_of_fsum_in_any_blocks(values: list[float], data: st.DataObject) -> None:
    weights = np.array(values)
    codes = np.array(data.draw(st.lists(st.integers(0, 2), min_size=len(values), max_size=len(values))))
    whole = ExactWeights(weights, len(values))
    expected = [math.fsum(weights[codes == k].tolist()) for k in range(3)]
    assert [rounded(total) for total in whole.by(codes, 3)] == expected
    assert [whole.of(codes == k) for k in range(3)] == whole.by(codes, 3)
    assert rounded(whole.total()) == math.fsum(values)
    cut = data.draw(st.integers(0, len(values)))
    parts = [ExactWeights(part, len(part)).total() for part in (weights[:cut], weights[cut:]) if len(part)]
    assert sum(parts) == whole.total()


def test_rows_without_weights_count_one_each() -> None:
    truth = np.array([True, False, True])
    assert rounded(ExactWeights(None, 3).of(truth)) == 2.0
    assert rounded(ExactWeights(None, 3).total()) == 3.0
    assert ExactWeights(np.ones(3), 3).of(truth) == ExactWeights(None, 3).of(truth)
