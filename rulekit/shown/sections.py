"""A graph as sections for people: when each class is decided, by which rules, and with which figures.

A section has a heading, rows and a closing line. Everything that text formats print comes from here, so that the view,
the tables and the C5.0-like form cannot say different things.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Part
from rulekit.graph.language.figures import RuleFigures, base_rates, rule_figures, speaks_for
from rulekit.graph.language.words import chance, counted, listed, name, quoted, share, weight
from rulekit.graph.leaves import column_of, readers
from rulekit.graph.overrides import Override
from rulekit.graph.probability.deciding import formula_on_grid, gated_parts
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import INHIBITS, Rule, conjuncts, inner_sum, rules_of, rules_of_parts
from rulekit.schema import Schema
from rulekit.shown.rule_rows import HandEdit, Row, Words, card_rows, hand_made, rule_row
from rulekit.shown.score_cards import card_of

MOST_COLUMNS = 4


@dataclass(frozen=True, slots=True)
class Section:
    """Rows under a heading.

    base_rates: how often the class of the rows is found in the tables of their figures, "" where that is not known.
    signs: of a sum, for what points above and below 0 speak.
    """

    heading: str
    rows: tuple[Row, ...] = ()
    base_rates: str = ""
    signs: str = ""


def sections(graph: RuleGraph, full: bool = False) -> tuple[Section, ...]:
    """The deciding rules, class by class; full: with every level of their sets."""
    figures, words = rule_figures(graph), Words.of(graph.written, graph.schema, full)
    found, graph = _overrides(graph, figures, words), graph.underlying
    made = hand_made(graph)
    by_class = {k: list(rules) for k, rules in groupby(rules_of(graph), key=lambda rule: rule.class_index)}
    if _is_count(graph):
        first = graph.decision.parts[0].class_index
        rows = tuple(rule_row(rule, words) for rule in by_class.get(first, []))
        labels = ", ".join(map(quoted, graph.classes))
        heading = f"{name(graph.schema.target)} is the median of how many of these hold, as one of {labels}"
        return (*found, Section(heading, _marked(rows, made)))
    scores = {part.class_index: part.score for part in graph.decision.parts}
    for k, heading in _headings(graph, by_class):
        rules, card, said = by_class.get(k, []), card_of(scores[k], graph.schema), speaks_for(graph, k)
        if card is None:
            rows = tuple(rule_row(rule, words, figures.get((k, rule.id), ())) for rule in rules)
        else:
            rows = card_rows(card, k, {rule.node: rule for rule in rules}, words, figures)
        acting = any(not row.inhibits for row in rows)
        signs = f"points above 0 speak for {said}, points below 0 against it" if card is not None and acting else ""
        rates = _rates([row for row in rows if not row.inhibits], said)
        found += _parted(Section(heading, _marked(rows, made), base_rates=rates, signs=signs))
    return tuple(found)


def _parted(section: Section) -> list[Section]:
    """A section with the rules that act, and below it those that keep them from acting."""
    acting, inhibiting = (tuple(row for row in section.rows if row.inhibits is so) for so in (False, True))
    return [replace(section, rows=acting), *[Section(_INHIBITORS, inhibiting)] * bool(inhibiting)]


def _rates(rows: Sequence[Row], said: str) -> str:
    return base_rates(next((row.figures for row in rows if row.figures), ()), said)


def legend_of(parts: Iterable[Section]) -> str:
    """What the weights before conditions mean, by the shortest example among them; "" of none."""
    weights = [line.weight for part in parts for row in part.rows for line in row.outline if line.weight]
    example = min(weights, key=lambda text: ("else" not in text, len(text)), default="")
    on, _, off = example.removesuffix(")").partition(" (else ")
    beside = f", else with {off}" if off else ""
    return f"{example}: true with probability {on} where the condition holds{beside}." if example else ""


def _marked(rows: tuple[Row, ...], made: Mapping[str, HandEdit]) -> tuple[Row, ...]:
    """The rows, of which those that a person wrote or changed say so."""
    return tuple(replace(row, signed=str(made[row.id])) if row.id in made else row for row in rows) if made else rows


def _overrides(
    graph: RuleGraph, figures: Mapping[tuple[int, str], tuple[RuleFigures, ...]], words: Words
) -> list[Section]:
    """The overrides in their order, those of one class that follow each other under one heading."""
    found, target, labels = list[Section](), name(graph.schema.target), list(map(quoted, graph.classes))
    rules = list(zip(rules_of(graph), graph.overrides, strict=False))
    for k, group in groupby(rules, key=lambda pair: pair[1].class_index):
        rows = []
        for rule, override in group:
            rows.append(replace(rule_row(rule, words, figures.get((k, rule.id), ())), signed=signature(override)))
        order = "where none above holds" if found else "which wins over all rules below"
        heading = f"override, {order}: {target} is {labels[k]} when {_any_of(rows)}"
        found.append(Section(heading, tuple(rows), base_rates=_rates(rows, labels[k])))
    return found


def signature(override: Override) -> str:
    """Who answers for an override, since when, until when, and why."""
    until = "" if override.expires is None else f" until {override.expires}"
    return f"by {override.author} on {override.date}{until}: {override.reason}"


def _is_count(graph: RuleGraph) -> bool:
    """Whether the ranked classes are counts: how many of the same hidden bits fire, by the median."""
    found = set[tuple[rg.Node, ...]]()
    for part in graph.decision.parts if graph.decision.ordered else ():
        formula = part.score.formula if isinstance(part.score, rg.Probability) else None
        if not isinstance(formula, rg.AtLeast) or part.threshold != 0.5:
            return False
        if str(graph.classes[part.class_index]) != str(formula.k):
            return False
        found.add(formula.children)
    return len(found) == 1


def closing(graph: RuleGraph) -> str:
    """What happens where no rule decides, and where classes tie."""
    labels, decision = list(map(quoted, graph.classes)), graph.underlying.decision
    if decision.ranked:
        order = ", ".join(labels[k] for k, _, _ in decision.ranked)
        if decision.rule_sets:
            speaking = sum(rules is not rg.FALSE for _, rules, _ in decision.ranked)
            first = "the first of these classes with a rule that holds is decided; " * (speaking > 1)
            return f"{first}otherwise {labels[graph.default]}."
        thresholds = {threshold for _, _, threshold in decision.ranked}
        above = _above(thresholds.pop(), " above ") if len(thresholds) == 1 else ""
        largest = f"the largest of these{above} decides"
        otherwise = f"; otherwise {labels[graph.default]}" if decision.has_default else ""
        return f"{largest}, of equal ones the first of {order}{otherwise}."
    return f"otherwise {labels[0]}."


def missing_note(graph: RuleGraph) -> str:
    """What a missing value means to the columns that the rules read."""
    decision, rules = graph.underlying.decision, rules_of(graph)
    pairs = zip(decision.roots, decision.parts, strict=True)
    roots = [part.score if isinstance(part.score, rg.Probability) else root for root, part in pairs]
    roots += [override.condition for override in graph.overrides]
    accepting, nodes = _accepting(roots), tuple(rg.topological(roots))
    valued = {column_of(node) for node in nodes if node.family is rg.Family.REAL}
    read = [f for f in graph.schema.names if f in set(map(column_of, nodes))]
    never, rest = [name(f) for f in read if f not in accepting | valued], [name(f) for f in read if f in accepting]
    every = len(never) == len(read) > MOST_COLUMNS
    missing = f"a missing {'value' if every else listed(never, 'or')}"
    if rules and all(rule.connective == "sum" for rule in rules):
        return f"Missing: {missing} brings no points." if never else ""
    parts = [f"{missing} satisfies no rule"] * bool(never)
    if never and not all(_is_clause(rule.node) for rule in rules):
        parts = [f"a condition on {'a missing value' if every else listed(never, 'or')} fails"]
    parts += [f"a missing {listed(rest, 'or')} can satisfy a rule"] * bool(rest) + _in_sums(nodes)
    return f"Missing: {'; '.join(parts)}." if parts else ""


def _in_sums(nodes: Sequence[rg.Node]) -> list[str]:
    """What a missing cell, and a number that training rows did not reach, count in the sums of units."""
    units = [node for node in nodes if isinstance(node, rg.LinearThreshold)]
    terms = [child for unit in units for child in unit.children]
    levels = dict.fromkeys(
        name(term.feature) for term in terms if isinstance(term, rg.LevelPoints) and not term.missing
    )
    columns = {term.feature: term for term in reversed(terms) if isinstance(term, rg.Column)}
    said = [f"a missing {listed(list(levels), 'or')} brings no points"] if 0 < len(levels) <= MOST_COLUMNS else []
    if not columns:
        return said
    ends = "a number beyond the range of the training rows counts as its nearest end"
    if len(columns) > MOST_COLUMNS:
        return [*said, "in a sum a missing number counts as the mean", ends]
    counts = [f"{name(column.feature)} counts as {weight(column.missing)}" for column in reversed(columns.values())]
    means = [counts[0], *(each.replace(" counts", "", 1) for each in counts[1:])]
    return [*said, f"in a sum a missing {listed(means)}", ends]


def _accepting(roots: Sequence[rg.Node]) -> set[str]:
    """The columns with a condition that holds where they are missing, as it stands in the formula: `not` counts."""
    found: set[str] = set()
    seen = {(root, True) for root in roots}
    stack = list(seen)
    while stack:
        node, positive = stack.pop()
        feature = column_of(node)
        if (
            feature
            and node.family is rg.Family.BOOLEAN
            and (isinstance(node, rg.Missing) or getattr(node, "missing", None) is True) is positive
        ):
            found.add(feature)
        gated = gated_parts(node.children[0] if isinstance(node, rg.Not) else node)
        if gated is not None:  # causes and inhibitors are listed as they are
            node, positive = rg.Or((*gated[0], *gated[1])), True
        for child in node.children:
            below = (child, positive is not isinstance(node, rg.Not))
            if below not in seen:
                seen.add(below)
                stack.append(below)
    return found


def _is_clause(node: rg.Node) -> bool:
    if isinstance(node, rg.Hidden) and node.off == 0.0:
        node = node.cause
    return all(not p.children or (isinstance(p, rg.Not) and not p.child.children) for p in conjuncts(node))


# Headings ------------------------------------------------------------------------------------------------------------


def _headings(graph: RuleGraph, by_class: Mapping[int, Sequence[Rule]]) -> Iterator[tuple[int, str]]:
    target, labels, decision = name(graph.schema.target), list(map(quoted, graph.classes)), graph.decision
    if decision.ranked and not decision.rule_sets:
        apart = len({threshold for _, _, threshold in decision.ranked}) > 1
        for k, score, threshold in sorted(decision.ranked, key=itemgetter(0)):
            also = _above(threshold, ", and above ") * apart
            yield k, f"{target} is {labels[k]} when {_measure(score, by_class.get(k, []))} is the largest{also}"
        return
    tests = []
    for part in decision.parts if not decision.ranked else ():
        k, label = part.class_index, f"above {labels[part.class_index - 1]}" if decision.ordered else ""
        tests.append((k, label or labels[k], _test(part, by_class.get(k, []), graph.schema)))
    for k, rule_set, _ in decision.ranked:
        if rule_set is not rg.FALSE or k != graph.default:
            tests.append((k, labels[k], _any_of(by_class.get(k, []))))
    for k, label, test in tests:
        against = k in by_class and by_class[k][0].connective == "against"  # causes that speak against the class
        said = f"{target} is {label} {'unless' if against else 'when'} {test}"
        yield k, said if test else f"{target} is never {label} (no rule)"


def _above(threshold: float, words: str) -> str:
    return "" if threshold == float("-inf") else f"{words}{weight(threshold)}"


def _any_of(rules: Sequence[Rule] | Sequence[Row]) -> str:
    return "any of" if len(rules) > 1 else "this holds" if rules else ""


def _test(part: Part, rules: Sequence[Rule], schema: Schema) -> str:
    if part.threshold is None:
        return _any_of(rules)
    card = card_of(part.score, schema)
    if card is not None and part.score.family is rg.Family.REAL:
        least = card.least_above(part.threshold)
        test = f"more than {weight(part.threshold)}" if least is None else f"{weight(least)} or more"
        return f"the points of all lines that hold add up to {test}"
    said = weight(part.threshold)
    if isinstance(part.score, rg.Strength):
        said = chance(max(0.0, part.threshold))
    elif part.score.family is rg.Family.PROBABILITY and 0 < part.threshold < 1:
        said = share(part.threshold)
    if rules and rules[0].connective == "against" and isinstance(part.score, rg.Probability):
        return f"{_measure(part.score, rules)} is {share(1.0 - part.threshold)} or more"
    return f"{_measure(part.score, rules)} exceeds {said}"


def _measure(score: rg.Node, rules: Sequence[Rule]) -> str:
    if isinstance(score, rg.Rescaled):
        return f"{weight(score.odds)} times the odds of {_measure(score.probability, rules)}"
    if isinstance(score, rg.Sided):
        bounds = f"at least {weight(score.above)} when decided, else at most {weight(score.below)}"
        return f"{_measure(score.probability, rules)}, {bounds}"
    if isinstance(score, rg.Difference):
        return "the difference of two probabilities"
    if isinstance(score, rg.Logistic):
        total = inner_sum(score.linear) if isinstance(score.linear, rg.Linear) else score.linear
        return _link(score, _measure(total, rules), (total,))
    if score.family is rg.Family.REAL and not isinstance(score, rg.Strength):
        return "the sum of these points"
    if not isinstance(score, rg.Probability | rg.Strength):
        return f"the score (1 where {'any of these' if len(rules) > 1 else 'this'} holds, else 0)"
    if len(rules) < 2:
        return f"the probability that {'this rule' if rules else 'nothing'} holds"
    connective = rules[0].connective
    if rules[-1].connective == INHIBITS:
        return "the probability that any of these holds, and none of those below does,"
    return f"the probability that {_HOLD.get(connective, f'{connective} of these hold')}"


_INHIBITORS = "and none of those:"
_HOLD = {"or": "any of these holds", "and": "all of these hold", "odd": "an odd number of these hold"}


# What is reported ----------------------------------------------------------------------------------------------------


def reported(graph: RuleGraph, full: bool = True) -> tuple[Section, ...]:
    """The weighted rules behind each reported probability that does not decide itself."""
    graph = graph.underlying
    found, words = list[Section](), Words.of(graph.roots, graph.schema, full)
    known = {rule.node: rule for rule in rules_of(graph)}
    for k, node in _beside(graph):
        rules, card = rules_of_parts((Part(k, node, None),)), card_of(node, graph.schema)
        rows = tuple(rule_row(rule, words) for rule in rules)
        rows = rows if card is None else tuple(row for row in card_rows(card, k, known, words, {}) if row.weight)
        signs = _some_totals(node.probability if isinstance(node, rg.Sided) else node)
        heading = f"{_reports(graph, k)}: {_measure(node, rules)}"
        found += _parted(Section(heading, rows, signs=signs))
    return tuple(found)


def _some_totals(node: rg.Node) -> str:
    """The probabilities of some totals of a score card; "" of any other node, and of a scale that is not usual."""
    linear = node.linear if isinstance(node, rg.Logistic) else None
    _, times, added = _scaled(linear, (inner_sum(linear),)) if isinstance(linear, rg.Linear) else (node, 0.0, 0.0)
    if not 0.01 <= abs(times) <= 10.0:
        return ""
    totals = [k * 10.0 ** round(-math.log10(abs(times))) for k in (-3, -2, -1, 0, 1, 2, 3)]
    return "sum " + ", ".join(f"{weight(t)}: {50 + 50 * math.tanh((times * t + added) / 2):.0f} %" for t in totals)


def summary(graph: RuleGraph) -> str:
    """One line in place of the rules behind the reported probabilities; "" where there are none to show."""
    graph = graph.underlying
    beside = _beside(graph)
    if not beside:
        return ""
    cards = [card for _, node in beside if (card := card_of(node, graph.schema)) is not None]
    parts = len(cards) or sum(isinstance(node, rg.Hidden) for node in rg.topological([node for _, node in beside]))
    what = f"from {counted(parts, 'weighted condition')}" if parts else "of its own"
    what = what if readers(node for _, node in beside) else "the same on every row"
    if cards:
        lines = sum(points != 0 for points in (cards[0].bias, *(entry.points for entry in cards[0].entries)))
        what = f"from {parts} score cards" if parts > 1 else f"from a score card of {counted(lines, 'line')}"
    heading = _reports(graph, beside[0][0]) if len(beside) == 1 else "probabilities"
    return f"{heading}: {what}; rulekit show --all shows {'it' if parts < 2 else 'them'}"


def links(graph: RuleGraph) -> str:
    """How a reported probability follows from the score that decides, where it is a function of it; else ""."""
    graph = graph.underlying
    scores = _scores(graph)
    found = [(k, node) for k, node in _probabilities(graph) if _follows(node, scores)]
    if not found:
        return ""
    if len(found) == 1:
        ((k, node),) = found
        return f"{_reports(graph, k)}: {_link(node, 'that sum' if len(scores) == 1 else 'its sum', scores)}"
    said = "the differences of the logistic of each sum"
    if not any(isinstance(node, rg.Difference) for _, node in found):
        alike = {_link(node, "each sum", scores) for _, node in found}
        said = alike.pop() if len(alike) == 1 else "the logistic of each sum"
    return f"probabilities: {said}, divided by their total"


def _probabilities(graph: RuleGraph) -> Iterable[tuple[int, rg.Node]]:
    """The reported probabilities by class, of two classes that of the positive one."""
    return enumerate(graph.probability, start=len(graph.probability) == 1)


def _follows(node: rg.Node, scores: Sequence[rg.Node]) -> bool:
    """Whether a reported probability is a function of the sums that decide."""
    if isinstance(node, rg.Rescaled | rg.Difference):
        certain = (isinstance(child, rg.Probability) and child.formula is rg.TRUE for child in node.children)
        return all(sure or _follows(child, scores) for sure, child in zip(certain, node.children, strict=True))
    return isinstance(node, rg.Logistic) and _scaled(node.linear, scores)[0] in scores


def _scaled(node: rg.Node, scores: Sequence[rg.Node]) -> tuple[rg.Node, float, float]:
    """A sum, how often it is taken, and what is added; of one that decides the sum itself."""
    if node not in scores and isinstance(node, rg.Linear) and len(node.terms) == 1:
        ((times, child),) = node.terms
        if child in scores and child.family is rg.Family.REAL:
            return child, times, node.bias
    return node, 1.0, 0.0


def _link(node: rg.Node, what: str, scores: Sequence[rg.Node]) -> str:
    if isinstance(node, rg.Rescaled):
        return f"{weight(node.odds)} times the odds of {_link(node.probability, what, scores)}"
    assert isinstance(node, rg.Logistic)
    _, times, added = _scaled(node.linear, scores)
    beside = f" {'-' if added < 0 else '+'} {weight(abs(added))}" if added else ""
    return f"the logistic of {'' if times == 1.0 else f'{weight(times)} times '}{what}{beside}"


def _reports(graph: RuleGraph, k: int) -> str:
    return f"probability of {quoted(graph.classes[k])}"


def _beside(graph: RuleGraph) -> list[tuple[int, rg.Node]]:
    """Index and root of each reported probability that has rules of its own."""
    scores = _scores(graph)
    return [
        (k, node)
        for k, node in _probabilities(graph)
        if node not in scores
        and not _follows(node, scores)
        and not (isinstance(node, rg.Probability) and _decides_alike(node.formula, scores))
    ]


def _decides_alike(formula: rg.Node, scores: Sequence[rg.Node]) -> bool:
    """Whether it decides by its strengths, or on a grid."""
    denied = isinstance(formula, rg.Not)
    gated = formula_on_grid(formula.child if isinstance(formula, rg.Not) else formula)
    return rg.Strength(formula) in scores or rg.Probability(rg.Not(gated) if denied else gated) in scores


def _scores(graph: RuleGraph) -> list[rg.Node]:
    return [part.score for part in graph.decision.parts]
