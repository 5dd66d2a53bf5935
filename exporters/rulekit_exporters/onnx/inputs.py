"""Input forms of an exported model, and the per-row tensors [1, N] that are read from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rulekit.errors import Unsupported
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit_exporters.onnx.builder import ML_DOMAIN, Array, Builder, Port, element_type
from rulekit_exporters.onnx.conditions import Condition, Signed, is_wide
from rulekit_exporters.onnx.options import InputForm

TENSOR_NAME = "input"

# Transposing costs 0.22 ns per column and row, gathering a column along the rows 2.5 ns (findings/onnx.md, section 2):
# below this share of used columns they are gathered first and only they are transposed.
FEW_COLUMNS = 0.09


@dataclass(frozen=True, slots=True)
class InputPlan:
    """Which inputs a model has: the form, the columns in order and the public name of each (one for a tensor)."""

    form: InputForm
    columns: tuple[str, ...]
    names: tuple[str, ...]
    wide: bool = False

    @property
    def renamed(self) -> tuple[str, ...]:
        """The columns whose input cannot bear their name."""
        if self.form == "tensor":
            return ()
        return tuple(column for column, name in zip(self.columns, self.names, strict=True) if column != name)


def plan_inputs(graph: RuleGraph, wanted: InputForm | None) -> InputPlan:
    """The input form of a graph; raises Unsupported where the wanted form cannot express a used column."""
    used = [graph.schema[name] for name in graph.used_features]
    categories = [feature.name for feature in used if feature.kind == "categorical"]
    form: InputForm = wanted or ("columns" if categories else "tensor")
    if form == "tensor":
        if categories:
            raise Unsupported(f"the category {categories[0]!r} in a float tensor", "onnx", "use input=columns or codes")
        return InputPlan("tensor", graph.schema.names, (TENSOR_NAME,), any(map(is_wide, used)))
    # a model of constants reads no column, but needs one to know the number of rows
    columns = graph.used_features or graph.schema.names[:1]
    if not columns:
        raise Unsupported("a model without columns as column inputs", "onnx", "use input=tensor")
    return InputPlan(form, columns, public_names(columns))


def public_names(columns: Sequence[str]) -> tuple[str, ...]:
    """Input names: the column's own, but `column_j` where ONNX allows no such name (empty, NUL, no valid Unicode)."""
    taken = set(columns)
    names = []
    for j, column in enumerate(columns):
        name = column
        if not column or "\0" in column or any("\ud800" <= c <= "\udfff" for c in column):
            name = f"column_{j}"
            while name in taken:
                name += "_"
            taken.add(name)
        names.append(name)
    return tuple(names)


class Inputs:
    """Reads columns as [1, N] tensors in their own width, and categories as indices into per-leaf tables."""

    def __init__(self, plan: InputPlan, schema: Schema, builder: Builder) -> None:
        self._plan, self._schema, self._builder = plan, schema, builder
        self._block: str = ""
        self._block_rows: dict[Condition, int] = {}

    def ports(self) -> list[Port]:
        """The declared inputs."""
        if self._plan.form == "tensor":
            element = element_type(np.float64 if self._plan.wide else np.float32)
            return [Port(TENSOR_NAME, element, ("N", len(self._schema)))]
        return [
            Port(name, self._element(self._schema[column]), ("N", 1))
            for column, name in zip(self._plan.columns, self._plan.names, strict=True)
        ]

    def _element(self, feature: Feature) -> int:
        if feature.kind == "categorical":
            return element_type(np.int64 if self._plan.form == "codes" else str)
        return element_type(np.float64 if is_wide(feature) else np.float32)

    def row(self, column: str) -> str:
        """[1, N]: one numeric or Boolean column in its own width."""
        builder = self._builder
        if self._plan.form != "tensor":
            return self._flat(self._plan.names[self._plan.columns.index(column)])
        position = builder.constant([self._schema.positions[column]], np.int64)
        if is_wide(self._schema[column]):  # no transpose of doubles: slow at multiples of 1024 rows
            return self._flat(builder.operate("Gather", TENSOR_NAME, position, axis=1))
        return builder.operate("Gather", self._transposed(self._narrow()), position, axis=0)

    def _flat(self, tensor: str) -> str:
        return self._builder.operate("Reshape", tensor, self._builder.constant([1, -1], np.int64))

    def _narrow(self) -> str:
        return self._builder.cast(TENSOR_NAME, np.float32) if self._plan.wide else TENSOR_NAME

    def _transposed(self, tensor: str) -> str:
        return self._builder.operate("Transpose", tensor, perm=[1, 0])

    def category(self, column: str) -> str:
        """[1, N] int64: index into a table of `category_table`."""
        builder, feature = self._builder, self._schema[column]
        flat = self._flat(self._plan.names[self._plan.columns.index(column)])
        if self._plan.form == "codes":
            # a code out of range takes the last entry of the table, which is that of the unseen
            low, high = builder.constant(-1, np.int64), builder.constant(len(feature.levels) + 2, np.int64)
            return builder.operate("Clip", flat, low, high)
        keys, values = encoder_table(feature)
        unseen = 0 if feature.unseen == "missing" else 1
        return builder.operate(
            "LabelEncoder",
            flat,
            domain=ML_DOMAIN,
            keys_strings=keys,
            values_int64s=values,
            default_int64=unseen,
        )

    def category_table(self, column: str, members: frozenset[str], missing: bool, unseen: bool) -> Array:
        """Truth by category index: missing, unseen, the levels, and once more unseen for codes out of range."""
        levels = [level in members for level in self._schema[column].levels]
        return np.array([missing, unseen, *levels, *([unseen] if self._plan.form == "codes" else [])])

    # The literal block (findings/onnx.md, section 2.1): all comparisons of a tensor input at once ---------------------

    def prepare_block(self, conditions: Sequence[Condition]) -> None:
        """Make one [L, N] block of these conditions if the form is a tensor; wide columns stay outside."""
        if self._plan.form == "tensor":
            narrow = [c for c in dict.fromkeys(conditions) if not is_wide(self._schema[c.feature])]
            if narrow:
                self._block, order = self.block(narrow)
                self._block_rows = {condition: i for i, condition in enumerate(order)}

    @property
    def block_size(self) -> int:
        return len(self._block_rows)

    def block_row(self, condition: Condition) -> int | None:
        """The row of a condition in the prepared block."""
        return self._block_rows.get(condition)

    def block_rows(self, rows: Sequence[int]) -> str:
        """[len(rows), N] bool: rows of the prepared block; the block itself where they are all of it."""
        if list(rows) == list(range(len(self._block_rows))):
            return self._block
        return self._builder.operate("Gather", self._block, self._builder.constant(list(rows), np.int64), axis=0)

    def block(self, conditions: Sequence[Condition]) -> tuple[str, list[Condition]]:
        """The [L, N] truth values of conditions over float32 columns of a tensor, and the order of the rows."""
        builder = self._builder
        compared = [c for c in conditions if c.relation != "missing"]
        missing = [c for c in conditions if c.relation == "missing"]
        parts = []
        if compared:
            values = self._columns([c.feature for c in compared])
            signs = np.array([[1.0 if c.relation == ">" else -1.0] for c in compared], dtype=np.float32)
            bounds = np.array([[c.bound] for c in compared], dtype=np.float32)
            if (signs < 0).any():
                values = builder.operate("Mul", values, builder.constant(signs))
            parts.append(builder.operate("Greater", values, builder.constant(signs * bounds)))
        if missing:
            parts.append(builder.operate("IsNaN", self._columns([c.feature for c in missing])))
        return (parts[0] if len(parts) == 1 else builder.operate("Concat", *parts, axis=0)), compared + missing

    def _columns(self, names: list[str]) -> str:
        """[len(names), N] float32 columns of a tensor."""
        builder = self._builder
        positions = [self._schema.positions[name] for name in names]
        tensor, used = self._narrow(), sorted(set(positions))
        if len(used) < FEW_COLUMNS * len(self._schema):
            tensor = builder.operate("Gather", tensor, builder.constant(used, np.int64), axis=1)
            positions = [used.index(position) for position in positions]
            width = len(used)
        else:
            width = len(self._schema)
        rows = self._transposed(tensor)
        if positions == list(range(width)):
            return rows
        return builder.operate("Gather", rows, builder.constant(positions, np.int64), axis=0)

    def holds(self, literal: Signed) -> str:
        """[1, N] bool: a literal over a numeric or Boolean column."""
        builder, condition = self._builder, literal.condition
        place = self.block_row(condition)
        if place is not None:
            result = self.block_rows([place])
        elif condition.relation == "missing":
            result = builder.operate("IsNaN", self.row(condition.feature))
        else:
            width = np.float64 if is_wide(self._schema[condition.feature]) else np.float32
            kind = "Greater" if condition.relation == ">" else "Less"
            result = builder.operate(kind, self.row(condition.feature), builder.constant(condition.bound, width))
        return result if literal.positive else builder.operate("Not", result)

    def fill(self, value: bool | float) -> str:
        """[1, N]: a constant for every row (double for a number)."""
        builder = self._builder
        anchor = TENSOR_NAME if self._plan.form == "tensor" else self._plan.names[0]
        rows = builder.operate("Gather", builder.operate("Shape", anchor), builder.constant([0], np.int64), axis=0)
        shape = builder.operate("Concat", builder.constant([1], np.int64), rows, axis=0)
        scalar = builder.constant(value, bool if isinstance(value, bool) else np.float64)
        return builder.operate("Expand", scalar, shape)


def encoder_table(feature: Feature) -> tuple[list[str], list[int]]:
    """Texts of a category and their codes; the empty text and the missing tokens come before the levels."""
    table = dict.fromkeys(("", *feature.missing_tokens), 0)
    for code, level in enumerate(feature.levels, start=2):
        table.setdefault(level, code)
    return list(table), list(table.values())
