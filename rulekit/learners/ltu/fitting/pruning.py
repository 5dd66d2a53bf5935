"""Units that a tree can do without: a unit is dropped, or gives way to its child, where held-out rows do not mind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from rulekit.learners.ltu.fitting.candidates import Candidate, Judges, best_of
from rulekit.learners.ltu.fitting.refining import refined, softened
from rulekit.learners.ltu.fitting.rows import Rows
from rulekit.learners.ltu.trees import LTUTree

_TRIED = 4


def pruned(candidate: Candidate, judges: Judges, margin: float, check: Callable[[], None]) -> Iterator[Candidate]:
    """Ever smaller trees: of the changes that cost least on the rows the best after refinement, while that is good.

    Good is at most `margin` standard errors worse on the held-out rows than the best so far.
    """
    least, rows = candidate, judges.fit
    training = replace(candidate.training, steps=60, tolerance=1e-5)
    while candidate.tree.size > 1:
        tried = list[Candidate]()
        for tree in _changes(candidate.tree, rows)[:_TRIED]:
            tree = rows.without_idle(refined(softened(tree), rows, training, check))
            tried.append(judges.judge(tree, candidate.training))
        best = best_of(tried)
        if not judges.allowed(best, least, margin):
            return
        candidate, least = best, best_of((least, best))
        yield candidate


def _changes(tree: LTUTree, rows: Rows) -> list[LTUTree]:
    """The trees with a unit less or more, those first that err least on the rows."""
    fires = rows.fires(tree.weights, tree.biases)
    found = list[tuple[float, int, LTUTree]]()
    for child in range(1, tree.size):
        parent = int(tree.shape.parents[child])
        for shape, kept in (tree.shape.without(child), tree.shape.in_place_of(parent, child)):
            wrong = rows.wrong(shape.decides(fires[:, kept]))
            found.append((wrong, shape.size, tree.kept(shape, kept)))
    return [tree for *_, tree in sorted(found, key=lambda own: own[:2])]
