"""Text in lines of so many columns."""

from __future__ import annotations

import textwrap


def wrapped(text: str, width: int, hanging: str = "") -> list[str]:
    """A text as lines of at most `width` columns, the later ones behind `hanging`; only a long word stands out."""
    if len(text) <= width:
        return [text]
    return textwrap.wrap(
        text, width, subsequent_indent=hanging, break_on_hyphens=False, break_long_words=False, replace_whitespace=False
    )
