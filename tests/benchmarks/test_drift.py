"""The benchmark of drift on two samples: each of twelve shifts is named in some column, and fresh rows are alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.proofs.drift import SAMPLES, WANTED, named, read
from rulekit import load, monitor

UNNAMED = {"breast_cancer": {"new levels", "a level gone"}, "loans": set()}  # which has no category


@pytest.mark.parametrize("name", sorted(UNNAMED))
def test_each_shift_is_named(name: str) -> None:
    graph = load(SAMPLES / "exports" / name / "model.json")
    frame, target = read(name, Path())
    found = named(graph, frame, target)
    assert len(found) == 13  # twelve, and roundings beside values that stand for missing
    right = {shift for shift, columns in found.items() if any(WANTED[shift] in kinds for _, kinds in columns)}
    assert set(found) - right == UNNAMED[name]
    labels = frame[target].to_list()
    assert monitor(graph, frame, labels).alike
