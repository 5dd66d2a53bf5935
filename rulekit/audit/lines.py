"""Text in lines of a given width."""

from __future__ import annotations

import textwrap

_NARROWEST = 20
"""Columns that a text gets at least, however narrow the terminal is."""


def wrapped(text: str, width: int, hanging: str = "") -> list[str]:
    """A text as lines of `width` columns, at least 20, the later ones behind `hanging`; a long word is kept whole."""
    width = max(width, len(hanging) + _NARROWEST)
    if len(text) <= width:
        return [text]
    return textwrap.wrap(
        text, width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False, replace_whitespace=False
    )
