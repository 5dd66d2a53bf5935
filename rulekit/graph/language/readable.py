"""Numbers, levels and counts as people read them: rounded, dated, with units, and never longer than a glance.

Nothing here is read back; the rule language keeps every digit (rulekit.graph.language.words).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from rulekit.dates import is_dated, moment_text
from rulekit.graph.language.words import name, number
from rulekit.names import printable
from rulekit.numbers import canonical_threshold, probability_of
from rulekit.schema import Feature

MOST_LEVELS = 8
MOST_DIGITS = 8
NEAREST_TO_ONE = 1e-5


def chance(strength: float) -> str:
    """The probability of a strength, as `share` says it; one too near to 1 is said by its distance, `1 - 4e-07`."""
    p = probability_of(strength)
    if math.isinf(strength) or 1.0 - p >= NEAREST_TO_ONE:
        return share(p)
    exponent = -strength / math.log(10.0)
    return f"1 - {10.0**exponent:.0e}" if exponent > -300 else "almost 1"


def share(p: float) -> str:
    """A probability: three digits, two where it is small, near 1 as many as tell it from 1; never 0 or 1 in between."""
    if p < 1e-6 or p == 1.0:
        return f"{p:.1g}"
    if p < 1e-4:
        return f"{p:.6f}".rstrip("0")
    if p <= 0.5:
        return f"{p:.{3 if p >= 0.1 else 2}g}"
    places = max(3, -math.floor(math.log10(1.0 - p)))
    short = f"{p:.{places}f}"
    return (short if float(short) < 1.0 else f"{p:.{places + 1}f}").rstrip("0")


def percent(part: float) -> str:
    """A share of rows: `4.1 %`, `0.02 %`."""
    hundredths = part * 100
    return f"{hundredths:.1f} %" if hundredths >= 0.1 or hundredths == 0 else f"{hundredths:.1g} %"


def weight(value: float) -> str:
    """A weight or a bias: four digits, unless it is short as it is."""
    whole = number(value)
    return whole if len(whole.lstrip("-")) <= MOST_DIGITS else f"{value:.4g}"


def amount(value: float, feature: Feature | None) -> str:
    """A threshold as values of its column are shown: `2021-03-05`, `5,100 EUR`, `28.5 years`.

    Half a day, where a threshold lies between two days, is left out: later than noon of a day means later than the day.
    """
    if feature is None:
        return number(value)
    if is_dated(feature):
        half = 0.5 if feature.display == "date" and value % 1.0 == 0.5 else 0.0
        if text := moment_text(value - half, feature.display):
            return text.replace("T", " ")
    exact = value if feature.precision == "float64" else canonical_threshold(value, "float32")
    text = number(exact if math.isfinite(exact) else value)
    if feature.display == "money" and "e" not in text:
        whole, point, decimals = text.partition(".")
        text = f"{int(whole):,}{point}{decimals}" if whole != "-0" else text
    return f"{text} {printable(feature.unit)}" if feature.unit else text


def rounded_amount(value: float, feature: Feature | None) -> str:
    """A number on the way of a column as `amount` says it, but of four digits where it has many."""
    long = len(number(value).lstrip("-")) > MOST_DIGITS and not (feature is not None and is_dated(feature))
    return amount(float(f"{value:.4g}") if long else value, feature)


@lru_cache(maxsize=256)
def _places(feature: Feature) -> dict[str, int]:
    """The place of each level from low to high, of ranks and where levels name bands, numbers or steps of a scale."""
    from rulekit.tables.kinds.hints import steps_of  # which few models need

    return {level: k for k, level in enumerate(feature.levels if feature.ordered else steps_of(feature.levels))}


def in_order(levels: Sequence[str], feature: Feature | None) -> list[str]:
    """Levels from low to high where they have an order, else by their texts; one that fits in nowhere comes first."""
    places = {} if feature is None else _places(feature)
    return sorted(levels, key=lambda level: (places.get(level, -1), level))


def level_set(levels: Sequence[str], most: int | None = MOST_LEVELS, feature: Feature | None = None) -> str:
    """Levels in braces and in order: at most so many, and how many more there are; None: every one."""
    levels = in_order(levels, feature)
    shown = [name(level) for level in levels[:most]]
    beyond = len(levels) - len(shown)
    if beyond == 1:  # as long as the words that would stand for it
        return "{" + ", ".join([*shown, name(levels[-1])]) + "}"
    return "{" + ", ".join(shown) + (f" and {beyond} more" if beyond else "") + "}"


def counted(n: int, noun: str) -> str:
    """`1 rule`, `2 rules`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def listed(items: Sequence[str], word: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    return f" {word} ".join(filter(None, [", ".join(items[:-1]), items[-1]])) if items else ""
