"""Parts of a Parquet source have the features, classes and rows that one process makes of the whole file, bit for bit."""

from __future__ import annotations

import datetime
import math
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.distributed.source import FilePart, Known, known_of, labelled, parts_of, raw_part, seen_in
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
    assert known.starts == tuple(np.cumsum([0, *map(len, parts)])[:-1].tolist())
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


@settings(max_examples=150, deadline=None)
@given(source=sources())
def test_parts_are_read_as_the_whole_file(
    source: tuple[pa.Table, dict[str, Any], list[int], bool], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table, given_options, cuts, folder = source
    where = tmp_path_factory.mktemp("source")
    options = ReadingOptions("y", **given_options)
    whole_file = write(where / "whole.parquet", table, [], False)
    path = write(where / "parts", table, cuts, folder)
    try:
        whole = read_labelled(whole_file, options)
    except InputError as error:
        with pytest.raises(InputError) as found:
            parts = parts_of(path, options)
            gathered([(part, part.start) for part in parts], options)
        assert found.value.what == error.what
        return
    parts = parts_of(path, options)
    assert [part.rows for part in parts] == np.diff([0, *cuts, len(table)]).tolist()
    assert_same(whole, *gathered([(part, part.start) for part in parts], options))


@settings(max_examples=60, deadline=None)
@given(source=sources(), of_pandas=st.booleans())
def test_frames_are_read_as_the_whole_frame(
    source: tuple[pa.Table, dict[str, Any], list[int], bool], of_pandas: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    table, given_options, cuts, _ = source
    options = ReadingOptions("y", **given_options)
    file = write(tmp_path_factory.mktemp("source") / "whole.parquet", table, [], False)
    try:
        whole = read_labelled(file, options)
    except InputError:
        return
    pieces = [table.slice(a, b - a) for a, b in zip((0, *cuts), (*cuts, len(table)), strict=True)]
    frames = [piece.to_pandas() if of_pandas else pl.from_arrow(piece) for piece in pieces]
    if of_pandas:  # which reads other types than a file has
        pl.from_pandas(table.to_pandas()).write_parquet(file)
        whole = read_labelled(file, options)
    assert_same(whole, *gathered(list(zip(frames, [0, *cuts], strict=True)), options))
