"""The tree of units that fits rows: candidates of several screens, the smallest good one, pruned and made sparse.

A smaller tree may err a little more: within standard errors of the difference, which is far surer than either error, as
trees alike err on the same rows. Among such trees the one is taken that, with the rows on which it errs, of those that
were fitted too, is told in the fewest bits (Rissanen's least description length): of the weights that are left by
chance alone, none is worth its description, and one without which some rows are wrong is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from rulekit.arrays import Bools, Floats, Ints
from rulekit.learners.contract import NO_WATCH, OutOfTimeError, Watch
from rulekit.learners.ltu.growing import FitOptions, chains_of, grown, ranked
from rulekit.learners.ltu.loss import RIDGES, FitRows, TreeTraining, refined, softened
from rulekit.learners.ltu.trees import LTUTree, Shape
from rulekit.learners.sizes.choice import Contest

_LOGISTIC_RIDGES = (1e-1, 3e-2, 1e-2, 1e-3, 1e-4)
_SCREENS, _MOST_INPUTS = (20, 60), 120
"""So many inputs of those that tell most are kept; all of them are tried too where there are no more than that."""
_MOST_IN_CHAIN = 4
_FINALISTS = 2
"""Trees of each number of units whose weights are eliminated."""
_BEAT = 1.5
"""Standard errors by which a tree must err less on held-out rows than logistic regression."""
_SAMPLE = 10_000
"""Rows that candidates are looked for on; what is chosen is fitted to all."""
_FEWER_STEPS_ABOVE = 100_000
"""Of more rows what is chosen is fitted less exactly: their errors would not show the difference."""
_SHARE, _FEW = 0.2, 30  # of the weights dropped in a round; of so few weights one is
_HOPELESS = 4.0  # standard errors beyond what is allowed
_TRIED = 4  # changes of a tree
_MANY = 4.0  # rows that a distinct one stands for


@dataclass(frozen=True, slots=True, eq=False)
class Judges:
    """The rows to fit to, and those held out to choose by."""

    fit: FitRows
    held: FitRows

    def judge(self, tree: LTUTree, training: TreeTraining) -> TreeCandidate:
        yes = self.held.yes(tree)
        wrong = self.held.wrong(yes)
        of_all = wrong + self.fit.wrong(self.fit.yes(tree))
        length = description(tree, of_all, self.fit.total + self.held.total)
        return TreeCandidate(tree, training, yes, wrong / max(self.held.total, 1.0), of_all, length)

    def allowed(self, candidate: TreeCandidate, best: TreeCandidate, margin: float) -> bool:
        """Whether a candidate is worse than the best by at most so many standard errors of their difference."""
        total = max(self.held.total, 1.0)
        differ = float(self.held.weights @ (candidate.yes != best.yes)) / total
        return Contest.of_decisions(candidate.error - best.error, differ, total).within(margin)

    def chosen(self, candidates: Sequence[TreeCandidate], margin: float) -> TreeCandidate:
        """The one of the shortest description of those that are allowed beside the best."""
        best = best_of(candidates)
        return min((c for c in candidates if self.allowed(c, best, margin)), key=lambda c: (c.length, *c.size, c.error))


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


def best_of(candidates: Iterable[TreeCandidate]) -> TreeCandidate:
    return min(candidates, key=lambda c: (c.error, *c.size))


def description(tree: LTUTree, wrong: float, total: float) -> float:
    """Nats for the weights of a tree over its inputs, and for which of so many rows it decides wrongly.

    A weight is said to the digits that so many rows tell apart: half the logarithm of their number.
    """
    d = tree.weights.shape[1]
    live, weight = np.count_nonzero(tree.weights, axis=1), 0.5 * math.log(max(total, 2.0))
    return _choice(total, wrong) + sum(_choice(d, int(k)) + weight * (int(k) + 1) for k in live)


def _choice(n: float, k: float) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(max(n - k, 0.0) + 1)


DEFAULT_OPTIONS = FitOptions()


def linear(judges: Judges, check: Callable[[], None]) -> TreeCandidate:
    """The sparsest unit whose log loss on held-out rows is the least."""
    rows, held = judges.fit, judges.held
    found = list[tuple[LTUTree, TreeTraining, Floats]]()
    start = LTUTree(Shape.chain(1), np.zeros((1, rows.inputs.shape[1])), np.zeros(1))
    for l2 in _LOGISTIC_RIDGES:
        training = TreeTraining(l2, logistic=True, tolerance=1e-5)
        start = refined(start, rows, training, check)
        found.append((start, training, _log_losses(start, held)))
    best, training, least = min(found, key=lambda own: own[2] @ held.weights)
    found = [own for own in found if own[1] is training]
    for tree in sparser(best, rows, training, check):
        losses = _log_losses(tree, held)
        found.append((tree, training, losses))
        if losses @ held.weights < least @ held.weights:
            least = losses
        if not Contest.over_rows(losses - least, held.weights).within(_HOPELESS):
            break
    good = [tree for tree, _, losses in found if Contest.over_rows(losses - least, held.weights).within(0.0)]
    sparsest = min(good, key=lambda tree: np.count_nonzero(tree.weights))
    return judges.judge(sparsest, training)


def _log_losses(tree: LTUTree, rows: FitRows) -> Floats:
    margins = tree.margins(rows.inputs)[:, 0]
    return np.asarray(np.logaddexp(0.0, margins) - rows.targets * margins)


def sparser(tree: LTUTree, rows: FitRows, training: TreeTraining, check: Callable[[], None]) -> Iterator[LTUTree]:
    """Ever sparser trees: a fifth of the weights is dropped in a round, of few weights one."""
    quick = replace(training, steps=40, tolerance=1e-4)
    while (live := np.count_nonzero(tree.weights)) > tree.size:
        dropped = max(1, int(_SHARE * live)) if live > _FEW else 1
        order = np.argsort(np.abs(tree.weights), axis=None, kind="stable")
        mask = tree.weights != 0.0
        mask.ravel()[order[mask.size - live :][:dropped]] = False
        tree = replace(tree, weights=np.where(mask, tree.weights, 0.0))
        tree = rows.without_idle(refined(tree, rows, quick, check, mask))
        yield tree


def eliminated(candidate: TreeCandidate, judges: Judges, margin: float, check: Callable[[], None]) -> TreeCandidate:
    """Of ever sparser trees the one of the shortest description that is allowed beside the best on held-out rows."""
    path, least = [candidate], candidate
    for tree in sparser(candidate.tree, judges.fit, candidate.training, check):
        path.append(judges.judge(tree, candidate.training))
        least = best_of((least, path[-1]))
        if not judges.allowed(path[-1], least, margin + _HOPELESS):
            break
    return judges.chosen(path, margin)


def pruned(
    candidate: TreeCandidate, judges: Judges, margin: float, check: Callable[[], None]
) -> Iterator[TreeCandidate]:
    """Ever smaller trees: of the changes that cost least on the rows the best after refinement, while that is good.

    Good is at most `margin` standard errors worse on the held-out rows than the best so far.
    """
    least, rows = candidate, judges.fit
    training = replace(candidate.training, steps=60, tolerance=1e-5)
    while candidate.tree.size > 1:
        tried = list[TreeCandidate]()
        for tree in _changes(candidate.tree, rows)[:_TRIED]:
            tree = rows.without_idle(refined(softened(tree), rows, training, check))
            tried.append(judges.judge(tree, candidate.training))
        best = best_of(tried)
        if not judges.allowed(best, least, margin):
            return
        candidate, least = best, best_of((least, best))
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


@dataclass(slots=True, eq=False)
class TreeSearch:
    """What has been found so far, and by which rows."""

    judges: Judges
    options: FitOptions
    check: Callable[[], None]
    found: list[TreeCandidate] = field(default_factory=list)
    linear: TreeCandidate | None = None

    def add(self, tree: LTUTree, training: TreeTraining) -> TreeCandidate:
        self.found.append(self.judges.judge(tree, training))
        return self.found[-1]

    @property
    def solved(self) -> bool:
        """Whether some tree decides all rows rightly, and enough of them are held out to believe it."""
        return self.judges.held.total >= 100.0 and any(c.wrong == 0.0 for c in self.found)


def fit_tree(
    inputs: Floats,
    labels: Ints,
    weights: Floats | Ints,
    held: Bools,
    options: FitOptions = DEFAULT_OPTIONS,
    seed: int = 0,
    watch: Watch = NO_WATCH,
) -> FitResult:
    """A tree of units for rows of standardised inputs [n, d], labels [n] of 0 and 1 and weights [n], in rows.

    held [n]: the rows that choices are made by, about a quarter; where they, or the others, lack a class, all rows
    serve for both. Where rows stand for four or more on average, a quarter of the weight of each is held out instead:
    rows that none of those fitted is equal to are no fair trial. When the time is over, the best so far is given back.
    """
    every = FitRows(
        np.asarray(inputs, dtype=np.float64),
        np.asarray(labels, dtype=np.float64),
        np.asarray(weights, dtype=np.float64),
    )
    rng = np.random.default_rng(seed)
    fit, kept = _parted(every, rng) if every.total >= _MANY * len(every.weights) else (every.at(~held), every.at(held))
    if not (fit.total and kept.total and 0.0 < fit.share < 1.0 and 0.0 < kept.share < 1.0):
        fit, kept = every, every
    drawn = (_single(own.sampled(_SAMPLE, rng)) for own in (fit, kept))
    search = TreeSearch(Judges(*drawn), options, watch.check)
    search.add(_constant(every), TreeTraining(RIDGES[0]))
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
        steps = [search.judges.chosen(search.found, options.smaller)]
    trees = tuple(_refitted(step, every) for step in steps)
    return FitResult(trees[-1], trees, tuple(step.error for step in steps), complete)


def _parted(rows: FitRows, rng: np.random.Generator) -> tuple[FitRows, FitRows]:
    """Three quarters of the weight of each row, and the other quarter; both are as whole as the weights are."""
    held = np.minimum(np.floor(rows.weights / 4.0 + rng.random(len(rows.weights))), rows.weights)
    parts = (replace(rows, weights=rows.weights - held), replace(rows, weights=held))
    return parts[0].at(parts[0].weights > 0.0), parts[1].at(parts[1].weights > 0.0)


def _single(rows: FitRows) -> FitRows:
    """The rows with inputs of half the length, which are multiplied twice as fast."""
    return replace(rows, inputs=rows.inputs.astype(np.float32))


def _constant(rows: FitRows) -> LTUTree:
    return LTUTree(Shape.chain(1), np.zeros((1, rows.inputs.shape[1])), np.array([1.0 if rows.share > 0.5 else -1.0]))


def _screens(search: TreeSearch) -> Iterator[Ints]:
    order = ranked(search.judges.fit)
    d = len(order)
    sizes = {size for size in _SCREENS if size < d}
    if d <= _MOST_INPUTS or not sizes:
        sizes.add(d)
    for size in sorted(sizes):
        yield np.sort(order[:size])


def _find(search: TreeSearch, rng: np.random.Generator) -> None:
    options, d = search.options, search.judges.fit.inputs.shape[1]
    screens = list(_screens(search))
    search.linear = linear(search.judges, search.check)
    search.found.append(search.linear)
    for screen in screens:
        rows = search.judges.fit.of(screen).merged()
        for size in range(1, min(_MOST_IN_CHAIN, options.max_nodes) + 1):
            for tree, training in chains_of(rows, size, options.starts, rng, search.check):
                search.add(rows.without_idle(tree).over(screen, d), training)
            if search.solved:
                return
        training = TreeTraining(RIDGES[0], steps=60, tolerance=1e-4)
        begun = grown(rows, search.judges.held.of(screen), options, training, search.check)
        if begun is not None:
            search.add(begun.over(screen, d), training)
            for l2 in RIDGES:
                training = TreeTraining(l2, steps=100, tolerance=1e-5)
                tree = rows.without_idle(refined(softened(begun), rows, training, search.check))
                search.add(tree.over(screen, d), training)
            if search.solved:
                return
    starts = {c.tree.size: c for c in sorted(search.found, key=lambda c: (-c.error, *c.size))}
    for start in sorted(starts.values(), key=lambda c: (c.error, *c.size))[:_FINALISTS]:
        _extend(search, start)


def _extend(search: TreeSearch, candidate: TreeCandidate) -> None:
    """Judge trees with more units where a tree errs, as long as each is better than the last."""
    options, (rows, held) = search.options, (search.judges.fit, search.judges.held)
    training = TreeTraining(RIDGES[0], steps=60, tolerance=1e-4)
    while True:
        tree = grown(rows, held, options, training, search.check, candidate.tree)
        if tree is None or tree.size == candidate.tree.size:
            return
        longer = replace(training, l2=RIDGES[-1], steps=100, tolerance=1e-5)
        better = search.add(rows.without_idle(refined(softened(tree), rows, longer, search.check)), longer)
        if better.error >= candidate.error:
            return
        candidate = better


def _ladder(search: TreeSearch) -> list[TreeCandidate]:
    """The chosen candidate last, and before it the best of each smaller number of units."""
    options, judges = search.options, search.judges
    for start in {judges.chosen(search.found, margin) for margin in (options.smaller, 0.0)}:
        search.found += pruned(start, judges, options.smaller, search.check)
    most = best_of(search.found).tree.size
    by_units = dict[int, list[TreeCandidate]]()
    for candidate in sorted(search.found, key=lambda c: (c.error, *c.size)):
        by_units.setdefault(candidate.tree.size, []).append(candidate)
    finalists = [c for units in sorted(by_units) if units <= most for c in by_units[units][:_FINALISTS]]
    sparse = [eliminated(c, judges, options.sparser, search.check) for c in finalists]
    chosen = judges.chosen(sparse, options.smaller)
    if (plain := search.linear) is not None and judges.allowed(plain, chosen, _BEAT):
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
    return rows.without_idle(refined(candidate.tree, rows, training, lambda: None, mask))
