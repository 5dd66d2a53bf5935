"""The shipped suites on the targets of this distribution, and on targets that are wrong in one way each."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

import numpy as np
import pytest
from other_engines import over

from rulekit.conformance.models import LEARNED, MODELS, NODES, random_legal_graph
from rulekit.conformance.targets import FILE, Check, check_node, check_target, decides_alike, target_checks
from rulekit.errors import RulekitError
from rulekit.graph.check import check
from rulekit.graph.nodes import Compare, Vocabulary
from rulekit.targets import Outcome, Runtime, find_target

OWN = [point.name for point in distribution("rulekit-portable").entry_points if point.group == "rulekit.exporters"]
QUICK = {
    "file": {"target": FILE},
    "text": {"target": find_target("text")},
    "onnx tensor": {"target": find_target("onnx"), "options": {"input": "tensor"}},
    "onnx columns": {"target": find_target("onnx"), "options": {"input": "columns"}},
}
SLOW = {
    "python": {"target": find_target("python")},
    "sql": {"target": find_target("sql")},
    "javascript": {"target": find_target("javascript")},
    "onnx codes": {"target": find_target("onnx"), "options": {"input": "codes"}},
    "onnx ids": {"target": find_target("onnx"), "options": {"input": "ids"}},
    "onnx latency": {"target": find_target("onnx"), "options": {"optimize": "latency"}},
}


TURNS = ("onnx tensor", "onnx columns", "onnx codes", "onnx ids", "onnx latency")
LARGEST = ("unit over 240 columns", "240 columns, 60 rules", "120 rules", "90 mixed rules", "100 stumps")
LONG_RUN = int(re.search(r"--model-rows (\d+)", (Path(__file__).parents[2] / "Makefile").read_text()).group(1))


@cache
def checks(name: str, rows: int, thresholds: int = 100) -> dict[str, Check]:
    form = {"options": {}, **QUICK, **SLOW}[name]
    found = target_checks(**{"options": {}, "rows": rows, "thresholds": thresholds, "kinds": ("category",), **form})
    return {each.name: each for each in found}


def is_installed(name: str) -> bool:
    """Whether something here runs a form: JavaScript needs Node.js."""
    return bool({**QUICK, **SLOW}[name]["target"].installed())


NAMES = list(dict.fromkeys(name for form in (*QUICK, *SLOW) if is_installed(form) for name in checks(form, 300)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", NAMES)
def test_every_target_passes(name, whole_suite, long_runs, model_rows):
    """The shipped suite, check by check; the run before each commit takes fewer rows, and no form that takes long.

    Cells of every kind of column are in test_cells.py.

    Forms of ONNX take turns, and generated Python and JavaScript, which are started for each model, take every third
    one. All forms of all models, and the largest ones, run with `make conformance`.

    `make conformance` runs more than 200,000 adversarial rows in each form; `python -m benchmarks.proofs.parity` prints
    them.
    """
    place = NAMES.index(name)
    other = {"python", "javascript"} if place % 3 and name in MODELS else set()
    left = () if long_runs else {*TURNS} - {TURNS[place % len(TURNS)]} | other
    forms = (*QUICK, *SLOW) if long_runs or (whole_suite and name not in LARGEST) else QUICK
    for form in (each for each in forms if each not in left and is_installed(each)):
        found = checks(form, model_rows if name in MODELS else 300, 200 if long_runs else 100)
        if name in found:  # not every run-time takes cells of every type
            found[name].run()


@pytest.mark.full
@pytest.mark.long_from("seed", 1005)
@pytest.mark.parametrize("seed", range(1000, 1060))
def test_more_random_graphs(seed, long_runs):
    forms = [form for name, form in {**QUICK, **SLOW}.items() if is_installed(name)]
    for form in forms[:: 1 if long_runs else 1 + seed % 3]:
        decides_alike(graph=random_legal_graph(seed), rows=400, seed=seed, **{"options": {}, **form})


def test_the_models_are_enough():
    graphs = [make() for make in MODELS.values()]
    assert len(graphs) >= 50
    assert len(graphs) * LONG_RUN >= 200_000
    assert {type(node).__name__ for graph in graphs for node in graph.nodes()} == set(Vocabulary.TYPES)
    assert sum(len(graph.classes) > 2 for graph in graphs) >= 5
    assert len(LEARNED) >= 7
    for graph in graphs:
        check(graph)


def test_every_target_of_this_distribution_is_in_the_suite():
    assert {form["target"].name for form in (*QUICK.values(), *SLOW.values())} == {"file", *OWN}


@pytest.mark.long_from("seed", 5)
@pytest.mark.parametrize("seed", range(20))
def test_nodes_of_random_graphs(seed):
    """The graphs of seeds from here on hold every node type that stands alone."""
    graph = random_legal_graph(2000 + seed)
    for node in graph.nodes():
        if node.family.value == "Boolean":
            check_node(node, graph.schema, [FILE], rows=100)


def _wrong(labels=lambda labels: labels, probabilities=lambda values: values):
    """The model file as a target that answers otherwise."""

    def run(artifact, graph, table):
        right = FILE.run(artifact, graph, table)
        return Outcome(labels(right.labels), probabilities(right.probabilities))

    return over(run)


def _shuffled_beyond(rows):
    return lambda labels: np.roll(labels, 1) if len(labels) > rows else labels


def _misread(artifact, graph, table):
    """An engine that reads one decimal wrongly by one unit in the last place."""
    text = artifact.decode().replace('"value": 0.0518', '"value": 0.051800001')
    return FILE.run(text.encode(), graph, table)


def _believing(artifact, graph, table):
    """A run that does not look at the artifact."""
    return FILE.run(FILE.emit(graph, {}).main, graph, table)


@pytest.mark.parametrize(
    ("target", "fault"),
    [
        (_wrong(labels=_shuffled_beyond(2048)), "rows in their order"),
        (_wrong(labels=lambda labels: 1 - labels), "threshold"),
        (_wrong(probabilities=lambda p: p + 1e-5), "noisy-or"),
        (over(_misread), "hard thresholds in comparisons, float32"),
        (replace(FILE, read=lambda artifact: NODES["DNF"]()), "noisy-or"),
        (replace(over(_believing), read=None), "an artifact that was damaged"),
    ],
    ids=["order", "decision", "probability", "decimal", "rules carried", "damaged"],
)
def test_a_target_that_is_wrong_in_one_way_fails(target, fault):
    (question,) = [each for each in target_checks(target, {}, thresholds=20) if each.name == fault]
    with pytest.raises((AssertionError, RulekitError)):
        question.run()


def test_gaps_are_declared_with_a_reason(monkeypatch):
    """A gap that is declared and has closed is a failure, so that a list of gaps says what is true."""
    asked = ("threshold", "an artifact that was damaged", "the same bytes twice")
    few_checks = lambda *args, **named: [each for each in target_checks(*args, **named) if each.name in asked]  # noqa: E731
    monkeypatch.setattr("rulekit.conformance.targets.target_checks", few_checks)
    inverted = _wrong(labels=lambda labels: 1 - labels)
    few = {"threshold": NODES["threshold"]}
    gaps = dict.fromkeys(asked, "labels are inverted")
    with pytest.raises(AssertionError) as caught:
        check_target(inverted, rows=5, models=few, gaps=gaps, kinds=("category",))
    assert str(caught.value).splitlines() == [
        f"other {{}}, {name}: passes, but is declared as a gap (labels are inverted)"
        for name in ("an artifact that was damaged", "the same bytes twice")
    ]
    with pytest.raises(AssertionError, match=r"flying: no such check; the checks are .*; the same bytes twice"):
        check_target(FILE, rows=5, models=few, gaps={"flying": "it cannot"}, kinds=("category",))


def test_a_node_that_a_target_reads_wrongly_is_found():
    with pytest.raises(AssertionError, match="different"):
        check_node(Compare("x0", ">", 0.1), NODES["threshold"]().schema, [_wrong(labels=lambda labels: 1 - labels)])


def test_cells_are_read_as_the_library_reads_them():
    def typed(artifact, graph, tables):
        return [FILE.run(artifact, graph, graph.table(columns)) for columns in tables]

    def as_text(artifact, graph, tables):
        """An engine that writes its Booleans as "true" and "false" before it looks for the level."""
        cells = [[str(cell).lower() if isinstance(cell, bool) else cell for cell in table["c"]] for table in tables]
        return typed(artifact, graph, [{**table, "c": c} for table, c in zip(tables, cells, strict=True)])

    for run, passes in ((typed, True), (as_text, False)):
        here = replace(FILE, runs=(Runtime("typed", FILE.run, run_typed=run),))
        (question,) = [each for each in target_checks(here, {}) if each.name == "cells as users hold them"]
        if passes:
            question.run()
        else:
            with pytest.raises(AssertionError, match="of 20 rows differ"):
                question.run()
