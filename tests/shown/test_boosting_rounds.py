"""AdaBoost's theorem in the model file, in what is shown and in the report: it holds, and is of that very model."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rulekit import AdaBoostStumpClassifier, load
from rulekit.graph.decisions import Fires
from rulekit.graph.files.model_files import from_json
from rulekit.graph.files.writing import to_json
from rulekit.graph.nodes import Above
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.variants import resized
from rulekit.learners.papers.boosted import BoostedClassifier
from rulekit.learners.papers.early_boosting import PaperAdaBoostClassifier
from rulekit.shown.score_cards import rounds_tables
from rulekit.shown.view import show
from rulekit.work.reporting import report

KINDS = {"two": {}, "several": {}, "ranked": {"ordered": ["a", "b", "c"]}}
BASE = {"base": "additive(max_rules=1)", "n_estimators": 2, "stopping": "none"}
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def rows_of(seed: int, n_classes: int, n: int = 60) -> tuple[dict[str, Any], Any, Any]:
    """Two numbers with missing cells and a category, labels that follow them now and then, and weights."""
    rng = np.random.default_rng(seed)
    x, z = rng.integers(0, 9, (2, n)).astype(float)
    columns = {
        "x": np.where(rng.random(n) < 0.1, np.nan, x),
        "z": z,
        "c": np.array(["u", "v", "w"])[rng.integers(0, 3, n)],
    }
    label = np.where(rng.random(n) < 0.3, rng.integers(0, n_classes, n), (x > 2).astype(int) + (x + z > 11))
    return columns, np.array(["a", "b", "c"])[np.minimum(label, n_classes - 1)], rng.integers(1, 4, n).astype(float)


@cache
def fitted(seed: int = 0, kind: str = "two", **settings: Any) -> AdaBoostStumpClassifier:
    columns, labels, weights = rows_of(seed, 2 if kind == "two" else 3)
    learner, own = AdaBoostStumpClassifier, {"min_rows": 1}
    if "base" in settings:
        learner, own = BoostedClassifier, {}
    elif {"vote", "weak", "early_stop"} & settings.keys():
        learner, own = PaperAdaBoostClassifier, {"min_rows": 1, "weak": "exact", "early_stop": True}
    made = learner(**{"n_estimators": 8, "n_folds": 2, **own, **KINDS[kind], **settings})
    return made.fit(columns, labels, sample_weight=weights)


def rounds_of(graph: RuleGraph) -> list[Any]:
    """Edge, Z and error [3, T] of each question, by the file of a model."""
    provenance = from_json(to_json(graph)).provenance
    both = zip(provenance["rounds"], provenance["units"], strict=True)
    return [np.array([said[name][:n] for name in ("edge", "z", "error")]) for said, n in both]


@pytest.mark.parametrize(
    ("kind", "settings"), [*((kind, {}) for kind in KINDS), ("two", {"weak": "gini"}), ("ranked", BASE)], ids=str
)
@pytest.mark.filterwarnings("ignore::rulekit.errors.DataWarning")
def test_the_theorem_holds_for_the_numbers_of_the_file(kind: str, settings: dict[str, Any]) -> None:
    """Each of them has nine digits."""
    for seed in range(1 if settings else 4):
        path = fitted(seed, kind, **settings).path_
        found = rounds_of(fitted(seed, kind, **settings).rule_graph_)
        for (edge, z, error), each, n in zip(found, path.paths, path.chosen, strict=True):
            bound, edge_bound = np.cumprod(z), np.exp(-2.0 * np.cumsum(edge**2))
            assert (error <= bound).all()
            assert (bound <= edge_bound * (1.0 + 1e-8)).all()
            said = [(made.said["bound"], made.said["edge_bound"]) for made in each.candidates[:n]]
            np.testing.assert_allclose(np.transpose([bound, edge_bound]), np.reshape(said, (n, 2)), rtol=1e-7)


@pytest.mark.parametrize("settings", [{}, BASE], ids=str)
def test_the_margins_are_those_of_the_estimator(settings: dict[str, Any]) -> None:
    columns, labels, weights = rows_of(1, 2)
    learner = fitted(1, **settings)
    every = np.repeat(learner.margins(columns, labels), weights.astype(int))
    provenance = learner.rule_graph_.provenance
    found = provenance["rounds"][0]["margins"][str(provenance["units"][0])]
    assert found == pytest.approx(np.quantile(every, SHARES, method="inverted_cdf"), abs=1e-9)


def test_rounds_depend_neither_on_threads_nor_memory_nor_the_order_of_the_rows() -> None:
    columns, labels, weights = rows_of(2, 3, 300)
    order, notes = np.random.default_rng(0).permutation(300), []
    for rows, settings in ((slice(None), {"n_threads": 1}), (order, {"n_threads": 2}), (order, {"memory": "2GB"})):
        learner = AdaBoostStumpClassifier(6, stopping="none", **settings)
        learner.fit({name: cells[rows] for name, cells in columns.items()}, labels[rows], sample_weight=weights[rows])
        notes.append({name: learner.rule_graph_.provenance[name] for name in ("rounds", "units")})
    assert notes[0] == notes[1] == notes[2]


@pytest.mark.parametrize("kind", KINDS)
def test_a_resized_model_has_the_rounds_of_a_fit_of_that_size(kind: str) -> None:
    graph = from_json(to_json(fitted(3, kind).rule_graph_))
    assert graph.ladder is not None
    for rung in graph.ladder.rungs[1:3]:
        model, alone = from_json(to_json(resized(graph, rung.size))), fitted(3, kind, size=rung.size).rule_graph_
        assert rounds_tables(model, full=True) == rounds_tables(alone, full=True) != []


def test_a_model_that_decides_otherwise_has_no_rounds() -> None:
    """Nor a form of which the theorem says nothing."""
    graph = fitted().rule_graph_
    (part,) = graph.decision.parts
    moved = graph.with_(decision=Fires(Above(part.score, 1.0)))
    assert [len(rounds_tables(graph)), len(rounds_tables(moved))] == [1, 0]
    assert "AdaBoost" not in show(moved)
    for settings in ({"points": True}, {"vote": "multiplicative"}, {"vote": "majority"}):
        graph = fitted(**settings).rule_graph_
        assert rounds_tables(graph) == []
        assert "rounds" not in graph.provenance


def _set(*path: Any, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(provenance: dict[str, Any]) -> None:
        at: Any = provenance
        for key in path[:-1]:
            at = at[key]
        at[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(_set("rounds", to=bad) for bad in (None, 3, "text", {}, [], [None], [{}], [[1.0]])),
        *(_set("rounds", 0, "edge", to=bad) for bad in (None, "0.1", [], [[0.1]] * 9, ["0.1"] * 9, {"a": 1})),
        *(_set("rounds", 0, "z", 0, to=bad) for bad in (None, "1", "inf", -0.5, 2.0, 1e-9, 10**300, [1.0])),
        *(_set("rounds", 0, "error", 0, to=bad) for bad in (-0.1, 0.999, 1e400, None)),
        *(_set("units", to=bad) for bad in (None, 3, [99], [-1], [1.5], ["2"], [None], [[1]], [2, 2])),
        *(
            _set("rounds", 0, "margins", to=bad)
            for bad in (None, [], {}, *({"8": bad} for bad in ([], [0.5], ["0.1"] * 7, [2.0] * 7, [None] * 7)))
        ),
        *(_set("rounds_of", to=bad) for bad in (None, 3, {}, "0" * 64)),
    ],
)
def test_what_is_no_such_note_is_taken_for_none(change: Callable[[dict[str, Any]], None]) -> None:
    graph = fitted().rule_graph_
    content = json.loads(to_json(graph))
    change(content["provenance"])
    found = graph.with_(provenance=content["provenance"])
    assert rounds_tables(found) == []
    assert "AdaBoost" not in show(found)


def test_what_is_shown_and_reported_is_the_same(tmp_path: Path) -> None:
    graph = fitted(n_estimators=30, stopping="none", early_stop=False).rule_graph_
    model = tmp_path / "model.json"
    graph.save(model)
    ((few, margins),), ((found, _),) = rounds_tables(load(model)), rounds_tables(load(model), full=True)
    assert [len(dict(table.lines)["round"]) for table in (few, found)] == [6, 30]
    assert f"\n  {margins}\n" in show(graph, 400)
    assert f"{few.title}:\n  round " in show(graph, 400)
    line = next(line for line in show(graph, 400, full=True).splitlines() if line.startswith("  edge  "))
    assert line.split()[1:] == [f"{edge:.4f}" for edge in rounds_of(graph)[0][0]]
    section = report(model).document.section("history")
    assert section.data["rounds"] == [{name: [*map(float, texts)] for name, texts in found.lines}]
    assert f"{few.title}; {margins}." in str(section.blocks)
    several = fitted(kind="several", size=3).rule_graph_  # which have a sentence each
    short, full = show(several, 200), show(several, 200, full=True)
    assert short.count("AdaBoost's theorem for") == full.count("AdaBoost's theorem for") == 3
    assert [short.count("  edge bound in %"), full.count("  edge bound in %")] == [0, 3]


def test_no_error_is_shown_as_none_and_a_bound_is_rounded_up() -> None:
    """No error was printed as -0.00 %."""
    x = np.arange(40.0) % 20
    learner = AdaBoostStumpClassifier(3, stopping="none", size=3, min_rows=1)
    graph = learner.fit({"x": x}, (x > 4) & (x < 15)).rule_graph_
    ((table, _),) = rounds_tables(graph)
    assert table.title.endswith("wrong; 0.00 % are")
    texts = np.array(dict(table.lines)["bound in %"], dtype=float)
    above = texts / 100.0 - np.cumprod(rounds_of(graph)[0][1])
    assert (above >= -1e-9).all()
    assert (above < 1e-4).all()
