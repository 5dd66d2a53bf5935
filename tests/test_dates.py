"""Dates as text and back, and thresholds where a year, a month, a day begins."""

from __future__ import annotations

import datetime
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.dates import cut_between, moment_text, moment_value
from rulekit.numbers import separates, threshold_between
from rulekit.schema import Feature

DAYS = Feature("since", display="date")
MOMENTS = Feature("seen", display="datetime", precision="float64")


@pytest.mark.parametrize(
    ("value", "display", "text"),
    [
        (0.0, "date", "1970-01-01"),
        (17956.0, "date", "2019-03-01"),
        (-1.0, "date", "1969-12-31"),
        (18691.5, "date", "2021-03-05T12:00"),
        (0.0, "datetime", "1970-01-01T00:00"),
        (1551398400.0, "datetime", "2019-03-01T00:00"),
        (1551398461.25, "datetime", "2019-03-01T00:01:01.250000"),
        (1e300, "date", ""),
        (math.inf, "datetime", ""),
        (math.nan, "date", ""),
        (1 / 3, "datetime", ""),  # no microsecond gives it back
        (-719163.0, "date", ""),  # the year 0
    ],
)
def test_numbers_as_text(value: float, display: str, text: str) -> None:
    assert moment_text(value, display) == text


@settings(max_examples=80, deadline=None)
@given(
    st.one_of(st.integers(-(10**12), 10**12).map(float), st.floats(-1e11, 1e11)), st.sampled_from(["date", "datetime"])
)
def test_every_text_gives_its_number_back(value: float, display: str) -> None:
    text = moment_text(value, display)

    assert not text or moment_value(text, display) == value


@pytest.mark.parametrize("text", ["2019-02-29", "2019-3-1", "01.03.2019", "2019-03-01T24:00", "2019-03-01 ", ""])
def test_what_is_no_date(text: str) -> None:
    with pytest.raises(ValueError, match=r"date|day|month|hour|Invalid"):
        moment_value(text, "date")


@pytest.mark.parametrize(
    ("feature", "low", "high", "expected"),
    [
        (DAYS, "2018-12-20", "2019-02-10", "2018-12-31"),
        (DAYS, "2011-02-11", "2019-03-20", "2014-12-31"),
        (DAYS, "2019-02-11", "2019-03-20", "2019-02-28"),
        (DAYS, "2019-03-02", "2019-03-06", "2019-03-04"),
        (MOMENTS, "2018-12-20T08:00", "2019-02-10T09:00", "2019-01-01T00:00"),
        (MOMENTS, "2018-12-31T23:59", "2019-01-01", "2018-12-31T23:59"),  # midnight itself would move a row
        (MOMENTS, "2019-03-01T12:13", "2019-03-01T15:10", "2019-03-01T14:00"),
        (MOMENTS, "2019-03-01T12:13:10", "2019-03-01T12:13:45", "2019-03-01T12:13:27"),
        (MOMENTS, "2019-03-01T12:13:10.100000", "2019-03-01T12:13:10.600000", "2019-03-01T12:13:10.300000"),
    ],
)
def test_times_are_parted_where_a_year_a_month_a_day_an_hour_a_minute_or_a_second_begins(
    feature: Feature, low: str, high: str, expected: str
) -> None:
    t = cut_between(moment_value(low, feature.display), moment_value(high, feature.display), feature)

    assert moment_text(t, feature.display) == expected


@settings(max_examples=80, deadline=None)
@given(st.integers(-700_000, 2_900_000), st.integers(1, 800))
def test_no_coarser_day_lies_between_whole_days(low: int, width: int) -> None:
    t = cut_between(float(low), float(low + width), DAYS)
    epoch = datetime.date(1970, 1, 1).toordinal()
    days = [datetime.date.fromordinal(epoch + low + i + 1) for i in range(width)]
    years = [day for day in days if (day.month, day.day) == (1, 1)]
    months = [day for day in days if day.day == 1]
    begun = datetime.date.fromordinal(epoch + int(t) + 1)

    assert t.is_integer()
    assert low <= t < low + width
    assert begun in (years or months or days)


@settings(max_examples=80, deadline=None)
@given(
    st.one_of(st.floats(-(2.0**36), 2.0**36, width=32), st.floats(allow_nan=False, width=32)),
    st.one_of(st.floats(0, 2.0**17, width=32), st.floats(0, width=32)),
    st.sampled_from([DAYS, MOMENTS, Feature("x", display="date", precision="float64")]),
)
def test_no_row_moves(low: float, width: float, feature: Feature) -> None:
    high = low + width
    if not separates(low, low, high, feature.precision) or math.isinf(low):
        return
    assert separates(cut_between(low, high, feature), low, high, feature.precision)


def test_other_columns_have_decimals() -> None:
    plain = Feature("x")

    assert not plain.dated
    assert not Feature("b", "boolean", display="date").dated
    assert cut_between(17956.2, 18333.7, plain) == threshold_between(17956.2, 18333.7) == 18000.0
