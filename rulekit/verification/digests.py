"""Digests by which a verification is known again: of its rows and of their labels; and the versions that ran it."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable

import numpy as np

from rulekit.tables.table import Table
from rulekit.tables.token_sets import TokenSets
from rulekit.targets import Outcome

PACKAGES = ("numpy", "onnxruntime")


def digest_of_rows(table: Table) -> str:
    """SHA-256 of encoded rows: of each column its name, type and little-endian values; every NaN and zero is one."""
    digest = hashlib.sha256()
    for feature, array in zip(table.features, table.arrays, strict=True):
        if isinstance(array, TokenSets):
            digest.update(f"{feature.name!a} words {len(array)}\n".encode())
            digest.update(array.tobytes())
            continue
        values = array
        if values.dtype.kind == "f":
            values = np.where(np.isnan(values), values.dtype.type(np.nan), values + values.dtype.type(0))
        values = np.ascontiguousarray(values, dtype=values.dtype.newbyteorder("<"))
        digest.update(f"{feature.name!a} {values.dtype.str} {len(values)}\n".encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


def digest_of_labels(outcomes: Iterable[Outcome]) -> str:
    """SHA-256 of class indices as little-endian int64, run after run."""
    digest = hashlib.sha256()
    for outcome in outcomes:
        digest.update(np.ascontiguousarray(outcome.labels, dtype="<i8").tobytes())
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """Of Python and of those packages that are in use and can change what an artifact answers."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        version = getattr(sys.modules.get(name), "__version__", "")
        if version:
            found[name] = str(version)
    return found
