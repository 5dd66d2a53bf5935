"""Two ways to spell the same computation: for the cells of one row, and for columns of numpy.

Both compare doubles with the double at which float32 rounding crosses the threshold (findings/onnx.md, 4.3), so that
they decide as if a cell had been rounded to float32, and write the same operations in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from rulekit_exporters.python.expressions import ATOM, Expression, atom, bracketed, joined, parenthesised, prefixed
from rulekit_exporters.python.names import literal

_MEMBERSHIP = re.compile(r"(\w+) (not )?in ")

# Binding strengths. Python's comparisons bind more tightly than `not` and less tightly than `~`, `&`, `|`.
CHOICE, LOW, MIDDLE, HIGH, SUM, PRODUCT = 0, 1, 2, 3, 8, 9


@dataclass(frozen=True, slots=True)
class Spelling:
    """Operators and idioms of one dialect.

    comparison: the rank of `x > t`; conjunction, disjunction: operator and rank; negation: prefix and rank.
    """

    scalar: bool
    comparison: int
    conjunction: tuple[str, int]
    disjunction: tuple[str, int]
    negation: tuple[str, int]
    choose: Callable[[Expression, str, str], Expression]

    def all_of(self, parts: tuple[Expression, ...]) -> Expression:
        return self._joined(self.conjunction, parts) if parts else self.truth(True)

    def any_of(self, parts: tuple[Expression, ...]) -> Expression:
        return self._joined(self.disjunction, parts) if parts else self.truth(False)

    def _joined(self, operator: tuple[str, int], parts: tuple[Expression, ...]) -> Expression:
        return parts[0] if len(parts) == 1 else joined(*operator, HIGH, parts)

    def negated(self, part: Expression) -> Expression:
        """The contrary; `not in` and the loss of a double negation are what readers and linters expect."""
        if self.scalar and not part.parts and part.text.startswith("not "):
            return atom(part.text.removeprefix("not "), self.comparison)
        if (inner := self._denied(part)) is not None:
            return inner
        found = _MEMBERSHIP.match(part.text) if self.scalar and part.rank == self.comparison else None
        if found is None:
            return prefixed(self.negation[0], part, self.negation[1])
        start = f"{found[1]} in " if found[2] else f"{found[1]} not in "
        text, prefix = (start + whole[found.end() :] for whole in (part.text, part.prefix or part.text))
        return replace(part, text=text, prefix=prefix if part.prefix else "")

    def _denied(self, part: Expression) -> Expression | None:
        """What stands behind the negation of an expression; None where there is none."""
        sign, rank = self.negation
        if part.rank != rank or not part.text.startswith(sign):
            return None
        inner = ATOM if part.prefix.startswith(sign + "(") or not self.scalar else self.comparison
        return replace(part, text=part.text.removeprefix(sign), rank=inner, prefix=part.prefix.removeprefix(sign))

    def truth(self, value: bool) -> Expression:
        return atom(repr(value) if self.scalar else f"np.{value!r}_")

    def at_least(self, k: int, parts: tuple[Expression, ...]) -> Expression:
        """The sum starts from the integer 0, so that Booleans of numpy are counted, not joined."""
        opening = "sum((" if self.scalar else "count(np, ("
        return bracketed(opening, parts, f")) >= {k}", self.comparison)

    def exceeds(self, name: str, crossing: float, above: bool, missing: bool) -> Expression:
        """`name > crossing` or `name <= crossing`; NaN fails every comparison, so `missing` makes it a denial."""
        if not missing:
            return atom(f"{name} {'>' if above else '<='} {literal(crossing)}", self.comparison)
        return self.negated(atom(f"{name} {'<=' if above else '>'} {literal(crossing)}", self.comparison))

    def within(self, name: str, levels: tuple[str | None, ...]) -> Expression:
        """Membership of a category in a set of levels, where None is missing."""
        if not levels:
            return self.truth(False)
        items = tuple(atom(literal(level)) for level in levels)
        if self.scalar:
            return bracketed(f"{name} in {{", items, "}", self.comparison)
        return bracketed(f"among(np, {name}, {{", items, "})")

    def in_constant(self, name: str, constant: str) -> Expression:
        """Membership of a category in a set that has a name."""
        return atom(f"{name} in {constant}", self.comparison) if self.scalar else atom(f"among(np, {name}, {constant})")

    def add(self, total: str, weight: float, value: Expression) -> list[str]:
        """Statements: total += weight * value, one multiplication and one addition."""
        term = f"{literal(weight)} * {parenthesised(value, SUM).text}" if weight != 1.0 else value.text
        return [f"{total} += {term}" if self.scalar else f"{total} = {total} + {term}"]


def _choose_scalar(condition: Expression, yes: str, no: str) -> Expression:
    inside = parenthesised(condition, LOW)
    return Expression(f"{yes} if {inside.text} else {no}", CHOICE, depth=inside.depth + 1)


def _choose_vector(condition: Expression, yes: str, no: str) -> Expression:
    return bracketed("np.where(", (replace(condition, comment=""), atom(yes), atom(no)), ")")


SCALAR = Spelling(True, 4, ("and", MIDDLE), ("or", LOW), ("not ", HIGH), _choose_scalar)
VECTOR = Spelling(False, CHOICE, ("&", MIDDLE), ("|", LOW), ("~", HIGH), _choose_vector)
