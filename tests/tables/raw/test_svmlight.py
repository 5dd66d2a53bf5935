"""svmlight files and sparse matrices: one column of words, of the features that are there."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, random_array

from rulekit import AdditiveRulesClassifier
from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw import svmlight
from rulekit.tables.raw.columns import NumberColumn, TokenColumn
from rulekit.tables.reading import read_columns, read_table
from tests.tables.text.test_token_sets import rows_from

TEXT = b"# made by hand\n+1 1:1 3:1.0 # first\n\n-1 2:1e0 4:0\n+1 1:1 2:1\n"


@pytest.mark.parametrize("name", ["t.txt", "t.csv", "t.svm", "t.svm.gz", "t.libsvm"])
def test_features_that_are_not_zero_are_words(tmp_path: Path, name: str) -> None:
    """Such a file was once read as a CSV of one odd column, and then refused."""
    path = tmp_path / name
    content = TEXT if "svm" in name else TEXT.removeprefix(b"# made by hand\n")
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    label, words = read_columns(path).columns
    assert isinstance(label, NumberColumn)
    assert label.values.tolist() == [1, -1, 1]
    assert isinstance(words, TokenColumn)
    assert words.words == ("f1", "f2", "f3")
    assert rows_from(words.sets) == [{0, 2}, {1}, {0, 1}]


WEIGHED = b"+1 1:0.5 3:1.25\n-1 2:1e-3 1:1\n"


def test_values_other_than_0_and_1_are_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Values became bits: a rule could ask only whether a feature is there."""
    path = tmp_path / "t.svm"
    path.write_bytes(WEIGHED)
    table = read_table(path)
    assert table.names == ("label", "f1", "f2", "f3")
    assert [array.tolist() for array in table.arrays[1:]] == [[0.5, 1], [0, np.float32(1e-3)], [1.25, 0]]
    assert "columns of numbers" in table.notes[0]
    path.write_bytes(b"3:1 77:1\n1:1\n")  # a batch of ones alone, without labels, for the same model
    again = read_table(path, schema=Schema(table.features), used={"f1", "f3"})
    assert [array.tolist() for array in again.arrays[1:]][::2] == [[0, 1], [1, 0]]
    path.write_bytes(WEIGHED)
    monkeypatch.setattr(svmlight, "MOST_COLUMNS", 2)
    table = read_table(path)
    assert table.names == ("label", "words")
    assert "taken as 1, since 3 features are too many" in table.notes[0]
    schema = Schema((Feature("words", "text", ("f1", "f3")),))
    assert rows_from(read_table(path, schema=schema).arrays[0]) == [{0, 1}, {0}]  # type: ignore[arg-type]


def test_all_lines_have_a_label_or_none(tmp_path: Path) -> None:
    """The first feature of lines without labels was taken for the label."""
    path = tmp_path / "t.svm"
    path.write_bytes(b"3:1 5:1\n\n# empty\n5:1\n")
    raw = read_columns(path)
    assert (raw.names, raw.n_rows) == (("words",), 2)
    assert rows_from(raw.columns[0].sets) == [{0, 1}, {1}]  # type: ignore[union-attr]
    assert raw.notes == ("t.svm: 2 empty lines were left out",)
    for text, message in ((b"1 3:1\n3:1 5:1\n", "line 2: no label, but '3:1'"), (b"3:1\n1 3:1\n", "line 2: '1' is no")):
        path.write_bytes(text)
        with pytest.raises(InputError, match=message):
            read_columns(path)


def test_a_large_number_of_a_feature_costs_nothing(tmp_path: Path) -> None:
    """A word was made for every number up to the largest: 4.4 GB for 20 bytes."""
    path = tmp_path / "t.svm"
    path.write_bytes(b"1 3:1 50000000:1\n")
    tracemalloc.start()
    (column,) = read_columns(path, columns={"words"}).columns
    assert isinstance(column, TokenColumn)
    assert column.words == ("f3", "f50000000")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "line", ["1 a:1", "1 2:x", "1 qid:3 1:1", "1 -1:1", "1 7", "1 99999999999:1", "1 1:nan", "1 3:1:2"]
)
def test_what_is_no_feature_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "t.svm"
    path.write_text(f"1 1:1\n{line}\n")
    with pytest.raises(InputError, match=r"line 2: .* is no feature"):
        read_table(path)


def test_a_file_is_read_in_blocks_of_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the blocks, with comments, spaces of every kind, other line ends, and no end of the last line."""
    rng = np.random.default_rng(0)
    rows = [sorted(rng.choice(40, rng.integers(0, 6), replace=False).tolist()) for _ in range(60)]
    lines = [f"{i % 3} " + "\t ".join(f"{j}:{('1', '1.0', '1e0')[j % 3]}" for j in row) for i, row in enumerate(rows)]
    path = tmp_path / "t.svm"
    path.write_bytes("\ufeff# é\n".encode() + "\r\n\n".join(f"{line} # {i}:1" for i, line in enumerate(lines)).encode())
    for size in (7, 64, 1 << 20):
        monkeypatch.setattr(svmlight, "BLOCK_BYTES", size)
        label, words = read_columns(path).columns
        assert isinstance(label, NumberColumn)
        assert isinstance(words, TokenColumn)
        assert label.values.tolist() == [i % 3 for i in range(60)]
        known = [int(word[1:]) for word in words.words]
        assert [{known[i] for i in row} for row in rows_from(words.sets)] == [set(row) for row in rows]
    with path.open("ab") as stream:
        stream.write(b"\n1 2:1 x\n")
    with pytest.raises(InputError, match="line 121: 'x' is no feature"):
        read_table(path)


def test_a_table_to_learn_from(tmp_path: Path) -> None:
    path = tmp_path / "t.svm"
    path.write_bytes(TEXT)
    rows = read_labelled(path, ReadingOptions(target="label"))
    assert rows.classes == (1, -1)
    assert [feature.kind for feature in rows.table.features] == ["text"]


def test_a_sparse_matrix_is_a_column_of_words() -> None:
    matrix = coo_array(([1.0, -2.0, 0.0, 3.0], ([0, 0, 1, 2], [4, 1, 3, 0])), shape=(3, 5))
    table = infer(matrix)
    assert table.features[0].levels == ("f0", "f1", "f2", "f3", "f4")
    assert rows_from(table.arrays[0]) == [{1, 4}, set(), {0}]  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sparse matrix with NaN"):
        infer(csr_array([[np.nan]]))


def test_a_classifier_learns_from_a_sparse_matrix() -> None:
    X = csr_array(random_array((600, 40), density=0.1, rng=np.random.default_rng(0), format="csr"))
    y = np.asarray((X[:, [3]] + X[:, [7]]).todense()).ravel() > 0
    model = AdditiveRulesClassifier(2, stopping="none").fit(X, y)
    assert (model.predict(X) == y).mean() > 0.95
    assert "words contains" in str(model.rule_graph_)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :9])
