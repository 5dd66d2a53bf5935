"""Comparing two models: `compare` (docs/compare.md), what it found as JSON, and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np

from rulekit.audit import Said
from rulekit.audit.checks.findings import Example, given, said_of_value, shown_row, table_of
from rulekit.audit.differences.joint import Declared, Joint, decide_by_same_rules, declared, joint
from rulekit.audit.differences.row_flips import Flip, GroupFlips, RowFlips, row_flips
from rulekit.audit.differences.ways import Differing, Way, WayFound, regions
from rulekit.audit.rule_matching import RuleChange, RuleChanges, rule_changes
from rulekit.graph.language.words import counted, name, percent, quoted, weight
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import counts, rules_of
from rulekit.limits import NO_LIMIT, RUN_CELLS, Deadline
from rulekit.names import printable
from rulekit.tables.raw.sources import raw_table
from rulekit.verification.rows import raw_columns

MOST_REGIONS, MOST_RULES, MOST_DECLARED = 6, 20, 12
_WHOLE = 0.995
"""A bound on a share of rows from here on says nothing."""

Outcome = Literal["equal", "different", "open"]
ProvedBy = Literal["rules", "cells", "logic", ""]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Compared:
    """How two models differ.

    outcome: "equal" where it is proved that every row is decided alike, "different" where a row shows that it is not,
    else "open", for the reason given. proved_by: "rules" (they are the same), "cells" (all were run), "logic", or ""
    where nothing is proved of all rows. cells: how many combinations of cells there are, 0 where the rules are the
    same. faults: why an artifact may not decide as the rules that it carries, which leaves the outcome open at best.
    gap: the largest difference of a reported probability on the rows of the table, None where that was not asked.
    """

    models: tuple[RuleGraph, RuleGraph]
    outcome: Outcome
    proved_by: ProvedBy
    cells: int
    flips: tuple[Flip, ...]
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
            found |= given({"groups": [asdict(group) for group in rows.groups]})
        return found | given({"faults": list(self.faults)})

    def __str__(self) -> str:
        return "\n".join(f"{word:<13}{text}" for word, text in difference_lines(self))

    def __repr__(self) -> str:
        return f"<Compared: {self.outcome}, {len(self.flips)} ways to differ, {len(self.rules.changes)} rules changed>"


def compare(
    first: RuleGraph,
    second: RuleGraph,
    data: Any = None,
    by: Sequence[str] = (),
    *,
    names: tuple[str, str] = ("A", "B"),
    most_run: int = RUN_CELLS,
    deadline: Deadline = NO_LIMIT,
) -> Compared:
    """Tell two models apart, or prove that they decide every row alike.

    Parameters
    ----------
    first : RuleGraph
        The old model.
    second : RuleGraph
        The new model, of any kind, with at least one class in common.
    data : array [n, d], frame, mapping of columns, sequence of mappings or Table, or None
        Rows that both decide; columns that neither reads may be among them.
    by : sequence of str
        Columns of the data by whose values flips are counted as well.
    names : pair of str
        How the text calls the two models.
    most_run : int
        The number of cells of the columns up to which all are run.
    deadline : Deadline
        What is not settled by then is open.

    Returns
    -------
    Compared
        `equal`, `outcome`, `flips` (each with a row and the conditions), `rules`, `declared`; printed, it is what
        `rulekit compare` prints (rulekit.audit.differences.compared).

    Raises
    ------
    InputError
        Where no row means the same to both, no class is common, or the data cannot be read.

    """
    both = joint(first, second)
    raw = None if data is None else raw_table(data)
    rows = None if raw is None else row_flips(both, raw, by)
    same = first.digest == second.digest or decide_by_same_rules(both)
    differing = None if same else Differing(both, None if rows is None else rows.table, most_run, deadline)
    flips = () if differing is None else _flips(both, differing, rows)
    reason = "" if differing is None else differing.open
    proved_by: ProvedBy = "" if reason else "rules" if differing is None else "cells" if differing.run else "logic"
    outcome: Outcome = "different" if any(flip.witness for flip in flips) else "open" if reason else "equal"
    if outcome == "equal" and flips:
        outcome, reason = "open", "the rows that were found do not show a difference"
    gap = None
    if raw is not None and all(len(graph.classes) == len(both.classes) for graph in both.models):
        chances = [graph.predict_proba(raw) for graph in both.models]
        gap = float(np.abs(chances[0] - chances[1][:, np.argsort(both.places[1])]).max(initial=0.0))
    deadline.tell("which rules changed", 0.95)
    return Compared(
        (first, second),
        outcome,
        proved_by,
        0 if differing is None else differing.size,
        flips,
        rule_changes(both, deadline) if first.digest != second.digest else RuleChanges((), len(rules_of(first))),
        declared(first, second),
        rows,
        reason,
        gap,
        names=names,
        classes=both.classes,
    )


def _flips(both: Joint, differing: Differing, rows: RowFlips | None) -> tuple[Flip, ...]:
    """The ways in which the models differ, those of most rows first."""
    flipped, flips = {} if rows is None else rows.ways(), []
    for way in dict.fromkeys((*differing.found, *flipped)):
        (n, first), found, witness = flipped.get(way, (0, 0)), differing.found.get(way, WayFound(None)), None
        if rows is not None and first:
            columns = raw_columns(rows.table.take(np.array([first - 1])).select(both.columns))
            witness = _run(both, way, _plain(columns))
        if way in differing.found:
            witness = witness or _made_row(differing, way, found)
        where = regions(differing, found)
        among = rows.in_common(way) if rows is not None and not where else ""
        flip = Flip(both.classes[way[0]], both.classes[way[1]], None if rows is None else n, first, found.n_cells)
        flips.append(replace(flip, witness=witness, regions=where, complete=found.boxes.complete, among=among))
    return tuple(sorted(flips, key=lambda flip: (-(flip.rows or 0), -(flip.cells or 0))))


def _made_row(differing: Differing, way: Way, found: WayFound) -> Example | None:
    """The row that shows a way in which models differ; None where they do not differ so on it."""
    joint, words = differing.joint, differing.search.words
    new: tuple[str, ...] = ()
    if found.cells is not None:
        row, new, _ = shown_row(differing.search, found.cells)
    else:
        assert differing.made is not None
        columns = raw_columns(differing.made.take(np.array([found.row])))
        row = _plain(columns if words is None else words.texts(columns))
    return _run(joint, way, {**dict.fromkeys(joint.columns), **row}, new)


def _plain(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The one value of each column as a plain one; None of what is missing."""
    values = {column: getattr(value[0], "item", lambda own=value[0]: own)() for column, value in columns.items()}
    return {column: None if value != value else value for column, value in values.items()}


def _run(joint: Joint, way: Way, row: dict[str, Any], new: tuple[str, ...] = ()) -> Example | None:
    """The row with its words, where both models are run on it and flip."""
    for column, value in row.items():
        if joint.schema[column].kind == "boolean" and value is not None:
            row[column] = bool(value > 0.5)
    decided = [int(graph.decide(table_of(row, graph))[0]) for graph in joint.models]
    if tuple(places[k] for places, k in zip(joint.places, decided, strict=True)) != way:
        return None
    said = [
        f"{column} a new level" if column in new else said_of_value(joint.schema[column], value)
        for column, value in row.items()
    ]
    return Example(row, joint.classes[way[1]], new, printable(", ".join(said) or "any row"))


# Lines -------------------------------------------------------------------------------------------------------------


def difference_lines(compared: Compared, everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: all regions, rules and parameters."""
    for letter, named, graph in zip("AB", compared.names, compared.models, strict=True):
        about = "" if named == letter else f"{named}: "
        yield letter, f"{about}{counts(graph)}, digest {graph.digest[:12]}"
    yield from _outcome(compared)
    yield from (("FAULT", fault) for fault in compared.faults)
    for flip in compared.flips:
        yield from _flip(compared, flip, everything)
    changes = [list(_rule(change)) for change in compared.rules.changes]
    for lines, most in ((changes, MOST_RULES), ([[_declared(one)] for one in compared.declared], MOST_DECLARED)):
        shown = len(lines) if everything else most
        yield from (line for own in lines[:shown] for line in own)
        if len(lines) > shown:
            yield "", f"and {len(lines) - shown} more (--all)"
        if lines is changes and compared.rules.same:
            yield "same", counted(compared.rules.same, "rule")
    if compared.gap is not None:
        yield "probability", f"the reported probability of a class differs by at most {compared.gap:.3g} on these rows"
    groups = () if compared.rows is None else compared.rows.groups
    label = quoted(compared.classes[1]) if len(compared.classes) == 2 else "for each class"
    for column, own in groupby(groups, key=lambda group: group.column):
        yield "by", f"{name(column)}: rows that flip, and the share of rows that is decided {label}"
        yield from (("", _group(compared, group)) for group in own)


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


def _rows(n: int, compared: Compared) -> str:
    return f"{counted(n, 'row')} ({_share(n, 0 if compared.rows is None else compared.rows.n)})"


def _flip(compared: Compared, flip: Flip, everything: bool) -> Iterator[Said]:
    """A way to differ, its regions (of those without a row of the table only how many there are), and a row."""
    many = "" if flip.rows is None else f": {_rows(flip.rows, compared)}"
    yield "flip", f"A {quoted(flip.before)}, B {quoted(flip.after)}{many}"
    held = [region for region in flip.regions if region.rows != 0][:MOST_REGIONS]
    shown = flip.regions if everything else held or flip.regions[:1]
    for region in shown:
        said = f"   {_rows(region.rows, compared)}" if region.rows is not None else ""
        if region.at_most is not None and region.at_most < _WHOLE:
            said = f"   at most {percent(region.at_most)} of the training rows of {'AB'[region.model]}"
        yield "", f"  where {region.text}{said}"
    if flip.among:
        yield "", f"  these rows have {flip.among}"
    elif not flip.regions:
        yield "", "  the conditions on which they do are not known"
    elif len(flip.regions) > len(shown) or not flip.complete:
        left = len(flip.regions) - len(shown)
        parts = [f"in {counted(left, 'region')} more (--all)"] * bool(left) + ["elsewhere"] * (not flip.complete)
        yield "", f"  and {', and '.join(parts)}"
    if flip.witness is not None:
        yield "", f"  {f'row {flip.data_row}' if flip.data_row else 'a row'}: {flip.witness.text}"


def _rule(change: RuleChange) -> Iterator[Said]:
    old, new = change.old, change.new
    if old is None or new is None:
        rule = old or new
        assert rule is not None
        points = "" if rule.weight is None else f" (weight {weight(rule.weight)})"
        yield change.kind, f"{rule.id} for {quoted(rule.label)}: {rule.text}{points}"
        return
    word = "reweighted" if change.kind == "weight" else change.kind
    about = ", the same rows" if word == "rewritten" else f" for {quoted(new.label)}"
    yield word, f"{old.id} -> {new.id}{about}: {new.text}"
    for part in change.parts if word != "rewritten" else ():
        which_was = f"{part.after}, which was {part.before}" if part.before else f"also {part.after}"
        yield "", f"  {which_was if part.after else f'no longer {part.before}'}"
    if new.weight is not None and old.weight is not None and new.weight != old.weight:
        yield "", f"  weight {weight(new.weight)}, which was {weight(old.weight)}"


def _declared(one: Declared) -> Said:
    said = f"{one.after}, which was {one.before}"
    if one.before == one.after:
        said = "another one"
    elif not one.before or not one.after:
        said = f"only in {'B' if one.after else 'A'}: {one.after or one.before}"
    return "changed", f"{one.what}: {said}"


def _group(compared: Compared, group: GroupFlips) -> str:
    said = f"none of {counted(group.n, 'row')}"
    if group.flips:
        flips = ", ".join(f"{quoted(f['before'])} to {quoted(f['after'])} {f['rows']:,}" for f in group.flips)
        said = f"{group.changed:,} of {counted(group.n, 'row')} ({_share(group.changed, group.n)}): {flips}"
    rates = [
        f"{percent(a)} in A, {percent(b)} in B" if a != b else f"{percent(a)} in both"
        for a, b in zip(*group.decided.values(), strict=True)
    ]
    if len(compared.classes) == 2:
        return f"  {group.group}: {said}; {rates[1]}"
    of_classes = ", ".join(f"{quoted(k)} {rate}" for k, rate in zip(compared.classes, rates, strict=True))
    return f"  {group.group}: {said}; {of_classes}"
