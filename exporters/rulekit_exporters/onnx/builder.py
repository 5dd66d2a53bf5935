"""The operators that are written, each in the one form in which it is read back, and graphs of them.

The builder writes no other operator and no other attribute, and a reader takes nothing else for known, whatever the
ONNX specification says about it: an operator in another form is not read, and a file that has one is not run unasked.
Element types are "bool", "f4", "f8", "i8" and "text".

Every per-row value is a [1, N] tensor, so that rows stack by Concat and scalar constants broadcast at full speed.
A truth value or a number that does not depend on the row is kept as a Python constant until a tensor is needed.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rulekit.arrays import Array
from rulekit.numbers import float32

ML_DOMAIN = "ai.onnx.ml"


@dataclass(frozen=True, slots=True)
class OperatorForm:
    """An operator: the element types of its operands, the attributes that it has, and those that it may have.

    operands: as "bool f4 f4 | bool f8 f8"; many: any number of operands of one of the types; version: of the operator
    set of its domain, where that is not the default one; outputs: how many.
    """

    operands: str
    attributes: str = ""
    optional: str = ""
    many: bool = False
    version: int = 0
    outputs: int = 1

    def takes(self, types: Sequence[str]) -> bool:
        """Whether operands of these types stand in the form."""
        known = [signature.split() for signature in self.operands.split("|")]
        return ([types[0]] in known and len(set(types)) == 1) if self.many else list(types) in known

    def has(self, attributes: Collection[str]) -> bool:
        """Whether the attributes are those of the form."""
        needed = set(self.attributes.split())
        return needed <= set(attributes) <= needed.union(self.optional.split())


_LEAVES = "nodes_treeids nodes_nodeids nodes_featureids nodes_modes nodes_values nodes_truenodeids nodes_falsenodeids"
_TREE = f"{_LEAVES} nodes_missing_value_tracks_true class_treeids class_nodeids class_ids class_weights post_transform"

# By domain and kind; where an operator has two sets of attributes it has two forms.
FORMS: dict[tuple[str, str], tuple[OperatorForm, ...]] = {
    ("", kind): (form,)
    for kind, form in {
        **dict.fromkeys(("And", "Or", "Xor"), OperatorForm("bool bool")),
        **dict.fromkeys(("Add", "Mul", "Greater", "GreaterOrEqual", "Less"), OperatorForm("f4 f4 | f8 f8")),
        **dict.fromkeys(("Sub", "Div", "Equal"), OperatorForm("f8 f8")),
        **dict.fromkeys(("Min", "Max"), OperatorForm("f4 f4")),
        **dict.fromkeys(("Neg", "Exp", "Tanh"), OperatorForm("f8")),
        **dict.fromkeys(("Round", "IsNaN"), OperatorForm("f4 | f8")),
        "Not": OperatorForm("bool"),
        "Where": OperatorForm("bool f4 f4 | bool f8 f8"),
        "Clip": OperatorForm("f4 f4 f4 | f8 f8 f8 | i8 i8 i8"),
        "Cast": OperatorForm("bool | f4 | f8 | i8", "to"),
        "MatMul": OperatorForm("f4 f4 | f8 f8"),
        "Gemm": OperatorForm("f4 f4 f4 | f8 f8 f8", optional="transA"),
        "ArgMax": OperatorForm("f4 | f8", "axis keepdims"),
        "Gather": OperatorForm("bool i8 | f4 i8 | f8 i8 | i8 i8 | text i8", "axis"),
        "Concat": OperatorForm("bool | f4 | f8 | i8", "axis", many=True),
        "Flatten": OperatorForm("f4 | f8 | i8", "axis"),
        "Transpose": OperatorForm("bool | f4 | f8 | i8", "perm"),
        "ScatterElements": OperatorForm("bool i8 bool", "axis"),
        "Reshape": OperatorForm("bool i8 | f4 i8 | f8 i8"),
        "Shape": OperatorForm("bool | f4 | f8 | i8 | text"),
        "Expand": OperatorForm("bool i8 | f8 i8"),
        "Pad": OperatorForm("f4 i8 f4 | f8 i8 f8"),
        "Identity": OperatorForm("bool | f4 | f8 | i8 | text"),
    }.items()
} | {
    (ML_DOMAIN, "LabelEncoder"): (
        OperatorForm("text", "keys_strings values_int64s default_int64", version=2),
        OperatorForm("text", "keys_strings values_floats default_float", version=2),
    ),
    (ML_DOMAIN, "TreeEnsembleClassifier"): (
        OperatorForm("f4 | f8", f"{_TREE} classlabels_int64s", version=1, outputs=2),
        OperatorForm("f4 | f8", f"{_TREE} classlabels_strings", version=1, outputs=2),
    ),
}
CASTS = {
    *(("bool", width) for width in ("f4", "f8")),
    *((one, other) for one in ("f4", "f8", "i8") for other in ("f4", "f8", "i8") if one != other),
}
# Operators that infinite constants may be given to.
INFINITE = frozenset(("Greater", "GreaterOrEqual", "Less", "Where", "Pad", "Expand"))


GRAPH_NAME = "rulekit"
Truth = bool | str
Number = float | str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operator; raises ValueError for one that is not in a form of `rulekit_exporters.onnx.builder`."""

    kind: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    domain: str
    attributes: dict[str, Any]

    def __post_init__(self) -> None:
        if self.form is None or len(self.outputs) != self.form.outputs:
            name = f"{self.domain}.{self.kind}" if self.domain else self.kind
            raise ValueError(f"the operator {name} in another form than rulekit writes")

    @property
    def form(self) -> OperatorForm | None:
        """The form that it is in; None where it is written in no such form."""
        return next((form for form in FORMS.get((self.domain, self.kind), ()) if form.has(self.attributes)), None)


@dataclass(frozen=True, slots=True)
class Port:
    """A declared input or output: tensor, its element type and its shape (a text is a symbolic dimension)."""

    name: str
    element: int
    shape: tuple[int | str, ...]


def port_of(port: Any) -> Port:
    """An input or output of a ModelProto."""
    kind = port.type.tensor_type
    shape = [size.dim_value if size.HasField("dim_value") else size.dim_param for size in kind.shape.dim]
    return Port(port.name, kind.elem_type, tuple(shape))


class OperatorBuilder:
    """Collects operations; equal operations on equal inputs are emitted once.

    reserved: the public names.
    """

    def __init__(self, reserved: Iterable[str]) -> None:
        self.operations: list[Operation] = []
        self.constants: dict[str, Array] = {}
        self._known_constants: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        self._known_operations: dict[tuple[Any, ...], tuple[str, ...]] = {}
        taken = frozenset(reserved)
        self._names = (name for name in map("t{}".format, itertools.count()) if name not in taken)

    def constant(self, value: Any, dtype: Any = None) -> str:
        """The name of a constant tensor of that content."""
        array = np.asarray(value, dtype=dtype)
        content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._known_constants:
            self._known_constants[key] = next(self._names)
            self.constants[self._known_constants[key]] = array
        return self._known_constants[key]

    def double(self, value: float) -> str:
        """The name of a scalar double constant."""
        return self.constant(value, np.float64)

    def operate(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """The name of the output of one operation, of the first where it has two."""
        return self.outputs(kind, *inputs, domain=domain, **attributes)[0]

    def outputs(self, kind: str, *inputs: str, domain: str = "", **attributes: Any) -> tuple[str, ...]:
        """The names of the outputs of one operation."""
        key = (kind, inputs, domain, repr(sorted(attributes.items())))
        if key not in self._known_operations:
            count = FORMS[domain, kind][0].outputs
            names = self._known_operations[key] = tuple(itertools.islice(self._names, count))
            self.operations.append(Operation(kind, inputs, names, domain, attributes))
        return self._known_operations[key]

    def joined(self, parts: Sequence[str], axis: int = 0) -> str:
        """Tensors one after another along an axis; a single one as it is."""
        return parts[0] if len(parts) == 1 else self.operate("Concat", *parts, axis=axis)

    def picked(self, tensor: str, rows: Sequence[int], height: int) -> str:
        """Rows of a tensor of that height; the tensor itself where they are all of it in their order."""
        if list(rows) == list(range(height)):
            return tensor
        return self.operate("Gather", tensor, self.constant(list(rows), np.int64), axis=0)

    def cast(self, tensor: str, dtype: Any) -> str:
        return self.operate("Cast", tensor, to=element_type(dtype))

    def logistic(self, doubles: str) -> str:
        """1 / (1 + exp(-z)) of doubles, by operators that every runtime has in double; Sigmoid is not one of them."""
        growth = self.operate("Exp", self.operate("Neg", doubles))
        return self.operate("Div", self.double(1.0), self.operate("Add", growth, self.double(1.0)))

    # Double arithmetic, one rounding per operation; what is constant is folded with the same IEEE operations ----------

    def add(self, a: Number, b: Number) -> Number:
        """Exact but for the sign of zero, which no comparison sees."""
        return self._arithmetic("Add", a, b, 0.0)

    def multiply(self, a: Number, b: Number) -> Number:
        return self._arithmetic("Mul", a, b, 1.0)

    def subtract(self, a: Number, b: Number) -> Number:
        if not isinstance(a, str) and not isinstance(b, str):
            return a - b
        return self.operate("Sub", self.tensor(a), self.tensor(b))

    def _arithmetic(self, kind: str, a: Number, b: Number, neutral: float) -> Number:
        """A + b or a * b, safe from a fault of onnxruntime (seen in 1.31, core/optimizer/noop_elimination).

        It drops the operation where a constant operand, rounded to float32, is neutral: 1 + 2^-30 in a product,
        2^-200 in a sum. A constant that it must not judge is spread over the rows.
        """
        if not isinstance(a, str) and not isinstance(b, str):
            return a + b if kind == "Add" else a * b
        if neutral in (a, b):
            return b if a == neutral else a
        fixed, row = (b, a) if isinstance(a, str) else (a, b)
        if isinstance(fixed, str) or float32(fixed) != neutral:
            return self.operate(kind, self.tensor(a), self.tensor(b))
        spread = self.operate("Expand", self.double(fixed), self.operate("Shape", str(row)))
        return self.operate(kind, *((spread, str(row)) if row is b else (str(row), spread)))

    def choose(self, condition: Truth, then: Number, otherwise: Number) -> Number:
        """Then where the condition holds, else otherwise."""
        if isinstance(condition, bool):
            return then if condition else otherwise
        if then == otherwise:
            return then
        return self.operate("Where", condition, self.tensor(then), self.tensor(otherwise))

    def above(self, a: Number, threshold: float) -> Truth:
        """A > threshold, strictly."""
        return self.operate("Greater", a, self.double(threshold)) if isinstance(a, str) else a > threshold

    def tensor(self, value: Number) -> str:
        """A tensor that broadcasts: the value itself or a scalar constant."""
        return value if isinstance(value, str) else self.double(value)

    # Logic ---------------------------------------------------------------------------------------------------------

    def negate(self, a: Truth) -> Truth:
        return not a if isinstance(a, bool) else self.operate("Not", a)

    def chain(self, kind: str, values: Iterable[Truth]) -> Truth:
        """And or Or of any number of truth values."""
        neutral = kind == "And"
        rows: dict[str, None] = {}
        for value in values:
            if isinstance(value, bool):
                if value is not neutral:
                    return value
            else:
                rows[value] = None
        result: Truth = neutral
        for row in rows:
            result = row if isinstance(result, bool) else self.operate(kind, result, row)
        return result

    # The model -----------------------------------------------------------------------------------------------------

    def model(
        self, inputs: list[Port], outputs: list[tuple[str, Port]], opset: int, metadata: dict[str, str], producer: str
    ) -> Any:
        """The ModelProto: `outputs` pairs a tensor with the port that it becomes; dead operations are dropped."""
        produced = {output for operation in self.operations for output in operation.outputs}
        public: dict[str, str] = {}
        for tensor, port in outputs:
            if tensor in produced and tensor not in public:
                public[tensor] = port.name
            else:  # an output must be an operation's own
                self.operations.append(Operation("Identity", (tensor,), (port.name,), "", {}))
        alive = {port.name for _, port in outputs} | {tensor for tensor, _ in outputs}
        kept: list[Operation] = []
        for operation in reversed(self.operations):
            if not alive.isdisjoint(operation.outputs):
                alive.update(operation.inputs)
                own, made = (tuple(public.get(n, n) for n in side) for side in (operation.inputs, operation.outputs))
                kept.append(replace(operation, inputs=own, outputs=made))
        constants = {name: array for name, array in self.constants.items() if name in alive}
        ports = [port for _, port in outputs]
        return Contents(kept[::-1], constants, inputs, ports, opset, metadata, producer).model()


@dataclass(frozen=True, slots=True)
class Contents:
    """All that a written file says. What else an ONNX file can say is not written, and is lost by making it again."""

    operations: list[Operation]
    constants: dict[str, Array]
    inputs: list[Port]
    outputs: list[Port]
    opset: int
    metadata: dict[str, str]
    producer: str

    def model(self) -> Any:
        """The ModelProto."""
        nodes = [
            helper.make_node(op.kind, op.inputs, op.outputs, domain=op.domain or None, **op.attributes)
            for op in self.operations
        ]
        ports = [
            [helper.make_tensor_value_info(port.name, port.element, port.shape) for port in side]
            for side in (self.inputs, self.outputs)
        ]
        constants = [numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = helper.make_graph(nodes, GRAPH_NAME, *ports, constants)
        opsets = [helper.make_opsetid("", self.opset)]
        versions = [op.form.version for op in self.operations if op.domain == ML_DOMAIN and op.form]
        if versions:
            opsets.append(helper.make_opsetid(ML_DOMAIN, max(versions)))
        ir_version = max(7, helper.find_min_ir_version_for(opsets))
        model = helper.make_model(graph, opset_imports=opsets, ir_version=ir_version, producer_name=self.producer)
        helper.set_model_props(model, self.metadata)
        return model


def element_type(dtype: Any) -> int:
    """The ONNX element type of a numpy type; `str` is string."""
    return int(TensorProto.STRING) if dtype is str else int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def serialize(model: Any) -> bytes:
    """The bytes of a model, the same for the same model."""
    onnx.checker.check_model(model, full_check=True)
    return bytes(model.SerializeToString(deterministic=True))
