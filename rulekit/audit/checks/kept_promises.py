"""What a model promises, each promise proved or broken by rows, and the searches over the cells of one model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from rulekit.audit.checks.findings import Example, examples, given
from rulekit.graph.check import forbidden_meetings
from rulekit.graph.decisions import Decision, Part
from rulekit.graph.language.text import Promise, print_node, promises
from rulekit.graph.language.words import name, quoted
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import FALSE, Above, Node, Or, Probability, with_children
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, Rule, columns_of, rules_of, rules_of_parts
from rulekit.graph.variants import over_anything
from rulekit.limits import NO_LIMIT, Deadline
from rulekit.logic.satisfying import Sought
from rulekit.search.row_search import Claim, Label, RowSearch


@dataclass(frozen=True, slots=True)
class Statement:
    """A rule that decides for its class by itself where it holds.

    node: its Boolean condition; for a random rule, that its probability is above 1/2. root: the index of the decision's
    root that contains the rule.
    """

    rule: Rule
    node: Node
    root: int


def statements(graph: RuleGraph) -> tuple[Statement, ...]:
    """The rules that are joined by or; conditions that only count together, and terms of sums, are none."""
    graph = graph.underlying
    rules = iter(rules_of(graph))
    found = []
    for root, part in enumerate(graph.decision.parts):
        own = [next(rules) for _ in rules_of_parts((part,))]
        inhibited = any(rule.connective == INHIBITS for rule in own)  # then no rule speaks by itself
        for rule in own:
            if rule.connective == "or" and not inhibited:
                node = Above(Probability(rule.node), 0.5) if rule.nested else rule.node
                found.append(Statement(rule, node, root))
    return tuple(found)


def only_statements(part: Part) -> bool:
    """Whether a part of a decision has no rules but such as speak by themselves."""
    return all(rule.connective == "or" for rule in rules_of_parts((part,)))


def without_rule(graph: RuleGraph, statement: Statement) -> Decision:
    """The decision as it would be without a rule."""
    roots = list(graph.decision.roots)
    roots[statement.root] = _without(roots[statement.root], statement.rule.node)
    return graph.decision.with_roots(tuple(roots))


def _without(node: Node, rule: Node) -> Node:
    """A root, or the formula inside it, without a rule; FALSE if it contains only the rule.

    The search goes into lists of plain rules beside hidden bits. If the rule occurs twice, one occurrence is removed.
    """
    if node is rule:
        return FALSE
    if not isinstance(node, Or):
        return with_children(node, [_without(child, rule) for child in node.children])
    children = list(node.children)
    for place, child in enumerate(children):
        if child is rule or (isinstance(child, Or) and rule in child.children):
            rest = [] if child is rule else [_without(child, rule)]
            return Or([*children[:place], *rest, *children[place + 1 :]])
    return node


Cells = tuple[int, ...]


class Searches:
    """A model with its rules, those that speak by themselves, and a search for each set of nodes that was asked for.

    deadline: what is not found by then stays open.
    """

    def __init__(
        self, graph: RuleGraph, searching: Callable[..., RowSearch] = RowSearch, deadline: Deadline = NO_LIMIT
    ) -> None:
        self.graph, self.searching, self.deadline = graph, searching, deadline
        self.rules, self.said = rules_of(graph), statements(graph)
        self._searches: dict[frozenset[Node], RowSearch] = {}

    def search(self, *nodes: Node) -> RowSearch:
        """The search over the columns of some nodes."""
        key = frozenset(nodes)
        if key not in self._searches:
            self._searches[key] = self.searching(self.graph, nodes, deadline=self.deadline)
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
    def decided_by(self) -> Iterator[list[Claim]]:
        """Claims of which a promise is to be kept: of each root, which is enough, then of the classes themselves."""
        decision, k = self.graph.decision, len(self.graph.classes)
        if not decision.ranked:
            yield [Claim(root) for root in decision.roots]
        if decision.ranked or decision.ordered:
            yield [self.label(*range(rank, k)) for rank in self.ranks or ()]

    def independent_parts(self) -> list[Node]:
        """The Boolean rules whose disjunctions, each or counted, are the decision; [] where it is of another form."""
        decision = self.graph.decision
        if self.graph.overrides or decision.ranked or any(isinstance(root, Above) for root in decision.roots):
            return []
        return [statement.node for statement in self.said]

    def turned(
        self, search: RowSearch, axis: int, pairs: Sequence[tuple[int, int]], claims: Sequence[Claim]
    ) -> tuple[tuple[Cells, Cells] | None, str]:
        """Two rows that differ in one column, in one of these pairs of cells: the claim holds of the first alone."""
        reason = ""
        for first, second in pairs:
            for claim in claims:
                found = search.find(claim.at(axis, first), claim.contrary().at(axis, second))
                if found.cells is not None:
                    before, after = found.cells[:axis], found.cells[axis + 1 :]
                    return ((*before, first, *after), (*before, second, *after)), ""
                reason = reason or found.reason
        return None, reason

    def satisfied_by_missing(self, node: Node) -> Iterator[tuple[str, tuple[Cells, Cells] | None, str]]:
        """By column two rows: a missing or new value satisfies the node, a known one does not; or None."""
        search = self.search(node)
        for axis, column, pairs in search.unknown_and_known():
            pair, reason = self.turned(search, axis, pairs, [Claim(node)])
            yield column, pair, reason


Outcome = Literal["proved", "fails", "not proved"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a promise is kept. rows: that break it, or which show why; reason: why it is not proved."""

    promise: Promise
    outcome: Outcome
    rows: tuple[Example, ...] = ()
    reason: str = ""
    rules: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        rows = [row.as_dict() for row in self.rows]
        found = {"promise": self.promise.text, "kind": self.promise.kind, "outcome": self.outcome}
        return {**found, **given({"reason": self.reason, "rules": list(self.rules), "rows": rows})}


def verdicts(model: Searches) -> tuple[Verdict, ...]:
    """A verdict for each promise of a model, in the order of `promises`."""
    how = {"together": _meetings, "apart": _meetings, "monotone": _monotone, "missing": _missing}
    return tuple(how.get(promise.kind, _required)(model, promise) for promise in promises(model.graph))


def _meetings(model: Searches, promise: Promise) -> Verdict:
    broken = [(rule, columns_of(rule.node)) for rule in forbidden_meetings(model.graph)]
    groups = [set(group) for group in promise.groups]
    if promise.kind == "together":
        ids = [rule.id for rule, columns in broken if not any(columns <= group for group in groups)]
    else:
        ids = [rule.id for rule, columns in broken if len(columns & groups[0]) > 1]
    return Verdict(promise, "fails" if ids else "proved", rules=tuple(ids))


def _monotone(model: Searches, promise: Promise) -> Verdict:
    column = promise.column
    if column not in readers(model.graph.decision.roots):
        return Verdict(promise, "proved")
    if model.ranks is None:
        return Verdict(promise, "not proved", reason="classes without an order do not rise or fall")
    rises = model.graph.schema[column].monotone > 0

    def wrong_step(search: RowSearch, claims: Sequence[Claim]) -> tuple[tuple[Cells, Cells] | None, str]:
        """Two neighbouring values of the column of which a claim holds for the wrong one only; and what is open."""
        axis = search.axis_of(column)
        assert axis is not None
        known = [int(cell) for cell in search.space.axes[axis].known.nonzero()[0]]
        pairs = [(low, high) if rises else (high, low) for low, high in pairwise(known)]
        return model.turned(search, axis, pairs, claims)

    parts = [part for part in model.independent_parts() if column in columns_of(part)]
    if parts and all(wrong_step(model.search(part), [Claim(part)]) == (None, "") for part in parts):
        # What each rule keeps, their disjunction keeps, and so does the number of ranks that are passed.
        return Verdict(promise, "proved")
    for claims in model.decided_by:
        pair, reason = wrong_step(model.whole, claims)
        if pair is None and not reason:
            break
    return _of_rows(model, promise, pair, reason)


def _of_rows(
    model: Searches, promise: Promise, cells: Sequence[Cells] | None, reason: str, search: RowSearch | None = None
) -> Verdict:
    """The verdict where the whole decision was searched for rows that break a promise."""
    if cells is not None:
        rows = examples(model.graph, search or model.whole, cells)
        kept = model.graph.classes[promise.required.class_index] if promise.required else rows[-1].decision
        if rows[0].decision != kept:
            return Verdict(promise, "fails", rows)
        reason = "the rows that were found do not show it"
    return Verdict(promise, "not proved" if reason else "proved", reason=reason)


def _missing(model: Searches, promise: Promise) -> Verdict:
    reasons = []
    for statement in model.said:
        for column, pair, reason in model.satisfied_by_missing(statement.node):
            if pair is not None:
                rows = examples(model.graph, model.search(statement.node), pair)
                why = f"a missing or new value of {name(column)} satisfies {statement.rule.id}"
                return Verdict(promise, "fails", rows, why, (statement.rule.id,))
            reasons.append(reason)
    if model.independent_parts() and not any(reasons):
        return Verdict(promise, "proved")  # what no rule does, their disjunction does not
    if model.ranks is None:
        if not all(map(only_statements, model.graph.underlying.decision.parts)):
            reasons.append("conditions count together, and classes without an order are not helped")
    else:
        for axis, _, pairs in model.whole.unknown_and_known():
            for claims in model.decided_by:
                pair, reason = model.turned(model.whole, axis, pairs, claims)
                if pair is None and not reason:
                    break
            if pair is not None:
                return _of_rows(model, promise, pair, "")
            reasons.append(reason)
    return _of_rows(model, promise, None, next(filter(None, reasons), ""))


def _required(model: Searches, promise: Promise) -> Verdict:
    required = promise.required
    assert required is not None
    condition = Claim(required.condition)
    if required.class_index == 1 and len(model.graph.classes) == 2:
        for part in model.independent_parts():
            if model.search(required.condition, part).find(condition, Claim(part, False)) == Sought(None):
                return Verdict(promise, "proved")
    search = model.search(*model.graph.decision.roots, required.condition)
    found = search.find(condition, model.label(required.class_index).contrary())
    return _of_rows(model, promise, None if found.cells is None else (found.cells,), found.reason, search)


def override_verdicts(model: Searches) -> tuple[Verdict, ...]:
    """For each override whether it decides every row on which it holds and none before it does.

    A row on which another class is decided is looked for, whatever the conditions and the model beneath may be.
    """
    if not model.graph.overrides:
        return ()
    (graph, conditions), schema = over_anything(model.graph), model.graph.schema
    search = model.searching(graph, [*graph.decision.roots, *conditions])
    said = []
    for place, override in enumerate(model.graph.overrides):
        others = Label(graph.decision, frozenset(range(len(graph.classes))) - {override.class_index})
        before = [Claim(condition, False) for condition in conditions[:place]]
        found = search.find(Claim(conditions[place]), *before, Claim(others))
        label, where = quoted(graph.classes[override.class_index]), print_node(override.condition, schema, None)
        where += " holds and no override before it does" * bool(place)
        promise = Promise("override", f"override {override.id} wins: where {where}, the decision is {label}")
        if found.cells is not None:  # never, by the making of the decision
            said.append(Verdict(promise, "fails", reason="the decision is not made of its overrides"))
        else:
            said.append(Verdict(promise, "not proved" if found.reason else "proved", reason=found.reason))
    return tuple(said)
