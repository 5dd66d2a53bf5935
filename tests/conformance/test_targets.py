"""One suite for every way to run a model: every node type, every decision, random graphs, learned models.

A way that cannot take a model declares why (`Way.refuses`) and must then refuse it with a named error; anything else
must decide alike on every adversarial row and report probabilities within 1e-6. A target that registers itself joins
this suite by one line in benchmarks/parity_ways.py.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from random_graphs import random_graph

from benchmarks.parity import ALL_MODELS, measure
from benchmarks.parity_models import MODELS
from benchmarks.parity_ways import Way, ways
from rulekit.errors import GraphError, Unsupported
from rulekit.graph.check import check
from rulekit.graph.nodes import Vocabulary
from rulekit.targets import find_target, target_names

FULL_ROWS = 4_000
RANDOM_SEEDS = 60


@cache
def all_ways() -> tuple[Way, ...]:
    return tuple(ways())


@cache
def quick_ways() -> tuple[Way, ...]:
    return tuple(way for way in ways() if way.quick)


@pytest.mark.parametrize("model", ALL_MODELS)
def test_every_way_decides_alike(model):
    """Three hundred rows a model; the run before each commit takes one way of each target and input form."""
    line = measure(model, ALL_MODELS[model](), quick_ways(), rows=300)
    assert [f"{way}: {report}" for way, report in line.reports.items() if not report.ok] == []


@pytest.mark.full
@pytest.mark.parametrize("model", ALL_MODELS)
def test_every_way_decides_alike_on_many_rows(model):
    """Together more than 200,000 adversarial rows; `python -m benchmarks.parity` prints the same as a table."""
    line = measure(model, ALL_MODELS[model](), all_ways(), rows=FULL_ROWS)
    assert [f"{way}: {report}" for way, report in line.reports.items() if not report.ok] == []
    assert line.rows == FULL_ROWS


def test_the_models_are_enough():
    graphs = [make() for make in ALL_MODELS.values()]
    assert len(graphs) >= 50
    assert len(graphs) * FULL_ROWS >= 200_000
    assert {type(node).__name__ for graph in graphs for node in graph.nodes()} == set(Vocabulary.TYPES)
    assert sum(len(graph.classes) > 2 for graph in graphs) >= 5
    for graph in graphs:
        check(graph)


def test_every_installed_target_is_in_the_suite():
    assert {way.target.name for way in all_ways()} >= set(target_names())


@pytest.mark.parametrize("name", ["onnx", "python", "text"])
def test_a_target_says_which_nodes_it_can_write(name):
    target = find_target(name)
    assert target.expresses <= set(Vocabulary.TYPES)
    for make in MODELS.values():
        graph = make()
        if {type(node).__name__ for node in graph.nodes()} <= target.expresses:
            target.emit(graph, {})
        else:
            with pytest.raises(Unsupported):
                target.emit(graph, {})


def random_legal_graph(seed):
    """The first graph that `check` passes, from this seed on."""
    rng = np.random.default_rng(seed)
    while True:
        graph = random_graph(rng)
        try:
            check(graph)
        except GraphError:
            continue
        return graph


@pytest.mark.parametrize("seed", range(12))
def test_random_graphs(seed):
    line = measure(f"random {seed}", random_legal_graph(seed), quick_ways(), rows=100, seed=seed)
    assert [f"{way}: {report}" for way, report in line.reports.items() if not report.ok] == []


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1000, 1000 + RANDOM_SEEDS))
def test_more_random_graphs(seed):
    line = measure(f"random {seed}", random_legal_graph(seed), all_ways(), rows=400, seed=seed)
    assert [f"{way}: {report}" for way, report in line.reports.items() if not report.ok] == []
