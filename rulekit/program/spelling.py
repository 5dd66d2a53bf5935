"""Steps as text: what every text target shares. A target gives a table of how its language writes each step.

`Spelling` is that table: operators with their binding strengths, templates, and methods for what has no one template.
`Body` walks over the steps of one function (or query): a step is written in place where it is used once and small, else
a variable has it first. Nothing recurses, and the depth and length of an expression are bounded, so that no model
outgrows the parser of a language. `Context` is what all bodies of an artifact share: identifiers, constants, rule ids.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rulekit.errors import InputError, Unsupported
from rulekit.graph.language.text import print_node
from rulekit.graph.nodes import (
    Among,
    And,
    AtLeast,
    Column,
    Constant,
    Family,
    Hidden,
    IsTrue,
    Missing,
    Node,
    Not,
    Or,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rules_of
from rulekit.graph.traversal import topological
from rulekit.names import label_text, printable
from rulekit.program.expressions import ATOM, Expression, atom, joined, layout, parenthesised, surrounded
from rulekit.program.lower import Program, members
from rulekit.program.nodes import (
    Arithmetic,
    Choice,
    Count,
    Exponential,
    Greater,
    Largest,
    Number,
    RawCompare,
    RawNumber,
    Spelled,
    Sum,
    cases,
)
from rulekit.schema import Feature

# Binding strengths: what stands in parentheses where a tighter one is needed. A language's comparison has its own.
CHOICE, LOW, MIDDLE, HIGH, SUM, PRODUCT = 0, 1, 2, 3, 8, 9
Rule = Callable[[Any, "Body", Any], Expression]
MAX_COMMENT = 400
MAX_FACTORS = 16


class Names:
    """Hands out identifiers, each once; `taken` are words of the language and of the artifact's frame."""

    def __init__(self, taken: Iterable[str]) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        """An unused ASCII identifier that resembles `wish` and is none of a function's own variables."""
        plain = re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z]", "_", wish)).strip("_")[:40].rstrip("_")
        if not plain or plain[0].isdigit() or _LOCAL.fullmatch(plain):
            plain = f"x_{plain}".rstrip("_")
        name = plain
        while name in self._taken:
            self._next[plain] = self._next.get(plain, 1) + 1
            name = f"{plain}_{self._next[plain]}"
        self._taken.add(name)
        return name


_LOCAL = re.compile(r"(total|value|holds|p)[0-9]+")


@dataclass(slots=True)
class Context:
    """What all bodies of an artifact share.

    columns: identifiers by column name. comments: by step, the id and text of its rule, stated once in the artifact;
    briefs: the id alone, wherever the rule stands again; labels: the id as an identifier. constants: by name.
    """

    program: Program
    names: Names
    columns: Mapping[str, str]
    comments: Mapping[Node, str]
    briefs: Mapping[Node, str]
    labels: Mapping[Node, str]
    constants: dict[str, Expression] = field(default_factory=dict)
    _known: dict[tuple[str, str], str] = field(default_factory=dict)

    def constant(self, wish: str, value: Expression) -> str:
        """The name of a constant of the artifact, one for each wish and value."""
        key = wish, value.text
        if key not in self._known:
            self._known[key] = self.names.fresh(wish.upper())
            self.constants[self._known[key]] = value
        return self._known[key]


def context_of(
    graph: RuleGraph, program: Program, names: Names, mark: str, written: Callable[[str], str] = str
) -> Context:
    """Identifiers of rules and used columns, and the comments above each rule.

    mark: what begins a comment line; written: how the identifier of a column stands in the code.
    """
    comments: dict[Node, str] = {}
    briefs: dict[Node, str] = {}
    labels: dict[Node, str] = {}
    for rule in rules_of(graph):
        of_bit = isinstance(rule.node, Hidden)
        step = program.lowered.get(rule.node.children[0] if of_bit else rule.node)
        if step is None or (not of_bit and step in labels):
            continue
        label = names.fresh(rule.id)
        if not of_bit:
            labels[step] = label
        text = f"{rule.id}: {print_node(rule.node, graph.schema)}"
        comments.setdefault(step, comment(text if len(text) <= MAX_COMMENT else text[: MAX_COMMENT - 3] + "...", mark))
        briefs.setdefault(step, f"{mark}{rule.id}")
    columns = {name: written(names.fresh(name.lower())) for name in graph.used_features}
    return Context(program, names, columns, comments, briefs, labels)


def label_texts(graph: RuleGraph) -> list[str]:
    """The classes as texts; raises InputError where two are one text."""
    texts = list(map(label_text, graph.classes))
    if len(set(texts)) < len(texts):
        raise InputError(f"two classes have one text: {', '.join(texts)}", fix="rename one")
    return texts


def comment(text: str, mark: str, hanging: str = "    ") -> str:
    """Comment lines that hold the text, wrapped; no character of it can end a line or a comment."""
    lines = textwrap.wrap(
        printable(text), 106, subsequent_indent=hanging, break_on_hyphens=False, replace_whitespace=False
    )
    return "\n".join(mark + line for line in lines)


class Spelling:
    """How a language writes each step; what is not about all languages is overridden.

    comparison: the rank of `x > t`. conjunction, disjunction: operator and rank; negation: prefix and rank. truths:
    false and true. choice: template of `condition`, `yes`, `no`, with its rank and what it needs of the condition.
    missing: template of whether the number `name` is missing; exponential: of e to the power of `x`. assignment and
    ending: what stands before and behind the value of a `variable`. max_*: where an expression is broken into
    variables. own: by type of step, the method (spelling, body, step) for what is better than the common way, or than
    `rulekit.program.elementary`.
    """

    comparison = 4
    conjunction = ("and", MIDDLE)
    disjunction = ("or", LOW)
    negation = ("not ", HIGH)
    truths = ("false", "true")
    choice = ("{condition} ? {yes} : {no}", CHOICE, LOW)
    missing = "isnan({name})"
    exponential = "exp({x})"
    assignment = "{variable} = "
    ending = ""
    max_depth = 20
    max_length = 4000
    max_operands = 10**9
    own: Mapping[type[Node], Rule] = {}

    def literal(self, value: object) -> str:
        """A number, text, None or tuple of them; raises Unsupported where the language has none."""
        raise NotImplementedError

    def within(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        """Whether a category's cell is one of the texts, None for missing (not empty)."""
        raise NotImplementedError

    def truth(self, value: bool) -> Expression:
        return atom(self.truths[value])

    def all_of(self, parts: tuple[Expression, ...]) -> Expression:
        return joined(*self.conjunction, HIGH, parts) if parts else self.truth(True)

    def any_of(self, parts: tuple[Expression, ...]) -> Expression:
        return joined(*self.disjunction, HIGH, parts) if parts else self.truth(False)

    def negated(self, part: Expression) -> Expression:
        """The contrary; a denial loses its sign."""
        sign, rank = self.negation
        if part.rank == rank and part.text.startswith(sign):
            text, prefix = part.text.removeprefix(sign), part.prefix.removeprefix(sign)
            return replace(part, text=text, rank=self.denied(part), prefix=prefix)
        return surrounded(sign, part, "", rank, rank)

    def denied(self, part: Expression) -> int:
        """The rank of what stands behind the sign of a denial."""
        return ATOM if part.prefix.startswith(self.negation[0] + "(") else self.comparison

    def above(self, name: str, value: float, above: bool, missing: bool) -> Expression:
        """`name > value`, or `<=`, of a cell; `missing` is what holds where it is missing.

        NaN and NULL fail every comparison, so `missing` makes it the denial of the contrary.
        """
        test = atom(f"{name} {'>' if above != missing else '<='} {self.literal(value)}", self.comparison)
        return self.negated(test) if missing else test

    def absent(self, name: str) -> Expression:
        """Whether a number is missing."""
        return atom(self.missing.format(name=name), self.comparison)

    def counted(self, parts: tuple[Expression, ...]) -> Expression:
        """How many of the conditions hold."""
        ones = (self.choose(part, "1", "0") for part in parts)
        return parenthesised(joined("+", SUM, SUM, (atom("0"), *ones)), ATOM)

    def at_least(self, k: int, parts: tuple[Expression, ...]) -> Expression:
        return surrounded("", self.counted(parts), f" >= {k}", self.comparison)

    def choose(self, condition: Expression, yes: str, no: str) -> Expression:
        template, rank, needed = self.choice
        inside = parenthesised(replace(condition, comment=""), needed)
        text = template.format(condition=inside.text, yes=yes, no=no)
        return Expression(text, rank, depth=inside.depth + 1)

    def chosen(self, body: Body, node: Choice) -> Expression:
        """The result of the first condition that holds."""
        pairs, last = cases(node)
        value = body.expression(last)
        for condition, result in reversed(pairs):
            value = self.choose(body.expression(condition), body.text(result, LOW), parenthesised(value, CHOICE).text)
        return replace(value, comment=body.expression(pairs[0][0]).comment)


class Body:
    """The statements of one function, and what each step is called in it.

    cells: how the code names the cell of each column. comments: by step, what stands above its code. indent: of the
    statements, in blanks.
    """

    def __init__(
        self,
        context: Context,
        spelling: Spelling,
        roots: Iterable[Node],
        cells: Mapping[str, str] | None = None,
        comments: Mapping[Node, str] | None = None,
        indent: int = 4,
    ) -> None:
        self.context, self.spelling = context, spelling
        self.cells = dict(context.columns if cells is None else cells)
        self.comments = context.comments if comments is None else comments
        self.indent = indent
        self.lines: list[str] = []
        self._done: dict[Node, Expression] = {}
        self._names = Counter[str]()
        roots = list(roots)
        order = topological(roots, operands)
        self.uses = Counter([*roots, *(part for node in order for part in operands(node))])
        self.reads = Counter(node.feature for node in order if hasattr(node, "feature"))
        self._alone = _statements(order, roots)

    # Steps -----------------------------------------------------------------------------------------------------------

    def expression(self, root: Node) -> Expression:
        """The expression of a step; the statements that it needs are appended first."""
        stack = [root]
        while stack:
            node = stack[-1]
            if node in self._done:
                stack.pop()
                continue
            waiting = [child for child in _written_first(node) if child not in self._done]
            if waiting:
                stack.extend(reversed(waiting))
            else:
                self._done[node] = self._write(node)
                stack.pop()
        return self._done[root]

    def text(self, node: Node, rank: int = SUM) -> str:
        """A step as one operand of an expression."""
        return parenthesised(self.expression(node), rank).text

    def feature(self, node: Any) -> Feature:
        return self.context.program.schema[node.feature]

    def cell(self, name: str) -> str:
        return self.cells[name]

    def constant(self, feature: str, what: str, value: Expression) -> str:
        """The name of a constant that belongs to a column."""
        return self.context.constant(f"{self.context.columns[feature]}_{what}", value)

    def _write(self, node: Node) -> Expression:
        kind = type(node)
        if kind in self.spelling.own:
            expression = self.spelling.own[kind](self.spelling, self, node)
        elif kind in _RULES:
            expression = _RULES[kind](self, node)
        else:
            raise Unsupported(kind.__name__, "text", "lower it to elementary steps")
        comment = self.comments.get(node, "") if node.family is Family.BOOLEAN else ""
        large = expression.depth > self.spelling.max_depth or len(expression.text) > self.spelling.max_length
        shared = self.uses[node] > 1 and not _is_short(node)
        alone = node in self._alone or (isinstance(node, Arithmetic) and len(expression.parts) >= MAX_FACTORS)
        if (large or shared or alone) and not expression.text.isidentifier():
            wish = "value" if isinstance(node, Column | Step) else "p" if node.family is not Family.BOOLEAN else "holds"
            variable = self.context.labels.get(node, "") or self.fresh(wish)
            self.assign(variable, replace(expression, comment=comment or expression.comment))
            return atom(variable)
        return replace(expression, comment=comment) if comment else expression

    # Statements ------------------------------------------------------------------------------------------------------

    def named(self, wish: str, expression: Expression) -> Expression:
        """A new variable that has the value."""
        variable = self.fresh(wish)
        self.assign(variable, expression)
        return atom(variable)

    def assign(self, variable: str, expression: Expression) -> None:
        """Append the statement that gives a variable its value, below the comment of the expression."""
        self.say(self.spelling.assignment.format(variable=variable), expression, self.spelling.ending)

    def say(self, before: str, expression: Expression, after: str = "") -> None:
        """Append a statement, below the comment of its expression."""
        self.put(*expression.comment.splitlines())
        self.lines += layout(before, expression, after, self.indent)

    def put(self, *lines: str, deeper: int = 0) -> None:
        """Append lines at the indentation of the function's statements, or `deeper` blanks further in."""
        self.lines += [" " * (self.indent + deeper) + line for line in lines]

    def fresh(self, wish: str) -> str:
        """A variable of this function: `wish` followed by a number."""
        self._names[wish] += 1
        return f"{wish}{self._names[wish]}"


def operands(node: Node) -> tuple[Node, ...]:
    """The steps that a step's text is made of: of a sum of weights the conditions, of a chain of choices all."""
    if isinstance(node, Choice):
        pairs, last = cases(node)
        return *(part for pair in pairs for part in pair), last
    if isinstance(node, Sum):
        return tuple(
            child.children[0] if is_weight(child) else child.children[1] if is_scaled(child) else child
            for child in node.children
        )
    return node.children


def _written_first(node: Node) -> tuple[Node, ...]:
    """The steps whose statements come before those of a step; an arg-max takes its scores one after the other."""
    return () if isinstance(node, Largest) else operands(node)


def _is_short(node: Node) -> bool:
    """Whether a step is written again wherever it is used."""
    if isinstance(node, Arithmetic) and node.operator == "-" and not isinstance(node.children[1], Arithmetic):
        return True
    leaf = node.children[0] if isinstance(node, Not) and isinstance(node.children[0], Among) else node
    return not leaf.children and not isinstance(leaf, Column | Step)


def is_weight(node: Node) -> bool:
    """Whether a term is one constant or another."""
    return isinstance(node, Choice) and all(isinstance(child, Number) for child in node.children[1:])


def is_scaled(node: Node) -> bool:
    """Whether a term is a constant times a number."""
    return isinstance(node, Arithmetic) and node.operator == "*" and isinstance(node.children[0], Number)


def index_of(result: Node) -> int:
    """The class of a result of `cases`."""
    assert isinstance(result, Number)
    return int(result.value)


def _statements(order: Iterable[Node], roots: Iterable[Node]) -> set[Node]:
    """Products and sums that stand in no larger expression: a*b goes on in a*b*c and in a*b + c*d, nowhere else."""
    alone: set[Node] = {root for root in roots if isinstance(root, Arithmetic) and root.operator == "*"}
    going_on: set[Node] = set()
    for node in order:
        for child in operands(node):
            if not isinstance(child, Arithmetic) or child.operator in "-/":
                continue
            arithmetic = node.operator if isinstance(node, Arithmetic) else ""
            if child.operator == "+" and arithmetic:
                alone.add(child)
            elif child.operator == "*" and not isinstance(node, Sum) and arithmetic != "+":
                (going_on if arithmetic == "*" and child is node.children[0] else alone).add(child)
    return alone - going_on


def _compared(body: Body, node: RawCompare) -> Expression:
    return body.spelling.above(body.cell(node.feature), node.value, node.op == ">", node.missing)


def _negated(body: Body, node: Not) -> Expression:
    child = node.children[0]
    if isinstance(child, Greater) and body.uses[child] == 1 and child not in body.comments:
        left, right = (body.text(part) for part in child.children)
        text = f"{right} >= {left}" if isinstance(child.children[0], Number) else f"{left} <= {right}"
        return atom(text, body.spelling.comparison)
    return body.spelling.negated(body.expression(child))


def _connected(body: Body, node: Node) -> Expression:
    """The parts in one expression; where they are too many for one, in several."""
    most = body.spelling.max_operands
    connective = body.spelling.all_of if isinstance(node, And) else body.spelling.any_of
    parts = tuple(body.expression(child) for child in node.children)
    while len(parts) > most:
        groups = (parts[start : start + most] for start in range(0, len(parts), most))
        parts = tuple(body.named("holds", connective(group)) for group in groups)
    return connective(parts)


def _added(body: Body, node: Sum) -> Expression:
    """The terms of a sum, from left to right; where they are too many for one expression, in several."""
    most = body.spelling.max_operands
    terms = [body.expression(child) for child in node.children]
    while len(terms) > most:
        terms = [body.named("value", joined("+", SUM, PRODUCT, tuple(terms[:most]))), *terms[most:]]
    return joined("+", SUM, PRODUCT, tuple(terms))


def _arithmetic(body: Body, node: Arithmetic) -> Expression:
    left, right = (body.expression(child) for child in node.children)
    if node.operator == "*":
        first = left.parts if left.joiner == "*" else (parenthesised(left, ATOM),)
        return joined("*", PRODUCT, ATOM, (*first, parenthesised(right, ATOM)))
    before, after = (SUM, PRODUCT) if node.operator == "+" else (ATOM, ATOM)
    return atom(f"{parenthesised(left, before).text} {node.operator} {parenthesised(right, after).text}", SUM)


_RULES: dict[type[Node], Callable[[Body, Any], Expression]] = {
    RawCompare: _compared,
    IsTrue: lambda body, node: body.spelling.above(body.cell(node.feature), 0.5, True, node.missing),
    Missing: lambda body, node: body.spelling.absent(body.cell(node.feature)),
    RawNumber: lambda body, node: atom(body.cell(node.feature)),
    Among: lambda body, node: _member(body, node),
    Constant: lambda body, node: body.spelling.truth(node.value),
    Not: _negated,
    And: _connected,
    Or: _connected,
    AtLeast: lambda body, node: body.spelling.at_least(node.k, tuple(map(body.expression, node.children))),
    Number: lambda body, node: atom(body.spelling.literal(node.value)),
    Spelled: lambda body, node: atom(node.text),
    Choice: lambda body, node: body.spelling.chosen(body, node),
    Sum: _added,
    Arithmetic: _arithmetic,
    Count: lambda body, node: body.spelling.counted(tuple(map(body.expression, node.children))),
    Greater: lambda body, node: atom(" > ".join(map(body.text, node.children)), body.spelling.comparison),
    Exponential: lambda body, node: atom(body.spelling.exponential.format(x=body.text(node.children[0], CHOICE))),
}


def _member(body: Body, node: Among) -> Expression:
    texts = members(node, body.feature(node))
    return body.spelling.within(body, body.feature(node), texts) if texts else body.spelling.truth(False)
