"""What a section of a report shows: texts, facts, tables, pictures and the form that scores a row.

Texts are plain: a layout escapes them. Nothing here is written in the words of a layout.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Tone = Literal["plain", "good", "bad", "note", "quiet"]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph; tone: what is proved or fulfilled, what is wrong, what a reader must know."""

    text: str
    tone: Tone = "plain"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading within a section."""

    text: str


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
class ShareBar:
    """A share from 0 to 1 with its interval, on a line; tick: what it is compared with."""

    share: float
    low: float | None = None
    high: float | None = None
    tick: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table.

    lines: of an outline, each with its depth, in the place of the text. marks: words that stand out, such as `edited`.
    links: ids and titles of sections, in the place of the text.
    """

    text: str = ""
    lines: Sequence[tuple[int, str]] = ()
    marks: Sequence[str] = ()
    bar: ShareBar | None = None
    tone: Tone = "plain"
    links: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column of a table; kind: texts, numbers (flush right), ids, or figures in lines."""

    title: str
    kind: Literal["text", "number", "id", "rule", "bar", "figures"] = "text"


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Rows of cells under columns; title: what they show; below: what is said under them."""

    title: str
    columns: tuple[TableColumn, ...]
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


Line = tuple[str | Cell, ...]
"""A row of a table, of texts and cells."""

Block = Text | Heading | Items | Facts | ReportTable | Picture | ScoringForm


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section: its id and title, what it shows, and its content as JSON values."""

    id: str
    title: str
    blocks: Sequence[Block]
    data: Mapping[str, Any] = field(default_factory=dict)


def table(
    title: str, columns: Iterable[str | TableColumn], rows: Iterable[Sequence[str | Cell]], below: str = ""
) -> ReportTable:
    """A table of texts and cells; a column that ends in `#` is one of numbers, `|` is one of bars without a title."""
    cells = (tuple(Cell(cell) if isinstance(cell, str) else cell for cell in row) for row in rows)
    return ReportTable(title, tuple(map(_column, columns)), tuple(cells), below)


def _column(title: str | TableColumn) -> TableColumn:
    if isinstance(title, TableColumn):
        return title
    if title == "|":
        return TableColumn("", "bar")
    return TableColumn(title.rstrip("#"), "number" if title.endswith("#") else "text")
