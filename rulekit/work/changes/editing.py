"""Editing: the rules of an expert in the place of those that were learned, and what that changes.

An edited text says what is decided. What it cannot say is made from the base model and from labelled rows: the
strengths of hidden bits whose condition was edited, statistics, and where the model comes from. Beside it stands which
rows change and by which rule, and the proof that nothing else does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from rulekit.audit.checks.findings import Example, examples
from rulekit.audit.checks.kept_promises import Verdict
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.files.model_files import check_outputs, load
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
from rulekit.shown.sections import signature
from rulekit.shown.statistics import rule_statistics
from rulekit.tables.equal_rows import data_hash
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.table import Table
from rulekit.work.changes.hand_edits import today
from rulekit.work.changes.refitting import bits_of, formulas_reported, refitted_bits, replaced
from rulekit.work.evaluating import labelled_rows
from rulekit.work.models import disagrees, inexact_numbers


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
class Change:
    """A model that a person changed, by an edit or by overrides, and what that does.

    added, removed: rules that only the new and only the old model have. rows: those of the data that change, of
    `n_rows`; None without data. unchanged: whether all else is decided as before. refitted: names of the hidden bits
    whose strengths were fitted to the data. sided: the probability, which would contradict the edited rules on some
    rows, is held on their side. verdicts: for each override whether it is proved to decide wherever it holds.
    """

    model: RuleGraph
    size: ModelSize
    added: tuple[Rule, ...]
    removed: tuple[Rule, ...]
    rows: tuple[ChangedRow, ...] | None
    n_rows: int
    unchanged: Unchanged
    refitted: tuple[str, ...] = ()
    sided: bool = False
    verdicts: tuple[Verdict, ...] = ()
    notes: tuple[str, ...] = ()

    def lines(self, most_rows: int | None = None) -> Iterator[str]:
        """What the change does, for people; most_rows: how many changed rows are shown."""
        signed = {override.id: signature(override) for override in self.model.overrides}
        for word, rules in (("added", self.added), ("removed", self.removed)):
            for rule in rules:
                speaks_for = label(self.model.classes[rule.class_index])
                yield f"{word:9}{rule.id}  {print_node(rule.node, self.model.schema)} -> {speaks_for}"
                if word == "added" and rule.id in signed:
                    yield f"{'':9}{'':{len(rule.id)}}  {signed[rule.id]}"
        if self.refitted:
            yield f"fitted to the rows: the probabilities of {listed(self.refitted)}"
        if self.sided:
            yield "the reported probability is held on the side of the edited rules"
        if self.rows is not None:
            yield f"{len(self.rows)} of {self.n_rows} rows change"
            yield from (f"  {row}" for row in self.rows[:most_rows])
            if most_rows is not None and len(self.rows) > most_rows:
                yield f"  and {len(self.rows) - most_rows} more"
        for verdict in self.verdicts:
            yield f"{verdict.outcome}: {verdict.promise.text}" + (f" ({verdict.reason})" if verdict.reason else "")
        yield str(self.unchanged)

    def as_dict(self) -> dict[str, Any]:
        """JSON values, all changed rows among them."""
        rest, example = self.unchanged, self.unchanged.example
        return {
            "digest": self.model.digest,
            "edit": self.model.provenance["edits"][-1],
            "overrides": listed_overrides(self.model),
            **{word: [rule.id for rule in rules] for word, rules in (("added", self.added), ("removed", self.removed))},
            "rows": None if self.rows is None else self.n_rows,
            "changed": None if self.rows is None else [asdict(row) for row in self.rows],
            "fitted": list(self.refitted),
            "proofs": [verdict.as_dict() for verdict in self.verdicts],
            "rest": {"proved": rest.proved, "reason": rest.reason, "example": example and example.as_dict()},
        }


def change_of(
    base: RuleGraph, model: RuleGraph, table: Table | None, ids: Collection[str] | None = None, **more: Any
) -> Change:
    """What a model changes of its base, on the rows of a table too; ids: of these rules alone. more: what is known."""
    added, removed = (tuple(r for r in rules if ids is None or r.id in ids) for rules in changed_rules(base, model))
    rows = None if table is None else changed_rows(base, model, added, removed, table)
    unchanged = prove_unchanged(base, model, added, removed)
    return Change(model, counts(model), added, removed, rows, 0 if table is None else table.n_rows, unchanged, **more)


def listed_overrides(graph: RuleGraph, day: str | None = None) -> list[dict[str, Any]]:
    """The overrides of a model in their order, as JSON values; day: an ISO date, today by default."""
    return [
        {
            "id": each.id,
            "class": graph.classes[each.class_index],
            "condition": print_node(each.condition, graph.schema, None),
            **{"author": each.author, "date": each.date, "reason": each.reason, "expires": each.expires},
            "expired": each.expired(day or today()),
        }
        for each in graph.overrides
    ]


def edit(
    source: Path,
    base: Path,
    data: Path,
    output: Path | None = None,
    *,
    author: str = "",
    reason: str = "",
    reading: ReadingOptions = DEFAULT_OPTIONS,
) -> Change:
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
) -> Change:
    """What `edited` changes of its base, with probabilities, statistics and provenance; rows: encoded for the base."""
    if base.classes != edited.classes or base.schema.features != edited.schema.features:
        fix = "edit the rules below the header, and leave the header as it is"
        raise InputError("the edited rules have other columns or classes than the base", fix=fix)
    model, refitted = _with_strengths(base.underlying, edited.underlying, rows)
    sided = isinstance(model.decision, Fires) and len(model.probability) == 1 and disagrees(model)
    if sided:
        model = model.with_(probability=(on_the_side_of_the_label(model, model.probability[0]),))
    if edited.overrides:
        model = with_overrides(model, edited.overrides)
    found = change_of(base, model, rows.table, refitted=refitted, sided=sided)
    note: dict[str, Any] = {"author": author, "reason": reason, "date": today(), "base": base.digest}
    note |= {"added": [rule.id for rule in found.added], "removed": [rule.id for rule in found.removed]}
    note |= {"rows_changed": len(found.rows or ()), "rows": len(rows), "data": data_hash(rows)}
    note |= {"rest_proved": found.unchanged.proved}
    edits = [*base.provenance.get("edits", ()), note]
    statistics = rule_statistics(model, rows.table, rows.y, rows.weight)
    model = model.with_(provenance={**base.provenance, "edits": edits}, statistics=statistics)
    return replace(found, model=model, notes=(*notes, *inexact_numbers(model)))


def changed_rules(base: RuleGraph, edited: RuleGraph) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """The rules that only the edited model has, and those that only the base has; one that is there twice counts so."""
    old, new = rules_of(base), rules_of(edited)
    return _not_among(new, old), _not_among(old, new)


def _not_among(rules: Sequence[Rule], others: Sequence[Rule]) -> tuple[Rule, ...]:
    left, found = Counter(map(_meant, others)), list[Rule]()
    for rule in rules:
        left[_meant(rule)] -= 1
        found += [rule] * (left[_meant(rule)] < 0)
    return tuple(found)


def _meant(rule: Rule) -> tuple[Any, ...]:
    return rule.class_index, rule.node, rule.connective, rule.weight


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
    against = (added, {*base.nodes()}), (removed, {*edited.nodes()})
    parts = [part for rules, others in against for rule in rules for part in _reach(rule.node, others)]
    if TRUE in parts:
        why = "a probability was edited that counts where its rule does not hold, so the edit concerns every row"
        return Unchanged(False, reason=why)
    region = Or(list(dict.fromkeys(parts))) if parts else FALSE
    if edited.default != base.default and (base.decision.has_default or edited.decision.has_default):
        return Unchanged(False, reason="the default class was edited")
    search = RowSearch(base, [*base.decision.roots, *edited.decision.roots, region])
    for k in range(len(base.classes)):
        before, after = (Label(graph.decision, frozenset({k})) for graph in (base, edited))
        found = search.find(Claim(region, False), Claim(before), Claim(after, False))
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
