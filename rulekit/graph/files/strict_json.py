"""JSON from anywhere, read more strictly than the standard library does, and JSON written for readers."""

from __future__ import annotations

import json
import re
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
