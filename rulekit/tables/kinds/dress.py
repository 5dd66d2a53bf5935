"""Numbers and dates in dress: the form that would read the cells of a category, found from its levels."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from rulekit.schema import is_currency
from rulekit.tables.kinds.dates import DAYS, LONGEST, MONTHS, DateForm, date_forms, plain_text
from rulekit.tables.kinds.forms import COMPOUNDS, ROMAN, Form, NumberForm, OddForm, number_forms
from rulekit.tables.raw.columns import BLANKS, SECONDS_PER_DAY

_LIKELY_TOKENS = (
    *("na", "n/a", "n.a.", "<na>", "nan", "null", "nil", "none", "unknown", "tbd", "missing", "undefined", "(blank)"),
    "not available",
)
_ERRORS = (
    *("#n/a", "#null!", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#error!", "#spill!"),
    *(f"{sign}1.#{what}" for sign in ("", "-") for what in ("inf", "ind", "qnan", "snan")),
)
"""What spreadsheets write where a formula fails."""
_MISSING = frozenset((*_LIKELY_TOKENS, *_ERRORS))
NEARLY_ALL = 0.8
"""The share of the distinct cells that a form has to read."""
_SAMPLE = 400
_FEW, _SOME, _MANY = 3, 6, 20
_SOME_WORDS = 14
_FEW_BARE = 0.05
_TOKENS_SHOWN = 6
_NAMED = re.compile(r"(?:[^0]*[^\W\d_][ _.-]?0)+[^0]*|\W*0(?:[ .-]0){2,}\W*")
_ZEROS = re.compile(r"[ \t]*0(?!\d{3}(?:19|20)\d\d[ \t]*$)\d+[ \t]*", re.ASCII)  # 01051999 is a day
_HEXADECIMAL = re.compile(r"[$#&]?[0-9A-Fa-f]{2,8}h?")
_WORD = re.compile(r"[^\W\d_]+")
_CODE = re.compile(r"\b0\d|[A-Za-z]0\d")
_LONG = re.compile(r"[^\W\d_]{4}")
_PLAIN = re.compile(r"[ \t]*[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|nan)[ \t]*", re.ASCII | re.IGNORECASE)
# A cell that shows a form and no other, where none of a column does.
_MADE = {
    **{"dmy": "31/12/1999", "mdy": "12/31/1999", "y2md": "99-12-31", "digits": "19991231", "ymd": "1999-12-31"},
    **{"span": "1d 2h", "clock": "1:30", "months": "1y 2m", "inches": "5'11\"", "degrees": "1°2'"},
    "bytes": "1 GB 1 MB",
}


def may_mean_missing(level: str) -> bool:
    """Whether a text is blank, a common word for a missing value, or an error of a spreadsheet."""
    text = level.strip(BLANKS).lower()
    return not text.strip("-._?") or text in _MISSING


@dataclass(frozen=True, slots=True)
class Dress:
    """What reads the cells of a category as numbers or dates.

    kind: "" of numbers in no known form. cell: one of them. example: a cell that shows the form, "" where the cells are
    plain numbers. other: an example of another form that reads as many cells. unread: the levels that are no such
    cells. units: the units of the cells where they have several, which no form reads.
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


def dress_of(levels: Sequence[str], single: bool = False, wanted: bool = False) -> Dress | None:
    """The dress of more than 80 % of the levels that are no placeholders; None where they are no numbers or dates.

    single: every level stands in one row, as ids do. wanted: the cells have to be numbers, however few they are.
    """
    real = [level for level in levels if not may_mean_missing(level)]
    sample = [cell[: LONGEST + 1] for cell in real[:: max(1, len(real) // _SAMPLE)]]
    # Roman numerals, and not sizes or letters: with an I somewhere, and most of several signs
    roman = sum(len(cell) > 1 for cell in sample) > len(sample) / 2 and "I" in "".join(sample).upper()
    roman = roman and all(map(ROMAN.fullmatch, sample))
    if not sample or (sum(map(_has_digit, sample)) <= NEARLY_ALL * len(sample) and not roman):
        return None
    found = [*_as_numbers(sample, single, wanted), *_as_dates(sample)]
    found.sort(key=lambda item: item[0] == OddForm("fraction"))  # 8/2024 is a month
    if not found:
        return _in_several_units(sample) or _in_no_form(sample)
    best = max(found, key=lambda item: item[1])  # of equals the first, which is the simplest
    form = best[0]
    others = [other for other, share in found if share == best[1]]  # which give the cells another meaning
    read = _plain if form is None else form.reader()
    kind, rivals = "numeric", list[Form]()
    if isinstance(form, DateForm):
        timed = any((read(cell) or 0.0) % SECONDS_PER_DAY for cell in sample)
        kind = "datetime" if timed else "date"
        rivals = [other for other in others if isinstance(other, DateForm) and other != form]
    elif isinstance(form, NumberForm):
        numbers = [other for other in others if isinstance(other, NumberForm) and not other.thousands]
        rivals = [other for other in numbers if other.decimal == form.thousands]
    other = _example(rivals[0], sample) if rivals else ""
    unread = tuple(level for level in levels if level.strip() and read(level) is None)
    if len(unread) - len(levels) + len(real) >= (1.0 - NEARLY_ALL) * len(real) or not (form or unread):
        return None
    if isinstance(form, NumberForm) and form.suffix in ("%", "‰"):
        bare = sum(bool(_plain(cell)) for cell in sample)
        if _FEW_BARE * len(sample) < bare:
            return Dress("numeric", units=(form.suffix, "none"))
    cell = next((cell for cell in sample if _plain(cell) is None and read(cell) is not None), sample[0])
    return Dress(kind, cell, "" if form is None else _example(form, sample), other, unread)


def _has_digit(cell: str) -> bool:
    return any(map(str.isnumeric, cell))


def _plain(cell: str) -> float | None:
    """The number that a cell writes without a form, as every reader takes it."""
    return float(cell) if _PLAIN.fullmatch(cell) else None


def _reads(read: Callable[[str], float | None], cells: Sequence[str]) -> float:
    """The share of the cells that are read, 0 unless it is more than what counts as nearly all."""
    share = sum(read(cell) is not None for cell in cells) / len(cells)
    return share if share > NEARLY_ALL else 0.0


def _as_numbers(sample: Sequence[str], single: bool, wanted: bool) -> list[tuple[Form | None, float]]:
    """The forms of numbers that read nearly all cells, simple ones first, and how many; None for plain numbers."""
    forms = [form for cell in sample for form in number_forms(cell)]
    numbers = [form for form in forms if isinstance(form, NumberForm)]
    prefix = _main(form.prefix for form in numbers)
    suffix = _main(form.suffix for form in numbers)
    named = prefix and not is_currency(prefix) and not wanted
    code = rf"{re.escape(prefix or '')}\d" if (prefix or "")[-1:] != "." else "$^"  # R108 is a code, and No.108 none
    if named and (
        single
        or len(sample) < _MANY
        or _LONG.search(prefix or "")
        or any(re.match(code, cell) or _CODE.search(cell) for cell in sample)
    ):
        prefix = None
    if suffix and suffix not in ("%", "‰") and not is_currency(suffix) and len(sample) < _SOME and not wanted:
        suffix = None
    candidates: list[Form | None] = [None]
    if prefix is not None and suffix is not None and (wanted or len(sample) >= _FEW) and "=" not in prefix + suffix:
        scaled, bounds = any(form.scaled for form in numbers), any(form.bounds for form in numbers)
        marks = Counter((form.thousands, form.decimal, form.indian) for form in numbers)
        bare = NumberForm(prefix=prefix, suffix=suffix, scaled=scaled, bounds=bounds)
        ordered = sorted(marks, key=lambda mark: (mark[0] != "", mark[2], mark[1] != "."))
        candidates += [replace(bare, thousands=t, decimal=d, indian=i) for t, d, i in ordered]
        by_mark = Counter(form.thousands for form in numbers if form.thousands)
        marked = sum(bool(re.search(r"\d[.,]\d", cell)) for cell in sample)
        if marked and max(by_mark.values(), default=0) >= marked:
            # every mark may be one of thousands: then 1,234 is more likely a whole number than one with decimals
            candidates = sorted(candidates, key=lambda form: not (isinstance(form, NumberForm) and form.thousands))
    several = len({form.suffix for form in numbers}) > 1
    candidates += [OddForm(kind) for kind in ("clock", "base", "fraction", "roman") if OddForm(kind) in forms]
    candidates += [OddForm(kind) for kind in COMPOUNDS if several or OddForm(kind) in forms]
    found = [(form, _reads(_plain if form is None else form.reader(), sample)) for form in candidates]
    return [(form, share) for form, share in found if share]


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
    several = [unit for unit, count in units.most_common(3) if unit and count > _FEW_BARE * len(sample)]
    known = all(is_currency(unit) or (unit.isalpha() and len(unit) <= 3) or unit in "%‰" for unit in several)
    read = sum(count for unit, count in units.items() if unit in (*several, ""))
    known = known and not MONTHS.keys() & set(map(str.lower, several))
    if len(several) < 2 or not known or len(sample) < _MANY or read <= NEARLY_ALL * len(sample):
        return None
    return Dress("numeric", units=tuple(several))


def _in_no_form(sample: Sequence[str]) -> Dress | None:
    """Cells that hold numbers alike, in a form that is not known; no codes (R108), addresses or phone numbers."""
    words = {word.lower() for cell in sample for word in _WORD.findall(cell)}
    signs = {w: "¤" if w in MONTHS else "w" for w in words if w in MONTHS or _FEW < len(words) <= _SOME_WORDS}
    shapes = Counter[str]()  # the cell with 0 for each number, and a sign for the words of a few
    for cell in sample:
        shape = _WORD.sub(lambda word: signs.get(word[0].lower(), word[0]), cell.translate(DAYS))
        shapes[re.sub("0+", "0", "".join("0" if c.isnumeric() else c for c in shape))] += 1
    alike = sum(count for shape, count in shapes.most_common(_FEW) if not _NAMED.fullmatch(shape))
    hexadecimal = sum(map(bool, map(_HEXADECIMAL.fullmatch, sample)))
    hexadecimal *= sum(bool(re.search(r"\d[A-Fa-f]", cell)) for cell in sample) > _FEW_BARE * len(sample)
    known = len(sample) < _MANY or max(alike, hexadecimal) <= NEARLY_ALL * len(sample)
    return None if known else Dress("", sample[0])


def _example(form: Form, sample: Sequence[str]) -> str:
    """A cell that shows the form and no other, as short as can be; made up where the sample has none."""
    if isinstance(form, DateForm):
        shown = [cell for cell in sample if date_forms(cell) in ([form], [DateForm("named")])]
    else:
        shown = [cell for cell in sample if number_forms(cell) == [form]]
    shown = [cell for cell in shown if _plain(cell) is None] or shown
    kind = form.order if isinstance(form, DateForm) else "" if isinstance(form, NumberForm) else form.kind
    made = form.canonical if isinstance(form, NumberForm) else _MADE.get(kind, "")
    shortest = min(shown, key=lambda cell: (len(cell), cell), default=made)
    return shortest.strip() if isinstance(form, OddForm) else plain_text(shortest)


def option(flag: str, name: str, value: str) -> str:
    """An option of the command, ready to be pasted into a shell."""
    return f"{flag} {quoted_word(f'{name}={value}')}"


def quoted_word(text: str) -> str:
    """A word of a command, quoted where a shell would take it apart."""
    if "'" in text and not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return shlex.quote(text)


def zeros_note(name: str, cells: Iterable[str]) -> tuple[str, ...]:
    """What to do about numbers with leading zeros, as codes have; () where there are none."""
    code = next((cell.strip() for cell in cells if _ZEROS.fullmatch(cell)), "")
    keeps = f"{option('--type', name, 'categorical')} keeps such cells as codes"
    return (f"column {name!r} has leading zeros: {code!r} is read as {int(code)}; {keeps}",) if code else ()


def note_of(name: str, dress: Dress, counts: Sequence[int]) -> str:
    """What to do about a column in dress; counts: the rows of each unread level."""
    if not dress.kind:
        return (
            f"column {name!r} is a category of cells with numbers such as {dress.cell!r}, a form that is not known; "
            f"write plain numbers if their size counts, or --ignore {quoted_word(name)} if they only name rows"
        )
    if dress.units:
        return (
            f"column {name!r} is a category, though it holds numbers: in several units, "
            f"{', '.join(map(repr, dress.units))}; write them in one"
        )
    rows = sorted(zip(dress.unread, counts, strict=True), key=lambda item: (-item[1], item[0]))
    missing = [text for text, _ in rows if may_mean_missing(text) or not _has_digit(text)]
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
    how = " as quotients" if what == "numbers" and re.search(r"/ ?\d", dress.example) else ""
    note = f"column {name!r} is a category of {what} such as {dress.cell!r}; {' '.join(given)} reads them{how}"
    if dress.other:
        unsure = "day or month first?" if what == "dates" else "thousands or decimals?"
        note += f", or {option('--type', name, f'{dress.kind}:{dress.other}')}: {unsure}"
    return f"{note}; not read: {shown}" if rows else note
