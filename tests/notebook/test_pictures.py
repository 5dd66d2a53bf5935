"""Pictures say what the figures say, and no name of a table breaks them."""

from __future__ import annotations

from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from cnll_cases import loan_rows

from rulekit import (
    AdaBoostStumpClassifier,
    RulesClassifier,
    plot_boundary,
    plot_calibration,
    plot_ladder,
    plot_path,
    plot_roc,
    plot_rules,
)
from rulekit.audit.figures.metrics import figures
from rulekit.errors import InputError
from rulekit.graph.rules import rules_of

matplotlib.use("agg")
HOSTILE = {"income": "$\\frac{income", "amount": "<b>\u202ea$m$\\n", "late_payments": "_^{late"}


@pytest.fixture(scope="module")
def rows() -> tuple[pd.DataFrame, np.ndarray]:
    X, y = loan_rows(400)
    return pd.DataFrame(X).rename(columns=HOSTILE), np.asarray(y)


@pytest.mark.parametrize(
    ("classes", "learner"),
    [
        (2, RulesClassifier),
        (3, AdaBoostStumpClassifier),
        pytest.param(2, AdaBoostStumpClassifier, marks=pytest.mark.long),
        pytest.param(3, RulesClassifier, marks=pytest.mark.long),
    ],
)
def test_every_model_is_drawn(rows: Any, learner: Any, classes: int) -> None:
    X, y = rows
    y = y if classes == 2 else np.where(X[HOSTILE["income"]] > 60_000, "rich", y)
    model = learner(5, n_folds=2, target="$y$").fit(X, y)
    graph = model.rule_graph_
    drawn = [
        plot_path(model.path_),
        plot_ladder(model.ladder_),
        plot_roc(graph, X, y),
        plot_calibration(graph, X, y),
        plot_rules(graph),
    ]
    for axes in drawn:
        panels = np.atleast_1d(np.asarray(axes, dtype=object))
        panels[0].figure.canvas.draw()  # parses every text
    assert len(np.atleast_1d(drawn[0])) == len({point.label for point in model.path_.points})
    assert all(len(panel.lines) >= 1 for panel in np.atleast_1d(drawn[0]))
    assert len(drawn[2].lines) == 1 + 2 * (1 if classes == 2 else 3)
    matplotlib.pyplot.close("all")


def test_pictures_say_what_the_figures_say(rows: Any) -> None:
    X, y = rows
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    model = RulesClassifier(5, positive="yes", n_folds=2).fit(X, y)
    graph, truth = model.rule_graph_, y == "yes"
    chances = graph.predict_proba(X)
    measured = figures(truth.astype(int), graph.decide(X), chances, graph.classes, weight)
    ax = plot_roc(graph, X, y, weight)
    assert f"AUC {measured.auc:.3f}" in ax.get_legend().get_texts()[1].get_text()
    ((wrong, right),) = ax.lines[2].get_xydata()
    recall, no = measured.classes[1].recall, measured.classes[0]
    assert right == pytest.approx(recall)
    assert wrong == pytest.approx(1 - no.recall)
    tenths = np.minimum((10 * chances[:, 1]).astype(int), 9)
    gaps = [abs((weight * (chances[:, 1] - truth))[tenths == k].sum()) for k in range(10)]
    title = plot_calibration(graph, X, y, weight).get_title(loc="left")
    assert title.endswith(f"calibration error {100 * sum(gaps) / weight.sum():.1f} %")
    bars = plot_rules(graph)
    shown = [bar.get_width() for bar in bars.patches]
    covered = [rule for rule in graph.statistics["rules"] if rule["precision"] is not None]
    assert len(rules_of(graph)) >= len(covered) > 0
    assert shown == pytest.approx([100 * rule["precision"] for rule in covered])
    own = matplotlib.figure.Figure().add_subplot()
    assert plot_rules(graph, own) is own
    matplotlib.pyplot.close("all")


def test_what_cannot_be_drawn_is_named(rows: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rows
    graph = RulesClassifier(2, stopping="none").fit(X, y).rule_graph_
    with pytest.raises(InputError, match="'maybe' is no class"):
        plot_roc(graph, X, ["maybe"] * len(y))
    with pytest.raises(InputError, match="400 rows"):
        plot_calibration(graph, X, y[:9])
    with pytest.raises(InputError, match="no size has an error"):
        plot_ladder(RulesClassifier(2, stopping="none").fit(X, y).ladder_)
    with pytest.raises(InputError, match="no rule has figures"):
        plot_rules(graph.with_(statistics={}))
    monkeypatch.setattr("rulekit.audit.figures.curves.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"pip install 'rulekit-portable\[plot\]'"):
        plot_roc(graph, X, y)


def test_the_boundary_is_what_the_model_decides(rows: Any) -> None:
    """Every point of the area is decided as a row of the medians with its two numbers is."""
    X, y = rows
    graph = RulesClassifier(5, n_folds=2).fit(X, y).rule_graph_
    across, up = HOSTILE["income"], HOSTILE["amount"]
    ax = plot_boundary(graph, (across, up), X, y)
    ax.figure.canvas.draw()
    area = np.asarray(ax.images[0].get_array())
    left, right, bottom, top = ax.images[0].get_extent()
    place = (np.linspace(left, right, area.shape[1])[37], np.linspace(bottom, top, area.shape[0])[211])
    row = {name: X[name].mode().iloc[0] if X[name].dtype == object else X[name].sort_values() for name in X}
    row = {name: v.dropna().iloc[len(v.dropna()) // 2] if hasattr(v, "iloc") else v for name, v in row.items()}
    decided = graph.predict([{**row, across: place[0], up: place[1]}])[0]
    assert graph.classes[int(area[211, 37])] == decided
    with pytest.raises(InputError, match="no numeric column"):
        plot_boundary(graph, (across, "nothing"), X, y)
    with pytest.raises(InputError, match="two columns"):
        plot_boundary(graph, (across, across), X, y)
    matplotlib.pyplot.close("all")
