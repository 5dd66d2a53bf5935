"""Whether an artifact is proved to decide as its graph does, and how.

An artifact is read without being run (`Target.inspect`), and then either

* run on one row of every reachable cell, where these are few: two rows of one cell are the same to graph and artifact
  alike, so equality on all cells is equality on all rows, of reported probabilities too; or
* compared as a formula: both decisions are brought into one normal form, and where that is not the same already, a
  solver looks for cells on which they differ or shows that there are none. Cells that it finds are run.

Everything else is tested on rows. `prove` never raises for what an artifact is; running it may.

What equality of decisions rests on is a theorem for every row, or tests only (`guarantee`). A Boolean formula over
comparisons is decided without rounding. A sum whose weights and values lie on a common power-of-two grid and whose
largest partial sum needs at most 53 bits is exact in any order. A sum or circuit of doubles in one fixed order, one
IEEE 754 operation at a time, has the same bits wherever that order is kept. Only an unrounded column in a sum, and a
link function that decides, are tested and not proved (docs/numbers.md).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rulekit.cells.space import Axis, CellSpace, cell_space
from rulekit.cells.words import words_apart
from rulekit.errors import BudgetError, GraphError, InputError, RulekitError
from rulekit.exactness import Span, span_of_sum, total
from rulekit.graph.decisions import Decision
from rulekit.graph.leaves import conditions_of_points
from rulekit.graph.nodes import (
    Column,
    Compare,
    Family,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Probability,
    Step,
    Strength,
    topological,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import FEW_CELLS, MANY_CELLS, NO_LIMIT, Deadline, OutOfTime
from rulekit.logic.meaning import Meaning
from rulekit.logic.satisfying import satisfying
from rulekit.program.nodes import ARTIFACT_LEAVES, Labels
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table
from rulekit.targets import Reading, Target
from rulekit.verification.proof.thresholds import threshold_differences
from rulekit.verification.report import MAX_GAP

Basis = Literal["Boolean", "grid sum", "fixed order", "tested"]
_RANK: tuple[Basis, ...] = ("Boolean", "grid sum", "fixed order", "tested")


@dataclass(frozen=True, slots=True)
class Guarantee:
    """basis: "Boolean", "grid sum" and "fixed order" are theorems, "tested" is not; reason: the node that says so."""

    basis: Basis
    reason: str

    @property
    def proved(self) -> bool:
        return self.basis != "tested"


def guarantee(graph: RuleGraph) -> Guarantee:
    """The weakest basis of any part of the decision of `graph`."""
    found = [_basis_of(node) for node in topological(graph.decision.roots)]
    if any(root.family is not Family.BOOLEAN for root in graph.decision.roots):
        found.append(Guarantee("grid sum", "an arg-max of scores"))
    return max(found, key=lambda item: _RANK.index(item.basis), default=Guarantee("Boolean", "constants"))


def _basis_of(node: Node) -> Guarantee:
    name = type(node).__name__
    if isinstance(node, Column) and node.step == 0.0:
        return Guarantee("tested", f"{name} {node.feature!r} is not rounded to a grid")
    if isinstance(node, Logistic):
        return Guarantee("tested", "a link function decides")
    if isinstance(node, Probability):
        return Guarantee("fixed order", "a circuit of probabilities")
    if isinstance(node, Strength):
        sizes = [size for _, on, off in node.terms for size in (on, off)]
        exact = all(map(math.isfinite, sizes)) and total(Span.of(on, off) for _, on, off in node.terms).fits()
        return Guarantee("grid sum" if exact else "fixed order", "a sum of strengths")
    if isinstance(node, Linear | LinearThreshold):
        span = span_of_sum(node)
        if span is not None and span.fits():
            return Guarantee("grid sum", f"{name} over {span.bits} bits")
        return Guarantee("fixed order", f"{name} whose sums may round")
    return Guarantee("Boolean", "a Boolean formula")


Method = Literal["", "cells", "normal form", "solver"]
# Runs rows, raw and encoded, on artifact and graph, and says whether some label differs.
Comparing = Callable[[Mapping[str, npt.NDArray[Any]], Table], bool]

MOST_EXAMPLES = 32
MOST_SHOWN = 8
MOST_COUNTED = 10**15  # cells that are told by their number


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a proof.

    method: how, "" where decisions are not proved equal, for the reason given. cells: the reachable cells of all the
    columns that graph or artifact read, 0 where they are not known or above `MOST_COUNTED`; cells_run: how many were
    run. probabilities: whether the reported ones were compared on every cell too, or were read back as the same
    numbers. differs: a row on which labels differ was found. differences: where decisions are not proved equal,
    thresholds and levels of the artifact that are not the graph's.
    """

    method: Method = ""
    reason: str = ""
    cells: int = 0
    cells_run: int = 0
    probabilities: bool = False
    differs: bool = False
    differences: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        return self.method != ""


def read_artifact(graph: RuleGraph, content: bytes, target: Target) -> Reading:
    """What the artifact computes as far as its target can tell; a fault of the reader is a reason, not an error."""
    if target.inspect is None:
        return Reading(None, reason=f"the target {target.name} reads no operators back")
    try:
        return target.inspect(content, graph)
    except RulekitError as error:
        return Reading(None, reason=str(error))


def prove(
    graph: RuleGraph,
    reading: Reading,
    compare: Comparing,
    *,
    few: int = FEW_CELLS,
    many: int = MANY_CELLS,
    deadline: Deadline = NO_LIMIT,
) -> Proof:
    """Prove that graph and artifact decide alike, or find a row on which they do not, or say why neither.

    few: cells that are run in any case; many: cells that are run where nothing else proves it; deadline: what is not
    proved by then is not proved.
    """
    try:
        prover = _Prover(*_words_apart(graph, reading, compare), deadline)
    except (GraphError, InputError) as error:  # a leaf that does not fit the schema
        return Proof(reason=str(error))
    try:
        proof = prover.prove(few, many)
    except OutOfTime as error:
        proof = Proof(reason=str(error), differences=prover.differences)
    basis = guarantee(graph)
    return (
        proof
        if basis.proved or not proof.proved
        else replace(proof, method="", reason=basis.reason, probabilities=False)
    )


def _words_apart(graph: RuleGraph, reading: Reading, compare: Comparing) -> tuple[RuleGraph, Reading, Comparing]:
    """The same question about columns of words in the place of texts (`rulekit.cells.words`)."""
    words = words_apart(graph.schema)
    if words is None:
        return graph, reading, compare

    def compared(columns: Mapping[str, npt.NDArray[Any]], _: Table) -> bool:
        texts = words.texts(columns)
        return compare(texts, encode(texts, graph.schema, used=texts))

    def leaves(known: frozenset[Node] | None) -> frozenset[Node] | None:
        return None if known is None else leaves_below(words.nodes(known)[leaf] for leaf in known)

    decision, reported = reading.decision, reading.probabilities
    if decision is not None:
        image = words.nodes(decision.roots)
        roots = tuple(image[root] for root in decision.roots)
        decision = Labels(roots) if isinstance(decision, Labels) else decision.with_roots(roots)
    if reported is not None:
        image = words.nodes(reported)
        reported = tuple(image[node] for node in reported)
    apart = replace(
        reading,
        decision=decision,
        probabilities=reported,
        leaves=leaves(reading.leaves),
        probability_leaves=leaves(reading.probability_leaves),
    )
    return words.graph(graph), apart, compared


class _Prover:
    def __init__(self, graph: RuleGraph, reading: Reading, compare: Comparing, deadline: Deadline) -> None:
        self.graph, self.reading, self.compare, self.deadline = graph, reading, compare, deadline
        read_back = () if reading.decision is None else reading.decision.roots
        deciding: list[Node] = [*graph.decision.roots, *(reading.leaves or ()), *read_back]
        reported = [*graph.probability, *(reading.probabilities or ())]
        columns = columns_read(graph, reading)
        axes: dict[Any, Axis] = {}
        self.decided = cell_space(graph.schema, deciding, reading.texts, columns, axes)
        self.formulas = cell_space(graph.schema, [*deciding, *reported], reading.texts, columns, axes)
        self.differences = threshold_differences(graph, reading)
        self.reported: CellSpace | None = None
        if reading.probability_leaves is not None:
            self.reported = cell_space(
                graph.schema, [*deciding, *graph.probability, *reading.probability_leaves], reading.texts, columns, axes
            )

    def prove(self, few: int, many: int) -> Proof:
        if self.reading.leaves is None and self.reading.decision is None:
            return self._unread(few)
        proof = self._by_cells(few)
        if proof is not None:
            return proof
        why = self.reading.reason
        decision = self.reading.decision
        if decision is not None and decision.has_default and self.reading.default is None:
            decision, why = None, "its default class could not be read back"
        if decision is not None:
            proof = self._by_formula(decision)
            if proof.proved or proof.differs:
                return proof
            why = proof.reason
        proof = self._by_cells(many)
        if proof is not None:
            return proof
        return self._found(reason=self._too_many(why))

    def _too_many(self, why: str) -> str:
        if not self.decided.whole:
            column = next(axis.feature.name for axis in self.decided.axes if not axis.whole)
            return f"the numbers of {column!r} are added up" + (f"; {why}" if why else "")
        return f"{_shown(self.decided.size)} cells are too many to run" + (f"; {why}" if why else "")

    def _found(self, **known: Any) -> Proof:
        cells = self.decided.size if self.decided.whole and self.decided.size <= MOST_COUNTED else 0
        return Proof(**{"cells": cells, "differences": () if known.get("method") else self.differences, **known})

    # All cells -----------------------------------------------------------------------------------------------------

    def _by_cells(self, most: int) -> Proof | None:
        """A row of every cell, where the leaves of the artifact are known and the cells are at most so many."""
        if self.reading.leaves is None:
            return None
        for space, probabilities in ((self.reported, True), (self.decided, False)):
            if space is None or not space.whole or space.size > most:
                continue
            known = {"cells": space.size, "cells_run": space.size}
            if self._differs_on(space):
                return self._found(reason="they differ", differs=True, **known)
            return self._found(method="cells", probabilities=probabilities, **known)
        return None

    def _unread(self, most: int) -> Proof:
        """No proof: rows of the model's own cells, where they are few, may still show that labels differ."""
        why, graph = self.reading.reason or "the artifact cannot be read back", self.graph
        absent = [Missing(name) for name in graph.used_features]
        space = cell_space(graph.schema, [*graph.decision.roots, *absent], self.reading.texts)
        if not space.whole or space.size > most:
            return self._found(reason=why)
        # Up to eight of the values that show a cell: both ends of an interval are among them.
        differs = self._differs_on(space, min(MOST_SHOWN, most // space.size))
        return self._found(reason=why, cells_run=space.size, differs=differs)

    def _differs_on(self, space: CellSpace, times: int = 1) -> bool:
        """Whether labels differ on a row of some cell; all are run, each so many times with other values."""
        differs = False
        for turn in space.blocks(times):
            if not differs:
                self.deadline.check()
            differs |= self.compare(*space.rows(turn % space.size, turn // space.size))
        return differs

    # The formula ---------------------------------------------------------------------------------------------------

    def _by_formula(self, decision: Decision | Labels) -> Proof:
        """Equality of the decisions as formulas, or cells that show that they differ."""
        graph = self.graph
        default = graph.default if self.reading.default is None else self.reading.default
        try:
            meaning = Meaning(self.formulas, self.deadline)
            if not self.reading.texts and meaning.is_same(graph.decision, graph.default, decision, default):
                return self._found(method="normal form", probabilities=self._reports(meaning))
            expected = meaning.labels(graph.decision, graph.default, len(graph.classes))
            found = meaning.labels(decision, default, len(graph.classes))
            if expected == found and not self.reading.texts:
                return self._found(method="normal form", probabilities=self._reports(meaning, expected))
            forms = meaning.forms
            pairs = [(a, b) for a, b in zip(expected, found, strict=True) if a != b]
            differ = forms.disjunction([forms.choice(a, b ^ 1, b) for a, b in pairs])
        except OutOfTime:
            raise
        except (BudgetError, GraphError) as error:
            return self._found(reason=str(error))
        excluded: list[tuple[int, ...]] = []
        run = 0
        odd = self.reading.texts
        for cells in (*meaning.numbers.candidates, *self._odd_texts(meaning, expected)):
            run += 1
            if self._shows(cells):
                return self._found(reason="they differ", cells_run=run, differs=True)
        if odd:
            column = next(iter(odd))
            return self._found(reason=f"the text {odd[column][0]!r} of {column!r} is read in another way")
        while len(excluded) < MOST_EXAMPLES:
            answer = satisfying(forms, differ, excluded)
            if answer.cells is None:
                break
            run += 1
            if self._shows(answer.cells):
                return self._found(reason="they differ", cells_run=run, differs=True)
            excluded.append(answer.cells)
        if not excluded and not answer.reason:
            return self._found(method="solver", probabilities=self._reports(meaning, expected))
        if excluded and not answer.free:
            return self._found(reason="the artifact does not compute what its operators say", cells_run=run)
        if excluded:
            why = "numbers are worked out in other steps than the model's, whose roundings may differ"
            return self._found(reason=why, cells_run=run)
        self.deadline.check()
        return self._found(reason=f"the formula is {answer.reason}", cells_run=run)

    def _reports(self, meaning: Meaning, labels: tuple[int, ...] = ()) -> bool:
        """Whether the reported probabilities that were read back are the graph's, but for a rounding to float32."""
        if self.reading.probabilities is None:
            return False
        try:
            found = [meaning.sum(node) for node in self.reading.probabilities]
            expected = meaning.reported(self.graph, labels)
            return expected is not None and all(
                meaning.numbers.is_close(one, other, MAX_GAP / 2) for one, other in zip(expected, found, strict=True)
            )
        except (BudgetError, GraphError, ValueError):
            return False

    def _odd_texts(self, meaning: Meaning, labels: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        """Cells with a text that the artifact reads otherwise, where another cell of its column has another label."""
        forms = meaning.forms
        for axis, known in enumerate(self.formulas.axes):
            apart = self.reading.texts.get(known.feature.name, ())
            for place, shown in enumerate(known.values.tolist()):
                if shown[0] not in apart or len(set(shown)) > 1:
                    continue
                here = [meaning.numbers.with_cell(edge, axis, place) for edge in labels]
                for other in range(len(known)):
                    there = [meaning.numbers.with_cell(edge, axis, other) for edge in labels]
                    differ = [forms.choice(a, b ^ 1, b) for a, b in zip(here, there, strict=True)]
                    answer = satisfying(forms, forms.disjunction(differ))
                    if answer.cells is not None:
                        yield (*answer.cells[:axis], place, *answer.cells[axis + 1 :])

    def _shows(self, cells: tuple[int, ...]) -> bool:
        """Whether the labels differ in this cell, on one of the values that show it."""
        turn = np.arange(MOST_SHOWN, dtype=np.int64)
        places = [np.full(len(turn), cell, dtype=np.int64) for cell in cells]
        return self.compare(*self.formulas.rows_of(places, turn))


def _shown(cells: int) -> str:
    return f"{cells:,}" if cells <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"


def leaves_below(nodes: Iterable[Node]) -> frozenset[Node]:
    """The leaves by which rows reach some nodes, those of steps and points included, and the cleaned columns."""
    leaves: set[Node] = set()
    for node in topological(nodes):
        if isinstance(node, (*ARTIFACT_LEAVES, Column)):
            leaves.add(node)
        elif isinstance(node, Step):
            leaves.add(Missing(node.feature))
            leaves.update(Compare(node.feature, ">", cut) for cut in node.cuts)
        elif isinstance(node, LevelPoints):
            leaves.update(conditions_of_points(node))
    return frozenset(leaves)


def columns_read(graph: RuleGraph, reading: Reading) -> tuple[str, ...]:
    """The columns that graph or artifact read, in schema order."""
    nodes = [*(reading.leaves or ()), *(reading.probability_leaves or ())]
    names = {*graph.used_features, *(getattr(node, "feature", "") for node in nodes)}
    return tuple(name for name in graph.schema.names if name in names)


def reading_of_graph(inside: RuleGraph, graph: RuleGraph) -> Reading:
    """The reading of an artifact that is a rule graph itself, in some notation."""
    if inside.schema.features != graph.schema.features or inside.classes != graph.classes:
        return Reading(None, reason="it has other columns or classes than the model", as_written=True)
    leaves, reported = leaves_below(inside.decision.roots), leaves_below(inside.roots)
    return Reading(leaves, inside.decision, probability_leaves=reported, default=inside.default, as_written=True)
