"""`rulekit compare`: files and artifacts of any kind, exit status, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done

RULES = """rulekit rules 1
column age: numeric, integer
column job: categorical {cook, clerk}
label y: {no, yes}
default no
decide yes when any of (age > 50, job in {cook})
"""


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    other = RULES.replace("{no, yes}", "{a, b}").replace("default no", "default a").replace("decide yes", "decide b")
    for name, text in (("rules", RULES), ("edited", RULES.replace("age > 50", "age > 40")), ("other", other)):
        (tmp_path / f"{name}.txt").write_text(text)


@pytest.mark.parametrize(
    "name", ["export.onnx", pytest.param("export.py", marks=pytest.mark.long), "export.sql", "export.txt"]
)
def test_an_export_is_proved_equal_to_its_model_and_differs_from_an_edited_one(run: Run, name: str) -> None:
    target = {"py": "python", "txt": "text"}.get(name.split(".")[1], name.split(".")[1])
    done(run(f"export rules.txt --to {target} -o {name}"))
    assert "PROVED EQUAL" in done(run(f"compare rules.txt {name}")).out
    ran = run(f"compare {name} edited.txt --json")
    assert ran.status == 1
    assert json.loads(ran.out)["flips"][0]["witness"]["after"] == "yes"


def test_an_artifact_that_does_not_decide_as_its_rules_is_a_fault(run: Run) -> None:
    """The graph inside would be proved equal, and the file decides otherwise."""
    done(run("export rules.txt --to sql -o export.sql"))
    text = Path("export.sql").read_text()
    changed = "\n".join(line.replace("50", "55") if not line.startswith("--") else line for line in text.split("\n"))
    assert changed != text
    Path("export.sql").write_text(changed)
    ran = run("compare rules.txt export.sql")
    assert ran.status == 1
    assert "FAULT" in ran.out
    assert "PROVED EQUAL" not in ran.out


def test_files_that_cannot_be_compared_are_refused(run: Run) -> None:
    assert_refused(run("compare rules.txt other.txt"), "other classes")
    Path("other.txt").write_text("rulekit rules 1\n")
    assert_refused(run("compare rules.txt other.txt"), "other.txt")
