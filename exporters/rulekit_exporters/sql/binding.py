"""Names: of the table, and of columns that an engine would take for something else or for one another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rulekit.errors import InputError
from rulekit_exporters.sql.dialects import Dialect, quoted

_PART = re.compile(r'"((?:[^"]|"")+)"|([^".{][^.]*)')
_NAME = r"""\s*('[\w .$-]+'|"[\w .$-]+")\s*"""
_TEMPLATE = re.compile(
    rf"\{{\{{\s*(this|(ref|source)\({_NAME}(,{_NAME})?(,\s*(v|version)\s*=\s*[\w'.\"]+\s*)?\))\s*\}}\}}"
)


def source_of(table: str) -> str:
    """A table as a query names it: parts with dots between them, each plain or in quotation marks.

    A reference of dbt in double braces stays as it is: dbt puts a name in its place. Any other expression could bring
    SQL of its own. Raises InputError for anything else.
    """
    if _TEMPLATE.fullmatch(table.strip()):
        return table.strip()
    parts, place = list[str](), 0
    while match := _PART.match(table, place):
        parts.append(match[1].replace('""', '"') if match[1] else match[2])
        place = match.end()
        if place == len(table):
            return ".".join(map(quoted, parts))
        if table[place] != ".":
            break
        place += 1
    raise InputError(
        f"{table!r} is no name of a table", where="sql", fix='write loans, sales.loans or sales."my loans"'
    )


def refuse_braces(source: str, texts: Iterable[str]) -> None:
    """Raises InputError where dbt, which is to replace the table's name, would replace something else too."""
    if source.startswith("{{") and any(mark in text for text in texts for mark in ("{{", "{%", "{#")):
        fix = "give the name of the table, and put the reference in its place"
        raise InputError("a name or level of the model holds braces that dbt replaces", where="sql", fix=fix)


def refuse_clashes(dialect: Dialect, used: Iterable[str], kept: Sequence[str], results: Iterable[str]) -> None:
    """Raises InputError for columns that the engine does not tell apart, or that every table has.

    used: columns that the rules read; kept: those that stand in the result too; results: what else it has, in
    quotation marks.
    """
    inputs = list(dict.fromkeys([*used, *kept]))
    for name in inputs:
        if dialect.folded(name) in dialect.hidden:
            raise InputError(
                f"every table of {dialect.engine} has a hidden column {name!r}",
                where="sql",
                fix="give the column another name, and train or edit the model with it",
            )
    outputs = [*kept, *(name[1:-1].replace('""', '"') for name in results)]
    for names, what in ((inputs, "columns that are read"), (outputs, "columns of the result")):
        seen: dict[str, str] = {}
        for name in names:
            if other := seen.get(dialect.folded(name)):
                raise InputError(
                    f"{dialect.engine} does not tell two {what} apart, {other!r} and {name!r}",
                    where="sql",
                    fix="rename one in a view, and read that",
                )
            seen[dialect.folded(name)] = name
