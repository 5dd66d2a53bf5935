"""The stability of a model: what comes back when it is learned again from halves of its table (docs/stability.md).

Rules: in how many of the models one is alike within a tolerance of its cuts (`rulekit.audit.rule_matching.alike`). Sets
of rules: the Dice-Sorensen index, its mean over pairs of models, as C. Benard, G. Biau, S. da Veiga and E. Scornet,
SIRUS: Stable and interpretable rule set for classification, 2021, section 3, measure it. Labels: how often they agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit.rule_matching.alike import TOLERANCE, Alike, RuleParts, rule_parts
from rulekit.audit.stability.recurrence import (
    Recurrence,
    columns_found,
    conditions_found,
    dice_of_pairs,
    further_rules,
    rules_found,
)
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.words import counted, percent, quoted, weight
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.tables.table import Table

MOST_SHOWN = 5
LEVELS = (1.0, 0.9, 0.75, 0.5)
"""Shares of models by which rows are counted."""


@dataclass(frozen=True, slots=True)
class DoubtfulRow:
    """A row, its number in the table from 1, what the model decides and the share of the others that do so."""

    row: int
    label: ClassLabel
    share: float
    other: ClassLabel


@dataclass(frozen=True, slots=True)
class Agreement:
    """mean: over the rows the share of the models that decide as the model does; never_in_doubt: the share of the rows
    that all decide so. at_least: by a share of the models the share of the rows that so many decide alike. worst: the
    rows that fewest do, at most five.
    """

    mean: float
    never_in_doubt: float
    at_least: tuple[tuple[float, float], ...]
    worst: tuple[DoubtfulRow, ...]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        worst = [{"row": w.row, "label": w.label, "share": w.share, "most_others": w.other} for w in self.worst]
        at_least = [{"models": level, "rows": rows} for level, rows in self.at_least]
        return {
            "mean": self.mean,
            "never_in_doubt": self.never_in_doubt,
            "rows_decided_alike_by_at_least": at_least,
            "worst": worst,
        }


def agreement_of(own: Ints, others: Ints, classes: tuple[ClassLabel, ...]) -> Agreement:
    """The agreement of what a model decides, own [n], with what models of other rows do, others [m, n]."""
    share = (others == own).mean(axis=0)
    worst = []
    for row in np.argsort(share, kind="stable")[:MOST_SHOWN].tolist():
        if share[row] < 1.0:
            different = others[:, row][others[:, row] != own[row]]
            most = int(np.bincount(different).argmax())
            worst.append(DoubtfulRow(row + 1, classes[int(own[row])], float(share[row]), classes[most]))
    at_least = tuple((level, float((share >= level).mean())) for level in LEVELS)
    return Agreement(float(share.mean()), float((share == 1.0).mean()), at_least, tuple(worst))


OFTEN = 0.2
"""Further rules that are told are found in at least this share of the models, and in more than one."""


@dataclass(frozen=True, slots=True, eq=False)
class Stability:
    """How stable a model is.

    rules, conditions, columns: of the model; further: rules that it has not and at least `OFTEN` of the models have;
    n_further: how many rarer ones there are. dice: the mean over all pairs of models; dice_of_halves: over the pairs of
    halves that have no row in common (None without such a pair). sizes: the rules of each model. wanted: how many
    models were asked for; stopped: why there are fewer.
    """

    digest: str
    rules: tuple[Recurrence, ...]
    conditions: tuple[Recurrence, ...]
    columns: tuple[Recurrence, ...]
    further: tuple[Recurrence, ...]
    n_further: int
    dice: float
    dice_of_halves: float | None
    labels: Agreement
    sizes: tuple[int, ...]
    rows: int
    wanted: int
    tolerance: float = TOLERANCE
    seed: int = 0
    stopped: str = ""
    notes: tuple[str, ...] = ()

    @property
    def resamples(self) -> int:
        return len(self.sizes)

    def as_dict(self) -> dict[str, Any]:
        """JSON values, for reports."""
        return {
            "digest": self.digest,
            "resamples": self.resamples,
            "asked_for": self.wanted,
            "stopped": self.stopped,
            "sampling": "complementary halves",
            "seed": self.seed,
            "rows": self.rows,
            "tolerance": self.tolerance,
            "dice_sorensen": self.dice,
            "dice_sorensen_of_disjoint_halves": self.dice_of_halves,
            "rules": [one.as_dict() for one in self.rules],
            "conditions": [one.as_dict() for one in self.conditions],
            "columns": [one.as_dict() for one in self.columns],
            "further_rules": [one.as_dict() for one in self.further],
            "rarer_further_rules": self.n_further,
            "rules_of_each_model": list(self.sizes),
            "labels": self.labels.as_dict(),
        }


def stability_of(
    model: RuleGraph,
    models: Sequence[RuleGraph],
    table: Table,
    *,
    halves: Sequence[tuple[int, int]] = (),
    wanted: int | None = None,
    tolerance: float = TOLERANCE,
    seed: int = 0,
    stopped: str = "",
    notes: tuple[str, ...] = (),
) -> Stability:
    """Compare a model with models that the same learner made of other rows.

    table: rows of all of them, encoded by the schema of the model, by which rules are matched and labels compared.
    halves: pairs of models whose rows have none in common. Raises ValueError for fewer than two models.
    """
    if len(models) < 2:
        raise ValueError("two models at least are needed")
    own, others = rule_parts(model), [rule_parts(other) for other in models]
    alike = Alike(table, tolerance)
    alike.know([*own, *(rule for rules in others for rule in rules)])
    further = further_rules(alike, model.schema, own, others)
    often = tuple(one for one in further if one.share >= OFTEN and one.found > 1)
    dices = dice_of_pairs(alike, others)
    apart = [dices[pair] for pair in halves if pair in dices]
    labels, of_model = np.stack([decide(other, table) for other in models]), decide(model, table)
    same = (labels == of_model).mean(axis=0)
    return Stability(
        model.digest,
        rules_found(alike, model.schema, own, others, [_decided(rule, table, same) for rule in own]),
        conditions_found(alike, model.schema, own, others),
        columns_found(model.schema, own, others),
        often,
        len(further) - len(often),
        float(np.mean(list(dices.values()))),
        float(np.mean(apart)) if apart else None,
        agreement_of(of_model, labels, model.classes),
        tuple(map(len, others)),
        table.n_rows,
        len(models) if wanted is None else wanted,
        tolerance,
        seed,
        stopped,
        notes,
    )


def _decided(rule: RuleParts, table: Table, same: Floats) -> float | None:
    """How often the rows of a rule are decided as by the model; same [n]: the share of the models that do so."""
    if rule.condition is None or rule.rule.connective == "sum":
        return None
    held = evaluate_nodes([rule.condition], table)[rule.condition]
    return float(same[held].mean()) if held.any() else None


Said = tuple[str, str]
"""A word, "" for what stands under the line before, and a text."""

MOST_CONDITIONS, MOST_FURTHER = 30, 5


def stability_lines(stable: Stability, everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: all conditions and further rules."""
    done = counted(stable.resamples, "model")
    early = f" of {stable.wanted} ({stable.stopped})" if stable.resamples < stable.wanted else ""
    yield "learned", f"{done}{early} from halves of {stable.rows:,} rows, {_sizes(stable.sizes)}"
    within = f"with conditions that differ on at most {percent(stable.tolerance)} of the rows each"
    yield "rules", f"in how many of these models a rule over the same columns comes back, {within}:"
    for rule in stable.rules:
        alike = "" if rule.decided is None else f"; its rows keep their label in {percent(rule.decided)}"
        yield "", f"  {_share(rule)}  {rule.id} for {quoted(rule.label)}: {rule.text}{_weights(rule)}{alike}"
    if not stable.rules:
        yield "", "  the model has no rule"
    if len(stable.conditions) > 1:
        yield "conditions", "in how many a rule for the same class has the condition:"
        yield from (("", line) for line in _listed(stable.conditions, everything))
    if len(stable.columns) > 1:
        yield "columns", "in how many a rule for the same class reads the column:"
        yield from (("", line) for line in _listed(stable.columns, everything))
    yield from _further(stable, everything)
    halves = "" if stable.dice_of_halves is None else f"; {stable.dice_of_halves:.2f} over halves without a common row"
    yield "rule sets", f"Dice-Sorensen index {stable.dice:.2f}, the mean over pairs of models{halves}"
    yield from _labels(stable)


def _sizes(sizes: Sequence[int]) -> str:
    low, high = min(sizes), max(sizes)
    return f"of {counted(low, 'rule')} each" if low == high else f"of {low} to {counted(high, 'rule')}"


def _share(one: Recurrence) -> str:
    return f"{one.share:4.0%}".replace("%", " %").rjust(6)


def _weights(one: Recurrence) -> str:
    if one.weights is None:
        return ""
    low, middle, high = map(weight, one.weights)
    own = "" if one.own is None else f" (weight {weight(one.own)}"
    return f"{own}; there {middle}, {low} to {high})"


def _listed(conditions: Sequence[Recurrence], everything: bool) -> Iterator[str]:
    shown = conditions if everything else conditions[:MOST_CONDITIONS]
    yield from (f"  {_share(one)}  {one.text}" for one in shown)
    if len(shown) < len(conditions):
        yield f"  and {len(conditions) - len(shown)} more (--all)"


def _further(stable: Stability, everything: bool) -> Iterator[Said]:
    shown = stable.further if everything else stable.further[:MOST_FURTHER]
    if shown:
        yield "not in it", "rules that the model has not, and which were found again and again"
        yield from (("", f"  {_share(one)}  for {quoted(one.label)}: {one.text}") for one in shown)
    rest = len(stable.further) - len(shown) + stable.n_further
    if rest:
        most = "rarer" if shown else "that the model has not, none of them often"
        yield ("" if shown else "not in it"), f"{'  and ' if shown else ''}{counted(rest, 'rule')} {most}"


def _labels(stable: Stability) -> Iterator[Said]:
    labels = stable.labels
    yield "labels", f"a row is decided as by the model by {percent(labels.mean)} of the models on average"
    yield "", f"  never in doubt: {percent(labels.never_in_doubt)} of the rows, which all models decide alike"
    for level, rows in labels.at_least[1:]:
        yield "", f"  by at least {percent(level)} of the models: {percent(rows)} of the rows"
    for row in labels.worst:
        yield "", f"  row {row.row}: {quoted(row.label)}, as {percent(row.share)} say; most others {quoted(row.other)}"
