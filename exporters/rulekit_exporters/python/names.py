"""Reserved words and literals of generated Python: foreign text never becomes code."""

from __future__ import annotations

import builtins
import keyword
import math
from collections.abc import Iterable

from rulekit import tokens
from rulekit.program.spelling import ATOM, Expression, atom, bracketed
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
