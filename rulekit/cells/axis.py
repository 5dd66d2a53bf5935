"""The cells of one column: the values that some nodes cannot tell apart, and values that show each cell.

A numeric column has a cell for each interval between neighbouring cuts, and missing; a Boolean one false, true and
missing; a category each level that a node names, all its other levels together, a level never seen, and missing; a
text each set of the tokens that nodes name, and missing (`rulekit.cells.words` takes the words apart where these are
too many).
Cells that hold no value (above an infinite cut, a level never seen where the schema lets none through) are no part of
`full`. Two formulas that agree on every combination of cells agree on every row, unless a `Column` is added up.

A column is seen in one of two ways. *Encoded*: values in its precision, as a table holds them; then a cut is a number
of that precision. *Raw*: doubles and texts as a user holds them; then a cut of a float32 column is the double where
rounding crosses it, and an artifact may compare doubles that one float32 number stands for.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.arrays import Ints
from rulekit.errors import GraphError
from rulekit.graph.leaves import by_code, column_of, cuts_of_leaf, levels_of_leaf, tokens_of_leaf, truth_by_code
from rulekit.graph.nodes import Column, Compare, IsTrue, LevelPoints, Missing, Node, Step
from rulekit.numbers import crossing, float32, next_float32
from rulekit.program.nodes import RawCompare
from rulekit.schema import FIRST_LEVEL_CODE, MISSING_CODE, UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Array, absent, encoded_dtype
from rulekit.tables.token_sets import token_sets

MOST_STEPS = 1024  # of a cleaned column whose every value is a cell
_MOST_BITS = 40  # tokens of a text, whose sets are counted no further


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one column, in order: intervals or levels, (others, unseen,) missing.

    cuts: ascending (numeric); levels: those with a cell of their own, others: those that share one (category); of a
    text the named tokens, of which cell i has those at the bits of i.
    full: the set of all cells that hold a value, a bit for each; missing: the bit of missing.
    """

    feature: Feature
    cuts: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    raw: bool = False

    def __len__(self) -> int:
        if self.feature.kind == "boolean":
            return 3
        if self.feature.kind == "text":
            return (1 << min(len(self.levels), _MOST_BITS)) + 1
        return len(self.cuts) + 2 if self.feature.kind == "numeric" else len(self.levels) + 3

    @cached_property
    def missing(self) -> int:
        return 1 << (len(self) - 1)

    @cached_property
    def full(self) -> int:
        full = 2 * self.missing - 1
        if self.cuts and self.cuts[-1] == math.inf:
            full &= ~(self.missing >> 1)
        if self.feature.kind == "categorical":
            full &= ~(0 if self.others else 1 << len(self.levels))
            full &= ~(0 if self.feature.unseen == "unseen" else self.missing >> 1)
        return full

    def place(self, cut: float, precise: bool = False) -> int:
        """The interval that ends at a node's cut; precise: it is a double, which no precision rounds."""
        return bisect_left(self.cuts, _cut(self.feature, cut, self.raw, precise))

    def mask(self, leaf: Node) -> int | None:
        """The set of cells where a Boolean leaf holds, None where it does not fit this kind of column."""
        kind = self.feature.kind
        if isinstance(leaf, Missing):
            return self.missing
        flag = self.missing if getattr(leaf, "missing", False) else 0
        if isinstance(leaf, Compare | RawCompare) and kind == "numeric":
            at_most = (1 << (self.place(leaf.value, isinstance(leaf, RawCompare)) + 1)) - 1
            return ((at_most if leaf.op == "<=" else (self.missing - 1) & ~at_most) | flag) & self.full
        if isinstance(leaf, IsTrue) and kind == "boolean":
            return 2 | flag
        if hasattr(leaf, "levels") and kind == "categorical":
            if 0 < len(self._others.intersection(leaf.levels)) < len(self.others):
                return None  # no leaf of the nodes that these cells were made for
            truth = truth_by_code(leaf, self.feature)
            return sum(1 << i for i, code in enumerate(self._codes) if truth[code]) & self.full
        return None

    def reading(self, node: Node) -> Array:
        """The truth or number [cells] of a node; of a `Column` at the first value of each cell.

        Raises GraphError for a node that does not fit this kind of column.
        """
        if isinstance(node, Step) and self.feature.kind == "numeric":
            places = [self.place(cut) for cut in node.cuts]
            index = np.searchsorted(places, np.arange(len(self) - 1), side="left")
            return np.append(np.asarray(node.values)[index], node.missing)
        if isinstance(node, LevelPoints) and self.feature.kind == "categorical":
            return by_code(node, self.feature)[self._codes]
        if isinstance(node, Column) and self.feature.kind != "categorical":
            return cleaned(self.feature, node, np.array([values[0] if values else math.nan for values in self.shown()]))
        mask = self.mask(node)
        if mask is None:
            raise GraphError(
                f"{type(node).__name__} does not fit a {self.feature.kind} column",
                where=f"column {self.feature.name!r}",
            )
        packed = np.frombuffer(mask.to_bytes(len(self) // 8 + 1, "little"), dtype=np.uint8)
        return np.unpackbits(packed, count=len(self), bitorder="little").astype(bool)

    def of_values(self, values: Array) -> Ints:
        """The number of the cell [n] of the encoded values [n] of a table; of a column that is no text."""
        last = len(self) - 1
        if self.feature.kind == "categorical":
            by = np.full(FIRST_LEVEL_CODE + len(self.feature.levels), len(self.levels), dtype=np.int64)
            by[self._codes[: len(self.levels)]] = np.arange(len(self.levels))
            by[MISSING_CODE], by[UNSEEN_CODE] = last, last - 1
            return by[values]
        missing = absent(values)
        if self.feature.kind == "boolean":
            return np.where(missing, last, values > 0.5).astype(np.int64)
        cuts = np.array(self.cuts, dtype=values.dtype)
        return np.where(missing, last, np.searchsorted(cuts, values, side="left")).astype(np.int64)

    def encoded(self) -> Array:
        """One encoded value for each cell of `full`: of an interval the largest finite one, then the infinities."""
        dtype = encoded_dtype(self.feature)
        if self.feature.kind == "text":  # a text of each set of words
            cells = np.arange(len(self))
            missing, bits = cells == len(self) - 1, cells[:, None] >> np.arange(len(self.levels))
            rows, which = np.nonzero(bits & 1 & ~missing[:, None])
            ids = np.array([self.feature.levels.index(token) for token in self.levels], dtype=np.int64)[which]
            return token_sets(rows, ids, missing, len(self.feature.levels))  # type: ignore[return-value]
        if self.feature.kind == "categorical":
            return np.array([code for i, code in enumerate(self._codes) if self.full >> i & 1], dtype=dtype)
        if self.feature.kind == "boolean":
            return np.array([0.0, 1.0, math.nan], dtype=dtype)
        finite = [cut for cut in self.cuts if math.isfinite(cut)]
        last = [_next(self.feature, finite[-1])] if finite else [0.0]
        values = [*finite, *(value for value in last if math.isfinite(value)), math.inf, -math.inf, math.nan]
        return np.array(values, dtype=dtype)

    def shown(self) -> list[list[Any]]:
        """Raw values of each cell: ends of an interval and values in it, texts; none for a cell without a value."""
        if self.feature.kind == "boolean":
            apart = self.feature.missing_numbers  # any number is a truth value, so some other one shows the cell
            near = ([truth, *(truth + 2.0**-k for k in range(3, 4 + len(apart)))] for truth in (0.0, 1.0))
            return [[next(value for value in values if value not in apart)] for values in near] + [[math.nan]]
        if self.feature.kind == "categorical":
            unseen = [] if self.feature.unseen == "error" else [unseen_text(self.feature)]
            levels = texts_of_codes(self.feature)[FIRST_LEVEL_CODE:]
            texts = [None, "", *unseen, *levels]
            by_code: dict[int, list[Any]] = {}
            for text, code in zip(texts, codes_of(self.feature, texts), strict=True):
                by_code.setdefault(code, []).append(text)
            found = [by_code.get(code, []) for code in self._codes]
            numbered = enumerate(self.feature.levels, FIRST_LEVEL_CODE)
            others = (code for code, level in numbered if level in self._others)
            found[len(self.levels)] = [text for code in others for text in by_code.get(code, ())]
            return found
        starts = [-math.inf, *(math.nextafter(cut, math.inf) for cut in self.cuts)]
        intervals = [_between(self.feature, *ends) for ends in zip(starts, [*self.cuts, math.inf], strict=True)]
        if self.cuts and self.cuts[-1] == math.inf:
            intervals[-1] = []
        return [*intervals, [math.nan]]

    @cached_property
    def _others(self) -> frozenset[str]:
        return frozenset(self.others)

    @cached_property
    def _codes(self) -> list[int]:
        places = {level: code for code, level in enumerate(self.feature.levels, start=FIRST_LEVEL_CODE)}
        own = [places[level] for level in self.levels]
        return [*own, places[self.others[0]] if self.others else UNSEEN_CODE, UNSEEN_CODE, MISSING_CODE]


def cells_of(feature: Feature, nodes: Iterable[Node], raw: bool = False) -> Cells:
    """The cells that these nodes tell apart; nodes that read other columns are passed over."""
    own = [node for node in nodes if column_of(node) == feature.name]
    if feature.kind == "numeric":
        return Cells(feature, tuple(cuts_of(feature, own, raw)), raw=raw)
    if feature.kind == "boolean":
        return Cells(feature, raw=raw)
    if feature.kind == "text":
        return Cells(feature, (), tuple(sorted({token for node in own for token in tokens_of_leaf(node)})), raw=raw)
    named = {level for node in own for level in levels_of_leaf(node)}
    levels = tuple(level for level in feature.levels if level in named)
    return Cells(feature, (), levels, tuple(level for level in feature.levels if level not in named), raw)


def cuts_of(feature: Feature, nodes: Iterable[Node], raw: bool = True) -> list[float]:
    """The cuts of a numeric column between which no node changes its value, ascending.

    raw: doubles; of a Column that takes few values those at which it is rounded to another one, of others none.
    Else: numbers of the column's precision; of a Column its bounds.
    """
    found: set[float] = set()
    for node in nodes:
        if raw and isinstance(node, Column):
            found.update(_rounding_cuts(feature, node) if has_few_steps(node) else ())
        else:
            found.update(_cut(feature, cut, raw, isinstance(node, RawCompare)) for cut in cuts_of_leaf(node))
    return sorted(found)


def _cut(feature: Feature, cut: float, raw: bool, precise: bool) -> float:
    if precise or feature.precision == "float64":
        return cut + 0.0
    return crossing(cut) if raw else float32(cut) + 0.0


def _next(feature: Feature, value: float) -> float:
    return next_float32(value) if feature.precision == "float32" else math.nextafter(value, math.inf)


def _between(feature: Feature, low: float, high: float) -> list[float]:
    """Both ends of an interval, a plain number beyond the only finite end, and both zeros where they lie inside.

    Only those that mean no missing; where all do, the first number that does not.
    """
    values = [low, high] if low <= high else []
    if low == -math.inf < high < math.inf:
        values.append(high - 1.0)
    if low < 0.0 < high:
        values += [0.0, -0.0]
    if -math.inf < low < high == math.inf:
        values.append(low + 1.0)
    found = [value for value in dict.fromkeys(values) if value not in feature.missing_numbers]
    while not found and low <= high:
        if low not in feature.missing_numbers:
            found.append(low)
        elif low == math.inf:
            break
        low = math.nextafter(low, math.inf)
    return found


def has_few_steps(column: Column) -> bool:
    """Whether a cleaned column takes so few values that each is a cell."""
    return column.step > 0.0 and column.high - column.low <= MOST_STEPS * column.step


def _rounding_cuts(feature: Feature, column: Column) -> list[float]:
    """The doubles at which a column is rounded to the next step: half-way, which goes to the even one."""
    first, last = math.floor(column.low / column.step), math.ceil(column.high / column.step)
    cuts = []
    for k in range(first, last):
        half = (k + 0.5) * column.step
        if feature.precision == "float32":
            below = float32(half)
            below = below if below <= half else -next_float32(-below)
            cuts.append(crossing(-next_float32(-below) if k % 2 and below == half else below))
        else:
            cuts.append(math.nextafter(half, -math.inf) if k % 2 else half)
    return cuts


def cleaned(feature: Feature, column: Column, values: Array) -> Array:
    """What a Column makes of raw values, as `rulekit.graph.evaluation.evaluator` does."""
    with np.errstate(over="ignore", invalid="ignore"):
        result: Array = np.clip(values.astype(encoded_dtype(feature)).astype(np.float64), column.low, column.high)
        if column.step:
            result = np.rint(result / column.step) * column.step
    return np.where(np.isnan(values), column.missing, result)


def inferred_feature(name: str, leaves: Sequence[Node]) -> Feature:
    """A feature that tells apart at least as much as any column that these leaves could read.

    For use where no schema is known: float64 separates every two thresholds that float32 separates, and a category
    has one level beyond those that are mentioned.
    """
    if any(hasattr(leaf, "tokens") for leaf in leaves):
        return Feature(name, "text", tuple(sorted({token for leaf in leaves for token in tokens_of_leaf(leaf)})))
    if any(hasattr(leaf, "levels") for leaf in leaves):
        levels = sorted({level for leaf in leaves for level in levels_of_leaf(leaf)})
        return Feature(name, "categorical", (*levels, fresh_text("other", levels)))
    if any(cuts_of_leaf(leaf) or isinstance(leaf, Step) for leaf in leaves):
        return Feature(name, "numeric", precision="float64")
    return Feature(name, "boolean")


def unseen_text(feature: Feature, taken: Iterable[str] = ()) -> str:
    """A text that is neither a level nor a missing token of a category, nor one of `taken`."""
    return fresh_text("never seen", {*feature.levels, *feature.missing_tokens, *taken})


def texts_of_codes(feature: Feature) -> list[str | None]:
    """A text for each code of a category: None, one never seen, and for a level that is a missing token a look-alike.

    Such a level without one stands in no table, and is given as it is.
    """
    by_code: dict[int, str] = {}
    for text, code in feature.codes_of_texts.items():
        by_code.setdefault(code, text)
    levels = (by_code.get(code, level) for code, level in enumerate(feature.levels, FIRST_LEVEL_CODE))
    return [None, unseen_text(feature), *levels]


def fresh_text(text: str, taken: Collection[str]) -> str:
    """The text, with as many full stops behind it as make it none of those that are taken."""
    while text in taken:
        text += "."
    return text


def codes_of(feature: Feature, texts: Iterable[str | None]) -> list[int]:
    """The code that the schema gives to each text of a category."""
    known: dict[str | None, int] = {None: MISSING_CODE}
    known.update(feature.codes_of_texts)
    if feature.unseen != "error":
        known[unseen_text(feature)] = MISSING_CODE if feature.unseen == "missing" else UNSEEN_CODE
    listed = list(texts)
    others = [text for text in dict.fromkeys(listed) if text not in known]
    if others:  # a table is made for few texts, as that takes milliseconds
        cells = np.empty(len(others), dtype=object)
        cells[:] = others
        known |= zip(others, encode({feature.name: cells}, Schema((feature,))).arrays[0].tolist(), strict=True)
    return [known[text] for text in listed]
