"""AdaBoost's theorem and the margins of the training rows in words, from the rounds that a model file says of itself.

A file may have brought the note, so that what is none, or is of another model, is taken for none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rulekit.graph.decisions import Median
from rulekit.graph.language.words import counted, quoted
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import wrapped
from rulekit.shown.score_cards import TotalTable, table_lines

WORDS = (
    "edge: how much better than guessing a round is; Z: by what it changes the sum of the weights; bound: the product "
    "of all Z; edge bound: exp(-2 * the sum of all squared edges); margin: votes for a row's class less those against "
    "it, over all votes"
)
_MOST, _SHOWN, _MARGINS = 100_000, {1, 2, 5, 10, 20, 50}, ("least", "5 %", "25 %", "50 %", "75 %", "95 %", "largest")


def rounds_tables(graph: RuleGraph, full: bool = False) -> list[tuple[TotalTable, str]]:
    """For each question the theorem with a table of rounds, and the margins; full: of all, not a few and the last.

    Empty where the provenance says nothing of this very model.
    """
    if graph.provenance.get("rounds_of") != graph.digest:
        return []
    which = " or higher" if isinstance(graph.decision, Median) else " against the rest"
    labels = [quoted(graph.classes[part.class_index]) for part in graph.decision.parts]
    about = [f" for {label}{which}" if len(graph.classes) > 2 else "" for label in labels]
    try:
        both = zip(about, graph.provenance["rounds"], graph.provenance["units"], strict=True)
        return [_table(name, said, n, full) for name, said, n in both if n != 0]
    except (KeyError, TypeError, ValueError):
        return []


@np.errstate(all="ignore")  # what is no number of a round is refused below
def _table(about: str, said: Any, n: Any, full: bool) -> tuple[TotalTable, str]:
    """Those of one question; raises KeyError, TypeError or ValueError for what AdaBoost does not do."""
    edge, z, error = np.array([said[name][:n] for name in ("edge", "z", "error")])
    bound, edge_bound, found = np.cumprod(z), np.exp(-2.0 * np.cumsum(edge * edge)), np.array(said["margins"][str(n)])
    possible = (np.abs(edge) <= 0.5) & (z >= 0.0) & (z <= 1.001) & (error >= 0.0) & (error <= bound + 1e-6)
    shapes = edge.shape, found.shape
    if shapes != ((min(n, _MOST),), (len(_MARGINS),)) or not possible.all() or not (np.abs(found) <= 1.0).all():
        raise ValueError("no rounds of AdaBoost")
    kept = [t for t in range(n) if full or t + 1 in _SHOWN or t + 1 == n]
    lines = [("round", tuple(str(t + 1) for t in kept))]
    lines += [(name, tuple(f"{value:.4f}" for value in each[kept])) for name, each in (("edge", edge), ("Z", z))]
    for name, each in (("bound", bound), ("edge bound", edge_bound), ("wrong", error)):
        percents = np.ceil(1e4 * each[kept] - 1e-6) / 100.0 + 0.0  # up: a bound stays one, 0.00 is none, and no -0
        lines.append((f"{name} in %", tuple(f"{percent:.2f}" for percent in percents)))
    most, wrong = lines[3][1][-1], lines[5][1][-1]
    rows = f"{'the weight of ' if said['weighted'] is True else ''}the training rows"
    theorem = f"AdaBoost's theorem{about}: after {counted(n, 'round')} at most {most} % of {rows} can be wrong"
    margins = ", ".join(f"{name} {margin:.3f}" for name, margin in zip(_MARGINS, found, strict=True))
    return TotalTable(f"{theorem}; {wrong} % are", (), tuple(lines)), f"margins: {margins}"


def rounds_lines(graph: RuleGraph, width: int, full: bool = False) -> list[str]:
    """The theorem in lines of so many columns; full: all rounds, of several classes too."""
    tables, lines = rounds_tables(graph, full), list[str]()
    for table, margins in tables:
        lines += ["", *(table_lines(table, width) if full or len(tables) == 1 else wrapped(table.title, width, "  "))]
        lines += wrapped(f"  {margins}", width, "    ")
    return [*lines, *wrapped(f"  ({WORDS})", width, "   ")] if lines else []
