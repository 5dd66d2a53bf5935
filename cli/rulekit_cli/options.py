"""Options that several commands share, each declared once, and texts of options as values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rulekit.errors import InputError

Model = Annotated[Path, typer.Argument(help="A model file (.json), or an artifact that carries its rules.")]
Data = Annotated[Path, typer.Argument(help="A CSV (also .gz), Parquet or JSON-lines file.")]
ModelOutput = Annotated[Path, typer.Option("-o", "--output", help="The model file to write (.json).")]
Weight = Annotated[str | None, typer.Option("--weight", metavar="COL", help="Column of row weights.")]
Cost = Annotated[
    str | None, typer.Option("--cost", metavar="FP:FN", help="Cost of a false positive and of a false negative.")
]
MissingTarget = Annotated[
    str, typer.Option("--missing-target", metavar="HOW", help="Rows without a label: error, or drop to leave them out.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="Cell separator; detected by default.")]
Decimal = Annotated[
    str | None, typer.Option("--decimal", help="Decimal mark, a point or a comma; detected by default.")
]
Encoding = Annotated[str | None, typer.Option("--encoding", help="Encoding of the file; detected by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def pairs(items: list[str] | None, option: str, value: str = "COL=VALUE") -> dict[str, str]:
    """NAME=VALUE items as a mapping; a name may hold `=`, its value may not."""
    found = {}
    for item in items or []:
        name, equals, text = item.rpartition("=")
        if not equals or not name:
            raise InputError(f"{item!r} is not {value}", where=option)
        found[name] = text
    return found
