"""Random graphs of every node and decision: onnxruntime and onnx.reference decide as numpy does."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_cases import assert_formulations_agree, fired_rules, forms_of
from random_tables import random_table
from rulekit_exporters.onnx import emit, read, run, run_reference

from rulekit.conformance.models import random_graph
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rules import fired


def compare(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    table = random_table(rng, graph.schema, 300)
    labels, chances = decide(graph, table), probabilities(graph, table)
    for form in forms_of(graph):
        artifact = emit(graph, {"input": form, "text": False, "fired": seed % 3 == 0, "opset": 12 + seed % 8}).main
        for runner in (run, run_reference) if seed % 4 == 0 else (run,):
            with np.errstate(all="ignore"):
                outcome = runner(artifact, graph, table)
            np.testing.assert_array_equal(outcome.labels, labels, err_msg=f"seed {seed} {form} {runner.__name__}")
            np.testing.assert_allclose(outcome.probabilities, chances, rtol=0, atol=1e-6, err_msg=f"seed {seed} {form}")
        assert read(artifact) == graph
        if seed % 3 == 0:
            np.testing.assert_array_equal(fired_rules(artifact, graph, table)[1], fired(graph, table))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(2000, 2030))
def test_every_formulation_of_random_graphs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    assert_formulations_agree(graph, random_table(rng, graph.schema, 200))


@pytest.mark.full
@pytest.mark.long_from("block", 1)
@pytest.mark.parametrize("block", range(5))
def test_every_formulation_of_many_random_graphs(block: int) -> None:
    for seed in range(3000 + 30 * block, 3030 + 30 * block):
        rng = np.random.default_rng(seed)
        graph = random_graph(rng)
        assert_formulations_agree(graph, random_table(rng, graph.schema, 300))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(40))
def test_random_graphs(seed: int) -> None:
    compare(seed)


@pytest.mark.full
@pytest.mark.long_from("block", 1)
@pytest.mark.parametrize("block", range(10))
def test_many_random_graphs(block: int) -> None:
    for seed in range(1000 + 60 * block, 1060 + 60 * block):
        compare(seed)
