"""What `check` found as lines for people: findings of one kind are one line, however many rules a model has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import TypeVar

from rulekit.audit.checks.checking import Checked
from rulekit.audit.checks.findings import Finding, FindingKind, Open
from rulekit.graph.language.words import counted, listed, name, quoted

T = TypeVar("T")
Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_NAMED = 6


def check_lines(checked: Checked, everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: each finding by itself, and all that is open."""
    for verdict in checked.verdicts:
        yield ("FAILS" if verdict.outcome == "fails" else verdict.outcome), verdict.promise.text
        why = verdict.reason or (f"broken by {', '.join(verdict.rules)}" if verdict.rules else "")
        yield from (("", f"  {line}") for line in [*filter(None, [why]), *(row.text for row in verdict.rows)])
    if not checked.verdicts:
        yield "no promise", "is declared; rulekit train --monotone, --forbid, --require, --missing-never-helps do so"
    yield from (("proved", text) for text in checked.clear)
    for of_one_kind in _grouped(checked.findings, lambda finding: finding.kind).values():
        if everything or len(of_one_kind) == 1:
            for finding in of_one_kind:
                yield "found", finding.text
                yield from (("", f"  {row.text}") for row in finding.rows)
        else:
            yield from _SUMMARIES[of_one_kind[0].kind](of_one_kind)
    for left in _grouped(checked.open, lambda left: left if everything else (left.kind, left.reason)).values():
        yield "open", left[0].text if len(left) == 1 else _several_open(left)


def _grouped(items: Sequence[T], key: Callable[[T], Hashable]) -> Mapping[Hashable, list[T]]:
    found: dict[Hashable, list[T]] = defaultdict(list)
    for item in items:
        found[key(item)].append(item)
    return found


def _overlaps(findings: Sequence[Finding]) -> Iterator[Said]:
    """How many pairs there are, which class is decided before which, and a row for each of the first of these."""
    by_classes = list(_grouped(findings, lambda finding: finding.classes).values())
    by_classes.sort(key=len, reverse=True)
    between = " before " if findings[0].ordered else " and "
    named = [f"{between.join(map(quoted, pairs[0].classes))} ({counted(len(pairs), 'pair')})" for pairs in by_classes]
    how = "; the order decides" if findings[0].ordered else ""
    yield "found", f"{len(findings)} pairs of rules of different classes hold together{how}: {_few(named)}"
    for pairs in by_classes[:MOST_NAMED]:
        shown = next((pair for pair in pairs if pair.rows[0].decision == pair.classes[0]), pairs[0])
        yield "", f"  {' and '.join(shown.rules)}: {shown.rows[0].text}"


def _unreachable(findings: Sequence[Finding]) -> Iterator[Said]:
    yield "found", f"{_rules(findings)} are never true"


def _shadowed(findings: Sequence[Finding]) -> Iterator[Said]:
    why = "without any one of them every row is decided the same"
    yield "found", f"{_rules(findings)} change no decision, each by itself: {why}"


def _missing(findings: Sequence[Finding]) -> Iterator[Said]:
    """Columns, the one that satisfies most rules first, each with its rules and a row."""
    by_column = list(_grouped(findings, lambda finding: finding.column).values())
    by_column.sort(key=len, reverse=True)
    rules = len({finding.rules for finding in findings})
    named = [f"{name(found[0].column)} ({_rules(found)})" for found in by_column]
    verb = "rule is" if rules == 1 else "rules are"
    yield "found", f"{rules} {verb} satisfied by a missing or new value: of {_few(named)}"
    yield from (("", f"  {row.text}") for found in by_column[:MOST_NAMED] for row in found[0].rows)


def _each(findings: Sequence[Finding]) -> Iterator[Said]:
    yield "found", f"{findings[0].text}, and {len(findings) - 1} more like this"
    yield from (("", f"  {row.text}") for row in findings[0].rows)


def _all(findings: Sequence[Finding]) -> Iterator[Said]:
    yield from (("found", finding.text) for finding in findings)


_SUMMARIES: Mapping[FindingKind, Callable[[Sequence[Finding]], Iterator[Said]]] = {
    "unreachable": _unreachable,
    "shadowed": _shadowed,
    "gap": _each,
    "overlap": _overlaps,
    "contradiction": _each,
    "missing": _missing,
    "size": _all,
}


def _several_open(left: Sequence[Open]) -> str:
    if left[-1].many:  # what a limit of time left out stands last
        return f"{left[-1].text}; also {left[0].question}"
    more = f"{left[0].question}, and {counted(len(left) - 1, 'question')} like this"
    return f"{more}: {left[0].reason}" if left[0].reason else more


def _rules(findings: Sequence[Finding]) -> str:
    return _few([rule for finding in findings for rule in finding.rules])


def _few(items: Sequence[str]) -> str:
    """The first items, and how many more there are."""
    more = len(items) - MOST_NAMED
    return f"{', '.join(items[:MOST_NAMED])} and {more} more (--all)" if more > 0 else listed(items)
