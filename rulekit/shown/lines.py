"""Text in lines of a given width."""

from __future__ import annotations

import re
import textwrap

_OPTION = re.compile(r"""--[a-z-]+ (?:'[^']*'|"[^"]*"|[^\s=]+=\S+)|"[^"]{1,24}\"""")
_KEPT = "\ue000"
_NARROWEST = 8
"""Columns that a text gets at least behind its hanging, however narrow the terminal is."""


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
