"""Whole points for the sums that were learned: each size of a path gets its own, from the training rows.

They are to say what the sum itself says of each row, as nearly as so few points can, so that they follow the training
rows no further than the sum did. Where what is reported of the sum is too sure of itself, as it is of votes, that is
fitted to the labels first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.cells.sums import half_way
from rulekit.graph.nodes import Above, Linear, Logistic
from rulekit.learners.contract import Candidate, Frame, Kind, Model, Score
from rulekit.learners.data.binning import Codes
from rulekit.learners.data.folds import equal_rows
from rulekit.learners.data.problem import Problem
from rulekit.learners.learning import Run
from rulekit.learners.models.assembly import Prior
from rulekit.learners.models.integer_points import Links, Parts, Whole, calibrated, smoothed_counts, whole_points
from rulekit.learners.models.plain import Summed, Terms, covered, terms_of_rules
from rulekit.learners.sizes.path import row_sizes
from rulekit.numbers import log_odds
from rulekit.schema import FIRST_LEVEL_CODE

MOST = 10
_FINER = (1.0, 1.5, 2.0, 3.0, 5.0)
_LEAST_SHARE = 1e-6
_STEPS = 30


def give_points(runs: Sequence[Run], kind: Kind, points: bool | int) -> None:
    """Put sums of whole points in the place of those on the paths; classes that compete share one scale.

    points: the largest one in size, or True for 10.
    """
    most = MOST if points is True else int(points)
    scale = _common_scale(runs, most) if kind == "several" else None
    for run in runs:
        rows = {*row_sizes(run.longest), run.chosen}  # of all other sizes the points are only rounded
        if scale is not None:
            run.nothing = _without_rules(run, scale)
        run.path = tuple(
            _with_points(candidate, run, most, scale, thorough=place in rows)
            for place, candidate in enumerate(run.path, start=1)
        )


def _common_scale(runs: Sequence[Run], most: int) -> float | None:
    """What one point is worth to each of several classes: that with the least training error at the largest size.

    At the coarsest no part of a sum is beyond `most` points; at finer ones the largest parts are cut off there.
    """
    ends = [run.path[-1] for run in runs if run.path]
    sums = [each.model.terms() for each in ends if isinstance(each.model, Summed)]
    sizes = [terms.scale * abs(weight) for terms in sums for _, weight in terms.rules]
    sizes += [terms.scale * float(np.ptp(values)) for terms in sums for values in terms.columns.values()]
    if not max(sizes, default=0.0) > 0.0:
        return None
    scales = [max(sizes) / (most * finer) for finer in _FINER]
    return min(scales, key=lambda scale: _joint_error(runs, most, scale))


def _joint_error(runs: Sequence[Run], most: int, scale: float) -> int:
    """The weight of the training rows whose class has not the largest total at the largest size."""
    nothing = [_without_rules(run, scale).model for run in runs]
    ends = [_with_points(run.path[-1], run, most, scale, thorough=False).model if run.path else None for run in runs]
    models = [one if isinstance(one, Pointed) else other for one, other in zip(ends, nothing, strict=True)]
    problem, wrong = runs[0].question.problem, 0
    for rows, codes in problem.codes.parts(len(problem.labels)):
        totals = np.array(
            [model.totals(codes, rows.stop - rows.start) for model in models if isinstance(model, Pointed)]
        )
        yes = np.array([run.question.problem.labels[rows] for run in runs])
        missed = yes[totals.argmax(axis=0), np.arange(totals.shape[1])] == 0
        wrong += int(problem.weights[rows][missed].sum())
    return wrong


def _without_rules(run: Run, scale: float) -> Candidate:
    """What stands for a class beside others where it has no rules: its share, in points."""
    problem = run.question.problem
    share = min(max(problem.share, _LEAST_SHARE), 1.0 - _LEAST_SHARE)
    error = min(problem.positive, problem.total - problem.positive)
    bias = _quarters(log_odds(share) / scale)
    return Candidate(0, error, error, Pointed(Prior(problem.share), Terms((), {}, bias), 0.0, scale, 0.0))


def _quarters(value: float) -> float:
    """A start of a total: of several classes no two then have the same total often."""
    return round(4.0 * value) / 4.0


def _with_points(candidate: Candidate, run: Run, most: int, scale: float | None, thorough: bool) -> Candidate:
    """The candidate with whole points; as it is where nothing is added up."""
    if not isinstance(candidate.model, Summed):
        return candidate
    terms, problem = candidate.model.terms(), run.question.problem
    split = _Split.of(terms, problem)
    if not split.values:
        return candidate
    groups, counts = split.cells(problem)
    labelled = smoothed_counts(counts * problem.weight_unit)
    values = np.concatenate(split.values)
    sums = split.starting + values[groups].sum(axis=1)
    link = _linked(labelled, sums, Links.single(terms.scale, 0.0), terms.fitted or scale is not None)
    said = 1.0 / (1.0 + np.exp(-(link.scale[0] * sums + link.offset[0])))
    both = counts.sum(axis=1)
    wanted = np.stack([both * (1.0 - said), both * said], axis=1)
    offset = float(link.scale[0] * split.starting + link.offset[0])
    parts = Parts(groups, split.starts, values * link.scale[0], values == 0.0, offset, wanted)
    whole = whole_points(parts, most, scale, thorough=thorough and not run.question.watch.over)
    bias = 0.0 if scale is None else _quarters(whole.offset / scale)
    totals = parts.totals(whole.points) + bias
    reported = Links.single(whole.scale, whole.offset - bias * whole.scale)
    reported = _linked(labelled, np.asarray(totals, dtype=np.float64), reported, terms.fitted)
    model = _pointed(candidate, split, whole, bias, reported, scale is None)
    error = float(np.where(totals > model.threshold, counts[:, 0], counts[:, 1]).sum()) * problem.weight_unit
    size = len(model.points.rules) or candidate.size
    return replace(candidate, model=model, error=error, size=size)


def _linked(counts: Floats, sums: Floats, at: Links, fixed: bool) -> Links:
    """The scale and the offset of the sums [C] of counts [C, 2]; of one that is fixed, without an offset."""
    found = at if fixed else calibrated(counts[None], sums, at, _STEPS)
    return found if found.scale[0] > 0.0 else at


def _pointed(candidate: Candidate, split: _Split, whole: Whole, bias: float, link: Links, decides: bool) -> Pointed:
    """The model; decides: by its own total, so that its threshold is where the reported probability crosses 1/2."""
    threshold = 0.0
    scale, offset = (float(f"{value:.4g}") for value in link.at(0)[:2])
    points = split.points(whole.points, bias)
    if decides:
        ends = [own[reach] for own in split.by_part(whole.points) for reach in (0, -1)]
        lowest, highest = sum(ends[::2]), sum(ends[1::2])
        threshold = min(max(math.floor(-offset / scale), lowest - 1), highest) + 0.5
    return Pointed(candidate.model, points, threshold, scale, offset)


@dataclass(frozen=True, slots=True, eq=False)
class _Split:
    """How the parts of a sum put rows into groups.

    used: the rules, and the columns with the group of each code [n_codes]. values: by part the real points of its
    groups, ascending, less those of the one that stays 0; starting: the sum where all parts give 0.
    """

    terms: Terms
    used: tuple[int, ...]
    columns: dict[int, Ints]
    values: tuple[Floats, ...]
    starting: float

    @classmethod
    def of(cls, terms: Terms, problem: Problem) -> _Split:
        """Of rules the rows where they do not hold stay 0, of columns the group with most rows."""
        used, values = list[int](), list[Floats]()
        columns, starting = dict[int, Ints](), terms.bias
        for k, (_, weight) in enumerate(terms.rules):
            if weight:
                used.append(k)
                values.append(np.sort([0.0, weight]))
        for j, points in sorted(terms.columns.items()):
            weights = np.bincount(problem.codes[j], problem.weights, len(points))
            own, group = np.unique(points, return_inverse=True)
            most = int(np.argmax(np.bincount(group, weights, len(own))))
            starting += float(own[most])
            # A missing cell or a level that no row has, and no point either, is as most rows are.
            unknown = np.arange(len(points)) < (FIRST_LEVEL_CODE if problem.columns[j].feature.levels else 1)
            group = np.where(unknown & (weights == 0.0) & (points == 0.0), most, group)
            kept, group = np.unique(group, return_inverse=True)
            own, most = own[kept], int(np.searchsorted(kept, most))
            if len(own) > 1:
                columns[j] = group
                values.append(own - own[most])
        return cls(terms, tuple(used), columns, tuple(values), starting)

    @property
    def starts(self) -> Ints:
        """Where the groups of each part begin [parts + 1], numbered over all parts."""
        return np.cumsum([0, *map(len, self.values)])

    def groups(self, codes: Codes, n_rows: int) -> Ints:
        """The group of each row in every part [n, parts]."""
        found = np.empty((n_rows, len(self.values)), dtype=np.int64)
        for place, k in enumerate(self.used):
            clause, weight = self.terms.rules[k]
            held = covered(clause, codes, n_rows)
            found[:, place] = held if weight > 0.0 else ~held
        for place, (j, group) in enumerate(self.columns.items(), start=len(self.used)):
            found[:, place] = group[codes[j]]
        return found

    def cells(self, problem: Problem) -> tuple[Ints, Floats]:
        """The rows that are told apart: their groups [C, parts], numbered over all parts, and their weights [C, 2]."""
        blocks = list[tuple[Ints, Floats]]()
        for rows, codes in problem.codes.parts(len(problem.labels)):
            weights = problem.weights[rows, None] * (problem.labels[rows, None] == [0, 1])
            blocks.append(_folded(self.groups(codes, len(weights)), weights))
        groups, counts = _folded(*(np.concatenate(each) for each in zip(*blocks, strict=True)))
        return groups + self.starts[:-1], counts

    def by_part(self, points: Ints) -> list[Ints]:
        """Points of all groups by part."""
        return np.split(points, self.starts[1:-1])

    def points(self, points: Ints, bias: float) -> Terms:
        """The sum with these points in the place of its own; rules without any are left out."""
        parts = self.by_part(points)
        rules = [(self.terms.rules[k][0], float(own.sum())) for k, own in zip(self.used, parts, strict=False)]
        columns = {
            j: own[group].astype(np.float64)
            for (j, group), own in zip(self.columns.items(), parts[len(self.used) :], strict=True)
            if own.any()
        }
        return Terms(tuple(rule for rule in rules if rule[1]), columns, bias)


def _folded(groups: Ints, weights: Ints | Floats) -> tuple[Ints, Floats]:
    """The different rows of groups [C, parts], and the sums of their weights [C, 2]."""
    cell = equal_rows(groups)
    kinds = np.empty((int(cell.max()) + 1, groups.shape[1]), dtype=np.int64)
    kinds[cell] = groups
    # whole numbers below 2^53, which doubles hold
    return kinds, np.stack([np.bincount(cell, weights[:, label]) for label in (0, 1)], axis=1)


@dataclass(frozen=True, slots=True, eq=False)
class Pointed:
    """A sum of whole points, which says yes above the threshold; source: the one that it was made from.

    The probability is 1 / (1 + exp(-(scale * total + offset))).
    """

    source: Model
    points: Terms
    threshold: float
    scale: float
    offset: float

    def totals(self, codes: Codes, n_rows: int) -> Floats:
        """The sums [n]."""
        return self.points.totals(codes, n_rows)

    def decides(self, codes: Codes, n_rows: int) -> Bools:
        """The rows [n] whose total is above the threshold."""
        return np.asarray(self.totals(codes, n_rows) > self.threshold)

    def score(self, frame: Frame, prefix: str) -> Score:
        """The total, the rule that decides by it, and the probability that is reported."""
        rules, constant = terms_of_rules(self.points.rules, frame.columns)
        # Where a threshold decides, it takes the constant; sums that compete need it.
        competes = frame.kind == "several"
        total = Linear([*rules, *self.points.of_columns(frame.columns)], self.points.bias + constant * competes)
        constant *= not competes
        asked = frame.kind != "several" and not frame.unreported
        threshold = half_way(total, frame.schema, self.threshold - constant) if asked else self.threshold
        linked = Logistic(Linear([(self.scale, total)], self.offset + self.scale * constant))
        return Score(total, rule=Above(total, threshold), probability=linked)
