"""What a reader of a trained model would wonder about, and what may help where it has no rule or misses a class."""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rulekit.audit.figures.baselines import MOST_FREQUENT, SINGLE_CONDITION
from rulekit.audit.figures.metrics import Figures
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, listed, percent
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import no_rule_notes, rules_of
from rulekit.graph.variants import RARE
from rulekit.learners.data.binning import BinnedColumn, bin_table
from rulekit.learners.models.plain import Clause, clause_node
from rulekit.shown.promises import promises
from rulekit.shown.rule_rows import Words
from rulekit.tables.labels import LabelledTable
from rulekit.tables.table import StoredArrays

if TYPE_CHECKING:
    from rulekit.audit.figures.baselines import Baselines
    from rulekit.graph.model_parts import Ladder
    from rulekit.work.kept import GivenStart

HARDLY = 0.5
SELDOM = 1.0 / 3.0
"""The share of the rows below which a class may be outnumbered wherever a rule holds."""
FEW = 500
LOWEST_COST = 5
"""The cost where the best rule pays at any: a learner that adds conditions one by one needs parts of it to pay."""
RULES = "rules"
"""The learner of rules with several conditions."""
MOST_NAMED = 3
_ALONE = "the most frequent class alone"
_HELP = "more rows or other columns may help; rulekit try compares learners"


def surprises(model: RuleGraph, start: GivenStart | None, figures: Figures) -> list[str]:
    """What a reader of the model would wonder about: no rule at all, or a frozen rule that is gone."""
    found = no_rule_notes(model, max(figures.classes, key=lambda c: c.predicted).label)
    if not found and len(answered := [c.label for c in figures.classes if c.predicted]) == 1:
        found.append(f"every row is decided {answered[0]!r}, so that the rules only say how likely another answer is")
    if model.overrides or promises(model):
        from rulekit.audit.checks.checking import unproved

        found += [f"{verdict.promise.text}: {verdict.outcome}, {verdict.reason}" for verdict in unproved(model)]
    covered = [] if start is None else start.covered(model)
    if covered:
        one = len(covered) == 1
        why = f"{'is' if one else 'are'} covered by other rules and left out; --no-simplify keeps all"
        if any(rule.connective == "sum" for rule in rules_of(model)):
            why = f"{'has' if one else 'have'} weight 0 on these rows, or a shorter form"
        found.append(f"{listed(covered)} of --start {why}")
    return found


def hints(
    figures: Figures,
    few_errors: bool,
    weighted: bool = False,
    ladder: Ladder | None = None,
    baselines: Baselines | None = None,
) -> list[str]:
    """What may help a model that is no better than something simpler, or that hardly finds a rare class.

    few_errors: whether these are what was asked for, and not least costs, or that the class is found. weighted: the
    rows have weights. ladder, baselines: what was measured on held-out rows.
    """
    answered = [c for c in figures.classes if c.predicted]
    found = _no_better(figures, ladder, baselines) if few_errors and len(answered) > 1 else []
    total = sum(c.support for c in figures.classes)
    rare = [c for c in figures.classes if 0 < c.support < RARE * total and c.recall < HARDLY]
    if not few_errors or not rare or len(answered) < 2:  # of a model without a rule, `ways_out` says more
        return found
    of_all = "of the weight" if weighted else "of the rows"
    named = [f"{c.label!r} ({percent(c.support / total)} {of_all})" for c in rare]
    shown = ", ".join(named) if len(named) <= MOST_NAMED else f"{', '.join(named[:2])} and {len(named) - 2} more"
    way = "--cost 1:10 makes a missed row weigh more, and rulekit threshold moves the decision"
    more = f"; {way}" if len(figures.classes) == 2 else "; --weight COL makes their rows weigh more"
    found.append(f"{'a rare class that is' if len(rare) == 1 else 'rare classes that are'} hardly found: {shown}{more}")
    return found


def _no_better(figures: Figures, ladder: Ladder | None, baselines: Baselines | None) -> list[str]:
    """A sentence where the model is not clearly better than the most frequent class, or else than one condition.

    By what the ladder shows: errors on held-out rows with their standard error; where a class is rare the macro F1.
    """
    row = None if ladder is None else ladder.at(ladder.chosen)
    models = {} if baselines is None else {model.name: model for model in baselines.models}
    alone, single = models.get(MOST_FREQUENT), models.get(SINGLE_CONDITION)
    total, simple = sum(c.support for c in figures.classes), row is not None and row.literals <= 1
    if any(0 < c.support < RARE * total for c in figures.classes):
        f1 = figures.macro_f1 if row is None or row.macro_f1 is None else row.macro_f1
        part = max(c.support for c in figures.classes) / total
        of_one = 2.0 / len(figures.classes) * part / (1.0 + part) if alone is None else alone.macro_f1
        if round(f1, 2) <= round(of_one, 2):
            return [f"the macro F1 score is no larger than that of {_ALONE} ({of_one:.2f}): {_HELP}"]
        beaten = single is not None and not simple and f1 <= single.macro_f1
        return [f"one condition alone has as large a macro F1 score: {_HELP}"] if beaten else []
    error, slack = 1.0 - figures.accuracy, figures.accuracy_error
    if row is not None and row.error is not None:
        error, slack = row.error, slack if row.standard_error is None else row.standard_error
    most = 1.0 - figures.majority if alone is None else alone.error
    if error >= most - slack:
        return [f"the model errs {'no' if error >= most else 'hardly'} less than {_ALONE} ({percent(most)}): {_HELP}"]
    if ladder is None or row is None or row.error is None or simple:
        return []
    for rung in ladder.rungs:
        if rung.rules == rung.literals == 1 and rung.error is not None and rung.error <= error + slack:
            node = rules_of(rung.model.underlying)[0].node
            text = Words.of([node], rung.model.schema).text(node)
            return [f"one condition ({text}) errs hardly more ({percent(rung.error)}): --size {rung.size} takes it"]
    if single is not None and single.error <= error + slack:
        less = "no" if single.error <= error else "hardly"
        return [f"one condition alone errs {less} more ({percent(single.error)}): {_HELP}"]
    return []


def ways_out(rows: LabelledTable, learner: str, parameters: Collection[str]) -> tuple[str, ...]:
    """What may give rules for training rows from which none were learned.

    learner: its word; parameters: the names that it has. A rule pays where its right rows outweigh its wrong ones. So
    the cost that is named is twice the one from which the best rule that was looked at pays (`best_rule`): on other
    rows it is right less often.
    """
    sums = np.bincount(rows.y, rows.weight, len(rows.classes))
    place, total, found = int(np.argmin(sums)), float(sums.sum()), []
    label, part = rows.classes[place], float(sums[place]) / total
    best = best_rule(rows, place) if rows.cost is None and 0.0 < part < SELDOM else None
    if best is not None and best.precision > 2.0 * part:
        why = f"{_told(best, label, part)}; "
        times = LOWEST_COST if best.precision > 0.5 else math.ceil(2.0 * best.wrong / best.right)
        if best.precision > 0.5 and learner != RULES:
            found.append(f"--learner {RULES} looks for such rules")
        if len(rows.classes) == 2:
            given = "" if place else f"--positive {shlex.quote(str(label))} "
            found.append(f"{given}--cost 1:{times} counts a missed {label!r} as {times} errors")
            if "threshold" in parameters:
                found.append(f"--param threshold=f1 decides where {label!r} is found best, rather than at 1/2")
        elif "class_weight" in parameters:
            found.append("--param class_weight=balanced gives all classes the same weight")
        found[:1] = [why + each for each in found[:1]]
    if len(rows) < FEW:
        found.append(f"{counted(len(rows), 'row')} hardly tell a rule from chance; with more rows there may be some")
    elif not found:
        found.append(f"the columns say little about {rows.target} in these rows; other columns, or more rows, may")
    return tuple(found)


def _told(best: BestRule, label: object, part: float) -> str:
    how = f"{percent(best.precision)} of the weight of its rows" if best.weighted else f"{best.right:.0f} of its "
    how += "" if best.weighted else counted(best.rows, "row")
    looked = "of the rules of one or two conditions that were looked at"
    all_ = "the weight of the rows" if best.weighted else "the rows"
    return f"{label!r} is {percent(part)} of {all_}; {looked}, the best is right on {how}: {best.text}"


Floats = npt.NDArray[np.float64]

_ROWS, _BINS, _COLUMNS, _LEVELS = 1 << 18, 32, 12, 256
_Z = 1.645  # of the lower bound


@dataclass(frozen=True, slots=True)
class BestRule:
    """A rule, how many rows it holds on, and the weight on which it is right and wrong; weighted: not all weigh 1."""

    text: str
    rows: int
    right: float
    wrong: float
    weighted: bool

    @property
    def precision(self) -> float:
        return self.right / (self.right + self.wrong)


def best_rule(rows: LabelledTable, place: int) -> BestRule | None:
    """The best rule for the class of an index; None where nothing can be said, or the columns are on disk."""
    if isinstance(rows.table.arrays, StoredArrays):
        return None
    some = np.arange(0, len(rows), max(1, len(rows) // _ROWS + (len(rows) > _ROWS)))
    table, yes = rows.table.take(some), (rows.y[some] == place).astype(np.int64)
    weight = np.ones(len(some)) if rows.weight is None else rows.weight[some] / rows.weight.max()
    columns, codes = bin_table(table, weight, _BINS, 0)
    orders = [
        _order(column, _counts(codes[j], yes, weight, column.n_codes))
        if column.n_codes <= _LEVELS
        else np.zeros(0, int)
        for j, column in enumerate(columns)
    ]
    found: list[tuple[float, Clause]] = []
    for j, column in enumerate(columns):
        if len(orders[j]):
            found.append(_best_alone(j, column, orders[j], _counts(codes[j], yes, weight, column.n_codes)))
    found.sort(key=lambda each: -each[0])
    for i, j in itertools.combinations(sorted(next(iter(clause)) for _, clause in found[:_COLUMNS]), 2):
        width = columns[j].n_codes
        both = _counts(codes[i].astype(np.int64) * width + codes[j], yes, weight, columns[i].n_codes * width)
        counts = both.reshape(columns[i].n_codes, width, 2)[orders[i]][:, orders[j]]
        found.append(_best_pair((i, j), (columns[i], columns[j]), (orders[i], orders[j]), counts))
    if not found or max(each[0] for each in found) <= 0.0:
        return None
    node = clause_node(max(found, key=lambda each: each[0])[1], columns)
    held = evaluate_nodes([node], rows.table)[node]
    of_rows = np.ones(len(rows)) if rows.weight is None else rows.weight
    right, all_held = float(of_rows[held & (rows.y == place)].sum()), float(of_rows[held].sum())
    if not right:
        return None
    return BestRule(print_node(node), int(held.sum()), right, all_held - right, rows.weight is not None)


def _counts(codes: npt.NDArray[np.int64], yes: npt.NDArray[np.int64], weight: Floats, n_codes: int) -> Floats:
    """The weights [n_codes, 2] by code and label."""
    keys = 2 * codes.astype(np.int64) + yes
    return np.asarray(np.bincount(keys, weight, 2 * n_codes).reshape(n_codes, 2), dtype=np.float64)


def _order(column: BinnedColumn, counts: Floats) -> npt.NDArray[np.int64]:
    """The codes but that of missing: values from low to high, levels that occur from the highest rate to the least.

    None where there is no choice among them, or the levels are too many to hold by pairs.
    """
    present = np.flatnonzero(counts[1:].sum(axis=1)) + 1
    if len(present) < 2 or column.n_codes > _LEVELS:
        return present[:0]
    if column.ordered:
        return np.arange(1, column.n_codes)
    rate = counts[present, 1] / counts[present].sum(axis=1)
    return np.asarray(present[np.argsort(-rate, kind="stable")])


def _best_alone(j: int, column: BinnedColumn, order: npt.NDArray[np.int64], counts: Floats) -> tuple[float, Clause]:
    sums = np.vstack([np.zeros(2), np.cumsum(counts[order], axis=0)])
    if not column.ordered:
        most = int(np.argmax(_bounds(sums[1:-1]))) + 1
        return float(_bounds(sums[most])), {j: _condition(column, order[:most])}
    bounds = np.tril(_bounds(sums[:, None] - sums[None]), -1)
    bounds[-1, 0] = 0.0  # all values are no condition
    last, first = divmod(int(np.argmax(bounds)), len(bounds))
    return float(bounds[last, first]), {j: _condition(column, order[first:last])}


def _best_pair(
    places: tuple[int, int],
    columns: tuple[BinnedColumn, BinnedColumn],
    orders: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]],
    counts: Floats,
) -> tuple[float, Clause]:
    """The best two one-sided conditions; counts [a, b, 2] by the codes in their orders."""
    best: tuple[float, Clause] = (0.0, {})
    for ways in itertools.product((1, -1), (1, -1)):
        sums = counts[:: ways[0], :: ways[1]].cumsum(axis=0).cumsum(axis=1)[:-1, :-1]
        bounds = _bounds(sums)
        at = np.unravel_index(int(np.argmax(bounds)), bounds.shape)
        if bounds[at] > best[0]:
            sides = [order[::way][: int(k) + 1] for order, way, k in zip(orders, ways, at, strict=True)]
            conditions = [_condition(column, side) for column, side in zip(columns, sides, strict=True)]
            best = float(bounds[at]), dict(zip(places, conditions, strict=True))
    return best


def _bounds(counts: Floats) -> Floats:
    """The lower bound of the share of label 1 [...] in weights [..., 2] (E. B. Wilson, 1927)."""
    total = np.maximum(counts.sum(axis=-1), 1e-9)
    share = np.clip(counts[..., 1] / total, 0.0, 1.0)  # sums of weights may be rounded
    spread = _Z * np.sqrt(share * (1.0 - share) / total + _Z**2 / (4.0 * total**2))
    bound = (share + _Z**2 / (2.0 * total) - spread) / (1.0 + _Z**2 / total)
    return np.asarray(np.where(counts[..., 1] > 0.0, np.maximum(bound, 0.0), 0.0))


def _condition(column: BinnedColumn, held: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    return np.isin(np.arange(column.n_codes), held)
