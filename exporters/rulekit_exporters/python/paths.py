"""Rules over linear threshold units as nested `if`s: a row evaluates only the units on its path, each at most once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulekit.graph.nodes import And, Constant, Node, Not, Or, topological
from rulekit.program.body import Body
from rulekit.program.nodes import Greater, Sum, cases, index_of
from rulekit.program.spelling import Expression

# A formula of more parts is not searched; one that would say its tests more often than this is not written as a tree.
MOST_PARTS = 2000
MOST_REPEATED = 2
# Levels of indentation; a branch that returns adds none.
DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Leaf:
    """The number of a class, and the rule that holds, None for the default."""

    index: int
    rule: Node | None


@dataclass(frozen=True, slots=True)
class Branch:
    """A test with what follows where it holds and where it does not."""

    test: Node
    yes: Branch | Leaf
    no: Branch | Leaf


def tree_of(label: Node) -> Branch | None:
    """The decision of a label as a tree of tests; None where no unit is in it, or the tree would be much larger.

    label: a chain of choices between classes (`rulekit.program.nodes`).
    """
    chain, otherwise = cases(label)
    order = topological([condition for condition, _ in chain], lambda n: n.children if _is_logic(n) else ())
    tests = [node for node in order if not _is_logic(node) and not isinstance(node, Constant)]
    if len(order) > MOST_PARTS or sum(map(_is_unit, tests)) < 2:
        return None
    most = MOST_REPEATED * len(tests)
    outcomes = [(condition, index_of(result)) for condition, result in chain]
    last = index_of(otherwise)
    # a place for each part of the tree; of a test, that of what follows where it holds and where it does not
    parts: list[Leaf | tuple[Node, list[int]]] = []
    waiting: list[tuple[dict[Node, bool], list[int]]] = [({}, [])]
    while waiting:
        known, places = waiting.pop()
        places.append(len(parts))
        following = _next(order, outcomes, last, known)
        if isinstance(following, Leaf):
            parts.append(following)
            continue
        most -= 1
        if most < 0:
            return None
        sides: list[int] = []
        parts.append((following, sides))
        waiting += [({**known, following: False}, sides), ({**known, following: True}, sides)]
    built: dict[int, Branch | Leaf] = {}
    for place, part in reversed(list(enumerate(parts))):
        built[place] = part if isinstance(part, Leaf) else Branch(part[0], *(built[side] for side in part[1]))
    root = built[0]
    return root if isinstance(root, Branch) and _depth(root) <= DEEPEST else None


def _is_logic(node: Node) -> bool:
    """Whether a step joins tests; a sum that is at least 0 is one, though it is said as not below."""
    return isinstance(node, And | Or) or (isinstance(node, Not) and not isinstance(node.child, Greater))


def _is_unit(node: Node) -> bool:
    """Whether a test compares a sum, as a linear threshold unit does."""
    compared = node.child if isinstance(node, Not) else node
    return isinstance(compared, Greater) and any(isinstance(part, Sum) for part in compared.children)


def _next(
    order: Sequence[Node], outcomes: Sequence[tuple[Node, int]], last: int, known: Mapping[Node, bool]
) -> Node | Leaf:
    """The class, where what is known decides it, else the first test that it hangs on."""
    values: dict[Node, bool | None] = {}
    for node in order:
        if isinstance(node, Not) and _is_logic(node):
            value = values[node.child]
            values[node] = None if value is None else not value
        elif isinstance(node, And | Or):
            parts, decisive = [values[child] for child in node.children], isinstance(node, Or)
            values[node] = decisive if decisive in parts else None if None in parts else not decisive
        else:
            values[node] = bool(node.value) if isinstance(node, Constant) else known.get(node)
    for condition, result in outcomes:
        if values[condition]:
            rules = condition.children if isinstance(condition, Or) else (condition,)
            return Leaf(result, next(rule for rule in rules if values[rule]))
        if values[condition] is None:
            while _is_logic(condition):
                condition = next(child for child in condition.children if values[child] is None)
            return condition
    return Leaf(last, None)


def _depth(tree: Branch) -> int:
    """How deeply its statements are indented."""
    deepest, waiting = 0, [(tree, 1)]
    while waiting:
        branch, depth = waiting.pop()
        deepest = max(deepest, depth)
        inner, after = _inner(branch)
        waiting += [(part, level) for part, level in ((inner, depth + 1), (after, depth)) if isinstance(part, Branch)]
    return deepest


def _inner(branch: Branch) -> tuple[Branch | Leaf, Branch | Leaf]:
    """What stands below the `if`, and what stands behind it: a class below it where there is one."""
    turned = isinstance(branch.no, Leaf) and not isinstance(branch.yes, Leaf)
    return (branch.no, branch.yes) if turned else (branch.yes, branch.no)


def tests_of(tree: Branch) -> list[Node]:
    """The tests, as often as they are written."""
    found, waiting = [], [tree]
    while waiting:
        branch = waiting.pop()
        found.append(branch.test)
        waiting += [part for part in (branch.yes, branch.no) if isinstance(part, Branch)]
    return found


def say_tree(body: Body, tree: Branch, results: Sequence[str]) -> None:
    """Statements that return results[k] for the class k."""
    waiting: list[tuple[Branch | Leaf, int, Mapping[Node, Expression]]] = [(tree, body.indent, body.written())]
    indent, said = body.indent, set[Node]()
    while waiting:
        part, level, written = waiting.pop()
        body.indent = level
        body.return_to(written)
        if isinstance(part, Leaf):
            if part.rule is not None:
                comments = body.context.briefs if part.rule in said else body.comments
                body.put(*comments.get(part.rule, "").splitlines())
                said.add(part.rule)
            body.put(f"return {results[part.index]}")
            continue
        inner, after = _inner(part)
        condition = body.expression(part.test)
        body.say("if ", condition if inner is part.yes else body.spelling.negated(condition), ":")
        now = body.written()
        waiting += [(after, level, now), (inner, level + 4, now)]
    body.indent = indent
