"""Results as JSON lines: appended as they come, read again to go on with a run or to replace some of its rows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Row = dict[str, Any]
Key = tuple[str, str, str]


def key_of(row: Row) -> Key:
    """Table, split and peer name one fit."""
    return row["table"], row["split"], row["peer"]


class Results:
    """Rows by key, in the order of their first appearance, and the file to which new ones are appended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Key, Row] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.rows[key_of(row)] = row

    def add(self, row: Row) -> None:
        """Keep a row, and write it at once."""
        self.rows[key_of(row)] = row
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def retry(self) -> None:
        """Drop what failed or was not installed, and the splits that were skipped for it: they are done again."""
        absent = {(row["table"], row["peer"]) for row in self.rows.values() if row["status"] == "absent"}
        if absent or any(row["status"] == "failed" for row in self.rows.values()):
            self.forget(lambda row: row["status"] == "failed" or (row["table"], row["peer"]) in absent)

    def forget(self, unwanted: Callable[[Row], bool]) -> None:
        """Drop rows, in the file too."""
        self.rows = {key: row for key, row in self.rows.items() if not unwanted(row)}
        self.path.write_text("".join(json.dumps(row) + "\n" for row in self.rows.values()))
