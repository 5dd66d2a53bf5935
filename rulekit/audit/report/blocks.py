"""What a section of a report shows: texts, facts, tables, pictures and the form that scores a row.

Texts are plain: a layout escapes them. Nothing here is written in the words of a layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Tone = Literal["plain", "good", "bad", "note", "quiet", "heading"]
Bar = tuple[float, float | None, float | None, float | None]
"""A share from 0 to 1, the ends of its interval and what it is compared with, on a line."""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; tone: what is proved or fulfilled, what is wrong, what a reader must know, or a heading."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Items:
    """A list of sentences."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and what they are; code: the values stand in type of one width, such as digests."""

    pairs: Sequence[tuple[str, str]]
    code: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    lines: of an outline, each with its depth, in the place of the text. marks: words that stand out, such as `edited`.
    links: ids and titles of sections, in the place of the text.
    """

    text: str = ""
    lines: Sequence[tuple[int, str]] = ()
    marks: Sequence[str] = ()
    bar: Bar | None = None
    tone: Tone = "plain"
    links: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows of cells under columns, each a title and a kind; title: what they show; below: what is said under them.

    Kinds are text, number (flush right), id, rule, bar, and figures in lines.
    """

    title: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[Cell, ...], ...]
    below: str = ""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, which is made by us alone; text: what it shows, for those who do not see it."""

    title: str
    svg: str
    text: str


@dataclass(frozen=True, slots=True)
class ScoringForm:
    """The form that scores a row. fields: what it shows, as JSON values; code: the module that its script asks."""

    fields: Mapping[str, Any]
    code: str


Block = Text | Items | Facts | ReportTable | Picture | ScoringForm
Line = Sequence[str | Cell]
"""A row of a table."""


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section: its id and title, what it shows, and its content as JSON values."""

    id: str
    title: str
    blocks: Sequence[Block]
    data: Mapping[str, Any] = field(default_factory=dict)


def table(title: str, columns: Iterable[str | tuple[str, str]], rows: Iterable[Line], below: str = "") -> ReportTable:
    """A table of texts and cells.

    A column is a title and a kind, or a title of ours: one that ends in `#` is of numbers, `|` of bars without a title.
    """
    cells = (tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
    return ReportTable(title, tuple(map(_column, columns)), tuple(cells), below)


def _column(column: str | tuple[str, str]) -> tuple[str, str]:
    if isinstance(column, tuple):
        return column
    if column == "|":
        return "", "bar"
    return column.rstrip("#"), "number" if column.endswith("#") else "text"
