"""Hashes of rows: a table that holds rows of another is told so, whatever the order, exactly or by a sample."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.errors import FormatError
from rulekit.schema import Feature, Schema
from rulekit.tables.equal_rows import MOST_HASHES, RowHashes, hashes_from_json, overlap, row_hashes
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import ReadingOptions
from rulekit.tokens import tokens

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
    known = row_hashes(rows_of(np.array(training)))
    assert known.share == 1.0
    rng = np.random.default_rng(seed)
    again = rng.permutation(np.array([*training[: len(training) // 2 + 1], *others]))
    everything = rows_of(np.array([*training, *again]), "cab")  # one table, so that all levels are known
    found = overlap(hashes_from_json(known.as_json()), everything.take(np.arange(len(training), len(everything))))
    trained = everything.take(np.arange(len(training)))
    assert (row_hashes(trained).hashes == known.hashes).all()
    # a row whose number is missing has the hash of each such row of the same category and truth value
    alike = {(n % 50, n % 2, n % 3 == 0) if n % 7 == 0 else n for n in training}
    expected = sum(((n % 50, n % 2, n % 3 == 0) if n % 7 == 0 else n) in alike for n in again.tolist())
    assert (found.rows, found.n_rows, found.share) == (expected, len(again), 1.0)


def test_a_sample_of_many_rows_is_bounded_and_tells_the_share() -> None:
    numbers = np.arange(300_000)
    known = row_hashes(rows_of(numbers, "a"))
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
    known = row_hashes(training)
    assert np.isin(row_hashes(training.take(np.arange(2))).hashes, known.hashes).all()
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
    row_hashes(rows)
    assert time.process_time() - began < 0.25  # 0.03 s on a quiet machine


@pytest.mark.parametrize("value", [{}, {"bits": 65, "hashes": ""}, {"bits": 64, "hashes": "abc"}, {"bits": "1"}])
def test_what_is_no_sample_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="no hashes"):
        hashes_from_json(value)
    assert isinstance(hashes_from_json({"bits": 64, "hashes": ""}), RowHashes)
