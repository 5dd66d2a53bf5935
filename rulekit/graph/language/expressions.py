"""What the names, conditions, scores and formulas of the rule language mean: one function per grammar rule.

A function is called with the values of the rule's parts: words as text with their kind in `.type`, all else as built
here. Numbers are the doubles nearest to their decimals.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from rulekit.errors import FormatError
from rulekit.graph import nodes as rg
from rulekit.graph.language.words import scale_of, unquoted
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import ClassLabel
from rulekit.numbers import strength_of

MAX_DIGITS = 400


class MarkedLeaf(NamedTuple):
    """A leaf before its marks are known: `make` takes those named in `marks` as keywords."""

    make: Callable[..., Node | TwoBounds]
    marks: tuple[str, ...]


class TwoBounds(NamedTuple):
    """A lower and an upper bound on one column: two conditions of the conjunction that they stand in."""

    lower: Node
    upper: Node


class Piece(NamedTuple):
    """One piece of a step function: `value` up to `cut`, which is a number or still a word."""

    value: float
    cut: Any


class LevelGroup(NamedTuple):
    """Levels of a category that have the same points."""

    points: float
    levels: tuple[str, ...]


def real(token: Any) -> float:
    """The double nearest to a decimal."""
    return float(token)


def integer(token: Any) -> int:
    """An integer without point or exponent; raises FormatError."""
    digits = token.lstrip("+-")
    if not digits.isdigit() or len(digits) > MAX_DIGITS:
        raise FormatError(f"`{token[:40]}` is not an integer, or is too long")
    return int(token)


def _value(token: Any) -> ClassLabel:
    if token.type in ("TRUE", "FALSE"):
        return bool(token.type == "TRUE")
    if token.type != "NUMBER":
        return unquoted(token)
    return integer(token) if token.lstrip("+-").isdigit() else real(token)


def _contrary(leaf: Callable[..., Node], *named: Any) -> MarkedLeaf:
    """A leaf that is known not to hold: like every condition, it fails where x is missing unless marked."""
    return MarkedLeaf(lambda missing=False: rg.Not(leaf(*named, missing=not missing)), ("missing",))


def _known(feature: str, word: Any) -> MarkedLeaf:
    if word != "known":
        raise FormatError(f"no column is `{word}`", fix="write is known, or is missing")
    return MarkedLeaf(lambda: rg.Not(rg.Missing(feature)), ())


def _between(feature: str, low: Any, _: Any, op: Any, high: Any) -> MarkedLeaf:
    if op != "<=":
        raise FormatError("after `<` and a column stands `<=`", fix="bounds are written `2 < x <= 3`")
    if real(low) >= real(high):
        raise FormatError(f"no value of {feature!r} lies between these bounds", fix="write the lower one first")
    return bounded(feature, real(low), real(high))


def bounded(feature: str, low: float, high: float) -> MarkedLeaf:
    """The condition that a number is above `low` and at most `high`; `low` may be infinite."""
    if math.isinf(low):
        return MarkedLeaf(partial(rg.Compare, feature, "<=", high), ("missing",))

    def make(missing: bool = False) -> TwoBounds:
        return TwoBounds(rg.Compare(feature, ">", low, missing), rg.Compare(feature, "<=", high, missing))

    return MarkedLeaf(make, ("missing",))


def _and(*parts: Any) -> Node:
    return rg.And([node for part in parts for node in (part if isinstance(part, TwoBounds) else (part,))])


def _plain(condition: MarkedLeaf) -> Node | TwoBounds:
    return condition.make()


def _marked(condition: MarkedLeaf, *marks: Any) -> Node | TwoBounds:
    words = [mark.split()[-1] for mark in marks]
    for word in words:
        if word not in condition.marks:
            raise FormatError(f"`or {word}` says nothing about this condition")
    return condition.make(**dict.fromkeys(words, True))


def _probable(token: Any) -> float:
    p = real(token)
    if not 0 <= p <= 1:
        raise FormatError(f"a probability lies between 0 and 1, unlike {token}")
    return strength_of(p)


class DecidedClass(Enum):
    """What stands for the condition that a class is decided while it is not yet known which class."""

    OF_CLASS = "decided"


@dataclass(frozen=True, slots=True)
class Beside:
    """A probability on the side of what is decided, for a class that is not yet known."""

    probability: Node
    above: float
    below: float

    def of(self, rule: Node) -> Node:
        return rg.Sided(self.probability, rule, self.above, self.below)


def _sided(probability: Node, above: Any, rule: Node | DecidedClass, below: Any) -> Node | Beside:
    said = Beside(probability, real(above), real(below))
    return said if isinstance(rule, DecidedClass) else said.of(rule)


def _compared(*_: Any) -> Node:
    raise FormatError("a sum is compared with no number", fix="write at least 1.5 points of (0.5 if C, 2 * S)")


def _above(score: Node, scale: Any, token: Any) -> Node:
    meant = scale_of(score)
    if scale != meant:
        raise FormatError(f"`{scale}` is not what this is compared with", fix=f"write exceeds {meant}")
    return rg.Above(score, real(token))


def _step(feature: str, *parts: Any) -> Node:
    pieces, (last, missing) = parts[:-2], parts[-2:]
    cuts, values = tuple(real(p.cut) for p in pieces), tuple(p.value for p in pieces)
    return rg.Step(feature, cuts, (*values, real(last)), real(missing))


def _points(feature: str, *parts: Any) -> Node:
    groups, (missing, unseen) = parts[:-2], parts[-2:]
    points = [(level, group.points) for group in groups for level in group.levels]
    return rg.LevelPoints(feature, tuple(points), real(missing), real(unseen))


def _clip(feature: str, low: Any, high: Any, *rest: Any) -> Node:
    step = rest[0] if len(rest) == 2 else 0.0
    return rg.Column(feature, real(rest[-1]), real(low), real(high), step)


EXPRESSIONS: dict[str, Callable[..., Any]] = {
    "name": unquoted,
    "value": _value,
    "names": lambda *texts: texts,
    "is_true": lambda feature: MarkedLeaf(partial(rg.IsTrue, feature), ("missing",)),
    "is_false": partial(_contrary, rg.IsTrue),
    "compare": lambda feature, op, token: MarkedLeaf(partial(rg.Compare, feature, op, real(token)), ("missing",)),
    "between": _between,
    "among": lambda feature, levels: MarkedLeaf(partial(rg.Among, feature, levels), ("missing", "unseen")),
    "not_among": partial(_contrary, rg.Among),
    "contains": lambda feature, token: MarkedLeaf(partial(rg.Contains, feature, (token,)), ("missing",)),
    "contains_any": lambda feature, tokens: MarkedLeaf(partial(rg.Contains, feature, tokens), ("missing",)),
    "lacks": lambda feature, token: _contrary(rg.Contains, feature, (token,)),
    "lacks_all": partial(_contrary, rg.Contains),
    "is_missing": lambda feature: MarkedLeaf(partial(rg.Missing, feature), ()),
    "is_known": _known,
    "plain": _plain,
    "truth": _plain,
    "untruth": _plain,
    "marked": _marked,
    "constant": lambda token: rg.Constant(token.type == "TRUE"),
    "negation": rg.Not,
    "group": lambda node: node,
    "conjunction": _and,
    "disjunction": lambda *nodes: rg.Or(nodes),
    "all_of": _and,
    "any_of": lambda *nodes: rg.Or(nodes),
    "at_least": lambda k, *nodes: rg.AtLeast(integer(k), nodes),
    "odd_of": lambda *nodes: rg.Odd(nodes),
    "odds": lambda scale, token: real(token) if scale.type == "STRENGTH" else _probable(token),
    "otherwise": lambda *words: real(words[1]) if len(words) == 2 else _probable(words[0]),
    "hidden": lambda name, on, *rest: rg.Hidden(name, rest[-1], on, rest[0] if len(rest) == 2 else 0.0),
    "linear": lambda bias, *terms: rg.Linear(terms, real(bias)),
    "weighted": lambda weight, node: (real(weight), node),
    "conditional": lambda weight, node: (real(weight), node),
    "compared": _compared,
    "threshold_unit": lambda points, *terms: rg.LinearThreshold(terms, 0.0 - real(points)),
    "step": _step,
    "piece": lambda value, cut: Piece(real(value), cut),
    "points": _points,
    "level_group": lambda points, levels: LevelGroup(real(points), levels),
    "clip": _clip,
    "grid": real,
    "above": _above,
    "strength": rg.Strength,
    "probability": rg.Probability,
    "logistic": rg.Logistic,
    "rescaled": lambda odds, probability: rg.Rescaled(probability, real(odds)),
    "difference": rg.Difference,
    "sided": _sided,
}
JOINS_BOUNDS = frozenset({"conjunction", "all_of"})
# The place of the column's name among the parts of what reads a column.
READS_COLUMN = dict.fromkeys(
    (
        *("is_true", "is_false", "compare", "equal", "among", "not_among", "contains", "contains_any"),
        *("lacks", "lacks_all", "is_missing", "is_known", "step", "points", "clip"),
    ),
    0,
)
READS_COLUMN["between"] = 2
