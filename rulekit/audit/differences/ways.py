"""Where two models decide otherwise: ways in which they do, each with a row and with boxes, in words.

Where the cells of the columns that decide are few, both models are run on all of them, which settles everything. Where
they are many, rows of a table and rows beside every threshold are run first, and for each way that they do not show a
search (`rulekit.search.row_search`) finds a row or proves that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Bools, Ints
from rulekit.audit.differences.joint import Joint
from rulekit.audit.rule_matching import rule_parts
from rulekit.cells.space import Axis, CellSpace
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.safe_files import numbers
from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.nodes import TRUE, And, Contains, Missing, Node, Not
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, RUN_CELLS, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.names import printable
from rulekit.search.cover import NOWHERE, Box, BoxCover, Cells, RunField, SearchedField, grown
from rulekit.search.row_search import Claim, InBox, RowSearch, decided_as
from rulekit.shown.table_figures import ColumnFigures, known_columns
from rulekit.simplification.rewriting import formula
from rulekit.tables.table import Table
from rulekit.verification.rows import adversarial_rows

MOST_BOXES, MOST_SEARCHED_BOXES, MOST_QUESTIONS = 64, 12, 600
MOST_WORK = 200_000
"""Questions times parts of what is asked."""
MADE_ROWS = 2_000
_MOST_GIVEN = 24

Way = tuple[int, int]
"""What the first and what the second model decides, as indices of the joint classes."""


@dataclass(frozen=True, slots=True, eq=False)
class WayFound:
    """Cells that show a way in which the models differ, or row: the number of a made row that does.

    n_cells: of all cells, where they were all run. boxes: that cover it.
    """

    cells: Cells | None
    row: int = 0
    n_cells: int | None = None
    boxes: BoxCover = NOWHERE


class Differing:
    """The ways in which two models differ, by way. open: why some way is neither found nor excluded, else "".

    size: how many cells there are; run: whether both were run on all of them; added_up: whether the numbers of a column
    are added up; made: rows beside every threshold of both, where not all cells are run.
    """

    def __init__(
        self, joint: Joint, rows: Table | None = None, most_run: int = RUN_CELLS, deadline: Deadline = NO_LIMIT
    ) -> None:
        """rows: of a table, encoded by the joint schema; deadline: what is not settled by then is open."""
        self.joint, self.deadline = joint, deadline
        deadline.tell("the columns of both", 0.0)
        self.search = RowSearch(joint.over[0], joint.roots, deadline=deadline)
        self.space = self.search.space
        self.size = self.space.size
        self.run = self.space.whole and self.size <= most_run
        words = self.search.words
        self.deciders = [graph if words is None else words.graph(graph) for graph in joint.over]
        self.added_up = any(has_column(root) for graph in self.deciders for root in graph.decision.roots)
        self.open = ""
        self.rows = None if rows is None else self._cells_of(rows if words is None else words.table(rows))
        self.made: Table | None = None
        self.found = dict(self._by_running() if self.run else self._by_searching())

    # Cells of rows -------------------------------------------------------------------------------------------------

    def _cells_of(self, table: Table) -> Ints:
        """The cell of each axis [n, axes] of rows of the space."""
        own = [axis.of_values(np.asarray(table.array(axis.feature.name))) for axis in self.space.axes]
        return np.stack(own, axis=1) if own else np.zeros((table.n_rows, 0), dtype=np.int64)

    def rows_in(self, box: Box) -> Bools:
        """Which of the rows [n] are in a box."""
        assert self.rows is not None
        held = [np.ones(len(self.rows), dtype=bool), *(own[self.rows[:, j]] for j, own in enumerate(box))]
        return np.asarray(np.logical_and.reduce(held))

    def labels(self, model: int, table: Table) -> Ints:
        """What a model decides for rows of the space, as indices of the joint classes [n]."""
        own = np.array(self.joint.places[model], dtype=np.int64)
        return own[decide(self.deciders[model], table)]

    # All cells -----------------------------------------------------------------------------------------------------

    def _by_running(self) -> Iterator[tuple[Way, WayFound]]:
        shape, k = tuple(map(len, self.space.axes)), len(self.joint.classes)
        both = np.zeros((2, self.size), dtype=np.int64)
        for block in self.space.blocks():
            self.deadline.tell("all combinations of cells", 0.9 * block[0] / self.size)
            if self.deadline.over:  # what was run shows differences, and proves nothing
                self.open = self.deadline.reason
                break
            table = self.space.rows(block)[1]
            for model in (0, 1):
                both[model, block] = self.labels(model, table)
        counted = np.zeros(shape)
        plain = np.zeros(shape)  # cells without a missing or new value are shown rather than others
        for j, axis in enumerate(self.space.axes):
            plain -= ~axis.known.reshape([-1 if i == j else 1 for i in range(len(shape))])
        plain = np.exp2(plain) / 2
        if self.rows is not None and self.rows.shape[1]:
            np.add.at(counted, tuple(self.rows.T), 1.0)
        number = both[0] * k + both[1]
        for one in np.unique(number[both[0] != both[1]]).tolist():
            where = (number == one).reshape(shape)
            boxes = NOWHERE if self.open else grown(RunField(where, counted, plain), self.space.axes, MOST_BOXES)
            seed = np.unravel_index(int(np.where(where, counted + plain, 0.0).argmax()), shape)
            cells = None if self.open else int(where.sum())
            yield divmod(one, k), WayFound(tuple(int(i) for i in seed), 0, cells, boxes)

    # Questions -----------------------------------------------------------------------------------------------------

    def _by_searching(self) -> Iterator[tuple[Way, WayFound]]:
        halves = [adversarial_rows(graph, MADE_ROWS).table for graph in self.deciders]
        arrays = [np.concatenate([np.asarray(half.array(f.name)) for half in halves]) for f in halves[0].features]
        self.made = Table(halves[0].features, tuple(arrays), len(arrays[0]) if arrays else 0, source="rows")
        made = [self.labels(model, self.made) for model in (0, 1)]
        shown = self._shown_by_rows(self._cells_of(self.made)[made[0] != made[1]]) if self.space.whole else {}
        self._own: list[tuple[list[int], RowSearch]] = []
        for graph in self.joint.over:  # each decides by the columns that it reads, which are often few
            roots = graph.decision.roots
            read = readers([self.search.image(root) for root in roots])
            axes = [j for j, axis in enumerate(self.space.axes) if axis.feature.name in read] or [0]
            own = CellSpace(tuple(self.space.axes[j] for j in axes))
            search = RowSearch(graph, roots, few=RUN_CELLS, many=0, deadline=self.deadline, space=own)
            self._own.append((axes, search))
        ways = list(self._ways(made))
        for place, way in enumerate(ways):
            self.deadline.tell("where they differ", 0.1 + 0.8 * place / len(ways))
            boxes = shown.get(way, [])
            differ = np.flatnonzero((made[0] == way[0]) & (made[1] == way[1]))
            cells = boxes[0][0] if boxes else None
            if not boxes and not len(differ):
                sought = self.search.find(self._label(0, way[0]), self._label(1, way[1]))
                cells = sought.cells
                if cells is None:
                    self.open = self.open or sought.reason
                    continue
            yield way, WayFound(cells, int(differ[0]) if len(differ) else 0, None, self._searched_boxes(way, boxes))

    def _ways(self, made: Sequence[Ints]) -> Iterator[Way]:
        """The ways that are not excluded by what each model can decide at all, and by equality class by class."""
        of = [set(places) for places in self.joint.places]
        for first in sorted(of[0]):
            known = len(of[0]) == 2 or first not in of[1] or ((made[0] == first) & (made[1] != first)).any()
            if not known:
                known = self.search.find(self._label(0, first), self._label(1, first).contrary()) != Sought(None)
            yield from ((first, second) for second in sorted(of[1]) if known and second != first)

    def _label(self, model: int, joint_class: int) -> Claim:
        return decided_as(self.joint.over[model], self.joint.places[model].index(joint_class))

    def _shown_by_rows(self, cells: Ints) -> dict[Way, list[tuple[Cells, int]]]:
        """By way cells where the models differ so, with how many rows of the table are there, the most first.

        cells: of made rows, of which those with fewest unknown values come first.
        """
        numbers = np.zeros(len(cells), dtype=np.int64)
        if self.rows is not None:
            own, counts = np.unique(self.rows, axis=0, return_counts=True)
            cells, numbers = np.concatenate([own, cells]), np.concatenate([counts, numbers])
        table = self.space.rows_of(list(cells.T), np.zeros(len(cells), dtype=np.int64))[1]
        labels = [self.labels(model, table) for model in (0, 1)]
        unknown = sum((~axis.known[cells[:, j]] for j, axis in enumerate(self.space.axes)), np.zeros(len(cells)))
        found: dict[Way, list[tuple[Cells, int]]] = {}
        for i in np.lexsort((unknown, -numbers)).tolist():
            way = int(labels[0][i]), int(labels[1][i])
            if way[0] != way[1] and len(found.setdefault(way, [])) < _MOST_GIVEN + int(numbers[i]) * self.size:
                found[way].append((tuple(cells[i].tolist()), int(numbers[i])))
        return found

    def _searched_boxes(self, way: Way, given: Sequence[tuple[Cells, int]]) -> BoxCover:
        if self.added_up:  # no cells of numbers that are added up are worth reading
            return NOWHERE
        labels = [self._label(model, way[model]) for model in (0, 1)]

        def inside(box: Box) -> bool:
            """Whether it is proved that the models decide so on every cell of a box, each by its own columns."""
            return all(
                search.find(Claim(InBox(tuple(box[j] for j in axes))), label.contrary()) == Sought(None)
                for (axes, search), label in zip(self._own, labels, strict=True)
            )

        def outside(boxes: Sequence[Box]) -> tuple[Cells | None, bool]:
            """A cell outside of some boxes on which they do so; and whether it is proved that there is none."""
            sought = self.search.find(*labels, *(Claim(InBox(box), holds=False) for box in boxes))
            return sought.cells, not sought.reason

        sizes = list(map(len, self.space.axes))
        questions = min(MOST_QUESTIONS, MOST_WORK // self.search.parts(*labels))
        field = SearchedField(sizes, inside, outside, given, questions, self.deadline)
        return grown(field, self.space.axes, MOST_SEARCHED_BOXES)


@dataclass(frozen=True, slots=True)
class Region:
    """A condition on which two models differ in one way.

    text: in words; rows: how many of the table are in it, None without a table; at_most: without one, the largest share
    of the training rows that can be in it, by the statistics of the first model or the second (model: 0, 1), None where
    they do not say; cells: how many, where they were all run.
    """

    text: str
    rows: int | None = None
    at_most: float | None = None
    model: int = 0
    cells: int | None = None

    def as_dict(self, n_rows: int | None) -> dict[str, Any]:
        """JSON values; n_rows: of the table."""
        found: dict[str, Any] = {"where": self.text}
        if self.rows is not None and n_rows:
            found |= {"rows": self.rows, "share": self.rows / n_rows}
        if self.at_most is not None:
            found |= {"share_at_most": self.at_most, "of_training_rows_of": "AB"[self.model]}
        return found | ({} if self.cells is None else {"cells": self.cells})


def regions(differing: Differing, found: WayFound) -> tuple[Region, ...]:
    """The boxes of a way in words: those with most rows, or else those that can have most, first."""
    schema, axes = differing.joint.schema, differing.space.axes
    rules = [_boxes_of_rules(differing, model) if differing.rows is None else {} for model in (0, 1)]
    said = []
    for box in found.boxes.boxes:
        node = _condition(differing, box)
        text = printable(print_node(node, schema)) if node is not TRUE else "everywhere"
        cells = int(np.prod([int(own.sum()) for own in box])) if found.n_cells is not None else None
        bounds: list[float | None] = [None, None]
        if differing.rows is None:
            bounds = [most_of_training(differing.joint.models[k], box, axes, rules[k]) for k in (0, 1)]
        model = int(bounds[0] is None and bounds[1] is not None)
        rows = None if differing.rows is None else int(differing.rows_in(box).sum())
        said.append(Region(text, rows, bounds[model], model, cells))
    return tuple(sorted(said, key=lambda region: (-(region.rows or 0), -(region.at_most or 0), -(region.cells or 0))))


def _condition(differing: Differing, box: Box) -> Node:
    words = differing.search.words
    texts = (
        {} if words is None else {name: (text, k) for text, own in words.columns.items() for k, name in enumerate(own)}
    )
    parts: list[Node] = []
    for axis, own in zip(differing.space.axes, box, strict=True):
        if own.all():
            continue
        if words is None or axis.feature.name not in texts:
            part = formula(axis.cells, axis.mask(own))
            # bounds of a column stand beside the other conditions, and not in parentheses of their own
            parts += part.children if isinstance(part, And) else (part,)
            continue
        text, number = texts[axis.feature.name]
        leaf = Missing(text) if number == 0 else Contains(text, (words.schema[text].levels[number - 1],))
        parts.append(leaf if own[axis.encoded[:, 0] > 0.5].all() else Not(leaf))
    return TRUE if not parts else parts[0] if len(parts) == 1 else And(parts)


def _boxes_of_rules(differing: Differing, model: int) -> dict[str, Box]:
    """By id the boxes of the rules of a model that are boxes."""
    joint, space = differing.joint, differing.space
    found: dict[str, Box] = {}
    for rule in rule_parts(joint.models[model]):
        box = [np.ones(len(axis), dtype=bool) for axis in space.axes]
        for node in rule.parts.values():
            image = differing.search.image(joint.image(model, node))
            held = differing.search.on_axis(image)
            if held is None:
                break
            box[held[0]] &= held[1]
        else:
            if rule.condition is not None and rule.weight is None:
                found[rule.rule.id] = tuple(box)
    return found


def most_of_training(graph: RuleGraph, box: Box, axes: Sequence[Axis], rules: Mapping[str, Box]) -> float | None:
    """At most what share of the training rows lies in a box; None where the statistics say nothing of the box.

    No row is at hand, so nothing is estimated: the share of a box is at most that of each of its sides (levels, missing
    cells, bins of numbers) and at most that of each rule in which it lies; rules: by id the box of each that is one.
    """
    columns = known_columns(graph.statistics)
    coverage = {entry.get("id"): entry.get("coverage") for entry in graph.statistics.get("rules", ())}
    bounds = [_of_side(columns.get(axis.feature.name), axis, own) for axis, own in zip(axes, box, strict=True)]
    for rule, around in rules.items():
        if all(bool((of | ~own).all()) for own, of in zip(box, around, strict=True)):
            bounds.append(coverage.get(rule))
    return min((bound for bound in bounds if bound is not None), default=None)


def _of_side(then: ColumnFigures | None, axis: Axis, own: Bools) -> float | None:
    """The share of the rows whose cell of a column is one of some."""
    if then is None or own.all():
        return None
    total = (then.missing or 0.0) if own[axis.missing].any() else 0.0
    if axis.feature.kind == "categorical":
        codes = axis.feature.codes_of_texts
        held = {level for level in axis.feature.levels if own[axis.of_values(np.array([codes[level]]))[0]]}
        total += sum(share for level, share in (then.levels or {}).items() if level in held) + (then.unseen or 0.0)
    elif (own & ~axis.missing).any():
        if then.range is None:
            return None
        cuts, shares = numbers(then.entry.get("cuts")), numbers(then.entry.get("shares"))
        if cuts is None or shares is None or len(shares) != len(cuts) + 1:
            cuts, shares = [], [1.0 - (then.missing or 0.0)]
        dtype = axis.encoded.dtype
        above = np.nextafter(np.array(cuts, dtype=dtype), np.inf)  # a bin holds its upper end and not its lower one
        starts = axis.cells.of_values(np.array([then.range[0], *above], dtype=dtype))
        ends = axis.cells.of_values(np.array([*cuts, then.range[1]], dtype=dtype))
        for start, end, share in zip(starts, ends, shares, strict=True):
            cells = axis.joined[start : end + 1]
            total += share if own[cells[cells >= 0]].any() else 0.0
    return min(1.0, total)
