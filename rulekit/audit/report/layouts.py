"""A report as one HTML file and as a model card in Markdown.

Names, levels, labels and rules are foreign text: they are printed on one line (rulekit.names.printable) and escaped.
What is not escaped is made here: the style, the script, pictures, and JSON without a `<`. The HTML has its style and
script inside and no address of anything else; its policy allows that one script, by its digest, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.audit.report.blocks import Block, Cell, Facts, Items, Picture, ReportTable, ScoringForm, Text
from rulekit.names import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

    from rulekit.audit.report.document import Document

HERE = Path(__file__).parent
_FEW_COLUMNS, _SIDE_BY_SIDE, _SHORT = 5, 3, 16
STRIP = 112.0
"""The width of a strip on which a share is drawn, in its own units."""


def html(document: Document) -> str:
    """The page."""
    from markupsafe import Markup

    blocks = [block for section in document.sections for block in section.blocks]
    modules = [block.code for block in blocks if isinstance(block, ScoringForm)]
    script = "\n".join([*modules, (HERE / "form.js").read_text(encoding="utf-8")])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = (HERE / "templates" / "style.css").read_text(encoding="utf-8").strip()
    given = {"style": Markup(style), "script": Markup(script), "script_hash": f"sha256-{digest}"}
    return _templates().get_template("report.html").render(document=document, **given).lstrip()


@cache
def _templates() -> Environment:
    made = environment(HERE / "templates")
    filters = {"place": lambda share: place(share, STRIP), "json": json_in_page, "drawn": _drawn, "shape": _shape}
    made.filters |= {**filters, "runs": _runs, "kind": lambda block: type(block).__name__}
    return made


def environment(folder: Path) -> Environment:
    """Templates in which every text is escaped and stands on one line."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    return Environment(loader=FileSystemLoader(folder), autoescape=True, finalize=_plain, **options)


def _plain(value: Any) -> Any:
    """Foreign text on one line; what a template itself made of it (its marked-up texts) stays."""
    return printable(value) if type(value) is str else value


def place(share: float, width: float) -> str:
    """Where a share stands on a strip of this width."""
    return f"{min(max(share, 0.0), 1.0) * width:.1f}"


def json_in_page(value: Any) -> Markup:
    """JSON that no parser of HTML can take for the end of a script."""
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _drawn(svg: str, text: str) -> Markup:
    from markupsafe import Markup, escape

    return Markup(re.sub(r"^<svg", f'<svg role="img" aria-label="{escape(printable(text))}"', svg, count=1))


def _shape(table: ReportTable) -> str:
    """Whether a table is as narrow as its cells, its rows become lists on a phone, and it stays on one printed page."""
    narrow = len(table.columns) <= _FEW_COLUMNS and all(kind != "rule" for _, kind in table.columns)
    given = {"narrow": narrow, "stack": len(table.columns) > _SIDE_BY_SIDE, "short": len(table.rows) <= _SHORT}
    return " ".join(name for name, so in given.items() if so)


def _runs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Pictures that follow each other together, any other block by itself."""
    for drawn, run in groupby(blocks, key=lambda block: isinstance(block, Picture)):
        together = list(run)
        yield from [together] if drawn else [[block] for block in together]


# Markdown ------------------------------------------------------------------------------------------------------------

_SIGNS = re.compile(r"([\\`*_\[\]<>|~$#!])|(?<=^)([-+])(?=\s)|(?<=^\d)(\.)(?=\s)")


def markdown(document: Document) -> str:
    """The model card, in GitHub's Markdown: what the page shows, without pictures and without the form.

    Every text is one line in which no sign means anything.
    """
    lines = [f"# {escaped(document.title)}", "", escaped(document.subtitle), ""]
    for section in document.sections:
        lines += [f"## {escaped(section.title)}", ""]
        for block in section.blocks:
            said = list(_BLOCKS[type(block)](block))
            lines += [*said, ""] if said else []
    return "\n".join(lines).rstrip() + "\n"


def escaped(text: str) -> str:
    """Foreign text on one line, as it is and not as Markdown or HTML."""
    entities = {"<": "&lt;", ">": "&gt;"}
    plain = printable(text).replace("&", "&amp;")
    return _SIGNS.sub(lambda match: entities.get(match[0], f"\\{match[0]}"), plain)


def _table(block: ReportTable) -> Iterator[str]:
    """Columns of bars are left out."""
    rows, columns = [list(map(_cell, row)) for row in block.rows], enumerate(block.columns)
    kept = [k for k, (title, kind) in columns if kind != "bar" and (title or any(row[k] for row in rows))]
    if block.title:
        yield from (f"**{escaped(block.title)}**", "")
    yield f"| {' | '.join(escaped(block.columns[k][0]) for k in kept)} |"
    yield f"|{'|'.join('--:' if block.columns[k][1] == 'number' else '---' for k in kept)}|"
    yield from (f"| {' | '.join(row[k] for k in kept)} |" for row in rows)
    if block.below:
        yield from ("", escaped(block.below))


def _cell(cell: Cell) -> str:
    said = ", ".join(escaped(title) for _, title in cell.links) or escaped(cell.text)
    if cell.lines:
        said = "<br>".join("&emsp;" * depth + escaped(text) for depth, text in cell.lines)
    return " ".join(filter(None, [said, *(f"({escaped(mark)})" for mark in cell.marks)]))


_MARKS = {"note": "**Note:** ", "bad": "**Attention:** ", "good": "✓ ", "heading": "### "}
_BLOCKS: Mapping[type[Block], Callable[[Any], Iterable[str]]] = {
    Text: lambda block: (_MARKS.get(block.tone, "") + escaped(block.text),),
    Items: lambda block: (f"- {escaped(item)}" for item in block.items),
    Facts: lambda block: (f"- {escaped(name)}: {escaped(text)}" for name, text in block.pairs),
    ReportTable: _table,
    Picture: lambda block: (f"*{escaped(block.title)}: {escaped(block.text)}.*",),
    ScoringForm: lambda block: ("*The HTML form of this report scores a row.*",),
}
