"""Noisy-add and noisy-parity as models: causes with probabilities of four digits, and a leak that acts as well."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rulekit.errors import InputError
from rulekit.graph.nodes import FALSE, TRUE, AtLeast, Hidden, Odd, Probability
from rulekit.graph.probability.deciding import parity_decision
from rulekit.learners.contract import Frame, Score
from rulekit.learners.data.codes import Codes
from rulekit.learners.data.conditions import condition_node
from rulekit.learners.noisy_or.counted.counting import at_least
from rulekit.learners.noisy_or.counted.hidden_bits import Chances
from rulekit.learners.noisy_or.models.noisy_or import HALF
from rulekit.learners.noisy_or.search.causes import Cause
from rulekit.learners.sums_of_rows.histograms import Bools, Floats
from rulekit.numbers import probability_of, short_probability, strength_of

MOST_BITS = 200
"""Hidden bits of one model, which every target takes."""
_LARGEST, _LEAST = 0.9999, 1e-9


def short(chance: float) -> float:
    """The strength of the probability of four digits that is nearest to a probability."""
    return strength_of(min(short_probability(chance), _LARGEST))


@dataclass(frozen=True, slots=True, eq=False)
class NoisyAdd:
    """Says yes where the median of how many causes act is at least `least`.

    causes: with their strengths, strongest first; leak: the strength of each of `most` causes that are always there.
    """

    causes: tuple[tuple[Cause, float], ...]
    leak: float
    most: int
    least: int

    @classmethod
    def of(cls, found: Chances, total: float, most: int) -> NoisyAdd:
        """What was found with short probabilities, for no count yet; total: the weight of the rows.

        The leak acts on half a row at least, so that no count is impossible.
        """
        pairs = sorted(zip(found.causes, found.chances, strict=True), key=lambda pair: -pair[1])
        leak = max(found.leak, 0.5 / ((total + 1.0) * most))
        return cls(tuple((cause, short(p)) for cause, p in pairs if short(p) > _LEAST), short(leak), most, 0)

    def to(self, least: int) -> NoisyAdd:
        """The same model, asked for another count."""
        return replace(self, least=least)

    @property
    def size(self) -> int:
        """How many causes there are."""
        return len(self.causes)

    def bits(self, frame: Frame) -> list[Hidden]:
        """Its hidden bits, which all counts share."""
        bits = [
            Hidden(f"H{k}", condition_node(frame.columns[cause.column], cause.condition), strength)
            for k, (cause, strength) in enumerate(self.causes, start=1)
        ]
        return [*bits, *(Hidden(f"leak{t}", TRUE, self.leak) for t in range(1, self.most + 1))]

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that are answered by yes."""
        chances = [
            np.where(cause.condition, probability_of(strength), 0.0)[codes[cause.column]]
            for cause, strength in self.causes
        ]
        leaks = [np.full(n_rows, probability_of(self.leak))] * self.most
        return np.asarray(at_least([*chances, *leaks], self.least, n_rows) > 0.5)

    def score(self, frame: Frame, prefix: str) -> Score:
        """That at least so many bits fire."""
        bits = self.bits(frame)
        if self.least > len(bits):
            return Score(FALSE, FALSE, Probability(FALSE), silent=True)
        formula = AtLeast(self.least, bits)
        return Score(formula, probability=Probability(formula))


def counts_of(classes: tuple[Any, ...], max_causes: int) -> list[Any]:
    """The classes in the order of the counts that they are.

    Raises InputError where a class is no count, where there are two classes only, or where the largest count and the
    causes are too many for the targets.
    """
    for label in classes:
        if isinstance(label, bool) or not isinstance(label, int | np.integer) or label < 0:
            why = f"a noisy-add counts, and the class {label!r} is no count 0, 1, 2, ..."
            raise InputError(why, where="family", fix="leave it out, or pass whole numbers as the label")
    if len(classes) < 3:
        why = f"a noisy-add counts, and there are only the classes {' and '.join(map(str, classes))}"
        raise InputError(why, where="family", fix="of two classes take or, which says whether any cause acts")
    largest = max(map(int, classes))
    if largest + max_causes > MOST_BITS:
        why = f"counts up to {largest} and {max_causes} causes are more than {MOST_BITS} hidden bits"
        raise InputError(why, where="family", fix="cut the counts off at a smaller one, or lower max_causes")
    return sorted(classes)


@dataclass(frozen=True, slots=True, eq=False)
class NoisyParity:
    """Says yes where an odd number of causes act with a probability above that of the strength `bound`.

    causes: with their strengths, strongest first; leak: the strength of one that is always there.
    """

    causes: tuple[tuple[Cause, float], ...]
    leak: float
    bound: float = HALF
    flipped: bool = False

    @classmethod
    def of(cls, found: Chances, total: float) -> NoisyParity:
        """What was found with short probabilities; total: the weight of the rows.

        The leak acts on half a row at least, and does not on as much, so that no row is impossible.
        """
        pairs = sorted(zip(found.causes, found.chances, strict=True), key=lambda pair: -pair[1])
        least = 0.5 / (total + 1.0)
        leak = min(max(found.leak, least), 1.0 - least)
        return cls(tuple((cause, short(p)) for cause, p in pairs if short(p) > _LEAST), short(leak))

    @property
    def size(self) -> int:
        """How many causes there are."""
        return len(self.causes)

    def bits(self, frame: Frame, prefix: str) -> list[Hidden]:
        """Its hidden bits."""
        bits = [
            Hidden(f"{prefix}{k}", condition_node(frame.columns[cause.column], cause.condition), strength)
            for k, (cause, strength) in enumerate(self.causes, start=1)
        ]
        return [*bits, Hidden("leak", TRUE, self.leak)]

    def _factors(self, codes: Codes, n_rows: int) -> Iterator[Floats]:
        """1 - 2 p [n] of each cause, and of the leak."""
        for cause, strength in self.causes:
            yield np.where(cause.condition, 1.0 - 2.0 * probability_of(strength), 1.0)[codes[cause.column]]
        yield np.full(n_rows, 1.0 - 2.0 * probability_of(self.leak))

    def activations(self, codes: Codes, n_rows: int) -> Floats:
        """The strengths [n] of the probabilities that are said."""
        product = np.ones(n_rows)
        for factor in self._factors(codes, n_rows):
            product *= factor
        return np.asarray(-np.log(np.maximum(0.5 * (1.0 + product), 1e-300)))

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] that are answered by yes, by the sign and the size of the product as in `parity_decision`."""
        negative, size = np.zeros(n_rows, dtype=bool), np.zeros(n_rows)
        with np.errstate(divide="ignore"):
            for factor in self._factors(codes, n_rows):
                negative ^= factor < 0.0
                size -= np.log(np.abs(factor))
        u = 1.0 - 2.0 * probability_of(self.bound)
        if u > 0.0:
            return np.asarray(negative | (size > -np.log(u)))
        return np.asarray(negative & np.isfinite(size) & (size < (np.inf if u == 0.0 else -np.log(-u))))

    def score(self, frame: Frame, prefix: str) -> Score:
        """The parity that is reported, and what decides as it does."""
        bits = self.bits(frame, prefix)
        decides = parity_decision(bits, probability_of(self.bound))
        return Score(Odd(bits), decides, silent=not self.causes and self.leak <= self.bound)
