"""The rows of a split are the same for every learner and every run, and each is used as the protocol says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.learning.peers.columns import encode, read_split, write_split
from benchmarks.learning.peers.data import FOLD_TABLES, load, logical
from benchmarks.learning.peers.runner import arrays
from benchmarks.learning.peers.splits import held_out, stratified_folds, two_files
from rulekit.errors import InputError

DATA = Path(__file__).parents[3] / "shared" / "data"
LABELS = (np.random.RandomState(3).rand(503) < 0.3).astype(np.int8)


def test_folds_test_every_row_once_are_stratified_to_a_row_and_differ_by_seed() -> None:
    folds = stratified_folds(LABELS, 5, seed=0)

    assert sorted(np.concatenate([split.test for split in folds]).tolist()) == list(range(503))
    for split in folds:
        assert sorted([*split.train.tolist(), *split.test.tolist()]) == list(range(503))
    for counted in (LABELS == 0, LABELS == 1, LABELS >= 0):
        counts = [int(counted[split.test].sum()) for split in folds]
        assert max(counts) - min(counts) <= 1
    assert stratified_folds(LABELS, 5, seed=0)[0].test.tolist() == folds[0].test.tolist()
    assert stratified_folds(LABELS, 5, seed=1)[0].test.tolist() != folds[0].test.tolist()


def test_a_third_held_out_is_drawn_by_one_generator_class_0_first() -> None:
    """The splits of the earlier study: with another order of the classes its figures cannot be compared."""
    split = held_out(LABELS, seed=4)

    random = np.random.RandomState(4)
    expected: set[int] = set()
    for label in (0, 1):
        rows = np.flatnonzero(label == LABELS)
        expected |= set(rows[random.permutation(len(rows))][: round(0.3 * len(rows))].tolist())
    assert set(split.test.tolist()) == expected
    assert len(split.train) + len(split.test) == len(LABELS)
    official = two_files(3, 2)  # keeps the two files
    assert (official.train.tolist(), official.test.tolist()) == ([0, 1, 2], [3, 4])


def test_medians_and_levels_come_from_training_rows_only() -> None:
    train = {"x": np.array([1.0, np.nan, 3.0, 8.0]), "c": np.array(["a", "b", "", "a"]), "k": np.array([2, 2, 2, 2])}
    test = {"x": np.array([np.nan, 100.0]), "c": np.array(["new", "b"]), "k": np.array([2, 5])}

    fitted, applied = encode(train, test)

    # The median of 1, 3, 8; levels in order: missing, a, b; the constant column is left out.
    assert fitted.tolist() == [[1, 0, 1, 0], [3, 0, 0, 1], [3, 1, 0, 0], [8, 0, 1, 0]]
    assert applied.tolist() == [[3, 0, 0, 0], [100, 0, 0, 1]]


def test_a_saved_split_holds_the_same_rows_typed_and_encoded(tmp_path: Path) -> None:
    frame = pl.DataFrame({"n": [1, 2, 3, 4], "c": ["x", None, "y", "x"], "f": [0.5, None, 2.5, 1.0]})
    labels = np.array([0, 1, 1, 0], dtype=np.int8)
    path = tmp_path / "split.npz"

    write_split(path, arrays(frame), labels, np.array([0, 2]), np.array([3, 1]))
    train, test = read_split(path)

    assert train.labels.tolist() == [0, 1]
    assert test.labels.tolist() == [0, 1]
    assert test.typed["n"].tolist() == [4, 2]
    assert test.typed["c"].tolist() == ["x", ""]
    assert np.isnan(test.typed["f"][1])
    assert train.nominal == [False, True, False]
    assert train.matrix.shape[1] == test.matrix.shape[1]


def test_the_logical_set_has_two_clauses_and_noise() -> None:
    table = logical()
    bits = table.frame.to_numpy()
    truth = (bits[:, 0] & bits[:, 1]) | (bits[:, 2] & bits[:, 3])
    assert bits.shape == (20000, 50)
    assert 0.04 < (truth != table.labels).mean() < 0.06


def test_an_unknown_table_or_folder_is_named() -> None:
    with pytest.raises(InputError, match="no table 'iris'"):
        load("iris", DATA)
    with pytest.raises(InputError, match="titanic"):
        load("titanic", Path("nowhere"))


@pytest.mark.slow
@pytest.mark.skipif(not DATA.exists(), reason="the shared benchmark data are not here")
def test_every_shared_table_has_both_classes_and_no_bookkeeping_columns() -> None:
    for name in FOLD_TABLES:
        table = load(name, DATA)
        assert 0.05 < table.labels.mean() < 0.95, name
        assert not {"target", "id", "split"} & set(table.frame.columns), name
