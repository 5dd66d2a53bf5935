"""Groups by columns that the model knows, and by others of the file."""

from __future__ import annotations

from pathlib import Path

import pytest

from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.tables.options import ReadingOptions
from rulekit.work.evaluating import evaluate

RULES = """rulekit rules 1
column x: numeric
column side: categorical {"l", "r"}
label y: {"no", "yes"}
default "no"

decide "yes" when any of (x > 1)
"""
ROWS = """x,side,note,y
2,l,b,yes
0,l,a,no
2,r,b,no
0,,a,yes
2,r,b,yes
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    parse_graph(RULES).save(tmp_path / "model.json")
    (tmp_path / "rows.csv").write_text(ROWS)
    return tmp_path / "model.json", tmp_path / "rows.csv"


def test_a_column_of_the_file_alone_makes_groups_too(files: tuple[Path, Path]) -> None:
    known, further = evaluate(*files, by=("side", "note")).groups
    assert [(group.name, group.rows) for group in known.groups] == [("l", 2), ("r", 2), ("(missing)", 1)]
    assert [(group.name, group.rows) for group in further.groups] == [("b", 3), ("a", 2)]
    rate = further.groups[0].rate("true positive rate")
    assert (rate.rows, rate.share) == (2, 1.0)
    assert further.spread["selection rate"] == 1.0
    assert evaluate(*files).groups == ()


def test_a_column_that_is_not_there_is_named(files: tuple[Path, Path]) -> None:
    with pytest.raises(InputError, match="no column 'sid'"):
        evaluate(*files, by=("sid",))


def test_rows_that_were_left_out_part_a_column_of_the_file_from_the_others(files: tuple[Path, Path]) -> None:
    files[1].write_text(ROWS + "1,l,c,\n")
    reading = ReadingOptions(missing_target="drop")
    assert evaluate(*files, reading, by=("side",)).figures.rows == 5
    with pytest.raises(InputError, match="1 rows have no label"):
        evaluate(*files, reading, by=("note",))
