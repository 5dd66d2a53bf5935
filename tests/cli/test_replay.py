"""`rulekit replay`: recorded decisions under another model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused, done

from rulekit.graph.language.parsing import parse_graph
from rulekit.work.deciding import Decider

HEAD = "rulekit rules 1\ncolumn income: numeric\ncolumn age: numeric\nlabel y: {no, yes}\ndefault no\n"
OLD = parse_graph(f"{HEAD}decide yes when income > 100")
NEW = parse_graph(f"{HEAD}decide yes when income > 110 and age > 20")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    NEW.save("new.json")
    decider = Decider.of(OLD)
    lines = []
    for number, income in enumerate((90, 105, 120, 130)):
        row = {"income": income, "age": 30}
        decided = decider.decide(decider.table({name: [cell] for name, cell in row.items()}))
        masked = ["age"] * (number == 3)
        kept = {name: cell for name, cell in row.items() if name not in masked}
        label, rules = OLD.classes[decided.labels[0]], decider.fired_ids(decided, 0)
        known = {"id": f"d{number}", "time": "2026-11-29", "model": "m", "digest": OLD.digest}
        lines.append(json.dumps({**known, "row": kept, "masked": masked, "label": label, "rules": rules}))
    Path("log.jsonl").write_text("\n".join(lines) + "\n")


def test_it_says_what_would_be_decided_otherwise(run: Run) -> None:
    ran = done(run("replay", "log.jsonl", "--model", "new.json"))
    (old,), (new,) = ([rule.id for rule in Decider.of(graph).rules] for graph in (OLD, NEW))
    assert ran.out.splitlines() == [
        f"B             new.json: digest {NEW.digest[:12]}",
        "replayed      3 of 4 decisions",
        "others        1 decision would change (33.3 %)",
        f"made by       3 decisions: digest {OLD.digest[:12]}, 1 would change",
        'flip          1 decision: "yes" to "no"',
        f"before        1 decision: {old}",
        "under B       1 decision: no rule fires",
        "not replayed  1 decision: B reads 'age', which is masked",
        f'example       d1, 2026-11-29: "yes" to "no"; {old} -> no rule',
    ]
    assert new != old


def test_json_and_the_file(run: Run) -> None:
    ran = done(run("replay", "log.jsonl", "--model", "new.json", "--json", "-o", "others.csv", "--examples", "0"))
    found = json.loads(ran.out)
    assert (found["recorded"], found["replayed"], found["others"], found["not_replayed"]) == (4, 3, 1, 1)
    assert found["flips"] == [{"before": "yes", "after": "no", "decisions": 1}]
    assert (found["masked"], found["examples"]) == ({"age": 1}, [])
    assert "wrote others.csv: 1 rows" in ran.err
    assert len(Path("others.csv").read_text().splitlines()) == 2


def test_what_is_wrong_is_one_line(run: Run) -> None:
    with Path("log.jsonl").open("a") as file:
        file.write('{"id": "d4"}\n')
    ran = run("replay", "log.jsonl", "--model", "new.json", "-o", "others.csv")
    assert_refused(ran, "log.jsonl, line 5: it has no 'time'; a log has one recorded decision a line")
    assert not Path("others.csv").exists()
    assert_refused(run("replay", "none.jsonl", "--model", "new.json"), "none.jsonl: cannot be read: no such file")
    assert_refused(run("replay", "log.jsonl", "--model", "none.json"), "none.json: cannot be read: no such file")
    assert_refused(run("replay", "log.jsonl", "--model", "new.json", "-o", "log.jsonl"), "this file is read")
    Path("cut.jsonl.gz").write_bytes(b"\x1f\x8b\x08")
    assert_refused(run("replay", "cut.jsonl.gz", "--model", "new.json"), "cut.jsonl.gz: damaged gzip file")
