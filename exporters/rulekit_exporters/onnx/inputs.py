"""Input forms of an exported model, and the per-row tensors [1, N] that are read from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.words import WordsApart
from rulekit.errors import Unsupported
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import encoded_dtype
from rulekit_exporters.onnx.builder import ML_DOMAIN, OperatorBuilder, Port, element_type
from rulekit_exporters.onnx.conditions import Bit, Membership, StrictCondition, is_wide
from rulekit_exporters.onnx.options import InputForm
from rulekit_exporters.onnx.word_ids import held_words, ids_dimension

TENSOR_NAME = "input"

# From so many literals on they form one block whatever the input form, and connectives draw on it: fewer operators to
# load and to call.
MANY_LITERALS = 100
# From so many column inputs on they are put side by side before they are turned.
FEW_INPUTS = 3
# A column of fewer bounds shares the comparison with other columns.
FEW_BOUNDS = 4


@dataclass(frozen=True, slots=True)
class InputPlan:
    """Which inputs a model has: the form, the columns in order and the public name of each (one for a tensor).

    texts: of each of these columns that is a text the columns of words that its ids stand for, in their order. frame:
    inputs and outputs are columns of a data frame.
    """

    form: InputForm
    columns: tuple[str, ...]
    names: tuple[str, ...]
    wide: bool = False
    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    frame: bool = False

    @property
    def shape(self) -> tuple[int | str, ...]:
        """The shape of an input that is a column; mlflow.pyfunc feeds a single one as a frame of one column."""
        return ("N",) if self.frame and len(self.names) > 1 else ("N", 1)

    def fed(self, cells: Array) -> Array:
        """Cells in that shape."""
        return cells.reshape(-1, *self.shape[1:])

    @property
    def coded(self) -> bool:
        """Whether categories are integer codes."""
        return self.form in ("codes", "ids")

    @property
    def renamed(self) -> dict[str, str]:
        """The input names of the columns whose input cannot bear their name."""
        if self.form == "tensor":
            return {}
        return {column: name for column, name in zip(self.columns, self.names, strict=True) if column != name}


def plan_inputs(
    graph: RuleGraph, wanted: InputForm | None, words: WordsApart | None = None, frame: bool = False
) -> InputPlan:
    """The input form of a graph; raises Unsupported where the wanted form cannot express a used column.

    words: the columns of words of the graph, where it is the form of a model over texts.
    """
    used = [graph.schema[name] for name in graph.used_features]
    categories = [feature.name for feature in used if feature.kind == "categorical"]
    form: InputForm = wanted or ("columns" if categories or frame else "tensor")
    if form == "tensor" and categories:
        raise Unsupported(f"the category {categories[0]!r} in a float tensor", "onnx", "use input=columns or codes")
    plan = replace(plan_of_form(graph, form, any(map(is_wide, used)), words), frame=frame)
    if form == "ids" and not (plan.texts and used):
        raise Unsupported("a model without texts as ids of words", "onnx", "use input=codes")
    if form != "tensor" and not plan.columns:
        raise Unsupported("a model without columns as column inputs", "onnx", "use input=tensor")
    return plan


def plan_of_form(graph: RuleGraph, form: InputForm, wide: bool = False, words: WordsApart | None = None) -> InputPlan:
    """The inputs of a graph in a form; wide: the tensor holds doubles; words: the columns that are words.

    A model of constants reads no column, but needs one to know the number of rows.
    """
    if form == "tensor":
        return InputPlan("tensor", graph.schema.names, (TENSOR_NAME,), wide)
    columns = tuple(graph.used_features or graph.schema.names[:1])
    if form != "ids" or words is None:
        return InputPlan(form, columns, public_names(columns))
    text_of = {column: text for text, own in words.columns.items() for column in own}
    columns = tuple(dict.fromkeys(text_of.get(column, column) for column in columns))
    texts = {column: words.columns[column] for column in columns if column in words.columns}
    return InputPlan(form, columns, public_names(columns), texts=texts)


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


class ModelInputs:
    """Reads columns as [1, N] tensors in their own width, and categories as indices into per-leaf tables."""

    def __init__(self, plan: InputPlan, schema: Schema, builder: OperatorBuilder) -> None:
        self._plan, self._schema, self._builder = plan, schema, builder
        self._block: str = ""
        self._block_rows: dict[Bit, int] = {}
        self._word_places = {
            column: (text, place) for text, columns in plan.texts.items() for place, column in enumerate(columns)
        }

    def ports(self) -> list[Port]:
        """The declared inputs."""
        if self._plan.form == "tensor":
            element = element_type(np.float64 if self._plan.wide else np.float32)
            return [Port(TENSOR_NAME, element, ("N", len(self._schema)))]
        return [
            Port(name, element_type(np.int64), ("N", ids_dimension(name)))
            if column in self._plan.texts
            else Port(name, self._element(self._schema[column]), self._plan.shape)
            for column, name in zip(self._plan.columns, self._plan.names, strict=True)
        ]

    def _element(self, feature: Feature) -> int:
        if feature.kind == "categorical":
            return element_type(np.int64 if self._plan.coded else str)
        return element_type(encoded_dtype(feature))

    def row(self, column: str) -> str:
        """[1, N]: one numeric or Boolean column in its own width."""
        builder = self._builder
        if column in self._word_places:
            text, place = self._word_places[column]
            return builder.cast(self._words(text, [place]), np.float32)
        if self._plan.form != "tensor":
            return self._flat(self._plan.names[self._plan.columns.index(column)])
        position = builder.constant([self._schema.positions[column]], np.int64)
        if is_wide(self._schema[column]):  # no transpose of doubles: slow at multiples of 1024 rows
            return self._flat(builder.operate("Gather", TENSOR_NAME, position, axis=1))
        return builder.operate("Gather", self._transposed(self.narrow_tensor()), position, axis=0)

    def _words(self, text: str, places: Sequence[int]) -> str:
        """[len(places), N] bool: whether each text has each of these words, the first of which says it is missing."""
        held = held_words(self._builder, self._plan.names[self._plan.columns.index(text)], len(self._plan.texts[text]))
        return self._builder.operate("Gather", held, self._builder.constant(list(places), np.int64), axis=0)

    def _flat(self, tensor: str) -> str:
        """[1, N] of [N, 1] or [N], by the one operator that keeps the name of the dimension N and stays where it is.

        Reshape loses the name: onnxruntime (seen in 1.31) searches all free buffers for each output of unknown shape
        and finds none that fits; loading 3,210 operators took 10.8 s, with the shapes known 1 s. A Transpose is moved
        behind the operators that follow, which then work on [N, 1]: 40 times as slow.
        """
        return self._builder.operate("Flatten", tensor, axis=0)

    def side_by_side(self, clipped: bool = False) -> tuple[str, dict[str, int]]:
        """[N, d] columns as a tree reads them, and the place of each: categories as codes, double where one is wide.

        clipped: a code out of range that is fed is that of unseen.
        """
        if self._plan.form == "tensor":
            return TENSOR_NAME, dict(self._schema.positions)
        builder, texts = self._builder, self._plan.texts
        wide = any(is_wide(self._schema[column]) for column in self._plan.columns if column not in texts)
        width = np.float64 if wide else np.float32
        parts: list[str] = []
        order: list[str] = []
        for column, name in zip(self._plan.columns, self._plan.names, strict=True):
            order += texts.get(column, (column,))
            if column in texts:
                words = builder.cast(self._words(column, range(len(texts[column]))), width)
                parts.append(self._transposed(words))
                continue
            feature, cells = self._schema[column], name
            if feature.kind == "categorical" and self._plan.form == "columns":
                keys, codes = list(feature.codes_of_texts), feature.codes_of_texts.values()
                unseen = 0.0 if feature.unseen == "missing" else 1.0
                attributes = {"keys_strings": keys, "values_floats": [float(c) for c in codes], "default_float": unseen}
                cells = builder.operate("LabelEncoder", name, domain=ML_DOMAIN, **attributes)
            if clipped and feature.kind == "categorical" and self._plan.coded:
                known = self.by_category(range(FIRST_LEVEL_CODE + len(feature.levels)))
                cells = builder.operate("Gather", builder.constant(known, width), self._clipped(feature, name), axis=0)
            elif wide is not is_wide(feature) or (feature.kind == "categorical" and self._plan.coded):
                cells = builder.cast(cells, width)
            parts.append(cells if len(self._plan.shape) > 1 else builder.operate("Flatten", cells, axis=1))
        return builder.joined(parts, axis=1), {column: j for j, column in enumerate(order)}

    def narrow_tensor(self) -> str:
        """[N, d] float32: the tensor input."""
        return self._builder.cast(TENSOR_NAME, np.float32) if self._plan.wide else TENSOR_NAME

    def _transposed(self, tensor: str) -> str:
        return self._builder.operate("Transpose", tensor, perm=[1, 0])

    def category(self, column: str) -> str:
        """[1, N] int64: index into a table of `category_table`."""
        builder, feature = self._builder, self._schema[column]
        cells = self._plan.names[self._plan.columns.index(column)]
        if self._plan.coded:
            return self._flat(self._clipped(feature, cells))
        table = feature.codes_of_texts
        unseen = 0 if feature.unseen == "missing" else 1
        codes = builder.operate(
            "LabelEncoder",
            cells,
            domain=ML_DOMAIN,
            keys_strings=list(table),
            values_int64s=list(table.values()),
            default_int64=unseen,
        )
        return self._flat(codes)

    def _clipped(self, feature: Feature, cells: str) -> str:
        """Codes, of which one out of range takes the last entry of a table, which is that of the unseen."""
        ends = (self._builder.constant(end, np.int64) for end in (-1, FIRST_LEVEL_CODE + len(feature.levels)))
        return self._builder.operate("Clip", cells, *ends)

    def by_category(self, values: Sequence[Any]) -> list[Any]:
        """Values by code as a table by category index: once more that of the unseen for codes out of range."""
        return [*values, *([values[UNSEEN_CODE]] if self._plan.coded else [])]

    def looked_up(self, column: str, values: Sequence[Any], dtype: Any) -> str:
        """[1, N]: what a table says of each code of a category."""
        table = self._builder.constant(self.by_category(values), dtype)
        return self._builder.operate("Gather", table, self.category(column), axis=0)

    # The literal block: all comparisons of a tensor input at once ---------------------

    def prepare_block(self, bits: Sequence[Bit], mentions: int) -> None:
        """Make one [L, N] block of many leaves, or of few over the narrow columns of a tensor.

        mentions: how often the leaves are children. Connectives take their literals from the block; one that none needs
        is dropped with all dead operations.
        """
        distinct = list(dict.fromkeys(bits))
        order: list[Bit] = []
        if distinct and (len(distinct) if self._plan.form == "tensor" else mentions) >= MANY_LITERALS:
            self._block, order = self.large_block(distinct)
        elif self._plan.form == "tensor":
            narrow = [b for b in distinct if isinstance(b, StrictCondition) and not is_wide(self._schema[b.feature])]
            if narrow:
                self._block, found = self.block(narrow)
                order.extend(found)
        elif words := [bit for bit in distinct if bit.feature in self._word_places]:
            self._block, order = self.large_block(words)
        self._block_rows = {bit: i for i, bit in enumerate(order)}

    def large_block(self, bits: Sequence[Bit]) -> tuple[str, list[Bit]]:
        """The block of many leaves: a column against all its bounds at once, which copies no column.

        A DNF of 400 clauses over 8 columns takes 1.3 us a row in chunks of 8192 (0.7 in chunks of 2048), with a copy of
        the column for each of its 1,600 literals 4.4 us (1.8).
        """
        builder = self._builder
        groups: dict[tuple[str, str], list[Bit]] = {}
        for bit in bits:
            kind: str = bit.relation if isinstance(bit, StrictCondition) else "member"
            if bit.feature in self._word_places and kind == ">":
                groups.setdefault((self._word_places[bit.feature][0], "words"), []).append(bit)
                continue
            groups.setdefault((bit.feature, kind), []).append(bit)
        single: list[StrictCondition] = []
        parts: list[str] = []
        order: list[Bit] = []
        for (feature, kind), group in groups.items():
            if kind == "words":
                order.extend(group)
                parts.append(self._words(feature, [self._word_places[bit.feature][1] for bit in group]))
                continue
            wide = is_wide(self._schema[feature])
            conditions = [bit for bit in group if isinstance(bit, StrictCondition)]
            if len(group) < FEW_BOUNDS and conditions and not wide:
                single.extend(conditions)
                continue
            order.extend(group)
            if kind == "member":
                tables = np.array([self.by_category(bit.table) for bit in group if isinstance(bit, Membership)])
                stacked = builder.operate("Gather", builder.constant(tables), self.category(feature), axis=1)
                shape = builder.constant([len(group), -1], np.int64)
                parts.append(builder.operate("Reshape", stacked, shape))
            elif kind == "missing":
                parts.append(builder.operate("IsNaN", self.row(feature)))
            else:
                bounds = np.array([[c.bound] for c in conditions], dtype=encoded_dtype(self._schema[feature]))
                operation = "Greater" if kind == ">" else "Less"
                parts.append(builder.operate(operation, self.row(feature), builder.constant(bounds)))
        if single:
            block, found = self.block(single)
            parts.append(block)
            order.extend(found)
        return builder.joined(parts), order

    @property
    def block_size(self) -> int:
        return len(self._block_rows)

    def block_row(self, bit: Bit) -> int | None:
        """The row of a leaf in the prepared block."""
        return self._block_rows.get(bit)

    def block_rows(self, rows: Sequence[int]) -> str:
        """[len(rows), N] bool: rows of the prepared block."""
        return self._builder.picked(self._block, rows, self.block_size)

    def block(self, conditions: Sequence[StrictCondition]) -> tuple[str, list[StrictCondition]]:
        """The [L, N] truth values of conditions over float32 columns, and the order of the rows."""
        builder = self._builder
        compared = [c for c in conditions if c.relation != "missing"]
        missing = [c for c in conditions if c.relation == "missing"]
        parts = []
        if compared:
            values = self.columns([c.feature for c in compared])
            signs = np.array([[1.0 if c.relation == ">" else -1.0] for c in compared], dtype=np.float32)
            bounds = np.array([[c.bound] for c in compared], dtype=np.float32)
            if (signs < 0).any():
                values = builder.operate("Mul", values, builder.constant(signs))
            parts.append(builder.operate("Greater", values, builder.constant(signs * bounds)))
        if missing:
            parts.append(builder.operate("IsNaN", self.columns([c.feature for c in missing])))
        return builder.joined(parts), compared + missing

    def literals(self, bits: Sequence[Bit]) -> tuple[str, Sequence[Bit]]:
        """The [L, N] truth values of literals over columns of any kind, and the order of the rows."""
        if bits and all(bit in self._block_rows for bit in bits):
            order = sorted(bits, key=self._block_rows.__getitem__)
            return self.block_rows([self._block_rows[bit] for bit in order]), order
        narrow = [bit for bit in bits if isinstance(bit, StrictCondition) and not is_wide(self._schema[bit.feature])]
        worded = any(bit.feature in self._word_places for bit in bits)
        if len(narrow) == len(bits) < MANY_LITERALS and not worded:
            return self.block(narrow)
        return self.large_block(bits)

    def points(self, column: str, tables: Sequence[Sequence[float]], width: Any) -> str:
        """[len(tables), N]: what each table holds for the code of a category (missing, unseen, the levels)."""
        if len(tables) == 1:
            return self.looked_up(column, tables[0], width)
        builder, entries = self._builder, np.array([self.by_category(table) for table in tables], dtype=width)
        found = builder.operate("Gather", builder.constant(entries), self.category(column), axis=1)
        return builder.operate("Reshape", found, builder.constant([len(tables), -1], np.int64))

    def columns(self, names: list[str]) -> str:
        """[len(names), N]: float32 columns, in that order."""
        builder = self._builder
        if self._plan.form != "tensor":
            distinct = list(dict.fromkeys(names))
            if len(distinct) < FEW_INPUTS or self._plan.frame or any(name in self._word_places for name in distinct):
                stacked = builder.joined([self.row(name) for name in distinct])
            else:  # two operators, where a Flatten for each column took 12 of 66 us of a call of one row and 50 columns
                cells = [self._plan.names[self._plan.columns.index(name)] for name in distinct]
                stacked = self._transposed(builder.operate("Concat", *cells, axis=1))
            return builder.picked(stacked, [distinct.index(name) for name in names], len(distinct))
        positions = [self._schema.positions[name] for name in names]
        return builder.picked(self._transposed(self.narrow_tensor()), positions, len(self._schema))

    def side_by_side_rows(self, names: list[str]) -> str:
        """[len(names), N]: columns as a tree reads them, in that order."""
        tensor, places = self.side_by_side(clipped=True)
        return self._builder.picked(self._transposed(tensor), [places[name] for name in names], len(places))

    def holds(self, bit: Bit, positive: bool) -> str:
        """[1, N] bool: a literal."""
        builder = self._builder
        place = self.block_row(bit)
        if place is not None:
            result = self.block_rows([place])
        elif isinstance(bit, Membership):
            result = self.looked_up(bit.feature, bit.table, bool)
        elif bit.relation == "missing":
            result = builder.operate("IsNaN", self.row(bit.feature))
        else:
            kind, width = "Greater" if bit.relation == ">" else "Less", encoded_dtype(self._schema[bit.feature])
            result = builder.operate(kind, self.row(bit.feature), builder.constant(bit.bound, width))
        return result if positive else builder.operate("Not", result)

    def fill(self, value: bool | float) -> str:
        """[1, N]: a constant for every row (double for a number)."""
        builder = self._builder
        anchor = TENSOR_NAME if self._plan.form == "tensor" else self._plan.names[0]
        rows = builder.operate("Gather", builder.operate("Shape", anchor), builder.constant([0], np.int64), axis=0)
        shape = builder.operate("Concat", builder.constant([1], np.int64), rows, axis=0)
        scalar = builder.constant(value, bool if isinstance(value, bool) else np.float64)
        return builder.operate("Expand", scalar, shape)
