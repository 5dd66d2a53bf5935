"""Reserved words and literals of generated Python: foreign text never becomes code."""

from __future__ import annotations

import builtins
import keyword
import math

from rulekit_exporters.python import command_line, runtime

TAKEN = (
    set(keyword.kwlist)
    | set(keyword.softkwlist)
    | set(dir(builtins))
    | set(vars(runtime))
    | set(vars(command_line))
    | {"TEST_CELLS", "TEST_ROWS", "TEST_CHANCES", "self_test"}
    | {"np", "n", "row", "data", "l", "O", "I", "best", "chosen", "score", "decide", "decide_many", "probabilities"}
    | {"predict", "predict_proba", "predict_many", "bisect_left", "nan", "inf"}
    | {"CLASSES", "COLUMNS", "USED", "DIGEST", "Row", "annotations"}
)


def literal(value: object) -> str:
    """A Python literal of a text, number, Boolean, None or tuple of them, without unprintable characters."""
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
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
