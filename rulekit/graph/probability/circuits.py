"""The exact probability of a random formula as a straight-line double circuit in one fixed order.

Every evaluator and exporter runs the same steps in the same order on doubles, one operation at a time (no fused
multiply-add, no reductions), so IEEE 754 gives the same bits everywhere.

Step i of a circuit yields value i; operands are indices of earlier steps:

    Bit(cause, on, off)      on where the Boolean node `cause` holds, else off (two constants: p, of a parity 1 - 2 p)
    Given(node)              1.0 where the Boolean node holds, else 0.0
    Fixed(value)             a constant
    Complement(a)            1.0 - v[a]
    Product(a, b)            v[a] * v[b]
    Mix(p, high, low)        v[p] * v[high] + (1.0 - v[p]) * v[low]     (four roundings: -, *, *, +)

The hidden bits are independent given the row, and Boolean nodes are constants given the row. Children of a connective
that share no hidden bit are therefore independent, and their probabilities combine in the order of the children:

    And  p0 * p1 * ...          Or  1 - (1 - p0) * (1 - p1) * ...          Not  1 - p
    Odd  (1 - (1 - 2 p0) * (1 - 2 p1) * ...) / 2, multiplied one half with the other
    AtLeast  by the recurrence  P(j of the children from i on) = Mix(p_i, P(j - 1 from i + 1 on), P(j from i + 1 on))

Children that share hidden bits form a group, whose probability is read from a binary decision diagram, one Mix step
for each edge of it. Its variables are the Boolean nodes, the hidden bits, and the modules: subformulas that contain
every occurrence of each of their hidden bits, whose own probability is computed by the same rules. Nothing recurses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import add, mul, or_
from typing import Any, Generic, TypeVar

from rulekit.errors import BudgetError, GraphError
from rulekit.graph import nodes as rg
from rulekit.graph.nodes import Family, Node, topological
from rulekit.graph.probability.diagrams import FALSE, TRUE, diagram_of, is_random_logic

V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Bit:
    cause: Node
    on: float
    off: float


@dataclass(frozen=True, slots=True)
class Given:
    node: Node


@dataclass(frozen=True, slots=True)
class Fixed:
    value: float


@dataclass(frozen=True, slots=True)
class Complement:
    a: int


@dataclass(frozen=True, slots=True)
class Product:
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class Mix:
    p: int
    high: int
    low: int


CircuitStep = Bit | Given | Fixed | Complement | Product | Mix


def operands(step: CircuitStep) -> tuple[int, ...]:
    """The earlier steps that a step reads."""
    return tuple(getattr(step, name) for name in step.__slots__) if isinstance(step, Complement | Product | Mix) else ()


def needed_by(steps: Sequence[CircuitStep], last: int) -> list[int]:
    """The steps that a step needs, itself too, in order."""
    found, stack = {last}, [last]
    while stack:
        new = set(operands(steps[stack.pop()])) - found
        found |= new
        stack.extend(new)
    return sorted(found)


@dataclass(frozen=True, slots=True)
class Circuit:
    """The steps in order; the last one is the probability. Boolean inputs are `causes`."""

    steps: tuple[CircuitStep, ...]

    @property
    def causes(self) -> tuple[Node, ...]:
        """The Boolean nodes that the circuit reads, in order of first use."""
        found = [s.cause if isinstance(s, Bit) else s.node for s in self.steps if isinstance(s, Bit | Given)]
        return tuple(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Algebra(Generic[V]):
    """What the steps of a circuit are carried out in; unless given, the operations are those of doubles and arrays.

    choose(cause, on, off): one constant where a Boolean node holds, else the other. complement(a): 1.0 - a.
    mix(p, high, low): None where it is the sum of the two products.
    """

    choose: Callable[[Node, float, float], V]
    constant: Callable[[float], V]
    complement: Callable[[Any], Any] = lambda a: 1.0 - a
    times: Callable[[Any, Any], Any] = mul
    plus: Callable[[Any, Any], Any] = add
    mix: Callable[[Any, Any, Any], Any] | None = None

    def step(self, step: CircuitStep, values: Mapping[int, V] | Sequence[V]) -> V:
        """The value of a step, given those of its operands."""
        value: V
        match step:
            case Bit(cause, on, off):
                return self.choose(cause, on, off)
            case Given(node):
                return self.choose(node, 1.0, 0.0)
            case Fixed(constant):
                return self.constant(constant)
            case Complement(a):
                value = self.complement(values[a])
            case Product(a, b):
                value = self.times(values[a], values[b])
            case Mix(p, high, low) if self.mix is not None:
                value = self.mix(values[p], values[high], values[low])
            case Mix(p, high, low):
                first = self.times(values[p], values[high])
                value = self.plus(first, self.times(self.complement(values[p]), values[low]))
        return value


def fold_circuit(steps: Sequence[CircuitStep], algebra: Algebra[V]) -> V:
    """The value of the last step; a value that no later step reads is not kept."""
    last_use = {operand: i for i, step in enumerate(steps) for operand in operands(step)}
    values: dict[int, V] = {}
    for i, step in enumerate(steps):
        values[i] = algebra.step(step, values)
        for operand in operands(step):
            if last_use[operand] == i:
                values.pop(operand, None)
    return values[len(steps) - 1]


FEWEST_COUNTED = 9  # bits of a count; of fewer the circuit is short, and may be looked up

_Asking = Generator[Node, int, int]


@lru_cache(maxsize=256)
def build_circuit(formula: Node, max_nodes: int = 1_000_000) -> Circuit:
    """The steps that compute the exact probability of `formula` for a row.

    max_nodes bounds each decision diagram and each at-least recurrence. Raises GraphError where the formula is neither
    Boolean nor Random, or two different hidden bits bear one name; BudgetError beyond the bound.
    """
    builder = _Builder(formula, max_nodes)
    return _reachable(builder.steps, builder.index_of(formula))


def inputs(node: Node) -> tuple[Node, ...]:
    """The nodes whose values for a row make the value of a node: of a random formula what causes its bits."""
    if isinstance(node, rg.Probability):
        if is_count(node.formula):
            causes = (part.cause if isinstance(part, rg.Hidden) else part for part in node.formula.children)
            return tuple(dict.fromkeys(cause for cause in causes if not isinstance(cause, rg.Constant)))
        return build_circuit(node.formula).causes
    if isinstance(node, rg.Strength):
        return tuple(cause for cause, _, _ in node.terms)
    return node.children


def adds_strengths(formula: Node) -> bool:
    """Whether a formula is an Or of different hidden bits, each of a name of its own, and Boolean nodes."""
    parts = formula.children
    return isinstance(formula, rg.Or) and len(set(parts)) == len(parts) and _are_plain(parts)


@lru_cache(maxsize=1024)
def is_count(formula: Node) -> bool:
    """Whether a formula counts different hidden bits and Boolean nodes, enough of them for a row of numbers."""
    return isinstance(formula, rg.AtLeast) and 0 < formula.k <= len(formula.children) and _is_row(formula)


def _is_row(formula: Node) -> bool:
    parts = formula.children
    return formula.family is Family.RANDOM and len(parts) >= FEWEST_COUNTED and _are_plain(parts)


def _are_plain(parts: Sequence[Node]) -> bool:
    """Whether the parts are hidden bits, each of a name of its own, and Boolean nodes."""
    names = [part.name for part in parts if isinstance(part, rg.Hidden)]
    plain = all(isinstance(part, rg.Hidden) or part.family is Family.BOOLEAN for part in parts)
    return plain and len(set(names)) == len(names)


def hidden_bits(formula: Node) -> dict[str, rg.Hidden]:
    """The hidden bits of a formula by name, in order of occurrence; raises GraphError where two bear one name."""
    bits: dict[str, rg.Hidden] = {}
    for node in random_nodes(formula):
        if isinstance(node, rg.Hidden) and bits.setdefault(node.name, node) is not node:
            raise GraphError(
                "two different hidden bits bear this name",
                where=f"hidden bit {node.name!r}",
                fix="equal names are the same bit: give them the same cause and strengths, or rename one",
            )
    return bits


def random_nodes(formula: Node) -> list[Node]:
    """Every node of a formula down to its hidden bits and Boolean nodes, children before parents."""
    return topological((formula,), lambda node: node.children if is_random_logic(node) else ())


class _Builder:
    def __init__(self, formula: Node, max_nodes: int) -> None:
        self.steps: list[CircuitStep] = []
        self._max_nodes = max_nodes
        self._index: dict[CircuitStep, int] = {}
        self._value: dict[Node, int] = {}
        self._mask = _masks(formula)

    def index_of(self, root: Node) -> int:
        """The step that holds the probability of `root`; runs the rules on an explicit stack."""
        answer = self._leaf(root)
        stack = [(root, self._start(root))] if answer is None else []
        while stack:
            node, rule = stack[-1]
            try:
                wanted = rule.send(answer)  # type: ignore[arg-type]
            except StopIteration as finished:
                answer = self._value[node] = finished.value
                stack.pop()
                continue
            answer = self._value.get(wanted)
            if answer is None:
                answer = self._leaf(wanted)
            if answer is None:
                stack.append((wanted, self._start(wanted)))
        assert answer is not None
        return answer

    def _leaf(self, node: Node) -> int | None:
        if node.family is Family.BOOLEAN:
            return self.fixed(float(node.value)) if isinstance(node, rg.Constant) else self._add(Given(node))
        return self._bit(node.cause, node.probability_on, node.probability_off) if isinstance(node, rg.Hidden) else None

    def _bit(self, cause: Node, on: float, off: float) -> int:
        if isinstance(cause, rg.Constant):
            return self.fixed(on if cause.value else off)
        return self.fixed(on) if on == off else self._add(Bit(cause, on, off))

    def _start(self, node: Node) -> _Asking:
        rule = _RULES.get(type(node))
        if rule is None or node.family is not Family.RANDOM:
            raise GraphError(f"{type(node).__name__} is {node.family.value} and has no place in a random formula")
        return rule(self, node)

    # Rules: one per connective; `yield node` asks for the step of another node.

    def _not(self, node: Node) -> _Asking:
        return self.complement((yield node.children[0]))

    def _product(self, node: Node) -> _Asking:
        """And: the product of the children's probabilities; Or: the complement of that of their complements."""
        negated = isinstance(node, rg.Or)
        result = self.fixed(1.0)
        for group in self._independent_groups(tuple(dict.fromkeys(node.children))):
            if len(group) == 1:
                value = yield group[0]
            else:
                value = yield from self._dependent(type(node), 0, group)
            result = self.product(result, self.complement(value) if negated else value)
        return self.complement(result) if negated else result

    def _at_least(self, node: rg.AtLeast) -> _Asking:
        children, k = node.children, node.k
        if k <= 0 or k > len(children):
            return self.fixed(1.0 if k <= 0 else 0.0)
        if len(self._independent_groups(children)) < len(children):
            return (yield from self._dependent(rg.AtLeast, k, children))
        if k * (len(children) - k + 1) > self._max_nodes:
            raise BudgetError(
                f"{k} of {len(children)} needs more than {self._max_nodes} steps",
                where="AtLeast",
                fix="allow more nodes",
            )
        values = []
        for child in children:
            values.append((yield child))
        needed = [self.fixed(1.0)] + [self.fixed(0.0)] * k
        for i in range(len(children) - 1, -1, -1):
            # Counts below k - i are never asked for: only i children stand before this one.
            mixed = {j: self.mix(values[i], needed[j - 1], needed[j]) for j in range(max(1, k - i), k + 1)}
            needed = [mixed.get(j, needed[j]) for j in range(k + 1)]
        return needed[k]

    def _odd(self, node: Node) -> _Asking:
        """Half of what the product of 1 - 2 p of the children is below 1; what stands twice cancels."""
        times = Counter(node.children)
        children = tuple(child for child in times if times[child] % 2)
        if len(children) == 1:
            return (yield children[0])
        factors: list[int] = []
        for group in self._independent_groups(children):
            factor: int | None
            if len(group) > 1:
                value = yield from self._dependent(rg.Odd, 0, group)
                factor = self.complement(self.product(self.fixed(2.0), value))
            else:
                factor = self._factor(group[0])
                if factor is None:
                    factor = self.complement(self.product(self.fixed(2.0), (yield group[0])))
            factors.append(factor)
        while len(factors) > 1:  # one half with the other, so that a target may take them all at once
            half = len(factors) // 2
            factors = [*map(self.product, factors[:half], factors[half : 2 * half]), *factors[2 * half :]]
        product = factors[0] if factors else self.fixed(1.0)
        return self.product(self.fixed(0.5), self.complement(product))

    def _factor(self, node: Node) -> int | None:
        """1 - 2 p of a hidden bit or a Boolean node, which is one constant or another; None of another node."""
        if isinstance(node, rg.Hidden):
            return self._bit(node.cause, 1.0 - 2.0 * node.probability_on, 1.0 - 2.0 * node.probability_off)
        return self._bit(node, -1.0, 1.0) if node.family is Family.BOOLEAN else None

    def _dependent(self, connective: type[Node], k: int, children: Sequence[Node]) -> _Asking:
        """The probability of a connective over children that share hidden bits, by a decision diagram."""
        diagram, root, variables = diagram_of(connective, k, children, self._max_nodes)
        value = {TRUE: self.fixed(1.0), FALSE: self.fixed(0.0)}
        for edge in diagram.below(root):
            level, high, low = diagram.branches(edge)
            value[edge] = self.mix((yield variables[level]), value[high], value[low])
        return value[root]

    def _independent_groups(self, children: Sequence[Node]) -> list[tuple[Node, ...]]:
        """The children in groups that share no hidden bit with one another, in the order of their first members."""
        groups: list[tuple[int, list[tuple[int, Node]]]] = []
        seen = 0
        for position, child in enumerate(children):
            mask, members = self._mask[child], [(position, child)]
            if mask & seen:
                apart = []
                for group in groups:
                    if group[0] & self._mask[child]:
                        mask, members = mask | group[0], group[1] + members
                    else:
                        apart.append(group)
                groups = apart
            seen |= mask
            groups.append((mask, sorted(members, key=lambda member: member[0])))
        groups.sort(key=lambda group: group[1][0][0])
        return [tuple(node for _, node in members) for _, members in groups]

    # Steps: equal steps are one step, and what a constant decides is not computed.

    def fixed(self, value: float) -> int:
        return self._add(Fixed(value))

    def complement(self, a: int) -> int:
        step = self.steps[a]
        if isinstance(step, Complement):
            return step.a
        if isinstance(step, Fixed) and step.value in (0.0, 1.0):
            return self.fixed(1.0 - step.value)
        return self._add(Complement(a))  # other constants too: their complement's complement is not rounded

    def product(self, a: int, b: int) -> int:
        for one, other in ((a, b), (b, a)):
            step = self.steps[one]
            if isinstance(step, Fixed) and step.value in (0.0, 1.0):
                return other if step.value else one
        return self._add(Product(a, b))

    def mix(self, p: int, high: int, low: int) -> int:
        if high == low:
            return high
        chance = self.steps[p]
        if isinstance(chance, Fixed) and chance.value in (0.0, 1.0):
            return high if chance.value else low
        if self.steps[low] == Fixed(0.0):
            return self.product(p, high)
        if self.steps[high] == Fixed(0.0):
            return self.product(self.complement(p), low)
        return self._add(Mix(p, high, low))

    def _add(self, step: CircuitStep) -> int:
        index = self._index.setdefault(step, len(self.steps))
        if index == len(self.steps):
            self.steps.append(step)
        return index


_RULES: dict[type[Node], Callable[[_Builder, Node], _Asking]] = {
    rg.Not: _Builder._not,
    rg.And: _Builder._product,
    rg.Or: _Builder._product,
    rg.AtLeast: _Builder._at_least,  # type: ignore[dict-item]
    rg.Odd: _Builder._odd,
}


def _masks(formula: Node) -> dict[Node, int]:
    """For every node of a formula the set of its hidden bits, as the bits of an integer."""
    position = {name: 1 << i for i, name in enumerate(hidden_bits(formula))}
    masks: dict[Node, int] = {}
    for node in random_nodes(formula):
        below = (masks[child] for child in node.children) if is_random_logic(node) else ()
        masks[node] = position[node.name] if isinstance(node, rg.Hidden) else reduce(or_, below, 0)
    return masks


def _reachable(steps: list[CircuitStep], root: int) -> Circuit:
    """The steps that the root needs, in their order, renumbered."""
    kept = needed_by(steps, root)
    place = {i: j for j, i in enumerate(kept)}

    def renumbered(step: Any) -> Any:
        below = operands(step)
        return type(step)(*map(place.__getitem__, below)) if below else step

    return Circuit(tuple(renumbered(steps[i]) for i in kept))
