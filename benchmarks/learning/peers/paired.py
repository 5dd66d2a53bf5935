"""Learners beside each other on the same splits: paired differences with their standard errors, and ratios of time."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from benchmarks.learning.peers.results import Results, Row


class Gap(NamedTuple):
    """A mean paired difference in accuracy, its standard error, and over how many splits."""

    mean: float
    error: float
    splits: int

    def text(self) -> str:
        """As it stands in a table."""
        return f"{self.mean:+.4f} ± {self.error:.4f}"


def gap(rows: Mapping[str, Row], others: Mapping[str, Row]) -> Gap | None:
    """The difference over the splits that both finished; on a single split its error is that over test rows."""
    shared = [name for name, row in rows.items() if row["status"] == others.get(name, {}).get("status") == "ok"]
    if not shared:
        return None
    differences = np.array([rows[name]["accuracy"] - others[name]["accuracy"] for name in shared])
    if len(shared) > 1:
        return Gap(float(differences.mean()), float(differences.std(ddof=1) / np.sqrt(len(shared))), len(shared))
    right = [_right(one[shared[0]]) for one in (rows, others)]
    if right[0] is None or right[1] is None:
        return Gap(float(differences[0]), float("nan"), 1)
    error = (right[0] - right[1]).std(ddof=1) / np.sqrt(len(right[0]))
    return Gap(float(differences[0]), float(error), 1)


def _right(row: Row) -> Any:
    if "right" not in row:
        return None
    packed = np.frombuffer(base64.b64decode(row["right"]), dtype=np.uint8)
    return np.unpackbits(packed)[: row["n_test"]].astype(np.float64)


def of(results: Results, table: str, peer: str) -> dict[str, Row]:
    """One peer's rows of one table, by split."""
    return {row["split"]: row for row in results.rows.values() if row["table"] == table and row["peer"] == peer}


def mean_of(rows: Mapping[str, Row], what: str) -> float:
    """The mean over the splits that finished."""
    values = [row[what] for row in rows.values() if row["status"] == "ok"]
    return float(np.mean(values)) if values else float("nan")


def time_ratio(rows: Mapping[str, Row], others: Mapping[str, Row]) -> float:
    """The median over splits of CPU seconds as a multiple of the other's on the same rows."""
    ratios = [
        row["seconds"] / others[name]["seconds"]
        for name, row in rows.items()
        if row["status"] == others.get(name, {}).get("status") == "ok"
    ]
    return float(np.median(ratios)) if ratios else float("nan")
