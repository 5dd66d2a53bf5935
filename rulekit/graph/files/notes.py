"""What a model file says beside its digest, in provenance and statistics: checked, since nothing else vouches for it.

Both may hold whatever a learner notes. Where the rest of the house reads a value, it must be what it is taken for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rulekit.errors import FormatError
from rulekit.graph.files.json_values import count, number, share

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
        for k, entry in enumerate(rules or (), start=1):
            place = f"{where}, entry {k}"
            _check(entry, _is_mapping, place, "an object", optional=False)
            _check(entry.get("id"), _is_text, f"{place}, id", "text")
            _check(entry.get("n"), _is_count, f"{place}, n", "a whole number")
            for key in _RATES:
                _check(entry.get(key), _is_rate, f"{place}, {key}", "a share from 0 to 1")


def read_rate(value: object) -> float:
    """A share from 0 to 1; raises FormatError for anything else."""
    _check(value, _is_rate, "a rate", "a share from 0 to 1", optional=False)
    return float(value)  # type: ignore[arg-type]


def without_known_columns(statistics: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics of a model without the columns of which those of another model say the same.

    Both may have blocks of further rows (`held_out`), of which each has columns of its own.
    """
    result = dict(statistics)
    for key, value in statistics.items():
        theirs = known.get(key)
        if isinstance(value, Mapping) and isinstance(theirs, Mapping):
            if key == "columns":
                result[key] = {name: entry for name, entry in value.items() if theirs.get(name) != entry}
            else:
                result[key] = without_known_columns(value, theirs)
    return result


def with_known_columns(statistics: Mapping[str, Any], known: Mapping[str, Any], used: Sequence[str]) -> dict[str, Any]:
    """The statistics that `without_known_columns` shortened; used: the columns of the model, in schema order."""
    result = dict(statistics)
    for key, value in statistics.items():
        theirs = known.get(key)
        if isinstance(value, Mapping) and isinstance(theirs, Mapping):
            if key == "columns":
                both = {**theirs, **value}
                result[key] = {name: both[name] for name in used if name in both}
            else:
                result[key] = with_known_columns(value, theirs, used)
    return result


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
    return number(value) is not None


def _is_rate(value: Any) -> bool:
    return share(value) is not None


def _is_count(value: Any) -> bool:
    return count(value) is not None


def _is_counts(value: Any) -> bool:
    return all(map(_is_count, value)) if isinstance(value, list | tuple) else _is_count(value)
