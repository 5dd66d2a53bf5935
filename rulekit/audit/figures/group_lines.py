"""Figures by group as lines of text."""

from __future__ import annotations

from rulekit.audit.figures.groups import MEASURES, SMALL, Compared, GroupRate, Parity
from rulekit.graph.language.words import name, quoted
from rulekit.shown.lines import wrapped


def group_lines(found: Parity, width: int = 80) -> list[str]:
    """For each rate a line a group: rows, the rate in percent, and how far it is from that of the reference.

    The ends of the intervals of 95 % stand behind each number; ratios are shown where there is room.
    """
    first = max(len(text) for text in (*MEASURES, *(group.name for group in found.groups)))
    wide = first + 2 + 7 + 2 + 20 + 22 + 20 <= width
    lines = [f"by {name(found.column)}, of {quoted(found.label)}; in %, with 95 % intervals"]
    against = ("difference", "ratio")[: 1 + wide]
    lines.append(f"{'':<{first}}  {'rows':>7}  {'rate':<18}  " + "  ".join(f"{word:<20}" for word in against).rstrip())
    for measure in MEASURES:
        lines.append(measure)
        for group in found.groups:
            rate = group.rate(measure)
            said = f"{group.name:<{first}}  {rate.rows:>7}  {rate_text(rate):<18}  "
            if group.name == found.reference:
                lines.append(f"{said}reference")
            else:
                difference = compared_text(rate.difference, 100.0, signed=True)
                ratio = compared_text(rate.ratio, places=2) if wide else ""
                lines.append(f"{said}{difference:<20}  {ratio}".rstrip())
    small = [group.name for group in found.groups if group.effective_n < SMALL]
    if small:
        lines += wrapped(f"fewer than {SMALL} rows, of which little can be said: {', '.join(small)}", width, "  ")
    return lines


def rate_text(rate: GroupRate) -> str:
    """`12.3 (8.1, 17.9)`."""
    return compared_text(Compared(rate.share, rate.low, rate.high), 100.0)


def compared_text(found: Compared | None, scale: float = 1.0, signed: bool = False, places: int = 1) -> str:
    """`+1.2 (-3.4, 5.6)`; `-` of nothing; without an upper end `(0.4, no limit)`."""
    if found is None or (found.value is None and found.low is None):
        return "-"
    sign = "+" if signed else ""
    value = "-" if found.value is None else f"{scale * found.value:{sign}.{places}f}"
    if found.low is None:
        return value
    high = "no limit" if found.high is None else f"{scale * found.high:.{places}f}"
    return f"{value} ({scale * found.low:.{places}f}, {high})"
