"""Candidates: chains of units from many starts, and trees that are grown unit by unit.

With F the centred inputs and c the labels less their mean, labels change along F'c, and along the eigenvectors of the
largest absolute eigenvalues of M = F' diag(c) F / n, the quadratic part, which F'c cannot see. Where both classes have
the same mean, as in an exclusive or, F'c is nothing but noise. A unit starts along these moments, cut where the labels
have least entropy.

Where too many rows on one side of a unit are wrong, the side gets a unit of its own, with the tolerances of Sahami's
paper; here a unit must also split the held-out rows that come to it, and sides are taken up where a tree that was
fitted ends. A chain is the or of some units or its contrary, all units trained together from many starts at once, of
which those that fall behind are given up: half after the first steps, all but two after some more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.random import Generator

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.ltu.loss import RIDGES, Check, FitRows, Numbers, TreeTraining, fitted
from rulekit.learners.ltu.trees import NONE, LTUTree, Shape
from rulekit.learners.parameters import SizeSettings, number, one_of, setting, whole

_BLOCK = 1 << 16
_NOTHING = 1e-12
_PARTNERS = 12  # inputs of which it counts that another one has second moments with them
_DEVIATION, _DIRECTIONS = 3.0, 5  # of the first units
_BINS = 512
_WRONG = 4.0
_CHANCE = 2.0  # nats: a split that means nothing tells more in one case of twenty
_HEATS = ((20, 0.5, 3), (40, 0.0, 2))
"""So many steps, after which this share of the starts of each kind is kept, and at least so many."""
_HEAT_ROWS = 3_000
_SPREAD = 1.5


@dataclass(frozen=True)
class UnitSettings(SizeSettings):
    """What every learner of units takes."""

    max_bins: Any = setting(None, whole(3, optional=True), "bins of a numeric column (None: its values as they are)")
    min_level_rows: float | None = setting(
        2.0, number(0, optional=True), "rarer levels are one bin (None: 10 rows, or a hundredth of them, but 2)"
    )
    stopping: Literal["cv", "none"] = setting(
        "none",
        one_of("cv", "none"),
        "what chooses the size: cross-validation (cv), or the learner alone (none), on a quarter of the rows",
    )


@dataclass(frozen=True)
class LTUTreeSettings(UnitSettings):
    """How the tree is fitted; all else is shared by every learner."""

    max_nodes: int = setting(40, whole(1, 1000), "most units of a class")
    max_depth: int = setting(10, whole(1, 100), "most units that a row comes to")
    margin: float = setting(
        1.0,
        number(0),
        "how readily a smaller tree is taken: 1: where it errs no more by one and a half standard errors of the "
        "difference on held-out rows (of weights two); 0: never where it errs more",
    )
    n_starts: int = setting(6, whole(1, 1000), "random starts of each chain of units")


def moments(rows: FitRows) -> tuple[Floats, Floats]:
    total = rows.total
    means = rows.weights @ rows.inputs / total
    c = rows.weights * (rows.targets - rows.share) / total
    n, d = rows.inputs.shape
    first, second = np.zeros(d), np.zeros((d, d))
    for start in range(0, n, _BLOCK):
        centred = rows.inputs[start : start + _BLOCK] - means
        own = c[start : start + _BLOCK]
        first += own @ centred
        second += (centred.T * own) @ centred
    return first, second


def directions(rows: FitRows, count: int) -> Floats:
    """Unit vectors [k, d]: the first moment, and so many of the second, at most all."""
    first, second = moments(rows)
    values, vectors = np.linalg.eigh(second)
    chosen = np.argsort(-np.abs(values), kind="stable")[:count]
    found = np.vstack([first, vectors[:, chosen].T])
    lengths = np.linalg.norm(found, axis=1)
    return np.asarray(found[lengths > _NOTHING] / lengths[lengths > _NOTHING, None])


def ranked(rows: FitRows) -> Ints:
    """The inputs [d] by how much they tell, most first.

    What an input tells is about minus the logarithm of the chance that one which means nothing would have as large a
    first moment, or as large a second moment with another input, of which there are many to try, or as large second
    moments with those that tell most: the inputs of one unit have them with each other.
    """
    first, second = moments(rows)
    d = len(first)
    deviation = np.sqrt(max(rows.share * (1.0 - rows.share), _NOTHING) / max(rows.total, 1.0))
    first, second = first / deviation, second / deviation
    np.fill_diagonal(second, 0.0)
    squares = second**2
    tells = np.maximum(first**2 / 2.0, squares.max(axis=1, initial=0.0) / 2.0 - np.log(max(d, 1)))
    chosen = np.argsort(-tells, kind="stable")[:_PARTNERS]
    weights = np.maximum(tells[chosen], _NOTHING)
    shared = squares[:, chosen] @ weights / weights.sum()
    usual = max(float(np.median(shared)), _NOTHING) if d else 1.0
    spread = np.sqrt(2.0 * (weights**2).sum()) / weights.sum()
    tells = np.maximum(tells, np.maximum((shared / usual - 1.0) / spread, 0.0) ** 2 / 2.0)
    return np.argsort(-tells, kind="stable")


def starts(rows: FitRows) -> Floats:
    """Units [k, d + 1], biases last: along the first moment and five of the second, cut where entropy is least."""
    along = directions(rows, _DIRECTIONS)
    if not len(along):
        return np.zeros((0, rows.inputs.shape[1] + 1))
    projections = along @ rows.inputs.T
    cuts, signs = best_cuts(rows, projections)
    means = projections @ rows.weights / rows.total
    deviations = np.sqrt(np.maximum((projections - means[:, None]) ** 2 @ rows.weights / rows.total, 1e-12))
    scale = signs * _DEVIATION / deviations
    return np.hstack([along * scale[:, None], -(cuts * scale)[:, None]])


def best_unit(rows: FitRows, training: TreeTraining, check: Check) -> Floats | None:
    """The unit [d + 1] that splits the rows best, of polished starts; None where none splits them.

    Chosen by the entropy of the split, not by the loss: that of a unit which says the same of all rows can be lower
    than that of one that parts the rows well but is right on one side only.
    """
    begun = starts(rows)
    if not len(begun):
        return None
    units = np.vstack([begun, fitted(rows, Shape.chain(1), begun, training, check)[0]])
    fires = rows.fires(units[:, :-1], units[:, -1]).T
    entropy = split_entropy(rows, fires)
    entropy[fires.all(axis=1) | ~fires.any(axis=1)] = np.inf
    chosen = int(entropy.argmin())
    return None if np.isinf(entropy[chosen]) else units[chosen]


def entropies(yes: Floats, no: Floats) -> Floats:
    """The entropy of the labels of groups with so many rows of either label, times their rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = [np.where(count > 0.0, count * np.log(count / (yes + no)), 0.0) for count in (yes, no)]
    return np.asarray(-logs[0] - logs[1])


def split_entropy(rows: FitRows, fires: Bools) -> Floats:
    """The entropy [k] of the labels on both sides of units; fires [k, n]."""
    of_all = np.array([rows.weights * rows.targets, rows.weights * (1.0 - rows.targets)])
    right = of_all @ fires.T
    left = of_all.sum(axis=1)[:, None] - right
    return entropies(right[0], right[1]) + entropies(left[0], left[1])


def best_cuts(rows: FitRows, projections: Floats) -> tuple[Floats, Floats]:
    """The best cut [k] of each projection [k, n], and by which sign [k] rows above it (1) or below it (-1) are yes.

    A cut lies midway between bins of a histogram of 512 bins.
    """
    k, n = projections.shape
    low = projections.min(axis=1, keepdims=True)
    width = (projections.max(axis=1, keepdims=True) - low) / _BINS
    width[width <= 0.0] = 1.0
    bins = np.minimum(((projections - low) / width).astype(np.int64), _BINS - 1)
    flat = (bins + np.arange(k)[:, None] * _BINS).ravel()
    yes, no = (
        np.bincount(flat, np.broadcast_to(own, (k, n)).ravel(), k * _BINS).reshape(k, _BINS)
        for own in (rows.weights * rows.targets, rows.weights * (1.0 - rows.targets))
    )
    below_yes, below_no = yes.cumsum(axis=1)[:, :-1], no.cumsum(axis=1)[:, :-1]
    all_yes, all_no = yes.sum(axis=1, keepdims=True), no.sum(axis=1, keepdims=True)
    above_yes, above_no = all_yes - below_yes, all_no - below_no
    entropy = entropies(below_yes, below_no) + entropies(above_yes, above_no)
    at, every = _middle_of_least(entropy), np.arange(k)
    # The side that has more of label 1, in shares, is that of yes.
    more = above_yes[every, at] * all_no[:, 0] >= above_no[every, at] * all_yes[:, 0]
    return low[:, 0] + width[:, 0] * (at + 1), np.where(more, 1.0, -1.0)


def _middle_of_least(entropy: Floats) -> Ints:
    """The place [k] of the least of each row; the middle of the first run of equal ones, where bins are empty."""
    first = entropy.argmin(axis=1)
    same = entropy <= entropy[np.arange(len(entropy)), first][:, None] + 1e-9
    run = (same & (np.cumsum(~same & (np.arange(same.shape[1]) > first[:, None]), axis=1) == 0)).sum(axis=1)
    return np.asarray(first + (run - 1) // 2)


_TOLERANCES = ((25.0, 0.25), (100.0, 0.12), (float("inf"), 0.06))
"""Pairs (n, share): the first whose n is at least the weight of a side says which share of it may be wrong."""


def tolerated(wrong: float, total: float) -> bool:
    """Whether a side that weighs `total`, of which `wrong` is answered wrongly, needs no child."""
    return wrong <= next(share for n, share in _TOLERANCES if total <= n) * total


Side = tuple[Bools, Bools, int, bool, int]
"""Rows, and held-out ones, below a parent on its right (or left) side, where no unit is yet; how many units above."""


def grown(
    rows: FitRows,
    held: FitRows,
    settings: LTUTreeSettings,
    training: TreeTraining,
    check: Check,
    tree: LTUTree | None = None,
) -> LTUTree | None:
    """The grown tree; None where no unit splits the rows.

    A unit below the root must split the held-out rows that come to it by more than chance would. tree: one to go on
    from, each side of which gets a unit where a few rows are wrong: one that the first units left no place for.
    """
    found = LTUTree.of_no_unit(rows.inputs.shape[1]) if tree is None else tree
    everywhere = np.ones(len(rows.targets), dtype=bool), np.ones(len(held.targets), dtype=bool)
    waiting: list[Side] = [(*everywhere, NONE, False, 0)]
    if tree is not None:
        waiting = [side for side in _open_sides(tree, rows, held) if rows.at(side[0]).wrong(side[3]) >= _WRONG]
    while waiting and found.size < settings.max_nodes:
        at, at_held, parent, right, depth = waiting.pop(0)
        unit = best_unit(rows.at(at), training, check)
        if unit is None:
            continue
        kept = held.at(at_held)
        yes = np.array([kept.weights @ kept.targets])
        told = entropies(yes, kept.total - yes) - split_entropy(kept, _fires(kept, unit)[None])
        if depth and not told[0] > _CHANCE:
            continue
        number, found = found.size, found.with_unit(unit, parent, right)
        fires, held_fires = _fires(rows, unit), _fires(held, unit)
        for answer in (True, False):
            below = at & (fires == answer)
            here = rows.at(below)
            enough = depth + 1 < settings.max_depth and 0.0 < here.share < 1.0
            if enough and not tolerated(here.wrong(answer), here.total):
                waiting.append((below, at_held & (held_fires == answer), number, answer, depth + 1))
    return found if found.size else None


def _open_sides(tree: LTUTree, rows: FitRows, held: FitRows) -> list[Side]:
    ends, yes = tree.shape.ends(rows.fires(tree.weights, tree.biases))
    held_ends, held_yes = tree.shape.ends(held.fires(tree.weights, tree.biases))
    depths = np.abs(tree.shape.ways).sum(axis=1) + 1
    return [
        ((ends == k) & (yes == right), (held_ends == k) & (held_yes == right), k, right, int(depths[k]))
        for k in range(tree.size)
        for right, children in ((True, tree.shape.right), (False, tree.shape.left))
        if children[k] == NONE
    ]


def _fires(rows: FitRows, unit: Floats) -> Bools:
    return rows.fires(unit[None, :-1], unit[-1:])[:, 0]


def chains_of(
    rows: FitRows, size: int, n_starts: int, rng: Generator, check: Check
) -> Iterator[tuple[LTUTree, TreeTraining]]:
    """The best chains of so many units, for each ridge the two best of each kind."""
    kinds = (False,) if size == 1 else (False, True)
    flipped = np.repeat(kinds, n_starts)
    points = _starts_of_chains(rows, size, flipped, rng)
    few, chain = rows.sampled(_HEAT_ROWS, rng), Shape.chain(size)
    for steps, share, least in _HEATS:
        heat = TreeTraining(RIDGES[0], steps=steps, tolerance=1e-5)
        points, losses = fitted(few, chain, points, heat, check, flipped=flipped)
        most, order = max(least, int(np.ceil(share * n_starts))), np.argsort(losses, kind="stable")
        kept = np.sort(np.concatenate([order[flipped[order] == kind][:most] for kind in kinds]))
        points, flipped = points[kept], flipped[kept]
    contrary = Shape.chain(size, by_left=False)
    for l2 in RIDGES:  # the next one goes on where this one came to
        training = TreeTraining(l2, steps=200, tolerance=1e-5)
        points, _ = fitted(rows, chain, points, training, check, flipped=flipped)
        for point, turned in zip(points, flipped, strict=True):
            tree = LTUTree.of(contrary, -point) if turned else LTUTree.of(chain, point)
            yield tree, replace(training, tolerance=1e-6)


def _starts_of_chains(rows: FitRows, size: int, flipped: Bools, rng: Generator) -> Numbers:
    """Points: the weights of half of them at random, of the others along the directions of the moments.

    The margins have a deviation of 1.5, and each unit fires so often that their or is true as often as it should be.
    """
    b, d = len(flipped), rows.inputs.shape[1]
    along = directions(rows, min(2 * size, 6))
    weights = rng.standard_normal((b, size, d)) / np.sqrt(max(d, 1))
    if len(along):
        mixed = rng.standard_normal((b, size, len(along))) / np.sqrt(len(along)) @ along
        informed = np.arange(b) % 2 == 0
        weights[informed] = mixed[informed] + 0.3 * weights[informed]
    weights *= _SPREAD
    shares = np.clip(np.where(flipped, 1.0 - rows.share, rows.share), 0.02, 0.98)
    each = 1.0 - (1.0 - shares) ** (1.0 / size)
    biases = np.broadcast_to(np.log(each / (1.0 - each))[:, None], (b, size))
    return np.concatenate([weights, biases[:, :, None]], axis=2).reshape(b, -1).astype(rows.inputs.dtype)
