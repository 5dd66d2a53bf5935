"""Files in blocks: the same table, labels, notes and data hash as from the whole file in memory."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.errors import InputError
from rulekit.tables.equal_rows import data_hash
from rulekit.tables.kinds.builders import Dictionary
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.columns import TextColumn
from rulekit.tables.table import Budget, Store, StoredArrays, parse_memory

TINY = Budget(10**9, rows_per_block=16, bytes_per_block=40)


def in_blocks(path: Path, target: str = "y", budget: Budget = TINY, **options: Any) -> LabelledTable:
    return read_labelled(path, ReadingOptions(target, **options), budget)


def assert_same(path: Path, budget: Budget = TINY, **options: Any) -> LabelledTable:
    whole = read_labelled(path, ReadingOptions("y", **options))
    parts = in_blocks(path, budget=budget, **options)
    assert parts.table.features == whole.table.features
    for feature, mine, theirs in zip(whole.table.features, parts.table.arrays, whole.table.arrays, strict=True):
        if feature.kind != "text":  # of which the hash below tells
            np.testing.assert_array_equal(mine, theirs, err_msg=feature.name)
    assert parts.table.notes == whole.table.notes
    assert parts.notes == whole.notes
    assert parts.table.merged == whole.table.merged
    assert parts.classes == whole.classes
    np.testing.assert_array_equal(parts.y, whole.y)
    for name in ("weight", "group"):
        mine, theirs = getattr(parts, name), getattr(whole, name)
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            np.testing.assert_array_equal(mine, theirs)
    assert data_hash(parts) == data_hash(whole)
    return parts


def write_csv(path: Path, columns: dict[str, list[str]], end: str = "\n") -> Path:
    def cell(text: str) -> str:
        return '"' + text.replace('"', '""') + '"' if set(text) & set(',"\n') else text

    rows = [list(columns), *map(list, zip(*columns.values(), strict=True))]
    content = "".join(",".join(map(cell, row)) + end for row in rows).encode()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path


CELLS = {
    "whole": st.sampled_from(["1", "2", "-3", ""]),
    "decimal": st.sampled_from(["0.1", "2.50", "-1e3", "16777217", "16777216", ""]),
    "double": st.floats(allow_nan=False).map(repr),
    "truth": st.sampled_from(["true", "False", ""]),
    "digits": st.sampled_from(["0", "1", "1.0", ""]),
    "text": st.sampled_from(["a", "b", "a,b", 'x"y', "line\nbreak", "?", ""]),
    "late": st.sampled_from(["1"] * 30 + ["2.0", "2", "odd"]),
    "spaced": st.sampled_from(["1"] * 20 + [" 2", "x "]),
    "date": st.sampled_from(["2024-05-31", "2024-06-01"]),
    "gap": st.sampled_from(["-999", "", "5"]),
    "nothing": st.just(""),
}


@st.composite
def tables(draw: st.DrawFn) -> dict[str, list[str]]:
    n = draw(st.integers(2, 40))
    kinds = draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=4))
    columns = {f"{kind}{i}": draw(st.lists(CELLS[kind], min_size=n, max_size=n)) for i, kind in enumerate(kinds)}
    labels = draw(st.sampled_from([("no", "yes"), ("0", "1"), ("1", "x", "1.0"), ("true", "FALSE")]))
    columns["y"] = [*labels[:2], *draw(st.lists(st.sampled_from(labels), min_size=n - 2, max_size=n - 2))]
    return columns


@settings(max_examples=20, deadline=None)
@given(columns=tables(), block=st.sampled_from([1, 30, 64, 200]), end=st.sampled_from(["\n", "\r\n"]), data=st.data())
def test_delimited_blocks_are_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, columns: dict[str, list[str]], block: int, end: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("blocks")
    path = write_csv(folder / data.draw(st.sampled_from(["t.csv", "t.csv.gz"])), columns, end)
    first = next(iter(columns))
    options = data.draw(
        st.sampled_from(
            [
                {},
                {"missing": ["?", "-999"]},
                {"precision": {first: "float64"}},
                *({"types": {first: kind}} for kind in ("categorical", "text")),
            ]
        )
    )
    assert_same(path, Budget(10**9, bytes_per_block=block), **options)


@settings(max_examples=12, deadline=None)
@given(data=st.data(), rows=st.sampled_from([2, 8, 100]))
def test_parquet_and_json_blocks_are_the_whole_file(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, rows: int
) -> None:
    n = data.draw(st.integers(2, 30))

    def column(cells: st.SearchStrategy[Any]) -> list[Any]:
        return data.draw(st.lists(st.none() | cells, min_size=n, max_size=n))

    frame = pl.DataFrame(
        {
            "narrow": pl.Series(column(st.floats(width=32)), dtype=pl.Float32),
            "wide": pl.Series(column(st.sampled_from([0.1, 2.0, 16777217.0, 16777216.0])), dtype=pl.Float64),
            "whole": pl.Series(column(st.integers(-3, 3)), dtype=pl.Int16),
            "truth": pl.Series(column(st.booleans()), dtype=pl.Boolean),
            "text": pl.Series(column(st.sampled_from("abc")), dtype=pl.String),
            "level": pl.Series(column(st.sampled_from(["10", "9", "x"])), dtype=pl.String).cast(pl.Categorical),
            "day": pl.Series(column(st.dates()), dtype=pl.Date),
            "y": [i % 2 for i in range(n)],
        }
    )
    folder = tmp_path_factory.mktemp("frames")
    frame.write_parquet(folder / "t.parquet")
    assert_same(folder / "t.parquet", Budget(10**9, rows_per_block=rows))
    frame.drop("level", "day", "narrow").write_ndjson(folder / "t.jsonl")
    assert_same(folder / "t.jsonl", Budget(10**9, bytes_per_block=50))


def test_weights_groups_and_dropped_rows(tmp_path: Path) -> None:
    n = 60
    columns = {
        "a": [str(i % 7) for i in range(n)],
        "y": ["" if i % 11 == 3 else "no" if i % 3 else "yes" for i in range(n)],
        "w": [str(0.5 + i % 2) for i in range(n)],
        "g": [f"{i % 13}" for i in range(n)],
    }
    path = write_csv(tmp_path / "t.csv", columns)
    assert_same(path, missing_target="drop", weight="w", group="g")
    pl.read_csv(path).write_parquet(tmp_path / "t.parquet")
    parts = assert_same(tmp_path / "t.parquet", missing_target="drop", weight="w", group="g")
    assert isinstance(parts.table.arrays, StoredArrays)


@pytest.mark.parametrize(
    "content",
    [
        "a,y\n1,0\n2\n3,1\n" + "4,0\n" * 40,  # a short row, found late
        "a,y\n" + "1,0\n" * 40 + "1,2,3\n",  # a long one
        "a,y\n" + "1,0\n" * 40 + '"5" pipe,1\n',  # quotes inside a cell
        "a,y\n" + "1,0\n" * 20,  # one class
        "a,y\n" + "1,0\n" * 20 + "1,\n",  # no label
        "a,y\n" + "1,0\n" * 20 + "9007199254740993,1\n",  # beyond doubles
        "",
        "a,y\n",
    ],
)
def test_errors_are_those_of_the_whole_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    with pytest.raises(InputError) as whole:
        read_labelled(path, ReadingOptions("y"))
    with pytest.raises(InputError) as parts:
        in_blocks(path)
    assert str(parts.value) == str(whole.value)


WESTERN = "a,y\n" + "plain,0\n" * 30 + "größe,1\n" * 3
STORIES = "body,y\n" + "".join(f"the price of wheat {i} rose in month {i % 9},{i % 2}\n" for i in range(30))
LINES = '{"a": 1, "b": "x", "y": 0}\n' * 30 + '{"a": 2.5, "y": 1, "c": true}\n'  # types are those of the whole file


@pytest.mark.parametrize(
    ("name", "content", "block"),
    [
        *(("t.csv", WESTERN.encode(encoding), 40) for encoding in ("cp1252", "latin-1", "utf-16", "utf-8-sig")),
        # Western letters behind the sample start the reading anew
        ("t.csv", b"a,y\n" + b"plain text,0\n" * 90_000 + "größe,1\n".encode("cp1252"), 1 << 19),
        ("t.csv", STORIES.encode(), 40),
        ("t.csv", b"a,y\r1,0\r2,1\r", 40),
        ("t.csv", b"a,y\n1,0\n\n2,1\n\n\n", 40),
        ("t.csv", b"a,y\r\n" + b"1,0\r\n2,1\r\n" * 20 + b"\r\n" * 60, 40),
        ("t.csv", b"a,y\n" + b"1,0\n2,1\n" * 20 + b"\n" * 60, 40),
        ("t.csv", b"y,a\n1,\n\n0,1\n\n", 40),
        ("t.csv", b"\n\na,y\n1,0\n2,1\n", 40),
        ("t.jsonl", LINES.encode(), 40),
        ("t.jsonl.gz", gzip.compress(LINES.encode(), mtime=0), 40),
    ],
)
def test_odd_files_are_the_same_in_blocks(tmp_path: Path, name: str, content: bytes, block: int) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert_same(path, Budget(10**9, bytes_per_block=block))


def test_too_many_texts_for_the_budget_are_refused_by_name() -> None:
    keys = Dictionary("id", Store(Budget(1)), "t.csv")
    keys.add(TextColumn("id", pl.Series(["a", "b", "a"])))
    with pytest.raises(InputError, match=r"t.csv, column 'id': .* different texts .* ignore the column"):
        keys.add(TextColumn("id", pl.Series([f"{i:09}" * 20_000 for i in range(100)])))


def test_a_budget_below_the_rows_says_how_much_is_needed(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "t.csv", {"a": ["1", "2"], "y": ["0", "1"]})
    with pytest.raises(InputError, match=r"2 rows need \d+ MB of memory, 100 MB are allowed; allow \d+MB"):
        in_blocks(path, budget=Budget(100_000_000))


def test_amounts_of_memory() -> None:
    sizes = {"500MB": 500_000_000, "2 gb": 2_000_000_000, "1.5GiB": 1_610_612_736, "64k": 64_000, 12: 12}
    assert {text: parse_memory(text) for text in sizes} == sizes
    for text in ("", "MB", "-1MB", "1 XB", "much", 0, -5, float("nan")):
        with pytest.raises(InputError, match="no amount of memory"):
            parse_memory(text)


def test_files_on_disk_go_with_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = write_csv(tmp_path / "t.csv", {"a": ["1", "2"], "y": ["0", "1"]})
    rows = in_blocks(path)
    assert list((tmp_path / "temporary").iterdir())
    del rows
    assert not list((tmp_path / "temporary").iterdir())
    with pytest.raises(InputError):
        in_blocks(path, target="nothing")
    assert not list((tmp_path / "temporary").iterdir())


def test_a_full_disk_is_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store()
    with pytest.raises(InputError, match=r"of disk, .* MB are free"):
        store.require(1 << 62)
