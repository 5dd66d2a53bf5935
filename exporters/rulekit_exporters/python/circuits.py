"""Probabilities as arithmetic: the steps of a circuit (rulekit.graph.probability.circuit) in readable statements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Node
from rulekit.graph.probability.circuit import Bit, Circuit, Complement, Fixed, Given, Mix, Product
from rulekit.graph.probability.compilation import operands
from rulekit_exporters.python.expressions import ATOM, Expression, atom, joined, parenthesised
from rulekit_exporters.python.names import literal
from rulekit_exporters.python.spelling import PRODUCT, SUM

if TYPE_CHECKING:
    from rulekit_exporters.python.lowering import Body

MAX_FACTORS = 16


def circuit_expression(body: Body, circuit: Circuit) -> Expression:
    """The probability, its statements written first: one for each product, with what is used nowhere else in it.

    Operations are those of the circuit in its order, but the complement of a bit that is used nowhere else is one
    constant or another.
    """
    steps = circuit.steps
    uses = Counter(i for step in steps for i in operands(step))
    # a * b * c is (a * b) * c: a product that is used as the first factor of another alone goes on in it
    going_on = {s.a for s in steps if isinstance(s, Product) and uses[s.a] == 1 and isinstance(steps[s.a], Product)}
    folded = {
        s.a for s in steps if isinstance(s, Complement) and uses[s.a] == 1 and isinstance(steps[s.a], Bit | Given)
    }
    chances = {s.p for s in steps if isinstance(s, Mix)}  # a mixture has its chance twice
    values: list[Expression] = []
    for i, step in enumerate(steps):
        if i in folded:
            values.append(atom(""))
            continue
        value = _operation(body, step, steps, uses, values)
        named = uses[i] > 1 or i in chances or len(value.parts) >= MAX_FACTORS
        ends = isinstance(step, Product | Mix) and i not in going_on
        last = i == len(steps) - 1 and (value.parts or isinstance(step, Fixed))
        if last or ((named or ends) and i < len(steps) - 1 and not isinstance(step, Fixed)):
            value = _assigned(body, value)
        values.append(value)
    return values[-1]


def _assigned(body: Body, value: Expression) -> Expression:
    if value.text.isidentifier():
        return value
    variable = body.fresh("p")
    body.say(f"{variable} = ", value)
    return atom(variable)


def _operation(
    body: Body, step: object, steps: Sequence[object], uses: Mapping[int, int], values: Sequence[Expression]
) -> Expression:
    match step:
        case Bit(cause, on, off):
            return _choice(body, cause, on, off)
        case Given(node):
            return _choice(body, node, 1.0, 0.0)
        case Fixed(value):
            return atom(literal(value))
        case Complement(a):
            match steps[a]:
                case Bit(cause, on, off) if uses[a] == 1:
                    return _choice(body, cause, 1.0 - on, 1.0 - off)
                case Given(node) if uses[a] == 1:
                    return _choice(body, node, 0.0, 1.0)
            return atom(f"1.0 - {parenthesised(values[a], ATOM).text}", SUM)
        case Product(a, b):
            first = values[a].parts if values[a].joiner == "*" else (parenthesised(values[a], ATOM),)
            factors = (*first, parenthesised(values[b], ATOM))
            return joined("*", PRODUCT, ATOM, factors)
        case Mix(p, high, low):
            chance, yes, no = (parenthesised(values[i], ATOM).text for i in (p, high, low))
            return atom(f"{chance} * {yes} + (1.0 - {chance}) * {no}", SUM)
        case unknown:
            raise Unsupported(type(unknown).__name__, "python", "the circuit has a step that is not in its page")


def _choice(body: Body, cause: Node, yes: float, no: float) -> Expression:
    """One constant or another; a long condition is a statement of its own."""
    condition = body.written(cause)
    if not body.spelling.scalar or (len(condition.text) <= 70 and not condition.commented):
        choice = body.spelling.choose(replace(condition, comment=""), literal(yes), literal(no))
        return replace(choice, comment=condition.comment)
    variable = body.fresh("p")
    body.note(condition.comment)
    body.put(f"{variable} = {literal(no)}")
    body.say("if ", replace(condition, comment=""), ":")
    body.put(f"{variable} = {literal(yes)}", deeper=4)
    return atom(variable)
