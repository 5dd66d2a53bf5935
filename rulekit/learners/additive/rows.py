"""The rows of a rule as ascending numbers: those of a rule with one literal more, and what tells two sets apart."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools
from rulekit.learners.additive.literals import Literal, Literals
from rulekit.learners.additive.sums import RowNumbers
from rulekit.learners.data.codes import Codes
from rulekit.learners.sums_of_rows.kernels import compiled_unless

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)
_PART = 1 << 16


def all_rows(n: int) -> RowNumbers:
    """0 .. n - 1."""
    return np.arange(n, dtype=np.uint32)


def parted(codes: Codes, rows: RowNumbers, literal: Literal) -> tuple[RowNumbers, RowNumbers]:
    """The rows on which a literal holds, and the others."""
    inside, outside = np.empty_like(rows), np.empty_like(rows)
    n = _part(codes[literal.column], rows, literal.condition, inside, outside)
    return inside[:n].copy(), outside[: len(rows) - n].copy()


def _part_at_once(codes: Any, rows: Any, condition: Any, inside: Any, outside: Any) -> int:
    held = condition[codes[rows]]
    n = int(np.count_nonzero(held))
    inside[:n], outside[: len(rows) - n] = rows[held], rows[~held]
    return n


@compiled_unless(_part_at_once)
def _part(codes: Any, rows: Any, condition: Any, inside: Any, outside: Any) -> int:
    n = 0
    for i in range(len(rows)):
        row = rows[i]
        inside[n] = row
        outside[i - n] = row
        n += 1 if condition[codes[row]] else 0
    return n


def rows_of(codes: Codes, n: int, literals: Literals) -> RowNumbers:
    """The rows, of n, on which all literals hold."""
    rows = all_rows(n)
    for literal in literals:
        rows = parted(codes, rows, literal)[0]
    return rows


def mask_of(rows: RowNumbers, n: int) -> Bools:
    """Which of n rows they are [n]."""
    held = np.zeros(n, dtype=bool)
    held[rows] = True
    return held


def others(rows: RowNumbers, n: int) -> RowNumbers:
    """All the other ones of n rows."""
    return np.flatnonzero(~mask_of(rows, n)).astype(np.uint32)


def mark(rows: RowNumbers, n: int) -> int:
    """What tells one set of rows from another, but not from all the other rows: the bias makes up for that."""
    own = _hash(rows)
    return min(own, (_hash_of_all(n) - own) % 2**64)


@cache
def _hash_of_all(n: int) -> int:
    return _hash(all_rows(n))


def _hash(rows: npt.NDArray[np.uint32]) -> int:
    """The sum of a hash of each; a row in its place is no more than a number, so that any hash does."""
    total = 0
    for start in range(0, len(rows), _PART):
        mixed = (rows[start : start + _PART].astype(np.uint64) + np.uint64(1)) * _SPREAD
        mixed ^= mixed >> _HALF
        mixed *= _SPREAD
        mixed ^= mixed >> _HALF
        total += int(mixed.sum(dtype=np.uint64))
    return total % 2**64
