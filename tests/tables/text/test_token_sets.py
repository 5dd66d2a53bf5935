"""Sets of tokens hold what sets of Python hold; text columns: what is taken for one, its vocabulary, blocks, models."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import absent
from rulekit.tables.token_sets import TokenSets, joined, sets_of_texts, token_sets

SIZE = 6
ROWS = st.lists(st.one_of(st.none(), st.sets(st.integers(0, SIZE - 1))), max_size=12)


def sets_from(rows: list[set[int] | None]) -> TokenSets:
    pairs = [(i, token) for i, row in enumerate(rows) for token in row or ()]
    numbers = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    missing = np.array([row is None for row in rows], dtype=bool)
    return token_sets(numbers[:, 0], numbers[:, 1], missing, SIZE)


def rows_from(sets: TokenSets) -> list[set[int] | None]:
    bounds = zip(sets.starts, sets.starts[1:], sets.missing, strict=False)
    return [None if gap else set(sets.ids[a:b].tolist()) for a, b, gap in bounds]


@given(ROWS, st.data())
def test_rows_are_taken_as_from_a_list(rows: list[set[int] | None], data: st.DataObject) -> None:
    sets = sets_from(rows)
    assert rows_from(sets) == rows
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=9)) if rows else []
    assert rows_from(sets[np.array(some, dtype=np.int64)]) == [rows[i] for i in some]
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows))), dtype=bool)
    assert rows_from(sets[mask]) == [row for row, taken in zip(rows, mask, strict=True) if taken]
    start, stop = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12))
    assert rows_from(sets[start:stop]) == rows[start:stop]
    assert rows_from(joined([sets[:start], sets[start:]])) == rows


@given(ROWS, st.sets(st.integers(0, SIZE - 1)))
def test_what_is_counted_and_found(rows: list[set[int] | None], wanted: set[int]) -> None:
    sets = sets_from(rows)
    assert sets.contains(sorted(wanted)).tolist() == [bool(row and row & wanted) for row in rows]
    assert sets.rows_with().tolist() == [sum(token in (row or ()) for row in rows) for token in range(SIZE)]
    starts, by_token = sets.by_token()
    for token in range(SIZE):
        expected = [i for i, row in enumerate(rows) if row and token in row]
        assert by_token[starts[token] : starts[token + 1]].tolist() == expected


@given(ROWS, st.lists(st.integers(-1, 3), min_size=SIZE, max_size=SIZE))
def test_another_vocabulary(rows: list[set[int] | None], lookup: list[int]) -> None:
    found = sets_from(rows).renumbered(np.array(lookup), 4)
    expected = [None if row is None else {lookup[token] for token in row} - {-1} for row in rows]
    assert rows_from(found) == expected


def test_texts_over_a_vocabulary() -> None:
    texts = pl.Series(["Wheat and WHEAT, tonnes", None, "", "wheaty x tonnes."])
    assert rows_from(sets_of_texts(texts, {"tonnes": 0, "wheat": 1})) == [{0, 1}, None, set(), {0}]


SENTENCES = [f"the price of wheat {word} in month {word}{i} rose {i}" for i, word in enumerate("abcdefghij" * 3)]


def test_sentences_are_text_and_names_are_not() -> None:
    names = [f"Name {i}, of Place" for i in range(30)]
    table = infer({"body": SENTENCES, "name": names, "few": (["yes no maybe so or not at all"] * 30)})
    assert [feature.kind for feature in table.features] == ["text", "categorical", "categorical"]
    assert "column 'body' is read as text" in table.notes[0]
    kept = infer({"body": SENTENCES}, ReadingOptions(types={"body": "categorical"}))
    assert kept.features[0].kind == "categorical"


def test_the_vocabulary_has_no_function_words_and_no_word_of_one_row() -> None:
    table = infer(
        {"x": ["The wheat, and corn", "corn of The wheat!", "rye", None]}, ReadingOptions(types={"x": "text"})
    )
    assert table.features[0].levels == ("corn", "wheat")
    assert rows_from(table.arrays[0]) == [{0, 1}, {0, 1}, set(), None]  # type: ignore[arg-type]
    assert absent(table.arrays[0]).tolist() == [False, False, False, True]


def test_numbers_and_truth_values_are_texts_where_a_text_is_read() -> None:
    schema = Schema((Feature("x", "text", ("1987", "true")),))
    table = encode({"x": [1987.0, 12.5, None]}, schema)
    assert rows_from(table.arrays[0]) == [{0}, set(), None]  # type: ignore[arg-type]
    assert rows_from(encode({"x": [True, False]}, schema).arrays[0]) == [{1}, set()]  # type: ignore[arg-type]


def test_a_table_is_read_under_another_vocabulary() -> None:
    table = infer({"x": ["wheat corn", "corn wheat", "rye corn wheat", "rye"]}, ReadingOptions(types={"x": "text"}))
    fewer = Schema((Feature("x", "text", ("barley", "rye")),))
    assert rows_from(encode(table, fewer).arrays[0]) == [set(), set(), {1}, {1}]  # type: ignore[arg-type]
    assert raw_table(table).columns[0].name == "x"


def test_words_are_no_category() -> None:
    table = infer({"x": ["wheat corn", "corn wheat"]}, ReadingOptions(types={"x": "text"}))
    with pytest.raises(InputError, match="a column of words has no levels"):
        encode(table, Schema((Feature("x", "categorical", ("a",)),)))


def test_a_text_is_the_same_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words were looked at together: 60 cells of a megabyte took 1.2 GB."""
    whole = infer({"body": SENTENCES})
    monkeypatch.setattr("rulekit.tables.kinds.builders._PIECE", 100)
    monkeypatch.setattr("rulekit.tables.token_sets._PIECE", 10)
    monkeypatch.setattr("rulekit.tables.token_sets._PIECE", 7)
    again = infer({"body": SENTENCES})
    assert again.features == whole.features
    assert [rows_from(column) for column in again.arrays] == [rows_from(column) for column in whole.arrays]
