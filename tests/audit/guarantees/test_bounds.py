"""Bounds keep their coverage on simulated tables, where they say something; what does not hold says so."""

from __future__ import annotations

import itertools
import math
from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from rulekit.audit.guarantees import BoundedError, ErrorBound, apart_bounds, bounds_of, code_of, training_bounds
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import FALSE, TRUE, And, IsTrue, Node, Not, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table

TABLES, DELTA = 10_000, 0.05
COLUMNS = ("a", "b", "c", "d", "e", "f")
CELLS = tuple(itertools.product((0, 1), repeat=len(COLUMNS)))
ONE_COLUMN = RuleGraph(Schema((Feature("a", "boolean"),)), ("no", "yes"), Fires(IsTrue("a")))
Array = npt.NDArray[np.float64]


def counted(errors: int, rows: int, most_frequent: float = 0.5, fails: str = "") -> BoundedError:
    return BoundedError("rows", rows, errors, most_frequent, fails)


# Held-out rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", [0, 1])
@pytest.mark.parametrize(("rows", "error"), [(30, 0.02), (100, 0.1), (500, 0.05), (500, 0.3), (2000, 0.01)])
def test_intervals_of_held_out_rows_keep_their_coverage(rows: int, error: float, method: int) -> None:
    counts = np.random.default_rng(rows).binomial(rows, error, TABLES)
    made = {int(k): apart_bounds(counted(int(k), rows), DELTA)[method] for k in np.unique(counts)}
    holds = [made[k].low <= error <= made[k].high for k in counts.tolist()]
    assert np.mean(holds) >= 1.0 - DELTA
    assert not made[int(np.median(counts))].vacuous


# A class of models whose errors are known ----------------------------------------------------------------------------


class Models(NamedTuple):
    """Models over six Boolean columns, their decisions [models, cells] over the 64 cells, and lengths [models]."""

    decided: npt.NDArray[np.bool_]
    bits: npt.NDArray[np.int64]


@cache
def models() -> Models:
    """Every constant, every literal, every And and Or of two or three different columns, and of some negations."""
    schema = Schema(tuple(Feature(name, "boolean") for name in COLUMNS))
    literals: list[Node] = [form for name in COLUMNS for form in (IsTrue(name), Not(IsTrue(name)))]
    formulas: list[Node] = [TRUE, FALSE, *literals]
    for pair in itertools.combinations(literals, 2):
        formulas += [And(pair), Or(pair)]
    formulas += [And([IsTrue(name) for name in names]) for names in itertools.combinations(COLUMNS, 3)]
    graphs = [RuleGraph(schema, ("no", "yes"), Fires(formula)) for formula in formulas]
    cells = np.array(CELLS, dtype=np.float32)
    table = Table(schema.features, tuple(cells.T.copy()), len(cells))
    return Models(
        np.array([graph.decide(table) == 1 for graph in graphs]), np.array([len(code_of(graph)) for graph in graphs])
    )


def simulated(truth: Array, rows: int, seed: int, true: float = 0.5) -> tuple[Array, Array]:
    """Errors [tables, models] on tables of so many rows, and the error [models] on all.

    truth [cells]: P(yes). true: how often each column is true.
    """
    known = models()
    cells = np.array([true ** sum(cell) * (1.0 - true) ** (6 - sum(cell)) for cell in CELLS])
    share = np.concatenate([cells * truth, cells * (1.0 - truth)])
    wrong = np.concatenate([~known.decided, known.decided], axis=1).T.astype(np.float64)
    counts = np.random.default_rng(seed).multinomial(rows, share, TABLES).astype(np.float64)
    return counts @ wrong, share @ wrong


def bounds_by_length(rows: int, errors: int) -> list[tuple[ErrorBound, ...]]:
    """The bounds of each model, were it to make so many errors."""
    made = {bits: training_bounds(counted(errors, rows), bits, DELTA) for bits in set(models().bits.tolist())}
    return [made[bits] for bits in models().bits.tolist()]


@pytest.mark.parametrize(("rows", "at_most"), [(100, 0.3), (200, 0.15)])
def test_the_occam_bound_keeps_its_coverage(rows: int, at_most: float) -> None:
    """Of the models without an error the worst one is taken, whatever a learner would choose."""
    known = models()
    errors, true = simulated(known.decided[-1].astype(np.float64), rows, 1, 0.985)
    high = np.array([made[0].high for made in bounds_by_length(rows, 0)])
    broken = ((errors == 0) & (true > high)).any(axis=1)
    assert 1.0 - broken.mean() >= 1.0 - DELTA
    assert np.median(high) < at_most
    assert ((errors == 0) & (true > 0)).any(axis=1).mean() > 0.01  # wrong models without an error on their rows


@pytest.mark.parametrize("rows", [200, 1000])
def test_the_two_sided_bound_and_its_corollary_keep_their_coverage(rows: int) -> None:
    known = models()
    truth = np.where(known.decided[40], 0.7, 0.2)  # no model is without an error
    errors, true = simulated(truth, rows, 2)
    within = np.array([made[1].high - 0.5 for made in bounds_by_length(rows, rows // 2)])
    holds = (np.abs(errors / rows - true) <= within).all(axis=1)
    assert holds.mean() >= 1.0 - DELTA
    for most in np.unique(known.bits):
        short = np.flatnonzero(known.bits <= most)
        chosen = short[errors[:, short].argmin(axis=1)]
        above = true[chosen] - true[short].min()
        distance = training_bounds(counted(0, rows), int(most), DELTA)[2].high
        assert np.mean(above <= distance) >= 1.0 - DELTA
    assert within.max() < 0.3


# What each says ------------------------------------------------------------------------------------------------------


def test_formulas() -> None:
    occam, two_sided, best = training_bounds(counted(0, 1000), 100, 0.05)
    models_ = 100 * math.log(2.0)
    assert occam.high == pytest.approx((models_ + math.log(20.0)) / 1000)
    assert two_sided.high == pytest.approx(math.sqrt((models_ + math.log(40.0)) / 2000))
    assert best.high == pytest.approx(2.0 * two_sided.high)
    assert not any(bound.fails for bound in (occam, two_sided, best))
    exact, hoeffding = apart_bounds(counted(20, 100, most_frequent=0.3), 0.05)
    assert (exact.no_better, hoeffding.no_better) == (False, True)
    assert (hoeffding.low, hoeffding.high) == pytest.approx((0.2 - 0.1358, 0.2 + 0.1358), abs=1e-4)


def test_so_many_rows_bring_each_bound_down_to_epsilon() -> None:
    found = bounds_of(ONE_COLUMN, None, epsilon=0.1)
    apart, occam, best = (found.needed[key] for key in ("held_out", "training_without_error", "training_of_the_best"))
    assert apart == math.ceil(math.log(40.0) / 0.02)
    enough, fewer = (training_bounds(counted(0, rows), found.bits, 0.05)[0].high for rows in (occam, occam - 1))
    assert enough <= 0.1 < fewer
    assert training_bounds(counted(0, best), found.bits, 0.05)[2].high <= 0.1


def test_what_does_not_hold_and_what_says_nothing_is_said() -> None:
    fails = [bound.fails for bound in training_bounds(counted(3, 1000), 100, 0.05)]
    assert fails[:2] == ["the model makes 3 errors on these rows", ""]
    assert "another model of this length may make fewer errors" in fails[2]
    assert all(bound.vacuous for bound in training_bounds(counted(0, 50), 1000, 0.05))
    found = counted(0, 100, fails="why")
    assert {bound.fails for bound in (*apart_bounds(found, 0.05), *training_bounds(found, 10, 0.05))} == {"why"}


@pytest.mark.parametrize("name", ["delta", "epsilon"])
def test_delta_and_epsilon_lie_between_0_and_1(name: str) -> None:
    for wrong in (0.0, 5e-324, 1e-160, 1.0, -1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="is not between 1e-06 and 1"):
            bounds_of(ONE_COLUMN, None, **{name: wrong})
    assert bounds_of(ONE_COLUMN, None).held_out is None
