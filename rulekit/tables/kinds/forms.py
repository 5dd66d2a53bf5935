"""Forms: how the cells of a column write numbers, durations or dates, known from one cell as an example.

Examples are `1.234,5 €`, `$1,234`, `(550)`, `1:30:00`, `5'11"`, `31-Dec-99`. A form reads the cells of a file; models,
rules and artifacts know numbers only. Python looks at distinct cells.
"""

from __future__ import annotations

import datetime
import math
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from rulekit.dates import EPOCH
from rulekit.errors import InputError

# Units that make a number money; a column in another currency is declared `money`.
CURRENCIES = frozenset(
    (
        *("€", "$", "£", "¥", "₹", "₩", "₽", "AUD", "BRL", "CAD", "CHF", "CNY", "CZK", "DKK", "EUR", "GBP", "HKD"),
        *("HUF", "IDR", "ILS", "INR", "JPY", "KRW", "MXN", "NOK", "NZD", "PLN", "RON", "RUB", "SEK", "SGD", "THB"),
        *("TRY", "TWD", "USD", "ZAR", "US$", "R$", "kr", "kr.", "zł", "Kč", "Ft", "Rs", "Rs.", "Fr."),
    )
)


def is_currency(text: str) -> bool:
    """Whether a text stands for a currency: by name, or by a sign such as that of A$."""
    return text in CURRENCIES or (text != "" and unicodedata.category(text[-1]) == "Sc")


LONGEST = 80
"""Characters of a cell that may hold a number or a date."""
DAY = 86400.0

_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u200a\u202f\u3000\t"), " ")
_UNSEEN = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u2060\ufeff"), "")
_SIGNS = {
    ord(sign): plain for plain, signs in (("-", "−–—－"), ("'", "’‘´`ʼ′"), ('"', "″"), ("+", "＋")) for sign in signs
}
_MARKS = {ord(sign): plain for sign, plain in zip("，．٫٬％（）：／", ",..,%():/", strict=True)}
_PLAIN = _BLANKS | _UNSEEN | _SIGNS | _MARKS
_QUOTES = "\"'“”„«»[]{}"
_POWER = re.compile(r"(?<=10)[⁻⁰¹²³⁴-⁹]+")
_FOOTNOTE = re.compile(r"(?<=\d)\s*[*†‡§]+$")
_SCALES = {
    word: exponent
    for exponent, words in {
        3: "k th thousand tsd",
        6: "M mn mln mio million millions",
        9: "B bn bln mrd billion billions",
        12: "tn trillion",
    }.items()
    for word in words.split()
}
_BOUNDS = ("<=", ">=", "<", ">", "≤", "≥", "~", "≈", "ca.", "ca", "approx.", "approx", "about")
COMPOUNDS = {
    kind: {word: float(unit.split()[-1]) for unit in units.split(", ") for word in unit.split()[:-1]}
    for kind, units in (
        (
            "span",
            "d day days 86400, h hr hrs hour hours 3600, m min mins minute minutes 60, s sec second seconds 1, ms 1e-3",
        ),
        ("months", "y yr yrs year years 12, m mo mos mon mons month months 1"),
        ("inches", "' ft feet foot 12, \" in inch inches '' 1"),
        ("bytes", "b byte bytes 1, kb 1e3, mb 1e6, gb 1e9, tb 1e12"),
        ("degrees", "° deg 1, ' min 0.016666666666666666, \" sec '' 0.0002777777777777778"),
    )
}
"""Units of numbers that are written in two or more, as 1h 30min, by what the smallest is; each in the kind's unit."""
_UNITS = {"span": "s", "clock": "s", "months": "months", "inches": "in", "bytes": "B", "degrees": "°"}
_COMPOUND_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+|°|''|['\"])[\s,]*", re.ASCII)
_LAST_UNIT = re.compile(r"(\d+h|')\s*(\d{1,2})$", re.ASCII)
_CLOCK = re.compile(
    r"(?:(\d+) days?,? )?(\d+)(?::([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?|(?=\s*[ap]\.?m))(?:\s*([ap])\.?m\.?)?",
    re.ASCII | re.IGNORECASE,
)
_MANY_BLANKS = re.compile(r"\s{2,}")
_NO_CENTS = re.compile(r"(?<=\d)[.,/]-{1,2}$")
_BASED = re.compile(r"[+-]?0(?:x[0-9a-f]{1,13}|o[0-7]{1,17}|b[01]{1,53})", re.ASCII | re.IGNORECASE)
_FRACTION = re.compile(r"([+-]?)(?:(\d+)[ -]+)?(\d+(?:\.\d+)?)\s*/\s*([1-9]\d*)", re.ASCII)
_SQUARE = re.compile(r"(?<=[^\W\d_x×])[23²³]")
_CORE = re.compile(r"\d(?:[\d.,' _]*\d)?[.,]?|[.,]\d+", re.ASCII)
_EXPONENT = r"(?:\s*(?:e|d(?=[+-])|[x×*·]\s*10\s*\^?)\s*(?P<power>[+-]?\d{1,4}))?"

_MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "jan january januar janvier enero ene gennaio januari",
            "feb february februar fevrier fev fevr febrero febbraio februari",
            "mar march marz mrz mars marzo maart maerz",
            "apr april avril avr abril abr aprile",
            "may mai mayo maggio mei mag",
            "jun june juni juin junio giugno giu",
            "jul july juli juillet juil julio luglio lug",
            "aug august aout agosto ago augustus",
            "sep sept september septembre septiembre settembre set",
            "oct october okt oktober octobre octubre ottobre ott",
            "nov november novembre noviembre",
            "dec december dez dezember decembre diciembre dic dicembre",
        ),
        1,
    )
    for name in names.split()
}
_WEEKDAY = r"(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*[.,]?\s+)?"
_TIME = (
    r"(?:(?:[t,:]|\bat\b)?\s*(?P<hour>\d{1,2})[:h.](?P<minute>[0-5]\d)(?:[:.](?P<second>[0-5]\d(?:[.,]\d{1,6})?))?"
    r"\s*(?P<half>[ap]\.?m\.?)?\s*(?:uhr|hrs|h)?\s*(?P<zone>z|utc|gmt|[+-]\d\d:?\d\d)?)?"
)
_MIDDLE = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)"
_NAME, _YEAR = r"(?P<name>[a-z]{3,10})\.?", r"'?(?P<year>\d{4}|\d{2})"
_DATES = {
    "ymd": (r"(?P<year>\d{4})(?P<sep>[-/. ])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})",),
    "named": (
        rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[-/ ]?(?:of |de )?\s*{_NAME}[-/., ]*(?:de )?{_YEAR}",
        rf"{_NAME}\s+(?P<day>\d{{1,2}}) {_MIDDLE} (?:[a-z]{{3,4}} )?(?P<year>\d{{4}})",
        rf"{_NAME}[-/ ]?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?[-/, ]+{_YEAR}",
        rf"(?P<year>\d{{4}})[-/ ]?{_NAME}[-/ ]?(?P<day>\d{{1,2}})",
    ),
    "dmy": (
        rf"(?P<day>\d{{1,2}})(?P<sep>[-/. ])(?P<month>\d{{1,2}})(?P=sep){_YEAR}",
        r"(?P<day>\d{1,2})(?P<month>\d\d)(?P<year>(?:19|20)\d\d)",
    ),
    "mdy": (
        rf"(?P<month>\d{{1,2}})(?P<sep>[-/. ])(?P<day>\d{{1,2}})(?P=sep){_YEAR}",
        r"(?P<month>\d{1,2})(?P<day>\d\d)(?P<year>(?:19|20)\d\d)",
    ),
    "y2md": (r"(?P<year>\d{2})(?P<sep>[-/. ])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})",),
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
        r"(?P<year>\d{4})[- ]?q(?P<quarter>[1-4])",
        r"q(?P<quarter>[1-4])[-/ ]?(?P<year>\d{4})",
    ),
}
_DAYS = {ord(sign): plain for sign, plain in zip("年月日년월일", ("-", "-", "") * 2, strict=True)}
_TIME_FIRST = re.compile(r"(\d{1,2}:[0-5]\d(?::[0-5]\d(?:\.\d+)?)?(?: ?[ap]\.?m\.?)?),? (.*\d.*)", re.ASCII)
_ALWAYS = ("ymd", "named")
"""Orders that no cell of another order can be taken for."""


def plain_text(cell: str) -> str:
    """The cell with ASCII digits, blanks, signs and marks, without the quotes and blanks around it."""
    return _NO_CENTS.sub("", _FOOTNOTE.sub("", _ascii_text(cell).removeprefix("=").strip(_QUOTES).strip()))


def _ascii_text(cell: str) -> str:
    """The cell with ASCII digits, blanks, signs and marks, and a power of ten behind ^."""
    if not cell.isascii():
        cell = _POWER.sub(lambda power: "^" + unicodedata.normalize("NFKC", power[0]), cell).translate(_PLAIN)
        if not cell.isascii():
            cell = "".join(map(_digit, cell))
    return _MANY_BLANKS.sub(" ", cell.strip())  # patterns try every part of a run


def _digit(c: str) -> str:
    if c in "²³¹":
        return c
    if unicodedata.category(c) == "No" and "⁄" in (parts := unicodedata.normalize("NFKC", c)):
        return f" {parts.replace('⁄', '/')}"
    return str(unicodedata.digit(c, c))


@dataclass(frozen=True, slots=True)
class NumberForm:
    """Numbers with a thousands mark ("" for none), a decimal sign, a text before and after them, or a scale.

    indian: groups of two digits but for the last. scaled: K, M, bn stand for powers of ten. bounds: `<5` is 5.
    """

    thousands: str = ""
    decimal: str = "."
    prefix: str = ""
    suffix: str = ""
    indian: bool = False
    scaled: bool = False
    bounds: bool = False

    @property
    def unit(self) -> str:
        """What the numbers are of, "" where the form does not say."""
        return self.prefix if is_currency(self.prefix) else self.suffix

    @property
    def canonical(self) -> str:
        """A cell that can be of no other form."""
        mark = self.thousands
        digits = f"12{mark}34{mark}567" if self.indian else f"1{mark}234" if mark else "1234"
        before = f"{'<' * self.bounds}{self.prefix}{' ' * self.prefix[-1:].isalnum()}"
        behind = f"{'K' * self.scaled}{' ' * self.suffix[:1].isalnum()}{self.suffix}"
        return f"{before}{digits}{self.decimal}5{behind}"

    def reader(self) -> Callable[[str], float | None]:
        """What gives the number of a cell, None where it holds none of this form."""
        match, scales = _number_pattern(self), _SCALES
        marks = "".join({self.thousands, " ", "_"} - {""})

        def read(cell: str) -> float | None:
            if len(cell) > LONGEST:
                return None
            text, negative = _without_parentheses(plain_text(cell))
            found = match(text)
            if found is None:
                return None
            whole, part, power = found["whole"], found["part"], int(found["power"] or 0)
            if not (whole or part):
                return None
            if found["scale"]:
                power += scales.get(found["scale"], 0) or scales.get(found["scale"].lower(), 0)
            for mark in marks:
                whole = whole.replace(mark, "")
            negative ^= "-" in (found["before"] or "") + (found["inside"] or "") + (found["behind"] or "")
            number = float(f"{whole or '0'}.{part or '0'}e{power}")
            return -number if negative else number

        return read


@lru_cache(maxsize=256)
def _number_pattern(form: NumberForm) -> Callable[[str], re.Match[str] | None]:
    mark = re.escape(form.thousands)
    grouped = rf"\d{{1,2}}(?:{mark}\d\d)*{mark}\d{{3}}" if form.indian else rf"\d{{1,3}}(?:{mark}\d{{3}})+"
    whole = rf"(?P<whole>{grouped}|\d*)" if mark else r"(?P<whole>\d*)"
    part = rf"(?:{re.escape(form.decimal)}(?P<part>\d*))?"
    prefix = rf"(?:{_loose(form.prefix)})?" if form.prefix else ""
    suffix = rf"(?:{_loose(form.suffix.removesuffix('s') if len(form.suffix) > 2 else form.suffix)}s?)?"
    bound = rf"(?:{'|'.join(map(re.escape, _BOUNDS))})?\s*" if form.bounds else ""
    scale = rf"(?P<scale>{'|'.join(sorted(map(re.escape, _SCALES), key=len, reverse=True))})?" if form.scaled else ""
    scale = scale or "(?P<scale>(?!))?"
    pattern = (
        rf"{bound}(?P<before>[+-])?\s*{prefix}\s*(?P<inside>[+-])?\s*{whole}{part}{_EXPONENT}\s*{scale}\s*"
        rf"{suffix}\s*(?P<behind>[+-])?"
    )
    return re.compile(pattern, re.ASCII | re.IGNORECASE).fullmatch


def _loose(affix: str) -> str:
    return r"\s*".join(re.escape(part) for part in affix.split())


def _without_parentheses(text: str) -> tuple[str, bool]:
    """A text without the parentheses of accountants, and whether it had them."""
    if text.count("(") == 1 and text.count(")") == 1 and text.index("(") < text.index(")"):
        return text.replace("(", "").replace(")", "").strip(), True
    return text, False


@dataclass(frozen=True, slots=True)
class OddForm:
    """Numbers in several units (`COMPOUNDS`: `2d 3h`), times (clock: `1:30:00`), in another base, and fractions."""

    kind: str

    @property
    def unit(self) -> str:
        return _UNITS.get(self.kind, "")

    def reader(self) -> Callable[[str], float | None]:
        """What gives the number of a cell, None where it holds none of this form."""
        if self.kind in COMPOUNDS:
            return partial(_compound, COMPOUNDS[self.kind])
        return {"clock": _clock, "base": _based, "fraction": _fraction}[self.kind]


def _compound(factors: dict[str, float], cell: str) -> float | None:
    text = _ascii_text(cell[: LONGEST + 1]).lower()
    text = re.sub(r"^pt?(?=\d)|(?<=d)t(?=\d)", "", text)  # ISO's PT1H30M
    text = _LAST_UNIT.sub(lambda last: f"{last[1]} {last[2]}{'m' if last[1][-1] == 'h' else chr(34)}", text)
    parts = _COMPOUND_PART.findall(text)
    if not parts or _COMPOUND_PART.sub("", text) or not all(word in factors for _, word in parts):
        return None
    return math.fsum(float(number) * factors[word] for number, word in parts)


def _clock(cell: str) -> float | None:
    """`14:30` has hours and minutes, as `0:14:30` has seconds too."""
    text = plain_text(cell[: LONGEST + 1])
    found = _CLOCK.fullmatch(text.lstrip("+-"))
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups()[:4])
    if found[5]:
        hours = hours % 12.0 + 12.0 * (found[5] in "pP")
    value = days * DAY + hours * 3600.0 + minutes * 60.0 + seconds
    return -value if text.startswith("-") else value


def _based(cell: str) -> float | None:
    text = plain_text(cell[: LONGEST + 1])
    return float(int(text, 0)) if _BASED.fullmatch(text) else None


def _fraction(cell: str) -> float | None:
    text = plain_text(cell[: LONGEST + 1])
    found = _FRACTION.fullmatch(text)
    if found is None:
        return float(text) if re.fullmatch(r"[+-]?\d{1,15}", text, re.ASCII) else None
    value = int(found[2] or 0) + float(found[3]) / int(found[4])
    return -value if found[1] == "-" else value


@dataclass(frozen=True, slots=True)
class DateForm:
    """Dates in one order of year, month and day (`_DATES`); cells that begin with a year of four digits, or name the
    month, are read in any. Of two digits of a year 69 is 1969 and 68 is 2068.
    """

    order: str
    unit: str = ""

    def reader(self) -> Callable[[str], float | None]:
        """What gives the seconds since 1970-01-01 of a cell, None where it holds no date of this form."""
        matches = [match for order in dict.fromkeys((self.order, *_ALWAYS)) for match in _date_patterns(order)]

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
        text = "".join(c for c in unicodedata.normalize("NFD", text.translate(_DAYS)) if not unicodedata.combining(c))
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
        month = _MONTHS.get(str(parts["name"]), 0)
    if parts.get("quarter"):
        month = 3 * number("quarter") - 2
    try:
        if parts.get("week"):
            day = datetime.datetime.combine(
                datetime.date.fromisocalendar(year, number("week"), number("weekday")), datetime.time()
            )
        else:
            day = datetime.datetime(year, month, number("day"))
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


Form = NumberForm | OddForm | DateForm


def number_forms(cell: str) -> list[Form]:
    """The forms of numbers that a cell can be of: two where one mark may be that of thousands or of decimals."""
    text, _ = _without_parentheses(plain_text(cell))
    several = len(re.findall(r"\d+(?:\.\d+)?", text)) > 1 or text[:1] == "P"
    kinds = ("clock", "base", *(("fraction",) if "/" in text else ()), *(COMPOUNDS if several else ()))
    found: list[Form] = [form for form in map(OddForm, kinds) if form.reader()(cell) is not None]
    found = found[:1]
    core = _CORE.search(text)
    if core is None or len(text) > LONGEST:
        return found
    before, behind, digits = text[: core.start()], text[core.end() :], core.group()
    power = re.match(_EXPONENT, behind, re.ASCII | re.IGNORECASE)
    behind = behind[power.end() :] if power else behind
    shape = _affixes(before, behind)
    if shape is None:
        return found
    return [*(replace(shape, thousands=t, decimal=d, indian=i) for t, d, i in _marks_of(digits)), *found]


def _affixes(before: str, behind: str) -> NumberForm | None:
    """A form with the texts before and after the digits, None where no form has such."""
    if any(c.isdigit() for c in before + _SQUARE.sub("", behind)):
        return None
    bound = next((sign for sign in _BOUNDS if before.lower().startswith(sign)), "")
    before = re.sub(r"^[+-]|[+-]\s*$", "", before[len(bound) :].strip()).strip(" ")
    behind = re.sub(r"[+-]$", "", behind.strip()).strip()
    word = next((w for w in sorted(_SCALES, key=len, reverse=True) if _scale_stands(behind, w)), "")
    behind = behind[len(word) :].strip()
    return NumberForm(prefix=before, suffix=behind, scaled=bool(word), bounds=bool(bound))


def _scale_stands(text: str, word: str) -> bool:
    """Whether a text is a scale with nothing, or a currency, behind it; `m` is a metre, `M` a million."""
    if not (text.startswith(word) or ((len(word) > 1 or word == "k") and text.lower().startswith(word))):
        return False
    return text[len(word) :].strip() in ("", "%", *CURRENCIES)


def _marks_of(digits: str) -> list[tuple[str, str, bool]]:
    """What the marks of a number may be: thousands, decimal, whether grouped as in India."""
    marks = [c for c in digits if not c.isdigit()]
    if not marks:
        return [("", ".", False)]
    last = marks[-1]
    groups = re.split(r"\D", digits)
    others = set(marks[:-1])
    if last in ".," and last not in others:
        if len(others) > 1:
            return []
        decimal = ("", last, False)
        if others:
            thousands = others.pop()
            return [(thousands, last, _is_indian(groups[:-1]))]
        if len(groups[-1]) == 3 and 0 < len(groups[0]) <= 3 and not groups[0].startswith("0"):
            return [(last, "," if last == "." else ".", False), decimal]
        return [decimal]
    if len(set(marks)) > 1 or len(groups[-1]) != 3 or not all(0 < len(group) <= 3 for group in groups):
        return []
    return [(last, "," if last == "." else ".", _is_indian(groups))]


def _is_indian(groups: list[str]) -> bool:
    return len(groups) > 2 and all(len(group) == 2 for group in groups[1:-1])


def date_forms(cell: str) -> list[Form]:
    """The forms of dates that a cell can be of."""
    text = _date_text(cell[: LONGEST + 1])
    found: list[Form] = []
    for order in _DATES:
        matched = [m for match in _date_patterns(order) if (m := match(text)) is not None]
        if any(_seconds(m.groupdict()) is not None for m in matched):
            found.append(DateForm(order))
    return found


def form_of(kind: str, example: str, where: str = "") -> Form:
    """The form that a declared kind's example has; raises InputError where it has none, or two.

    kind: numeric, money, date or datetime.
    """
    dated = kind in ("date", "datetime")
    forms = (date_forms if dated else number_forms)(example) if len(example) <= LONGEST else []
    what = "date" if dated else "number"
    if not forms:
        fix = f"write a cell of the column: {'date:31-Dec-99' if dated else 'numeric:1.234,5 kg'}"
        raise InputError(f"{example[:LONGEST]!r} shows no form of a {what}", where=where, fix=fix)
    named = [form for form in forms if isinstance(form, DateForm) and form.order in _ALWAYS]
    if len(forms) > 1 and not named:
        fix = (
            f"write one whose day is above 12, {kind}:31/12/1999 or {kind}:12/31/1999"
            if dated
            else f"write one that shows which, {kind}:1{_mark(forms)}234{_mark(forms, True)}5"
        )
        raise InputError(f"{example!r} may mean two {what}s", where=where, fix=fix)
    return (named or forms)[0]


def _mark(forms: list[Form], decimal: bool = False) -> str:
    first = next((form for form in forms if isinstance(form, NumberForm)), NumberForm(","))
    return first.decimal if decimal else first.thousands
