"""rulekit's learners as entries of the comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.learning.peers.columns import Part
from benchmarks.learning.peers.definitions import Peer, Size

# The defaults, grown to 20 units: how many are best is the business of the second entry.
SMALL: Mapping[str, Any] = {"n_units": 20, "stopping": "none"}


def table_of(part: Part) -> Any:
    """A typed Table: text is categorical, "" and NaN are missing."""
    import polars as pl

    from rulekit.tables.kinds.inference import infer

    columns = {}
    for name, values in part.typed.items():
        series = pl.Series(name, values)
        if values.dtype.kind == "U":
            series = series.set(series == "", None)
        elif values.dtype.kind == "f":
            series = series.fill_nan(None)
        columns[name] = series
    return infer(pl.DataFrame(columns))


def build(parameters: Mapping[str, Any]) -> Any:
    """An unfitted CNLLClassifier whose positive class is 1."""
    from rulekit import CNLLClassifier

    return CNLLClassifier(positive=1, **parameters)


def build_rules(parameters: Mapping[str, Any]) -> Any:
    """An unfitted RulesClassifier whose positive class is 1."""
    from rulekit import RulesClassifier

    return RulesClassifier(positive=1, **parameters)


def build_additive(parameters: Mapping[str, Any]) -> Any:
    """An unfitted AdditiveRulesClassifier whose positive class is 1."""
    from rulekit import AdditiveRulesClassifier

    return AdditiveRulesClassifier(positive=1, **parameters)


def size(model: Any) -> Size:
    """Rules and literals of the form that a reader is shown."""
    from rulekit.graph.rules import counts

    found = counts(model.rule_graph_)
    return Size(found.rules, found.literals)


def predict(model: Any, inputs: Any) -> tuple[Any, Any]:
    """Decisions and the reported probability of class 1 [n]."""
    positive = list(model.classes_).index(1)
    return np.asarray(model.predict(inputs)), np.asarray(model.predict_proba(inputs))[:, positive]


def path(model: Any, inputs: Any) -> list[Any]:
    """The decisions [n] of the models of 1, 2, ... units."""
    return [np.asarray(graph.predict(inputs)) for graph in model.path_]


def entry(
    name: str,
    parameters: Mapping[str, Any],
    limits: tuple[int, ...] = (20,),
    build: Callable[[Mapping[str, Any]], Any] = build,
    room: str = "cnll",
) -> Peer:
    """A configuration of ours; room: where its learner stands."""
    return Peer(
        name,
        build,
        size,
        parameters,
        ("rulekit", f"rulekit.learners.{room}.estimator", "rulekit.tables.kinds.inference", "polars"),
        inputs=table_of,
        predict=predict,
        compiles=True,
        limits=limits,
        path=path,
    )


def additive(name: str, parameters: Mapping[str, Any], limits: tuple[int, ...] = (20,)) -> Peer:
    """A configuration of additive rules."""
    return entry(name, parameters, limits, build_additive, "additive")


def build_units(parameters: Mapping[str, Any]) -> Any:
    """An unfitted LTUTreeClassifier whose positive class is 1."""
    from rulekit import LTUTreeClassifier

    return LTUTreeClassifier(positive=1, **parameters)


def units(model: Any) -> Size:
    """The units, and the columns that they read as literals."""
    graph = model.rule_graph_
    return Size(sum(graph.provenance["units"]), len(graph.used_features))


ENTRIES = (
    entry("rulekit 20", SMALL),
    entry("rulekit 20, units by CV", {**SMALL, "stopping": "cv"}),
    entry("rulekit rules 8", {}, (8, 20), build_rules, "rules"),
    additive("additive 20", {}),
    additive("additive 20, points", {"points": True}),
    additive("additive 10", {"max_rules": 10}),
    replace(entry("LTU tree", {"random_state": 0}, (), build_units, "ltu"), size=units),
    # Without an ingredient: only to see what that is worth, so they take no rank.
    additive("additive 20, no folds", {"stopping": "none"}, ()),
    additive("additive 20, beam 1", {"beam": 1}, ()),
    additive("additive 20, no polish", {"polish": 0}, ()),
    additive("additive 20, no race", {"rule_length": 4, "ridge": 5.0}, ()),
)
