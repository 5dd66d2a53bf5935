"""Other sizes that one training gave, and the baselines beside them."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rulekit.audit.figures.kept_figures import kept_baselines
from rulekit.audit.report.blocks import Block, Cell, Column, Section, Table, Text, cells
from rulekit.audit.report.numbers import NONE, rows_text
from rulekit.audit.report.subject import Subject
from rulekit.shown.sections import sections


def sizes_section(subject: Subject) -> Section:
    """The ladder and the baselines in one table, by their cross-validated error."""
    ladder, baselines = subject.graph.ladder, kept_baselines(subject.graph)
    data: dict[str, Any] = {"ladder": None, "baselines": None if baselines is None else asdict(baselines)}
    blocks: list[Block] = []
    lines = []
    for model in () if baselines is None else baselines.models:
        error = _error(model.error, model.standard_error)
        lines.append(cells(model.name, "", "", error, f"{model.macro_f1:.3f}", ""))
    if ladder is not None:
        data["ladder"] = {
            "chosen": ladder.chosen,
            "smallest": ladder.smallest,
            "why": ladder.why,
            "rows": [
                {n: getattr(rung, n) for n in ("size", "error", "standard_error", "macro_f1", "rules", "literals")}
                for rung in ladder.rungs
            ],
        }
        for rung, added in zip(ladder.rungs, ladder.added, strict=True):
            marks = [("this model", rung.size == ladder.chosen), ("smallest as good", rung.size == ladder.smallest)]
            texts = {row.id: row.text for part in sections(rung.model) for row in part.rows}
            said = tuple((0, texts[rule.id]) for rule in added if rule.id in texts)
            lines.append(
                cells(
                    Cell(f"size {rung.size}", marks=tuple(word for word, so in marks if so)),
                    str(rung.rules),
                    str(rung.literals),
                    _error(rung.error, rung.standard_error),
                    NONE if rung.macro_f1 is None else f"{rung.macro_f1:.3f}",
                    Cell(lines=said),
                )
            )
        if ladder.why:
            blocks.append(Text(f"This size was taken: {ladder.why}."))
    if lines:
        titles = (
            Column("model"), Column("rules", "number"), Column("literals", "number"), Column("error %", "number"),
            Column("mean F1", "number"), Column("adds", "rule"),
        )  # fmt: skip
        below = "The error is cross-validated on the training rows, with its standard error over the folds."
        if baselines is not None and baselines.rows < baselines.of_rows:
            below += f" The baselines saw {rows_text(baselines.rows)} of {rows_text(baselines.of_rows)} rows."
        if baselines is not None and baselines.left_out:
            below += f" No time was left for {', '.join(baselines.left_out)}."
        blocks.append(Table("", titles, tuple(lines), below))
    else:
        blocks.append(Text("The model file holds no other sizes and no baselines.", "note"))
    return Section("sizes", "Other sizes and baselines", tuple(blocks), data)


def _error(error: float | None, deviation: float | None) -> str:
    if error is None:
        return NONE
    return f"{100 * error:.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}")
