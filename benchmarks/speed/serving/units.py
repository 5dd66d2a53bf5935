"""The part of the measurement of serving that is about trees of linear threshold units: ONNX, C and Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.shared.sections import markdown
from benchmarks.speed.serving.bench import NAMES, Bench, compiled, export
from benchmarks.speed.serving.floors import ltu_header
from benchmarks.speed.serving.models import COLUMNS, SCHEMA, ltu_tree, ltu_units, paths_of
from benchmarks.speed.serving.report import Agreement, Part, compare, shown, times_table
from benchmarks.speed.serving.timing import Way, measure
from benchmarks.speed.serving.unit_models import (
    BOOLEAN_SCHEMA,
    BOOLEANS,
    BooleanPool,
    RowsPool,
    boolean_header,
    boolean_tree,
    boolean_units,
    nested,
    rows_on_planes,
)
from benchmarks.speed.serving.ways import (
    CHUNK,
    Pool,
    floor_labels,
    floor_rows_way,
    identity_model,
    labels,
    matrix_way,
    module,
    session_way,
)
from rulekit.graph.nodes import LinearThreshold
from rulekit.graph.rule_graph import RuleGraph
from rulekit.verification.rows import adversarial_rows

SINGLE = 200
POOL_ROWS = 200_000
PLANE_ROWS = 5_000
PYTHON_ROWS = 500
PYTHON_ROUNDS = 11
FEW = (5, 5)


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree of 15 units over one kind of column, and what is measured with it."""

    name: str
    graph: RuleGraph
    units: Sequence[LinearThreshold]
    pool: Pool
    source: str
    header: str

    @property
    def words(self) -> str:
        return f"tree of {len(self.units)} units over {self.name}"


def ltu(bench: Bench) -> Part:
    """Trees of 15 linear threshold units over cleaned and over Boolean columns, beside C loops and an Identity."""
    about = (
        f"Depth 4, 15 units. Cleaned columns: all {COLUMNS}, weights in multiples of 1/64; each cell is clipped to "
        "[-4, 4], rounded to a multiple of 2^-8, and 0 where it is missing, in the graph as in C. Boolean columns: "
        f"whole weights on 5 to {BOOLEANS} of {BOOLEANS}, half of them on `not x`, false where x is missing (2 %). "
        "Python along the path: the module as generated; all units: the same without nested `if`s."
    )
    part = Part("Trees of linear threshold units.", about)
    numbers, booleans = ltu_tree(), boolean_tree()
    of_numbers, of_booleans = ltu_units(numbers), boolean_units(booleans)
    boolean_pool = BooleanPool(min(len(bench.pool), POOL_ROWS))
    for tree in (
        _Tree(
            "cleaned columns",
            paths_of(SCHEMA, numbers, of_numbers),
            of_numbers,
            bench.pool,
            "ltu.c",
            ltu_header(numbers),
        ),
        _Tree(
            "Boolean columns",
            paths_of(BOOLEAN_SCHEMA, booleans, of_booleans),
            of_booleans,
            boolean_pool,
            "ltu_boolean.c",
            boolean_header(booleans),
        ),
    ):
        _onnx(bench, part, tree)
    _python(bench, part, boolean_pool)
    return part


def _onnx(bench: Bench, part: Part, tree: _Tree) -> None:
    """Chunks beside the C loop, one row beside an Identity, and labels, also of rows exactly on a plane."""
    graph, pool = tree.graph, tree.pool
    made = {"tensor": export(graph), "fast": export(graph, optimize="latency")}
    made |= {"floor": compiled(tree.source, tree.header, bench.folder)}
    absent = {name: each.absent for name, each in made.items() if not each}
    chunks = {"graph": matrix_way(graph.predict, pool, CHUNK, 1, 43)}
    single = {"identity": session_way(identity_model(pool.rows.shape[1]), pool, 1, SINGLE, 44)}
    if made["tensor"]:
        chunks["tensor"] = session_way(made["tensor"].value, pool, CHUNK, 2, 41)
        single["tensor"] = session_way(made["tensor"].value, pool, 1, SINGLE, 45)
    if made["fast"]:
        single["fast"] = session_way(made["fast"].value, pool, 1, SINGLE, 46)
    if made["floor"]:
        chunks["floor"] = floor_rows_way(made["floor"].value, pool, CHUNK, 4, 42)
    many, one = measure(chunks, bench.rounds), measure(single, bench.rounds)
    part.times += [many, one]
    part.tables.append(times_table(many, NAMES, f"{tree.name}, {CHUNK:,} rows a call", ("floor",)))
    part.tables.append(times_table(one, NAMES, f"{tree.name}, one row a call", ("identity",)))
    words = f"chunks of {CHUNK:,}, {tree.words}: ONNX, tensor, over C on rows"
    part.verdicts.append(compare(many, words, "tensor", "floor", "at most", 1.5, absent))
    words = f"one row, {tree.words}: {NAMES['fast']}, over an Identity graph"
    part.verdicts.append(compare(one, words, "fast", "identity", "at most", 1.8, absent))
    expected = graph.predict(pool.rows)
    if made["tensor"]:
        part.agreements.append(bench.agreement(f"ONNX, {tree.name}", labels(made["tensor"].value, pool), expected))
    for name in ("tensor", "fast"):
        if made[name]:
            part.agreements.append(_planes(tree, name, made[name].value))
    if made["floor"]:
        part.agreements.append(
            bench.agreement(f"C loop, {tree.name}", floor_labels(made["floor"].value, pool), expected)
        )
    part.remarks += [f"{tree.name}, {NAMES[name]}: {why}" for name, why in absent.items()]


def _planes(tree: _Tree, name: str, model: bytes) -> Agreement:
    """Rows that lie exactly on the plane of a unit, of those that verification makes and of the pool."""
    rows = rows_on_planes(tree.units, adversarial_rows(tree.graph, PLANE_ROWS).table)
    expected = tree.graph.predict(rows)
    differ = int(np.count_nonzero(labels(model, RowsPool(rows)) != expected))
    return Agreement(f"{NAMES[name]}, {tree.name}, rows exactly on a plane", len(expected), differ)


def _python(bench: Bench, part: Part, booleans: Pool) -> None:
    """One row of generated Python along its path, and with all units evaluated."""
    lines = []
    for depth in (2, 3, 4):
        dense, few, numbers = boolean_tree(depth=depth), boolean_tree(FEW, depth), ltu_tree(depth=depth)
        for name, graph, pool in (
            ("Boolean columns", nested(BOOLEAN_SCHEMA, dense, boolean_units(dense)), booleans),
            ("Boolean columns, five a unit", nested(BOOLEAN_SCHEMA, few, boolean_units(few)), booleans),
            ("cleaned columns", nested(SCHEMA, numbers, ltu_units(numbers)), bench.pool),
        ):
            along = export(graph, "python")
            with patch("rulekit_exporters.python.functions.tree_of", lambda label: None):
                whole = export(graph, "python")
            if not along or not whole:
                part.remarks.append(f"Python, {name}: {along.absent or whole.absent}")
                continue
            modules = {"path": module(along.value, bench.folder), "all": module(whole.value, bench.folder)}
            given = _present(pool)
            ways = {
                key: Way(found.predict, partial(_taken, given, seed))
                for seed, (key, found) in enumerate(modules.items())
            }
            times = measure(ways, min(bench.rounds, PYTHON_ROUNDS))
            part.times.append(times)
            cells = (shown(times.call("path")), shown(times.call("all")), shown(times.ratio("all", "path")))
            lines.append((f"{2**depth - 1} units, {name}", *cells))
            expected = graph.predict(np.array(given, dtype=np.float32)).tolist()
            for key, found in modules.items():
                differ = sum(found.predict(row) != label for row, label in zip(given, expected, strict=True))
                part.agreements.append(Agreement(f"Python, {key}, {2**depth - 1} units, {name}", len(given), differ))
    header = ("generated Python, one row, a list", "us along the path", "us, all units", "times faster")
    part.tables.append(markdown(header, lines))


def _present(pool: Pool) -> list[list[float]]:
    """Rows of a pool without a missing cell, as lists."""
    complete = pool.rows[~np.isnan(pool.rows).any(axis=1)][: 8 * PYTHON_ROWS]
    found: list[list[float]] = complete.tolist()
    return found


def _taken(rows: list[list[float]], seed: int) -> list[Any]:
    """Some rows in an order of their own, anew for each sample."""
    return [rows[place] for place in np.random.default_rng(seed).permutation(len(rows))[:PYTHON_ROWS]]
