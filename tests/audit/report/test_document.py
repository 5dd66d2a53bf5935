"""Reports of models of every kind: what their sections say, and what is said where something is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_models import loans

import rulekit
from rulekit.audit.report.document import Document, json_text
from rulekit.audit.report.layouts import html, markdown
from rulekit.conformance.models import FAMILY, LEARNED, NODES
from rulekit.errors import FormatError, InputError
from rulekit.graph.language.text import print_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Schema
from rulekit.work.changes.editing import edit
from rulekit.work.models import import_model, verify
from rulekit.work.reporting import report

SECTIONS = (
    "summary purpose rules score missing coverage performance bounds groups columns checks verification probability "
    "sizes history stability comparison drift limits annex"
)


def made(**asked: Any) -> Document:
    trained = loans()
    return report(**{"model": trained.model, "data": trained.held, "reading": trained.reading, **asked}).document


def texts(document: Document, section: str) -> str:
    """The text of a section of the model card."""
    card = markdown(document)
    title = document.section(section).title
    return card.partition(f"## {title}\n")[2].partition("\n## ")[0]


def test_a_report_has_every_section_and_says_what_its_author_said() -> None:
    found = made(title="Loans", purpose="To look at some first.", author="R. Roe", date="2025-03-01")
    assert [section.id for section in found.sections] == SECTIONS.split()
    assert (found.title, found.subtitle) == ("Loans", f"R. Roe, 2025-03-01, model {found.digest[:12]}")
    assert "- purpose: To look at some first." in texts(found, "purpose")
    assert json.loads(json_text(found)) == json.loads(json.dumps(found.data))
    assert '| proved | as income grows, the decision never turns from "no" to "yes" |' in texts(found, "checks")
    assert found.data["checks"]["promises"][0]["outcome"] == "proved"
    assert found.data["summary"]["facts"]["promises"] == "1 proved"


def test_what_was_not_said_is_not_made_up() -> None:
    found = made(data=None)
    assert "- date: not stated" in texts(found, "purpose")
    assert found.subtitle == f"model {found.digest[:12]}"
    assert "No labelled rows were given" in texts(found, "coverage")
    assert "600 rows held out" in texts(found, "performance")  # as the training measured it


def test_a_report_that_checked_nothing_claims_nothing(tmp_path: Path) -> None:
    """The words "Nothing was found broken" stood in green where no promise was declared and nothing was verified."""
    graph = rulekit.load(loans().model)
    features = tuple(replace(feature, monotone=0) for feature in graph.schema)
    plain, text = tmp_path / "plain.json", tmp_path / "model.txt"
    graph.with_(schema=Schema(features, graph.schema.target), ladder=None).save(plain)
    rulekit.export(rulekit.load(plain), text, to="text")
    for model, artifacts, said in (
        (plain, (), "**Note:** The model declares no promise, and no artifact was verified."),
        (loans().model, (), "✓ No promise is broken. Limits says"),
        (plain, (text,), "✓ No verified artifact decides otherwise than the model. Limits says"),
    ):
        assert said in texts(made(model=model, artifacts=artifacts), "summary")


def verified(folder: Path, graph: RuleGraph) -> Path:
    """What `rulekit verify` wrote of a Python module of a model."""
    graph.save(folder / "m.json")
    rulekit.export(graph, folder / "model.py", to="python")
    verify(folder / "m.json", folder / "model.py", rows=50, report=folder / "p.json")
    return folder / "p.json"


def test_what_is_verified_now_is_proved_and_what_a_file_says_is_not(tmp_path: Path) -> None:
    """Anybody can write such a file."""
    path = verified(tmp_path, rulekit.load(loans().model))
    found = made(artifacts=(tmp_path / "model.py",))
    assert found.data["verification"]["reports"]["model.py"]["proof"] == "proved"
    assert "Proved: it decides every possible row as the model does" in texts(found, "verification")
    assert found.data["summary"]["facts"]["artifacts"] == "1 of 1 verified, 1 proved equal on every row"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"sha256": "0" * 64}))
    found = made(verifications=(path,))
    assert "So says the file that was given" in texts(found, "verification")
    said = "1 of 1 verified as a file says, which was not repeated here, 1 proved equal on every row"
    assert found.data["summary"]["facts"]["artifacts"] == said
    assert "what it says of an artifact was not repeated" in texts(found, "limits")


def test_files_of_another_model_say_nothing_of_this_one(tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text(json.dumps({"digest": "0" * 64, "dice_sorensen": 1}))
    other = verified(tmp_path, LEARNED[next(iter(LEARNED))]())
    found = made(verifications=(other,), stability=(tmp_path / "s.json",))
    assert "This report is of another model" in texts(found, "verification")
    assert "p.json verifies another model." in found.data["summary"]["to_know"]
    assert "This file is of another model" in texts(found, "stability")
    (tmp_path / "s.json").write_text("no json")
    with pytest.raises(FormatError):
        made(stability=(tmp_path / "s.json",))


def test_edited_rules_are_marked(tmp_path: Path) -> None:
    trained = loans()
    rules = print_graph(rulekit.load(trained.model)).replace("amount > 8000", "amount > 9000", 1)
    (tmp_path / "edited.rules").write_text(rules)
    edited = edit(
        tmp_path / "edited.rules", trained.model, trained.held, tmp_path / "edited.json", author="Ann", reason="law"
    )
    found = made(model=tmp_path / "edited.json")
    added = [rule.id for rule in edited.added]
    marks = {rule["id"]: rule["marks"] for rule in found.data["rules"]["rules"]}
    assert {rule for rule, words in marks.items() if words} == set(added)
    assert f"{added[0]} (edited by hand)" in texts(found, "rules")
    assert "| Ann | law |" in texts(found, "history")
    assert found.data["history"]["edits"][0]["rest_proved"] is True


def test_a_rule_text_without_its_base_has_no_record(tmp_path: Path) -> None:
    (tmp_path / "m.rules").write_text(print_graph(rulekit.load(loans().model)))
    import_model(tmp_path / "m.rules", tmp_path / "m.json")
    found = made(model=tmp_path / "m.json")
    assert "no record of learning" in texts(found, "rules")
    assert "Nothing is known of how the rules came about." in found.data["summary"]["to_know"]


def test_rows_that_trained_the_model_are_told() -> None:
    found = made(data=loans().training)
    assert any("training row" in text for text in found.data["summary"]["to_know"])


def test_files_of_other_commands_are_shown_as_they_stand(tmp_path: Path) -> None:
    digest = rulekit.load(loans().model).digest
    contents: dict[str, Any] = {
        "stability": {"digest": digest, "dice_sorensen": 0.75, "rules": [{"id": "r1", "share": 0.5}]},
        "comparison": {"equal": False, "models": [{"digest": "other"}, {"digest": digest}], "flips": [{"rows": 3}]},
        "drift": {"alike": False, "columns": [{"name": "age", "psi": 0.31, "new_levels": {"x": 2}}]},
    }
    files = {}
    for kind, content in contents.items():
        (tmp_path / f"{kind}.json").write_text(json.dumps(content))
        files[kind] = (tmp_path / f"{kind}.json",)
    found = made(**files)
    assert "agree by 0.75" in texts(found, "stability")
    assert "| r1 | 50.0 % |" in texts(found, "stability")
    assert "do not decide every row alike" in texts(found, "comparison")
    assert "| age | 0.31 | x 2 |" in texts(found, "drift")
    assert "drift.json: later rows are not like those of training." in found.data["summary"]["to_know"]
    assert found.data["drift"]["files"][0]["content"] == contents["drift"]


def kinds() -> Iterator[str]:
    yield from LEARNED
    yield from list(NODES)[::12]
    yield from list(FAMILY)[::20]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long if "deep" in name else ()) for name in kinds()]
)
def test_every_kind_of_model_has_a_report(name: str, tmp_path: Path) -> None:
    """Sums, trees, ranks, texts, several classes, noisy formulas."""
    graph = {**LEARNED, **NODES, **FAMILY}[name]()
    graph.save(tmp_path / "model.json")
    found = report(tmp_path / "model.json").document
    assert len(html(found)) > 20_000
    assert len(markdown(found)) > 3_000
    json.dumps(found.data, allow_nan=False)


def test_groups_need_rows_and_a_column_that_is_there() -> None:
    with pytest.raises(InputError, match="groups are of rows"):
        made(data=None, by=("purpose",))
    with pytest.raises(InputError, match="nope"):
        made(by=("nope",))
    found = made(by=("default",))
    assert [each["column"] for each in found.data["groups"]["groupings"]] == ["age", "homeowner", "default"]


def test_without_matplotlib_there_are_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    from rulekit.audit.report import measured_sections

    monkeypatch.setattr(measured_sections, "find_spec", lambda name: None)
    found = made()
    assert "Without matplotlib" in texts(found, "performance")
    assert '**Operating characteristic of "yes"**' in texts(found, "performance")
    assert "<figure>" not in html(found)


def test_a_report_has_one_of_three_endings(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a report is no \.pdf"):
        made(outputs=(tmp_path / "report.pdf",))
    with pytest.raises(InputError, match="would be lost"):
        made(outputs=(loans().held,))


@pytest.mark.parametrize(
    ("n", "shown"), [(6, '"a", "b", "c", "d", "e", "f"\n'), (8, '"a", "b", "c", "d", "e", "f", ...\n')]
)
def test_classes_that_are_left_out_are_not_denied(tmp_path: Path, n: int, shown: str) -> None:
    """Of 26 classes the report said that the model decides A, B, C, D, E, F."""
    text = f"rulekit rules 1\ncolumn x: numeric\nlabel y: {{{', '.join('abcdefgh'[:n])}}}\ndefault a\n"
    (tmp_path / "m.txt").write_text(f"{text}decide first of (c: x > 60, b: x > 40)\n")
    assert shown in texts(made(model=tmp_path / "m.txt", data=None), "summary")
