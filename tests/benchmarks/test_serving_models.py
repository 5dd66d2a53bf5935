"""The models that are timed, their C loops and the Python by hand are the same rules, also where rows are awkward."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.speed import conversion
from benchmarks.speed.serving import by_hand
from benchmarks.speed.serving.bench import compiled
from benchmarks.speed.serving.floors import (
    Answers,
    NoCompilerError,
    build,
    column_call,
    dnf_header,
    ltu_header,
    row_call,
    used_columns,
)
from benchmarks.speed.serving.models import (
    BOUND,
    CLAUSES,
    COLUMNS,
    STEP,
    clauses,
    ltu_graph,
    ltu_tree,
    noisy,
    rows,
    stumps_graph,
)
from benchmarks.speed.serving.others import boosted_labels
from rulekit.graph.nodes import Compare, LinearThreshold, topological
from rulekit.verification.proof.prove import guarantee

SIZES = (1, 63, 64, 65, 400)


def _compile(source: str, header: str, folder: Path) -> Any:
    made = compiled(source, header, folder)
    if not made:
        pytest.skip(made.absent)
    return made.value


def _rows_at_thresholds(n: int) -> Any:
    """Rows of which half of the cells lie at a threshold, one float32 beside it, or are no ordinary number."""
    rng = np.random.default_rng(7)
    X = rows(n, seed=8)
    cuts = np.array([value for clause in CLAUSES for _, _, value in clause], dtype=np.float32)
    places = [j for clause in CLAUSES for j, _, _ in clause]
    special = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], dtype=np.float32)
    for row in X:
        for k in np.flatnonzero(rng.random(len(cuts)) < 0.5):
            near = np.nextafter(cuts[k], np.float32(rng.choice([-9.0, 9.0])))
            row[places[k]] = rng.choice([cuts[k], near]) if rng.random() < 0.9 else rng.choice(special)
    return X


def test_the_model_of_20_literals_is_decided_at_varied_depth():
    graph = clauses()
    assert [len(clause) for clause in CLAUSES] == [4, 5, 5, 6]
    assert sum(isinstance(node, Compare) for node in graph.nodes()) == 20
    assert len(graph.used_features) == len(used_columns()) == 14
    X = rows(20_000)
    assert 0.2 < graph.predict(X).mean() < 0.5
    for clause in CLAUSES:
        left = np.ones(len(X), dtype=bool)
        for j, op, value in clause:
            holds = X[:, j] <= value if op == "<=" else X[:, j] > value
            assert 0.5 < holds.mean() < 0.9
            left &= holds
        assert 0.1 < left.mean() < 0.2
    # Python by hand is the same model.
    few, expected = X[:4000].tolist(), graph.predict(X[:4000]).tolist()
    assert [by_hand.decide(row) for row in few] == expected
    assert [by_hand.decide_mapping({f"x{j}": row[j] for j in range(COLUMNS)}) for row in few] == expected


def test_the_c_loop_of_literals_decides_as_the_graph(tmp_path: Path):
    """By rows and by columns; a loop of other rules is found out."""
    dnf = _compile("dnf.c", dnf_header(), tmp_path)
    for n in SIZES:
        X = _rows_at_thresholds(n)
        expected = clauses().predict(X)
        columns = [np.ascontiguousarray(X[:, j]) for j in used_columns()]
        by_row, by_column = Answers.of(n), Answers.of(n)
        dnf.decide_rows(*row_call(X, by_row, 0, n))
        prepared = column_call(columns, by_column, 0, n)
        dnf.decide_columns(*prepared.call)
        for found in (by_row, by_column):
            np.testing.assert_array_equal(found.label, expected)
            np.testing.assert_array_equal(found.probability, np.stack([1 - expected, expected], axis=1))
    part = Answers.of(n)  # a range of rows leaves the other answers alone
    part.label[:] = 7
    dnf.decide_rows(*row_call(X, part, 70, 200))
    np.testing.assert_array_equal(part.label, [*[7] * 70, *expected[70:200], *[7] * (n - 200)])
    folder = tmp_path / "other"  # a library of one path is loaded once
    folder.mkdir()
    other = _compile("dnf.c", dnf_header().replace("(X(1) > ", "(X(1) >= "), folder)
    answers = Answers.of(n)
    other.decide_rows(*row_call(X, answers, 0, n))
    assert (answers.label != expected).any()


def test_the_c_loop_of_linear_units_cleans_and_decides_as_the_graph(tmp_path: Path):
    ltu, graph = _compile("ltu.c", ltu_header(ltu_tree()), tmp_path), ltu_graph(ltu_tree())
    edges = np.array([np.nan, np.inf, -np.inf, BOUND, -BOUND, BOUND - STEP / 2, 1e30, -0.0], dtype=np.float32)
    for n in SIZES:
        rng, X = np.random.default_rng(3), rows(n, seed=9)
        X = np.where(rng.random(X.shape) < 0.4, (np.floor(X / STEP) + 0.5) * STEP, X)  # ties
        X = np.where(rng.random(X.shape) < 0.1, rng.choice(edges, X.shape), X).astype(np.float32)
        answers, expected = Answers.of(n), graph.predict(X)
        ltu.decide_rows(*row_call(X, answers, 0, n))
        np.testing.assert_array_equal(answers.label, expected)
        np.testing.assert_array_equal(answers.probability[:, 1], expected)


def test_sums_of_the_linear_units_are_exact_in_float32():
    graph = ltu_graph(ltu_tree())
    units = [node for node in topological(graph.decision.roots) if isinstance(node, LinearThreshold)]
    assert len(units) == 15
    assert guarantee(graph).basis in ("grid sum", "Boolean")
    for unit in units:
        largest = BOUND * sum(map(abs, unit.weights)) + abs(unit.bias)
        assert largest / (STEP / 64) < 2**24
        assert all((weight * 64).is_integer() for weight in (*unit.weights, unit.bias))
    assert 0.3 < graph.predict(rows(5000)).mean() < 0.7


@pytest.mark.long
@pytest.mark.full
def test_the_additive_graph_is_the_adaboost_it_was_taken_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The script that trains it runs here without skl2onnx, whose file is left empty."""
    monkeypatch.setattr(conversion, "ENVIRONMENT", Path(sys.prefix))
    empty = "to_onnx = lambda *_, **__: type('', (), {'SerializeToString': lambda self: b''})()"
    X, others = rows(1000, seed=2), rows(2000, seed=3)
    files = [tmp_path / name for name in ("X.npy", "y.npy", "others.npy", "model.onnx", "stumps.npz")]
    for path, values in zip(files, (X, boosted_labels(X), others), strict=False):
        np.save(path, values)
    assert conversion.convert(conversion.STUMPS.replace("from skl2onnx import to_onnx", empty), files) == ""
    stumps = dict(np.load(files[4]))
    graph = stumps_graph(stumps)
    assert len(stumps["weight"]) == 100
    np.testing.assert_array_equal(graph.predict(others), stumps["labels"])

    # Rows at the thresholds, which are mid-points that float32 may round to either side.
    for k, (feature, threshold) in enumerate(zip(stumps["feature"], stumps["threshold"], strict=True)):
        others[k::100, feature] = np.float32(threshold)
    below = others[:, stumps["feature"]].astype(np.float64) <= stumps["threshold"]
    votes = np.where(below, stumps["below"], stumps["above"]) @ stumps["weight"]
    assert np.abs(votes).min() > 1e-4
    np.testing.assert_array_equal(graph.predict(others), votes > 0)


def test_the_weights_of_stumps_are_exact_in_float32():
    """However the sums are ordered: 24 bits hold the largest of them in multiples of the grid."""
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.01, 1.3, 100)
    sides = {"below": np.full(100, -1), "above": np.full(100, 1)}
    graph = stumps_graph({"feature": np.arange(100) % 30, "threshold": rng.normal(size=100), "weight": weight, **sides})
    (above,) = graph.decision.roots
    (linear,) = above.children
    values = np.array([value for child in linear.children for value in child.values])
    largest = sum(max(map(abs, child.values)) for child in linear.children)
    unit = 2.0 ** np.floor(np.log2(largest)) * 2.0**-23
    np.testing.assert_array_equal(values / unit, np.rint(values / unit))
    assert largest == pytest.approx(weight.sum(), abs=1e-4)
    # A stump whose sides vote alike is a constant.
    stumps = {"feature": [0, 1], "threshold": [0.0, 0.0], "below": [1, -1], "above": [1, 1], "weight": [1.0, 0.5]}
    graph = stumps_graph({name: np.array(values) for name, values in stumps.items()})
    assert graph.predict(np.array([[-1.0, -1.0] + [0.0] * 28], dtype=np.float32)).tolist() == [1]


@pytest.mark.parametrize(("literals", "columns", "clause"), [(12, 10, 3), (24, 24, 4)])
def test_noisy_formulas_decide_both_ways(literals: int, columns: int, clause: int):
    graph = noisy(literals, columns, clause)
    assert len(graph.used_features) == columns
    assert 0.1 < graph.predict(rows(2000)).mean() < 0.9


def test_what_is_not_compiled_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(NoCompilerError, match=r"does not compile dnf\.c|no C compiler"):
        build("dnf.c", "#define USED nothing\n", tmp_path)
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCompilerError, match="no C compiler"):
        build("dnf.c", dnf_header(), tmp_path)
    monkeypatch.setenv("CC", str(tmp_path / "absent"))
    assert "absent" in compiled("dnf.c", dnf_header(), tmp_path).absent
