"""One table of cells (kind of column x value) and the tables that `predict` refuses, for every way into an artifact.

What the graph's own encoding says of each cell alone is the answer: a class, or a refusal. Each `rulekit.targets.Feed`
of a target must give the same class, or refuse where the graph refuses.
"""

from __future__ import annotations

import datetime
import importlib.util
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np

from rulekit.errors import RulekitError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.raw.sources import is_missing, sort_of
from rulekit.targets import Answer

Columns = Mapping[str, Any]
NAME = "amount due"

_CUTS: tuple[float, ...] = (
    *(-1e38, -10, -8, -0.5, -1e-45, 0, 1e-45, 0.1, 0.5, 1, 1.25, 1.75, 2, 2.5, 5, 9, 12, 20, 99, 300, 1025, 2e4),
    *(16777216, 1e8, 1e9, 1.5e9, 2e9, 1e12, 1e15, 9e15, 1e17, 1e38),
)
_NUMBERS = ", ".join(f"{chr(97 + k % 26)}{k}: t <= {cut!r}" for k, cut in enumerate(_CUTS))
_DAYS = "early: t <= 10000, a: t <= 17896, b: t <= 17897, c: t <= 17897.5, d: t <= 17898, e: t <= 19000, f: t <= 1e9"
_SECONDS = ", ".join(
    f"m{k}: t <= {cut!r}" for k, cut in enumerate((0, 2e4, 1e9, 1546300799, 1546300800, 1546343999, 1546344000, 1e15))
)
_LEVELS = "car|1|1.5|10|true|\xe9|NaN|None|2019-01-01|a b| b|0x10|-0|inf|3"


def _level_model(head: str, levels: Sequence[str] = tuple(_LEVELS.split("|"))) -> str:
    listed = ", ".join(f'"{level}"' for level in levels)
    cases = ", ".join(f'l{k}: t in {{"{level}"}}' for k, level in enumerate(levels))
    return f"{head.format(listed)}\n{cases}, gone: t is missing"


KINDS: Mapping[str, str] = {
    "float32": f'numeric, missing {{"-9", "?"}}\ngone: t is missing, {_NUMBERS}',
    "float64": f'numeric, float64, missing {{"-9", "?"}}\ngone: t is missing, {_NUMBERS}',
    "integer": f"numeric, integer\ngone: t is missing, {_NUMBERS}",
    "money": f'numeric, float64, money, unit "EUR"\ngone: t is missing, {_NUMBERS}',
    "boolean": 'boolean, missing {"-9", "?"}\ngone: t is missing, high: t',
    "date": f'numeric, float64, date, missing {{"?"}}\ngone: t is missing, {_DAYS}',
    "datetime": f"numeric, float64, datetime\ngone: t is missing, {_SECONDS}",
    "category": _level_model('categorical {{{}}}, missing {{"-9", "?"}}'),
    "category of digits": _level_model('categorical {{{}}}, missing {{"9"}}', ("0", "1", "2", "3")),
    "ordered": _level_model("categorical {{{}}}, ordered", ("low", "mid", "high", "car", "1")),
    "strict category": _level_model("categorical {{{}}}, unseen error", ("car", "1", "true")),
    "text": 'text, missing {"?"}\ngone: t is missing, a: t contains car, b: t contains nan, c: t contains "2019"',
}
"""By the name of a kind of column its declaration, and the cases that tell its values apart."""


@cache
def model_of(kind: str, column: str = NAME) -> RuleGraph:
    """A model over one column of a kind, whose label says what the cell is taken for."""
    declared, _, cases = KINDS[kind].partition("\n")
    labels = [case.partition(":")[0].strip() for case in cases.split(", ") if ":" in case]
    shown = ", ".join([*labels, "rest"])
    rules = cases.replace(" t ", f' "{column}" ').removesuffix(": t") + (
        f': "{column}"' if cases.endswith(": t") else ""
    )
    head = f'rulekit rules 1\ncolumn "{column}": {declared}\nlabel y: {{{shown}}}\ndefault rest'
    return parse_graph(f"{head}\ndecide first of ({rules})\n")


class _Word(str, Enum):  # noqa: UP042  StrEnum is shown otherwise
    CAR = "car"


class _Number(IntEnum):
    ONE = 1


class _Lookalike:
    """An object that turns into text and number: it is neither."""

    def __str__(self) -> str:
        return "car"

    def __float__(self) -> float:
        return 1.5


_TEXTS = (
    "| |?|-9|9|car|CAR|Car|car | car|car\t|car\x00|\ufeffcar|car\xa0|c\u0430r|\uff43\uff41\uff52|\xe9|e\u0301|"
    "\xc9|a b|a  b| b|b|low|LOW|1|1.5| 1.5 |\t1.5|1.5\n|\xa01.5|+1.5|-1.5|--1|1.|.5|.|+|-|01|1e3|1E3|1e|30e|e5|"
    "1e5e5|1e400|-1e400|1e-400|1.0|3.0|3.00|10.0|-0|0x10|0b1|0o7|1_000|1,000|1.000,5|1 000|1'000|6.6.6|1-5|1/2|"
    "1%|1,5|\uff11\uff12|\u0661|\xb2|\u2212 1|\u22121|1f|1d|1L|1j|$5|5kg|=1|#N/A|NaN|nan|-nan|NAN|inf|-inf|"
    "Infinity|+Infinity|INF|infinit|1#INF|NA|N/A|null|None|none|NULL|true|True|TRUE|tRuE|false|FALSE|yes|no|t|on|"
    '[1]|{}|{"a": 1}|"1"|\'1\'|1;2|[]|()|1)|9007199254740993|9007199254740992|2019-01-01|2019-1-1|2019-02-30|'
    "2019-13-01|20190101|01/02/2019|1.2.2019|2019-01|2019-01-01T00:00|2019-01-01T12:00|2019-01-01 12:00:00|"
    "2019-01-01T12:00Z|2019-01-01T24:00|2019-01-01T12:00+02:00|2019-01-01T12:00:60|2019-01-01T12|2019-001|"
    "2019-W01-1|2019-01-01x| 2019-01-01|2019-01-01 |-2019-01-01|12019-01-01|0000-01-01|12:00|17897|1546344000"
)


def _numbers() -> Iterator[Any]:
    yield from (True, False, 0, 1, -1, 2, 3, 9, -9, 10, 15, 100, 1024, 17897, 16777217, 2**53, -(2**53), 2**53 + 1)
    yield from (2**63, 10**30, 10**400, -(10**30), 20190101, 20190101120000, 1546344000, _Number.ONE)
    yield from (0.0, -0.0, 0.1, 0.3, 0.5, 1.0, 1.5, -1.5, 3.0, -9.0, 9.0, 5e-324, 1e-46, 1e16, 1e20, 3.5e38, 1e300)
    yield from (0.1 + 2**-40, 1.25 + 2**-30, math.inf, -math.inf, math.nan, 17897.5, 16777217.0, 20190101.0)
    integers: tuple[Any, ...] = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
    for dtype in integers:
        yield from (dtype(1), dtype(100))
    floats: tuple[Any, ...] = (np.float16, np.float32, np.float64, np.longdouble)
    for dtype in floats:
        yield from (dtype(1.5), dtype(0.1), dtype(1), dtype("nan"), dtype("inf"), dtype(-9))
    yield from (np.bool_(True), np.bool_(False), np.int64(2**53 + 1), np.uint64(2**64 - 1), np.float64(1e300))
    yield from (Decimal("1.5"), Decimal("0.1"), Decimal(1), Decimal("1.250000000000000000001"), Decimal("-9"))
    yield from (Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1E+400"), Decimal(2**53 + 1))


def _moments() -> Iterator[Any]:
    utc, east = datetime.UTC, datetime.timezone(datetime.timedelta(hours=2))
    yield from (datetime.date(2019, 1, 1), datetime.date(1, 1, 1), datetime.datetime(2019, 1, 1))
    yield from (datetime.datetime(2019, 1, 1, 12), datetime.datetime(2019, 1, 1, 12, tzinfo=utc))
    yield from (datetime.datetime(2019, 1, 1, 12, tzinfo=east), datetime.datetime(2019, 1, 1, 11, 59, 59, 999_999))
    for unit in ("D", "h", "s", "ms", "us", "ns"):
        yield np.datetime64("2019-01-01", unit)
    yield from (np.datetime64("2019-01-01T12:00"), np.datetime64("2019"), np.datetime64("NaT"), np.timedelta64("NaT"))
    yield from (
        datetime.timedelta(days=1),
        datetime.timedelta(seconds=1.5),
        np.timedelta64(1, "s"),
        np.timedelta64(1500, "ms"),
    )
    yield from (np.timedelta64(2_000_000_000, "ns"), datetime.time(12), datetime.time(0))
    if importlib.util.find_spec("pandas"):
        import pandas as pd

        yield from (
            pd.NA,
            pd.NaT,
            pd.Timestamp("2019-01-01T12:00"),
            pd.Timestamp("2019-01-01T12:00", tz="Europe/Berlin"),
        )
        yield from (pd.Timedelta("1.5s"), pd.Period("2019-01-01"), pd.Interval(0, 1))


def _others() -> Iterator[Any]:
    yield from (None, np.str_("car"), np.str_("1.5"), np.str_(""), _Word.CAR, b"car", b"1.5", b"", np.bytes_(b"car"))
    yield from (
        bytearray(b"car"),
        memoryview(b"1"),
        b"\xff",
        1j,
        complex(1.5),
        np.complex64(1),
        Fraction(3, 2),
        Fraction(1),
    )
    yield from ([], [1], [1.5], ["car"], (), (1,), ("car",), {}, {"car": 1}, set(), {1}, frozenset({"car"}), range(1))
    yield from (np.array(1.5), np.array([1.5]), np.array("car"), np.array([["car"]]), np.array([]), np.void(b"1"))
    yield from (
        object,
        object(),
        _Lookalike(),
        Ellipsis,
        NotImplemented,
        float,
        math,
        len,
        slice(1),
        iter(()),
        ValueError("1"),
    )


@cache
def cells() -> tuple[Any, ...]:
    """Every cell of the table, as users hold them: texts, numbers of all widths, dates, and what is no cell at all."""
    return (*_TEXTS.split("|"), *_numbers(), *_moments(), *_others())


def shown(cell: Any) -> str:
    """A cell and its type, for messages and pages."""
    return f"{type(cell).__name__} {cell!r:.60}"


def read_by_graph(graph: RuleGraph, tables: Sequence[Any]) -> list[Answer]:
    """What the graph's own encoding says of each table: class indices, or the text of the refusal."""
    found: list[Answer] = []
    for table in tables:
        try:
            found.append(graph.decide(table).tolist())
        except RulekitError as error:
            found.append(str(error))
    return found


@cache
def expected(kind: str) -> tuple[Answer, ...]:
    """By cell what the graph says of it alone."""
    return tuple(read_by_graph(model_of(kind), [{NAME: [cell]} for cell in cells()]))


_SORTS = {"truth": "truth value", "moment": "date", "span": "span of time", "integer": "number", "number": "number"}


def sort_shown(cell: Any) -> str:
    """What a cell is, as the page on generated modules lists it."""
    sort = sort_of(type(cell))
    if sort is None:
        return "bytes" if isinstance(cell, bytes) else "time of day, fraction, complex number, list, any other object"
    if is_missing(cell):
        return "None, NaN, NaT, NA, the empty text"
    if sort == "integer" and abs(int(cell)) > 2**53:
        return "integer beyond 2^53"
    return _SORTS.get(sort, "Decimal, by its text" if sort == "decimal" else "text")


def may_hold(holds: Callable[[Feature, Any], str] = lambda feature, cell: "") -> list[str]:
    """A table in Markdown: what a cell of each sort is in a column of each kind, by all cells of the table.

    holds: as in `rulekit.targets.Feed`. A cell without a place has a dash, and a sort without any place no line.
    """
    kinds = ("float32", "boolean", "date", "datetime", "category", "text")
    found: dict[str, list[set[str]]] = {}
    for place, cell in enumerate(cells()):
        row = found.setdefault(sort_shown(cell), [set() for _ in kinds])
        for said, kind in zip(row, kinds, strict=True):
            answer, graph = expected(kind)[place], model_of(kind)
            missing = not isinstance(answer, str) and graph.classes[answer[0]] == "gone"
            if not holds(graph.schema[NAME], cell):
                said.add("refused" if isinstance(answer, str) else "missing" if missing else "read")
    order = ("read", "missing", "refused")
    lines = ["| a cell | number | truth value | date | moment | category | text |", "|---|---|---|---|---|---|---|"]
    for name, row in found.items():
        if any(row):
            lines.append(
                f"| {name} | {' | '.join(' or '.join(w for w in order if w in said) or '-' for said in row)} |"
            )
    return lines


# Tables that are refused whole ---------------------------------------------------------------------------------------

REFUSING = """rulekit rules 1
column amount: numeric, missing {"-9"}
column job: categorical {car, cook, "1"}
column flag: boolean
column since: numeric, float64, date
label y: {no, yes}
decide yes when any of (amount > 2.5 and job in {car}, flag and since > 2019-01-01, (job in {"1"} or unseen) and flag)
"""
_JOBS, _UNSEEN = 'categorical {car, cook, "1"}', '(job in {"1"} or unseen)'
REFUSING_FORMS = (  # the second, whose jobs are numbers, for what has no place for texts; the third for words alone
    REFUSING,
    REFUSING.replace(_JOBS, "numeric").replace("job in {car}", "job <= 1").replace(_UNSEEN, "job > 2"),
    REFUSING.replace(_JOBS, "text").replace("job in {car}", "job contains car").replace(_UNSEEN, "job contains cook"),
)
GOOD: Columns = {
    "amount": [3.0, 1.0, 2.0],
    "job": ["car", "cook", "1"],
    "flag": [True, False, True],
    "since": [17898.0, 18262.0, 17532.0],
}
_STRANGE = ("{0}\u00a0", "\ufeff{0}", "{0}\u200b", '"{0}"', "{0}.", "{0}_", "x.{0}", "{0}s", "rows.{0}")
_OUTPUTS = (
    "label|y|yes|probability|probabilities|probability(yes)|rows|rowid|oid|ctid|xmin|tableoid|input|row|x0|0|"
    "column_0|data|table|null|NaN|*"
)


def _without(*names: str) -> dict[str, Any]:
    return {name: cells for name, cells in GOOD.items() if name not in names}


def _lengths() -> Iterator[Columns]:
    for name in GOOD:
        for n in (0, 1, 2, 4, 6):
            yield {**GOOD, name: (list(GOOD[name]) * 2)[:n]}
        for n in (1, 2, 4):
            yield {
                **{other: list(cells) * n for other, cells in GOOD.items()},
                name: GOOD[name] if n > 1 else GOOD[name][:1],
            }
        for n in (0, 2, 3):
            yield {**{other: cells[:1] for other, cells in GOOD.items()}, name: GOOD[name][:n]}
        yield {**{other: cells[:1] for other, cells in GOOD.items()}, name: GOOD[name]}


def _absent() -> Iterator[Columns]:
    for name in GOOD:
        yield _without(name)
        yield {other: cells[:1] for other, cells in _without(name).items()}
        yield {name: GOOD[name]}
    yield {"other": [1, 2, 3]}


def _renamed() -> Iterator[Columns]:
    for name in GOOD:
        written = {name.upper(), name.title(), name[0].upper() + name[1:], name.replace("a", "\u0430"), name[:-1]}
        written |= {
            name.replace("o", "\u043e"),
            name.replace("i", "\u0456"),
            name[::-1],
            chr(ord(name[0]) + 0xFEE0) + name[1:],
        }
        for other in sorted(written - {name}) + [form.format(name) for form in _STRANGE]:
            yield {**_without(name), other: GOOD[name]}


def _blanked() -> Iterator[Columns]:
    for name in GOOD:
        for other in (f"{name} ", f" {name}", f"\t{name}", f"{name}\n"):
            yield {**_without(name), other: GOOD[name]}


def _clashing() -> Iterator[Columns]:
    """A column is absent, and another bears the name of an output, of the table or of an engine's hidden column."""
    for name in GOOD:
        for other in _OUTPUTS.split("|"):
            yield {**_without(name), other: GOOD[name]}


REFUSED = {
    "unequal lengths": _lengths,
    "absent columns": _absent,
    "renamed columns": _renamed,
    "blanks around names": _blanked,
    "clashing names": _clashing,
}
"""By the name of a family, tables that every way into an artifact refuses."""


def refused(family: str) -> list[Columns]:
    """The tables of a family under the columns of REFUSING."""
    return list(REFUSED[family]())


def beside_strangers() -> list[Columns]:
    """Good tables with a further column, which changes nothing whatever it is called."""
    return [{**GOOD, other: ["a", "b", "c"]} for other in _OUTPUTS.split("|") if other not in GOOD]
