"""From nodes to statements: one function body for some roots, in either spelling.

A node is written in place where it is used once and small, else assigned to a variable first. Sums and circuits are
straight-line code in the order that the graph gives (rulekit.graph.circuit), one operation at a time. Nothing
recurses; the depth of an expression is bounded, so that no graph outgrows Python's parser.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rulekit.errors import Unsupported
from rulekit.graph.circuit import Bit, Circuit, Complement, Fixed, Given, Mix, Product
from rulekit.graph.nodes import (
    Among,
    And,
    AtLeast,
    Column,
    Compare,
    Constant,
    Family,
    IsTrue,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Probability,
    Step,
)
from rulekit.graph.probability import build_circuit, operands
from rulekit.numbers import double_crossing, float32
from rulekit.schema import Feature, Schema
from rulekit_exporters.python.expressions import Expression, atom, layout, parenthesised
from rulekit_exporters.python.names import Names, literal
from rulekit_exporters.python.runtime import clipped
from rulekit_exporters.python.spelling import SUM, Spelling

MAX_DEPTH = 20
MAX_LENGTH = 4000
MAX_INLINE_LEVELS = 8
MAX_LOOKUPS = 2


@dataclass(slots=True)
class Context:
    """What all function bodies of a module share: identifiers of columns, module constants, comments by node."""

    schema: Schema
    names: Names
    columns: Mapping[str, str]
    comments: Mapping[Node, str]
    labels: Mapping[Node, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    _known: dict[object, str] = field(default_factory=dict)

    def constant(self, wish: str, key: object, text: str) -> str:
        """The name of a module constant, one for each key."""
        if key not in self._known:
            self._known[key] = self.names.fresh(wish.upper())
            self.constants[self._known[key]] = text
        return self._known[key]


class Body:
    """The statements of one function, and what each node is called in it."""

    def __init__(self, context: Context, spelling: Spelling, roots: Iterable[Node]) -> None:
        self.context, self.spelling = context, spelling
        self._cells = dict(context.columns)
        self.lines: list[str] = []
        self._done: dict[Node, Expression] = {}
        self._names = Counter[str]()
        roots = list(roots)
        self._uses = Counter(roots)
        self._order = _dependencies_first(roots)
        for node in self._order:
            self._uses.update(needs(node))
        self._reads = Counter(getattr(node, "feature", "") for node in self._order)
        if spelling.scalar:
            self._bind_cells()

    def expression(self, root: Node) -> Expression:
        """The expression of a root; its statements are appended first."""
        for node in _dependencies_first([root]):
            if node not in self._done:
                self._done[node] = self._write(node)
        return self._done[root]

    def name(self, root: Node) -> str:
        """The text of a root as one operand of an arithmetic expression."""
        return parenthesised(self.expression(root), SUM).text

    def say(self, before: str, expression: Expression, after: str = "") -> None:
        """Append a statement, below the comment of its expression."""
        self.note(expression.comment)
        self.lines += layout(before, expression, after, 4)

    def note(self, text: str) -> None:
        """Append comment lines."""
        self.lines += [f"    {line}" for line in text.splitlines()]

    def fresh(self, wish: str) -> str:
        """A variable of this function: `wish` followed by a number."""
        self._names[wish] += 1
        return f"{wish}{self._names[wish]}"

    def _write(self, node: Node) -> Expression:
        rule = RULES.get(type(node))
        if rule is None:
            raise Unsupported(type(node).__name__, "python", "export it to a target that can, or simplify it away")
        expression = rule(self, node)
        comment = self.context.comments.get(node, "")
        large = expression.depth > MAX_DEPTH or len(expression.text) > MAX_LENGTH
        if large or (self._uses[node] > 1 and node.children):
            label = self.context.labels.get(node, "")
            variable = self.fresh("value") if node.family is Family.REAL else label if label else self.fresh("holds")
            if expression.text != variable:
                self.note(comment)
                self.say(f"{variable} = ", expression)
            return atom(variable)
        if comment and node.family is Family.BOOLEAN:
            return replace(expression, comment=comment)
        return expression

    # Rules: one per node type -----------------------------------------------------------------------------------------

    def column(self, feature: str) -> str:
        """How the code names a column's cell."""
        return self._cells[feature]

    def reads(self, feature: str) -> bool:
        """Whether the function reads a column."""
        return self._reads[feature] > 0

    def _bind_cells(self) -> None:
        """Cells that are read often, or cleaned first, become variables; others are looked up where they are read."""
        for name, column in self.context.columns.items():
            feature = self.context.schema[name]
            cleaned = feature.kind == "categorical" or feature.missing_tokens
            if self._reads[name] > (0 if cleaned else MAX_LOOKUPS):
                self.lines.append(f"    {column} = row[{column}]")
            else:
                self._cells[name] = f"row[{column}]"

    def compare(self, node: Compare) -> Expression:
        crossing = crossing_of(node.value, self.context.schema[node.feature])
        return self.spelling.exceeds(self.column(node.feature), crossing, node.op == ">", node.missing)

    def is_true(self, node: IsTrue) -> Expression:
        return self.spelling.exceeds(self.column(node.feature), 0.5, True, node.missing)

    def missing(self, node: Missing) -> Expression:
        feature = self.context.schema[node.feature]
        if feature.kind == "categorical":
            return self._among(feature, (), True, False)
        return self.spelling.negated(atom(f"{self.column(node.feature)} <= inf", self.spelling.comparison))

    def among(self, node: Among) -> Expression:
        return self._among(self.context.schema[node.feature], node.levels, node.missing, node.unseen)

    def _among(self, feature: Feature, levels: tuple[str, ...], missing: bool, unseen: bool) -> Expression:
        """One membership: of the levels, or, where levels never seen count, of the contrary."""
        absent = (None, "", *feature.missing_tokens)
        known = [level for level in feature.levels if level not in absent]
        unseen = missing if feature.unseen == "missing" else unseen
        if feature.unseen == "missing" and missing:
            missing_set: tuple[str | None, ...] = ()  # everything unknown is missing, hence in the contrary's contrary
        else:
            missing_set = absent
        wanted = set(levels)
        inside = [level for level in known if level in wanted]
        outside = [level for level in known if level not in wanted]
        if not unseen:
            return self._within(feature, (*inside, *(missing_set if missing else ())))
        return self.spelling.negated(self._within(feature, (*outside, *(() if missing else missing_set))))

    def _within(self, feature: Feature, levels: tuple[str | None, ...]) -> Expression:
        name = self.column(feature.name)
        unique = tuple(dict.fromkeys(levels))
        if len(unique) <= MAX_INLINE_LEVELS:
            return self.spelling.within(name, unique)
        text = f"frozenset({{{', '.join(map(literal, unique))}}})"
        return self.spelling.in_constant(name, self._constant(feature.name, "levels", unique, text))

    def _constant(self, feature: str, what: str, key: object, text: str) -> str:
        return self.context.constant(f"{self.context.columns[feature]}_{what}", (feature, what, key), text)

    def logic_constant(self, node: Constant) -> Expression:
        return self.spelling.truth(node.value)

    def negation(self, node: Not) -> Expression:
        return self.spelling.negated(self._done[node.child])

    def conjunction(self, node: And) -> Expression:
        return self.spelling.all_of(self._children(node))

    def disjunction(self, node: Or) -> Expression:
        return self.spelling.any_of(self._children(node))

    def at_least(self, node: AtLeast) -> Expression:
        return self.spelling.at_least(node.k, self._children(node))

    def _children(self, node: Node) -> tuple[Expression, ...]:
        return tuple(self._done[child] for child in node.children)

    def linear_threshold(self, node: LinearThreshold) -> Expression:
        return atom(f"{self._sum(node.bias, node.weights, node.children)} >= 0.0", self.spelling.comparison)

    def linear(self, node: Linear) -> Expression:
        return atom(self._sum(node.bias, node.weights, node.children))

    def _sum(self, bias: float, weights: tuple[float, ...], children: tuple[Node, ...]) -> str:
        """Statements that add weight * child to the bias from left to right; a false Boolean child adds nothing."""
        total = self.fresh("total")
        self.lines.append(f"    {total} = {literal(bias) if self.spelling.scalar else f'np.full(n, {literal(bias)})'}")
        for weight, child in zip(weights, children, strict=True):
            value = self._done[child]
            if child.family is not Family.BOOLEAN:
                self.lines += [f"    {line}" for line in self.spelling.add(total, weight, value)]
            else:
                self.add_if(total, value, literal(weight))
        return total

    def add_if(self, total: str, condition: Expression, amount: str) -> None:
        """Add an amount where the condition holds; the total is never -0.0, so adding nothing equals adding zero."""
        if self.spelling.scalar:
            self.say("if ", condition, ":")
            self.lines.append(f"        {total} += {amount}")
        else:
            self.note(condition.comment)
            self.say(f"{total} = {total} + ", self.spelling.choose(condition, amount, "0.0"))

    def clipped(self, node: Column) -> Expression:
        feature, name = self.context.schema[node.feature], self.column(node.feature)
        if feature.kind == "boolean":
            return self._clipped_truth(node, name)
        if feature.precision == "float32":
            name = f"float32({name})" if self.spelling.scalar else f"float32_column(np, {name})"
        function = "clipped(" if self.spelling.scalar else "clipped_column(np, "
        fields = ", ".join(map(literal, (node.missing, node.low, node.high, node.step)))
        return atom(f"{function}{name}, {fields})")

    def _clipped_truth(self, node: Column, name: str) -> Expression:
        """Of a Boolean column only two values are there to clip and round."""
        yes, no = (literal(clipped(x, node.missing, node.low, node.high, node.step)) for x in (1.0, 0.0))
        rank = self.spelling.comparison
        present = self.spelling.choose(atom(f"{name} <= 0.5", rank), no, literal(node.missing)).text
        return self.spelling.choose(atom(f"{name} > 0.5", rank), yes, present)

    def stepped(self, node: Step) -> Expression:
        feature, name = self.context.schema[node.feature], self.column(node.feature)
        cuts = tuple(crossing_of(cut, feature) for cut in node.cuts)
        places = self._constant(node.feature, "cuts", cuts, literal(cuts))
        values = self._constant(node.feature, "values", node.values, literal(node.values))
        present = atom(f"{name} <= inf", self.spelling.comparison)
        if self.spelling.scalar:
            return self.spelling.choose(present, f"{values}[bisect_left({places}, {name})]", literal(node.missing))
        return atom(f"stepped(np, {name}, {places}, {values}, {literal(node.missing)})")

    def logistic(self, node: Logistic) -> Expression:
        inner = self._done[node.linear].text
        return atom(f"logistic({inner})" if self.spelling.scalar else f"logistic_column(np, {inner})")

    def probability(self, node: Probability) -> Expression:
        return self._circuit(build_circuit(node.formula))

    def _circuit(self, circuit: Circuit) -> Expression:
        """The steps in order; the complement of a bit that is used nowhere else is one constant or another."""
        steps = circuit.steps
        uses = Counter(i for step in steps for i in operands(step))
        folded = {
            s.a for s in steps if isinstance(s, Complement) and uses[s.a] == 1 and isinstance(steps[s.a], Bit | Given)
        }
        texts: list[str] = []
        for i, step in enumerate(steps):
            if isinstance(step, Fixed) and i < len(steps) - 1:
                texts.append(literal(step.value))
            elif i in folded:
                texts.append("")
            else:
                texts.append(self.fresh("p"))
                self._step(texts, step, steps[step.a] if isinstance(step, Complement) and step.a in folded else None)
        return atom(texts[-1])

    def _step(self, v: list[str], step: object, folded: object) -> None:
        match folded or step:
            case Bit(cause, on, off):
                yes, no = (1.0 - on, 1.0 - off) if folded else (on, off)
                self._choice(v[-1], cause, yes, no)
            case Given(node):
                yes, no = (0.0, 1.0) if folded else (1.0, 0.0)
                self._choice(v[-1], node, yes, no)
            case Fixed(value):
                self.lines.append(f"    {v[-1]} = {literal(value)}")
            case Complement(a):
                self.lines.append(f"    {v[-1]} = 1.0 - {v[a]}")
            case Product(a, b):
                self.lines.append(f"    {v[-1]} = {v[a]} * {v[b]}")
            case Mix(p, high, low):
                self.lines.append(f"    {v[-1]} = {v[p]} * {v[high]} + (1.0 - {v[p]}) * {v[low]}")
            case unknown:
                raise Unsupported(type(unknown).__name__, "python", "the circuit has a step that is not in its page")

    def _choice(self, variable: str, cause: Node, yes: float, no: float) -> None:
        condition = self._done[cause]
        if self.spelling.scalar and (len(condition.text) > 70 or condition.commented):
            self.note(condition.comment)
            self.lines.append(f"    {variable} = {literal(no)}")
            self.say("if ", replace(condition, comment=""), ":")
            self.lines.append(f"        {variable} = {literal(yes)}")
        else:
            self.note(condition.comment)
            self.say(f"{variable} = ", self.spelling.choose(condition, literal(yes), literal(no)))


RULES: dict[type[Node], Callable[..., Expression]] = {
    Compare: Body.compare,
    Among: Body.among,
    IsTrue: Body.is_true,
    Missing: Body.missing,
    Constant: Body.logic_constant,
    Not: Body.negation,
    And: Body.conjunction,
    Or: Body.disjunction,
    AtLeast: Body.at_least,
    LinearThreshold: Body.linear_threshold,
    Linear: Body.linear,
    Column: Body.clipped,
    Step: Body.stepped,
    Logistic: Body.logistic,
    Probability: Body.probability,
}


def crossing_of(value: float, feature: Feature) -> float:
    """The double T with `x > T` iff the column, in its precision, is above the threshold."""
    if feature.kind == "numeric" and feature.precision == "float64":
        return value
    rounded = float32(value)
    if math.isinf(rounded):  # a threshold past the largest float32: only infinity lies beyond, and it is not above
        return math.inf if rounded > 0 else -(2.0**128 - 2.0**103)
    return double_crossing(value)


def needs(node: Node) -> tuple[Node, ...]:
    """The nodes whose values a node's code reads: its children, or the Boolean inputs of its circuit."""
    return build_circuit(node.formula).causes if isinstance(node, Probability) else node.children


def _dependencies_first(roots: list[Node]) -> list[Node]:
    order: list[Node] = []
    done: set[Node] = set()
    stack = [(root, False) for root in reversed(roots)]
    while stack:
        node, ready = stack.pop()
        if node in done:
            continue
        if ready:
            done.add(node)
            order.append(node)
        else:
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(needs(node)) if child not in done)
    return order
