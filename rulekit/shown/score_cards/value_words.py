"""The values of a column that a condition names, in words that stand under the name of the column: `up to 8000`."""

from __future__ import annotations

from rulekit.graph.language.bounds import grouped, lone_value
from rulekit.graph.language.wordings import ForPeople
from rulekit.graph.language.words import name
from rulekit.graph.nodes import Among, And, Compare, Contains, IsTrue, Missing, Node, Not
from rulekit.shown.outline import Words


def value_words(node: Node, words: Words) -> str | None:
    """`up to 3`, `above 3 up to 5`, `in {a, b}`, `true`, `missing`; None where only the whole condition says it."""
    if isinstance(node, Missing):
        return "missing"
    if isinstance(node, Not) and isinstance(node.child, Missing):
        return "any value"
    if isinstance(node, Not) and isinstance(node.child, IsTrue):
        return "false" + " or missing" * (not node.child.missing)
    if isinstance(node, IsTrue):
        return "true" + " or missing" * node.missing
    if isinstance(node, Compare):
        return interval_words(node, node, words) + " or missing" * node.missing
    if isinstance(node, And) and all(isinstance(child, Compare) for child in node.children):
        places = grouped(node.children, anywhere=True)
        if len(places) == 1 and len(node.children) == 2:
            lower, upper = (node.children[i] for i in places[0])
            assert isinstance(lower, Compare)
            assert isinstance(upper, Compare)
            return interval_words(lower, upper, words) + " or missing" * (lower.missing and upper.missing)
    if is_unseen(node):
        return UNSEEN
    leaf = node.child if isinstance(node, Not) else node
    if isinstance(leaf, Among | Contains):
        text, column = words.text(node).strip("()"), f"{name(leaf.feature)} "
        return text.removeprefix(column) if text.startswith(column) else None
    return None


UNSEEN = "a level never seen"


def is_unseen(node: Node) -> bool:
    """Whether a condition holds for levels that training never saw, and nothing else."""
    return isinstance(node, Among) and not node.levels and node.unseen and not node.missing


def interval_words(lower: Compare, upper: Compare, words: Words) -> str:
    """The values above a lower and up to an upper bound, or of one bound alone, given twice."""
    people, column = ForPeople(words.schema, words.most_levels), lower.feature
    if lower is upper:
        return f"{'up to' if lower.op == '<=' else 'above'} {people.amount(lower.value, column)}"
    whole = lone_value(lower.value, upper.value, people.feature(column), rounded=True)
    if whole is not None:
        return people.amount(whole, column)
    low, high = people.ends(lower.value, upper.value, column)
    return f"above {low} up to {high}"
