"""Reading table files: what is detected, what comes out, what is refused and how."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from table_rows import cells_of

from rulekit.errors import InputError
from rulekit.schema import Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.delimited import has_plain_quotes
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import read_columns, read_table
from rulekit.tables.table import Table


@pytest.fixture
def write(tmp_path: Path):
    def to_file(content: bytes | str, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return to_file


def kinds(table: Table) -> dict[str, str]:
    return {feature.name: feature.kind for feature in table.features}


PLAIN = "age,job,ok\n39.5,clerk,true\n,nurse,FALSE\n20,clerk,\n"


def check_plain(table: Table) -> None:
    assert kinds(table) == {"age": "numeric", "job": "categorical", "ok": "boolean"}
    assert table.features[1].levels == ("clerk", "nurse")
    assert cells_of(table) == {"age": [39.5, None, 20], "job": ["clerk", "nurse", "clerk"], "ok": [1, 0, None]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.csv", PLAIN.encode()),
        ("t.csv", b"\xef\xbb\xbf" + PLAIN.encode()),
        ("t.csv", PLAIN.encode("utf-16")),
        ("t.csv", PLAIN.encode("utf-16-le")),
        ("t.csv", PLAIN.replace("\n", "\r\n").encode()),
        ("t.csv", PLAIN.replace("\n", "\r").encode()),
        ("t.csv", PLAIN.rstrip("\n").encode()),
        ("t.csv", (PLAIN + "\n\n").encode()),
        ("t.csv", ("\n\n" + PLAIN).encode()),
        ("t.tsv", PLAIN.replace(",", "\t").encode()),
        ("t.txt", PLAIN.replace(",", "|").encode()),
        ("t.csv", PLAIN.replace(",", ";").replace(".", ",").encode()),
        ("t.csv.gz", gzip.compress(PLAIN.encode(), mtime=0)),
        ("t.csv", gzip.compress(PLAIN.encode(), mtime=0)),
    ],
)
def test_the_same_table_in_every_dialect(write, name: str, content: bytes) -> None:
    check_plain(read_table(write(content, name)))


def test_parquet_and_json_lines_give_the_same_table(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [39.5, None, 20.0], "job": ["clerk", "nurse", "clerk"], "ok": [True, False, None]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_ndjson(tmp_path / "t.jsonl")
    check_plain(read_table(tmp_path / "t.parquet"))
    check_plain(read_table(tmp_path / "t.jsonl"))


def test_what_was_detected_is_told(write) -> None:
    table = read_table(write("x;stadt\n1,5;Köln\n2,25;Bonn\n".encode("cp1252")))
    assert table.array("x").tolist() == [1.5, 2.25]
    assert table.features[1].levels == ("Bonn", "Köln")
    assert " / ".join(table.notes) == (
        "t.csv: encoding is latin-1 / t.csv: delimiter is ';' (semicolon) / t.csv: decimal sign is a comma"
    )


def test_cp1252_is_told_from_latin_1_and_found_far_behind_the_sample(write) -> None:
    text = "x,y\n" + "1,plain\n" * 200_000 + "2,price \u20ac 5\n"
    assert read_table(write(text.encode("cp1252"))).features[1].levels == ("plain", "price € 5")


DECIMALS = "a;b\n1,5;x\n2,5;y\n"
INF = float("inf")


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        (DECIMALS, {"decimal": "."}, {"a": ["1,5", "2,5"], "b": ["x", "y"]}),
        ("a\né\nb\n", {"encoding": "latin-1"}, {"a": ["Ã©", "b"]}),
        ("a;b\n1,500;1\n2,250;2\n", {}, {"a": ["1,500", "2,250"], "b": [1, 2]}),  # which may be thousands
        ("a;b\n1,500;1\n0,250;2\n", {}, {"a": [1.5, 0.25], "b": [1, 2]}),
        ('a,b\n"x,1\ny",2\n"q""q",3\nz,\n', {}, {"a": ["x,1\ny", 'q"q', "z"], "b": [2, 3, None]}),
        ('a,b\n5" pipe,2\n6" pipe,3\nx,4\n', {}, {"a": ['5" pipe', '6" pipe', "x"], "b": [2, 3, 4]}),
        ('a,b\n"",x\n1,\n2,""\n', {}, {"a": [None, 1, 2], "b": ["x", None, None]}),
        ("a\ninf\n-inf\n1\nnan\n", {}, {"a": [INF, -INF, 1, None]}),
        ("a, b\n1, 2\n2,  3\n", {}, {"a": [1, 2], "b": [2, 3]}),
        (
            '__import__(\'os\').abort(),"q""\nz","a,b"\n1,2,3\n',
            {},
            {"__import__('os').abort()": [1], 'q"\nz': [2], "a,b": [3]},
        ),
        ("ä=1,b\n2,3\n", {}, {"ä=1": [2], "b": [3]}),
        ("a,b\n01067,1\n80331,2\n", {"types": {"a": "categorical"}}, {"a": ["01067", "80331"], "b": [1, 2]}),
    ],
)
def test_cells_are_read_as_they_are_written(write, content: str, options: dict[str, Any], expected: dict) -> None:
    path = write(content)
    table = read_table(path, ReadingOptions(**options))
    assert cells_of(table) == expected
    if set(options) <= {"types"}:  # a schema tells what is a category, and not how a file is written
        assert cells_of(read_table(path, schema=Schema(table.features))) == expected


def test_a_delimiter_that_is_declared_is_taken(write) -> None:
    with pytest.raises(InputError, match="line 1: the header is parted by ';'"):
        read_table(write(DECIMALS), ReadingOptions(delimiter=","))


def test_a_cell_behind_the_sample_can_still_change_the_kind(write) -> None:
    start = "a,b\n" + "1.5,2\n" * 1000
    assert kinds(read_table(write(start + "x,3\n"))) == {"a": "categorical", "b": "numeric"}
    late = cells_of(read_table(write(start + ' 3,"7"\n"",\n')))
    assert (late["a"][-2:], late["b"][-2:]) == ([3, None], [7, None])


# Cells with blanks around them, a row each: a number, a truth value, a date, a category, a word that means missing.
BLANKED = [
    (" 5", "true ", " 2024-05-31", " car", " ?"),
    ("5\t", " FALSE", "2024-06-01 ", "car", "7 "),
    ("  ", " ", "\t", " ", " "),
    (" 1e2 ", "\tTrue", " 2024-06-02 ", "car ", " 9"),
]
DECLARED = ReadingOptions(types={"d": "date"}, missing=["e=?"])


@pytest.mark.parametrize("written", ["plain.csv", "quoted.csv", "t.parquet", "t.jsonl", "frame"])
def test_every_reader_keeps_blanks_around_texts_and_ignores_them_around_numbers(tmp_path: Path, written: str) -> None:
    """CSV cells lost their blanks, even quoted ones, where Parquet, JSON lines, frames and SQL keep them."""
    frame = pl.DataFrame(BLANKED, schema=["n", "b", "d", "k", "e"], orient="row")
    path = tmp_path / written
    if written.endswith(".csv"):
        style = "always" if written == "quoted.csv" else "necessary"
        path.write_text(" n , b,d,k,e\n" + frame.write_csv(include_header=False, quote_style=style))
    elif written == "t.parquet":
        frame.write_parquet(path)
    elif written == "t.jsonl":
        frame.write_ndjson(path)
    table = infer(frame, DECLARED) if written == "frame" else read_table(path, DECLARED)
    assert kinds(table) == {"n": "numeric", "b": "boolean", "d": "numeric", "k": "categorical", "e": "numeric"}
    assert table.features[3].levels == (" ", " car", "car", "car ")
    assert cells_of(table) == cells_of(encode(raw_table(frame), Schema(table.features)))
    assert cells_of(table) == {
        "n": [5, 5, None, 100],
        "b": [1, 0, None, 1],
        "d": [19874, 19875, None, 19876],
        "k": [" car", "car", " ", "car "],
        "e": [None, 7, None, 9],
    }


def test_blanks_that_count_are_noted_with_the_option_that_takes_them_off(write) -> None:
    path = write('a, job , ok\n1, clerk, "yes, so"\n2, nurse, no\n')
    with pytest.raises(InputError, match="--trim"):
        read_table(path)
    table = read_table(path, ReadingOptions(trim=True))
    assert "t.csv: read without blanks around cells; a database that reads it keeps them" in table.notes
    assert [feature.levels for feature in table.features[1:]] == [("clerk", "nurse"), ("no", "yes, so")]
    table = read_table(write("a, job\n1, clerk\n2, nurse\n 3,\n"))
    assert (table.names, table.features[1].levels) == (("a", "job"), (" clerk", " nurse"))
    assert [note for note in table.notes if "blank" in note] == [
        "t.csv: 'job': blanks around cells count; --trim takes them off"
    ]
    assert read_table(write("a, b\n1, 2\n2,  3\n")).notes == ()


def test_blank_lines_are_no_rows(write) -> None:
    table = read_table(write("a,b\n1,2\n\n3,\n\n"))
    assert len(table) == 2
    assert any("blank lines" in note for note in table.notes)


def test_schema_reads_used_columns_only_in_any_order(write) -> None:
    schema = Schema((Feature("b"), Feature("z", "categorical", ("q",)), Feature("a"), Feature("gone")))
    table = read_table(write("extra,a,z,b\nfoo,1,no number,2\n,3,,4\n"), schema=schema, used={"a", "b"})
    assert cells_of(table) == {"b": [2, 4], "z": [None, None], "a": [1, 3], "gone": [None, None]}
    assert read_table(write("z,a,b,gone\nq,1,2,3\nr,1,2,3\n"), schema=schema).array("z").tolist() == [2, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "t.csv: the file is empty; give a header line and rows"),
        (b"\n\n \n", "t.csv: the file is empty; give a header line and rows"),
        (b"a,b\n", "t.csv: there is a header but no row; give at least one row"),
        (b"a,b", "t.csv: there is a header but no row; give at least one row"),
        (b"a,b,a\n1,2,3\n", "t.csv, line 1, columns 1 and 3: two columns are called 'a'; rename one"),
        (b"a,b,c\n1,2,3\n4,5\n", "t.csv, data row 2 (line 3): 2 cells, but the header has 3 columns"),
        (b"a,b,c\n1,2,\n4,5\n", "t.csv, data row 2 (line 3): 2 cells, but the header has 3 columns"),
        (b'a,b,c\n"1,1",2,\n4,"5,5"\n', "t.csv, data row 2 (line 3): 2 cells, but the header has 3 columns"),
        (b"a,b,c\n1,2,3\n\n4,5,6,7\n", "t.csv, data row 3 (line 4): 4 cells, but the header has 3 columns"),
        (b'a,b\n"x,2\n3,4\n', "t.csv, data row 1 (line 3): unreadable row"),
        (bytes(range(256)) * 9, "t.csv: this is no text table (binary bytes)"),
        (b"PK\x03\x04rest", "t.csv: this is a zip or Excel file; save it as CSV, Parquet or JSON lines"),
        (b"PAR1 not really", "t.csv: this is no readable Parquet file"),
        (b"\x1f\x8bbroken", "t.csv: damaged gzip file"),
        (b"a,b\n1,2\n" * 2 + b"3,\x00\n", "t.csv: this is no text table (binary bytes)"),
        (b"n\n9007199254740993\n", "t.csv, data row 1, column 'n': integer '9007199254740993' is beyond 2^53"),
    ],
)
def test_bad_files_are_refused_in_one_line(write, content: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_table(write(content))
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_missing_files_folders_and_bad_json(write, tmp_path: Path) -> None:
    write("a\n1\n", "adult.csv")
    with pytest.raises(InputError, match=r"no such file; did you mean 'adult\.csv'\?"):
        read_table(tmp_path / "adutl.csv")
    with pytest.raises(InputError, match="this is a folder"):
        read_table(tmp_path)
    with pytest.raises(InputError, match="no readable JSON lines"):
        read_table(write('{"a": 1}\n{"a": nu', "t.jsonl"))
    with pytest.raises(InputError, match="cannot be read"):
        read_table("a\0b.csv")


def test_a_declared_encoding_that_does_not_fit_names_the_line(write) -> None:
    with pytest.raises(InputError, match=r"t\.csv, line 3: bytes that are not utf-16-le"):
        read_table(write("a,b\n1,2\n".encode("utf-16-le") + b"\x00\xd8"), ReadingOptions(encoding="utf-16-le"))
    with pytest.raises(InputError, match="no encoding 'klingon'"):
        read_table(write("a\n1\n"), ReadingOptions(encoding="klingon"))


def test_many_levels(write) -> None:
    keys = [f"k{i:06d}" for i in range(20_000)]
    table = read_table(write("c,n\n" + "".join(f"{key},{i}\n" for i, key in enumerate(reversed(keys)))))
    assert table.features[0].levels == tuple(keys)
    np.testing.assert_array_equal(table.array("c"), np.arange(20_001, 1, -1))
    again = read_table(write("n,c\n1,k000007\n2,new\n"), schema=Schema(table.features))
    assert again.array("c").tolist() == [9, 1]


def test_damaged_files_are_refused_whatever_byte_is_wrong(tmp_path: Path) -> None:
    """Regressions: zlib.error and csv.Error escaped; an undamaged prefix may still be read."""
    rng = np.random.default_rng(0)
    text = (PLAIN * 4).encode()
    lines = b"".join(b'{"a": %d, "b": "x", "c": true}\n' % i for i in range(9))
    for name, content in (("t.csv", text), ("t.csv.gz", gzip.compress(text, mtime=0)), ("t.jsonl", lines)):
        messages = []
        for _ in range(60):
            data = bytearray(content)
            for _ in range(3):
                data[rng.integers(len(data))] = rng.integers(256)
            path = tmp_path / name
            path.write_bytes(data[: rng.integers(1, len(data) + 1)])
            try:
                read_table(path)
            except InputError as error:
                messages.append(str(error))
        assert len(messages) > 20
        assert not any("\n" in message for message in messages)


def test_sampled_data_sets_of_a_hundred_thousand_rows_are_read_like_the_csv_module_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    cells = np.array(["1", "x", "", '"q,r"', '"two\nlines"', '"d""q"', "é"])
    rows = cells[rng.integers(0, len(cells), (100_000, 3))]
    text = "a,b,c\n" + "\n".join(map(",".join, rows.tolist())) + "\n"
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    raw = read_columns(path, keep_text=["a", "b", "c"])
    expected = list(csv.reader(io.StringIO(text, newline="")))[1:]
    for j, column in enumerate(raw.columns):
        assert column.cells.to_list() == [record[j] or None for record in expected]


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
    width = len(rows[0])
    text = end.join([",".join(f"c{j}" for j in range(width)), *(",".join(row) for row in rows), ""])
    records = list(csv.reader(io.StringIO(text, newline="")))[1:]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
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
