"""Rows that are encoded block by block hold the cells of the whole, and errors name the row of the whole."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds import encoding
from rulekit.tables.kinds.encoding import encode, encode_blocks

SCHEMA = Schema(
    (
        Feature("a"),
        Feature("wide", precision="float64"),
        Feature("flag", "boolean"),
        Feature("k", "categorical", ("1", "2"), unseen="error"),
        Feature("tokens", missing_tokens=("-9",)),
        Feature("unused"),
    )
)
USED = ("a", "wide", "flag", "k", "tokens")


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(encoding, "BLOCK", 7)


def matrix(n: int, dtype: type = np.float64) -> np.ndarray:
    rng = np.random.default_rng(n)
    X = np.round(rng.normal(0, 3, (n, 6)), 1)
    X[:, 2] = rng.integers(0, 2, n)
    X[:, 3] = rng.integers(1, 3, n)
    X[rng.random((n, 6)) < 0.1] = np.nan
    X[rng.random((n, 6)) < 0.1] = -0.0
    X[:, 3] = np.where(X[:, 3] == 0, 1, X[:, 3])
    X[0, 4] = -9
    return X.astype(dtype)


def joined(blocks: list) -> dict[str, np.ndarray]:
    return {name: np.concatenate([block.array(name) for block in blocks]) for name in blocks[0].names}


@pytest.mark.parametrize("n", [0, 1, 7, 8, 40])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_blocks_hold_the_cells_of_the_whole(n, dtype):
    X = matrix(max(n, 1), dtype)[:n]
    blocks = list(encode_blocks(X, SCHEMA, USED))
    assert [block.n_rows for block in blocks] == [min(7, n - start) for start in range(0, max(n, 1), 7)]
    found, whole = joined(blocks), encode(X, SCHEMA, USED)
    assert tuple(found) == USED
    for name in USED:
        np.testing.assert_array_equal(found[name], whole.array(name))
        assert found[name].dtype == whole.array(name).dtype
        assert not np.signbit(found[name][found[name] == 0]).any()


def test_frames_too():
    X = matrix(30)
    frame = pl.DataFrame(dict(zip(SCHEMA.names, X.T, strict=True))).select(reversed(SCHEMA.names))
    whole = encode(X, SCHEMA, USED)
    for name, array in joined(list(encode_blocks(frame, SCHEMA, USED))).items():
        np.testing.assert_array_equal(array, whole.array(name))


def test_columns_of_text_come_as_one_table():
    """Blocks must not tell the kind of a column anew: the text 3.0 among words is no number."""
    cells = ["x", "3.0", *["3.0"] * 20]
    schema = Schema((Feature("c", "categorical", ("3", "x")),))
    (table,) = encode_blocks({"c": cells}, schema, ("c",))
    assert table.array("c").tolist() == encode({"c": cells}, schema).array("c").tolist()
    objects = np.array([[cell] for cell in cells], dtype=object)
    (table,) = encode_blocks(objects, schema, ("c",))
    assert table.array("c").tolist() == encode(objects, schema).array("c").tolist()


def test_a_table_of_the_schema_is_taken_as_it_is():
    table = encode(matrix(20), SCHEMA)
    (block,) = encode_blocks(table, SCHEMA, USED)
    assert block is table


@pytest.mark.parametrize(
    ("column", "value", "words"), [(3, 5.0, "data row 19, column 'x3'"), (0, 2**60, "data row 19, column 'x0'")]
)
def test_errors_name_the_row_of_the_whole(column, value, words):
    X = np.ones((30, 6), dtype=np.int64)
    X[18, column] = value
    with pytest.raises(InputError, match=words):
        list(encode_blocks(X, SCHEMA, USED))


def test_a_matrix_of_another_width_is_refused():
    with pytest.raises(InputError, match="X has 5 features, but the model is expecting 6"):
        list(encode_blocks(np.zeros((3, 5)), SCHEMA, USED))


def test_predictions_are_those_of_one_table():
    graph = RuleGraph(SCHEMA, ("no", "yes"), Fires(And((Compare("a", ">", 0.5, True), Among("k", ("1",), True)))))
    X = matrix(50)
    table = graph.table(X)
    assert graph.predict(X).tolist() == graph.predict(table).tolist()
    np.testing.assert_array_equal(graph.predict_proba(X), graph.predict_proba(table))
