"""How a language writes each step: the table that a text target gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from rulekit.errors import Unsupported
from rulekit.graph.nodes import Node
from rulekit.program.expressions import ATOM, Expression, atom, joined, parenthesised, surrounded
from rulekit.program.nodes import Choice, cases
from rulekit.schema import Feature

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
    (spelling, body, step) for what is better than the common way, or than `rulekit.program.elementary`. A body is a
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
