"""Parts of a Parquet source have the features, classes and rows of the whole file, bit for bit."""

from __future__ import annotations

import datetime
import math
import os
import pickle
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.distributed.source import Known, known_of, labelled, parts_of, raw_part, seen_in
from rulekit.errors import InputError
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import ReadingOptions
from rulekit.tables.table import Budget


def gathered(parts: Sequence[tuple[Any, int]], options: ReadingOptions) -> tuple[Known, list[LabelledTable]]:
    """What is known of the parts, each with the number of its first row, and the rows of each."""
    seen = [seen_in(raw_part(part, options), options, start) for part, start in parts]
    seen = [pickle.loads(pickle.dumps(each)) for each in random.Random(len(seen)).sample(seen, len(seen))]
    known = pickle.loads(pickle.dumps(known_of(seen, options)))
    return known, [labelled(raw_part(part, options), known, options, start) for part, start in parts]


def bits(array: Any) -> bytes:
    array = np.asarray(array)
    return np.where(np.isnan(array), np.nan, array).tobytes() if array.dtype.kind == "f" else array.tobytes()


def assert_same(whole: LabelledTable, known: Known, parts: Sequence[LabelledTable]) -> None:
    assert known.features == whole.table.features
    assert [(type(label), label) for label in known.classes] == [(type(label), label) for label in whole.classes]
    assert (known.rows, known.target, known.ordered, known.cost) == (
        len(whole),
        whole.target,
        whole.ordered,
        whole.cost,
    )
    columns = {"y": (whole.y, [part.y for part in parts])}
    for name in whole.table.names:
        columns[name] = (whole.table.array(name), [part.table.array(name) for part in parts])
    assert all((part.weight is None) == (whole.weight is None) for part in parts)
    if whole.weight is not None:
        columns["w"] = (whole.weight, [part.weight for part in parts])
    for name, (mine, theirs) in columns.items():
        assert all(array.dtype == mine.dtype for array in theirs)
        assert bits(mine) == bits(np.concatenate(theirs)), (name, mine, np.concatenate(theirs))


def write(path: Path, table: pa.Table, cuts: Sequence[int], folder: bool) -> Path:
    """The table in groups of rows, or in files of a folder."""
    pieces = [table.slice(a, b - a) for a, b in zip((0, *cuts), (*cuts, len(table)), strict=True)]
    if folder:
        path.mkdir()
        (path / "_SUCCESS").write_text("")
        for number, piece in enumerate(pieces):
            pq.write_table(piece, path / f"part-{number:02}.parquet")
        return path
    with pq.ParquetWriter(path, table.schema) as writer:
        for piece in pieces:
            writer.write_table(piece)
    return path


WHOLE = st.sampled_from([0, 1, 2, -3, 100])
DECIMALS = st.sampled_from([0.1, 2.5, -7.25, 12345678.12, 131072.01, 0.0, -0.0])
CELLS: dict[str, tuple[st.SearchStrategy[Any], pa.DataType]] = {
    "int8": (WHOLE, pa.int8()),
    "int32": (st.one_of(WHOLE, st.sampled_from([16777216, 16777217, -(2**30)])), pa.int32()),
    "int64": (st.one_of(WHOLE, st.sampled_from([2**24, 2**24 + 1, 2**53, -999])), pa.int64()),
    "uint16": (st.sampled_from([0, 1, 65535]), pa.uint16()),
    "zeros and ones": (st.sampled_from([0, 1]), pa.int64()),
    "ones as doubles": (st.sampled_from([0.0, 1.0, -0.0]), pa.float64()),
    "whole doubles": (st.sampled_from([0.0, 5.0, 2.0**24 + 1, 2.0**60, math.inf]), pa.float64()),
    "decimals": (DECIMALS, pa.float64()),
    "narrow": (st.floats(width=32), pa.float32()),
    "decimals in float32": (DECIMALS.map(np.float32).map(float), pa.float32()),
    "doubles": (st.floats(), pa.float64()),
    "truths": (st.booleans(), pa.bool_()),
    "texts": (st.sampled_from(["a", "b", "A", "", "é", "?"]), pa.string()),
    "numbers in texts": (st.sampled_from(["1", "1.0", " 2", "-999", "16777217", "0.25", "nan"]), pa.string()),
    "late texts": (st.sampled_from([*["1"] * 20, "1.0", "odd"]), pa.string()),
    "truths in texts": (st.sampled_from(["true", "False", "TRUE"]), pa.string()),
    "dictionary": (st.sampled_from(["u", "v", "w", "10", "9"]), pa.dictionary(pa.int8(), pa.string())),
    "dates": (st.dates(), pa.date32()),
    "moments": (st.datetimes(datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1)), pa.timestamp("us")),
    "midnights": (st.sampled_from([datetime.datetime(2024, 5, d) for d in (1, 2, 31)]), pa.timestamp("us")),
    "spans": (st.sampled_from([0, 1, 86400, 100_000_000]), pa.duration("ms")),
    "money": (st.decimals(-1000, 1000, places=2), pa.decimal128(12, 2)),
    "nothing": (st.none(), pa.float64()),
    "no texts": (st.none(), pa.string()),
    "no type": (st.none(), pa.null()),
}
LABELS = {
    "text": (["no", "yes"], pa.string()),
    "numbers": ([2, 10, 3], pa.int64()),
    "truths": ([True, False], pa.bool_()),
    "padded": (["01", "2", "3.0"], pa.string()),
    "listed": (["q", "p"], pa.dictionary(pa.int8(), pa.string())),
}
DECLARED = {
    "int8": ["categorical", "boolean", "numeric", "ordered:0,1,2,-3,100"],
    "int64": ["date", "money", "numeric"],
    "decimals": ["numeric", "categorical", "datetime"],
    "texts": ["categorical"],
    "numbers in texts": ["categorical", "numeric"],
    "dates": ["date", "categorical", "datetime"],
    "midnights": ["datetime", "date"],
    "no texts": ["categorical", "numeric"],
}


@st.composite
def sources(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any], list[int], bool]:
    """A table, the options of reading it, where it is cut, and whether into files."""
    n = draw(st.integers(8, 40))
    cuts = sorted(draw(st.sets(st.integers(1, n - 1), max_size=6)))
    columns, options = dict[str, pa.Array](), dict[str, Any]()
    for name in draw(st.lists(st.sampled_from(sorted(CELLS)), min_size=1, max_size=5, unique=True)):
        cells, kind = CELLS[name]
        values = draw(st.lists(st.one_of(cells, cells, cells, st.none()), min_size=n, max_size=n))
        if draw(st.booleans()) and cuts:  # nothing in one part
            first, last = draw(st.sampled_from(list(zip([0, *cuts], [*cuts, n], strict=True))))
            values[first:last] = [None] * (last - first)
        columns[name] = pa.array(values, kind)
        if name in DECLARED and draw(st.booleans()):
            options.setdefault("types", {})[name] = draw(st.sampled_from(DECLARED[name]))
    labels, kind = LABELS[draw(st.sampled_from(sorted(LABELS)))]
    gap = [None] if draw(st.booleans()) else []
    found = draw(st.lists(st.sampled_from([*labels, *labels, *gap]), min_size=n - 2, max_size=n - 2))
    columns["y"] = pa.array([*labels[:2], *found], kind)
    options |= {"missing_target": "drop", "missing": draw(st.sampled_from([(), ("-999",), ("1", "a")]))}
    if draw(st.booleans()):
        weights = draw(st.lists(st.sampled_from([0.0, 0.1, 3.0]), min_size=n - 1, max_size=n - 1))
        columns["w"], options["weight"] = pa.array([*weights, 2.0]), "w"
    return pa.table(columns), options, cuts, draw(st.booleans())


@settings(max_examples=100, deadline=None)
@given(source=sources())
def test_parts_are_read_as_the_whole_file(
    source: tuple[pa.Table, dict[str, Any], list[int], bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table, given_options, cuts, folder = source
    where, options = tmp_path_factory.mktemp("source"), ReadingOptions("y", **given_options)
    path = write(where / "parts", table, cuts, folder)

    def in_parts() -> tuple[Known, list[LabelledTable]]:
        return gathered([(part, part.start) for part in parts_of(path, options)], options)

    try:
        whole = read_labelled(write(where / "whole.parquet", table, [], False), options)
    except InputError as error:
        reason = error.what
    else:
        assert [part.rows for part in parts_of(path, options)] == np.diff([0, *cuts, len(table)]).tolist()
        assert_same(whole, *in_parts())
        return
    with pytest.raises(InputError) as found:
        in_parts()
    assert found.value.what == reason


@settings(max_examples=50, deadline=None)
@given(source=sources(), of_pandas=st.booleans())
def test_frames_are_read_as_the_whole_frame(
    source: tuple[pa.Table, dict[str, Any], list[int], bool], of_pandas: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Frames of pandas hold other types than a file, which is written from one here."""
    table, given_options, cuts, _ = source
    options, file = ReadingOptions("y", **given_options), tmp_path_factory.mktemp("source") / "whole.parquet"
    frame: Any = pl.from_pandas(table.to_pandas()) if of_pandas else pl.from_arrow(table)
    levels = [field.name for field in table.schema if pa.types.is_dictionary(field.type)]
    frame.with_columns(pl.col(levels).cast(pl.Categorical)).write_parquet(file)  # else polars forgets what has no cell
    try:
        whole = read_labelled(file, options)
    except InputError:
        return
    pieces = [table.slice(a, b - a) for a, b in zip((0, *cuts), (*cuts, len(table)), strict=True)]
    frames = [piece.to_pandas() if of_pandas else pl.from_arrow(piece) for piece in pieces]
    assert_same(whole, *gathered(list(zip(frames, [0, *cuts], strict=True)), options))


def test_a_file_of_nulls_alone_fits_the_others(tmp_path: Path) -> None:
    """A writer that saw no value of a column knows no type of it."""
    rows = {"d": [datetime.date(2024, 5, 1), None], "c": ["a", "b"], "n": [1.5, 2.0], "y": ["p", "q"]}
    empty = {"d": [None], "y": ["p"], "n": [None], "c": [None]}
    pl.DataFrame(empty).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame(rows).write_parquet(tmp_path / "b.parquet")
    options = ReadingOptions("y")
    known, parts = gathered([(part, part.start) for part in parts_of(tmp_path, options)], options)
    pl.DataFrame({name: [*empty[name], *rows[name]] for name in empty}).write_parquet(tmp_path / "_whole.parquet")
    assert_same(read_labelled(tmp_path / "_whole.parquet", options), known, parts)


def test_a_part_is_told_by_few_rows_and_its_columns_are_found_again(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    frame = pl.DataFrame({"x": rng.normal(size=5000), "k": rng.integers(0, 9, 5000), "y": rng.integers(0, 2, 5000)})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=1000)
    options = ReadingOptions("y", ignore=("k",))
    parts = parts_of(tmp_path / "a.parquet", options)
    assert [(part.group, part.start, part.rows) for part in parts] == [(k, 1000 * k, 1000) for k in range(5)]
    raw = raw_part(parts[3], options)
    assert (raw.names, raw.known_names) == (("x", "y"), ("x", "y", "k"))
    assert raw.columns[0].values.tolist() == frame["x"][3000:4000].to_list()  # type: ignore[union-attr]
    assert len(seen_in(raw, options, 3000).columns["x"][0].values) <= 16  # type: ignore[union-attr]
    frame[:4500].write_parquet(tmp_path / "a.parquet", row_group_size=900)
    with pytest.raises(InputError, match="the file was changed"):
        raw_part(parts[3], options)


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "group": ({"g": [1, 2, 3]}, {"group": "g"}, "--group: an engine does not know it; leave it out"),
    "time": ({"t": [1, 2, 3]}, {"time": "t"}, "--time: an engine"),
    "several labels": ({}, {"label_separator": ";", "positive": "p"}, "--label-separator: an engine"),
    "no column": ({}, {"types": {"z": "numeric"}}, "rows: no column 'z'"),
    "text": ({"s": ["a b", "c", "d"]}, {"types": {"s": "text"}}, "column 's': a column of texts cannot"),
    "weight": ({"w": [1.0, 1.0, -2.0]}, {"weight": "w"}, r"column 'w': weight -2.0 in data row 3"),
    "no weight": ({"w": [1.0, None, 2.0]}, {"weight": "w"}, "column 'w': weight nan in data row 2"),
    "zeros": ({"w": [0, 0, 0]}, {"weight": "w"}, "all weights are zero"),
    "no number": ({"s": ["1", "2", "x"]}, {"types": {"s": "numeric"}}, r"data row 3, column 's': 'x' is not a number"),
    "level": (
        {"s": ["a", "b", "c"]},
        {"types": {"s": "ordered:a,b"}},
        "data row 3, column 's': level 'c' is not among",
    ),
    "large": ({"s": [1, 2, 2**53 + 1]}, {}, "data row 3, column 's': integer 9007199254740993"),
    "large in texts": ({"s": ["1", "2", str(2**53 + 1)]}, {}, "rows, column 's': integer '9007199254740993'"),
    "lists": ({"s": [[1], [2], [3]]}, {}, "cells of type List"),
    "unit": ({"s": ["a", "b", "c"]}, {"units": {"s": "kg"}}, "'kg' as the unit of a categorical column"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_an_engine_does_not_know_is_refused_in_one_line(tmp_path: Path, what: str) -> None:
    columns, options, line = REFUSED[what]
    frame = pl.DataFrame({"x": [0.5, 1.0, 2.0], **columns, "y": ["p", "q", "p"]}, strict=False)
    (tmp_path / "rows").mkdir()
    for row in range(3):
        frame[row : row + 1].write_parquet(tmp_path / "rows" / f"{row}.parquet")

    def read() -> None:
        asked = ReadingOptions("y", **options)
        gathered([(part, part.start) for part in parts_of(tmp_path / "rows", asked)], asked)

    with pytest.raises(InputError, match=line):
        read()


def test_sentences_are_refused(tmp_path: Path) -> None:
    texts = [f"the quick brown fox number {k} jumps over dogs" for k in range(30)]
    pl.DataFrame({"s": texts, "y": [0, 1] * 15}).write_parquet(tmp_path / "a.parquet", row_group_size=10)
    options = ReadingOptions("y")
    parts = [(part, part.start) for part in parts_of(tmp_path / "a.parquet", options)]
    with pytest.raises(InputError, match=r"an engine does not learn from texts; --ignore s, or --type s=categorical"):
        gathered(parts, options)
    frame = pl.DataFrame({"s": map(str, range(200_000)), "y": [0, 1] * 100_000})
    with pytest.raises(InputError, match="different texts do not fit into the allowed memory"):
        seen_in(raw_part(frame, options), options, budget=Budget(1))


def test_other_sources_are_refused_by_the_name_of_the_file(tmp_path: Path) -> None:
    options, frame = ReadingOptions("y"), pl.DataFrame({"x": [0.5, 1.0], "y": ["p", "q"]})
    with pytest.raises(InputError, match="a folder without a Parquet file"):
        parts_of(tmp_path, options)
    with pytest.raises(InputError, match="no such file"):
        parts_of(tmp_path / "b.parquet", options)
    frame.write_parquet(tmp_path / "a.parquet")
    for name, other, line in (
        ("b.parquet", frame.rename({"x": "z"}), r"b.parquet, column 'x': no such column here, Float64 in a.parquet"),
        ("b.parquet", frame.with_columns(z=1), r"b.parquet, column 'z': Int32 here, none in a.parquet"),
        ("b.parquet", frame.with_columns(pl.lit("1").alias("x")), "column 'x': String here, Float64 in a.parquet"),
    ):
        other.write_parquet(tmp_path / name)
        with pytest.raises(InputError, match=line):
            parts_of(tmp_path, options)
    frame.write_csv(tmp_path / "b.parquet")
    with pytest.raises(InputError, match=r"b.parquet: an engine reads Parquet, and this is none; write the rows"):
        parts_of(tmp_path, options)
    (tmp_path / "b.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-20])
    with pytest.raises(InputError, match="no readable Parquet file"):
        parts_of(tmp_path, options)
    (tmp_path / "b.parquet").unlink()
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError, match="this is a folder"):
        parts_of(tmp_path, options)
    frame[:0].write_parquet(tmp_path / "none.parquet")
    with pytest.raises(InputError, match="no row"):
        parts_of(tmp_path / "none.parquet", options)


def test_columns_of_frames_that_differ_are_refused() -> None:
    options = ReadingOptions("y")
    first, labels = {"x": [1.0, 2.5]}, {"y": ["p", "q"]}
    for other, line in (
        ({"x": ["a", "b"]}, "column 'x': numbers in one part of the rows, texts in another"),
        ({"z": [1.0, 2.0]}, "column 'x': not in every part"),
    ):
        frames = [(pl.DataFrame(first | labels), 0), (pl.DataFrame(other | labels), 2)]
        with pytest.raises(InputError, match=line):
            gathered(frames, options)
    with pytest.raises(InputError, match="no row"):
        known_of([], options)


def test_a_group_of_rows_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pl.DataFrame({"x": np.zeros(100_000), "y": [0, 1] * 50_000}).write_parquet(tmp_path / "a.parquet")
    options = ReadingOptions("y")
    monkeypatch.setattr("rulekit.tables.raw.scanned.LEAST_UNPACKED", 1000)
    parts = parts_of(tmp_path / "a.parquet", options)
    with pytest.raises(InputError, match="rows would take 2 MB of memory"):
        raw_part(parts[0], options)


def test_threads_of_a_worker_read_at_once_and_leave_standard_error_where_it_was(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": np.arange(2000.0), "y": [0, 1] * 1000})
    frame.write_parquet(tmp_path / "a.parquet", row_group_size=50)
    options, before = ReadingOptions("y"), os.fstat(2)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda part: raw_part(part, options), parts_of(tmp_path / "a.parquet", options)))
    assert [len(raw.columns[0].values) for raw in found] == [50] * 40  # type: ignore[union-attr]
    assert os.path.samestat(before, os.fstat(2))
