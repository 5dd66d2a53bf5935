"""Numbers and dates as people and programs write them: read right, or a note prints the option that does."""

from __future__ import annotations

import csv
import datetime
import random
import re
import shlex
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.names import wrapped
from rulekit.schema import Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.kinds.forms import form_of
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable, label_for_model
from rulekit.tables.options import ReadingOptions
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import read_table
from rulekit.work.scoring import score
from rulekit.work.training import TrainingRequest, train

ROWS = 240
WORST = 0.06
FIRST = datetime.datetime(2019, 1, 1)


def grouped(value: float, mark: str, decimal: str, places: int = 2) -> str:
    whole, _, part = f"{value:.{places}f}".partition(".")
    return f"{int(whole):,}".replace(",", mark) + (decimal + part if part else "")


def indian(value: float) -> str:
    whole = str(int(value * 1000))
    head, tail = whole[:-3], whole[-3:]
    pairs = [head[max(0, i - 2) : i] for i in range(len(head), 0, -2)][::-1]
    return ",".join(pair for pair in (*pairs, tail) if pair)


def roman(value: float) -> str:
    text, signs = "", ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
    for size, sign in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), signs, strict=True):
        times, value = divmod(int(value), size)
        text += sign * times
    return text


def now_and_then(often: str, *others: str) -> Callable[[float], str]:
    """Numbers, and now and then another cell."""
    return lambda v: random.choice(others) if random.random() < 0.02 else often.format(v)


def day(form: str) -> Callable[[float], str]:
    return lambda v: (FIRST + datetime.timedelta(minutes=int(v * 1000))).strftime(form)


def cell(form: str) -> Callable[[float], str]:
    """Cells of v and what it lacks to 3000 (n), of v as a whole number (i), in parts of it, and divided with rest."""

    def written(v: float) -> str:
        i = int(v)
        halves = {f"{sign}{by}": found for by in (7, 12, 16, 24, 60) for sign, found in zip("qr", divmod(i, by))}  # noqa: B905
        return form.format(v=v, n=3000 - v, i=i, k=v / 1000, p=v / 30, **halves)

    return written


MARKS = [(".", ","), (",", "."), (" ", ","), ("\u00a0", ","), ("\u202f", ","), ("\u2009", "."), ("'", "."), ("’", ".")]
FORMS = (
    *('="{v:.1f}"', "{i:_}", "-${n:.2f}", "{v:.2f} USD", "{v:.0f} kr", "{p:.1f}%", "{v:.1f} ‰", " {p:.1f} % "),
    *("{v:.0f} kg", "{v:.1f}km", "{v:.0f} m²", "A${v:.0f}", "Rs. {v:.0f}/-", "No.{v:.0f}", "[{v:.0f}]", "={v:.0f}"),
    *("{k:.3f}e3 m", "{k:.4f}x10^3", "{k:.4f}×10³", "{n:.0f}-", "−{n:.1f}", "‑{n:.0f}", "minus {n:.0f}"),
    *("neg. {n:.0f}", "plus {v:.0f}", "~{v:.0f}", "approximately {v:.0f}", "more than {v:.0f}", "{v:.1f}/4"),
    *("{i:#x}", "{i:#o}", "\u200e{v:.0f}\ufeff", "{q60}:{r60:02}", "{q60:02}:{r60:02}:30", "{q60}h{r60:02}"),
    *("PT{q60}H{r60}M", "{q60}°{r60:02}′", "{q60} hours and {r60} minutes", "{q24}d {r24}h"),
    *("{q12}'{r12}\"", "{q12} ft {r12} in", "{q12}yrs {r12}mon", "{q7} weeks {r7} days", "{q16} lb {r16} oz"),
)
NUMBERS: dict[str, Callable[[float], str]] = {
    **{f"grouped {mark}{decimal}": lambda v, m=mark, d=decimal: grouped(v, m, d) for mark, decimal in MARKS},
    **{f"whole, grouped {mark}": lambda v, m=mark: grouped(v, m, "", 0) for mark in ",."},
    "decimal comma": lambda v: f"{v:.1f}".replace(".", ","),
    "quotes left inside": lambda v: f'"{v:.1f}"'.replace(".", ","),
    **{form: cell(form) for form in FORMS},
    "lakhs": indian,
    "dollars": lambda v: "$" + grouped(v, ",", "."),
    "euros": lambda v: grouped(v, ".", ",") + " €",
    "francs": lambda v: "CHF " + grouped(v, "'", "."),
    "zloty": lambda v: grouped(v, " ", ",") + " zł",
    "a power, decimal comma": lambda v: f"{v / 1000:.4f}E3".replace(".", ","),
    "parentheses": lambda v: f"({3000 - v:.0f})" if v < 2990 else f"{v:.0f}",
    "digits of full width": lambda v: "".join(chr(0xFF10 + int(c)) for c in f"{v:.0f}"),
    "digits of Arabic": lambda v: f"{v:.1f}".replace(".", "٫").translate({48 + i: 0x660 + i for i in range(10)}),
    "thousands as K": lambda v: f"{v / 1000:.2f}K" if v > 1000 else f"{v:.0f}",
    "K and M": lambda v: f"{v / 500:.2f}M" if v > 500 else f"{v * 2:.0f}K",
    "errors of a spreadsheet": now_and_then("{:.1f}", "#DIV/0!", "#N/A", "#VALUE!"),
    "C's infinity": now_and_then("{:.1f}", "1.#INF", "-1.#IND"),
    "words for missing": now_and_then("{:.1f}", "n/a", "unknown", "-", "NULL", "?", "."),
    "units and words for missing": now_and_then("{:.0f} kg", "n/a", "-"),
    "bounds": lambda v: "<200" if v < 200 else ">2800" if v > 2800 else f"{v:.0f}",
    "minutes or hours": lambda v: f"{v:.0f} min" if v < 600 else f"{v / 60:.2f} h",
    "milliseconds or seconds": lambda v: f"{v:.0f}ms" if v < 600 else f"{v / 1000:.3f}s",
    "bytes": lambda v: f"{v:.0f} MB" if v < 600 else f"{v / 1000:.3f} GB",
    "KiB and MiB": lambda v: f"{v:.0f} KiB" if v < 600 else f"{v / 1024:.4f} MiB",
    "no cents": lambda v: f"{v:.0f}.-" if int(v) % 2 else f"{v:.2f}",
    "half a day": lambda v: (
        f"{int(v / 60) % 12 or 12}:{int(v) % 60:02d}:00 {'AM' if v < 720 else 'PM'}" if v < 1440 else "11:59 PM"
    ),
    "hours of the day": lambda v: f"{int(v / 130) % 12 or 12}{'am' if v < 1560 else 'pm'}",
    "fractions": lambda v: f"{int(v)} {int(v * 8) % 8}/8",
    "signs of fractions": lambda v: f"{int(v)} {'⅛¼½¾'[int(v * 4) % 4]}",
    "one year, two years": lambda v: f"{v / 100:.0f} year{'s' * (f'{v / 100:.0f}' != '1')}",
    "Fortran": lambda v: f"{v:.4e}".replace("e", "D"),
    "footnotes": lambda v: f"{v:.1f}{random.choice(['', '*', '**', '†'])}",
    "Roman numerals": lambda v: roman(max(v, 1.0)),
}
DATES = """%d-%b-%y | %d/%m/%Y | %m/%d/%Y | %d.%m.%Y | %d.%m.%y | %Y/%m/%d | %b %d, %Y | %d %B %Y | %a %b %d %H:%M:%S %Y
%Y%m%dT%H%M%S | %d de %B de %Y | %A, %d %B %Y | %G-W%V-%u | %Y%m%d | %b-%y | %m/%Y | %d/%m/%Y %H:%M | %m/%d/%y %I:%M %p
%m/%y | KW %V/%G | %Y年%m月%d日 | %d%m%Y | %m%d%Y | %H:%M:%S %d/%m/%Y | %d.%m.%Y %H:%M Uhr | %d/%b/%Y:%H:%M:%S +0000
%Y-%j | %d. %m. %Y | %Y:%m:%d %H:%M:%S | %Y_%m_%d | %Y-%m-%d-%H-%M-%S | %Y-%m-%dT%H:%M:%S.123456789"""
CASES = NUMBERS | {form: day(form) for form in re.split(r" \| |\n", DATES)}


def write(path: Path, written: Callable[[float], str], delimiter: str = ",") -> None:
    """A table whose label is whether v is large, but for 3 % of the rows."""
    random.seed(5)
    with path.open("w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, delimiter=delimiter)
        lines.writerow(["v", "w", "k", "y"])
        for _ in range(ROWS):
            value = random.lognormvariate(6.8, 0.8)
            value = min(value, 2995.0)
            label = (value > 900) != (random.random() < 0.03)
            lines.writerow([written(value), random.randint(1, 9), random.choice(["a", "b"]), "yes" if label else "no"])


def pasted(note: str) -> ReadingOptions:
    """The options that a note prints, as a shell would take them; of two forms the first."""
    given = re.search(r"--(?:type|missing).*?(?= reads them|$)", note.partition(" or --")[0])
    words = shlex.split(given.group()) if given else []
    found = [word.partition("=") for flag, word in pairwise(words) if flag == "--type"]
    missing = [word for flag, word in pairwise(words) if flag == "--missing"]
    return ReadingOptions(target="y", types={name: kind for name, _, kind in found}, missing=missing)


def error(rows: LabelledTable) -> float:
    """Of the best threshold of v, where it has a value."""
    at = rows.table.names.index("v")
    values = rows.table.arrays[at]
    if rows.table.features[at].kind != "numeric" or np.mean(np.isnan(values)) > 0.1:
        return 1.0
    values, yes = values[~np.isnan(values)], rows.y[~np.isnan(values)] == rows.classes.index("yes")
    return min(float(np.mean((values > cut) != yes)) for cut in values)


def said(rows: LabelledTable) -> list[str]:
    """The notes on v that name an option."""
    return [note for note in rows.table.notes if "'v'" in note and ("--type" in note or "--missing" in note)]


FILES = [(name, ",") for name in CASES] + [(name, ";") for name in list(CASES)[:12]]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("name", "delimiter"), FILES)
def test_it_is_read_right_or_a_note_names_what_reads_it(name: str, delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    write(path, CASES[name], delimiter)
    plain = read_labelled(path, ReadingOptions(target="y"))
    notes = said(plain)
    if not notes:
        assert error(plain) < WORST
        return
    options = pasted(notes[0])
    read = read_labelled(path, options)
    assert error(read) < WORST, notes
    assert not [note for note in read.table.notes if "'v'" in note and "float64" not in note]
    again = read_table(path, schema=read.schema)
    assert np.array_equal(again.array("v"), read.table.array("v"), equal_nan=True)


def test_only_files_are_read_in_a_form(tmp_path: Path) -> None:
    """A mapping of cells is refused by the graph, as every artifact refuses it; numbers stay what they are."""
    path = tmp_path / "data.csv"
    path.write_text("v,y\n550 kg,a\n12 kg,b\n7,a\n")
    table = read_table(path, ReadingOptions(types={"v": "numeric:550 kg"}, ignore=["y"]))
    schema = Schema(table.features)
    assert (table.features[0].form, table.features[0].unit, table.array("v").tolist()) == ("550 kg", "kg", [550, 12, 7])
    with pytest.raises(InputError, match="data row 1, column 'v': '550 kg' is not a number"):
        encode(raw_table({"v": ["550 kg"]}), schema)
    assert encode(raw_table({"v": [550, 1.5]}), schema).array("v").tolist() == [550, 1.5]
    path.write_text("v\n550 kg\n5 lb\n")
    with pytest.raises(InputError, match="data row 2, column 'v': '5 lb' is not a number written like 550 kg"):
        read_table(path, schema=schema)


@pytest.mark.parametrize(
    ("kind", "example", "cells"),
    [
        ("numeric", "1.234,5", {"550": 550, "2.331": 2331, "1.234.567,25": 1234567.25, "2.33": None, "1.5": None}),
        ("numeric", "1,234.5", {"2,331": 2331, "-$5": None, "(7)": -7, "7-": -7, "12,34": None, "": None, "kg": None}),
        ("numeric", "12,34,567.8", {"1,23,456": 123456, "123456": 123456}),
        ("numeric", "$1.5", {"-$5": -5, "$-5": -5, "($5.25)": -5.25, "5 $": None, "$": None, "$$5": None}),
        ("numeric", "1.5K", {"1.1K": 1100, "2M": 2e6, "3bn": 3e9, "7": 7}),
        ("numeric", "0x1F", {"0xff": 255, "ff": None}),
        ("numeric", "1:30", {"0:45": 2700, "1:30:15": 5415, "1:75": None}),
        ("numeric", "2d 3h", {"1h": 3600, "90 min": 5400, "1d 1s": 86401, "1 x": None}),
        ("date", "31/12/99", {"08/09/2024": 19974, "2024-09-08": 19974, "31/02/2024": None, "1 Jan 1970": 0}),
        ("date", "12/31/99", {"09/08/2024": 19974, "13/08/2024": None}),
        ("date", "1999-W52-5", {"1970-W01-4": 0, "1970-W60-1": None}),
        ("datetime", "31/12/1999 23:59", {"01.01.1970 00:01": 60, "01/01/1970 12:00 AM": 0, "1.1.1970 1:00+01:00": 0}),
    ],
)
def test_a_form_reads_its_own_cells_and_no_others(kind: str, example: str, cells: dict[str, float | None]) -> None:
    form = form_of(kind, example)
    days = 86400.0 if kind == "date" else 1.0
    found = {cell: form.reader()(cell) for cell in cells}
    assert {cell: value if value is None else value / days for cell, value in found.items()} == cells


def test_no_cell_takes_long() -> None:
    """Runs of blanks took the number of their parts to the fourth power."""
    cells = ["+" + " " * 70 + "x" + "1" * i for i in range(8)] + [f"{i}{' ' * 60}e{' ' * 16}z" for i in range(9)]
    cells += ["1," * 39, "1m" * 39 + "?", "-/.," * 19, "1 " * 39, " " * 79 + "$"]
    begun = time.monotonic()
    for kind, example in (
        ("numeric", "<$1.234.567,5K"),
        ("numeric", "2d 3h"),
        ("datetime", "Friday, 31 Dec 1999 10:00"),
    ):
        read = form_of(kind, example).reader()
        assert [read(cell) for cell in 20 * cells] == [None] * 20 * len(cells)
    assert time.monotonic() - begun < 1.0


@pytest.mark.parametrize(
    "cells",
    [
        [f"A{i}" for i in range(11, 20)],
        [f"C{i:05}" for i in range(200)],
        [f"R{i}" for i in range(300)] * 2,
        [f"client {i}" for i in range(40)] * 2,
        ["10-20", "20-30", "30-40", "40-50"],
        [f"192.168.0.{i}" for i in range(60)],
        [f"+49 170 {i}" for i in range(1234567, 1234600)],
        ["red", "green", "3"],
        [f"a{i} b{i}" for i in range(40)],
        ["M", "L", "XL", "S"] * 9,
        ["C", "D", "M"] * 12,
    ],
)
def test_codes_names_and_addresses_are_no_numbers_in_dress(cells: list[str]) -> None:
    assert not [note for note in infer({"v": cells}).notes if "category of" in note]


NO_FORM = ["{} of 100", "{}:1", "{}x3", "{} ± 2", "{} (5%)", "np.float64({}.5)", "#{}", "{}|3", "{}²", "({}, 3, 4)"]
UNKNOWN = "a form that is not known; write plain numbers"


@pytest.mark.parametrize(
    ("cells", "note"),
    [
        *(([form.format(i) for i in range(60)] * 2, f"such as {form.format(0)!r}, {UNKNOWN}") for form in NO_FORM),
        ([f"{i % 28 + 1} {month} 2024" for i in range(60) for month in ("stycznia", "lutego", "marca")], UNKNOWN),
        ([f"{i % 28 + 1} {month}" for i in range(28) for month in ("Jan", "Feb")], UNKNOWN),
        ([f"{i % 28 + 1}.{month}.2024" for i in range(28) for month in ("I", "II", "III", "IV")], UNKNOWN),
        ([f"令和4年{month}月{day}日" for month in range(1, 13) for day in (1, 7)], UNKNOWN),
        (["".join("零一二三四五六七八九"[int(c)] for c in str(i)) for i in range(111, 199)], UNKNOWN),
        ([f"${i:04X}" for i in range(160, 700, 3)], UNKNOWN),
        ([f"{i} {'kg' if i % 2 else 'lb'}" for i in range(60)], "in several units, 'lb', 'kg'"),
        ([f"{i}%" if i % 2 else f"{i / 100}" for i in range(60)], "in several units, '%', 'none'"),
    ],
)
def test_numbers_and_dates_that_no_form_reads_are_named(cells: list[str], note: str) -> None:
    assert note in infer({"v": cells}).notes[0]


def test_weights_groups_and_times_are_read_by_their_form(tmp_path: Path) -> None:
    """A weight in dress was refused, with or without its form."""
    path = tmp_path / "t.csv"
    path.write_text(
        "v,w,g,t,y\n" + "".join(f"{i},{i % 3 + 1}kg,No. {i % 4},{i + 1:02}-Jan-99,{i % 2}\n" for i in range(20))
    )
    for column, asked in (("w", {"weight": "w"}), ("t", {"time": "t"})):
        with pytest.raises(InputError, match=rf"column '{column}'.*--type {column}=\S+") as refused:
            read_labelled(path, ReadingOptions("y", **asked))  # type: ignore[arg-type]
        types = {column: re.search(r"--type \w=([^ ,]+)", str(refused.value))[1]}  # type: ignore[index]
        table = read_labelled(path, ReadingOptions("y", types=types, **asked))  # type: ignore[arg-type]
        read = table.weight if column == "w" else table.time
        assert read is not None
        assert read[:4].tolist() == ([1.0, 2.0, 3.0, 1.0] if column == "w" else [10592.0, 10593.0, 10594.0, 10595.0])
        options = ReadingOptions("y", **asked).over(ReadingOptions(types=types))
        again = label_for_model(path, table.schema, table.classes, options)
        assert np.array_equal(read, again.weight if column == "w" else again.time)  # type: ignore[arg-type]
    group = read_labelled(path, ReadingOptions("y", group="g", types={"g": "numeric:No.5"})).group
    assert group is not None
    assert group[:5].tolist() == [0, 1, 2, 3, 0]


@pytest.mark.parametrize(
    "learner", ["additive", *(pytest.param(name, marks=pytest.mark.long) for name in ("ltu-tree", "cnll"))]
)
def test_codes_in_a_column_of_their_own_are_told_apart(tmp_path: Path, learner: str) -> None:
    """As docs/command.md has it: -9999 is yes, -8888 is no, and the numbers count beside them.

    A further column tells the rows apart: folds hold equal rows together, and one fold would have all rows of a code.
    """
    draw, path = random.Random(1), tmp_path / "t.csv"
    cells = [(v, "", "yes" if v > 50 else "no") for v in draw.choices(range(100), k=280)]
    cells += 60 * [("", -9999, "yes"), ("", -8888, "no")]
    path.write_text("d,d_code,x,y\n" + "".join(f"{d},{code},{draw.random():.3f},{y}\n" for d, code, y in cells))
    reading = ReadingOptions("y", types={"d_code": "categorical"})
    made = train(TrainingRequest(path, reading, learner=learner, output=tmp_path / "m.json"))
    assert made.figures.accuracy > 0.99


def test_groups_that_differ_in_case_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("v,g,y\n1,A,a\n2,a,b\n3,B,a\n4,B,b\n")
    note = "groups that differ only in case or blanks stay apart: 'A' and 'a'; write them alike"
    assert note in read_labelled(path, ReadingOptions("y", group="g")).notes


def test_leading_zeros_are_named(tmp_path: Path) -> None:
    """Zip codes and ids lost them without a word."""
    note = "column 'zip' has leading zeros: '02139' is read as 2139; --type zip=categorical keeps such cells as codes"
    path = tmp_path / "t.csv"
    path.write_text("zip,y\n10001,a\n02139,b\n0,a\n")
    assert note in infer({"zip": ["10001", "02139", "0"]}).notes
    assert note in read_table(path).notes
    read = read_table(path, ReadingOptions(types={"zip": "categorical"}))
    assert read.features[0].levels == ("0", "02139", "10001")
    assert not read.notes
    assert not infer({"v": ["0.5", "0", "10", "-0"]}).notes


@pytest.mark.parametrize(
    ("values", "note"),
    [
        ([-9999, -9999, -8888, -8888, *range(30)], "2 cells -9999 and 2 cells -8888; if they mean missing, --missing"),
        ([999, 998, 999, 998, *range(30)], "2 cells 998 and 2 cells 999"),
        ([-1, -1, -2, -2, *range(30)], "2 cells -2 and 2 cells -1"),
        ([-9999, -9999, 0.25, 0.5], "2 cells -9999"),
        ([550, 2.331, 1.117, 640, 90], "are their marks of thousands?"),
        ([20240501 + i for i in range(20)] * 2, "dates as digits"),
        ([float("inf"), 1.5, 2.5, float("inf")], "2 cells inf"),
        (random.Random(1).sample(range(100, 400), 200), "ids or row numbers"),
        ([-1, 0, 1, 2] * 9, ""),
        ([98.0, 99.0, *range(60, 97)] * 2, ""),
        ([0.627, 0.351, 2.288, 1.191, 100.0], ""),
        ([random.Random(2).randrange(10**6) for _ in range(200)], ""),
    ],
)
def test_what_numbers_look_like(values: list[float], note: str) -> None:
    notes = [found for found in infer({"v": values}).notes if "float" not in found]
    assert len(notes) == bool(note)
    assert note in "".join(notes)


def test_a_terminal_breaks_no_option_apart() -> None:
    note = (
        "column 'v' is a category of numbers such as '1.022,69 €'; --type 'v=numeric:1.022,69 €' --missing v=n/a reads"
    )
    assert wrapped(f"note: {note} them", 80, "  ") == [
        "note: column 'v' is a category of numbers such as '1.022,69 €';",
        "  --type 'v=numeric:1.022,69 €' --missing v=n/a reads them",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_model_of_the_pasted_option_errs_seldom(name: str, tmp_path: Path) -> None:
    """From the file to the model and back to the file, by what the note says."""
    path = tmp_path / "data.csv"
    write(path, CASES[name])
    notes = said(read_labelled(path, ReadingOptions(target="y")))
    reading = pasted(notes[0]) if notes else ReadingOptions(target="y")
    made = train(TrainingRequest(path, reading, learner="adaboost", output=tmp_path / "m.json"))
    scores = score(tmp_path / "m.json", path)
    labels = [line.rpartition(",")[2] for line in path.read_text("utf-8").splitlines()[-ROWS:]]
    assert 1.0 - made.figures.accuracy < WORST
    assert np.mean(np.array(scores.columns["label"]) != np.array(labels)) < WORST
