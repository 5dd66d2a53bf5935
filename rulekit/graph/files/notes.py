"""What a model file says beside its digest, in provenance and statistics: checked, since nothing else vouches for it.

Both may hold whatever a learner notes. Where the rest of the house reads a value, it must be what it is taken for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from rulekit.errors import FormatError

_RATES = ("coverage", "precision", "true_positive", "error", "cumulative_true_positive", "cumulative_error")


def check_notes(provenance: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    """Raises FormatError, with the place, for a value that is not what it is read as."""
    for key, holds, words in (
        ("threshold", _is_number, "a number"),
        ("stopped", _is_text, "text"),
        ("units", _is_counts, "a whole number, or a list of them"),
        ("parameters", _is_mapping, "an object"),
        ("row_hashes", _is_mapping, "an object"),
        ("edits", _are_mappings, "a list of objects"),
    ):
        _check(provenance.get(key), holds, f"provenance, {key}", words)
    for title, block in {"": statistics, **statistics}.items():
        rules = block.get("rules") if isinstance(block, Mapping) else None
        where = f"statistics{', ' * bool(title)}{title}, rules"
        _check(rules, lambda value: isinstance(value, list | tuple), where, "a list")
        for number, entry in enumerate(rules or (), start=1):
            place = f"{where}, entry {number}"
            _check(entry, _is_mapping, place, "an object", optional=False)
            _check(entry.get("id"), _is_text, f"{place}, id", "text")
            _check(entry.get("n"), _is_count, f"{place}, n", "a whole number")
            for key in _RATES:
                _check(entry.get(key), _is_rate, f"{place}, {key}", "a share from 0 to 1")


def _check(value: Any, holds: Callable[[Any], bool], where: str, words: str, *, optional: bool = True) -> None:
    if not (value is None and optional) and not holds(value):
        raise FormatError(f"this is not {words}", where=where)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_mapping(value: Any) -> bool:
    return isinstance(value, Mapping)


def _are_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(map(_is_mapping, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_rate(value: Any) -> bool:
    return _is_number(value) and 0 <= value <= 1


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_counts(value: Any) -> bool:
    return all(map(_is_count, value)) if isinstance(value, list | tuple) else _is_count(value)
