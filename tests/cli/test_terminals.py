"""Narrow terminals, and encodings that lack characters of the output."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done

COMMANDS = """describe table.csv
train table.csv --target label --holdout 0.25 --param max_rules=2 --param n_folds=2 -o narrow.json
show model.json
check model.json
evaluate model.json table.csv --by c
predict model.json table.csv --explain
explain model.json table.csv --row 3
monitor model.json table.csv
threshold model.json table.csv --recall 0.9 -o moved.json
compare model.json model.json
train --help""".splitlines()


@pytest.mark.parametrize("columns", [pytest.param("1", marks=pytest.mark.long), "10"])
def test_a_narrow_terminal_stops_no_command(
    run: Run, model: Path, table: Path, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """COLUMNS=10 ended in "invalid width -5" after the learning, without a model."""
    monkeypatch.setenv("COLUMNS", columns)
    for line in COMMANDS:
        done(run(line, baselines=columns == "10"))


class _Output(io.TextIOWrapper):
    """Standard output in an encoding, whose text can be read back."""

    def __init__(self, encoding: str) -> None:
        super().__init__(io.BytesIO(), encoding=encoding, newline="\n")

    def text(self) -> str:
        self.flush()
        content: bytes = self.buffer.getvalue()  # type: ignore[attr-defined]
        return content.decode(self.encoding)


@pytest.mark.long
@pytest.mark.parametrize("encoding", ["ascii", pytest.param("latin-1", marks=pytest.mark.long)])
def test_an_encoding_that_lacks_a_character_stops_no_command(
    run: Run, model: Path, table: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without `±` in the encoding a training ended in a UnicodeEncodeError, after the learning."""
    for line in COMMANDS:
        output = _Output(encoding)
        with monkeypatch.context() as patch:
            patch.setattr("sys.stdout", output)
            ran = run(line, baselines=encoding == "ascii")
        assert ran.status == 0, (line, ran.err)
        assert output.text() or line.startswith("threshold")


def test_data_are_never_respelled(run: Run, model: Path, table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cell that the encoding of standard output lacks is refused as CSV, and escaped in JSON."""
    table.write_text(table.read_text().replace("red", "czerwień"))
    refused, escaped = _Output("ascii"), _Output("ascii")
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", refused)
        ran = run("predict", str(model), str(table), "--keep", "c")
        patch.setattr("sys.stdout", escaped)
        as_json = run("predict", str(model), str(table), "--keep", "c", "--json")
    assert_refused(ran, "standard output: the encoding ascii has no 'ń'; set PYTHONIOENCODING=utf-8, or use -o FILE")
    assert as_json.status == 0
    assert {row["c"] for row in json.loads(escaped.text())} == {"czerwień", "blue", "green"}
