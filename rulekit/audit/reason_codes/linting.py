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
from typing import Any

import numpy as np

from rulekit.audit.checks.findings import Example, Finding, examples
from rulekit.audit.reason_codes.reasons import Catalogue, Reason, applies, faults, meant
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.language.words import counted, listed, name, quoted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Among, Compare, IsTrue, Missing, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import FEW_CELLS, NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.names import label_text, printable
from rulekit.schema import Feature
from rulekit.search.moves import Direction, has_order
from rulekit.search.row_search import Claim, Either, InBox, RowSearch, decided_as
from rulekit.search.takes_part import Counting, Nearer, Place
from rulekit.tables.table import Table
from rulekit.verification.rows import adversarial_rows


@dataclass(frozen=True, slots=True)
class Lint:
    """The findings, what is proved in sentences, and what could not be decided."""

    findings: tuple[Finding, ...]
    proved: tuple[str, ...]
    open: tuple[str, ...]

    @property
    def ok(self) -> bool:
        return not self.findings


def lint(graph: RuleGraph, catalogue: Catalogue, adverse: Sequence[int], deadline: Deadline = NO_LIMIT) -> Lint:
    """Everything that is wrong in a catalogue for the adverse classes of a model; raises InputError for a bad one."""
    linter = Linter(graph, meant(catalogue, graph), tuple(adverse), deadline)
    linter.findings += faults(catalogue, graph)
    for k in adverse:
        linter.look_for_decisions_without_reason(k)
    linter.look_for_reasons_that_do_not_count()
    return Lint(tuple(linter.findings), tuple(linter.proved), tuple(linter.open))


ROWS, MOST_SEARCHES, MOST_CLAIMS = 200, 40, 100


class Linter:
    """A model and the reasons for its adverse decisions, with one search over the cells that these tell apart.

    few: whether all cells are soon run. seen: by class rows that are decided so, and what counts there; nothing is seen
    where all cells are soon run, and that nothing is seen proves nothing.
    """

    def __init__(
        self, graph: RuleGraph, reasons: Sequence[Reason], adverse: tuple[int, ...], deadline: Deadline
    ) -> None:
        self.graph, self.reasons, self.adverse, self.deadline = graph, reasons, adverse, deadline
        self.search = lint_search(graph, reasons, deadline)
        self.places = Counting(graph, self.search)
        self.few = self.places.space.size <= FEW_CELLS
        self.seen: dict[int, tuple[Table, Nearer]] = {}
        if not (self.few and self.places.whole):
            rows = adversarial_rows(graph, ROWS).table
            labels = decide(graph, rows)
            for k in set(labels.tolist()) & set(adverse):
                own = rows.take(np.flatnonzero(labels == k))
                self.seen[k] = own, self.places.of(own, k)
        self.findings: list[Finding] = []
        self.proved: list[str] = []
        self.open: list[str] = []
        self._made = 0
        self._turns: dict[tuple[Any, ...], Sought] = {}

    def find(self, *claims: Claim | Either) -> Sought:
        """A row on which all claims hold; where many cells are searched too often, that it was not looked for."""
        if not self.few and (self._made >= MOST_SEARCHES or len(claims) > MOST_CLAIMS):
            columns = counted(len(self.places.space.axes), "column")
            return Sought(None, f"that takes more searches over {columns} than are made")
        self._made += 1
        return self.search.find(*claims)

    # Decisions -------------------------------------------------------------------------------------------------------

    def look_for_decisions_without_reason(self, k: int) -> None:
        """A row of a class that no reason applies to; one for each column that counts there."""
        label = quoted(self.graph.classes[k])
        reached = Sought(()) if k in self.seen else self.find(decided_as(self.graph, k))
        if reached.reason:
            self.open.append(f"whether any row is decided {label}: {reached.reason}")
        elif reached.cells is None:
            self.proved.append(f"no row is decided {label}")
        if reached.cells is None:
            return
        if self._turns_some((k,)) == Sought(None):
            text = f"no change of values turns any decision for {label}, so that no column counts and no reason applies"
            self.findings.append(Finding("cannot turn", text, rows=self._rows(reached)))
            return
        found, reason = list(self._uncovered(k)), ""
        for place, sought in found:
            if sought.cells is None:
                reason = reason or sought.reason
                continue
            text = f"a decision for {label} has no reason: {name(place.column)} counts, "
            named = any(place.column in r.columns and r.covers(k) for r in self.reasons)
            text += "by a change that no reason covers" if named else "and no reason names it"
            self.findings.append(Finding("no reason", text, column=place.column, rows=self._rows(sought)))
        if all(sought.cells is None for _, sought in found):
            said = f"every decision for {label} that a change of values turns has a reason"
            (self.open if reason else self.proved).append(f"whether {said}: {reason}" if reason else said)

    def _turns_some(self, classes: Sequence[int], reason: Reason | None = None, column: str = "") -> Sought:
        """A decision of some classes that a change of a column ("": of any) turns which the reason covers (None: all);
        without one, why that is no proof.
        """
        why = ""
        for k in classes if reason is None else filter(reason.covers, classes):
            if k in self.seen:
                rows, near = self.seen[k]
                counts = near.distance == 1
                if reason is not None:
                    known = applies(self.places, reason, near, rows).get(column, np.zeros(1, dtype=bool))
                    counts = known & (near.exact | counts)
                if counts.any():
                    return Sought(())
            for axis, place in enumerate(self.places.places):
                if column not in ("", place.column):
                    continue
                why = why or ("" if place.cells else _added_up(place.column))
                for cell in place.cells:
                    covers = [] if reason is None else covering(reason, self.places, axis, cell)
                    sought = Sought(None) if covers is None else self._turn(k, axis, cell)
                    if covers and sought.cells is not None:
                        sought = self._turn(k, axis, cell, *covers)
                    if sought.cells is not None:
                        return Sought(sought.cells)
                    why = why or sought.reason
        return Sought(None, why)

    def _turn(self, k: int, axis: int, cell: int, *claims: Claim | Either) -> Sought:
        """A row of a class on which the claims hold, and that one column turns by going to a cell."""
        key = k, axis, cell, claims
        if key not in self._turns:
            decided = decided_as(self.graph, k)
            self._turns[key] = self.find(decided, decided.contrary().at(axis, cell), *claims)
        return self._turns[key]

    def _uncovered(self, k: int) -> Iterator[tuple[Place, Sought]]:
        """By column a row that it turns by a change that is not covered, while no covered change turns it."""
        always = {c for r in self.reasons if r.covers(k) and not r.conditional for c in r.columns}
        uncovered = [(axis, place) for axis, place in enumerate(self.places.places) if place.column not in always]
        claims = list(self._no_reason_applies(k)) if uncovered else []
        for done, (axis, place) in enumerate(uncovered):
            self.deadline.tell("decisions without a reason", done / len(uncovered))
            best = Sought(None, "" if place.cells else _added_up(place.column))
            for cell in place.cells:
                if self._turn(k, axis, cell) == Sought(None):
                    continue
                sought = self._turn(k, axis, cell, *claims)
                best = sought if sought.cells is not None or not best.reason else best
                if sought.cells is not None:
                    break
            yield place, best

    def _no_reason_applies(self, k: int) -> Iterator[Claim | Either]:
        """The claims that no change that is covered turns a decision of a class."""
        label = decided_as(self.graph, k)
        for axis, place in enumerate(self.places.places):
            named = [r for r in self.reasons if place.column in r.columns and r.covers(k)]
            for cell in place.cells if named else ():
                # where that costs little, claims are left out that always hold
                if self.few and self._turn(k, axis, cell) == Sought(None):
                    continue
                covers = [own for r in named if (own := covering(r, self.places, axis, cell)) is not None]
                if [] in covers:
                    yield label.at(axis, cell)
                else:
                    yield from (Either((label.at(axis, cell), *(c.contrary() for c in claims))) for claims in covers)

    # Reasons ---------------------------------------------------------------------------------------------------------

    def look_for_reasons_that_do_not_count(self) -> None:
        """Columns of reasons that can never count, and reasons none of whose columns can."""
        before = len(self.findings), len(self.open)
        for place, reason in enumerate(self.reasons):
            self.deadline.tell("which reasons count", place / len(self.reasons))
            classes = [quoted(self.graph.classes[k]) for k in self.adverse if reason.covers(k)]
            decisions = f"a decision for {listed(classes, 'or')}" if classes else "an adverse decision of its class"
            dead = []
            for column in reason.columns:
                turned = self._turns_some(self.adverse, reason, column)
                if turned.reason:
                    self.open.append(f"whether {name(column)} can count for {reason.code}: {turned.reason}")
                elif turned.cells is None:
                    dead.append(column)
            if dead and len(dead) == len(reason.columns):
                how = f" by going {reason.direction}" * bool(reason.direction)
                how += f" where {reason.when}" * bool(reason.when)
                never = f"{listed(list(map(name, dead)))} never {'counts' if len(dead) == 1 else 'count'}{how}"
                text = printable(f"{reason.code} is never given: {never} in {decisions}")
                self.findings.append(Finding("never given", text, (reason.code,), column=dead[0]))
                continue
            for column in dead:
                text = printable(f"{reason.code} names {name(column)}, which never counts in {decisions}")
                self.findings.append(Finding("cannot count", text, (reason.code,), column=column))
        if before == (len(self.findings), len(self.open)) and self.reasons:
            self.proved.append("every column that a reason names can count in an adverse decision")

    def may_count(self, reason: Reason) -> bool:
        """Whether the first column of a reason can count by a change that it covers, as far as is known."""
        return self._turns_some(self.adverse, reason, reason.columns[0]) != Sought(None)

    def _rows(self, sought: Sought) -> tuple[Example, ...]:
        return examples(self.graph, self.search, (sought.cells,)) if sought.cells else ()


def _added_up(column: str) -> str:
    return f"the numbers of {name(column)} are added up, so that cells do not decide"


def lint_search(graph: RuleGraph, reasons: Sequence[Reason], deadline: Deadline = NO_LIMIT) -> RowSearch:
    """The cells that the decision and the reasons tell apart; of columns with a direction those of no two values that
    stand apart are one.
    """
    read = readers(graph.decision.roots)
    nodes: list[Node] = [*graph.decision.roots, *(r.node for r in reasons if r.node and r.columns[0] in read)]
    first = RowSearch(graph, nodes, deadline=deadline)
    directed = {column for r in reasons if r.direction for column in r.columns}
    ends: list[Node] = []
    for axis in first.space.axes:
        feature = axis.feature
        if feature.name in directed and feature.kind == "boolean":
            ends.append(IsTrue(feature.name))
        elif feature.name in directed and feature.kind == "categorical":
            ends += [Among(feature.name, (level,)) for level in feature.levels]
        elif feature.name in directed and axis.whole:
            ends += [Compare(feature.name, "<=", cut) for cut in axis.cells.cuts if np.isfinite(cut)]
    return RowSearch(graph, [*nodes, *ends], deadline=deadline) if ends else first


def covering(reason: Reason, places: Counting, axis: int, cell: int) -> list[Claim] | None:
    """What must hold of a row so that a change of one column to a known cell is covered; None where it never is."""
    claims = [] if reason.node is None else [Claim(reason.node)]
    if reason.direction:
        cells, axes = places.places[axis].cells, places.space.axes
        at = cells.index(cell)
        own = cells[:at] if reason.direction == "up" else cells[at + 1 :]
        if not own:
            return None
        sides = [np.ones(len(each), dtype=bool) for each in axes]
        sides[axis] = np.isin(np.arange(len(axes[axis])), own)
        claims.append(Claim(InBox(tuple(sides))))
    return claims


_WAYS: tuple[Direction, ...] = ("up", "down")


def starter(graph: RuleGraph, adverse: Sequence[int], deadline: Deadline = NO_LIMIT) -> Catalogue:
    """Reasons for the adverse classes of a model; columns that are shown to never count have none."""
    read = graph.with_(probability=()).used_features
    ordered = [Reason("", "", (column,), "up") for column in read if has_order(graph.schema[column])]
    model = Linter(graph, ordered, tuple(adverse), deadline)
    reasons: list[Reason] = []
    for done, column in enumerate(read):
        deadline.tell("which columns count", done / len(read))
        for reason in _reasons(graph.schema[column], model):
            reasons.append(replace(reason, code=f"R{len(reasons) + 1:02}"))
    return Catalogue(tuple(reasons), tuple(label_text(graph.classes[k]) for k in adverse))


def _reasons(feature: Feature, model: Linter) -> Iterator[Reason]:
    """The reasons of a column; what is not known of it counts as yes."""
    any_change = Reason("", "", (feature.name,))
    if not model.may_count(any_change):
        return
    title, missing = feature.name.replace("_", " "), f"{name(feature.name)} is missing"
    # which way a column must go is asked where all cells are soon run, and none is open
    closed = all(place.cells for place in model.places.places if place.column == feature.name)
    told = has_order(feature) and model.few and closed
    ways = [way for way in _WAYS if told and model.may_count(replace(any_change, direction=way))]
    if told and not ways:  # only a missing value is ever in the way
        yield Reason("", f"{title} is not known", (feature.name,), "", missing)
    elif len(ways) != 1:
        what = "words" if feature.kind == "text" else "value"
        yield Reason("", f"the {what} of {title}", (feature.name,))
    else:
        faults = ("is too low", "is too high")
        if feature.kind == "boolean":
            faults = ("is not true", "is true")
        elif feature.dated:
            faults = ("is too early", "is too late")
        yield Reason("", f"{title} {faults[ways[0] == 'down']}", (feature.name,), ways[0])
        if model.may_count(replace(any_change, node=Missing(feature.name))):
            yield Reason("", f"{title} is not known", (feature.name,), "", missing)
