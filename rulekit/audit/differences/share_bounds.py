"""At most what share of the training rows lies in a box of cells, by the statistics that a model holds.

No row is at hand, so nothing is estimated: the share of a box is at most that of each of its sides (levels, missing
cells, bins of numbers) and at most that of each rule in which it lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from rulekit.audit.differences.regions import Bools, Box
from rulekit.cells.places import Places
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.schema import FIRST_LEVEL_CODE
from rulekit.tables.table import absent


def most_of_training(graph: RuleGraph, box: Box, places: Sequence[Places], rules: Mapping[str, Box]) -> float | None:
    """The smallest of all bounds; None where the statistics say nothing of the box.

    rules: by id the box of each rule that is one, over the same axes.
    """
    columns = graph.statistics.get("columns", {})
    bounds = [
        _of_side(columns.get(place.axis.feature.name), place, own) for place, own in zip(places, box, strict=True)
    ]
    bounds += list(_of_rules(graph, box, rules))
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else None


def _of_rules(graph: RuleGraph, box: Box, rules: Mapping[str, Box]) -> Iterator[float | None]:
    entries = {entry.get("id"): entry for entry in graph.statistics.get("rules", ())}
    for rule in rules_of(graph):
        around = rules.get(rule.id)
        if around is not None and all(bool((of | ~own).all()) for own, of in zip(box, around, strict=True)):
            yield entries.get(rule.id, {}).get("coverage")


def _of_side(entry: Any, place: Places, own: Bools) -> float | None:
    """The share of the rows whose cell of a column is one of some."""
    if not isinstance(entry, Mapping) or own.all():
        return None
    axis, feature = place.axis, place.axis.feature
    first = axis.encoded[:, 0]
    missing = float(entry.get("missing") or 0.0) if own[absent(first)].any() else 0.0
    if feature.kind == "categorical":
        shares = entry.get("levels", {})
        codes = np.arange(FIRST_LEVEL_CODE, FIRST_LEVEL_CODE + len(feature.levels), dtype=axis.encoded.dtype)
        held = own[place.of_rows(codes)] if len(codes) else np.zeros(0, dtype=bool)
        known = sum(float(shares.get(level, 0.0)) for level, holds in zip(feature.levels, held, strict=True) if holds)
        return min(1.0, missing + known + float(entry.get("unseen") or 0.0))
    known_cells = own & ~absent(first)
    if not known_cells.any():
        return missing
    bins = _of_bins(entry, place, own)
    return None if bins is None else min(1.0, missing + bins)


def _of_bins(entry: Mapping[str, Any], place: Places, own: Bools) -> float | None:
    """The shares of the bins that have a value in some cells, of a column whose bins the statistics tell."""
    cuts, shares = entry.get("cuts"), entry.get("shares")
    low, high = entry.get("low"), entry.get("high")
    if low is None or high is None:
        return None
    if cuts is None or shares is None or len(shares) != len(cuts) + 1:
        cuts, shares = [], [1.0 - float(entry.get("missing") or 0.0)]
    dtype = place.axis.encoded.dtype
    total = 0.0
    for k, (start, stop, share) in enumerate(zip([low, *cuts], [*cuts, high], shares, strict=True)):
        inner = [cut for cut in place.cells.cuts if start < cut < stop]
        beyond = [start, *inner] if k else inner  # a bin holds its upper end and not its lower one, but for the first
        first = [] if k else [start]
        ends = [*first, stop, *inner, *(np.nextafter(np.array(cut, dtype=dtype), np.inf) for cut in beyond)]
        values = np.array([end for end in ends if start <= end <= stop], dtype=dtype)
        total += float(share) if own[place.of_rows(values)].any() else 0.0
    return min(total, 1.0)
