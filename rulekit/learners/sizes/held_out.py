"""What held-out rows say of what was learned without them: errors by size, and which variants are still in question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.graph.variants import macro_f1
from rulekit.learners.contract import Candidate, Model, Question, Variants
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.folds import drawn, equal_rows, row_hashes
from rulekit.learners.data.problem import Problem
from rulekit.learners.faults import checked_mask
from rulekit.learners.sizes.choice import Contest, Curve, cheapest
from rulekit.learners.sums_of_rows.histograms import exact_sum
from rulekit.learners.sums_of_rows.kernels import run_threads

_CLEARLY = 0.05
"""By what share of the loss a bold variant must be better; errors over rows leave out the chance in growing rules."""


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """Of held-out rows: the loss [n] by variant (none where it was not asked for), the weight, which are identical.

    bold: the variants that are taken only where they are clearly better than all others.
    """

    by_variant: tuple[Floats, ...]
    weights: Floats
    unit: Ints
    bold: frozenset[int] = frozenset()


def likely_best(folds: Sequence[Losses], errors: float = 1.5) -> list[int]:
    """The variants that may still be the best one, by their losses on held-out rows.

    Left out are those not asked for in the last fold, and those whose mean is above the least one by more than so many
    standard errors of the difference; a bold one, unless its mean is below those of the others by one of them and by
    _CLEARLY, a share.
    """
    joined = _Joined.of(folds)
    careful = [v for v in joined.asked if v not in folds[-1].bold]
    if not careful:
        return joined.near(joined.asked, errors)
    own = min(careful, key=joined.loss)
    less, bold = (1.0 - _CLEARLY) * joined.loss(own), [v for v in joined.asked if v in folds[-1].bold]
    clear = [v for v in bold if joined.loss(v) <= less and not joined.contest(own, v).within(1.0)]
    return joined.near([*careful, *clear], errors)


def rivals(folds: Sequence[Losses], costs: Sequence[float]) -> list[int]:
    """Of the variants that may still be the best one, that of the least loss and the first of the least cost.

    Where a bold one has the least loss of all, which further rows may show to be clearly better, all of them.
    """
    joined = _Joined.of(folds)
    (best, *_), likely, least = likely_best(folds, errors=0.0), likely_best(folds), min(joined.asked, key=joined.loss)
    chosen = {best, min(likely, key=lambda v: costs[v])}
    return sorted(chosen if least in likely else {*likely, least})


@dataclass(frozen=True, slots=True, eq=False)
class _Joined:
    """The losses of all folds together, of the variants that were asked for in the last one."""

    asked: list[int]
    rows: dict[int, Floats]
    weights: Floats
    unit: Ints

    @classmethod
    def of(cls, folds: Sequence[Losses]) -> _Joined:
        asked = [v for v, own in enumerate(folds[-1].by_variant) if len(own)]
        first = np.cumsum([0, *(int(each.unit.max(initial=-1)) + 1 for each in folds)])
        unit = np.concatenate([each.unit + begin for each, begin in zip(folds, first[:-1].tolist(), strict=True)])
        rows = {v: np.concatenate([each.by_variant[v] for each in folds]) for v in asked}
        return cls(asked, rows, np.concatenate([each.weights for each in folds]), unit)

    def loss(self, v: int) -> float:
        """The sum over all rows, exact in any order."""
        return exact_sum(self.weights * self.rows[v])

    def contest(self, v: int, other: int) -> Contest:
        """How much worse a variant is than another; over distinct rows: many equal ones may all be an exception."""
        return Contest.over_distinct(self.rows[v] - self.rows[other], self.weights, self.unit)

    def near(self, variants: Sequence[int], errors: float) -> list[int]:
        """Those that are above the least one by so many standard errors at most."""
        best = min(variants, key=self.loss)
        return [v for v in variants if self.contest(v, best).within(errors)]


_ENOUGH = 4096.0
"""Held-out rows on which one of several variants is taken, and the others are looked for no more."""

_HELD_OUT = 1 << 17
"""Rows of a fold that are looked at: so many tell its errors to a tenth of a point."""


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """What was learned without the rows of one fold: the candidates, by variant, and what stands where none does.

    totals [2]: the weight of the held-out rows of label 0 and 1. wrong: by variant the weight of their errors [2, T],
    none where it was not asked for; nothing_wrong: that of all errors without any candidate. rare: see Variants.
    losses: of the held-out rows, where variants are compared by it; lost: by variant the weighted loss [1 + T] without
    any candidate and of each; errors_first, by_error: see Variants.
    """

    paths: tuple[Sequence[Candidate], ...]
    nothing: Candidate
    totals: Floats
    wrong: tuple[Floats, ...]
    nothing_wrong: float
    rare: bool = False
    losses: Losses | None = None
    lost: tuple[Floats, ...] = ()
    errors_first: bool = False
    by_error: bool = False


def fold_of(
    question: Question,
    candidates: Sequence[Candidate],
    nothing: Candidate,
    variants: Variants | None,
    held: Problem,
    least: int,
    asked: Sequence[int] | None,
) -> Fold:
    """What the rows of a fold, or so many of them, say of candidates that were learned without them.

    question: that of the other rows; nothing: what stands where no candidate does; variants: paths in place of the
    candidates, all or those asked for; a path that ended early goes on as it was, to `least` places.
    """
    if held.total > _HELD_OUT:
        held = drawn(held, _HELD_OUT, question.seed)
    loss = None if variants is None else variants.loss
    of_rows = held.in_rows

    def measured(make: Callable[[], Sequence[Candidate]] | None) -> tuple[Sequence[Candidate], Floats, Floats, Floats]:
        if make is None:
            return (), np.zeros((2, 0)), np.zeros(0), np.zeros(0)
        path = make()
        errors = held_out_errors(path, question.problem, held, max(least, len(path)))
        if loss is None:
            return path, errors, np.zeros(0), np.zeros(0)
        each = [loss(candidate, held) for candidate in (nothing, *path)]
        return path, errors, each[-1], np.array([exact_sum(of_rows * losses) for losses in each])

    makes: list[Callable[[], Sequence[Candidate]] | None] = [lambda: candidates]
    if variants is not None:
        makes = [make if asked is None or v in asked else None for v, make in enumerate(variants.paths)]
    # learners that compare by loss learn from few rows here, so that threads have more to do side by side
    paths, wrong, each, lost = zip(
        *run_threads(measured, makes, 1 if loss is None else question.n_threads), strict=True
    )
    wrong_without = float(held_out_errors((), question.problem, held, 1).sum())
    totals: Floats = np.bincount(held.labels, held.weights, 2).astype(np.float64) * held.weight_unit
    rare, losses = variants is not None and variants.rare, None
    if variants is not None and loss is not None:
        unit = equal_rows(row_hashes(held, question.seed))
        losses = Losses(each, of_rows, unit, variants.bold)
    first = variants is not None and variants.errors_first
    by_error = variants is not None and variants.by_error
    sums = () if losses is None else lost
    return Fold(tuple(map(tuple, paths)), nothing, totals, wrong, wrong_without, rare, losses, sums, first, by_error)


def still_asked(folds: Sequence[Fold], weights: Sequence[float], asked: Sequence[int] | None) -> Sequence[int] | None:
    """The variants that are looked for in the next fold; weights: of the rows of each; asked: those of the last one."""
    if folds[-1].losses is not None:
        return rivals(_losses(folds), [path[-1].cost if path else 0.0 for path in folds[-1].paths])
    if sum(weights) >= _ENOUGH:  # what each variant costs, where rows are many, pays no more
        return [best_curve(curves_of(folds, weights), folds).variant]
    return asked


def curves_of(folds: Sequence[Fold], weights: Sequence[float], short: bool = False) -> list[Curve]:
    """The held-out errors of each variant that was asked for in every fold."""
    nothing = np.array([fold.nothing_wrong for fold in folds])
    curves = []
    true = np.sum([fold.totals for fold in folds], axis=0)
    for v, errors in enumerate(zip(*(fold.wrong for fold in folds), strict=True)):
        if all(each.shape[-1] for each in errors):
            wrong = _aligned(errors)
            costs = [np.array([each.cost for each in fold.paths[v]] or [0.0]) for fold in folds]
            cost = _aligned(costs, wrong.shape[-1]).mean(axis=0)  # errors may go on beyond the longest path
            missed = wrong.sum(axis=0).T
            f1 = macro_f1(true - missed, true - missed + missed[:, ::-1], true)
            lost = _aligned([fold.lost[v] for fold in folds], 1 + wrong.shape[-1]) if folds[0].lost else None
            sums, rare, first = (wrong.sum(axis=1), np.array(weights)), folds[0].rare, folds[0].errors_first
            curves.append(Curve(*sums, v, short, nothing, cost, f1, rare, 2, lost, first, folds[0].by_error))
    return curves


def best_curve(curves: Sequence[Curve], folds: Sequence[Fold]) -> Curve:
    """The curve of the variant that is taken: the cheapest; by losses, of those as good as the best within an error."""
    if folds[0].losses is not None:
        likely = likely_best(_losses(folds), errors=1.0)
        return min(
            (curve for curve in curves if curve.variant in likely),
            key=lambda curve: float(curve.paid[-1] - curve.error[-1]),
        )
    return cheapest(curves)


def _losses(folds: Sequence[Fold]) -> list[Losses]:
    return [fold.losses for fold in folds if fold.losses is not None]


def _decisions(models: Sequence[Model], codes: Codes, n_rows: int) -> Iterator[Bools]:
    """What each model decides [n]; those of one kind that can, together."""
    kind = type(models[0])
    if hasattr(kind, "decide_all") and all(type(model) is kind for model in models):
        found: Iterator[Bools] = kind.decide_all(models, codes, n_rows)
        return found
    return (model.decides(codes, n_rows) for model in models)


def _aligned(values: Sequence[Floats], least: int = 0) -> Floats:
    """Values [..., T] of folds as one array [F, ..., T], T at least `least`; one that ended early goes on as it was."""
    longest = max(least, *(fold.shape[-1] for fold in values))
    kept = [(0, 0)] * (values[0].ndim - 1)
    return np.array([np.pad(fold, [*kept, (0, longest - fold.shape[-1])], mode="edge") for fold in values])


def held_out_errors(path: Sequence[Candidate], training: Problem, held: Problem, places: int) -> Floats:
    """The weight of held-out errors [2, places] of label 0 and 1.

    A path that ended early goes on as it was, and without any candidate as its prior.
    """
    found = np.zeros((2, places))
    if not path:
        missed = 0 if training.share > 0.5 else 1
        found[missed] = held.weight_of(held.labels == missed)
        return found
    wrong = [(0, 0)] * len(path)
    for rows, codes in held.codes.parts(len(held.labels)):
        positive, weights = held.labels[rows] == 1, held.weights[rows]
        models = [candidate.model for candidate in path]
        for t, found_of in enumerate(_decisions(models, codes, len(positive))):
            decided = checked_mask(found_of, models[t], len(positive))
            false, missed = weights[decided & ~positive].sum(), weights[~decided & positive].sum()
            wrong[t] = (wrong[t][0] + int(false), wrong[t][1] + int(missed))
    for t, weight in enumerate(wrong):
        found[:, t:] = np.array(weight, dtype=np.float64)[:, None] * held.weight_unit
    return found
