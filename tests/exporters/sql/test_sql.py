"""Queries decide as the graph in three engines, are read back and proved, and take tables as engines hold them."""

from __future__ import annotations

import math
import random
import struct
from pathlib import Path

import numpy as np
import pytest
import rulekit_exporters.sql as engines
from rulekit_exporters.sql import dialects, run_in

from rulekit.conformance.models import MODELS, NODES
from rulekit.conformance.targets import check_target
from rulekit.errors import FormatError, InputError
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import Above, Among, And, Column, Compare, Hidden, IsTrue, Linear, Logistic, Or, Probability
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import crossing
from rulekit.program.naming import label_texts
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.tokens import LETTERS, SEPARATORS, UPPER_CASE
from rulekit.verification.parity import verify

SQL = find_target("sql")
SCHEMA = Schema((Feature("x"), Feature("c", "categorical", ("a", "b")), Feature("flag", "boolean")), "y")
RULES = Or((And((Compare("x", ">", 2.5), IsTrue("flag"))), Among("c", ("b",))))
GRAPH = RuleGraph(SCHEMA, ("no", "yes"), Fires(RULES))


@pytest.mark.full
@pytest.mark.parametrize("engine", ["duckdb", "postgresql"], indirect=True)
def test_every_model_decides_alike_and_hard_cells_too(engine: str, long_runs: bool) -> None:
    """Larger models, and those for SQLite, where queries run by default, are in tests/conformance."""
    some = {name: make for k, (name, make) in enumerate(NODES.items()) if long_runs or k % 24 == (engine == "duckdb")}
    check_target(SQL, [{"dialect": engine}], rows=100, models=some, kinds=("category",))


@pytest.mark.slow
def test_every_model_decides_alike_on_many_rows(engine: str) -> None:
    check_target(SQL, [{"dialect": engine}], rows=20_000)


def _numbers(count: int, seed: int) -> list[float]:
    """Decimals of three digits, of fifteen, with exponents; crossings of float32 columns; any bits."""
    rng = random.Random(seed)
    makers = (
        lambda: round(rng.uniform(-10, 10), 3),
        lambda: float(f"{rng.uniform(0, 1):.15g}"),
        lambda: float(f"{rng.uniform(1, 10):.17g}e{rng.randint(-307, 307)}"),
        lambda: float(rng.randint(-(10**9), 10**9)) / 10 ** rng.randint(0, 9),
        lambda: crossing(round(rng.uniform(0, 1000), 3), "float32"),
        lambda: struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0],
    )
    made = [0.0518, 0.00140772, 5e-324, 1.7976931348623157e308, *(makers[k % 6]() for k in range(count))]
    return [value + 0.0 for value in made if math.isfinite(value)]


def _read_by(engine: str, numbers: list[float]) -> int:
    """How many of the numbers an engine reads as others than they are."""
    spelled, wrong = dialects.DIALECTS[engine].number, 0
    for start in range(0, len(numbers), 2000):
        part = numbers[start : start + 2000]
        values = ", ".join(f"({k}, {spelled(value)})" for k, value in enumerate(part))
        query = f"WITH t(k, v) AS (VALUES {values}) SELECT v FROM t ORDER BY k"
        rows = run_in(engine, query, "unused", {"none": np.zeros(1)})
        wrong += sum(struct.pack("d", row[0]) != struct.pack("d", v) for row, v in zip(rows, part, strict=True))
    return wrong


def test_an_engine_reads_every_number_as_it_was(engine: str) -> None:
    """SQLite reads some decimals wrongly by one unit in the last place, so that they are spelled as quotients."""
    assert _read_by(engine, _numbers(6000, seed=1)) == 0


@pytest.mark.slow
def test_an_engine_reads_a_million_numbers_as_they_were(engine: str) -> None:
    assert _read_by(engine, _numbers(1_000_000, seed=2)) == 0


def test_numbers_beyond_float32_do_not_overflow(engine: str) -> None:
    """A part of a step that stands in a stage of its own is computed for every row; PostgreSQL raises on overflow."""
    score = Linear([(1000.0, Column("x", 0.0, -4.0, 4.0, 0.25))], 0.0)
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(Above(Logistic(score), 0.5)), (Logistic(score),))
    query = SQL.emit(graph, {"dialect": engine}).main.decode()
    rows = run_in(engine, query, "rows", {"x": np.array([1e300, -1e300, math.inf, -math.inf, math.nan])})
    assert [row[0] for row in rows] == ["yes", "no", "yes", "no", "no"]
    assert [row[2] for row in rows] == [1.0, 0.0, 1.0, 0.0, 0.5]


def _two_of_one_probability(default: int) -> RuleGraph:
    """The quotient of both was computed for every row; PostgreSQL raises where the sum of the probabilities is 0."""
    sure, other = (Probability(Hidden(name, leaf, 2.0)) for name, leaf in zip("ho", RULES.children, strict=True))
    decision = ArgMax((*RULES.children, IsTrue("flag")), (0.5, 0.5, 0.5), (0, 1, 2))
    return RuleGraph(SCHEMA, ("d", "e", "f"), decision, (sure, other, sure), default)


PROVED = [*map(_two_of_one_probability, range(3)), NODES["constants"](), MODELS["noisy-or"]()]


@pytest.mark.parametrize("graph", PROVED, ids=range(len(PROVED)))
def test_a_query_is_proved_and_runs(engine: str, graph: RuleGraph) -> None:
    """The one column of a model that reads none had the name of a keyword of SQLite."""
    report = verify(graph, SQL.emit(graph, {"dialect": engine, "fired": "true", "digest": True}), target=SQL, rows=200)
    assert (report.ok, report.proof) == (True, "proved")


WORDS = parse_graph(
    """rulekit rules 1
column t: text, missing {"n/a"}
label y: {none, some, other}
default none
decide first of (
  some: (t contains any of {ab, "été", "été9", жук, ßß} or missing),
  other: not t contains any of {ab, "éa"},
)
"""
)


def test_words_are_those_of_the_tokens(engine: str) -> None:
    """Every kind of character beside a word and within one: ends of classes, capitals, what engines fold otherwise."""
    runs = [*SEPARATORS, *LETTERS, *((first, last) for first, last, _, _ in UPPER_CASE)]
    near = {code + step for run in runs for code in run for step in (-1, 0, 1)}
    odd = {0x130, 0x131, 0x17F, 0x1E9E, 0x212A, 0x212B, 0x2160, 0x24B6, 0x10400, 0x1F88, 0x345, 0x85, 0xA0, 0x200B}
    codes = sorted(c for c in (near | odd | set(range(1, 0x600))) if 0 < c < 0x110000 and not 0xD800 <= c < 0xE000)
    forms = ("ab{}", "{}ab", "x {}AB\n", "aB{}c", "{}ÉTÉ", "Été9{}", "{}", "Ab{}n/a")
    texts = [form.format(chr(code)) for code in codes for form in forms] + ["n/a", "n/a ", "", "ab\u0301", "ßß'\\"]
    given = {"t": np.array([*texts, None], dtype=object)}
    query = SQL.emit(WORDS, {"dialect": engine}).main.decode()

    found = [row[0] for row in run_in(engine, query, "rows", given)]

    expected = WORDS.predict(WORDS.table(given)).tolist()
    different = [(t, f, e) for t, f, e in zip([*texts, None], found, expected, strict=True) if f != e]
    assert different == []


def test_kept_columns_the_rules_that_fired_and_the_digest(engine: str) -> None:
    options = {"dialect": engine, "table": 'my "rows"', "keep": "id", "fired": "true", "digest": True}
    query = SQL.emit(GRAPH, options).main.decode()
    given = {"id": np.array([7, 8]), "x": np.array([3.0, 1.0]), "c": np.array(["b", "a"], dtype=object)}
    rows = run_in(engine, query, 'my "rows"', given | {"flag": np.array([1.0, 1.0])})
    assert [row[:2] for row in rows] == [(7, "yes"), (8, "no")]
    ids = [str(row[-2]).split() for row in rows]
    assert (len(ids[0]), ids[1]) == (2, [])
    assert [row[-1] for row in rows] == [GRAPH.digest] * 2


def test_numbers_that_are_added_up_do_not_fire(engine: str) -> None:
    """A column of a sum has an id of its own; PostgreSQL takes no number for a condition."""
    terms = [(0.5, Column("x", 0.0, -4.0, 4.0, 0.25)), (1.0, IsTrue("flag"))]
    score = Linear(terms, 0.0)
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(Above(score, 1.0)), (Logistic(score),))
    query = SQL.emit(graph, {"dialect": engine, "fired": "true"}).main.decode()
    rows = run_in(engine, query, "rows", {"x": np.array([2.0, 1.0]), "flag": np.array([1.0, 0.0])})
    assert [(row[0], len(row[-1].split())) for row in rows] == [("yes", 1), ("no", 0)]


def test_what_cannot_be_written_is_refused_in_one_line() -> None:
    with pytest.raises(InputError, match="one of sqlite, duckdb, postgresql"):
        SQL.emit(GRAPH, {"dialect": "oracle"})
    with pytest.raises(InputError, match="NUL"):
        SQL.emit(GRAPH, {"table": "a\0b"})
    with pytest.raises(InputError, match="two classes have one text"):
        label_texts(GRAPH.with_(classes=("1", 1)))


def test_a_query_that_does_not_end_is_stopped(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "SECONDS", 0.1)
    joined = ", ".join(f"rows AS r{k}" for k in range(6))
    query = f"SELECT count(*) FROM {joined} WHERE {' + '.join(f'r{k}.x' for k in range(6))} = 0.5"
    with pytest.raises(FormatError, match=r"refused the query: .*([Ii]nterrupt|cancel)"):
        run_in(engine, query, "rows", {"x": np.arange(300.0)})


def test_a_query_may_read_its_rows_and_nothing_else(engine: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    reads = {
        "sqlite": f"ATTACH '{tmp_path / 'made.db'}' AS other",
        "duckdb": f"SELECT * FROM '{secret}'",
        "postgresql": f"COPY (SELECT 1) TO '{tmp_path / 'made'}'",
    }
    with pytest.raises(Exception, match="refused the query"):
        run_in(engine, reads[engine], "rows", {"x": np.zeros(1)})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret.csv"]
