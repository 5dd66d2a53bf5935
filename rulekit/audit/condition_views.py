"""A condition that counts in a row, in words: what holds as it is, what fails by its contrary where one says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rulekit.graph.language.text import print_node
from rulekit.graph.leaves import cuts_of_leaf
from rulekit.graph.nodes import LEAVES, Among, Contains, IsTrue, Node, Not

if TYPE_CHECKING:
    from rulekit.schema import Schema


def condition_views(name: str, label: object, cause: Node, schema: Schema) -> tuple[dict[str, Any], ...]:
    """What is said of a condition that fails, that holds, and that fails in a row where its column is known."""
    text = print_node(cause, schema)
    fails, contrary = f"not {_enclosed(cause, False, schema)}", contrary_of_known(cause)
    known = fails if contrary is None else _enclosed(contrary, True, schema)
    said = ((False, fails), (True, _enclosed(cause, True, schema)), (False, known))
    return tuple({"id": name, "class": label, "text": text, "holds": holds, "said": words} for holds, words in said)


def contrary_of_known(cause: Node) -> Node | None:
    """What holds instead of a leaf that fails on a known value, `story lacks wheat`; None where no leaf says it."""
    leaf = cause.child if isinstance(cause, Not) else cause
    wanted = leaf is cause  # a leaf is denied by what is false where it is missing, as every condition is
    if isinstance(leaf, IsTrue):
        found: Node = IsTrue(leaf.feature, wanted)
    elif isinstance(leaf, Contains):
        found = Contains(leaf.feature, leaf.tokens, wanted)
    elif isinstance(leaf, Among) and not leaf.unseen:
        found = Among(leaf.feature, leaf.levels, wanted)
    else:
        return None
    return Not(found) if wanted else found


def _enclosed(node: Node, holds: bool, schema: Schema) -> str:
    """A condition that a number or `not` may stand beside: what joins conditions or ends in a number in parentheses."""
    text, leaf = print_node(node, schema), node.child if isinstance(node, Not) else node
    plain = holds and isinstance(leaf, LEAVES) and not cuts_of_leaf(leaf)
    bare = isinstance(node, IsTrue) or plain or (text.startswith("(") and not node.children)
    return text if bare else f"({text})"
