"""The groups of rows by one column: its levels, its truth values, or quarters of its numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.figures.groups import Grouping
from rulekit.errors import InputError
from rulekit.graph.language.readable import rounded_amount
from rulekit.names import printable
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, Feature

MOST_GROUPS = 12
_FEW_NUMBERS = 6
_QUARTERS = (0.25, 0.5, 0.75)
MISSING, NEW = "(missing)", "(new level)"


def grouping_of(feature: Feature, array: Any) -> Grouping:
    """The groups of the rows of an encoded column [n]; groups without a row are left out.

    Of more than twelve levels the smallest are put together. Numbers of more than six values are parted at their
    quartiles. Raises InputError for a text.
    """
    if feature.kind == "text":
        raise InputError("a text has no groups", where=f"column {feature.name!r}", fix="group by another column")
    if feature.kind == "categorical":
        names = {MISSING_CODE: MISSING, MISSING_CODE + 1: NEW}
        names |= {FIRST_LEVEL_CODE + k: printable(level) for k, level in enumerate(feature.levels)}
        return _together(feature.name, names, np.asarray(array, dtype=np.int64), feature.ordered)
    values = np.asarray(array, dtype=np.float64)
    if feature.kind == "boolean":
        codes = np.where(np.isnan(values), 0, np.where(values > 0.5, 2, 1)).astype(np.int64)
        return _together(feature.name, {1: "false", 2: "true", 0: MISSING}, codes, True)
    return _of_numbers(feature, values)


def _of_numbers(feature: Feature, values: npt.NDArray[np.float64]) -> Grouping:
    known = values[~np.isnan(values)]
    few = np.unique(known)
    if len(few) <= _FEW_NUMBERS:
        codes = np.where(np.isnan(values), 0, np.searchsorted(few, values) + 1)
        names = {k + 1: rounded_amount(float(value), feature) for k, value in enumerate(few)}
        return _together(feature.name, names | {0: MISSING}, codes.astype(np.int64), True)
    # a value of the column itself, so that the words say exactly who is in the group
    cuts = np.unique(np.quantile(known, _QUARTERS, method="inverted_cdf"))
    cuts = cuts[cuts < few[-1]]
    codes = np.where(np.isnan(values), 0, np.searchsorted(cuts, values) + 1)
    said = [rounded_amount(float(cut), feature) for cut in cuts]
    between = [f"above {low} up to {high}" for low, high in pairwise(said)]
    names = dict(enumerate([f"up to {said[0]}", *between, f"above {said[-1]}"], 1))
    return _together(feature.name, names | {0: MISSING}, codes.astype(np.int64), True)


def _together(column: str, names: dict[int, str], codes: npt.NDArray[np.int64], ordered: bool) -> Grouping:
    """The groups that have rows: in their order, or the largest first; missing and new levels last."""
    rows = np.bincount(codes, minlength=max(names) + 1)
    present = [code for code in names if rows[code]]
    if not ordered:
        present.sort(key=lambda code: -rows[code])
    present.sort(key=lambda code: names[code] in (MISSING, NEW) and code < FIRST_LEVEL_CODE)
    kept = present if len(present) <= MOST_GROUPS else present[: MOST_GROUPS - 1]
    place = np.full(max(names) + 1, len(kept), dtype=np.int64)
    place[kept] = np.arange(len(kept))
    said = [names[code] for code in kept]
    rest = len(present) - len(kept)
    twice = {name for name in said if said.count(name) > 1}  # two numbers that round alike
    said = [f"{name} ({k + 1})" if name in twice else name for k, name in enumerate(said)]
    return Grouping(column, (*said, *([f"(the other {rest})"] if rest else [])), place[codes])
