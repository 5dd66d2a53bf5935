"""Numbers of a report as its readers see them."""

from __future__ import annotations

import math

from rulekit.graph.language.readable import percent

NONE = "–"


def rows_text(n: float) -> str:
    """`1,400`; of weights that are not whole one digit more."""
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"


def share_text(share: float | None) -> str:
    """`12.3 %`."""
    return NONE if share is None else percent(share)


def interval_text(low: float | None, high: float | None, scale: float = 100.0, places: int = 1) -> str:
    """`8.1 to 17.9`; without an upper end `at least 0.40`."""
    if low is None:
        return NONE
    if high is None:
        return f"at least {scale * low:.{places}f}"
    return f"{scale * low:.{places}f} to {scale * high:.{places}f}"


def bounded_share(share: float | None, low: float | None, high: float | None) -> str:
    """`12.3 % (8.1 to 17.9)`."""
    return share_text(share) if low is None else f"{share_text(share)} ({interval_text(low, high)})"


def number_text(value: float | None, digits: int = 4) -> str:
    """At most so many digits, but whole numbers in full."""
    if value is None or math.isnan(value):
        return NONE
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def finite(value: float) -> float | None:
    """A number that JSON has; None for others."""
    return float(value) if math.isfinite(value) else None
