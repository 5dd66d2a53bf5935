"""Rows on which several claims hold together, found or shown not to exist.

A claim says of a row that a Boolean node holds, that the label is one of some classes, or that it lies in a box of
cells, or the contrary; it may be made of the row as it is, or of the row with another value in one column. Where the
cells of the columns are few, all are run; where they are many, the claims are brought into logic (`meaning`) and a
solver looks for cells. What a solver finds is run before it counts. A model over texts is searched as one over columns
of words (`rulekit.cells.words`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from rulekit.arrays import Array, Bools
from rulekit.cells.space import CellSpace, cell_space
from rulekit.cells.sums import CellSum, add, number, range_of, sum_with_cell
from rulekit.cells.words import taken_apart, words_apart
from rulekit.errors import BudgetError, GraphError
from rulekit.graph.decisions import Decision, Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.leaves import with_named_tokens
from rulekit.graph.nodes import Above, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.limits import FEW_CELLS, MANY_CELLS, NO_LIMIT, Deadline, OutOfTime
from rulekit.logic.meaning import Meaning
from rulekit.logic.satisfying import Sought, first_shown, separated
from rulekit.search.tree_sums import TreeSum, found_cells, tree_sum
from rulekit.tables.table import Table

_MOST_TRIED = 32


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a decision is one of some classes; default: where none takes part, None: that of the model."""

    decision: Decision
    classes: frozenset[int]
    default: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class InBox:
    """The row lies in a box: by axis of the search which of its cells [cells] are in it."""

    sides: tuple[Bools, ...]

    @property
    def masks(self) -> list[int]:
        """The same, as bits."""
        return [sum(1 << int(cell) for cell in np.flatnonzero(side)) for side in self.sides]


@dataclass(frozen=True, slots=True)
class Claim:
    """A node, label or box holds, or not; changed: of the row with this cell in the axis of this number (no box)."""

    what: Node | Label | InBox
    holds: bool = True
    changed: tuple[int, int] | None = None

    def at(self, axis: int, cell: int) -> Claim:
        """The claim of the row with another cell in one column."""
        return replace(self, changed=(axis, cell))

    def contrary(self) -> Claim:
        return replace(self, holds=not self.holds)


def decided_as(graph: RuleGraph, class_index: int) -> Claim:
    """The claim that a row is decided as a class; of two classes a claim of what decides, which is soon answered."""
    if isinstance(graph.decision, Fires):
        return Claim(graph.decision.formula, class_index == 1)
    return Claim(Label(graph.decision, frozenset((class_index,)), graph.default))


Claims = tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of some claims."""

    claims: Claims


class RowSearch:
    """Looks for rows over the columns that some nodes read.

    few: cells that are all run; many: cells that are run where the solver gives up. space: the axes, in each of which
    known, missing and unseen cells are apart; where it is given, it has axes of all columns that the nodes read.
    deadline: what is not found by then stays open. words: the columns of words that the space has in the place of
    texts; none of them is ever missing, the first of a text says whether that is.
    """

    def __init__(
        self,
        graph: RuleGraph,
        nodes: Sequence[Node],
        *,
        few: int = FEW_CELLS,
        many: int = MANY_CELLS,
        deadline: Deadline = NO_LIMIT,
        space: CellSpace | None = None,
    ) -> None:
        self._few, self._many, self.deadline = few, many, deadline
        schema = with_named_tokens(graph.schema, (*graph.written, *nodes))
        self.graph, self.words = taken_apart(graph)
        if schema != graph.schema:  # nodes of another model name further words
            self.words = words_apart(schema)
            self.graph = graph if self.words is None else self.words.graph(graph)
        self._images: dict[Node, Node] = {}
        read = [self.image(node) for node in nodes]
        if space is None:
            space = cell_space(self.graph.schema, read, apart=set(schema.names) - set(self._columns_of_words))
        self.space = space
        self._known: dict[Any, Array] = {}
        self._edges: dict[Any, int] = {}
        self._trees: dict[Node, TreeSum | None] = {}
        self._gave_up = ""

    def axis_of(self, column: str) -> int | None:
        """The number of a column's axis, None where no node reads it."""
        names = [axis.feature.name for axis in self.space.axes]
        return names.index(column) if column in names else None

    def on_axis(self, image: Node) -> tuple[int, Bools] | None:
        """Of a condition on one column its axis and where it holds there [cells]; None of another condition."""
        columns = columns_of(image)
        axis = self.axis_of(next(iter(columns))) if len(columns) == 1 else None
        return None if axis is None else (axis, self.space.axes[axis].truth(image))

    @property
    def _columns_of_words(self) -> list[str]:
        return [] if self.words is None else [name for columns in self.words.columns.values() for name in columns]

    def unknown_and_known(self) -> Iterator[tuple[int, str, list[tuple[int, int]]]]:
        """By axis the column and pairs of a cell that is missing or new and one that is known.

        Of a text these are its being missing or not, whatever words the text then has.
        """
        texts = {} if self.words is None else {columns[0]: text for text, columns in self.words.columns.items()}
        words = set(self._columns_of_words)
        for axis, place in enumerate(self.space.axes):
            column = place.feature.name
            known = place.encoded[:, 0] < 0.5 if column in texts else place.known
            if column in words and column not in texts:
                continue
            pairs = [(int(a), int(b)) for a in np.flatnonzero(~known) for b in np.flatnonzero(known)]
            yield axis, texts.get(column, column), pairs

    def image(self, node: Node) -> Node:
        """What a node is over the columns of words."""
        return node if self.words is None else self.words.nodes((node,), self._images)[node]

    def find(self, *asked: Claim | Either) -> Sought:
        """A row on which all claims hold, of `Either` at least one."""
        if self.deadline.over:
            return Sought(None, self.deadline.reason)
        claims = [(each,) if isinstance(each, Claim) else each.claims for each in asked]
        if self.words is not None:
            claims = [tuple(map(self._over_words, either)) for either in claims]
        try:
            if self.space.whole and self.space.size <= self._few:
                return self._by_cells(claims)
            # What logic shows not to exist does not exist, whatever the numbers are that it does not know.
            of_trees = self._by_trees(claims)
            found = self._by_solver(claims) if of_trees is None or of_trees.reason else of_trees
            found = of_trees if of_trees is not None and found.reason else found
            if found.cells is None and found.reason and self.space.size <= self._many:
                found = self._settled(self._by_cells(claims))
        except OutOfTime as error:
            return Sought(None, str(error))
        return found

    def _over_words(self, claim: Claim) -> Claim:
        what = claim.what
        if isinstance(what, InBox):
            return claim
        if isinstance(what, Node):
            return replace(claim, what=self.image(what))
        decision = what.decision.with_roots(tuple(map(self.image, what.decision.roots)))
        return replace(claim, what=replace(what, decision=decision))

    def _settled(self, found: Sought) -> Sought:
        if found.nowhere and not self.space.whole:
            column = next(axis.feature.name for axis in self.space.axes if not axis.whole)
            return Sought(None, f"the numbers of {column!r} are added up, so that cells do not decide")
        return found

    # All cells -----------------------------------------------------------------------------------------------------

    def _by_cells(self, claims: Sequence[Claims]) -> Sought:
        shape = tuple(map(len, self.space.axes))
        box = _box_of(claims)
        sides = None if box is None else [np.flatnonzero(side) for side in box.sides]
        held: Any = np.ones((1,) * len(shape), dtype=bool)
        for either in claims:
            some: Any = np.zeros((1,) * len(shape), dtype=bool)
            for claim in either:
                own = sides
                values = self._over_cells(claim.what).reshape(shape)
                if claim.changed is not None:
                    axis, cell = claim.changed
                    values = values.take([cell], axis=axis)
                    own = None if sides is None else [*sides[:axis], np.zeros(1, dtype=np.intp), *sides[axis + 1 :]]
                values = values if own is None else values[np.ix_(*own)]
                some = some | (_among(claim.what, values) == claim.holds)
            held = held & some
            if not held.any():
                return Sought(None)
        places = [int(place) for place in np.unravel_index(int(np.argmax(held)), held.shape)]
        return Sought(tuple(places if sides is None else [int(side[k]) for side, k in zip(sides, places, strict=True)]))

    def _over_cells(self, what: Node | Label | InBox) -> Array:
        """The truth of a node or box, or the label of a decision, in every cell [cells]."""
        if isinstance(what, InBox):
            held = np.zeros(tuple(map(len, self.space.axes)), dtype=bool)
            held[np.ix_(*what.sides)] = True
            return held.ravel()
        key = what if isinstance(what, Node) else (what.decision, what.default)
        if key in self._known:
            return self._known[key]
        parts = []
        for cells in self.space.blocks():
            self.deadline.check()
            parts.append(self._values(what, self.space.rows(cells)[1]))
        values = np.concatenate(parts)
        if self.space.size <= self._few:
            self._known[key] = values
        return values

    def _values(self, what: Node | Label, table: Table) -> Array:
        if isinstance(what, Node):
            values: Array = evaluate_nodes([what], table)[what]
            return values
        default = self.graph.default if what.default is None else what.default
        model = RuleGraph(self.graph.schema, tuple(range(what.decision.n_classes)), what.decision, default=default)
        return decide(model, table).astype(np.int16)

    def _shown(self, claims: Sequence[Claims], cells: Sequence[int]) -> bool:
        """Whether all claims hold on a row of these cells, by running it."""
        return all(any(self._holds(claim, cells) for claim in either) for either in claims)

    def _holds(self, claim: Claim, cells: Sequence[int]) -> bool:
        if isinstance(claim.what, InBox):
            return all(side[cell] for side, cell in zip(claim.what.sides, cells, strict=True)) == claim.holds
        places = [np.array([cell], dtype=np.int64) for cell in cells]
        if claim.changed is not None:
            places[claim.changed[0]][:] = claim.changed[1]
        table = self.space.rows_of(places, np.zeros(1, dtype=np.int64))[1]
        return bool(_among(claim.what, self._values(claim.what, table))[0]) == claim.holds

    # Trees ---------------------------------------------------------------------------------------------------------

    def _by_trees(self, claims: Sequence[Claims]) -> Sought | None:
        """The answer where each claim is that a sum of trees is above a threshold, or not; None of other claims."""
        goals = [self._goal(either[0]) if len(either) == 1 else None for either in claims]
        known = [goal for goal in goals if goal is not None]
        if len(known) < len(goals) or not self.space.whole:
            return None
        for (one, goal), (other, against) in combinations(zip(claims, known, strict=True), 2):
            if one[0].what == other[0].what and one[0].holds != other[0].holds:
                known.append(goal.less(against.contrary()))
        found = found_cells(known, list(map(len, self.space.axes)), self.deadline)
        return found if found.cells is None or self._shown(claims, found.cells) else None

    def _goal(self, claim: Claim) -> TreeSum | None:
        """The sum that must be above zero where a claim holds; None where it is none of trees."""
        what: Any = claim.what
        holds = claim.holds
        if isinstance(what, Label) and isinstance(what.decision, Fires) and len(what.classes) == 1:
            what, holds = what.decision.formula, holds == (1 in what.classes)
        if not isinstance(what, Above):
            return None
        if what not in self._trees:
            self._trees[what] = tree_sum(what, self.on_axis, list(map(len, self.space.axes)))
        goal = self._trees[what]
        goal = goal.at(*claim.changed) if goal is not None and claim.changed is not None else goal
        return goal if goal is None or holds else goal.contrary()

    # Logic ---------------------------------------------------------------------------------------------------------

    @cached_property
    def _meaning(self) -> Meaning:
        return Meaning(self.space, self.deadline)

    def _by_solver(self, claims: Sequence[Claims]) -> Sought:
        if self._gave_up:
            return Sought(None, self._gave_up)
        try:
            forms = self._meaning.forms
            edges = [forms.disjunction(map(self._edge, either)) for either in claims]
            edge = forms.conjunction(edges)
            known = self._of_sums(claims) or self._on_box(claims, edges)
        except (BudgetError, GraphError) as error:
            self._gave_up = str(error)
            return Sought(None, self._gave_up)
        if known is not None:
            return known
        found, tried = first_shown(forms, edge, lambda cells: self._shown(claims, cells), _MOST_TRIED)
        if found.cells is not None:
            return found
        if len(tried) == _MOST_TRIED:
            return Sought(None, "numbers are compared whose values the solver does not know")
        why = self.deadline.reason if self.deadline.over else f"the formula is {found.reason}"
        found = Sought(None, found.reason and why)
        return self._settled(found) if tried else found  # what was run may show it by another of its numbers

    def parts(self, *claims: Claim) -> int:
        """How many parts the logic of some claims has, by which a question takes long; 1 where they have none."""
        try:
            return sum(len(self._meaning.forms.below(self._edge(claim))) for claim in claims)
        except (BudgetError, GraphError):
            return 1

    def _on_box(self, claims: Sequence[Claims], edges: Sequence[int]) -> Sought | None:
        """The answer where bounds over a box that rows must lie in show it; None where they do not."""
        box = _box_of(claims)
        if box is None:
            return None
        seen = [self._meaning.forms.on_box(edge, box.masks) for edge in edges]
        if False in seen:
            return Sought(None)
        first = tuple(int(side.argmax()) for side in box.sides)
        return Sought(first) if None not in seen and self._shown(claims, first) else None

    def _of_sums(self, claims: Sequence[Claims]) -> Sought | None:
        """Whether one sum is above its threshold and another is not, without a solver; None where that is not known."""
        single = sorted((either[0] for either in claims if len(either) == 1), key=lambda claim: not claim.holds)
        if len(claims) != 2 or [claim.holds for claim in single] != [True, False]:
            return None
        above, below = map(self._sum_of, single)
        if above is None or below is None:
            return None
        limits = range_of(add(above, below, -1))
        if limits is not None and limits[1] <= 0:
            return Sought(None)
        difference = separated(self._meaning.forms, above, below)
        if difference.cells is not None:
            return difference if self._shown(claims, difference.cells) else None
        return difference if difference.nowhere else None

    def _sum_of(self, claim: Claim) -> CellSum | None:
        """What must be above zero, where a claim says so of a sum of numbers that each hang on one column."""
        what = claim.what
        if not isinstance(what, Above) or what.score.family is not Family.REAL:
            return None
        total = add(self._meaning.sum(what.score), number(what.threshold), -1)
        if total.atoms or total.edges:
            return None
        return total if claim.changed is None else sum_with_cell(total, *claim.changed)

    def _edge(self, claim: Claim) -> int:
        meaning, what = self._meaning, claim.what
        if isinstance(what, InBox):
            sides = [meaning.forms.literal(axis, mask) for axis, mask in enumerate(what.masks)]
            return meaning.forms.conjunction(sides) ^ (not claim.holds)
        key = what, claim.changed
        if key not in self._edges:
            if claim.changed is not None:
                self._edges[key] = meaning.numbers.with_cell(self._edge(Claim(what)), *claim.changed)
            elif isinstance(what, Node):
                self._edges[key] = meaning.truth(what)
            else:
                default = self.graph.default if what.default is None else what.default
                labels = meaning.labels(what.decision, default, what.decision.n_classes)
                self._edges[key] = meaning.forms.disjunction([labels[k] for k in sorted(what.classes)])
        return self._edges[key] ^ (not claim.holds)


def _among(what: Node | Label | InBox, values: Array) -> Bools:
    return np.isin(values, list(what.classes)) if isinstance(what, Label) else values


def _box_of(claims: Sequence[Claims]) -> InBox | None:
    single = [either[0] for either in claims if len(either) == 1]
    return next((claim.what for claim in single if claim.holds and isinstance(claim.what, InBox)), None)
