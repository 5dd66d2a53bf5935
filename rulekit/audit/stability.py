"""The stability of a model: what comes back when it is learned again from halves of its table (docs/stability.md).

Rules: in how many of the models one is alike within a tolerance of its cuts (`rulekit.audit.rule_matching`). Sets
of rules: the Dice-Sorensen index, its mean over pairs of models, as C. Benard, G. Biau, S. da Veiga and E. Scornet,
SIRUS: Stable and interpretable rule set for classification, 2021, section 3, measure it. Labels: how often they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit.checks.findings import given
from rulekit.audit.rule_matching import TOLERANCE, Alike, Columns, RuleParts, dice, rule_parts
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, name, percent, quoted, weight
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.schema import Schema
from rulekit.tables.table import Table


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule or a condition, and in how many of the models it is found.

    id: of a rule of the model, "" of a condition and of a rule that it has not. weights: the smallest, the middle and
    the largest weight (or probability) that it has where it is found; None of a rule that counts whole. own: the weight
    in the model. decided: of a rule, how often its rows are decided as the model decides them, whatever rules do so.
    """

    text: str
    label: ClassLabel
    found: int
    of: int
    id: str = ""
    weights: tuple[float, float, float] | None = None
    own: float | None = None
    decided: float | None = None

    @property
    def share(self) -> float:
        return self.found / self.of

    def as_dict(self) -> dict[str, Any]:
        found: dict[str, Any] = {"text": self.text, "class": self.label, "found": self.found, "share": self.share}
        found = {**given({"id": self.id}), **found, **given({"rows_decided_alike": self.decided})}
        if self.weights is not None:
            found |= {"weight": self.own, "weights": dict(zip(("low", "middle", "high"), self.weights, strict=True))}
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """The rules of a model and those of the models that it is held against, which `alike` knows."""

    alike: Alike
    schema: Schema
    own: Sequence[RuleParts]
    others: Sequence[Sequence[RuleParts]]

    def rules(self, decided: Sequence[float | None]) -> Iterator[Recurrence]:
        """For each rule of the model in how many others one is alike; decided: of each rule."""
        for rule, rows in zip(self.own, decided, strict=True):
            again = [match for rules in self.others if (match := self.alike.nearest(rule, rules)) is not None]
            yield replace(self._recurrence(rule, again, rule.rule.id), decided=rows)

    def columns(self) -> Iterator[Recurrence]:
        """For each column that rules of the model read in how many others a rule for the same class does."""
        names = self.schema.names
        for column, side in dict.fromkeys((c, rule.side) for rule in self.own for c in names if c in rule.columns):

            def reads(rule: RuleParts, column: str = column) -> bool:
                return column in rule.columns

            yield self._found(name(column), side, reads)

    def conditions(self) -> Iterator[Recurrence]:
        """For each condition of the model in how many others some rule for the same class has one that is alike."""
        for side, node in dict.fromkeys((rule.side, node) for rule in self.own for node in rule.parts.values()):
            columns = columns_of(node)

            def has(rule: RuleParts, node: Node = node, columns: Columns = columns) -> bool:
                return columns in rule.parts and self.alike.apart(node, rule.parts[columns]) < inf

            yield self._found(print_node(node, self.schema), side, has)

    def _found(self, text: str, side: tuple[ClassLabel, str], has: Callable[[RuleParts], bool]) -> Recurrence:
        found = sum(any(rule.side == side and has(rule) for rule in rules) for rules in self.others)
        return Recurrence(text, side[0], found, len(self.others))

    def further(self) -> list[Recurrence]:
        """Rules that are alike to none of the model, each with those alike to it, the most frequent first."""
        groups: list[tuple[RuleParts, dict[int, RuleParts]]] = []
        for place, rules in enumerate(self.others):
            for rule in rules:
                if self.alike.nearest(rule, self.own) is not None:
                    continue
                at = self.alike.nearest(rule, [first for first, _ in groups])
                if at is None:
                    groups.append((rule, {place: rule}))
                else:
                    next(members for first, members in groups if first is at).setdefault(place, rule)
        found = [self._recurrence(first, list(members.values())) for first, members in groups]
        return sorted(found, key=lambda one: -one.found)

    def _recurrence(self, rule: RuleParts, again: Sequence[RuleParts], id_: str = "") -> Recurrence:
        node = rule.rule.node if rule.condition is None or rule.rule.nested else rule.condition
        weights = sorted(  # that a term has elsewhere, as weights of its own condition
            -match.weight if rule.parts and self.alike.turned(rule, match) else match.weight
            for match in again
            if match.weight is not None
        )
        between = (weights[0], weights[len(weights) // 2], weights[-1]) if weights else None
        text = print_node(node, self.schema)
        return Recurrence(text, rule.side[0], len(again), len(self.others), id_, between, rule.weight)


def dice_of_pairs(alike: Alike, models: Sequence[Sequence[RuleParts]]) -> dict[tuple[int, int], float]:
    """The Dice-Sorensen index of the rules of each pair of models."""
    return {
        (i, j): dice(alike.pairs(models[i], models[j]), len(models[i]), len(models[j]))
        for i, j in combinations(range(len(models)), 2)
    }


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
        worst = [{"row": w.row, "label": w.label, "share": w.share, "most_others": w.other} for w in self.worst]
        return {
            "mean": self.mean,
            "never_in_doubt": self.never_in_doubt,
            "rows_decided_alike_by_at_least": [{"models": level, "rows": rows} for level, rows in self.at_least],
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
    learned = _Learned(alike, model.schema, own, others)
    further = learned.further()
    often = tuple(one for one in further if one.share >= OFTEN and one.found > 1)
    dices = dice_of_pairs(alike, others)
    apart = [dices[pair] for pair in halves if pair in dices]
    labels, of_model = np.stack([decide(other, table) for other in models]), decide(model, table)
    same = (labels == of_model).mean(axis=0)
    return Stability(
        model.digest,
        tuple(learned.rules([_decided(rule, table, same) for rule in own])),
        tuple(learned.conditions()),
        tuple(learned.columns()),
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
    for word, does, found in (
        ("conditions", "has the condition", stable.conditions),
        ("columns", "reads the column", stable.columns),
    ):
        if len(found) > 1:
            yield word, f"in how many a rule for the same class {does}:"
            most = len(found) if everything else MOST_CONDITIONS
            yield from (("", f"  {_share(one)}  {one.text}") for one in found[:most])
            if len(found) > most:
                yield "", f"  and {len(found) - most} more (--all)"
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
