"""Classes: the values of a label column in their natural types, and the order in which a model lists them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.arrays import Ints
from rulekit.errors import InputError
from rulekit.names import suggestion
from rulekit.tables.kinds.dress import may_mean_missing
from rulekit.tables.raw.columns import BLANKS, canonical_key, place

Label = str | int | float | bool

_MOST_FRACTIONS = 10
_MANY_CLASSES = 50
_FEW_ROWS = 10


def class_key(label: Label) -> str:
    """The text that names a class: `3` for 3 and 3.0, `true` for True, text as it stands but for these two."""
    if isinstance(label, bool | np.bool_):
        return "true" if label else "false"
    if isinstance(label, float | np.floating):
        return str(int(label)) if float(label).is_integer() else repr(float(label))
    return canonical_key(str(label))


def classes_of_keys(
    keys: list[str],
    counts: Ints,
    target: str,
    source: str,
    *,
    as_text: bool = False,
    positive: Label | None = None,
    ordered: Sequence[Label] = (),
) -> tuple[Ints, tuple[Label, ...], tuple[str, ...]]:
    """The index [keys] of the class that each key of a label column names, the classes in order, and notes.

    counts: rows per key [keys]; as_text: labels stay texts. Labels are bool, int, float or str: text is numbers or
    Booleans only if all of it is; a code with leading zeros (`007`) stays text. Order: as declared; else false before
    true, numbers by size, text by code point; of two classes the positive one is the second: `positive`, else the
    rarer. Raises InputError for a column of measurements, for fewer than two classes and an unknown name.
    """
    used, where = np.flatnonzero(counts), place(source, target)
    named = _natural([keys[i] for i in used], as_text)
    if not as_text and sum(isinstance(label, float) for label in named) and len(named) > _MOST_FRACTIONS:
        what = f"{len(named)} distinct fractional numbers (Unknown label type: continuous)"
        raise InputError(what, where=where, fix="a label names a class; cut the numbers into classes first")
    values = list(dict.fromkeys(named))  # "1" and "1.0" in one column are one
    if len(values) < 2:
        raise InputError(f"the only class is {values[0]!r}", where=where, fix="rows of at least two classes are needed")
    number = {label: i for i, label in enumerate(values)}
    places = np.array([number[label] for label in named], dtype=np.int64)
    rows = np.bincount(places, counts[used], len(values)).astype(np.int64)
    notes = alike_notes(named)
    notes += [f"target {target!r} has {len(named)} classes"] if len(named) > _MANY_CLASSES else []
    notes += few_rows_notes(values, rows)
    odd = [f"{v!r} ({n} rows)" for v, n in zip(values, rows, strict=True) if may_mean_missing(str(v))]
    if odd and positive is None and not ordered:  # who names one class of two knows the other
        what = f"{', '.join(odd)} is kept as a class; if it means missing, declare --missing {target}=TOKEN"
        notes.append(f"target {target!r}: {what}")
    if ordered:
        order = [_find(values, label, where) for label in ordered]
        left = [value for i, value in enumerate(values) if i not in order]
        if left or len(set(order)) < len(order):
            what = f"class {left[0]!r} is missing from the order" if left else "a class stands twice in the order"
            raise InputError(what, where=where, fix="name every class once, from low to high")
        if positive is not None:
            raise InputError("both an order and a positive class", where=where, fix="the order alone is enough")
    else:
        order = sorted(range(len(values)), key=lambda i: (isinstance(values[i], str), values[i]))
        if len(values) == 2:
            last = _find(values, positive, where) if positive is not None else min(order[::-1], key=rows.__getitem__)
            order = [i for i in order if i != last] + [last]
            if positive is None:
                notes.append(f"positive class is {values[last]!r}, the rarer ({rows[last]} of {rows.sum()} rows)")
        elif positive is not None:
            what = f"a positive class with {len(values)} classes"
            raise InputError(what, where=where, fix="leave it out: each class gets its rules")
    rank, lookup = np.empty(len(values), dtype=np.int64), np.zeros(len(keys), dtype=np.int64)
    rank[order] = np.arange(len(values))
    lookup[used] = rank[places]
    return lookup, tuple(values[i] for i in order), tuple(notes)


def alike_notes(labels: Sequence[Label], of: str = "labels") -> list[str]:
    """A note where labels, or names of groups, differ in case or blanks only: that makes them classes of their own."""
    same: dict[str, list[str]] = {}
    for label in labels:
        if isinstance(label, str):
            same.setdefault(" ".join(label.casefold().split()), []).append(label)
    pairs = [" and ".join(map(repr, texts)) for texts in same.values() if len(texts) > 1]
    if not pairs:
        return []
    shown = ", ".join(pairs[:3]) + ", ..." * (len(pairs) > 3)
    apart = "are classes of their own" if of == "labels" else "stay apart"
    return [f"{of} that differ only in case or blanks {apart}: {shown}; write them alike"]


def few_rows_notes(labels: Sequence[Label], rows: npt.NDArray[Any]) -> list[str]:
    """A note where a class has so few rows that hardly a rule is learned from them; rows [K]: of each class."""
    few = [(label, int(n)) for label, n in zip(labels, rows, strict=True) if n < _FEW_ROWS]
    if not few or rows.sum() < 2 * _FEW_ROWS:
        return []
    shown = ", ".join(f"{label!r} has {n}" for label, n in few[:3]) + ", ..." * (len(few) > 3)
    return [f"of {int(rows.sum())} rows {shown}: too few to learn a rule from, or to measure one"]


def _natural(keys: list[str], as_text: bool) -> list[Label]:
    if as_text:
        return [canonical_key(key) for key in keys]
    bare = [key.strip(BLANKS) for key in keys]
    if all(key.lower() in ("true", "false") for key in bare):
        return [key.lower() == "true" for key in bare]
    try:
        numbers = [float(key) for key in bare]
    except ValueError:
        return list(keys)
    padded = any(len(k := key.lstrip("+-")) > 1 and k[0] == "0" and k[1].isdigit() for key in bare)
    if padded or not np.isfinite(numbers).all() or any("_" in key for key in keys):
        return list(keys)
    if all(number.is_integer() and abs(number) < 2**53 for number in numbers):
        return [int(number) for number in numbers]
    if all(canonical_key(key).lstrip("+-").isdecimal() for key in bare):  # too long for a double and for model files
        return [canonical_key(key) for key in bare]
    return list(numbers)


def _find(values: list[Label], label: Label, where: str) -> int:
    keys = [class_key(value) for value in values]
    if class_key(label) not in keys:
        near = suggestion(str(label), [str(value) for value in values]).replace("columns are", "classes are")
        raise InputError(f"no class {label!r}", where=where, fix=near)
    return keys.index(class_key(label))
