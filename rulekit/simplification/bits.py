"""Laws of hidden bits: bits that are no bits, bits that cannot matter, and bits that are one bit together.

`constant_bit` and `gather_conditions` leave every double of the probability as it is; the others keep the distribution
but not the last bits of the double, so whoever applies them compares the results on every pattern of the causes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable

from rulekit.graph.negation import negate
from rulekit.graph.nodes import TRUE, And, AtLeast, Constant, Family, Hidden, Node, Or
from rulekit.graph.traversal import topological
from rulekit.numbers import probability_of, strength_of
from rulekit.simplification.rewriting import Context, Law, joined


def constant_bit(node: Node, context: Context) -> Node:
    """A sure bit is its cause, the contrary or a constant; a bit that ignores its cause has the constant one."""
    if not isinstance(node, Hidden):
        return node
    on, off = node.on, node.off
    if isinstance(node.cause, Constant):
        on = off = on if node.cause.value else off
    sure = {0.0: False, math.inf: True}
    if on in sure and off in sure:
        if on == off:
            return Constant(sure[on])
        return node.cause if sure[on] else negate(node.cause, context.schema)
    return Hidden(node.name, TRUE, on, on) if on == off and node.cause is not TRUE else node


def gather_conditions(node: Node, context: Context) -> Node:
    """The conditions without hidden bits in a random And (Or) are one condition, so that the laws of logic see it."""
    if not isinstance(node, And | Or) or node.family is not Family.RANDOM:
        return node
    plain = [child for child in node.children if child.family is Family.BOOLEAN]
    if len(plain) < 2:
        return node
    together = joined(type(node), plain)
    return joined(
        type(node), (together if child is plain[0] else child for child in node.children if child not in plain[1:])
    )


def flatten_random(node: Node, context: Context) -> Node:
    """And(And(a, b), c) = And(a, b, c) of random formulas."""
    if not isinstance(node, And | Or) or node.family is not Family.RANDOM:
        return node
    if not any(type(child) is type(node) and child.family is Family.RANDOM for child in node.children):
        return node
    parts: list[Node] = []
    for child in node.children:
        nested = type(child) is type(node) and child.family is Family.RANDOM
        parts.extend(child.children if nested else (child,))
    return joined(type(node), parts)


def degenerate_random(node: Node, context: Context) -> Node:
    """AtLeast(1, ...) = Or(...) and AtLeast(n, ...) = And(...) of different random formulas."""
    if isinstance(node, AtLeast) and node.family is Family.RANDOM:
        if node.k == 1:
            return joined(Or, node.children)
        if node.k == len(node.children):
            return joined(And, node.children)
    return node


def merge_bits(used: Counter[Node]) -> Law:
    """Bits of one cause, once each in the same Or, are one bit: strengths add; in an And probabilities multiply.

    used: how often each hidden bit stands anywhere in the graph.
    """

    def law(node: Node, context: Context) -> Node:
        if not isinstance(node, And | Or) or node.family is not Family.RANDOM:
            return node
        by_cause: dict[Node, list[Hidden]] = {}
        for child in node.children:
            if isinstance(child, Hidden) and used[child] == 1:
                contrary = negate(child.cause, context.schema)
                by_cause.setdefault(contrary if contrary in by_cause else child.cause, []).append(child)
        replaced: dict[Node, tuple[Node, ...]] = {}
        for cause, bits in by_cause.items():
            if len(bits) > 1:
                replaced.update(dict.fromkeys(bits, ()))
                replaced[bits[0]] = (_merged(cause, bits, isinstance(node, Or)),)
        if not replaced:
            return node
        return joined(type(node), (new for child in node.children for new in replaced.get(child, (child,))))

    return law


def _merged(cause: Node, bits: list[Hidden], disjunction: bool) -> Hidden:
    sides = [(bit.on, bit.off) if bit.cause is cause else (bit.off, bit.on) for bit in bits]
    combine: Callable[[Iterable[float]], float] = sum if disjunction else _strength_of_product
    on, off = (combine(side[i] for side in sides) for i in (0, 1))
    return Hidden("+".join(bit.name for bit in bits), cause, on, off)


def _strength_of_product(strengths: Iterable[float]) -> float:
    return strength_of(math.prod(probability_of(strength) for strength in strengths))


def uses(roots: Iterable[Node]) -> Counter[Node]:
    """How many places each hidden bit has below the roots (two, at least, for a bit of an ambiguous name)."""
    found: Counter[Node] = Counter()
    nodes = topological(roots)
    for node in nodes:
        found.update(child for child in node.children if isinstance(child, Hidden))
    names = Counter(node.name for node in nodes if isinstance(node, Hidden))
    for bit in [node for node in nodes if isinstance(node, Hidden)]:
        if names[bit.name] > 1:
            found[bit] += 1
    return found
