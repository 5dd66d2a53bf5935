"""What a model promises and what its rules do, each proved or shown by a row: `check_model` (docs/check.md).

Promises: directions, columns apart, missing values, required decisions. Of the rules: which are never true, which
change no decision, where no rule speaks, where rules of different classes meet, and which a missing or new value can
satisfy. Nothing is guessed: what cannot be decided is said, and every row that is shown has been decided by the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any, Literal

from rulekit.audit.checked_rows import Example, examples
from rulekit.audit.promises import Promise, promises
from rulekit.audit.statements import Statement, only_statements, statements, without_rule
from rulekit.graph.check import forbidden_meetings
from rulekit.graph.decisions import Decision
from rulekit.graph.language.words import name, quoted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import FALSE, TRUE, Above, Family, Node
from rulekit.graph.rule_graph import Required, RuleGraph
from rulekit.graph.rules import Rule, columns_of, rules_of
from rulekit.verification.proof.row_search import Claim, Label, RowSearch, Sought, is_known

Outcome = Literal["proved", "fails", "not proved"]
FindingKind = Literal["unreachable", "shadowed", "gap", "contradiction", "missing"]

MOST_PAIRS = 2_000
_CLEAR: Mapping[FindingKind, str] = {
    "unreachable": "every rule can be true",
    "shadowed": "every rule changes some decision",
    "gap": "on every row some rule speaks",
    "contradiction": "no two rules contradict each other on any row",
    "missing": "no missing or new value satisfies a rule",
}
_NO_ORDER = "classes without an order do not rise or fall"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a promise is kept. rows: that break it, or which show why; reason: why it is not proved."""

    promise: Promise
    outcome: Outcome
    rows: tuple[Example, ...] = ()
    reason: str = ""
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about rules that is proved, or shown by rows; rules: their ids; column: of a missing or new value."""

    kind: FindingKind
    text: str
    rules: tuple[str, ...] = ()
    rows: tuple[Example, ...] = ()
    column: str = ""


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found; open: what could not be decided, and why; clear: what is proved of all rules, in sentences.

    rules: how many there are.
    """

    verdicts: tuple[Verdict, ...]
    findings: tuple[Finding, ...]
    open: tuple[str, ...]
    clear: tuple[str, ...]
    rules: int

    @property
    def ok(self) -> bool:
        """Whether no promise is broken."""
        return all(verdict.outcome != "fails" for verdict in self.verdicts)

    def as_dict(self) -> dict[str, Any]:
        """JSON values: promises, findings and what is open."""
        return {
            "ok": self.ok,
            "rules": self.rules,
            "promises": [
                {
                    "promise": verdict.promise.text,
                    "kind": verdict.promise.kind,
                    "outcome": verdict.outcome,
                    **({"reason": verdict.reason} if verdict.reason else {}),
                    **({"rules": list(verdict.rules)} if verdict.rules else {}),
                    **({"rows": [row.as_dict() for row in verdict.rows]} if verdict.rows else {}),
                }
                for verdict in self.verdicts
            ],
            "findings": [
                {
                    "kind": finding.kind,
                    "text": finding.text,
                    "rules": list(finding.rules),
                    **({"rows": [row.as_dict() for row in finding.rows]} if finding.rows else {}),
                }
                for finding in self.findings
            ],
            "proved_of_all_rules": list(self.clear),
            "open": list(self.open),
        }


def check_model(graph: RuleGraph, searching: Callable[..., RowSearch] = RowSearch) -> Checked:
    """Prove each promise and examine each rule, or say what could not be decided; searching: makes the searches."""
    check = _Check(graph, searching)
    verdicts = check.verdicts()
    findings = tuple(check.findings())
    left = tuple(text for _, text in check.open)
    return Checked(verdicts, findings, left, tuple(check.clear(findings)), len(check.rules))


def unproved(graph: RuleGraph) -> tuple[Verdict, ...]:
    """The promises of a model that are broken or not proved."""
    return tuple(verdict for verdict in _Check(graph, RowSearch).verdicts() if verdict.outcome != "proved")


@dataclass(slots=True, eq=False)
class _Check:
    graph: RuleGraph
    searching: Callable[..., RowSearch]
    rules: tuple[Rule, ...] = ()
    said: tuple[Statement, ...] = ()
    open: list[tuple[FindingKind, str]] = field(default_factory=list)
    _searches: dict[frozenset[Node], RowSearch] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rules, self.said = rules_of(self.graph), statements(self.graph)

    def search(self, *nodes: Node) -> RowSearch:
        """The search over the columns of some nodes."""
        key = frozenset(nodes)
        if key not in self._searches:
            self._searches[key] = self.searching(self.graph, nodes)
        return self._searches[key]

    @property
    def whole(self) -> RowSearch:
        """The search over all columns that decide."""
        return self.search(*self.graph.decision.roots)

    @property
    def ranks(self) -> range | None:
        """The classes above the lowest, where the classes are two or ranks; else None."""
        k = len(self.graph.classes)
        return range(1, k) if k == 2 or self.graph.decision.ordered else None

    def label(self, *classes: int, decision: Decision | None = None) -> Claim:
        """The claim that the label is one of some classes."""
        return Claim(Label(decision or self.graph.decision, frozenset(classes)))

    @property
    def _decided_by(self) -> Iterator[list[Claim]]:
        """Claims of which a promise is to be kept: of each root, which is enough, then of the classes themselves."""
        if not self.graph.decision.ranked:
            yield [Claim(root) for root in self.graph.decision.roots]
        if self.graph.decision.ranked or self.graph.decision.ordered:
            yield [self.at_least(k) for k in self.ranks or ()]

    def at_least(self, k: int) -> Claim:
        return self.label(*range(k, len(self.graph.classes)))

    def _leave(self, kind: FindingKind, text: str) -> None:
        self.open.append((kind, text))

    def clear(self, findings: Sequence[Finding]) -> Iterator[str]:
        """What there is no finding of, and nothing open."""
        decision = self.graph.decision
        odd = {finding.kind for finding in findings} | {kind for kind, _ in self.open}
        if not decision.has_default:
            odd.add("gap")
        if not decision.ranked and not decision.ordered:
            odd.add("contradiction")
        if self.said:
            yield from (text for kind, text in _CLEAR.items() if kind not in odd)

    # Promises ------------------------------------------------------------------------------------------------------

    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(self.verdict(promise) for promise in promises(self.graph))

    def verdict(self, promise: Promise) -> Verdict:
        if promise.kind in ("together", "apart"):
            return self._meetings(promise)
        if promise.kind == "monotone":
            return self._monotone(promise)
        if promise.kind == "missing":
            return self._missing(promise)
        assert promise.required is not None
        return self._required(promise, promise.required)

    def _meetings(self, promise: Promise) -> Verdict:
        broken = [
            rule
            for rule in forbidden_meetings(self.graph)
            if promise.kind == "together" or len(columns_of(rule.node) & set(promise.groups[0])) > 1
        ]
        if promise.kind == "together":
            groups = [set(group) for group in promise.groups]
            broken = [r for r in broken if not any(columns_of(r.node) <= group for group in groups)]
        if not broken:
            return Verdict(promise, "proved")
        ids = tuple(rule.id for rule in broken)
        return Verdict(promise, "fails", rules=ids)

    def _monotone(self, promise: Promise) -> Verdict:
        column = promise.column
        if column not in readers(self.graph.decision.roots):
            return Verdict(promise, "proved")
        if self.ranks is None:
            return Verdict(promise, "not proved", reason=_NO_ORDER)
        rises = self.graph.schema[column].monotone > 0
        parts = [part for part in self._independent_parts() if column in columns_of(part)]
        steps = (self._step(self.search(part), column, [Claim(part)], rises) for part in parts)
        if parts and all(pair is None and not reason for pair, reason in steps):
            # What each rule keeps, their disjunction keeps, and so does the number of ranks that are passed.
            return Verdict(promise, "proved")
        for claims in self._decided_by:
            pair, reason = self._step(self.whole, column, claims, rises)
            if pair is None and not reason:
                break
        return self._of_rows(promise, pair, reason)

    def _of_rows(
        self, promise: Promise, cells: Sequence[Cells] | None, reason: str, search: RowSearch | None = None
    ) -> Verdict:
        """The verdict where the whole decision was searched for rows that break a promise."""
        if cells is not None:
            rows = examples(self.graph, (search or self.whole).space, cells)
            kept = self.graph.classes[promise.required.class_index] if promise.required else rows[-1].decision
            if rows[0].decision != kept:
                return Verdict(promise, "fails", rows)
            reason = "the rows that were found do not show it"
        return Verdict(promise, "not proved" if reason else "proved", reason=reason)

    def _step(
        self, search: RowSearch, column: str, claims: Sequence[Claim], rises: bool
    ) -> tuple[tuple[Cells, Cells] | None, str]:
        """Two neighbouring values of a column of which the claim holds for the wrong one only; and what is open."""
        axis = search.axis_of(column)
        assert axis is not None
        known = [int(cell) for cell in is_known(search.space.axes[axis]).nonzero()[0]]
        pairs = [(low, high) if rises else (high, low) for low, high in pairwise(known)]
        return self._turned(search, axis, pairs, claims)

    def _turned(
        self, search: RowSearch, axis: int, pairs: Sequence[tuple[int, int]], claims: Sequence[Claim]
    ) -> tuple[tuple[Cells, Cells] | None, str]:
        """Two rows that differ in one column, in one of these pairs of cells: the claim holds of the first alone."""
        reason = ""
        for first, second in pairs:
            for claim in claims:
                found = search.find(claim.at(axis, first), claim.contrary().at(axis, second))
                if found.cells is not None:
                    return (_moved(found.cells, axis, first), _moved(found.cells, axis, second)), ""
                reason = reason or found.reason
        return None, reason

    def _independent_parts(self) -> list[Node]:
        """The Boolean rules whose disjunctions, each or counted, are the decision; [] where it is of another form."""
        decision = self.graph.decision
        if decision.ranked or any(isinstance(root, Above) for root in decision.roots):
            return []
        return [statement.node for statement in self.said]

    def _missing(self, promise: Promise) -> Verdict:
        reasons = []
        for statement in self.said:
            for column, pair, reason in self._satisfied_by_missing(statement):
                if pair is not None:
                    rows = examples(self.graph, self.search(statement.node).space, pair)
                    why = f"a missing or new value of {name(column)} satisfies {statement.rule.id}"
                    return Verdict(promise, "fails", rows, why, (statement.rule.id,))
                reasons.append(reason)
        if self._independent_parts() and not any(reasons):
            return Verdict(promise, "proved")  # what no rule does, their disjunction does not
        if self.ranks is None:
            if not all(map(only_statements, self.graph.decision.parts)):
                reasons.append("conditions count together, and classes without an order are not helped")
        else:
            for axis, place in enumerate(self.whole.space.axes):
                pairs = _unknown_and_known(is_known(place).tolist())
                for claims in self._decided_by:
                    pair, reason = self._turned(self.whole, axis, pairs, claims)
                    if pair is None and not reason:
                        break
                if pair is not None:
                    return self._of_rows(promise, pair, "")
                reasons.append(reason)
        return self._of_rows(promise, None, next(filter(None, reasons), ""))

    def _satisfied_by_missing(self, said: Statement) -> Iterator[tuple[str, tuple[Cells, Cells] | None, str]]:
        """By column two rows: a missing or new value satisfies the statement, a known one does not; or None."""
        search = self.search(said.node)
        for axis, place in enumerate(search.space.axes):
            pairs = _unknown_and_known(is_known(place).tolist())
            pair, reason = self._turned(search, axis, pairs, [Claim(said.node)])
            yield place.feature.name, pair, reason

    def _required(self, promise: Promise, required: Required) -> Verdict:
        condition = Claim(required.condition)
        if required.class_index == 1 and len(self.graph.classes) == 2:
            for part in self._independent_parts():
                if self.search(required.condition, part).find(condition, Claim(part, False)) == Sought(None):
                    return Verdict(promise, "proved")
        search = self.search(*self.graph.decision.roots, required.condition)
        found = search.find(condition, self.label(required.class_index).contrary())
        return self._of_rows(promise, None if found.cells is None else (found.cells,), found.reason, search)

    # Rules ---------------------------------------------------------------------------------------------------------

    def findings(self) -> Iterator[Finding]:
        yield from self._unreachable_and_shadowed()
        yield from self._gaps()
        yield from self._contradictions()
        for statement in self.said:
            yield from self._missing_findings(statement)

    def _unreachable_and_shadowed(self) -> Iterator[Finding]:
        for statement in self.said:
            rule = statement.rule
            reached = self.search(statement.node).find(Claim(statement.node))
            if reached == Sought(None):
                yield Finding("unreachable", f"{rule.id} is never true", (rule.id,))
                continue
            if reached.cells is None:
                self._leave("unreachable", f"whether {rule.id} can be true: {reached.reason}")
            yield from self._shadowed(statement, rule.id)

    def _shadowed(self, statement: Statement, name: str) -> Iterator[Finding]:
        """A rule without which every row is decided the same."""
        decision = without_rule(self.graph, statement)
        reason = ""
        for k in range(len(self.graph.classes)):
            found = self.whole.find(self.label(k), self.label(k, decision=decision).contrary())
            if found.cells is not None:
                return
            reason = reason or found.reason
        if not reason:
            yield Finding("shadowed", f"{name} changes no decision: without it every row is decided the same", (name,))
        else:
            self._leave("shadowed", f"whether {name} changes a decision: {reason}")

    def _gaps(self) -> Iterator[Finding]:
        decision = self.graph.decision
        if not decision.has_default:
            return
        found = self.whole.find(*(Claim(_takes_part(score, least), False) for _, score, least in decision.ranked))
        if found.cells is not None:
            default = quoted(self.graph.classes[self.graph.default])
            rows = examples(self.graph, self.whole.space, (found.cells,))
            yield Finding("gap", f"no rule speaks for some rows, which are decided {default} by default", (), rows)
        elif found.reason:
            self._leave("gap", f"whether some rows are decided by default alone: {found.reason}")

    def _contradictions(self) -> Iterator[Finding]:
        decision = self.graph.decision
        if decision.ordered:
            yield from self._crossing_ranks()
            return
        pairs = [(a, b) for a, b in combinations(self.said, 2) if a.rule.class_index != b.rule.class_index]
        if len(pairs) > MOST_PAIRS:
            self._leave(
                "contradiction", f"{len(pairs) - MOST_PAIRS:,} of {len(pairs):,} pairs of rules of different classes"
            )
        for one, other in pairs[:MOST_PAIRS]:
            search, ids = self.search(one.node, other.node), (one.rule.id, other.rule.id)
            found = search.find(Claim(one.node), Claim(other.node))
            if found.cells is not None:
                rows = examples(self.graph, search.space, (found.cells,))
                yield Finding("contradiction", f"{ids[0]} and {ids[1]}, of different classes, hold together", ids, rows)
            elif found.reason:
                self._leave("contradiction", f"whether {ids[0]} and {ids[1]} can hold together: {found.reason}")

    def _crossing_ranks(self) -> Iterator[Finding]:
        """A rank that is passed where a lower one is not."""
        roots = self.graph.decision.roots
        for k in range(1, len(roots)):
            low, high = quoted(self.graph.classes[k - 1]), quoted(self.graph.classes[k])
            said = f"above {high} and not above {low}"
            found = self.whole.find(Claim(roots[k]), Claim(roots[k - 1], False))
            if found.cells is not None:
                rows = examples(self.graph, self.whole.space, (found.cells,))
                yield Finding("contradiction", f"the rules say {said}", (), rows)
            elif found.reason:
                self._leave("contradiction", f"whether rules can say {said}: {found.reason}")

    def _missing_findings(self, statement: Statement) -> Iterator[Finding]:
        rule = statement.rule.id
        for column, pair, reason in self._satisfied_by_missing(statement):
            said = f"a missing or new value of {name(column)} satisfies {rule}"
            if pair is not None:
                rows = examples(self.graph, self.search(statement.node).space, pair[:1])
                yield Finding("missing", said, (rule,), rows, column)
            elif reason:
                self._leave("missing", f"whether {said}: {reason}")


Cells = tuple[int, ...]


def _moved(cells: Cells, axis: int, cell: int) -> Cells:
    return (*cells[:axis], cell, *cells[axis + 1 :])


def _unknown_and_known(known: Sequence[bool]) -> list[tuple[int, int]]:
    """Pairs of a cell that is missing or new and one that is known."""
    return [(a, b) for a, unknown in enumerate(known) if not unknown for b, holds in enumerate(known) if holds]


def _takes_part(score: Node, threshold: float) -> Node:
    """The Boolean node that holds where a class takes part in an arg-max."""
    if threshold < 0 and score.family is not Family.REAL:
        return TRUE
    if score.family is Family.BOOLEAN:
        return score if threshold < 1.0 else FALSE
    return TRUE if threshold == float("-inf") else Above(score, threshold)
