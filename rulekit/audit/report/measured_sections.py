"""How well a model does: accuracy, confusion, operating characteristic, calibration, bounds, and figures by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from rulekit.audit.figures.groups import MEASURES, SMALL, Parity, compared_text, parity
from rulekit.audit.figures.intervals import Calibration, OperatingPoint, calibration, exact_bounds, operating_points
from rulekit.audit.figures.metrics import Figures, figures, kept_figures
from rulekit.audit.guarantees.bounds import bound_lines, bounds_of
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    Heading,
    Line,
    Picture,
    ReportSection,
    ReportTable,
    ShareBar,
    TableColumn,
    Text,
    table,
)
from rulekit.audit.report.pictures import (
    MOST_CURVES,
    NO_PICTURES,
    calibration_picture,
    operating_picture,
    pictures_can_be_drawn,
)
from rulekit.audit.report.rule_sections import WEIGHTED
from rulekit.audit.report.subject import MeasuredRows, Subject
from rulekit.graph.language.figures import bounded_share, finite, number_text, rows_text, share_text
from rulekit.graph.language.words import name, quoted
from rulekit.graph.rule_graph import RuleGraph

NO_ROWS = (
    "No labelled rows were given, so nothing is measured here: `rulekit report MODEL DATA` does, best on rows that did "
    "not train the model."
)


def performance_section(subject: Subject) -> ReportSection:
    """The figures on the rows that were given, and those of the training."""
    graph, rows, kept = subject.graph, subject.rows, kept_figures(subject.graph)
    data: dict[str, Any] = {}
    blocks: list[Block] = []
    if rows is None:
        blocks.append(Text(NO_ROWS, "note"))
    else:
        found = figures(rows.y, rows.decided, rows.chances, graph.classes, rows.weight)
        overlap = None if rows.overlap is None else asdict(rows.overlap)
        data["given"] = _data(found, rows.effective_n) | {"rows_of": rows.name, "training_rows": overlap}
        blocks += [Text(_whose(rows), "note" if rows.flatter else "plain"), *_figures(found, data["given"], graph)]
        blocks += [Text(WEIGHTED, "quiet")] if rows.weight is not None else []
        blocks += _curves(subject, rows, data["given"])
    if kept is not None:
        own = _data(kept.figures, _rows_of_kept(kept.figures)) | {"rows_of": kept.measured_on}
        data["in_training"] = own
        if rows is None or any(data["given"][key] != own[key] for key in ("rows", "confusion", "log_loss")):
            blocks += [Heading("As measured when it was trained"), Text(f"On {kept.measured_on}.")]
            blocks += _figures(kept.figures, own, graph)
    return ReportSection("performance", "How well it does", blocks, data)


def _whose(rows: MeasuredRows) -> str:
    known = f" {str(rows.overlap)[0].upper()}{str(rows.overlap)[1:]}." if rows.overlap is not None else ""
    weighted = f", weighted by {rows.weight_column}" if rows.weight is not None and rows.weight_column else ""
    return f"On {rows_text(len(rows))} rows of {rows.name}{weighted}.{known}"


def _rows_of_kept(found: Figures) -> float | None:
    """The effective rows of figures of which only the standard error is known."""
    if sum(map(sum, found.confusion)) == found.rows:
        return float(found.rows)
    spread = found.accuracy * (1.0 - found.accuracy)
    return spread / found.accuracy_error**2 if found.accuracy_error > 0.0 else None


def _data(found: Figures, effective: float | None) -> dict[str, Any]:
    """The figures as JSON values, each rate with its exact interval."""
    data = found.as_dict()
    total = sum(map(sum, found.confusion))
    scale = 0.0 if effective is None or not total else effective / total
    data |= {"effective_n": effective, "accuracy_interval": _interval(found.accuracy, effective)}
    for entry in data["per_class"]:
        entry["precision_interval"] = _interval(entry["precision"], entry["predicted"] * scale)
        entry["recall_interval"] = _interval(entry["recall"], entry["support"] * scale)
    return data


def _interval(share: float, n: float | None) -> list[float | None]:
    return [finite(float(end)) for end in exact_bounds(share, n)] if n else [None, None]


def _figures(found: Figures, data: Mapping[str, Any], graph: RuleGraph) -> list[Block]:
    """Facts, and the tables by class and of confusion."""
    pairs = [
        ("accuracy", bounded_share(found.accuracy, *data["accuracy_interval"])),
        ("most frequent class alone", share_text(found.majority)),
        ("area under the curve (AUC)", number_text(found.auc)),
        ("mean F1 of the classes", number_text(found.macro_f1)),
        ("log loss", f"{number_text(found.log_loss)} nats"),
    ]
    labels = list(map(quoted, graph.classes))
    lines = []
    for label, entry in zip(labels, data["per_class"], strict=True):
        shown: list[Cell | str] = [label, rows_text(entry["support"]), rows_text(entry["predicted"])]
        for rate, of in (("precision", "predicted"), ("recall", "support")):
            share, ends = entry[rate], entry[f"{rate}_interval"]
            shown += [bounded_share(share, *ends), Cell(bar=ShareBar(share, *ends))] if entry[of] > 0 else ["–", ""]
        lines.append([*shown, f"{entry['f1']:.3f}"])
    confusion: list[Line] = [
        (label, *(Cell(rows_text(n), tone="good" if j == k else "plain") for j, n in enumerate(row)))
        for k, (label, row) in enumerate(zip(labels, found.confusion, strict=True))
    ]
    titles = ("class", "rows#", "decided#", "precision#", "|", "recall#", "|", "F1#")
    below = "Precision: of the rows decided so, those that are; recall: of those that are, the ones decided so."
    decided = [TableColumn(f"decided {label}", "number") for label in labels]
    by_class = table("By class", titles, lines, below)
    return [Facts(pairs), by_class, table("Confusion", ("rows that are", *decided), confusion)]


# Probabilities -------------------------------------------------------------------------------------------------------


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
    named = [(quoted(graph.classes[k]), curves[k], decides[k]) for k in asked if curves[k]]
    blocks: list[Block] = []
    if not pictures_can_be_drawn():
        blocks += [Text(NO_PICTURES, "quiet"), *(_operating_table(label, points) for label, points, _ in named)]
    else:
        if named:
            some = f" of the first {MOST_CURVES}" if len(named) > MOST_CURVES else ""
            said = "True positive rate against false positive rate of the reported probability; "
            said += "; ".join(f"{label} is decided at {_point(at)}" for label, _, at in named)
            blocks.append(Picture(f"Operating characteristic{some}", operating_picture(named), said))
        error = share_text(found.error)
        said = f"Observed against reported probability of {what}, by tenths; calibration error {error}"
        blocks.append(Picture("Calibration", calibration_picture(found), said))
    return [*blocks, _calibration_table(found, what)]


def happened_where_reported(subject: Subject, rows: MeasuredRows) -> tuple[Any, Any, str]:
    """What a reported probability [n] is of, and where that happened [n]: the positive class, or the likeliest one."""
    if subject.binary:
        return rows.y == 1, rows.chances[:, 1], quoted(subject.graph.classes[1])
    best = rows.chances.argmax(axis=1)
    return rows.y == best, rows.chances.max(axis=1), "the most probable class"


def _decides_at(rows: MeasuredRows, k: int) -> list[float] | None:
    """False and true positive rate of the decision for a class; None where one is not defined."""
    own, given = rows.y == k, rows.decided == k
    masses = [rows.mass[among].sum() for among in (~own, own)]
    if not all(masses):
        return None
    return [float(rows.mass[given & among].sum() / mass) for among, mass in zip((~own, own), masses, strict=True)]


def _point(at: Sequence[float] | None) -> str:
    if at is None:
        return "no point"
    return f"true positive rate {share_text(at[1])}, false positive rate {share_text(at[0])}"


def _operating_table(label: str, points: Sequence[OperatingPoint]) -> ReportTable:
    kept = points if len(points) <= 21 else [points[k] for k in np.linspace(0, len(points) - 1, 21).round().astype(int)]
    titles = ("decided where reported at least#", "false positive rate#", "true positive rate#")
    lines = [
        (
            "nowhere" if point.threshold is None else number_text(point.threshold),
            share_text(point.false_positive_rate),
            share_text(point.true_positive_rate),
        )
        for point in kept
    ]
    return table(f"Operating characteristic of {label}", titles, lines)


def _calibration_table(found: Calibration, what: str) -> ReportTable:
    lines = [
        (
            share_text(each.mean_probability),
            rows_text(each.rows),
            bounded_share(each.happened, each.low, each.high),
            Cell(bar=ShareBar(each.happened, each.low, each.high, each.mean_probability)),
        )
        for each in found.bins
    ]
    below = (
        f"Rows by tenths of the reported probability of {what}: its mean, and how often that happened; the tick is "
        f"what was reported. Mean distance {share_text(found.error)}; Brier score {number_text(found.brier, 3)}."
    )
    return table("Calibration", ("reported#", "rows#", "observed#", "|"), lines, below)


def bounds_section(subject: Subject) -> ReportSection:
    """What `rulekit bounds` says of the same rows."""
    found = bounds_of(subject.graph, subject.rows)
    lines = ((line.startswith(" "), line.lstrip()) for line in bound_lines(found))
    blocks = [(Text if below else Heading)(text[0].upper() + text[1:]) for below, text in lines]
    return ReportSection("bounds", "How sure the error is", blocks, asdict(found))


# Groups --------------------------------------------------------------------------------------------------------------

NONE_ASKED = (
    "No groups were asked for: `--by COL` measures those of a column of the rows, and columns that were given the role "
    "audit in training are measured by themselves."
)
SAID = (
    "A difference is in percentage points, a ratio is a quotient, each against the group of reference, which is the "
    "one of most weight. In brackets 95 % intervals: exact ones of rates, and joined exact limits of differences and "
    "ratios (docs/report.md). With many groups some intervals miss by chance. A difference says nothing of its cause."
)
_MEANINGS = {
    "selection rate": "rows decided for it, of all",
    "true positive rate": "decided for it, of the rows that are",
    "false positive rate": "decided for it, of the rows that are not",
    "accuracy": "decided rightly, of all",
    "precision": "those that are, of the rows decided for it",
}


def parities_of(subject: Subject) -> tuple[Parity, ...]:
    """The figures of every grouping for the positive class, or of more classes for each."""
    rows, graph = subject.rows, subject.graph
    if rows is None:
        return ()
    asked = [1] if subject.binary else range(len(graph.classes))
    return tuple(
        parity(grouping, graph.classes[k], rows.y == k, rows.decided == k, rows.weight)
        for grouping in rows.groups
        for k in asked
    )


def groups_section(subject: Subject, found: Sequence[Parity]) -> ReportSection:
    """A table for each grouping and rate."""
    rows = subject.rows
    blocks: list[Block] = [Text(SAID, "quiet")]
    if rows is None:
        blocks = [Text("No labelled rows were given, so no groups are measured.", "note")]
    elif not found:
        blocks = [Text(NONE_ASKED, "note")]
    elif rows.weight is not None:
        blocks.append(Text(WEIGHTED, "quiet"))
    blocks += [block for each in found for block in _by_group(each)]
    data = {"groupings": [{**asdict(each), "largest_difference": each.spread} for each in found]}
    return ReportSection("groups", "Figures by group", blocks, data)


def _by_group(found: Parity) -> list[Block]:
    spread = [
        f"{key} {share_text(value).replace(' %', '')}" for key, value in found.spread.items() if value is not None
    ]
    said = f"Largest differences between two groups, in percentage points: {', '.join(spread) or 'none'}."
    blocks: list[Block] = [Heading(f"By {name(found.column)}, of {quoted(found.label)}"), Text(said)]
    if any(group.effective_n != group.rows for group in found.groups):
        of_rows = [
            (each.name, rows_text(each.rows), share_text(each.share_of_rows), rows_text(round(each.effective_n, 1)))
            for each in found.groups
        ]
        blocks.append(table("Groups", ("group", "rows#", "share#", "effective rows#"), of_rows))
    titles = ("group", "rows#", "rate#", "|", "difference#", "ratio#")
    for measure in MEASURES:
        base = next(group for group in found.groups if group.name == found.reference).rate(measure)
        lines: list[list[str | Cell]] = []
        for group in found.groups:
            rate = group.rate(measure)
            bar = None if rate.share is None else ShareBar(rate.share, rate.low, rate.high, base.share)
            compared = [compared_text(rate.difference, 100.0, signed=True), compared_text(rate.ratio, places=2)]
            if group.name == found.reference:
                compared = ["reference"] * 2
            head = Cell(group.name, marks=("few rows",) if rate.effective_n < SMALL else ())
            share = bounded_share(rate.share, rate.low, rate.high)
            lines.append([head, rows_text(rate.rows), share, Cell(bar=bar), *compared])
        blocks.append(table(f"{measure[0].upper()}{measure[1:]}: {_MEANINGS[measure]}", titles, lines))
    return blocks
