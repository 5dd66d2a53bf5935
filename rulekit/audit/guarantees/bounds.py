"""Bounds on the error of a model, each with what it assumes and whether it holds.

W. Hoeffding, Probability inequalities for sums of bounded random variables, 1963; A. Blumer and others, Occam's razor,
1987; J. Kun, Occam's Razor and PAC-learning (the proof of its second theorem, which bounds both sides, and not the
theorem as it is printed). The natural logarithm of the number of models is that of 2^bits, by a code whose lengths obey
Kraft's inequality (`rulekit.audit.guarantees.description`): each model has the share 2^-bits of delta for itself.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from rulekit.audit.figures.intervals import exact_bounds
from rulekit.audit.guarantees.description import code_of
from rulekit.audit.guarantees.error_counts import HELD_OUT, TRAINING, CountedErrors, counted_errors
from rulekit.audit.report.subject import MeasuredRows
from rulekit.errors import InputError
from rulekit.graph.language.readable import counted
from rulekit.graph.rule_graph import RuleGraph

_DRAWN = "the rows are independent draws from the rows that the model will meet"
_APART = f"{_DRAWN}, and took no part in learning or choosing it"
_FIXED = f"{_DRAWN}; columns, levels and classes were known before"


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """The ends between which an error lies, but for samples of probability delta; fails: why that does not hold.

    excess: it is of the error above the least one of all models with codes that are no longer. worse: the upper end is
    no less than the error of the most frequent class alone.
    """

    method: str
    low: float
    high: float
    assumes: str
    fails: str = ""
    worse: bool = False
    excess: bool = False

    @property
    def vacuous(self) -> bool:
        """Whether every model has as much."""
        return self.high >= 1.0


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """The bounds of a model by HELD_OUT and TRAINING, the length of its code in bits, and how many rows others need."""

    digest: str
    bits: int
    delta: float
    epsilon: float
    counts: dict[str, CountedErrors]
    bounds: dict[str, tuple[ErrorBound, ...]]
    needed: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        parts = {
            told: {**asdict(self.counts[told]), "errors": self.counts[told].errors}
            | {"bounds": [{**asdict(b), "holds": not b.fails, "vacuous": b.vacuous} for b in bounds]}
            for told, bounds in self.bounds.items()
        }
        named = {"digest": self.digest, "bits": self.bits, "delta": self.delta, "epsilon": self.epsilon}
        return {**named, "rows_needed": self.needed, **{told: parts.get(told) for told in (HELD_OUT, TRAINING)}}


def bounds_of(
    graph: RuleGraph, rows: MeasuredRows | None = None, role: str = "", delta: float = 0.05, epsilon: float = 0.05
) -> ErrorBounds:
    """What is known of the error of a model; rows, role: as `counted_errors` takes them."""
    for name, value in (("--delta", delta), ("--epsilon", epsilon)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{value:g} is not between 0 and 1", where=name, fix="give 0.05, for example")
    bits, counts = len(code_of(graph)), counted_errors(graph, rows, role)
    bounds = {
        told: held_out_bounds(found, delta) if told == HELD_OUT else training_bounds(found, bits, delta)
        for told, found in counts.items()
    }
    return ErrorBounds(graph.digest, bits, delta, epsilon, counts, bounds, rows_needed(bits, delta, epsilon))


def held_out_bounds(found: CountedErrors, delta: float) -> tuple[ErrorBound, ...]:
    """The exact binomial interval, and that of Hoeffding's inequality, of an error on rows that were held out."""
    low, high = (float(end) for end in exact_bounds(found.error, found.rows, 1.0 - delta))
    within = math.sqrt(math.log(2.0 / delta) / (2.0 * found.rows))
    return (
        _bound(found, "exact binomial interval", low, high, _APART),
        _bound(found, "Hoeffding's inequality", found.error - within, found.error + within, _APART),
    )


def training_bounds(found: CountedErrors, bits: int, delta: float) -> tuple[ErrorBound, ...]:
    """What the error on its own training rows says of a model that was chosen on them, by the length of its code."""
    models = bits * math.log(2.0)
    occam = (models + math.log(1.0 / delta)) / found.rows
    within = math.sqrt((models + math.log(2.0 / delta)) / (2.0 * found.rows))
    some = f"the model makes {counted(found.errors, 'error')} on these rows" if found.errors else ""
    unknown = "another model of this length may make fewer errors on these rows" if found.errors else ""
    return (
        _bound(found, "Occam bound", 0.0, occam, _FIXED, some),
        _bound(found, "two-sided bound for every model", found.error - within, found.error + within, _FIXED),
        ErrorBound("distance to the best", 0.0, min(2.0 * within, 1.0), _FIXED, found.fails or unknown, excess=True),
    )


def rows_needed(bits: int, delta: float, epsilon: float) -> dict[str, int]:
    """How many rows bring the Occam bound, the distance to the best model, and Hoeffding's interval down to epsilon."""
    models, two = bits * math.log(2.0), math.log(2.0 / delta)
    return {
        "held_out": math.ceil(two / (2.0 * epsilon**2)),
        "training_without_error": math.ceil((models + math.log(1.0 / delta)) / epsilon),
        "training_to_the_best": math.ceil(2.0 * (models + two) / epsilon**2),
    }


def _bound(found: CountedErrors, method: str, low: float, high: float, assumes: str, fails: str = "") -> ErrorBound:
    low, high = max(low, 0.0), min(high, 1.0)
    return ErrorBound(method, low, high, assumes, found.fails or fails, worse=high >= found.most_frequent)
