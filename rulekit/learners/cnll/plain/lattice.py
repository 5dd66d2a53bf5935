"""Conjunctions of the bits of one formula, all at once: their truth, the prime implicants, the rows they cover.

A formula of T bits has 2^T patterns of firing conditions, in an array of T axes of length 2 (the last axis is bit 0).
[P > 1/2] is monotone in the conditions, each turned to the side with the larger strength, so its prime implicants are
the minimal true patterns, and a sum over the supersets of a pattern is the sum over the rows that its conjunction
covers: both take T passes over the 2^T numbers, for any number of implicants (70,000 are not unusual).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.learners.binned.codes import Codes
from rulekit.learners.cnll.formula.noisy_formula import Bit
from rulekit.learners.cnll.formula.read_once import ReadOnceTree
from rulekit.learners.counting.histograms import Bools, Floats, Ints
from rulekit.learners.counting.kernels import compiled_unless, numba_runs

MOST_BITS = 20
_PAIRS = 5  # of a cell and an implicant, compiled, in the time of one sum over all patterns
# Of 64 patterns those without bit 0, 1, ... 5.
_WITHOUT = np.array(
    [sum(1 << place for place in range(64) if not place >> bit & 1) for bit in range(6)], dtype=np.uint64
)


@dataclass(frozen=True, slots=True, eq=False)
class Oriented:
    """The condition of a bit on the side with the larger strength: column, codes [n_codes], strengths on and off."""

    column: int
    condition: Bools
    on: float
    off: float


def oriented(bits: tuple[Bit, ...]) -> list[Oriented]:
    """The bits, each turned so that its condition makes the formula more probable."""
    return [
        Oriented(bit.column, bit.condition, bit.alpha, bit.beta)
        if bit.alpha >= bit.beta
        else Oriented(bit.column, bit.known & ~bit.condition, bit.beta, bit.alpha)
        for bit in bits
    ]


@dataclass(slots=True)
class Lattice:
    """The prime implicants of a formula, and the gain of the rows that each covers and no chosen one does.

    primes: their patterns, as numbers whose bit t stands for condition t; pattern [n]: the conditions that hold for
    each row; cells, cell [n]: the patterns that occur; gain [cells], gains [primes]: see `restrict_to`.
    """

    literals: list[Oriented]
    primes: Ints
    pattern: Ints
    cells: Ints
    cell: Ints
    gain: Floats
    gains: Floats

    @classmethod
    def of(cls, tree: ReadOnceTree, bits: tuple[Bit, ...], codes: Codes) -> Lattice:
        """The lattice of a formula over the rows given by the codes of all columns, empty where it has over 20 bits."""
        if len(bits) > MOST_BITS:
            none = np.zeros(0, dtype=np.int64)
            return cls([], none, none, none, none, np.zeros(0), np.zeros(0))
        literals = oriented(bits)
        pattern: Ints | None = None
        for t, literal in enumerate(literals):
            holds = literal.condition[codes[literal.column]].astype(np.int64) << t
            pattern = holds if pattern is None else pattern | holds
        assert pattern is not None
        truth = _probabilities(tree, literals) > 0.5
        primes = np.flatnonzero(_minimal(truth))
        cells, cell = np.unique(pattern, return_inverse=True)
        return cls(literals, primes, pattern, cells, cell.reshape(-1), np.zeros(len(cells)), np.zeros(len(primes)))

    def restrict_to(self, gain: Floats) -> None:
        """Let only these gains [n] of the rows count from now on."""
        if not self.literals:
            return
        self.gain = np.asarray(np.bincount(self.cell, gain, len(self.cells)), dtype=np.float64)
        self.gains = self._gains(self.cells, self.gain)

    def cover(self, prime: int) -> None:
        """Take the rows that an implicant covers out of the gains."""
        taken = (self.cells & prime == prime) & (self.gain != 0.0)
        self.gains -= self._gains(self.cells[taken], self.gain[taken])
        self.gain[taken] = 0.0

    def _gains(self, cells: Ints, gain: Floats) -> Floats:
        """The gain [primes] of the cells that each implicant covers: cell by cell, or over all patterns at once."""
        count = len(self.literals)
        # Rows that a chosen clause covers gain nothing: as a rule most cells are empty.
        some = gain != 0.0
        cells, gain = cells[some], gain[some]
        pairs = len(cells) * len(self.primes)
        if pairs > (_PAIRS if numba_runs() else 1) * (count << count):
            everywhere = np.zeros(1 << count)
            everywhere[cells] = gain
            return _superset_sums(everywhere, count)[self.primes]
        sums = np.zeros(len(self.primes))
        _add_cells(self.primes, cells, gain, sums)
        return sums


def _probabilities(tree: ReadOnceTree, literals: list[Oriented]) -> Floats:
    """P [2, 2, ...] of the formula on every pattern; a node spans only the axes of its own bits."""
    count = len(literals)
    made: dict[int, Floats] = {}
    for node in reversed(tree.order()):
        if tree.bit[node] >= 0:
            literal, shape = literals[tree.bit[node]], [1] * count
            shape[count - 1 - tree.bit[node]] = 2
            made[node] = np.array([literal.off, literal.on]).reshape(shape)
            continue
        conjunction = tree.operator[node] == "and"
        product = np.ones([1] * count)
        for child in tree.children[node]:
            below = made.pop(child)
            if not conjunction:
                below = np.subtract(1.0, below, out=below)
            # A new array of the full size costs more than its arithmetic.
            whole = np.broadcast_shapes(product.shape, below.shape)
            out = product if product.shape == whole else below if below.shape == whole else None
            product = np.multiply(product, below, out=out)
        made[node] = product if conjunction else np.subtract(1.0, product, out=product)
    return np.broadcast_to(made[tree.root], (2,) * count)


def _minimal(truth: Bools) -> Bools:
    """The true patterns of which no smaller one is true [2^T]; 64 patterns are one word."""
    size = truth.size
    packed = np.zeros(max(8, size // 8), dtype=np.uint8)
    packed[: -(-size // 8)] = np.packbits(truth.reshape(-1), bitorder="little")
    words = packed.view("<u8")
    found = words.copy()
    for axis in range(truth.ndim):
        if axis < 6:
            found &= ~((words & _WITHOUT[axis]) << np.uint64(1 << axis))
        else:
            pairs = (-1, 2, 1 << axis - 6)
            found.reshape(pairs)[:, 1] &= ~words.reshape(pairs)[:, 0]
    return np.unpackbits(found.view(np.uint8), count=size, bitorder="little").view(bool)


def _superset_sums(values: Floats, count: int) -> Floats:
    """For each pattern the sum of the values [2^T] of all patterns that hold it."""
    sums = values.copy()
    for axis in range(count):
        pairs = sums.reshape(-1, 2, 1 << axis)
        pairs[:, 0] += pairs[:, 1]
    return sums


def _add_cell_by_cell(primes: Any, cells: Any, gain: Any, sums: Any) -> None:
    narrow = primes.astype(np.int32)
    for cell, value in zip(cells.tolist(), gain.tolist(), strict=True):
        sums += np.where(narrow & ~np.int32(cell) == 0, value, 0.0)


@compiled_unless(_add_cell_by_cell)
def _add_cells(primes: Any, cells: Any, gain: Any, sums: Any) -> None:
    """Add to each prime [primes] the gain of the cells that it covers, four cells at a time."""
    whole = len(cells) - len(cells) % 4
    for c in range(0, whole, 4):
        out_0, out_1, out_2, out_3 = ~cells[c], ~cells[c + 1], ~cells[c + 2], ~cells[c + 3]
        gain_0, gain_1, gain_2, gain_3 = gain[c], gain[c + 1], gain[c + 2], gain[c + 3]
        for p in range(len(primes)):
            prime = primes[p]
            first = (gain_0 if prime & out_0 == 0 else 0.0) + (gain_1 if prime & out_1 == 0 else 0.0)
            second = (gain_2 if prime & out_2 == 0 else 0.0) + (gain_3 if prime & out_3 == 0 else 0.0)
            sums[p] += first + second
    for c in range(whole, len(cells)):
        for p in range(len(primes)):
            sums[p] += gain[c] if primes[p] & ~cells[c] == 0 else 0.0
