"""Equal rows: they stay on one side where rows are held out, and are known again by their hashes."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from table_rows import part_of, pieces, split_labels

from rulekit.audit.drift.significance import homogeneity
from rulekit.errors import FormatError, InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.equal_rows import (
    MOST_HASHES,
    RowHashes,
    RowSums,
    data_hash,
    hashes_from_json,
    held_out,
    lacking,
    overlap,
    row_sums,
    rows_together,
    share_note,
)
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import ReadingOptions
from rulekit.tokens import tokens


def test_rows_with_texts_are_held_out() -> None:
    """A table with texts could not be split: numpy was asked to sort their sets of words."""
    stories = [f"corn and {('wheat', 'rye', 'oats')[i % 3]} {'price' * (i % 2)}" for i in range(60)]
    y = (np.arange(60) % 2).astype(np.int64)
    chosen = held_out(infer({"story": [*stories[:59], None]}, ReadingOptions(types={"story": "text"})), y, 0.3)
    assert 0 < chosen.sum() < 60
    assert all(len({bool(side) for side in chosen[i:59:6]}) == 1 for i in range(6))


def test_groups_stay_together() -> None:
    rng = np.random.default_rng(0)
    group = rng.integers(0, 50, 500)
    y = (rng.random(500) < 0.5).astype(np.int64)
    table = infer(rng.normal(size=(500, 2)))
    chosen = held_out(table, y, 0.3, group=group)
    assert set(group[chosen]) & set(group[~chosen]) == set()
    assert (chosen == held_out(table, y, 0.3, group=group)).all()
    assert (chosen != held_out(table, y, 0.3, group=group, seed=1)).any()


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9])
def test_a_class_in_one_set_of_rows_is_all_for_training(share: float) -> None:
    """A class of one row made every share fail; the advice was another share."""
    y = np.array([0] * 30 + [1] * 30 + [2] + [3, 3])
    values = np.array([*range(61), 61, 61], dtype=np.float64).reshape(-1, 1)
    chosen = held_out(infer(values), y, share)
    assert lacking(chosen, y) == [2, 3]
    assert set(y[~chosen]) == {0, 1, 2, 3}


def test_what_cannot_be_held_out_is_refused() -> None:
    with pytest.raises(InputError, match="no row can be held out without the last of a class"):
        held_out(infer(np.zeros((4, 1))), np.array([0, 0, 1, 1]), 0.3, group=np.array([0, 0, 1, 1]))


@settings(max_examples=60, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 60), min_size=40, max_size=120),
    largest=st.integers(0, 400),
    share=st.floats(0.1, 0.5),
    seed=st.integers(0, 99),
)
def test_the_share_is_the_one_asked_for_where_sets_of_equal_rows_allow_it(
    sizes: list[int], largest: int, share: float, seed: int
) -> None:
    """The set in which the wanted number of rows was reached went as a whole to the held-out side: 49 % for 20 %."""
    sizes = [*sizes, *[1] * 60, *([largest] if largest else [])]
    values = np.repeat(np.arange(len(sizes)), sizes)
    y = np.repeat(np.arange(len(sizes)) % 2, sizes)
    # Where one set has most of its class, no other ones make up for it.
    beside = (y == y[-1]).sum() - largest
    assume(beside >= share * (y == y[-1]).sum())
    table = infer({"a": np.where(values == 1, np.nan, values // 7), "b": values % 7})
    chosen = held_out(table, y, share, seed=seed)
    assert len(set(values[chosen]) & set(values[~chosen])) == 0
    # sixty rows stand alone, and the others have at most sixty: what is left open is less than one of them
    for k in (0, 1):
        assert abs(chosen[y == k].sum() - share * (y == k).sum()) <= 60.5
    assert -60 <= chosen.sum() - share * len(y) <= 0.5
    note = share_note(chosen, share)
    assert (note is None) == (abs(chosen.mean() - share) <= max(0.005, 2 / len(y)))


def test_many_small_classes_are_held_out_in_the_share_asked_for() -> None:
    """Each class was rounded by itself: of 200 classes of four rows a share of .3 held out a quarter."""
    y = np.repeat(np.arange(200), 4)
    chosen = held_out(infer({"a": np.arange(800.0)}), y, 0.3)
    assert chosen.sum() == 240
    assert set(np.bincount(y[chosen])) == {1, 2}


def test_a_share_that_cannot_be_is_said() -> None:
    y = np.tile([0, 1], 50)
    group = np.repeat(np.arange(4), 25)
    chosen = held_out(infer({"a": np.arange(100.0)}), y, 0.1, group=group)
    assert share_note(chosen, 0.1, grouped=True) == (
        "25.0% of the rows are held out in place of 10.0%, since rows of one group stay on one side, "
        "and every class needs one there"
    )


def test_kinds_of_many_rows_are_on_both_sides() -> None:
    """Held-out rows without the only kind that is positive would say nothing of the rule."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (2000, 3)).astype(np.float32)
    y = ((bits[:, 0] > 0) & (bits[:, 1] > 0)).astype(np.int64)
    table = infer({f"q{j}": bits[:, j] for j in range(3)})
    for seed in range(5):
        chosen = held_out(table, y, 0.3, seed=seed)
        assert chosen.mean() == pytest.approx(0.3, abs=0.02)
        for kind in np.unique(bits, axis=0):
            assert 0.05 < chosen[(bits == kind).all(axis=1)].mean() < 0.65


def test_shares_of_rows_that_go_one_way_differ_as_those_of_fewer_rows() -> None:
    """Held-out rows of 300 levels were said not to be like training, where equal rows had been kept together."""
    random = np.random.default_rng(5)
    city, age = random.integers(0, 300, 6000), random.normal(40, 12, 6000).round()
    table = infer(pl.DataFrame({"city": [f"c{k}" for k in city], "age": age}))
    y = (age > 45).astype(np.int64)
    together = rows_together(table, y)
    assert 1.2 < together < 1.8
    assert rows_together(table, y, np.arange(6000)) == 1.0
    chances = []
    for seed in range(20):
        mask = held_out(table, y, 0.3, seed=seed)
        now, then = (np.bincount(city[part], minlength=300) / together for part in (mask, ~mask))
        chances.append(homogeneity(now, then, in_order=False))
    assert np.mean(np.array(chances) < 0.01) <= 0.1


TEXT = st.lists(st.sampled_from(["the", "corn", "Rye,", "rye", "oats.", "été", "zz9"]), max_size=4).map(" ".join)


def rows_of(numbers: np.ndarray, names: str = "abc") -> LabelledTable:
    """Numbers with gaps, a category and a Boolean, labelled by the first column."""
    values = np.where(numbers % 7 == 0, np.nan, numbers / 3.0)
    data = {"a": values, "b": [f"level {n % 50}" for n in numbers], "c": numbers % 2 == 0}
    table = infer({name: data[name] for name in names}).select(tuple(names))
    return LabelledTable(table, (numbers % 3 == 0).astype(np.int64), ("no", "yes"))


@settings(max_examples=30, deadline=None)
@given(
    training=st.lists(st.integers(0, 999), min_size=1, max_size=400),
    others=st.lists(st.integers(1000, 1999), max_size=100),
    seed=st.integers(0, 99),
)
def test_rows_that_trained_the_model_are_counted(training: list[int], others: list[int], seed: int) -> None:
    """In another order of rows and columns, among other rows, and after a way through JSON."""
    known = row_sums(rows_of(np.array(training))).sample
    assert known.share == 1.0
    rng = np.random.default_rng(seed)
    again = rng.permutation(np.array([*training[: len(training) // 2 + 1], *others]))
    everything = rows_of(np.array([*training, *again]), "cab")  # one table, so that all levels are known
    found = overlap(hashes_from_json(known.as_json()), everything.take(np.arange(len(training), len(everything))))
    trained = everything.take(np.arange(len(training)))
    assert (row_sums(trained).sample.hashes == known.hashes).all()
    # a row whose number is missing has the hash of each such row of the same category and truth value
    alike = {(n % 50, n % 2, n % 3 == 0) if n % 7 == 0 else n for n in training}
    expected = sum(((n % 50, n % 2, n % 3 == 0) if n % 7 == 0 else n) in alike for n in again.tolist())
    assert (found.rows, found.n_rows, found.share) == (expected, len(again), 1.0)


def test_a_sample_of_many_rows_is_bounded_and_tells_the_share() -> None:
    numbers = np.arange(300_000)
    known = row_sums(rows_of(numbers, "a")).sample
    assert MOST_HASHES // 2 < len(known.hashes) <= MOST_HASHES
    assert len(str(known.as_json())) < 25_000
    for first, share, words in ((0, 1.0, "all of"), (75_000, 0.75, "about"), (400_000, 0.0, "none of")):
        found = overlap(known, rows_of(numbers + first, "a"))
        assert found.rows == pytest.approx(share * 300_000, abs=15_000 * (0 < share < 1))
        assert str(found).startswith(words)
    few = overlap(known, rows_of(numbers[:2], "a"))
    assert few.rows is not None or str(few).startswith("whether")


@settings(max_examples=25, deadline=None)
@given(texts=st.lists(TEXT, min_size=3, max_size=30), kept=st.integers(0, 3), seed=st.integers(0, 9))
def test_a_text_is_known_by_all_its_words(texts: list[str], kept: int, seed: int) -> None:
    """By a model that has some words only, in other blocks, in another order and spelling; as sets of words too."""
    table = infer({"story": texts}, ReadingOptions(types={"story": "text"}))
    training = LabelledTable(table, np.zeros(len(texts), np.int64), ("no", "yes"))
    known = row_sums(training).sample
    assert np.isin(row_sums(training.take(np.arange(2))).sample.hashes, known.hashes).all()
    sets = {" ".join(sorted(set(tokens(text)))) if text else None for text in texts}
    assert len(known.hashes) == len(sets)

    schema = Schema((Feature("story", "text", table.features[0].levels[:kept]),), "y")
    order = np.random.default_rng(seed).permutation(len(texts))
    others = [" ".join(reversed(texts[i].upper().split(" "))) for i in order] + ["words of no other text"]
    data = {"story": others, "y": ["no"] * len(others)}
    found = overlap(known, label_for_model(data, schema, ("no", "yes"), all_words=True))
    assert (found.rows, found.found) == (len(texts), len(known.hashes))


def test_hashing_is_fast() -> None:
    rng = np.random.default_rng(0)
    table = infer(rng.normal(size=(50_000, 20)))
    rows = LabelledTable(table, rng.integers(0, 2, 50_000), (0, 1))
    began = time.process_time()
    row_sums(rows)
    assert time.process_time() - began < 0.25  # 0.03 s on a quiet machine


@pytest.mark.parametrize("value", [{}, {"bits": 65, "hashes": ""}, {"bits": 64, "hashes": "abc"}, {"bits": "1"}])
def test_what_is_no_sample_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="no hashes"):
        hashes_from_json(value)
    assert isinstance(hashes_from_json({"bits": 64, "hashes": ""}), RowHashes)


# Of all rows ---------------------------------------------------------------------------------------------------------

ROWS = {"x": [1.5, None, 3, -0.0, 2], "c": ["u", "v", None, "u", "u"], "y": ["a", "b", "a", "c", "a"]}


def test_a_hash_of_data_depends_on_content_only(tmp_path: Path) -> None:
    rows = split_labels(ROWS, ReadingOptions("y"))
    first = data_hash(rows)
    assert first.startswith("117f3fbabd6f")  # in any place
    pl.DataFrame(ROWS).write_csv(tmp_path / "t.csv")
    assert first == data_hash(read_labelled(tmp_path / "t.csv", ReadingOptions("y")))
    assert first == data_hash(rows.take(np.array([3, 1, 0, 4, 2])))
    assert first != data_hash(rows.take(np.array([0, 1, 2, 3, 3])))
    beside = {"weight": np.array([1.0, 2, 3, 4, 5]), "group": np.arange(5), "time": np.arange(5.0)}
    others = [
        replace(rows, **{name: values[order]})
        for name, values in beside.items()
        for order in ([0, 1, 2, 3, 4], [1, 0, 2, 3, 4])
    ]
    others += [replace(rows, target="z"), replace(rows, cost=(1.0, 2.0)), replace(rows, classes=("a", "b", "d"))]
    changes = ({"x": [1.5, None, 4, 0, 2]}, {"c": ["u", "w", None, "u", "u"]}, {"y": ["a", "b", "b", "c", "a"]})
    others += [split_labels(ROWS | changed, ReadingOptions("y")) for changed in changes]
    assert len({first, *map(data_hash, others)}) == 1 + len(others)


@pytest.mark.parametrize("count", [1, 2, 3, 7])
@pytest.mark.parametrize("beside", [(), ("weight",), ("weight", "group", "time")])
def test_parts_add_up_to_the_hashes_of_all_rows(count: int, beside: tuple[str, ...]) -> None:
    rng, n = np.random.default_rng(count), 40_000
    rows = rows_of(rng.integers(0, 10_000, n))
    given = {"weight": rng.random(n), "group": rng.integers(0, 99, n), "time": rng.normal(size=n)}
    rows = replace(rows, **{name: given[name] for name in beside})
    whole = row_sums(rows)
    found = sum((row_sums(part_of(rows, own)) for own in pieces(n, count, rng)), RowSums())
    assert (found.rows, found.sums, found.sample.as_json()) == (n, whole.sums, whole.sample.as_json())
    assert data_hash(part_of(rows, slice(0, 0)), found) == data_hash(rows)
