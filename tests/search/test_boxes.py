"""Claims about boxes of cells are answered as running every cell of them answers."""

from __future__ import annotations

import numpy as np
import pytest

from rulekit.cells.words import taken_apart
from rulekit.conformance.models import random_graph
from rulekit.graph.evaluation.evaluator import decide
from rulekit.search.row_search import Claim, InBox, Label, RowSearch

MOST = 20_000


@pytest.mark.parametrize("few", [MOST, 0], ids=["run", "searched"])
@pytest.mark.parametrize("seed", range(12))
def test_a_row_within_or_outside_of_boxes(seed: int, few: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng).with_(probability=(), required=())
    search = RowSearch(graph, graph.decision.roots, few=few, many=0)
    space = search.space
    if space.size > MOST or not space.whole:
        pytest.skip("too many cells to run")
    shape = tuple(map(len, space.axes))
    labels = decide(taken_apart(graph)[0], space.rows(np.arange(space.size))[1]).reshape(shape)
    for _ in range(10):
        boxes = [InBox(tuple(rng.random(n) < rng.choice([0.2, 0.6, 1.0]) for n in shape)) for _ in range(2)]
        within, without = (_cells(box, shape) for box in boxes)
        if not within.any():
            continue
        k = int(rng.integers(len(graph.classes)))
        label = Claim(Label(graph.decision, frozenset({k})), holds=bool(rng.integers(2)))
        wanted = within & ~without & ((labels == k) == label.holds)
        found = search.find(Claim(boxes[0]), Claim(boxes[1], holds=False), label)
        assert found.cells is None or wanted[found.cells]
        assert found.cells is not None or found.reason or not wanted.any()
        assert few == 0 or not found.reason


def _cells(box: InBox, shape: tuple[int, ...]) -> np.ndarray:
    held = np.zeros(shape, dtype=bool)
    held[np.ix_(*box.sides)] = True
    return held
