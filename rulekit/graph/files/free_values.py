"""Free JSON values, as provenance and statistics of a model file hold them: what they are, or None where they are not.

A file may have brought them, so that nothing vouches for their kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


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
