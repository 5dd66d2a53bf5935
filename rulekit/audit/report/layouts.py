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

from rulekit.audit.report.blocks import Block, Cell, Facts, Heading, Items, Picture, ReportTable, ScoringForm, Text
from rulekit.audit.report.document import Document
from rulekit.names import printable

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    made = Environment(loader=FileSystemLoader(HERE / "templates"), autoescape=True, finalize=_plain, **options)
    made.filters |= {"place": _place, "json": json_in_page, "drawn": _drawn, "runs": _runs, "shape": _shape}
    made.filters["kind"] = lambda block: type(block).__name__
    return made


def _plain(value: Any) -> Any:
    """Foreign text on one line; what a template itself made of it (its marked-up texts) stays."""
    return printable(value) if type(value) is str else value


def _place(share: float) -> str:
    return f"{min(max(share, 0.0), 1.0) * STRIP:.1f}"


def json_in_page(value: Any) -> Markup:
    """JSON that no parser of HTML can take for the end of a script."""
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _drawn(svg: str, text: str) -> Markup:
    """A picture with what it shows in words."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r"^<svg", f'<svg role="img" aria-label="{escape(printable(text))}"', svg, count=1))


def _shape(table: ReportTable) -> str:
    """Whether a table is as narrow as its cells, its rows become lists on a phone, and it stays on one printed page."""
    kinds = {column.kind for column in table.columns}
    classes = {
        "narrow": len(table.columns) <= _FEW_COLUMNS and "rule" not in kinds,
        "stack": len(table.columns) > _SIDE_BY_SIDE,
        "short": len(table.rows) <= _SHORT,
    }
    return " ".join(name for name, given in classes.items() if given)


def _runs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Pictures that follow each other together, any other block by itself."""
    for drawn, run in groupby(blocks, key=lambda block: isinstance(block, Picture)):
        if drawn:
            yield list(run)
        else:
            yield from ([block] for block in run)


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
    plain = printable(text).replace("&", "&amp;")
    return _SIGNS.sub(
        lambda match: "&lt;" if match[0] == "<" else "&gt;" if match[0] == ">" else f"\\{match[0]}", plain
    )


def _table(block: ReportTable) -> Iterator[str]:
    """Columns of bars are left out."""
    columns = list(enumerate(block.columns))
    kept = [k for k, each in columns if each.kind != "bar" and (each.title or any(_cell(row[k]) for row in block.rows))]
    if block.title:
        yield from (f"**{escaped(block.title)}**", "")
    yield f"| {' | '.join(escaped(block.columns[k].title) for k in kept)} |"
    yield f"|{'|'.join('--:' if block.columns[k].kind == 'number' else '---' for k in kept)}|"
    for row in block.rows:
        yield f"| {' | '.join(_cell(row[k]) for k in kept)} |"
    if block.below:
        yield from ("", escaped(block.below))


def _cell(cell: Cell) -> str:
    if cell.lines:
        said = "<br>".join("&emsp;" * depth + escaped(text) for depth, text in cell.lines)
    elif cell.links:
        said = ", ".join(escaped(title) for _, title in cell.links)
    else:
        said = escaped(cell.text)
    return " ".join(filter(None, [said, *(f"({escaped(mark)})" for mark in cell.marks)]))


_MARKS = {"note": "**Note:** ", "bad": "**Attention:** ", "good": "✓ "}
_BLOCKS: Mapping[type[Block], Callable[[Any], Iterable[str]]] = {
    Text: lambda block: (_MARKS.get(block.tone, "") + escaped(block.text),),
    Heading: lambda block: (f"### {escaped(block.text)}",),
    Items: lambda block: (f"- {escaped(item)}" for item in block.items),
    Facts: lambda block: (f"- {escaped(name)}: {escaped(text)}" for name, text in block.pairs),
    ReportTable: _table,
    Picture: lambda block: (f"*{escaped(block.title)}: {escaped(block.text)}.*",),
    ScoringForm: lambda block: ("*The HTML form of this report scores a row.*",),
}
