"""Files whose header or rows stand where they are not expected: read right, or a line names the option that does."""

from __future__ import annotations

import ast
import random
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.tables.kinds.inference import infer
from rulekit.tables.options import ReadingOptions
from rulekit.tables.reading import read_columns
from rulekit.tables.table import Table

random.seed(7)
NAMES = ("age", "score", "job", "label")
MEASURED = [
    (random.randint(18, 80), random.randint(0, 999) / 4, random.choice(["clerk", "nurse", "cook"])) for _ in range(200)
]
ROWS = [(*row, "yes" if (row[0] > 50) != (random.random() < 0.03) else "no") for row in MEASURED]
TEXTS = [tuple(map(str, row)) for row in ROWS]


def table(sign: str = ",", head: str = "", foot: str = "", names: str | None = None, end: str = "\n") -> str:
    header = sign.join(NAMES) + end if names is None else names
    return head + header + "".join(sign.join(row) + end for row in TEXTS) + foot


def between(line: str, every: int = 40) -> str:
    lines = table().splitlines(keepends=True)
    return "".join(part + (line if i and i % every == 0 else "") for i, part in enumerate(lines))


def quoted(sign: str) -> str:
    lines = [",".join([a, b, f"{sign}{job}, junior{sign}", y]) for a, b, job, y in TEXTS]
    return "\n".join([",".join(NAMES), *lines, ""])


def ruled(begin: str, rule: str, sign: str = " | ", end: str = "") -> str:
    """A table as Markdown, psql and others draw it: cells of one width, with a rule below the header."""
    lines = [f"{begin}{sign.join(cell.ljust(6) for cell in row)}{end}\n" for row in (NAMES, *TEXTS)]
    return lines[0] + rule + "\n" + "".join(lines[1:])


CASES: dict[str, str | bytes] = {
    "a footer of delimiters": table(foot=",,,\n,,,\n"),
    "a preamble as wide": table(head="Report,2024,,\nby,me,,\n,,,\n"),
    "a full preamble": table(head="Report,2024,by,me\n"),
    "a full preamble of three lines": table(head="Report,2024,by,me\nfor,all,the,world\na,b,c,d\n"),
    "Markdown": ruled("| ", "|---|--:|:-:|---|", end=" |"),
    "psql": ruled(" ", "-----+------+------+-----") + "(200 rows)\n",
    "mysql": "+---+---+---+---+\n" + ruled("| ", "+---+---+---+---+", end=" |") + "+---+---+---+---+\n",
    "boxes": "┌──┬──┬──┬──┐\n" + ruled("│ ", "├──┼──┼──┼──┤", " │ ", " │") + "└──┴──┴──┴──┘\n",
    "wiki": ruled("|| ", "", " || ", " ||"),
    "a header wider than its rows": table(names="age,score,job,label,more\n"),
    "a header wider by two": table(names="age,score,job,label,more,most\n"),
    "a header wider by nothing": table(names="age,score,job,label,,\n"),
    "Hive": table("\x01"),
    "unit separators": table("\x1f"),
    "colons": table(":"),
    "slashes": table("/"),
    "LaTeX": table(" & "),
    "sections": between("Department,,,\n"),
    "short sections": between("Department A\n"),
    "pages": between("\f\n"),
    "lines of blanks": between("   \n"),
    "dashes below": table(names="age,score,job,label\n---,---,---,---\n"),
    "the header twice": table(head="age,score,job,label\n"),
    "a mark of the end": table("\t", foot="\\.\n"),
    "sources below": table(foot="\nSource: the office\n"),
    "subtotals": between("Subtotal,3000,,\n"),
    "sep line": table(";", "sep=;\n"),
    "sep line with a bar, quoted": table("|", '"sep=|"\r\n'),
    "comments above": table(head="# made by hand\n# in 2024, for A, B and C\n"),
    "comments of another sign above": table(head="% made by hand\n%\n"),
    "a header behind a comment sign": table("\t", names="#age\tscore\tjob\tlabel\n"),
    "comments between": between("# checked\n"),
    "comments between, as wide": between("# checked,,,\n"),
    "a title": table(head="Report of 2024\n\n"),
    "a preamble": table(head="Report\nfrom: 2024-01-01\nby: me\n\n"),
    "a preamble of cells": table(";", head="Report;2024\n;\n"),
    "no header": table(names=""),
    "no header, tabs": table("\t", names=""),
    "runs of blanks": "".join("  ".join(f"{cell:>9}" for cell in row) + "\n" for row in (NAMES, *TEXTS)),
    "single blanks": table(" "),
    "blanks without a header": table("   ", names=""),
    "carets": table("^"),
    "tildes": table("~"),
    "a header with another sign": table(names="age;score;job;label\n"),
    "a row of units": table(names="age,score,job,label\nyears,points,,\n"),
    "a row of types": table("\t", names="age\tscore\tjob\tlabel\ncontinuous\tcontinuous\tdiscrete\tdiscrete\n"),
    "rows of types and flags": table("\t", names="age\tscore\tjob\tlabel\nc\tc\td\td\n\t\t\tclass\n"),
    "two lines of a header": table(names="age,score,job,label\n(in years),(of 250),(now),(goal)\n"),
    "the header again": between("age,score,job,label\n"),
    "a total": table(foot="Total,21345.5,,\n"),
    "a short total": table(foot="Total,21345.5\n"),
    "a count below": table(foot="(200 rows)\n"),
    "a delimiter at each end": table(names="age,score,job,label,\n")
    .replace("yes\n", "yes,\n")
    .replace("no\n", "no,\n"),
    "a delimiter at each row's end": table().replace("yes\n", "yes,\n").replace("no\n", "no,\n"),
    "names of rows as R writes them": "".join(
        [",".join(f'"{name}"' for name in NAMES) + "\n"] + [f'"{i}",' + ",".join(r) + "\n" for i, r in enumerate(TEXTS)]
    ),
    "blank lines": table().replace("\n", "\n\n"),
    "mixed line ends": table().replace("yes\n", "yes\r").replace("no\n", "no\r\n"),
    "blanks behind commas": table(", "),
    "apostrophes around cells": quoted("'"),
    "an open quote": table().replace("cook", '"cook', 1),
    "two columns of one name": table(names="age,score,job,job\n"),
    "a short row": between("1,2\n", 150),
    "zero bytes": table().replace("cook", "co\0ok").encode(),
}
OPTION = re.compile(r"--(header|names|comment|quote|delimiter|trim)(?: ('[^']*'|\"[^\"]*\"|[^\s;]+))?")
NOT_READ = {"zero bytes", "a short row"}  # the file itself has to be mended


def read(path: Path, options: ReadingOptions) -> Table:
    return infer(read_columns(path, options), options)


def is_right(found: Table) -> bool:
    """Whether numbers are numbers, at the rows where they stood, and words are words."""
    offset = 1 if len(found.features) == 5 else 0
    kinds = [feature.kind for feature in found.features[offset:]]
    if kinds != ["numeric", "numeric", "categorical", "categorical"] or len(found) != len(ROWS):
        return False
    numbers = np.array([row[:2] for row in ROWS], dtype=np.float32).T
    if not all(np.array_equal(found.arrays[offset + j], numbers[j]) for j in (0, 1)):
        return False
    job = found.features[offset + 2].levels
    return {level.replace(", junior", "").strip('"') for level in job} == {"clerk", "nurse", "cook"}


def with_option(options: ReadingOptions, name: str, value: str) -> ReadingOptions:
    value = ast.literal_eval(value) if value[:1] in ("'", '"') else value.rstrip(".,")
    if name == "trim":
        return replace(options, trim=True)
    if name == "names":
        given = NAMES if value == "A,B,C" else tuple(value.split(","))
        return replace(options, names=given)
    if name == "comment":
        return replace(options, comment=(*options.comment, value))
    return replace(options, **{name: value})


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", CASES)
def test_each_file_is_read_right_or_names_the_option_that_reads_it(tmp_path: Path, name: str) -> None:
    content = CASES[name]
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    options, said = ReadingOptions(), ""
    for _ in range(3):
        try:
            found = read(path, options)
            said = " / ".join(found.notes)
            if is_right(found):
                return
        except InputError as error:
            said = str(error)
        if name in NOT_READ:
            assert "t.csv" in said
            return
        match = OPTION.search(said)
        assert match, f"nothing is said of {name}: {said}"
        options = with_option(options, match[1], match[2] or "")
    raise AssertionError(f"{name} is read wrongly: {said}")


def test_commas_of_decimals_in_a_file_of_commas_are_named(tmp_path: Path) -> None:
    """They make one cell more, as names of rows do."""
    path = tmp_path / "t.csv"
    path.write_text(table().replace(".", ","))
    with pytest.raises(InputError, match=r"4 names for 5 cells.*is a comma a decimal sign\? write points"):
        read(path, ReadingOptions())


def test_a_plain_file_has_no_note(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table())
    assert read(path, ReadingOptions()).notes == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ReadingOptions(header="0"), "header '0'; the line of the header"),
        (ReadingOptions(header="x"), "header 'x'"),
        (ReadingOptions(quote="''"), "quote \"''\"; one sign, or none"),
        (ReadingOptions(comment=("",)), "--comment and --quote take signs"),
        (ReadingOptions(names=("a", "b")), "4 cells, but the header has 2 columns"),
    ],
)
def test_wrong_options_are_refused(tmp_path: Path, options: ReadingOptions, message: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text(table())
    with pytest.raises(InputError, match=re.escape(message)):
        read(path, options)


@pytest.mark.parametrize(("sign", "quote"), [("::", ""), (",", '"')])
def test_a_file_of_one_column_that_holds_separators_is_named(tmp_path: Path, sign: str, quote: str) -> None:
    path = tmp_path / "t.csv"
    path.write_text("".join(f"{quote}{sign.join(row)}{quote}\n" for row in (NAMES, *TEXTS)))
    assert f"t.csv: one column, whose name holds {sign!r}; unquote whole lines" in read(path, ReadingOptions()).notes[0]
