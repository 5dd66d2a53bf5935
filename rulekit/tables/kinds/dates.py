"""Cells without dress, and dates in them: ISO dates, dates in the order of an example, and the digits of dates."""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from rulekit.arrays import Bools, Floats, pl
from rulekit.dates import EPOCH
from rulekit.errors import InputError
from rulekit.tables.raw.columns import Column, place
from rulekit.tables.table import Array

LONGEST = 80
"""Characters of a cell that may hold a number or a date."""
_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\t"), " ")
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u2060\ufeff"), "")
_ALIKE = {"-": "−–—－‐‑‒﹣", "'": "’‘´`ʼ′", '"': "″", "+": "＋"}
_SIGNS = {ord(sign): plain for plain, signs in _ALIKE.items() for sign in signs}
_MARKS = {ord(sign): plain for sign, plain in zip("，．٫٬％（）：／", ",..,%():/", strict=True)}
_PLAIN = _BLANKS | _UNSEEN | _SIGNS | _MARKS
_QUOTES = "\"'“”„«»[]{}"
_POWER = re.compile(r"(?<=10)[⁻⁰¹²³⁴-⁹]+")
_FOOTNOTE = re.compile(r"(?<=\d)\s*[*†‡§]+$")
_MANY_BLANKS = re.compile(r"\s{2,}")
_NO_CENTS = re.compile(r"(?<=\d)[.,/]-{1,2}$")
_SIGN_WORD = re.compile(r"^(?:minus|negative|neg\.?|plus|positive)\s*(?=\W?\d)", re.IGNORECASE)
_ISO_YEAR = r"(?:[0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"  # 0001 to 9999, as Python counts
_MOMENT = (
    rf"^(?P<day>{_ISO_YEAR}-[0-9]{{2}}-[0-9]{{2}})"
    r"(?:[T ](?P<time>[0-9]{2}:[0-9]{2})(?P<second>:[0-5][0-9](?:\.[0-9]{1,6})?)?"
    r"(?:Z|(?P<sign>[+-])(?P<zone>[0-9]{2}:?[0-9]{2}))?)?$"
)
MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janv janvier janeiro enero ene gennaio januari",
            "feb february februar fevrier fev fevr febrero febbraio februari fevereiro",
            "mar march marz mrz mars marzo maart maerz marco",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mei mag maio",
            "jun june juni juin junio giugno giu junho",
            "jul july juli juillet juil julio luglio lug julho",
            "aug august aout agosto ago augustus",
            "sep sept september septembre septiembre settembre set setembro",
            "oct october okt oktober octobre octubre ottobre ott outubro",
            "nov november novembre noviembre novembro",
            "dec december dez dezember decembre diciembre dic dicembre dezembro",
        ),
        1,
    )
    for name in names.split()
}
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s+)?"
_TIME = (
    r"(?:(?:[t,:._-]|\bat\b)?\s*(?P<hour>\d{1,2})[:h._-](?P<minute>[0-5]\d)"
    r"(?:[:._-](?P<second>[0-5]\d(?:[.,]\d{1,9})?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?:uhr|hrs|h)?\s*(?P<zone>z|utc|gmt|[+-]\d\d:?\d\d)?)?"
)
_MIDDLE = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_SIGN = r" ?[-/._\\,] ?| "
_NAME, _YEAR = r"(?P<name>[a-z]{3,10})\.?", r"'?(?P<year>\d{4}|\d{2})"
_DATES = {
    "ymd": (
        rf"(?P<year>\d{{4}})(?P<sep>:|{_SIGN})(?P<month>\d{{1,2}})(?P=sep)(?P<day>\d{{1,2}})",
        r"(?P<year>\d{4})-(?P<of_year>\d{3})",
    ),
    "named": (
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[-/ ]?(?:of |de )?\s*{_NAME}[-/., ]*(?:de )?{_YEAR}",
        rf"{_NAME}\s+(?P<day>\d{{1,2}}) {_MIDDLE} (?:[a-z]{{3,4}} )?(?P<year>\d{{4}})",
        rf"{_NAME}[-/ ]?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[-/, ]+{_YEAR}",
        rf"(?P<year>\d{{4}})[-/ ]?{_NAME}[-/ ]?(?P<day>\d{{1,2}})",
    ),
    "dmy": (
        rf"(?P<day>\d{{1,2}})(?P<sep>{_SIGN})(?P<month>\d{{1,2}})(?P=sep){_YEAR}",
        r"(?P<day>\d{1,2})(?P<month>\d\d)(?P<year>(?:19|20)\d\d)",
    ),
    "mdy": (
        rf"(?P<month>\d{{1,2}})(?P<sep>{_SIGN})(?P<day>\d{{1,2}})(?P=sep){_YEAR}",
        r"(?P<month>\d{1,2})(?P<day>\d\d)(?P<year>(?:19|20)\d\d)",
    ),
    "y2md": (rf"(?P<year>\d{{2}})(?P<sep>{_SIGN})(?P<month>\d{{1,2}})(?P=sep)(?P<day>\d{{1,2}})",),
    "digits": (
        r"(?P<year>\d{4})(?P<month>\d{2})(?P<day>\d{2})",
        r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)[t ]?(?P<hour>\d\d)(?P<minute>[0-5]\d)(?P<second>[0-5]\d)?z?",
    ),
    "week": (
        r"(?P<year>\d{4})[- ]?k?w(?P<week>\d{1,2})(?:-?(?P<weekday>[1-7]))?",
        r"(?:k?w|week) ?(?P<week>\d{1,2})[-/, ]+(?P<year>\d{4})",
    ),
    "months": (
        rf"{_NAME}[-/., ]*{_YEAR}",
        rf"(?P<year>\d{{4}})[-/ ]?{_NAME}",
        r"(?P<year>\d{4})[-/.](?P<month>\d{1,2})",
        r"(?P<month>\d{1,2})[-/.](?P<year>\d{4})",
        r"(?P<month>0[1-9]|1[0-2])/(?P<year>\d{2})",
        r"(?P<year>\d{4})[- ]?(?:q(?P<quarter>[1-4])|h(?P<first>[12]))",
        rf"(?:q(?P<quarter>[1-4])|(?P<fourth>[1-4])q|h(?P<first>[12]))[-/ ]?{_YEAR}",
        rf"fy ?{_YEAR}",
    ),
}
DAYS = {ord(sign): plain for sign, plain in zip("年月日년월일", ("-", "-", "") * 2, strict=True)}
_TIME_FIRST = re.compile(r"(\d{1,2}:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?),? (.*\d.*)", re.ASCII)
ALWAYS = ("ymd", "named")
"""Orders that no cell of another order can be taken for."""


def plain_text(cell: str) -> str:
    """The cell with ASCII digits, blanks, signs and marks, without the quotes and blanks around it."""
    return _NO_CENTS.sub("", _FOOTNOTE.sub("", ascii_text(cell).removeprefix("=").strip(_QUOTES).strip()))


def ascii_text(cell: str) -> str:
    """The cell with ASCII digits, blanks, signs and marks, and a power of ten behind ^."""
    if not cell.isascii():
        cell = _POWER.sub(lambda power: "^" + unicodedata.normalize("NFKC", power[0]), cell).translate(_PLAIN)
        if not cell.isascii():
            cell = "".join(map(_digit, cell))
    cell = _MANY_BLANKS.sub(" ", cell.strip())  # patterns try every part of a run
    return _SIGN_WORD.sub(lambda word: "-" if word[0][0] in "mnMN" else "+", cell)


def _digit(c: str) -> str:
    if c in "²³¹":
        return c
    if unicodedata.category(c) == "No" and "⁄" in (parts := unicodedata.normalize("NFKC", c)):
        return f" {parts.replace('⁄', '/')}"
    return str(unicodedata.digit(c, c))


def parse_dates(cells: pl.Series) -> pl.Series:
    """Float64 series: days since 1970-01-01 of ISO dates (2024-05-31), null for all else."""
    written = cells.set(~cells.str.contains(rf"^{_ISO_YEAR}-[0-9]{{1,2}}-[0-9]{{1,2}}$").fill_null(False), None)
    dates = written.str.to_date("%Y-%m-%d", strict=False)
    return dates.cast(pl.Int32).cast(pl.Float64)


def parse_moments(cells: pl.Series) -> pl.Series:
    """Float64 series: seconds since 1970-01-01T00:00 of ISO dates with a time of day or not, null for all else.

    `2024-05-31 12:00`, `2024-05-31T12:00:07.5`; with `Z` or `+02:00` behind, in UTC.
    """
    parts = cells.rename("cell").to_frame().select(pl.col("cell").str.extract_groups(_MOMENT)).unnest("cell")
    time, second, sign, zone = (pl.col(name) for name in ("time", "second", "sign", "zone"))
    text = pl.col("day") + " " + time.fill_null("00:00") + second.fill_null(":00")
    moment = text.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", time_unit="us", strict=False)
    minutes = zone.str.head(2).cast(pl.Int64) * 60 + zone.str.tail(2).cast(pl.Int64)
    ahead = pl.when(sign == "-").then(-minutes).otherwise(minutes).fill_null(0)
    microseconds = parts.select(moment.dt.epoch("us") - ahead * 60_000_000).to_series()
    # polars divides by a number as it multiplies by its inverse, which is not the nearest double
    seconds = pl.Series(microseconds.fill_null(0).to_numpy() / 1e6)
    return seconds.set(microseconds.is_null(), None)


@dataclass(frozen=True, slots=True)
class DateForm:
    """Dates in one order of year, month and day (`_DATES`); cells that begin with a year of four digits, or name the
    month, are read in any. Of two digits of a year 69 is 1969 and 68 is 2068.
    """

    order: str
    unit: str = ""

    def reader(self) -> Callable[[str], float | None]:
        """What gives the seconds since 1970-01-01 of a cell, None where it holds no date of this form."""
        matches = [match for order in dict.fromkeys((self.order, *ALWAYS)) for match in _date_patterns(order)]

        def read(cell: str) -> float | None:
            if len(cell) > LONGEST:
                return None
            text = _date_text(cell)
            for match in matches:
                found = match(text)
                if found is not None and (seconds := _seconds(found.groupdict())) is not None:
                    return seconds
            return None

        return read


@lru_cache(maxsize=32)
def _date_patterns(order: str) -> tuple[Callable[[str], re.Match[str] | None], ...]:
    timed = [date if "<hour>" in date else rf"{date}\s*{_TIME}" for date in _DATES[order]]
    return tuple(re.compile(_WEEKDAY + date, re.ASCII).fullmatch for date in timed)


def _date_text(cell: str) -> str:
    """A cell in small letters without accents, the time of day behind the date."""
    text = plain_text(cell).lower()
    if not text.isascii():
        text = "".join(c for c in unicodedata.normalize("NFD", text.translate(DAYS)) if not unicodedata.combining(c))
    first = _TIME_FIRST.fullmatch(text)
    return f"{first[2]} {first[1]}" if first else text


def _seconds(parts: dict[str, str | None]) -> float | None:
    """The seconds of the parts of a date, None where there is no such day."""

    def number(name: str, default: int = 1) -> int:
        return int(parts.get(name) or default)

    year = number("year")
    year += 0 if len(parts["year"] or "") > 2 else 2000 if year < 69 else 1900
    month = number("month")
    if parts.get("name"):
        month = MONTHS.get(str(parts["name"]), 0)
    month += 3 * max(number("quarter"), number("fourth")) + 6 * number("first") - 9
    try:
        if parts.get("week"):
            day = datetime.datetime.combine(
                datetime.date.fromisocalendar(year, number("week"), number("weekday")), datetime.time()
            )
        else:
            day = datetime.datetime(year, month, number("day")) + datetime.timedelta(number("of_year") - 1)
            if day.year != year:
                return None
    except ValueError:
        return None
    hour, half = number("hour", 0), (parts.get("half") or "")[:1]
    if hour > (12 if half else 24) or (half and not hour):
        return None
    hour = hour % 12 + 12 * (half == "p") if half else hour
    zone = parts.get("zone") or ""
    ahead = (int(zone[1:3]) * 60 + int(zone[-2:])) * (-1 if zone[0] == "-" else 1) if zone[:1] in ("+", "-") else 0
    second = float((parts.get("second") or "0").replace(",", "."))
    return (day - EPOCH).total_seconds() + hour * 3600.0 + (number("minute", 0) - ahead) * 60.0 + second


def date_forms(cell: str) -> list[DateForm]:
    """The forms of dates that a cell can be of."""
    text = _date_text(cell[: LONGEST + 1])
    found: list[DateForm] = []
    for order in _DATES:
        matched = [m for match in _date_patterns(order) if (m := match(text)) is not None]
        if any(_seconds(m.groupdict()) is not None for m in matched):
            found.append(DateForm(order))
    return found


def _are_days(month: Array, day: Array) -> Bools:
    return np.asarray((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31))


def digits_of_dates(low: float, high: float, head: Array) -> tuple[str, ...]:
    """A date such as 31121999 for each order of digits in which all numbers are dates of 1900 to 2099."""
    front, back = np.divmod(head, 10_000)
    if low >= 1900_01_01 and high < 2100_00_00:
        return ("19991231",) if _are_days(*np.divmod(back, 100)).all() else ()
    if low < 101_1900 or not np.all((back >= 1900) & (back < 2100)):
        return ()
    first, second = np.divmod(front, 100)
    orders = {"31121999": _are_days(second, first), "12311999": _are_days(first, second)}
    return tuple(example for example, found in orders.items() if found.all())


def refuse_digits_of_dates(column: Column, values: Floats, display: str, source: str) -> None:
    """Raises InputError where a number in a column of dates is the digits of one (20240531, 20240531120000).

    Numbers are days or seconds since 1970; those digits would be read as millions of years, or as a day of 1970.
    """
    with np.errstate(invalid="ignore"):
        day, time = np.where(values >= 1e13, np.divmod(values, 1e6), (values, np.zeros_like(values)))
        digits = (day >= 1000_01_01) & (day <= 9999_12_31) & (np.rint(values) == values)
        digits &= _are_days(*np.divmod(np.mod(day, 10_000), 100))
        digits &= (time < 24_00_00) & (np.mod(time, 1_00_00) < 60_00) & (np.mod(time, 100) < 60)
    if digits.any():
        row = int(np.argmax(digits))
        text = f"{values[row]:.0f}"
        date = f"{text[:4]}-{text[4:6]}-{text[6:8]}" + (f"T{text[8:10]}:{text[10:12]}:{text[12:]}" if text[8:] else "")
        what = f"{text} would count {'days' if display == 'date' else 'seconds'} from 1970-01-01"
        fix = f"write the date as {date}"
        raise InputError(what, where=place(source, column.name, column.first_row + row), fix=fix)
