"""Steps as the statements of one function (or query), in the words of a `Spelling`.

A step is written in place where it is used once and small, else a variable has it first. Nothing recurses, and the
depth and length of an expression are bounded, so that no model outgrows the parser of a language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from rulekit.errors import Unsupported
from rulekit.graph import nodes as rg
from rulekit.graph.nodes import Family, Node, topological
from rulekit.program.lower import members
from rulekit.program.naming import Context
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
    is_scaled,
    is_weight,
)
from rulekit.program.spelling import (
    ATOM,
    CHOICE,
    PRODUCT,
    SUM,
    Expression,
    Spelling,
    atom,
    joined,
    layout,
    parenthesised,
)
from rulekit.schema import Feature

MAX_FACTORS = 16
_OF_A_CELL = (rg.Column, rg.Step, rg.LevelPoints)  # numbers made of one cell


class Body:
    """The statements of one function, and what each step is called in it.

    comments: by step, what stands above its code. indent: of the statements, in blanks.
    """

    def __init__(
        self,
        context: Context,
        spelling: Spelling,
        roots: Iterable[Node],
        comments: Mapping[Node, str] | None = None,
        indent: int = 4,
    ) -> None:
        self.context, self.spelling = context, spelling
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
        if root not in self._done:
            for node in topological((root,), self._written_first):
                if node not in self._done:
                    self._done[node] = self._write(node)
        return self._done[root]

    def _written_first(self, node: Node) -> tuple[Node, ...]:
        """The steps whose statements come before those of a step; an arg-max takes its scores one after the other."""
        return () if node in self._done or isinstance(node, Largest) else operands(node)

    def text(self, node: Node, rank: int = SUM) -> str:
        """A step as one operand of an expression."""
        return parenthesised(self.expression(node), rank).text

    def feature(self, node: Any) -> Feature:
        return self.context.program.schema[node.feature]

    def cell(self, name: str) -> str:
        """How the code names the cell of a column."""
        return self.context.columns[name]

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
            wish = "value" if isinstance(node, _OF_A_CELL) else "p" if node.family is not Family.BOOLEAN else "holds"
            variable = self.context.labels.get(node, "") or self.fresh(wish)
            self.assign(variable, replace(expression, comment=comment or expression.comment))
            return atom(variable)
        return replace(expression, comment=comment) if comment else expression

    def written(self) -> Mapping[Node, Expression]:
        """What each step is called that was written so far."""
        return dict(self._done)

    def return_to(self, written: Mapping[Node, Expression]) -> None:
        """Forget what was written since, as where another branch begins, in which its variables are not set."""
        self._done = dict(written)

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


def _is_short(node: Node) -> bool:
    """Whether a step is written again wherever it is used."""
    if isinstance(node, Arithmetic) and node.operator == "-" and not isinstance(node.children[1], Arithmetic):
        return True
    leaf = node.children[0] if isinstance(node, rg.Not) and isinstance(node.children[0], rg.Among) else node
    return not leaf.children and not isinstance(leaf, _OF_A_CELL)


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


def _negated(body: Body, node: rg.Not) -> Expression:
    child = node.children[0]
    if isinstance(child, Greater) and body.uses[child] == 1 and child not in body.comments:
        left, right = (body.text(part) for part in child.children)
        text = f"{right} >= {left}" if isinstance(child.children[0], Number) else f"{left} <= {right}"
        return atom(text, body.spelling.comparison)
    return body.spelling.negated(body.expression(child))


def _connected(body: Body, node: rg.Joined) -> Expression:
    """The parts in one expression; where they are too many for one, in several."""
    spelling, most = body.spelling, body.spelling.max_operands
    connective = {rg.And: spelling.all_of, rg.Or: spelling.any_of, rg.Odd: spelling.odd}[type(node)]
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


def _member(body: Body, node: rg.Among) -> Expression:
    texts = members(node, body.feature(node))
    return body.spelling.within(body, body.feature(node), texts) if texts else body.spelling.truth(False)


def _contained(body: Body, node: rg.Contains) -> Expression:
    if not node.tokens and not node.missing:
        return body.spelling.truth(False)
    return body.spelling.containing(body, body.feature(node), node.tokens, node.missing)


_RULES: dict[type[Node], Callable[[Body, Any], Expression]] = {
    RawCompare: _compared,
    rg.IsTrue: lambda body, node: body.spelling.above(body.cell(node.feature), 0.5, True, node.missing),
    rg.Missing: lambda body, node: body.spelling.absent(body.cell(node.feature)),
    RawNumber: lambda body, node: atom(body.cell(node.feature)),
    rg.Among: _member,
    rg.Contains: _contained,
    rg.Constant: lambda body, node: body.spelling.truth(node.value),
    rg.Not: _negated,
    **dict.fromkeys((rg.And, rg.Or, rg.Odd), _connected),
    rg.AtLeast: lambda body, node: body.spelling.at_least(node.k, tuple(map(body.expression, node.children))),
    Number: lambda body, node: atom(body.spelling.literal(node.value)),
    Spelled: lambda body, node: atom(node.text),
    Choice: lambda body, node: body.spelling.chosen(body, node),
    Sum: _added,
    Arithmetic: _arithmetic,
    Count: lambda body, node: body.spelling.counted(tuple(map(body.expression, node.children))),
    Greater: lambda body, node: atom(" > ".join(map(body.text, node.children)), body.spelling.comparison),
    Exponential: lambda body, node: atom(body.spelling.exponential.format(x=body.text(node.children[0], CHOICE))),
}
