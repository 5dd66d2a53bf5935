"""The run-time helpers that are copied into generated modules."""

from __future__ import annotations

import datetime
import math
from functools import partial

import numpy as np
import pytest
from rulekit_exporters.python import runtime

from rulekit import numbers

NAN, INF = math.nan, math.inf
number, flag = partial(runtime.number, tokens=("?",)), partial(runtime.flag, tokens=())
day, known = partial(runtime.day, tokens=()), partial(runtime.level, known=frozenset({"3", "0"}))
truth = partial(runtime.level, known=frozenset({"true", "false", "FALSE"}))
absent = partial(runtime.level, known=frozenset({"3", "9", "true", None, ""}), tokens=("9", "true"))
READ = {
    number: [
        *((3, 3.0), (2.5, 2.5), (True, 1.0), ("3", 3.0), (" -1.5e3 ", -1500.0), ("inf", INF), (".5", 0.5)),
        *((2**53, 2.0**53), (None, NAN), (NAN, NAN), ("", NAN), (" ", NAN), ("?", NAN), ("nan", NAN)),
        (np.float32("nan"), NAN),
    ],
    flag: [(True, 1.0), (0, 0.0), ("TRUE", 1.0), ("false", 0.0), ("0.7", 0.7)],
    day: [
        *(("2024-05-31", 19874.0), (19874, 19874.0), ("19874", 19874.0)),
        *((datetime.date(2024, 5, 31), 19874.0), (datetime.datetime(2024, 5, 31), 19874.0)),
    ],
    runtime.level: [
        *(("red", "red"), (3, "3"), (3.0, "3"), (-0.0, "0"), (0.1, "0.1"), (True, "true"), (np.float64(3), "3")),
        *((np.int64(7), "7"), (np.bool_(False), "false"), (None, None), (NAN, None)),
    ],
    # the text of a number, or of a truth value, is the level that it means; other look-alikes are texts of their own
    known: [
        *(("3.0", "3"), ("3", "3"), ("3.5", "3.5"), (True, "1")),
        *((text, text) for text in ("3.", "3.00", "+3", "+3.0", "03", "3.0 ", "-0.5")),
    ],
    truth: [
        *(("True", "true"), ("TRUE", "true"), ("False", "false"), ("FALSE", "FALSE")),
        *((text, text) for text in ("tRuE", "FALSe", "t")),
    ],
    # a missing token has no look-alikes
    absent: [("9.0", "9.0"), (9.0, "9"), ("True", "True"), (True, "true")],
}


@pytest.mark.parametrize(
    ("read", "cell", "expected"), [(read, *pair) for read, pairs in READ.items() for pair in pairs]
)
def test_cells_are_read(read, cell, expected):
    assert repr(read(cell)) == repr(expected)


@pytest.mark.parametrize("cell", ["abc", "1_0", "0x10", "1,5", "١", b"1", [1], 2**53 + 1, "9007199254740993", 10**400])
def test_unreadable_numbers_name_the_column(cell):
    with pytest.raises(ValueError, match="column 'x'"):
        runtime.cell(cell, "x", "number", ())


def test_impossible_dates_are_refused():
    with pytest.raises(ValueError, match="not a date"):
        day("2024-02-31")


@pytest.mark.parametrize("step", [0.0, 0.25, 1.0, 2.0**-30])
def test_a_cell_is_rounded_to_float32_clipped_and_rounded_half_to_even(step):
    """Among them doubles beside a tie of two steps, which float32 does not tell from the tie."""
    values = [-9.0, -0.125, 0.125, 0.375, 0.5, 1.5, 2.5, 99.0, INF, -INF, NAN, 0.1, 1e-50, 3.5e38, -1e300, 16777217.0]
    values += [0.125 + 2.0**-40, 0.375 - 2.0**-40, 4.0 - 2.0**-30, -3.0 - 2.0**-40, 2.0**128 - 2.0**103, -0.5, -1.5]
    with np.errstate(over="ignore"):
        narrow = np.array(values).astype(np.float32).astype(float)
    for clipped, given in ((runtime.clipped, np.array(values)), (runtime.clipped_float32, narrow)):
        column = np.clip(given, -3.0, 4.0)
        column = np.where(np.isnan(given), 0.75, np.rint(column / step) * step if step else column)
        assert [clipped(v, 0.75, -3.0, 4.0, step) for v in values] == column.tolist()
        with pytest.raises(TypeError):  # so that the slow path cleans the row
            clipped(None, 0.0, 0.0, 1.0, step)
    unbounded = [runtime.clipped_float32(v, NAN, -INF, INF, 0.0) for v in values]
    assert repr(unbounded) == repr(narrow.tolist()) == repr([numbers.float32(v) for v in values])


def test_links_do_not_overflow_and_no_class_is_the_default():
    assert [runtime.logistic(z) for z in (-1000.0, 0.0, 1000.0)] == [0.0, 0.5, 1.0]
    assert runtime.normalised([0.0, 0.0, 0.0], 2) == [0.0, 0.0, 1.0]
    assert runtime.normalised([1.0, 3.0], 0) == [0.25, 0.75]
