"""rulekit describe: every column of a table, what it looks like, and a file of types to be edited."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rulekit.shown.lines import wrapped
from rulekit_cli import options
from rulekit_cli.console import aligned, log, notes, result, result_json, width

if TYPE_CHECKING:
    from rulekit.work.describing import ColumnDescription

MOST_COLUMNS = 40
LONGEST_NAME = 24


@options.reads_text
def describe(
    data: options.Data,
    types_out: Annotated[
        Path | None,
        typer.Option("--types-out", metavar="FILE", help="Write the types of the columns, to be edited, for --types."),
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every column and every level, however many there are.")] = False,
    types_file: options.TypesFile = None,
    ignore: options.Ignore = None,
    types: options.Types = None,
    units: options.Units = None,
    roles: options.Roles = None,
    unseen: options.Unseen = None,
    missing: options.Missing = None,
    precision: options.Precision = None,
    text_file: options.TextFile = options.DETECTED,
    json_: options.Json = False,
) -> None:
    """Describe every column of a table.

    Its kind, how many different values it has, how many cells are missing, its range or its levels with the rows of
    each, and what it looks like: ordered, dates, an id, constant, many levels. These guesses are only said.

    --types-out writes a file of types with one line a column. Edit it, and give it to train, describe or evaluate with
    --types.

    \b
    Examples:
      rulekit describe loans.csv
      rulekit describe loans.csv --types-out types.toml
      rulekit train loans.csv --target default --types types.toml -o model.json
    """
    given = locals()
    from rulekit.work.describing import describe as look

    found = look(data, options.reading(given), types_out)
    n_rows = found.summary.n_rows
    if json_:
        result_json({"rows": n_rows, "columns": [column.as_dict(n_rows) for column in found.columns]})
    else:
        notes(found.notes)
        result(found.summary.headline(), "  ")
        shown = found.columns if all_ or len(found.columns) <= MOST_COLUMNS + 1 else found.columns[:MOST_COLUMNS]
        for line in _table(shown, n_rows, all_levels=all_):
            result(line)
        if len(shown) < len(found.columns):
            result(f"and {len(found.columns) - len(shown):,} more columns; --all shows them")
    if types_out is not None:
        log(f"wrote {types_out}   next: edit it, then rulekit train {data} --types {types_out} --target COL")


def _table(columns: tuple[ColumnDescription, ...], n_rows: int, *, all_levels: bool) -> list[str]:
    """One line a column, and more below it where its values or what it looks like do not fit."""
    names = [column.feature.name for column in columns]
    cells = [
        ["" if len(name) > LONGEST_NAME else name, column.kind, str(column.n_values), _share(column.missing, n_rows)]
        for name, column in zip(names, columns, strict=True)
    ]
    head, *lines = aligned([["column", "kind", "values", "missing"], *cells], left=2)
    margin = len(head) + 2
    found = [f"{head}  what it holds"]
    for name, line, column in zip(names, lines, columns, strict=True):
        texts = wrapped(column.values(all_levels), width() - margin)
        texts += [] if column.hint is None else wrapped(str(column.hint), width() - margin)
        found += [name] if len(name) > LONGEST_NAME else []
        found += [f"{line:{margin}}{texts[0] if texts else ''}", *(" " * margin + text for text in texts[1:])]
    return found


def _share(missing: int, n_rows: int) -> str:
    if not missing:
        return "-"
    return f"{100 * missing / n_rows:.1f} %" if missing >= n_rows / 1000 else "< .1 %"
