"""What tables say of a rule, in numbers and in words: the one place from which every text has both.

The statistics of a graph are free JSON values, which a file may have brought: what is no such figure is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rulekit.graph.files.safe_files import count, number
from rulekit.graph.language.words import counted, percent, quoted
from rulekit.graph.model_parts import ModelParts
from rulekit.graph.rules import OVERRIDES, Rule, rules_of
from rulekit.names import printable

LARGEST_EXACT_INTEGER = 2**53
NORMAL_95 = 1.959963984540054
TABLES = {"train": "training", "held_out": "held out"}
TRAINING = TABLES["train"]
_BY_THEMSELVES = ("or", "sum", OVERRIDES)


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """What one table says of one rule.

    table: `training`, `held out` or another name. n: rows that the rule covers; coverage: their share of the table.
    share: of the covered rows, those of the class that the rule speaks for; None of no rows. low, high: the 95 %
    interval of that share. base_rate: the share of the class among all rows. word: what the covered rows of the class
    are: `right`, and the class itself of a term of a sum, which decides nothing by itself. weighted: the rows have
    weights, and the shares are of these.
    """

    table: str
    n: int
    coverage: float | None = None
    share: float | None = None
    low: float | None = None
    high: float | None = None
    base_rate: float | None = None
    word: str = "right"
    weighted: bool = False

    @property
    def lift(self) -> float | None:
        """How much more often the class is found where the rule holds than among all rows."""
        return self.share / self.base_rate if self.share is not None and self.base_rate else None

    def __str__(self) -> str:
        """`right 88.0 % of 75 rows, 79 to 94`; of weighted rows `right 88.0 % of the weight of 75 rows, 79 to 94`."""
        if self.share is None or self.low is None or self.high is None:
            return "holds on no row" if not self.n else f"holds on {counted(self.n, 'row')}"
        right = f"{self.word} {percent(self.share)} of {'the weight of ' * self.weighted}{counted(self.n, 'row')}"
        return f"{right}, {_bound(self.low)} to {_bound(self.high)}"


def interval(share: float, n: float, z: float = NORMAL_95) -> tuple[float, float]:
    """The interval of a share that was seen on n > 0 rows, by default of 95 %.

    Wilson (1927), Probable inference, the law of succession, and statistical inference, equation 8.
    """
    spread = z * math.sqrt(share * (1.0 - share) / n + z * z / (4.0 * n * n))
    middle, total = share + z * z / (2.0 * n), 1.0 + z * z / n
    low, high = (middle - spread) / total, (middle + spread) / total
    return 0.0 if share == 0.0 else max(0.0, low), 1.0 if share == 1.0 else min(1.0, high)


def rule_figures(graph: ModelParts) -> dict[tuple[int, str], tuple[RuleFigures, ...]]:
    """By class and id of each rule that decides or adds by itself what each table says of it, training rows first.

    A condition may be a rule of several classes, and have one id. A part that must hold beside others, as in an
    `all of`, decides nothing by itself and has no figures.
    """
    rules = {(rule.class_index, rule.id): rule for rule in rules_of(graph) if rule.connective in _BY_THEMSELVES}
    numbers = {str(label): k for k, label in enumerate(graph.classes)}
    found: dict[tuple[int, str], list[RuleFigures]] = {}
    for table, entries in _tables(graph.statistics):
        for entry in entries:
            for key in _keys(entry, numbers) if isinstance(entry, Mapping) else ():
                rule = rules.get(key)
                if rule is not None and (figures := _figures(table, entry, _word(rule, graph))) is not None:
                    found.setdefault(key, []).append(figures)
    return {key: tuple(figures) for key, figures in found.items()}


def _keys(entry: Mapping[str, Any], numbers: Mapping[str, int]) -> list[tuple[int, str]]:
    """The class and id of which an entry speaks; without a class of every one."""
    own = [numbers.get(str(entry["class"]), -1)] if "class" in entry else numbers.values()
    return [(k, str(entry.get("id"))) for k in own]


def worded(figures: Sequence[RuleFigures]) -> tuple[str, ...]:
    """A line for each table, called by its name unless there are the training rows alone."""
    alone = [f.table for f in figures] == [TRAINING]
    return tuple(str(f) if alone else f"{f.table}: {f}" for f in figures)


def base_rates(figures: Sequence[RuleFigures], what: str) -> str:
    """`"yes" is 22.4 % of the training rows, 23.1 % of the held-out rows`; "" where that is not known.

    figures: of any rule of the class that `what` names.
    """
    said = [
        f"{percent(f.base_rate)} of the {'weight of the ' * f.weighted}{_rows(f.table)}"
        for f in figures
        if f.base_rate is not None
    ]
    return f"{what} is {', '.join(said)}" if said else ""


def _rows(table: str) -> str:
    return f"{table.replace(' ', '-')} rows" if table in TABLES.values() else f"rows of {table}"


def _tables(statistics: Mapping[str, Any]) -> Iterator[tuple[str, Sequence[Any]]]:
    for title, block in {"train": statistics, **statistics}.items():
        entries = block.get("rules") if isinstance(block, Mapping) else None
        if isinstance(entries, list | tuple):
            yield TABLES.get(title, printable(title)), entries


def _word(rule: Rule, graph: ModelParts) -> str:
    return "right" if rule.connective in ("or", OVERRIDES) else speaks_for(graph, rule.class_index)


def speaks_for(graph: ModelParts, k: int) -> str:
    """The class of a rule: its label, or `above low` of ranks, where a rule says that the class is higher."""
    if graph.decision.ordered:
        return f"above {quoted(graph.classes[k - 1])}"
    return quoted(graph.classes[k])


def _figures(table: str, entry: Mapping[str, Any], word: str) -> RuleFigures | None:
    def upto(largest: float, key: str) -> float | None:
        value = number(entry.get(key))
        return value if value is not None and 0.0 <= value <= largest else None

    n = count(entry.get("n"))
    if n is None or n > LARGEST_EXACT_INTEGER:
        return None
    share, rows = upto(1.0, "precision"), max(1.0, upto(n, "effective_n") or n)
    low, high = interval(share, rows) if share is not None and n else (None, None)
    return RuleFigures(
        table, n, upto(1.0, "coverage"), share, low, high, upto(1.0, "base_rate"), word, "effective_n" in entry
    )


def _bound(share: float) -> str:
    """A bound of an interval in per cent, as many digits as it deserves."""
    hundredths = 100.0 * share
    if 0.0 < hundredths < 1.0 or 99.0 < hundredths < 100.0:
        return f"{hundredths:.1f}"
    return f"{hundredths:.0f}"


UNKNOWN = "–"
"""What stands where a number is not known."""


def rows_text(n: float) -> str:
    """`1,400`; of weights that are not whole one digit more."""
    return f"{n:,.0f}" if float(n).is_integer() else f"{n:,.1f}"


def share_text(share: float | None) -> str:
    """`12.3 %`."""
    return UNKNOWN if share is None else percent(share)


def interval_text(low: float | None, high: float | None, scale: float = 100.0, places: int = 1) -> str:
    """`8.1 to 17.9`; without an upper end `at least 0.40`."""
    if low is None:
        return UNKNOWN
    if high is None:
        return f"at least {scale * low:.{places}f}"
    return f"{scale * low:.{places}f} to {scale * high:.{places}f}"


def bounded_share(share: float | None, low: float | None, high: float | None) -> str:
    """`12.3 % (8.1 to 17.9)`."""
    return share_text(share) if low is None else f"{share_text(share)} ({interval_text(low, high)})"


def number_text(value: float | None, digits: int = 4) -> str:
    """At most so many digits, but whole numbers in full."""
    if value is None or math.isnan(value):
        return UNKNOWN
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def finite(value: float) -> float | None:
    """A number that JSON has; None for others."""
    return float(value) if math.isfinite(value) else None
