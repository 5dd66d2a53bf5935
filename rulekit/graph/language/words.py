"""Names, levels, labels and numbers as words of the rule language."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import numpy as np

from rulekit.errors import FormatError
from rulekit.graph.files.json_values import dump
from rulekit.graph.nodes import Family, Node, Strength
from rulekit.names import printable

RESERVED = frozenset(
    (
        *("above", "all", "and", "any", "apart", "at", "clip", "column", "contains", "decide", "decided"),
        *("default", "difference", "else", "exceeds", "false", "fires", "from", "if", "in", "is"),
        *("label", "lacks", "largest", "least", "let", "logistic", "median", "missing", "most", "not", "odd", "odds"),
        *(
            "of",
            "or",
            "override",
            "points",
            "preferring",
            "probability",
            "report",
            "require",
            "rule",
            "sided",
            "step",
            "strength",
        ),
        *("sum", "then", "to", "together", "true", "unseen", "up", "when", "with"),
    )
)
_PLAIN = re.compile(r"[^\W\d]\w*(?:[.-]\w+)*")


def name(text: str) -> str:
    """A column name, level or label: as it is where it is a plain word, else quoted like a JSON string.

    Characters that are not printable (line ends, U+00A0, marks of direction) are escaped, so that a rule text may stand
    in a comment or on a terminal as it is.
    """
    if _PLAIN.fullmatch(text) and text not in RESERVED and text.isprintable():
        return text
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in dump(text))


def scale_of(score: Node) -> str:
    """The word for what a score is compared with."""
    if score.family is Family.PROBABILITY:
        return "probability"
    return "strength" if isinstance(score, Strength) else "score"


def unquoted(token: str) -> str:
    """The text that a word or a quoted text means; raises FormatError for a bad escape."""
    if not token.startswith('"'):
        return str(token)  # plain text: a parser's own kind of string would change a node's digest
    try:
        text: str = json.loads(token)
    except ValueError:
        raise FormatError(
            "a quoted text has a bad escape or a control character",
            fix='write \\", \\\\, \\n, \\t or \\u and four digits',
        ) from None
    return text


def in_quotes(text: str) -> str:
    """A text like a JSON string, however plain it is; see `name`."""
    written = name(text)
    return written if written.startswith('"') else f'"{written}"'


def names(texts: Iterable[str]) -> str:
    """A set of names in braces."""
    return "{" + ", ".join(map(name, texts)) + "}"


def number(value: float) -> str:
    """The shortest decimal that gives a finite double back, without a trailing `.0`."""
    return repr(float(value)).removesuffix(".0")


def label(value: object) -> str:
    """A class label: text quoted where needed, numbers and truth values as they are."""
    plain = value.item() if isinstance(value, np.generic) else value
    if isinstance(plain, bool):
        return "true" if plain else "false"
    return repr(plain) if isinstance(plain, int | float) else name(str(plain))


def quoted(value: object) -> str:
    """A class label as people read it: text in quotation marks, numbers and truth values as they are."""
    plain = value.item() if isinstance(value, np.generic) else value
    return printable(json.dumps(plain, ensure_ascii=False)) if isinstance(plain, str) else label(plain)
