"""A report as one HTML file: its style and script inside, and no address of anything else.

Names, levels, labels and rules are foreign text: they are printed on one line (rulekit.names.printable) and escaped.
What is not escaped is made here: the style, the script, pictures, and JSON without a `<`. The policy of the page allows
its one script, by its digest, and no request.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.audit.report.blocks import Block, Picture, ReportTable, ScoringForm
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
    """The file."""
    from markupsafe import Markup

    modules = [
        block.code for section in document.sections for block in section.blocks if isinstance(block, ScoringForm)
    ]
    script = "\n".join([*modules, (HERE.parent / "scoring" / "form.js").read_text(encoding="utf-8")])
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    style = (HERE / "templates" / "style.css").read_text(encoding="utf-8").strip()
    template = _templates().get_template("report.html")
    return template.render(
        document=document, style=Markup(style), script=Markup(script), script_hash=f"sha256-{digest}"
    ).lstrip()


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        finalize=_plain,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    filters = {"place": _place, "json": json_in_page, "drawn": _drawn, "kind": _kind, "runs": _runs, "shape": _shape}
    made.filters.update(filters)
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


def _kind(block: Block) -> str:
    return type(block).__name__


def _runs(blocks: Sequence[Block]) -> Iterator[list[Block]]:
    """Pictures that follow each other together, any other block by itself."""
    for drawn, run in groupby(blocks, key=lambda block: isinstance(block, Picture)):
        if drawn:
            yield list(run)
        else:
            yield from ([block] for block in run)
