"""Numbers and dates in dress: the form that would read the cells of a category, found from its levels."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rulekit.tables.kinds.choice import may_mean_missing
from rulekit.tables.kinds.forms import (
    CURRENCIES,
    DAY,
    DateForm,
    Form,
    NumberForm,
    OddForm,
    date_forms,
    number_forms,
    plain_text,
)

NEARLY_ALL = 0.8
"""The share of the distinct cells that a form has to read."""
_SAMPLE = 400
_FEW, _SOME, _MANY = 3, 6, 20
_TOKENS_SHOWN = 6
_DIGIT = re.compile(r"\d")
_CODE = re.compile(r"\b0\d|[A-Za-z]0\d")
_LONG = re.compile(r"[^\W\d_]{4}")
_PLAIN = re.compile(r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|nan)[ \t]*", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Dress:
    """What reads the cells of a category as numbers or dates.

    cell: one of them. example: a cell that shows the form, "" where the cells are plain numbers. other: an example of
    another form that reads as many cells. unread: the levels that are no such cells. units: several units among the
    cells, where those are what stands in the way.
    """

    kind: str
    cell: str = ""
    example: str = ""
    other: str = ""
    unread: tuple[str, ...] = ()
    units: tuple[str, ...] = ()

    @property
    def declared(self) -> str:
        """The kind as it is declared."""
        return f"{self.kind}:{self.example}" if self.example else self.kind


def dress_of(levels: Sequence[str], single: bool = False) -> Dress | None:
    """The dress of more than 80 % of the levels that are no placeholders; None where they are no numbers or dates.

    single: every level stands in one row, as ids do.
    """
    real = [level for level in levels if not may_mean_missing(level)]
    sample = real[:: max(1, len(real) // _SAMPLE)]
    if not sample or sum(bool(_DIGIT.search(cell)) for cell in sample) <= NEARLY_ALL * len(sample):
        return None
    found = [*_as_numbers(sample, single), *_as_dates(sample)]
    found.sort(key=lambda item: item[0] == OddForm("fraction"))  # 8/2024 is a month
    if not found:
        return _in_several_units(sample)
    best = max(found, key=lambda item: item[1])  # of equals the first, which is the simplest
    form = best[0]
    others = [other for other, share in found if share == best[1] and _is_rival(form, other)]
    read = _plain if form is None else form.reader()
    if isinstance(form, DateForm):
        timed = any((read(cell) or 0.0) % DAY for cell in sample)
        kind = "datetime" if timed else "date"
    else:
        kind = "numeric"
    other = next((_example(rival, sample) for rival in others if rival is not None), "")
    unread = tuple(level for level in levels if level.strip() and read(level) is None)
    if len(unread) - len(levels) + len(real) >= (1.0 - NEARLY_ALL) * len(real):
        return None
    cell = next((cell for cell in sample if _plain(cell) is None and read(cell) is not None), sample[0])
    return Dress(kind, cell, "" if form is None else _example(form, sample), other, unread)


def _is_rival(form: Form | None, other: Form | None) -> bool:
    """Whether another form gives cells another meaning: of day and month, or of a mark."""
    if isinstance(form, DateForm) and isinstance(other, DateForm):
        return form != other
    if isinstance(form, NumberForm) and isinstance(other, NumberForm):
        return form.thousands == other.decimal and not other.thousands
    return False


def _plain(cell: str) -> float | None:
    """The number that a cell writes without a form, as every reader takes it."""
    return float(cell) if _PLAIN.fullmatch(cell) else None


def _reads(read: Callable[[str], float | None], cells: Sequence[str]) -> float:
    """The share of the cells that are read, 0 unless it is more than what counts as nearly all."""
    share = sum(read(cell) is not None for cell in cells) / len(cells)
    return share if share > NEARLY_ALL else 0.0


def _as_numbers(sample: Sequence[str], single: bool) -> list[tuple[Form | None, float]]:
    """The forms of numbers that read nearly all cells, simple ones first, and how many; None for plain numbers."""
    forms = [form for cell in sample for form in number_forms(cell)]
    numbers = [form for form in forms if isinstance(form, NumberForm)]
    prefix = _main(form.prefix for form in numbers)
    suffix = _main(form.suffix for form in numbers)
    named = prefix and prefix not in CURRENCIES
    joined = named and any(re.match(rf"{re.escape(prefix or '')}\d", cell) for cell in sample)  # R108 is a code
    if named and (
        joined or single or len(sample) < _MANY or _LONG.search(prefix or "") or any(map(_CODE.search, sample))
    ):
        prefix = None
    if suffix and suffix not in (*CURRENCIES, "%", "‰") and len(sample) < _SOME:
        suffix = None
    candidates: list[Form | None] = [None]
    if prefix is not None and suffix is not None and len(sample) >= _FEW and "=" not in prefix + suffix:
        scaled, bounds = any(form.scaled for form in numbers), any(form.bounds for form in numbers)
        marks = Counter((form.thousands, form.decimal, form.indian) for form in numbers)
        bare = NumberForm(prefix=prefix, suffix=suffix, scaled=scaled, bounds=bounds)
        ordered = sorted(marks, key=lambda mark: (mark[0] != "", mark[2], mark[1] != "."))
        candidates += [replace(bare, thousands=t, decimal=d, indian=i) for t, d, i in ordered]
        if _all_in_thousands(sample, numbers):
            candidates = sorted(candidates, key=lambda form: not (isinstance(form, NumberForm) and form.thousands))
    candidates += [OddForm(kind) for kind in ("clock", "hex") if OddForm(kind) in forms]
    if OddForm("span") in forms or len({form.suffix for form in numbers}) > 1:
        candidates.append(OddForm("span"))
    candidates += [OddForm("fraction")] if OddForm("fraction") in forms else []
    found = [(form, _reads(_plain if form is None else form.reader(), sample)) for form in candidates]
    return [(form, share) for form, share in found if share]


def _all_in_thousands(sample: Sequence[str], numbers: Sequence[NumberForm]) -> bool:
    """Whether every mark may be one of thousands: then 1,234 is more likely a whole number than one with decimals."""
    marked = sum(bool(re.search(r"\d[.,]\d", cell)) for cell in sample)
    by_mark = Counter(form.thousands for form in numbers if form.thousands)
    return bool(marked) and max(by_mark.values(), default=0) >= marked


def _main(affixes: object) -> str | None:
    """The text that stands before, or behind, more numbers than any other does; None where several do."""
    counts = Counter(affix for affix in affixes if affix)  # type: ignore[attr-defined]
    if not counts:
        return ""
    (first, most), *_ = counts.most_common(1)
    alike = sum(count for affix, count in counts.items() if affix.lower() == first.lower())
    return first if max(most, alike) > NEARLY_ALL * counts.total() else None


def _as_dates(sample: Sequence[str]) -> list[tuple[Form | None, float]]:
    counts = Counter(form for cell in sample for form in date_forms(cell))
    found = [(form, _reads(form.reader(), sample)) for form in counts]
    order = [DateForm(name) for name in ("ymd", "named", "dmy", "mdy", "y2md", "week", "months", "digits")]
    return sorted(((f, share) for f, share in found if share), key=lambda item: order.index(item[0]))  # type: ignore[arg-type]


def _in_several_units(sample: Sequence[str]) -> Dress | None:
    units = Counter(
        form.prefix or form.suffix for cell in sample for form in number_forms(cell)[:1] if isinstance(form, NumberForm)
    )
    several = [unit for unit, count in units.most_common(3) if unit and count > 0.05 * len(sample)]
    known = all(unit in CURRENCIES or (unit.isalpha() and len(unit) <= 3) or unit in "%‰" for unit in several)
    read = sum(count for unit, count in units.items() if unit in (*several, ""))
    if len(several) < 2 or not known or len(sample) < _MANY or read <= NEARLY_ALL * len(sample):
        return None
    return Dress("numeric", units=tuple(several))


def _example(form: Form, sample: Sequence[str]) -> str:
    """A cell that shows the form and no other, as short as can be; made up where the sample has none."""
    if isinstance(form, DateForm):
        shown = [cell for cell in sample if date_forms(cell) in ([form], [DateForm("named")])]
        made = {"dmy": "31/12/1999", "mdy": "12/31/1999", "y2md": "99-12-31", "digits": "19991231", "ymd": "1999-12-31"}
        sole = made.get(form.order, "")
    else:
        shown = [cell for cell in sample if number_forms(cell) == [form]]
        sole = form.canonical if isinstance(form, NumberForm) else {"span": "1d 2h", "clock": "1:30"}.get(form.kind, "")
    shown = [cell for cell in shown if _plain(cell) is None] or shown
    return plain_text(min(shown, key=lambda cell: (len(cell), cell), default=sole))


def option(flag: str, name: str, value: str) -> str:
    """An option of the command, ready to be pasted into a shell."""
    return f"{flag} {quoted_word(f'{name}={value}')}"


def quoted_word(text: str) -> str:
    """A word of a command, quoted where a shell would take it apart."""
    if "'" in text and not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return shlex.quote(text)


def note_of(name: str, dress: Dress, counts: Sequence[int]) -> str:
    """What to do about a column in dress; counts: the rows of each unread level."""
    if dress.units:
        return (
            f"column {name!r} is a category, though it holds numbers: in several units, "
            f"{', '.join(map(repr, dress.units))}; write them in one"
        )
    rows = sorted(zip(dress.unread, counts, strict=True), key=lambda item: (-item[1], item[0]))
    missing = [text for text, _ in rows if may_mean_missing(text) or not _DIGIT.search(text)]
    given = [option("--type", name, dress.declared)] if dress.example else []
    given += [option("--missing", name, text) for text in missing[:_TOKENS_SHOWN]]
    shown = ", ".join(f"{text!r} ({count})" for text, count in rows[:_TOKENS_SHOWN])
    shown += ", ..." * (len(rows) > _TOKENS_SHOWN)
    left = len(rows) - len(missing[:_TOKENS_SHOWN])
    mend = "; mend the other cells that are none" if left else ""
    if not dress.example:
        what = f"column {name!r} is categorical because {sum(counts)} of its cells are no numbers: {shown}"
        return f"{what}; if they mean missing, {' '.join(given)}{mend}" if given else f"{what}{mend}"
    what = "dates" if dress.kind in ("date", "datetime") else "numbers"
    note = f"column {name!r} is a category of {what} such as {dress.cell!r}; {' '.join(given)} reads them"
    if dress.other:
        unsure = "day or month first?" if what == "dates" else "thousands or decimals?"
        note += f", or {option('--type', name, f'{dress.kind}:{dress.other}')}: {unsure}"
    return f"{note}; not read: {shown}" if rows else note
