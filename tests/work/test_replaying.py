"""Recorded decisions under another model: every count is that of row by row, and what cannot be decided is said."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.names import label_text
from rulekit.work import replaying
from rulekit.work.deciding import Decider
from rulekit.work.replaying import logged, replay, replay_decisions

HEAD = """rulekit rules 1
column income: numeric
column town: categorical {north, south, "3"}
column owner: boolean
column day: numeric, date
label y: {no, yes}
default no
"""
A = parse_graph(f"{HEAD}decide yes when any of (income > 100 and owner, town in {{south}})")
B = parse_graph(f"{HEAD}decide yes when any of (income > 150 and owner, town in {{north}}, day > 2020-01-01)")
CELLS = {
    "income": [None, 50, 120.5, 200, "180", 150],
    "town": [None, "north", "south", 3, "elsewhere", "3.0"],
    "owner": [None, True, False],
    "day": [None, "2019-05-01", "2021-05-01"],
}


def decisions(model, n, seed=0, masked=0.0):
    """What a service that runs a model would record of random rows, some cells of which it keeps to itself."""
    rng, decider = np.random.default_rng(seed), Decider.of(model)
    found = []
    for number in range(n):
        row = {name: cells[rng.integers(len(cells))] for name, cells in CELLS.items()}
        decided = decider.decide(decider.table({name: [cell] for name, cell in row.items()}))
        hidden = [name for name in CELLS if rng.random() < masked]
        found.append(
            {
                "id": f"d{number}",
                "time": f"2026-11-29T12:00:{number % 60:02}Z",
                "model": "loans",
                "digest": model.digest,
                "row": {name: cell for name, cell in row.items() if name not in hidden},
                "masked": hidden,
                "label": model.classes[decided.labels[0]],
                "probabilities": decided.probabilities[0].tolist(),
                "rules": decider.fired_ids(decided, 0),
            }
        )
    return found


def written(path: Path, found) -> Path:
    lines = "".join(json.dumps(each) + "\n" for each in found)
    path.write_bytes(gzip.compress(lines.encode()) if path.suffix == ".gz" else lines.encode())
    return path


@pytest.mark.parametrize("size", [1, 7, 400])
def test_every_count_is_that_of_row_by_row(size):
    log = decisions(A, 400, masked=0.05)
    found = replay_decisions(Decider.of(B), [log[start : start + size] for start in range(0, 400, size)])
    decider = Decider.of(B)
    flips, before, after, masked, whole = Counter(), Counter(), Counter(), Counter(), 0
    for each in log:
        if each["masked"]:
            masked.update(each["masked"])
            continue
        whole += 1
        decided = decider.decide(B.table([each["row"]]))
        label = B.classes[B.decide([each["row"]])[0]]
        if label != each["label"]:
            flips[each["label"], label] += 1
            before.update(each["rules"] or [""])
            after.update(decider.fired_ids(decided, 0) or [""])
    assert sum(flips.values()) > 50
    assert len(flips) == 2
    assert (found.recorded, found.replayed, found.others) == (400, whole, sum(flips.values()))
    assert (found.flips, found.rules_before, found.rules_after, found.masked) == (flips, before, after, masked)
    assert found.digests == {A.digest: [whole, sum(flips.values())]}


def test_a_model_decides_its_own_decisions_alike():
    found = replay_decisions(Decider.of(A), [decisions(A, 200)])
    assert (found.replayed, found.others, found.contradicted) == (200, 0, 0)
    wrong = decisions(A, 3)
    wrong[1]["label"] = "maybe"
    found = replay_decisions(Decider.of(A), [wrong])
    assert (found.others, found.contradicted) == (1, 1)
    assert any(word == "FAULT" for word, _ in found.lines())


def test_only_columns_that_the_model_reads_keep_a_decision_from_being_replayed():
    log = decisions(A, 10)
    log[0] |= {"masked": ["income", "day"], "row": {"town": "south", "owner": None}}
    log[1] |= {"masked": ["other"]}
    log[2]["row"] = {name: cell for name, cell in log[2]["row"].items() if name != "day"}
    found = replay_decisions(Decider.of(B), [log])
    assert (found.replayed, found.masked, found.absent) == (8, {"income": 1, "day": 1}, {"day": 1})
    found = replay_decisions(Decider.of(A), [log])
    assert (found.replayed, found.masked, found.absent) == (9, {"income": 1}, {})


def test_a_model_that_reads_no_column_decides_every_row():
    none = parse_graph(f"{HEAD}decide yes when false")
    log = decisions(A, 50, masked=0.3)
    found = replay_decisions(Decider.of(none), [log])
    assert found.replayed == 50
    assert found.others == sum(each["label"] == "yes" for each in log)


def test_cells_that_the_model_refuses_are_counted(monkeypatch):
    log = decisions(A, 100)
    for number in (3, 4, 90):
        log[number]["row"]["income"] = "much"
    found = replay_decisions(Decider.of(B), [log])
    assert (found.replayed, found.refused) == (97, 3)
    assert found.refusal.startswith("d3: data row 1, column 'income': 'much' is not a number")
    monkeypatch.setattr(replaying, "MOST_REFUSED", 2)
    with pytest.raises(InputError, match="B refuses more than 2 of the recorded rows, first d3: "):
        replay_decisions(Decider.of(B), [log])


def test_labels_of_any_type_are_compared_as_they_are_written():
    truths = A.with_(classes=(False, True))
    log = [{**each, "label": label_text(each["label"])} for each in decisions(truths, 20)]
    assert {each["label"] for each in log} == {"true", "false"}
    assert replay_decisions(Decider.of(truths), [log]).others == 0
    assert replay_decisions(Decider.of(truths), [decisions(truths, 20)]).others == 0


@pytest.mark.parametrize("name", ["log.jsonl", "log.jsonl.gz"])
def test_a_log_is_read_in_blocks(tmp_path, monkeypatch, name):
    log = decisions(A, 30)
    path = written(tmp_path / name, log)
    assert [list(block) for block in logged(path)] == [log]
    monkeypatch.setattr(replaying, "BLOCK", 8)
    assert [len(block) for block in logged(path)] == [8, 8, 8, 6]
    monkeypatch.setattr(replaying, "MOST_OF_A_BLOCK", 1000)
    blocks = list(logged(path))
    assert max(map(len, blocks)) <= 4
    assert [each for block in blocks for each in block] == log


def test_the_file_of_others_has_all_and_the_examples_are_few(tmp_path):
    path = written(tmp_path / "log.jsonl", decisions(A, 200))
    B.save(tmp_path / "b.json")
    found = replay(path, tmp_path / "b.json", output=tmp_path / "others.csv", examples=3)
    with (tmp_path / "others.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == found.others > 3
    assert [row["id"] for row in rows[:3]] == [each.id for each in found.examples]
    assert Counter((row["before"], row["after"]) for row in rows) == found.flips
    assert json.loads(json.dumps(found.as_dict()))["others"] == found.others


GOOD = decisions(A, 1)[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "this is no JSON: Expecting property name enclosed in double quotes"),
        ("[]", "this is no object"),
        ("[" * 100_000, "the JSON is nested too deeply"),
        (json.dumps({**GOOD, "id": 3}), "'id' is no text"),
        (json.dumps({key: value for key, value in GOOD.items() if key != "digest"}), "it has no 'digest'"),
        (json.dumps({**GOOD, "row": [1]}), "'row' is no object of cells"),
        (json.dumps({**GOOD, "row": {"income": [1]}}), "'row' is no object of cells"),
        (json.dumps({**GOOD, "row": {"income": float("nan")}}), "NaN is not a JSON number"),
        (json.dumps({**GOOD, "label": None}), "'label' is no label"),
        (json.dumps({**GOOD, "masked": "income"}), "'masked' is no list of texts"),
        (json.dumps({**GOOD, "rules": [1]}), "'rules' is no list of texts"),
        ('{"id": "a", "id": "b"}', "the key 'id' stands twice in one object"),
        ('{"id": ' + "9" * 5000 + "}", "an integer has too many digits"),
        (b"\xff", "this is no UTF-8 text"),
        (b" " * (2 << 20), "more than 1 MB in one line"),
    ],
)
def test_a_line_that_is_no_decision_is_named(tmp_path, line, said):
    good = json.dumps(GOOD).encode() + b"\n\n"
    path = tmp_path / "log.jsonl"
    path.write_bytes(good + (line if isinstance(line, bytes) else line.encode()) + b"\n" + good)
    with pytest.raises(InputError) as caught:
        list(logged(path))
    assert str(caught.value) == f"log.jsonl, line 3: {said}; a log has one recorded decision a line"


def test_half_characters_of_a_log_are_written_and_refused_as_cells(tmp_path):
    """JSON can write them; no file of UTF-8 can hold them."""
    log = decisions(A, 2)
    log[0] |= {"id": "\ud800", "label": "\udfff"}
    log[1]["row"]["town"] = "\ud800"
    B.save(tmp_path / "b.json")
    path = written(tmp_path / "log.jsonl", log)
    found = replay(path, tmp_path / "b.json", output=tmp_path / "others.csv")
    assert (found.others, found.refused) == (1, 1)
    assert "\\ud800" in (tmp_path / "others.csv").read_text()
