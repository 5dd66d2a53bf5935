"""Dates, moments, money, units and roles: what is declared of a column stands in the schema."""

from __future__ import annotations

import datetime
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from rulekit_exporters.python.runtime import cell, moment
from table_rows import split_labels

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.dates import parse_moments
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import label_for_model
from rulekit.tables.options import ReadingOptions
from rulekit.tables.reading import read_table

NOON = 1717156800.0


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-31", NOON - 43200),
        ("2024-05-31 12:00", NOON),
        ("2024-05-31T12:00:07", NOON + 7),
        ("2024-05-31T12:00:07.25", NOON + 7.25),
        ("1969-12-31T23:59:59.9", -0.1),
        ("2024-05-31T12:00Z", NOON),
        ("2024-05-31T12:00:00+02:00", NOON - 7200),
        ("2024-05-31 12:00-0530", NOON + 5.5 * 3600),
        *((text, None) for text in ("2024-02-30", "2024-05-31T25:00", "31.05.2024", "2024-05", "noon")),
        *((text, None) for text in ("2024-05-31T12", "2024-5-31")),
    ],
)
def test_moments_are_seconds_without_their_zone(text: str, seconds: float | None) -> None:
    """In tables and in exported modules."""
    assert parse_moments(pl.Series([text, None])).to_list() == [seconds, None]
    if seconds is not None:
        assert moment(text, ()) == seconds
    else:
        with pytest.raises(ValueError, match="column 't'"):
            cell(text, "t", "moment", ())


def test_moments_in_any_container_are_one_column() -> None:
    stamps = [datetime.datetime(2020, 1, 1, 12), None, datetime.datetime(2020, 1, 1, 12, 0, 1)]
    tables = [
        infer({"t": ["2020-01-01 12:00", None, "2020-01-01T12:00:01"]}, ReadingOptions(types={"t": "datetime"})),
        infer(pl.DataFrame({"t": stamps})),
        infer({"t": np.array(stamps, "M8[us]")}),
        infer({"t": [1577880000, None, 1577880001]}, ReadingOptions(types={"t": "datetime"})),
    ]
    for table in tables:
        assert table.features == (Feature("t", precision="float64", display="datetime"),)
        assert np.array_equal(table.arrays[0], [1577880000.0, math.nan, 1577880001.0], equal_nan=True)
        assert table.notes == ()
        again = encode(pl.DataFrame({"t": stamps}), Schema(table.features))
        assert np.array_equal(again.arrays[0], table.arrays[0], equal_nan=True)


def test_text_with_times_is_told_and_refused_where_it_is_none() -> None:
    assert "--type t=datetime" in infer({"t": ["2020-01-01 12:00", "2020-01-02"]}).notes[0]
    assert "--type t=date " in infer({"t": ["2020-01-01", "2020-01-02"]}).notes[0]
    with pytest.raises(InputError, match=r"data row 2, column 't': 'noon' is not a date \(2024-05-31T12:00\)"):
        infer({"t": ["2020-01-01", "noon"]}, ReadingOptions(types={"t": "datetime"}))
    with pytest.raises(InputError, match="column 't': float32 cannot tell seconds apart"):
        infer({"t": ["2020-01-01"]}, ReadingOptions(types={"t": "datetime"}, precision={"t": "float32"}))


@pytest.mark.parametrize(
    ("types", "unit", "display"),
    [
        ({}, "EUR", "money"),
        ({}, "$", "money"),
        ({}, "%", "integer"),
        ({"x": "money"}, "", "money"),
        ({"x": "money"}, "shells", "money"),
        ({"x": "numeric"}, " years ", "integer"),
    ],
)
def test_a_unit_that_is_a_currency_makes_money(types: dict[str, str], unit: str, display: str) -> None:
    feature = infer({"x": [1, 5, 7]}, ReadingOptions(types=types, units={"x": unit} if unit else {})).features[0]

    assert (feature.kind, feature.display, feature.unit) == ("numeric", display, unit.strip())


def test_roles_stand_in_the_schema() -> None:
    table = infer({"a": [1, 2], "b": ["x", "y"], "c": [1.5, 2]}, ReadingOptions(roles={"a": "audit", "b": "forbidden"}))

    assert [feature.role for feature in table.features] == ["audit", "forbidden", "use"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"types": {"A": "numeric"}}, "no column 'A'; did you mean 'a'"),
        ({"types": {"a": "float"}}, "no kind 'float'; one of numeric, boolean"),
        ({"types": {"b": "numeric"}}, "data row 1, column 'b': 'x' is not a number"),
        ({"types": {"b": "boolean"}}, "data row 1, column 'b': 'x' is not true, false, 1 or 0"),
        ({"types": {"a": "numeric:1.234"}}, "may mean two numbers; write one that shows which, numeric:1.234,5"),
        ({"types": {"a": "date:08/09/2024"}}, "may mean two dates; write one whose day is above 12"),
        ({"types": {"a": "numeric:kg"}}, "shows no form of a number"),
        ({"types": {"a": "date:550 kg"}}, "shows no form of a date"),
        ({"types": {"a": "numeric:" + "9" * 90}}, "shows no form of a number"),
        ({"ignore": ["a", "b", "d"]}, "no column is left"),
        ({"precision": {"a": "float16"}}, "float32 or float64"),
        ({"unseen": {"b": "ignore"}}, "unseen, missing or error"),
        ({"units": {"b": "EUR"}}, "column 'b': 'EUR' as the unit of a categorical column; only numbers have a unit"),
        ({"units": {"d": "days"}, "types": {"d": "date"}}, "column 'd': 'days' as the unit of dates"),
        ({"units": {"a": " "}}, "column 'a': unit ' '"),
        ({"units": {"x": "EUR"}}, "no column 'x'"),
        ({"roles": {"a": "never"}}, "column 'a': role 'never'; use, audit or forbidden"),
        ({"roles": {"x": "audit"}}, "no column 'x'"),
    ],
)
def test_what_cannot_be_declared_is_refused(options: dict[str, Any], message: str) -> None:
    data = {"a": [1, 5], "b": ["x", "y"], "d": ["2020-01-01", "2020-01-02"]}
    with pytest.raises(InputError, match=re.escape(message)):
        infer(data, ReadingOptions(**options))


@pytest.mark.parametrize(("kind", "digits"), [("date", 20240531), ("datetime", 20240531), ("datetime", 20240531120000)])
def test_digits_of_a_date_are_refused_in_every_reader(tmp_path: Path, kind: str, digits: int) -> None:
    """20240531 was a day in the year 57385, without a word."""
    options = ReadingOptions(types={"t": kind})
    schema = Schema(infer({"t": ["2024-05-31"]}, options).features)
    frame = pl.DataFrame({"t": [None, digits], "a": [1, 2]})
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    mixed = pl.DataFrame({"t": ["2024-05-31", str(digits)]})
    message = (
        rf"data row 2, column 't': {digits} would count (days|seconds) from 1970-01-01; write the date as 2024-05-31"
    )
    for path in tmp_path.iterdir():
        with pytest.raises(InputError, match=message):
            read_table(path, options)
        with pytest.raises(InputError, match=message):
            read_table(path, schema=schema)
    for data in (frame, mixed, frame.to_pandas(), {"t": np.array([0, digits])}, {"t": np.array([0.0, digits])}):
        with pytest.raises(InputError, match=message):
            infer(data, options)
        with pytest.raises(InputError, match=message):
            encode(data, schema)


def test_days_and_seconds_that_are_no_digits_of_a_date_are_read() -> None:
    days = [-719162.0, 19874.5, 2932896.0]
    assert infer({"t": days}, ReadingOptions(types={"t": "date"})).array("t").tolist() == days
    seconds = [1577880000.0, 20241301.0, 1e12]
    assert infer({"t": seconds}, ReadingOptions(types={"t": "datetime"})).array("t").tolist() == seconds


# Labels


def test_a_class_that_may_mean_missing_is_noted_unless_the_classes_are_named() -> None:
    """`--positive +` printed a note on `-` at every run."""
    data = {"x": [1, 2, 3], "y": ["+", "-", "-"]}
    assert "'-' (2 rows) is kept as a class" in split_labels(data, ReadingOptions("y")).notes[0]
    assert split_labels(data, ReadingOptions("y", positive="+")).notes == ()
    assert split_labels(data, ReadingOptions("y", ordered=("-", "+"))).notes == ()


def test_dates_as_labels_are_text(tmp_path: Path) -> None:
    """They were seconds since 1970."""
    days = [datetime.date(2024, 5, 31), datetime.date(2024, 6, 1)] * 4
    frame = pl.DataFrame({"x": range(8), "due": days})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")

    rows = read_labelled(tmp_path / "t.parquet", ReadingOptions("due", positive="2024-06-01"))

    assert rows.classes == ("2024-05-31", "2024-06-01")
    assert rows.y.tolist() == [0, 1] * 4
    for name in ("t.parquet", "t.csv"):
        assert label_for_model(tmp_path / name, rows.schema, rows.classes).y.tolist() == [0, 1] * 4
    with pytest.raises(InputError, match="label '2024-05-31' is no class of the model"):
        label_for_model(frame, rows.schema, ("2023-01-01", "2024-06-01"))


def test_moments_as_labels_and_levels_are_text() -> None:
    stamps = [datetime.datetime(2024, 5, 31), datetime.datetime(2024, 5, 31, 12, 30)] * 3
    frame = pl.DataFrame({"x": range(6), "t": stamps})

    assert split_labels(frame, ReadingOptions("t")).classes == ("2024-05-31", "2024-05-31T12:30")
    assert infer(frame, ReadingOptions(types={"t": "categorical"})).features[1].levels == (
        "2024-05-31",
        "2024-05-31T12:30",
    )


@pytest.mark.parametrize("what", ["unit", "role"])
def test_nothing_is_declared_of_a_label(what: str) -> None:
    with pytest.raises(InputError, match=f"column 'y': the {what} of a column that is no feature"):
        split_labels({"x": [1, 2], "y": [0, 1]}, ReadingOptions("y", **{f"{what}s": {"y": "audit"}}))  # type: ignore[arg-type]
