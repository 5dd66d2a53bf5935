"""Sums of many terms: 500 stumps over numbers and categories, 20 conjunctions of three literals, a score card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks.speed.serving.floors import defines, listed
from benchmarks.speed.serving.models import CLAUSES, COLUMNS, SCHEMA, Array
from benchmarks.speed.serving.models import rows as normal_rows
from benchmarks.speed.serving.ways import Pool
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, And, Compare, LevelPoints, Linear, Logistic, Node, Or, Sided, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import canonical_threshold, float32
from rulekit.schema import FIRST_LEVEL_CODE, Feature, Schema
from rulekit.tables.table import Table

CATEGORIES, LEVELS = 3, 10
NUMBERS = COLUMNS - CATEGORIES
MIXED = Schema(
    (
        *(Feature(f"x{j}") for j in range(NUMBERS)),
        *(
            Feature(f"x{NUMBERS + j}", "categorical", tuple(f"level{k}" for k in range(LEVELS)))
            for j in range(CATEGORIES)
        ),
    ),
    target="y",
)
GRID = 2.0**-16


class MixedPool(Pool):
    """Rows of which the last columns are codes of categories."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.rows = mixed_rows(n, seed)
        self.columns = {f"x{j}": np.ascontiguousarray(self.rows[:, j]) for j in range(NUMBERS)}
        for j in range(NUMBERS, COLUMNS):
            self.columns[f"x{j}"] = self.rows[:, j].astype(np.int64)

    def table(self) -> Table:
        """The rows as an evaluator reads them."""
        kinds = [np.int32 if feature.kind == "categorical" else np.float32 for feature in MIXED]
        arrays = tuple(self.columns[f.name].astype(kind) for f, kind in zip(MIXED, kinds, strict=True))
        return Table(MIXED.features, arrays, len(self))

    def texts(self, start: int, stop: int) -> dict[str, Array]:
        """Columns with levels as texts."""
        found = {name: column[start:stop] for name, column in self.columns.items()}
        names = np.array(["", "", *(f"level{k}" for k in range(LEVELS))], dtype=object)
        return {name: names[column] if column.dtype == np.int64 else column for name, column in found.items()}

    def cells(self) -> list[list[float | str]]:
        """Rows as lists of floats and texts."""
        columns = [column.tolist() for column in self.texts(0, len(self)).values()]
        return [list(row) for row in zip(*columns, strict=True)]

    def one_hot(self) -> OneHotPool:
        return OneHotPool(self.rows)


class OneHotPool(Pool):
    """The same rows with a column for each level."""

    def __init__(self, rows: Array) -> None:
        self.rows, self.columns = one_hot(rows), {}


def mixed_rows(n: int, seed: int) -> Array:
    """Normal numbers and codes of levels, float32 [n, 30]."""
    found = normal_rows(n, seed)
    codes = np.clip(np.floor(found[:, NUMBERS:] * 2.5) + LEVELS // 2, 0, LEVELS - 1)
    found[:, NUMBERS:] = codes + FIRST_LEVEL_CODE
    return found


def one_hot(rows: Array) -> Array:
    """The same rows with a column for each level, float32 [n, 27 + 30]."""
    levels = rows[:, NUMBERS:, None] == np.arange(LEVELS) + FIRST_LEVEL_CODE
    return np.hstack([rows[:, :NUMBERS], levels.reshape(len(rows), -1).astype(np.float32)])


@dataclass(frozen=True, slots=True)
class StumpSum:
    """start + jumps above cuts + points by level, all multiples of GRID; jumps: (column, cut) -> jump."""

    start: float
    jumps: dict[tuple[int, float], float]
    points: Array

    def graph(self) -> RuleGraph:
        """One step function for each number, points by level for each category."""
        terms: list[tuple[float, Node]] = []
        for column in sorted({column for column, _ in self.jumps}):
            cuts = sorted(cut for other, cut in self.jumps if other == column)
            values = np.cumsum([0.0, *(self.jumps[column, cut] for cut in cuts)]).tolist()
            terms.append((1.0, Step(f"x{column}", tuple(cuts), tuple(values), 0.0)))
        for category, points in enumerate(self.points.tolist()):
            by_level = tuple((f"level{level}", value) for level, value in enumerate(points))
            terms.append((1.0, LevelPoints(f"x{NUMBERS + category}", by_level, 0.0, 0.0)))
        return RuleGraph(MIXED, (0, 1), Fires(Above(Linear(terms, self.start), 0.0)))

    def header(self) -> str:
        """model.h for c/sum.c."""
        names = {"places": [column for column, _ in self.jumps], "codes": list(range(NUMBERS, COLUMNS))}
        numbers = {"cuts": [cut for _, cut in self.jumps], "jumps": list(self.jumps.values())}
        table = [listed([0.0] * FIRST_LEVEL_CODE + row) for row in self.points.tolist()]
        size = {"COLUMNS": COLUMNS, "JUMPS": len(self.jumps), "TABLES": CATEGORIES, "CODES": LEVELS + FIRST_LEVEL_CODE}
        return (
            defines(**size, START=f"{float(self.start).hex()}f")
            + "".join(f"static const int {name}[] = {{{', '.join(map(str, all_))}}};\n" for name, all_ in names.items())
            + "".join(f"static const float {name}[] = {listed(all_)};\n" for name, all_ in numbers.items())
            + f"static const float points[TABLES][CODES] = {{{', '.join(table)}}};\n"
        )


def stump_sum(stumps: Mapping[str, Array]) -> StumpSum:
    """Stumps of `benchmarks.speed.conversion.STUMPS` over `one_hot` rows, weights rounded to the grid."""
    start, jumps, points = 0.0, dict[tuple[int, float], float](), np.zeros((CATEGORIES, LEVELS))
    weights = np.rint(np.asarray(stumps["weight"], dtype=np.float64) / GRID) * GRID
    names = ("feature", "threshold", "below", "above")
    for feature, threshold, below, above, weight in zip(
        *(stumps[name].tolist() for name in names), weights.tolist(), strict=True
    ):
        start += weight * below
        jump = weight * (above - below)
        if feature >= NUMBERS:
            points[divmod(feature - NUMBERS, LEVELS)] += jump
        elif jump:
            nearest = float32(threshold)
            lower = nearest if nearest <= threshold else float(np.nextafter(np.float32(nearest), np.float32(-np.inf)))
            cut = canonical_threshold(lower, "float32")
            jumps[feature, cut] = jumps.get((feature, cut), 0.0) + jump
    return StumpSum(start, jumps, points)


def conjunctions(count: int = 20, length: int = 3, reported: bool = False, seed: int = 0) -> RuleGraph:
    """A sum of weighted conjunctions over the 30 float columns."""
    rng = np.random.default_rng(seed)
    terms = []
    for _ in range(count):
        literals = [
            Compare(f"x{j}", "<=" if rng.random() < 0.5 else ">", round(float(rng.normal(0, 0.5)), 2))
            for j in rng.choice(COLUMNS, length, replace=False)
        ]
        terms.append((float(rng.integers(-100, 100)) / 64, And(literals)))
    total = Linear(terms, 0.25)
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(total, 0.0)), (Logistic(total),) if reported else ())


def score_card(seed: int = 0) -> RuleGraph:
    """25 numbers: five columns of four cuts each, with points of at most ten, and their logistic function."""
    rng = np.random.default_rng(seed)
    cuts = (-1.0, -0.25, 0.5, 1.25)
    terms = [(1.0, Step(f"x{j}", cuts, tuple(map(float, rng.integers(-10, 11, 5))), 0.0)) for j in range(5)]
    total = Linear(terms, 0.5)
    return RuleGraph(SCHEMA, (0, 1), Fires(Above(total, 0.0)), (Logistic(total),))


def rules_with_card() -> RuleGraph:
    """Three rules over five columns, and on their side the logistic function of twelve points over these columns."""
    literals = [Compare(f"x{j}", op, value) for clause in CLAUSES[:2] for j, op, value in clause[:3]]
    rule = Or([And(literals[:2]), And(literals[2:4]), And(literals[4:])])
    columns = sorted({literal.feature for literal in literals})
    points = [((-1) ** k * (k + 1) / 8, Compare(columns[k % len(columns)], ">", k / 16 - 0.25)) for k in range(9)]
    steps = [(1.0, Step(name, (-0.5, 0.75), (-1.5, 0.0, 1.25), 0.0)) for name in columns[:3]]
    reported = Sided(Logistic(Linear([*points, *steps], -0.5)), rule, 0.5001, 0.4999)
    return RuleGraph(SCHEMA, (0, 1), Fires(rule), (reported,))
