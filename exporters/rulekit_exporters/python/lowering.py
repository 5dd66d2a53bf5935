"""From nodes to statements: one function body for some roots, in either spelling.

A node is written in place where it is used once and small, else assigned to a variable first. Sums and circuits are
straight-line code in the order that the graph gives (rulekit.graph.probability.circuit), one operation at a time.
Nothing recurses; the depth of an expression is bounded, so that no graph outgrows Python's parser.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rulekit.errors import Unsupported
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
from rulekit.graph.probability.compilation import build_circuit
from rulekit.numbers import double_crossing, float32
from rulekit.schema import Feature, Schema
from rulekit_exporters.python.circuits import circuit_expression
from rulekit_exporters.python.expressions import Expression, atom, layout, parenthesised
from rulekit_exporters.python.names import Names, literal
from rulekit_exporters.python.runtime import clipped
from rulekit_exporters.python.spelling import SUM, Spelling

MAX_DEPTH = 20
MAX_LENGTH = 4000
MAX_INLINE_LEVELS = 8
MAX_LOOKUPS = 2
MAX_OPERANDS = 100


@dataclass(slots=True)
class Context:
    """What all function bodies of a module share: identifiers of columns, module constants, comments by node.

    comments: the rule's id and text, stated once in the module; briefs: its id alone, wherever the rule stands again;
    labels: the id as an identifier.
    """

    schema: Schema
    names: Names
    columns: Mapping[str, str]
    comments: Mapping[Node, str]
    labels: Mapping[Node, str] = field(default_factory=dict)
    briefs: Mapping[Node, str] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    _known: dict[object, str] = field(default_factory=dict)

    def constant(self, wish: str, key: object, text: str) -> str:
        """The name of a module constant, one for each key."""
        if key not in self._known:
            self._known[key] = self.names.fresh(wish.upper())
            self.constants[self._known[key]] = text
        return self._known[key]


class Body:
    """The statements of one function, and what each node is called in it.

    keys: by column name, what a cell is looked up by in the function's `row` (a literal); None where the columns are
    parameters. comments: by node, what stands above its code. indent: of the statements, in blanks.
    """

    def __init__(
        self,
        context: Context,
        spelling: Spelling,
        roots: Iterable[Node],
        keys: Mapping[str, str] | None = None,
        comments: Mapping[Node, str] | None = None,
        indent: int = 4,
    ) -> None:
        self.context, self.spelling = context, spelling
        self._comments = context.comments if comments is None else comments
        self._indent = indent
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
        if keys is not None:
            self._bind_cells(keys)

    @property
    def leaves(self) -> int:
        """How many leaves the function's roots have, each counted once."""
        return sum(self._reads.values()) - self._reads[""]

    def expression(self, root: Node) -> Expression:
        """The expression of a root; its statements are appended first."""
        for node in _dependencies_first([root]):
            if node not in self._done:
                self._done[node] = self._write(node)
        return self._done[root]

    def written(self, node: Node) -> Expression:
        """The expression of a node whose statements are there already."""
        return self._done[node]

    def name(self, root: Node) -> str:
        """The text of a root as one operand of an arithmetic expression."""
        return parenthesised(self.expression(root), SUM).text

    def say(self, before: str, expression: Expression, after: str = "") -> None:
        """Append a statement, below the comment of its expression."""
        self.note(expression.comment)
        self.lines += layout(before, expression, after, self._indent)

    def note(self, text: str) -> None:
        """Append comment lines."""
        self.put(*text.splitlines())

    def put(self, *lines: str, deeper: int = 0) -> None:
        """Append lines at the indentation of the function's statements, or `deeper` blanks further in."""
        self.lines += [" " * (self._indent + deeper) + line for line in lines]

    def fresh(self, wish: str) -> str:
        """A variable of this function: `wish` followed by a number."""
        self._names[wish] += 1
        return f"{wish}{self._names[wish]}"

    def _write(self, node: Node) -> Expression:
        rule = RULES.get(type(node))
        if rule is None:
            raise Unsupported(type(node).__name__, "python", "export it to a target that can, or simplify it away")
        expression = rule(self, node)
        comment = self._comments.get(node, "")
        large = expression.depth > MAX_DEPTH or len(expression.text) > MAX_LENGTH
        if large or (self._uses[node] > 1 and (node.children or isinstance(node, Column | Step))):
            label = self.context.labels.get(node, "")
            variable = label or self.fresh({Family.REAL: "value", Family.PROBABILITY: "p"}.get(node.family, "holds"))
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

    def _bind_cells(self, keys: Mapping[str, str]) -> None:
        """Cells that are read often, or cleaned first, become variables; others are looked up where they are read."""
        for name, column in self.context.columns.items():
            feature = self.context.schema[name]
            cleaned = feature.kind == "categorical" or feature.missing_tokens
            if self._reads[name] > (0 if cleaned else MAX_LOOKUPS):
                self.put(f"{column} = row[{keys[name]}]")
            else:
                self._cells[name] = f"row[{keys[name]}]"

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
        return self._connected(self.spelling.all_of, self._children(node))

    def disjunction(self, node: Or) -> Expression:
        return self._connected(self.spelling.any_of, self._children(node))

    def _connected(
        self, connective: Callable[[tuple[Expression, ...]], Expression], parts: tuple[Expression, ...]
    ) -> Expression:
        """The parts in one expression; of many columns in several, as `a | b | c` nests (`a or b or c` does not)."""
        if self.spelling.scalar or len(parts) <= MAX_OPERANDS:
            return connective(parts)
        variable = self.fresh("holds")
        for start in range(0, len(parts), MAX_OPERANDS):
            before = (atom(variable),) if start else ()
            self.say(f"{variable} = ", connective((*before, *parts[start : start + MAX_OPERANDS])))
        return atom(variable)

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
        self.put(f"{total} = {literal(bias) if self.spelling.scalar else f'np.full(n, {literal(bias)})'}")
        for weight, child in zip(weights, children, strict=True):
            value = self._done[child]
            if child.family is not Family.BOOLEAN:
                self.put(*self.spelling.add(total, weight, value))
            else:
                self.add_if(total, value, literal(weight))
        return total

    def add_if(self, total: str, condition: Expression, amount: str) -> None:
        """Add an amount where the condition holds; the total is never -0.0, so adding nothing equals adding zero."""
        if self.spelling.scalar:
            self.say("if ", condition, ":")
            self.put(f"{total} += {amount}", deeper=4)
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
        return circuit_expression(self, build_circuit(node.formula))


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
