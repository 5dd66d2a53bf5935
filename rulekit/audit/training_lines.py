"""What training says in lines as wide as there is room: the table, the ladder of sizes and the baselines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.graph.language.words import counted
from rulekit.graph.model_parts import Ladder, Rung
from rulekit.graph.nodes import Hidden, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, added_rules, rules_of
from rulekit.names import printable, wrapped
from rulekit.shown.rule_rows import Words, conditions_of
from rulekit.tables.table import Table, absent

_TAKEN, _SMALLEST = "*", "o"
_SCREEN = 40
"""The most lines of a ladder, and a line for each row at least."""
_NARROW, _INDENT = 30, 4
"""Where the last column has less room, the rules stand below their row, behind an indent."""


def ladder_lines(ladder: Ladder, baselines: Baselines | None, width: int = 80) -> list[str]:
    """A line for each baseline and each row, then what the marks mean and why the row was taken.

    The error is the cross-validated one in percent with its standard error; beside it, of several classes or where one
    is rare, the macro F1 score. A row shows the rules that it adds in full, as far as a screen has room: first the
    taken row, its neighbours and the smallest.
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
        error = _error(model, scored)
        few = f"  ({counted(model.folds, 'fold')})" if model.folds < max(each.folds for each in models) else ""
        lines.append(f"{model.name:<{before}}  {error}{few}".rstrip())
    starts = []
    for rung in ladder.rungs:
        size = f"{_name(rung, ladder):<{first}}  {rung.rules:>5}  {rung.literals:>8}"
        starts.append(f"{size:<{before}}  {_error(rung, scored)}  ")
    notes = _notes(ladder, baselines, bool(known), scored, width)
    column = max(map(len, starts))
    below = width - column < _NARROW
    margin = " " * (_INDENT if below else column)
    texts = _added(ladder, width - len(margin))
    heights = _heights(ladder, texts, _SCREEN - len(lines) - len(notes) - below * len(starts))
    for start, rules, most in zip(starts, texts, heights, strict=True):
        head, *rest = [""] * below + (_cut(rules, most, width - len(margin)) or [""])
        lines += [f"{start:<{column}}{head}".rstrip(), *(margin + text for text in rest if text)]
    return [*lines, *notes]


def _name(rung: Rung, ladder: Ladder) -> str:
    marks = _TAKEN * (rung.size == ladder.chosen) + _SMALLEST * (rung.size == ladder.smallest)
    return f"{rung.size:>2} {marks}".rstrip()


def _error(model: Rung | Baseline, scored: bool) -> str:
    """`14.9 ± 0.3`, and `      0.86` where macro F1 is shown."""
    error, deviation, score = model.error, model.standard_error, model.macro_f1
    said = f"{'-':>10}"
    if error is not None:
        said = f"{100 * error:4.1f}" + ("" if deviation is None else f" ± {100 * deviation:.1f}").ljust(6)
    return said + ("  " + (f"{'-':>8}" if score is None else f"{score:8.2f}")) * scored


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


def _added(ladder: Ladder, room: int) -> list[list[list[str]]]:
    """By row the lines of each rule that it adds; below the last what it leaves out of the row before."""
    found, before = [], tuple[Rule, ...]()
    for place, (rung, added) in enumerate(zip(ladder.rungs, added_rules(ladder), strict=True)):
        rules = rules_of(rung.model.underlying)
        kept = {(rule.class_index, rule.node) for rule in rules}
        gone = [rule for rule in before if (rule.class_index, rule.node) not in kept]
        words = Words.of([rule.node for rule in (*added, *gone)], rung.model.schema)
        lines = [_rule_lines(_parts(rule, rung.model, words), room) for rule in added]
        if gone:
            text = f"without {', '.join(' and '.join(_parts(rule, rung.model, words)) for rule in gone)}"
            short = f"without {counted(len(gone), 'rule')} of size {ladder.rungs[place - 1].size}"
            lines = lines or [[]]
            lines[-1].append(text if len(text) <= room else short)
        found.append(lines)
        before = tuple(rules)
    return found


def _parts(rule: Rule, graph: RuleGraph, words: Words) -> list[str]:
    """The conditions of a rule, or of the bits of a noisy one; of several classes its class stands before the first."""
    bits = [each.children[0] for each in topological([rule.node]) if isinstance(each, Hidden)]
    parts = [printable(part) for node in bits or [rule.node] for part in conditions_of(node, words)]
    return [f"{printable(str(graph.classes[rule.class_index]))}: " * (len(graph.classes) > 2) + parts[0], *parts[1:]]


def _rule_lines(parts: Sequence[str], room: int) -> list[str]:
    """A rule in lines that end with a condition, where one has room in a line."""
    lines = list[str]()
    for part in parts:
        if lines and len(lines[-1]) + len(f" and {part}") <= room:
            lines[-1] += f" and {part}"
        else:
            lines += wrapped(f"  and {part}" if lines else part, room, "    ")
    return lines


def _heights(ladder: Ladder, texts: Sequence[Sequence[Sequence[str]]], room: int) -> list[int]:
    """How many lines each row has: one at least, and what is left goes first to the rows that matter most."""
    heights, left = [1] * len(texts), room - len(texts)
    taken, marked = ladder.sizes.index(ladder.chosen), {ladder.chosen, ladder.smallest}
    for place in sorted(
        range(len(texts)), key=lambda i: (ladder.sizes[i] not in marked and abs(i - taken) > 1, abs(i - taken))
    ):
        more = max(0, min(sum(map(len, texts[place])) - 1, left))
        heights[place], left = 1 + more, left - more
    return heights


def _cut(rules: Sequence[Sequence[str]], most: int, room: int) -> list[str]:
    """The rules that have room in so many lines, and how many more there are; of a single line the first, cut."""
    if sum(map(len, rules)) <= most:
        return [line for lines in rules for line in lines]
    shown, left = list[str](), list(rules)
    while left and len(shown) + len(left[0]) < most:
        shown += left.pop(0)
    if shown:
        return [*shown, f"and {len(left)} more"]
    more = f" and {len(left) - 1} more" if len(left) > 1 else ""
    text, room = " ".join(line.strip() for line in left[0]), max(room - len(more), 8)
    return [(text if len(text) <= room else f"{text[: room - 3]}...") + more]


# The table ----------------------------------------------------------------------------------------------------------

MOST_LINES = 3
_KINDS = ("numeric", "date", "datetime", "categorical", "boolean", "text")


@dataclass(frozen=True, slots=True)
class TableSummary:
    """Rows, the names of the columns by kind, and those with missing values."""

    n_rows: int
    columns: Mapping[str, tuple[str, ...]]
    gaps: tuple[str, ...]

    def headline(self) -> str:
        """`2000 rows, 7 columns: 4 numeric, 3 categorical (income has missing values)`."""
        kinds = ", ".join(f"{len(names)} {kind}" for kind, names in self.columns.items())
        text = ""
        if self.gaps:
            more = f" and {len(self.gaps) - 1} more" if len(self.gaps) > 1 else ""
            text = f" ({printable(self.gaps[0])}{more} {'have' if more else 'has'} missing values)"
        n_columns = sum(map(len, self.columns.values()))
        return f"{counted(self.n_rows, 'row')}, {counted(n_columns, 'column')}: {kinds}{text}"

    def lines(self, width: int) -> list[str]:
        """The headline, then the names by kind where a few lines have room for all."""
        found = []
        for kind, names in self.columns.items():
            head = f"  {kind:<12} "
            texts = wrapped(", ".join(map(printable, names)), width - len(head))
            found += [f"{head if not i else ' ' * len(head)}{text}" for i, text in enumerate(texts)]
        if len(found) > MOST_LINES:
            return wrapped(f"{self.headline()}; rulekit describe shows each column", width, "  ")
        return [*wrapped(self.headline(), width, "  "), *found]


def summary_of(table: Table) -> TableSummary:
    """The summary of a table."""
    by_kind: dict[str, list[str]] = {kind: [] for kind in _KINDS}
    gaps = []
    for feature, array in zip(table.features, table.arrays, strict=True):
        by_kind[feature.display if feature.dated else feature.kind].append(feature.name)
        if absent(array).any():
            gaps.append(feature.name)
    return TableSummary(table.n_rows, {kind: tuple(names) for kind, names in by_kind.items() if names}, tuple(gaps))
