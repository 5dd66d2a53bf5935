"""What a generated module decides is read from its code, and a change of the code is seen there."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rulekit_exporters.python import TARGET

from rulekit.conformance.models import NODES, SMALL, random_graph
from rulekit.errors import FormatError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, IsTrue, Missing, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import Reading
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
    return TARGET.inspect((module(formula) if text is None else text).encode(), graph_of(formula))


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


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "self_test"), [*((name, False) for name in [*NODES, *SMALL]), *((name, True) for name in SMALL)]
)
def test_every_model_is_read(name: str, self_test: bool) -> None:
    graph = {**NODES, **SMALL}[name]()
    found = TARGET.inspect(TARGET.emit(graph, {"self_test": self_test}).main, graph)
    assert found.decision is not None, found.reason
    assert (found.reason, found.as_written) == ("", True)


def test_a_model_of_any_kind_is_read_back() -> None:
    for seed in range(40):
        graph = random_graph(np.random.default_rng(seed))
        artifact = TARGET.emit(graph, {"self_test": seed % 2 == 0}).main
        assert TARGET.inspect(artifact, graph).as_written, seed
        assert TARGET.read(artifact) == graph


def test_a_remark_at_the_head_and_behind_the_rules_is_no_code() -> None:
    """Statistics and provenance are not carried, so what shows them may be any text, as long as it is none."""
    graph = graph_of(LITERALS[-1])
    text = module(LITERALS[-1])
    head = text.replace('"""A rule model', '"""# coding: utf-7\nAnother remark, \\""" inside: a rule model', 1)
    assert TARGET.inspect(head.encode(), graph).as_written
    assert TARGET.inspect(
        text.replace("# rules: begin", "# rules: begin\n# | # a remark", 1).encode(), graph
    ).as_written
    for code in ('"""\nprint(1)\n"""', '\\\\"""\nprint(1)\n"""'):
        inside = text.replace("A rule model", f"A rule{code} model", 1)
        assert not TARGET.inspect(inside.encode(), graph).as_written
    for line in ("print(1)", "# | \rprint(1)", "# | \x85print(1)"):
        inside = text.replace("# rules: begin", f"# rules: begin\n{line}", 1)
        with pytest.raises(FormatError):
            TARGET.inspect(inside.encode(), graph)


ALTERED = [
    ("if age > 0.1", "if age >= 0.1", Compare("age", ">", 0.1)),
    ("if age > 0.1", "if ~(age > 0.1) and age > 0.1", Compare("age", ">", 0.1)),
    ('{"north", "1"}', '{"north", "1", None}', Among("region", ("north", "1"))),
    ('{"north", "1"}', '{"north", "1.0"}', Among("region", ("north", "1"))),
    ("return 1\n    return 0", "return 0\n    return 1", IsTrue("owner")),
    ("return CLASSES[answer(", "return CLASSES[1 - answer(", IsTrue("owner")),
    ("import sys", "import sys as os_, os", IsTrue("owner")),
    ("def decide(age: Any)", "@print\ndef decide(age: Any)", Compare("age", ">", 0.1)),
    ('CLASSES = ("no", "yes")', 'CLASSES = ("no", "yes")\nCLASSES = ("yes", "no")', Compare("age", ">", 0.1)),
    ('("age", "number", ())', '("age", "flag", ())', Compare("age", ">", 0.1)),
    ("    if age", "    type = print\n    if age", Compare("age", ">", 0.1)),
]


@pytest.mark.parametrize(("old", "new", "formula"), ALTERED, ids=[new[:40] for _, new, _ in ALTERED])
def test_what_is_not_the_exporters_own_is_not_read(old: str, new: str, formula: Node) -> None:
    """No reading means no proof; the module is then tested on rows, where the user has it run."""
    text = module(formula)
    assert old in text
    found = reading(formula, text.replace(old, new))
    assert (found.leaves, found.decision, found.as_written) == (None, None, False)
    assert "it is not what rulekit writes for its rules" in found.reason


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_no_character_of_the_code_may_be_another(data: st.DataObject) -> None:
    text = module(LITERALS[-1])
    code = range(text.index("\nfrom __future__"), text.index("# The same rules in the rule language"))
    place, length = data.draw(st.sampled_from(code)), data.draw(st.integers(0, 3))
    put = data.draw(st.text("()#\"'\\\n\f =+-01ageno\u0435\x00", max_size=3))
    changed = text[:place] + put + text[place + length :]
    with contextlib.suppress(FormatError):
        assert reading(LITERALS[-1], changed).as_written == (changed == text)


DIGESTS = [
    'DIGEST = exec("import os") or "0"',
    'def DIGEST(_=exec("raise SystemExit")): ...',
    'HELP = """\nDIGEST = "{digest}"\n"""',
]


@pytest.mark.parametrize("line", DIGESTS, ids=range(3))
def test_the_line_of_the_digest_is_code_like_any_other(line: str) -> None:
    formula = Compare("age", ">", 0.1)
    text = module(formula)
    whole = re.search(r'^DIGEST = "(\w+)"$', text, re.MULTILINE)
    assert whole is not None
    added = line.replace("{digest}", whole[1])
    for place in (added, f"{whole[0]}\n{added}", f"{added}\n{whole[0]}"):
        with contextlib.suppress(FormatError):
            assert not TARGET.inspect(text.replace(whole[0], place).encode(), graph_of(formula)).as_written


def test_the_module_is_never_run(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    text = module(Compare("age", ">", 0.1)) + f"\nopen({str(mark)!r}, 'w').close()\n"
    assert TARGET.inspect(text.encode(), graph_of(Compare("age", ">", 0.1))).decision is None
    assert not mark.exists()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"def f(:\n", b"\0", b"x = 1\n\x0c = 2", b"", b"1"])
def test_what_carries_no_rules_is_named(content: bytes) -> None:
    with pytest.raises(FormatError):
        TARGET.inspect(content, graph_of(Compare("age", ">", 0.1)))
