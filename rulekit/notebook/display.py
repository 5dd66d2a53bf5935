"""Where something is shown: in the cell of a notebook, or on a terminal."""

from __future__ import annotations

import sys
from typing import Any

from rulekit.graph.rule_graph import RuleGraph
from rulekit.shown.view import show


def notebook() -> Any:
    """The running notebook's shell, None where there is none: on a terminal, IPython's too, and in a script."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell if getattr(shell, "kernel", None) is not None else None


def show_rules(graph: RuleGraph, full: bool, width: int | None) -> None:
    """The rules: HTML below the cell of a notebook, else text on standard output."""
    if notebook() is None:
        print(show(graph, width, full), end="")
        return
    from IPython.display import HTML, display

    from rulekit.notebook.html import graph_html

    display(HTML(graph_html(graph, full)))
