"""Plain rules and sums of points as models.

Rules are clauses of conditions on codes, of which one or more must hold. A sum is exact because its points lie on a
grid of a power of two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from rulekit.arrays import Bools, Floats
from rulekit.cells.space import cell_rows
from rulekit.errors import InputError, LearnerError
from rulekit.exactness import SINGLE_BITS
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import has_column
from rulekit.graph.nodes import FALSE, TRUE, And, LevelPoints, Linear, Logistic, Node, Or, Step
from rulekit.graph.rules import conjuncts
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.binning import BinnedColumn, Codes
from rulekit.learners.data.problem import FixedColumn, Problem, condition_node, cut_of
from rulekit.learners.faults import check_codes
from rulekit.numbers import finest_unit
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Schema

Clause = dict[int, Bools]
"""By column the codes [n_codes] for which a condition holds; all conditions must hold."""


@dataclass(frozen=True, slots=True, eq=False)
class RuleSet:
    """Says yes where one of the clauses holds."""

    clauses: tuple[Clause, ...]

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that some clause covers."""
        return covered_by_some(self.clauses, codes, n_rows)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The clauses joined by or."""
        rule = rule_of(self.clauses, frame.columns)
        return Score(rule, rule)

    def check(self, columns: Sequence[BinnedColumn]) -> None:
        """Raise LearnerError where a condition has not one truth value for each code of its column."""
        for clause in self.clauses:
            for column, condition in clause.items():
                check_codes(condition, columns[column], bool)


def covered(clause: Mapping[int, Bools], codes: Codes, n: int) -> Bools:
    """The rows [n] on which all conditions of a clause hold."""
    rows = np.ones(n, dtype=bool)
    for column, condition in clause.items():
        rows &= condition[codes[column]]
    return rows


def covered_by_some(clauses: Sequence[Clause], codes: Codes, n: int) -> Bools:
    """The rows [n] on which some clause holds."""
    rows = np.zeros(n, dtype=bool)
    for clause in clauses:
        rows |= covered(clause, codes, n)
    return rows


def clause_node(clause: Clause, columns: Sequence[BinnedColumn]) -> Node:
    """A clause as one And of conditions on single columns."""
    ordered = sorted(clause.items(), key=lambda item: (columns[item[0]].index < 0, columns[item[0]].index, item[0]))
    nodes = (condition_node(columns[column], condition) for column, condition in ordered)
    parts = [part for node in nodes for part in conjuncts(node)]
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(parts)


_MOST_CELLS = 1 << 14


def truths_on_cells(one: Node, other: Node, schema: Schema) -> tuple[Bools, Bools] | None:
    """The truths [n] of two Boolean nodes on every combination of the cells of their columns; None where too many."""
    both = (one, other)
    table = None if any(map(has_column, both)) else cell_rows(both, schema, _MOST_CELLS)
    if table is None:
        return None
    values = evaluate_nodes(both, table)
    return values[one], values[other]


def rule_of(clauses: Sequence[Clause], columns: Sequence[BinnedColumn]) -> Node:
    """An Or of clauses."""
    nodes = [clause_node(clause, columns) for clause in clauses]
    return FALSE if not nodes else nodes[0] if len(nodes) == 1 else Or(nodes)


# Sums --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What a sum is made of: the weights of rules, the points of columns by code [n_codes], and a bias.

    scale: the logistic of the sum times that is what is reported of it. fitted: that was fitted to the labels, with a
    penalty, so that to fit it anew would only make it too sure of itself.
    """

    rules: tuple[tuple[Clause, float], ...]
    columns: Mapping[int, Floats]
    bias: float
    scale: float = 1.0
    fitted: bool = False

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""
        total = np.full(n_rows, self.bias)
        for clause, weight in self.rules:
            total += weight * covered(clause, codes, n_rows)
        for column, points in self.columns.items():
            total += points[codes[column]]
        return total

    def probability(self, frame: Frame, prefix: str) -> Node:
        """The logistic of the sum, as nodes."""
        rules = [(weight, clause_node(clause, frame.columns)) for clause, weight in self.rules]
        total = Linear([*rules, *self.of_columns(frame.columns)], self.bias)
        return Logistic(Linear([(self.scale, total)], 0.0))

    def of_columns(self, columns: Sequence[BinnedColumn]) -> list[tuple[float, Node]]:
        """The terms that give the codes of columns their points."""
        return [term for column, points in sorted(self.columns.items()) for term in terms_of(columns[column], points)]


@runtime_checkable
class Summed(Protocol):
    """A model that is a sum."""

    def terms(self) -> Terms:
        """What is added up."""


class Scored(Protocol):
    """A model whose sum is the log odds of yes."""

    def scores(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""


def log_losses(model: Scored, problem: Problem) -> Floats:
    """The log loss [n] that the model has on each row."""
    losses = np.empty(len(problem.labels))
    for rows, codes in problem.codes.parts(len(losses)):
        labels = problem.labels[rows]
        scores = model.scores(codes, len(labels))
        losses[rows] = np.logaddexp(0.0, np.where(labels == 1, -scores, scores))
    return losses


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCard:
    """Says yes where bias + the points of the columns' codes is above 0.

    The probability of a sum z is 1 / (1 + exp(-(scale z + offset))). points: by column [n_codes]. They and the bias are
    multiples of one power of two (see `on_grid`).
    """

    points: Mapping[int, Floats]
    bias: float
    scale: float = 1.0
    offset: float = 0.0

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose sum is above 0."""
        return np.asarray(self.terms().totals(codes, n_rows) > 0.0)

    def check(self, columns: Sequence[BinnedColumn]) -> None:
        """Raise LearnerError where a column has not one finite number for each of its codes, or the bias is none."""
        for column, points in self.points.items():
            check_codes(points, columns[column], float)
        if not np.isfinite([self.bias, self.scale, self.offset]).all():
            raise LearnerError(f"the bias of a score card is {self.bias}, its scale {self.scale}")

    def terms(self) -> Terms:
        """The points of all columns."""
        return Terms((), self.points, self.bias, self.scale)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The sum of the points of all columns."""
        terms = self.terms().of_columns(frame.columns)
        total = Linear(terms, self.bias)
        scaled = total if (self.scale, self.offset) == (1.0, 0.0) else Linear([(self.scale, total)], self.offset)
        silent = not terms and self.bias <= 0.0
        # Ranked classes are reported by differences, several by sums that are compared: there is no side to be kept to.
        sided = bool(self.offset) and frame.kind == "two" and not frame.unreported
        return Score(total, probability=Logistic(scaled), silent=silent, sided=sided)


def on_grid(points: Mapping[int, Floats], bias: float) -> tuple[dict[int, Floats], float]:
    """Points and bias rounded to the finest power of two with which every sum has at most 24 bits."""
    unit = finest_unit([bias, *(float(np.abs(values).max(initial=0.0)) for values in points.values())], SINGLE_BITS)
    return {column: multiples(values, unit) for column, values in points.items()}, round(bias / unit) * unit


def weights_on_grid(weights: Floats, bias: float) -> tuple[Floats, float]:
    """The same of the weights [n] of rules, of which each counts once."""
    unit = finest_unit([bias, *weights.tolist()], SINGLE_BITS)
    return multiples(weights, unit), round(bias / unit) * unit


def multiples(values: Floats, unit: float | Floats) -> Floats:
    """Each value rounded to the nearest multiple of a power of two; of two as near to the even one."""
    return np.asarray(np.rint(values / unit) * unit)


def coarsest(step: float, largest: float, fits: Callable[[float], bool]) -> float:
    """The first of a step, its half, a quarter, ... that fits; at the finest, sums up to `largest` have 24 bits."""
    finest = finest_unit([largest], SINGLE_BITS)
    while step > finest and not fits(step):
        step /= 2.0
    return step


def terms_of(column: BinnedColumn, points: Floats) -> list[tuple[float, Node]]:
    """The terms of a sum that give each code its points: a step function, points by level, or a weighted condition."""
    if column.feature.kind == "numeric" and column.n_codes > 2 and len(np.unique(points)) > 1:
        jumps = [code for code in range(1, column.n_codes - 1) if points[code] != points[code + 1]]
        values = [float(points[code]) for code in (1, *(code + 1 for code in jumps))]
        cuts = [cut_of(column, code) for code in jumps]
        return [(1.0, Step(column.feature.name, tuple(cuts), tuple(values), float(points[0])))]
    weights = [value for value in np.unique(points).tolist() if value != 0.0]
    if column.feature.kind == "categorical" and len(weights) > 1 and not isinstance(column, FixedColumn):
        unseen = float(points[UNSEEN_CODE])  # of the levels too that no training row has
        known = dict(zip(column.levels, points[FIRST_LEVEL_CODE:].tolist(), strict=True))
        by_level = tuple((level, known.get(level, unseen)) for level in column.feature.levels)
        return [(1.0, LevelPoints(column.feature.name, by_level, float(points[MISSING_CODE]), unseen))]
    return [(value, condition_node(column, points == value)) for value in weights]


def terms_of_rules(
    rules: Iterable[tuple[Clause, float]], columns: Sequence[BinnedColumn]
) -> tuple[list[tuple[float, Node]], float]:
    """The terms of weighted rules, and what is to be added to the bias.

    A rule that speaks of all levels but a few, of missing and of unseen ones is said of these few, against the class:
    so the bias is what is true of most rows, and only what is special about a row adds to it.
    """
    terms, constant = list[tuple[float, Node]](), 0.0
    for clause, weight in rules:
        if weight == 0.0:
            continue
        if len(clause) == 1 and _but_a_few(columns[next(iter(clause))], *clause.values()):
            clause, weight, constant = {j: ~held for j, held in clause.items()}, -weight, constant + weight
        terms.append((weight, clause_node(clause, columns)))
    return terms, constant


def _but_a_few(column: BinnedColumn, held: Bools) -> bool:
    """Whether a condition has the larger part of the levels of a category, and missing and unseen ones."""
    named = held[FIRST_LEVEL_CODE:]
    if column.ordered or isinstance(column, FixedColumn) or not (held[MISSING_CODE] and held[UNSEEN_CODE]):
        return False
    return 0 < int(np.count_nonzero(~named)) <= int(np.count_nonzero(named))


def refuse_for_sums(settings: Any, classes: Sequence[Any]) -> None:
    """Raise InputError where sums of several classes are to promise that missing values never help."""
    if settings.missing_never_helps and len(classes) > 2 and settings.ordered is None:
        why = "of several classes the largest sum decides, which a missing value may always turn to some class"
        raise InputError(why, where="missing_never_helps", fix="leave it out, or take another learner")
