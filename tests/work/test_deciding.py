"""A loaded model decides rows in memory as the graph does, whatever computes it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rulekit.audit.explaining.explanations import explain, meanings_of
from rulekit.cells.axis import cells_of, has_few_steps
from rulekit.conformance.models import MODELS
from rulekit.errors import InputError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.nodes import Column
from rulekit.graph.rules import fired
from rulekit.verification.report import MAX_GAP
from rulekit.verification.rows import adversarial_rows
from rulekit.work.deciding import Decider

LOANS = """rulekit rules 1
column income: numeric
column town: categorical {north, south}, unseen error
column owner: boolean
label y: {no, yes}
default no
decide yes when income > 100 and owner or town in {south}
"""
MAILS = """rulekit rules 1
column subject: text
label y: {ham, spam}
default ham
decide spam when subject contains "prize"
"""
OVERRIDES = [name for name in MODELS if name.startswith("overrides of")]


def same_as_the_graph(graph, n_rows):
    """The decider, and its answers on adversarial rows, compared with those of the evaluator."""
    decider, table = Decider.of(graph), adversarial_rows(graph, n_rows).table
    found = decider.decide(table)
    assert decider.digest == graph.digest
    assert np.array_equal(found.labels, decide(graph, table))
    assert np.abs(found.probabilities - probabilities(graph, table)).max() <= MAX_GAP
    assert found.fired.dtype == bool
    assert np.array_equal(found.fired, fired(graph, table))
    return decider, table, found


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", MODELS)
def test_every_model_is_decided_as_by_its_graph(name, whole_suite):
    decider, table, found = same_as_the_graph(MODELS[name](), 10_000 if whole_suite else 1_000)
    texts = any(decider.graph.schema[column].kind == "text" for column in decider.graph.used_features)
    assert decider.engine == ("evaluator" if texts else "onnx")
    # a row alone is decided as among others
    for row in (0, len(table) // 2):
        alone = decider.decide(table.take(np.array([row])))
        assert alone.labels.tolist() == [found.labels[row]]
        assert np.array_equal(alone.fired[0], found.fired[row])


@pytest.mark.parametrize("name", MODELS)
def test_rows_of_one_cell_are_decided_alike(name):
    """With the ends of every interval of each column, its levels, their look-alikes, and what is missing."""
    decider, rng = Decider.of(MODELS[name]()), np.random.default_rng(0)
    graph, shown = decider.graph, {}
    for column in graph.used_features:
        feature = graph.schema[column]
        values = [v for cell in cells_of(feature, graph.nodes(), raw=True).shown() for v in cell]
        shown[column] = [None if v != v else v for v in values] + ([1, 0, 2**53] if feature.kind == "numeric" else [])
        shown[column] += [True, False, 0.3, 1] if feature.kind == "boolean" else []
    n = 400
    columns = {column: [values[k] for k in rng.integers(len(values), size=n)] for column, values in shown.items()}
    if not columns:
        assert decider.cells({}) is None
        return
    found, known = decider.decide(decider.table(columns)), {}
    for row in range(n):
        cells = decider.cells({column: [values[row]] for column, values in columns.items()})
        if cells is not None:
            said = (found.labels[row], found.probabilities[row].tobytes(), found.fired[row].tobytes())
            assert known.setdefault(cells[0], said) == said, {column: values[row] for column, values in columns.items()}
    kinds = {graph.schema[column].kind for column in columns}
    dated = any(graph.schema[column].display in ("date", "datetime") for column in columns)
    summed = any(isinstance(node, Column) and not has_few_steps(node) for node in graph.nodes())
    assert bool(known) != ("text" in kinds or dated or summed)


def test_the_ids_and_texts_are_those_that_predict_prints(tmp_path):
    graph = parse_graph(LOANS)
    graph.save(tmp_path / "model.json")
    decider = Decider.of(tmp_path / "model.json")
    columns = {"income": [200, 200, 1], "town": ["south", "north", None], "owner": [True] * 3}
    found = decider.decide(decider.table(columns))
    rows = [{"income": 200, "town": "south", "owner": True}, {"income": 200, "town": "north", "owner": True}]
    said = [[rule["id"] for rule in row["rules"]] for row in explain(graph, rows)]
    assert [decider.fired_ids(found, row) for row in range(3)] == [*said, []]
    assert len(said[0]) == 2
    assert decider.rules == meanings_of(graph)


@pytest.mark.parametrize("name", OVERRIDES)
def test_the_first_override_that_fired_decides(name):
    decider, _, found = same_as_the_graph(MODELS[name](), 300)
    overrides = decider.graph.overrides
    assert [rule.id for rule in decider.rules[: len(overrides)]] == [each.id for each in overrides]
    deciding = found.fired[:, : len(overrides)]
    assert deciding.any()
    for row in np.flatnonzero(deciding.any(axis=1)):
        assert found.labels[row] == overrides[int(np.argmax(deciding[row]))].class_index


def test_texts_are_decided_by_the_evaluator():
    decider, _, _ = same_as_the_graph(parse_graph(MAILS), 300)
    assert decider.engine == "evaluator"
    found = decider.decide(decider.table({"subject": ["a prize", "hello", None]}))
    assert found.labels.tolist() == [1, 0, 0]
    assert [len(decider.fired_ids(found, row)) for row in range(3)] == [1, 0, 0]


def test_without_onnxruntime_the_evaluator_decides(monkeypatch):
    monkeypatch.setattr("rulekit.work.deciding.find_target", lambda name: _refuse())
    decider, _, _ = same_as_the_graph(parse_graph(LOANS), 300)
    assert decider.engine == "evaluator"


def _refuse():
    raise InputError("no export target 'onnx'")


@pytest.mark.parametrize(
    "columns",
    [
        {"income": ["much"], "town": ["north"], "owner": [True]},
        {"income": [1], "town": ["west"], "owner": [True]},
        {"income": [1], "town": ["north"], "owner": ["perhaps"]},
        {"income": [2**53 + 1], "town": ["north"], "owner": [True]},
        {"income": [1], "town": ["north"]},
        {"income": [1, 2], "town": ["north"], "owner": [True]},
        {"income": [1], "town": ["north"], "owner": [True], "more": [b"bytes"]},
        {"income": [[1]], "town": ["north"], "owner": [True]},
        {"income": [1], "town": ["\ud800"], "owner": [True]},
        {"income": [1], "town": ["north"], "owner": [True], "\udfff": ["x"]},
        {"income": 1, "town": "north", "owner": True},
    ],
)
def test_what_predict_refuses_is_refused_in_the_same_words(columns):
    graph = parse_graph(LOANS)
    with pytest.raises(InputError) as expected:
        graph.predict(columns)
    with pytest.raises(InputError) as found:
        Decider.of(graph).table(columns)
    assert str(found.value) == str(expected.value)


def test_missing_cells_and_new_levels():
    graph = parse_graph(LOANS.replace(", unseen error", ""))
    decider = Decider.of(graph)
    columns = {"income": [None, 101, None], "town": ["west", None, ""], "owner": [None, True, False]}
    assert decider.decide(decider.table(columns)).labels.tolist() == graph.decide(columns).tolist() == [0, 1, 0]


def test_several_threads_share_a_decider():
    graph = MODELS["level sets"]()
    decider, table, found = same_as_the_graph(graph, 500)
    rows = [table.take(np.array([row])) for row in range(500)]
    with ThreadPoolExecutor(8) as pool:
        labels = [each.labels[0] for each in pool.map(decider.decide, rows * 4)]
    assert labels == found.labels.tolist() * 4
