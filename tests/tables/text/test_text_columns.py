"""Text columns: what is taken for one, its vocabulary, and that blocks and models read it as the whole does."""

from pathlib import Path

import polars as pl
import pytest

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import data_hash
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.table import Budget, absent
from tests.tables.text.test_token_sets import rows_from

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


@pytest.mark.parametrize("types", [{}, {"body": "text"}])
def test_blocks_are_the_whole_file(tmp_path: Path, types: dict[str, str]) -> None:
    path = tmp_path / "rows.csv"
    labels = ["yes", "no", "no"] * 10
    pl.DataFrame({"body": SENTENCES, "x": list(range(30)), "y": labels}).write_csv(path)
    options = ReadingOptions(target="y", types=types)
    whole = read_labelled(path, options)
    blocks = read_labelled(path, options, Budget(700_000_000))
    assert blocks.table.features == whole.table.features
    assert data_hash(blocks) == data_hash(whole)


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
    assert data_hash(infer({"body": SENTENCES})) == data_hash(whole)
