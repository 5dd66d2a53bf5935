"""Laws of logic: of any formula, of hidden bits, and of conditions on one text.

Each takes a node whose children have been rewritten and returns an equivalent node with no more literals; the table of
the passes says which nodes, of which family, a law is asked about. In a random
formula the laws of logic leave every step of the probability's circuit as it is. `constant_bit` and `gather_conditions`
leave every double of the probability as it is; the other laws of hidden bits keep the distribution but not the last
bits of the double, so whoever applies them compares the results on every pattern of the causes. A condition on a text
implies another where its words are among the other's, and the other holds on missing texts if it does.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

from rulekit.graph.leaves import negate
from rulekit.graph.nodes import FALSE, TRUE, And, AtLeast, Constant, Contains, Family, Hidden, Node, Not, Odd, Or
from rulekit.graph.probability.circuits import hidden_bits
from rulekit.numbers import probability_of, strength_of
from rulekit.simplification.rewriting import Law, PassContext, joined


def fold_constants(node: Node, context: PassContext) -> Node:
    """And(true, a) = a, And(false, a) = false, Or, AtLeast and Odd alike."""
    if isinstance(node, Not) and isinstance(node.child, Constant):
        return FALSE if node.child.value else TRUE
    if isinstance(node, And | Or):
        absorbing, neutral = (FALSE, TRUE) if isinstance(node, And) else (TRUE, FALSE)
        if absorbing in node.children:
            return absorbing
        if neutral in node.children or not node.children:
            return joined(type(node), (child for child in node.children if child is not neutral))
    if isinstance(node, AtLeast):
        k = node.k - sum(child is TRUE for child in node.children)
        children = tuple(child for child in node.children if not isinstance(child, Constant))
        if k <= 0 or k > len(children):
            return TRUE if k <= 0 else FALSE
        return AtLeast(k, children) if len(children) < len(node.children) else node
    if isinstance(node, Odd) and any(isinstance(child, Constant) for child in node.children):
        children = tuple(child for child in node.children if not isinstance(child, Constant))
        turned = sum(child is TRUE for child in node.children) % 2 == 1
        if node.family is Family.RANDOM:  # a denial would round the probability otherwise
            return node if turned and len(children) == len(node.children) - 1 else Odd(children + (TRUE,) * turned)
        return Not(Odd(children)) if turned else Odd(children)
    return node


def flatten(node: Node, context: PassContext) -> Node:
    """And(And(a, b), c) = And(a, b, c); duplicates and lone children fall away: And(a, a) = a, Or likewise."""
    if not isinstance(node, And | Or):
        return node
    if node.family is Family.RANDOM:  # the first child's product is the start of the parent's: no step changes
        first = node.children[0]
        same = isinstance(node, And) and type(first) is And and first.family is Family.RANDOM
        bits = [set(hidden_bits(child)) for child in node.children] if same else []
        if same and len(set().union(*bits)) == sum(map(len, bits)):  # which share none
            return And((*first.children, *node.children[1:]))
        return joined(type(node), node.children) if len(set(node.children)) < max(2, len(node.children)) else node
    parts: list[Node] = []
    opened: set[Node] = set()  # what stands twice adds nothing, and shared parts stand in very many places
    stack = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if type(child) is type(node):
            if child not in opened:
                opened.add(child)
                stack.extend(reversed(child.children))
        else:
            parts.append(child)
    plain = len(parts) > 1 and tuple(parts) == node.children and len(set(parts)) == len(parts)
    return node if plain else joined(type(node), parts)


def nested_alike(roots: Iterable[Node], order: list[Node]) -> set[Node]:
    """The connectives all of whose parents are the same connective: their uppermost one is flattened, not they."""
    parents: dict[Node, set[type[Node]]] = {root: {Node} for root in roots}
    for node in order:
        for child in node.children:
            parents.setdefault(child, set()).add(type(node))
    return {node for node in order if node.family is Family.BOOLEAN and parents[node] == {type(node)}}


def degenerate_at_least(node: Node, context: PassContext) -> Node:
    """AtLeast(1, ...) = Or(...), AtLeast(n, ...) = And(...); a child and its contrary count one together."""
    if not isinstance(node, AtLeast):
        return node
    k, children = node.k, list(node.children)
    position = {child: i for i, child in enumerate(children)}
    paired: set[int] = set()
    if len(children) <= 256:
        for i, child in enumerate(children):
            simple = not child.children or isinstance(child, Not)
            other = position.get(negate(child, context.schema)) if simple else None
            if other is not None and i not in paired and other not in paired and other != i:
                paired |= {i, other}
                k -= 1
    children = [child for i, child in enumerate(children) if i not in paired]
    if k <= 0 or k > len(children):
        return TRUE if k <= 0 else FALSE
    if k == 1:
        return joined(Or, children)
    if k == len(children):
        return joined(And, children)
    return AtLeast(k, tuple(children)) if paired else node


def degenerate_odd(node: Node, context: PassContext) -> Node:
    """Odd(a) = a; what stands twice cancels; Odd(Odd(a, b), c) = Odd(a, b, c); a and its contrary count one together.

    Of random formulas only the first two, which leave every step of the probability as it is.
    """
    if not isinstance(node, Odd):
        return node
    random = node.family is Family.RANDOM
    times: Counter[Node] = Counter()
    for child in node.children:
        times.update(child.children if isinstance(child, Odd) and not random else (child,))
    left = dict.fromkeys(child for child in times if times[child] % 2)
    turned = False
    for child in () if random else tuple(left):
        simple = not child.children or isinstance(child, Not)
        contrary = negate(child, context.schema) if simple else None
        if child in left and contrary in left:
            turned = not turned
            del left[child], left[contrary]
    children = tuple(left)
    parity = children[0] if len(children) == 1 else Odd(children) if children else FALSE
    return negate(parity, context.schema) if turned else parity


# Hidden bits: those that are none, that cannot matter, and that are one bit together ----------------------------------


def constant_bit(node: Node, context: PassContext) -> Node:
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


def gather_conditions(node: Node, context: PassContext) -> Node:
    """The conditions without hidden bits in a random And (Or) are one condition, so that the laws of logic see it."""
    if not isinstance(node, And | Or):
        return node
    plain = [child for child in node.children if child.family is Family.BOOLEAN]
    if len(plain) < 2:
        return node
    together = joined(type(node), plain)
    return joined(
        type(node), (together if child is plain[0] else child for child in node.children if child not in plain[1:])
    )


def flatten_random(node: Node, context: PassContext) -> Node:
    """And(And(a, b), c) = And(a, b, c) of random formulas."""
    if not isinstance(node, And | Or):
        return node
    if not any(type(child) is type(node) and child.family is Family.RANDOM for child in node.children):
        return node
    parts: list[Node] = []
    for child in node.children:
        nested = type(child) is type(node) and child.family is Family.RANDOM
        parts.extend(child.children if nested else (child,))
    return joined(type(node), parts)


def degenerate_random(order: Iterable[Node]) -> Law:
    """AtLeast(1, ...) = Or(...) and AtLeast(n, ...) = And(...) of different random formulas.

    Where the same formulas are counted again in the order, all counts are worked out together.
    """
    counted = Counter(node.children for node in order if isinstance(node, AtLeast))

    def law(node: Node, context: PassContext) -> Node:
        if not isinstance(node, AtLeast) or node.k not in (1, len(node.children)) or counted[node.children] > 1:
            return node
        return joined(Or if node.k == 1 else And, node.children)

    return law


def merge_bits(used: Counter[Node]) -> Law:
    """Bits of one cause, once each in the same Or, are one bit: strengths add; in an And probabilities multiply.

    used: how often each hidden bit stands anywhere in the graph.
    """

    def law(node: Node, context: PassContext) -> Node:
        if not isinstance(node, And | Or):
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
    if disjunction:
        on, off = (sum(side) for side in zip(*sides, strict=True))
    else:
        on, off = (strength_of(math.prod(map(probability_of, side))) for side in zip(*sides, strict=True))
    return Hidden("+".join(bit.name for bit in bits), cause, on, off)


def uses(nodes: list[Node]) -> Counter[Node]:
    """How many places each hidden bit has below the nodes (two, at least, for a bit of an ambiguous name)."""
    found: Counter[Node] = Counter()
    for node in nodes:
        found.update(child for child in node.children if isinstance(child, Hidden))
    bits = [node for node in nodes if isinstance(node, Hidden)]
    names = Counter(bit.name for bit in bits)
    for bit in bits:
        if names[bit.name] > 1:
            found[bit] += 1
    return found


def merge_words(node: Node, context: PassContext) -> Node:
    """Contains a or contains b = contains any of a, b; not a and not b likewise; what another part implies falls away.

    Of `contains a and contains any of {a, b}` the second follows from the first.
    """
    if not isinstance(node, And | Or):
        return node
    either = isinstance(node, Or)
    united: dict[str, list[Contains]] = {}
    apart: dict[str, list[Contains]] = {}
    for child in dict.fromkeys(node.children):
        inner = child.child if isinstance(child, Not) else child
        if isinstance(inner, Contains):
            # under `or` conditions unite, under `and` their contraries do
            place = united if isinstance(child, Not) != either else apart
            place.setdefault(inner.feature, []).append(inner)
    image: dict[Node, Node | None] = {}
    for conditions in united.values():
        first, *rest = (_part(condition, not either) for condition in conditions)
        tokens = tuple(token for condition in conditions for token in condition.tokens)
        feature, missing = conditions[0].feature, any(condition.missing for condition in conditions)
        image[first] = _part(Contains(feature, tokens, missing), not either)
        image.update(dict.fromkeys(rest))
    for conditions in apart.values():
        for one in conditions:
            others = (other for other in conditions if other is not one)
            if any(set(other.tokens) <= set(one.tokens) and other.missing <= one.missing for other in others):
                image[_part(one, either)] = None
    children = [found for child in node.children if (found := image.get(child, child)) is not None]
    return node if tuple(children) == node.children else joined(type(node), children)


def _part(condition: Contains, negated: bool) -> Node:
    return Not(condition) if negated else condition
