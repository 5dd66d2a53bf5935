"""Rows compared with those of training: each change is found and called by its name, and none where there is none."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rulekit import monitor
from rulekit.audit.drift.comparing import LEAST_ROWS, compare, compare_counts, read_counts
from rulekit.audit.drift.findings import RATE, Drift, drift_line, drift_lines
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, Compare, Contains, IsTrue, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.schema import Feature, Schema
from rulekit.shown.statistics import rule_statistics

SCHEMA = Schema(
    (
        Feature("income", unit="EUR"),
        Feature("age"),
        Feature("heat"),
        Feature("day", display="date"),
        Feature("owner", "boolean"),
        Feature("job", "categorical", ("clerk", "cook", "driver", "none")),
        Feature("place", "categorical", ("north", "south", "west")),
        Feature("note", "text", ("late", "paid")),
    ),
    "default",
)
CONDITIONS = (
    Compare("income", "<=", 25000.0),
    Compare("age", ">", 70.0),
    Compare("heat", ">", 95.0),
    Compare("day", "<=", 18300.0),
    IsTrue("owner"),
    Among("job", ("none",)),
    Among("place", ("west",)),
    Contains("note", ("late", "paid")),
)
GRAPH = RuleGraph(SCHEMA, ("no", "yes"), Fires(Or(CONDITIONS[:1] + CONDITIONS[4:6])))
EVERY = RuleGraph(SCHEMA, ("no", "yes"), Fires(Or(CONDITIONS)))
Columns = dict[str, Any]


def rows(n: int, seed: int) -> Columns:
    rng = np.random.default_rng(seed)
    return {
        "income": np.round(rng.lognormal(10.3, 0.6, n), -2),
        "age": rng.integers(19, 76, n).astype(float),
        "heat": np.round(rng.normal(70.0, 12.0, n), 1),
        "day": rng.integers(18000, 19000, n).astype(float),
        "owner": (rng.random(n) < 0.3).astype(float),
        "job": rng.choice(["clerk", "cook", "driver", "none"], n, p=[0.5, 0.3, 0.15, 0.05]).tolist(),
        "place": rng.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1]).tolist(),
        "note": rng.choice(["late again", "paid", "call back", "paid late"], n, p=[0.1, 0.4, 0.4, 0.1]).tolist(),
    }


def model(graph: RuleGraph = EVERY, n: int = 2000, weight: Any = None) -> RuleGraph:
    data = graph.table(rows(n, 0))
    return graph.with_(statistics=rule_statistics(graph, data, graph.decide(data), weight))


MODEL = model()


def changed(column: str, change: Callable[[Any], Any], n: int = 1000) -> Drift:
    data = rows(n, 1)
    data[column] = change(data[column])
    return monitor(MODEL, data)


def kinds(drift: Drift) -> dict[str, list[str]]:
    return {column.name: [change.kind for change in column.changes] for column in drift.columns if column.changes}


def texts(drift: Drift, column: str) -> list[str]:
    return [change.text for own in drift.columns if own.name == column for change in own.changes]


def test_rows_like_those_of_training_are_alike() -> None:
    drift = monitor(MODEL, rows(1000, 1), EVERY.predict(rows(1000, 1)))
    assert drift.alike
    assert drift_line(drift, "rulekit monitor") == ""
    ((word, text),) = drift_lines(drift)
    assert (word, f"{drift.tests} tests" in text) == ("alike", True)


def _at(values: Any, change: Any, every: int) -> Any:
    return [change if k % every == 0 else value for k, value in enumerate(values)]


@pytest.mark.parametrize(
    ("column", "change", "kind", "words"),
    [
        ("job", lambda v: [f"x{one}" for one in v], "new levels", 'new levels in every row: "xclerk" ('),
        (
            "job",
            lambda v: [one.upper() for one in v],
            "new levels",
            'spelled otherwise in every row: "CLERK" for "clerk"',
        ),
        ("job", lambda v: [f" {one}" for one in v], "new levels", "(--trim takes the blanks off)"),
        ("job", lambda v: _at(v, "chef", 20), "new levels", 'new levels in 5.0 % of rows: "chef" (50 rows)'),
        ("job", lambda v: ["cook" if one == "clerk" else one for one in v], "gone", 'no row has "clerk" (49.'),
        ("job", lambda v: ["cook" for _ in v], "constant", 'the same in every row, "cook"'),
        ("job", lambda v: _at(v, "none", 3), "distribution", '"none" in 3'),
        ("age", lambda v: _at(v, None, 2), "missing", "missing in 50.0 % of rows (0.0 % in training)"),
        ("income", lambda v: v * 100.0, "times", "100 times the values of training"),
        ("income", lambda v: v / 1000.0, "times", "a 1,000th of the values of training"),
        ("income", lambda v: v * 1.37, "times", "about 1."),
        ("income", lambda v: -v, "sign", "the sign is changed"),
        ("age", lambda v: v * 12.0, "unit", "12 times the values of training, as years in months"),
        ("heat", lambda v: (v - 32.0) / 1.8, "unit", "in another unit, as degrees Fahrenheit in degrees Celsius"),
        ("heat", lambda v: v * 1.8 + 32.0, "unit", "in another unit, as degrees Celsius in degrees Fahrenheit"),
        ("heat", lambda v: v + 9.0, "shift", "larger by about "),
        ("day", lambda v: v + 400.0, "shift", "larger by about 400 days than in training"),
        ("heat", lambda v: 70.0 + 2.0 * (v - 70.0), "spread", "spread about 2 times as wide as in training"),
        ("age", lambda v: [35.0 for _ in v], "constant", "the same in every row, 35"),
        ("age", lambda v: _at(v, -999.0, 20), "sentinel", "-999 in 5.0 % of rows, below all of training"),
        ("income", lambda v: np.round(v, -3), "rounded", "rounded: multiples of 1,000 in 100.0 % of rows"),
        ("age", lambda v: v + 0.3, "fractions", "less rounded: 0.0 % of rows are whole numbers (100.0 % in training)"),
        ("owner", lambda v: 1.0 - v, "exchanged", "yes and no are exchanged"),
        ("owner", lambda v: np.ones(len(v)), "constant", "the same in every row, yes"),
        ("note", lambda v: ["late " + one for one in v], "words", '"late" in 100.0 % of rows'),
        ("note", lambda v: ["zu spät" for _ in v], "words", "no word of the rules in 100.0 % of rows"),
    ],
)
def test_a_change_of_one_column_is_named(column: str, change: Any, kind: str, words: str) -> None:
    drift = changed(column, change)
    assert kinds(drift) == {column: [kind]}
    assert any(words in text for text in texts(drift, column)), texts(drift, column)


def test_two_columns_that_were_exchanged() -> None:
    data = rows(1000, 1)
    numbers = monitor(MODEL, {**data, "age": data["heat"], "heat": data["age"]})
    assert kinds(numbers) == {"age": ["swapped"], "heat": ["swapped"]}
    assert texts(numbers, "age") == ["exchanged with heat"]
    levels = monitor(MODEL, {**data, "job": data["place"], "place": data["job"]})
    assert kinds(levels) == {"job": ["swapped"], "place": ["swapped"]}


def test_shares_of_classes_and_rules() -> None:
    data = rows(2000, 1)
    model_ = model(GRAPH)
    kept = np.arange(2000)[(GRAPH.predict(data) == "no") | (np.arange(2000) % 4 == 0)]
    fewer = {name: np.asarray(values, dtype=object)[kept].tolist() for name, values in data.items()}
    drift = monitor(model_, fewer, GRAPH.predict(fewer))
    assert {(part.name, part.label) for part in drift.classes if part.changed} == {
        (of, label) for of in ("predicted", "actual") for label in ("no", "yes")
    }
    assert any(rule.changed for rule in drift.rules)
    assert '"yes" decided in' in drift_line(drift.__class__(drift.rows, 1, (), drift.rules, drift.classes), "m")


def test_a_single_row_and_few_rows_tell_facts_alone() -> None:
    """Ten rows that all are of one level, or old, are no finding; one value far out is one."""
    row = {name: values[0] for name, values in rows(1, 5).items()}
    assert monitor(MODEL, [row]).alike
    odd = monitor(MODEL, [{**row, "age": 180.0, "job": "pilot", "heat": None}])
    assert odd.few
    assert kinds(odd) == {"age": ["out of range"], "heat": ["missing"], "job": ["new levels"]}
    line = drift_line(odd, "rulekit monitor m.json d.csv")
    assert line.startswith("this row is not like those of training: ")
    assert 'new level "pilot"' in line
    assert "180, above all of training (75 at most)" in line
    assert line.endswith("rulekit monitor m.json d.csv shows all")
    data = rows(LEAST_ROWS - 1, 3)
    assert monitor(MODEL, {**data, "job": ["cook"] * len(data["job"]), "age": data["age"] * 0 + 70.0}).alike
    said = str(monitor(MODEL, data))
    assert said.startswith("few rows ")
    assert " alike" not in said
    data["income"][3] = 1e9
    assert kinds(monitor(MODEL, data)) == {"income": ["out of range"]}


def test_a_batch_of_any_size_is_compared() -> None:
    """Batches of 20, 50 or 100 rows, of few levels after the rare ones were merged, once ended in an IndexError."""
    for n in (*range(1, 26), 33, 50, 64, 100, 200, 317):
        for seed in range(4):
            rng = np.random.default_rng([n, seed])
            data = rows(n, seed)
            data["job"] = rng.choice(["clerk", "cook"], n, p=[0.97, 0.03]).tolist()
            data["place"] = rng.choice(["north", "none such"], n, p=[0.99, 0.01]).tolist()
            assert monitor(MODEL, data).rows == n


def test_one_value_far_out_is_found_and_a_trifle_of_many_rows_is_not() -> None:
    """Of 100,000 rows a shift by a tenth of the deviation is certain, and still nothing."""
    data = rows(1000, 1)
    data["income"][7] = 1e12
    assert kinds(monitor(MODEL, data)) == {"income": ["out of range"]}
    data["income"][7] = 1.1 * float(max(rows(2000, 0)["income"]))
    assert monitor(MODEL, data).alike
    many = rows(100_000, 1)
    assert monitor(model(n=50_000), {**many, "heat": many["heat"] + 1.2}).alike


def test_a_sample_of_the_rows_is_enough_for_the_line() -> None:
    data = rows(20_000, 1)
    data["income"] = data["income"] * 100.0
    data["job"][7] = "pilot"
    table = MODEL.table(data)
    found = compare(MODEL, table, most=2000, new={"job": {"pilot": 1}})
    assert found is not None
    assert kinds(found) == {"income": ["times"]}
    assert next(column for column in found.columns if column.name == "job").new_rows == 1


def test_weights_count_and_equal_ones_change_nothing() -> None:
    assert model(weight=np.full(2000, 3.0)).statistics["columns"] == MODEL.statistics["columns"]
    tilted = np.where(np.array(rows(1000, 1)["age"]) > 50.0, 5.0, 1.0)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        weighted = model(weight=rng.exponential(1.0, 2000))
        assert weighted.statistics["effective_rows"] < 2000
        data = weighted.table(rows(1000, 1))
        alike, odd = (compare(weighted, data, weight=w) for w in (rng.exponential(1.0, 1000), tilted))
        assert alike is not None
        assert odd is not None
        assert alike.alike
        assert "age" in kinds(odd)


def test_levels_that_count_as_missing_are_told_apart() -> None:
    features = tuple(replace(each, unseen="missing") if each.name == "job" else each for each in SCHEMA)
    data = rows(1000, 1)
    data["job"] = _at(data["job"], "pilot", 4)
    drift = monitor(model(RuleGraph(Schema(features, "default"), ("no", "yes"), GRAPH.decision)), data)
    assert kinds(drift) == {"job": ["new levels"]}
    assert next(column for column in drift.columns if column.name == "job").missing_now == 0.0


def test_fresh_rows_alarm_no_more_often_than_is_said() -> None:
    """Of 100 tables at a rate of 1 % more than 5 alarms are by chance once in 1,900."""
    alarms = 0
    for seed in range(100):
        n = (25, 60, 300, 1500)[seed % 4]
        graph = MODEL if seed % 3 else model(n=400)
        alarms += not monitor(graph, rows(n, 100 + seed)).alike
    assert RATE == 0.01
    assert alarms <= 5


def test_everything_is_json_and_a_model_without_statistics_is_refused() -> None:
    drift = changed("job", lambda v: [f"x{one}" for one in v])
    assert json.loads(json.dumps(drift.as_dict(), allow_nan=False)) == drift.as_dict()
    assert drift.as_dict()["alike"] is False
    with pytest.raises(InputError, match="does not say what trained it"):
        monitor(EVERY, rows(30, 1))
    with pytest.raises(InputError, match="no class of the model"):
        monitor(MODEL, rows(2, 1), ["no", "perhaps"])
    assert str(drift).startswith("not alike")
    data = rows(100, 1)
    data["income"] = np.full(100, np.nan)
    data["heat"][0] = np.inf
    assert {"income", "heat"} <= set(kinds(monitor(MODEL, data)))


# Counts --------------------------------------------------------------------------------------------------------------


def test_counts_are_compared_as_the_rows_would_be() -> None:
    data = rows(1000, 1)
    data["owner"] = np.ones(1000)
    whole = monitor(MODEL, data)
    rules = {rule.name: round(rule.now * 1000) for rule in whole.rules}
    classes = {part.label: round(part.now * 1000) for part in whole.classes}
    lines = ["what,name,count", "rows,,1000"]
    lines += [f"{what},{key},{n}" for what, own in (("rule", rules), ("class", classes)) for key, n in own.items()]
    for text in (json.dumps({"rows": 1000, "rules": rules, "classes": classes}), "\n".join(lines)):
        drift = compare_counts(MODEL, read_counts(text, MODEL, "counts"))
        assert drift is not None
        odd = {rule.name for rule in drift.rules if rule.changed}
        assert odd == {rule.id for rule in rules_of(MODEL) if rule.node == IsTrue("owner")}
        assert all(part.changed for part in drift.classes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"rows": 3, "rules": {"rabc": 1}}', "'rabc' is no rule or class"),
        ('{"rows": 3, "rules": 4}', "'rules' is no object"),
        ('{"rows": -3}', "-3 is no count"),
        ('{"rows": true}', "True is no count"),
        ("{", "no JSON"),
        ("a,b\n1,2\n", "no columns what, name and count"),
        ("what,name,count\nrows,,x\n", "'x' is no count"),
        ("what,name,count\nclass,yes,5\nrows,,3\n", "too small"),
    ],
)
def test_what_is_no_count_is_refused(text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read_counts(text, MODEL, "counts.csv")
