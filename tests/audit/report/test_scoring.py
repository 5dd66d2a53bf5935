"""The form of the page, run by Node.js over a small document; the module has the conformance suite."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rulekit.audit import report
from rulekit.audit.report.rule_sections import row_form
from rulekit.conformance.models import LEARNED
from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rules import rules_of
from rulekit.targets import find_target

FORM = Path(report.__file__).with_name("form.js")
# A document that has each element that is asked for, and of an element what the form uses.
DOCUMENT = """
const made = {};
const node = () => ({
  value: "", textContent: "", hidden: true, style: { setProperty() {} }, children: [], attributes: {},
  append(...parts) { this.children.push(...parts); },
  replaceChildren() { this.children = []; },
  setAttribute(name, value) { this.attributes[name] = value; },
  removeAttribute(name) { delete this.attributes[name]; },
  addEventListener(name, listener) { this[name] = listener; },
});
globalThis.document = { getElementById: (id) => (made[id] ??= node()), createElement: node };
document.getElementById("fields").textContent = FIELDS;
"""
SHOWN = """
const found = ROWS.map((values) => {
  values.forEach((value, k) => { document.getElementById(`field-${k}`).value = value; });
  document.getElementById("score-form").input();
  const held = document.getElementById("score-rules").children.map((line) => line.children[0]?.textContent);
  const said = values.map((_, k) => document.getElementById(`field-${k}-said`).textContent);
  return [document.getElementById("score-label").textContent, held.filter(Boolean), said.filter(Boolean)];
});
console.log(JSON.stringify(found));
"""
MODEL = """rulekit rules 1
column t: text, missing {"none"}
column d: numeric, float64, date
column c: categorical {"1", "x"}, unseen error
column n: numeric, missing {"-9"}
label y: {"no", "yes"}
default "no"

decide "yes" when any of (
  t contains any of {"straße", "other"} and t lacks "bad",
  d > 19000,
  c in {"1"},
  n > 0.1
)
"""

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")


def shown(text: str, rows: list[list[str]]) -> list[Any]:
    """What the form says of values that are typed: the label, the rules that hold, what is wrong with each field."""
    fields, code = row_form(parse_graph(text), {})
    document = DOCUMENT.replace("FIELDS", json.dumps(json.dumps(fields)))
    script = "\n".join([document, code, FORM.read_text(), SHOWN.replace("ROWS", json.dumps(rows))])
    ran = subprocess.run(
        ["node", "--input-type=module"], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    found: list[Any] = json.loads(ran.stdout)
    return found


@needs_node
def test_what_is_typed_is_read_as_the_model_reads_it() -> None:
    ids = [rule.id for rule in rules_of(parse_graph(MODEL))]
    rows = [["", "", "", ""], ["STRASSE straße!", "", "1", ""], ["bad straße", "2022-01-09", "0", "0.1"]]
    rows += [["", "", "", "0.2"], ["none", "", "", "-9"], ["", "soon", "new", "many"]]
    *found, last = shown(MODEL, rows)
    rules = [("no", []), ("yes", [ids[0]]), ("yes", ids[1:3]), ("yes", [ids[3]]), ("no", [])]
    assert found == [[label, held, []] for label, held in rules]
    # what cannot be read is said beside its field
    said = ['"soon" is not a number', 'the level "another level" is unknown', '"many" is not a number']
    assert last == ['column "d": "soon" is not a number', [], said]


def test_the_code_is_of_a_bounded_size_and_has_no_tag() -> None:
    for make in LEARNED.values():
        _, code = row_form(make(), {})
        assert len(code) < 400_000
        assert "</" not in code


def test_a_page_without_the_target_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rulekit.targets.entry_points", lambda group: [])
    with pytest.raises(InputError, match="no export target 'javascript'"):
        row_form(parse_graph(MODEL), {})
    monkeypatch.undo()
    assert find_target("javascript").name == "javascript"
