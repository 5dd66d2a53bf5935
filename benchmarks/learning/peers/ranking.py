"""Means over folds, and ranks in accuracy among small models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.learning.peers.results import Results, Row

LIMITS = (8, 20)


@dataclass(frozen=True, slots=True)
class Cell:
    """One learner on one table: means over the folds that it finished, and how many it did not, with the reason."""

    finished: int
    skipped: int
    accuracy: float = float("nan")
    auc: float = float("nan")
    rules: float = float("nan")
    literals: float = float("nan")
    seconds: float = float("nan")
    why: str = ""


def cells(results: Results) -> dict[tuple[str, str], Cell]:
    """Per table and peer."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in results.rows.values():
        grouped.setdefault((row["table"], row["peer"]), []).append(row)
    return {key: _cell(rows) for key, rows in grouped.items()}


def _cell(rows: Sequence[Row]) -> Cell:
    done = [row for row in rows if row["status"] == "ok"]
    missed = [row for row in rows if row["status"] not in ("ok", "skipped")]
    why = f"{missed[0]['status']}: {missed[0].get('why', '')}" if missed else ""
    if not done:
        return Cell(0, len(rows), why=why)
    means = {
        what: float(np.mean([row[what] for row in done]))
        for what in ("accuracy", "auc", "rules", "literals", "seconds")
    }
    return Cell(len(done), len(rows) - len(done), **means, why=why)


def ranks(
    found: Mapping[tuple[str, str], Cell],
    tables: Sequence[str],
    peers: Sequence[str],
    most: int,
    any_size: Sequence[str] = (),
) -> dict[str, list[float]]:
    """Per peer its rank in accuracy on each table, 1 the best; equal ones share the mean of their places.

    A model that did not finish all folds, or has more than `most` rules on average, shares the last places; those of
    `any_size` may have more.
    """
    places: dict[str, list[float]] = {peer: [] for peer in peers}
    for table in tables:
        scores = np.array([_score(found.get((table, peer)), np.inf if peer in any_size else most) for peer in peers])
        for peer, score in zip(peers, scores, strict=True):
            better, equal = (scores > score).sum(), (scores == score).sum()
            places[peer].append(float(better + (equal + 1) / 2))
    return places


def done(cell: Cell | None) -> bool:
    """Whether it finished every fold."""
    return cell is not None and cell.finished > 0 and cell.skipped == 0


def _score(cell: Cell | None, most: float) -> float:
    if cell is None or cell.skipped or cell.rules > most:
        return -1.0
    # Equal to nine digits is equal: the order of a sum must not decide a place.
    return round(cell.accuracy, 9)
