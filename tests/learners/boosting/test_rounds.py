"""The rounds of boosting: what the theory bounds, the forms of the source, votes on a grid, margins."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import AtLeast
from rulekit.learners.boosting.learner import AdaBoostSettings, rounds
from rulekit.learners.boosting.stumps import FINE, Boosted, Stump, Votes
from rulekit.learners.contract import NO_WATCH, Candidate, Question
from rulekit.learners.data.binning import bin_table
from rulekit.learners.data.problem import Problem
from rulekit.learners.papers.early_boosting import EarlyBoostingSettings, PaperAdaBoostClassifier, early_rounds
from rulekit.schema import Feature
from rulekit.tables.table import Table

FORMS = [
    {"weak": weak, "vote": vote, "early_stop": early}
    for weak, vote, early in itertools.product(
        ("exact", "gini", "resampled"), ("adaboost", "multiplicative", "accuracy", "majority"), (True, False)
    )
]


def problem_of(seed: int) -> Problem:
    """A few rows of two numbers and a category, with missing cells, labels by chance and weights."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    numbers = [np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 6, n)).astype(np.float32) for _ in range(2)]
    features = (Feature("x"), Feature("z"), Feature("c", "categorical", ("a", "b", "c")))
    table = Table(features, (*numbers, rng.integers(0, 5, n).astype(np.int32)), n)
    weights = rng.integers(1, 4, n)
    columns, codes = bin_table(table, weights, 255)
    labels = (rng.random(n) < rng.choice([0.2, 0.5, 0.9])).astype(np.int8)
    return Problem(columns, codes, labels, weights, 1.0)


def learned(problem: Problem, n_estimators: int, **settings: Any) -> list[Candidate]:
    """By the learner of the source where it says how, else by the default."""
    if not settings:
        default = AdaBoostSettings(n_estimators=n_estimators, min_rows=0.0)
        return list(rounds(Question("yes", 0, problem, default, 0, 1, NO_WATCH, plan=True)))
    chosen = EarlyBoostingSettings(n_estimators=n_estimators, min_rows=0.0, draws=60, **settings)
    return list(early_rounds(Question("yes", 0, problem, chosen, 0, 1, NO_WATCH, plan=True)))


@pytest.mark.long_from("problems", 200)
@pytest.mark.parametrize("problems", [50, 200])
@pytest.mark.parametrize(
    ("weak", "early_stop"), [("exact", True), ("exact", False), ("gini", True), ("resampled", False)]
)
def test_the_training_error_keeps_to_both_bounds(weak: str, early_stop: bool, problems: int) -> None:
    """The second is of the best votes, which the source's .0001 and rounding leave a little."""
    some = 0
    for seed in range(problems):
        problem = problem_of(seed)
        before = 1.0
        for made in learned(problem, 12, weak=weak, early_stop=early_stop):
            error = made.error / problem.total
            assert error <= made.said["bound"] + 1e-9
            assert made.objective == pytest.approx(made.said["bound"] * problem.total, rel=1e-9)
            if early_stop and made.said["edge"] < 0.4999:
                assert made.said["z"] == pytest.approx(np.sqrt(1.0 - 4.0 * made.said["edge"] ** 2), rel=1e-9)
                assert made.said["bound"] <= made.said["edge_bound"] + 1e-9
            assert made.said["edge_bound"] <= before
            assert error <= made.said["edge_bound"] + (1e-9 if early_stop else 0.02)
            before, some = made.said["edge_bound"], some + 1
    assert some > 2.5 * problems


@pytest.mark.one_in(2)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: " ".join(map(str, form.values())))
def test_the_model_decides_training_rows_as_the_votes_do(form: dict[str, Any]) -> None:
    """Rounded to the coarsest grid on which it does, and with no vote lost."""
    for seed in range(12):
        problem = problem_of(seed)
        for made in learned(problem, 10, **form):
            yes = made.model.decides(problem.codes, len(problem.labels))
            assert problem.weights[yes != (problem.labels == 1)].sum() == made.error
            if isinstance(made.model, Boosted):
                steps = [made.model.bias, *itertools.chain.from_iterable(made.model.points.values())]
                assert all(float(value * 2.0**22).is_integer() for value in steps)


def test_the_step_of_the_votes_is_the_coarsest_that_decides_every_training_row_alike() -> None:
    """Of those from 2^-6 on, at this size and all smaller ones, with no vote lost."""
    finer = 0
    for seed in range(60):
        problem, rng = problem_of(seed), np.random.default_rng(seed)
        votes, kept = Votes(problem, searched=1 + seed % 6), list[tuple[Stump, float]]()
        step = 2.0**-6
        for _ in range(12):
            column = int(rng.integers(3))
            answers = rng.choice([-1.0, 1.0], problem.columns[column].n_codes)
            kept.append((Stump(column, answers, 1, 1), float(rng.integers(1, 2**30)) * FINE))
            stump = kept[-1][0]
            votes.add(*kept[-1], stump.codes(problem))
            votes.refine(votes.differ)
            yes = votes.yes
            while not _alike(problem, kept, step, yes):
                step /= 2.0
            assert votes.step == step
            np.testing.assert_array_equal(votes.card.decides(problem.codes, len(yes)), yes)
        finer += step < 2.0**-6
    assert finer > 10


def _alike(problem: Problem, kept: list[tuple[Stump, float]], step: float, yes: Any) -> bool:
    """Whether votes rounded to a step decide the rows so, and none is lost."""
    each = [(stump, round(vote / step)) for stump, vote in kept]
    sums = sum(vote * stump.votes[problem.codes[stump.column or 0]] for stump, vote in each)
    return all(vote for _, vote in each) and np.array_equal(np.asarray(sums) > 0.0, yes)


def test_the_default_is_the_exact_form_of_the_source() -> None:
    for seed in range(20):
        problem = problem_of(seed)
        ours, theirs = learned(problem, 8), learned(problem, 8, weak="exact", early_stop=True)
        assert [made.said for made in ours] == [made.said for made in theirs]
        assert [made.error for made in ours] == [made.error for made in theirs]


def test_the_majority_of_learners_on_parts_of_the_rows_is_an_at_least() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (900, 3)).astype(np.float32)
    y = (X[:, 0] > 4) ^ (rng.random(900) < 0.1)
    model = PaperAdaBoostClassifier(9, vote="majority", weak="exact", stopping="none", random_state=0).fit(X, y)
    decision = model.rule_graph_.decision
    assert isinstance(decision, Fires)
    assert isinstance(model.path_.paths[0].candidates[-1].model.score(model.path_.frame, "").node, AtLeast)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("vote", ["adaboost", "majority"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_margins_are_above_0_where_the_label_is_decided(vote: str, n_classes: int) -> None:
    rng = np.random.default_rng(1)
    X = rng.integers(0, 9, (300, 3)).astype(np.float32)
    y = np.array(["no", "yes", "so"])[np.minimum(X[:, 0].astype(int) // 4, n_classes - 1)]
    model = PaperAdaBoostClassifier(6, vote=vote, weak="exact", stopping="none").fit(X, y)
    margins = model.margins(X, y)
    assert np.abs(margins).max() <= 1.0
    if n_classes == 2:
        np.testing.assert_array_equal(margins > 0, model.predict(X) == y)
        np.testing.assert_allclose(model.margins(X, np.where(y == "no", "yes", "no")), -margins)
    else:
        assert margins.mean() > 0.3
    with pytest.raises(InputError, match="a label that training did not see"):
        model.margins(X[:1], ["other"])


def test_draws_are_those_of_the_seed() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 4)).astype(np.float32)
    y = X[:, 0] + X[:, 1] > 0

    def made(seed: int) -> str:
        model = PaperAdaBoostClassifier(6, stopping="none", random_state=seed)
        return model.fit(X, y).rule_graph_.digest

    assert made(0) == made(0)
    assert made(0) != made(1)
