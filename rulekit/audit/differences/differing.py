"""Where two models decide otherwise: proved to be nowhere, or ways in which they do, each with a row and with boxes.

Where the cells of the columns that decide are few, both models are run on all of them, which settles everything. Where
they are many, rows of a table and rows beside every threshold are run first, and for each way that they do not show a
search (`rulekit.search.row_search`) finds a row or proves that there is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rulekit.audit.differences.joint import Joint
from rulekit.audit.differences.own_cells import BothDecide, OwnCells
from rulekit.audit.differences.regions import NOWHERE, Box, Cells, Grown, RunField, SearchedField, grown
from rulekit.cells.places import Places, places_of
from rulekit.errors import BudgetError, GraphError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import has_column, readers
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.meaning import Meaning
from rulekit.search.row_search import Claim, Label, RowSearch, is_known
from rulekit.tables.table import Table
from rulekit.verification.rows.adversarial import adversarial_rows

MOST_RUN = 1 << 20
"""Cells that are all run."""
MOST_BOXES, MOST_SEARCHED_BOXES, MOST_QUESTIONS = 64, 12, 600
MOST_WORK = 200_000
"""Questions times parts of what is asked."""
MADE_ROWS = 2_000
_BLOCK = 1 << 16
_MOST_GIVEN = 24

Ints = npt.NDArray[np.int64]
Way = tuple[int, int]
"""What the first and what the second model decides, as indices of the joint classes."""


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A way in which the models differ. cells: one that shows it, or row: the number of a made row that does.

    n_cells: of all cells, where they were all run. boxes: that cover it.
    """

    way: Way
    cells: Cells | None
    row: int | None = None
    n_cells: int | None = None
    boxes: Grown = NOWHERE


class Differing:
    """The ways in which two models differ. open: why some way is neither found nor excluded, "" where all is settled.

    size: how many cells there are; run: whether both were run on all of them; added_up: whether the numbers of a column
    are added up.
    """

    def __init__(
        self, joint: Joint, rows: Table | None = None, most_run: int = MOST_RUN, deadline: Deadline = NO_LIMIT
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
        self.places = self._places()
        self.made = self._made()
        self.open = ""
        self.rows = None if rows is None else self._cells_of(rows)
        self.found = tuple(self._by_running() if self.run else self._by_searching())

    @property
    def settled(self) -> bool:
        """Whether it is known of every way whether the models differ so."""
        return not self.open

    # Cells of rows -------------------------------------------------------------------------------------------------

    def _places(self) -> list[Places]:
        nodes = readers([root for graph in self.deciders for root in graph.decision.roots])
        return [places_of(axis, nodes.get(axis.feature.name, [])) for axis in self.space.axes]

    def _cells_of(self, table: Table) -> Ints:
        """The cell of each axis [n, axes] of rows of the joint schema."""
        return self._places_of(table if self.search.words is None else self.search.words.table(table))

    def _places_of(self, table: Table) -> Ints:
        own = [place.of_rows(np.asarray(table.array(place.axis.feature.name))) for place in self.places]
        return np.stack(own, axis=1) if own else np.zeros((table.n_rows, 0), dtype=np.int64)

    def rows_in(self, box: Box) -> npt.NDArray[np.bool_]:
        """Which of the rows [n] are in a box."""
        assert self.rows is not None
        held = np.ones(len(self.rows), dtype=bool)
        for j, own in enumerate(box):
            held &= own[self.rows[:, j]]
        return held

    def labels(self, model: int, table: Table) -> Ints:
        """What a model decides for rows of the space, as indices of the joint classes [n]."""
        own = np.array(self.joint.places[model], dtype=np.int64)
        return own[decide(self.deciders[model], table)]

    def _made(self) -> Table | None:
        """Rows beside every threshold of both, where not all cells are run."""
        if self.run:
            return None
        halves = [adversarial_rows(graph, MADE_ROWS).table for graph in self.deciders]
        arrays = [np.concatenate([np.asarray(half.array(f.name)) for half in halves]) for f in halves[0].features]
        return Table(halves[0].features, tuple(arrays), len(arrays[0]) if arrays else 0, source="rows")

    # All cells -----------------------------------------------------------------------------------------------------

    def _by_running(self) -> Iterator[Found]:
        shape = tuple(map(len, self.space.axes))
        both = np.zeros((2, self.size), dtype=np.int64)
        for start in range(0, self.size, _BLOCK):
            self.deadline.tell("all combinations of cells", 0.9 * start / self.size)
            if self.deadline.over:  # what was run shows differences, and proves nothing
                self.open = self.deadline.reason
                break
            block = np.arange(start, min(start + _BLOCK, self.size), dtype=np.int64)
            table = self.space.rows(block)[1]
            for model in (0, 1):
                both[model, block] = self.labels(model, table)
        counted = np.zeros(shape)
        plain = np.zeros(shape)  # cells without a missing or new value are shown rather than others
        for j, axis in enumerate(self.space.axes):
            plain -= ~is_known(axis).reshape([-1 if i == j else 1 for i in range(len(shape))])
        plain = np.exp2(plain) / 2
        if self.rows is not None and self.rows.shape[1]:
            np.add.at(counted, tuple(self.rows.T), 1.0)
        number = both[0] * len(self.joint.classes) + both[1]
        for one in np.unique(number[both[0] != both[1]]).tolist():
            where = (number == one).reshape(shape)
            boxes = NOWHERE if self.open else grown(RunField(where, counted, plain), self.space.axes, MOST_BOXES)
            way = divmod(one, len(self.joint.classes))
            seed = np.unravel_index(int(np.where(where, counted + plain, 0.0).argmax()), shape)
            yield Found(way, tuple(int(i) for i in seed), None, None if self.open else int(where.sum()), boxes)

    # Questions -----------------------------------------------------------------------------------------------------

    def _by_searching(self) -> Iterator[Found]:
        assert self.made is not None
        made = [self.labels(model, self.made) for model in (0, 1)]
        shown = self._shown_by_rows(made)
        self.own = [OwnCells(graph, self.space, self.deadline) for graph in self.deciders]
        try:
            self._meaning: Meaning | None = Meaning(self.space, self.deadline)
        except (BudgetError, GraphError):
            self._meaning = None
        ways = list(self._ways(made))
        for place, way in enumerate(ways):
            self.deadline.tell("where they differ", 0.1 + 0.8 * place / len(ways))
            cells = next((cells for cells, _ in shown.get(way, ())), None)
            row = None
            if cells is None:
                differ = np.flatnonzero((made[0] == way[0]) & (made[1] == way[1]))
                row = int(differ[0]) if len(differ) else None
            if cells is None and row is None:
                sought = self.search.find(*self._claims(way))
                cells = sought.cells
                if cells is None:
                    self.open = self.open or sought.reason
                    continue
            yield Found(way, cells, row, None, self._searched_boxes(way, shown.get(way, ())))

    def _ways(self, made: Sequence[Ints]) -> Iterator[Way]:
        """The ways that are not excluded by what each model can decide at all, and by equality class by class."""
        of = [set(places) for places in self.joint.places]
        for first in sorted(of[0]):
            if len(of[0]) == 2 or first not in of[1] or self._ever_differs(first, made):
                yield from ((first, second) for second in sorted(of[1]) if second != first)

    def _ever_differs(self, first: int, made: Sequence[Ints]) -> bool:
        """Whether the second model may decide otherwise where the first one decides this class."""
        if ((made[0] == first) & (made[1] != first)).any():
            return True
        own, other = self.joint.places[0].index(first), self.joint.places[1].index(first)
        sought = self.search.find(self._label(0, own), self._label(1, other).contrary())
        return sought.cells is not None or bool(sought.reason)

    def _claims(self, way: Way) -> tuple[Claim, Claim]:
        """That the models decide so; a claim that holds stands first, which the search over sums asks for."""
        found = [self._label(model, self.joint.places[model].index(way[model])) for model in (0, 1)]
        return (found[1], found[0]) if found[1].holds and not found[0].holds else (found[0], found[1])

    def _label(self, model: int, own: int) -> Claim:
        graph = self.joint.over[model]
        if isinstance(graph.decision, Fires):
            return Claim(graph.decision.formula, own == 1)
        return Claim(Label(graph.decision, frozenset((own,)), graph.default))

    def _shown_by_rows(self, made: Sequence[Ints]) -> dict[Way, list[tuple[Cells, int]]]:
        """By way cells where the models differ so, with how many rows of the table are there, the most first.

        Then come those of made rows, which have fewest unknown values first.
        """
        if not self.space.whole:
            return {}
        assert self.made is not None
        differ = np.flatnonzero(made[0] != made[1])
        cells = self._places_of(self.made)[differ]
        numbers = np.zeros(len(cells), dtype=np.int64)
        if self.rows is not None:
            own, counts = np.unique(self.rows, axis=0, return_counts=True)
            cells, numbers = np.concatenate([own, cells]), np.concatenate([counts, numbers])
        table = self.space.rows_of(list(cells.T), np.zeros(len(cells), dtype=np.int64))[1]
        labels = [self.labels(model, table) for model in (0, 1)]
        unknown = np.zeros(len(cells), dtype=np.int64)
        for j, axis in enumerate(self.space.axes):
            unknown += ~is_known(axis)[cells[:, j]]
        found: dict[Way, list[tuple[Cells, int]]] = {}
        for i in np.lexsort((unknown, -numbers)).tolist():
            way = int(labels[0][i]), int(labels[1][i])
            if way[0] != way[1] and len(found.setdefault(way, [])) < _MOST_GIVEN + int(numbers[i]) * self.size:
                found[way].append((tuple(cells[i].tolist()), int(numbers[i])))
        return found

    def _searched_boxes(self, way: Way, given: Sequence[tuple[Cells, int]]) -> Grown:
        if self.added_up:  # no cells of numbers that are added up are worth reading
            return NOWHERE
        own = [self.joint.places[model].index(way[model]) for model in (0, 1)]
        both = BothDecide(self.own, self._meaning, (own[0], own[1]))
        sizes = list(map(len, self.space.axes))
        questions = min(MOST_QUESTIONS, MOST_WORK // both.parts)
        field = SearchedField(sizes, both.inside, both.outside, given, questions, self.deadline)
        return grown(field, self.space.axes, MOST_SEARCHED_BOXES)
