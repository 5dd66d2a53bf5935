"""How well a model does: accuracy, the table of confusion, the operating characteristic, calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rulekit.audit.figures.intervals import exact_bounds
from rulekit.audit.figures.kept_figures import kept_figures
from rulekit.audit.figures.metrics import Figures, figures
from rulekit.audit.figures.operating import Calibration, OperatingPoint, calibration, operating_points
from rulekit.audit.guarantees.bounds import bound_lines, bounds_of
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    Heading,
    Picture,
    ReportSection,
    ReportTable,
    ShareBar,
    TableColumn,
    Text,
    cells,
    columns,
)
from rulekit.audit.report.sections.pictures import (
    MOST_CURVES,
    NO_PICTURES,
    calibration_picture,
    operating_picture,
    pictures_can_be_drawn,
)
from rulekit.audit.report.sections.rule_tables import WEIGHTED
from rulekit.audit.report.subject import MeasuredRows, Subject
from rulekit.graph.language.figures import bounded_share, finite, number_text, rows_text, share_text
from rulekit.graph.language.words import quoted
from rulekit.graph.rule_graph import RuleGraph

NO_ROWS = (
    "No labelled rows were given, so nothing is measured here: `rulekit report MODEL DATA` does, best on rows that did "
    "not train the model."
)


def performance_section(subject: Subject) -> ReportSection:
    """The figures on the rows that were given, and those of the training."""
    graph, rows = subject.graph, subject.rows
    data: dict[str, Any] = {}
    blocks: list[Block] = []
    if rows is None:
        blocks.append(Text(NO_ROWS, "note"))
    else:
        found = figures(rows.y, rows.decided, rows.chances, graph.classes, rows.weight)
        data["given"] = _data(found, rows.effective_n) | {"rows_of": rows.name, "training_rows": _overlap(rows)}
        blocks += [Text(_whose(rows), "note" if rows.flatter else "plain")]
        blocks += _figures(found, rows.effective_n, graph)
        blocks += [Text(WEIGHTED, "quiet")] if rows.weight is not None else []
        blocks += _curves(subject, rows, data["given"])
    kept = kept_figures(graph)
    if kept is not None:
        n = _rows_of_kept(kept.figures)
        data["in_training"] = _data(kept.figures, n) | {"rows_of": kept.measured_on}
        if rows is None or not _same(data):
            blocks += [Heading("As measured when it was trained"), Text(f"On {kept.measured_on}.")]
            blocks += _figures(kept.figures, n, graph)
    return ReportSection("performance", "How well it does", tuple(blocks), data)


def _same(data: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether the rows that were given are those of the training's measurement."""
    return all(data["given"][name] == data["in_training"][name] for name in ("rows", "confusion", "log_loss"))


def _whose(rows: MeasuredRows) -> str:
    known = f" {str(rows.overlap)[0].upper()}{str(rows.overlap)[1:]}." if rows.overlap is not None else ""
    weighted = f", weighted by {rows.weight_column}" if rows.weight is not None and rows.weight_column else ""
    return f"On {rows_text(len(rows))} rows of {rows.name}{weighted}.{known}"


def _overlap(rows: MeasuredRows) -> dict[str, Any] | None:
    return None if rows.overlap is None else asdict(rows.overlap)


def _rows_of_kept(found: Figures) -> float | None:
    """The effective rows of figures of which only the standard error is known."""
    total = sum(map(sum, found.confusion))
    if total == found.rows:
        return float(found.rows)
    spread = found.accuracy * (1.0 - found.accuracy)
    return spread / found.accuracy_error**2 if found.accuracy_error > 0.0 else None


def _data(found: Figures, effective: float | None) -> dict[str, Any]:
    """The figures as JSON values, each rate with its exact interval."""
    data = found.as_dict()
    data["effective_n"] = effective
    total = sum(map(sum, found.confusion))
    scale = 0.0 if effective is None or not total else effective / total
    data["accuracy_interval"] = _interval(found.accuracy, effective)
    for entry in data["per_class"]:
        entry["precision_interval"] = _interval(entry["precision"], entry["predicted"] * scale)
        entry["recall_interval"] = _interval(entry["recall"], entry["support"] * scale)
    return data


def _interval(share: float, n: float | None) -> list[float | None]:
    if not n:
        return [None, None]
    low, high = exact_bounds(share, n)
    return [finite(float(low)), finite(float(high))]


def _figures(found: Figures, effective: float | None, graph: RuleGraph) -> list[Block]:
    data = _data(found, effective)
    low, high = data["accuracy_interval"]
    pairs = [
        ("accuracy", bounded_share(found.accuracy, low, high)),
        ("most frequent class alone", share_text(found.majority)),
        ("area under the curve (AUC)", number_text(found.auc)),
        ("mean F1 of the classes", number_text(found.macro_f1)),
        ("log loss", f"{number_text(found.log_loss)} nats"),
    ]
    return [Facts(tuple(pairs)), _per_class(data, graph), _confusion(found, graph)]


def _per_class(data: Mapping[str, Any], graph: RuleGraph) -> ReportTable:
    titles = columns("class", "rows#", "decided#", "precision#", "|", "recall#", "|", "F1#")
    lines = []
    for label, entry in zip(graph.classes, data["per_class"], strict=True):
        shown: list[Cell | str] = [quoted(label), rows_text(entry["support"]), rows_text(entry["predicted"])]
        for name in ("precision", "recall"):
            low, high = entry[f"{name}_interval"]
            defined = entry["predicted" if name == "precision" else "support"] > 0
            shown.append(bounded_share(entry[name], low, high) if defined else "–")
            shown.append(Cell(bar=ShareBar(entry[name], low, high) if defined else None))
        lines.append(cells(*shown, f"{entry['f1']:.3f}"))
    below = "Precision: of the rows decided so, those that are; recall: of those that are, the ones decided so."
    return ReportTable("By class", titles, tuple(lines), below)


def _confusion(found: Figures, graph: RuleGraph) -> ReportTable:
    titles = (
        TableColumn("rows that are"),
        *(TableColumn(f"decided {quoted(label)}", "number") for label in graph.classes),
    )
    lines = tuple(
        cells(
            quoted(label),
            *(Cell(rows_text(n), tone="good" if j == k else "plain") for j, n in enumerate(row)),
        )
        for k, (label, row) in enumerate(zip(graph.classes, found.confusion, strict=True))
    )
    return ReportTable("Confusion", titles, lines)


# Probabilities --------------------------------------------------------------------------------------------------------


def _curves(subject: Subject, rows: MeasuredRows, data: dict[str, Any]) -> list[Block]:
    """The operating characteristic and the calibration, drawn where they can be, and as tables."""
    graph = subject.graph
    asked = [1] if subject.binary else list(range(len(graph.classes)))
    curves = {k: operating_points(rows.y == k, rows.chances[:, k], rows.weight) for k in asked}
    decides = {k: _decides_at(rows, k) for k in asked}
    happened, reported, what = happened_where_reported(subject, rows)
    found = calibration(happened, reported, rows.weight)
    data["roc"] = [
        {"class": graph.classes[k], "decides_at": decides[k], "points": [asdict(point) for point in curves[k]]}
        for k in asked
    ]
    data["calibration"] = {"of": what, **asdict(found)}
    blocks: list[Block] = []
    if pictures_can_be_drawn():
        named = [(quoted(graph.classes[k]), curves[k], decides[k]) for k in asked if curves[k]]
        if named:
            blocks.append(
                Picture(
                    "Operating characteristic" + (f" of the first {MOST_CURVES}" if len(named) > MOST_CURVES else ""),
                    operating_picture(named),
                    "True positive rate against false positive rate of the reported probability; "
                    + "; ".join(f"{name} is decided at {_point(at)}" for name, _, at in named),
                )
            )
        said = (
            f"Observed against reported probability of {what}, by tenths; calibration error {share_text(found.error)}"
        )
        blocks.append(Picture("Calibration", calibration_picture(found), said))
    else:
        blocks.append(Text(NO_PICTURES, "quiet"))
        blocks += [_operating_table(quoted(graph.classes[k]), curves[k]) for k in asked if curves[k]]
    blocks.append(_calibration_table(found, what))
    return blocks


def happened_where_reported(subject: Subject, rows: MeasuredRows) -> tuple[Any, Any, str]:
    """What a reported probability [n] is of, and where that happened [n]: the positive class, or the likeliest one."""
    if subject.binary:
        return rows.y == 1, rows.chances[:, 1], quoted(subject.graph.classes[1])
    best = rows.chances.argmax(axis=1)
    return rows.y == best, rows.chances.max(axis=1), "the most probable class"


def _decides_at(rows: MeasuredRows, k: int) -> list[float] | None:
    """False and true positive rate of the decision for a class; None where one is not defined."""
    own = rows.y == k
    masses = [rows.mass[~own].sum(), rows.mass[own].sum()]
    if not all(masses):
        return None
    given = rows.decided == k
    return [float(rows.mass[given & ~own].sum() / masses[0]), float(rows.mass[given & own].sum() / masses[1])]


def _point(at: Sequence[float] | None) -> str:
    if at is None:
        return "no point"
    return f"true positive rate {share_text(at[1])}, false positive rate {share_text(at[0])}"


def _operating_table(label: str, points: Sequence[OperatingPoint]) -> ReportTable:
    kept = points if len(points) <= 21 else [points[k] for k in np.linspace(0, len(points) - 1, 21).round().astype(int)]
    titles = columns("decided where reported at least#", "false positive rate#", "true positive rate#")
    lines = tuple(
        cells(
            "nowhere" if point.threshold is None else number_text(point.threshold),
            share_text(point.false_positive_rate),
            share_text(point.true_positive_rate),
        )
        for point in kept
    )
    return ReportTable(f"Operating characteristic of {label}", titles, lines)


def _calibration_table(found: Calibration, what: str) -> ReportTable:
    titles = columns("reported#", "rows#", "observed#", "|")
    lines = tuple(
        cells(
            share_text(each.mean_probability),
            rows_text(each.rows),
            bounded_share(each.happened, each.low, each.high),
            Cell(bar=ShareBar(each.happened, each.low, each.high, each.mean_probability)),
        )
        for each in found.bins
    )
    below = (
        f"Rows by tenths of the reported probability of {what}: its mean, and how often that happened; the tick is "
        f"what was reported. Mean distance {share_text(found.error)}; Brier score {number_text(found.brier, 3)}."
    )
    return ReportTable("Calibration", titles, lines, below)


def bounds_section(subject: Subject) -> ReportSection:
    """What `rulekit bounds` says of the same rows."""
    found = bounds_of(subject.graph, subject.rows)
    lines = ((line.startswith(" "), line.lstrip()) for line in bound_lines(found))
    blocks = tuple((Text if below else Heading)(text[0].upper() + text[1:]) for below, text in lines)
    return ReportSection("bounds", "How sure the error is", blocks, asdict(found))
