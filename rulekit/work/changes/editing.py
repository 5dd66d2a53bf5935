"""Editing: the rules of an expert in the place of those that were learned, and what that changes.

An edited text says what is decided. What it cannot say is made from the base model and from labelled rows: the
strengths of hidden bits whose condition was edited, statistics, and where the model comes from. Beside it stands which
rows change and by which rule, and the proof that nothing else does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.audit.checks.findings import Example, examples
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.model_files import load
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import label, listed
from rulekit.graph.leaves import readers
from rulekit.graph.model_parts import on_the_side_of_the_label
from rulekit.graph.nodes import FALSE, TRUE, Family, Hidden, Node, Or
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import ModelSize, Rule, counts, firing, rule_values, rules_of
from rulekit.graph.variants import deciding, with_any_conditions, with_overrides
from rulekit.schema import Feature, Schema
from rulekit.search.row_search import Claim, Label, RowSearch
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.labels import LabelledTable, data_hash
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.table import Table
from rulekit.work.changes.refitting import bits_of, formulas_reported, refitted_bits, replaced
from rulekit.work.evaluating import labelled_rows
from rulekit.work.models import disagrees, inexact_numbers
from rulekit.work.outputs import check_outputs


@dataclass(frozen=True, slots=True)
class ChangedRow:
    """A row whose label an edit changes: its number in the data (from 1), the labels, and the rule that did it.

    rule: the id of a rule that was added and is true there, or of one that is gone and was true there, and which of the
    two; "" where the decision itself was edited.
    """

    row: int
    before: ClassLabel
    after: ClassLabel
    rule: str

    def __str__(self) -> str:
        why = f"   {self.rule}" if self.rule else ""
        return f"row {self.row}: {label(self.before)} -> {label(self.after)}{why}"


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Whether all rows that there can be on which no changed rule holds are decided as before.

    example: a row that is not, and so shows that the edit reaches further. reason: why neither is known.
    """

    proved: bool
    example: Example | None = None
    reason: str = ""

    def __str__(self) -> str:
        if self.proved:
            return "proved: every row on which no changed rule holds is decided as before"
        if self.example is not None:
            return f"the edit reaches further than its rules: {self.example.text}"
        return f"not proved that the rest is decided as before: {self.reason}"


@dataclass(frozen=True, slots=True, eq=False)
class Edit:
    """The edited model, and what the edit does.

    added, removed: rules that only the edited model and only the base have. rows: those of the data that change, of
    `n_rows`. refitted: names of the hidden bits whose strengths were fitted to the data. sided: the probability, which
    would contradict the edited rules on some rows, is held on their side.
    """

    model: RuleGraph
    size: ModelSize
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    rows: tuple[ChangedRow, ...]
    n_rows: int
    unchanged: Unchanged
    refitted: tuple[str, ...] = ()
    sided: bool = False
    notes: tuple[str, ...] = ()

    def lines(self, most_rows: int | None = None) -> Iterator[str]:
        """What the edit does, for people; most_rows: how many changed rows are shown."""
        schema = self.model.schema
        for word, rules in (("added", self.added), ("removed", self.removed)):
            for rule in rules:
                speaks_for = label(self.model.classes[rule.class_index])
                yield f"{word:8}{rule.id}  {speaks_for}: {print_node(rule.node, schema)}"
        if self.refitted:
            yield f"fitted to the rows: the probabilities of {listed(self.refitted)}"
        if self.sided:
            yield "the reported probability is held on the side of the edited rules"
        yield f"{len(self.rows)} of {self.n_rows} rows change"
        yield from (f"  {row}" for row in self.rows[:most_rows])
        if most_rows is not None and len(self.rows) > most_rows:
            yield f"  and {len(self.rows) - most_rows} more"
        yield str(self.unchanged)

    def as_dict(self) -> dict[str, Any]:
        """JSON values, all changed rows among them."""
        example = self.unchanged.example
        return {
            "digest": self.model.digest,
            "edit": self.model.provenance["edits"][-1],
            "changed": [asdict(row) for row in self.rows],
            "fitted": list(self.refitted),
            "rest": {
                "proved": self.unchanged.proved,
                "reason": self.unchanged.reason,
                "example": None if example is None else example.as_dict(),
            },
        }


def edit(
    source: Path,
    base: Path,
    data: Path,
    output: Path | None = None,
    *,
    author: str = "",
    reason: str = "",
    reading: ReadingOptions = DEFAULT_OPTIONS,
) -> Edit:
    """The model of an edited rule text, gone on from its base; written where `output` says.

    Raises InputError where the two are no models of one question.
    """
    check_outputs([], data, base, model=output)
    old, new = load(base), load(source, verify=False)
    found = labelled_rows(old, data, reading, also=new.used_features)
    edited = edit_of(old, new, found.rows, author=author, reason=reason, notes=found.notes)
    if output is not None:
        edited.model.save(output)
    return edited


def edit_of(
    base: RuleGraph,
    edited: RuleGraph,
    rows: LabelledTable,
    *,
    author: str = "",
    reason: str = "",
    notes: tuple[str, ...] = (),
) -> Edit:
    """What `edited` changes of its base, with probabilities, statistics and provenance; rows: encoded for the base."""
    if base.classes != edited.classes or base.schema.features != edited.schema.features:
        raise InputError(
            "the edited rules have other columns or classes than the base",
            fix="edit the rules below the header, and leave the header as it is",
        )
    model, refitted = _with_strengths(base.underlying, edited.underlying, rows)
    sided = isinstance(model.decision, Fires) and len(model.probability) == 1 and disagrees(model)
    if sided:
        model = model.with_(probability=(on_the_side_of_the_label(model, model.probability[0]),))
    if edited.overrides:
        model = with_overrides(model, edited.overrides)
    added, removed = changed_rules(base, model)
    changed = changed_rows(base, model, added, removed, rows.table)
    unchanged = prove_unchanged(base, model, added, removed)
    note: dict[str, Any] = {
        "author": author,
        "reason": reason,
        "date": datetime.now(UTC).date().isoformat(),
        "base": base.digest,
        "added": [rule.id for rule in added],
        "removed": [rule.id for rule in removed],
        "rows_changed": len(changed),
        "rows": len(rows),
        "data": data_hash(rows),
        "rest_proved": unchanged.proved,
    }
    edits = [*base.provenance.get("edits", ()), note]
    statistics = rule_statistics(model, rows.table, rows.y, rows.weight)
    model = model.with_(provenance={**base.provenance, "edits": edits}, statistics=statistics)
    notes = (*notes, *inexact_numbers(model))
    return Edit(model, counts(model), added, removed, changed, len(rows), unchanged, refitted, sided, notes)


def changed_rules(base: RuleGraph, edited: RuleGraph) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules that only the edited model has, and those that only the base has."""

    def meant(rule: Rule) -> tuple[Any, ...]:
        return rule.class_index, rule.node, rule.connective, rule.weight

    old, new = (rules_of(graph) for graph in (base, edited))
    # a rule that stands twice counts twice
    spare = [Counter(map(meant, rules)) for rules in (old, new)]
    added = tuple(rule for rule in new if _not_among(meant(rule), spare[0]))
    removed = tuple(rule for rule in old if _not_among(meant(rule), spare[1]))
    return added, removed


def _not_among(meant: tuple[Any, ...], left: Counter[tuple[Any, ...]]) -> bool:
    left[meant] -= 1
    return left[meant] < 0


def changed_rows(
    base: RuleGraph, edited: RuleGraph, added: tuple[Rule, ...], removed: tuple[Rule, ...], rows: Table
) -> tuple[ChangedRow, ...]:
    """The rows whose label an edit changes, each with the changed rule that explains it best."""
    before, after = decide(base, rows), decide(edited, rows)
    places = np.flatnonzero(before != after)
    table = rows.take(places)
    rules = (*added, *removed)
    values = rule_values(rules, table)
    true = firing(rules, values, table.n_rows).astype(np.float64)
    for j, (rule, value) in enumerate(zip(rules, values, strict=True)):
        true[:, j] = value if rule.nested else true[:, j]  # a random rule does it in so far as it is probable
    # a rule that speaks for the new label and was added, or spoke for the old one and is gone, explains most
    new = np.array([rule.class_index for rule in added], dtype=np.int64)
    old = np.array([rule.class_index for rule in removed], dtype=np.int64)
    speaks = np.concatenate([after[places, None] == new, before[places, None] == old], axis=1)
    weight = true * (1 + speaks)
    found = []
    for i, row in enumerate(places.tolist()):
        did = ""
        if rules and weight[i].any():
            best = int(np.argmax(weight[i]))
            did = f"{rules[best].id} {'added' if best < len(added) else 'removed'}"
        found.append(ChangedRow(row + 1, base.classes[before[row]], base.classes[after[row]], did))
    return tuple(found)


# What stays ---------------------------------------------------------------------------------------------------------


def prove_unchanged(
    base: RuleGraph, edited: RuleGraph, added: tuple[Rule, ...], removed: tuple[Rule, ...]
) -> Unchanged:
    """Whether the two decide alike wherever no added and no removed rule holds, on every row that there can be."""
    if base.default == edited.default and base.underlying.decision == edited.underlying.decision:
        return _prove_beneath_unchanged(base, edited, [rule.node for rule in (*added, *removed)])
    own = {False: set(base.nodes()), True: set(edited.nodes())}
    parts = [
        *(part for rule in added for part in _reach(rule.node, own[False])),
        *(part for rule in removed for part in _reach(rule.node, own[True])),
    ]
    if TRUE in parts:
        why = "a probability was edited that counts where its rule does not hold, so the edit concerns every row"
        return Unchanged(False, reason=why)
    region = Or(list(dict.fromkeys(parts))) if parts else FALSE
    if edited.default != base.default and (base.decision.has_default or edited.decision.has_default):
        return Unchanged(False, reason="the default class was edited")
    search = RowSearch(base, [*base.decision.roots, *edited.decision.roots, region])
    everything = frozenset(range(len(base.classes)))
    for k in sorted(everything):
        same = Label(base.decision, frozenset({k})), Label(edited.decision, frozenset({k}))
        found = search.find(Claim(region, False), Claim(same[0]), Claim(same[1], False))
        if found.cells is not None:
            return Unchanged(False, examples(edited, search, [found.cells])[0])
        if found.reason:
            return Unchanged(False, reason=found.reason)
    return Unchanged(True)


def _prove_beneath_unchanged(base: RuleGraph, edited: RuleGraph, changed: list[Node]) -> Unchanged:
    """As `prove_unchanged` of two models that differ in their overrides alone, whatever lies beneath.

    There every root is made of what lies beneath and of whether an override decides its class or another one. So it is
    enough that these are the same on every row on which no changed override holds, whatever the conditions are.
    """
    before, after = with_any_conditions(base.overrides, edited.overrides)
    pairs = zip((*base.overrides, *edited.overrides), (*before, *after), strict=True)
    columns = {given.condition: any_.condition for given, any_ in pairs}
    region = Or([columns[node] for node in dict.fromkeys(changed)]) if changed else FALSE
    names = sorted(readers(columns.values()))
    model = RuleGraph(Schema(tuple(Feature(name, "boolean") for name in names)), base.classes[:2], Fires(FALSE))
    search = RowSearch(model, [*columns.values()])
    for k in range(len(base.classes)):
        one, other = deciding(before, k), deciding(after, k)
        for first, second in ((one, other), (other, one)):
            found = search.find(Claim(region, False), Claim(first), Claim(second, False))
            if found.cells is not None:
                why = "the order of the overrides was changed, which counts where several of them hold"
                return Unchanged(False, reason=why)
            if found.reason:
                return Unchanged(False, reason=found.reason)
    return Unchanged(True)


def _reach(node: Node, others: set[Node]) -> list[Node]:
    """Conditions of which one holds wherever a rule does something that none of the other model does."""
    if node.family is not Family.RANDOM:
        return [node]
    bits = [bit for bit in bits_of(node) if bit not in others]
    plain: list[Node] = [] if bits else [TRUE]
    names = {other.name: other for other in others if isinstance(other, Hidden)}
    for bit in bits:
        twin = names.get(bit.name)
        same = bit.off == (0 if twin is None else twin.off)  # then, where neither cause holds, both fire alike
        plain.append(bit.cause if same else TRUE)
    return plain


# Probabilities --------------------------------------------------------------------------------------------------------


def _with_strengths(base: RuleGraph, edited: RuleGraph, rows: LabelledTable) -> tuple[RuleGraph, tuple[str, ...]]:
    """The edited model with the strengths of those bits fitted whose condition was edited, and their names.

    Bits that decide stay as they are written, and so does a strength that was edited without the condition.
    """
    try:
        formulas = formulas_reported(edited)
    except InputError:
        return edited, ()
    deciding = {bit for root in edited.decision.roots for bit in bits_of(root)}
    causes = {node.cause for node in base.nodes() if isinstance(node, Hidden)}
    reported, names = list(edited.probability), list[str]()
    for place, (k, formula) in enumerate(formulas.items()):
        bits = [bit for bit in bits_of(formula) if bit not in deciding and bit.cause not in causes]
        fitted = refitted_bits(formula, bits, rows.table, rows.y == k, rows.weight)
        reported[place] = replaced(reported[place], fitted)
        names += [bit.name for bit in bits]
    return edited.with_(probability=tuple(reported)), tuple(names)
