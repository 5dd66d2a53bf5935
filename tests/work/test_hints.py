"""A model that something simpler equals says so by the figures of the ladder, in one sentence with a way out."""

from __future__ import annotations

import pytest

from rulekit.audit.figures.baselines import Baseline, Baselines
from rulekit.audit.figures.metrics import ClassFigures, Figures
from rulekit.graph.decisions import Fires
from rulekit.graph.model_parts import Ladder, Rung
from rulekit.graph.nodes import And, Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import rung_of
from rulekit.schema import Feature, Schema
from rulekit.work.finishing import hints

SCHEMA = Schema((Feature("amount"), Feature("age")))


def figures(share: float, accuracy: float = 0.99) -> Figures:
    """Of 1000 measured rows, on which a model looks good."""
    classes = tuple(
        ClassFigures(label, 1000 * part, 500.0, 0.9, 0.9, 0.9) for label, part in (("fine", 1 - share), ("late", share))
    )
    return Figures(1000, accuracy, 0.01, 1 - share, classes, 0.9, None, 0.1, ())


def row(size: int, error: float, f1: float, *conditions: Compare, deviation: float | None = 0.01) -> Rung:
    rule = And(conditions) if len(conditions) > 1 else conditions[0]
    return rung_of(size, (error, deviation, f1), RuleGraph(SCHEMA, ("fine", "late"), Fires(rule)))


def ladder(error: float, f1: float = 0.6, first: float = 0.5) -> Ladder:
    """A model of two conditions, and of one that errs as `first` says."""
    amount, age = Compare("amount", ">", 8000.0), Compare("age", "<=", 30.0)
    return Ladder((row(1, first, 0.5, amount), row(2, error, f1, amount, age)), 2)


def baselines(single: float, f1: float = 0.5) -> Baselines:
    models = ("most frequent class", 0.27, 0.42), ("best single condition", single, f1)
    return Baselines(tuple(Baseline(name, error, 0.01, score, 5) for name, error, score in models), 1000, 1000)


RARE = Baselines((Baseline("most frequent class", 0.03, 0.0, 0.49, 5), baselines(0.03).models[1]), 1000, 1000)


@pytest.mark.parametrize(
    ("measured", "rows", "others", "said"),
    [  # held-out errors are compared, and not the measured rows
        (figures(0.27), ladder(0.28), baselines(0.2), "the model errs no less than the most frequent class alone (27"),
        (figures(0.27), ladder(0.265), baselines(0.2), "the model errs hardly less than the most frequent class alone"),
        # a condition that errs as little is named with its size, or without one where it is no row
        (
            *(figures(0.27), ladder(0.15, first=0.155), baselines(0.3)),
            "one condition (amount > 8000) errs hardly more (15.5 %): --size 1 takes it",
        ),
        (figures(0.27), ladder(0.15), baselines(0.14), "one condition alone errs no more (14.0 %): "),
        # of a rare class macro F1 is what counts
        (figures(0.03), ladder(0.03, 0.49), RARE, "the macro F1 score is no larger than that of the most"),
        (figures(0.03), ladder(0.03, 0.5), RARE, "one condition alone has as large a macro F1"),
        (figures(0.03), ladder(0.03, 0.75), RARE, ""),
        # without a ladder the measured rows are compared
        (figures(0.27, accuracy=0.73), None, None, "the model errs no less than"),
        (figures(0.27), None, None, ""),
        (figures(0.27), ladder(0.1), baselines(0.2), ""),
    ],
)
def test_a_model_that_something_simpler_equals_says_so(
    measured: Figures, rows: Ladder | None, others: Baselines | None, said: str
) -> None:
    found = hints(measured, True, False, rows, others)
    assert len(found) == bool(said)
    assert all(each.startswith(said) for each in found)
    assert not said.startswith("the model errs") or "rulekit try" in found[0]
    assert not hints(measured, False, False, rows, others)


def test_of_many_rare_classes_few_are_named() -> None:
    classes = tuple(ClassFigures(f"c{k}", 50.0, 50.0, 0.1, 0.1, 0.1) for k in range(20))
    (said,) = hints(Figures(1000, 0.5, 0.01, 0.05, classes, 0.5, None, 0.1, ()), True)
    assert said.startswith("rare classes that are hardly found: 'c0' (5.0 % of the rows)")
    assert "and 18 more" in said
