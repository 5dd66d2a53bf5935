"""The shapes of the paper's two networks, by name."""

from __future__ import annotations

from collections.abc import Mapping

from rulekit.errors import InputError
from rulekit.learners.ltu.shape import NONE, Shape

SHAPES: Mapping[str, Shape] = {
    # Figures 1 and 2: the or of two units.
    "small": Shape.chain(2),
    # Figures 3 and 4: units 0 to 3 here are 1 to 4 there.
    "large": Shape.of([1, 3, NONE, NONE], [2, NONE, NONE, NONE]),
}


def shape_named(name: str) -> Shape:
    """The shape of a name: "small", "large", or "or-k" and "and-k", the or and the and of k units.

    Raises InputError for another name.
    """
    if name in SHAPES:
        return SHAPES[name]
    word, _, size = name.partition("-")
    if word in ("or", "and") and size.isdecimal() and int(size) >= 1:
        return Shape.chain(int(size), by_left=word == "or")
    known = ", ".join(repr(known) for known in SHAPES)
    fix = f"say 'auto', {known}, 'or-3' or 'and-3'"
    raise InputError(f"there is no network of the shape {name!r}", where="shape", fix=fix)
