"""How a language writes each step: the table that a text target gives, and the expressions that it makes.

Expressions are small trees, laid out in lines of at most 120 characters.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Node
from rulekit.program.nodes import Choice, cases
from rulekit.schema import Feature

WIDTH = 120


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of code.

    An atom has text only. A joined expression puts `joiner` between its parts ("or", "&"); a bracketed one stands
    between `prefix` and `suffix`, its parts separated by commas. rank is the binding strength that decides about
    parentheses; depth counts the nesting, so that no expression outgrows the parser; comment stands above it; denied:
    what a denial is the contrary of.
    """

    text: str
    rank: int
    parts: tuple[Expression, ...] = ()
    joiner: str = ""
    prefix: str = ""
    suffix: str = ""
    depth: int = 1
    comment: str = ""
    denied: Expression | None = None

    @property
    def commented(self) -> bool:
        return any(part.comment or part.commented for part in self.parts)


ATOM = 10


def atom(text: str, rank: int = ATOM) -> Expression:
    """A piece of text that is not broken into lines."""
    return Expression(text, rank)


def joined(joiner: str, rank: int, needed: int, parts: tuple[Expression, ...]) -> Expression:
    """Parts with an operator between them; a part that binds less tightly than `needed` stands in parentheses."""
    if len(parts) == 1:
        return parts[0]
    inside = tuple(parenthesised(part, needed) for part in parts)
    text = f" {joiner} ".join(part.text for part in inside)
    return Expression(text, rank, inside, joiner, depth=1 + max(part.depth for part in inside))


def bracketed(
    prefix: str, parts: tuple[Expression, ...], suffix: str, rank: int = ATOM, after_one: str = ""
) -> Expression:
    """Parts with commas between them; prefix ends and suffix begins with a bracket; after_one: behind a single part."""
    text = ", ".join(part.text for part in parts) + (after_one if len(parts) == 1 else "")
    depth = 1 + max((part.depth for part in parts), default=0)
    return Expression(f"{prefix}{text}{suffix}", rank, parts, ",", prefix, suffix, depth)


def parenthesised(part: Expression, rank: int) -> Expression:
    """The expression in parentheses, if it binds less tightly than `rank`."""
    if part.rank >= rank:
        return part
    bare = replace(part, comment="")
    return Expression(f"({part.text})", ATOM, (bare,), "", "(", ")", part.depth + 1, part.comment)


def surrounded(before: str, part: Expression, after: str, rank: int, needed: int = ATOM) -> Expression:
    """Text before and behind an operand, such as the sign of a denial."""
    inner = parenthesised(part, needed)
    prefix, suffix = (before + inner.prefix, inner.suffix + after) if inner.prefix else ("", "")
    return replace(inner, text=before + inner.text + after, rank=rank, prefix=prefix, suffix=suffix, denied=None)


def layout(before: str, expression: Expression, after: str, indent: int) -> list[str]:
    """Lines of `before expression after`; a long or commented expression is broken at its outermost parts."""
    margin = " " * indent
    single = f"{margin}{before}{expression.text}{after}"
    if not expression.parts or (len(single) <= WIDTH and not expression.commented):
        return [single]
    if expression.prefix:
        lines = [f"{margin}{before}{expression.prefix}"]
        lines += _inside(expression, indent + 4)
        return [*lines, f"{margin}{expression.suffix}{after}"]
    if before or after:
        return [f"{margin}{before}(", *_operands(expression, indent + 4), f"{margin}){after}"]
    return _operands(expression, indent)


def _inside(expression: Expression, indent: int) -> list[str]:
    if not expression.joiner:  # plain parentheses around one part
        part = expression.parts[0]
        return _operands(part, indent) if part.parts and not part.prefix else layout("", part, "", indent)
    return [line for part in expression.parts for line in _with_comment(part, indent, "", expression.joiner.strip())]


def _operands(expression: Expression, indent: int) -> list[str]:
    lines: list[str] = []
    for i, part in enumerate(expression.parts):
        lines += _with_comment(part, indent, f"{expression.joiner} " if i else "", "")
    return lines


def _with_comment(part: Expression, indent: int, before: str, after: str) -> list[str]:
    comment = [" " * indent + line for line in part.comment.splitlines()]
    if part.prefix or not part.parts or (len(part.text) + indent + 8 <= WIDTH and not part.commented):
        return comment + layout(before, part, after, indent)
    lines = _operands(part, indent)
    if not before and not after:
        return comment + lines
    return [*comment, " " * indent + before + "(", *(f"    {line}" for line in lines), " " * indent + ")" + after]


# Binding strengths: what stands in parentheses where a tighter one is needed. A language's comparison has its own.
CHOICE, LOW, MIDDLE, HIGH, SUM, PRODUCT = 0, 1, 2, 3, 8, 9
Rule = Callable[[Any, Any, Any], Expression]  # (spelling, body, step)


class Spelling(ABC):
    """How a language writes each step: operators with their ranks, templates, and methods for what has no template.

    A target overrides what its language has otherwise, and must write `literal` and `within`.

    comparison: the rank of `x > t`. conjunction, disjunction: operator and rank; negation: what stands before and
    behind what is denied, its rank and the rank that it needs of that. truths: false and true. choice: template of
    `condition`, `yes`, `no`, with its rank and what it needs of the condition. missing: template of whether the number
    `name` is missing; exponential: of e to the power of `x`. assignment and ending: what stands before and behind the
    value of a `variable`. max_*: where an expression is broken into variables. own: by type of step, the method
    (spelling, body, step) for what is better than the common way, or than `rulekit.program.nodes`. A body is a
    `rulekit.program.body.Body`, which knows spellings, and not the other way round.
    """

    comparison = 4
    conjunction = ("and", MIDDLE)
    disjunction = ("or", LOW)
    negation = ("not ", "", HIGH, HIGH)
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

    @abstractmethod
    def literal(self, value: object) -> str:
        """A number, text, None or tuple of them; raises Unsupported where the language has none."""

    @abstractmethod
    def within(self, body: Any, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        """Whether a category's cell is one of the texts, None for missing (not empty)."""

    def containing(self, body: Any, feature: Feature, tokens: tuple[str, ...], missing: bool) -> Expression:
        """Whether a text has one of the tokens (or, if `missing`, is missing); raises Unsupported where no one says."""
        raise Unsupported("Contains", "this target", "score texts in generated Python")

    def truth(self, value: bool) -> Expression:
        return atom(self.truths[value])

    def all_of(self, parts: tuple[Expression, ...]) -> Expression:
        return joined(*self.conjunction, HIGH, parts) if parts else self.truth(True)

    def any_of(self, parts: tuple[Expression, ...]) -> Expression:
        return joined(*self.disjunction, HIGH, parts) if parts else self.truth(False)

    def negated(self, part: Expression) -> Expression:
        """The contrary; a denial loses its sign."""
        before, after, rank, needed = self.negation
        if part.denied:
            return replace(part.denied, comment=part.comment)
        inner = parenthesised(part, needed)
        return replace(surrounded(before, inner, after, rank, needed), denied=inner)

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

    def odd(self, parts: tuple[Expression, ...]) -> Expression:
        return surrounded("", self.counted(parts), " % 2 > 0", self.comparison)

    def choose(self, condition: Expression, yes: str, no: str) -> Expression:
        template, rank, needed = self.choice
        inside = parenthesised(replace(condition, comment=""), needed)
        text = template.format(condition=inside.text, yes=yes, no=no)
        return Expression(text, rank, depth=inside.depth + 1)

    def chosen(self, body: Any, node: Choice) -> Expression:
        """The result of the first condition that holds."""
        pairs, last = cases(node)
        value: Expression = body.expression(last)
        for condition, result in reversed(pairs):
            value = self.choose(body.expression(condition), body.text(result, LOW), parenthesised(value, CHOICE).text)
        comment: str = body.expression(pairs[0][0]).comment
        return replace(value, comment=comment)
