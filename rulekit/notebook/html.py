"""Models, sizes and reports as HTML for notebooks: self-contained, without scripts, legible on light and on dark pages.

Every text comes from where the terminal's comes from (rulekit.shown.sections). Names, levels and labels of a table are
foreign text: they are printed on one line (rulekit.names.printable) and escaped.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.graph.language.words import percent, quoted, weight
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts
from rulekit.graph.variants import added_rules
from rulekit.names import printable
from rulekit.shown.outline import legend
from rulekit.shown.score_cards import total_table
from rulekit.shown.sections import Section, closing, links, missing_note, reported, sections, summary

if TYPE_CHECKING:
    from jinja2 import Environment

    from rulekit.graph.model_parts import Ladder, Rung
    from rulekit.learners.base import RuleClassifier
    from rulekit.learners.sizes.path import ModelPath
    from rulekit.shown.path_points import PathPoint
    from rulekit.verification.report import Report

_MOST_SIZES = 60
_MOST_WORDS = 300
STRIP = 120
"""Width of the strip, in pixels, on which shares from 0 to 1 are drawn."""


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    folder = FileSystemLoader(Path(__file__).parent / "templates")
    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True, "undefined": StrictUndefined}
    made = Environment(loader=folder, autoescape=True, finalize=_plain, **options)
    made.filters.update(percent=percent, weight=weight, place=_place)
    return made


def _plain(value: Any) -> Any:
    """Foreign text on one line; what a template itself made of it (its marked-up texts) stays."""
    return printable(value) if type(value) is str else value


def _place(share: float) -> str:
    """Where a share stands on a strip, in pixels."""
    return f"{min(max(share, 0.0), 1.0) * STRIP:.1f}"


def _rendered(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(strip=STRIP, **values)


# Models --------------------------------------------------------------------------------------------------------------


def graph_html(graph: RuleGraph, full: bool = False) -> str:
    """The rules of a model with their figures; full: every level of every set."""
    return _rendered("graph.html", graph=_model(graph, full))


def _model(graph: RuleGraph, full: bool = False) -> dict[str, Any]:
    """What the templates say of a model."""
    parts, behind, size = sections(graph, full), reported(graph, full), counts(graph)
    used, known, n = graph.used_features, len(graph.schema), len(graph.classes)
    return {
        "title": f"{graph.schema.target}: {' or '.join([*map(quoted, graph.classes[:6]), '...'][:n])}",
        "size": str(size),
        "columns": f"{len(used)} of {known} columns",
        "digest": graph.digest[:12],
        "sections": parts,
        "weighted": any(row.weight is not None for part in (*parts, *behind) for row in part.rows),
        "closing": [text for text in (closing(graph), missing_note(graph), _legend(parts)) if text],
        "summary": summary(graph).partition("; ")[0] or links(graph),
        "behind": behind,
        "totals": total_table(graph),
        "legend": "" if _legend(parts) else _legend(behind),
    }


def _legend(parts: Iterable[Section]) -> str:
    return legend([line.weight for part in parts for row in part.rows for line in row.outline if line.weight])


# Estimators ----------------------------------------------------------------------------------------------------------


def estimator_html(estimator: RuleClassifier) -> str:
    """The rules of a fitted estimator and its error; of one not fitted the parameters that differ from the default."""
    graph = getattr(estimator, "rule_graph_", None)
    return _rendered(
        "estimator.html",
        name=type(estimator).__name__,
        parameters=changed_parameters(estimator),
        facts=[] if graph is None else _facts(estimator),
        graph=None if graph is None else _model(graph),
    )


def changed_parameters(estimator: RuleClassifier) -> list[tuple[str, str]]:
    """The parameters that are not as by default, in the order in which they are declared, and their values as text."""
    values = estimator.given_parameters()
    return [
        (name, _short(values[name]))
        for name, parameter in estimator.parameters.items()
        if not _same(values[name], parameter.default)
    ]


def _same(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS]} ..."


def _facts(estimator: RuleClassifier) -> list[tuple[str, str]]:
    """What a reader wants to know of a fit before its rules."""
    path, graph = estimator.path_, estimator.rule_graph_
    known = path.errors.get(path.size)
    facts = [] if known is None else [("cross-validated error", error_text(*known[:2]))]
    facts += [("size", path.size_text(graph.provenance["units"]))]
    facts += [("chosen", path.why)] if path.why else []
    facts += [("trained on", f"{graph.provenance['rows']:,} rows")] if "rows" in graph.provenance else []
    facts += [("stopped early", str(graph.provenance["stopped"]))] if "stopped" in graph.provenance else []
    return facts


def error_text(error: float, deviation: float | None) -> str:
    """`6.1 % ± 0.4`: an error rate and its standard error, in per cent."""
    beside = f" ± {100 * deviation:.1f}" if deviation else ""
    return f"{100 * error:.1f} %{beside}"


# Sizes ---------------------------------------------------------------------------------------------------------------


def path_html(path: ModelPath) -> str:
    """The sizes of a fit with their errors, for each class that has a path of its own."""
    return _rendered("sizes.html", name="Path of sizes", choice=path.choice, noun=path.noun, tables=_tables(path))


def _tables(path: ModelPath) -> list[dict[str, Any]]:
    """By class the points, and the largest error among them, which is the width of the strip."""
    tables: dict[Any, list[PathPoint]] = {}
    for point in path.points:
        tables.setdefault(point.label, []).append(point)
    return [
        {
            "label": quoted(label),
            "points": points[:_MOST_SIZES],
            "hidden": len(points) - _MOST_SIZES,
            "largest": max(_upper(point) for point in points) or 1.0,
        }
        for label, points in tables.items()
    ]


def _upper(point: PathPoint) -> float:
    held = 0.0 if point.held_out_error is None else point.held_out_error + (point.standard_error or 0.0)
    return max(held, point.training_error)


def ladder_html(ladder: Ladder) -> str:
    """The rows of a ladder: rules, literals, error, and the rules that each adds to the row before."""
    rungs = ladder.rungs[:_MOST_SIZES]
    uppers = [rung.error + (rung.standard_error or 0.0) for rung in rungs if rung.error is not None]
    largest = max(uppers, default=0.0) or 1.0
    rows = [
        {
            "chosen": rung.size == ladder.chosen,
            "mark": "taken" if rung.size == ladder.chosen else "as good" if rung.size == ladder.smallest else "",
            "rules": rung.rules,
            "literals": rung.literals,
            "error": "" if rung.error is None else error_text(rung.error, rung.standard_error),
            **_strip(rung, largest),
            "added": _added(rung.model, {rule.id for rule in added}),
        }
        for rung, added in zip(rungs, added_rules(ladder), strict=False)
    ]
    return _rendered("ladder.html", why=ladder.why, rungs=rows, hidden=len(ladder.rungs) - len(rungs))


def _strip(rung: Rung, largest: float) -> dict[str, float | None]:
    """Where the error of a row and the ends of its standard error stand, as shares of the largest."""
    if rung.error is None:
        return dict.fromkeys(("share", "low", "high"))
    spread = rung.standard_error or 0.0
    ends = {"share": rung.error, "low": rung.error - spread, "high": rung.error + spread}
    return {name: value / largest for name, value in ends.items()}


def _added(graph: RuleGraph, ids: Collection[str]) -> list[str]:
    """The rules of these ids as text; of several classes with the class."""
    several = len(graph.classes) > 2
    return [
        f"{row.text}  → {quoted(graph.classes[row.class_index])}" if several else row.text
        for part in sections(graph)
        for row in part.rows
        if row.id in ids
    ]


# Reports -------------------------------------------------------------------------------------------------------------


def report_html(report: Report) -> str:
    """What a verification found: the verdict, what was proved and compared, and the row that shows a difference."""
    found = report.counter_example
    facts: Sequence[tuple[str, str]] = (
        ("decisions", report.conclusion if report.ok else f"{report.different_decisions:,} different"),
        ("rows compared", f"{report.adversarial_rows:,} beside every cut, {report.given_rows:,} given"),
        ("probabilities", f"within {report.largest_gap:.1g}"),
        ("rules inside", report.suspicion or report.carried),
        ("basis", f"{report.basis}: {report.basis_reason}" if report.basis_reason else report.basis),
        ("model", report.digest[:12]),
        ("artifact", f"{report.target}, sha256 {report.sha256[:12]}" if report.sha256 else report.target),
    )
    return _rendered(
        "report.html",
        ok=report.ok,
        verdict="verified" if report.ok else report.failure,
        facts=[(name, text) for name, text in facts if text],
        problems=(*report.misstated, *report.threshold_differences),
        row=[] if found is None else [(name, repr(value)) for name, value in found.row.items()],
        difference="" if found is None else _difference(report),
    )


def _difference(report: Report) -> str:
    found = report.counter_example
    assert found is not None
    if found.expected != found.found:
        return f"{found.expected!r} expected, {found.found!r} found"
    return f"probabilities {list(found.expected_probabilities)} expected, {list(found.found_probabilities)} found"
