"""Further ways of the parity table to run an artifact: whole columns, a scorer of CSV, the reference evaluator.

In `make test` every kind of node takes one of these ways by turn; all ways and larger models are in `make conformance`.
Whole columns go through `predict_many` on the same rows in tests/conformance, so they have their turn here in the quick
run alone, which leaves generated Python out there.
"""

from __future__ import annotations

from functools import cache

import pytest

from benchmarks.proofs.parity import measure
from benchmarks.proofs.parity_ways import Way, ways
from rulekit.conformance.models import MODELS, NODES, random_legal_graph

FURTHER = ("python csv", "onnx reference", "onnx codes reference")


@cache
def further_ways(*names: str) -> tuple[Way, ...]:
    return tuple(way for way in ways() if way.name in names)


LARGE = [pytest.param(name, marks=pytest.mark.long) for name in MODELS if name not in NODES]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("model", [*NODES, *LARGE])
def test_every_way_decides_alike(model, whole_suite, long_runs, model_rows):
    turn = FURTHER[list(MODELS).index(model) % len(FURTHER)]
    names = FURTHER if long_runs else (turn if whole_suite else "python columns",)
    line = measure(model, MODELS[model](), further_ways(*names), rows=model_rows)
    assert [f"{way}: {report}" for way, report in line.reports.items() if not report.ok] == []


@pytest.mark.full
@pytest.mark.long_from("seed", 1003)
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_more_random_graphs(seed):
    line = measure(f"random {seed}", random_legal_graph(seed), further_ways(*FURTHER), rows=400, seed=seed)
    assert [f"{way}: {report}" for way, report in line.reports.items() if not report.ok] == []
