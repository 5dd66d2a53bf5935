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

from rulekit.arrays import Ints
from rulekit.audit.differences.joint import Joint
from rulekit.cells.space import CellSpace
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.leaves import has_column, readers
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, RUN_CELLS, Deadline
from rulekit.search.cover import NOWHERE, Box, BoxCover, Cells, RunField, SearchedField, grown
from rulekit.search.row_search import Claim, InBox, RowSearch, Sought, decided_as
from rulekit.tables.table import Table
from rulekit.verification.rows.adversarial import adversarial_rows

MOST_BOXES, MOST_SEARCHED_BOXES, MOST_QUESTIONS = 64, 12, 600
MOST_WORK = 200_000
"""Questions times parts of what is asked."""
MADE_ROWS = 2_000
_MOST_GIVEN = 24

Way = tuple[int, int]
"""What the first and what the second model decides, as indices of the joint classes."""


@dataclass(frozen=True, slots=True, eq=False)
class WayFound:
    """A way in which the models differ. cells: one that shows it, or row: the number of a made row that does.

    n_cells: of all cells, where they were all run. boxes: that cover it.
    """

    way: Way
    cells: Cells | None
    row: int | None = None
    n_cells: int | None = None
    boxes: BoxCover = NOWHERE


class Differing:
    """The ways in which two models differ. open: why some way is neither found nor excluded, "" where all is settled.

    size: how many cells there are; run: whether both were run on all of them; added_up: whether the numbers of a column
    are added up.
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
        self.made = self._made()
        self.open = ""
        self.rows = None if rows is None else self._cells_of(rows)
        self.found = tuple(self._by_running() if self.run else self._by_searching())

    @property
    def settled(self) -> bool:
        """Whether it is known of every way whether the models differ so."""
        return not self.open

    # Cells of rows -------------------------------------------------------------------------------------------------

    def _cells_of(self, table: Table) -> Ints:
        """The cell of each axis [n, axes] of rows of the joint schema."""
        return self._places_of(table if self.search.words is None else self.search.words.table(table))

    def _places_of(self, table: Table) -> Ints:
        own = [axis.of_values(np.asarray(table.array(axis.feature.name))) for axis in self.space.axes]
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

    def _by_running(self) -> Iterator[WayFound]:
        shape = tuple(map(len, self.space.axes))
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
        number = both[0] * len(self.joint.classes) + both[1]
        for one in np.unique(number[both[0] != both[1]]).tolist():
            where = (number == one).reshape(shape)
            boxes = NOWHERE if self.open else grown(RunField(where, counted, plain), self.space.axes, MOST_BOXES)
            way = divmod(one, len(self.joint.classes))
            seed = np.unravel_index(int(np.where(where, counted + plain, 0.0).argmax()), shape)
            yield WayFound(way, tuple(int(i) for i in seed), None, None if self.open else int(where.sum()), boxes)

    # Questions -----------------------------------------------------------------------------------------------------

    def _by_searching(self) -> Iterator[WayFound]:
        assert self.made is not None
        made = [self.labels(model, self.made) for model in (0, 1)]
        shown = self._shown_by_rows(made)
        self._own = [self._search_of(graph) for graph in self.joint.over]
        ways = list(self._ways(made))
        for place, way in enumerate(ways):
            self.deadline.tell("where they differ", 0.1 + 0.8 * place / len(ways))
            cells = next((cells for cells, _ in shown.get(way, ())), None)
            row = None
            if cells is None:
                differ = np.flatnonzero((made[0] == way[0]) & (made[1] == way[1]))
                row = int(differ[0]) if len(differ) else None
            if cells is None and row is None:
                sought = self.search.find(self._label(0, way[0]), self._label(1, way[1]))
                cells = sought.cells
                if cells is None:
                    self.open = self.open or sought.reason
                    continue
            yield WayFound(way, cells, row, None, self._searched_boxes(way, shown.get(way, ())))

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
        sought = self.search.find(self._label(0, first), self._label(1, first).contrary())
        return sought.cells is not None or bool(sought.reason)

    def _label(self, model: int, joint_class: int) -> Claim:
        """The claim that a model decides a class, given as index of the joint classes."""
        return decided_as(self.joint.over[model], self.joint.places[model].index(joint_class))

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
            unknown += ~axis.known[cells[:, j]]
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

    def _search_of(self, graph: RuleGraph) -> tuple[list[int], RowSearch]:
        """The axes of the columns by which one model decides, which are often few, and the search over them."""
        read = readers([self.search.image(root) for root in graph.decision.roots])
        axes = [j for j, axis in enumerate(self.space.axes) if axis.feature.name in read] or [0]
        own = CellSpace(tuple(self.space.axes[j] for j in axes))
        return axes, RowSearch(graph, graph.decision.roots, few=RUN_CELLS, many=0, deadline=self.deadline, space=own)
