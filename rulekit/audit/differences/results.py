"""What a comparison of two models found, and what they say of themselves besides their rules: as JSON and lines."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from typing import Any, Literal

from rulekit.audit.checks.findings import given, row_as_json
from rulekit.audit.differences.row_flips import GroupFlips, RowFlips
from rulekit.audit.differences.rule_changes import RuleChange, RuleChanges
from rulekit.audit.differences.ways import Region
from rulekit.graph.language.words import counted, label, name, percent, quoted, weight
from rulekit.graph.leaves import readers
from rulekit.graph.nodes import Family, Hidden, Linear, topological
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import counts
from rulekit.schema import Feature
from rulekit.shown.promises import promises

Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_REGIONS, MOST_RULES, MOST_DECLARED = 6, 20, 12
_WHOLE = 0.995
"""A bound on a share of rows from here on says nothing."""


_NOT_COMPARED = ("time_limit", "random_state")


@dataclass(frozen=True, slots=True)
class Declared:
    """One thing that is not the same: what, and its words in each model; "" where one has none of it."""

    what: str
    before: str
    after: str


def declared(first: RuleGraph, second: RuleGraph) -> tuple[Declared, ...]:
    """All that differs, in the order: classes, columns, promises, thresholds, provenance."""
    found = (*_classes_declared(first, second), *_columns_declared(first, second), *_promises_declared(first, second))
    return (*found, *_thresholds_declared(first, second), *_provenance_declared(first, second))


def _differs(what: str, before: str, after: str) -> Iterator[Declared]:
    if before != after:
        yield Declared(what, before, after)


def _classes_declared(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    yield from _differs("label column", first.schema.target, second.schema.target)
    shown = [", ".join(map(quoted, graph.classes)) for graph in (first, second)]
    yield from _differs("classes", *shown)
    ordered = ["ranks" if graph.schema.ordered_classes else "no ranks" for graph in (first, second)]
    yield from _differs("classes are", *ordered)
    defaults = [quoted(graph.classes[graph.default]) if graph.decision.has_default else "" for graph in (first, second)]
    yield from _differs("class where no rule speaks", *defaults)


def _columns_declared(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    deciding = [set(readers(graph.decision.roots)) for graph in (first, second)]
    read = [set(graph.used_features) for graph in (first, second)]
    for column in dict.fromkeys((*first.schema.names, *second.schema.names)):
        uses = [
            "decides" if column in own else "for the probability alone" if column in used else "not read"
            for own, used in zip(deciding, read, strict=True)
        ]
        yield from _differs(f"use of {column}", *uses)
        if column in first.schema and column in second.schema and column in read[0] | read[1]:
            yield from _column(first.schema[column], second.schema[column])


def _column(before: Feature, after: Feature) -> Iterator[Declared]:
    for item in fields(Feature):
        values = getattr(before, item.name), getattr(after, item.name)
        if item.name not in ("monotone", "levels") and values[0] != values[1]:
            shown = [", ".join(value) if isinstance(value, tuple) else label(value) for value in values]
            yield Declared(f"{item.name.replace('_', ' ')} of {before.name}", *shown)
    if before.kind == after.kind == "categorical" and set(before.levels) != set(after.levels):
        gone = [level for level in before.levels if level not in after.levels]
        new_ = [level for level in after.levels if level not in before.levels]
        yield Declared(f"levels of {before.name}", ", ".join(gone), ", ".join(new_))


def _promises_declared(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    old, new = ([promise.text for promise in promises(graph)] for graph in (first, second))
    yield from (Declared("promise", text, "") for text in old if text not in new)
    yield from (Declared("promise", "", text) for text in new if text not in old)


def _thresholds_declared(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
    yield from _differs("decided by", _form(first), _form(second))
    if _form(first) == _form(second) and len(first.decision.parts) == len(second.decision.parts):
        for old, new in zip(first.decision.parts, second.decision.parts, strict=True):
            about = "" if len(first.decision.parts) == 1 else f" for {quoted(first.classes[old.class_index])}"
            yield from _differs(f"threshold{about}", _number(old.threshold), _number(new.threshold))
            biases = (part.score.bias if isinstance(part.score, Linear) else None for part in (old, new))
            yield from _differs(f"constant of the sum{about}", *map(_number, biases))
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


_KINDS = {
    Family.BOOLEAN: "rules",
    Family.REAL: "a sum",
    Family.PROBABILITY: "a probability",
    Family.RANDOM: "a probability",
}


def _form(graph: RuleGraph) -> str:
    """In few words how a model decides."""
    kinds = {_KINDS[part.score.family] for part in graph.decision.parts}
    how = "ranks" if graph.decision.ordered else "the largest" if graph.decision.ranked else ""
    if graph.decision.rule_sets:
        how = "the first class with a rule that holds"
    return ": ".join(filter(None, [" and ".join(sorted(kinds)), how]))


def _number(value: float | None) -> str:
    return "" if value is None or math.isinf(value) else weight(value)


def _provenance_declared(first: RuleGraph, second: RuleGraph) -> Iterator[Declared]:
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


@dataclass(frozen=True, slots=True)
class Witness:
    """A row, by column its raw value (None: missing), and what each model decides for it.

    data_row: its number in the table that was given, from 1; 0 of a row that was made. new: columns whose value is a
    level that neither model knows.
    """

    row: Mapping[str, Any]
    before: ClassLabel
    after: ClassLabel
    text: str
    data_row: int = 0
    new: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        found = {"row": row_as_json(self.row), "before": self.before, "after": self.after}
        return given({**found, "data_row": self.data_row or None, "new_levels": list(self.new)})


Outcome = Literal["equal", "different", "open"]


@dataclass(frozen=True, slots=True)
class FlipSaid:
    """A way in which two models differ: what each decides, a row that shows it, and where.

    rows: of the table, None without one; cells: how many, where all were run. complete: whether the regions are all
    there is. among: where there are no regions, what the rows of the table that flip have in common, in words.
    """

    before: ClassLabel
    after: ClassLabel
    rows: int | None
    cells: int | None
    witness: Witness | None
    regions: tuple[Region, ...] = ()
    complete: bool = False
    among: str = ""

    def as_dict(self, n_rows: int | None) -> dict[str, Any]:
        return {
            "before": self.before,
            "after": self.after,
            **given({"rows": self.rows, "cells": self.cells}),
            "witness": None if self.witness is None else self.witness.as_dict(),
            "where": [region.as_dict(n_rows) for region in self.regions],
            "where_is_complete": self.complete,
            "among": self.among,
        }


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compared:
    """How two models differ.

    outcome: "equal" where it is proved that every row is decided alike, "different" where a row shows that it is not,
    else "open", for the reason given. proved_by: "rules" (they are the same), "cells" (all were run), "logic", or ""
    where nothing is proved of all rows. cells: how many combinations of cells there are, 0 where the rules are the
    same. faults: why an artifact may not decide as the rules that it
    carries, which leaves the outcome open at best. gap: the largest difference of a reported probability on the rows
    of the table, None where that was not asked.
    """

    models: tuple[RuleGraph, RuleGraph]
    outcome: Outcome
    proved_by: Literal["rules", "cells", "logic", ""]
    cells: int
    flips: tuple[FlipSaid, ...]
    rules: RuleChanges
    declared: tuple[Declared, ...]
    rows: RowFlips | None = None
    reason: str = ""
    gap: float | None = None
    faults: tuple[str, ...] = ()
    names: tuple[str, str] = ("A", "B")
    classes: tuple[ClassLabel, ...] = ()

    @property
    def equal(self) -> bool:
        return self.outcome == "equal"

    def with_faults(self, faults: Sequence[str]) -> Compared:
        """The same, where artifacts were found not to decide, or not proved to decide, as the rules that they carry."""
        if not faults:
            return self
        outcome: Outcome = "open" if self.equal else self.outcome
        return replace(self, outcome=outcome, faults=tuple(faults), reason=self.reason or faults[0])

    def as_dict(self) -> dict[str, Any]:
        """JSON values, for continuous integration and for reports."""
        rows = self.rows
        models = zip(self.names, self.models, strict=True)
        found: dict[str, Any] = {
            "outcome": self.outcome,
            "equal": self.equal,
            "proved_by": self.proved_by,
            "reason": self.reason,
            "cells": self.cells,
            "models": [{"name": name, "digest": graph.digest} for name, graph in models],
            "classes": list(self.classes),
            "flips": [flip.as_dict(None if rows is None else rows.n) for flip in self.flips],
            "rules": {"same": self.rules.same, "changes": [change.as_dict() for change in self.rules.changes]},
            "declared": [asdict(one) for one in self.declared],
        }
        if rows is not None:
            share = rows.changed / rows.n
            found["rows"] = {"source": rows.source, "n": rows.n, "changed": rows.changed, "share": share}
            found["largest_gap_of_probabilities"] = self.gap
            found |= given({"groups": [group.as_dict() for group in rows.groups]})
        return found | given({"faults": list(self.faults)})

    def __str__(self) -> str:
        return "\n".join(f"{word:<13}{text}" for word, text in difference_lines(self))

    def __repr__(self) -> str:
        return f"<Compared: {self.outcome}, {len(self.flips)} ways to differ, {len(self.rules.changes)} rules changed>"


def difference_lines(compared: Compared, everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: all regions, rules and parameters."""
    for letter, named, graph in zip("AB", compared.names, compared.models, strict=True):
        about = "" if named == letter else f"{named}: "
        yield letter, f"{about}{counts(graph)}, digest {graph.digest[:12]}"
    yield from _outcome(compared)
    for fault in compared.faults:
        yield "FAULT", fault
    for flip in compared.flips:
        yield from _flip(compared, flip, everything)
    yield from _rules(compared, everything)
    declared = [("changed", _declared(one)) for one in compared.declared]
    yield from _first(declared, None if everything else MOST_DECLARED)
    if compared.gap is not None:
        yield "probability", f"the reported probability of a class differs by at most {compared.gap:.3g} on these rows"
    yield from _groups(compared)


def _first(lines: Sequence[Said], most: int | None) -> Iterator[Said]:
    """The first lines, and how many more there are."""
    yield from lines[:most]
    if most is not None and len(lines) > most:
        yield "", f"and {len(lines) - most} more (--all)"


_PROVED_BY = {
    "rules": "by the same rules",
    "cells": "all {:,} combinations of cells were run",
    "logic": "by logic, for all combinations of cells",
}


def _outcome(compared: Compared) -> Iterator[Said]:
    rows, of_rows = compared.rows, ""
    if rows is not None:
        of_rows = f"{rows.changed:,} of {rows.n:,} rows of {rows.source} ({_share(rows.changed, rows.n)})"
    if compared.equal:
        how = _PROVED_BY[compared.proved_by].format(compared.cells)
        yield "PROVED EQUAL", f"A and B decide every row alike ({how})"
    elif compared.outcome == "different":
        cells = sum(flip.cells or 0 for flip in compared.flips)
        of_cells = f"{cells:,} of {compared.cells:,} combinations of cells" if cells else ""
        yield "DIFFERENT", "decisions differ on " + (" and on ".join(filter(None, [of_rows, of_cells])) or "some rows")
        if not compared.proved_by:
            yield "", f"there may be other ways in which they differ, which is open: {compared.reason}"
    elif compared.faults and compared.proved_by:
        yield "NOT PROVED", "the rules of A and B decide every row alike, but a file may not decide as the rules in it"
    else:
        seen = of_rows and f"; {of_rows} differ"
        yield "NOT PROVED", f"no row was found on which A and B differ, and that there is none is not proved{seen}"
        yield "", compared.reason


def _share(part: int, total: int) -> str:
    return percent(part / total) if total else "0 %"


def _flip(compared: Compared, flip: FlipSaid, everything: bool) -> Iterator[Said]:
    rows, many = compared.rows, ""
    if flip.rows is not None and rows is not None:
        many = f": {counted(flip.rows, 'row')} ({_share(flip.rows, rows.n)})"
    yield "flip", f"A {quoted(flip.before)}, B {quoted(flip.after)}{many}"
    yield from _where(compared, flip, everything)
    if flip.witness is not None:
        row = f"row {flip.witness.data_row}" if flip.witness.data_row else "a row"
        yield "", f"  {row}: {flip.witness.text}"


def _where(compared: Compared, flip: FlipSaid, everything: bool) -> Iterator[Said]:
    """The regions; of those without a row of the table only how many there are."""
    regions = flip.regions
    if not everything:
        held = tuple(region for region in regions if region.rows != 0)[:MOST_REGIONS]
        regions = held or regions[:1]
    for region in regions:
        yield "", f"  where {region.text}{_of_region(compared, region)}"
    more = len(flip.regions) - len(regions)
    if flip.among:
        yield "", f"  these rows have {flip.among}"
    elif not flip.regions:
        yield "", "  the conditions on which they do are not known"
    elif more:
        empty = " that hold no row of the table" if all(r.rows == 0 for r in flip.regions if r not in regions) else ""
        yield "", f"  and in {counted(more, 'region')}{empty} (--all){'' if flip.complete else ', and elsewhere'}"
    elif not flip.complete:
        yield "", "  and elsewhere: these regions are not all"


def _of_region(compared: Compared, region: Region) -> str:
    if region.rows is not None and compared.rows is not None:
        return f"   {counted(region.rows, 'row')} ({_share(region.rows, compared.rows.n)})"
    if region.at_most is not None and region.at_most < _WHOLE:
        return f"   at most {percent(region.at_most)} of the training rows of {'AB'[region.model]}"
    return ""


def _rules(compared: Compared, everything: bool) -> Iterator[Said]:
    changes = compared.rules.changes
    most = len(changes) if everything else MOST_RULES
    for change in changes[:most]:
        yield from _rule(change)
    if len(changes) > most:
        yield "", f"and {len(changes) - most} more (--all)"
    if compared.rules.same:
        yield "same", counted(compared.rules.same, "rule")


def _rule(change: RuleChange) -> Iterator[Said]:
    old, new = change.old, change.new
    if old is None or new is None:
        rule = old or new
        assert rule is not None
        points = "" if rule.weight is None else f" (weight {_plain(rule.weight)})"
        yield change.kind, f"{rule.id} for {quoted(rule.label)}: {rule.text}{points}"
        return
    if change.kind == "rewritten":
        yield "rewritten", f"{old.id} -> {new.id}, the same rows: {new.text}"
        return
    word = "reweighted" if change.kind == "weight" else change.kind
    yield word, f"{old.id} -> {new.id} for {quoted(new.label)}: {new.text}"
    for part in change.parts:
        if not part.before:
            yield "", f"  also {part.after}"
        elif not part.after:
            yield "", f"  no longer {part.before}"
        else:
            yield "", f"  {part.after}, which was {part.before}"
    if change.weights_differ:
        yield "", f"  weight {_plain(new.weight)}, which was {_plain(old.weight)}"


def _plain(value: float | None) -> str:
    return "none" if value is None else weight(value)


def _declared(one: Declared) -> str:
    if one.before == one.after:
        return f"{one.what}: another one"
    if not one.before or not one.after:
        return f"{one.what}: {'only in B: ' if one.after else 'only in A: '}{one.after or one.before}"
    return f"{one.what}: {one.after}, which was {one.before}"


def _groups(compared: Compared) -> Iterator[Said]:
    groups = () if compared.rows is None else compared.rows.groups
    label = quoted(compared.classes[1]) if len(compared.classes) == 2 else "for each class"
    for column, own in groupby(groups, key=lambda group: group.column):
        yield "by", f"{name(column)}: rows that flip, and the share of rows that is decided {label}"
        yield from (("", _group(compared, group)) for group in own)


def _group(compared: Compared, group: GroupFlips) -> str:
    said = f"none of {counted(group.n, 'row')}"
    if group.flips:
        flips = ", ".join(f"{quoted(f.before)} to {quoted(f.after)} {f.n:,}" for f in group.flips)
        said = f"{group.changed:,} of {counted(group.n, 'row')} ({_share(group.changed, group.n)}): {flips}"
    rates = [
        f"{percent(a)} in A, {percent(b)} in B" if a != b else f"{percent(a)} in both"
        for a, b in zip(*group.decided, strict=True)
    ]
    if len(compared.classes) == 2:
        return f"  {group.group}: {said}; {rates[1]}"
    of_classes = ", ".join(f"{quoted(k)} {rate}" for k, rate in zip(compared.classes, rates, strict=True))
    return f"  {group.group}: {said}; {of_classes}"
