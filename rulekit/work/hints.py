"""What a reader of a trained model would wonder about, and what may help where it has no rule or misses a class."""

from __future__ import annotations

import shlex
from collections.abc import Collection
from typing import TYPE_CHECKING

import numpy as np

from rulekit.audit.checks.checking import unproved
from rulekit.audit.figures.metrics import Figures
from rulekit.graph.ladder import RARE
from rulekit.graph.language.readable import counted, listed, percent
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import no_rule_notes, rules_of
from rulekit.tables.labels import LabelledTable

if TYPE_CHECKING:
    from rulekit.work.start import Start

HARDLY = 0.5
SELDOM = 1.0 / 3.0
"""The share of the rows below which a class may be outnumbered wherever a rule holds."""
FEW = 500


def surprises(model: RuleGraph, start: Start | None, figures: Figures) -> list[str]:
    """What a reader of the model would wonder about: no rule at all, or a frozen rule that is gone."""
    found = no_rule_notes(model, max(figures.classes, key=lambda c: c.predicted).label)
    if not found and len(answered := [c.label for c in figures.classes if c.predicted]) == 1:
        found.append(f"every row is decided {answered[0]!r}, so that the rules only say how likely another answer is")
    found += [f"{verdict.promise.text}: {verdict.outcome}, {verdict.reason}" for verdict in unproved(model)]
    covered = [] if start is None else start.covered(model)
    if covered:
        one = len(covered) == 1
        why = f"{'is' if one else 'are'} covered by other rules and left out; --no-simplify keeps all"
        if any(rule.connective == "sum" for rule in rules_of(model)):
            why = f"{'has' if one else 'have'} weight 0 on these rows, or a shorter form"
        found.append(f"{listed(covered)} of --start {why}")
    return found


def hints(figures: Figures, few_errors: bool) -> list[str]:
    """What may help a model that is no better than one constant answer, or that hardly finds a rare class.

    few_errors: whether these are what was asked for, and not least costs, or that the class is found.
    """
    found, majority = [], max(figures.classes, key=lambda c: c.support)
    answered = [c for c in figures.classes if c.predicted]
    if few_errors and len(answered) > 1 and figures.accuracy <= figures.majority + figures.accuracy_error:
        found.append(f"no better than to answer {majority.label!r} always, as far as these rows can tell")
    total = sum(c.support for c in figures.classes)
    rare = [c for c in figures.classes if 0 < c.support < RARE * total and c.recall < HARDLY]
    if not few_errors or not rare or len(answered) < 2:  # of a model without a rule, `ways_out` says more
        return found
    shown = ", ".join(f"{c.label!r} ({percent(c.support / total)} of the rows)" for c in rare)
    way = "--cost 1:10 lets a row that is missed weigh more, and rulekit threshold moves the decision"
    more = f"; {way}" if len(figures.classes) == 2 else "; --weight lets its rows weigh more"
    found.append(f"{'a rare class that is' if len(rare) == 1 else 'rare classes that are'} hardly found: {shown}{more}")
    return found


def ways_out(rows: LabelledTable, parameters: Collection[str]) -> tuple[str, ...]:
    """What may give rules for training rows from which none were learned; parameters: the names that the learner has.

    A rule pays where it is right more often than wrong, which rules for a seldom class may never be until its rows
    weigh more: half of what would make them as heavy as all others, beyond which to answer it always is the cheapest.
    """
    sums = np.bincount(rows.y, rows.weight, len(rows.classes))
    place, total, found = int(np.argmin(sums)), float(sums.sum()), []
    label, part = rows.classes[place], float(sums[place]) / total
    if rows.cost is None and 0.0 < part < SELDOM:
        times = max(2, round((1.0 - part) / part / 2.0))
        why = f"no rule for {label!r} ({percent(part)} of the rows) is right more often than wrong; "
        if len(rows.classes) == 2:
            given = "" if place else f"--positive {shlex.quote(str(label))} "
            found.append(f"{why}{given}--cost 1:{times} lets a {label!r} that is missed count as {times} errors")
            if "threshold" in parameters:
                found.append(f"--param threshold=f1 decides where {label!r} is found best, rather than at 1/2")
        elif "class_weight" in parameters:
            found.append(f"{why}--param class_weight=balanced lets all classes weigh the same")
    if len(rows) < FEW:
        found.append(f"{counted(len(rows), 'row')} hardly tell a rule from chance; with more rows there may be some")
    elif not found:
        found.append(f"the columns say little about {rows.target} in these rows; other columns, or more rows, may")
    return tuple(found)
