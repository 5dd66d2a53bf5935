"""What a comparison of two models found: as values and JSON, and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rulekit.audit.checks.findings import row_as_json
from rulekit.audit.differences.declared import Declared
from rulekit.audit.differences.region_words import Region
from rulekit.audit.differences.row_flips import GroupFlips, RowFlips
from rulekit.audit.differences.rule_changes import RuleChange, RuleChanges, SaidRule
from rulekit.graph.language.words import counted, name, percent, quoted, weight
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import counts

Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_REGIONS, MOST_RULES, MOST_DECLARED = 6, 20, 12
_WHOLE = 0.995
"""A bound on a share of rows from here on says nothing."""


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
        """JSON values; an infinity is a text."""
        found = {"row": row_as_json(self.row), "before": self.before, "after": self.after}
        return (
            found
            | ({"data_row": self.data_row} if self.data_row else {})
            | ({"new_levels": list(self.new)} if self.new else {})
        )


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
        """JSON values."""
        found: dict[str, Any] = {"before": self.before, "after": self.after}
        found |= {} if self.rows is None else {"rows": self.rows}
        found |= {} if self.cells is None else {"cells": self.cells}
        found |= {"witness": None if self.witness is None else self.witness.as_dict()}
        where = [region.as_dict(n_rows) for region in self.regions]
        return found | {"where": where, "where_is_complete": self.complete, "among": self.among}


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
    classes: tuple[ClassLabel, ...] = field(default=())

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
        n_rows = None if rows is None else rows.n
        groups = () if rows is None else rows.groups
        found: dict[str, Any] = {
            "outcome": self.outcome,
            "equal": self.equal,
            "proved_by": self.proved_by,
            "reason": self.reason,
            "cells": self.cells,
            "models": [
                {"name": name, "digest": graph.digest} for name, graph in zip(self.names, self.models, strict=True)
            ],
            "classes": list(self.classes),
            "flips": [flip.as_dict(n_rows) for flip in self.flips],
            "rules": {"same": self.rules.same, "changes": [change.as_dict() for change in self.rules.changes]},
            "declared": [one.as_dict() for one in self.declared],
        }
        if rows is not None:
            found["rows"] = {
                "source": rows.source,
                "n": rows.n,
                "changed": rows.changed,
                "share": rows.changed / rows.n,
            }
            found["largest_gap_of_probabilities"] = self.gap
        if groups:
            found["groups"] = [
                {
                    "column": group.column,
                    "group": group.group,
                    "n": group.n,
                    "changed": group.changed,
                    "flips": [{"before": f.before, "after": f.after, "rows": f.n} for f in group.flips],
                    "decided": {"A": list(group.decided[0]), "B": list(group.decided[1])},
                }
                for group in groups
            ]
        return found | ({"faults": list(self.faults)} if self.faults else {})

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
    shown = compared.declared if everything else compared.declared[:MOST_DECLARED]
    for one in shown:
        yield "changed", _declared(one.what, one.before, one.after)
    if len(shown) < len(compared.declared):
        yield "", f"and {len(compared.declared) - len(shown)} more (--all)"
    if compared.gap is not None:
        yield "probability", f"the reported probability of a class differs by at most {compared.gap:.3g} on these rows"
    yield from _groups(compared)


def _outcome(compared: Compared) -> Iterator[Said]:
    rows, flips = compared.rows, compared.flips
    of_rows = (
        "" if rows is None else f"{rows.changed:,} of {rows.n:,} rows of {rows.source} ({_share(rows.changed, rows.n)})"
    )
    if compared.equal:
        how = {
            "rules": "by the same rules",
            "cells": f"all {compared.cells:,} combinations of cells were run",
            "logic": "by logic, for all combinations of cells",
        }
        yield "PROVED EQUAL", f"A and B decide every row alike ({how[compared.proved_by]})"
    elif compared.outcome == "different":
        cells = sum(flip.cells or 0 for flip in flips)
        of_cells = f"{cells:,} of {compared.cells:,} combinations of cells" if cells else ""
        yield "DIFFERENT", "decisions differ on " + (" and on ".join(filter(None, [of_rows, of_cells])) or "some rows")
        if not compared.proved_by:
            yield "", f"there may be other ways in which they differ, which is open: {compared.reason}"
    elif compared.faults and compared.proved_by:
        yield "NOT PROVED", "the rules of A and B decide every row alike, but a file may not decide as the rules in it"
    else:
        seen = f"; {of_rows} differ" if rows is not None else ""
        yield "NOT PROVED", f"no row was found on which A and B differ, and that there is none is not proved{seen}"
        yield "", compared.reason


def _share(part: int, total: int) -> str:
    return percent(part / total) if total else "0 %"


def _flip(compared: Compared, flip: FlipSaid, everything: bool) -> Iterator[Said]:
    rows = compared.rows
    many = ""
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
    shown = changes if everything else changes[:MOST_RULES]
    for change in shown:
        yield from _rule(change)
    if len(shown) < len(changes):
        yield "", f"and {len(changes) - len(shown)} more (--all)"
    if compared.rules.same:
        yield "same", counted(compared.rules.same, "rule")


_WORDS = {"tightened": "tightened", "loosened": "loosened", "moved": "moved", "weight": "reweighted"}


def _rule(change: RuleChange) -> Iterator[Said]:
    if change.old is None or change.new is None:
        rule = change.old or change.new
        assert rule is not None
        yield change.kind, f"{rule.id} for {quoted(rule.label)}: {rule.text}{_weight(rule)}"
        return
    if change.kind == "rewritten":
        yield "rewritten", f"{change.old.id} -> {change.new.id}, the same rows: {change.new.text}"
        return
    yield _WORDS[change.kind], f"{change.old.id} -> {change.new.id} for {quoted(change.new.label)}: {change.new.text}"
    for part in change.parts:
        if not part.before:
            yield "", f"  also {part.after}"
        elif not part.after:
            yield "", f"  no longer {part.before}"
        else:
            yield "", f"  {part.after}, which was {part.before}"
    if change.weights_differ:
        yield "", f"  weight {_plain(change.new.weight)}, which was {_plain(change.old.weight)}"


def _weight(rule: SaidRule) -> str:
    return "" if rule.weight is None else f" (weight {_plain(rule.weight)})"


def _plain(value: float | None) -> str:
    return "none" if value is None else weight(value)


def _declared(what: str, before: str, after: str) -> str:
    if before == after:
        return f"{what}: another one"
    if not before or not after:
        return f"{what}: {'only in B: ' if after else 'only in A: '}{after or before}"
    return f"{what}: {after}, which was {before}"


def _groups(compared: Compared) -> Iterator[Said]:
    rows = compared.rows
    if rows is None:
        return
    for column in dict.fromkeys(group.column for group in rows.groups):
        yield "by", f"{name(column)}: rows that flip, and the share of rows that is decided {_label(compared)}"
        for group in rows.groups:
            if group.column == column:
                yield "", _group(compared, group)


def _label(compared: Compared) -> str:
    return quoted(compared.classes[1]) if len(compared.classes) == 2 else "for each class"


def _group(compared: Compared, group: GroupFlips) -> str:
    flips = ", ".join(f"{quoted(f.before)} to {quoted(f.after)} {f.n:,}" for f in group.flips)
    said = f"{group.changed:,} of {counted(group.n, 'row')} ({_share(group.changed, group.n)}): {flips}"
    if not flips:
        said = f"none of {counted(group.n, 'row')}"
    rates = [
        f"{percent(a)} in A, {percent(b)} in B" if a != b else f"{percent(a)} in both"
        for a, b in zip(*group.decided, strict=True)
    ]
    if len(compared.classes) == 2:
        return f"  {group.group}: {said}; {rates[1]}"
    of_classes = ", ".join(f"{quoted(k)} {rate}" for k, rate in zip(compared.classes, rates, strict=True))
    return f"  {group.group}: {said}; {of_classes}"
