"""Forms say what graphs decide: on every cell, equal forms for what IEEE 754 makes equal, and tables for its steps."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rulekit.cells.space import cell_space
from rulekit.cells.sums import number
from rulekit.conformance.models import random_graph
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.logic.meaning import Meaning
from rulekit.logic.roundings import ZERO, Roundings
from rulekit.logic.satisfying import satisfying
from rulekit.numbers import strength_of
from rulekit.program.nodes import Arithmetic, Choice, Greater, Labels, Lookup, Number
from rulekit.schema import Feature, Schema
from rulekit.targets import find_target
from rulekit.verification.parity import verify
from rulekit.verification.proof.prove import prove, read_artifact

SCHEMA = Schema((*(Feature(f"x{i}") for i in range(6)), Feature("flag", "boolean")), target="y")
X = [rg.Compare(f"x{i}", ">", 0.5 * i) for i in range(6)]
Y = [rg.Compare(f"x{i}", "<=", 2.5 - i, missing=True) for i in range(6)]


def _labels(decision, other, classes: int = 2):
    """A space of two decisions and the labels of both."""
    meaning = Meaning(cell_space(SCHEMA, [*decision.roots, *other.roots]))
    return meaning.forms, meaning.labels(decision, 0, classes), meaning.labels(other, 0, classes)


def _equal(decision, other, classes: int = 2) -> bool:
    """Whether two decisions are equal, by their normal forms or by the solver."""
    forms, first, second = _labels(decision, other, classes)
    answer = satisfying(
        forms, forms.disjunction([forms.choice(a, b ^ 1, b) for a, b in zip(first, second, strict=True)])
    )
    assert not answer.reason
    return answer.cells is None


def _same(one: rg.Node, other: rg.Node) -> bool:
    """Whether two formulas have one normal form; if so the solver must agree."""
    _, first, second = _labels(Fires(one), Fires(other))
    assert first != second or _equal(Fires(one), Fires(other))
    return first == second


def _values(meaning: Meaning, cells: np.ndarray) -> dict[int, np.ndarray] | None:
    """The truth of every form on rows of cells [n, columns]; None where a form is known by its making only."""
    values: dict[int, np.ndarray] = {}
    for index, kind in enumerate(meaning.forms.kinds):
        if kind[0] == "true":
            values[index] = np.ones(len(cells), dtype=bool)
        elif kind[0] == "cells":
            size = len(meaning.space.axes[kind[1]])
            mask = np.array([bool(kind[2] >> cell & 1) for cell in range(size)])
            values[index] = mask[cells[:, kind[1]]]
        elif kind[0] == "and":
            values[index] = np.all([values[edge >> 1] ^ bool(edge & 1) for edge in kind[1]], axis=0)
        else:
            return None
    return values


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(120))
def test_the_forms_of_a_graph_are_its_decisions_on_every_cell(seed):
    graph = random_graph(np.random.default_rng(seed))
    space = cell_space(graph.schema, graph.decision.roots, also=graph.used_features)
    meaning = Meaning(space)
    edges = meaning.labels(graph.decision, graph.default, len(graph.classes))
    numbers = np.arange(min(space.size, 3_000))
    _, table = space.rows(numbers)
    places = []
    for axis in reversed(space.axes):
        numbers, cell = np.divmod(numbers, len(axis))
        places.append(cell)
    values = _values(meaning, np.stack(places[::-1], axis=1))
    if values is None or not space.whole:
        return
    found = np.stack([values[edge >> 1] ^ bool(edge & 1) for edge in edges])
    assert np.array_equal(found.sum(axis=0), np.ones(table.n_rows))
    assert np.array_equal(found.argmax(axis=0), decide(graph, table))


def test_logic_over_cells_is_canonical():
    assert _same(rg.And((X[0], X[1])), rg.And((X[1], rg.And((X[0], X[0])))))
    assert _same(rg.Not(rg.Or((X[0], X[1]))), rg.And((rg.Not(X[0]), rg.Not(X[1]))))
    assert _same(rg.And((rg.Compare("x0", ">", 3.0), rg.Compare("x0", ">", 5.0))), rg.Compare("x0", ">", 5.0))
    assert _same(
        rg.Or((rg.Compare("x0", "<=", 3.0), rg.Compare("x0", ">", 3.0, missing=True))), rg.Or((X[1], rg.Not(X[1])))
    )
    assert not _same(rg.Or((rg.Compare("x0", "<=", 3.0), rg.Compare("x0", ">", 3.0))), rg.Or((X[1], rg.Not(X[1]))))
    assert not _same(X[0], rg.Compare("x0", ">", 1e-45))


def test_counts_are_logic():
    assert _same(rg.AtLeast(6, X), rg.And(X))
    assert _same(rg.Odd(X), rg.Not(rg.Odd([rg.Odd(X[:2]), rg.Not(rg.Odd(X[2:]))])))
    assert _same(rg.Odd(X[:2]), rg.Or((rg.And((X[0], rg.Not(X[1]))), rg.And((rg.Not(X[0]), X[1])))))
    assert not _same(rg.Odd(X), rg.Odd(X[1:]))
    assert _same(rg.AtLeast(1, X), rg.Or(X))
    assert _equal(Fires(rg.AtLeast(3, X)), Fires(rg.Not(rg.AtLeast(4, [rg.Not(x) for x in X]))))
    assert not _equal(Fires(rg.AtLeast(3, X)), Fires(rg.Not(rg.AtLeast(3, [rg.Not(x) for x in X]))))
    assert _same(Greater(rg.Linear([(2.0, x) for x in X], 0.5), Number(5.0)), rg.AtLeast(3, X))


def test_exact_sums_do_not_hang_on_the_order_of_their_terms():
    terms = [(0.25 * (i + 1), x) for i, x in enumerate(X)] + [
        (1.0, rg.Step("x5", (-1.0, 1.0), (0.5, 0.75, -3.0), 0.125))
    ]
    one, other = rg.Linear(terms, 0.5), rg.Linear(terms[::-1], 0.5)
    _, first, second = _labels(Fires(rg.Above(one, 2.0)), Fires(rg.Above(other, 2.0)))
    assert first == second
    assert not _same(rg.LinearThreshold(terms, -2.0), rg.LinearThreshold(terms, -2.25))


def test_rounded_sums_hang_on_their_order():
    """0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1, whatever the truth of the terms' conditions."""
    pairs = [rg.Or((x, y)) for x, y in zip(X, Y[::-1], strict=True)]  # of two columns each, so no table
    terms = list(zip((0.1, 0.2, 0.3, 1e-9), pairs, strict=False))
    score = rg.Linear(terms, 0.7)
    meaning = Meaning(cell_space(SCHEMA, [score]))
    assert meaning.sum(score) != meaning.sum(rg.Linear(terms[::-1], 0.7))
    steps: rg.Node = Number(0.7)
    for weight, node in terms:
        steps = Arithmetic("+", steps, Choice(node, Number(weight), Number(0.0)))
    assert meaning.sum(score) == meaning.sum(steps)


def test_a_circuit_is_the_same_as_its_steps():
    bits = [rg.Hidden(f"h{i}", x, strength_of(p)) for i, (x, p) in enumerate(zip(X, (0.9, 0.7, 0.4), strict=False))]
    graph = Fires(rg.Above(rg.Probability(rg.Or(bits)), 0.5))
    product: rg.Node = Number(1.0)
    for bit in bits:
        missed = Arithmetic("-", Number(1.0), Choice(bit.cause, Number(bit.probability_on), Number(0.0)))
        product = Arithmetic("*", product, missed)
    steps = Fires(Greater(Arithmetic("-", Number(1.0), product), Number(0.5)))
    _, first, second = _labels(graph, steps)
    assert first == second
    other = Fires(Greater(Arithmetic("-", Number(1.0), product), Number(math.nextafter(0.5, 1.0))))
    meaning = Meaning(cell_space(SCHEMA, [*graph.roots, *other.roots]))
    assert meaning.labels(graph, 0, 2) == meaning.labels(other, 0, 2)  # no value lies between the two


def test_a_table_is_the_same_as_the_circuit_that_filled_it():
    """The probability of two bits as four numbers, looked up by 2 a + b."""
    bits = [rg.Hidden("h1", X[0], strength_of(0.9)), rg.Hidden("h2", X[1], strength_of(0.7))]
    on = [bit.probability_on for bit in bits]
    values = [1.0 - (1.0 - a) * (1.0 - b) for a in (0.0, on[0]) for b in (0.0, on[1])]
    table = Lookup(values, rg.Linear([(2.0, X[0]), (1.0, X[1])], 0.0))
    for threshold in (0.5, 0.8, 0.95):
        assert _equal(Fires(rg.Above(rg.Probability(rg.Or(bits)), threshold)), Fires(Greater(table, Number(threshold))))
    assert not _equal(Fires(rg.Above(rg.Probability(rg.Or(bits)), 0.5)), Fires(Greater(table, Number(0.8))))


def test_an_arg_max_is_the_same_as_its_labels():
    scores = (rg.And(X[:2]), rg.Or((X[2], X[3])), X[4])
    decision = ArgMax(scores, (0.5, 0.5, 0.5), (2, 0, 1))
    # class 2 is preferred; the default is 0
    labels = Labels(
        (
            rg.And((rg.Not(X[4]), rg.Or((scores[0], rg.Not(rg.Or(scores)))))),
            rg.And((rg.Not(X[4]), rg.Not(scores[0]), scores[1])),
            X[4],
        )
    )
    assert _equal(decision, labels, 3)
    assert not _equal(ArgMax(scores, (0.5, 0.5, 0.5), (2, 1, 0)), labels, 3)


def test_a_median_counts_its_parts():
    above = (rg.Or(X[:2]), rg.And(X[:2]))
    labels = Labels((rg.Not(rg.Or(X[:2])), rg.And((rg.Or(X[:2]), rg.Not(rg.And(X[:2])))), rg.And(X[:2])))
    assert _equal(Median(above), labels, 3)


def test_a_column_of_few_steps_is_a_table_and_one_of_many_an_atom():
    few, many = rg.Column("x0", 0.0, -1.0, 1.0, 0.5), rg.Column("x1", 0.0, -1e6, 1e6, 0.5)
    flag = rg.Column("flag", 0.5, 0.0, 1.0)
    meaning = Meaning(cell_space(SCHEMA, [few, many, flag]))
    assert not meaning.sum(few).atoms
    assert not meaning.sum(flag).atoms
    assert meaning.sum(many).atoms


def test_an_arg_max_read_back_compares_no_pair_of_its_classes(monkeypatch):
    """All pairs were compared, twice from either side: 750 classes took 250 seconds, of sums four times as long."""
    schema, n = Schema(tuple(Feature(f"x{k}") for k in range(20))), range(20)
    scores = [
        rg.Linear([(0.25 * (j + 1), rg.Compare(f"x{(k + j) % 20}", ">", 0.5)) for j in range(3)], k / 64) for k in n
    ]
    graph = RuleGraph(schema, tuple(n), ArgMax(scores, (-math.inf,) * 20, tuple(n)))
    target, asked = find_target("python"), []
    original = Roundings.above
    monkeypatch.setattr(Roundings, "above", lambda *given: asked.append(given) or original(*given))
    report = verify(graph, target.emit(graph, {}), target=target, rows=10)
    assert (report.ok, report.proof, report.proof_method) == (True, "proved", "normal form")
    assert len(asked) <= 2 * 20
    turned = graph.with_(decision=ArgMax(scores, (-math.inf,) * 20, tuple(n)[::-1]))
    assert verify(turned, target.emit(graph, {}), target=target, rows=0).different_decisions
    assert len(asked) <= 3 * 2 * 20 + 20 * 19 // 2 * 2


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(-(2**30), 2**30), st.integers(-60, 10)), max_size=30))
def test_many_terms_added_at_once_are_those_added_one_by_one(parts):
    """An exact sum is collected, and rounds from the first term on that may round."""
    meaning = Meaning(cell_space(SCHEMA, X))
    numbers = meaning.numbers
    terms = [numbers.choose(meaning.truth(X[i]), number(size * 2.0**scale), ZERO) for i, size, scale in parts]
    one_by_one = ZERO
    for term in terms:
        one_by_one = numbers.plus(one_by_one, term)
    assert numbers.total(terms) == one_by_one


def test_an_exact_sum_of_many_terms_is_added_once(monkeypatch):
    """The extent of every partial sum was counted anew: 168 s for 5,000 terms."""
    asked = []
    monkeypatch.setattr(Roundings, "plus", lambda *given: asked.append(given))
    meaning = Meaning(cell_space(SCHEMA, X))
    meaning.sum(rg.Linear([(0.25 * k, X[k % 6]) for k in range(1, 500)], 1.0))
    assert not asked


@pytest.mark.parametrize("terms", [X, [rg.Column(f"x{i}", 0.5, -4.0, 4.0, 2.0**-6) for i in range(6)]])
@settings(max_examples=4)
@given(weights=st.lists(st.integers(-9, 9), min_size=6, max_size=6), bias=st.integers(-9, 9))
def test_a_sum_on_a_grid_is_at_least_zero_where_one_step_more_is_above_it(terms, weights, bias):
    """As networks of units decide; the two were unlike forms of many terms, which no solver showed to be equal."""
    steps = 2.0**-6
    weighted = [(float(weight), term) for weight, term in zip(weights, terms, strict=True) if weight]
    decision = Fires(rg.LinearThreshold(weighted, float(bias)))
    by_step = Fires(rg.Above(rg.Linear([(64 * weight, term) for weight, term in weighted], 64 * (bias + steps)), 0.0))
    _, first, second = _labels(decision, by_step)
    assert first == second


def test_two_steps_more_are_another_sum():
    weighted = [(1.0, rg.Column(f"x{i}", 0.5, -4.0, 4.0, 2.0**-6)) for i in range(3)]
    two_more = Fires(rg.Above(rg.Linear(weighted, 2.0**-5), 0.0))
    _, first, second = _labels(Fires(rg.LinearThreshold(weighted, 0.0)), two_more)
    assert first != second


# Numbers of few columns: computed step by step, and looked up in a table


CAUSES = [
    rg.Compare("x0", ">", 1.0),
    rg.Compare("x0", ">", 2.0),
    rg.Compare("x1", "<=", 0.0),
    rg.Compare("x2", ">", 5.0),
]
CAUSES_AND_RULES = [*CAUSES, rg.And((rg.Compare("x3", ">", 0.0), rg.Compare("x4", ">", 0.0)))]
shares = st.sampled_from([0.0, 0.1, 0.25, 0.3, 0.999, 1.0, 1e-200])
steps = st.recursive(
    st.tuples(st.integers(0, 4), shares, shares),
    lambda parts: st.tuples(st.sampled_from("+*-"), parts, parts),
    max_leaves=8,
)


def node_of(step: Any) -> rg.Node:
    if isinstance(step[0], int):
        return Choice(CAUSES_AND_RULES[step[0]], Number(step[1]), Number(step[2]))
    return Arithmetic(step[0], node_of(step[1]), node_of(step[2]))


def value_of(step: Any, held: tuple[bool, ...]) -> float:
    if isinstance(step[0], int):
        return float(step[1] if held[step[0]] else step[2])
    left, right = value_of(step[1], held), value_of(step[2], held)
    return left + right if step[0] == "+" else left * right if step[0] == "*" else left - right


@given(steps, st.integers(0, 3))
@example(("-", (0, 0.0, 0.0), ("+", (0, 0.0, 0.1), ("*", (2, 0.3, 0.1), (1, 0.1, 0.3)))), 0)
def test_a_table_of_all_results_is_the_steps(step: Any, start: int) -> None:
    results = [value_of(step, held) for held in product((False, True), repeat=5)]
    places = rg.Linear([(float(1 << (4 - i)), cause) for i, cause in enumerate(CAUSES_AND_RULES)], float(start))
    looked_up, computed = Lookup([0.5] * start + results, places), node_of(step)
    meaning = Meaning(cell_space(SCHEMA, CAUSES_AND_RULES))
    assert meaning.sum(computed) == meaning.sum(looked_up)
    half = Number(0.5)
    assert meaning.truth(Greater(computed, half)) == meaning.truth(Greater(looked_up, half))


def score_of(k: int) -> rg.Node:
    """A noisy formula of eleven conditions over six columns."""
    strengths = [(strength_of(0.9 - 0.05 * i), strength_of(0.01 + 0.02 * k)) for i in range(11)]
    causes = [rg.Compare(f"x{(k + i) % 6}", ">", i + 0.1 * k) for i in range(11)]
    bits = [rg.Hidden(f"{k}.{i}", cause, *strengths[i]) for i, cause in enumerate(causes)]
    inner = rg.Or((*bits[4:7], rg.And((bits[7], rg.Or(bits[8:])))))
    return rg.Probability(rg.Or((bits[0], rg.And((*bits[1:4], inner)))))


def test_classes_of_many_noisy_conditions_are_proved_by_their_formulas() -> None:
    """ONNX looks parts of a circuit up that the model computes: by default 26 classes were only tested."""
    scores = [score_of(k) for k in range(5)]
    graph = RuleGraph(SCHEMA, ("a", "b", "c", "d", "e"), ArgMax(scores, (0.05,) * 5, range(5)))
    for name in ("onnx", "python"):
        target = find_target(name)
        reading = read_artifact(graph, target.emit(graph, {}).main, target)
        found = prove(graph, reading, lambda columns, table: False, few=0, many=0)
        assert found.proved, found.reason
