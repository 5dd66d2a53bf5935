"""How each object is shown: as HTML below the cell of a notebook, or on a terminal. What `rulekit.views` asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rulekit.graph.rule_graph import RuleGraph
from rulekit.notebook.bars import bar_of, shell
from rulekit.notebook.html import estimator_html, graph_html, ladder_html, path_html, report_html
from rulekit.shown import view

__all__ = ["bar_of", "html_of", "show"]

_HTML: dict[str, Callable[[Any], str]] = {  # by name, so that nothing is imported to show another object
    "RuleGraph": graph_html,
    "Ladder": ladder_html,
    "RuleClassifier": estimator_html,
    "ModelPath": path_html,
    "Report": report_html,
}


def html_of(thing: Any) -> str:
    """The HTML of a model, a ladder, an estimator, a path of sizes or a report of a verification."""
    make = next(_HTML[cls.__name__] for cls in type(thing).__mro__ if cls.__name__ in _HTML)
    return make(thing)


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
