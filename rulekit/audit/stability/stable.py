"""The stability of a model: what comes back when it is learned again from halves of its table (docs/stability.md).

Rules: in how many of the models one is alike within a tolerance of its cuts (`rulekit.audit.rule_matching.alike`). Sets
of rules: the Dice-Sorensen index, its mean over pairs of models, as C. Benard, G. Biau, S. da Veiga and E. Scornet,
SIRUS: Stable and interpretable rule set for classification, 2021, section 3, measure it. Labels: how often they agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rulekit.audit.rule_matching.alike import TOLERANCE, Alike
from rulekit.audit.rule_matching.rule_parts import RuleParts, rule_parts
from rulekit.audit.stability.recurrence import (
    Recurrence,
    columns_found,
    conditions_found,
    dice_of_pairs,
    further_rules,
    rules_found,
)
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
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


def agreement_of(
    own: npt.NDArray[np.int64], others: npt.NDArray[np.int64], classes: tuple[ClassLabel, ...]
) -> Agreement:
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


def _decided(rule: RuleParts, table: Table, same: npt.NDArray[np.float64]) -> float | None:
    """How often the rows of a rule are decided as by the model; same [n]: the share of the models that do so."""
    if rule.condition is None or rule.rule.connective == "sum":
        return None
    held = evaluate_nodes([rule.condition], table)[rule.condition]
    return float(same[held].mean()) if held.any() else None
