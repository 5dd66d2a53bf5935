"""Rows in parts teach the model that they teach in one place, from samples and from sums, whatever the parts."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import rulekit.learners.additive.learner as additive
import rulekit.learners.rules.learner as rules
from rulekit.errors import InputError
from rulekit.graph.files.writing import to_json
from rulekit.learners.contract import find_learner
from rulekit.learners.data import folds
from rulekit.learners.data.parted import HeldParts, PartedRows
from rulekit.learners.data.training_part import TrainingPart
from rulekit.learners.rules import rule_paths
from rulekit.learners.sizes import choice
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labels import LabelledTable

CUTS = ((0.0, 1.0), (0.0, 0.5, 1.0), (0.0, 1e-9, 0.3, 1.0), (0.0, 0.01, 0.01, 0.2, 0.5, 0.9, 0.91, 1.0))
QUICK = {"adaboost": {"n_estimators": 12}, "rules": {"max_rules": 3}, "additive": {"max_rules": 4}}


def rows_of(n: int, n_classes: int, *, weighted: bool = False, seed: int = 0) -> LabelledTable:
    """Numbers with gaps, two columns that others part alike, levels and truth values; some rows of weight 0."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {f"x{i}": rng.normal(size=n).astype(np.float32).round(2) for i in range(3)}
    columns["x0"][rng.random(n) < 0.1] = np.nan
    columns |= {"lower": -columns["x1"], "twice": columns["x2"] * 2}
    columns |= {"level": rng.choice(list("abcdef"), n), "yes": rng.random(n) < 0.5}
    score = np.nan_to_num(columns["x0"]) + columns["x1"] * (columns["level"] < "d") + 0.5 * rng.normal(size=n)
    cuts = np.quantile(score, [0.7] if n_classes == 2 else np.arange(1, n_classes) / n_classes)
    weight = rng.integers(0, 4, n) / 2.0 if weighted else None
    labels = tuple("abcd"[:n_classes])
    return LabelledTable(infer(columns), np.digitize(score, cuts).astype(np.int64), labels, weight, target="y")


def parted(rows: LabelledTable, shares: tuple[float, ...], seed: int = 0) -> PartedRows:
    """The rows in parts, which are asked in another order; 1e-9 is the share of a single row."""
    ends = [1 if share == 1e-9 else round(share * len(rows)) for share in shares]
    largest = 0.0 if rows.weight is None else float(rows.weight.max())
    parts = [TrainingPart(rows.take(np.arange(a, b)), k, largest) for k, (a, b) in enumerate(pairwise(ends))]
    order = np.random.default_rng(seed).permutation(len(parts))
    return PartedRows(HeldParts([parts[k] for k in order]), rows.take(np.zeros(0, dtype=np.int64)))


def learned(learner: str, rows: Any, **parameters: Any) -> tuple[str, Any, str]:
    """The text of the model, with the errors of its sizes."""
    made: Any = find_learner(learner)(random_state=3, **QUICK[learner], **parameters)
    made.fit_rules(rows)
    return to_json(made.rule_graph_), made.path_.errors, made.path_.why


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table of hundreds of rows has more than any learner looks at."""
    for module, name, value in (
        *((additive, "_ROWS_OF_A_FOLD", 300), (additive, "_ROWS", 600), (choice, "_HELD_OUT", 150)),
        *((rules, "SEARCHED_ROWS", 600), (rules, "_LOOKED_AT", 400), (rules, "_GUIDED", 300)),
        *((rule_paths, "SEARCHED_ROWS", 600), (rule_paths, "_OF_A_FOLD", 300)),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize("kind", ["two", "weighted", "several", "ranked", "alone", "by hash"])
@pytest.mark.parametrize("learner", sorted(QUICK))
def test_parts_teach_what_one_place_teaches(
    learner: str, kind: str, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_classes = 3 if kind in ("several", "ranked") else 2
    rows = rows_of(1200, n_classes, weighted=kind in ("weighted", "several"))
    parameters: dict[str, Any] = {"ordered": ("a", "b", "c")} if kind == "ranked" else {}
    parameters |= {"stopping": "none"} if kind == "alone" else {}
    if kind == "by hash":
        monkeypatch.setattr(folds, "BY_HASH", 700)
    one = learned(learner, rows, **parameters)
    for shares in CUTS:
        assert learned(learner, parted(rows, shares), **parameters) == one


def test_a_class_whose_rows_weigh_nothing_is_none() -> None:
    rows = rows_of(300, 3)
    weight = np.where(rows.y == 1, 0.0, 1.0)
    rows = LabelledTable(rows.table, rows.y, rows.classes, weight, target="y")
    with pytest.warns(UserWarning, match="have weight 0"):
        one = learned("adaboost", rows)
    assert learned("adaboost", parted(rows, CUTS[2])) == one


@pytest.mark.parametrize(
    ("learner", "parameters", "said"),
    [
        ("adaboost", {"points": True}, "points: this needs all rows in one process"),
        ("rules", {"require": ["x1 > 1 -> b"]}, "require: this needs all rows in one process"),
        ("rules", {"memory": "1GB"}, "memory: this needs all rows in one process"),
    ],
)
def test_what_parts_cannot_is_refused(learner: str, parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        learned(learner, parted(rows_of(100, 2), CUTS[1]), **parameters)


def test_a_learner_that_cannot_says_so() -> None:
    with pytest.raises(InputError, match="cnll learns in one process only"):
        find_learner("cnll")().fit_rules(parted(rows_of(100, 2), CUTS[1]))
