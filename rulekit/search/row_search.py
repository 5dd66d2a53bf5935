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
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Bools
from rulekit.cells.space import CellSpace, cell_space
from rulekit.cells.words import taken_apart, words_apart
from rulekit.errors import BudgetError, GraphError
from rulekit.graph.decisions import Decision, Fires
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.leaves import with_named_tokens
from rulekit.graph.nodes import Above, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.limits import FEW_CELLS, MANY_CELLS, NO_LIMIT, Deadline, OutOfTime
from rulekit.logic.exact_numbers import CellSum, add, number, range_of, sum_with_cell
from rulekit.logic.meaning import Meaning
from rulekit.logic.satisfying import satisfying, separated

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


@dataclass(frozen=True, slots=True)
class Either:
    """At least one of some claims."""

    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Sought:
    """cells: one of each axis, None where none was found; reason: why that is no proof that there are none, else ""."""

    cells: tuple[int, ...] | None
    reason: str = ""


class RowSearch:
    """Looks for rows over the columns that some nodes read.

    few: cells that are all run; many: cells that are run where the solver gives up. space: the axes, in each of which
    known, missing and unseen cells are apart; where it is given, it has axes of all columns that the nodes read.
    deadline: what is not found by then stays open. words: the columns of
    words that the space has in the place of texts; none of them is ever missing, the first of a text says whether that
    is.
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
        self._known: dict[Any, npt.NDArray[Any]] = {}
        self._meaning: Meaning | None = None
        self._edges: dict[Any, int] = {}
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

    def _over_words(self, claim: Claim) -> Claim:
        what = claim.what
        if isinstance(what, InBox):
            return claim
        if isinstance(what, Node):
            return replace(claim, what=self.image(what))
        decision = what.decision.with_roots(tuple(map(self.image, what.decision.roots)))
        return replace(claim, what=replace(what, decision=decision))

    def find(self, *asked: Claim | Either) -> Sought:
        """A row on which all claims hold, of `Either` at least one."""
        if self.deadline.over:
            return Sought(None, self.deadline.reason)
        claims = [Either((claim,)) if isinstance(claim, Claim) else claim for claim in asked]
        if self.words is not None:
            claims = [Either(tuple(map(self._over_words, either.claims))) for either in claims]
        try:
            if self.space.whole and self.space.size <= self._few:
                return self._by_cells(claims)
            # What logic shows not to exist does not exist, whatever the numbers are that it does not know.
            found = self._by_solver(claims)
            if found.cells is None and found.reason and self.space.size <= self._many:
                found = self._settled(self._block_by_block(claims))
        except OutOfTime as error:
            return Sought(None, str(error))
        return found

    def _settled(self, found: Sought) -> Sought:
        if found.cells is None and not found.reason and not self.space.whole:
            column = next(axis.feature.name for axis in self.space.axes if not axis.whole)
            return Sought(None, f"the numbers of {column!r} are added up, so that cells do not decide")
        return found

    # All cells -----------------------------------------------------------------------------------------------------

    def _by_cells(self, claims: Sequence[Either]) -> Sought:
        shape = tuple(map(len, self.space.axes))
        box = _box_of(claims)
        sides = None if box is None else [np.flatnonzero(side) for side in box.sides]
        held: Any = np.ones((1,) * len(shape), dtype=bool)
        for either in claims:
            some: Any = np.zeros((1,) * len(shape), dtype=bool)
            for claim in either.claims:
                own = sides
                values = self._over_cells(claim.what).reshape(shape)
                if claim.changed is not None:
                    axis, cell = claim.changed
                    values = values.take([cell], axis=axis)
                    own = None if sides is None else [*sides[:axis], np.zeros(1, dtype=np.intp), *sides[axis + 1 :]]
                values = values if own is None else values[np.ix_(*own)]
                some = some | (self._among(claim.what, values) == claim.holds)
            held = held & some
            if not held.any():
                return Sought(None)
        places = [int(place) for place in np.unravel_index(int(np.argmax(held)), held.shape)]
        return Sought(tuple(places if sides is None else [int(side[k]) for side, k in zip(sides, places, strict=True)]))

    def _over_cells(self, what: Node | Label | InBox) -> npt.NDArray[Any]:
        if isinstance(what, InBox):
            held = np.zeros(tuple(map(len, self.space.axes)), dtype=bool)
            held[np.ix_(*what.sides)] = True
            return held.ravel()
        key = what if isinstance(what, Node) else (what.decision, what.default)
        if key not in self._known:
            parts = []
            for cells in self.space.blocks():
                self.deadline.check()
                parts.append(self._values(what, self.space.rows(cells)[1]))
            self._known[key] = np.concatenate(parts)
        return self._known[key]

    def _values(self, what: Node | Label, table: Any) -> npt.NDArray[Any]:
        if isinstance(what, Node):
            values: npt.NDArray[Any] = evaluate_nodes([what], table)[what]
            return values
        default = self.graph.default if what.default is None else what.default
        model = RuleGraph(self.graph.schema, tuple(range(what.decision.n_classes)), what.decision, default=default)
        return decide(model, table).astype(np.int16)

    def _among(self, what: Node | Label | InBox, values: npt.NDArray[Any]) -> Bools:
        if not isinstance(what, Label):
            return values
        return np.isin(values, list(what.classes))

    def _block_by_block(self, claims: Sequence[Either]) -> Sought:
        shape = tuple(map(len, self.space.axes))
        for cells in self.space.blocks():
            self.deadline.check()
            held = self._hold(claims, list(np.unravel_index(cells, shape)))
            if held.any():
                at = np.unravel_index(int(cells[int(np.argmax(held))]), shape)
                return Sought(tuple(int(place) for place in at))
        return Sought(None)

    def _hold(self, claims: Sequence[Either], places: list[npt.NDArray[Any]]) -> Bools:
        held = np.ones(len(places[0]) if places else 1, dtype=bool)
        for either in claims:
            some = np.zeros(len(held), dtype=bool)
            for claim in either.claims:
                own = list(places)
                if claim.changed is not None:
                    own[claim.changed[0]] = np.full(len(held), claim.changed[1], dtype=np.int64)
                some |= self._holds(claim.what, own) == claim.holds
            held &= some
        return held

    def _holds(self, what: Node | Label | InBox, places: list[npt.NDArray[Any]]) -> Bools:
        if isinstance(what, InBox):
            within = [side[own] for side, own in zip(what.sides, places, strict=True)]
            return np.asarray(np.logical_and.reduce(within))
        table = self.space.rows_of(places, np.zeros(len(places[0]), dtype=np.int64))[1]
        return self._among(what, self._values(what, table))

    # Logic ---------------------------------------------------------------------------------------------------------

    def _by_solver(self, claims: Sequence[Either]) -> Sought:
        if self._gave_up:
            return Sought(None, self._gave_up)
        try:
            if self._meaning is None:
                self._meaning = Meaning(self.space, self.deadline)
            meaning = self._meaning
            join = meaning.forms.disjunction
            edges = [join([self._edge(meaning, claim) for claim in either.claims]) for either in claims]
            edge = meaning.forms.conjunction(edges)
            apart = self._of_sums(meaning, claims) or self._on_box(meaning, claims, edges)
        except (BudgetError, GraphError) as error:
            self._gave_up = str(error)
            return Sought(None, self._gave_up)
        if apart is not None:
            return apart
        tried: list[tuple[int, ...]] = []
        while len(tried) < _MOST_TRIED:
            answer = satisfying(meaning.forms, edge, tried)
            if answer.cells is None:
                found = Sought(None, self._open(answer.reason))
                # cells that were run and left out may show it by another of their numbers
                return self._settled(found) if tried else found
            places = [np.array([cell], dtype=np.int64) for cell in answer.cells]
            if bool(self._hold(claims, places)[0]):
                return Sought(answer.cells)
            tried.append(answer.cells)
        return Sought(None, "numbers are compared whose values the solver does not know")

    def _open(self, reason: str) -> str:
        """Why the solver's search is no proof, in words; "" where it is one."""
        return reason and (self.deadline.reason if self.deadline.over else f"the formula is {reason}")

    def parts(self, *claims: Claim) -> int:
        """How many parts the logic of some claims has, by which a question takes long; 1 where they have none."""
        try:
            self._meaning = self._meaning or Meaning(self.space, self.deadline)
            return sum(len(self._meaning.forms.below(self._edge(self._meaning, claim))) for claim in claims)
        except (BudgetError, GraphError):
            return 1

    def _on_box(self, meaning: Meaning, claims: Sequence[Either], edges: Sequence[int]) -> Sought | None:
        """The answer where bounds over a box that rows must lie in show it; None where they do not."""
        box = _box_of(claims)
        if box is None:
            return None
        masks = box.masks
        seen = [meaning.forms.on_box(edge, masks) for edge in edges]
        if False in seen:
            return Sought(None)
        first = tuple(int(side.argmax()) for side in box.sides)
        places = [np.array([cell], dtype=np.int64) for cell in first]
        return Sought(first) if None not in seen and bool(self._hold(claims, places)[0]) else None

    def _of_sums(self, meaning: Meaning, claims: Sequence[Either]) -> Sought | None:
        """Whether one sum is above its threshold and another is not, without a solver; None where that is not known."""
        single = [either.claims[0] for either in claims if len(either.claims) == 1]
        single.sort(key=lambda claim: not claim.holds)
        if len(claims) != 2 or [claim.holds for claim in single] != [True, False]:
            return None
        above, below = (_sum_of(meaning, claim) for claim in single)
        if above is None or below is None:
            return None
        limits = range_of(add(above, below, -1))
        if limits is not None and limits[1] <= 0:
            return Sought(None)
        difference = separated(meaning.forms, above, below)
        if difference.cells is not None:
            places = [np.array([cell], dtype=np.int64) for cell in difference.cells]
            return Sought(difference.cells) if bool(self._hold(claims, places)[0]) else None
        return Sought(None) if difference.nowhere else None

    def _edge(self, meaning: Meaning, claim: Claim) -> int:
        if isinstance(claim.what, InBox):
            forms = meaning.forms
            inside = forms.conjunction([forms.literal(axis, mask) for axis, mask in enumerate(claim.what.masks)])
            return inside ^ (not claim.holds)
        key = claim.what, claim.changed
        if key not in self._edges:
            if claim.changed is None:
                self._edges[key] = self._whole_edge(meaning, claim.what)
            else:
                whole = self._edge(meaning, Claim(claim.what))
                self._edges[key] = meaning.numbers.with_cell(whole, *claim.changed)
        return self._edges[key] ^ (not claim.holds)

    def _whole_edge(self, meaning: Meaning, what: Node | Label) -> int:
        if isinstance(what, Node):
            return meaning.truth(what)
        default = self.graph.default if what.default is None else what.default
        labels = meaning.labels(what.decision, default, what.decision.n_classes)
        return meaning.forms.disjunction([labels[k] for k in sorted(what.classes)])


def _box_of(claims: Sequence[Either]) -> InBox | None:
    single = [either.claims[0] for either in claims if len(either.claims) == 1]
    return next((claim.what for claim in single if claim.holds and isinstance(claim.what, InBox)), None)


def _sum_of(meaning: Meaning, claim: Claim) -> CellSum | None:
    what = claim.what
    if not isinstance(what, Above) or what.score.family is not Family.REAL:
        return None
    total = add(meaning.sum(what.score), number(what.threshold), -1)
    if total.atoms or total.edges:
        return None
    return total if claim.changed is None else sum_with_cell(total, *claim.changed)
