"""Files that are no table, damaged or made to do harm: one clear line, bounded memory and disk, nothing left behind."""

from __future__ import annotations

import contextlib
import gzip
import os
import subprocess
import sys
import threading
import time
from datetime import datetime
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rulekit.errors import InputError
from rulekit.tables.labelling import read_labelled
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw import dialect, files, scanned
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import read_columns, read_table


def test_a_damaged_parquet_file_is_one_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A panic of polars was printed before the line."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": np.arange(200), "b": [f"{i % 7}" for i in range(200)]}).write_parquet(path)
    content = path.read_bytes()
    rng, refused = np.random.default_rng(0), 0
    for at in rng.choice(len(content), 150, replace=False):
        damaged = bytearray(content)
        damaged[at] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(damaged))
        try:
            read_table(path)
        except InputError:
            refused += 1
    assert refused > 10
    assert "panicked" not in capfd.readouterr().err


def test_a_packed_file_is_unpacked_only_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LEAST_UNPACKED", 1_000_000)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,2\n" * 2_000_000))
    with pytest.raises(InputError, match=r"t.csv.gz: the packed file holds more than \d+ MB; unpack it"):
        read_table(path)
    assert not list((tmp_path / "temporary").iterdir())
    path.write_bytes(gzip.compress(b"a,y\n" + b"1,2\n" * 200_000))
    assert read_table(path).n_rows == 200_000


def test_gzip_within_gzip_is_refused(tmp_path: Path) -> None:
    """The bound on unpacked size held for the outer file only: 7.7 kB took 7.8 GB."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(gzip.compress(b"a,y\n1,2\n")))
    with pytest.raises(InputError, match=r"t.csv.gz: a packed file within a packed file; unpack it"):
        read_table(path)


@pytest.mark.parametrize("cell", [1.0, "y", "x" * 3_000_000])
def test_a_parquet_file_is_read_only_up_to_a_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cell: float | str
) -> None:
    """A file of .5 MB took 2.8 GB; numbers and texts that repeat are bounded by rows, long texts by the footer."""
    monkeypatch.setattr(scanned, "LEAST_UNPACKED", 2_000_000)
    path = tmp_path / "t.parquet"
    rows = 1 if isinstance(cell, str) and len(cell) > 1 else 400_000
    pl.DataFrame({"a": pl.repeat(cell, rows, eager=True), "b": pl.repeat(1, rows, eager=True)}).write_parquet(path)
    with pytest.raises(InputError, match=r"t.parquet: \d+ rows would take \d+ MB of memory; at most 2 MB"):
        read_columns(path)
    assert sum(raw.n_rows for raw in scanned.ParquetFile(path, 1000).blocks(("b",), ())) == rows


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="needs /dev/zero")
def test_a_device_without_end_is_refused() -> None:
    with pytest.raises(InputError, match="zero: this is no text table"):
        read_table("/dev/zero")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MOST_OF_A_PIPE", 100_000)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    def write() -> None:
        try:
            with pipe.open("wb") as file:
                while True:
                    file.write(b"1,2\n" * 10_000)
        except BrokenPipeError:
            pass

    writer = threading.Thread(target=write)
    writer.start()
    with pytest.raises(InputError, match=r"pipe: more than 0 MB came; write them to a file first"):
        read_table(pipe)
    writer.join(10)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_signal_leaves_no_copy_of_a_pipe(tmp_path: Path) -> None:
    pipe, temporary = tmp_path / "pipe", tmp_path / "temporary"
    os.mkfifo(pipe)
    temporary.mkdir()
    main = "from rulekit_cli.entry import main; main()"
    command = [sys.executable, "-c", main, "train", str(pipe), "--target", "y", "-o", str(tmp_path / "m.json")]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(temporary)}, stderr=subprocess.PIPE)
    with pipe.open("wb") as file:
        file.write(b"a,y\n" + b"1,2\n" * 3_000_000)
        file.flush()
        assert list(temporary.iterdir())
        process.terminate()
    process.communicate(timeout=60)
    assert process.returncode == 143
    assert not list(temporary.iterdir())


@pytest.mark.parametrize("encoding", ["undefined", "klingon", "hex", "rot13", "a\0b"])
def test_an_encoding_that_is_none_is_refused(tmp_path: Path, encoding: str) -> None:
    """`undefined` was an internal error."""
    path = tmp_path / "t.csv"
    path.write_text("a\nb\n")
    with pytest.raises(InputError, match=r"encoding|bytes that are not"):
        read_table(path, ReadingOptions(encoding=encoding))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ('{"a": 1, "b": 2}\n\n{"a": 1, "a": 2, "b": 3}\n', 3),
        ('{"a": 1, "b": 2}\n{"a": 1, "\\u0061": 2}\n', 2),
        ('{"a": null, "b": 2}\n{"a": null, "a": "x: y"}\n', 2),
        ('{"a": null, "b": 2}\n{"b": 1, "a": null, "a": 3}\n', 2),
    ],
)
@pytest.mark.parametrize("budget", [None, 20])
def test_a_key_that_stands_twice_is_refused(tmp_path: Path, content: str, line: int, budget: int | None) -> None:
    """Polars keeps one of the two cells without a word."""
    path = tmp_path / "t.jsonl"
    path.write_text(content)
    from rulekit.tables.raw.scanned import JsonLinesFile

    with pytest.raises(InputError, match=f"t.jsonl, line {line}: the key 'a' stands twice"):
        list(JsonLinesFile(path, budget).blocks(["a", "b"], ()))


def test_colons_in_cells_are_no_keys(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": "\\": \\" :", "b": null}\n{"a": "x", "b": "\\"a\\": 1"}\n')
    assert read_table(path).n_rows == 2


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("t.jsonl", "".join(f'{{"k{i}": 1}}\n' for i in range(101)), "more than 100 different keys; write CSV or"),
        ("t.jsonl", '{"a": "' + "x" * 3000 + '"}', "a line of more than 0 MB; is it a table"),
        ("t.csv", "a,y\n1," + "x" * 3000, "a line of more than 0 MB; is it a table"),
        ("t.csv", ",".join(f"c{i}" for i in range(201)) + "\n", "201 columns; rulekit reads at most 200"),
    ],
)
def test_work_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, content: str, why: str) -> None:
    """100,000 lines of a key each took all memory; a cell of 300 MB and 1,000,000 columns took minutes."""
    monkeypatch.setattr(scanned, "MOST_KEYS", 100)
    monkeypatch.setattr(files, "MOST_OF_A_LINE", 2500)
    monkeypatch.setattr(dialect, "MOST_COLUMNS", 200)
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(InputError, match=f"{name}: {why}"):
        read_table(path)


@pytest.mark.parametrize("rows", [None, 100])
@pytest.mark.parametrize("said", [999, 1001, 10_000, 10**12, 2**62 - 1])
def test_a_footer_that_lies_about_its_rows_is_refused(tmp_path: Path, said: int, rows: int | None) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": range(1000)}).write_parquet(path, compression="uncompressed")
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    footer = content[-8 - size : -8].replace(_zigzag(1000), _zigzag(said), 1)  # of the file, not of its groups
    path.write_bytes(content[: -8 - size] + footer + len(footer).to_bytes(4, "little") + b"PAR1")
    with contextlib.suppress(InputError):
        read = sum(raw.n_rows for raw in scanned.ParquetFile(path, rows).blocks(("a",), ()))
        assert read == said == 999


def test_a_footer_that_lies_about_sizes_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sizes of pages are those that a reader unpacks by."""
    monkeypatch.setattr(scanned, "LEAST_UNPACKED", 2_000_000)
    path = tmp_path / "t.parquet"
    pl.DataFrame({"a": ["x" * 3_000_000]}).write_parquet(path, statistics=False)
    content = path.read_bytes()
    size = int.from_bytes(content[-8:-4], "little")
    honest = pq.ParquetFile(path).metadata.row_group(0).total_byte_size
    footer = content[-8 - size : -8]
    assert _zigzag(honest) in footer
    lied = footer.replace(_zigzag(honest), _zigzag(1 << 21)[: len(_zigzag(honest))])
    path.write_bytes(content[: -8 - size] + lied + len(lied).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(InputError, match=r"t.parquet: 1 rows would take [36] MB of memory; at most 2 MB"):
        read_columns(path)


def test_a_long_text_for_many_rows_is_refused(tmp_path: Path) -> None:
    """A dictionary of one text of a megabyte: 37 kB took all memory."""
    path = tmp_path / "t.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(100_000, np.int32)), pa.array(["x" * 1_000_000]))
    pq.write_table(pa.table({"a": texts}), path)
    with pytest.raises(InputError, match=r"t.parquet: 100000 rows would take 10000. MB of memory"):
        read_columns(path)


def _zigzag(number: int) -> bytes:
    number, found = 2 * number, b""
    while number > 127:
        number, found = number >> 7, found + bytes([number & 127 | 128])
    return found + bytes([number])


@pytest.mark.parametrize("name", ["t.parquet", "t.jsonl", "t.svm"])
def test_options_of_text_files_are_refused_for_other_files(tmp_path: Path, name: str) -> None:
    """They were ignored without a word."""
    path = tmp_path / name
    path.write_text('{"a": 1}\n' if name == "t.jsonl" else "1 3:1\n")
    if name == "t.parquet":
        pl.DataFrame({"a": [1]}).write_parquet(path)
    with pytest.raises(InputError, match=f"{name}: --delimiter and --trim: of a text file such as CSV"):
        read_table(path, ReadingOptions(delimiter=";", trim=True))
    assert read_table(path).n_rows == 1


def test_no_threads_for_polars_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The library alone failed with a panic."""
    monkeypatch.setenv("POLARS_MAX_THREADS", "0")
    for read in (lambda: read_table("t.csv"), lambda: raw_table({"a": ["x"]})):
        with pytest.raises(InputError, match="POLARS_MAX_THREADS: '0' is no number of threads"):
            read()


def test_large_decimals_are_refused_as_large_integers_are(tmp_path: Path) -> None:
    """A decimal beyond 2^53 was rounded in silence."""
    path = tmp_path / "t.parquet"
    for scale in (0, 2):
        cells = pl.Series(["9007199254740993", "1", None]).cast(pl.Decimal(30, scale))
        pl.DataFrame({"a": cells, "y": [0, 1, 0]}).write_parquet(path)
        with pytest.raises(InputError, match=r"data row 1, column 'a': integer '9007199254740993' is beyond 2\^53"):
            read_table(path)
        table = read_table(path, ReadingOptions(types={"a": "categorical"}))
        assert table.features[0].levels == ("1", "9007199254740993")
    pl.DataFrame({"a": pl.Series(["1.50", "2.25", None]).cast(pl.Decimal(30, 2))}).write_parquet(path)
    assert read_table(path).array("a").tolist()[:2] == [1.5, 2.25]
    pl.DataFrame({"a": [1, 2], "y": pl.Series(["1.00", "2.00"]).cast(pl.Decimal(20, 2))}).write_parquet(path)
    assert read_labelled(path, ReadingOptions("y")).classes == (1, 2)


def test_time_grows_with_the_columns_and_not_with_their_square(tmp_path: Path) -> None:
    """Names were looked up in lists and tuples, column by column: over 200 seconds for 100,000."""
    path, spent = tmp_path / "wide.csv", []
    for width in (50, 500, 4000):
        rows = [[f"c{j}" for j in range(width)], *([str((i + j) % 7) for j in range(width)] for i in range(6))]
        path.write_text("".join(",".join(row) + "\n" for row in rows))
        begun = time.process_time()
        read_labelled(path, ReadingOptions("c9", missing=["?", "c8=6"]))
        spent.append(time.process_time() - begun)
    assert spent[2] < 20 * spent[1]


def test_a_zone_that_polars_does_not_know_is_named(tmp_path: Path) -> None:
    """Fixed offsets were refused in the words of a panic."""
    path = tmp_path / "t.parquet"
    times = pa.array([datetime(2024, 1, 1)], pa.timestamp("us", tz="+05:30"))
    pq.write_table(pa.table({"t": times}), path)
    with pytest.raises(InputError, match=r"times in the zone '\+05:30' cannot be read; write the times in UTC"):
        read_columns(path)


FOREIGN = {
    "arff": (b"% a comment\n\n@RELATION iris\n@ATTRIBUTE a NUMERIC\n@DATA\n1\n", "ARFF"),
    "xml": (b'\xef\xbb\xbf<?xml version="1.0"?>\n<rows><row a="1"/></rows>\n', "XML"),
    "html": (b"<!DOCTYPE html>\n<html><table></table></html>\n", "XML or HTML"),
    "array": (b'[\n  {"a": 1},\n  {"a": 2}\n]\n', "JSON array"),
    "lists": (b"[[1, 2], [3, 4]]\n", "JSON array"),
    "object": (b'{"a": [1, 2], "b": [3, 4]}\n', "JSON"),
    "lines": (b'{"a": 1}\n{"a": 2}\n', r"JSON.*\.jsonl"),
    "excel": (b"PK\x03\x04\x14\x00", "Excel"),
    "sqlite": (b"SQLite format 3\x00\x10\x00", "SQLite"),
    "pickle": (b"\x80\x04\x95\x10\x00\x00", "pickle"),
    "numpy": (b"\x93NUMPY\x01\x00v\x00", "numpy"),
    "feather": (b"ARROW1\x00\x00", "Arrow"),
}


@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz"])
@pytest.mark.parametrize("name", sorted(FOREIGN))
def test_other_formats_are_named(tmp_path: Path, name: str, ending: str) -> None:
    content, message = FOREIGN[name]
    path = tmp_path / f"t{ending}"
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with pytest.raises(InputError, match=f"this is .*{message}"):
        read_table(path)


@pytest.mark.parametrize(
    "content",
    ["a b\n1 2\n", "time,n\n12:30,1\n", "[id],n\nx,1\n", '{"a"},n\nx,1\n', "<5,n\n1,2\n", "@a,n\n1,2\n", "a:b\n1:2\n"],
)
def test_odd_tables_are_read(tmp_path: Path, content: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(content)
    assert read_table(path).n_rows == 1


def test_an_arff_file_with_long_comments_is_known(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b"% a comment, with commas\n" * 4000 + b"@relation x\n@attribute a numeric\n@data\n1\n")
    with pytest.raises(InputError, match="this is an ARFF file"):
        read_table(path)
