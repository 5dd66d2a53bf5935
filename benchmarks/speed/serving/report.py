"""What a part of the measurement says: a table of times, agreement of labels, and a verdict for each requirement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from benchmarks.shared.measuring import Spread
from benchmarks.shared.sections import markdown
from benchmarks.speed.serving.timing import Times

Bound = Literal["at most", "below", "at least"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """A requirement (at most, below or at least a limit) beside what was measured, or why it was not (`absent`)."""

    what: str
    bound: Bound
    limit: float
    measured: Spread | None = None
    unit: str = "times"
    absent: str = ""

    @property
    def met(self) -> bool:
        """Whether the median keeps the limit; what was not measured is not met."""
        if self.measured is None:
            return False
        value = self.measured.median
        if self.bound == "at least":
            return value >= self.limit
        return value < self.limit or (self.bound == "at most" and value == self.limit)

    def cells(self) -> tuple[str, str, str, str]:
        """The row of the table of verdicts."""
        required = f"{self.bound} {self.limit:,g} {self.unit}"
        if self.measured is None:
            return self.what, required, "-", self.absent or "not measured"
        return self.what, required, shown(self.measured), "met" if self.met else "NOT met"


@dataclass(frozen=True, slots=True)
class Agreement:
    """On how many of some rows two ways give different labels."""

    what: str
    rows: int
    differ: int

    def words(self) -> str:
        """One line."""
        return f"{self.what}: {self.differ:,} of {self.rows:,} rows differ"


@dataclass(slots=True)
class Part:
    """The outcome of one part: its title, what was measured in words, tables, verdicts, agreements and remarks."""

    title: str
    about: str = ""
    tables: list[list[str]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    agreements: list[Agreement] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    times: list[Times] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The part as it stands on the page."""
        found = [f"**{self.title}** {self.about}".rstrip(), ""]
        for table in self.tables:
            found += [*table, ""]
        found += [f"- {each.words()}" for each in self.agreements]
        found += [f"- {remark}" for remark in self.remarks]
        return found if found[-1] == "" else [*found, ""]


def verdict_table(parts: Sequence[Part]) -> list[str]:
    """All verdicts of all parts."""
    return markdown(
        ("what", "required", "measured", "verdict"), [each.cells() for part in parts for each in part.verdicts]
    )


def compare(
    times: Times, what: str, way: str, base: str, bound: Bound, limit: float, absent: Mapping[str, str]
) -> Verdict:
    """The verdict on the time a row of `way` over that of `base`; absent: why a way was not timed."""
    for name in (way, base):
        if name not in times:
            return Verdict(what, bound, limit, absent=absent.get(name, ""))
    return Verdict(what, bound, limit, times.ratio(way, base))


def faster(times: Times, what: str, ours: str, theirs: str, least: float, absent: Mapping[str, str]) -> Verdict:
    """The verdict on how many times faster ours is than theirs."""
    return compare(times, f"{what}: times faster", theirs, ours, "at least", least, absent)


def times_table(
    times: Times, names: Mapping[str, str], what: str, over: Sequence[str] = (), faster_than: Sequence[str] = ()
) -> list[str]:
    """Time a call or a row of each way, how many times that of some, and how many times faster than others."""
    rows = []
    for way in (way for way in names if way in times):
        cells = [shown(times.call(way))]
        if any(size > 1 for size in times.rows.values()):
            row = times.row(way)
            cells += [shown(row), f"{1e3 / row.median:.3g}"]
        cells += ["1" if way == base else shown(times.ratio(way, base)) for base in over if base in times]
        cells += ["1" if way == base else shown(times.ratio(base, way)) for base in faster_than if base in times]
        rows.append((names[way], *cells))
    header = [what, "us a call"]
    header += ["ns a row", "M rows/s"] if any(size > 1 for size in times.rows.values()) else []
    header += [f"times {names[base]}" for base in over if base in times]
    header += [f"times faster than {names[base]}" for base in faster_than if base in times]
    return markdown(header, rows)


def shown(found: Spread) -> str:
    """Median and quartiles with three digits: `1.23 (1.20-1.31)`; of one value the value."""
    if found.count == 1:
        return f"{found.median:,g}" if found.median < 1e6 else f"{found.median:,.0f}"
    return f"{_digits(found.median)} ({_digits(found.low)}-{_digits(found.high)})"


def _digits(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:#.3g}"
