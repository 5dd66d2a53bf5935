"""Cells of each column type of each engine decide as the graph, or are refused as it refuses them."""

from __future__ import annotations

import datetime
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from may_hold import may_hold
from rulekit_exporters.sql import SERVER

import rulekit
from rulekit.conformance.cells import KINDS, NAME, cells, expected, model_of
from rulekit.graph.language.parsing import parse_graph
from rulekit.program.naming import label_texts
from rulekit.targets import find_target

SQL = find_target("sql")
Execute = Callable[..., list[tuple[Any, ...]]]

STAMPS = {False: ("TIMESTAMP", "TIMESTAMP_NS"), True: ("TIMESTAMPTZ",)}
TYPES: dict[str, dict[type, tuple[str, ...]]] = {  # by type of a Python cell the columns that may hold it
    "sqlite": {
        str: ("", "TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM"),
        int: ("", "INTEGER"),
        float: ("", "REAL"),
        bytes: ("", "BLOB"),
        type(None): ("TEXT",),
    },
    "duckdb": {
        str: ("VARCHAR", "VARCHAR COLLATE NOCASE"),
        bool: ("BOOLEAN",),
        int: ("BIGINT", "HUGEINT"),
        float: ("DOUBLE",),
        Decimal: ("DECIMAL(38, 21)",),
        datetime.date: ("DATE",),
        bytes: ("BLOB",),
        type(None): ("VARCHAR", "DOUBLE"),
    },
    "postgresql": {
        str: ("text", "varchar(60)"),
        bool: ("boolean",),
        int: ("bigint", "numeric"),
        float: ("float8",),
        Decimal: ("numeric",),
        datetime.date: ("date",),
        bytes: ("bytea",),
        type(None): ("text", "float8"),
    },
}
NARROWER = {  # what an engine refuses and the graph decides, with the reason that docs/sql.md gives
    ("sqlite", "text", float): "its texts of numbers have 15 digits",
    ("postgresql", Decimal): "an integer beyond 2^53",
}


def _types(engine: str, cell: Any) -> tuple[str, ...]:
    if type(cell) is datetime.datetime:
        stamps = STAMPS[cell.tzinfo is not None] if engine != "sqlite" else ()
        return stamps if engine == "duckdb" else tuple(name for name in stamps if name != "TIMESTAMP_NS")
    if isinstance(cell, str) and "\0" in cell:
        return ()
    return TYPES[engine].get(type(cell), ())


def _answers(execute: Execute, query: str, kind: str, held: list[Any]) -> dict[int, int] | str:
    """The classes of cells by their place, without those that the column cannot hold; or why the query refuses them."""
    execute("DELETE FROM rows")
    for place, cell in enumerate(held):
        with suppress(Exception):
            execute("INSERT INTO rows VALUES (?, ?)", place, cell)
    try:
        return {row[0]: label_texts(model_of(kind)).index(str(row[1])) for row in execute(query)}
    except Exception as error:
        return str(error)


def test_the_page_says_what_a_cell_may_be(made_table: Callable[..., None]) -> None:
    """The cells that a column of some engine holds; each engine is held to them below."""
    made_table(
        "sql",
        "tests/exporters/sql/test_cells.py",
        may_hold(lambda feature, cell: "" if _engines(cell) else "no column"),
    )


def _engines(cell: Any) -> list[str]:
    return [engine for engine in TYPES if _types(engine, cell)]


EACH = ("float32", "date", "category", "strict category", "text")  # of numbers, days and levels one kind in `make test`


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=[pytest.mark.long] * (kind not in EACH)) for kind in KINDS])
def test_cells_of_each_type_are_those_of_the_graph(
    execute: Execute, engine: str, kind: str, long_runs: bool, record_property: Callable[..., None]
) -> None:
    """Every text, number, date and blob in every column that holds it, in a session of another time zone."""
    execute({"sqlite": "SELECT 1"}.get(engine, "SET TimeZone = 'America/New_York'"))
    query = SQL.emit(model_of(kind), {"dialect": engine, "keep": "id"}).main.decode()
    table = list(zip(cells(), expected(kind), strict=True))
    asked, refused, wrong = 0, 0, []
    for declared in sorted({each for cell, _ in table for each in _types(engine, cell)}):
        execute("DROP TABLE IF EXISTS rows")
        execute(f'CREATE TABLE rows (id integer, "{NAME}" {declared})')
        here = [(cell, right) for cell, right in table if declared in _types(engine, cell)]
        good = [
            (cell, right[0])
            for cell, right in here
            if not isinstance(right, str) and not {(engine, kind, type(cell)), (engine, type(cell))} & NARROWER.keys()
        ]
        found = _answers(execute, query, kind, [cell for cell, _ in good])
        assert not isinstance(found, str), found
        asked += len(found)
        wrong += [(declared, good[place], label) for place, label in found.items() if good[place][1] != label]
        bad = [cell for cell, right in here if isinstance(right, str)]
        for cell in bad if long_runs or engine == "sqlite" else bad[::12]:
            answer = _answers(execute, query, kind, [cell])
            refused += isinstance(answer, str)
            wrong += [(declared, cell, answer)] if answer and not isinstance(answer, str) else []
            assert not isinstance(answer, str) or NAME in answer or "date/time field" in answer, answer
    assert wrong == []
    record_property("cells", (engine, asked + refused, refused))
    assert refused > 0 or kind in ("category", "category of digits", "ordered", "text")


RULES = parse_graph(
    "rulekit rules 1\ncolumn k: categorical {car, bus}\ncolumn seen: numeric, float64, datetime\n"
    "column d: numeric, float64, date\n"
    "label y: {no, yes}\ndefault no\ndecide yes when any of (k in {car}, seen > 2024-05-31T12:00, d > 2024-05-31)\n"
)


def _decided(execute: Execute, engine: str, **given: tuple[str, str]) -> str:
    """The label of one row. given: by column its type and its cell, as SQL writes them; the others are missing."""
    execute("DROP TABLE IF EXISTS rows")
    columns = {"k": ("text", "NULL"), "seen": ("text", "NULL"), "d": ("text", "NULL")} | given
    execute(f"CREATE TABLE rows ({', '.join(f'{name} {kind}' for name, (kind, _) in columns.items())})")
    execute(f"INSERT INTO rows VALUES ({', '.join(cell for _, cell in columns.values())})")
    return str(execute(SQL.emit(RULES, {"dialect": engine}).main.decode())[0][0])


COLLATED = {
    "sqlite": ("text COLLATE NOCASE", "text COLLATE RTRIM"),
    "duckdb": ("varchar COLLATE nocase", "varchar COLLATE noaccent", "varchar COLLATE nfc"),
    "postgresql": ("text COLLATE loose", "varchar COLLATE loose", 'text COLLATE "C"'),
}


def test_no_collation_decides(execute: Execute, engine: str) -> None:
    if engine == "postgresql":
        loose = "provider = icu, locale = 'und-u-ks-level1', deterministic = false"
        execute(f"CREATE COLLATION loose ({loose})")
    for kind in COLLATED[engine]:
        for cell in ("car", "CAR", "càr", "car ", " car", "cAr"):
            label = "yes" if cell == "car" else "no"
            assert _decided(execute, engine, k=(kind, f"'{cell}'")) == label, (kind, cell)
    if engine == "duckdb":
        execute("SET default_collation = 'nocase'")
        assert [_decided(execute, engine, k=("varchar", f"'{cell}'")) for cell in ("car", "CAR")] == ["yes", "no"]


@pytest.mark.parametrize(
    "zone",
    ["Asia/Kolkata", *(pytest.param(z, marks=pytest.mark.long) for z in ("UTC", "Europe/Berlin", "America/New_York"))],
)
def test_time_zones_of_a_session_decide_nothing(execute: Execute, engine: str, zone: str) -> None:
    """A column with a time zone is in UTC, one without counts as it stands."""
    if engine == "sqlite":
        return
    execute(f"SET TimeZone = '{zone}'")
    if engine == "postgresql":
        execute("SET DateStyle = 'SQL, DMY'; SET IntervalStyle = 'postgres_verbose'")
    for cell, label in (
        ("2024-05-31 12:00:00+00", "no"),
        ("2024-05-31 12:00:01+00", "yes"),
        ("2024-05-31 14:00:00+02", "no"),
    ):
        assert _decided(execute, engine, seen=("timestamptz", f"'{cell}'")) == label
        assert _decided(execute, engine, seen=("text", f"'{cell[:19].replace(' ', 'T')}{cell[19:]}:00'")) == label
    for kind in ("timestamp", "timestamp_ns", "timestamp_s") if engine == "duckdb" else ("timestamp",):
        assert _decided(execute, engine, seen=(kind, "'2024-05-31 12:00:00'")) == "no"
        assert _decided(execute, engine, d=(kind, "'2024-05-31 00:00:00'")) == "no"
        assert _decided(execute, engine, d=(kind, "'2024-05-31 00:00:01'")) == "yes"
    for cell, label in (
        ("2024-05-31 00:00:00+00", "no"),
        ("2024-05-31 00:00:01+00", "yes"),
        ("2024-06-01 01:00:00+02", "yes"),
    ):
        assert _decided(execute, engine, d=("timestamptz", f"'{cell}'")) == label
    assert [_decided(execute, engine, d=("date", f"'2024-0{day}'")) for day in ("5-31", "6-01")] == ["no", "yes"]


UNREAD = {
    "sqlite": (("blob", "x'636172'"),),
    "duckdb": tuple(
        (kind, cell)
        for kind, cell in (
            ("BLOB", "'car'"), ("JSON", "'\"car\"'"), ("VARCHAR[]", "['car']"), ("INTEGER[2]", "[1, 2]"),
            ("STRUCT(car INTEGER)", "{'car': 1}"), ("MAP(VARCHAR, INTEGER)", "MAP {'car': 1}"), ("TIME", "'12:00'"),
            ("INTERVAL", "'1 day'"), ("UUID", "uuid()"), ("BIT", "'1'"),
        )
    ),
    "postgresql": (
        ("bytea", "'car'"), ("json", "'\"car\"'"), ("jsonb", "'\"car\"'"), ("text[]", "'{car}'"), ("money", "'1'"),
        ("time", "'12:00'"), ("interval", "'1 day'"), ("uuid", "'00000000-0000-0000-0000-000000000000'"),
        ("int4range", "'[1,2)'"), ("inet", "'1.2.3.4'"), ("oid", "1"), ("xid", "'1'"), ("bit", "B'1'"),
        ("xml", "'<car/>'"),
    ),
}  # fmt: skip


def test_types_that_are_no_text_number_or_date_are_refused(execute: Execute, engine: str, long_runs: bool) -> None:
    for place, (kind, cell) in enumerate(UNREAD[engine]):
        columns = ("k", "seen", "d")
        for column in columns if long_runs else (columns[place % 3],):
            with pytest.raises(Exception, match=f"column {column}: .* is no type for"):
                _decided(execute, engine, **{column: (kind, cell)})


def test_enumerations_and_types_of_a_user_are_read_as_what_they_hold(execute: Execute, engine: str) -> None:
    made = {
        "sqlite": (),
        "duckdb": ("CREATE TYPE own AS ENUM ('car', 'CAR')",),
        "postgresql": ("CREATE TYPE own AS ENUM ('car', 'CAR')", "CREATE DOMAIN domain_of_text AS text"),
    }[engine]
    for statement in made:
        execute(statement)
        kind = statement.split()[2]
        assert [_decided(execute, engine, k=(kind, f"'{cell}'")) for cell in ("car", "CAR")] == ["yes", "no"]


def test_functions_and_operators_of_a_user_decide_nothing(execute: Execute, engine: str) -> None:
    """They are found first where search_path says so; DuckDB finds macros first."""
    if engine == "sqlite":
        return
    if engine == "duckdb":
        for name in ("lower", "trim", "nullif", "regexp_full_match", "typeof", "regexp_replace", "concat"):
            execute(f"CREATE MACRO {name}(x, y := '', z := '', u := '') AS 'car'")
    else:
        execute("CREATE FUNCTION lower(text) RETURNS text LANGUAGE sql AS $$ SELECT 'car'::text $$")
        execute("CREATE FUNCTION format(text, text) RETURNS text LANGUAGE sql AS $$ SELECT 'car'::text $$")
        execute("SET search_path = for_a_test, pg_catalog")
    assert [_decided(execute, engine, k=("text", f"'{cell}'")) for cell in ("car", "bus")] == ["yes", "no"]
    if engine == "postgresql":
        execute("CREATE FUNCTION equal(text, text) RETURNS boolean LANGUAGE sql AS $$ SELECT true $$")
        execute("CREATE OPERATOR = (LEFTARG = text, RIGHTARG = text, FUNCTION = equal)")
        with pytest.raises(Exception, match="no operator before those of pg_catalog"):
            _decided(execute, engine, k=("text", "'bus'"))
        execute("SET search_path = for_a_test, public; SET extra_float_digits = 0")
        with pytest.raises(Exception, match="extra_float_digits"):
            _decided(execute, engine, k=("text", "'bus'"))


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%", "||"])
def test_no_macro_in_the_place_of_an_operator_decides(operator: str) -> None:
    """DuckDB finds a macro called + before its own operator."""
    duckdb = pytest.importorskip("duckdb")
    query = SQL.emit(RULES, {"dialect": "duckdb"}).main.decode()
    with duckdb.connect(":memory:") as connection:
        connection.execute("CREATE TABLE rows AS SELECT 'car' AS k, '2024-06-01' AS seen, '2024-06-01' AS d")
        assert connection.execute(query).fetchall()[0][0] == "yes"
        connection.execute(f'CREATE TEMP MACRO "{operator}"(a, b) AS 0')
        with pytest.raises(Exception, match=r"a macro bears the name of one|Macro .* does not support"):
            connection.execute(query).fetchall()


def test_no_setting_of_duckdb_decides() -> None:
    """With integer_division a day with an hour lost the hour."""
    duckdb = pytest.importorskip("duckdb")
    rules = "rulekit rules 1\ncolumn d: numeric, float64, date\nlabel y: {no, yes}\ndecide yes when d > 19874.25\n"
    query = SQL.emit(parse_graph(rules), {"dialect": "duckdb"}).main.decode()
    settings = ("integer_division = true", "old_implicit_casting = true", "ieee_floating_point_ops = false")
    for setting in (*settings, "preserve_insertion_order = false", "default_null_order = 'nulls_first'"):
        for kind, cell in (("text", "2024-05-31"), ("timestamp", "2024-05-31 12:00"), ("double", "19874.5")):
            with duckdb.connect(":memory:") as connection:
                connection.execute(f"SET {setting}; CREATE TABLE rows AS SELECT CAST('{cell}' AS {kind}) AS d")
                label = "no" if kind == "text" else "yes"
                assert connection.execute(query).fetchall()[0][0] == label, (setting, kind)


CARRIED = """rulekit rules 1
column age: numeric
column job: categorical {"cook", " cook", "cook ", "clerk"}
column paid: boolean
column seen: numeric, float64, date
label y: {no, yes}
decide yes when any of (
  age > 45 and job in {" cook"}, paid and job in {"clerk", "cook "}, seen > 2024-05-01 and not paid, job is missing
)
"""


def _read_in(engine: str, execute: Execute, path: Path, columns: str) -> str:
    """Make a table of a CSV file with the engine's own reader, and give its name."""
    if engine == "duckdb":
        execute(f"CREATE TABLE read AS SELECT * FROM read_csv('{path}')")
        return "read"
    tool = {"sqlite": "sqlite3", "postgresql": "psql"}[engine]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed")
    make = f"CREATE TABLE read ({columns})"
    if engine == "postgresql":
        execute(make)
        command = [tool, os.environ[SERVER], "-c", f"\\copy for_a_test.read from '{path}' csv header"]
    else:
        command = [tool, str(path.with_suffix(".db")), make, f".import --csv --skip 1 {path} read"]
    subprocess.run(command, check=True, capture_output=True)
    if engine == "sqlite":
        execute(f"ATTACH '{path.with_suffix('.db')}' AS imported")
    return {"sqlite": "imported.read", "postgresql": "read"}[engine]


@pytest.mark.parametrize("style", ["plain", "quoted", "blanks behind commas"])
def test_a_file_decides_as_the_engine_reads_it(engine: str, execute: Execute, style: str, tmp_path: Path) -> None:
    """A file with blanks behind its commas was scored by DuckDB's own reader, 600 of 600 rows wrongly."""
    graph = parse_graph(CARRIED)
    draw = random.Random(5)
    rows = [
        [str(draw.randrange(20, 70)), draw.choice(["cook", "clerk", ""]), draw.choice(["true", "false"]), day]
        for day in (f"2024-{draw.randrange(1, 13):02}-{draw.randrange(1, 29):02}" for _ in range(200))
    ]
    if style == "quoted":
        rows = [[age, draw.choice([job, f" {job}", f"{job} "]), paid, day] for age, job, paid, day in rows]
    sign, comma = ('"' if style == "quoted" else ""), (", " if style.startswith("blanks") else ",")
    lines = ["age,job,paid,seen", *(comma.join(f"{sign}{cell}{sign}" for cell in row) for row in rows)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    decided = graph.predict(rulekit.read_table(path, schema=graph.schema)).tolist()
    table = _read_in(engine, execute, path, "age TEXT, job TEXT, paid TEXT, seen TEXT")
    query = SQL.emit(graph, {"dialect": engine, "table": table}).main.decode()
    assert [row[0] for row in execute(query)] == decided
    assert {"no", "yes"} == set(decided)
