"""The run-time helpers that are copied into generated modules."""

from __future__ import annotations

import datetime
import math

import numpy as np
import pytest
from rulekit_exporters.python import runtime

from rulekit import numbers


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (3, 3.0),
        (2.5, 2.5),
        (True, 1.0),
        ("3", 3.0),
        (" -1.5e3 ", -1500.0),
        ("inf", math.inf),
        (".5", 0.5),
        (2**53, 2.0**53),
    ],
)
def test_numbers_are_read(cell, expected):
    assert runtime.cell(cell, "x", "number", ()) == expected


@pytest.mark.parametrize("cell", [None, math.nan, "", " ", "?", "nan", np.float32("nan")])
def test_missing_numbers_are_nan(cell):
    assert math.isnan(runtime.number(cell, ("?",)))


@pytest.mark.parametrize("cell", ["abc", "1_0", "0x10", "1,5", "١", b"1", [1], 2**53 + 1, "9007199254740993", 10**400])
def test_unreadable_numbers_name_the_column(cell):
    with pytest.raises(ValueError, match="column 'x'"):
        runtime.cell(cell, "x", "number", ())


def test_flags_take_booleans_numbers_and_words():
    assert [runtime.flag(v, ()) for v in (True, 0, "TRUE", "false", "0.7")] == [1.0, 0.0, 1.0, 0.0, 0.7]


@pytest.mark.parametrize(
    "cell", ["2024-05-31", datetime.date(2024, 5, 31), datetime.datetime(2024, 5, 31), 19874, "19874"]
)
def test_dates_are_days_since_1970(cell):
    assert runtime.day(cell, ()) == 19874.0


def test_impossible_dates_are_refused():
    with pytest.raises(ValueError, match="not a date"):
        runtime.day("2024-02-31", ())


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("red", "red"),
        (3, "3"),
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (True, "true"),
        (np.float64(3), "3"),
        (np.int64(7), "7"),
        (np.bool_(False), "false"),
        (None, None),
        (math.nan, None),
    ],
)
def test_levels_are_text(cell, expected):
    assert runtime.level(cell) == expected


def test_text_of_numbers_meets_the_known_levels():
    known = frozenset({"3", "0"})
    assert [runtime.level(v, known) for v in ("3.0", "3", "3.5", True)] == ["3", "3", "3.5", "1"]
    truths = frozenset({"true", "false", "FALSE"})
    assert [runtime.level(v, truths) for v in ("True", "TRUE", "False", "FALSE")] == ["true", "true", "false", "FALSE"]


def test_a_missing_token_has_no_look_alikes():
    known = frozenset({"3", "9", "true", None, ""})
    assert [runtime.level(v, known, ("9", "true")) for v in ("9.0", 9.0, "True", True)] == ["9.0", "9", "True", "true"]


@pytest.mark.parametrize("text", ["3.", "3.00", "+3", "+3.0", "03", "3.0 ", "3.5", "tRuE", "FALSe", "t", "-0.5"])
def test_other_look_alikes_are_texts_of_their_own(text):
    assert runtime.level(text, frozenset({"3", "0", "true", "false"})) == text


@pytest.mark.parametrize("value", [0.1, -0.1, 1e-50, 3.5e38, -1e300, 16777217.0, math.inf, 2.0**128 - 2.0**103])
def test_float32_is_that_of_the_library(value):
    with np.errstate(over="ignore"):
        expected = float(np.array(value).astype(np.float32))
    found = runtime.clipped_float32(value, 0.0, -math.inf, math.inf, 0.0)
    assert found == numbers.float32(value) == expected


def test_helpers_refuse_none_so_that_the_slow_path_cleans_the_row():
    for function in (runtime.clipped_float32, runtime.clipped):
        with pytest.raises(TypeError):
            function(None, 0.0, 0.0, 1.0, 0.0)


@pytest.mark.parametrize("step", [0.0, 0.25, 1.0, 2.0**-30])
def test_clipping_a_cell_equals_clipping_a_column(step):
    values = np.array([-9.0, -0.125, 0.125, 0.375, 0.5, 1.5, 2.5, 99.0, math.inf, -math.inf, math.nan, 0.1])
    column = np.clip(values, -3.0, 4.0)
    column = np.where(np.isnan(values), 0.75, np.rint(column / step) * step if step else column)
    assert [runtime.clipped(v, 0.75, -3.0, 4.0, step) for v in values.tolist()] == column.tolist()


@pytest.mark.parametrize("step", [0.0, 0.25, 2.0**-30])
def test_a_cell_is_rounded_to_float32_before_it_is_clipped(step):
    """A double beside a tie of two steps, which float32 does not tell from the tie."""
    for value in (0.125 + 2.0**-40, 0.375 - 2.0**-40, 4.0 - 2.0**-30, -3.0 - 2.0**-40, 1e300, -math.inf, math.nan, 0.1):
        found = runtime.clipped_float32(value, 0.75, -3.0, 4.0, step)
        assert found == runtime.clipped(numbers.float32(value), 0.75, -3.0, 4.0, step)


def test_rounding_is_half_even():
    assert [runtime.clipped(v, 0.0, -9.0, 9.0, 1.0) for v in (0.5, 1.5, 2.5, -0.5, -1.5)] == [0.0, 2.0, 2.0, 0.0, -2.0]


def test_logistic_does_not_overflow():
    assert [runtime.logistic(z) for z in (-1000.0, 0.0, 1000.0)] == [0.0, 0.5, 1.0]


def test_probabilities_of_no_class_go_to_the_default():
    assert runtime.normalised([0.0, 0.0, 0.0], 2) == [0.0, 0.0, 1.0]
    assert runtime.normalised([1.0, 3.0], 0) == [0.25, 0.75]
