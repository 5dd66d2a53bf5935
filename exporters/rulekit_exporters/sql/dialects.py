"""What the engines write differently: types, numbers that are read back exactly, and what a cell holds.

Functions are named with their schema, and texts compared byte by byte, so that no collation, setting or function of a
user decides. `cells` puts these parts together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rulekit.errors import InputError
from rulekit.tokens import LETTERS, SMALL_LETTERS, spellings

DIGITS, POWER = 2**53, 22  # whole numbers below 2^53 and powers of ten up to 10^22 are doubles: one division is exact
NUMBER = "[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?"
YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"
DAY = f"{YEAR}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
LOOSE_DAY = f"{YEAR}-(0?[1-9]|1[0-2])-(0?[1-9]|[12][0-9]|3[01])"
ZONE = "Z|[-+][0-9]{2}:?[0-9]{2}"
CLOCK = f"([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{{1,6}})?)?({ZONE})?"
DATE_DIGITS = (
    "[1-9][0-9]{3}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9])?"  # 20240531
)


@dataclass(frozen=True, slots=True)
class SqlDialect:
    """How one engine spells what has no common form.

    engine: its name for people. number: a finite double; infinity: the positive one; text_type: of text. word_of,
    text_of: templates of text literals. words: conditions of which one holds where a text, brought into the form
    `sought`, has one of some tokens of `rulekit.tokens`, whatever else stands in it. fail: an error of a message (a
    list of texts), as a double. nullif: NULL where two are equal. function: what stands before the name of one.

    parts: templates of a cell. `x` is the column; `type` and `text` (exact, byte by byte) are made of it, and `trimmed`
    (without blanks around) of the text. What begins with `is_` is a condition, "" where the engine has no such cells;
    `is_large` is an integer that a double would round, `is_digits` a number that is the digits of a date.

    constants: parts that are the same in each row, which the engine knows before it runs where they are no columns.
    hidden: names, in small letters, that mean something in a table without such a column. folded: the name by which the
    engine tells columns apart.
    """

    engine: str
    number: Callable[[float], str]
    infinity: str
    text_type: str
    words: Callable[[str, Sequence[str]], list[str]]
    fail: Callable[[Sequence[str]], str]
    parts: Mapping[str, str]
    folded: Callable[[str], str]
    sought: str = "{t}"
    nullif: str = "NULLIF({}, {})"
    function: str = ""
    hidden: frozenset[str] = frozenset()
    guard: str = ""
    constants: tuple[str, ...] = ()

    @property
    def typed(self) -> bool:
        """Whether a column has Booleans and dates of its own."""
        return "is_truth" in self.parts

    def literal(self, value: object) -> str:
        """A number, a text or None."""
        if not isinstance(value, float):
            return "NULL" if value is None else self.text(str(value))
        if math.isinf(value):
            return self.infinity if value > 0 else f"-{self.infinity}"
        return self.number(value + 0.0)

    def text(self, value: str) -> str:
        """A text on one line, since a tool may change the ends of lines.

        PostgreSQL has a setting in which a backslash is no plain character unless E stands before it.
        """
        if not self.typed:
            ends = "' || char(13) || '", "' || char(10) || '"
            text = quoted(value, "'").replace("\r", ends[0]).replace("\n", ends[1])
            return f"({text})" if set(value) & {"\r", "\n"} else text
        if not set(value) & {"\r", "\n", *("\\" if self.engine == "PostgreSQL" else "")}:
            return quoted(value, "'")
        return "E" + quoted(value.replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n"), "'")


def quoted(text: str, sign: str = '"') -> str:
    """An identifier, or with `'` a text; raises InputError for NUL, which engines do not take."""
    if "\0" in text:
        raise InputError(f"{text!r} holds a NUL character, which SQL cannot write", fix="export to another target")
    return sign + text.replace(sign, 2 * sign) + sign


def exactly(value: float) -> str:
    """A double for an engine that reads some decimals wrongly by one unit: short ones, else integers and divisions."""
    whole, parts = value.as_integer_ratio()
    power = parts.bit_length() - 1  # a double is whole / 2^power, and so has as many decimals
    if power <= POWER and abs(whole) * 5**power < DIGITS:
        digits = f"{abs(whole) * 5**power:0{power + 1}d}"
        return ("-" if value < 0 else "") + (f"{digits[:-power]}.{digits[-power:]}" if power else f"{digits}.0")
    mantissa, exponent = math.frexp(value)
    whole, shift = int(mantissa * 2**53), exponent - 53
    factors = [62] * (abs(shift) // 62) + [abs(shift) % 62] * bool(abs(shift) % 62)
    return f"({whole} * 1.0" + "".join(f" {'*' if shift > 0 else '/'} {2**k}" for k in factors) + ")"


def with_exponent(value: float) -> str:
    """A double where a decimal without an exponent is read as one of fixed point."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _small_ascii(name: str) -> str:
    return "".join(c.lower() if c.isascii() else c for c in name)


def _cut_at_63(name: str) -> str:
    """PostgreSQL knows a name by its first 63 bytes."""
    return name.encode()[:63].decode(errors="ignore")


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
    return [f"system.main.regexp_matches({name}, {quoted(pattern, chr(39))})"]


# PostgreSQL's classes are by code point too, in a database of UTF8. It keeps few compiled patterns, so that one for
# each rule would be compiled again for each row: a text is once made runs of letters in lower case, with blanks around.
_PARTED = (
    "' ' || pg_catalog.regexp_replace(pg_catalog.translate({t}, '<CAPITALS>', '<SMALL>')"
    " COLLATE pg_catalog.\"C\", '[^<LETTERS>]+', ' ', 'g') || ' '"
)


def _parted(name: str, tokens: Sequence[str]) -> list[str]:
    """A token, between blanks, stands in a text of tokens between blanks."""
    return [f"pg_catalog.strpos({name}, {quoted(f' {token} ', chr(39))}) > 0" for token in tokens]


# SQLite -----------------------------------------------------------------------------------------------------------

# A text is a number where it equals the number that it becomes: 1-5 stays a text beside 1. A plain decimal is made a
# number by one exact division, since SQLite reads some decimals wrongly by one unit in the last place.
_D = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_Y, _N = "'[0-9][0-9][0-9][0-9]-", ("[0-9]", "[0-9][0-9]")
_T = "[T ][0-9][0-9]:[0-9][0-9]"
_SQLITE = {
    "type": "typeof({x})",
    "text": "CAST({x} AS text) COLLATE BINARY",
    "trimmed": "trim({x}, char(9, 10, 11, 12, 13, 32))",
    "is_text": "{type} = 'text'",
    "is_number_type": "{type} IN ('integer', 'real')",
    "is_real": "{type} = 'real'",
    "real": "{x}",
    "is_number": "CAST({trimmed} AS REAL) = {trimmed}",
    "is_large": f"abs(CAST({{trimmed}} AS REAL)) >= {2**53} AND {{trimmed}} NOT GLOB '*[.eE]*'"
    f" AND ltrim(ltrim({{trimmed}}, '+-'), '0') <> '{2**53}'",
    "number": "CASE WHEN {trimmed} GLOB '*.*' AND {trimmed} NOT GLOB '*[eE]*' AND length({trimmed}) < 17"
    " THEN CAST(replace({trimmed}, '.', '') AS INTEGER) / CAST('1e' || (length({trimmed}) - instr({trimmed}, '.')) AS"
    " REAL) ELSE CAST({trimmed} AS REAL) END",
    "padded": "substr({trimmed}, 1, 5) || substr('0' || substr({trimmed}, 6, instr(substr({trimmed}, 6), '-') - 1), -2)"
    " || '-' || substr('0' || substr({trimmed}, 6 + instr(substr({trimmed}, 6), '-')), -2)",
    "is_day": f"({' OR '.join(f'{{trimmed}} GLOB {_Y}{m}-{d}{chr(39)}' for m in _N for d in _N)}) AND"
    " date(julianday({padded})) = {padded} AND {padded} > '0001'",
    "day": "julianday({padded}) - 2440587.5",
    "whole": "CAST(CAST(CAST({trimmed} AS REAL) AS INTEGER) AS text)",
    "is_digits": "CAST({trimmed} AS REAL) = {whole} + 0 AND date(substr({whole}, 1, 4) || '-' || substr({whole}, 5, 2)"
    " || '-' || substr({whole}, 7, 2)) IS NOT NULL AND (length({whole}) = 8 OR length({whole}) = 14 AND"
    " substr({whole}, 9, 2) < '24' AND time(substr({whole}, 9, 2) || ':' || substr({whole}, 11, 2) || ':' ||"
    " substr({whole}, 13, 2)) IS NOT NULL)",
    "zone": "CASE WHEN {trimmed} GLOB '*:[0-9][0-9]*Z' THEN 'Z' WHEN {trimmed} GLOB '*:*[-+][0-9][0-9]:[0-9][0-9]' THEN"
    " substr({trimmed}, -6) WHEN {trimmed} GLOB '*:*[-+][0-9][0-9][0-9][0-9]' THEN substr({trimmed}, -5) ELSE '' END",
    "base": "substr({trimmed}, 1, length({trimmed}) - length({zone}))",
    "is_moment": f"({{base}} GLOB '{_D}' OR {{base}} GLOB '{_D}{_T}' OR {{base}} GLOB '{_D}{_T}:[0-9][0-9]' OR"
    f" substr({{base}}, 1, 20) GLOB '{_D}{_T}:[0-9][0-9].' AND length({{base}}) BETWEEN 21 AND 26 AND"
    " substr({base}, 21) NOT GLOB '*[^0-9]*') AND date(julianday(substr({base}, 1, 10))) = substr({base}, 1, 10)"
    " AND {base} > '0001'"
    " AND substr({base}, 12, 2) < '24' AND strftime('%s', substr({base}, 1, 19)) IS NOT NULL",
    "moment": "((strftime('%s', substr({base}, 1, 19)) - CAST(substr({zone}, 1, 3) AS INTEGER) * 3600 -"
    " CAST(substr({zone}, 1, 1) || substr({zone}, -2) AS INTEGER) * 60) * 1000000 +"
    " CAST(substr(substr({base}, 21) || '000000', 1, 6) AS INTEGER)) / 1000000.0",
    # the text of a real number has 15 digits: where these are all, they are the level
    "key": "CASE WHEN {type} <> 'real' THEN {text} WHEN {x} = CAST({x} AS INTEGER) AND abs({x}) < 9e18 THEN"
    " CAST(CAST({x} AS INTEGER) AS text) WHEN CAST({text} AS REAL) = {x} AND abs({x}) BETWEEN 0.0001 AND 1e15 THEN"
    " {text} END COLLATE BINARY",
    "is_odd": "instr(CAST({x} AS BLOB), x'00')",  # its texts go on behind a NUL, but its patterns do not
    "odd": " holds a NUL character",
}

# DuckDB ---------------------------------------------------------------------------------------------------------------

_FRACTION = "'([.][0-9]*[1-9])0+$|[.]0+$'"
_MIDNIGHT = "'(T00:00)?(:00)?[.]000000$'"
_BLANKS = "'^[\\t-\\r ]+|[\\t-\\r ]+$'"
_MOMENTS = "'DATE', 'TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS', 'TIMESTAMP WITH TIME ZONE'"
_INTEGERS = (
    "'TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', 'UBIGINT', 'UHUGEINT'"
)
_DUCKDB = {
    "type": "system.main.regexp_extract(system.main.typeof({x}), '^([A-Z0-9_ ]+)([(].*[)])?$', 1)",
    "text": f"(CASE WHEN {{type}} = 'DECIMAL' THEN system.main.regexp_replace(CAST({{x}} AS VARCHAR), {_FRACTION},"
    " '\\1') ELSE CAST({x} AS VARCHAR) END) COLLATE c",
    "trimmed": f"system.main.regexp_replace(CAST({{x}} AS VARCHAR), {_BLANKS}, '', 'g') COLLATE c",
    "is_text": "{type} IN ('VARCHAR', 'ENUM')",
    "is_number_type": f"{{type}} IN ({_INTEGERS}, 'DECIMAL', 'FLOAT', 'DOUBLE')",
    "is_real": "{type} IN ('FLOAT', 'DOUBLE')",
    "is_truth": "{type} = 'BOOLEAN'",
    "is_true": "TRY_CAST({x} AS BOOLEAN)",
    "is_stamp": f"{{type}} IN ({_MOMENTS}) AND system.main.regexp_matches({{text}}, '^[0-9]')",
    "microseconds": "CASE {type} WHEN 'TIMESTAMP WITH TIME ZONE' THEN system.main.epoch_us(TRY_CAST({x} AS"
    " TIMESTAMPTZ)) WHEN 'TIMESTAMP_NS' THEN CAST(system.main.floor(TRY_CAST(system.main.epoch_ns("
    "TRY_CAST({x} AS TIMESTAMP_NS)) AS DECIMAL(38, 3)) / 1000) AS BIGINT) ELSE"
    " system.main.epoch_us(TRY_CAST({x} AS TIMESTAMP)) END",
    "seconds": "{microseconds} / 1e6",
    "stamp": "system.main.regexp_replace(system.main.strftime(system.main.make_timestamp({microseconds}),"
    f" '%Y-%m-%dT%H:%M:%S.%f'), {_MIDNIGHT}, '')",
    "is_nan": "{is_real} AND system.main.isnan(TRY_CAST({x} AS DOUBLE))",
    "real": "TRY_CAST({x} AS DOUBLE)",
    "is_number": f"system.main.regexp_full_match({{trimmed}}, '{NUMBER}')",
    "is_large": "system.main.regexp_full_match({integer}, '[-+]?0*[0-9]{16,}') AND system.main.abs(TRY_CAST({integer}"
    f" AS DOUBLE)) >= {2**53} AND NOT system.main.regexp_full_match({{integer}}, '[-+]?0*{2**53}')",
    "integer": "CASE {type} WHEN 'DECIMAL' THEN {text} ELSE {trimmed} END",
    "number": "CAST({trimmed} AS DOUBLE)",
    "is_day": f"system.main.regexp_full_match({{trimmed}}, '{LOOSE_DAY}') AND TRY_CAST({{trimmed}} AS DATE)"
    " IS NOT NULL",
    "day": "system.main.epoch_us(TRY_CAST({trimmed} AS TIMESTAMP)) / 864e8",  # of integers `integer_division` makes one
    "whole": "TRY_CAST(TRY_CAST({trimmed} AS DOUBLE) AS BIGINT)",
    "is_digits": "TRY_CAST({trimmed} AS DOUBLE) = {whole} AND system.main.regexp_full_match(CAST({whole} AS VARCHAR),"
    f" '{DATE_DIGITS}')",
    "is_moment": f"system.main.regexp_full_match({{trimmed}}, '{DAY}([T ]{CLOCK})?') AND"
    " TRY_CAST(system.main.regexp_extract({trimmed}, '^.{10}') AS DATE) IS NOT NULL",
    "moment": f"(system.main.epoch_us(CAST(system.main.regexp_replace({{trimmed}}, '({ZONE})$', '') AS TIMESTAMP))"
    " - COALESCE(TRY_CAST(system.main.regexp_extract({trimmed}, ':.*([-+][0-9]{2}):?[0-9]{2}$', 1) AS BIGINT), 0)"
    " * 3600000000 - COALESCE(TRY_CAST(system.main.concat(system.main.regexp_extract({trimmed},"
    " ':.*([-+])[0-9]{2}:?[0-9]{2}$', 1), system.main.regexp_extract({trimmed},"
    " ':.*[-+][0-9]{2}:?([0-9]{2})$', 1)) AS BIGINT), 0) * 60000000) / 1e6",
    "key": "CASE WHEN {is_real} AND TRY_CAST({x} AS DOUBLE) = TRY_CAST({x} AS BIGINT) THEN CAST(TRY_CAST({x} AS BIGINT)"
    " AS VARCHAR) ELSE {text} END COLLATE c",
}

# PostgreSQL -----------------------------------------------------------------------------------------------------------

_C = ' COLLATE pg_catalog."C"'
_STAMPS = "'date', 'timestamp without time zone', 'timestamp with time zone'"
_LARGEST = "1.797693134862315807e308"
_POSTGRES = {
    # COALESCE gives the type below a domain
    "type": "CAST(pg_catalog.pg_typeof(COALESCE({x}, NULL)) AS pg_catalog.text)" + _C,
    # texts of to_json hang on no setting (DateStyle); `format` keeps the blanks of a character(n)
    "text": f"(CASE WHEN {{type}} IN ({_STAMPS}) THEN pg_catalog.btrim(CAST(pg_catalog.to_json({{x}}) AS"
    f" pg_catalog.text), '\"') WHEN {{type}} = 'numeric' THEN pg_catalog.regexp_replace(pg_catalog.format('%s', {{x}}),"
    f" {_FRACTION}, E'\\\\1') ELSE pg_catalog.format('%s', {{x}}) END){_C}",
    "trimmed": f"pg_catalog.regexp_replace(pg_catalog.format('%s', {{x}}){_C}, E{_BLANKS}, '', 'g'){_C}".replace(
        "\\", "\\\\"
    ),
    "is_text": "({type} IN ('text', 'character varying', 'character', 'name') OR (SELECT t.typcategory FROM"
    " pg_catalog.pg_type AS t WHERE t.oid = pg_catalog.pg_typeof(COALESCE({x}, NULL))) IN ('E', 'S'))",
    "is_number_type": "{type} IN ('smallint', 'integer', 'bigint', 'numeric', 'real', 'double precision')",
    "is_real": "{type} IN ('real', 'double precision')",
    "is_truth": "{type} = 'boolean'",
    "is_true": "{text} = 't'",
    "is_stamp": f"{{type}} IN ({_STAMPS}) AND {{text}} ~ '^[0-9]'",
    "seconds": "CAST(CASE {type} WHEN 'timestamp with time zone' THEN EXTRACT(EPOCH FROM CAST({text} AS timestamp with"
    " time zone)) ELSE EXTRACT(EPOCH FROM CAST({text} AS timestamp)) END AS double precision)",
    "stamp": "pg_catalog.regexp_replace(pg_catalog.to_char(CASE {type} WHEN 'timestamp with time zone' THEN CAST({text}"
    " AS timestamp with time zone) AT TIME ZONE 'UTC' ELSE CAST({text} AS timestamp) END,"
    f" 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), {_MIDNIGHT}, '')",
    "is_nan": "{is_number_type} AND {text} = 'NaN'",
    "is_odd": "pg_catalog.getdatabaseencoding() <> 'UTF8'",
    "odd": " needs a database whose encoding is UTF8",
    "real": "CASE {type} WHEN 'real' THEN CAST(CAST({text} AS real) AS double precision) ELSE CAST({text} AS double"
    " precision) END",
    "is_number": f"{{trimmed}} ~ '^{NUMBER}$'",
    "is_large": "CASE WHEN {integer} ~ '^[-+]?0*[0-9]{16,}$' THEN"
    f" pg_catalog.abs(CAST({{integer}} AS numeric)) > {2**53} ELSE FALSE END",
    "integer": "CASE {type} WHEN 'numeric' THEN {text} ELSE {trimmed} END",
    # a text beyond the doubles is an error of PostgreSQL's own cast
    "number": "CASE WHEN {trimmed} ~ '[eE]|[0-9.]{250}' THEN CASE WHEN CAST({trimmed} AS numeric) > "
    + _LARGEST
    + " THEN"
    " 'Infinity' WHEN CAST({trimmed} AS numeric) < -" + _LARGEST + " THEN '-Infinity' WHEN"
    " pg_catalog.abs(CAST({trimmed} AS numeric)) < 2.4703282292062328e-324 THEN '0' ELSE CAST({trimmed} AS double"
    " precision) END ELSE CAST({trimmed} AS double precision) END",
    "is_day": f"{{trimmed}} ~ '^{LOOSE_DAY}$'",
    "day": "CAST(EXTRACT(EPOCH FROM CAST({trimmed} AS timestamp)) AS double precision) / 86400",
    "is_digits": "CASE WHEN {is_number} THEN CAST(CAST({number} AS numeric) AS pg_catalog.text)"
    f" ~ '^{DATE_DIGITS}$' ELSE FALSE END",
    "is_moment": f"{{trimmed}} ~ '^{DAY}([T ]{CLOCK})?$'",
    "moment": "CAST(EXTRACT(EPOCH FROM CAST(CASE WHEN {trimmed} ~ '" + f":.*({ZONE})$" + "' THEN {trimmed} ELSE"
    " pg_catalog.concat({trimmed}, ' UTC') END AS timestamp with time zone)) AS double precision)",
    "key": "(CASE WHEN {is_real} AND {text} IN ('Infinity', '-Infinity', '-0') THEN CASE {text} WHEN '-0' THEN '0' WHEN"
    " 'Infinity' THEN 'inf' ELSE '-inf' END WHEN {is_real} AND {text} ~ 'e[+]15$' THEN CAST(CAST({text} AS numeric)"
    " AS pg_catalog.text) WHEN {is_real} AND {text} ~ 'e[+]1[67]$' THEN CAST(CAST(CAST({text} AS double precision) AS"
    f" bigint) AS pg_catalog.text) ELSE {{text}} END){_C}",
}

# An operator is looked up when the query is read, and so are these: those of a user would decide.
_COMPARED = [
    f"{sign}({kind},{kind})" for kind in ("text", "float8", "int4") for sign in ("=", "<>", ">", "<", ">=", "<=")
]
_COMPUTED = [f"{sign}({kind},{kind})" for kind in ("float8", "int4") for sign in "+-*/"]
_OTHERS = ["-(NONE,float8)", "%(int4,int4)", "||(text,text)", "~(text,text)", "=(oid,oid)"]
_OTHERS += [">(numeric,numeric)", "<(numeric,numeric)"]
_OPERATORS = ", ".join(f'"{operator}"' for operator in (*_COMPARED, *_COMPUTED, *_OTHERS))
_OWN = re.sub('"(?=[^",])', '"pg_catalog.', _OPERATORS)
_GUARD = (
    f"CASE WHEN CAST('{{{_OPERATORS}}}' AS pg_catalog.regoperator[]) OPERATOR(pg_catalog.=) CAST('{{{_OWN}}}' AS"
    " pg_catalog.regoperator[]) AND CAST('float8' AS pg_catalog.regtype) OPERATOR(pg_catalog.=)"
    " CAST('pg_catalog.float8' AS pg_catalog.regtype) AND CAST(pg_catalog.current_setting('extra_float_digits') AS"
    " integer) OPERATOR(pg_catalog.>=) 1 THEN TRUE ELSE"
    " CAST(pg_catalog.concat('rulekit needs extra_float_digits of 1 or"
    " more and no operator before those of pg_catalog in search_path') AS boolean) END"
)


# DuckDB looks an operator up as a function, and finds a macro of its name first.
_NO_MACROS = (
    "CASE WHEN EXISTS (SELECT 1 FROM system.main.duckdb_functions() AS f WHERE NOT f.internal AND f.function_name IN"
    " ('+', '-', '*', '/', '%', '||')) THEN system.main.error('rulekit needs the operators of DuckDB: a macro bears the"
    " name of one') ELSE TRUE END"
)


def _raised(message: Sequence[str]) -> str:
    return f"CAST(pg_catalog.concat({', '.join(message)}) AS double precision)"


DIALECTS = {
    "sqlite": SqlDialect(
        engine="SQLite",
        number=exactly,
        infinity="9e999",
        text_type="text",
        words=_globs,
        fail=lambda message: f"json_extract('{{}}', {' || '.join(message)})",
        parts=_SQLITE,
        folded=_small_ascii,
        hidden=frozenset(("rowid", "oid", "_rowid_")),
    ),
    "duckdb": SqlDialect(
        engine="DuckDB",
        number=with_exponent,
        infinity="'inf'::DOUBLE",
        text_type="VARCHAR",
        words=_regular,
        fail=lambda message: f"system.main.error(system.main.concat({', '.join(message)}))",
        parts=_DUCKDB,
        folded=_small_ascii,
        nullif="system.main.nullif({}, {})",
        function="system.main.",
        guard=_NO_MACROS,
        constants=("type",),
    ),
    "postgresql": SqlDialect(
        engine="PostgreSQL",
        number=lambda value: f"'{value!r}'::float8",
        infinity="'Infinity'::float8",
        text_type="pg_catalog.text",
        words=_parted,
        fail=_raised,
        parts=_POSTGRES,
        folded=_cut_at_63,
        sought=_PARTED.replace("<LETTERS>", _LETTERS)
        .replace("<CAPITALS>", "".join(map(chr, SMALL_LETTERS)))
        .replace("<SMALL>", "".join(map(chr, SMALL_LETTERS.values()))),
        function="pg_catalog.",
        guard=_GUARD,
    ),
}
