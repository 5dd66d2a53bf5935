"""Identifiers, literals and comments for generated Python: foreign text never becomes code."""

from __future__ import annotations

import builtins
import keyword
import math
import re
import textwrap

from rulekit_exporters.python import command_line, runtime

_TAKEN = (
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


_LOCAL = re.compile(r"(total|value|holds|p)[0-9]+")


class Names:
    """Hands out identifiers, each once."""

    def __init__(self) -> None:
        self._taken = set(_TAKEN)
        self._next: dict[str, int] = {}

    def fresh(self, wish: str) -> str:
        """An unused ASCII identifier that resembles `wish` and is none of a function's own variables."""
        plain = re.sub(r"_+", "_", re.sub(r"[^0-9A-Za-z]", "_", wish)).strip("_")[:40].rstrip("_")
        if not plain or plain[0].isdigit() or _LOCAL.fullmatch(plain):
            plain = f"x_{plain}".rstrip("_")
        name = plain
        while name in self._taken:
            self._next[plain] = self._next.get(plain, 1) + 1
            name = f"{plain}_{self._next[plain]}"
        self._taken.add(name)
        return name


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


def printable(text: str) -> str:
    """The text on one line: characters that are not printable are escaped."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def comment(text: str, indent: int = 0, hanging: str = "    ") -> str:
    """Comment lines that hold the text, wrapped; no character of it can end a line or a comment."""
    lines = textwrap.wrap(
        printable(text), 110 - indent, subsequent_indent=hanging, break_on_hyphens=False, replace_whitespace=False
    )
    return "\n".join(f"# {line}" for line in lines)
