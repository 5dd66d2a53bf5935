"""The ladder of sizes and the baselines as one table of text, as wide as there is room."""

from __future__ import annotations

from collections.abc import Sequence

from rulekit.audit.figures.baselines import Baselines
from rulekit.audit.lines import wrapped
from rulekit.audit.outline import Words, conditions_of
from rulekit.graph.ladder import Ladder, Rung
from rulekit.graph.language.readable import counted
from rulekit.graph.nodes import Hidden, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule
from rulekit.graph.traversal import topological
from rulekit.names import printable

_TAKEN, _SMALLEST = "*", "o"


def ladder_lines(ladder: Ladder, baselines: Baselines | None, width: int = 80) -> list[str]:
    """A line for each baseline and each row, then what the marks mean and why the row was taken.

    The error is the cross-validated one in percent with its standard error; beside it, of several classes or where one
    is rare, the macro F1 score. A row says which rules it adds.
    """
    known = [rung for rung in ladder.rungs if rung.error is not None]
    models = () if baselines is None else baselines.models
    first = max([len("size"), *(len(_name(rung, ladder)) for rung in ladder.rungs)])
    several = any(len(rung.model.classes) > 2 for rung in ladder.rungs)
    scored = bool(known) and (several or (baselines is not None and baselines.rare is not None))
    header = f"{'size':<{first}}  rules  literals"
    before = max([len(header), *(len(model.name) for model in models)])
    lines = [f"{header:<{before}}    error %  {'macro F1  ' * scored}adds"]
    for model in models:  # what they are takes the columns of the size, which they do not have
        error = _error(model.error, model.standard_error) + _score(model.macro_f1, scored)
        few = f"  ({counted(model.folds, 'fold')})" if model.folds < max(each.folds for each in models) else ""
        lines.append(f"{model.name:<{before}}  {error}{few}".rstrip())
    for rung, added in zip(ladder.rungs, ladder.added, strict=True):
        error = _error(rung.error, rung.standard_error) + _score(rung.macro_f1, scored)
        size = f"{_name(rung, ladder):<{first}}  {rung.rules:>5}  {rung.literals:>8}"
        start = f"{size:<{before}}  {error}  "
        lines.append((start + _added(rung.model, added, width - len(start))).rstrip())
    return [*lines, *_notes(ladder, baselines, bool(known), scored, width)]


def _name(rung: Rung, ladder: Ladder) -> str:
    """The size with the marks of the row that was taken and of the smallest that is not worse."""
    marks = _TAKEN * (rung.size == ladder.chosen) + _SMALLEST * (rung.size == ladder.smallest)
    return f"{rung.size:>2} {marks}".rstrip()


def _error(error: float | None, deviation: float | None) -> str:
    """Nine columns: `14.9 ± 0.3`."""
    if error is None:
        return f"{'-':>10}"
    return f"{100 * error:4.1f}" + (f" ± {100 * deviation:.1f}" if deviation is not None else "").ljust(6)


def _score(score: float | None, shown: bool) -> str:
    """Ten columns, where macro F1 is shown: `      0.86`."""
    return ("  " + (f"{'-':>8}" if score is None else f"{score:8.2f}")) if shown else ""


def _notes(ladder: Ladder, baselines: Baselines | None, measured: bool, scored: bool, width: int) -> list[str]:
    other = "; --size N takes another row" if len(ladder.rungs) > 1 else ""
    notes = [f"{_TAKEN} taken: {ladder.why}{other}"]
    if measured and ladder.smallest is not None:
        notes.append(f"{_SMALLEST} smallest model within one standard error of the best; --smallest takes it")
    if scored:
        notes.append("macro F1: the mean of the F1 scores of all classes, each as important as the others; 1 is best")
    if any("effective_rows" in rung.model.statistics for rung in ladder.rungs):
        notes.append("the rows have weights: errors are shares of their weight")
    if baselines is not None and baselines.rows < baselines.of_rows:
        notes.append(f"baselines on {baselines.rows:,} of {baselines.of_rows:,} rows")
    if baselines is not None and baselines.left_out:
        notes.append(f"no time for: {', '.join(baselines.left_out)}")
    return [line for note in notes for line in wrapped(note, width, "  ")]


def _added(graph: RuleGraph, added: Sequence[Rule], room: int) -> str:
    """The first new rule in so many columns, and how many more there are."""
    if not added:
        return ""
    more = f" and {len(added) - 1} more" if len(added) > 1 else ""
    rule, several = added[0], len(graph.classes) > 2
    words = Words.of([each.node for each in added], graph.schema)
    text = " and ".join(part for node in _conditions(rule.node) for part in conditions_of(node, words))
    text = (f"{graph.classes[rule.class_index]}: " if several else "") + text
    room = max(room - len(more), 8)
    return printable(text if len(text) <= room else f"{text[: room - 3]}...") + more


def _conditions(node: Node) -> list[Node]:
    """A Boolean rule, or the conditions of the hidden bits of a noisy one."""
    bits = [each.children[0] for each in topological([node]) if isinstance(each, Hidden)]
    return bits or [node]
