"""The stability of a model: what comes back when it is learned again from halves of its table (docs/stability.md).

Rules: in how many of the models one is alike within a tolerance of its cuts (`rulekit.audit.rule_matching`). Sets
of rules: the Dice-Sorensen index, its mean over pairs of models, as C. Benard, G. Biau, S. da Veiga and E. Scornet,
SIRUS: Stable and interpretable rule set for classification, 2021, section 3, measure it. Labels: how often they agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import inf
from typing import Any

import numpy as np

from rulekit.arrays import Floats, Ints
from rulekit.audit import Said
from rulekit.audit.rule_matching import TOLERANCE, Alike, Columns, RuleParts, dice, rule_parts
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.language.text import print_node
from rulekit.graph.language.words import counted, name, percent, quoted, weight
from rulekit.graph.nodes import Node
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.graph.rules import columns_of
from rulekit.schema import Schema
from rulekit.tables.table import Table

Found = dict[str, Any]
"""A rule, condition or column as JSON values: its text and class, in how many of the models it is found."""


@dataclass(frozen=True, slots=True, eq=False)
class _Learned:
    """The rules of a model and those of the models that it is held against, which `alike` knows."""

    alike: Alike
    schema: Schema
    own: Sequence[RuleParts]
    others: Sequence[Sequence[RuleParts]]

    def rules(self, table: Table, same: Floats) -> Iterator[Found]:
        """For each rule of the model in how many others one is alike.

        rows_decided_alike: how often its rows are decided as the model decides them, whatever rules do so; same [n]:
        by row the share of the models that do.
        """
        for rule in self.own:
            again = [match for rules in self.others if (match := self.alike.nearest(rule, rules)) is not None]
            found: Found = {"id": rule.rule.id, **self._rule(rule, again)}
            if rule.condition is not None and rule.rule.connective != "sum":
                held = evaluate_nodes([rule.condition], table)[rule.condition]
                found |= {"rows_decided_alike": float(same[held].mean())} if held.any() else {}
            yield found

    def columns(self) -> Iterator[Found]:
        """For each column that rules of the model read in how many others a rule for the same class does."""
        names = self.schema.names
        for column, side in dict.fromkeys((c, rule.side) for rule in self.own for c in names if c in rule.columns):
            yield self._counted(name(column), side, partial(_reads, column))

    def conditions(self) -> Iterator[Found]:
        """For each condition of the model in how many others some rule for the same class has one that is alike."""

        def has(node: Node, columns: Columns, rule: RuleParts) -> bool:
            return columns in rule.parts and self.alike.apart(node, rule.parts[columns]) < inf

        for side, node in dict.fromkeys((rule.side, node) for rule in self.own for node in rule.parts.values()):
            yield self._counted(print_node(node, self.schema), side, partial(has, node, columns_of(node)))

    def _counted(self, text: str, side: tuple[ClassLabel, str], has: Callable[[RuleParts], bool]) -> Found:
        found = sum(any(rule.side == side and has(rule) for rule in rules) for rules in self.others)
        return {"text": text, "class": side[0], "found": found, "share": found / len(self.others)}

    def further(self) -> list[Found]:
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
        found = [self._rule(first, list(members.values())) for first, members in groups]
        return sorted(found, key=lambda one: -one["found"])

    def _rule(self, rule: RuleParts, again: Sequence[RuleParts]) -> Found:
        """weight: in the model; weights: the smallest, the middle and the largest where it is found."""
        node = rule.rule.node if rule.condition is None or rule.rule.nested else rule.condition
        found: Found = {"text": print_node(node, self.schema), "class": rule.side[0], "found": len(again)}
        found["share"] = len(again) / len(self.others)
        weights = sorted(  # that a term has elsewhere, as weights of its own condition
            -match.weight if rule.parts and self.alike.turned(rule, match) else match.weight
            for match in again
            if match.weight is not None
        )
        if weights:
            ends = {"low": weights[0], "middle": weights[len(weights) // 2], "high": weights[-1]}
            found |= {"weight": rule.weight, "weights": ends}
        return found


def _reads(column: str, rule: RuleParts) -> bool:
    return column in rule.columns


def dice_of_pairs(alike: Alike, models: Sequence[Sequence[RuleParts]]) -> dict[tuple[int, int], float]:
    """The Dice-Sorensen index of the rules of each pair of models."""
    return {
        (i, j): dice(alike.pairs(models[i], models[j]), len(models[i]), len(models[j]))
        for i, j in combinations(range(len(models)), 2)
    }


MOST_DOUBTFUL = 5
LEVELS = (1.0, 0.9, 0.75, 0.5)
"""Shares of models by which rows are counted."""


def _agreement(own: Ints, others: Ints, share: Floats, classes: tuple[ClassLabel, ...]) -> dict[str, Any]:
    """How far what a model decides, own [n], agrees with what models of other rows do, others [m, n].

    mean: over the rows the share [n] of the models that decide as the model does; never_in_doubt: the share of the rows
    that all decide so; worst: the rows that fewest do, their numbers in the table from 1.
    """
    worst = []
    for row in np.argsort(share, kind="stable")[:MOST_DOUBTFUL].tolist():
        if share[row] < 1.0:
            most = int(np.bincount(others[:, row][others[:, row] != own[row]]).argmax())
            about = {"row": row + 1, "label": classes[int(own[row])], "share": float(share[row])}
            worst.append(about | {"most_others": classes[most]})
    at_least = [{"models": level, "rows": float((share >= level).mean())} for level in LEVELS]
    found = {"mean": float(share.mean()), "never_in_doubt": float((share == 1.0).mean())}
    return found | {"rows_decided_alike_by_at_least": at_least, "worst": worst}


OFTEN = 0.2
"""Further rules that are told are found in at least this share of the models, and in more than one."""


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
) -> dict[str, Any]:
    """Compare a model with models that the same learner made of other rows: how stable it is, as JSON values.

    table: rows of all of them, encoded by the schema of the model, by which rules are matched and labels compared.
    halves: pairs of models whose rows have none in common. wanted: how many models were asked for; stopped: why there
    are fewer. Raises ValueError for fewer than two models.
    """
    if len(models) < 2:
        raise ValueError("two models at least are needed")
    own, others = rule_parts(model), [rule_parts(other) for other in models]
    alike = Alike(table, tolerance)
    alike.know([*own, *(rule for rules in others for rule in rules)])
    learned = _Learned(alike, model.schema, own, others)
    further = learned.further()
    often = [one for one in further if one["share"] >= OFTEN and one["found"] > 1]
    dices = dice_of_pairs(alike, others)
    apart = [dices[pair] for pair in halves if pair in dices]
    labels, of_model = np.stack([decide(other, table) for other in models]), decide(model, table)
    same = (labels == of_model).mean(axis=0)
    return {
        "digest": model.digest,
        "resamples": len(models),
        "asked_for": len(models) if wanted is None else wanted,
        "stopped": stopped,
        "sampling": "complementary halves",
        "seed": seed,
        "rows": table.n_rows,
        "tolerance": tolerance,
        "dice_sorensen": float(np.mean(list(dices.values()))),
        "dice_sorensen_of_disjoint_halves": float(np.mean(apart)) if apart else None,
        "rules": list(learned.rules(table, same)),
        "conditions": list(learned.conditions()),
        "columns": list(learned.columns()),
        "further_rules": often,
        "rarer_further_rules": len(further) - len(often),
        "rules_of_each_model": list(map(len, others)),
        "labels": _agreement(of_model, labels, same, model.classes),
    }


# In lines ------------------------------------------------------------------------------------------------------------


MOST_CONDITIONS, MOST_FURTHER = 30, 5


def stability_lines(stable: Mapping[str, Any], everything: bool = False) -> Iterator[Said]:
    """A word and a text for each line; everything: all conditions and further rules."""
    early = f" of {stable['asked_for']} ({stable['stopped']})" if stable["resamples"] < stable["asked_for"] else ""
    low, high = min(stable["rules_of_each_model"]), max(stable["rules_of_each_model"])
    sizes = f"of {counted(low, 'rule')} each" if low == high else f"of {low} to {counted(high, 'rule')}"
    yield "learned", f"{counted(stable['resamples'], 'model')}{early} from halves of {stable['rows']:,} rows, {sizes}"
    within = f"with conditions that differ on at most {percent(stable['tolerance'])} of the rows each"
    yield "rules", f"in how many of these models a rule over the same columns comes back, {within}:"
    for rule in stable["rules"]:
        kept = rule.get("rows_decided_alike")
        alike = "" if kept is None else f"; its rows keep their label in {percent(kept)}"
        yield "", f"  {_share(rule)}  {rule['id']} for {quoted(rule['class'])}: {rule['text']}{_weights(rule)}{alike}"
    if not stable["rules"]:
        yield "", "  the model has no rule"
    for word, does in (("conditions", "has the condition"), ("columns", "reads the column")):
        found = stable[word]
        if len(found) > 1:
            yield word, f"in how many a rule for the same class {does}:"
            most = len(found) if everything else MOST_CONDITIONS
            yield from (("", f"  {_share(one)}  {one['text']}") for one in found[:most])
            if len(found) > most:
                yield "", f"  and {len(found) - most} more (--all)"
    yield from _further(stable, everything)
    apart = stable["dice_sorensen_of_disjoint_halves"]
    halves = "" if apart is None else f"; {apart:.2f} over halves without a common row"
    yield "rule sets", f"Dice-Sorensen index {stable['dice_sorensen']:.2f}, the mean over pairs of models{halves}"
    labels = stable["labels"]
    yield "labels", f"a row is decided as by the model by {percent(labels['mean'])} of the models on average"
    yield "", f"  never in doubt: {percent(labels['never_in_doubt'])} of the rows, which all models decide alike"
    for level in labels["rows_decided_alike_by_at_least"][1:]:
        yield "", f"  by at least {percent(level['models'])} of the models: {percent(level['rows'])} of the rows"
    for row in labels["worst"]:
        said, others = f"{quoted(row['label'])}, as {percent(row['share'])} say", quoted(row["most_others"])
        yield "", f"  row {row['row']}: {said}; most others {others}"


def _share(one: Found) -> str:
    return f"{one['share']:4.0%}".replace("%", " %").rjust(6)


def _weights(one: Found) -> str:
    if "weights" not in one:
        return ""
    low, middle, high = (weight(one["weights"][end]) for end in ("low", "middle", "high"))
    own = "" if one["weight"] is None else f" (weight {weight(one['weight'])}"
    return f"{own}; there {middle}, {low} to {high})"


def _further(stable: Mapping[str, Any], everything: bool) -> Iterator[Said]:
    further = stable["further_rules"]
    shown = further if everything else further[:MOST_FURTHER]
    if shown:
        yield "not in it", "rules that the model has not, and which were found again and again"
        yield from (("", f"  {_share(one)}  for {quoted(one['class'])}: {one['text']}") for one in shown)
    rest = len(further) - len(shown) + stable["rarer_further_rules"]
    if rest:
        most = "rarer" if shown else "that the model has not, none of them often"
        yield ("" if shown else "not in it"), f"{'  and ' if shown else ''}{counted(rest, 'rule')} {most}"
