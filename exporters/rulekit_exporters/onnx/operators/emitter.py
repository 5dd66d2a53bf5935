"""The state of one export, all exact sums of a graph as one matrix product, and probabilities as fixed-order circuits.

Cost, measured in chunks of 8192 rows: 15 units over 30 columns take 20 ns a row as one product in float32 and 40 in
double, and 30 times as long column by column in doubles. The scores of several classes are ranked, and their logistic
functions divided by their sum, as rows of one tensor: on iris `madaline` takes 1.5 times as long class by class.

Indicators are rows of 0 and 1. Conjunctions and counts are a product for each layer, of small integers and so exact in
float32; to gather the literals of conjunctions and take their least was never faster than 0.95 times.

A circuit is computed step by step in its fixed order, every rounding its own operator. A strength that decides is added
in double from left to right, or is one product where no sum of its terms rounds: an operator for each cause made 1,265
of a noisy-max of 120 causes. What is only reported is a product of exp(-sum) and of 1 - exp(-sum), in the form
tanh(sum / 2) * (1 + exp(-sum)), which keeps its digits for rare positives (`rulekit.graph.probability.exponentials`);
sums that do not decide are one product, and the order of its additions is left to the runtime.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rulekit.errors import Unsupported
from rulekit.exactness import Span, is_exact_difference, total
from rulekit.graph import nodes as rg
from rulekit.graph.probability.circuits import Algebra, build_circuit, is_count
from rulekit.graph.probability.exponentials import NOTHING, Counted, Exponentials, Tails
from rulekit.graph.rule_graph import RuleGraph
from rulekit_exporters.onnx import conditions as cond
from rulekit_exporters.onnx.builder import Number, Truth
from rulekit_exporters.onnx.inputs import InputPlan, ModelInputs

MOST_COUNTED = 200  # bits; the numbers of all steps grow with their square
# Instead of infinity, which times 0 is no number: exp(-10000) is 0.
CERTAIN = 1e4


class Emitter(ModelInputs):
    """Emits nodes children first, without recursion; each node once.

    The value of a Boolean node is a constant or a [1, N] bool tensor, that of any other node a constant or a [1, N]
    double tensor. rules: by type of node the function (emitter, node) that gives its value.
    """

    def __init__(
        self,
        graph: RuleGraph,
        plan: InputPlan,
        rules: Mapping[type[rg.Node], Callable[[Any, Any], Truth | Number]],
        reserved: Iterable[str] = (),
    ) -> None:
        super().__init__(plan, graph.schema, reserved)
        self.graph, self._rules = graph, rules
        self._values: dict[rg.Node, Any] = {}
        self.tails: dict[rg.Node, str] = {}
        nodes = list(graph.nodes())
        found = {node: cond.bit_of(node, graph.schema) for node in nodes}
        mentions = sum(found[child] is not None for node in nodes for child in node.children)
        self.prepare_block([bit for bit, _ in filter(None, found.values())], mentions)
        self.blocks = cond.sum_blocks(graph.schema, nodes)

    @cached_property
    def counted(self) -> Counted:
        """The counts of hidden bits, all that are over the same ones together."""
        return Counted((*self.graph.decision.roots, *self.graph.reported))

    def block_of(self, node: rg.Node) -> cond.SumBlock | None:
        """The product that has a sum."""
        return next((block for block in self.blocks if node in block.sums), None)

    def row(self, value: Truth | Number) -> str:
        """[1, N] bool of a truth value, double of a number."""
        return value if isinstance(value, str) else self.fill(value)

    def truth(self, node: rg.Node) -> Truth:
        """The truth value of a Boolean node."""
        truth: Truth = self._value(node)
        return truth

    def number(self, node: rg.Node) -> Number:
        """The double of a Real or Probability node, or of a Boolean node taken as 0 and 1."""
        value = self._value(node)
        return self.choose(value, 1.0, 0.0) if node.family is rg.Family.BOOLEAN else value

    def _value(self, root: rg.Node) -> Any:
        if root not in self._values:
            for node in rg.topological([root], _read_by_itself):
                if node in self._values:
                    continue
                if type(node) not in self._rules:
                    what = "this node has no place under a decision or a probability"
                    raise Unsupported(type(node).__name__, "onnx", what)
                self._values[node] = self._rules[type(node)](self, node)
        return self._values[root]


def _read_by_itself(node: rg.Node) -> tuple[rg.Node, ...]:
    """The nodes that are emitted before one; what a random formula reads is emitted by its circuit or sum."""
    return () if isinstance(node, rg.Probability | rg.Strength | Exponentials) else node.children


# Truth values as rows of one tensor -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stack:
    """rows: [height, N] bool; place: of each node its row, and whether it is true where that is (else where not)."""

    rows: str
    height: int
    place: dict[rg.Node, tuple[int, bool]]


def stack(emitter: Emitter, nodes: Iterable[rg.Node]) -> Stack:
    """Nodes as rows: those of the literal block in one Gather, the others one by one."""
    signed = {node: _literal(emitter, node) for node in nodes}
    rows, held = _bits(emitter, list(dict.fromkeys(indicator for indicator, _ in signed.values())))
    place = {indicator: row for row, indicator in enumerate(held)}
    return Stack(rows, len(held), {node: (place[own], positive) for node, (own, positive) in signed.items()})


def _literal(emitter: Emitter, node: rg.Node) -> cond.Signed:
    """A leaf of the literal block, or a negated one, with its sign; another node as it is."""
    inner, positive = node, True
    while isinstance(inner, rg.Not):
        inner, positive = inner.child, not positive
    found = cond.bit_of(inner, emitter.schema)
    if found is None or emitter.block_row(found[0]) is None:
        return node, True
    return found[0], found[1] is positive


def chosen_rows(emitter: Emitter, wanted: Sequence[tuple[rg.Node, float, float]]) -> str:
    """[len(wanted), N] double: for each node with two constants the first where it is true, the second where not."""
    stacked = stack(emitter, (node for node, _, _ in wanted))
    places = [stacked.place[node] for node, _, _ in wanted]
    rows = emitter.picked(stacked.rows, [row for row, _ in places], stacked.height)
    pairs = [(on, off) if positive else (off, on) for (_, positive), (_, on, off) in zip(places, wanted, strict=True)]
    high, low = (emitter.constant([[pair[k]] for pair in pairs], np.float64) for k in (0, 1))
    return emitter.operate("Where", rows, high, low)


# Indicators ----------------------------------------------------------------------------------------------------------


def indicator_rows(emitter: Emitter, wanted: Iterable[cond.Indicator]) -> tuple[str, list[cond.Indicator]]:
    """[n, N] float of 0 and 1, and what each row stands for: all wanted indicators, and what they stand on."""
    counts = _below(dict.fromkeys(indicator for indicator in wanted if isinstance(indicator, cond.LiteralCount)))
    bits = dict.fromkeys(indicator for indicator in wanted if not isinstance(indicator, cond.LiteralCount))
    bits.update((part, None) for count in counts for part, _ in count.parts if not isinstance(part, cond.LiteralCount))
    block, order = _bits(emitter, list(bits))
    rows, held = emitter.cast(block, np.float32), list(order)
    for layer in sorted({count.layer for count in counts}):
        group = [count for count in counts if count.layer == layer]
        rows = emitter.joined([rows, emitter.cast(enough(emitter, rows, held, group), np.float32)])
        held += group
    return rows, held


def held(emitter: Emitter, count: cond.LiteralCount) -> str:
    """[1, N] bool: whether a count holds."""
    return enough(emitter, *indicator_rows(emitter, [part for part, _ in count.parts]), [count])


def _below(counts: dict[cond.LiteralCount, None]) -> list[cond.LiteralCount]:
    """Counts and all counts that they stand on, lower layers first."""
    found = dict(counts)
    for layer in range(max(map(cond.layer_of, counts), default=0), 1, -1):
        for count in [count for count in found if count.layer == layer]:
            found.update((part, None) for part, _ in count.parts if isinstance(part, cond.LiteralCount))
    return sorted(found, key=cond.layer_of)


def _bits(emitter: Emitter, bits: list[cond.Indicator]) -> tuple[str, list[cond.Indicator]]:
    """[L, N] bool: literals as a block, and the truth values of other nodes."""
    literals = [bit for bit in bits if isinstance(bit, cond.StrictCondition | cond.Membership)]
    others = [node for node in bits if isinstance(node, rg.Node)]
    block, order = emitter.literals(literals) if literals else ("", [])
    rows = [block] if block else []
    held: list[cond.Indicator] = [*order]
    for sums in emitter.blocks:
        units = [node for node in others if isinstance(node, rg.LinearThreshold) and node in sums.sums]
        rows += [unit_rows(emitter, sums, units)] if units else []
        held += units
    rest = [node for node in others if node not in held]
    rows += [emitter.row(emitter.truth(node)) for node in rest]
    held += rest
    return emitter.joined(rows), held


def enough(emitter: Emitter, rows: str, held: Sequence[cond.Indicator], group: Sequence[cond.LiteralCount]) -> str:
    """[K, N] bool: whether enough of the parts of each count hold, which are some of the rows."""
    place = {indicator: i for i, indicator in enumerate(held)}
    weights = np.zeros((len(group), len(held)), dtype=np.float32)
    bounds = np.zeros((len(group), 1), dtype=np.float32)
    for k, count in enumerate(group):
        bounds[k] = count.least - 0.5 - sum(not positive for _, positive in count.parts)
        for part, positive in count.parts:
            weights[k, place[part]] += 1.0 if positive else -1.0
    number = emitter.operate("MatMul", emitter.constant(weights), rows)
    return emitter.operate("Greater", number, emitter.constant(bounds))


# Sums ----------------------------------------------------------------------------------------------------------------


def cleaned(emitter: Emitter, values: str, columns: Sequence[rg.Column]) -> str:
    """[len(columns), N] in steps, float32: clipped, scaled, rounded half-even, missing replaced.

    The scale is a power of two, so that the bounds may come first; every operation but the rounding is exact.
    """

    def constant(numbers: list[float]) -> str:
        alike = len(set(numbers)) == 1
        return emitter.constant(numbers[0] if alike else [[number] for number in numbers], np.float32)

    low, high = constant([c.low for c in columns]), constant([c.high for c in columns])
    result = emitter.operate("Min", emitter.operate("Max", values, low), high)
    if any(column.step != 1.0 for column in columns):
        result = emitter.operate("Mul", result, constant([1.0 / column.step for column in columns]))
    result = emitter.operate("Round", result)
    missing = constant([column.missing / column.step for column in columns])
    return emitter.operate("Where", emitter.operate("IsNaN", values), missing, result)


def totals(emitter: Emitter, block: cond.SumBlock) -> str:
    """[sums, N] of a block, in the width that holds all partial sums."""
    if not block.totals:
        width = block.width
        rows, parts = _rows(emitter, block)
        weights = [[found.weights.get(part, 0.0) for part in parts] for found in block.sums.values()]
        bias = emitter.constant([[found.constant] for found in block.sums.values()], width)
        block.totals = emitter.operate("Gemm", emitter.constant(weights, width), rows, bias)
    return block.totals


def _rows(emitter: Emitter, block: cond.SumBlock) -> tuple[str, list[cond.Part]]:
    """What the sums of a block add up: rows [parts, N] in its width, and what each stands for."""
    width, sums = block.width, block.sums.values()
    place = emitter.schema.positions  # in whose order a tensor has them already
    columns = sorted({column: None for found in sums for column in found.columns}, key=lambda c: place[c.feature])
    jumps = dict.fromkeys(indicator for found in sums for indicator in found.jumps)
    points: dict[str, dict[tuple[float, ...], None]] = {}
    for name, table in (item for found in sums for item in found.points.items()):
        points.setdefault(name, {})[table] = None
    rows: list[str] = []
    parts: list[cond.Part] = []
    if jumps:
        indicators, held = indicator_rows(emitter, jumps)
        rows.append(_in_width(emitter, indicators, width))
        parts += held
    for name, tables in points.items():
        rows.append(emitter.looked_up(name, list(tables), width))
        parts += [(name, table) for table in tables]
    if columns:
        values = emitter.columns([column.feature for column in columns])
        rows.append(_in_width(emitter, cleaned(emitter, values, columns), width))
        parts += columns
    return emitter.joined(rows), parts


def _in_width(emitter: Emitter, values: str, width: Any) -> str:
    return values if width is np.float32 else emitter.cast(values, width)


def number_row(emitter: Emitter, block: cond.SumBlock, node: rg.Node) -> str:
    """[1, N] double: one of the sums."""
    row = emitter.picked(totals(emitter, block), [block.row(node)], len(block.sums))
    return row if block.width is np.float64 else emitter.cast(row, np.float64)


def unit_rows(emitter: Emitter, block: cond.SumBlock, nodes: Sequence[rg.Node]) -> str:
    """[units, N] bool: whether some of the sums are 0 or above."""
    zero = emitter.constant(0.0, block.width)
    fire = emitter.operate("GreaterOrEqual", totals(emitter, block), zero)
    return emitter.picked(fire, [block.row(node) for node in nodes], len(block.sums))


def score_rows(emitter: Emitter, nodes: Sequence[rg.Node]) -> tuple[str, Any]:
    """[K, N] numbers, and their type where they are finite, the sums of one block; of others, doubles, None."""
    block = emitter.block_of(nodes[0])
    if block is None or any(node not in block.sums for node in nodes):
        return emitter.joined([emitter.row(emitter.number(node)) for node in nodes]), None
    return emitter.picked(totals(emitter, block), [block.row(node) for node in nodes], len(block.sums)), block.width


# Probabilities -------------------------------------------------------------------------------------------------------


def probability(emitter: Emitter, node: rg.Probability) -> Number:
    """[1, N] double, or a constant."""
    formula = node.formula
    if is_count(formula):
        return _at_least(emitter, formula)
    algebra: Algebra[Number] = Algebra(
        lambda cause, on, off: emitter.choose(emitter.truth(cause), on, off),
        lambda value: value,
        lambda a: emitter.subtract(1.0, a),
        emitter.multiply,
        emitter.add,
    )
    values: list[Number] = []
    for step in build_circuit(formula).steps:
        values.append(algebra.step(step, values))
    return values[-1]


def _at_least(emitter: Emitter, formula: rg.Node) -> Number:
    """[1, N] double: the probability that at least k of hidden bits and Boolean nodes fire.

    The operations are those of the circuit in its order (`rulekit.graph.probability.exponentials`), element by element.
    Raises Unsupported above `MOST_COUNTED` of them.
    """
    entry = emitter.counted.entry(rg.Probability(formula))
    assert entry is not None
    assert isinstance(entry.tails, Tails)
    if entry.tails not in emitter.tails:
        emitter.tails[entry.tails] = _tails(emitter, entry.tails)
    return emitter.picked(emitter.tails[entry.tails], [entry.k], entry.tails.most + 1)


def _tails(emitter: Emitter, node: Tails) -> str:
    """[most + 1, N] double: the probabilities of at least 0, 1, ... of the bits."""
    if len(node.parts) > MOST_COUNTED:
        fix = f"keep to {MOST_COUNTED} hidden bits, or export to python"
        raise Unsupported(f"AtLeast of {len(node.parts)} hidden bits", "onnx", fix)
    one, zero = emitter.row(1.0), emitter.row(0.0)
    chances = chosen_rows(emitter, [_chance(part.formula) for part in node.parts if isinstance(part, rg.Probability)])
    rows, size = one, 1
    for k in range(len(node.parts) - 1, -1, -1):
        chance = emitter.picked(chances, [k], len(node.parts))
        moved = emitter.picked(rows, range(min(size, node.most)), size)
        kept = emitter.joined([*([emitter.picked(rows, range(1, size), size)] if size > 1 else []), zero])
        if size > node.most:
            kept = emitter.picked(rows, range(1, size), size)
        rest = emitter.operate("Sub", emitter.double(1.0), chance)
        further = emitter.operate("Add", emitter.operate("Mul", chance, moved), emitter.operate("Mul", rest, kept))
        rows, size = emitter.joined([one, further]), min(size, node.most) + 1
    return rows


def _chance(part: rg.Node) -> tuple[rg.Node, float, float]:
    """A Boolean node, and the probability that the part fires where it holds and where it does not."""
    return (part.cause, part.probability_on, part.probability_off) if isinstance(part, rg.Hidden) else (part, 1.0, 0.0)


def strengths(emitter: Emitter, node: rg.Strength) -> Number:
    """The strengths of the hidden bits of an Or, as if added from left to right; a true Boolean child is infinite."""
    bits = [child for child in node.formula.children if isinstance(child, rg.Hidden)]
    if len(bits) == len(node.terms) >= cond.FEWEST_ROWS and _are_exact(bits):
        return _products(emitter, [node])[0]
    total: Number = 0.0
    for cause, on, off in node.terms:
        total = emitter.add(total, emitter.choose(emitter.truth(cause), on, off))
    return total


def _are_exact(bits: Sequence[rg.Hidden]) -> bool:
    """Whether the strengths, their differences and all sums of them have at most 53 bits.

    A difference counts twice: where a literal stands negated in its block, it is taken off the larger strength.
    """
    if not all(max(bit.on, bit.off) <= CERTAIN and is_exact_difference(bit.off, bit.on) for bit in bits):
        return False
    return total(Span.of(size) for bit in bits for size in (bit.off, bit.on - bit.off, bit.on - bit.off)).fits()


def exponentials(emitter: Emitter, node: Exponentials) -> Number:
    """[1, N] double, or a constant: a reported product; all strengths that decide nothing are one product."""
    sums = [child for child in node.children if isinstance(child, rg.Strength)]
    deciding = set(rg.topological(emitter.graph.decision.roots))
    own = [s for s in sums if s not in deciding and s is not NOTHING]
    rows = iter(_products(emitter, own) if own else ())
    none, *some = (emitter.number(s) if s in deciding else next(rows) if s is not NOTHING else 0.0 for s in sums)
    result: Number = 1.0
    if node.none is not NOTHING:
        result = emitter.operate("Exp", emitter.operate("Neg", emitter.row(none)))
    for strength in some:
        result = emitter.multiply(_from_strength(emitter, strength), result)
    return result


def _products(emitter: Emitter, nodes: Sequence[rg.Strength]) -> list[str]:
    """[1, N] doubles: the strengths of hidden bits, and of Boolean nodes the certain one, in any order, a product each.

    One product for all, and a Gather for each, would be an operator more, and onnxruntime 1.18 gives two pairs of such
    Gathers one name in files of opset 21, which it then refuses.
    """
    stacked = stack(emitter, [c for node in nodes for c, _, _ in node.terms if not isinstance(c, rg.Constant)])
    weights = np.zeros((len(nodes), stacked.height))
    offsets = np.zeros((len(nodes), 1))
    for k, node in enumerate(nodes):
        for cause, on, off in node.terms:
            on, off = min(on, CERTAIN), min(off, CERTAIN)
            if isinstance(cause, rg.Constant):
                offsets[k] += on if cause.value else off
                continue
            row, positive = stacked.place[cause]
            high, low = (on, off) if positive else (off, on)
            weights[k, row] += high - low
            offsets[k] += low
    bits = emitter.cast(stacked.rows, np.float64)
    return [
        emitter.operate("Gemm", emitter.constant(own[None]), bits, emitter.constant(offset[None]))
        for own, offset in zip(weights, offsets, strict=True)
    ]


def _from_strength(emitter: Emitter, total: Number) -> Number:
    """1 - exp(-total) as tanh(total / 2) * (1 + exp(-total))."""
    if not isinstance(total, str):
        return -math.expm1(-total)
    half = emitter.operate("Tanh", emitter.operate("Mul", total, emitter.double(0.5)))
    rest = emitter.operate("Add", emitter.operate("Exp", emitter.operate("Neg", total)), emitter.double(1.0))
    return emitter.operate("Mul", half, rest)


PROBABILITIES: Mapping[type[rg.Node], Callable[[Emitter, Any], Number]] = {
    rg.Strength: strengths,
    Exponentials: exponentials,
    rg.Probability: probability,
}
