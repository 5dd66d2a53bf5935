"""Names, labels and numbers as words of the rule language, and as people read them: rounded, dated, with units.

What is for people (from `chance` on) is never read back; the rule language keeps every digit.
"""

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from rulekit.dates import moment_text
from rulekit.errors import FormatError
from rulekit.graph.files.safe_files import dump
from rulekit.graph.nodes import Compare, Family, Node, Strength
from rulekit.names import printable
from rulekit.numbers import canonical_threshold, probability_of
from rulekit.schema import Feature

RESERVED = frozenset(
    (
        *("above", "all", "and", "any", "apart", "at", "clip", "column", "contains", "decide", "decided"),
        *("default", "difference", "else", "exceeds", "false", "fires", "from", "if", "in", "is", "label"),
        *("lacks", "largest", "least", "let", "logistic", "median", "missing", "most", "not", "odd"),
        *("odds", "of", "or", "override", "points", "preferring", "probability", "report", "require"),
        *("rule", "sided", "step", "strength", "sum", "then", "to", "together", "true", "unseen", "up"),
        *("when", "with"),
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


WHOLE = ("integer", "count", "date")


def grouped(parts: Sequence[Node | None], anywhere: bool) -> list[tuple[int, ...]]:
    """The places of the parts of a conjunction, a lower and an upper bound on one column together, the lower one first.

    parts: None for one that stands by itself. anywhere: bounds are joined wherever the two stand; otherwise only where
    the upper one follows at once and says the same of missing values, so that the text reads back as it was.
    """
    groups: dict[int, tuple[int, ...]] = {}
    single: dict[str, list[int]] = defaultdict(list)
    for place, part in enumerate(parts):
        groups[place] = (place,)
        if not isinstance(part, Compare):
            continue
        before = single[part.feature]
        for first in before if anywhere else before[-1:]:
            if pair := _lower_first(parts, first, place, anywhere):
                groups[first] = pair
                del groups[place]
                before.remove(first)
                break
        else:
            before.append(place)
    return list(groups.values())


def _lower_first(parts: Sequence[Node | None], first: int, second: int, anywhere: bool) -> tuple[int, int] | None:
    """Two places, that of the lower bound first, or None where the bounds leave no room or must stay apart."""
    one, other = parts[first], parts[second]
    assert isinstance(one, Compare)
    assert isinstance(other, Compare)
    lower, upper = (other, one) if one.op == "<=" else (one, other)
    if (lower.op, upper.op) != (">", "<=") or lower.value >= upper.value:
        return None
    if not anywhere and (lower is other or second != first + 1 or lower.missing != upper.missing):
        return None
    return (second, first) if lower is other else (first, second)


def lone_value(low: float, high: float, feature: Feature | None, rounded: bool) -> float | None:
    """The one whole number above `low` and up to `high` of a column of whole numbers or days, or None.

    rounded: whatever the bounds are; otherwise only where they are that number and what lies before it.
    """
    if feature is None or feature.kind != "numeric" or feature.display not in WHOLE or not low < high < math.inf:
        return None
    whole = float(math.floor(high))
    below = before(whole, feature)
    near = low == below if math.isinf(low) else math.floor(low) == whole - 1.0
    return whole if (low, high) == (below, whole) or (rounded and near) else None


def before(whole: float, feature: Feature) -> float:
    """The bound above which a whole number is the first of its column: nothing lies before 0 of a count."""
    return -math.inf if whole == 0.0 and feature.display == "count" else whole - 1.0


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
    if feature.dated:
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
    long = len(number(value).lstrip("-")) > MOST_DIGITS and not (feature is not None and feature.dated)
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
