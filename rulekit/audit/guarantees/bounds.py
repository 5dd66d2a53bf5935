"""Bounds on the error of a model, each with what it assumes and whether it holds.

W. Hoeffding, Probability inequalities for sums of bounded random variables, 1963; A. Blumer and others, Occam's razor,
1987; J. Kun, Occam's Razor and PAC-learning, whose second proof bounds both sides, unlike the theorem above it. Each
model has the share 2^-bits of delta for itself, by a code that was fixed beforehand, so that a bound holds for all.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from rulekit.audit.figures.intervals import exact_bounds
from rulekit.audit.figures.kept_figures import kept_figures
from rulekit.audit.guarantees.description import code_of
from rulekit.audit.report.subject import MeasuredRows
from rulekit.errors import InputError
from rulekit.graph.language.readable import counted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.row_hashes import Overlap

_UNKNOWN = ", of which it is not known whether they trained the model"
WEIGHTED = "the rows have different weights, and the bounds count rows"
_DRAWN = "the rows are independent draws from the rows that the model will meet"
_APART = f"{_DRAWN}, and took no part in learning or choosing it"
_FIXED = f"{_DRAWN}; columns, levels and classes were known before"


@dataclass(frozen=True, slots=True)
class ErrorBound:
    """The ends between which an error lies, but for samples of probability delta; fails: why that does not hold.

    excess: it is of the error above the least one of all models with codes that are no longer. vacuous: every model has
    as much. no_better: the most frequent class alone has an error no larger than the upper end.
    """

    method: str
    low: float
    high: float
    assumes: str
    holds: bool
    fails: str = ""
    vacuous: bool = False
    no_better: bool = False
    excess: bool = False


@dataclass(frozen=True, slots=True)
class BoundedError:
    """Errors on rows, in words which, and bounds; most_frequent: the error of the most frequent class of these rows.

    fails: why no bound holds for these rows, "" where nothing is known against it.
    """

    source: str
    rows: int
    errors: int
    most_frequent: float
    fails: str = ""
    bounds: tuple[ErrorBound, ...] = ()

    def bound(self, method: str, ends: tuple[Any, Any], assumes: str, fails: str = "") -> ErrorBound:
        """One bound for these rows."""
        low, high, fails = max(float(ends[0]), 0.0), min(float(ends[1]), 1.0), self.fails or fails
        return ErrorBound(method, low, high, assumes, not fails, fails, high >= 1.0, high >= self.most_frequent)


@dataclass(frozen=True, slots=True)
class ErrorBounds:
    """What is known of a model's error by rows apart from training and by training rows, and which rows others need.

    bits: the length of its code. needed: rows by which Hoeffding's interval, the Occam bound and the distance to the
    best model come down to epsilon.
    """

    digest: str
    bits: int
    delta: float
    epsilon: float
    held_out: BoundedError | None
    training: BoundedError | None
    needed: dict[str, int]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return asdict(self)


def bounds_of(
    graph: RuleGraph,
    rows: MeasuredRows | None = None,
    trained: bool = False,
    delta: float = 0.05,
    epsilon: float = 0.05,
) -> ErrorBounds:
    """The bounds by rows that are given, else by what training measured.

    trained: the rows trained the model, which else the hashes that it holds say.
    """
    for name, value in (("--delta", delta), ("--epsilon", epsilon)):
        if not 0.0 < value < 1.0:
            raise InputError(f"{value:g} is not between 0 and 1", where=name, fix="give 0.05, for example")
    bits, apart, own = len(code_of(graph)), *_kept(graph)
    if rows is not None:
        seen, fails = (True, "") if trained else _seen(rows.overlap)
        told = seen or (rows.overlap is not None and rows.overlap.sampled > 0)
        source = f"{counted(len(rows), 'row')} of {rows.name}" + ("" if told else _UNKNOWN)
        k = len(graph.classes)
        confusion = np.bincount(k * rows.y + rows.decided, minlength=k * k).reshape(k, k)
        found = _counted(source, confusion, fails if rows.weight is None else WEIGHTED)
        apart, own = (apart, found) if seen else (found, own)
    apart = apart and replace(apart, bounds=apart_bounds(apart, delta))
    own = own and replace(own, bounds=training_bounds(own, bits, delta))
    return ErrorBounds(graph.digest, bits, delta, epsilon, apart, own, rows_needed(bits, delta, epsilon))


def _seen(overlap: Overlap | None) -> tuple[bool, str]:
    """Whether rows are the training rows, by their hashes, and why no bound holds for them."""
    if overlap is None or not overlap.seen:
        return False, ""
    if overlap.seen == overlap.sampled and overlap.found == overlap.known:
        return True, ""
    about = "" if overlap.share == 1.0 else "about "
    return False, f"{about}{overlap.rows} of these rows equal training rows, and may be the same rows"


def _kept(graph: RuleGraph) -> tuple[BoundedError | None, BoundedError | None]:
    """What training measured on rows apart from it, and on its own."""
    kept = kept_figures(graph)
    if kept is None:
        return None, None
    confusion, rows = np.array(kept.figures.confusion), kept.figures.rows
    equal = confusion.sum() == rows and not np.any(confusion % 1.0)
    own = "training rows" in kept.measured_on
    found = _counted(f"{rows} training rows" if own else kept.measured_on, confusion, "" if equal else WEIGHTED)
    if own or kept.training is None:
        return (None, found) if own else (found, None)
    confusion = np.array(kept.training)
    return found, _counted(f"{confusion.sum():.0f} training rows", confusion)


def _counted(source: str, confusion: Any, fails: str = "") -> BoundedError | None:
    rows, most = float(confusion.sum()), float(confusion.sum(axis=1).max())
    if rows < 1.0:
        return None
    return BoundedError(source, round(rows), round(rows - confusion.trace()), 1.0 - most / rows, fails)


def apart_bounds(found: BoundedError, delta: float) -> tuple[ErrorBound, ...]:
    """The exact binomial interval, and that of Hoeffding's inequality, of an error on rows that were held out."""
    error, within = found.errors / found.rows, math.sqrt(math.log(2.0 / delta) / (2.0 * found.rows))
    return (
        found.bound("exact binomial interval", exact_bounds(error, found.rows, 1.0 - delta), _APART),
        found.bound("Hoeffding's inequality", (error - within, error + within), _APART),
    )


def training_bounds(found: BoundedError, bits: int, delta: float) -> tuple[ErrorBound, ...]:
    """What the error on its own training rows says of a model that was chosen on them, by the length of its code."""
    error, models = found.errors / found.rows, bits * math.log(2.0)
    within = math.sqrt((models + math.log(2.0 / delta)) / (2.0 * found.rows))
    occam, some = (models + math.log(1.0 / delta)) / found.rows, counted(found.errors, "error")
    errs = f"the model makes {some} on these rows" if found.errors else ""
    unknown = "another model of this length may make fewer errors on these rows" if found.errors else ""
    best = found.bound("distance to the best", (0.0, 2.0 * within), _FIXED, unknown)
    return (
        found.bound("Occam bound", (0.0, occam), _FIXED, errs),
        found.bound("two-sided bound for every model", (error - within, error + within), _FIXED),
        replace(best, excess=True, no_better=False),
    )


def rows_needed(bits: int, delta: float, epsilon: float) -> dict[str, int]:
    """As `ErrorBounds.needed` says; the last two for models of so many bits."""
    models, two = bits * math.log(2.0), math.log(2.0 / delta)
    return {
        "held_out": math.ceil(two / (2.0 * epsilon**2)),
        "training_without_error": math.ceil((models + math.log(1.0 / delta)) / epsilon),
        "training_of_the_best": math.ceil(2.0 * (models + two) / epsilon**2),
    }
