"""Two columns that were exchanged: each is now distributed as the other was, and neither as it was itself."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from rulekit.audit.drift.known import Known, KnownLevels, KnownNumbers
from rulekit.audit.drift.observed import Seen
from rulekit.audit.drift.significance import stability_index
from rulekit.audit.drift.transformations import index_of, near
from rulekit.schema import Schema

_MOST = 40  # columns of which all pairs are looked at


def swapped(
    schema: Schema, known: Known, columns: Mapping[str, Seen], odd: Mapping[str, frozenset[str]]
) -> dict[str, str]:
    """By column the one with which it was exchanged, among those that are odd."""
    suspects = [own for own, tests in odd.items() if tests & {"distribution", "new levels", "out of range"}][:_MOST]
    pairs = []
    for a, b in itertools.combinations(suspects, 2):
        if schema[a].kind == schema[b].kind:
            left = max(_as_other(known, columns, a, b), _as_other(known, columns, b, a))
            if left <= 1.0:
                pairs.append((left, a, b))
    found: dict[str, str] = {}
    for _, a, b in sorted(pairs):
        if a not in found and b not in found:
            found |= {a: b, b: a}
    return found


def _as_other(known: Known, columns: Mapping[str, Seen], a: str, b: str) -> float:
    """How far a column is from what the other one was; up to 1 where it may be that."""
    own, other, seen = known.columns[a], known.columns[b], columns[a]
    if isinstance(own, KnownNumbers) and isinstance(other, KnownNumbers) and len(seen.values):
        before = own.shares * known.size * (1.0 - own.missing)
        theirs = other.shares * known.size * (1.0 - other.missing)
        raw = index_of(seen.values, own, before)
        return index_of(seen.values, other, theirs) / max(near(other, theirs, len(seen.values), raw), 1e-12)
    if isinstance(own, KnownLevels) and isinstance(other, KnownLevels):
        held = dict(zip(own.levels, seen.counts.tolist(), strict=True)) | {k: float(v) for k, v in seen.new.items()}
        now = np.array([*(held.get(level, 0.0) for level in other.levels), 0.0])
        now[-1] = max(0.0, sum(held.values()) - now.sum())
        theirs = np.append(other.shares * known.size * (1.0 - other.missing), 0.0)
        noise = len(now) * (1.0 / max(float(now.sum()), 1.0) + 1.0 / known.size)
        return stability_index(now, theirs) / max(0.05, 2.0 * noise)
    return float("inf")
