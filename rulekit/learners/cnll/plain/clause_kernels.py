"""Compiled loops of the clause search: the rows of a clause, and its best change counted in one pass over the rows.

A condition is given by its place among the searched columns; `holds` marks the histogram places of the codes that the
conditions of a clause allow (each column has its own, so that one mask serves all). All sums are of whole numbers and
thus exact: the numpy forms in rulekit.learners.cnll.plain.clause_search give the same bits.
"""

from __future__ import annotations

from typing import Any


def mark_covered(stacked: Any, places: Any, holds: Any, found: Any) -> None:
    """Mark the rows [n] on which all conditions hold; stacked [n, searched]: histogram places."""
    for i in range(len(found)):
        # Without a branch: which rows hold is not to be foreseen.
        inside = True
        for j in range(len(places)):
            inside &= holds[stacked[i, places[j]]]
        found[i] = inside


def gain_of(stacked: Any, places: Any, holds: Any, gain: Any, free: Any) -> float:
    """The sum of the gains [n] of the free rows on which all conditions hold."""
    total = 0.0
    for i in range(len(gain)):
        if not free[i]:
            continue
        inside = True
        for j in range(len(places)):
            if not holds[stacked[i, places[j]]]:
                inside = False
                break
        if inside:
            total += gain[i]
    return total


def add_by_failing(
    stacked: Any, rows: Any, gain: Any, places: Any, holds: Any, sums: Any, counts: Any, totals: Any
) -> None:
    """Add the gain of each row at its codes, in part 0 where all conditions hold, in part 1 + j where but j holds."""
    for i in range(len(rows)):
        row = rows[i]
        failing, part = 0, 0
        for j in range(len(places)):
            fails = 1 - holds[stacked[row, places[j]]]
            failing += fails
            part += fails * (j + 1)
        if failing > 1:
            continue
        value = gain[row]
        totals[part] += value
        for c in range(stacked.shape[1]):
            place = stacked[row, c]
            sums[part, place] += value
            counts[part, place] += 1
