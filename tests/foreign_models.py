"""Models of other programs as ONNX, written by hand, and a table with made rows that they are asked about.

A table has two numbers, of which b has gaps, a category c with gaps, a Boolean d, and a label that is partly chance.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, parser

OPSETS = '"" : 17, "ai.onnx.ml" : 3'


def foreign(inputs: str, outputs: str, nodes: str, weights: str = "", opsets: str = OPSETS) -> bytes:
    """The bytes of a model in the words of `onnx.parser`."""
    head = f"<ir_version: 8, opset_import: [{opsets}]>"
    model: ModelProto = parser.parse_model(f"{head} g ({inputs}) => ({outputs}) <{weights}> {{ {nodes} }}")
    return model.SerializeToString()


# The chance of yes rises with a, and is larger for red: sigmoid(8 a - 5 + 3 [c is red]).
LEVELS = 'keys_strings: strings = ["red"], values_floats: floats = [1.0], default_float: float = 0.0'
SCORE = f"""one = ai.onnx.ml.LabelEncoder <{LEVELS}> (c) steep = Mul (a, eight) more = Mul (one, three)
low = Sub (steep, five) logit = Add (low, more)"""
CONSTANTS = "float[1] eight = {8}, float[1] five = {5}, float[1] three = {3}, float zero = {0}, float half = {0.5}"
CHANCE = SCORE + " p = Sigmoid (logit)"
TEACHER = foreign("float[N,1] a, string[N,1] c", "float[N,1] p", CHANCE, CONSTANTS)


def said_by_teacher(a: Any, c: Any) -> np.ndarray[Any, Any]:
    """The chance of yes that TEACHER gives."""
    return 1.0 / (1.0 + np.exp(-(8.0 * np.asarray(a, np.float64) - 5.0 + 3.0 * (np.asarray(c) == "red"))))


def table_text(rows: int = 240, seed: int = 3, label: bool = True) -> str:
    """The table as CSV."""
    draw = np.random.default_rng(seed)
    lines = ["a,b,c,d" + ",label" * label]
    for _ in range(rows):
        a, b = round(draw.random(), 2), round(draw.normal(), 2)
        c, d = draw.choice(["red", "green", "blue", ""], p=[0.4, 0.3, 0.25, 0.05]), draw.choice(["true", "false"])
        yes = draw.random() < said_by_teacher(a, c)
        lines.append(f"{a},{'' if draw.random() < 0.2 else b},{c},{d}" + (",yes" if yes else ",no") * label)
    return "\n".join(lines) + "\n"


def _saved_elsewhere() -> TensorProto:
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[1], data_location=TensorProto.EXTERNAL)
    tensor.external_data.add(key="location", value="/etc/hostname")
    return tensor


def _with_weight(body: ModelProto, inside: bool) -> bytes:
    """A model whose weight w lies in another file, in the graph itself or in the branches of an If."""
    if not inside:
        body.graph.initializer.append(_saved_elsewhere())
        return body.SerializeToString()
    one = helper.make_tensor_value_info("o", TensorProto.FLOAT, [1])
    branch = helper.make_graph([helper.make_node("Identity", ["w"], ["o"])], "b", [], [one], [_saved_elsewhere()])
    node = helper.make_node("If", ["t"], ["w"], then_branch=branch, else_branch=branch)
    body.graph.node.insert(0, node)
    return body.SerializeToString()


_IN, _OUT, _ZERO = "float[N,1] a", "float[N,1] p", "float[1] z = {0}"
_WEIGHED = parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]> g ({_IN}) => ({_OUT}) {{ p = Mul (a, w) }}')
_BRANCHED = parser.parse_model(
    f'<ir_version: 8, opset_import: ["" : 17]> g ({_IN}) => ({_OUT}) <bool t = {{1}}> {{ p = Mul (a, w) }}'
)
_LOOP = """p = Loop <body = body (int64 i, bool ci, float[N,1] vi) => (bool co, float[N,1] vo)
{ co = Identity (ci) vo = Identity (vi) }> (, t, a)"""
_GROW = "big = Expand (one, s) r = ReduceSum <keepdims: int = 0> (big) p = Add (a, r)"

HOSTILE: dict[str, tuple[bytes, str]] = {
    "garbage": (bytes(range(256)) * 20, "this is no ONNX"),
    "empty": (b"", "this is no ONNX"),
    "cut": (TEACHER[: len(TEACHER) // 2], "this is no ONNX"),
    "external": (_with_weight(_WEIGHED, inside=False), "the weights of 'w' lie in another file"),
    "external-inside": (_with_weight(_BRANCHED, inside=True), "the weights of 'w' lie in another file"),
    "custom": (foreign(_IN, _OUT, "p = my.ops.Evil (a)", opsets='"" : 17, "my.ops" : 1'), "'Evil' is one of 'my.ops'"),
    "unknown": (foreign(_IN, _OUT, "p = Nonsense (a)"), "onnxruntime refuses"),
    "memory": (foreign(_IN, _OUT, _GROW, "float[1] one = {1}, int64[2] s = {60000, 60000}"), "onnxruntime cannot run"),
    "wrong-type": (foreign("float[N,1] c", _OUT, "p = Identity (c)"), "column 'c': the model takes numbers"),
    "whole": (foreign("int64[N,1] b", _OUT, "p = Cast <to: int = 1> (b)"), "column 'b': the model takes whole numbers"),
    "no-column": (foreign("float[N,1] salary", _OUT, "p = Identity (salary)"), "'salary'"),
    "wide": (foreign("float[N,3,2] x", "float[N,3,2] p", "p = Identity (x)"), "'x' is no column and no table"),
    "narrow": (foreign("float[N,9] x", "float[N,9] p", "p = Identity (x)"), "takes 9 columns, the table has 4"),
    "nan": (foreign(_IN, _OUT, "q = Div (z, z) p = Mul (a, q)", _ZERO), "no number for data row 1"),
    "short": (foreign(_IN, "float[1,1] p", "p = ReduceMean (a)"), "neither a label nor a number for each row"),
    "one-label": (foreign(_IN, _OUT, "p = Mul (a, z)", _ZERO), "answers 'no' for every row"),
    "logits": (foreign(_IN, _OUT, "p = Add (a, z)", "float[1] z = {-3}"), "are not probabilities"),
    "foreign-label": (foreign("string[N,1] c", "string[N,1] p", "p = Identity (c)"), "the teacher answers"),
    "three": (foreign(_IN, "float[N,3] p", "p = Concat <axis: int = 1> (a, a, a)"), "the teacher answers '0'"),
}
"""By name a model that no teacher can be, and what is said of it."""
ENDLESS = foreign(_IN, _OUT, _LOOP, "bool t = {1}")


def write(folder: Path, name: str, content: bytes | str) -> Path:
    """A file of this content in the folder."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path
