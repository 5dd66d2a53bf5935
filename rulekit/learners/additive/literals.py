"""Literals of a rule, and what a rule has to be worth."""

from __future__ import annotations

from dataclasses import dataclass

from rulekit.arrays import Bools
from rulekit.learners.models.rule_sets import Clause


@dataclass(frozen=True, slots=True, eq=False)
class Literal:
    """A condition [n_codes] on the codes of one column; above: +1 `x > c`, -1 `x <= c`, 0 a set of levels.

    reads: the columns of the table below one that is a fixed condition.
    """

    column: int
    condition: Bools
    above: int
    reads: tuple[int, ...] = ()


Literals = tuple[Literal, ...]


def clause_of(literals: Literals) -> Clause:
    """By column the codes on which all literals hold."""
    clause: Clause = {}
    for literal in literals:
        known = clause.get(literal.column)
        clause[literal.column] = literal.condition if known is None else known & literal.condition
    return clause


def with_literal(literals: Literals, new: Literal) -> Literals:
    """The literals and one more, which takes the place of one on the same side of the same column."""
    kept = tuple(old for old in literals if (old.column, old.above) != (new.column, new.above))
    if len(kept) == len(literals):
        return (*literals, new)
    (old,) = (old for old in literals if (old.column, old.above) == (new.column, new.above))
    return (*kept, Literal(new.column, old.condition & new.condition, new.above))


@dataclass(frozen=True, slots=True)
class Penalties:
    """What a rule has to be worth.

    ridge: of its weight; damping: added to its curvature; least: weight of rows inside and outside of it;
    per_literal: price of each literal but the first, as a decrease of the loss; most: literals of a rule. bold: rules
    cost so little that they are taken only where they are clearly better.
    """

    ridge: float
    damping: float
    least: float
    per_literal: float
    most: int
    bold: bool = False
