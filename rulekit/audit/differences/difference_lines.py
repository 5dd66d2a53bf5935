"""What `compare` found as lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from rulekit.audit.differences.compared import Compared, FlipSaid
from rulekit.audit.differences.region_words import Region
from rulekit.audit.differences.row_flips import GroupFlips
from rulekit.audit.differences.rule_changes import RuleChange, SaidRule
from rulekit.graph.language.readable import counted, percent, weight
from rulekit.graph.language.words import name, quoted
from rulekit.graph.rules import counts

Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_REGIONS, MOST_RULES, MOST_DECLARED = 6, 20, 12
_WHOLE = 0.995
"""A bound on a share of rows from here on says nothing."""


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
