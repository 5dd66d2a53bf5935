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


@pytest.mark.parametrize(("error", "word"), [(0.28, "no"), (0.265, "hardly")])
def test_held_out_errors_are_compared_and_not_the_measured_rows(error: float, word: str) -> None:
    (said,) = hints(figures(0.27), True, False, ladder(error), baselines(0.2))

    assert said.startswith(f"the model errs {word} less than the most frequent class alone (27.0 %): ")
    assert "rulekit try" in said


def test_a_condition_that_errs_as_little_is_named_with_its_size() -> None:
    (said,) = hints(figures(0.27), True, False, ladder(0.15, first=0.155), baselines(0.3))

    assert said == "one condition (amount > 8000) errs hardly more (15.5 %): --size 1 takes it"


def test_a_condition_that_is_no_row_is_named_as_well() -> None:
    (said,) = hints(figures(0.27), True, False, ladder(0.15), baselines(0.14))

    assert said.startswith("one condition alone errs no more (14.0 %): ")


@pytest.mark.parametrize(("f1", "said"), [(0.49, "no larger than that of the most"), (0.5, "one condition alone has")])
def test_of_a_rare_class_macro_f1_is_what_counts(f1: float, said: str) -> None:
    models = baselines(0.03)
    models = Baselines((Baseline("most frequent class", 0.03, 0.0, 0.49, 5), models.models[1]), 1000, 1000)

    (found,) = hints(figures(0.03), True, False, ladder(0.03, f1), models)

    assert said in found
    assert "errs" not in found
    assert not hints(figures(0.03), True, False, ladder(0.03, 0.75), models)


def test_a_clearly_better_model_says_nothing() -> None:
    assert not hints(figures(0.27), True, False, ladder(0.1), baselines(0.2))
    assert not hints(figures(0.27), False, False, ladder(0.28), baselines(0.2))


def test_without_a_ladder_the_measured_rows_are_compared() -> None:
    assert not hints(figures(0.27), True)
    assert len(hints(figures(0.27, accuracy=0.73), True)) == 1


def test_of_many_rare_classes_few_are_named() -> None:
    classes = tuple(ClassFigures(f"c{k}", 50.0, 50.0, 0.1, 0.1, 0.1) for k in range(20))

    (said,) = hints(Figures(1000, 0.5, 0.01, 0.05, classes, 0.5, None, 0.1, ()), True)

    assert said.startswith("rare classes that are hardly found: 'c0' (5.0 % of the rows)")
    assert "and 18 more" in said
