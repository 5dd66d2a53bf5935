"""The overrides that hold for a row as sentences: which decides, who answers for it, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rulekit.graph.language.words import quoted


def override_sentences(row: Mapping[str, Any]) -> Iterator[str]:
    """Of the rules of an explained row those with `override` (author, date, expires, reason), in their order.

    The first of them decides. `beneath` of the row is what would be decided without them.
    """
    said = [view for view in row["rules"] if "override" in view]
    for place, view in enumerate(said):
        signed = view["override"]
        until = f" until {signed['expires']}" if signed.get("expires") else ""
        verb = "decides" if place == 0 else "holds as well, and would decide"
        reason = signed["reason"].rstrip(".")
        by = f"by {signed['author']}, since {signed['date']}{until}"
        yield f"Override {view['id']} {verb} {quoted(view['class'])}, where {view['text']} ({by}): {reason}."
    if said and "beneath" in row:
        yield f"Without overrides the decision would be {quoted(row['beneath'])}."
