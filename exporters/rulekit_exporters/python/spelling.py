"""Spelling of Python for the cells of one row; foreign text never becomes code."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rulekit import tokens
from rulekit.graph.nodes import Column, LevelPoints, Logistic, Node, Step
from rulekit.graph.probability.exponentials import Exponentials, Tail, Tails
from rulekit.numbers import crossing
from rulekit.program.body import Body
from rulekit.program.lower import points_of_texts
from rulekit.program.nodes import Choice, Largest, Number, Sum, is_weight
from rulekit.program.spelling import ATOM, CHOICE, LOW, Expression, Rule, Spelling, atom, bracketed
from rulekit.schema import Feature
from rulekit_exporters.python import command_line, runtime

TAKEN = (
    set(keyword.kwlist)
    | set(keyword.softkwlist)
    | set(dir(builtins))
    | set(vars(runtime))
    | set(vars(command_line))
    | {"TEST_CELLS", "TEST_CLASSES", "TEST_ROWS", "TEST_CHANCES", "self_test"}
    | set(vars(tokens))
    | {"row", "rules", "cells", "x", "data", "l", "O", "I", "best", "chosen", "score", "positive", "answer", "predict"}
    | {"predict_proba", "predict_many", "rules_of_row", "count_rules", "bisect_left", "nan", "inf", "annotations"}
    | {"DIGEST", "TOTALS", "RULES", "CLASS_NAMES"}
)


def literal(value: object) -> str:
    """A Python literal of a text, number, Boolean, None or tuple of them, without unprintable characters."""
    if isinstance(value, tuple):
        return collection(value).text
    if isinstance(value, float):
        if math.isinf(value):
            return "inf" if value > 0 else "-inf"
        return repr(value)
    if isinstance(value, str):
        return _quoted(value)
    return repr(value)


def _quoted(text: str) -> str:
    """Double quotes where that needs no escape, as formatters have it; repr escapes what is not printable."""
    shown = repr(text)
    if shown[0] == "'" and '"' not in text and "\\'" not in shown:
        return f'"{shown[1:-1]}"'
    return shown


FROZENSET = ("frozenset({", "})")


def collection(values: Iterable[object], before: str = "(", after: str = ")", rank: int = ATOM) -> Expression:
    """The literal of a tuple, or of a set."""
    return bracketed(before, tuple(atom(literal(value)) for value in values), after, rank, "," * (before == "("))


def filled(pieces: Iterable[str], indent: int = 4) -> list[str]:
    """Lines of at most 120 characters that hold the pieces, each of which begins with a blank."""
    lines: list[str] = []
    for piece in pieces:
        if lines and len(lines[-1]) + len(piece) <= 120:
            lines[-1] += piece
        else:
            lines.append(" " * (indent - 1) + piece)
    return lines


MAX_INLINE_LEVELS = 8
_MEMBERSHIP = re.compile(r"(?:\w+|\"[^\"]*\") in ")


class Scalar(Spelling):
    """For the cells of one row."""

    truths = ("False", "True")
    choice = ("{yes} if {condition} else {no}", CHOICE, LOW)

    def literal(self, value: object) -> str:
        return literal(value)

    def absent(self, name: str) -> Expression:
        return self.negated(atom(f"{name} <= inf", self.comparison))

    def within(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        name = body.cell(feature.name)
        if len(texts) <= MAX_INLINE_LEVELS:
            return collection(texts, f"{name} in {{", "}", self.comparison)
        constant = body.constant(feature.name, "levels", collection(texts, *FROZENSET))
        return atom(f"{name} in {constant}", self.comparison)

    def containing(self, body: Body, feature: Feature, tokens: tuple[str, ...], missing: bool) -> Expression:
        """A text is the set of its tokens, a missing one the set of None."""
        wanted, name = ((None,) if missing else ()) + tokens, body.cell(feature.name)
        if len(wanted) == 1:
            return atom(f"{literal(wanted[0])} in {name}", self.comparison)
        words = collection(wanted, f"{name}.isdisjoint({{", "})", ATOM)
        if len(wanted) > MAX_INLINE_LEVELS:
            constant = body.constant(feature.name, "words", collection(wanted, *FROZENSET))
            words = atom(f"{name}.isdisjoint({constant})")
        return self.negated(words)

    def counted(self, parts: tuple[Expression, ...]) -> Expression:
        return bracketed("sum((", parts, "))", ATOM, ",")

    def added(self, body: Body, node: Sum) -> Expression:
        """Statements, one for each term; a weight that is not there adds nothing, as a total is never -0.0."""
        first, *terms = node.children
        total = body.fresh("total")
        body.put(f"{total} = {body.text(first)}")
        for term in terms:
            if is_weight(term) and term.children[2] is Number(0.0):
                self.add_if(body, total, body.expression(term.children[0]), body.text(term.children[1]))
            elif is_weight(term) and isinstance(term, Choice):
                body.say(f"{total} += ", self.chosen(body, term))
            else:
                body.put(f"{total} += {body.text(term, CHOICE)}")
        return atom(total)

    def cleaned(self, body: Body, node: Column) -> Expression:
        feature, name = body.feature(node), body.cell(node.feature)
        clipped = "clipped_float32" if feature.precision == "float32" else "clipped"
        return atom(f"{clipped}({name}, {', '.join(map(literal, (node.missing, node.low, node.high, node.step)))})")

    def stepped(self, body: Body, node: Step) -> Expression:
        cuts = tuple(crossing(cut, body.feature(node).precision) for cut in node.cuts)
        pairs = (("cuts", cuts), ("values", node.values))
        name = body.cell(node.feature)
        limits, values = (body.constant(node.feature, key, collection(items)) for key, items in pairs)
        found = f"{values}[bisect_left({limits}, {name})]"  # NaN is above no cut
        if node.missing == node.values[0] and cuts:
            return atom(found)
        return atom(f"{found} if {name} <= inf else {literal(node.missing)}", CHOICE)

    def pointed(self, body: Body, node: LevelPoints) -> Expression:
        by_text = points_of_texts(node, body.feature(node))
        pairs = tuple(atom(f"{literal(text)}: {literal(points)}") for text, points in by_text.items())
        constant = body.constant(node.feature, "points", bracketed("{", pairs, "}"))
        return atom(f"{constant}.get({body.cell(node.feature)}, {literal(node.unseen)})")

    def largest(self, body: Body, node: Largest) -> Expression:
        """Statements, class by class."""
        body.put(f"best, chosen = -inf, {node.otherwise}")
        for child, threshold, k in zip(node.children, node.thresholds, node.results, strict=True):
            value = body.expression(child)
            body.put(f"# class {k}")
            body.say("score = ", value)
            takes_part = "" if threshold == float("-inf") else f"score > {literal(threshold)} and "
            body.put(f"if {takes_part}score > best:")
            body.put(f"best, chosen = score, {k}", deeper=4)
        return atom("chosen")

    def linked(self, body: Body, node: Logistic) -> Expression:
        return atom(f"logistic({body.text(node.linear, CHOICE)})")

    def tails(self, body: Body, node: Tails) -> Expression:
        """One list for all counts of the same events."""
        parts = tuple(replace(body.expression(part), comment="") for part in node.parts)
        return bracketed("at_least((", parts, f"), {node.most})", CHOICE, ",")

    def exponentials(self, body: Body, node: Exponentials) -> Expression:
        return atom(f"exponentials({', '.join(body.text(child, CHOICE) for child in node.children)})")

    own: Mapping[type[Node], Rule] = {
        Sum: added,
        Column: cleaned,
        Step: stepped,
        LevelPoints: pointed,
        Largest: largest,
        Logistic: linked,
        Exponentials: exponentials,
        Tails: tails,
        Tail: lambda spelling, body, node: atom(f"{body.text(node.tails, ATOM)}[{node.k}]"),
    }

    def negated(self, part: Expression) -> Expression:
        """`not in` is what readers and linters expect."""
        if part.denied or part.rank != self.comparison or not _MEMBERSHIP.match(part.text):
            return super().negated(part)
        text, prefix = (whole.replace(" in ", " not in ", 1) for whole in (part.text, part.prefix))
        return replace(part, text=text, prefix=prefix, denied=part)

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


SCALAR = Scalar()
