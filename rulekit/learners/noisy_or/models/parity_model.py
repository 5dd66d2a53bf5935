"""A noisy-parity as a model: causes with probabilities of four digits, a leak, and where it says yes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rulekit.graph.nodes import TRUE, Hidden, Odd
from rulekit.graph.probability.deciding import parity_decision
from rulekit.learners.binned.codes import Codes
from rulekit.learners.binned.conditions import condition_node
from rulekit.learners.contract import Frame, Score
from rulekit.learners.counting.histograms import Bools, Floats
from rulekit.learners.noisy_or.counted.hidden_bits import Chances
from rulekit.learners.noisy_or.models.counted_model import short
from rulekit.learners.noisy_or.models.noisy_or import HALF
from rulekit.learners.noisy_or.search.causes import Cause
from rulekit.numbers import probability_of

_LEAST = 1e-9


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
