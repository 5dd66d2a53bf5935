"""Expressions of a text target as small trees, and their layout in lines of at most 120 characters."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    """What stands between the brackets of an expression."""
    if not expression.joiner:  # plain parentheses around one part
        part = expression.parts[0]
        return _operands(part, indent) if part.parts and not part.prefix else layout("", part, "", indent)
    return [line for part in expression.parts for line in _with_comment(part, indent, "", expression.joiner.strip())]


def _operands(expression: Expression, indent: int) -> list[str]:
    """The parts of a joined expression, each on lines of its own that begin with the operator."""
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
