"""Encoding under a schema: columns by name, levels by key, and errors that name the cell."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds import encoding
from rulekit.tables.kinds.encoding import encode, encode_blocks
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Table

NAN = float("nan")
SCHEMA = Schema(
    (
        Feature("age", missing_tokens=("?",)),
        Feature("job", "categorical", ("clerk", "nurse")),
        Feature("code", "categorical", ("1", "2", "10")),
        Feature("ok", "boolean"),
        Feature("day", display="date"),
    )
)
ENCODED = {"age": [1.5, NAN, NAN], "job": [3, 1, 0], "code": [4, 2, 1], "ok": [1, 0, NAN], "day": [18262, NAN, 1]}


def check(table: Table) -> None:
    assert table.features == SCHEMA.features
    for name, expected in ENCODED.items():
        np.testing.assert_array_equal(table.array(name), expected)


DATA = {
    "extra": ["junk", "?", ""],
    "ok": ["TRUE", "false", None],
    "code": ["10.0", "1", "7"],
    "day": ["2020-01-01", None, "1"],
    "job": ["nurse", "poet", None],
    "age": ["1.5", "?", None],
}


def test_text_numbers_and_bools_in_any_container_and_order() -> None:
    check(encode(DATA, SCHEMA))
    check(encode(pl.DataFrame(DATA), SCHEMA))
    check(encode(pd.DataFrame(DATA), SCHEMA))
    check(encode([dict(zip(DATA, row, strict=True)) for row in zip(*DATA.values(), strict=True)], SCHEMA))
    typed = {
        "age": [1.5, NAN, NAN],
        "job": pd.Categorical(["nurse", "poet", None]),
        "code": [10.0, 1.0, 7.0],
        "ok": pd.array([True, False, None], dtype="boolean"),
        "day": pd.to_datetime(["2020-01-01", None, "1970-01-02"]),
    }
    check(encode(pd.DataFrame(typed), SCHEMA))
    check(encode(infer(pd.DataFrame(typed)), SCHEMA))
    rows = np.array([DATA[name] for name in SCHEMA.names], dtype=object).T
    check(encode(rows, SCHEMA))
    check(encode(rows.tolist(), SCHEMA))


def test_arrays_match_by_place_and_count() -> None:
    schema = Schema((Feature("a"), Feature("b", "boolean")))
    table = encode(np.array([[0.1, 1], [-0.0, NAN]]), schema)
    assert table.array("a").tolist() == [float(np.float32(0.1)), 0.0]
    np.testing.assert_array_equal(table.array("b"), [1, NAN])
    with pytest.raises(InputError, match="X has 3 features, but the model is expecting 2 features as input"):
        encode(np.zeros((1, 3)), schema)
    assert encode(np.zeros((0, 2)), schema).n_rows == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": ["1", "old", "2"]}, "data row 2, column 'age': 'old' is not a number; mend the cell"),
        ({"ok": ["true", "1", "maybe"]}, "data row 3, column 'ok': 'maybe' is not true, false, 1 or 0"),
        ({"day": ["2020-01-01", "2020-13-01", None]}, "data row 2, column 'day': '2020-13-01' is not a date"),
        ({"age": pd.Categorical(["1", "x", "2"])}, "data row 2, column 'age': 'x' is not a number"),
        ({"age": [1, 2**53 + 1, 3]}, r"data row 2, column 'age': integer 9007199254740993 is beyond 2\^53"),
    ],
)
def test_cells_that_do_not_fit_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        encode(DATA | change, SCHEMA)


def test_a_missing_column_is_an_error_only_if_used() -> None:
    data = {name: cells for name, cells in DATA.items() if name != "job"}
    with pytest.raises(InputError, match="no column 'job'"):
        encode(data | {"jobs": ["x", "y", "z"]}, SCHEMA)
    table = encode({"age": ["1", "2", "3"], "day": ["no date"] * 3}, SCHEMA, used={"age"})
    assert table.array("age").tolist() == [1, 2, 3]
    assert table.array("job").tolist() == [0, 0, 0]
    assert np.isnan(table.array("day")).all()


def test_unseen_levels_as_the_feature_says() -> None:
    def coded(unseen: str) -> list[int]:
        schema = Schema((Feature("c", "categorical", ("a", "b"), unseen=unseen),))
        return encode({"c": ["a", "new", None, "b"]}, schema).arrays[0].tolist()

    assert coded("unseen") == [2, 1, 0, 3]
    assert coded("missing") == [2, 0, 0, 3]
    with pytest.raises(InputError, match="data row 2, column 'c': level 'new' was not in the training data"):
        coded("error")


def test_a_level_is_matched_as_written_before_its_zeros_go() -> None:
    schema = Schema((Feature("v", "categorical", ("1", "1.0", "true", "beta", "-7")),))
    cells = ["1", "1.0", "True", "TRUE", "beta", "-7.0"]
    assert encode({"v": cells}, schema).arrays[0].tolist() == [2, 3, 4, 4, 5, 6]
    others = ["1.", "1.00", "+1", "+1.0", "01", "tRuE", "truE", "beta.0", "-7.00"]
    assert set(encode({"v": others}, schema).arrays[0].tolist()) == {1}
    assert encode({"v": [1.0, 2.0]}, schema).arrays[0].tolist() == [2, 1]
    zero_one = Schema((Feature("v", "categorical", ("0", "1", "2")),))
    assert encode({"v": [True, False]}, zero_one).arrays[0].tolist() == [3, 2]
    assert encode(infer({"v": [0, 1, 1]}), zero_one).arrays[0].tolist() == [2, 3, 3]


def test_booleans_above_one_half_are_true() -> None:
    schema = Schema((Feature("b", "boolean"),))
    np.testing.assert_array_equal(encode({"b": [0.5, 0.6, 7, NAN, -1]}, schema).arrays[0], [0, 1, 1, NAN, 0])


def test_double_columns_stay_double() -> None:
    schema = Schema((Feature("n", precision="float64"),))
    assert encode({"n": ["16777217"]}, schema).arrays[0].tolist() == [16777217.0]


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=4)
COLUMNS = st.one_of(
    st.lists(st.one_of(st.none(), st.floats(allow_subnormal=True)), min_size=5, max_size=5),
    st.lists(st.one_of(st.none(), st.integers(-(2**53), 2**53)), min_size=5, max_size=5),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=5, max_size=5),
    st.lists(st.one_of(st.none(), TEXT), min_size=5, max_size=5),
    st.lists(st.one_of(st.none(), TEXT, st.integers(-9, 9), st.floats(-3, 3), st.booleans()), min_size=5, max_size=5),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(COLUMNS, min_size=1, max_size=3), st.booleans())
def test_encoding_the_training_data_again_changes_nothing(columns: list[list[object]], declare: bool) -> None:
    data = {f"c{j}": cells for j, cells in enumerate(columns)}
    table = infer(data, ReadingOptions(types={"c0": "categorical"} if declare else {}))
    schema = Schema(table.features)
    for again in (encode(data, schema), encode(Table(table.features, table.arrays, 5), schema)):
        for first, second in zip(table.arrays, again.arrays, strict=True):
            np.testing.assert_array_equal(first, second)
    for feature, array in zip(table.features, table.arrays, strict=True):
        if feature.kind == "categorical":
            assert set(array[array > 0].tolist()) == set(range(2, 2 + len(feature.levels)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(COLUMNS, min_size=1, max_size=3), st.permutations(range(5)), st.integers(1, 6))
def test_rows_are_encoded_alone_and_in_blocks_as_in_company(
    monkeypatch: pytest.MonkeyPatch, columns: list[list[object]], order: list[int], size: int
) -> None:
    data = {f"c{j}": cells for j, cells in enumerate(columns)}
    table = infer(data)
    schema = Schema(table.features)
    used = schema.names[: size % 3 + 1]
    monkeypatch.setattr(encoding, "BLOCK", size)
    for whole in (data, table):
        blocks = list(encode_blocks(whole, schema, used))
        assert {rows.n_rows for rows in blocks[:-1]} <= {size}
        for name in used:
            found = np.concatenate([rows.array(name) for rows in blocks])
            np.testing.assert_array_equal(found, table.array(name))
            assert found.dtype == table.array(name).dtype
    for row in order[:2]:
        alone = encode([{name: cells[row] for name, cells in data.items()}], schema)
        for whole, part in zip(table.arrays, alone.arrays, strict=True):
            np.testing.assert_array_equal(whole[row : row + 1], part)


MIXED = Schema((*(Feature(f"x{j}", precision="float64") for j in range(3)), Feature("x3", "categorical", ("1", "2"))))


def test_blocks_of_a_matrix_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors name the row of the whole."""
    monkeypatch.setattr(encoding, "BLOCK", 7)
    schema = Schema((*MIXED.features[:3], replace(MIXED.features[3], unseen="error")))
    for n in (0, 1, 7, 8, 40):
        X = np.round(np.random.default_rng(n).normal(0, 3, (n, 4)).astype(np.float32), 1)
        X[:, 3] = np.abs(X[:, 0]) % 2 < 1
        X[:, 3] += 1
        blocks, whole = list(encode_blocks(X, schema, ("x0", "x3"))), encode(X, schema)
        assert [rows.n_rows for rows in blocks] == [min(7, n - start) for start in range(0, max(n, 1), 7)]
        for name in ("x0", "x3"):
            found = np.concatenate([rows.array(name) for rows in blocks])
            np.testing.assert_array_equal(found, whole.array(name))
            assert not np.signbit(found).any() or (found[np.signbit(found)] < 0).all()  # no minus zero
    for column, value in ((3, 5.0), (0, 2**60)):
        X = np.ones((30, 4), dtype=np.int64)
        X[18, column] = value
        with pytest.raises(InputError, match=f"data row 19, column 'x{column}'"):
            list(encode_blocks(X, schema, schema.names))
    with pytest.raises(InputError, match="X has 5 features, but the model is expecting 4"):
        list(encode_blocks(np.zeros((3, 5)), schema, schema.names))
    table = encode(np.ones((20, 4)), schema)
    assert list(encode_blocks(table, schema, ("x0",))) == [table]


def test_a_text_in_blocks_is_what_it_is_in_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks must not tell the kind of a column anew: the text 3.0 among words is no number."""
    monkeypatch.setattr(encoding, "BLOCK", 7)
    cells = ["x", "3.0", *["3.0"] * 20]
    schema = Schema((Feature("c", "categorical", ("3", "x")),))
    for data in ({"c": cells}, np.array([[cell] for cell in cells], dtype=object)):
        (table,) = encode_blocks(data, schema, ("c",))
        assert table.array("c").tolist() == encode(data, schema).array("c").tolist()


def test_predictions_are_those_of_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "BLOCK", 7)
    graph = RuleGraph(MIXED, ("no", "yes"), Fires(And((Compare("x0", ">", 0.5, True), Among("x3", ("1",), True)))))
    X = np.abs(np.random.default_rng(0).normal(size=(50, 4))).round()
    assert graph.predict(X).tolist() == graph.predict(graph.table(X)).tolist()
    np.testing.assert_array_equal(graph.predict_proba(X), graph.predict_proba(graph.table(X)))
