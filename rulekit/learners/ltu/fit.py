"""The tree of units that fits rows: candidates of several screens, the smallest good one, pruned and made sparse.

A smaller tree may err a little more: within standard errors of the difference, which is far surer than either error, as
trees alike err on the same rows. Among such trees the one is taken that, with the rows on which it errs, of those that
were fitted too, is told in the fewest bits (Rissanen's least description length): of the weights that are left by
chance alone, none is worth its description, and one without which some rows are wrong is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np
from numpy.random import Generator

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.contract import NO_WATCH, OutOfTimeError, Watch
from rulekit.learners.ltu.growing import LTUTreeSettings, chains_of, grown, ranked
from rulekit.learners.ltu.loss import RIDGES, Check, FitRows, TreeTraining, refined, softened
from rulekit.learners.ltu.trees import LTUTree, Shape
from rulekit.learners.sizes.choice import Contest

_LOGISTIC_RIDGES = (1e-1, 3e-2, 1e-2, 1e-3, 1e-4)
_SCREENS, _MOST_INPUTS = (20, 60), 120
"""So many inputs of those that tell most are kept; all of them are tried too where there are no more than that."""
_MOST_IN_CHAIN = 4
_FINALISTS = 2  # trees of each number of units whose weights are eliminated
_BEAT = 1.5  # standard errors by which a tree must err less on held-out rows than logistic regression
_SAMPLE = 10_000  # rows that candidates are looked for on; what is chosen is fitted to all
_FEWER_STEPS_ABOVE = 100_000
"""Of more rows what is chosen is fitted less exactly: their errors would not show the difference."""
_SHARE, _FEW = 0.2, 30  # of the weights dropped in a round; of so few weights one is
_HOPELESS = 4.0  # standard errors beyond what is allowed
_TRIED = 4  # changes of a tree
_SMALLER, _SPARSER = 1.5, 2.0
"""Times the margin: standard errors of the difference on held-out rows by which a tree of fewer units, or of fewer
weights, may err more."""
_DEFAULT = LTUTreeSettings()
_MANY = 4.0  # rows that a distinct one stands for


@dataclass(frozen=True, slots=True, eq=False)
class TreeCandidate:
    """A tree and how it was trained.

    yes [n]: the held-out rows that it answers by yes; error: the share of them that it decides wrongly; wrong: how many
    rows it decides wrongly, fitted ones too; length: of its description, in nats.
    """

    tree: LTUTree
    training: TreeTraining
    yes: Bools
    error: float
    wrong: float
    length: float

    @property
    def size(self) -> tuple[int, int]:
        return self.tree.size, int(np.count_nonzero(self.tree.weights))


@dataclass(slots=True, eq=False)
class TreeSearch:
    """The rows to fit to and those held out to choose by, and what has been found so far; check: may raise."""

    rows: FitRows
    held: FitRows
    settings: LTUTreeSettings
    check: Check
    found: list[TreeCandidate] = field(default_factory=list)
    linear: TreeCandidate | None = None

    def judge(self, tree: LTUTree, training: TreeTraining) -> TreeCandidate:
        yes = self.held.yes(tree)
        wrong = self.held.wrong(yes)
        of_all = wrong + self.rows.wrong(self.rows.yes(tree))
        length = description(tree, of_all, self.rows.total + self.held.total)
        return TreeCandidate(tree, training, yes, wrong / max(self.held.total, 1.0), of_all, length)

    def add(self, tree: LTUTree, training: TreeTraining) -> TreeCandidate:
        self.found.append(self.judge(tree, training))
        return self.found[-1]

    def allowed(self, candidate: TreeCandidate, best: TreeCandidate, margin: float) -> bool:
        """Whether a candidate is worse than the best by at most so many standard errors of their difference."""
        total = max(self.held.total, 1.0)
        differ = float(self.held.weights @ (candidate.yes != best.yes)) / total
        return Contest.of_decisions(candidate.error - best.error, differ, total).within(margin)

    def chosen(self, candidates: Sequence[TreeCandidate], margin: float) -> TreeCandidate:
        """The one of the shortest description of those that are allowed beside the best."""
        best = min(candidates, key=_rank)
        return min((c for c in candidates if self.allowed(c, best, margin)), key=lambda c: (c.length, *c.size, c.error))

    @property
    def solved(self) -> bool:
        """Whether some tree decides all rows rightly, and enough of them are held out to believe it."""
        return self.held.total >= 100.0 and any(c.wrong == 0.0 for c in self.found)


def _rank(candidate: TreeCandidate) -> tuple[float, int, int]:
    return candidate.error, *candidate.size


def description(tree: LTUTree, wrong: float, total: float) -> float:
    """Nats for the weights of a tree over its inputs, and for which of so many rows it decides wrongly.

    A weight is said to the digits that so many rows tell apart: half the logarithm of their number.
    """
    d = tree.weights.shape[1]
    live, weight = np.count_nonzero(tree.weights, axis=1), 0.5 * math.log(max(total, 2.0))
    return _choice(total, wrong) + sum(_choice(d, int(k)) + weight * (int(k) + 1) for k in live)


def _choice(n: float, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(max(n - k, 0.0) + 1)


def linear(search: TreeSearch) -> TreeCandidate:
    """The sparsest unit whose log loss on held-out rows is the least."""
    rows, held = search.rows, search.held
    found = list[tuple[LTUTree, TreeTraining, Floats]]()
    start = LTUTree(Shape.chain(1), np.zeros((1, rows.inputs.shape[1])), np.zeros(1))
    for l2 in _LOGISTIC_RIDGES:
        training = TreeTraining(l2, logistic=True, tolerance=1e-5)
        start = refined(start, rows, training, search.check)
        found.append((start, training, _log_losses(start, held)))
    best, training, least = min(found, key=lambda own: own[2] @ held.weights)
    found = [own for own in found if own[1] is training]
    for tree in sparser(best, training, search):
        losses = _log_losses(tree, held)
        found.append((tree, training, losses))
        if losses @ held.weights < least @ held.weights:
            least = losses
        if not Contest.over_rows(losses - least, held.weights).within(_HOPELESS):
            break
    good = [tree for tree, _, losses in found if Contest.over_rows(losses - least, held.weights).within(0.0)]
    sparsest = min(good, key=lambda tree: np.count_nonzero(tree.weights))
    return search.judge(sparsest, training)


def _log_losses(tree: LTUTree, rows: FitRows) -> Floats:
    margins = tree.margins(rows.inputs)[:, 0]
    return np.asarray(np.logaddexp(0.0, margins) - rows.targets * margins)


def sparser(tree: LTUTree, training: TreeTraining, search: TreeSearch) -> Iterator[LTUTree]:
    """Ever sparser trees: a fifth of the weights is dropped in a round, of few weights one."""
    quick = replace(training, steps=40, tolerance=1e-4)
    while (live := np.count_nonzero(tree.weights)) > tree.size:
        dropped = max(1, int(_SHARE * live)) if live > _FEW else 1
        order = np.argsort(np.abs(tree.weights), axis=None, kind="stable")
        mask = tree.weights != 0.0
        mask.ravel()[order[mask.size - live :][:dropped]] = False
        tree = refined(replace(tree, weights=np.where(mask, tree.weights, 0.0)), search.rows, quick, search.check, mask)
        yield tree


def eliminated(candidate: TreeCandidate, search: TreeSearch) -> TreeCandidate:
    """Of ever sparser trees the one of the shortest description that is allowed beside the best on held-out rows."""
    path, least, margin = [candidate], candidate, _SPARSER * search.settings.margin
    for tree in sparser(candidate.tree, candidate.training, search):
        path.append(search.judge(tree, candidate.training))
        least = min(least, path[-1], key=_rank)
        if not search.allowed(path[-1], least, margin + _HOPELESS):
            break
    return search.chosen(path, margin)


def pruned(candidate: TreeCandidate, search: TreeSearch) -> Iterator[TreeCandidate]:
    """Ever smaller trees: of the changes that cost least on the rows the best after refinement, while that is good."""
    least, rows = candidate, search.rows
    training = replace(candidate.training, steps=60, tolerance=1e-5)
    while candidate.tree.size > 1:
        trees = (refined(softened(tree), rows, training, search.check) for tree in _changes(candidate.tree, rows))
        best = min((search.judge(tree, candidate.training) for tree in islice(trees, _TRIED)), key=_rank)
        if not search.allowed(best, least, _SMALLER * search.settings.margin):
            return
        candidate, least = best, min(least, best, key=_rank)
        yield candidate


def _changes(tree: LTUTree, rows: FitRows) -> list[LTUTree]:
    """The trees with a unit less or more, those first that err least on the rows."""
    fires = rows.fires(tree.weights, tree.biases)
    found = list[tuple[float, int, LTUTree]]()
    for child in range(1, tree.size):
        parent = int(tree.shape.parents[child])
        for shape, kept in (tree.shape.without(child), tree.shape.in_place_of(parent, child)):
            wrong = rows.wrong(shape.decides(fires[:, kept]))
            found.append((wrong, shape.size, tree.kept(shape, kept)))
    return [tree for *_, tree in sorted(found, key=lambda own: own[:2])]


@dataclass(frozen=True, slots=True, eq=False)
class FitResult:
    """tree: the one that was chosen; ladder: of each number of units up to its own the best, smallest first.

    All are fitted to all rows; errors: what each step of the ladder erred on held-out rows before. complete: the time
    was enough.
    """

    tree: LTUTree
    ladder: tuple[LTUTree, ...]
    errors: tuple[float, ...]
    complete: bool = True


def fit_tree(
    inputs: Floats,
    labels: Ints,
    weights: Floats | Ints,
    held: Bools,
    settings: LTUTreeSettings = _DEFAULT,
    seed: int = 0,
    watch: Watch = NO_WATCH,
) -> FitResult:
    """A tree of units for rows of standardised inputs [n, d], labels [n] of 0 and 1 and weights [n], in rows.

    held [n]: the rows that choices are made by, about a quarter; where they, or the others, lack a class, all rows
    serve for both. Where rows stand for four or more on average, a quarter of the weight of each is held out instead:
    rows that none of those fitted is equal to are no fair trial. When the time is over, the best so far is given back.
    """
    every = FitRows(*(np.asarray(own, dtype=np.float64) for own in (inputs, labels, weights)))
    rng = np.random.default_rng(seed)
    fit, kept = every.at(~held), every.at(held)
    if every.total >= _MANY * len(every.weights):
        # Three quarters of the weight of each row, and the other quarter; both are as whole as the weights are.
        quarter = np.minimum(np.floor(every.weights / 4.0 + rng.random(len(every.weights))), every.weights)
        parts = (replace(every, weights=own) for own in (every.weights - quarter, quarter))
        fit, kept = (part.at(part.weights > 0.0) for part in parts)
    if not (fit.total and kept.total and 0.0 < fit.share < 1.0 and 0.0 < kept.share < 1.0):
        fit, kept = every, every
    # Inputs of half the length are multiplied twice as fast.
    drawn = fit.sampled(_SAMPLE, rng), kept.sampled(_SAMPLE, rng)
    few, rest = (replace(own, inputs=own.inputs.astype(np.float32)) for own in drawn)
    search = TreeSearch(few, rest, settings, watch.check)
    nothing = LTUTree(Shape.chain(1), np.zeros((1, inputs.shape[1])), np.array([1.0 if every.share > 0.5 else -1.0]))
    search.add(nothing, TreeTraining(RIDGES[0]))
    complete = True
    if 0.0 < fit.share < 1.0 and inputs.shape[1]:
        try:
            _find(search, rng)
        except OutOfTimeError:
            complete = False
    try:
        steps = _ladder(search)
    except OutOfTimeError:
        complete = False
        steps = [search.chosen(search.found, _SMALLER * settings.margin)]
    trees = tuple(_refitted(step, every) for step in steps)
    return FitResult(trees[-1], trees, tuple(step.error for step in steps), complete)


def _find(search: TreeSearch, rng: Generator) -> None:
    settings, order = search.settings, ranked(search.rows)
    d = len(order)
    sizes = {size for size in _SCREENS if size < d}
    sizes |= {d} if d <= _MOST_INPUTS or not sizes else set()
    search.linear = linear(search)
    search.found.append(search.linear)
    for screen in (np.sort(order[:size]) for size in sorted(sizes)):
        rows = search.rows.of(screen).merged()
        for size in range(1, min(_MOST_IN_CHAIN, settings.max_nodes) + 1):
            for tree, training in chains_of(rows, size, settings.n_starts, rng, search.check):
                search.add(rows.without_idle(tree).over(screen, d), training)
            if search.solved:
                return
        training = TreeTraining(RIDGES[0], steps=60, tolerance=1e-4)
        begun = grown(rows, search.held.of(screen), settings, training, search.check)
        if begun is not None:
            search.add(begun.over(screen, d), training)
            for l2 in RIDGES:
                training = TreeTraining(l2, steps=100, tolerance=1e-5)
                search.add(refined(softened(begun), rows, training, search.check).over(screen, d), training)
            if search.solved:
                return
    starts = {c.tree.size: c for c in sorted(search.found, key=lambda c: (-c.error, *c.size))}
    for start in sorted(starts.values(), key=_rank)[:_FINALISTS]:
        _extend(search, start)


def _extend(search: TreeSearch, candidate: TreeCandidate) -> None:
    """Judge trees with more units where a tree errs, as long as each is better than the last."""
    rows, training = search.rows, TreeTraining(RIDGES[0], steps=60, tolerance=1e-4)
    longer = TreeTraining(RIDGES[-1], steps=100, tolerance=1e-5)
    while True:
        tree = grown(rows, search.held, search.settings, training, search.check, candidate.tree)
        if tree is None or tree.size == candidate.tree.size:
            return
        better = search.add(refined(softened(tree), rows, longer, search.check), longer)
        if better.error >= candidate.error:
            return
        candidate = better


def _ladder(search: TreeSearch) -> list[TreeCandidate]:
    """The chosen candidate last, and before it the best of each smaller number of units."""
    smaller = _SMALLER * search.settings.margin
    for start in {search.chosen(search.found, margin) for margin in (smaller, 0.0)}:
        search.found += pruned(start, search)
    ordered = sorted(search.found, key=_rank)
    by_units = dict[int, list[TreeCandidate]]()
    for candidate in ordered:
        by_units.setdefault(candidate.tree.size, []).append(candidate)
    sizes = [units for units in sorted(by_units) if units <= ordered[0].tree.size]
    sparse = [eliminated(c, search) for units in sizes for c in by_units[units][:_FINALISTS]]
    chosen = search.chosen(sparse, smaller)
    if (plain := search.linear) is not None and search.allowed(plain, chosen, _BEAT):
        better = chosen.size < plain.size and chosen.wrong == 0.0
        chosen = chosen if better else plain
    best = dict[int, TreeCandidate]()
    for candidate in [*sparse, chosen]:
        units = candidate.tree.size
        if units < chosen.tree.size and (units not in best or candidate.error < best[units].error):
            best[units] = candidate
    return [*(best[units] for units in sorted(best)), chosen]


def _refitted(candidate: TreeCandidate, rows: FitRows) -> LTUTree:
    mask = candidate.tree.weights != 0.0
    if not mask.any():
        return candidate.tree
    exact = len(rows.targets) <= _FEWER_STEPS_ABOVE
    training = replace(candidate.training, steps=200 if exact else 50, tolerance=1e-8 if exact else 1e-6)
    return refined(candidate.tree, rows, training, lambda: None, mask)
