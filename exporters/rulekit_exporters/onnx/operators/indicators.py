"""Boolean children of sums as indicators: bits of columns, counts of them in layers, and truth values from elsewhere.

A conjunction holds where all of its literals do, a disjunction is the contrary of a conjunction of contraries, and an
at-least counts. So level sets, conjunctions, disjunctions and counts enter the product of a sum as bits do, however
many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rulekit.graph.leaves import column_of, truth_by_code
from rulekit.graph.nodes import LEAVES, And, AtLeast, Constant, Node, Not, Odd, Or, is_logic, topological
from rulekit.schema import MISSING_CODE, Schema
from rulekit_exporters.onnx.conditions import Bit, StrictCondition, bit_of, contrary_of

# A connective that stands on more layers of counts is computed by itself, so that no chain of them is nested deeply.
MOST_LAYERS = 3


@dataclass(frozen=True, slots=True)
class LiteralCount:
    """At least `least` of the parts are as their signs say; layer: 1 over bits, else one more than its highest part."""

    parts: tuple[Signed, ...]
    least: int
    layer: int

    @property
    def is_conjunction(self) -> bool:
        return self.least == len(self.parts)


# A node stands for its own truth value, which is computed elsewhere.
Indicator = Bit | LiteralCount | Node
Signed = tuple[Indicator, bool]


def stands_on_node(indicator: Indicator) -> bool:
    """Whether its truth value is, or counts, one that is computed elsewhere."""
    if isinstance(indicator, LiteralCount):  # of at most MOST_LAYERS layers
        return any(stands_on_node(part) for part, _ in indicator.parts)
    return isinstance(indicator, Node)


def indicator_of(root: Node, schema: Schema) -> Signed | bool:
    """What a Boolean node asks, and its sign; a truth value where all rows have the same."""
    found: dict[Node, Signed | bool] = {}
    for node in topological([root], lambda node: node.children if _counts(node) else ()):
        if _counts(node):
            value = _connective(node, [found[child] for child in node.children], schema)
            deep = not isinstance(value, bool) and layer_of(value[0]) > MOST_LAYERS
            found[node] = (node, True) if deep else value
        elif isinstance(node, Constant):
            found[node] = bool(node.value)
        elif isinstance(node, LEAVES):
            constant = node.feature and schema[node.feature].kind == "categorical" and bit_of(node, schema) is None
            found[node] = (
                bool(truth_by_code(node, schema[column_of(node) or ""])[MISSING_CODE])
                if constant
                else bit_of(node, schema) or (node, True)
            )
        else:
            found[node] = (node, True)
    return found[root]


def _counts(node: Node) -> bool:
    """Whether a node is logic that a count says; that a count is odd is computed by itself."""
    return is_logic(node) and not isinstance(node, Odd)


def layer_of(indicator: Indicator) -> int:
    """How many layers of counts an indicator has."""
    return indicator.layer if isinstance(indicator, LiteralCount) else 0


def _connective(node: Node, parts: Sequence[Signed | bool], schema: Schema) -> Signed | bool:
    if isinstance(node, Not):
        return contrary(parts[0])
    if isinstance(node, And):
        return _all_of(parts, schema)
    if isinstance(node, Or):
        return contrary(_all_of([contrary(part) for part in parts], schema))
    assert isinstance(node, AtLeast)
    open_parts = tuple(part for part in parts if not isinstance(part, bool))
    least = node.k - sum(part is True for part in parts)
    if least <= 0 or least > len(open_parts):
        return least <= 0
    if least == len(open_parts):
        return _all_of(open_parts, schema)
    if least == 1:
        return contrary(_all_of([contrary(part) for part in open_parts], schema))
    return _count(open_parts, least), True


def contrary(value: Signed | bool) -> Signed | bool:
    """The contrary of a truth value."""
    return not value if isinstance(value, bool) else (value[0], not value[1])


def _all_of(parts: Sequence[Signed | bool], schema: Schema) -> Signed | bool:
    """A conjunction; one that stands within it is part of it, and that a column is there is part of its literals."""
    distinct: dict[Signed, None] = {}
    for part in parts:
        if isinstance(part, bool):
            if not part:
                return False
            continue
        inner, positive = part
        joins = positive and isinstance(inner, LiteralCount) and inner.is_conjunction
        distinct.update(dict.fromkeys(inner.parts if joins and isinstance(inner, LiteralCount) else (part,)))
    if any((indicator, not positive) in distinct for indicator, positive in distinct):
        return False
    for indicator, positive in list(distinct):
        if isinstance(indicator, StrictCondition) and indicator.relation == "missing" and not positive:
            distinct = _where_there(distinct, indicator, schema)
    if len(distinct) < 2:
        return next(iter(distinct), True)
    return _count(tuple(distinct), len(distinct)), True


def _where_there(parts: dict[Signed, None], missing: StrictCondition, schema: Schema) -> dict[Signed, None]:
    """A conjunction in which a column is not missing, by comparisons of that column, which fail where it is missing."""
    found: dict[Signed, None] = {}
    said = False
    for part in parts:
        indicator, positive = part
        if isinstance(indicator, StrictCondition) and indicator.feature == missing.feature and indicator != missing:
            said = True
            part = part if positive else (contrary_of(indicator, schema[missing.feature]), True)
        found[part] = None
    if said:
        del found[missing, False]
    return found


def _count(parts: tuple[Signed, ...], least: int) -> LiteralCount:
    return LiteralCount(parts, least, 1 + max(layer_of(indicator) for indicator, _ in parts))
