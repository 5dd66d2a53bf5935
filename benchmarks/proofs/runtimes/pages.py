"""The tables of docs/runtimes.md: node kind by runtime, each runtime in one line, what is declared."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from benchmarks.proofs.runtimes.cases import VALUES
from benchmarks.proofs.runtimes.comparing import Cell
from benchmarks.proofs.runtimes.figure import WAYS, Column
from benchmarks.proofs.runtimes.gaps import GAPS, Gap

SHORT = {
    "newest": "ort",
    "oldest": "ort, oldest",
    "reference": "onnx.reference",
    "node": "ort-node",
    "web": "ort-web",
    "browser": "browser",
    "openvino": "OpenVINO",
    "opencv": "OpenCV",
    "tract": "tract",
    "python columns": "python, columns",
    "python csv": "python, CSV",
}


def summary(columns: Sequence[Column]) -> list[str]:
    """One line for each runtime and way."""
    lines = [
        "| in the tables below | what | exports compared | not taken, or decided otherwise, as declared | rows "
        "| different decisions | probabilities within | s |",
        "|---|---|--:|--:|--:|--:|--:|--:|",
    ]
    for column in columns:
        if column.skipped:
            lines.append(f"| {short(column.key)} | {column.title} | not run: {column.skipped} | | | | | |")
            continue
        found = column.comparison
        lacking = sum(bool(cell.gaps) for cell in found.cells)
        compared = len(found.cells) - lacking
        lines.append(
            f"| {short(column.key)} | {column.title} | {compared} | {lacking or ''} | {found.rows:,} "
            f"| {found.different:,} | {found.gap:.1e} | {column.seconds:.0f} |"
        )
    return lines


def kinds_table(columns: Sequence[Column], kinds: Mapping[str, Sequence[str]]) -> list[str]:
    """Rows compared and different decisions of the models that contain a node or decision type, by runtime or way."""
    run = [column for column in columns if not column.skipped]
    return _table(
        "node or decision",
        run,
        {f"`{kind}`": lambda cell, models=set(models): cell.model in models for kind, models in kinds.items()},
    )


def forms_table(columns: Sequence[Column]) -> list[str]:
    """The same by form of export, of the runtimes alone."""
    run = [column for column in columns if not column.skipped and column.key not in WAYS]
    forms = dict.fromkeys(cell.form for column in run for cell in column.comparison.cells)
    return _table("form", run, {form: lambda cell, form=form: cell.form == form for form in forms})


def _table(what: str, columns: Sequence[Column], parts: Mapping[str, Callable[[Cell], bool]]) -> list[str]:
    lines = [f"| {what} | " + " | ".join(short(column.key) for column in columns) + " |"]
    lines.append("|---|" + "--:|" * len(columns))
    for name, belongs in parts.items():
        found = [_cell([cell for cell in column.comparison.cells if belongs(cell)]) for column in columns]
        lines.append(f"| {name} | " + " | ".join(found) + " |")
    return lines


def _cell(cells: Sequence[Cell]) -> str:
    """`1,280k: 0`, and the numbers of the gaps for which other exports were not compared."""
    rows, different = sum(cell.rows for cell in cells), sum(cell.different for cell in cells)
    gaps = {number(gap) for cell in cells for gap in cell.gaps}
    note = f" <sup>{', '.join(map(str, sorted(gaps)))}</sup>" if gaps else ""
    return f"{rows // 1000:,}k: {different:,}{note}" if rows else f"none{note}"


def short(key: str) -> str:
    """The name of a runtime or way in the head of a table."""
    return SHORT.get(key, key)


def number(gap: Gap) -> int:
    """The number under which a declared gap stands in the table."""
    return GAPS.index(gap) + 1


def gaps_table() -> list[str]:
    """The declared gaps, numbered."""
    lines = ["| | runtime | lacks | what happens | |", "|--:|---|---|---|---|"]
    for gap in GAPS:
        of_rows = "decides such rows otherwise" if gap.feature in VALUES else "decides some rows otherwise"
        kind = "refuses the model" if gap.says else of_rows
        lines.append(f"| {number(gap)} | {short(gap.runtime)} | {gap.feature} | {kind} | {gap.reason} |")
    return lines


def conclusion(columns: Sequence[Column], n_models: int, n_rows: int) -> str:
    """The whole in one sentence."""
    run = [column for column in columns if not column.skipped]
    rows = sum(column.comparison.rows for column in run)
    different = sum(column.comparison.different for column in run)
    gap = max((column.comparison.gap for column in run), default=0.0)
    return (
        f"{n_models} models with {n_rows:,} adversarial rows each, {n_models * n_rows:,} rows; "
        f"{rows:,} decisions compared in {sum(c.key not in WAYS for c in run)} runtimes and "
        f"{sum(c.key in WAYS for c in run)} other ways: {different:,} different, probabilities within {gap:.1e}."
    )
