"""Dates: columns of days and of moments as numbers, as ISO text, and as readable thresholds.

A column shown as "date" holds days since 1970-01-01 (a whole number is a day), one shown as "datetime" seconds since
1970-01-01T00:00, without time zone or in UTC.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator
from functools import lru_cache

from rulekit.numbers import separates, threshold_between
from rulekit.schema import Feature

EPOCH = datetime.datetime(1970, 1, 1)
DAY = datetime.timedelta(days=1)
_LENGTHS = {"date": DAY, "datetime": datetime.timedelta(seconds=1)}
_TEXT = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?)?", re.ASCII)


def moment_text(value: float, display: str) -> str:
    """The ISO text of a number of days ("date") or seconds ("datetime"); "" where no text gives the number back.

    A whole number of days is `2019-03-01`, all else has a time of day: `2019-03-01T12:00`.
    """
    try:
        moment = EPOCH + value * _LENGTHS[display]
    except (OverflowError, ValueError):
        return ""
    if display == "date" and moment == _midnight(moment):
        text = moment.date().isoformat()
    else:
        text = moment.isoformat(timespec="minutes" if moment == moment.replace(second=0, microsecond=0) else "auto")
    return text if moment_value(text, display) == value else ""


def moment_value(text: str, display: str) -> float:
    """The days ("date") or seconds ("datetime") of an ISO date, with a time of day or not; raises ValueError."""
    if not _TEXT.fullmatch(text):
        raise ValueError(f"{text!r} is no date like 2019-03-01 or 2019-03-01T12:00")
    return (datetime.datetime.fromisoformat(text) - EPOCH) / _LENGTHS[display]


@lru_cache(maxsize=4096)
def cut_between(low: float, high: float, feature: Feature) -> float:
    """The most readable threshold t of a column with low <= t < high in its precision; see `threshold_between`.

    Dates are cut where a year begins, else a month, else a day, else (moments) an hour, a minute, a second; of several
    where it is nearest to the middle. Between whole days t is the last day before, so that `x > 2018-12-31` is "from
    2019 on" and `x <= 2018-12-31` "until 2018"; between moments t is the midnight itself.
    """
    if feature.dated:
        length = _LENGTHS[feature.display]
        before = DAY if feature.display == "date" and low.is_integer() and high.is_integer() else datetime.timedelta(0)
        try:
            middle = EPOCH + (low / 2 + high / 2) * length
            for candidates in _starts(middle + before):
                found = [(moment - before - EPOCH) / length for moment in candidates]
                found = [value for value in found if separates(value, low, high, feature.precision)]
                if found:
                    return min(found, key=lambda value: (abs(value - low - (high - low) / 2), value))
        except (OverflowError, ValueError):  # beyond the years 1 to 9999, or infinite
            pass
    return threshold_between(low, high, feature.precision)


def _starts(middle: datetime.datetime) -> Iterator[tuple[datetime.datetime, datetime.datetime]]:
    """The last beginning of a year, a month, ... a second up to a moment, and the next one after it."""
    day = _midnight(middle)
    month = day.replace(day=1)
    yield month.replace(month=1), month.replace(year=month.year + 1, month=1)
    yield month, (month + 31 * DAY).replace(day=1)
    yield day, day + DAY
    for unit in (datetime.timedelta(hours=1), datetime.timedelta(minutes=1), datetime.timedelta(seconds=1)):
        begun = day + (middle - day) // unit * unit
        yield begun, begun + unit


def _midnight(moment: datetime.datetime) -> datetime.datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)
