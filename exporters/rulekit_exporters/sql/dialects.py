"""What the engines write differently: types, numbers that are read back exactly, and cells as the rules take them.

A cell is read by what it holds and not by what its column is declared to be: a number may stand in a column of text,
a Boolean in a column of integers. The templates take the column as `{x}`; a category becomes text, everything else a
double, and what is missing (NULL, NaN, the empty text) becomes NULL. Text that is no number is an error of the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from rulekit.errors import InputError
from rulekit.schema import Feature
from rulekit.tokens import LETTERS, SMALL_LETTERS, spellings

DIGITS, POWER = 2**53, 22  # whole numbers below 2^53 and powers of ten up to 10^22 are doubles: one division is exact


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one engine spells what has no common form.

    number: a finite double; infinity: the positive one; text_type: of text; truth, double, flag, day, moment: templates
    of a cell; truth: of a category that knows 1 but not true; text: of a text. sought: of such a text, without missing
    tokens, in the form in which `words` are looked for: conditions of which one holds where a text has one of some
    tokens of `rulekit.tokens`, whatever else stands in it.
    """

    number: Callable[[float], str]
    infinity: str
    text_type: str
    truth: str
    double: str
    flag: str
    day: str
    moment: str
    text: str
    words: Callable[[str, Sequence[str]], list[str]]
    sought: str = "{t}"

    def literal(self, value: object) -> str:
        """A number, a text or None."""
        if not isinstance(value, float):
            return "NULL" if value is None else quoted(str(value), "'")
        if math.isinf(value):
            return self.infinity if value > 0 else f"-{self.infinity}"
        return self.number(value + 0.0)

    def cell(self, feature: Feature) -> str:
        """A column of the table as the rules take it, NULL where it is missing."""
        x, tokens = quoted(feature.name), [self.literal(token) for token in feature.missing_tokens if token]
        if feature.kind == "categorical":
            codes = feature.codes_of_texts
            by_number = codes.get("true") is None and codes.get("1") is not None
            value = (self.truth if by_number else _texts(self.text_type)).format(x=x)
            return reduce("NULLIF({}, {})".format, tokens, value)
        if feature.kind == "text":
            return self.sought.format(t=reduce("NULLIF({}, {})".format, tokens, self.text.format(x=x)))
        kind = {"date": self.day, "datetime": self.moment}.get(feature.display, self.double)
        value = (self.flag if feature.kind == "boolean" else kind).format(x=x)
        value = reduce("NULLIF({}, {})".format, map(self.literal, feature.missing_numbers), value)
        texts = f"CAST({x} AS {self.text_type}) IN ({', '.join(tokens)})"
        return f"CASE WHEN {texts} THEN NULL ELSE {value} END" if tokens else value


def quoted(text: str, sign: str = '"') -> str:
    """An identifier, or with `'` a text; raises InputError for NUL, which engines do not take."""
    if "\0" in text:
        raise InputError(f"{text!r} holds a NUL character, which SQL cannot write", fix="export to another target")
    return sign + text.replace(sign, 2 * sign) + sign


def exactly(value: float) -> str:
    """A double for an engine that reads some decimals wrongly by one unit: short ones, else integers and divisions."""
    exact = Fraction(value)
    for power in range(POWER + 1):
        scaled = exact * 10**power
        if abs(scaled) >= DIGITS:
            break
        if scaled.denominator == 1:
            digits = f"{abs(scaled.numerator):0{power + 1}d}"
            return ("-" if value < 0 else "") + (f"{digits[:-power]}.{digits[-power:]}" if power else f"{digits}.0")
    mantissa, exponent = math.frexp(value)
    whole, shift = int(mantissa * 2**53), exponent - 53
    factors = [62] * (abs(shift) // 62) + [abs(shift) % 62] * bool(abs(shift) % 62)
    return f"({whole} * 1.0" + "".join(f" {'*' if shift > 0 else '/'} {2**k}" for k in factors) + ")"


def with_exponent(value: float) -> str:
    """A double where a decimal without an exponent is read as one of fixed point."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


_NUMBER = "CASE WHEN {t} GLOB '*[0-9]*' AND {t} NOT GLOB '*[^-+.0-9eE ]*' THEN CAST({t} AS REAL) ELSE json({t}) END"
_SQLITE = (
    "CASE typeof({x}) WHEN 'text' THEN CASE trim({x}) WHEN '' THEN NULL <CASES>ELSE "
    + _NUMBER.replace("{t}", "{x}")
    + " END ELSE {x} * 1.0 END"
)
_TEXTUAL = "lower(CAST({x} AS text))"
_DUCKDB = "NULLIF(CASE typeof({x}) WHEN 'VARCHAR' THEN CAST(<TEXT> AS DOUBLE) ELSE TRY_CAST({x} AS DOUBLE) END, 'nan')"
_POSTGRES = (
    "NULLIF(CASE WHEN pg_typeof({x})::text IN ('text', 'character varying', 'character', 'unknown')"
    " THEN CAST(<TEXT> AS float8) ELSE CAST({x} AS float8) END, 'NaN'::float8)"
)
_ISO = "____-__-__"
_FLAG = f"CASE {_TEXTUAL} WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 WHEN '' THEN NULL"
_TRUTH = "CASE WHEN {is_boolean} THEN CASE {text} WHEN 'true' THEN '1' WHEN 'false' THEN '0' END ELSE {text} END"


def _texts(cast: str) -> str:
    """The text of a cell, NULL where it is empty."""
    return f"NULLIF(CAST({{x}} AS {cast}), '')"


_LETTERS = "".join(f"{chr(first)}-{chr(last)}" for first, last in LETTERS)


def _any_case(token: str) -> str:
    """A pattern of the ways to write a token, for the engine's own lower case may differ from that of rulekit."""
    return "".join(c if len(ways := spellings(c)) == 1 else f"[{ways}]" for c in token)


def _globs(name: str, tokens: Sequence[str]) -> list[str]:
    """SQLite's GLOB has classes of characters by code point; blanks stand for the ends of the text."""
    patterns = (f"*[^{_LETTERS}]{_any_case(token)}[^{_LETTERS}]*" for token in tokens)
    return [f"' ' || {name} || ' ' GLOB {quoted(pattern, chr(39))}" for pattern in patterns]


def _regular(name: str, tokens: Sequence[str]) -> list[str]:
    """One regular expression of RE2, whose classes are by code point."""
    pattern = f"(^|[^{_LETTERS}])({'|'.join(map(_any_case, tokens))})($|[^{_LETTERS}])"
    return [f"regexp_matches({name}, {quoted(pattern, chr(39))})"]


# PostgreSQL's classes are by code point too, in a database of UTF8. It keeps few compiled patterns, so that one for
# each rule would be compiled again for each row: a text is once made runs of letters in lower case, with blanks around.
_PARTED = (
    "CASE WHEN getdatabaseencoding() = 'UTF8' THEN ' ' || regexp_replace(translate({t}, '<CAPITALS>', '<SMALL>')"
    " COLLATE \"C\", '[^<LETTERS>]+', ' ', 'g') || ' '"
    " ELSE CAST(CAST(getdatabaseencoding() || ' is no UTF8' AS float8) AS text) END"
)


def _parted(name: str, tokens: Sequence[str]) -> list[str]:
    """A token, between blanks, stands in a text of tokens between blanks."""
    return [f"strpos({name}, {quoted(f' {token} ', chr(39))}) > 0" for token in tokens]


DIALECTS = {
    "sqlite": Dialect(
        number=exactly,
        infinity="9e999",
        text_type="text",
        truth=_texts("text"),
        double=_SQLITE.replace("<CASES>", ""),
        flag=_SQLITE.replace("trim", "lower").replace("<CASES>", "WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 "),
        day=f"CASE WHEN {{x}} LIKE '{_ISO}' THEN julianday({{x}}) - 2440587.5"
        f" ELSE ({_SQLITE.replace('<CASES>', '')}) END",
        moment=f"CASE WHEN {{x}} LIKE '{_ISO}%' THEN strftime('%s', {{x}}) * 1.0"
        f" ELSE ({_SQLITE.replace('<CASES>', '')}) END",
        # its texts go on behind a NUL, but its patterns do not
        text="CASE WHEN instr(CAST({x} AS BLOB), x'00') THEN json('a text with a NUL') ELSE " + _texts("text") + " END",
        words=_globs,
    ),
    "duckdb": Dialect(
        number=with_exponent,
        infinity="'inf'::DOUBLE",
        text_type="VARCHAR",
        truth=_TRUTH.format(is_boolean="typeof({x}) = 'BOOLEAN'", text=_texts("VARCHAR")),
        double=_DUCKDB.replace("<TEXT>", _texts("VARCHAR")),
        flag=f"{_FLAG} ELSE NULLIF(CAST(CAST({{x}} AS VARCHAR) AS DOUBLE), 'nan') END",
        day=f"CASE WHEN CAST({{x}} AS VARCHAR) LIKE '{_ISO}' THEN date_diff('day', DATE '1970-01-01',"
        f" CAST(CAST({{x}} AS VARCHAR) AS DATE)) * 1e0 ELSE NULLIF(CAST({_texts('VARCHAR')} AS DOUBLE), 'nan') END",
        moment=f"CASE WHEN CAST({{x}} AS VARCHAR) LIKE '{_ISO}%' THEN epoch(CAST(CAST({{x}} AS VARCHAR) AS TIMESTAMP))"
        f" ELSE NULLIF(CAST({_texts('VARCHAR')} AS DOUBLE), 'nan') END",
        text=_texts("VARCHAR"),
        words=_regular,
    ),
    "postgresql": Dialect(
        number=lambda value: f"'{value!r}'::float8",
        infinity="'Infinity'::float8",
        text_type="text",
        truth=_TRUTH.format(is_boolean="pg_typeof({x})::text = 'boolean'", text=_texts("text")),
        double=_POSTGRES.replace("<TEXT>", _texts("text")),
        flag=f"{_FLAG} ELSE NULLIF(CAST(CAST({{x}} AS text) AS float8), 'NaN'::float8) END",
        day=f"CASE WHEN CAST({{x}} AS text) LIKE '{_ISO}' THEN CAST(CAST({{x}} AS text) AS date) - DATE '1970-01-01'"
        f" ELSE NULLIF(CAST({_texts('text')} AS float8), 'NaN'::float8) END",
        moment=f"CASE WHEN CAST({{x}} AS text) LIKE '{_ISO}%' THEN CAST(EXTRACT(EPOCH FROM CAST(CAST({{x}} AS text) AS"
        f" timestamp)) AS float8) ELSE NULLIF(CAST({_texts('text')} AS float8), 'NaN'::float8) END",
        text=_texts("text"),
        words=_parted,
        sought=_PARTED.replace("<LETTERS>", _LETTERS)
        .replace("<CAPITALS>", "".join(map(chr, SMALL_LETTERS)))
        .replace("<SMALL>", "".join(map(chr, SMALL_LETTERS.values()))),
    ),
}
