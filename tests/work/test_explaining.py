"""Explaining rows of a file, and catalogues of reasons as files: which rows, what is refused, what is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.limits import Deadline
from rulekit.work.scoring import Explanations, explain, lint_catalogue, score, start_catalogue

RULES = """rulekit rules 1
column income: numeric, money
column late: numeric, integer
column purpose: categorical {car, gambling, home}
label "default": {no, yes}
default no
decide yes when any of (income <= 24900 and late > 2, purpose in {gambling})
"""
DATA = "id,income,late,purpose\n007,21000,3,car\n008,30000,5,gambling\n009,,1,boat\n010,20000,4,gambling\n"
CATALOGUE = """adverse = "yes"
[[reason]]
code = "R1"
text = "Income is too low"
columns = ["income"]
direction = "up"
[[reason]]
code = "R2"
text = "Late payments"
columns = ["late"]
[[reason]]
code = "R3"
text = "Purpose of the loan"
columns = ["purpose"]
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    parse_graph(RULES).save(tmp_path / "model.json")
    (tmp_path / "data.csv").write_text(DATA)
    (tmp_path / "reasons.toml").write_text(CATALOGUE)
    return tmp_path


def explained(files: Path, **more: Any) -> Explanations:
    return explain(files / "model.json", files / "data.csv", **more)


def test_rows_are_chosen_by_number_and_by_value(files: Path) -> None:
    assert [row["row"] for row in explained(files).rows] == [1, 2, 3, 4]
    assert [row["row"] for row in explained(files, rows=(3, 1, 3)).rows] == [1, 3]
    assert [row["row"] for row in explained(files, ids={"id": "008"}).rows] == [2]
    assert [row["row"] for row in explained(files, ids={"purpose": "gambling"}, rows=(1, 4)).rows] == [4]
    first = next(iter(explained(files, rows=(2,)).lines()))
    assert first == "Row 2"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"rows": (5,)}, "--row: there is no row 5; rows are 1 to 4"),
        ({"ids": {"id": "7"}}, "--id: no row has id=7"),
        ({"ids": {"no": "7"}}, "no column 'no'"),
        ({"immutable": ("incom",)}, "no column 'incom'"),
        ({"directions": {"purpose": "up"}}, "neither up nor down"),
        ({"to": "maybe"}, "--to: no class 'maybe'"),
        ({"adverse": ("yes",)}, "--adverse: reasons are given from a catalogue"),
    ],
)
def test_what_there_is_not_is_refused(files: Path, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        explained(files, **wrong)


def test_many_rows_go_to_a_file_a_line_each_and_into_sentences_while_there_is_time(files: Path) -> None:
    """The first ones always; 1,000 rows under 5,000 rules took 71 s with a limit of 20."""
    (files / "data.csv").write_text(DATA + DATA.split("\n", 1)[1] * 6)
    with pytest.raises(InputError, match="28 rows are more than one reads"):
        explained(files)
    explained(files, output=files / "out.txt")
    assert (files / "out.txt").read_text().startswith('Row 1\n  The decision is "yes".\n')
    timely = explained(files, as_json=True, deadline=Deadline(600.0), output=files / "out.json")
    assert timely.rows[22]["sentences"] == timely.rows[2]["sentences"]
    text = timely.as_json()
    assert (files / "out.json").read_text() == f"{text}\n"
    assert len(text.split("\n")) == 30
    assert [row["row"] for row in json.loads(text)] == list(range(1, 29))
    assert json.loads(text)[21] == {**json.loads(text)[1], "row": 22}
    late = explained(files, as_json=True, deadline=Deadline(0.0)).rows
    assert "does not apply" in " ".join(late[2]["sentences"])
    assert {tuple(row["sentences"]) for row in late[20:]} == {
        ("This row has no sentences: the limit of 0 seconds was reached (--time-limit).",)
    }


def test_reasons_are_those_that_count_in_the_order_of_importance(files: Path) -> None:
    one, two, three, four = explained(files, catalogue=files / "reasons.toml").rows
    assert [reason["code"] for reason in one["reasons"]] == ["R1", "R2"]
    assert [reason["code"] for reason in two["reasons"]] == ["R3"]
    assert "reasons" not in three
    # gambling, and one of income and late: the nearest change moves purpose farthest
    assert [reason["code"] for reason in four["reasons"]] == ["R3", "R1", "R2"]
    assert four["counting"] == {"columns": ["income", "late", "purpose"], "complete": True}
    assert "Reason R3: Purpose of the loan (purpose)." in four["sentences"]
    (only,) = explained(files, rows=(4,), catalogue=files / "reasons.toml", most=1).rows
    assert [reason["code"] for reason in only["reasons"]] == ["R3"]


def test_predictions_have_a_column_of_reasons(files: Path) -> None:
    given: dict[str, Any] = {"catalogue": files / "reasons.toml"}
    found = score(files / "model.json", files / "data.csv", keep=["id"], **given)
    assert found.columns["reasons"] == ["R1 R2", "R3", None, "R3 R1 R2"]
    (files / "data.csv").write_text(DATA.replace("id,", "reasons,"))
    with pytest.raises(InputError, match="a column 'reasons' of their own"):
        score(files / "model.json", files / "data.csv", keep=["reasons"], **given)


def test_a_catalogue_that_is_started_passes_and_another_leaves_rows_without_a_reason(files: Path) -> None:
    start_catalogue(files / "model.json", files / "begun.toml", ["yes"])
    found = lint_catalogue(files / "model.json", files / "begun.toml", files / "data.csv")
    assert (found.ok, found.rows, found.adverse, found.without) == (True, 4, 3, ())
    (files / "reasons.toml").write_text(CATALOGUE.replace('"purpose"', '"age"'))
    found = lint_catalogue(files / "model.json", files / "reasons.toml", files / "data.csv")
    assert not found.ok
    assert [finding.kind for finding in found.lint.findings] == ["unknown column", "no reason"]
    assert (found.without, found.given) == ((2,), {"R1": 2, "R2": 2, "R3": 0})
    with pytest.raises(InputError, match="R3 names the column 'age'"):
        explained(files, catalogue=files / "reasons.toml")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("[[reason]]", "[reason"), "this is no TOML"),
        (lambda text: 'adverse = "yes"\n', "no reasons"),
        (lambda text: text.replace("direction", "directon"), "a catalogue has no 'directon'; did you mean 'direction'"),
        (lambda text: text.replace('"up"', '"sideways"'), "no direction 'sideways'"),
        (lambda text: text.replace('code = "R1"', "code = 1"), "`code` is a text"),
        (lambda text: text.replace('["late"]', "[]"), "names one column or more"),
        (lambda text: text.replace('["purpose"]', '["purpose"]\ndirection = "up"'), "column 'purpose' has no order"),
        (lambda text: text.replace('["late"]', '["late"]\nwhen = "income > 3"'), "reads the column of the reason"),
        (lambda text: text.replace('["late"]', '["late"]\nwhen = "late >"'), "reason R2, when"),
        (lambda text: text.replace('["late"]', '["late", "income"]\nwhen = "late > 3"'), "with `when` names one"),
        (lambda text: text.replace('adverse = "yes"', 'adverse = "maybe"'), "no class 'maybe'"),
    ],
)
def test_a_catalogue_that_cannot_be_read_is_refused(files: Path, change: Callable[[str], str], said: str) -> None:
    (files / "reasons.toml").write_text(change(CATALOGUE))
    with pytest.raises(InputError, match=said):
        lint_catalogue(files / "model.json", files / "reasons.toml")
