"""The lint of a catalogue of reasons, from both sides, over all rows that there can be.

From the side of the decisions: every adverse decision has a reason that applies. Where one has none, there is one that
a single change turns: let no reason apply to a row whose smallest change is of k columns; make k - 1 of its changes,
and the last one turns what is left. A reason that applied there, by a change of another column or of the last one,
would make with the other k - 1 a smallest change of the row itself, and so apply to it. So it is enough to ask, for
every column and every known cell of it: is there an adverse row that going to this cell turns, while no change that is
covered turns it? That is a question on one row and its changes in single columns, which `RowSearch` answers.

From the side of the catalogue: a column can count if and only if it turns some adverse decision by itself, by a change
that the reason covers; for the row that the smallest change has reached but for that column is such a one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, product
from typing import Literal

import numpy as np

from rulekit.audit.checks.findings import Example, examples
from rulekit.audit.reason_codes.catalogue import Catalogue, CatalogueFinding, Reason, ResolvedReason, faults, meant
from rulekit.audit.reason_codes.giving import BoundedSearch, applies, covered_where, lint_search
from rulekit.dates import is_dated
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.words import listed, name, quoted
from rulekit.graph.nodes import FALSE, TRUE, Missing
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import FEW_CELLS, NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.names import label_text, printable
from rulekit.schema import Feature
from rulekit.search.moves import Direction, has_order
from rulekit.search.row_search import Claim, Either, decided_as
from rulekit.search.takes_part import Counting, Nearer, Place
from rulekit.tables.table import Table
from rulekit.verification.rows import adversarial_rows


@dataclass(frozen=True, slots=True)
class Lint:
    """The findings, what is proved in sentences, and what could not be decided."""

    findings: tuple[CatalogueFinding, ...]
    proved: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.findings


def lint(graph: RuleGraph, catalogue: Catalogue, adverse: Sequence[int], deadline: Deadline = NO_LIMIT) -> Lint:
    """Everything that is wrong in a catalogue for the adverse classes of a model; raises InputError for a bad one."""
    reasons = meant(catalogue, graph)
    findings = list(faults(catalogue, graph))
    model = Linter(graph, reasons, tuple(adverse), deadline)
    texts: dict[str, list[str]] = {"proved": [], "open": []}
    without = (found for k in adverse for found in model.decisions_without_reason(k))
    for found in chain(without, model.reasons_that_do_not_count()):
        if isinstance(found, CatalogueFinding):
            findings.append(found)
        else:
            texts[found[0]].append(found[1])
    return Lint(tuple(findings), tuple(texts["proved"]), tuple(texts["open"]))


LintSaid = CatalogueFinding | tuple[Literal["proved", "open"], str]
"""A finding, or what is proved or open, in words."""


class Linter:
    """A model and the reasons for its adverse decisions, with one search over the cells that these tell apart."""

    def __init__(
        self, graph: RuleGraph, reasons: Sequence[ResolvedReason], adverse: tuple[int, ...], deadline: Deadline
    ) -> None:
        self.graph, self.reasons, self.adverse, self.deadline = graph, reasons, adverse, deadline
        self.search = lint_search(graph, reasons, deadline)
        self.places = Counting(graph, self.search)
        self.read = {place.column for place in self.places.places}
        self.asking = BoundedSearch(self.search)
        self.tried = TriedRows(graph, self.places, adverse)
        self._turns: dict[tuple[int, int, int], Sought] = {}

    # Decisions -------------------------------------------------------------------------------------------------------

    def decisions_without_reason(self, k: int) -> Iterator[LintSaid]:
        """A row of a class that no reason applies to; one for each column that counts there."""
        label = quoted(self.graph.classes[k])
        reached = Sought(()) if k in self.tried.seen else self.asking.find(decided_as(self.graph, k))
        if reached.cells is None:
            if reached.reason:
                yield "open", f"whether any row is decided {label}: {reached.reason}"
            else:
                yield "proved", f"no row is decided {label}"
            return
        can, reason = self._some_column_turns(k)
        if not can and not reason:
            text = f"no change of values turns any decision for {label}, so that no column counts and no reason applies"
            yield CatalogueFinding("cannot turn", text, rows=self._rows(reached if reached.cells else Sought(None)))
            return
        found, reason = list(self._uncovered(k)), ""
        for place, sought in found:
            if sought.cells is None:
                reason = reason or sought.reason
                continue
            text = (
                f"a decision for {label} has no reason: {name(place.column)} counts, by a change that no reason covers"
            )
            if not any(place.column in r.columns and r.covers(k) for r in self.reasons):
                text = f"a decision for {label} has no reason: {name(place.column)} counts, and no reason names it"
            yield CatalogueFinding("no reason", text, column=place.column, rows=self._rows(sought))
        if all(sought.cells is None for _, sought in found):
            said = f"every decision for {label} that a change of values turns has a reason"
            yield ("open", f"whether {said}: {reason}") if reason else ("proved", said)

    def _some_column_turns(self, k: int) -> tuple[bool, str]:
        if self.tried.turned(k):
            return True, ""
        reason = ""
        for axis, place in enumerate(self.places.places):
            for cell in place.cells:
                sought = self._turn(k, axis, cell)
                if sought.cells is not None:
                    return True, ""
                reason = reason or sought.reason
        return False, reason or ("" if self.places.whole else "numbers are added up, so that cells do not decide")

    def _turn(self, k: int, axis: int, cell: int) -> Sought:
        """A row of a class that one column turns by going to a cell."""
        key = k, axis, cell
        if key not in self._turns:
            self._turns[key] = self.asking.find(
                decided_as(self.graph, k), decided_as(self.graph, k).contrary().at(axis, cell)
            )
        return self._turns[key]

    def _uncovered(self, k: int) -> Iterator[tuple[Place, Sought]]:
        """By column a row that it turns by a change that is not covered, while no covered change turns it."""
        always = {c for r in self.reasons if r.covers(k) and not r.reason.conditional for c in r.columns}
        uncovered = [(axis, place) for axis, place in enumerate(self.places.places) if place.column not in always]
        claims = list(self._no_reason_applies(k)) if uncovered else []
        for done, (axis, place) in enumerate(uncovered):
            self.deadline.tell("decisions without a reason", done / len(uncovered))
            best = Sought(None)
            if not place.cells:
                best = Sought(None, f"the numbers of {name(place.column)} are added up, so that cells do not decide")
            for cell in place.cells:
                if self._turn(k, axis, cell) == Sought(None):
                    continue
                sought = self.asking.find(
                    decided_as(self.graph, k), decided_as(self.graph, k).contrary().at(axis, cell), *claims
                )
                best = sought if sought.cells is not None or not best.reason else best
                if sought.cells is not None:
                    break
            yield place, best

    def _no_reason_applies(self, k: int) -> Iterator[Claim | Either]:
        """The claims that no change that is covered turns a decision of a class."""
        label = decided_as(self.graph, k)
        for axis, place in enumerate(self.places.places):
            own = [r for r in self.reasons if place.column in r.columns and r.covers(k)]
            for cell in place.cells if own else ():
                # where that costs little, claims are left out that always hold
                if self.asking.few and self._turn(k, axis, cell) == Sought(None):
                    continue
                for node in dict.fromkeys(covered_where(r, self.places, place, cell) for r in own):
                    if node is TRUE:
                        yield label.at(axis, cell)
                    elif node is not FALSE:
                        yield Either((label.at(axis, cell), Claim(node, False)))

    # Reasons ---------------------------------------------------------------------------------------------------------

    def reasons_that_do_not_count(self) -> Iterator[LintSaid]:
        """Columns of reasons that can never count, and reasons none of whose columns can."""
        silent = opened = 0
        for place, reason in enumerate(self.reasons):
            self.deadline.tell("which reasons count", place / len(self.reasons))
            code = reason.reason.code
            said = {column: self._can_count(reason, column) for column in reason.columns}
            dead = [column for column, (can, why) in said.items() if not can and not why]
            unsure = [(column, why) for column, (can, why) in said.items() if not can and why]
            for column, why in unsure:
                opened += 1
                yield "open", f"whether {name(column)} can count for {code}: {why}"
            if dead and len(dead) == len(reason.columns):
                silent += 1
                yield CatalogueFinding("never given", self._never(reason, dead), (code,), dead[0])
                continue
            for column in dead:
                silent += 1
                text = f"{code} names {name(column)}, which never counts in {self._decisions(reason)}"
                yield CatalogueFinding("cannot count", printable(text), (code,), column)
        if not silent and not opened and self.reasons:
            yield "proved", "every column that a reason names can count in an adverse decision"

    def _never(self, reason: ResolvedReason, dead: Sequence[str]) -> str:
        columns = listed([name(column) for column in dead])
        how = f" by going {reason.reason.direction}" * bool(reason.reason.direction)
        how += f" where {reason.reason.when}" * bool(reason.reason.when)
        never = f"{columns} never {'counts' if len(dead) == 1 else 'count'}{how}"
        return printable(f"{reason.reason.code} is never given: {never} in {self._decisions(reason)}")

    def _decisions(self, reason: ResolvedReason) -> str:
        classes = [quoted(self.graph.classes[k]) for k in self.adverse if reason.covers(k)]
        return f"a decision for {listed(classes, 'or')}" if classes else "an adverse decision of its class"

    def may_count(self, reason: ResolvedReason) -> bool:
        """Whether the first column of a reason can count by a change that it covers, as far as is known."""
        can, why = self._can_count(reason, reason.columns[0])
        return can or bool(why)

    def knows_ways(self, column: str) -> bool:
        """Whether it takes little to say which way a column must go: all cells are soon run, and none is open."""
        return self.asking.few and all(place.cells for place in self.places.places if place.column == column)

    def _can_count(self, reason: ResolvedReason, column: str) -> tuple[bool, str]:
        """Whether a column can count by a change that the reason covers, and if not why that is no proof."""
        if column not in self.read:
            return False, ""
        classes = [k for k in self.adverse if reason.covers(k)]
        if any(self.tried.counts(reason, column, k) for k in classes):
            return True, ""
        why = ""
        for k, (axis, place) in product(classes, enumerate(self.places.places)):
            if place.column != column:
                continue
            if not place.cells:
                why = why or f"the numbers of {name(column)} are added up, so that cells do not decide"
            for cell in place.cells:
                sought = self._turn(k, axis, cell)
                node = covered_where(reason, self.places, place, cell)
                if sought.cells is not None and node is not TRUE:
                    decided = decided_as(self.graph, k)
                    sought = self.asking.find(decided, decided.contrary().at(axis, cell), Claim(node))
                if sought.cells is not None:
                    return True, ""
                why = why or sought.reason
        return False, why

    def _rows(self, sought: Sought) -> tuple[Example, ...]:
        return examples(self.graph, self.search, (sought.cells,)) if sought.cells is not None else ()


ROWS = 200


class TriedRows:
    """What is seen on some rows; that nothing is seen proves nothing. None are tried where all cells are soon run."""

    def __init__(self, graph: RuleGraph, places: Counting, adverse: Sequence[int]) -> None:
        self._places = places
        self.seen: dict[int, tuple[Table, Nearer]] = {}
        if places.whole and places.space.size <= FEW_CELLS:
            return
        rows = adversarial_rows(graph, ROWS).table
        labels = decide(graph, rows)
        for k in adverse:
            own = rows.take(np.flatnonzero(labels == k))
            if own.n_rows:
                self.seen[k] = own, places.of(own, k)

    def turned(self, class_index: int) -> bool:
        """Whether a change of one column turns such a decision."""
        return class_index in self.seen and bool((self.seen[class_index][1].distance == 1).any())

    def counts(self, reason: ResolvedReason, column: str, class_index: int) -> bool:
        """Whether a column counts in such a decision, by a change that the reason covers."""
        if class_index not in self.seen:
            return False
        rows, near = self.seen[class_index]
        by_column = applies(self._places, reason, near, rows)
        return column in by_column and bool((by_column[column] & (near.exact | (near.distance == 1))).any())


_WAYS: tuple[Direction, ...] = ("up", "down")


def starter(graph: RuleGraph, adverse: Sequence[int], deadline: Deadline = NO_LIMIT) -> Catalogue:
    """Reasons for the adverse classes of a model; columns that are shown to never count have none."""
    read = graph.with_(probability=()).used_features
    ordered = [_candidate(column, "up") for column in read if has_order(graph.schema[column])]
    model = Linter(graph, ordered, tuple(adverse), deadline)
    reasons: list[Reason] = []
    for done, column in enumerate(read):
        deadline.tell("which columns count", done / len(read))
        for reason in _reasons(graph.schema[column], model):
            reasons.append(replace(reason, code=f"R{len(reasons) + 1:02}"))
    return Catalogue(tuple(reasons), tuple(label_text(graph.classes[k]) for k in adverse))


def _candidate(column: str, direction: Direction | None = None) -> ResolvedReason:
    return ResolvedReason(Reason("", "", (column,), direction or ""), (column,), 0)


def _reasons(feature: Feature, model: Linter) -> Iterator[Reason]:
    """The reasons of a column; what is not known of it counts as yes."""
    if not model.may_count(_candidate(feature.name)):
        return
    title, missing = feature.name.replace("_", " "), f"{name(feature.name)} is missing"
    told = has_order(feature) and model.knows_ways(feature.name)
    ways = [way for way in _WAYS if told and model.may_count(_candidate(feature.name, way))]
    if told and not ways:  # only a missing value is ever in the way
        yield Reason("", f"{title} is not known", (feature.name,), "", missing)
    elif len(ways) != 1:
        what = "words" if feature.kind == "text" else "value"
        yield Reason("", f"the {what} of {title}", (feature.name,))
    else:
        yield Reason("", f"{title} {_fault(feature, ways[0])}", (feature.name,), ways[0])
        if model.may_count(replace(_candidate(feature.name), when=Missing(feature.name))):
            yield Reason("", f"{title} is not known", (feature.name,), "", missing)


def _fault(feature: Feature, way: Direction) -> str:
    faults = ("is too low", "is too high")
    if feature.kind == "boolean":
        faults = ("is not true", "is true")
    elif is_dated(feature):
        faults = ("is too early", "is too late")
    return faults[way == "down"]
