"""How each object is shown, its rules as a frame, and a bar while an estimator learns, in a notebook or on a terminal.

What `rulekit.views` asks. The HTML is self-contained, without scripts, legible on light and on dark pages. Every text
comes from where the terminal's comes from (rulekit.shown.sections). Names, levels and labels of a table are foreign
text: they are printed on one line (rulekit.names.printable) and escaped.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import cache
from html import escape
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rulekit.audit.report.layouts import environment, place
from rulekit.errors import InputError
from rulekit.graph.language.figures import LARGEST_EXACT_INTEGER, TABLES, RuleFigures, rule_figures
from rulekit.graph.language.words import percent, quoted, weight
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import added_rules, counts, rules_of
from rulekit.names import label_text, printable
from rulekit.shown import view
from rulekit.shown.score_cards import total_table
from rulekit.shown.sections import closing, legend_of, links, missing_note, reported, sections, summary
from rulekit.work.progress import Learning, RunProgress

if TYPE_CHECKING:
    from jinja2 import Environment

    from rulekit.graph.model_parts import Ladder
    from rulekit.learners.base import RuleClassifier
    from rulekit.learners.sizes.path import ModelPath
    from rulekit.shown.path_points import PathPoint
    from rulekit.verification.report import Report

__all__ = ["bar_of", "html_of", "rules_frame", "show"]

_MOST_SIZES = 60
_MOST_WORDS = 300
STRIP = 120
"""Width of the strip, in pixels, on which shares from 0 to 1 are drawn."""


def html_of(thing: Any) -> str:
    """The HTML of a model, a ladder, an estimator, a path of sizes or a report of a verification."""
    return next(_HTML[cls.__name__] for cls in type(thing).__mro__ if cls.__name__ in _HTML)(thing)


def show(graph: RuleGraph, full: bool = False, width: int | None = None) -> None:
    """Show the rules to a person: as HTML in a notebook, else as text on standard output.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    full : bool
        With every level of every set, and the weighted rules behind reported probabilities.
    width : int or None
        Columns of text; None asks the terminal.

    """
    if shell() is None:
        print(view.show(graph, width, full), end="")
        return
    from IPython.display import HTML, display

    display(HTML(graph_html(graph, full)))


# HTML ---------------------------------------------------------------------------------------------------------------


@cache
def _templates() -> Environment:
    made = environment(Path(__file__).parent / "templates")
    made.filters.update(percent=percent, weight=weight, place=lambda share: place(share, STRIP))
    return made


def _rendered(template: str, **values: Any) -> str:
    return _templates().get_template(template).render(strip=STRIP, **values)


# Models --------------------------------------------------------------------------------------------------------------


def graph_html(graph: RuleGraph, full: bool = False) -> str:
    """The rules of a model with their figures; full: every level of every set."""
    return _rendered("graph.html", graph=_model(graph, full))


def _model(graph: RuleGraph, full: bool = False) -> dict[str, Any]:
    parts, behind, size = sections(graph, full), reported(graph, full), counts(graph)
    used, known, n = graph.used_features, len(graph.schema), len(graph.classes)
    return {
        "title": f"{graph.schema.target}: {' or '.join([*map(quoted, graph.classes[:6]), '...'][:n])}",
        "size": str(size),
        "columns": f"{len(used)} of {known} columns",
        "digest": graph.digest[:12],
        "sections": parts,
        "weighted": any(row.weight is not None for part in (*parts, *behind) for row in part.rows),
        "closing": [text for text in (closing(graph), missing_note(graph), legend_of(parts)) if text],
        "summary": summary(graph).partition("; ")[0] or links(graph),
        "behind": behind,
        "totals": total_table(graph),
        "legend": "" if legend_of(parts) else legend_of(behind),
    }


# Estimators ----------------------------------------------------------------------------------------------------------


def estimator_html(estimator: RuleClassifier) -> str:
    """The rules of a fitted estimator and its error; of one not fitted the parameters that differ from the default."""
    graph = getattr(estimator, "rule_graph_", None)
    return _rendered(
        "estimator.html",
        name=type(estimator).__name__,
        parameters=_changed(estimator),
        facts=[] if graph is None else _facts(estimator),
        graph=None if graph is None else _model(graph),
    )


def _changed(estimator: RuleClassifier) -> list[tuple[str, str]]:
    """The parameters that are not as by default, in the order in which they are declared, and their values as text."""
    changed = []
    for name, parameter in estimator.parameters.items():
        value, default = estimator.given_parameters()[name], parameter.default
        text = repr(value)
        if value is not default and (type(value) is not type(default) or text != repr(default)):
            changed.append((name, text if len(text) <= _MOST_WORDS else f"{text[:_MOST_WORDS]} ..."))
    return changed


def _facts(estimator: RuleClassifier) -> list[tuple[str, str]]:
    path, provenance = estimator.path_, estimator.rule_graph_.provenance
    known = path.errors.get(path.size)
    facts = {
        "cross-validated error": "" if known is None else error_text(*known[:2]),
        "size": path.size_text(provenance["units"]),
        "chosen": path.why,
        "trained on": f"{provenance['rows']:,} rows" if "rows" in provenance else "",
        "stopped early": str(provenance.get("stopped", "")),
    }
    return [(name, text) for name, text in facts.items() if text]


def error_text(error: float, deviation: float | None) -> str:
    """`6.1 % ± 0.4`: an error rate and its standard error, in per cent."""
    beside = f" ± {100 * deviation:.1f}" if deviation else ""
    return f"{100 * error:.1f} %{beside}"


# Sizes ---------------------------------------------------------------------------------------------------------------


def path_html(path: ModelPath) -> str:
    """The sizes of a fit with their errors, for each class that has a path of its own."""
    by_label: dict[Any, list[PathPoint]] = {}
    for point in path.points:
        by_label.setdefault(point.label, []).append(point)
    tables = []
    for label, points in by_label.items():
        shown = {"label": quoted(label), "points": points[:_MOST_SIZES], "hidden": len(points) - _MOST_SIZES}
        uppers = [point.training_error for point in points]
        uppers += [p.held_out_error + (p.standard_error or 0.0) for p in points if p.held_out_error is not None]
        tables.append(shown | {"largest": max(uppers) or 1.0})  # the width of the strip
    return _rendered("sizes.html", name="Path of sizes", choice=path.choice, noun=path.noun, tables=tables)


def ladder_html(ladder: Ladder) -> str:
    """The rows of a ladder: rules, literals, error, and the rules that each adds to the row before."""
    rungs = ladder.rungs[:_MOST_SIZES]
    uppers = [rung.error + (rung.standard_error or 0.0) for rung in rungs if rung.error is not None]
    largest = max(uppers, default=0.0) or 1.0
    rows = []
    for rung, added in zip(rungs, added_rules(ladder), strict=False):
        mark = "taken" if rung.size == ladder.chosen else "as good" if rung.size == ladder.smallest else ""
        row = {"chosen": rung.size == ladder.chosen, "mark": mark, "rules": rung.rules, "literals": rung.literals}
        row |= {"error": "", "share": None}
        if rung.error is not None:  # the ends of the standard error stand beside it, as shares of the largest
            spread = rung.standard_error or 0.0
            row |= {"error": error_text(rung.error, rung.standard_error), "share": rung.error / largest}
            row |= {"low": (rung.error - spread) / largest, "high": (rung.error + spread) / largest}
        ids, several, classes = {rule.id for rule in added}, len(rung.model.classes) > 2, rung.model.classes
        shown = [row_ for part in sections(rung.model) for row_ in part.rows if row_.id in ids]
        row["added"] = [each.text + f"  → {quoted(classes[each.class_index])}" * several for each in shown]
        rows.append(row)
    return _rendered("ladder.html", why=ladder.why, rungs=rows, hidden=len(ladder.rungs) - len(rungs))


# Reports -------------------------------------------------------------------------------------------------------------


def report_html(report: Report) -> str:
    """What a verification found: the verdict, what was proved and compared, and the row that shows a difference."""
    found = report.counter_example
    facts = (
        ("decisions", report.conclusion if report.ok else f"{report.different_decisions:,} different"),
        ("rows compared", f"{report.adversarial_rows:,} beside every cut, {report.given_rows:,} given"),
        ("probabilities", f"within {report.largest_gap:.1g}"),
        ("rules inside", report.suspicion or report.carried),
        ("basis", f"{report.basis}: {report.basis_reason}" if report.basis_reason else report.basis),
        ("model", report.digest[:12]),
        ("artifact", f"{report.target}, sha256 {report.sha256[:12]}" if report.sha256 else report.target),
    )
    difference = ""
    if found is not None and found.expected != found.found:
        difference = f"{found.expected!r} expected, {found.found!r} found"
    elif found is not None:
        expected, other = list(found.expected_probabilities), list(found.found_probabilities)
        difference = f"probabilities {expected} expected, {other} found"
    return _rendered(
        "report.html",
        ok=report.ok,
        verdict="verified" if report.ok else report.failure,
        facts=[(name, text) for name, text in facts if text],
        problems=(*report.misstated, *report.threshold_differences),
        row=[] if found is None else [(name, repr(value)) for name, value in found.row.items()],
        difference=difference,
    )


_HTML: dict[str, Callable[[Any], str]] = {  # by name, so that nothing is imported to show another object
    "RuleGraph": graph_html,
    "Ladder": ladder_html,
    "RuleClassifier": estimator_html,
    "ModelPath": path_html,
    "Report": report_html,
}


# Frames --------------------------------------------------------------------------------------------------------------

LIBRARIES = ("polars", "pandas")
_NOTHING = RuleFigures("", 0)


def rules_frame(graph: RuleGraph, library: str = "polars") -> Any:
    """Give the rules as a frame, one row a rule.

    Parameters
    ----------
    graph : RuleGraph
        The model.
    library : "polars" or "pandas"
        Whose frame.

    Returns
    -------
    DataFrame
        id, class, rule, literals, weight, then of the training rows: rows, right, low, high, base_rate, and of
        held-out rows the same under held_out_rows, ... (rulekit.notebook.display).

    """
    if library not in LIBRARIES:
        raise InputError(f"library is {library!r}", where="to_frame", fix=" or ".join(LIBRARIES))
    if find_spec(library) is None:
        raise InputError(f"{library} is not installed", where="to_frame", fix=f"pip install {library}")
    columns = _columns(graph)
    if library == "pandas":
        import pandas

        return pandas.DataFrame(columns)
    import polars

    # A column of nulls alone does not tell its type.
    kinds: dict[str, Any] = dict.fromkeys(("id", "class", "rule"), polars.String)
    kinds |= dict.fromkeys(("literals", "rows", "held_out_rows"), polars.Int64)
    return polars.DataFrame(columns, schema={name: kinds.get(name, polars.Float64) for name in columns})


def _columns(graph: RuleGraph) -> dict[str, list[Any]]:
    rules, figures = rules_of(graph), rule_figures(graph)
    texts = {(row.class_index, row.id): row.text for part in sections(graph, full=True) for row in part.rows}
    found: dict[str, list[Any]] = {
        "id": [rule.id for rule in rules],
        "class": [label_text(graph.classes[rule.class_index]) for rule in rules],
        "rule": [texts[rule.class_index, rule.id] for rule in rules],
        "literals": [min(rule.literals, LARGEST_EXACT_INTEGER) for rule in rules],
        "weight": [rule.weight if rule.connective == "sum" else None for rule in rules],
    }
    for title, prefix in ((TABLES["train"], ""), (TABLES["held_out"], "held_out_")):
        by_table = ({f.table: f for f in figures.get((rule.class_index, rule.id), ())} for rule in rules)
        of = [own.get(title) for own in by_table]
        found[f"{prefix}rows"] = [None if f is None else f.n for f in of]
        for name, column in (("share", "right"), ("low", "low"), ("high", "high"), ("base_rate", "base_rate")):
            found[f"{prefix}{column}"] = [getattr(f or _NOTHING, name) for f in of]
    return found


# A bar ----------------------------------------------------------------------------------------------------------------

Bar = Callable[[str, float | None, str], None]
"""Shows what is done now, its share from 0 to 1 (None: not known), and what remains in words."""

_EVERY = 0.1
"""Seconds between two changes of a bar."""


def shell() -> Any:
    """The running notebook's shell, None where there is none: on a terminal, IPython's too, and in a script."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


@contextmanager
def bar_of(learner: str) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """A bar that is moved by each step of a fit, as a callback gets them.

    Where output goes to a file, a line for each new label.
    """
    course = RunProgress(parts=(0.0, 0.1, 1.0))
    made = _cell() if shell() is not None else _terminal() if sys.stderr.isatty() else nullcontext(_lines())
    with made as show:

        def tell(step: Mapping[str, Any]) -> None:
            standing = course.take(Learning(learner, step))
            show(standing.label, standing.share, standing.remaining)

        show(f"{learner}: reading the rows", None, "")
        yield tell


def _lines() -> Bar:
    last = ""

    def show(label: str, share: float | None, remaining: str) -> None:
        nonlocal last
        if label != last:
            print(printable(label), file=sys.stderr)
        last = label

    return show


@contextmanager
def _terminal() -> Iterator[Bar]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[remaining]}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("learning", total=None, remaining="")

        def show(label: str, share: float | None, remaining: str) -> None:
            total = None if share is None else 1.0
            shown.update(task, description=printable(label), total=total, completed=share or 0.0, remaining=remaining)

        yield show


@contextmanager
def _cell() -> Iterator[Bar]:
    """One display below the cell, which is emptied at the end."""
    from IPython.display import HTML, display

    handle: Any = display(HTML(_line("learning", None, "")), display_id=True)
    last = 0.0

    def show(label: str, share: float | None, remaining: str) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            handle.update(HTML(_line(label, share, remaining)))

    try:
        yield show
    finally:
        handle.update(HTML(""))


def _line(label: str, share: float | None, remaining: str) -> str:
    value = "" if share is None else f' value="{share:.3f}"'
    return (
        '<div style="font: 13px system-ui, sans-serif; color: inherit">'
        f'<progress max="1"{value} style="width: 16em; vertical-align: middle"></progress> '
        f'{escape(printable(label))} <span style="opacity: .72">{escape(remaining)}</span></div>'
    )
