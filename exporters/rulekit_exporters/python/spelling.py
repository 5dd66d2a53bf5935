"""Python's two spellings of a program: for the cells of one row, and for columns of numpy."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from rulekit.graph.nodes import Column, LevelPoints, Logistic, Node, Step
from rulekit.graph.probability.counting import Tail, Tails
from rulekit.graph.probability.exponentials import Exponentials
from rulekit.numbers import crossing
from rulekit.program.body import Body
from rulekit.program.expressions import ATOM, Expression, atom, bracketed
from rulekit.program.lower import points_of_texts
from rulekit.program.nodes import Choice, Largest, Number, Sum, is_weight
from rulekit.program.spelling import CHOICE, LOW, MIDDLE, PRODUCT, Rule, Spelling
from rulekit.schema import Feature
from rulekit_exporters.python.names import FROZENSET, collection, literal

MAX_INLINE_LEVELS = 8
_MEMBERSHIP = re.compile(r"(?:\w+|\"[^\"]*\") in ")


class Scalar(Spelling):
    """For the cells of one row."""

    truths = ("False", "True")
    choice = ("{yes} if {condition} else {no}", CHOICE, LOW)
    count = ("sum((", "))")
    no_best = "best, chosen = -inf, {otherwise}"
    column = "clipped({name}, {missing}, {low}, {high}, {step})"
    column_of_float32 = "clipped_float32({name}, {missing}, {low}, {high}, {step})"
    logistic = "logistic({z})"
    counting = "at_least(("
    membership: tuple[str, str, int] = ("{name} in ", "", Spelling.comparison)
    # what says that a text has a token, and what that it has none (`apart`) or one of several
    one_token, one_rank = "{token} in {name}", Spelling.comparison
    many_tokens, apart = ("{name}.isdisjoint(", ")"), True
    step = ("{values}[bisect_left({cuts}, {name})] if {name} <= inf else {missing}", CHOICE)
    # NaN is above no cut; None has no order and is an error of bisect as it is of a comparison
    first_if_missing = ("{values}[bisect_left({cuts}, {name})]", ATOM)
    points: tuple[str, int] = ("{points}.get({name}, {unseen})", ATOM)
    more, term_rank = "{total} += ", CHOICE

    def literal(self, value: object) -> str:
        return literal(value)

    def absent(self, name: str) -> Expression:
        return self.negated(atom(f"{name} <= inf", self.comparison))

    def within(self, body: Body, feature: Feature, texts: tuple[str | None, ...]) -> Expression:
        name, (before, after, rank) = body.cell(feature.name), self.membership
        if len(texts) <= MAX_INLINE_LEVELS:
            return collection(texts, f"{before.format(name=name)}{{", "}" + after, rank)
        constant = body.constant(feature.name, "levels", collection(texts, *FROZENSET))
        return atom(before.format(name=name) + constant + after, rank)

    def containing(self, body: Body, feature: Feature, tokens: tuple[str, ...], missing: bool) -> Expression:
        """A text is the set of its tokens, a missing one the set of None."""
        wanted, name = ((None,) if missing else ()) + tokens, body.cell(feature.name)
        if len(wanted) == 1:
            return atom(self.one_token.format(name=name, token=literal(wanted[0])), self.one_rank)
        before, after = self.many_tokens
        words = collection(wanted, before.format(name=name) + "{", "}" + after, ATOM)
        if len(wanted) > MAX_INLINE_LEVELS:
            constant = body.constant(feature.name, "words", collection(wanted, *FROZENSET))
            words = atom(before.format(name=name) + constant + after)
        return self.negated(words) if self.apart else words

    def counted(self, parts: tuple[Expression, ...]) -> Expression:
        return bracketed(self.count[0], parts, self.count[1], ATOM, ",")

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
            elif is_weight(term) and isinstance(term, Choice):
                body.say(self.more.format(total=total), self.chosen(body, term))
            else:
                body.put(self.more.format(total=total) + body.text(term, self.term_rank))
        return atom(total)

    def cleaned(self, body: Body, node: Column) -> Expression:
        feature, name = body.feature(node), body.cell(node.feature)
        template = self.column_of_float32 if feature.precision == "float32" else self.column
        fields = {key: literal(getattr(node, key)) for key in ("missing", "low", "high", "step")}
        return atom(template.format(name=name, **fields))

    def stepped(self, body: Body, node: Step) -> Expression:
        cuts = tuple(crossing(cut, body.feature(node).precision) for cut in node.cuts)
        pairs = (("cuts", cuts), ("values", node.values))
        names = {key: body.constant(node.feature, key, collection(values)) for key, values in pairs}
        template, rank = self.first_if_missing if node.missing == node.values[0] and cuts else self.step
        return atom(template.format(name=body.cell(node.feature), missing=literal(node.missing), **names), rank)

    def pointed(self, body: Body, node: LevelPoints) -> Expression:
        by_text = points_of_texts(node, body.feature(node))
        pairs = tuple(atom(f"{literal(text)}: {literal(points)}") for text, points in by_text.items())
        constant = body.constant(node.feature, "points", bracketed("{", pairs, "}"))
        template, rank = self.points
        return atom(template.format(points=constant, name=body.cell(node.feature), unseen=literal(node.unseen)), rank)

    def largest(self, body: Body, node: Largest) -> Expression:
        """Statements, class by class."""
        body.put(self.no_best.format(otherwise=node.otherwise))
        for child, threshold, k in zip(node.children, node.thresholds, node.results, strict=True):
            value = body.expression(child)
            body.put(f"# class {k}")
            body.say("score = ", value)
            self.better(body, threshold, k)
        return atom("chosen")

    def linked(self, body: Body, node: Logistic) -> Expression:
        return atom(self.logistic.format(z=body.text(node.linear, CHOICE)))

    def tails(self, body: Body, node: Tails) -> Expression:
        """One list for all counts of the same events."""
        parts = tuple(replace(body.expression(part), comment="") for part in node.parts)
        return bracketed(self.counting, parts, f"), {node.most})", CHOICE, ",")

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

    def better(self, body: Body, threshold: float, k: int) -> None:
        takes_part = "" if threshold == float("-inf") else f"score > {literal(threshold)} and "
        body.put(f"if {takes_part}score > best:")
        body.put(f"best, chosen = score, {k}", deeper=4)


class Vector(Scalar):
    """For columns of numpy."""

    comparison = CHOICE
    conjunction = ("&", MIDDLE)
    disjunction = ("|", LOW)
    negation = ("~", "", *Spelling.negation[2:])
    truths = ("np.False_", "np.True_")
    count = ("count(np, (", "))")
    no_best = "best, chosen = np.full(n, -inf), np.full(n, {otherwise})"
    membership = ("among(np, {name}, ", ")", ATOM)
    one_token, one_rank = "containing(np, {name}, {{{token}}})", ATOM
    many_tokens, apart = ("containing(np, {name}, ", ")"), False
    column = "clipped_column(np, {name}, {missing}, {low}, {high}, {step})"
    column_of_float32 = "clipped_column(np, float32_column(np, {name}), {missing}, {low}, {high}, {step})"
    step = ("stepped(np, {name}, {cuts}, {values}, {missing})", ATOM)
    first_if_missing = step
    points = ("pointed(np, {name}, {points}, {unseen})", ATOM)
    logistic = "logistic_column(np, {z})"
    counting = "at_least_columns(np, n, ("
    more, term_rank = "{total} = {total} + ", PRODUCT
    max_operands = 100
    chosen = Spelling.chosen

    def choose(self, condition: Expression, yes: str, no: str) -> Expression:
        return bracketed("np.where(", (replace(condition, comment=""), atom(yes), atom(no)), ")")

    def start(self, value: str) -> str:
        return "np.zeros(n)" if value == "0.0" else f"np.full(n, {value})"

    def add_if(self, body: Body, total: str, condition: Expression, amount: str, sign: str = "") -> None:
        body.put(*condition.comment.splitlines())
        body.say(self.more.format(total=total), self.choose(condition, amount, "0.0"))

    def better(self, body: Body, threshold: float, k: int) -> None:
        body.put(
            f"better = (score > {literal(threshold)}) & (score > best)",
            "best = np.where(better, score, best)",
            f"chosen = np.where(better, {k}, chosen)",
        )


SCALAR, VECTOR = Scalar(), Vector()
