"""Crafted models whose numbers a runtime computes otherwise than mathematics: none is ever proved by its formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from onnx_cases import changed, crafted, nodes_of

from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Above, And, Column, Compare, Missing, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify
from rulekit.verification.proof.prove import prove, read_artifact

TARGET = find_target("onnx")
SCHEMA = Schema((Feature("x"), Feature("y")), target="z")
A, B, GRID = Compare("x", ">", 0.5), Compare("y", ">", 1.5), Column("x", 0.0, -8.0, 8.0, 1.0)

# `a` is x > 0.5, `b` is y > 1.5, `place` is `a` as an index; `z` becomes the decision.
HEAD = """columns = Transpose <perm = [1, 0]> (input)
x = Gather <axis = 0> (columns, zero)
y = Gather <axis = 0> (columns, one)
a = Greater (x, half)
b = Greater (y, more)
missing = IsNaN (x)
single = Cast <to = 1> (a)
place = Cast <to = 7> (single)"""
TAIL = """decided = Cast <to = 1> (z)
probabilities = Gemm <transA = 1> (decided, pair, offset)
label = ArgMax <axis = 1, keepdims = 0> (probabilities)"""
CONSTANTS: dict[str, Any] = {
    **{name: np.float32(value) for name, value in {"half": 0.5, "more": 1.5, "nothing": 0, "f1": 1, "f2": 2}.items()},
    **{name: np.float32(value) for name, value in {"low": -8, "high": 8, "quarter": 0.25, "most": 0.75}.items()},
    **{f"f2p{n}": np.float32(2.0**n) for n in (24, 25, 120, 20)},
    **{f"f2m{n}": np.float32(2.0**-n) for n in (100, 140)},
    **{name: np.float64(value) for name, value in {"off": 0, "on": 1, "mid": 0.5, "d53": 2.0**53, "d64": 1e19}.items()},
    **{name: np.float64(value) for name, value in {"d100": 1e-100, "d200": 1e-200, "beside": 1 + 2.0**-30}.items()},
    **{name: np.float64(value) for name, value in {"up": np.inf, "down": -np.inf}.items()},
    **{name: np.array([value]) for name, value in {"zero": 0, "one": 1, "two": 2, "largest": 2**63 - 1}.items()},
    "f2m24": np.float32(-(2.0**24)),
    "pair": np.array([[-1, 1]], np.float32),
    "offset": np.array([1, 0], np.float32),
    "truths": np.array([False, True]),
    "always": np.array([[True]]),
    "wraps": np.array([0, 2**32]),
    "odd": np.array([2**53, 2**53 + 1]),
    "smallest": np.array([0, -(2**63)]),
    "zeros": np.zeros(3, np.int64),
    "ones": np.ones(3, np.int64),
    "both": np.array([[1.0, 1.0]]),
    "endless": np.array([[np.inf]]),
    "near": np.array([[-1.2]]),
    "far": np.array([[-10.0]]),
    "large": np.array([[2.0**25, 1]], np.float32),
    "less": np.array([[1, 1, -1]], np.float32),
    "flat": np.array([1, -1]),
}
CLEAN = "k = Clip (x, low, high)\n{}\nv = Where (missing, nothing, n)\nz = Greater (v, {})"
CANCEL = "parts = Concat <axis = 0> (b, {}, {})\nf = Cast <to = 1> (parts)\ns = MatMul (less, f)\nz = Greater (s, half)"


def model_of(operators: str, byte: bytes = b"\1") -> bytes:
    """A model of operators between `HEAD` and `TAIL`; byte: of the truth value `always`."""
    nodes = nodes_of("\n".join((HEAD, operators, TAIL)))
    used = {name for node in nodes for name in node.input}

    def truth(model: ModelProto) -> None:
        for tensor in model.graph.initializer:
            if tensor.name == "always":
                tensor.raw_data = byte

    return changed(crafted(nodes, [constant for constant in CONSTANTS.items() if constant[0] in used], 2), truth)


def proof_of(formula: Node, content: bytes) -> tuple[str, str]:
    """How the operators alone prove a decision, and why they do not."""
    graph = RuleGraph(SCHEMA, (0, 1), Fires(formula))
    found = prove(graph, read_artifact(graph, content, TARGET), lambda columns, table: False, few=0, many=0)
    return found.method, found.reason


@pytest.mark.parametrize(
    ("formula", "operators"),
    [
        (And((A, B)), "z = And (a, b)"),
        (Above(GRID, 2.0), CLEAN.format("n = Round (k)", "f2")),
        (A, "z = And (a, always)"),
    ],
)
def test_what_is_the_formula_is_proved(formula: Node, operators: str) -> None:
    assert proof_of(formula, model_of(operators)) == ("normal form", "")


CRAFTED: dict[str, tuple[Node, str]] = {
    "a sum beyond 53 bits": (
        And((A, B)),
        "p = Where (a, d53, off)\nq = Where (b, on, off)\ns = Add (p, q)\nd = Sub (s, d53)\nz = Greater (d, mid)",
    ),
    "a sum beyond 24 bits": (
        And((A, B)),
        "p = Where (a, f2p24, nothing)\nq = Where (b, f1, nothing)\ns = Add (p, q)\nd = Add (s, f2m24)\n"
        "z = Greater (d, half)",
    ),
    "a matrix product beyond 24 bits": (
        And((A, B)),
        "c = Concat <axis = 0> (a, b)\nf = Cast <to = 1> (c)\np = MatMul (large, f)\nz = Greater (p, f2p25)",
    ),
    "a product too small for a double": (
        A,
        "p = Where (a, d100, off)\nq = Mul (p, d200)\ns = Mul (q, d200)\nz = Greater (s, off)",
    ),
    "infinity less infinity": (
        And((A, B)),
        "p = Where (a, up, off)\nq = Where (b, down, off)\ns = Add (p, q)\ng = Greater (s, off)\nz = And (g, a)",
    ),
    "an infinity of every row less itself": (
        A,
        "s = Shape (a)\nu = Expand (endless, s)\nd = Sub (u, u)\nh = Add (d, on)\ng = Greater (h, off)\nz = And (g, a)",
    ),
    "a cast to float32": (A, "p = Where (a, beside, on)\nc = Cast <to = 1> (p)\nz = Greater (c, f1)"),
    "a cast that truncates": (
        A,
        "p = Where (a, most, quarter)\nc = Cast <to = 7> (p)\nz = Gather <axis = 0> (truths, c)",
    ),
    "a cast to int32": (
        A,
        "g = Gather <axis = 0> (wraps, place)\ns = Cast <to = 6> (g)\nf = Cast <to = 11> (s)\nz = Greater (f, off)",
    ),
    "a cast of an integer beyond 2^53": (
        A,
        "g = Gather <axis = 0> (odd, place)\nf = Cast <to = 11> (g)\nz = Greater (f, d53)",
    ),
    "a cast of a double beyond 2^63": (
        A,
        "p = Where (a, d64, off)\nc = Cast <to = 7> (p)\nf = Cast <to = 11> (c)\nz = Greater (f, off)",
    ),
    "a sum of integers": (A, "s = Add (place, largest)\nf = Cast <to = 11> (s)\nz = Greater (f, off)"),
    "a quotient of integers": (A, "s = Div (place, two)\nf = Cast <to = 11> (s)\nz = Greater (f, off)"),
    "the smallest integer negated": (
        A,
        "g = Gather <axis = 0> (smallest, place)\ns = Neg (g)\nf = Cast <to = 11> (s)\nz = Greater (f, off)",
    ),
    "a grid scaled to nothing": (
        Above(GRID, 0.0),
        CLEAN.format("m = Round (k)\nm1 = Mul (m, f2m100)\nn = Mul (m1, f2m100)", "nothing"),
    ),
    "a grid scaled beyond all bounds": (
        Above(GRID, 2.0),
        CLEAN.format("k1 = Mul (k, f2p120)\nk2 = Mul (k1, f2p20)\nk3 = Mul (k2, f2m140)\nn = Round (k3)", "f2"),
    ),
    "a grid rounded twice": (
        Above(GRID, 1.0),
        CLEAN.format("m = Round (k)\nm1 = Mul (m, quarter)\nn = Round (m1)", "quarter"),
    ),
    "a missing number cut off": (Missing("x"), "k = Clip (x, low, high)\nz = IsNaN (k)"),
    "a missing number rectified": (Missing("x"), "k = Relu (x)\nz = IsNaN (k)"),
    # numbers that are not known are the same only if all that makes them is
    "two products with other constants": (
        B,
        "p = Where (a, on, off)\ne = Exp (p)\ns = Shape (e)\nu = Expand (near, s)\nv = Expand (far, s)\n"
        "c = Concat <axis = 0> (e, u)\nd = Concat <axis = 0> (e, v)\ng = MatMul (both, c)\nh = MatMul (both, d)\n"
        "gg = Greater (g, mid)\nhh = Greater (h, mid)\n"
        + CANCEL.format("gg", "hh").replace("s = M", "t = M").replace("(s, half)", "(t, half)"),
    ),
    "two tables over one arg-max": (
        B,
        "p = Where (a, on, off)\ne = Exp (p)\nl = Neg (e)\nc = Concat <axis = 0> (e, l, e)\n"
        "w = ArgMax <axis = 0, keepdims = 0> (c)\ng = Gather <axis = 0> (zeros, w)\nh = Gather <axis = 0> (ones, w)\n"
        "gf = Cast <to = 11> (g)\nhf = Cast <to = 11> (h)\ngt = Greater (gf, mid)\nht = Greater (hf, mid)\n"
        "gg = Reshape (gt, flat)\nhh = Reshape (ht, flat)\n" + CANCEL.format("gg", "hh"),
    ),
}


@pytest.mark.parametrize("case", CRAFTED)
def test_what_a_runtime_computes_otherwise_is_not_proved(case: str) -> None:
    """Among them tables over one arg-max, which were one number, and a grid scaled twice, which was exact."""
    formula, operators = CRAFTED[case]
    method, reason = proof_of(formula, model_of(operators))
    assert method == ""
    assert reason


def test_the_row_that_tells_them_apart_is_found() -> None:
    formula, operators = CRAFTED["a sum beyond 53 bits"]
    graph = RuleGraph(SCHEMA, (0, 1), Fires(formula))
    report = verify(graph, model_of(operators), target=TARGET, rows=0, run_untrusted=True)
    assert (report.ok, report.proof) == (False, "tested")
    assert report.counter_example is not None


def test_a_truth_value_that_is_neither_0_nor_1_is_not_read() -> None:
    assert proof_of(A, model_of("z = And (a, always)", b"\2")) == ("", "a truth value is neither 0 nor 1")


def test_an_arg_max_that_keeps_its_axis_in_another_way_is_not_read() -> None:
    """A runtime takes any number but 1 for no, the reader took any number but 0 for yes."""
    content = model_of("z = And (a, b)").replace(b"\n\x08keepdims\x18\x00", b"\n\x08keepdims\x18\x02")
    assert proof_of(And((A, B)), content)[1] == "an arg-max of another kind"
