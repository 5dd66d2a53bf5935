"""A report as a model card in Markdown: what the page shows, without pictures and without the form."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rulekit.audit.report.blocks import Block, Cell, Facts, Heading, Items, Picture, ReportTable, ScoringForm, Text
from rulekit.audit.report.document import Document
from rulekit.names import printable

_SIGNS = re.compile(r"([\\`*_\[\]<>|~$#!])|(?<=^)([-+])(?=\s)|(?<=^\d)(\.)(?=\s)")


def markdown(document: Document) -> str:
    """The file, GitHub's tables among it; every text is one line in which no sign means anything."""
    lines = [f"# {escaped(document.title)}", "", escaped(document.subtitle), ""]
    for section in document.sections:
        lines += [f"## {escaped(section.title)}", ""]
        for block in section.blocks:
            said = list(_BLOCKS[type(block)](block))
            lines += [*said, ""] if said else []
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Foreign text on one line, as it is and not as Markdown or HTML."""
    plain = printable(text).replace("&", "&amp;")
    return _SIGNS.sub(
        lambda match: "&lt;" if match[0] == "<" else "&gt;" if match[0] == ">" else f"\\{match[0]}", plain
    )


def _text(block: Text) -> Iterator[str]:
    mark = {"note": "**Note:** ", "bad": "**Attention:** ", "good": "✓ "}.get(block.tone, "")
    yield mark + escaped(block.text)


def _table(block: ReportTable) -> Iterator[str]:
    """Columns of bars are left out."""
    kept = [k for k, column in enumerate(block.columns) if column.kind != "bar" and not _only_bars(block, k)]
    if block.title:
        yield from (f"**{escaped(block.title)}**", "")
    yield f"| {' | '.join(escaped(block.columns[k].title) for k in kept)} |"
    yield f"|{'|'.join('--:' if block.columns[k].kind == 'number' else '---' for k in kept)}|"
    for row in block.rows:
        yield f"| {' | '.join(_cell(row[k]) for k in kept)} |"
    if block.below:
        yield from ("", escaped(block.below))


def _only_bars(block: ReportTable, k: int) -> bool:
    return not block.columns[k].title and all(not _cell(row[k]) for row in block.rows)


def _cell(cell: Cell) -> str:
    if cell.lines:
        said = "<br>".join("&emsp;" * depth + escaped(text) for depth, text in cell.lines)
    elif cell.links:
        said = ", ".join(escaped(title) for _, title in cell.links)
    else:
        said = escaped(cell.text)
    return " ".join(filter(None, [said, *(f"({escaped(mark)})" for mark in cell.marks)]))


def _facts(block: Facts) -> Iterator[str]:
    yield from (f"- {escaped(name)}: {escaped(text)}" for name, text in block.pairs)


_BLOCKS: Mapping[type[Block], Callable[[Any], Iterator[str]]] = {
    Text: _text,
    Heading: lambda block: iter((f"### {escaped(block.text)}",)),
    Items: lambda block: (f"- {escaped(item)}" for item in block.items),
    Facts: _facts,
    ReportTable: _table,
    Picture: lambda block: iter((f"*{escaped(block.title)}: {escaped(block.text)}.*",)),
    ScoringForm: lambda block: iter(("*The HTML form of this report scores a row.*",)),
}
