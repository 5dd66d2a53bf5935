"""Forms: how the cells of a column write numbers and durations, known from one cell as an example.

Examples are `1.234,5 €`, `$1,234`, `(550)`, `1:30:00`, `5'11"`, `31-Dec-99`. A form reads the cells of a file; models,
rules and artifacts know numbers only. Python looks at distinct cells.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from rulekit.errors import InputError
from rulekit.schema import CURRENCIES, is_currency
from rulekit.tables.kinds.dates import ALWAYS, LONGEST, DateForm, ascii_text, date_forms, plain_text
from rulekit.tables.raw.columns import SECONDS_PER_DAY

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
_BY_LENGTH, _AFTER_SCALES = sorted(_SCALES, key=len, reverse=True), frozenset(("", "%", *CURRENCIES))
_BOUNDS = (
    *("<=", ">=", "<", ">", "≤", "≥", "~", "≈", "ca.", "ca", "circa", "approximately", "approx.", "approx", "about"),
    *("around", "more than", "less than", "at least", "at most", "up to", "over", "under", "above", "below"),
)
COMPOUNDS = {
    kind: {word: float(unit.split()[-1]) for unit in units.split(", ") for word in unit.split()[:-1]}
    for kind, units in (
        (
            "span",
            "w wk wks week weeks 604800, d day days 86400, h hr hrs std hour hours 3600, "
            "m min mins minute minutes 60, s sec second seconds 1, ms 1e-3",
        ),
        ("months", "y yr yrs year years 12, m mo mos mon mons month months 1"),
        ("inches", "' ft feet foot 12, \" in inch inches '' 1"),
        ("bytes", "b byte bytes 1, kb 1e3, mb 1e6, gb 1e9, tb 1e12, kib 1024, mib 1048576"),
        ("ounces", "oz ounce ounces 1, lb lbs pound pounds 16, st stone 224"),
        ("degrees", "° deg 1, ' min 0.016666666666666666, \" sec '' 0.0002777777777777778"),
    )
}
"""Units of numbers that are written in two or more, as 1h 30min, by what the smallest is; each in the kind's unit."""
_UNITS = {"span": "s", "clock": "s", "months": "months", "inches": "in", "bytes": "B", "ounces": "oz", "degrees": "°"}
_COMPOUND_PART = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]+|°|''|['\"])[\s,]*(?:and )?", re.ASCII)
_LAST_UNIT = re.compile(r"(\d+h|')\s*(\d{1,2})$", re.ASCII)
_CLOCK = re.compile(
    r"(?:(\d+) days?,? )?(\d+)(?::([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?|(?=\s*[ap]\.?m))(?:\s*([ap])\.?m\.?)?",
    re.ASCII | re.IGNORECASE,
)
_BASED = re.compile(r"[+-]?0(?:x[0-9a-f]{1,13}|o[0-7]{1,17}|b[01]{1,53})", re.ASCII | re.IGNORECASE)
_FRACTION = re.compile(r"([+-]?)(?:(\d+)[ -]+)?(\d+(?:\.\d+)?)\s*/\s*([1-9]\d*)", re.ASCII)
ROMAN = re.compile(r"(?=[MDCLXVI])M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})", re.IGNORECASE)
_SQUARE = re.compile(r"(?<=[^\W\d_x×])[23²³]")
_CORE = re.compile(r"\d(?:[\d.,' _]*\d)?[.,]?|[.,]\d+", re.ASCII)
_EXPONENT = r"(?:\s*(?:e|d(?=[+-])|[x×*·]\s*10\s*\^?)\s*(?P<power>[+-]?\d{1,4}))?"


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
    bound = rf"(?:{'|'.join(map(re.escape, sorted(_BOUNDS, reverse=True)))})?\s*" if form.bounds else ""
    scale = rf"(?P<scale>{'|'.join(map(re.escape, _BY_LENGTH))})?" if form.scaled else ""
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
    """Numbers in several units (`COMPOUNDS`: `2d 3h`), times (clock: `1:30:00`), in another base, fractions, Roman."""

    kind: str

    @property
    def unit(self) -> str:
        return _UNITS.get(self.kind, "")

    def reader(self) -> Callable[[str], float | None]:
        """What gives the number of a cell, None where it holds none of this form."""
        if self.kind in COMPOUNDS:
            return partial(_compound, COMPOUNDS[self.kind])
        read = {"clock": _clock, "base": _based, "fraction": _fraction, "roman": _roman}[self.kind]
        return lambda cell: read(plain_text(cell[: LONGEST + 1]))


def _compound(factors: dict[str, float], cell: str) -> float | None:
    text = ascii_text(cell[: LONGEST + 1]).lower()
    text = re.sub(r"^pt?(?=\d)|(?<=d)t(?=\d)", "", text)  # ISO's PT1H30M
    text = _LAST_UNIT.sub(lambda last: f"{last[1]} {last[2]}{'m' if last[1][-1] == 'h' else chr(34)}", text)
    parts = _COMPOUND_PART.findall(text)
    if not parts or _COMPOUND_PART.sub("", text) or not all(word in factors for _, word in parts):
        return None
    return math.fsum(float(number) * factors[word] for number, word in parts)


def _clock(text: str) -> float | None:
    """`14:30` has hours and minutes, as `0:14:30` has seconds too."""
    found = _CLOCK.fullmatch(text.lstrip("+-"))
    if found is None:
        return None
    days, hours, minutes, seconds = (float(part or 0) for part in found.groups()[:4])
    if found[5]:
        hours = hours % 12.0 + 12.0 * (found[5] in "pP")
    value = days * SECONDS_PER_DAY + hours * 3600.0 + minutes * 60.0 + seconds
    return -value if text.startswith("-") else value


def _based(text: str) -> float | None:
    return float(int(text, 0)) if _BASED.fullmatch(text) else None


def _roman(text: str) -> float | None:
    if not ROMAN.fullmatch(text):
        return None
    digits = [{"I": 1, "V": 5, "X": 10, "L": 50, "C": 100, "D": 500, "M": 1000}[c] for c in text.upper()]
    return float(sum(-one if one < after else one for one, after in zip(digits, [*digits[1:], 0], strict=True)))


def _fraction(text: str) -> float | None:
    found = _FRACTION.fullmatch(text)
    if found is None:
        return float(text) if re.fullmatch(r"[+-]?\d{1,15}", text, re.ASCII) else None
    value = int(found[2] or 0) + float(found[3]) / int(found[4])
    return -value if found[1] == "-" else value


Form = NumberForm | OddForm | DateForm


def number_forms(cell: str) -> list[Form]:
    """The forms of numbers that a cell can be of: two where one mark may be that of thousands or of decimals."""
    text, _ = _without_parentheses(plain_text(cell))
    several = len(re.findall(r"\d+(?:\.\d+)?", text)) > 1 or text[:1] == "P"
    kinds = ("clock", "base", "roman", *(("fraction",) if "/" in text else ()), *(COMPOUNDS if several else ()))
    found: list[Form] = [*[form for form in map(OddForm, kinds) if form.reader()(cell) is not None][:1]]
    core = _CORE.search(text)
    if core is None or len(text) > LONGEST:
        return found
    before, behind, digits = text[: core.start()], text[core.end() :], core.group()
    if before[-1:] in (".", ",") and digits[0] in ".,":
        return found
    if before[-1:].isalpha() and digits[0] == ".":  # No.5
        before, digits = f"{before}.", digits[1:]
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
    bound = max((sign for sign in _BOUNDS if before.lower().startswith(sign)), key=len, default="")
    before = re.sub(r"^[+-]|[+-]\s*$", "", before[len(bound) :].strip()).strip(" ")
    behind = re.sub(r"[+-]$", "", behind.strip()).strip()
    for word in _BY_LENGTH:  # which nothing, or a currency, follows; `m` is a metre, `M` a million
        begun = behind if len(word) == 1 and word != "k" else behind.lower()
        if (behind.startswith(word) or begun.startswith(word)) and behind[len(word) :].strip() in _AFTER_SCALES:
            break
    else:
        word = ""
    behind = behind[len(word) :].strip()
    return NumberForm(prefix=before, suffix=behind, scaled=bool(word), bounds=bool(bound))


def _marks_of(digits: str) -> list[tuple[str, str, bool]]:
    """What the marks of a number may be: thousands, decimal, whether grouped as in India."""
    marks = [c for c in digits if not c.isdigit()]
    if not marks:
        return [("", ".", False)]
    last, others, groups = marks[-1], set(marks[:-1]), re.split(r"\D", digits)
    other = "," if last == "." else "."
    apart = last in ".," and last not in others  # the last mark stands once: it may be that of decimals
    whole = groups[:-1] if apart else groups
    indian = len(whole) > 2 and all(len(group) == 2 for group in whole[1:-1])
    if apart and others:
        return [(others.pop(), last, indian)] if len(others) == 1 else []
    if apart:
        thousands = len(groups[-1]) == 3 and 0 < len(groups[0]) <= 3 and not groups[0].startswith("0")
        return [*([(last, other, False)] if thousands else []), ("", last, False)]
    alike = len(set(marks)) == 1 and len(groups[-1]) == 3 and all(0 < len(group) <= 3 for group in groups)
    return [(last, other, indian)] if alike else []


def form_of(kind: str, example: str, where: str = "") -> Form:
    """The form that a declared kind's example has; raises InputError where it has none, or two.

    kind: numeric, money, date or datetime.
    """
    dated = kind in ("date", "datetime")
    what, shown = ("date", "date:31-Dec-99") if dated else ("number", "numeric:1.234,5 kg")
    forms: list[Form] = [*(date_forms if dated else number_forms)(example)] if len(example) <= LONGEST else []
    if not forms:
        fix = f"write a cell of the column: {shown}"
        raise InputError(f"{example[:LONGEST]!r} shows no form of a {what}", where=where, fix=fix)
    named = [form for form in forms if isinstance(form, DateForm) and form.order in ALWAYS]
    if len(forms) > 1 and not named:
        fix = f"write one whose day is above 12, {kind}:31/12/1999 or {kind}:12/31/1999"
        if not dated:
            first = next((form for form in forms if isinstance(form, NumberForm)), NumberForm(","))
            fix = f"write one that shows which, {kind}:1{first.thousands}234{first.decimal}5"
        raise InputError(f"{example!r} may mean two {what}s", where=where, fix=fix)
    return (named or forms)[0]
