"""One table of cells (kind of column x value) and the tables that `predict` refuses, for every way into an artifact.

What the graph's own encoding says of each cell alone is the answer: a class, or a refusal. Each form in which a target
takes cells (`rulekit.targets.Feed`) must give the same class, or refuse where the graph refuses.
"""

from __future__ import annotations

import datetime
import importlib.util
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from rulekit.errors import RulekitError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tables.raw.sources import sort_of
from rulekit.targets import (
    BY_PLACE,
    BY_ROW,
    Answer,
    Feed,
    Target,
    arrays,
    holds_array,
    objects,
    rows_by_name,
    rows_by_place,
)

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
    yield from (datetime.timedelta(days=1), datetime.timedelta(seconds=1.5), datetime.time(12), datetime.time(0))
    yield from (np.timedelta64(1, "s"), np.timedelta64(1500, "ms"), np.timedelta64(2_000_000_000, "ns"))
    if importlib.util.find_spec("pandas"):
        import pandas as pd

        yield from (pd.Timestamp("2019-01-01T12:00", tz=zone) for zone in (None, "Europe/Berlin"))
        yield from (pd.NA, pd.NaT, pd.Timedelta("1.5s"), pd.Period("2019-01-01"), pd.Interval(0, 1))


def _others() -> Iterator[Any]:
    yield from (None, np.str_("car"), np.str_("1.5"), np.str_(""), _Word.CAR, b"car", b"1.5", b"", np.bytes_(b"car"))
    yield from (bytearray(b"car"), memoryview(b"1"), b"\xff", 1j, complex(1.5), np.complex64(1), Fraction(3, 2))
    yield from ([], [1], [1.5], ["car"], (), (1,), ("car",), {}, {"car": 1}, set(), {1}, frozenset({"car"}), range(1))
    yield from (np.array(1.5), np.array([1.5]), np.array("car"), np.array([["car"]]), np.array([]), np.void(b"1"))
    yield from (object, object(), _Lookalike(), Ellipsis, NotImplemented, float, math, len, slice(1), iter(()))
    yield from (ValueError("1"), Fraction(1))


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


def _cut(table: Columns, n: int) -> dict[str, Any]:
    return {name: list(cells)[:n] for name, cells in table.items()}


def _lengths() -> Iterator[Columns]:
    for name in GOOD:
        for n in (0, 1, 2, 4, 6):
            yield {**GOOD, name: (list(GOOD[name]) * 2)[:n]}
        for n in (1, 2, 4):
            longer = {other: list(cells) * n for other, cells in GOOD.items()}
            yield {**longer, name: GOOD[name] if n > 1 else GOOD[name][:1]}
        for n in (0, 2, 3):
            yield {**_cut(GOOD, 1), name: GOOD[name][:n]}
        yield {**_cut(GOOD, 1), name: GOOD[name]}


def _absent() -> Iterator[Columns]:
    for name in GOOD:
        rest = {other: cells for other, cells in GOOD.items() if other != name}
        yield from (rest, _cut(rest, 1), {name: GOOD[name]})
    yield {"other": [1, 2, 3]}


def _instead(others: Callable[[str], Iterable[str]]) -> Callable[[], Iterator[Columns]]:
    """Tables in which a column is absent, and another bears a name beside its own."""

    def tables() -> Iterator[Columns]:
        for name in GOOD:
            rest = {other: cells for other, cells in GOOD.items() if other != name}
            yield from ({**rest, other: GOOD[name]} for other in others(name))

    return tables


def _like(name: str) -> Iterator[str]:
    written = {name.upper(), name.title(), name[0].upper() + name[1:], name[:-1], name[::-1]}
    written |= {name.replace(ours, theirs) for ours, theirs in ("a\u0430", "o\u043e", "i\u0456")}
    yield from sorted((written | {chr(ord(name[0]) + 0xFEE0) + name[1:]}) - {name})
    yield from (form.format(name) for form in _STRANGE)


REFUSED = {
    "unequal lengths": _lengths,
    "absent columns": _absent,
    "renamed columns": _instead(_like),
    "blanks around names": _instead(lambda name: (f"{name} ", f" {name}", f"\t{name}", f"{name}\n")),
    "clashing names": _instead(lambda name: _OUTPUTS.split("|")),  # of an output, a table, an engine's hidden column
}
"""By the name of a family, tables that every way into an artifact refuses."""


def refused(family: str) -> list[Columns]:
    """The tables of a family under the columns of REFUSING."""
    return list(REFUSED[family]())


# Each form in which a target takes cells -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Fed:
    """What a form of input made of one question. cases: tables; refused: of these by the graph; wrong: in words."""

    question: str
    cases: int
    refused: int
    wrong: tuple[str, ...]


def fed_cells(target: Target, options: Any, feed: Feed, kinds: Sequence[str] = tuple(KINDS)) -> Iterator[Fed]:
    """Each kind of column: every cell alone, some refused ones below a good one, and all good ones in one column."""
    for kind in kinds:
        graph = model_of(kind)
        if not target.refuses(graph, target.parsed(options)):
            yield _fed_kind(kind, graph, target.emit(graph, options).main, feed)


def _fed_kind(kind: str, graph: RuleGraph, artifact: bytes, feed: Feed) -> Fed:
    feature = graph.schema[NAME]
    held = [pair for pair in zip(cells(), expected(kind), strict=True) if not feed.holds(feature, pair[0])]
    good = [(cell, answer) for cell, answer in held if not isinstance(answer, str)]
    bad = [(cell, answer) for cell, answer in held if isinstance(answer, str)]
    questions: list[tuple[str, Columns, Answer]] = [(shown(cell), {NAME: [cell]}, answer) for cell, answer in held]
    if feed.mixed and good:
        below = [(f"{shown(cell)} below a good cell", {NAME: [good[0][0], cell]}, answer) for cell, answer in bad[::5]]
        together = {NAME: [cell for cell, _ in good]}
        questions += [*below, ("all good cells", together, [index for _, (index,) in good])]
    return _asked(feed, kind, artifact, graph, questions)


def fed_tables(target: Target, options: Any, feed: Feed) -> Iterator[Fed]:
    """Each family of tables that are refused whole, and good tables with a further column."""
    parsed = target.parsed(options)
    graph = next((g for g in map(parse_graph, REFUSING_FORMS) if not target.refuses(g, parsed)), None)
    numbers = graph is not None and graph.schema["job"].kind == "numeric"
    good = _numbered(GOOD) if numbers else GOOD
    if graph is None or feed.holds(graph.schema["job"], good["job"][0]):
        return
    artifact = target.emit(graph, options).main
    for family in REFUSED:
        if family not in feed.without:
            tables = [_numbered(table) if numbers else table for table in refused(family)]
            right = read_by_graph(graph, tables)
            questions = [(_shape(table), table, answer) for table, answer in zip(tables, right, strict=True)]
            yield _asked(feed, family, artifact, graph, questions)
    (answer,) = read_by_graph(graph, [good])
    if "further columns" not in feed.without:  # which change nothing, whatever they are called
        strangers = [{**good, other: ["a", "b", "c"]} for other in _OUTPUTS.split("|") if other not in good]
        yield _asked(feed, "further columns", artifact, graph, [(_shape(t), t, answer) for t in strangers])


def _numbered(table: Columns) -> Columns:
    places = {job: float(place) for place, job in enumerate(GOOD["job"], 1)}
    return {name: [places.get(cell, cell) for cell in cells] for name, cells in table.items()}


def _shape(table: Columns) -> str:
    return ", ".join(f"{name!r}: {len(cells)} cells" for name, cells in table.items()) or "no column"


def _asked(
    feed: Feed, question: str, artifact: bytes, graph: RuleGraph, questions: list[tuple[str, Columns, Answer]]
) -> Fed:
    found = feed.run(artifact, graph, [table for _, table, _ in questions]) if questions else []
    wrong = tuple(
        f"{what}: the graph {_said(right)}, it {_said(answer)}"
        for (what, _, right), answer in zip(questions, found, strict=True)
        if answer != right and not (isinstance(answer, str) and isinstance(right, str) and "\n" not in answer)
    )
    n_refused = sum(isinstance(right, str) for _, _, right in questions)
    return Fed(question, len(questions), n_refused, wrong)


def _said(answer: Answer) -> str:
    return f"refuses ({answer[:160]})" if isinstance(answer, str) else f"decides {answer[:8]}"


# The ways into the graph itself ---------------------------------------------------------------------------------------


def holds_polars(feature: Feature, cell: Any) -> str:
    """What polars does to a cell before anybody reads it."""
    if sort_of(type(cell)) == "decimal" and not cell.is_finite():
        return "polars panics"
    try:
        series = _polars({"": [cell]})[""]
    except Exception:
        return "polars takes no such cell"
    made = sort_of(type(cell)) is None and series.dtype.is_numeric()
    return "polars makes a number of an object" if made else ""


def _pandas(table: Columns, kind: str | None) -> Any:
    import pandas as pd

    return pd.DataFrame({name: pd.Series(list(cells), dtype=kind) for name, cells in table.items()})


def _polars(table: Columns, objects: bool = False) -> Any:
    import polars as pl

    kind = pl.Object if objects else None
    return pl.DataFrame({name: pl.Series(name, list(cells), dtype=kind) for name, cells in table.items()})


FILLED = {"unequal lengths": "pandas fills up with NaN"}


def _by_graph(make: Callable[[Columns], Any]) -> Callable[..., list[Answer]]:
    def run(artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]) -> list[Answer]:
        found: list[Answer] = []
        for table in tables:
            try:
                data = make(table)
            except Exception as error:  # the container refuses the cells, in whatever way
                found.append(f"{type(error).__name__} before the graph was asked")
            else:
                found += read_by_graph(graph, [data])
        return found

    return run


def graph_feeds() -> tuple[Feed, ...]:
    """Every form in which the graph takes cells."""
    found = [
        Feed("arrays of objects", _by_graph(objects)),
        Feed("arrays", _by_graph(arrays), holds_array, mixed=False),
        Feed("rows by name", _by_graph(rows_by_name), without=BY_ROW),
        Feed("rows by place", _by_graph(rows_by_place), without=BY_PLACE),
        Feed("polars, objects", _by_graph(partial(_polars, objects=True))),
        Feed("polars", _by_graph(_polars), holds_polars, mixed=False),
    ]
    if importlib.util.find_spec("pandas"):
        found += [
            Feed("pandas, objects", _by_graph(partial(_pandas, kind="object")), without=FILLED),
            Feed("pandas", _by_graph(partial(_pandas, kind=None)), mixed=False, without=FILLED),
        ]
    return tuple(found)
