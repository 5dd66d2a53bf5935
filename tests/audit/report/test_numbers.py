"""The numbers of a report, recomputed from the raw table by other libraries: csv, numpy, scipy, scikit-learn."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_models import Trained, loans
from scipy.stats import beta
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    f1_score,
    log_loss,
    precision_recall_fscore_support,
    roc_auc_score,
    roc_curve,
)

import rulekit
from rulekit.work.reporting import report

Row = dict[str, str]


def read(path: Path) -> list[Row]:
    with path.open() as file:
        return list(csv.DictReader(file))


def holds(text: str, row: Row) -> bool:
    """A condition of a report on a raw row: comparisons, sets and truth values joined by `and`."""
    return all(_part(part.strip(), row) for part in text.split(" and "))


def _part(text: str, row: Row) -> bool:
    if found := re.fullmatch(r"\((\w+)(.*) or missing\)", text):
        return not row[found[1]] or _part(found[1] + found[2], row)
    if found := re.fullmatch(r"(\w+) not in \{(.*)\}", text):
        return bool(row[found[1]]) and row[found[1]] not in found[2].split(", ")
    if found := re.fullmatch(r"(\w+) (<=|>) ([\d.]+)", text):
        cell = row[found[1]]
        if not cell:
            return False
        return float(cell) <= float(found[3]) if found[2] == "<=" else float(cell) > float(found[3])
    if found := re.fullmatch(r"([\d.]+) < (\w+) <= ([\d.]+)", text):
        return bool(row[found[2]]) and float(found[1]) < float(row[found[2]]) <= float(found[3])
    if found := re.fullmatch(r"(\w+) in \{(.*)\}", text):
        return row[found[1]] in found[2].split(", ")
    if found := re.fullmatch(r"(not )?(\w+)", text):
        return row[found[2]] == ("false" if found[1] else "true")
    raise AssertionError(text)


def exact(share: float, n: float) -> tuple[float, float]:
    """The interval of Clopper and Pearson, of n that need not be whole."""
    right = share * n
    low = 0.0 if right < 1e-9 else beta.ppf(0.025, right, n - right + 1)
    high = 1.0 if n - right < 1e-9 else beta.ppf(0.975, right + 1, n - right)
    return float(low), float(high)


def effective(weights: np.ndarray) -> float:
    return float(weights.sum() ** 2 / (weights**2).sum())


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "weighted"])
def made(request: pytest.FixtureRequest) -> tuple[Trained, dict[str, Any], str]:
    trained = loans(request.param)
    from rulekit.audit.report.layouts import markdown

    found = report(trained.model, trained.held, by=("purpose",), reading=trained.reading).document
    return trained, found.data, markdown(found)


def raw(trained: Trained, path: Path) -> tuple[list[Row], np.ndarray, np.ndarray]:
    """Rows, whether each is of the positive class, and weights."""
    rows = read(path)
    weights = np.array([float(row.get("w", 1)) for row in rows])
    return rows, np.array([row["default"] == "yes" for row in rows]), weights


def test_the_figures_of_each_rule(made: tuple[Trained, dict[str, Any], str]) -> None:
    trained, data, _ = made
    assert len(data["rules"]["rules"]) >= 2
    for rule in data["rules"]["rules"]:
        assert [figures["table"] for figures in rule["figures"]] == ["training", "held out"]
        for figures, path in zip(rule["figures"], (trained.training, trained.held), strict=True):
            rows, yes, weights = raw(trained, path)
            covered = np.array([holds(rule["text"], row) for row in rows])
            own = yes if rule["label"] == "yes" else ~yes
            precision = weights[covered & own].sum() / weights[covered].sum()
            base = weights[own].sum() / weights.sum()
            n = effective(weights[covered])
            low, high = exact(precision, n)
            assert figures["covered"] == covered.sum()
            assert figures["of_rows"] == len(rows)
            assert figures["effective_n"] == pytest.approx(n)
            assert figures["coverage"] == pytest.approx(weights[covered].sum() / weights.sum())
            assert figures["precision"] == pytest.approx(precision)
            assert (figures["precision_low"], figures["precision_high"]) == pytest.approx((low, high), abs=1e-9)
            assert figures["base_rate"] == pytest.approx(base)
            expected = (precision / base, low / base, high / base)
            assert (figures["lift"], figures["lift_low"], figures["lift_high"]) == pytest.approx(expected)


def test_coverage_and_overlaps(made: tuple[Trained, dict[str, Any], str]) -> None:
    trained, data, _ = made
    rows, _, _ = raw(trained, trained.held)
    rules = data["rules"]["rules"]
    table = np.array([[holds(rule["text"], row) for rule in rules] for row in rows])
    assert data["coverage"]["rows_by_number_of_rules"] == np.bincount(table.sum(axis=1)).tolist()
    ids = [rule["id"] for rule in rules]
    meeting = {(p["first"], p["second"]): p for p in data["coverage"]["pairs"]}
    for i in range(len(ids)):
        for j in range(i + 1, len(ids)):
            both = (table[:, i] & table[:, j]).sum()
            pair = meeting.get((ids[i], ids[j]), {"together": 0})
            assert pair["together"] == both
            if both:
                assert pair["of_first"] == pytest.approx(both / table[:, i].sum())
                assert pair["of_second"] == pytest.approx(both / table[:, j].sum())


def test_performance(made: tuple[Trained, dict[str, Any], str]) -> None:
    trained, data, _ = made
    rows, yes, weights = raw(trained, trained.held)
    found = data["performance"]["given"]
    said = [rule["text"] for rule in data["rules"]["rules"]]
    decided = np.array([any(holds(text, row) for text in said) for row in rows])
    graph = rulekit.load(trained.model)
    cells = {name: [row[name] or None for row in rows] for name in graph.used_features}
    chance = graph.predict_proba(graph.table(cells))[:, 1]
    w = weights
    assert found["confusion"] == confusion_matrix(yes, decided, sample_weight=w).tolist()
    assert found["accuracy"] == pytest.approx(w[yes == decided].sum() / w.sum())
    spread = (found["accuracy"] * (1 - found["accuracy"]) / effective(w)) ** 0.5
    assert found["accuracy_standard_error"] == pytest.approx(spread)
    assert found["accuracy_interval"] == pytest.approx(exact(found["accuracy"], effective(w)), abs=1e-9)
    assert found["majority_class_accuracy"] == pytest.approx(max(w[yes].sum(), w[~yes].sum()) / w.sum())
    assert found["auc"] == pytest.approx(roc_auc_score(yes, chance, sample_weight=w))
    assert found["log_loss"] == pytest.approx(log_loss(yes, chance, sample_weight=w))
    assert found["macro_f1"] == pytest.approx(f1_score(yes, decided, average="macro", sample_weight=w))
    scores = precision_recall_fscore_support(yes, decided, sample_weight=w)
    for k, entry in enumerate(found["per_class"]):
        assert (entry["precision"], entry["recall"], entry["f1"]) == pytest.approx([scores[i][k] for i in range(3)])
        n = effective(w) * entry["predicted"] / w.sum()
        assert entry["precision_interval"] == pytest.approx(exact(entry["precision"], n), abs=1e-9)
    wrong, right, cuts = roc_curve(yes, chance, sample_weight=w, drop_intermediate=False)
    points = found["roc"][0]["points"]
    assert [p["false_positive_rate"] for p in points] == pytest.approx(wrong)
    assert [p["true_positive_rate"] for p in points] == pytest.approx(right)
    assert [p["threshold"] for p in points[1:]] == pytest.approx(cuts[1:])
    at = [w[decided & of].sum() / w[of].sum() for of in (~yes, yes)]
    assert found["roc"][0]["decides_at"] == pytest.approx(at)
    assert found["calibration"]["brier"] == pytest.approx(brier_score_loss(yes, chance, sample_weight=w))
    tenth = np.minimum(np.floor(chance * 10), 9)
    error = 0.0
    for value, each in zip(np.unique(tenth), found["calibration"]["bins"], strict=True):
        among = tenth == value
        mean, happened = (np.average(v[among], weights=w[among]) for v in (chance, yes))
        error += w[among].sum() / w.sum() * abs(mean - happened)
        assert each["rows"] == among.sum()
        assert (each["mean_probability"], each["happened"]) == pytest.approx((mean, happened))
        assert (each["low"], each["high"]) == pytest.approx(exact(happened, effective(w[among])), abs=1e-9)
    assert found["calibration"]["error"] == pytest.approx(error)


def test_groups(made: tuple[Trained, dict[str, Any], str]) -> None:
    trained, data, _ = made
    rows, yes, weights = raw(trained, trained.held)
    said = [rule["text"] for rule in data["rules"]["rules"]]
    decided = np.array([any(holds(text, row) for text in said) for row in rows])
    groupings = {found["column"]: found for found in data["groups"]["groupings"]}
    assert list(groupings) == ["age", "homeowner", "purpose"]
    measures: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
        "selection rate": lambda own: (own, decided),
        "true positive rate": lambda own: (own & yes, decided),
        "false positive rate": lambda own: (own & ~yes, decided),
        "accuracy": lambda own: (own, decided == yes),
        "precision": lambda own: (own & decided, yes),
    }
    for column in ("homeowner", "purpose"):
        members = {g["name"]: np.array([row[column] == g["name"] for row in rows]) for g in groupings[column]["groups"]}
        heaviest = max(members, key=lambda name: weights[members[name]].sum())
        assert groupings[column]["reference"] == heaviest
        for group in groupings[column]["groups"]:
            assert group["rows"] == members[group["name"]].sum()
            for rate in group["rates"]:
                shares = {}
                for name in (group["name"], heaviest):
                    among, event = measures[rate["measure"]](members[name])
                    shares[name] = weights[among & event].sum() / weights[among].sum()
                    if name == group["name"]:
                        assert rate["rows"] == among.sum()
                        low, high = exact(shares[name], effective(weights[among]))
                        assert (rate["low"], rate["high"]) == pytest.approx((low, high), abs=1e-9)
                share, other = shares[group["name"]], shares[heaviest]
                assert rate["share"] == pytest.approx(share)
                assert (rate["difference"] is None) == (group["name"] == heaviest)
                if group["name"] != heaviest:
                    assert rate["difference"]["value"] == pytest.approx(share - other)
                    assert not other or rate["ratio"]["value"] == pytest.approx(share / other)
    cuts = np.quantile([float(row["age"]) for row in rows], [0.25, 0.5, 0.75], method="inverted_cdf")
    parted = np.bincount(np.searchsorted(cuts, [float(row["age"]) for row in rows]))
    assert [group["rows"] for group in groupings["age"]["groups"]] == parted.tolist()


def test_columns_and_missing_values(made: tuple[Trained, dict[str, Any], str]) -> None:
    trained, data, _ = made
    rows, _, weights = raw(trained, trained.training)
    for column in data["columns"]["used"]:
        cells = [row[column["column"]] for row in rows]
        missing = np.array([cell == "" for cell in cells])
        found = column["training"]
        assert found["missing"] == pytest.approx(weights[missing].sum() / weights.sum())
        assert data["missing"]["columns"][column["column"]]["missing"]["training"] == found["missing"]
        if column["kind"] == "numeric":
            numbers = [float(cell) for cell in cells if cell]
            assert (found["low"], found["high"]) == (min(numbers), max(numbers))
        elif column["kind"] == "categorical":
            for level, share in found["levels"].items():
                own = np.array([cell == level for cell in cells])
                assert share == pytest.approx(weights[own].sum() / weights.sum())


def test_what_is_shown_is_what_the_data_say(made: tuple[Trained, dict[str, Any], str]) -> None:
    """The lines of the rules in the model card have the numbers of the JSON, rounded."""
    trained, data, card = made
    for rule in data["rules"]["rules"]:
        for figures in rule["figures"]:
            low, high = 100 * figures["precision_low"], 100 * figures["precision_high"]
            said = f"{100 * figures['precision']:.1f} % ({low:.1f} to {high:.1f})"
            lift = f"{figures['lift']:.2f} ({figures['lift_low']:.2f} to {figures['lift_high']:.2f})"
            line = next(line for line in card.splitlines() if line.startswith(f"| {rule['id']} |"))
            covered = f"{figures['covered']:,} of {figures['of_rows']:,} ({100 * figures['coverage']:.1f} %)"
            assert f"| {said}<br>{covered}<br>" in line
            assert f"<br>lift {lift} |" in line
    assert f"{100 * data['performance']['given']['accuracy']:.1f} %" in card
    ladder = rulekit.load(trained.model).ladder
    assert ladder is None or data["sizes"]["ladder"]["chosen"] == ladder.chosen
