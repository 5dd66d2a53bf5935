"""Overrides through every command: put on, taken off, kept by whatever makes another model of one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rulekit.audit.threshold import Purpose
from rulekit.errors import InputError
from rulekit.graph.files.model_files import load
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.shown.rule_rows import hand_made
from rulekit.tables.options import ReadingOptions
from rulekit.work.changes.editing import edit
from rulekit.work.changes.overrides import Written, listed_overrides, override, read_written
from rulekit.work.changes.refitting import refit
from rulekit.work.evaluating import evaluate, move_threshold
from rulekit.work.models import import_model, resize, simplify
from rulekit.work.scoring import score
from rulekit.work.training import TrainingRequest, train

SIGNED = {"author": "A. Jones", "date": "2026-11-25", "reason": "seen by a person"}
RULE = Written("a > 0.9 and c in {green} -> yes", **SIGNED, expires="2037-06-30")
TOML = """
[[override]]
rule = "a > 0.9 and c in {green} -> yes"
author = "A. Jones"
date = 2026-11-25
reason = "seen by a person"
expires = 2037-06-30
[[override]]
id = "old"
rule = "b > 9 -> no"
author = "B"
date = "2020-01-01"
expires = 2020-12-31
reason = "a trial"
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 rows: yes where a > 0.5 and c is red or blue, with some noise."""
    rng = np.random.default_rng(3)
    lines = ["a,b,c,label"]
    for _ in range(400):
        a, b, c = round(rng.random(), 2), round(rng.normal(), 3), rng.choice(["red", "green", "blue"])
        yes = (a > 0.5 and c != "green") != (rng.random() < 0.05)
        lines.append(f"{a},{b},{c},{'yes' if yes else 'no'}")
    path = tmp_path_factory.mktemp("data") / "rows.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def model(data: Path) -> Path:
    """A model of plain rules beside a formula's probability, under one override."""
    path, base = data.with_name("model.json"), data.with_name("base.json")
    request = TrainingRequest(data, ReadingOptions(target="label"), parameters={"max_rules": 3}, output=base)
    train(request)
    override(base, (RULE,), data=data, output=path)
    return path


def held(graph: RuleGraph, data: Path) -> None:
    """Assert that the override is there as it was and decides."""
    assert [(each.id, each.author, each.expires) for each in graph.overrides] == [("o1", "A. Jones", "2037-06-30")]
    rows = {"a": [0.95, 0.95, 0.2], "b": [0.0, 0.0, 0.0], "c": ["green", "red", "green"]}
    assert graph.decide(rows)[0] == 1
    assert graph.decide(rows)[1:].tolist() == graph.underlying.decide(rows)[1:].tolist()
    chances, threshold = graph.predict_proba(rows)[:, 1], float(graph.provenance.get("threshold", 0.5))
    assert ((chances > threshold) == (graph.decide(rows) == 1)).all()


def test_it_says_which_rows_change_and_proves_the_rest(model: Path, data: Path) -> None:
    base = load(model.with_name("base.json"))
    done = override(model.with_name("base.json"), (RULE,), data=data)
    table = [line.split(",") for line in data.read_text().splitlines()[1:]]
    rows = {"a": [float(r[0]) for r in table], "b": [float(r[1]) for r in table], "c": [r[2] for r in table]}
    changed = np.flatnonzero(base.predict(rows) != done.model.predict(rows)) + 1
    assert done.rows is not None
    assert [row.row for row in done.rows] == changed.tolist()
    assert all((row.after, row.rule) == ("yes", "o1 added") for row in done.rows)
    assert [verdict.outcome for verdict in done.verdicts] == ["proved"]
    assert done.unchanged.proved
    held(done.model, data)
    note = done.model.provenance["edits"][-1]
    assert (note["author"], note["added"], note["rows_changed"]) == ("A. Jones", ["o1"], len(done.rows))
    assert list(done.lines(1))[-1] == "proved: every row on which no changed rule holds is decided as before"
    assert done.as_dict()["overrides"][0]["expires"] == "2037-06-30"


def test_first_and_remove(model: Path, data: Path) -> None:
    more = Written("a > 0.95 -> no", **SIGNED)
    last = override(model, (more,))
    first = override(model, (more,), first=True)
    assert [each.id for each in last.model.overrides] == ["o1", "o2"]
    assert [each.id for each in first.model.overrides] == ["o2", "o1"]
    row = {"a": [0.99], "b": [0.0], "c": ["green"]}
    assert (last.model.predict(row)[0], first.model.predict(row)[0]) == ("yes", "no")
    assert last.unchanged.proved
    assert first.unchanged.proved
    done = override(model, remove=("o1",), **SIGNED)
    assert done.model == load(model.with_name("base.json"))
    assert [rule.id for rule in done.removed] == ["o1"]
    assert done.unchanged.proved
    assert done.model.provenance["edits"][-1]["removed"] == ["o1"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"add": ()}, "nothing to change"),
        ({"add": (replace(RULE, date=""),)}, "has no date"),
        ({"add": (replace(RULE, date="2026-02-30"),)}, "is no date"),
        ({"add": (replace(RULE, rule="a > 1"),)}, "names no class"),
        ({"add": (replace(RULE, rule="z > 1 -> yes"),)}, "no column 'z'"),
        ({"add": (replace(RULE, rule="a > 1 -> perhaps"),)}, "no class 'perhaps'"),
        ({"add": (replace(RULE, rule="c in {pink} -> yes"),)}, "has no level 'pink'"),
        ({"add": (replace(RULE, id="o1"),)}, "an override 'o1' already"),
        ({"add": (), "remove": ("o7",)}, "no override 'o7'"),
    ],
)
def test_what_cannot_be_put_on_is_refused(model: Path, change: dict[str, Any], why: str) -> None:
    with pytest.raises(InputError, match=why):
        override(model, **change)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[[override]", "no TOML"),
        ("a = 1", r"no tables \[\[override\]\]"),
        ("[override]\nrule = 'x'", r"no tables \[\[override\]\]"),
        (TOML.replace("reason", "because", 1), "no key 'because'"),
        (TOML.replace('author = "A. Jones"', ""), "it has no author"),
        (TOML.replace("2026-11-25", "2026-11-25T12:00:00"), "date is neither a text nor a date"),
        (TOML.replace('"B"', "3"), "author is neither a text nor a date"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "overrides.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=why):
        read_written(path)


def test_every_command_keeps_an_override(model: Path, data: Path, tmp_path: Path) -> None:
    graph = load(model)
    assert graph.ladder is not None
    others = [simplify(model).model, refit(model, data).model]
    others += [move_threshold(model, data, Purpose(at=share)).model for share in (0.3, 0.9)]
    for other in (*others, *(resize(model, size=size).model for size in graph.ladder.sizes)):
        held(other, data)
    text = tmp_path / "rules.txt"
    text.write_text(str(graph))
    assert import_model(text).model == graph
    assert import_model(text).model.provenance == {"imported": True}


def test_an_edit_of_the_rules_beneath_keeps_an_override(model: Path, data: Path, tmp_path: Path) -> None:
    text = tmp_path / "rules.txt"
    text.write_text(str(load(model)).replace("a > 0.5", "a > 0.6", 1))
    edited = edit(text, model, data, author="C. Clerk", reason="policy 7")
    held(edited.model, data)
    assert edited.unchanged.proved
    assert [rule.id for rule in edited.added] == list(hand_made(edited.model))
    edited.model.save(tmp_path / "edited.json")
    anew = simplify(tmp_path / "edited.json").model
    assert [str(made) for made in hand_made(anew).values()] == [str(made) for made in hand_made(edited.model).values()]
    request = TrainingRequest(data, ReadingOptions(target="label"), start=tmp_path / "edited.json", date="2026-12-01")
    request = replace(request, parameters={"max_rules": 3, "stopping": "none"}, simplified=False)
    trained = train(request)
    held(trained.model, data)
    assert "C. Clerk" in {made.author for made in hand_made(trained.model).values()}


@pytest.mark.parametrize("learner", ["adaboost", "additive", "noisy-or", "ltu-tree"])
def test_training_keeps_the_overrides_of_a_file(learner: str, model: Path, data: Path, tmp_path: Path) -> None:
    request = TrainingRequest(
        data, ReadingOptions(target="label"), learner, {"stopping": "none"}, overrides=model, date="2037-06-30"
    )
    trained = train(request)
    held(trained.model, data)
    assert trained.notes[0] == "override o1 is kept, by A. Jones on 2026-11-25"
    assert trained.model.statistics["rules"][0]["id"] == "o1"
    if trained.model.ladder is not None:
        assert all(len(rung.model.overrides) == 1 for rung in trained.model.ladder.rungs)


def test_training_leaves_out_what_has_expired(model: Path, data: Path, tmp_path: Path) -> None:
    path, plain = tmp_path / "overrides.toml", tmp_path / "rules.txt"
    path.write_text(TOML)
    plain.write_text(str(load(model).underlying))
    request = TrainingRequest(data, ReadingOptions(target="label"), "adaboost", {"stopping": "none"}, overrides=model)
    trained = train(replace(request, overrides=path, date="2026-12-01"))
    held(trained.model, data)
    assert "override old expired on 2020-12-31 and is left out" in trained.notes[0]
    late = train(replace(request, date="2037-07-01"))
    assert late.model.overrides == ()
    assert "override o1 expired on 2037-06-30 and is left out" in late.notes[0]
    audited = replace(request.reading, roles={"c": "audit"})
    for change, said in (
        ({"date": "today"}, "is no date"),
        ({"overrides": plain}, "holds no override"),
        ({"overrides": None, "start": model}, "--overrides MODEL keeps the overrides"),
        ({"reading": audited, "date": "2026-12-01"}, "an override reads it, its role is audit"),
    ):
        with pytest.raises(InputError, match=said):
            train(replace(request, **change))


def test_what_has_expired_goes_on_to_decide_and_is_said(data: Path, tmp_path: Path) -> None:
    graph = parse_graph(
        'rulekit rules 1\ncolumn a: numeric\nlabel "label": {no, yes}\ndecide yes when a > 0.5\n'
        "override o1 by A on 2020-01-01 until 2020-12-31 because b: a > 0.9 -> no\n"
    )
    path = tmp_path / "old.json"
    graph.save(path)
    note = "override o1 expired on 2020-12-31 and still decides"
    assert note in evaluate(path, data).notes[-1]
    scores = score(path, data)
    assert note in scores.notes[0]
    assert graph.predict({"a": [0.95]})[0] == "no"
    assert [each["expired"] for each in listed_overrides(graph)] == [True]
    assert [each["expired"] for each in listed_overrides(graph, "2020-12-31")] == [False]


def test_an_estimator_keeps_the_overrides_of_its_start(model: Path, data: Path) -> None:
    import polars as pl

    from rulekit import RulesClassifier

    frame = pl.read_csv(data)
    fitted = RulesClassifier(max_rules=3, stopping="none", start=load(model)).fit(frame.drop("label"), frame["label"])
    held(fitted.rule_graph_, data)
