"""JSON from anywhere, read more strictly than the standard library does, and JSON written for readers.

Free values, as provenance and statistics of a model file hold them, are read as what they are, or as None; where the
rest of the house reads one, it is checked, since nothing else vouches for it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from rulekit.errors import FormatError

# Characters that a reader cannot see, that break lines or turn their direction, and halves of surrogate pairs.
_INVISIBLE = re.compile("[\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_SPLIT_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def parse_json(text: str) -> Any:
    """The content of a JSON text; raises FormatError where it is none, or a key stands twice, or a number is none."""
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise FormatError(f"this is no JSON: {error.msg} ({place})") from None
    except RecursionError:
        raise FormatError("the JSON is nested too deeply") from None
    except FormatError:
        raise
    except ValueError:
        raise FormatError("an integer has too many digits") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    items = dict(pairs)
    if len(items) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise FormatError(f"the key {twice[:40]!r} stands twice in one object")
    return items


def _no_constant(token: str) -> NoReturn:
    raise FormatError(f"{token} is not a JSON number")


def dump(value: Any) -> str:
    """One JSON value on one line, with every character that a reader cannot see escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    if _SPLIT_PAIR.search(text):
        raise FormatError(f"{text[:60]} holds two halves of a character, which no Unicode text can hold")
    return _INVISIBLE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def number(value: object) -> float | None:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def share(value: object) -> float | None:
    """A number from 0 to 1."""
    found = number(value)
    return found if found is not None and 0.0 <= found <= 1.0 else None


def count(value: object) -> int | None:
    """A whole number from 0 on."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def numbers(values: object) -> list[float] | None:
    """Finite numbers."""
    found = [number(value) for value in values] if isinstance(values, list | tuple) else [None]
    return None if None in found else found  # type: ignore[return-value]


def shares(values: object) -> list[float] | None:
    """One or more numbers from 0 to 1."""
    found = [share(value) for value in values] if isinstance(values, list | tuple) and values else [None]
    return None if None in found else found  # type: ignore[return-value]


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one where it is none."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list; none where it is no list."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


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
