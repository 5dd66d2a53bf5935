"""Python's two spellings of a program: for the cells of one row, and for columns of numpy."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from rulekit.program.expressions import ATOM, Expression, atom, bracketed
from rulekit.program.nodes import Choice, Largest, Number, Sum
from rulekit.program.spelling import CHOICE, LOW, MIDDLE, SUM, Body, Spelling, competing, is_weight
from rulekit.schema import Feature
from rulekit_exporters.python.names import literal

MAX_INLINE_LEVELS = 8
_MEMBERSHIP = re.compile(r"(\w+) (not )?in ")


class PythonSpelling(Spelling):
    """What both have in common."""

    scalar: bool
    membership: tuple[str, str, int]

    def literal(self, value: object) -> str:
        return literal(value)

    def absent(self, name: str) -> Expression:
        return self.negated(atom(f"{name} <= inf", self.comparison))

    def within(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        name, (before, after, rank) = body.cell(feature.name), self.membership
        if len(texts) <= MAX_INLINE_LEVELS:
            items = tuple(atom(literal(text)) for text in texts)
            return bracketed(f"{before.format(name=name)}{{", items, "}" + after, rank)
        constant = body.constant(feature.name, "levels", texts, f"frozenset({{{', '.join(map(literal, texts))}}})")
        return atom(before.format(name=name) + constant + after, rank)

    def start(self, value: str) -> str:
        """A total or an index before anything is added."""
        return value

    def added(self, body: Body, node: Sum) -> Expression:
        """Statements, one for each term; a weight that is not there adds nothing, as a total is never -0.0."""
        first, *terms = node.children
        total = body.fresh("total")
        body.put(f"{total} = {self.start(body.text(first))}")
        for term in terms:
            if is_weight(term) and term.children[2] is Number(0.0):
                self.add_if(body, total, body.expression(term.children[0]), body.text(term.children[1]))
            elif is_weight(term):
                condition, yes, no = (body.expression(child) for child in term.children)
                value = replace(self.choose(condition, yes.text, no.text), comment=condition.comment)
                body.say(self.more.format(total=total), value)
            else:
                body.put(self.more.format(total=total) + body.term(term, self.term_rank))
        return atom(total)

    more: str
    term_rank: int

    def add_if(self, body: Body, total: str, condition: Expression, amount: str) -> None:
        raise NotImplementedError


class Scalar(PythonSpelling):
    scalar = True
    truths = ("False", "True")
    choice = ("{yes} if {condition} else {no}", CHOICE, LOW)
    count = ("sum((", "))", ",")
    membership = ("{name} in ", "", Spelling.comparison)
    step = "{values}[bisect_left({cuts}, {name})]"
    more, term_rank = "{total} += ", CHOICE

    def negated(self, part: Expression) -> Expression:
        """`not in` and the loss of a double negation are what readers and linters expect."""
        if not part.parts and part.text.startswith("not "):
            return atom(part.text.removeprefix("not "), self.comparison)
        found = _MEMBERSHIP.match(part.text) if part.rank == self.comparison else None
        if found is None:
            return super().negated(part)
        start = f"{found[1]} in " if found[2] else f"{found[1]} not in "
        text, prefix = (start + whole[found.end() :] for whole in (part.text, part.prefix or part.text))
        return replace(part, text=text, prefix=prefix if part.prefix else "")

    def stepped(self, body: Body, node: Any) -> Expression:
        present = atom(f"{body.cell(node.feature)} <= inf", self.comparison)
        return self.choose(present, super().stepped(body, node).text, literal(node.missing))

    def chosen(self, body: Body, node: Choice) -> Expression:
        """One number or another; a long condition is a statement of its own."""
        condition = body.expression(node.children[0])
        if not is_weight(node) or (len(condition.text) <= 70 and not condition.commented):
            return super().chosen(body, node)
        _, yes, no = (body.expression(child).text for child in node.children)
        variable = body.fresh("p")
        body.put(*condition.comment.splitlines(), f"{variable} = {no}")
        self.add_if(body, variable, condition, yes, "=")
        return atom(variable)

    def add_if(self, body: Body, total: str, condition: Expression, amount: str, sign: str = "+=") -> None:
        body.say("if ", condition if sign == "+=" else replace(condition, comment=""), ":")
        body.put(f"{total} {sign} {amount}", deeper=4)

    def largest(self, body: Body, node: Largest) -> Expression:
        body.put(f"best, chosen = -inf, {node.otherwise}")
        for child, k in zip(node.children, node.results, strict=True):
            score, threshold = competing(child)
            value = body.expression(score)
            body.put(f"# class {k}")
            body.say("score = ", value)
            body.put(f"if {_takes_part(threshold)}score > best:")
            body.put(f"best, chosen = score, {k}", deeper=4)
        return atom("chosen")


def _takes_part(threshold: float) -> str:
    return "" if threshold == float("-inf") else f"score > {literal(threshold)} and "


class Vector(PythonSpelling):
    scalar = False
    comparison = CHOICE
    conjunction = ("&", MIDDLE)
    disjunction = ("|", LOW)
    negation = ("~", Spelling.negation[1])
    truths = ("np.False_", "np.True_")
    count = ("count(np, (", "))", ",")
    membership = ("among(np, {name}, ", ")", ATOM)
    column = "clipped_column(np, {name}, {missing}, {low}, {high}, {step})"
    float32 = "float32_column(np, {name})"
    step = "stepped(np, {name}, {cuts}, {values}, {missing})"
    logistic = "logistic_column(np, {z})"
    more, term_rank = "{total} = {total} + ", SUM
    max_operands = 100

    def denied(self, part: Expression) -> int:
        return ATOM

    def choose(self, condition: Expression, yes: str, no: str) -> Expression:
        return bracketed("np.where(", (replace(condition, comment=""), atom(yes), atom(no)), ")")

    def start(self, value: str) -> str:
        return "np.zeros(n)" if value == "0.0" else f"np.full(n, {value})"

    def add_if(self, body: Body, total: str, condition: Expression, amount: str) -> None:
        body.put(*condition.comment.splitlines())
        body.say(self.more.format(total=total), self.choose(condition, amount, "0.0"))

    def largest(self, body: Body, node: Largest) -> Expression:
        body.put(f"best, chosen = np.full(n, -inf), np.full(n, {node.otherwise})")
        for child, k in zip(node.children, node.results, strict=True):
            score, threshold = competing(child)
            value = body.expression(score)
            body.put(f"# class {k}")
            body.say("score = ", value)
            body.put(
                f"better = (score > {literal(threshold)}) & (score > best)",
                "best = np.where(better, score, best)",
                f"chosen = np.where(better, {k}, chosen)",
            )
        return atom("chosen")


SCALAR, VECTOR = Scalar(), Vector()
