"""The nearest change by brute force: every combination of cells of a model, decided by the oracle, once and for all.

It shares nothing with the search but the definition: fewest columns, then the least sum of distances.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.graph.evaluation.oracle import evaluate_row, read_level, read_number, read_text
from rulekit.graph.leaves import cuts_of_leaf, levels_of_leaf, readers, tokens_of_leaf
from rulekit.graph.nodes import Column, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit.tokens import tokens

MISSING, UNSEEN = "missing", "unseen"


@dataclass(frozen=True)
class Side:
    """A column, or a word of a text, and its cells: intervals, truths or levels; then missing and unseen.

    word: "" of a column; of a text the word, or None for whether it is there.
    """

    feature: Feature
    cells: tuple[Any, ...]
    spread: float = 1.0
    word: str | None = ""

    @property
    def size(self) -> int:
        """The number of cells, with missing, and of categories with a level never seen."""
        return len(self.cells) + {"text": 0, "categorical": 2}.get(self.feature.kind, 1)

    def place(self, cell: Any) -> int:
        """The cell of a raw value."""
        feature, n = self.feature, len(self.cells)
        if feature.kind == "text":
            text = read_text(cell, feature)
            return int(text is not None) if self.word is None else int(text is not None and self.word in tokens(text))
        if feature.kind == "categorical":
            level = read_level(cell, feature)
            if level is None or level not in feature.levels:
                return n if level is None else n + 1
            return self.cells.index(level) if level in self.cells else n - 1
        value = read_number(cell, feature)
        if math.isnan(value):
            return n
        if feature.kind == "boolean":
            return int(value > 0.5)
        return sum(high < value for _, high in self.cells)

    def shown(self, place: int) -> Any:
        """A raw value of a cell."""
        if place >= len(self.cells):
            return None if place == len(self.cells) else "a level never seen"
        return self.nearest(math.nan, place) if self.feature.kind == "numeric" else self.cells[place]

    def nearest(self, value: float, place: int) -> float:
        """The number of a cell that is nearest to a value."""
        low, high = self.cells[place]
        kind = np.float32 if self.feature.precision == "float32" else np.float64
        if math.isfinite(low):
            low = float(np.nextafter(kind(low), kind(np.inf)))
        if self.feature.display in ("integer", "date") and math.ceil(max(low, -1e300)) <= min(high, 1e300):
            low = math.ceil(low) if math.isfinite(low) else low
            high = math.floor(high) if math.isfinite(high) else high
        if math.isnan(value):
            value = 0.0
        return min(max(value, low), high)

    def far(self, value: Any, own: int, place: int) -> float:
        """How far a cell is from a raw value of another one."""
        if self.feature.kind != "numeric" or own >= len(self.cells):
            return 1.0
        number = read_number(value, self.feature)
        apart = abs(self.nearest(number, place) - number) / self.spread
        return apart if apart < 1e18 else 1e18

    def allows(self, own: int, place: int, direction: str | None) -> bool:
        """Whether a value may go from its cell to another one."""
        if place >= len(self.cells) or place == own:
            return False
        if self.feature.kind == "text" and self.word is None:
            return place == 1  # no text becomes missing
        if self.feature.kind == "numeric" and self.nearest(math.nan, place) == math.inf:
            return False
        if direction is None or own >= len(self.cells):
            return True
        return place > own if direction == "up" else place < own


@dataclass(frozen=True)
class Force:
    """A model, its sides, and the class of each combination of their cells."""

    graph: RuleGraph
    sides: tuple[Side, ...]
    labels: np.ndarray

    def nearest(
        self,
        row: Mapping[str, Any],
        immutable: frozenset[str] = frozenset(),
        directions: Mapping[str, str] | None = None,
        to: int | None = None,
    ) -> tuple[int, float] | None:
        """How many columns must change, and the sum of distances; None where no change turns the decision."""
        directions = directions or {}
        own = [side.place(row[side.feature.name]) for side in self.sides]
        label = evaluate_row(self.graph, row)[0]
        assert label == self.labels[tuple(own)]
        count, far = np.zeros((1,) * len(own)), np.zeros((1,) * len(own))
        for axis, (side, mine) in enumerate(zip(self.sides, own, strict=True)):
            name, size = side.feature.name, self.labels.shape[axis]
            one, apart = np.full(size, math.inf), np.full(size, math.inf)
            one[mine] = apart[mine] = 0.0
            for place in range(size):
                if name not in immutable and side.allows(mine, place, directions.get(name)):
                    one[place], apart[place] = 1.0, side.far(row[name], mine, place)
            shape = [size if k == axis else 1 for k in range(len(own))]
            count, far = count + one.reshape(shape), far + apart.reshape(shape)
        turned = (self.labels != label) if to is None else (self.labels == to)
        count = np.where(turned, count, math.inf)
        if count.min() == math.inf:
            return None
        return int(count.min()), float(far[count == count.min()].min())


def force_of(graph: RuleGraph, most: int, ranked: frozenset[str] = frozenset()) -> Force | None:
    """The model with its cells; None where there are more combinations, or a number has too many steps."""
    graph = graph.with_(probability=())
    found = readers(graph.decision.roots)
    sides: list[Side] = []
    for name in sorted(found, key=graph.schema.names.index):
        own = _sides(graph, graph.schema[name], found[name], name in ranked)
        if own is None:
            return None
        sides += own
    shape = [side.size for side in sides]
    if math.prod(shape) > most:
        return None
    labels = np.zeros(shape, dtype=np.int64)
    for places in itertools.product(*map(range, shape)):
        labels[places] = evaluate_row(graph, _row(sides, places))[0]
    return Force(graph, tuple(sides), labels)


def _row(sides: list[Side], places: tuple[int, ...]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for side, place in zip(sides, places, strict=True):
        name = side.feature.name
        if side.feature.kind != "text":
            refused = place == len(side.cells) + 1 and side.feature.unseen == "error"
            row[name] = None if refused else side.shown(place)
        elif side.word is None:
            row[name] = [] if place == 1 else None
        elif row[name] is not None and place == 1:
            row[name].append(side.word)
    return {name: " ".join(["x", *words]) if isinstance(words, list) else words for name, words in row.items()}


def _sides(graph: RuleGraph, feature: Feature, nodes: list[Node], ranked: bool) -> list[Side] | None:
    if feature.kind == "text":
        words = sorted({token for node in nodes for token in tokens_of_leaf(node)})
        return [Side(feature, (False, True), word=None), *(Side(feature, (False, True), word=word) for word in words)]
    if feature.kind == "boolean":
        return [Side(feature, (False, True))]
    if feature.kind == "categorical":
        named = {level for node in nodes for level in levels_of_leaf(node)}
        if ranked:
            return [Side(feature, feature.levels)]
        others = [level for level in feature.levels if level not in named]
        return [Side(feature, (*(level for level in feature.levels if level in named), *others[:1]))]
    cuts = _cuts(feature, nodes)
    if cuts is None:
        return None
    cuts = sorted(cuts)
    return [Side(feature, tuple(itertools.pairwise([-math.inf, *cuts, math.inf])), _spread(graph, feature, nodes))]


def _cuts(feature: Feature, nodes: list[Node]) -> set[float] | None:
    kind = np.float32 if feature.precision == "float32" else np.float64
    cuts: set[float] = set()
    for node in nodes:
        if isinstance(node, Column):
            if not node.step or node.high - node.low > 64 * node.step:
                return None
            for k in range(math.floor(node.low / node.step), math.ceil(node.high / node.step)):
                half = (k + 0.5) * node.step
                cut = kind(half)
                if cut > half or (cut == half and k % 2):
                    cut = np.nextafter(cut, kind(-np.inf))
                cuts.add(float(cut) + 0.0)
        else:
            cuts |= {float(kind(cut)) + 0.0 for cut in cuts_of_leaf(node)}
    return {cut for cut in cuts if math.isfinite(cut)}


def _spread(graph: RuleGraph, feature: Feature, nodes: list[Node]) -> float:
    known = graph.statistics.get("columns", {}).get(feature.name, {})
    if known.get("spread", 0) > 0:
        return float(known["spread"])
    if known.get("low") is not None and known["high"] > known["low"]:
        return float(known["high"] - known["low"])
    kind = np.float32 if feature.precision == "float32" else np.float64
    numbers = [float(kind(end)) + 0.0 for node in nodes for end in cuts_of_leaf(node)]
    ends = sorted({end for end in numbers if math.isfinite(end)})
    width = ends[-1] - ends[0] if ends else 0.0
    return width if 0 < width < math.inf else max(1.0, abs(ends[0]) if ends else 1.0)
