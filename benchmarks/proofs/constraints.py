"""Promises of models that are learned under them: kept and proved on random problems, and what they cost in accuracy.

    python -m benchmarks.proofs.constraints [--small] [--data ../shared/data]

By each learner 200 random problems for each kind of promise, against what the rows say: directions of columns, columns
apart, a required decision, missing values that never help. Each model is simplified and checked (`rulekit check`), and
how many models that were learned freely break the same promise is told beside it. Then five shared tables: the accuracy
on held-out folds with and without promises that a bank or a clinic would ask for. Exits with 1 where one is not proved.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning.peers.data import load
from rulekit.audit.checks.checking import check_model
from rulekit.errors import InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.learners.contract import find_estimator, find_learner
from rulekit.simplification.passes import simplify
from rulekit.tables.kinds.inference import infer
from rulekit.tables.table import Table

Promises = Mapping[str, Any]
FAST: Promises = {"stopping": "none", "n_threads": 1, "positive": "yes"}
KINDS = ("monotone", "forbid", "require", "missing_never_helps")
SUMS = ("monotone", "forbid", "missing_never_helps")
LEARNERS = {"rules": KINDS, "adaboost": SUMS, "additive": KINDS}
NUMBERS, LEVELS = ("a", "b", "c", "d"), tuple("pqrst")

TABLES: Mapping[str, Promises] = {
    "german_credit": {
        "monotone": {"duration": "increasing", "credit_amount": "increasing"},
        "forbid": [("age", "personal_status")],
    },
    "pima_diabetes": {
        "monotone": {"glucose": "increasing", "bmi": "increasing", "age": "increasing"},
        "forbid": [("age", "pregnancies")],
    },
    "heart_cleveland": {
        "monotone": {"oldpeak": "increasing", "ca": "increasing", "thalach": "decreasing"},
        "forbid": [("age", "sex")],
    },
    "heloc": {
        "monotone": {"ExternalRiskEstimate": "decreasing", "NetFractionRevolvingBurden": "increasing"},
        "forbid": [("ExternalRiskEstimate", "NumSatisfactoryTrades")],
    },
    "compas_two_year": {
        "monotone": {"priors_count": "increasing", "age": "decreasing"},
        "forbid": [("age", "race"), ("sex", "race")],
    },
}


def problem(seed: int, n: int = 250) -> tuple[Table, Any]:
    """Numbers, a category and a truth value with missing cells, under a law that no promise knows."""
    rng = np.random.default_rng(seed)
    numbers = {name: rng.integers(0, int(rng.integers(4, 40)), n).astype(np.float64) for name in NUMBERS}
    level, yes = rng.choice(LEVELS, n), rng.random(n) < 0.5
    weights = rng.normal(size=len(NUMBERS) + 3)
    terms = [np.abs(v - v.mean()) if rng.random() < 0.3 else v - v.mean() for v in numbers.values()]
    score = sum(w * t / (t.std() + 1e-9) for w, t in zip(weights, terms, strict=False))
    score = score + weights[-1] * np.isin(level, ["p", "s"]) + weights[-2] * yes + rng.normal(0.0, 0.5, n)
    data: dict[str, Any] = {}
    for name, values in numbers.items():
        gone = rng.random(n) < rng.choice([0.0, 0.15])
        score = score + weights[-3] * gone
        data[name] = np.where(gone, np.nan, values)
    data["level"] = [None if rng.random() < 0.1 else str(one) for one in level]
    data["flag"] = [None if rng.random() < 0.05 else bool(one) for one in yes]
    labels = np.where(score > np.quantile(score, rng.uniform(0.5, 0.8)), "yes", "no")
    return infer(data), labels


def promised(kind: str, seed: int) -> Promises:
    """A promise of one kind, drawn by chance."""
    rng = np.random.default_rng(1000 + seed)
    columns = [str(name) for name in rng.permutation([*NUMBERS, "level", "flag"])]
    if kind == "monotone":
        chosen = [name for name in columns if name != "level"][:3]
        return {kind: {name: str(rng.choice(["increasing", "decreasing"])) for name in chosen}}
    if kind == "forbid":
        return {kind: [columns[:2], columns[2:5]]}
    if kind == "require":
        texts = (f"{columns[0]} is missing", "level in {p, q} and flag", "a > 2 and b <= 9", "c > 3 or d <= 1")
        return {kind: [f"{texts[int(rng.integers(len(texts)))]} -> yes"]}
    return {kind: True}


def learned(learner: str, table: Table, labels: Any, promises: Promises) -> RuleGraph:
    """The model that a user would get: learned under the promises, and simplified."""
    return simplify(
        find_estimator(learner)(**{find_learner(learner).size_parameter: 6}, **FAST, **promises)
        .fit(table, labels)
        .rule_graph_
    )


def random_problems(learner: str, kind: str, count: int) -> tuple[int, int, int]:
    """How many promises are proved, how many models are constant, and how many that were learned freely break it."""
    proved = constant = broken = 0
    for seed in range(count):
        table, labels = problem(seed)
        model = learned(learner, table, labels, promised(kind, seed))
        outcomes = {verdict.outcome for verdict in check_model(model).verdicts}
        proved += outcomes == {"proved"}
        constant += len(set(model.decide(table).tolist())) == 1
        free = learned(learner, table, labels, {})
        stated = free.with_(schema=model.schema, required=model.required)
        broken += any(verdict.outcome == "fails" for verdict in check_model(stated).verdicts)
    return proved, constant, broken


def accuracy(table: Table, labels: Any, promises: Promises, folds: int) -> tuple[float, bool]:
    """The mean accuracy on held-out folds, and whether every promise is proved on each."""
    fold = np.random.default_rng(0).permutation(len(labels)) % folds
    right, proved = [], True
    for k in range(folds):
        estimator = find_estimator("rules")(n_threads=1, random_state=0, positive="yes", **promises)
        model = estimator.fit(table.take(np.flatnonzero(fold != k)), labels[fold != k]).rule_graph_
        held = np.flatnonzero(fold == k)
        right.append(float(np.mean(estimator.predict(table.take(held)) == labels[held])))
        proved &= all(verdict.outcome == "proved" for verdict in check_model(model).verdicts)
    return float(np.mean(right)), proved


def shared_tables(folder: Path, rows: int, folds: int, tell: Callable[[str], None]) -> bool:
    """A line for each table; says whether every promise is proved."""
    fine = True
    for name, promises in TABLES.items():
        try:
            whole = load(name, folder)
        except InputError as error:
            tell(f"{name}: {error}")
            continue
        chosen = np.random.default_rng(1).permutation(len(whole.labels))[:rows]
        table, labels = infer(whole.frame[chosen]), np.where(whole.labels[chosen] == 1, "yes", "no")
        settings = {
            "free": {},
            "monotone": {"monotone": promises["monotone"]},
            "apart": {"forbid": promises["forbid"]},
            "missing": {"missing_never_helps": True},
            "all": {**promises, "missing_never_helps": True},
        }
        cells = [name]
        for setting in settings.values():
            mean, proved = accuracy(table, labels, setting, folds)
            cells.append(f"{mean:.3f}" + ("" if proved else " NOT PROVED"))
            fine &= proved
        tell("| " + " | ".join(cells) + " |")
    return fine


def main() -> int:
    """Print both parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="20 problems, 600 rows, two folds")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the shared tables")
    arguments = parser.parse_args()
    count, rows, folds = (20, 600, 2) if arguments.small else (200, 3000, 3)
    fine = True
    print("| learner | promise | proved | constant models | broken when learned freely |\n|---|---|--:|--:|--:|")
    for learner, kinds in LEARNERS.items():
        for kind in kinds:
            proved, constant, broken = random_problems(learner, kind, count)
            print(f"| {learner} | {kind} | {proved} of {count} | {constant} | {broken} |", flush=True)
            fine &= proved == count
    print("\n| table | free | monotone | apart | missing | all |\n|---|--:|--:|--:|--:|--:|")
    fine &= shared_tables(arguments.data, rows, folds, lambda line: print(line, flush=True))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
