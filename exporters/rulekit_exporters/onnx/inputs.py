"""Input forms of an exported model, and the per-row tensors [1, N] that are read from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rulekit.cells.words import WordsApart
from rulekit.errors import Unsupported
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.table import encoded_dtype
from rulekit_exporters.onnx import InputForm
from rulekit_exporters.onnx.builder import ML_DOMAIN, OperatorBuilder, Port, element_type
from rulekit_exporters.onnx.conditions import Bit, Membership, StrictCondition, is_wide
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

    def input_of(self, column: str) -> str:
        """The public name of a column's input."""
        return self.names[self.columns.index(column)]

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


class ModelInputs(OperatorBuilder):
    """Reads columns as [1, N] tensors in their own width, and categories as indices into per-leaf tables."""

    def __init__(self, plan: InputPlan, schema: Schema, reserved: Iterable[str] = ()) -> None:
        super().__init__((*plan.names, *reserved))
        self.plan, self.schema = plan, schema
        self._block: str = ""
        self._block_rows: dict[Bit, int] = {}
        self._word_places = {word: (text, i) for text, words in plan.texts.items() for i, word in enumerate(words)}

    def ports(self) -> list[Port]:
        """The declared inputs."""
        plan = self.plan
        if plan.form == "tensor":
            element = element_type(np.float64 if plan.wide else np.float32)
            return [Port(TENSOR_NAME, element, ("N", len(self.schema)))]
        found = []
        for column, name in zip(plan.columns, plan.names, strict=True):
            if column in plan.texts:
                found.append(Port(name, element_type(np.int64), ("N", ids_dimension(name))))
                continue
            category = self.schema[column].kind == "categorical"
            dtype = (np.int64 if plan.coded else str) if category else encoded_dtype(self.schema[column])
            found.append(Port(name, element_type(dtype), plan.shape))
        return found

    def column_row(self, column: str) -> str:
        """[1, N]: one numeric or Boolean column in its own width."""
        if column in self._word_places:
            text, place = self._word_places[column]
            return self.cast(self._words(text, [place]), np.float32)
        if self.plan.form != "tensor":
            return self._flat(self.plan.input_of(column))
        position = self.constant([self.schema.positions[column]], np.int64)
        if is_wide(self.schema[column]):  # no transpose of doubles: slow at multiples of 1024 rows
            return self._flat(self.operate("Gather", TENSOR_NAME, position, axis=1))
        return self.operate("Gather", self._transposed(self.narrow_tensor()), position, axis=0)

    def _words(self, text: str, places: Sequence[int]) -> str:
        """[len(places), N] bool: whether each text has each of these words, the first of which says it is missing."""
        held = held_words(self, self.plan.input_of(text), len(self.plan.texts[text]))
        return self.operate("Gather", held, self.constant(list(places), np.int64), axis=0)

    def _flat(self, tensor: str) -> str:
        """[1, N] of [N, 1] or [N], by the one operator that keeps the name of the dimension N and stays where it is.

        Reshape loses the name: onnxruntime (seen in 1.31) searches all free buffers for each output of unknown shape
        and finds none that fits; loading 3,210 operators took 10.8 s, with the shapes known 1 s. A Transpose is moved
        behind the operators that follow, which then work on [N, 1]: 40 times as slow.
        """
        return self.operate("Flatten", tensor, axis=0)

    def side_by_side(self) -> tuple[str, dict[str, int]]:
        """[N, d] columns as a tree reads them, and the place of each: categories as codes, double where one is wide."""
        plan, schema = self.plan, self.schema
        if plan.form == "tensor":
            return TENSOR_NAME, dict(schema.positions)
        wide = any(is_wide(schema[column]) for column in plan.columns if column not in plan.texts)
        width = np.float64 if wide else np.float32
        parts: list[str] = []
        order: list[str] = []
        for column, cells in zip(plan.columns, plan.names, strict=True):
            order += plan.texts.get(column, (column,))
            if column in plan.texts:
                words = self._words(column, range(len(plan.texts[column])))
                parts.append(self._transposed(self.cast(words, width)))
                continue
            feature, category = schema[column], schema[column].kind == "categorical"
            if category and plan.form == "columns":
                cells = self._encoded(feature, cells, "float", float)
            if wide is not is_wide(feature) or (category and plan.coded):
                cells = self.cast(cells, width)
            parts.append(cells if len(plan.shape) > 1 else self.operate("Flatten", cells, axis=1))
        return self.joined(parts, axis=1), {column: j for j, column in enumerate(order)}

    def narrow_tensor(self) -> str:
        """[N, d] float32: the tensor input."""
        return self.cast(TENSOR_NAME, np.float32) if self.plan.wide else TENSOR_NAME

    def _transposed(self, tensor: str) -> str:
        return self.operate("Transpose", tensor, perm=[1, 0])

    def category(self, column: str) -> str:
        """[1, N] int64: index into a table of `by_category`."""
        feature, cells = self.schema[column], self.plan.input_of(column)
        if not self.plan.coded:
            return self._flat(self._encoded(feature, cells, "int64", int))
        # a code out of range takes the last entry of a table, which is that of the unseen
        ends = (self.constant(end, np.int64) for end in (-1, FIRST_LEVEL_CODE + len(feature.levels)))
        return self._flat(self.operate("Clip", cells, *ends))

    def _encoded(self, feature: Feature, cells: str, kind: str, number: type) -> str:
        """The codes of texts, as numbers of a kind of ONNX."""
        codes = feature.codes_of_texts
        given = {f"values_{kind}s": list(map(number, codes.values()))}
        default = {f"default_{kind}": number(feature.unseen != "missing")}
        return self.operate("LabelEncoder", cells, domain=ML_DOMAIN, keys_strings=list(codes), **given, **default)

    def by_category(self, values: Sequence[Any]) -> list[Any]:
        """Values by code as a table by category index: once more that of the unseen for codes out of range."""
        return [*values, *([values[UNSEEN_CODE]] if self.plan.coded else [])]

    def looked_up(self, column: str, tables: Sequence[Sequence[Any]], dtype: Any) -> str:
        """[len(tables), N]: what each table holds for the code of a category (missing, unseen, the levels)."""
        entries = [self.by_category(table) for table in tables]
        if len(entries) == 1:
            return self.operate("Gather", self.constant(entries[0], dtype), self.category(column), axis=0)
        found = self.operate("Gather", self.constant(entries, dtype), self.category(column), axis=1)
        return self.operate("Reshape", found, self.constant([len(tables), -1], np.int64))

    # The literal block: all comparisons of a tensor input at once ---------------------

    def prepare_block(self, bits: Sequence[Bit], mentions: int) -> None:
        """Make one [L, N] block of many leaves, or of few over the narrow columns of a tensor.

        mentions: how often the leaves are children. Connectives take their literals from the block; one that none needs
        is dropped with all dead operations.
        """
        distinct, tensor = list(dict.fromkeys(bits)), self.plan.form == "tensor"
        order: Sequence[Bit] = ()
        if distinct and (len(distinct) if tensor else mentions) >= MANY_LITERALS:
            self._block, order = self._large_block(distinct)
        elif tensor:
            if narrow := self._narrow(distinct):
                self._block, order = self._small_block(narrow)
        elif words := [bit for bit in distinct if bit.feature in self._word_places]:
            self._block, order = self._large_block(words)
        self._block_rows = {bit: i for i, bit in enumerate(order)}

    def _narrow(self, bits: Sequence[Bit]) -> list[StrictCondition]:
        return [bit for bit in bits if isinstance(bit, StrictCondition) and not is_wide(self.schema[bit.feature])]

    def _large_block(self, bits: Sequence[Bit]) -> tuple[str, list[Bit]]:
        """The block of many leaves: a column against all its bounds at once, which copies no column.

        A DNF of 400 clauses over 8 columns takes 1.3 us a row in chunks of 8192 (0.7 in chunks of 2048), with a copy of
        the column for each of its 1,600 literals 4.4 us (1.8).
        """
        groups: dict[tuple[str, str], list[Bit]] = {}
        for bit in bits:
            key = bit.feature, str(bit.relation) if isinstance(bit, StrictCondition) else "member"
            if bit.feature in self._word_places and key[1] == ">":
                key = self._word_places[bit.feature][0], "words"
            groups.setdefault(key, []).append(bit)
        single: list[StrictCondition] = []
        parts: list[str] = []
        order: list[Bit] = []
        for (feature, kind), group in groups.items():
            conditions = [bit for bit in group if isinstance(bit, StrictCondition)]
            if kind != "words" and len(group) < FEW_BOUNDS and conditions and not is_wide(self.schema[feature]):
                single += conditions
                continue
            order += group
            if kind == "words":
                parts.append(self._words(feature, [self._word_places[bit.feature][1] for bit in group]))
            elif kind == "member":
                tables = [bit.table for bit in group if isinstance(bit, Membership)]
                parts.append(self.looked_up(feature, tables, bool))
            else:
                parts.append(self._compared(feature, kind, [[condition.bound] for condition in conditions]))
        if single:
            block, found = self._small_block(single)
            parts.append(block)
            order += found
        return self.joined(parts), order

    def _compared(self, column: str, relation: str, bounds: Any) -> str:
        """[L, N] bool: a column against bounds [L, 1], or whether it is missing."""
        row = self.column_row(column)
        if relation == "missing":
            return self.operate("IsNaN", row)
        kind = "Greater" if relation == ">" else "Less"
        return self.operate(kind, row, self.constant(bounds, encoded_dtype(self.schema[column])))

    def _small_block(self, conditions: Sequence[StrictCondition]) -> tuple[str, list[StrictCondition]]:
        """The [L, N] truth values of conditions over float32 columns, and the order of the rows."""
        compared = [c for c in conditions if c.relation != "missing"]
        missing = [c for c in conditions if c.relation == "missing"]
        parts = []
        if compared:
            values = self.columns([c.feature for c in compared])
            signs = np.array([[1.0 if c.relation == ">" else -1.0] for c in compared], dtype=np.float32)
            bounds = np.array([[c.bound] for c in compared], dtype=np.float32)
            if (signs < 0).any():
                values = self.operate("Mul", values, self.constant(signs))
            parts.append(self.operate("Greater", values, self.constant(signs * bounds)))
        if missing:
            parts.append(self.operate("IsNaN", self.columns([c.feature for c in missing])))
        return self.joined(parts), compared + missing

    def block_row(self, bit: Bit) -> int | None:
        """The row of a leaf in the prepared block."""
        return self._block_rows.get(bit)

    def literals(self, bits: Sequence[Bit]) -> tuple[str, Sequence[Bit]]:
        """The [L, N] truth values of literals over columns of any kind, and the order of the rows."""
        if bits and all(bit in self._block_rows for bit in bits):
            order = sorted(bits, key=self._block_rows.__getitem__)
            return self.picked(self._block, [self._block_rows[bit] for bit in order], len(self._block_rows)), order
        narrow = self._narrow(bits)
        worded = any(bit.feature in self._word_places for bit in bits)
        if len(narrow) == len(bits) < MANY_LITERALS and not worded:
            return self._small_block(narrow)
        return self._large_block(bits)

    def holds(self, bit: Bit, positive: bool) -> str:
        """[1, N] bool: a literal."""
        if bit in self._block_rows:
            result = self.picked(self._block, [self._block_rows[bit]], len(self._block_rows))
        elif isinstance(bit, Membership):
            result = self.looked_up(bit.feature, [bit.table], bool)
        else:
            result = self._compared(bit.feature, bit.relation, bit.bound)
        return result if positive else self.operate("Not", result)

    def columns(self, names: list[str]) -> str:
        """[len(names), N]: float32 columns, in that order."""
        plan = self.plan
        if plan.form == "tensor":
            positions = [self.schema.positions[name] for name in names]
            return self.picked(self._transposed(self.narrow_tensor()), positions, len(self.schema))
        distinct = list(dict.fromkeys(names))
        if len(distinct) < FEW_INPUTS or plan.frame or any(name in self._word_places for name in distinct):
            stacked = self.joined([self.column_row(name) for name in distinct])
        else:  # two operators, where a Flatten for each column took 12 of 66 us of a call of one row and 50 columns
            stacked = self._transposed(self.operate("Concat", *map(plan.input_of, distinct), axis=1))
        return self.picked(stacked, [distinct.index(name) for name in names], len(distinct))

    def fill(self, value: bool | float) -> str:
        """[1, N]: a constant for every row (double for a number)."""
        rows = self.operate("Gather", self.operate("Shape", self.plan.names[0]), self.constant([0], np.int64), axis=0)
        shape = self.operate("Concat", self.constant([1], np.int64), rows, axis=0)
        scalar = self.constant(value, bool if isinstance(value, bool) else np.float64)
        return self.operate("Expand", scalar, shape)
