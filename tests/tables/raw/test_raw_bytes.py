"""The check of quotes that decides whether a fast parse can be trusted."""

from __future__ import annotations

import csv
import io

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from rulekit.errors import InputError
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.delimited import has_plain_quotes
from rulekit.tables.reading import read_columns


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a,b\n1,2\n", True),
        ('"a","b"\n"1","2"', True),
        ('a\n"x""y"\n""\n"""x"""\n', True),
        ('a\n"two\nlines"\n', True),
        ('a\n5" pipe\n6" pipe\n', False),
        ('a,b\n5",x\n6",y\n', False),
        ('a,b\n"x"y,1\n', False),
        ('a,b\n"open,1\n', False),
        ('a,b\nx"",1\n', False),
    ],
)
def test_quotes_are_plain_wherever_the_parts_are_cut(text: str, plain: bool) -> None:
    data = text.encode()
    assert has_plain_quotes([data], ",") == plain
    for cut in range(1, len(data)):
        assert has_plain_quotes([data[:cut], data[cut:]], ",") == plain


CELLS = st.sampled_from(
    ["1", "2.5", "x", "a b", '"q,r"', '"n\nl"', '"d""q"', '" sp "', '5" pipe', 'q"u"o', "", '""', "NA", "é", " 3"]
)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(CELLS, min_size=2, max_size=3), min_size=1, max_size=6), st.sampled_from(["\n", "\r\n"]))
def test_cells_are_those_of_the_csv_module(rows: list[list[str]], end: str) -> None:
    """Polars alone loses rows with quotes inside cells; ragged rows are refused, never padded."""
    import pathlib
    import tempfile

    width = len(rows[0])
    text = end.join([",".join(f"c{j}" for j in range(width)), *(",".join(row) for row in rows), ""])
    records = list(csv.reader(io.StringIO(text, newline="")))[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "t.csv"
        path.write_bytes(text.encode())
        if any(len(record) != width for record in records):
            with pytest.raises(InputError, match=r"data row|names for"):
                read_columns(path, ReadingOptions(delimiter=","))
            return
        names = [f"c{j}" for j in range(width)]
        raw = read_columns(path, ReadingOptions(delimiter=","), keep_text=names)
    actual = [column.cells.to_list() for column in raw.columns]
    expected = [[record[j] or None for record in records] for j in range(width)]
    assert actual == expected
