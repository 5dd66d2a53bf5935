"""What a generated module decides is read from its code, and a change of the code is seen there."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest
from rulekit_exporters.python import TARGET
from rulekit_exporters.python.inspection.reader import inspect

from rulekit.conformance.models import NODES, SMALL
from rulekit.errors import FormatError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, IsTrue, Missing, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing
from rulekit.program.nodes import Labels, RawCompare
from rulekit.schema import Feature, Schema
from rulekit.targets import Reading
from rulekit.verification.parity import verify
from rulekit.verification.proof.prove import prove

SCHEMA = Schema(
    (
        Feature("age"),
        Feature("balance", missing_tokens=("-999",)),
        Feature("account", precision="float64"),
        Feature("owner", "boolean"),
        Feature("region", "categorical", ("north", "south", "1"), missing_tokens=("?",)),
        Feature("code", "categorical", ("a", "b"), unseen="missing"),
    ),
    target="y",
)


def graph_of(formula: Node) -> RuleGraph:
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(formula))


def module(formula: Node) -> str:
    return TARGET.emit(graph_of(formula), {"self_test": "false"}).main.decode()


def reading(formula: Node, text: str | None = None) -> Reading:
    return inspect((module(formula) if text is None else text).encode(), graph_of(formula))


def changed(formula: Node, old: str, new: str) -> str:
    text = module(formula)
    assert old in text
    return text.replace(old, new)


LITERALS: list[Node] = [
    Compare("age", ">", 0.1),
    Compare("age", "<=", 0.1, True),
    Compare("account", "<=", 16777217.0),
    IsTrue("owner"),
    Missing("owner"),
    Missing("age"),
    Among("region", ("north", "1")),
    Among("region", ("north",), missing=True, unseen=True),
    Among("code", ("a",), missing=True),
    Not(Among("code", ("a",))),
    Missing("region"),
    And((Compare("age", ">", 0.1), Or((IsTrue("owner"), Among("region", ("south",)))))),
]


@pytest.mark.parametrize("formula", LITERALS, ids=str)
def test_every_condition_is_read_back(formula: Node) -> None:
    """The formulas alone are compared: nothing is run."""

    def run(*_: object) -> bool:
        raise AssertionError("a row was run")

    proof = prove(graph_of(formula), reading(formula), run, few=0, many=0)
    assert proof.method in ("normal form", "solver"), proof.reason


@pytest.mark.parametrize("name", [*NODES, *SMALL])
def test_every_model_is_read(name: str) -> None:
    graph = {**NODES, **SMALL}[name]()
    found = inspect(TARGET.emit(graph, {"self_test": "false"}).main, graph)
    assert isinstance(found.decision, Labels), found.reason
    assert (found.reason, len(found.decision.formulas)) == ("", len(graph.classes))
    if "LTU" in name and name != "LTU of literals":
        assert found.leaves is None  # numbers of the row are added up
    elif name != "few units":
        assert found.leaves is not None


def test_the_rows_of_the_self_test_do_not_matter() -> None:
    graph = graph_of(LITERALS[-1])
    text = TARGET.emit(graph, {}).main.decode()
    assert inspect(text.encode(), graph).reason == ""
    inside = re.sub(
        r"TEST_ROWS: [^=]*= \(.*?\n\)", "TEST_ROWS: tuple[tuple[int, ...], ...] = ((0, 0),)", text, flags=re.S
    )
    assert inside != text
    assert inspect(inside.encode(), graph).reason == ""
    running = re.sub(r"TEST_ROWS: [^=]*= \(.*?\n\)", "TEST_ROWS: Any = print(1)", text, flags=re.S)
    assert "TEST_ROWS" in inspect(running.encode(), graph).reason


def test_a_threshold_between_two_float32_is_another_condition() -> None:
    """A comparison with a double T that no rounding crosses at differs from every model of float32 columns."""
    formula = Compare("age", ">", 0.1)
    crossing = double_crossing(0.1)
    moved = math.nextafter(crossing, math.inf)
    text = changed(formula, repr(crossing), repr(moved))
    found = reading(formula, text)
    assert found.leaves is not None
    assert RawCompare("age", ">", moved) in found.leaves

    report = verify(graph_of(formula), text.encode(), target=TARGET, rows=0)
    assert report.counter_example is not None
    assert (report.counter_example.row, report.counter_example.encoded) == ({"age": moved}, False)
    assert (report.counter_example.expected, report.counter_example.found) == ("yes", "no")


FAULTS = [
    ('row["age"] > 0.1', 'row["age"] < 0.1', Compare("age", ">", 0.1)),
    ('row["age"] > 0.1', 'row["age"] >= 0.1', Compare("age", ">", 0.1)),
    ('row["age"] > 0.1', 'not row["age"] <= 0.1', Compare("age", ">", 0.1)),
    ('row["age"]', 'row["account"]', And((Compare("age", ">", 0.1), Compare("account", ">", 5.0)))),
    ('{"north", "1"}', '{"north"}', Among("region", ("north", "1"))),
    ('{"north", "1"}', '{"north", "1", None}', Among("region", ("north", "1"))),
    ('{"north", "1"}', '{"north", "1", "west"}', Among("region", ("north", "1"))),
    ('{"north", "1"}', '{"north", "1.0"}', Among("region", ("north", "1"))),
    ("return 1\n    return 0", "return 0\n    return 1", IsTrue("owner")),
    ("return 1\n    return 0", "return 1\n    return 1", IsTrue("owner")),
    ("np.where(positive, 1, 0)", "np.where(positive, 1, 1)", IsTrue("owner")),
    ('return "yes"', 'return "no"', IsTrue("owner")),
]


@pytest.mark.parametrize(("old", "new", "formula"), FAULTS, ids=[new for _, new, _ in FAULTS])
def test_a_fault_is_found_in_the_code_and_shown_on_a_row(old: str, new: str, formula: Node) -> None:
    """No rows are drawn: what is run comes from the code that was read."""
    text = changed(formula, old, new)
    assert reading(formula, text).reason == ""
    report = verify(graph_of(formula), text.encode(), target=TARGET, rows=0)
    assert report.different_decisions > 0
    assert report.counter_example is not None
    assert report.counter_example.expected != report.counter_example.found


def test_another_number_that_means_missing_is_not_overlooked() -> None:
    formula = Compare("balance", ">", -2000.0)
    text = changed(formula, "-999.0", "-998.0")
    assert reading(formula, text).decision is None
    assert not verify(graph_of(formula), text.encode(), target=TARGET, rows=2000).ok


AROUND = [
    ("import sys", "import sys as os_, os"),
    ("from typing import Any", "from typing import Any as Any, List as nothing"),
    ("value is None or type(value)", "value is not None or type(value)"),
    ("if len(row) == 6:", "if len(row) == 5:"),
    ("except (TypeError, LookupError):", "except TypeError:"),
    ('    """Class index of a row', '    global x\n    """Class index of a row'),
    ("def decide(row: Any)", "def decide(row: Any, more: Any = 1)"),
    ("def decide(row: Any)", "@print\ndef decide(row: Any)"),
    ('CLASSES = ("no", "yes")', 'CLASSES = ("yes", "no")'),
    ('CLASSES = ("no", "yes")', 'CLASSES = ("no", "yes")\nprint(CLASSES)'),
    ('CLASSES = ("no", "yes")', 'CLASSES = ("no", "yes")\nCLASSES = ("yes", "no")'),
    ('CLASSES = ("no", "yes")', 'CLASSES = ("no", "yes")\nMORE = 1'),
    ('(0, "age", "number", ())', '(1, "age", "number", ())'),
    ("return [CLASSES[k] for k in", "return [CLASSES[0] for k in"),
    ('row["age"] > 0.1', 'row["age"] > float("0.1") or row["age"] > 0.1'),
    ('row["age"] > 0.1', 'row["age"] * 2.0 > 0.2 and row["age"] > 0.1'),
    ('row["age"] > 0.1', '~row["age"] > 0.1'),
    ('row["age"] > 0.1', '~(row["age"] > 0.1) and row["age"] > 0.1'),
    ('row["age"] > 0.1', 'row["age"] in {0.1} or row["age"] > 0.1'),
    ('row["age"] > 0.1', '1 > 2 or row["age"] > 0.1'),
    ('row["age"] > 0.1', 'row["age"] > 9007199254740993 or row["age"] > 0.1'),
    ('    if row["age"]', '    absent = print\n    if row["age"]'),
    ('    if row["age"]', '    type = print\n    if row["age"]'),
    ("positive = age > 0.1", "positive = not age > 0.1"),
    ("return np.where(positive, 1, 0)", "np = positive\n    return np.where(positive, 1, 0)"),
]


@pytest.mark.parametrize(("old", "new"), AROUND, ids=[new[:40] for _, new in AROUND])
def test_what_is_not_the_exporters_own_is_not_trusted(old: str, new: str) -> None:
    """No reading means no proof; the module is then tested on rows."""
    formula = Compare("age", ">", 0.1)
    found = reading(formula, changed(formula, old, new))
    assert found.leaves is None
    assert found.decision is None
    assert found.reason


def test_remarks_and_the_stated_digest_change_nothing() -> None:
    formula = Compare("age", ">", 0.1)
    text = re.sub(r"# .*", "# other remark", module(formula))
    text = re.sub(r'DIGEST = "\w+"', 'DIGEST = "0"', text)
    assert inspect(text.encode(), graph_of(formula)) == reading(formula)


def test_the_module_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = module(Compare("age", ">", 0.1)) + f"\nopen({str(mark)!r}, 'w').close()\n"
    assert inspect(text.encode(), graph_of(Compare("age", ">", 0.1))).decision is None
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"def f(:\n", b"\0", b"x = 1\n\x0c = 2"])
def test_what_is_no_python_is_named(content: bytes) -> None:
    with pytest.raises(FormatError, match="this is no Python"):
        inspect(content, graph_of(Compare("age", ">", 0.1)))


@pytest.mark.parametrize("content", [b"x = " + b"(" * 150 + b")" * 150, b"x = " + b"-" * 50_000 + b"1", b"", b"1"])
def test_odd_python_is_no_traceback(content: bytes) -> None:
    try:
        found = inspect(content, graph_of(Compare("age", ">", 0.1)))
    except FormatError:
        return
    assert (found.leaves, found.decision) == (None, None)
    assert found.reason
