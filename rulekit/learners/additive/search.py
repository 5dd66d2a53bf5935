"""The search for a conjunction: a beam over rules, each literal the best one for all rows of the rule."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.learners.additive.corrective import Cells, Weights
from rulekit.learners.additive.extensions import Base, Extension, Sums, extensions
from rulekit.learners.additive.layout import Layout
from rulekit.learners.additive.literals import Literals, Penalties, clause_of, with_literal
from rulekit.learners.additive.sums import sums_by_code, values_of
from rulekit.learners.binned.problem import Problem
from rulekit.learners.contract import Watch
from rulekit.learners.counting.histograms import Bools, Ints
from rulekit.learners.counting.kernels import run_threads
from rulekit.learners.fitting.rule_sets import covered

_WIDTH = 5
_BETTER = 1.01


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """A conjunction, its rows [n], what it was worth when it was found, and the sign its weight must have (0: any)."""

    literals: Literals
    rows: Bools
    value: float
    sign: int


@dataclass(frozen=True, slots=True, eq=False)
class Slopes:
    """What is searched with: values [n, 3] of each row (see `values_of`), and their sums."""

    problem: Problem
    layout: Layout
    values: Ints
    over: Sums
    n_threads: int

    @classmethod
    def of(cls, problem: Problem, layout: Layout, cells: Cells, at: Weights, n_threads: int) -> Slopes:
        """Of the scores of all rows."""
        values, units = values_of(cells, at, problem.labels, problem.weights, problem.weight_unit)
        return cls(problem, layout, values, Sums(values.sum(axis=0), units), n_threads)

    def base(self, literals: Literals, rows: Bools, sign: int) -> Base:
        """A rule that may get one literal more."""
        where = np.flatnonzero(rows).astype(np.int32)
        sums = sums_by_code(self.problem.codes, self.layout, where, self.values)
        first = slice(0, int(self.layout.offsets[1])) if len(self.layout.columns) else slice(0, 0)
        return Base(literals, sums, sums[first].sum(axis=0), sign)

    def bases(self, rules: Sequence[tuple[Literals, Bools, int]]) -> list[Base]:
        """The same of several, side by side."""
        return run_threads(lambda rule: self.base(*rule), rules, self.n_threads)


def best_rule(
    slopes: Slopes, penalties: Penalties, watch: Watch, width: int = _WIDTH, known: Container[bytes] = ()
) -> Rule | None:
    """The conjunction of the largest gain; one with more literals must be a hundredth better.

    known: the `mark` of rules that stand already; one on the same rows would only halve what its weight is penalised.
    """
    everything = np.ones(len(slopes.problem.labels), dtype=bool)
    kept: list[tuple[Literals, Bools, int]] = [((), everything, 0)]
    best: Rule | None = None
    for length in range(1, penalties.most + 1):
        watch.check()
        bases = slopes.bases(kept)
        last = length == penalties.most
        found = extensions(slopes.layout, bases, slopes.over, penalties, 1 if last and not known else width)
        if not found:
            break
        grown = [extended(slopes, each, kept) for each in found]
        for each, (literals, rows, sign) in zip(found, grown, strict=True):
            if mark(rows) not in known:
                if best is None or each.value > _BETTER * best.value:
                    best = Rule(literals, rows, each.value, sign)
                break
        kept = grown
    return best


def mark(rows: Bools) -> bytes:
    """What tells one set of rows [n] from another, but not from all the other rows: the bias makes up for that."""
    return np.packbits(rows != rows[0]).tobytes()


def extended(
    slopes: Slopes, extension: Extension, kept: Sequence[tuple[Literals, Bools, int]]
) -> tuple[Literals, Bools, int]:
    """The rule that an extension makes of its base."""
    literals, rows, sign = kept[extension.base]
    literal = extension.literal
    held = rows & literal.condition[slopes.problem.codes[literal.column]]
    return with_literal(literals, literal), held, sign or extension.sign


def rows_of(problem: Problem, literals: Literals) -> Bools:
    """The rows [n] on which all literals hold."""
    return covered(clause_of(literals), problem.codes, len(problem.labels))
