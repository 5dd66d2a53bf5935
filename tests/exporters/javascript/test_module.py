"""What a user of a generated module sees: names, cells that JSON has not, errors, and text that is no code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rulekit.graph.language.parsing import parse_graph
from rulekit.targets import find_target
from rulekit.verification.parity import verify

TARGET = find_target("javascript")
needs_node = pytest.mark.skipif(not TARGET.installed(), reason="node is not installed")
MODEL = """rulekit rules 1
column n: numeric, missing {"-9"}
column d: numeric, float64, date
column c: categorical {"true", "x"}, unseen error
column t: text
label y: {"no", "yes"}
default "no"

decide "yes" when any of (
  n > 0.1,
  d > 19000,
  c in {"true"},
  t contains "straße"
)
"""
HOSTILE = """rulekit rules 1
column "</script><!--": numeric
column "${x}`\\u2028": categorical {"*/", "'; throw 1; //", "\\n"}
label "<b>": {"no", "</script>"}
default "no"

decide "</script>" when any of (
  "</script><!--" > 1,
  "${x}`\\u2028" in {"'; throw 1; //", "\\n"}
)
"""


def asked(text: str, expressions: list[str], folder: Path) -> list[Any]:
    """What expressions over the module of a model give, or the message of what they throw."""
    (folder / "model.mjs").write_bytes(TARGET.emit(parse_graph(text)).main)
    parts = ", ".join(f"() => {expression}" for expression in expressions)
    script = f"""import * as model from "./model.mjs";
const tried = [{parts}].map((ask) => {{ try {{ return ask(); }} catch (error) {{ return error.message; }} }});
console.log(JSON.stringify(tried));"""
    (folder / "main.mjs").write_text(script)
    ran = subprocess.run(["node", "main.mjs"], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    found: list[Any] = json.loads(ran.stdout)
    return found


@needs_node
def test_cells_and_errors(tmp_path: Path) -> None:
    row = "{ n: null, d: undefined, c: 'x', t: '' }"
    asks = {
        f"model.decide({row})": "no",
        f"model.predict([{row}, {{ ...{row}, n: 5n }}])": ["no", "yes"],
        f"model.decide({{ ...{row}, n: 0.1 }})": "no",  # float32 of 0.1 is the threshold
        f"model.decide({{ ...{row}, n: -9 }})": "no",
        f"model.decide({{ ...{row}, d: new Date('2022-01-09') }})": "yes",
        f"model.decide({{ ...{row}, c: true }})": "yes",
        f"model.decide({{ ...{row}, t: 'Eine STRAßE, ja' }})": "yes",
        f"model.score({row}).holds": [False] * 4,
        f"model.decide({{ ...{row}, n: 2n ** 60n }})": 'column "n": the integer 1152921504606846976 is beyond 2^53',
        f"model.decide({{ ...{row}, n: 'many' }})": 'column "n": "many" is not a number',
        f"model.decide({{ ...{row}, n: [1] }})": 'column "n": an array is no text, number, truth value or date',
        f"model.decide({{ ...{row}, d: 20240531 }})": 'column "d": 20240531 would count from 1970-01-01: write the '
        "date as 2024-05-31",
        f"model.decide({{ ...{row}, c: 'constructor' }})": 'column "c": the level "constructor" is unknown',
        "model.decide({ n: 1 })": 'no column "d"',
        "model.decide([1, 2, 3, 4])": "a row is an object of cells by column",
        "model.DIGEST": parse_graph(MODEL).digest,
    }
    assert dict(zip(asks, asked(MODEL, list(asks), tmp_path), strict=True)) == asks


@needs_node
def test_names_and_levels_are_no_code(tmp_path: Path) -> None:
    graph = parse_graph(HOSTILE)
    artifact = TARGET.emit(graph)
    code = "\n".join(line for line in artifact.main.decode().split("\n") if not line.lstrip().startswith("//"))
    assert code.isascii()
    assert "</" not in code
    assert "<!" not in code
    report = verify(graph, artifact, target=TARGET, rows=200)
    assert (report.ok, report.proof) == (True, "proved")


def test_a_changed_module_is_not_proved() -> None:
    graph = parse_graph(MODEL)
    text = TARGET.emit(graph).main.decode()
    changed = text.replace("> 0.10000000149011612", "> 0.2")
    assert changed != text
    assert TARGET.inspect is not None
    assert TARGET.inspect(changed.encode(), graph).decision is None
    assert TARGET.read is not None
    assert TARGET.read(text.encode()) == graph


@needs_node
def test_a_module_has_the_helpers_that_it_needs_and_no_more(tmp_path: Path) -> None:
    text = TARGET.emit(parse_graph(HOSTILE)).main.decode()
    assert "function level(" in text
    assert not {"function moment(", "function words(", "SEPARATORS", "function flag("} & set(text.split("\n"))
    assert "SEPARATORS" not in text
