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


_HOLDS: dict[str, Callable[[Any], bool]] = {
    "text": lambda value: isinstance(value, str),
    "a number": lambda value: number(value) is not None,
    "a whole number": lambda value: count(value) is not None,
    "a whole number, or a list of them": lambda value: (
        None not in map(count, value if isinstance(value, list | tuple) else [value])
    ),
    "a share from 0 to 1": lambda value: share(value) is not None,
    "a list": lambda value: isinstance(value, list | tuple),
    "an object": lambda value: isinstance(value, Mapping),
    "a list of objects": lambda value: isinstance(value, list | tuple) and len(entries(value)) == len(value),
}
"""By the words for what a value is read as, whether it is that."""


def check_notes(provenance: Mapping[str, Any], statistics: Mapping[str, Any]) -> None:
    """Raises FormatError, with the place, for a value that is not what it is read as."""
    for key, words in (
        ("threshold", "a number"),
        ("stopped", "text"),
        ("units", "a whole number, or a list of them"),
        ("parameters", "an object"),
        ("row_hashes", "an object"),
        ("edits", "a list of objects"),
    ):
        _check(provenance.get(key), f"provenance, {key}", words)
    for title, block in {"": statistics, **statistics}.items():
        rules = block.get("rules") if isinstance(block, Mapping) else None
        where = f"statistics{', ' * bool(title)}{title}, rules"
        _check(rules, where, "a list")
        for k, entry in enumerate(rules or (), start=1):
            place = f"{where}, entry {k}"
            _check(entry, place, "an object", optional=False)
            _check(entry.get("id"), f"{place}, id", "text")
            _check(entry.get("n"), f"{place}, n", "a whole number")
            for key in _RATES:
                _check(entry.get(key), f"{place}, {key}", "a share from 0 to 1")


def read_rate(value: object) -> float:
    """A share from 0 to 1; raises FormatError for anything else."""
    _check(value, "a rate", "a share from 0 to 1", optional=False)
    return float(value)  # type: ignore[arg-type]


def without_known_columns(statistics: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Statistics of a model without the columns of which those of another model say the same.

    Both may have blocks of further rows (`held_out`), of which each has columns of its own.
    """

    def differing(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        return {name: entry for name, entry in own.items() if theirs.get(name) != entry}

    return _with_columns(statistics, known, differing)


def with_known_columns(statistics: Mapping[str, Any], known: Mapping[str, Any], used: Sequence[str]) -> dict[str, Any]:
    """The statistics that `without_known_columns` shortened; used: the columns of the model, in schema order."""

    def completed(own: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, Any]:
        both = {**theirs, **own}
        return {name: both[name] for name in used if name in both}

    return _with_columns(statistics, known, completed)


def _with_columns(own: Mapping[str, Any], known: Mapping[str, Any], columns: Callable[..., Any]) -> dict[str, Any]:
    result = dict(own)
    for key, value in own.items():
        theirs = known.get(key)
        if isinstance(value, Mapping) and isinstance(theirs, Mapping):
            result[key] = columns(value, theirs) if key == "columns" else _with_columns(value, theirs, columns)
    return result


def _check(value: Any, where: str, words: str, *, optional: bool = True) -> None:
    if not (value is None and optional) and not _HOLDS[words](value):
        raise FormatError(f"this is not {words}", where=where)
