"""Learning from columns on disk: the same model file as in memory, from blocks, from files, from rows and a budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cnll_cases import TREE
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit import CNLLClassifier, RulesClassifier
from rulekit.errors import Cancelled, InputError
from rulekit.learners.base import RuleClassifier
from rulekit.learners.data import binning, folds, quantiles
from rulekit.learners.data.binning import DiskCodes, MemoryCodes, bin_column
from rulekit.learners.data.folds import InOrder, fold_by_hash, fold_of_hashes, fold_of_rows, row_hashes, without_gaps
from rulekit.learners.data.problem import Problem
from rulekit.schema import Feature
from rulekit.tables import table as columns_on_disk
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Budget, Store, StoredColumn

DEFAULT: dict[str, Any] = {**TREE, "backfit": 3, "max_bins": 16, "min_rows": 5}
N = 900


@pytest.fixture(scope="module")
def rows() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    frame = pl.DataFrame(
        {
            "a": rng.normal(size=N).astype(np.float32),
            "b": np.where(rng.random(N) < 0.1, np.nan, rng.integers(0, 9, N)),
            "c": rng.choice(["x", "y", "z"], N),
            "d": rng.random(N) < 0.3,
            "e": np.round(rng.normal(size=N), 2),
        }
    )
    truth = ((frame["a"] > 0) & (frame["c"] != "z")).to_numpy() ^ (rng.random(N) < 0.1)
    return {
        "X": frame,
        "y": np.where(truth, "yes", "no"),
        "weight": rng.choice([0.0, 0.5, 1.0, 3.3], N),
        "groups": rng.integers(0, 90, N),
    }


def blocks(rows: Mapping[str, Any], *names: str, size: int = 170) -> Iterator[tuple[Any, ...]]:
    for start in range(0, N, size):
        part = slice(start, start + size)
        yield rows["X"][part], rows["y"][part], *(rows[name][part] for name in names)


def model_file(model: RuleClassifier, folder: Path, name: str) -> bytes:
    model.rule_graph_.save(folder / name)
    return (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("learner", "options"),
    [
        (RulesClassifier, {"stopping": "none"}),
        (RulesClassifier, {"n_folds": 2}),
        (CNLLClassifier, {"n_folds": 2}),
        (CNLLClassifier, DEFAULT | {"stopping": "none"}),
    ],
)
@pytest.mark.parametrize("given", [(), pytest.param(("weight",), marks=pytest.mark.long), ("weight", "groups")])
def test_blocks_give_the_model_file_of_all_rows(
    rows: dict[str, Any], tmp_path: Path, learner: type[RuleClassifier], options: dict[str, Any], given: tuple[str, ...]
) -> None:
    weight, groups = (rows[name] if name in given else None for name in ("weight", "groups"))
    memory = learner(5, **options).fit(rows["X"], rows["y"], weight, groups)
    disk = learner(5, memory="1GB", **options).fit(blocks(rows, *given))
    assert model_file(disk, tmp_path, "disk") == model_file(memory, tmp_path, "memory")
    assert disk.history_ == memory.history_
    assert disk.feature_names_in_.tolist() == memory.feature_names_in_.tolist()


def test_rows_in_memory_with_a_budget_and_other_forms_of_blocks(rows: dict[str, Any], tmp_path: Path) -> None:
    options = DEFAULT | {"stopping": "none", "class_weight": "balanced"}
    memory = CNLLClassifier(4, **options).fit(rows["X"], rows["y"])
    expected = model_file(memory, tmp_path, "memory")
    budget = CNLLClassifier(4, memory=10**9, **options).fit(rows["X"], rows["y"])
    assert model_file(budget, tmp_path, "budget") == expected
    for convert in (lambda frame: frame.to_dict(as_series=False), lambda frame: frame.to_pandas()):
        made = ((convert(X), y.tolist()) for X, y in blocks(rows))
        assert model_file(CNLLClassifier(4, **options).fit(made), tmp_path, "made") == expected
    listed = CNLLClassifier(4, **options).fit(list(blocks(rows)))
    assert model_file(listed, tmp_path, "listed") == expected


def test_arrays_in_blocks_and_several_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 3))
    y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)
    for ordered in (None, (0, 1, 2)):
        options = DEFAULT | {"stopping": "none", "ordered": ordered}
        memory = CNLLClassifier(3, **options).fit(X, y)
        disk = CNLLClassifier(3, **options).fit((X[i : i + 100], y[i : i + 100]) for i in range(0, 600, 100))
        assert model_file(disk, tmp_path, "disk") == model_file(memory, tmp_path, "memory")


def test_tables_in_blocks_keep_their_features(rows: dict[str, Any], tmp_path: Path) -> None:
    table = infer(rows["X"])
    memory = CNLLClassifier(3, stopping="none").fit(table, rows["y"])
    masks = [np.arange(N) % 3 == 0, np.arange(N) % 3 > 0]
    order = np.concatenate([np.flatnonzero(mask) for mask in masks])
    disk = CNLLClassifier(3, stopping="none").fit((table.take(mask), rows["y"][mask]) for mask in masks)
    assert disk.rule_graph_.schema == memory.rule_graph_.schema
    again = CNLLClassifier(3, stopping="none").fit(table.take(order), rows["y"][order])
    assert model_file(disk, tmp_path, "disk") == model_file(again, tmp_path, "memory")


def test_a_file_on_disk_is_learned_as_in_memory(rows: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    rows["X"].with_columns(pl.Series("y", rows["y"]), pl.Series("g", rows["groups"])).write_csv(path)
    whole = read_labelled(path, ReadingOptions("y", group="g", cost="1:2"))
    parts = read_labelled(path, ReadingOptions("y", group="g", cost="1:2"), Budget(10**9, bytes_per_block=3000))
    options = DEFAULT | {"n_folds": 3, "target": "y"}
    memory = CNLLClassifier(4, **options).fit(whole)
    assert model_file(CNLLClassifier(4, **options).fit(parts), tmp_path, "disk") == model_file(
        memory, tmp_path, "memory"
    )


def test_numbers_that_turn_out_to_be_text_are_the_text_of_all_rows(tmp_path: Path) -> None:
    cells: list[Any] = [None] * 5 + [1, 2.5, 3.0] * 8 + ["odd"] * 6
    y = ([0, 1] * len(cells))[: len(cells)]
    memory = CNLLClassifier(2, stopping="none").fit({"a": cells, "b": y}, y)
    made = (({"a": cells[i : i + 5], "b": y[i : i + 5]}, y[i : i + 5]) for i in range(0, len(cells), 5))
    disk = CNLLClassifier(2, stopping="none").fit(made)
    assert model_file(disk, tmp_path, "disk") == model_file(memory, tmp_path, "memory")


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([(np.zeros((2, 1)), [0, 1]), 5], "block 2 is int"),
        ([(np.zeros((2, 1)), [0, 0])], "only one class"),
        ([({"a": [1, 2]}, [0, 1]), ({"b": [1, 2]}, [0, 1])], "the blocks differ in column 'a'"),
        ([({"a": [1, 2]}, [0, 1]), ({"a": [1, 2]}, ["x", "y"])], "mix text with numbers"),
        ([({"a": [1, 2]}, [0, 1], [1.0, -1.0])], "a weight is negative"),
        ([({"a": [1, 2]}, [0, None])], "NaN"),
        ([], "no block has a row"),
    ],
)
def test_blocks_that_do_not_fit(made: list[Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        CNLLClassifier(2).fit(iter(made))


def test_a_budget_below_the_process_is_refused(rows: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"need .* MB of memory, 50 MB are allowed"):
        CNLLClassifier(2, memory="50MB").fit(blocks(rows))


def test_reading_and_binning_are_reported_and_can_be_cancelled(rows: dict[str, Any]) -> None:
    events: list[Mapping[str, Any]] = []
    CNLLClassifier(2, stopping="none", callback=events.append).fit(blocks(rows))
    stages = [event.get("stage", "learning") for event in events]
    assert stages == ["reading"] * 6 + ["binning"] * 5 + ["learning"] * stages.count("learning")
    assert [event["done"] for event in events if event.get("stage") == "reading"][-1] == N
    with pytest.raises(Cancelled):
        CNLLClassifier(2, callback=lambda event: "stage" in event).fit(blocks(rows))


def stored(values: np.typing.NDArray[Any]) -> StoredColumn:
    writer = Store().writer(values.dtype)
    writer.add(values)
    return writer


@settings(max_examples=40, deadline=None)
@given(data=st.data(), part=st.sampled_from([3, 50, 1000]))
def test_columns_on_disk_are_binned_as_in_memory(data: st.DataObject, part: int) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    n = data.draw(st.integers(1, 300))
    made = [rng.normal(size=n), rng.integers(0, 5, n).astype(float), np.round(rng.normal(size=n), 1)]
    values = made[data.draw(st.integers(0, 2))].astype(data.draw(st.sampled_from([np.float32, np.float64])))
    values[rng.random(n) < data.draw(st.sampled_from([0.0, 0.2, 1.0]))] = np.nan
    values[rng.random(n) < 0.1] = np.inf
    each = data.draw(st.booleans())
    weights = np.broadcast_to(np.array([1 << 20]), n) if each else rng.integers(1, 1000, n)
    most = data.draw(st.integers(2, 40) | st.none())
    feature = Feature("x", precision=str(values.dtype))  # type: ignore[arg-type]
    with pytest.MonkeyPatch.context() as patch:
        expected, codes = bin_column(feature, 0, values, weights, most)
        patch.setattr(columns_on_disk, "PART", part)
        patch.setattr(binning, "PART", part)
        patch.setattr(quantiles, "_TOGETHER", data.draw(st.sampled_from([5, 1 << 18])))
        found, on_disk = binning.bin_stored_column(feature, 0, stored(values), weights, most)
    np.testing.assert_array_equal(on_disk.read(), codes)
    np.testing.assert_array_equal(found.low, expected.low)
    np.testing.assert_array_equal(found.high, expected.high)
    assert (found.n_codes, on_disk.dtype) == (expected.n_codes, codes.dtype)


def test_folds_on_disk_are_those_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "ROWS_TOGETHER", 40)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 300)) if seed < 4 else 3000  # of some kinds there are hundreds of rows
        codes = tuple(rng.integers(0, rng.integers(1, 9), n).astype(np.uint8) for _ in range(2))
        labels = rng.integers(0, 2, n)
        weights = np.broadcast_to(np.array([1 << 20]), n) if seed % 2 else rng.integers(1, 5, n)
        memory = Problem((), MemoryCodes(codes), labels, weights, 1.0)
        disk = Problem((), DiskCodes(tuple(map(stored, codes)), n), labels, weights, 1.0)
        np.testing.assert_array_equal(fold_of_rows(disk, 5, None, seed), fold_of_rows(memory, 5, None, seed))


@pytest.mark.parametrize("grouped", [False, True])
def test_folds_by_hash_are_those_in_memory_on_disk_and_of_parts(grouped: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "ROWS_TOGETHER", 40)
    n, seed = 3000, 5
    rng = np.random.default_rng(1)
    codes = tuple(rng.integers(0, 30, n).astype(np.uint8) for _ in range(2))
    labels, weights = rng.integers(0, 2, n), rng.integers(1, 5, n)
    groups = rng.integers(0, 400, n) if grouped else None
    memory = Problem((), MemoryCodes(codes), labels, weights, 1.0)
    disk = Problem((), DiskCodes(tuple(map(stored, codes)), n), labels, weights, 1.0)
    parts = np.split(rng.permutation(n), [0, 1, 900])
    told = [None if groups is None else groups[rows] for rows in parts]

    hashes = np.empty(n, dtype=np.uint64)
    for rows in parts:
        hashes[rows] = row_hashes(memory.take(rows), seed)
    before = fold_of_rows(memory, 5, groups, seed)
    np.testing.assert_array_equal(fold_of_hashes(memory, hashes, 5, groups), before)
    monkeypatch.setattr(folds, "BY_HASH", n + 1)
    np.testing.assert_array_equal(fold_of_rows(memory, 5, groups, seed), before)

    monkeypatch.setattr(folds, "BY_HASH", n)
    fold = fold_of_rows(memory, 5, groups, seed)
    assert (fold != before).any()
    np.testing.assert_array_equal(fold_of_rows(disk, 5, groups, seed), fold)
    found = [fold_by_hash(memory.take(rows), 5, own, seed, n) for rows, own in zip(parts, told, strict=True)]
    counts = np.sum([np.bincount(own, minlength=5) for own in found], axis=0)
    for rows, own in zip(parts, found, strict=True):
        np.testing.assert_array_equal(without_gaps(own, counts), fold[rows])
    together = codes[0].astype(int) * 30 + codes[1] if groups is None else groups
    assert all(len(np.unique(fold[together == kind])) == 1 for kind in np.unique(together))
    assert np.bincount(fold).min() > n / 5 * 0.8
    time = InOrder.of(np.arange(n, dtype=float), n)
    alike = replace(memory, weights=np.ones(n, dtype=np.int64))
    np.testing.assert_array_equal(fold_of_rows(alike, 5, time, seed), np.repeat(np.arange(5), n // 5))


def test_folds_by_hash_of_few_kinds_are_numbered_without_gaps_and_inner_ones_are_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(folds, "BY_HASH", 1)
    for kinds in (1, 2, 3, 2000):
        codes = np.arange(4000) % kinds
        problem = Problem((), MemoryCodes((codes,)), codes % 2, np.ones(4000, dtype=np.int64), 1.0)
        fold = fold_of_rows(problem, 5, None, 3)
        assert np.array_equal(np.unique(fold), np.arange(fold.max() + 1))
    inner = fold_of_rows(problem.take(fold != 0), 5, None, 3)
    assert len(np.unique(inner)) == 5
    assert np.bincount(inner).min() > 400


def test_codes_of_some_rows_and_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "PART", 7)
    monkeypatch.setattr(binning, "ROWS_TOGETHER", 5)
    rng = np.random.default_rng(0)
    arrays = tuple(rng.integers(0, 9, 50).astype(np.uint8) for _ in range(3))
    disk = DiskCodes(tuple(map(stored, arrays)), 50)
    mask, numbers = rng.random(50) < 0.6, np.array([0, 3, 4, 20])
    taken, few = disk.take(mask), disk.take(mask).take(numbers)
    for j, codes in enumerate(arrays):
        np.testing.assert_array_equal(taken[j], codes[mask])
        np.testing.assert_array_equal(few[j], codes[mask][numbers])
        parts = [part[j] for _, part in taken.parts(int(mask.sum()))]
        np.testing.assert_array_equal(np.concatenate(parts), codes[mask])
