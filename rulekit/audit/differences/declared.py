"""What two models say of themselves besides their rules: classes, columns, promises, thresholds, how they were made."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

from rulekit.graph.language.words import counted, label, quoted, weight
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Family, Hidden, Linear, Node, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.shown.promises import promises

_NOT_COMPARED = ("time_limit", "random_state")


@dataclass(frozen=True, slots=True)
class Declared:
    """One thing that is not the same: what, and its words in each model; "" where one has none of it."""

    what: str
    before: str
    after: str

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        return {"what": self.what, "before": self.before, "after": self.after}


def declared(first: RuleGraph, second: RuleGraph) -> tuple[Declared, ...]:
    """All that differs, in the order: classes, columns, promises, thresholds, provenance."""
    found = (*_classes(first, second), *_columns(first, second), *_promises(first, second))
    return (*found, *_thresholds(first, second), *_provenance(first, second))


def _differs(what: str, before: str, after: str) -> Iterator[Declared]:
    if before != after:
        yield Declared(what, before, after)


def _classes(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    yield from _differs("label column", first.schema.target, second.schema.target)
    shown = [", ".join(map(quoted, graph.classes)) for graph in (first, second)]
    yield from _differs("classes", *shown)
    ordered = ["ranks" if graph.schema.ordered_classes else "no ranks" for graph in (first, second)]
    yield from _differs("classes are", *ordered)
    defaults = [quoted(graph.classes[graph.default]) if graph.decision.has_default else "" for graph in (first, second)]
    yield from _differs("class where no rule speaks", *defaults)


def _columns(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    deciding = [set(readers(graph.decision.roots)) for graph in (first, second)]
    read = [set(graph.used_features) for graph in (first, second)]
    for name in dict.fromkeys((*first.schema.names, *second.schema.names)):
        uses = [
            "decides" if name in own else "for the probability alone" if name in used else "not read"
            for own, used in zip(deciding, read, strict=True)
        ]
        yield from _differs(f"use of {name}", *uses)
        if name in first.schema and name in second.schema and name in read[0] | read[1]:
            yield from _column(name, first.schema, second.schema)


def _column(name: str, first: Schema, second: Schema) -> Iterator[Declared]:
    before, after = first[name], second[name]
    for item in fields(Feature):
        old, new = getattr(before, item.name), getattr(after, item.name)
        if item.name in ("monotone", "levels") or old == new:
            continue
        shown = [", ".join(value) if isinstance(value, tuple) else label(value) for value in (old, new)]
        yield Declared(f"{item.name.replace('_', ' ')} of {name}", *shown)
    if before.kind == after.kind == "categorical" and set(before.levels) != set(after.levels):
        gone = [level for level in before.levels if level not in after.levels]
        new_ = [level for level in after.levels if level not in before.levels]
        yield Declared(f"levels of {name}", ", ".join(gone), ", ".join(new_))


def _promises(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    old, new = ([promise.text for promise in promises(graph)] for graph in (first, second))
    yield from (Declared("promise", text, "") for text in old if text not in new)
    yield from (Declared("promise", "", text) for text in new if text not in old)


def _thresholds(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    yield from _differs("decided by", _form(first), _form(second))
    if _form(first) == _form(second) and len(first.decision.parts) == len(second.decision.parts):
        for old, new in zip(first.decision.parts, second.decision.parts, strict=True):
            about = "" if len(first.decision.parts) == 1 else f" for {quoted(first.classes[old.class_index])}"
            yield from _differs(f"threshold{about}", _number(old.threshold), _number(new.threshold))
            yield from _differs(f"constant of the sum{about}", _number(_bias(old.score)), _number(_bias(new.score)))
    orders = [[quoted(graph.classes[k]) for k, _, _ in graph.decision.ranked] for graph in (first, second)]
    if sorted(orders[0]) == sorted(orders[1]):
        yield from _differs("order of the classes", *(" before ".join(order) for order in orders))
    if first.probability != second.probability:
        yield Declared("reported probability", _reports(first), _reports(second))


def _reports(graph: RuleGraph) -> str:
    """In few words what a model reports."""
    if not graph.probability:
        return "0 or 1"
    bits = sum(isinstance(node, Hidden) for node in topological(graph.probability))
    return f"a formula of {counted(bits, 'condition')}" if bits else "another formula"


def _form(graph: RuleGraph) -> str:
    """In few words how a model decides."""
    kinds = {_kind(part.score) for part in graph.decision.parts}
    how = "ranks" if graph.decision.ordered else "the largest" if graph.decision.ranked else ""
    if graph.decision.rule_sets:
        how = "the first class with a rule that holds"
    return ": ".join(filter(None, [" and ".join(sorted(kinds)), how]))


def _kind(score: Node) -> str:
    return {
        Family.BOOLEAN: "rules",
        Family.REAL: "a sum",
        Family.PROBABILITY: "a probability",
        Family.RANDOM: "a probability",
    }[score.family]


def _bias(score: Node) -> float | None:
    return score.bias if isinstance(score, Linear) else None


def _number(value: float | None) -> str:
    return "" if value is None or math.isinf(value) else weight(value)


def _provenance(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    old, new = first.provenance, second.provenance
    yield from _differs("learner", str(old.get("learner") or "not said"), str(new.get("learner") or "not said"))
    if old.get("data") and new.get("data") and old["data"] != new["data"]:
        yield Declared("trained on", *(f"{made.get('rows', '?')} rows ({made['data'][:8]})" for made in (old, new)))
    settings = [made.get("parameters") for made in (old, new)]
    if old.get("learner") == new.get("learner") and all(isinstance(one, Mapping) for one in settings):
        before, after = settings
        for key in sorted({*before, *after}):  # type: ignore[misc]
            if key not in _NOT_COMPARED:
                yield from _differs(f"parameter {key}", str(before.get(key)), str(after.get(key)))  # type: ignore[union-attr]
