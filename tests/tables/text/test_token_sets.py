"""Sets of tokens: compressed rows hold what sets of Python hold."""

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

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
