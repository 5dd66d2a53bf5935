"""Rows on which several claims hold together, found or shown not to exist.

A claim says of a row that a Boolean node holds, or that the label is one of some classes, or the contrary; it may be
made of the row as it is, or of the row with another value in one column. Where the cells of the columns are few, all
are run; where they are many, the claims are brought into logic (`meaning`) and a solver looks for cells. What a solver
finds is run before it counts. A model over texts is searched as one over columns of words (`rulekit.cells.words`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.cells.axis import Axis
from rulekit.cells.space import CellSpace, cell_space
from rulekit.cells.words import taken_apart, words_apart
from rulekit.errors import BudgetError, GraphError
from rulekit.graph.decisions import Decision
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.leaves import with_named_tokens
from rulekit.graph.nodes import Above, Family, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import NO_LIMIT, Deadline, OutOfTime
from rulekit.logic.exact_numbers import Sum, add, number, range_of
from rulekit.logic.forms import FALSE, TRUE
from rulekit.logic.meaning import Meaning
from rulekit.logic.satisfying import satisfying
from rulekit.logic.sum_search import separated
from rulekit.schema import UNSEEN_CODE
from rulekit.tables.table import absent

FEW_CELLS = 1 << 16
MANY_CELLS = 1 << 21
_BLOCK = 1 << 16
_MOST_TRIED = 32

Truths = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Label:
    """The label of a decision is one of some classes; default: where none takes part, None: that of the model."""

    decision: Decision
    classes: frozenset[int]
    default: int | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """A node or label holds, or not; changed: of the row with this cell in the axis of this number."""

    what: Node | Label
    holds: bool = True
    changed: tuple[int, int] | None = None

    def at(self, axis: int, cell: int) -> Claim:
        """The claim of the row with another cell in one column."""
        return replace(self, changed=(axis, cell))

    def contrary(self) -> Claim:
        return replace(self, holds=not self.holds)


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
    known, missing and unseen cells are apart. deadline: what is not found by then stays open. words: the columns of
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
    ) -> None:
        self._few, self._many, self.deadline = few, many, deadline
        schema = with_named_tokens(graph.schema, (*graph.written, *nodes))
        self.graph, self.words = taken_apart(graph)
        if schema != graph.schema:  # nodes of another model name further words
            self.words = words_apart(schema)
            self.graph = graph if self.words is None else self.words.graph(graph)
        self._images: dict[Node, Node] = {}
        read = [self.image(node) for node in nodes]
        self.space: CellSpace = cell_space(
            self.graph.schema, read, apart=set(schema.names) - set(self._columns_of_words)
        )
        self._known: dict[Any, Truths] = {}
        self._meaning: Meaning | None = None
        self._edges: dict[Any, int] = {}
        self._gave_up = ""

    def axis_of(self, column: str) -> int | None:
        """The number of a column's axis, None where no node reads it."""
        names = [axis.feature.name for axis in self.space.axes]
        return names.index(column) if column in names else None

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
            known = place.encoded[:, 0] < 0.5 if column in texts else is_known(place)
            if column in words and column not in texts:
                continue
            pairs = [(int(a), int(b)) for a in np.flatnonzero(~known) for b in np.flatnonzero(known)]
            yield axis, texts.get(column, column), pairs

    def image(self, node: Node) -> Node:
        """What a node is over the columns of words."""
        return node if self.words is None else self.words.nodes((node,), self._images)[node]

    def _over_words(self, claim: Claim) -> Claim:
        what = claim.what
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
        if self.space.whole and self.space.size <= self._few:
            return self._by_cells(claims)
        # What logic shows not to exist does not exist, whatever the numbers are that it does not know.
        found = self._by_solver(claims)
        if found.cells is None and found.reason and self.space.size <= self._many:
            try:
                return self._settled(self._block_by_block(claims))
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
        held: Any = np.ones((1,) * len(shape), dtype=bool)
        for either in claims:
            some: Any = np.zeros((1,) * len(shape), dtype=bool)
            for claim in either.claims:
                truth = self._truth(claim.what).reshape(shape)
                if claim.changed is not None:
                    axis, cell = claim.changed
                    truth = truth.take([cell], axis=axis)
                some = some | (truth == claim.holds)
            held = held & some
            if not held.any():
                return Sought(None)
        places = np.unravel_index(int(np.argmax(held)), held.shape)
        return Sought(tuple(int(place) for place in places))

    def _truth(self, what: Node | Label) -> Truths:
        """Where a node or label holds, over all cells."""
        key = what if isinstance(what, Node) else (what.decision, what.default)
        if key not in self._known:
            table = self.space.rows(np.arange(self.space.size, dtype=np.int64))[1]
            self._known[key] = self._values(what, table)
        return self._among(what, self._known[key])

    def _values(self, what: Node | Label, table: Any) -> npt.NDArray[Any]:
        if isinstance(what, Node):
            values: npt.NDArray[Any] = evaluate_nodes([what], table)[what]
            return values
        default = self.graph.default if what.default is None else what.default
        model = RuleGraph(self.graph.schema, tuple(range(what.decision.n_classes)), what.decision, default=default)
        return decide(model, table).astype(np.int16)

    def _among(self, what: Node | Label, values: npt.NDArray[Any]) -> Truths:
        if isinstance(what, Node):
            return values
        return np.isin(values, list(what.classes))

    def _block_by_block(self, claims: Sequence[Either]) -> Sought:
        shape = tuple(map(len, self.space.axes))
        for start in range(0, self.space.size, _BLOCK):
            self.deadline.check()
            cells = np.arange(start, min(start + _BLOCK, self.space.size), dtype=np.int64)
            held = self._hold(claims, list(np.unravel_index(cells, shape)))
            if held.any():
                at = np.unravel_index(int(cells[int(np.argmax(held))]), shape)
                return Sought(tuple(int(place) for place in at))
        return Sought(None)

    def _hold(self, claims: Sequence[Either], places: list[npt.NDArray[Any]]) -> Truths:
        """Whether all claims hold [n] in these cells, which are run."""
        held = np.ones(len(places[0]) if places else 1, dtype=bool)
        for either in claims:
            some = np.zeros(len(held), dtype=bool)
            for claim in either.claims:
                own = list(places)
                if claim.changed is not None:
                    own[claim.changed[0]] = np.full(len(held), claim.changed[1], dtype=np.int64)
                table = self.space.rows_of(own, np.zeros(len(held), dtype=np.int64))[1]
                some |= self._among(claim.what, self._values(claim.what, table)) == claim.holds
            held &= some
        return held

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
            apart = self._of_sums(meaning, claims)
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

    def _of_sums(self, meaning: Meaning, claims: Sequence[Either]) -> Sought | None:
        """Whether one sum is above its threshold and another is not, without a solver; None where that is not known."""
        single = [either.claims[0] for either in claims if len(either.claims) == 1]
        if len(claims) != 2 or len(single) != 2 or not single[0].holds or single[1].holds:
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
        return Sought(None) if difference.equal else None

    def _edge(self, meaning: Meaning, claim: Claim) -> int:
        key = claim.what, claim.changed
        if key not in self._edges:
            if claim.changed is None:
                self._edges[key] = self._whole_edge(meaning, claim.what)
            else:
                whole = self._edge(meaning, Claim(claim.what))
                self._edges[key] = _with_cell(meaning, whole, *claim.changed)
        return self._edges[key] ^ (not claim.holds)

    def _whole_edge(self, meaning: Meaning, what: Node | Label) -> int:
        if isinstance(what, Node):
            return meaning.truth(what)
        default = self.graph.default if what.default is None else what.default
        labels = meaning.labels(what.decision, default, what.decision.n_classes)
        return meaning.forms.disjunction([labels[k] for k in sorted(what.classes)])


def is_missing(axis: Axis) -> npt.NDArray[np.bool_]:
    """Which cells of an axis are missing."""
    first = axis.encoded[:, 0]
    return absent(first)


def is_known(axis: Axis) -> npt.NDArray[np.bool_]:
    """Which cells of an axis hold a value that is neither missing nor a level never seen."""
    first = axis.encoded[:, 0]
    return ~is_missing(axis) & (True if first.dtype.kind == "f" else first != UNSEEN_CODE)


def _with_cell(meaning: Meaning, root: int, axis: int, cell: int) -> int:
    """An edge where one column is in one cell; what compares numbers that are not known becomes another unknown."""
    forms = meaning.forms
    image: dict[int, int] = {}

    def moved(edge: int) -> int:
        if edge >> 1 not in image:  # an edge inside a sum
            image[edge >> 1] = _with_cell(meaning, edge & ~1, axis, cell)
        return image[edge >> 1] ^ (edge & 1)

    for index in forms.below(root):
        kind = forms.kinds[index]
        if kind[0] == "true":
            image[index] = TRUE
        elif kind[0] == "cells":
            image[index] = (TRUE if kind[2] >> cell & 1 else FALSE) if kind[1] == axis else 2 * index
        elif kind[0] == "and":
            image[index] = forms.conjunction([moved(edge) for edge in kind[1]])
        elif kind[0] == "above" and not kind[1].atoms:
            total = _sum_with_cell(kind[1], axis, cell)
            for edge, weight in kind[1].edges:
                total = add(total, meaning.numbers.of_truth(moved(edge)), weight)
            image[index] = forms.above_zero(total)
        else:
            right = kind[2] if len(kind) > 2 else number(0)
            image[index] = forms.opaque(f"{kind[0]} with cell {cell} of {axis}", kind[1], right)
    return moved(root)


def _sum_of(meaning: Meaning, claim: Claim) -> Sum | None:
    """The sum that is above 0 where a claim holds, None where it is of another kind."""
    what = claim.what
    if not isinstance(what, Above) or what.score.family is not Family.REAL:
        return None
    total = add(meaning.sum(what.score), number(what.threshold), -1)
    if total.atoms or total.edges:
        return None
    return total if claim.changed is None else _sum_with_cell(total, *claim.changed)


def _sum_with_cell(value: Sum, axis: int, cell: int) -> Sum:
    """The constant and the tables of a sum where one column is in one cell."""
    own = sum((values[cell] for place, values in value.tables if place == axis), value.constant)
    return Sum(own, tuple((place, values) for place, values in value.tables if place != axis))
