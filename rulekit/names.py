"""Texts for people: which name somebody meant, how a name is printed so that it can do no harm, lines of a width."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterable

_ALIKE = 0.7
_MOST_COMPARED = 10_000
_OPTION = re.compile(r"""--[a-z-]+ (?:'[^']*'|"[^"]*"|[^\s=]+=\S+)|"[^"]{1,24}\"""")
_KEPT = "\ue000"
_NARROWEST = 8
"""Columns that a text gets at least behind its hanging, however narrow the terminal is."""


def near_names(name: str, names: Iterable[str], most: int = 3, alike: float = _ALIKE) -> list[str]:
    """The names most like `name`, the likest first; capitals do not matter.

    alike: the least share of letters in common, from difflib: `incme` for `income` has .91, `outcome` .62.
    """
    lowered = {known.lower(): known for known in list(names)[:_MOST_COMPARED]}
    return [lowered[near] for near in difflib.get_close_matches(name.lower(), lowered, most, alike)]


def near_files(name: str, names: Iterable[str]) -> list[str]:
    """Likewise of names of files: what comes before their endings must be alike, since many files share those."""
    known = list(names)
    stems = set(near_names(_stem(name), map(_stem, known)))
    return near_names(name, [file for file in known if _stem(file) in stems], alike=0.0)


def _stem(name: str) -> str:
    return name.lstrip(".").partition(".")[0]


def printable(text: object) -> str:
    """Foreign text on one line of a terminal, a log or a comment.

    Whatever is not printable is escaped as in Python's literals: line ends, control characters, terminal escapes, marks
    that turn the direction of writing. Every name, label, level, file name and note of a file is printed by this.
    """
    whole = str(text)
    return whole if whole.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in whole)


def column_title(column: str) -> str:
    """A column in a sentence: as it is, in quotation marks where it holds what joins the parts of sentences."""
    text = printable(column)
    return text if text.strip() == text and text and not set(text) & set(',;:"') else f'"{text}"'


def suggestion(name: str, names: Iterable[str], things: str = "columns") -> str:
    """The names most like `name`, or the first few; things: what they name."""
    known = list(names)
    if near := near_names(name, known):
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"{things} are {', '.join(map(repr, known[:6]))}{', ...' if len(known) > 6 else ''}"


def blanks_hint(pairs: Iterable[tuple[str, object]]) -> str:
    """What to do where a text and a known one differ in the blanks around them alone; "" where no pair does."""
    for text, known in pairs:
        if isinstance(known, str) and text != known and text.strip() == known.strip():
            return "--trim takes the blanks off" if text.strip() == known else "leave --trim out, or train with it"
    return ""


def label_text(label: object) -> str:
    """The label of a class as text, a truth value in small letters."""
    return str(label).lower() if isinstance(label, bool) else str(label)


def wrapped(text: str, width: int, hanging: str = "") -> list[str]:
    """A text as lines of `width` columns or few more, the later ones behind `hanging`; a long word is kept whole.

    So is an option with its quoted value or COL=VALUE, which can then be pasted, and a short text in quotes.
    """
    width = max(width, len(hanging) + _NARROWEST)
    if len(text) <= width:
        return [text]
    text = _OPTION.sub(lambda option: option.group().replace(" ", _KEPT), text)
    lines = textwrap.wrap(
        text, width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False, replace_whitespace=False
    )
    return [line.replace(_KEPT, " ") for line in lines]
