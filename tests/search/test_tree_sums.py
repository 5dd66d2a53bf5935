"""Promises of forests, proved or broken as all cells show, by bounds over boxes of cells."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.audit.checks.kept_promises import Searches, verdicts
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.nodes import Above, And, Compare, Linear, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import Deadline
from rulekit.schema import Feature, Schema
from rulekit.search import row_search, tree_sums
from rulekit.search.row_search import Claim, RowSearch

NAMES = ("a", "b", "c", "d")


def _tree(rng: np.random.Generator, depth: int, path: tuple[Node, ...] = ()) -> list[tuple[float, Node]]:
    """The leaves of a random tree, with cuts of a few numbers; a missing number goes either way."""
    if depth == 0:
        return [(int(rng.integers(-8, 9)) / 8, And(path))]
    name, cut, missing = str(rng.choice(NAMES)), float(rng.integers(6)), bool(rng.integers(2))
    low, high = Compare(name, "<=", cut, missing), Compare(name, ">", cut, not missing)
    return [*_tree(rng, depth - 1, (*path, low)), *_tree(rng, depth - 1, (*path, high))]


def _forest(seed: int, trees: int, monotone: int = 0, bias: float = 0.0) -> RuleGraph:
    rng = np.random.default_rng(seed)
    features = tuple(Feature(name, monotone=monotone if name == "a" else 0) for name in NAMES)
    terms = [term for _ in range(trees) for term in _tree(rng, 3)]
    terms = [term for term in terms if term[0] or seed % 2]  # leaves that add nothing may be missing
    return RuleGraph(Schema(features, target="y"), ("no", "yes"), Fires(Above(Linear(terms, bias), 0.25)))


def _few(graph: RuleGraph, nodes: list[Node], **how: object) -> RowSearch:
    """A search that runs no cells one by one."""
    return RowSearch(graph, nodes, few=0, many=0, deadline=how["deadline"])  # type: ignore[arg-type]


def _keeps(graph: RuleGraph, way: int) -> bool:
    """Whether a larger known number of `a` never turns the decision the wrong way, by running all cells."""
    search = RowSearch(graph, graph.decision.roots)
    shape = tuple(map(len, search.space.axes))
    parts = [search.space.rows(cells)[1] for cells in search.space.blocks()]
    (root,) = graph.decision.roots
    held = np.concatenate([evaluate_nodes([root], table)[root] for table in parts]).reshape(shape)
    axis = search.axis_of("a")
    assert axis is not None
    own = np.moveaxis(held, axis, 0)[search.space.axes[axis].known].astype(int)
    return bool((np.diff(own, axis=0) * way >= 0).all())


@pytest.mark.parametrize("way", [1, -1])
@pytest.mark.parametrize("trees", [1, 2, 6])
def test_a_direction_is_proved_or_broken_as_all_cells_show(trees: int, way: int) -> None:
    """Sums near the threshold are frequent: the weights are few, and the bias leaves few rows of one class."""
    kept = 0
    for seed in range(40):
        graph = _forest(seed, trees, way, bias=(seed % 5 - 2) * trees / 4)
        if "a" not in graph.used_features:
            continue
        (verdict,) = verdicts(Searches(graph, _few))
        expected = _keeps(graph, way)
        assert verdict.outcome == ("proved" if expected else "fails"), seed
        kept += expected
    assert kept > 0 or trees > 2


def test_two_forests_are_told_apart_as_all_cells_show() -> None:
    for seed in range(30):
        one, other = _forest(seed, 3, bias=-0.5), _forest(seed + 1, 2, bias=-1.0)
        (first,), (second,) = one.decision.roots, other.decision.roots
        few = _few(one, [first, second], deadline=Deadline(60))
        found = few.find(Claim(first), Claim(second, False))
        expected = RowSearch(one, [first, second]).find(Claim(first), Claim(second, False))
        assert (found.cells is None, found.reason) == (expected.cells is None, ""), seed


def test_what_is_too_large_is_open_with_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the solver finds counts then; where it gives up too, the boxes are named."""
    monkeypatch.setattr(tree_sums, "MOST_BOXES", 1)
    graph = _forest(0, 6, 1)
    (verdict,) = verdicts(Searches(graph, _few))
    assert verdict.outcome == ("proved" if _keeps(graph, 1) else "fails")
    monkeypatch.setattr(RowSearch, "_by_solver", lambda self, claims: tree_sums.Sought(None, "too large"))
    (verdict,) = verdicts(Searches(graph, _few))
    assert verdict.outcome == "not proved"
    assert "boxes of cells are left after 1" in verdict.reason


def test_sums_that_are_none_of_trees_are_left_to_the_solver() -> None:
    """Parts that overlap, that leave out rows, or that may be rounded."""
    graph = _forest(1, 2)
    (root,) = graph.decision.roots
    search = RowSearch(graph, [root])
    sizes = list(map(len, search.space.axes))
    assert isinstance(root, Above)
    assert isinstance(root.score, Linear)
    assert tree_sums.tree_sum(root, search.on_axis, sizes) is not None
    terms = root.score.terms
    rounded = [(weight + 1e-30, leaf) if weight else (1e30, leaf) for weight, leaf in terms]
    for other in (terms[:2], (*terms, terms[0]), rounded):
        assert tree_sums.tree_sum(replace_score(root, other), search.on_axis, sizes) is None


def replace_score(root: Above, terms: object) -> Above:
    assert isinstance(root.score, Linear)
    return Above(Linear(terms, root.score.bias), root.threshold)  # type: ignore[arg-type]


def test_a_row_that_is_found_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the bounds say, a row is no answer that does not show the claims."""
    graph = _forest(0, 2)
    (root,) = graph.decision.roots
    never = replace_score(root, [(-1.0, leaf) for _, leaf in root.score.terms])  # type: ignore[attr-defined]
    monkeypatch.setattr(row_search, "found_cells", lambda goals, sizes, deadline: tree_sums.Sought((0, 0, 0, 0)))
    assert _few(graph, [never], deadline=Deadline(60)).find(Claim(never)).cells is None
