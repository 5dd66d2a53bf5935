"""The values of one column at which evaluators go wrong: thresholds and their neighbours, special numbers, level texts.

A pool is what `rulekit.verification.rows.adversarial` draws cells from: raw values (float64 with NaN for missing, or
text and None) in a fixed order, beginning with those that a rule of the graph turns on (`Pool.sharp`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.graph.leaves import cuts_of_leaf, readers
from rulekit.graph.nodes import And, AtLeast, Column, Contains, Linear, LinearThreshold, Node, Odd
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import double_crossing, float32, next_float32
from rulekit.schema import Feature

FLOAT32_MAX = float(np.finfo(np.float32).max)
TINIEST_FLOAT32 = 2.0**-149
_MOST_SETS = 256

# Zeros, subnormals of both widths and their rounding edge, the largest numbers and where float32 overflows, integers
# that collide in float32 or in double, ordinary numbers.
SPECIAL = (
    *(math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, TINIEST_FLOAT32, -TINIEST_FLOAT32),
    *(TINIEST_FLOAT32 / 2, math.nextafter(TINIEST_FLOAT32 / 2, 1.0), 2.0**-126, 2.0**-126 - TINIEST_FLOAT32),
    *(
        2.0**-1022,
        1e300,
        -1e300,
        FLOAT32_MAX,
        -FLOAT32_MAX,
        math.nextafter(FLOAT32_MAX, math.inf),
        1.7976931348623157e308,
    ),
    *(2.0**128 - 2.0**103, math.nextafter(2.0**128 - 2.0**103, 0.0), -(2.0**128) + 2.0**103),
    *(2.0**24, 2.0**24 + 1, 2.0**24 + 2, 2.0**24 + 3, -(2.0**24) - 1, 2.0**31, 2.0**53 - 1, 2.0**53),
    *(1.0, -1.0, 0.5, 0.1, 1.0 / 3.0, 2.0, 7.0, 100.0),
)

UNSEEN_TEXTS = ["never seen in training", "nan", "None", "NaN", "null", "0", "1", "-1", "é", "é", "😀"]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Raw values of one column; the first `sharp` of them stand at a threshold or are a level's look-alike."""

    values: npt.NDArray[Any]
    sharp: int

    def __len__(self) -> int:
        return len(self.values)


def thresholds_of(graph: RuleGraph) -> dict[str, tuple[float, ...]]:
    """Every number of a column at which some node may change its value, ascending, by column name.

    Thresholds and cuts; of a clipped column its bounds and, where it is rounded, up to 64 of the half-way points.
    """
    found = {
        name: {cut for node in nodes for cut in (*cuts_of_leaf(node), *_half_steps(node))}
        for name, nodes in readers(graph.roots).items()
    }
    return {name: tuple(sorted(values)) for name, values in found.items() if values}


def _half_steps(column: Node) -> tuple[float, ...]:
    if not isinstance(column, Column) or column.step == 0.0 or column.high - column.low < column.step:
        return ()
    first, last = math.floor(column.low / column.step), math.floor(column.high / column.step)
    count = min(64, last - first + 1)
    halves = ((first + (last - first) * i // max(count - 1, 1) + 0.5) * column.step for i in range(count))
    return tuple(half for half in halves if column.low <= half <= column.high)


def numeric_pool(feature: Feature, thresholds: tuple[float, ...]) -> Pool:
    """Each threshold, the doubles and float32 beside it, the double where rounding crosses it, mid-points, specials."""
    sharp: list[float] = []
    for value in thresholds:
        sharp.extend(_around(value, feature.precision))
    middles = [low + (high - low) / 2 for low, high in pairwise(thresholds)]
    outside = [thresholds[0] - 1.0, thresholds[-1] + 1.0] if thresholds else []
    return _pool(sharp, [*middles, *outside, *SPECIAL])


def boolean_pool() -> Pool:
    """True, false, missing."""
    return Pool(np.array([1.0, 0.0, math.nan, -0.0]), 3)


def categorical_pool(feature: Feature) -> Pool:
    """Each level and its look-alikes, empty text, missing tokens, None, and levels that training never saw.

    A column that refuses unseen levels gets none.
    """
    known = set(feature.levels)
    nothing = [None, "", *feature.missing_tokens]
    alike: list[str] = []
    if feature.unseen != "error":
        for level in feature.levels[:64]:
            alike.extend((f"{level} ", f" {level}", level.upper(), level.lower(), level.title(), level[:-1]))
            alike.extend((level + level[-1:], f"{level}.0", f"0{level}", f"{level}\x00"))
            if level.removeprefix("-").isdigit():
                alike.extend((f"{level}.", f"{level}.00", f"+{level}", f"+{level}.0"))
            elif level in ("true", "false"):
                alike.extend((level.swapcase(), level[:-1] + level[-1].upper(), level[:1]))
        for token in feature.missing_tokens[:64]:
            alike.extend((f"{token}.0", token.upper(), token.title()))
        alike.extend(UNSEEN_TEXTS)
    return _text_pool([*nothing, *feature.levels, *(text for text in alike if text not in known)])


def text_pool(feature: Feature, wanted: Iterable[Collection[str]] = ()) -> Pool:
    """Texts with each word alone, with all, all but one and none of them, with some at random; words within others.

    wanted: sets of words of which a text each is to be there, such as those of a conjunction.
    """
    words, rng = feature.levels, np.random.default_rng(0)
    texts: list[str | None] = [None, "", *feature.missing_tokens, "-", *words, " ".join(words)]
    texts += [" ".join(sorted(some)) for some in wanted]
    texts += [" ".join(other for other in words if other != word) for word in words[:64]]
    for share in (0.5, 0.15) if len(words) > 2 else ():
        for row in rng.random((32, len(words))) < share:
            texts.append(" ".join(word for word, has in zip(words, row, strict=True) if has))
    for word in words[:64]:
        first, rest = word[:1], word[1:]
        texts += [word.upper(), word.title(), f"x{word}", f"{word}s", word[:-1], rest, f"{word} {word}"]
        texts += [f"{word}_{word}", f"({word})", f"1{word}2", f"a\u00a0{word}\u2014b", f"{word}\u0301"]
        texts += [f"{first} {rest}", f"{first}\u200b{rest}"]
        texts += [f"\n{word}\r\n", f"{word}\x00", f"\x00{word}", f"{word}'s", f"{word}\U0001f600"]
        texts.append(word.replace("k", "\u212a").replace("s", "\u017f").replace("i", "\u0130"))
    for token in feature.missing_tokens[:64]:
        texts += [f" {token}", token.upper(), f"{token} {token}"]
    return _text_pool(texts)


def _text_pool(texts: Iterable[str | None]) -> Pool:
    values = np.array(list(dict.fromkeys(texts)), dtype=object)
    return Pool(values, len(values))


def words_met(graph: RuleGraph) -> dict[str, list[frozenset[str]]]:
    """By text the words that stand together in some conjunction, one of each of its conditions, by the text's name."""
    found: dict[str, dict[frozenset[str], None]] = {}
    for node in graph.nodes():
        if isinstance(node, And | AtLeast | Odd | Linear | LinearThreshold):
            met: dict[str, set[str]] = {}
            for child in node.children:
                for leaf in (child, *child.children):
                    if isinstance(leaf, Contains) and leaf.tokens:
                        met.setdefault(leaf.feature, set()).add(leaf.tokens[0])
            for name, words in met.items():
                found.setdefault(name, {})[frozenset(words)] = None
    return {name: list(sets)[:_MOST_SETS] for name, sets in found.items()}


def pool_of(feature: Feature, thresholds: tuple[float, ...], wanted: Iterable[Collection[str]] = ()) -> Pool:
    """The pool of any column."""
    if feature.kind == "text":
        return text_pool(feature, wanted)
    if feature.kind == "categorical":
        return categorical_pool(feature)
    return boolean_pool() if feature.kind == "boolean" else numeric_pool(feature, thresholds)


def _around(value: float, precision: str) -> list[float]:
    """A threshold, one step either side in both widths, and both edges of the doubles that round to it."""
    nearest = float32(value)
    if math.isinf(nearest):
        return [value, *_beside(value)]
    beside = [value, nearest, next_float32(nearest), -next_float32(-nearest)]
    edges = [double_crossing(nearest), double_crossing(-next_float32(-nearest))] if precision == "float32" else []
    near = [step for centre in (value, *edges) for step in _beside(centre)]
    return [*beside, *edges, *near]


def _beside(value: float) -> tuple[float, float]:
    return math.nextafter(value, -math.inf), math.nextafter(value, math.inf)


def _pool(sharp: list[float], plain: list[float]) -> Pool:
    """Without duplicates (by bits, so that both zeros stay), as they first occur."""
    values = np.array([*sharp, *plain])
    _, first = np.unique(values.view(np.int64), return_index=True)
    first.sort()
    return Pool(values[first], int((first < len(sharp)).sum()))
