"""Files that are no table are refused by their name, not read as a table of one odd column."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from rulekit.errors import InputError
from rulekit.tables.reading import read_table

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
