"""The script of the page decides as the model: run by Node.js on rows that are made to show a difference."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rulekit.audit.report import scoring
from rulekit.audit.report.scoring.steps import program_json
from rulekit.conformance.models import LEARNED, MODELS
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired, rules_of
from rulekit.tokens import tokens
from rulekit.verification.rows.adversarial import adversarial_rows

EVALUATOR = Path(scoring.__file__).with_name("evaluator.js")
ROWS = 60
DRIVER = """
const { readFileSync } = require("node:fs");
const answers = {};
for (const [name, { program, rows }] of Object.entries(JSON.parse(readFileSync(0, "utf8")))) {
  answers[name] = rows.map((texts) => {
    const row = {};
    program.columns.forEach((column, k) => {
      const dated = column.kind === "numeric" && column.display !== "number" && texts[k] !== "";
      row[column.name] = dated ? Number(texts[k]) : rulekit.readCell(column, texts[k], program);
    });
    return rulekit.score(program, row);
  });
}
console.log(JSON.stringify(answers));
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def typed(cell: Any) -> str:
    """A cell as one types it."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(cell) if isinstance(cell, str) else repr(float(cell)).replace("inf", "Infinity")


def answers(tables: Mapping[str, tuple[dict[str, Any], list[list[str]]]]) -> dict[str, list[dict[str, Any]]]:
    """What the script says of rows of typed cells, by the name of their program."""
    asked = {name: {"program": program, "rows": rows} for name, (program, rows) in tables.items()}
    script = EVALUATOR.read_text() + DRIVER
    ran = subprocess.run(
        ["node", "-e", script], input=json.dumps(asked), capture_output=True, text=True, check=True, timeout=120
    )
    found: dict[str, list[dict[str, Any]]] = json.loads(ran.stdout)
    return found


def rows_of(graph: RuleGraph, n: int = ROWS) -> tuple[Any, list[list[str]]]:
    made = adversarial_rows(graph, n)
    cells = [made.columns[name].tolist() for name in graph.used_features]
    for feature, column in zip((graph.schema[name] for name in graph.used_features), cells, strict=True):
        if feature.kind == "boolean":
            column[:] = ["" if math.isnan(x) else "true" if x else "false" for x in column]
    return made.table, [[typed(column[i]) for column in cells] for i in range(n)]


@needs_node
@pytest.mark.long_from("part", 1)
@pytest.mark.parametrize("part", range(4))
def test_every_kind_of_model_decides_alike_on_adversarial_rows(part: int) -> None:
    """All conformance models; those that have too many steps for a page are counted."""
    graphs = {name: make() for k, (name, make) in enumerate(MODELS.items()) if k % 4 == part}
    programs = {name: program_json(graph, {}) for name, graph in graphs.items()}
    tables = {name: rows_of(graphs[name]) for name, program in programs.items() if program is not None}
    assert len(programs) - len(tables) <= 2

    found = answers({name: (programs[name] or {}, rows) for name, (_, rows) in tables.items()})

    for name, (table, _) in tables.items():
        graph = graphs[name]
        assert [row["label"] for row in found[name]] == graph.decide(table).tolist(), name
        chances = np.array([row["probabilities"] for row in found[name]], dtype=float)
        assert np.abs(chances - graph.predict_proba(table)).max() < 1e-12, name
        stated = [rule["id"] for rule in programs[name]["rules"]]  # type: ignore[index]
        ids = [rule.id for rule in rules_of(graph)]
        boolean = [ids.index(rule) for rule in stated if not rules_of(graph)[ids.index(rule)].nested]
        holds = np.array([row["holds"] for row in found[name]], dtype=bool).reshape(len(table), len(stated))
        own = [stated.index(ids[j]) for j in boolean]
        assert (holds[:, own] == fired(graph, table)[:, boolean]).all(), name


TEXTS = """rulekit rules 1
column t: text, missing {"none"}
column d: numeric, float64, date
column c: categorical {"1", "x"}, unseen error
label y: {"no", "yes"}
default "no"

decide "yes" when any of (
  t contains any of {"straße", "other"} and t lacks "bad",
  d > 19000,
  c in {"1"}
)
"""


@needs_node
def test_texts_dates_and_levels_are_read_as_the_model_reads_them() -> None:
    graph = parse_graph(TEXTS)
    program = program_json(graph, {})
    assert program is not None
    texts = ["STRASSE straße!", "I\u0307 x", "bad straße", "none", "", "👍straße👍", "stra\u00dfe.bad_x", "ſtraße"]
    rows = [[text, "", "x"] for text in texts] + [
        ["", "2022-01-09", "x"],
        ["", "2022-01-07T12:00", "x"],
        ["", "", "1.0"],
    ]
    driver = DRIVER.replace("dated ?", "false ?")
    asked = {"m": {"program": program, "rows": rows}}
    ran = subprocess.run(
        ["node", "-e", EVALUATOR.read_text() + driver],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "the model refuses a level it never saw" in ran.stderr
    asked["m"]["rows"] = rows[:-1]
    ran = subprocess.run(
        ["node", "-e", EVALUATOR.read_text() + driver],
        input=json.dumps(asked),
        capture_output=True,
        text=True,
        check=True,
    )
    found = [row["label"] for row in json.loads(ran.stdout)["m"]]
    cells = {"t": [*texts, "", ""], "d": [None] * len(texts) + [19001.0, 18999.5], "c": ["x"] * (len(texts) + 2)}
    assert found == graph.decide(cells).tolist()
    assert 0 < sum(found) < len(found)


@needs_node
def test_words_are_those_of_the_tables() -> None:
    texts = ["Ünïcode ÀÉ x ab_cd", "a\u00adbc", "１２ ab", "Σίσυφος", "日本語 テスト", "\ud7ff\ue000ab"]
    graph = parse_graph(TEXTS)
    tables = program_json(graph, {})["tokens"]  # type: ignore[index]
    script = EVALUATOR.read_text().replace("return { score, readCell }", "return { score, readCell, words }")
    script += """
const [tables, texts] = JSON.parse(require("node:fs").readFileSync(0));
console.log(JSON.stringify(texts.map((text) => [...rulekit.words(text, tables)])));
"""
    ran = subprocess.run(
        ["node", "-e", script], input=json.dumps([tables, texts]), capture_output=True, text=True, check=True
    )
    assert json.loads(ran.stdout) == [list(dict.fromkeys(tokens(text))) for text in texts]


def test_a_program_is_json_of_a_bounded_size() -> None:
    for make in LEARNED.values():
        program = program_json(make(), {})
        assert program is not None
        assert len(json.dumps(program, allow_nan=False)) < 400_000
