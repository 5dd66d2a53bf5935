"""Where the codes of each column stand among all codes: those of ordered columns, and those of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.data.binning import BinnedColumn
from rulekit.learners.models.rule_sets import Clause
from rulekit.learners.promises.constraints import Allowed


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Codes of some columns one after another: their places [m] among all codes.

    columns [c]; starts [c + 1]: where each begins, and the end; within [m]: the number of the column of each code.
    """

    places: Ints
    columns: Ints
    starts: Ints
    within: Ints

    @classmethod
    def of(cls, columns: Sequence[BinnedColumn], offsets: Ints, which: Sequence[int], first: Sequence[int]) -> Block:
        """The codes from the first on of some columns; one without any is left out."""
        kept = [j for j in which if columns[j].n_codes > first[j]]
        ranges = [np.arange(offsets[j] + first[j], offsets[j] + columns[j].n_codes) for j in kept]
        sizes = np.array([len(codes) for codes in ranges], dtype=np.int64)
        places = np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        return cls(places, np.array(kept, dtype=np.int64), starts, np.repeat(np.arange(len(kept)), sizes))


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The codes of all columns one after another, and what may stand in a rule.

    offsets [d + 1]; first [d]: of each column the first code that has a place in its order. ways [s]: the logarithm of
    s factorial.
    """

    columns: tuple[BinnedColumn, ...]
    offsets: Ints
    first: Ints
    ordered: Block
    unordered: Block
    allowed: Allowed
    ways: Floats

    @classmethod
    def of(cls, columns: tuple[BinnedColumn, ...], allowed: Allowed) -> Layout:
        """Of binned columns."""
        offsets = np.concatenate([[0], np.cumsum([column.n_codes for column in columns])]).astype(np.int64)
        first = [column.first_known for column in columns]
        usable = np.flatnonzero(allowed.usable).tolist()
        ordered = Block.of(columns, offsets, [j for j in usable if columns[j].ordered], first)
        unordered = Block.of(columns, offsets, [j for j in usable if not columns[j].ordered], [0] * len(columns))
        most = max((column.n_codes for column in columns), default=1)
        ways = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, most + 2)))])
        return cls(columns, offsets, np.array(first, dtype=np.int64), ordered, unordered, allowed, ways)

    @property
    def size(self) -> int:
        """How many codes all columns have."""
        return int(self.offsets[-1])


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
