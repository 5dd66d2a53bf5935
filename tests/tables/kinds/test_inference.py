"""Inference of kinds, levels, precision and missing cells from data in memory."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from table_rows import cells_of

from rulekit.errors import InputError
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Table

NAN = float("nan")


def only(table: Table):
    assert len(table.features) == 1
    return table.features[0], table.arrays[0].tolist()


def same(actual: list[float], expected: list[float]) -> None:
    np.testing.assert_array_equal(actual, expected)


@pytest.mark.parametrize(
    ("cells", "kind", "expected"),
    [
        (["True", "false", None], "boolean", [1, 0, NAN]),
        ([True, False], "boolean", [1, 0]),
        ([True, None], "boolean", [1, NAN]),
        ([0, 1, 1], "boolean", [0, 1, 1]),
        ([0.0, 1.0, NAN], "boolean", [0, 1, NAN]),
        (["0", "1"], "boolean", [0, 1]),
        ([0, 1, 2], "numeric", [0, 1, 2]),
        (["1e3", "-.5", ""], "numeric", [1000, -0.5, NAN]),
        (["inf", "-Infinity", "nan"], "numeric", [np.inf, -np.inf, NAN]),
        ([None, None], "numeric", [NAN, NAN]),
        (["a", "1", None], "categorical", [3, 2, 0]),
        (["yes", "no"], "categorical", [3, 2]),
        (["true", "1"], "categorical", [3, 2]),
        ([3, "x", 3.0, True], "categorical", [2, 4, 2, 3]),
    ],
)
def test_kinds(cells: list[object], kind: str, expected: list[float]) -> None:
    for data in ({"c": cells}, [{"c": cell} for cell in cells], np.array(cells, dtype=object)[:, None]):
        feature, actual = only(infer(data))
        assert feature.kind == kind
        same(actual, expected)


def test_frames_arrays_and_mappings_agree() -> None:
    columns = {"a": [1.5, NAN, 3.0], "b": ["x", None, "y"], "c": [True, False, True]}
    frames = [
        pd.DataFrame(columns),
        pd.DataFrame(columns).convert_dtypes(),
        pd.DataFrame(columns).astype({"b": object}),
        pd.DataFrame(columns).astype({"b": "category"}),
        pd.DataFrame({**columns, "b": ["x", "", "y"]}).astype({"b": "string[pyarrow]"}),
        pl.DataFrame(columns),
        pl.DataFrame(columns).lazy(),
        pl.DataFrame(columns).with_columns(pl.col("b").cast(pl.Categorical)),
        pl.DataFrame(columns).with_columns(pl.col("b").cast(pl.Enum(["x", "y"]))),
        pl.DataFrame(columns).to_arrow(),
        columns,
        [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    ]
    for frame in frames:
        table = infer(frame)
        assert [f.kind for f in table.features] == ["numeric", "categorical", "boolean"]
        assert table.features[1].levels == ("x", "y")
        assert cells_of(table) == {"a": [1.5, None, 3], "b": ["x", None, "y"], "c": [1, 0, 1]}


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, np.int8, np.int64, np.uint64, bool, object, "U3"]
)
def test_arrays_of_every_dtype(dtype: object) -> None:
    table = infer(np.array([[1, 0], [0, 1]]).astype(dtype))
    assert table.names == ("x0", "x1")
    assert [array.tolist() for array in table.arrays] == [[1, 0], [0, 1]]


def test_integer_codes_stay_legible_when_missing_cells_made_them_floats() -> None:
    for cells in ([3, 1, None, 10], [3.0, 1.0, NAN, 10.0], ["3.0", "1.0", None, "10.0"]):
        feature, codes = only(infer(pd.DataFrame({"code": cells}), ReadingOptions(types={"code": "categorical"})))
        assert feature.levels == ("1", "3", "10")
        assert codes == [3, 2, 0, 4]


def test_ordered_levels_are_ranks() -> None:
    table = infer({"c": ["mid", "low", None]}, ReadingOptions(types={"c": "ordered:low,mid,high"}))
    feature, codes = only(table)
    assert (feature.levels, feature.ordered, codes) == (("low", "mid", "high"), True, [3, 2, 0])
    with pytest.raises(InputError, match="data row 2, column 'c': level 'huge' is not among the declared low, mid"):
        infer({"c": ["low", "huge"]}, ReadingOptions(types={"c": "ordered:low,mid,high"}))
    ordered = pd.DataFrame({"c": pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)})
    feature, codes = only(infer(ordered))
    assert (feature.levels, feature.ordered, codes) == (("b", "a"), True, [2, 3])


def test_missing_tokens_are_explicit() -> None:
    data = {"n": ["1", "?", "3"], "c": ["NA", "x", "?"], "s": [-999, 5, 7]}
    table = infer(data, ReadingOptions(missing=["?", "s=-999"]))
    assert cells_of(table) == {"n": [1, None, 3], "c": ["NA", "x", None], "s": [None, 5, 7]}
    assert [f.missing_tokens for f in table.features] == [("?",), ("?",), ("?", "-999")]
    assert infer(data, ReadingOptions(missing={"c": ["NA"]})).features[1].levels == ("?", "x")


CLIENTS = [f"client {i}" for i in range(20)]


@pytest.mark.parametrize(
    ("data", "kinds", "notes"),
    [
        (
            {"c": ["NA", "x", "unknown"], "s": [-999, -999, 1]},
            ["categorical", "numeric"],
            [
                "column 's' has 2 cells -999; if it means missing, --missing s=-999",
                "levels that may mean missing: c 'NA' (1), c 'unknown' (1); if they do, declare --missing COL=TOKEN",
            ],
        ),
        (
            {"id": CLIENTS},
            ["categorical"],
            ["column 'id': ids or row numbers, it seems; leave out what only names rows: --ignore id"],
        ),
        ({"id": [*CLIENTS, CLIENTS[0]]}, ["categorical"], []),
        ({"id": CLIENTS[1:]}, ["categorical"], []),
        (
            {"n": ["1", "NA", "?", "2", "NA"] + [str(i) for i in range(99)]},
            ["categorical"],
            [
                "column 'n' is categorical because 3 of its cells are no numbers: 'NA' (2), '?' (1); if they mean "
                "missing, --missing n=NA --missing 'n=?'"
            ],
        ),
        ({"a": [None, None], "b": [1, 2]}, ["numeric"] * 2, ["column 'a' has no values; it is kept as numeric"]),
    ],
)
def test_what_may_be_read_wrongly_is_told_and_not_guessed(data: dict, kinds: list[str], notes: list[str]) -> None:
    table = infer(data)
    assert [feature.kind for feature in table.features] == kinds
    assert list(table.notes) == notes


def test_display_of_integers_and_dates() -> None:
    days = [datetime.date(2020, 1, 1), None]
    for frame in (pl.DataFrame({"d": days}), pd.DataFrame({"d": pd.to_datetime(days)}), {"d": np.array(days, "M8[D]")}):
        feature, array = only(infer(frame))
        assert (feature.kind, feature.display) == ("numeric", "date")
        same(array, [18262, NAN])
    feature, array = only(infer({"d": ["2020-01-01", None]}, ReadingOptions(types={"d": "date"})))
    assert feature.display == "date"
    same(array, [18262, NAN])
    stamp = infer(pl.DataFrame({"t": [datetime.datetime(2020, 1, 1, 12), datetime.datetime(2020, 1, 1, 12, 0, 1)]}))
    assert stamp.features[0].precision == "float64"
    assert stamp.arrays[0].tolist() == [1577880000.0, 1577880001.0]
    shown = {
        "integer": ([1.0, 2.0, NAN], [3, 0, -1]),
        "count": ([3, 0, 2, NAN], ["3", "0", "12"]),
        "plain": ([3, 0, 0.5],),
    }
    for display, columns in shown.items():
        assert {infer({"i": values}).features[0].display for values in columns} == {display}
    assert "column 'd': dates; --type d=date" in infer({"d": ["2020-01-01", "2020-01-02"]}).notes[0]


def test_precision_is_double_only_where_exact_values_collide() -> None:
    noise = np.array([0.1, np.nextafter(0.1, 1)])
    for values, precision in (
        ([16777216.0, 16777217.0], "float64"),
        ([16777216.0, 16777218.0], "float32"),
        ([16777215.0, 0.0], "float32"),
        ([16777217.0, 0.0], "float64"),  # one value decides, with no other near it
        ([1234567.89, 1234567.88], "float64"),
        ([131071.99, 0.1], "float32"),
        ([131072.01, 0.1], "float64"),
        ([131072.1, 0.1], "float32"),
        ([np.inf, 16777217.0], "float64"),
        ([1e300, 1e-300], "float32"),
        (noise, "float32"),
    ):
        assert infer({"x": values}).features[0].precision == precision
    table = infer(np.column_stack([noise, [16777216.0, 16777217.0]]))
    assert table.merged == {"x0": 1}
    assert "merged distinct values of x0 (1)" in table.notes[-1]
    assert table.arrays[1].dtype == np.float64
    assert infer(noise[:, None], ReadingOptions(precision={"x0": "float64"})).arrays[0].tolist() == noise.tolist()
    assert infer(np.array([[16777216], [16777217]]), ReadingOptions(precision={"x0": "float32"})).merged == {"x0": 1}


def test_huge_values_become_infinite_and_minus_zero_zero() -> None:
    _, array = only(infer(np.array([[1e300], [-0.0], [np.inf], [2.5]])))
    assert array == [np.inf, 0.0, np.inf, 2.5]
    assert not np.signbit(array[1])


@pytest.mark.parametrize("cells", [[2**53 + 1, 1], ["9007199254740993", "1"], [2**70, 1], [-(2**53) - 1, 5]])
def test_integers_beyond_2_53_are_refused_by_name(cells: list[object]) -> None:
    with pytest.raises(InputError, match=r"data row 1, column 'id': integer .* is beyond 2\^53"):
        infer({"id": cells})
    assert str(cells[0]) in infer({"id": cells}, ReadingOptions(types={"id": "categorical"})).features[0].levels


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (np.zeros((0, 2)), "0 sample"),
        (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
        (np.zeros(3), "Expected 2D array, got 1D array instead"),
        (np.zeros((2, 2, 2)), "3 dimensions"),
        (np.zeros((2, 2), dtype=complex), "Complex data not supported"),
        ({"a": [1, 2], "b": [1]}, "1 cells, but 2 in the first column"),
        ({"a": [[1], [2]]}, "list is no text, number"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "two columns are called 'a'"),
        ([[1, 2], [3]], "rows of different length"),
        (pl.DataFrame({"a": [[1], [2]]}), r"List.* are not supported"),
    ],
)
def test_bad_data_is_refused(data: object, message: str) -> None:
    with pytest.raises(InputError, match=message):
        infer(data)


def test_ignored_columns_are_gone() -> None:
    table = infer({"a": [1, 2], "b": [2, 3], "c": ["x", "y"]}, ReadingOptions(ignore=["a"], types={"c": "id"}))
    assert table.names == ("b",)


def test_a_table_comes_back_as_it_is_and_takes_no_options() -> None:
    table = infer({"a": [1, 2]})
    assert infer(table) is table
    with pytest.raises(InputError, match="typed already"):
        infer(table, ReadingOptions(types={"a": "categorical"}))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.uint8, np.int16])
def test_narrow_numbers_are_inferred_as_doubles_are(dtype):
    """They are not turned into doubles on the way; what is decided must not depend on that."""
    rng = np.random.default_rng(1)
    columns = {
        "few": rng.integers(0, 5, 200),
        "flag": rng.integers(0, 2, 200),
        "large": rng.integers(0, 120, 200) * (1 if np.dtype(dtype).itemsize < 4 else 131_000),
    }
    narrow = infer({name: cells.astype(dtype) for name, cells in columns.items()})
    double = infer({name: cells.astype(np.float64) for name, cells in columns.items()})
    assert narrow.features == double.features
    for mine, theirs in zip(narrow.arrays, double.arrays, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


def test_a_float32_matrix_is_not_copied():
    X = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    assert all(np.shares_memory(array, X) for array in infer(X).arrays)


def test_integers_beyond_float32_keep_their_width():
    assert infer({"a": np.array([2**24, 2**24 + 1])}).features[0].precision == "float64"


def test_spans_of_time_are_seconds_and_columns_of_several_levels_have_a_name() -> None:
    hours = [datetime.timedelta(hours=i) for i in range(3)]
    frames = (pd.DataFrame({"d": pd.to_timedelta(hours)}), pl.DataFrame({"d": hours}), {"d": hours})
    for frame in (*frames, {"d": np.array(hours, "m8[s]")}):
        feature, array = only(infer(frame))
        assert (feature.unit, array) == ("s", [0, 3600, 7200])
    assert infer(pd.DataFrame({("a", "v"): [1.5], ("a", "w"): [2.5]})).names == ("a.v", "a.w")
