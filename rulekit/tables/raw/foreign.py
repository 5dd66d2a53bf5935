"""Files that are no table that rulekit reads, told by their first bytes and refused by their name."""

from __future__ import annotations

import re

from rulekit.errors import InputError

HEAD_BYTES = 4096
"""How much of a file is looked at."""

_MARKS = (
    (b"PK\x03\x04", "a zip or Excel file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel file"),
    (b"%PDF", "a PDF file"),
    (b"{\\rtf", "a rich text file"),
    (b"\x89PNG", "a picture"),
    (b"BZh", "a bzip2 file"),
    (b"\xfd7zXZ", "an xz file"),
    (b"\x28\xb5\x2f\xfd", "a zstd file"),
    (b"7z\xbc\xaf", "a 7z file"),
    (b"SQLite format 3\0", "an SQLite database"),
    (b"\x89HDF", "an HDF5 file"),
    (b"ARROW1", "an Arrow or Feather file"),
    (b"ORC", "an ORC file"),
    (b"Obj\x01", "an Avro file"),
    (b"\x93NUMPY", "a numpy file"),
    (b"\x80\x04\x95", "a pickle, which rulekit never opens"),
    (b"$FL2", "an SPSS file"),
)
_TEXTS = (
    # a label, then numbered values, on every line
    (
        re.compile(rb"(?:[^\s,;:|]+(?:[ \t]+qid:\d+)?(?:[ \t]+\d+:[^\s,;:|]+)+[ \t]*(?:#.*)?\r?\n){1,}"),
        "an svmlight file",
    ),
    (re.compile(rb"\s*(?:%[^\n]*\n\s*)*@relation\s", re.IGNORECASE), "an ARFF file"),
    (re.compile(rb"\s*<(?:\?xml|!doctype|!--|[a-z][\w:.-]*[\s/>])", re.IGNORECASE), "XML or HTML"),
    (re.compile(rb"\s*\[\s*(?:[\[{]|\"(?:[^\"\\]|\\.)*\"\s*[,\]])"), "a JSON array"),
)
_JSON_OBJECT = re.compile(rb'\s*\{\s*(?:"(?:[^"\\]|\\.)*"\s*:|\}|$)')


def refuse_foreign(head: bytes, name: str) -> None:
    """Raises InputError where the first bytes of a file are of another format; name: of the file."""
    lowered = name.lower()
    lines = lowered.endswith((".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz"))
    head = head.removeprefix(b"\xef\xbb\xbf")
    foreign = next((what for mark, what in _MARKS if head.startswith(mark)), None)
    foreign = foreign or next((what for pattern, what in _TEXTS if pattern.match(head)), None)
    if foreign is not None:
        raise InputError(f"this is {foreign}", where=name, fix="save it as CSV, Parquet or JSON lines (.jsonl)")
    if not lines and _JSON_OBJECT.match(head):
        fix = "JSON lines, one object a line, are read from a file that ends in .jsonl"
        raise InputError("this is JSON", where=name, fix=fix)


def no_text(name: str) -> InputError:
    """The refusal of a file that is neither text nor of a known format."""
    return InputError("this is no text table (binary bytes)", where=name, fix="give CSV, Parquet or JSON lines")
