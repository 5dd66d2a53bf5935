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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.axis import cuts_of
from rulekit.cells.space import CellSpace, cell_space
from rulekit.cells.words import words_apart
from rulekit.errors import BudgetError, GraphError, InputError, RulekitError
from rulekit.exactness import Span, span_of_sum, total
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Decision
from rulekit.graph.leaves import column_of, conditions_of_points, levels_of_leaf, truth_by_code
from rulekit.graph.nodes import Family, Node, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import FEW_CELLS, MANY_CELLS, NO_LIMIT, Deadline, OutOfTime
from rulekit.logic.forms import Forms
from rulekit.logic.meaning import Meaning
from rulekit.logic.satisfying import first_shown, satisfying
from rulekit.numbers import canonical_threshold, crossing, float32, next_float32
from rulekit.program.nodes import ARTIFACT_LEAVES, Labels
from rulekit.schema import UNSEEN_CODE, Feature
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table
from rulekit.targets import Reading, Target
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
    if isinstance(node, rg.Column) and node.step == 0.0:
        return Guarantee("tested", f"{name} {node.feature!r} is not rounded to a grid")
    if isinstance(node, rg.Logistic):
        return Guarantee("tested", "a link function decides")
    if isinstance(node, rg.Probability):
        return Guarantee("fixed order", "a circuit of probabilities")
    if isinstance(node, rg.Strength):
        finite = all(math.isfinite(size) for _, on, off in node.terms for size in (on, off))
        exact = finite and total(Span.of(on, off) for _, on, off in node.terms).fits()
        return Guarantee("grid sum" if exact else "fixed order", "a sum of strengths")
    if isinstance(node, rg.Linear | rg.LinearThreshold):
        span = span_of_sum(node)
        if span is not None and span.fits():
            return Guarantee("grid sum", f"{name} over {span.bits} bits")
        return Guarantee("fixed order", f"{name} whose sums may round")
    return Guarantee("Boolean", "a Boolean formula")


Method = Literal["", "cells", "normal form", "solver"]
# Runs rows, raw and encoded, on artifact and graph, and says whether some label differs.
Comparing = Callable[[Mapping[str, Array], Table], bool]

DIFFER = "they differ"
MOST_EXAMPLES = 32
MOST_SHOWN = 8
MOST_COUNTED = 10**15  # cells that are told by their number
MOST_NAMED = 8  # thresholds and levels


@dataclass(frozen=True, slots=True)
class Proof:
    """The outcome of a proof.

    method: how, "" where decisions are not proved equal, for the reason given. cells: the reachable cells of all the
    columns that graph or artifact read, 0 where they are not known or above `MOST_COUNTED`; cells_run: how many were
    run. probabilities: whether the reported ones were compared on every cell too, or were read back as the same
    numbers. differences: where decisions are not proved equal, thresholds and levels of the artifact that are not the
    graph's.
    """

    method: Method = ""
    reason: str = ""
    cells: int = 0
    cells_run: int = 0
    probabilities: bool = False
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
    known = basis.proved or not proof.proved
    return proof if known else replace(proof, method="", reason=basis.reason, probabilities=False)


def _words_apart(graph: RuleGraph, reading: Reading, compare: Comparing) -> tuple[RuleGraph, Reading, Comparing]:
    """The same question about columns of words in the place of texts (`rulekit.cells.words`)."""
    words = words_apart(graph.schema)
    if words is None:
        return graph, reading, compare

    def compared(columns: Mapping[str, Array], _: Table) -> bool:
        texts = words.texts(columns)
        return compare(texts, encode(texts, graph.schema, used=texts))

    def images(roots: tuple[Node, ...]) -> tuple[Node, ...]:
        image = words.nodes(roots)
        return tuple(image[root] for root in roots)

    decision, known = reading.decision, reading.probability_leaves
    if decision is not None:
        roots = images(decision.roots)
        decision = Labels(roots) if isinstance(decision, Labels) else decision.with_roots(roots)
    apart = replace(
        reading,
        decision=decision,
        probabilities=None if reading.probabilities is None else images(reading.probabilities),
        leaves=None if reading.leaves is None else leaves_below(images(tuple(reading.leaves))),
        probability_leaves=known and leaves_below(images(tuple(known))),
    )
    return words.graph(graph), apart, compared


class _Prover:
    def __init__(self, graph: RuleGraph, reading: Reading, compare: Comparing, deadline: Deadline) -> None:
        self.graph, self.reading, self.compare, self.deadline = graph, reading, compare, deadline
        read_back = () if reading.decision is None else reading.decision.roots
        deciding = [*graph.decision.roots, *(reading.leaves or ()), *read_back]
        made = partial(cell_space, graph.schema, texts=reading.texts, also=columns_read(graph, reading), made={})
        self.decided = made(deciding)
        self.formulas = made([*deciding, *graph.probability, *(reading.probabilities or ())])
        leaves = reading.probability_leaves
        self.reported = None if leaves is None else made([*deciding, *graph.probability, *leaves])
        self.differences = threshold_differences(graph, reading)

    def prove(self, few: int, many: int) -> Proof:
        reading = self.reading
        if reading.leaves is None and reading.decision is None:
            return self._unread(few)
        if (proof := self._by_cells(few)) is not None:
            return proof
        why, decision = reading.reason, reading.decision
        if decision is not None and decision.has_default and reading.default is None:
            decision, why = None, "its default class could not be read back"
        if decision is not None:
            proof = self._by_formula(decision)
            if proof.proved or proof.reason == DIFFER:
                return proof
            why = proof.reason
        if (proof := self._by_cells(many)) is not None:
            return proof
        if self.decided.whole:
            size = self.decided.size
            shown = f"{size:,}" if size <= MOST_COUNTED else f"more than {MOST_COUNTED:,}"
            open_ = f"{shown} cells are too many to run"
        else:
            column = next(axis.feature.name for axis in self.decided.axes if not axis.whole)
            open_ = f"the numbers of {column!r} are added up"
        return self._found(reason=f"{open_}; {why}" if why else open_)

    def _found(self, **known: Any) -> Proof:
        cells = self.decided.size if self.decided.whole and self.decided.size <= MOST_COUNTED else 0
        return Proof(**{"cells": cells, "differences": () if known.get("method") else self.differences, **known})

    def _by_cells(self, most: int) -> Proof | None:
        """A row of every cell, where the leaves of the artifact are known and the cells are at most so many."""
        for space in (self.reported, self.decided) if self.reading.leaves is not None else ():
            if space is not None and space.whole and space.size <= most:
                known = {"cells": space.size, "cells_run": space.size}
                if self._differs_on(space):
                    return self._found(reason=DIFFER, **known)
                return self._found(method="cells", probabilities=space is self.reported, **known)
        return None

    def _unread(self, most: int) -> Proof:
        """No proof: rows of the model's own cells, where they are few, may still show that labels differ."""
        why, graph = self.reading.reason or "the artifact cannot be read back", self.graph
        absent = [rg.Missing(name) for name in graph.used_features]
        space = cell_space(graph.schema, [*graph.decision.roots, *absent], self.reading.texts)
        if not space.whole or space.size > most:
            return self._found(reason=why)
        # Up to eight of the values that show a cell: both ends of an interval are among them.
        self._differs_on(space, min(MOST_SHOWN, most // space.size))
        return self._found(reason=why, cells_run=space.size)

    def _differs_on(self, space: CellSpace, times: int = 1) -> bool:
        """Whether labels differ on a row of some cell; all are run, each so many times with other values."""
        differs = False
        for turn in space.blocks(times):
            if not differs:
                self.deadline.check()
            differs |= self.compare(*space.rows(turn % space.size, turn // space.size))
        return differs

    def _by_formula(self, decision: Decision | Labels) -> Proof:
        """Equality of the decisions as formulas, or cells that show that they differ."""
        graph, odd = self.graph, self.reading.texts
        default = graph.default if self.reading.default is None else self.reading.default
        try:
            meaning = Meaning(self.formulas, self.deadline)
            if not odd and meaning.is_same(graph.decision, graph.default, decision, default):
                return self._found(method="normal form", probabilities=self._reports(meaning))
            expected = meaning.labels(graph.decision, graph.default, len(graph.classes))
            found = meaning.labels(decision, default, len(graph.classes))
            if expected == found and not odd:
                return self._found(method="normal form", probabilities=self._reports(meaning, expected))
            differ = _differ(meaning.forms, expected, found)
        except OutOfTime:
            raise
        except (BudgetError, GraphError) as error:
            return self._found(reason=str(error))
        run = 0
        for cells in (*meaning.numbers.candidates, *self._odd_texts(meaning, expected)):
            run += 1
            if self._shows(cells):
                return self._found(reason=DIFFER, cells_run=run)
        if odd:
            column = next(iter(odd))
            return self._found(reason=f"the text {odd[column][0]!r} of {column!r} is read in another way")
        answer, excluded = first_shown(meaning.forms, differ, self._shows, MOST_EXAMPLES)
        run += len(excluded)
        if answer.cells is not None:
            return self._found(reason=DIFFER, cells_run=run + 1)
        if answer.nowhere and not excluded:
            return self._found(method="solver", probabilities=self._reports(meaning, expected))
        if excluded:
            apart = "numbers are worked out in other steps than the model's, whose roundings may differ"
            why = apart if answer.free else "the artifact does not compute what its operators say"
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
            close = partial(meaning.numbers.is_close, gap=MAX_GAP / 2)
            return expected is not None and all(close(*pair) for pair in zip(expected, found, strict=True))
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
                    answer = satisfying(forms, _differ(forms, here, there))
                    if answer.cells is not None:
                        yield (*answer.cells[:axis], place, *answer.cells[axis + 1 :])

    def _shows(self, cells: tuple[int, ...]) -> bool:
        """Whether the labels differ in this cell, on one of the values that show it."""
        turn = np.arange(MOST_SHOWN, dtype=np.int64)
        places = [np.full(len(turn), cell, dtype=np.int64) for cell in cells]
        return self.compare(*self.formulas.rows_of(places, turn))


def _differ(forms: Forms, labels: Sequence[int], others: Sequence[int]) -> int:
    return forms.disjunction([forms.choice(a, b ^ 1, b) for a, b in zip(labels, others, strict=True) if a != b])


def leaves_below(nodes: Iterable[Node]) -> frozenset[Node]:
    """The leaves by which rows reach some nodes, those of steps and points included, and the cleaned columns."""
    leaves: set[Node] = set()
    for node in topological(nodes):
        if isinstance(node, (*ARTIFACT_LEAVES, rg.Column)):
            leaves.add(node)
        elif isinstance(node, rg.Step):
            leaves.add(rg.Missing(node.feature))
            leaves.update(rg.Compare(node.feature, ">", cut) for cut in node.cuts)
        elif isinstance(node, rg.LevelPoints):
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


# Thresholds and levels that an artifact has and its graph has not, or the other way round, in words -------------------


def threshold_differences(graph: RuleGraph, reading: Reading) -> tuple[str, ...]:
    """What is different, one sentence for each, at most `MOST_NAMED`; () where nothing is known of the artifact."""
    if reading.leaves is None and reading.decision is None:
        return ()
    roots = [*(reading.leaves or ()), *(reading.probability_leaves or ())]
    roots += () if reading.decision is None else reading.decision.roots
    nodes, found = topological(graph.roots), topological(roots)
    complete = reading.probability_leaves is not None or not graph.probability
    lines: list[str] = []
    for feature in graph.schema:
        ours, theirs = _leaves_of(nodes, feature), _leaves_of(found, feature)
        if feature.kind == "numeric":
            lines += _numbers(feature, ours, theirs, complete)
        elif feature.kind == "categorical":
            lines += _levels(feature, ours, theirs)
    return tuple(lines[:MOST_NAMED])


def _leaves_of(nodes: Iterable[Node], feature: Feature) -> list[Node]:
    own = [node for node in nodes if column_of(node) == feature.name and not isinstance(node, rg.Column)]
    return [
        leaf for node in own for leaf in (conditions_of_points(node) if isinstance(node, rg.LevelPoints) else [node])
    ]


def _numbers(feature: Feature, ours: list[Node], theirs: list[Node], complete: bool) -> Iterator[str]:
    known, given = set(cuts_of(feature, ours)), set(cuts_of(feature, theirs))
    lacking = sorted(known - given) if complete else []
    for cut in sorted(given - known):
        nearest = min(lacking, key=lambda other: abs(other - cut), default=None)
        what = f"threshold {_threshold(feature, cut)} of {feature.name!r}"
        if nearest is None:
            yield f"{what} is none of the model's"
        else:
            lacking.remove(nearest)
            yield f"{what} is not the model's {_threshold(feature, nearest)}"


def _threshold(feature: Feature, cut: float) -> str:
    """A cut as the threshold that a rule would say, or as the double that it is."""
    if feature.precision == "float32":
        below = float32(cut)
        for t in (below, -next_float32(-below)) if abs(below) < 3.4e38 else ():
            if crossing(t) == cut:
                return repr(canonical_threshold(t, "float32"))
    return repr(cut)


def _levels(feature: Feature, ours: list[Node], theirs: list[Node]) -> Iterator[str]:
    known = {(), *(_members(feature, node) for node in ours)}
    for node in theirs:
        levels = levels_of_leaf(node)
        if levels and _members(feature, node) not in known:
            shown = ", ".join(map(repr, levels[:4])) + (", ..." if len(levels) > 4 else "")
            yield f"the set of levels {{{shown}}} of {feature.name!r} is none of the model's"


def _members(feature: Feature, node: Node) -> tuple[bool, ...]:
    """Truth by code, the same for a set and its complement; () for a set that is everything or nothing."""
    truth: list[bool] = truth_by_code(node, feature).tolist()
    if feature.unseen != "unseen":
        del truth[UNSEEN_CODE]
    if len(set(truth)) == 1:
        return ()
    return tuple(not value for value in truth) if truth[0] else tuple(truth)
