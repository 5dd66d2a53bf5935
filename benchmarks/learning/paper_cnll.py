"""The tables of the CNLL paper, with peers in the same run: exclusive or, noisy-logical data, adult.

python -m benchmarks.learning.paper_cnll [xor] [noisy] [adult] [--seeds 20] [--data ../shared/data] [--write]

--write replaces the section "noisy logical" of docs/benchmarks/.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder
from sklearn.tree import DecisionTreeClassifier

from benchmarks.learning.peers.pages import FOLDER
from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import markdown, publish
from rulekit import CNLLClassifier, RuleGraph, Table
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import And, IsTrue, Or
from rulekit.graph.rules import columns_of, counts
from rulekit.learners.papers.cnll_paper import CNLLPaperClassifier
from rulekit.learners.papers.early_boosting import PaperAdaBoostClassifier
from rulekit.synthetic import exclusive_or, noisy_logical
from rulekit.tables.kinds.inference import infer

Array = npt.NDArray[Any]

PAIRS = frozenset({("x1 <= 1", 1), ("x0 <= 1", 1), ("x0 > 1", 2), ("x1 > 1", 2)})
TRUE_RULE = frozenset({frozenset({"x0", "x1"}), frozenset({"x2", "x3"})})


# Exclusive or ------------------------------------------------------------------------------------------------------


def xor_errors(seed: int, grid: bool, **parameters: Any) -> tuple[tuple[float, ...], frozenset[tuple[str, int]]]:
    """Training error after each added condition, and the (condition, clause) pairs; a grid has cuts at 0.1, 0.2, ..."""
    X, y = exclusive_or(seed)
    X = np.floor(X * 10) / 10 if grid else X
    steps = CNLLPaperClassifier(stopping="none", max_bins=None, **parameters).fit(X, y).history_
    errors = tuple(round(step["error"], 4) for step in steps)
    pairs = frozenset(
        (f"{' '.join(s['condition'].split()[:-1])} {round(float(s['condition'].split()[-1]))}", s["clause"])
        for s in steps
    )
    return errors, pairs


def xor(seeds: int) -> None:
    print(f"\nExclusive or, training error (share of {seeds} seeds)")
    configurations: list[tuple[str, bool, dict[str, Any]]] = [
        ("II, lambda 1, grid cuts, 4 units", True, {"n_units": 4, "brier": 1.0}),
        ("II, lambda 1, every cut, 5 units", False, {"n_units": 5, "brier": 1.0}),
        ("I, lambda 1, grid cuts, 4 units", True, {"n_units": 4, "algorithm": "I", "brier": 1.0}),
        ("I, plain error, grid cuts, 4 units", True, {"n_units": 4, "algorithm": "I"}),
        ("II, plain error, grid cuts, 4 units", True, {"n_units": 4}),
    ]
    for name, grid, parameters in configurations:
        runs = [xor_errors(seed, grid, **parameters) for seed in range(seeds)]
        ends = Counter(errors[-1] for errors, _ in runs)
        pairs = sum(found == PAIRS for _, found in runs)
        mean = " ".join(f"{np.mean([e[min(t, len(e) - 1)] for e, _ in runs]):.3f}" for t in range(len(runs[0][0])))
        print(f"  {name:46s} mean {mean}   last {dict(sorted(ends.items()))}   paper's pairs {pairs}/{seeds}")


# Noisy-logical data ------------------------------------------------------------------------------------------------


def learned_rule(graph: RuleGraph) -> frozenset[frozenset[str]] | None:
    """The clauses of the decision as sets of columns; None if it is no disjunction of columns that are true."""
    if not isinstance(graph.decision, Fires):
        return None
    formula = graph.decision.formula
    parts = formula.children if isinstance(formula, Or) else (formula,)
    clauses = [part.children if isinstance(part, And) else (part,) for part in parts]
    if not all(isinstance(leaf, IsTrue) for clause in clauses for leaf in clause):
        return None
    return frozenset(frozenset(leaf.feature for leaf in clause) for clause in clauses)  # type: ignore[attr-defined]


STUMPS = 20
PAPER = {"I": (0.05, 0.07, 0.21, 0.24), "II": (0.0, 0.0, 0.16, 0.20)}  # training and test error, CNLL and AdaBoost


def noisy_run(case: Any, seed: int, **parameters: Any) -> dict[str, float]:
    """Errors of the learned rule, the true rule and both AdaBoosts on one draw of training and test rows.

    irrelevant: the share of the columns that the model reads, or of its stumps, that are coin tosses.
    """
    X, y = noisy_logical(case, 1000, seed)
    X_test, y_test = noisy_logical(case, 1000, 10_000 + seed)
    model = CNLLClassifier(parsimony=0.25, **parameters).fit(X, y)
    ours = PaperAdaBoostClassifier(STUMPS, stopping="none", weak="exact").fit(X, y)
    theirs = AdaBoostClassifier(n_estimators=STUMPS, random_state=0).fit(X, y)
    true = ((X_test[:, 0] * X_test[:, 1] + X_test[:, 2] * X_test[:, 3]) > 0).astype(int)
    graph = model.rule_graph_
    units, columns = _deciding(graph), _deciding(ours.rule_graph_)
    stumps = [int(stump.tree_.feature[0]) for stump in theirs.estimators_]
    found = {
        "exact": float(learned_rule(graph) == TRUE_RULE),
        "units": float(graph.provenance["units"][0]),
        "noise features": float(sum(unit >= 4 for unit in units)),
        "true rule": float((true != y_test).mean()),
    }
    for name, learner, read in (("", model, units), ("AdaBoost ", ours, columns), ("scikit-learn ", theirs, stumps)):
        found[f"{name}train"] = 1 - learner.score(X, y)
        found[f"{name}test"] = 1 - learner.score(X_test, y_test)
        found[f"{name}irrelevant"] = float(np.mean([column >= 4 for column in set(read)]))
        found[f"{name}noise columns"] = float(sum(column >= 4 for column in set(read)))
    return found


def _deciding(graph: RuleGraph) -> list[int]:
    """The numbers of the columns that decide; what is reported may read more."""
    return sorted({int(name[1:]) for root in graph.decision.roots for name in columns_of(root)})


def noisy(seeds: int) -> list[str]:
    """The lines of the page about noisy-logical data."""
    rows = []
    words = []
    for case in ("I", "II"):
        runs = [noisy_run(case, seed) for seed in range(seeds)]
        worst = max(run["test"] - run["true rule"] for run in runs)
        units = np.mean([run["units"] for run in runs])
        words.append(
            f"- {case}: CNLL finds the true rule {sum(run['exact'] for run in runs):.0f} times of {seeds}, with "
            f"{units:.1f} units; at worst its test error is {worst:.4f} above that of the true rule."
        )
        for k, (title, name) in enumerate(
            (("CNLL", ""), ("AdaBoost", "AdaBoost "), ("scikit-learn's AdaBoost", "scikit-learn "))
        ):
            paper = PAPER[case][2 * min(k, 1) :][:2]
            shown = [_percent(run[f"{name}{what}"] for run in runs) for what in ("train", "test", "irrelevant")]
            columns = f"{np.mean([run[f'{name}noise columns'] for run in runs]):.1f}"
            rows.append((f"{case}, {title}", *(f"{100 * value:.0f}" for value in paper), *shown, columns))
    header = (
        "",
        "paper: training error %",
        "test error %",
        "training error %",
        "test error %",
        "irrelevant columns %",
        "how many",
    )
    return [
        f"Noisy-logical data of 50 columns, of which 4 matter, {seeds} seeds; 2,000 training and 2,000 test rows. "
        "CNLL: parsimony 1/4, units by cross-validation up to 20. AdaBoost: 20 rounds of the exact form. "
        "Irrelevant: of the columns that decide, those that are coin tosses.",
        "",
        *markdown(header, rows),
        "",
        *words,
    ]


def _percent(values: Iterable[float]) -> str:
    found = 100 * np.array(list(values))
    return f"{found.mean():.2f} ± {found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0:.2f}"


# Adult -------------------------------------------------------------------------------------------------------------


def adult_tables(folder: Path) -> tuple[pl.DataFrame, Array, pl.DataFrame, Array]:
    train, test = (pl.read_csv(folder / f"adult_{part}.csv.gz") for part in ("train", "test"))
    return train.drop("target"), train["target"].to_numpy(), test.drop("target"), test["target"].to_numpy()


def adult_rows(folder: Path) -> list[tuple[str, float, float, str, str, float, float, float]]:
    """Per model: name, train and test error, rules, literals, F1 and AUC of >50K on the test file, seconds."""
    X, y, X_test, y_test = adult_tables(folder)
    table: Table = infer(X)
    rows = []
    paper = {"brier": 1.0, "refit": 1, "stopping": "none", "positive": ">50K"}
    learners: list[tuple[str, Any]] = [
        (f"CNLL II, {units} units, refit", CNLLPaperClassifier(units, **paper)) for units in (5, 10, 20)
    ]
    learners.append(("CNLL II, 20 units, no refit", CNLLPaperClassifier(**{**paper, "refit": 0})))
    learners.append(("CNLL, the default, 20 units", CNLLClassifier(stopping="none", positive=">50K")))
    for _, learner in learners[::4]:  # compile once
        clone(learner).set_params(n_units=2).fit(table.take(np.arange(2000)), y[:2000])
    for name, learner in learners:
        start = time.perf_counter()
        model = learner.fit(table, y)
        seconds = time.perf_counter() - start
        size = counts(model.rule_graph_)
        rows.append((name, model, table, X_test, str(size.rules), str(size.literals), seconds))
    frame, frame_test = X.to_pandas(), X_test.to_pandas()
    for name, peer in peers():
        start = time.perf_counter()
        peer.fit(frame, y)
        seconds = time.perf_counter() - start
        leaves = peer[-1].get_n_leaves() if hasattr(peer[-1], "get_n_leaves") else None
        size_text = (str(leaves), "-") if leaves else ("20", "20") if "AdaBoost" in name else ("-", "-")
        rows.append((name, peer, frame, frame_test, *size_text, seconds))
    return [
        (
            name,
            float(1 - model.score(train, y)),
            float(1 - model.score(test, y_test)),
            rules,
            literals,
            float(f1_score(y_test, model.predict(test), pos_label=">50K")),
            float(roc_auc_score(y_test == ">50K", model.predict_proba(test)[:, 1])),
            seconds,
        )
        for name, model, train, test, rules, literals, seconds in rows
    ]


def peers() -> list[tuple[str, Any]]:
    """AdaBoost of 20 stumps and a tree of depth 4 on one-hot columns, HistGradientBoosting on ordinal codes."""
    text = make_column_selector(dtype_exclude="number")

    def one_hot() -> Any:
        return make_column_transformer((OneHotEncoder(handle_unknown="ignore"), text), remainder="passthrough")

    codes = make_column_transformer(
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), text), remainder="passthrough"
    )
    return [
        ("AdaBoost, 20 stumps", make_pipeline(one_hot(), AdaBoostClassifier(n_estimators=20, random_state=0))),
        ("tree of depth 4", make_pipeline(one_hot(), DecisionTreeClassifier(max_depth=4, random_state=0))),
        ("HistGradientBoosting, 100", make_pipeline(codes, HistGradientBoostingClassifier(random_state=0))),
    ]


def adult(folder: Path) -> None:
    print("\nAdult, train file then test file")
    print(
        f"  {'model':38s} {'train':>7s} {'test':>7s} {'rules':>6s} {'lits':>5s} {'F1':>6s} {'AUC':>6s} {'seconds':>8s}"
    )
    for name, train, test, rules, literals, f1, auc, seconds in adult_rows(folder):
        print(f"  {name:38s} {train:7.4f} {test:7.4f} {rules:>6s} {literals:>5s} {f1:6.3f} {auc:6.3f} {seconds:8.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", default=["xor", "noisy", "adult"])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--write", action="store_true", help="replace the section on noisy-logical data")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page to write")
    arguments = parser.parse_args()
    if "xor" in arguments.tables:
        xor(arguments.seeds)
    if "noisy" in arguments.tables:
        publish(arguments, "noisy logical", [stamp(), "", *noisy(arguments.seeds)])
    if "adult" in arguments.tables:
        adult(arguments.data)


if __name__ == "__main__":
    main()
