"""Targets of the LTU tree whose rule is known: the paper's function, blocks, parities, and rules drawn at random."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from rulekit.synthetic import five_bits, threshold_blocks

Bits = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
Rule = Callable[[Bits], npt.NDArray[np.bool_]]

TEST_ROWS = 4000


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Training rows with labels, which may be noisy, and test rows with labels as the rule has them."""

    train: Bits
    y: Labels
    test: Bits
    y_test: Labels


@dataclass(frozen=True, slots=True)
class Target:
    """How many rows and bits, the share of training labels turned round, and what is asked of how many runs of 30.

    make: rows and true labels of n rows, bits and a seed. units: the most that a run may have to count; read: how many
    "at least 4 of" five literals are to be read; least: runs of 30 without a test error.
    """

    n: int
    n_bits: int
    make: Callable[[int, int, int], tuple[Bits, Labels]]
    least: int
    units: int | None = None
    noise: float = 0.0
    read: int = 0

    def rows(self, seed: int) -> Rows:
        """The rows of a run, their columns permuted."""
        bits, labels = self.make(self.n + TEST_ROWS, self.n_bits, seed)
        return noisy(bits, labels, self.n, self.noise, seed)


def noisy(bits: Bits, labels: Labels, n: int, noise: float, seed: int) -> Rows:
    """The first n rows for training, with noise; all with the columns permuted."""
    rng = np.random.default_rng((seed, bits.shape[1], n))
    bits = bits[:, rng.permutation(bits.shape[1])]
    turned = (rng.random(n) < noise).astype(np.int64)
    return Rows(bits[:n], labels[:n] ^ turned, bits[n:], labels[n:])


def _blocks(blocks: int, least: int, of: int, together: str = "or") -> Callable[[int, int, int], tuple[Bits, Labels]]:
    return partial(threshold_blocks, blocks=blocks, least=least, of=of, together=together)  # type: ignore[arg-type]


TARGETS = {
    "five bits, 1,000 x 5": Target(1000, 5, five_bits, 29, 2, read=2),
    "five bits, 1,000 x 50": Target(1000, 50, five_bits, 29, 2, read=2),
    "five bits, 1,000 x 500": Target(1000, 500, five_bits, 29, 2, read=2),
    "five bits, 3,000 x 50, 20 % noise": Target(3000, 50, five_bits, 29, 2, noise=0.2, read=2),
    "five bits, 300 x 500": Target(300, 500, five_bits, 29, 2, read=2),
    "five bits, 150 x 50": Target(150, 50, five_bits, 25),
    "five bits, 100 x 20": Target(100, 20, five_bits, 26),
    "two 5-of-6 blocks, 3,000 x 30": Target(3000, 30, _blocks(2, 5, 6), 29, 2),
    "three 4-of-5 blocks, 3,000 x 30": Target(3000, 30, _blocks(3, 4, 5), 29, 3),
    "xor of two 3-of-5, 3,000 x 30": Target(3000, 30, _blocks(2, 3, 5, "xor"), 29, 3),
    "3-bit parity, 3,000 x 20": Target(3000, 20, _blocks(3, 1, 1, "xor"), 29, 4),
    "4-bit parity, 3,000 x 10": Target(3000, 10, _blocks(4, 1, 1, "xor"), 29, 6),
    "four planes, 3,000 x 60, 5 % noise": Target(3000, 60, _blocks(4, 4, 5), 24, noise=0.05),
}


@dataclass(frozen=True, slots=True)
class Drawn:
    """Rules drawn at random: rows, bits, the share of labels turned round, and the most mean error in percent."""

    n: int
    n_bits: int
    noise: float
    most: float

    def rows(self, seed: int) -> Rows:
        """The rows of the rule of a seed."""
        rng = np.random.default_rng((seed, self.n_bits))
        rule = drawn_rule(self.n_bits, rng)
        bits = rng.integers(0, 2, (self.n + TEST_ROWS, self.n_bits)).astype(np.float64)
        return noisy(bits, rule(bits).astype(np.int64), self.n, self.noise, seed)


DRAWN = {
    "40 random rules, 1,000 x 30": Drawn(1000, 30, 0.0, 0.9),
    "40 random rules, 3,000 x 30": Drawn(3000, 30, 0.0, 0.2),
    "40 random rules, 3,000 x 60, 10 % noise": Drawn(3000, 60, 0.1, 1.9),
}


def drawn_rule(n_bits: int, rng: np.random.Generator) -> Rule:
    """A rule of one of four kinds that is true of 15 to 85 % of all rows."""
    kinds = (_union, _exclusive, _interval, _tree)
    while True:
        rule = kinds[rng.integers(len(kinds))](n_bits, rng)
        share = rule(rng.integers(0, 2, (4000, n_bits)).astype(np.float64)).mean()
        if 0.15 < share < 0.85:
            return rule


def _counted(n_bits: int, rng: np.random.Generator) -> Callable[[Bits], Bits]:
    """How many of 3 to 8 literals are true."""
    size = int(rng.integers(3, 9))
    which, negated = rng.choice(n_bits, size, replace=False), rng.random(size) < 0.5
    return lambda bits: np.abs(bits[:, which] - negated).sum(axis=1)


def _at_least(n_bits: int, rng: np.random.Generator) -> Rule:
    """At least r of 3 to 6 literals, r half of them or more."""
    size = int(rng.integers(3, 7))
    which, negated = rng.choice(n_bits, size, replace=False), rng.random(size) < 0.5
    least = int(rng.integers((size + 1) // 2, size + 1))
    return lambda bits: np.abs(bits[:, which] - negated).sum(axis=1) >= least


def _union(n_bits: int, rng: np.random.Generator) -> Rule:
    parts = [_at_least(n_bits, rng) for _ in range(int(rng.integers(2, 4)))]
    return lambda bits: np.any([part(bits) for part in parts], axis=0)


def _exclusive(n_bits: int, rng: np.random.Generator) -> Rule:
    one, other = _at_least(n_bits, rng), _at_least(n_bits, rng)
    return lambda bits: one(bits) ^ other(bits)


def _interval(n_bits: int, rng: np.random.Generator) -> Rule:
    count, low = _counted(n_bits, rng), int(rng.integers(1, 4))
    high = low + int(rng.integers(0, 3))
    return lambda bits: (count(bits) >= low) & (count(bits) <= high)


def _tree(n_bits: int, rng: np.random.Generator) -> Rule:
    """Of three units with whole weights of 1 to 3 either sign: the second where the first fires, else the third."""
    units = []
    for _ in range(3):
        size = int(rng.integers(3, 8))
        weights = np.zeros(n_bits)
        weights[rng.choice(n_bits, size, replace=False)] = rng.integers(1, 4, size) * rng.choice([-1, 1], size)
        units.append((weights, weights.sum() / 2 + rng.uniform(-0.5, 0.5)))

    def rule(bits: Bits) -> npt.NDArray[np.bool_]:
        root, yes, no = (bits @ weights >= threshold for weights, threshold in units)
        return np.where(root, yes, no)

    return rule
