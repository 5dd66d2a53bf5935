"""The operators that are written, each in the one form in which it is read back.

The builder writes no other operator and no other attribute, and a reader takes nothing else for known, whatever the
ONNX specification says about it: an operator in another form is not read, and a file that has one is not run unasked.
Element types are "bool", "f4", "f8", "i8" and "text".
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

ML_DOMAIN = "ai.onnx.ml"


@dataclass(frozen=True, slots=True)
class OperatorForm:
    """An operator: the element types of its operands, the attributes that it has, and those that it may have.

    many: any number of operands of one of the types; version: of the operator set of its domain, where that is not the
    default one; outputs: how many.
    """

    operands: frozenset[tuple[str, ...]]
    attributes: frozenset[str] = frozenset()
    optional: frozenset[str] = frozenset()
    many: bool = False
    version: int = 0
    outputs: int = 1

    def takes(self, types: Sequence[str]) -> bool:
        """Whether operands of these types stand in the form."""
        return ((types[0],) in self.operands and len(set(types)) == 1) if self.many else tuple(types) in self.operands

    def has(self, attributes: Collection[str]) -> bool:
        """Whether the attributes are those of the form."""
        return self.attributes <= set(attributes) <= self.attributes | self.optional


def _form(
    operands: str, attributes: str = "", optional: str = "", many: bool = False, version: int = 0, outputs: int = 1
) -> OperatorForm:
    """Operands as "bool f4 f4 | bool f8 f8"."""
    types = frozenset(tuple(signature.split()) for signature in operands.split("|"))
    return OperatorForm(types, frozenset(attributes.split()), frozenset(optional.split()), many, version, outputs)


_LEAVES = "nodes_treeids nodes_nodeids nodes_featureids nodes_modes nodes_values nodes_truenodeids nodes_falsenodeids"
_TREE = f"{_LEAVES} nodes_missing_value_tracks_true class_treeids class_nodeids class_ids class_weights post_transform"

# By domain and kind; where an operator has two sets of attributes it has two forms.
FORMS: dict[tuple[str, str], tuple[OperatorForm, ...]] = {
    ("", kind): (form,)
    for kind, form in {
        **dict.fromkeys(("And", "Or", "Xor"), _form("bool bool")),
        **dict.fromkeys(("Add", "Mul", "Greater", "GreaterOrEqual", "Less"), _form("f4 f4 | f8 f8")),
        **dict.fromkeys(("Sub", "Div", "Equal"), _form("f8 f8")),
        **dict.fromkeys(("Min", "Max"), _form("f4 f4 | f8 f8")),
        **dict.fromkeys(("Neg", "Exp", "Tanh"), _form("f8")),
        **dict.fromkeys(("Round", "IsNaN"), _form("f4 | f8")),
        "Not": _form("bool"),
        "Where": _form("bool f4 f4 | bool f8 f8"),
        "Clip": _form("f4 f4 f4 | f8 f8 f8 | i8 i8 i8"),
        "Cast": _form("bool | f4 | f8 | i8", "to"),
        "MatMul": _form("f4 f4 | f8 f8"),
        "Gemm": _form("f4 f4 f4 | f8 f8 f8", optional="transA"),
        "ArgMax": _form("f4 | f8", "axis keepdims"),
        "Softmax": _form("f8", "axis"),
        "Gather": _form("bool i8 | f4 i8 | f8 i8 | i8 i8 | text i8", "axis"),
        "Concat": _form("bool | f4 | f8 | i8", "axis", many=True),
        "Flatten": _form("f4 | f8 | i8", "axis"),
        "Transpose": _form("bool | f4 | f8 | i8", "perm"),
        "ScatterElements": _form("bool i8 bool", "axis"),
        "Reshape": _form("bool i8 | f4 i8 | f8 i8"),
        "Shape": _form("bool | f4 | f8 | i8 | text"),
        "Expand": _form("bool i8 | f8 i8"),
        "Pad": _form("f4 i8 f4 | f8 i8 f8"),
        "Identity": _form("bool | f4 | f8 | i8 | text"),
    }.items()
} | {
    (ML_DOMAIN, "LabelEncoder"): (
        _form("text", "keys_strings values_int64s default_int64", version=2),
        _form("text", "keys_strings values_floats default_float", version=2),
    ),
    (ML_DOMAIN, "TreeEnsembleClassifier"): (
        _form("f4 | f8", f"{_TREE} classlabels_int64s", version=1, outputs=2),
        _form("f4 | f8", f"{_TREE} classlabels_strings", version=1, outputs=2),
    ),
}
CASTS = {
    ("bool", "f4"),
    ("bool", "f8"),
    ("f4", "f8"),
    ("f4", "i8"),
    ("f8", "f4"),
    ("f8", "i8"),
    ("i8", "f4"),
    ("i8", "f8"),
}
# Operators that infinite constants may be given to.
INFINITE = frozenset(("Greater", "GreaterOrEqual", "Less", "Where", "Pad", "Expand"))


def form_of(domain: str, kind: str, attributes: Collection[str]) -> OperatorForm | None:
    """The form of an operator with these attributes; None where it is written in no such form."""
    return next((form for form in FORMS.get((domain, kind), ()) if form.has(attributes)), None)
