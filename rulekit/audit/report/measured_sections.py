"""How well a model does: accuracy, confusion, operating characteristic, calibration, bounds, and figures by group."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from rulekit.audit.figures import rates
from rulekit.audit.figures.curves import draw_calibration, draw_operating
from rulekit.audit.figures.fidelity import kept_fidelity
from rulekit.audit.figures.metrics import Figures, figures, kept_figures
from rulekit.audit.guarantees import bound_lines, bounds_of
from rulekit.audit.report.blocks import (
    Block,
    Cell,
    Facts,
    Items,
    Line,
    Picture,
    ReportSection,
    ReportTable,
    Text,
    table,
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
NO_PICTURES = "Without matplotlib there are tables in the place of pictures: pip install 'rulekit-portable[plot]'."


def performance_section(subject: Subject) -> ReportSection:
    """The figures on the rows that were given, and those of the training."""
    graph, rows, kept = subject.graph, subject.rows, kept_figures(subject.graph)
    data: dict[str, Any] = {}
    blocks: list[Block] = []
    if rows is None:
        blocks.append(Text(NO_ROWS, "note"))
    else:
        overlap = None if rows.overlap is None else asdict(rows.overlap)
        found = figures(rows.y, rows.decided, rows.chances, graph.classes, rows.weight)
        data["given"] = _data(found, rows.effective_n) | {"rows_of": rows.name, "training_rows": overlap}
        known = f" {str(rows.overlap)[0].upper()}{str(rows.overlap)[1:]}." if rows.overlap is not None else ""
        weighted = f", weighted by {rows.weight_column}" if rows.weight is not None and rows.weight_column else ""
        whose = f"On {rows_text(len(rows))} rows of {rows.name}{weighted}.{known}"
        blocks += [
            Text(whose, "note" if rows.overlap and rows.overlap.seen else "plain"),
            *_figures(data["given"], graph),
        ]
        blocks += [Text(WEIGHTED, "quiet")] * (rows.weight is not None)
        blocks += _curves(subject, rows, data["given"])
    if kept is not None:
        own = _data(kept.figures, _rows_of_kept(kept.figures)) | {"rows_of": kept.measured_on}
        data["in_training"] = own
        if rows is None or any(data["given"][key] != own[key] for key in ("rows", "confusion", "log_loss")):
            blocks += [Text("As measured when it was trained", "heading"), Text(f"On {kept.measured_on}.")]
            blocks += _figures(own, graph)
    if taught := kept_fidelity(graph):
        blocks += [Text("Beside its teacher", "heading"), Items(taught)]
        data["teacher"] = taught
    return ReportSection("performance", "How well it does", blocks, data)


def _rows_of_kept(found: Figures) -> float | None:
    """The effective rows of figures of which only the standard error is known."""
    if sum(map(sum, found.confusion)) == found.rows:
        return float(found.rows)
    spread = found.accuracy * (1.0 - found.accuracy)
    return spread / found.accuracy_error**2 if found.accuracy_error > 0.0 else None


def _data(found: Figures, effective: float | None) -> dict[str, Any]:

    def interval(share: float, n: float | None) -> list[float | None]:
        return [finite(float(end)) for end in rates.exact_bounds(share, n)] if n else [None, None]

    data = found.as_dict()
    total = sum(map(sum, found.confusion))
    scale = 0.0 if effective is None or not total else effective / total
    data |= {"effective_n": effective, "accuracy_interval": interval(found.accuracy, effective)}
    for entry in data["per_class"]:
        entry["precision_interval"] = interval(entry["precision"], entry["predicted"] * scale)
        entry["recall_interval"] = interval(entry["recall"], entry["support"] * scale)
    return data


def _figures(data: Mapping[str, Any], graph: RuleGraph) -> list[Block]:
    pairs = [
        ("accuracy", bounded_share(data["accuracy"], *data["accuracy_interval"])),
        ("most frequent class alone", share_text(data["majority_class_accuracy"])),
        ("area under the curve (AUC)", number_text(data["auc"])),
        ("mean F1 of the classes", number_text(data["macro_f1"])),
        ("log loss", f"{number_text(data['log_loss'])} nats"),
    ]
    labels = list(map(quoted, graph.classes))
    lines: list[Line] = []
    for label, entry in zip(labels, data["per_class"], strict=True):
        shown: list[Cell | str] = [label, rows_text(entry["support"]), rows_text(entry["predicted"])]
        for rate, of in (("precision", "predicted"), ("recall", "support")):
            shown += _share(entry[rate], *entry[f"{rate}_interval"]) if entry[of] > 0 else ["–", ""]
        lines.append([*shown, f"{entry['f1']:.3f}"])
    confusion: list[Line] = [
        (label, *(Cell(rows_text(n), tone="good" if j == k else "plain") for j, n in enumerate(row)))
        for k, (label, row) in enumerate(zip(labels, data["confusion"], strict=True))
    ]
    titles = ("class", "rows#", "decided#", "precision#", "|", "recall#", "|", "F1#")
    below = "Precision: of the rows decided so, those that are; recall: of those that are, the ones decided so."
    decided = [(f"decided {label}", "number") for label in labels]
    by_class = table("By class", titles, lines, below)
    return [Facts(pairs), by_class, table("Confusion", ("rows that are", *decided), confusion)]


def _share(share: float | None, low: float | None, high: float | None, tick: float | None = None) -> list[str | Cell]:
    return [bounded_share(share, low, high), Cell(bar=None if share is None else (share, low, high, tick))]


def _curves(subject: Subject, rows: MeasuredRows, data: dict[str, Any]) -> list[Block]:
    """The operating characteristic and the calibration, drawn where they can be, and as tables."""
    classes = subject.graph.classes
    happened, reported, what = rates.happened_where_reported(rows.y, rows.chances, classes)
    found = rates.calibration(happened, reported, rows.weight)
    data["roc"], named = [], []
    for k in range(subject.binary, len(classes)):
        points = rates.operating_points(rows.y == k, rows.chances[:, k], rows.weight)
        at = rates.decided_at(rows.y == k, rows.decided == k, rows.mass)
        data["roc"].append({"class": classes[k], "decides_at": at, "points": list(map(asdict, points))})
        named += [(quoted(classes[k]), points, at)] * bool(points)
    data["calibration"] = {"of": what, **asdict(found)}
    if find_spec("matplotlib") is None:
        drawn: list[Block] = [Text(NO_PICTURES, "quiet")]
        drawn += [_operating_table(label, points) for label, points, _ in named]
        return [*drawn, _calibration_table(found, what)]
    drawn = []
    if named:
        some = f" of the first {MOST_CURVES}" if len(named) > MOST_CURVES else ""
        said = "True positive rate against false positive rate of the reported probability; "
        where = "{} is decided at true positive rate {}, false positive rate {}"
        said += "; ".join(where.format(label, share_text(at[1]), share_text(at[0])) for label, _, at in named if at)
        # names are cut, and a dollar sign begins no formula
        short = ((label if len(label) <= 40 else f"{label[:39]}…", points, at) for label, points, at in named)
        curves = [(label.replace("$", r"\$"), points, at) for label, points, at in short][:MOST_CURVES]
        draw = partial(draw_operating, curves=curves, colours=SERIES, quiet=QUIET, paper=PAPER)
        drawn.append(Picture(f"Operating characteristic{some}", _svg(draw, "operating"), said))
    said = f"Observed against reported probability of {what}, by tenths; calibration error {share_text(found.error)}"
    svg = _svg(partial(draw_calibration, found=found, colour=SERIES[0], quiet=QUIET), "calibration")
    return [*drawn, Picture("Calibration", svg, said), _calibration_table(found, what)]


def _operating_table(label: str, points: Sequence[rates.OperatingPoint]) -> ReportTable:
    kept = points if len(points) <= 21 else [points[k] for k in np.linspace(0, len(points) - 1, 21).round().astype(int)]
    titles = ("decided where reported at least#", "false positive rate#", "true positive rate#")
    lines = []
    for point in kept:
        threshold = "nowhere" if point.threshold is None else number_text(point.threshold)
        lines.append((threshold, share_text(point.false_positive_rate), share_text(point.true_positive_rate)))
    return table(f"Operating characteristic of {label}", titles, lines)


def _calibration_table(found: rates.Calibration, what: str) -> ReportTable:
    lines: list[Line] = []
    for each in found.bins:
        seen = _share(each.happened, each.low, each.high, each.mean_probability)
        lines.append([share_text(each.mean_probability), rows_text(each.rows), *seen])
    below = (
        f"Rows by tenths of the reported probability of {what}: its mean, and how often that happened; the tick is "
        f"what was reported. Mean distance {share_text(found.error)}; Brier score {number_text(found.brier, 3)}."
    )
    return table("Calibration", ("reported#", "rows#", "observed#", "|"), lines, below)


# Pictures ------------------------------------------------------------------------------------------------------------
# As SVG that takes the colours and the type of the page (an extra, `plot`). Text stays text. Colours are drawn as marks
# and become variables of the page's style, so that one picture serves light and dark pages and print.

INK, QUIET, PAPER = "#010101", "#020202", "#030303"
SERIES = tuple(f"#04040{k}" for k in range(1, 7))
MOST_CURVES = len(SERIES)
_VARIABLES = {INK: "ink", QUIET: "quiet", PAPER: "paper"} | {
    colour: f"series-{k}" for k, colour in enumerate(SERIES, 1)
}
_REMOVED = (
    r"<metadata>.*?</metadata>",
    r"<style.*?</style>",  # it would hold for the whole page
    r" ?font-family: [^;\"]*;?",
    r'(?<=<g) id="[^"]*"',  # two pictures on one page would have the same
)


def _svg(draw: Callable[[Any], None], salt: str) -> str:
    """A figure as an element of a page: no prologue, no notes on its making, colours and type of the page."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    content = io.StringIO()
    metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
    inks = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), INK)
    sizes = {"xtick.labelsize": 9, "ytick.labelsize": 9}
    types = {"svg.hashsalt": salt, "svg.fonttype": "none", "font.family": "sans-serif"}
    with rc_context({**inks, **types, **sizes, "axes.edgecolor": QUIET}):
        figure = Figure(figsize=(4.6, 4.2), layout="constrained")
        draw(figure.add_subplot())
        FigureCanvasSVG(figure)
        figure.savefig(content, format="svg", transparent=True, metadata=metadata)
    text = content.getvalue()
    for pattern in _REMOVED:
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    for size in ("width", "height"):
        text = re.sub(rf'(<svg[^>]*?) {size}="[^"]*"', r"\1", text, count=1)
    for colour, variable in _VARIABLES.items():
        text = text.replace(colour, f"var(--{variable})")
    return re.sub(r"\s*\n\s*", "\n", text[text.index("<svg") :]).strip()


# Bounds and groups ----------------------------------------------------------------------------------------------------


def bounds_section(subject: Subject) -> ReportSection:
    """What `rulekit bounds` says of the same rows."""
    found = bounds_of(subject.graph, subject.rows)
    lines = ((line.startswith(" "), line.lstrip()) for line in bound_lines(found))
    blocks = [Text(text[0].upper() + text[1:], "plain" if below else "heading") for below, text in lines]
    return ReportSection("bounds", "How sure the error is", blocks, asdict(found))


NONE_ASKED = (
    "No groups were asked for: `--by COL` measures those of a column of the rows, and columns that were given the role "
    "audit in training are measured by themselves."
)
SAID = (
    "A difference is in percentage points, a ratio is a quotient, each against the group of reference, which is the "
    "one of most weight. In brackets 95 % intervals: exact ones of rates, and joined exact limits of differences and "
    "ratios (docs/report.md). With many groups some intervals miss by chance. A difference says nothing of its cause."
)
_MEANINGS = (
    "rows decided for it, of all",
    "decided for it, of the rows that are",
    "decided for it, of the rows that are not",
    "decided rightly, of all",
    "those that are, of the rows decided for it",
)


def groups_section(subject: Subject) -> ReportSection:
    """A table for each grouping and rate."""
    rows, found = subject.rows, subject.parities
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


def _by_group(found: rates.Parity) -> list[Block]:
    known = {key: value for key, value in found.spread.items() if value is not None}
    spread = ", ".join(f"{key} {share_text(value).replace(' %', '')}" for key, value in known.items()) or "none"
    said = f"Largest differences between two groups, in percentage points: {spread}."
    blocks: list[Block] = [Text(f"By {name(found.column)}, of {quoted(found.label)}", "heading"), Text(said)]
    if any(group.effective_n != group.rows for group in found.groups):
        of_rows = [
            (each.name, rows_text(each.rows), share_text(each.share_of_rows), rows_text(round(each.effective_n, 1)))
            for each in found.groups
        ]
        blocks.append(table("Groups", ("group", "rows#", "share#", "effective rows#"), of_rows))
    titles = ("group", "rows#", "rate#", "|", "difference#", "ratio#")
    for measure, meaning in zip(rates.MEASURES, _MEANINGS, strict=True):
        base = next(group for group in found.groups if group.name == found.reference).rate(measure)
        lines: list[Line] = []
        for group in found.groups:
            rate = group.rate(measure)
            compared = ("reference",) * 2 if group.name == found.reference else rate.compared
            head = Cell(group.name, marks=("few rows",) if rate.effective_n < rates.SMALL else ())
            lines.append([head, rows_text(rate.rows), *_share(rate.share, rate.low, rate.high, base.share), *compared])
        blocks.append(table(f"{measure[0].upper()}{measure[1:]}: {meaning}", titles, lines))
    return blocks
