"""What a fault really changes: every reachable cell, run through the changed artifact itself.

Independent of `rulekit verify`: rows are not drawn but enumerated. A column is represented by one value for each
interval between the thresholds of the graph, those of the fault, and one step either side of the latter; a category by
all its levels and spellings. Where the product is larger than a limit, the fault is not used.
"""

from __future__ import annotations

import importlib.util
import math
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.proofs.mutations.faults import Site
from rulekit.errors import RulekitError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.nodes import Column, Compare, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing, float32, next_float32
from rulekit.schema import Feature
from rulekit.targets import Outcome, Target
from rulekit.verification.report import MAX_GAP

Columns = dict[str, npt.NDArray[Any]]
Effect = Literal["decision", "probability", "none", "fails"]


@dataclass(frozen=True, slots=True)
class Truth:
    """What a fault changes, on how many rows it was tried, on how many of them the decision is another one."""

    effect: Effect
    rows: int
    different: int


def truth_of(graph: RuleGraph, target: Target, site: Site, content: bytes, limit: int) -> Truth | None:
    """The truth about a fault, or None where there are more than `limit` cells."""
    columns = cells_of(graph, target.name, site, limit)
    if columns is None:
        return None
    table = graph.table(columns)
    expected = decide(graph, table)
    try:
        if target.name == "python":
            found, reported = run_module(content, graph, columns)
        else:
            assert target.run_raw is not None
            outcome = target.run_raw(content, graph, columns)
            found, reported = outcome.labels[None, :], outcome
        different = int(np.count_nonzero((found != expected).any(axis=0)))
        gap = 0.0 if different else np.abs(reported.probabilities - probabilities(graph, table)).max(initial=0.0)
    except Exception:  # what a broken module may raise
        return Truth("fails", table.n_rows, 0)
    effect: Effect = "decision" if different else "probability" if not gap <= MAX_GAP else "none"
    return Truth(effect, table.n_rows, different)


def confirmed(graph: RuleGraph, target: Target, content: bytes, row: dict[str, Any]) -> bool:
    """Whether one row, run through both once more, gets two labels."""
    columns: Columns = {}
    for name, value in row.items():
        if graph.schema[name].kind == "categorical":
            columns[name] = np.array([value, value], dtype=object)
        else:
            columns[name] = np.array([math.nan if value is None else value] * 2, dtype=np.float64)
    expected = decide(graph, graph.table(columns))
    if target.name == "python":
        return bool((run_module(content, graph, columns)[0] != expected).any())
    assert target.run_raw is not None
    try:
        return bool((target.run_raw(content, graph, columns).labels != expected).any())
    except RulekitError:
        return True


# Cells ---------------------------------------------------------------------------------------------------------------


def cells_of(graph: RuleGraph, target: str, site: Site, limit: int) -> Columns | None:
    """The product of every column's values."""
    values = {name: _values(graph, graph.schema[name], target, site) for name in graph.used_features}
    n = math.prod(map(len, values.values()))
    if n > limit:
        return None
    columns, inner = {}, n
    for name, column in values.items():
        inner //= len(column)
        columns[name] = np.tile(np.repeat(column, inner), n // (inner * len(column)))
    return columns


def _values(graph: RuleGraph, feature: Feature, target: str, site: Site) -> npt.NDArray[Any]:
    if feature.kind == "boolean":
        return np.array([0.0, 1.0, math.nan])
    if feature.kind == "categorical":
        return _texts(feature, site)
    return _numbers(graph, feature, target, site)


def _texts(feature: Feature, site: Site) -> npt.NDArray[Any]:
    found: list[str | None] = [None, *feature.levels]
    unseen = "never seen"
    allowed = feature.unseen != "error"
    if allowed:
        found.append(unseen)
    spelled = [text for known in (*feature.levels, *feature.missing_tokens) for text in _spellings(known)]
    own = {"", *feature.levels, *feature.missing_tokens, *spelled}
    if site.reads_text and (not site.texts or own & {*site.texts}):
        found += ["", *feature.missing_tokens]
        if allowed:
            found += [*site.texts, *spelled]
    values = np.empty(len(set(found)), dtype=object)
    values[:] = list(dict.fromkeys(found))
    return values


def _spellings(level: str) -> tuple[str, ...]:
    if level.removeprefix("-").isdigit():
        return (f"{level}.0",)
    return (level.title(), level.upper()) if level in ("true", "false") else ()


def _numbers(graph: RuleGraph, feature: Feature, target: str, site: Site) -> npt.NDArray[np.float64]:
    """One value for each interval: the largest one, and for the last interval the one above the last threshold."""
    wide = feature.precision == "float64"
    own = _thresholds(graph, feature.name)
    shared = own if not site.mixed else [t for name in graph.used_features for t in _thresholds(graph, name)]
    doubles = wide or target == "python"
    if site.mirrored:
        shared = [*shared, *(m for t in shared for m in (-t, -next_float32(float32(t)), -math.nextafter(t, math.inf)))]
    cuts = {t if wide else double_crossing(t) if doubles else float32(t) for t in shared}
    if cuts:
        last = max(cuts)
        cuts.add(math.nextafter(last, math.inf) if doubles else next_float32(last))
    near_own = [(t, math.nextafter(t, math.inf), float32(t), next_float32(float32(t)), double_crossing(t)) for t in own]
    known = {x for several in near_own for x in several}
    if known & {abs(x) * s for x in site.numbers for s in (1, -1)}:
        for x in (*site.numbers, *(-x for x in site.numbers)):
            cuts |= {x, math.nextafter(x, math.inf), math.nextafter(x, -math.inf)}
            if not wide:
                near = float32(x)
                cuts |= {near, next_float32(near), -next_float32(-near)}
    return np.array([*sorted(x + 0.0 for x in cuts if math.isfinite(x)), math.inf, -math.inf, math.nan])


def _thresholds(graph: RuleGraph, name: str) -> list[float]:
    """Thresholds, cuts, and for a rounded column every place at which its value on the grid changes."""
    found: list[float] = []
    for node in graph.nodes():
        if isinstance(node, Compare) and node.feature == name:
            found.append(node.value)
        elif isinstance(node, Step) and node.feature == name:
            found += node.cuts
        elif isinstance(node, Column) and node.feature == name:
            assert node.step > 0.0, "an unrounded column has too many values"
            steps = range(math.floor(node.low / node.step), math.ceil(node.high / node.step) + 1)
            halves = [(k + 0.5) * node.step for k in steps]
            found += [x for h in halves for x in (-next_float32(-h), h, next_float32(h))]
    return found


# Running -------------------------------------------------------------------------------------------------------------


def run_module(content: bytes, graph: RuleGraph, columns: Columns) -> tuple[npt.NDArray[np.int64], Outcome]:
    """Class indices by every way into a module [ways, n]: mappings, sequences, columns of numpy; and probabilities.

    Runs inside this process: only for modules that were generated here a moment ago.
    """
    module = _imported(content)
    index = {repr(label): k for k, label in enumerate(graph.classes)}
    lists = {name: column.tolist() for name, column in columns.items()}
    n = len(next(iter(lists.values()), []))
    mappings = [dict(zip(lists, cells, strict=True)) for cells in zip(*lists.values(), strict=True)]
    unused: list[list[Any]] = [lists.get(name, [None] * n) for name in graph.schema.names]
    ways: Iterable[Iterable[Any]] = (
        map(module.predict, mappings),
        map(module.predict, zip(*unused, strict=True)),
        module.predict_many(dict(columns)),
    )
    labels = np.array([[index[repr(label)] for label in way] for way in ways], dtype=np.int64)
    reported = np.array([module.predict_proba(row) for row in mappings], dtype=np.float64)
    return labels, Outcome(labels[0], reported.reshape(n, len(graph.classes)))


def _imported(content: bytes) -> Any:
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "changed_model.py")
            path.write_bytes(content)
            spec = importlib.util.spec_from_file_location("changed_model", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    finally:
        sys.dont_write_bytecode = before
