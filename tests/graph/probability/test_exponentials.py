"""Reported probabilities to 50 digits: products of exponentials keep them; counts are rows of numbers, everywhere."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rulekit.conformance.models import noisy_max_probabilities
from rulekit.errors import Unsupported
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires, Median
from rulekit.graph.evaluation.evaluator import evaluate_nodes, probabilities
from rulekit.graph.evaluation.oracle import evaluate_row, run_circuit
from rulekit.graph.probability.circuits import build_circuit, is_count
from rulekit.graph.probability.exponentials import Counted, Exponentials, as_reported, exponentials_of
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema
from rulekit.tables.table import Table
from rulekit.targets import find_target
from rulekit.verification.parity import verify

N = 9
SCHEMA = Schema(tuple(Feature(f"w{i}", "boolean") for i in range(N)), target="y")
W = [rg.IsTrue(f"w{i}") for i in range(N)]
RNG = np.random.default_rng(0)
ROWS = (RNG.random((64, N)) < RNG.random((64, 1))).astype(np.float32)
TABLE = Table(SCHEMA.features, tuple(ROWS.T), len(ROWS))
FORMS = ("or", "and", "none", "gated", "max", "min", "not all")


def _bits(tag: str, least: float, most: float, off: float = 0.0) -> list[rg.Hidden]:
    """A bit for each column and a leak, of strengths between 10^least and 10^most."""
    sizes = 10.0 ** np.random.default_rng(len(tag)).uniform(least, most, N + 1)
    bits = [
        rg.Hidden(f"{tag}{i}", w, size, off * size) for i, (w, size) in enumerate(zip(W, sizes.tolist(), strict=False))
    ]
    return [*bits, rg.Hidden(f"{tag}leak", rg.TRUE, float(sizes[-1]))]


def _model(form: str, size: float) -> RuleGraph:
    """A member of the family whose probabilities are about 10^-size."""
    rare = _bits("h", -size - 1, -size, 0.1)
    strong = _bits("gate", -1.0, math.log10(size) - 0.5)
    if form in ("max", "min"):
        cuts = [rare, _bits("second", -3.0, 0.0), strong]
        found = noisy_max_probabilities(cuts if form == "max" else cuts[::-1])
        found = found if form == "max" else found[::-1]
        return RuleGraph(SCHEMA, (0, 1, 2, 3), Median(tuple(W[:3])), found)
    formula = {
        "or": rg.Or(rare),
        "and": rg.And(_bits("h", -size / 16 - 0.1, 0.1 - size / 16, 0.5)),
        "none": rg.Not(rg.Or(strong)),
        "gated": rg.And((rg.Or(rare), rg.Not(rg.Or(strong)))),
        "not all": rg.Not(rg.And(_bits("h", math.log10(2.0 * size), math.log10(2.5 * size), 0.95))),
    }[form]
    return RuleGraph(SCHEMA, ("no", "yes"), Fires(W[0]), (rg.Probability(formula),))


def _exact(formula: rg.Node, row: np.ndarray) -> Decimal:
    """The probability by its definition, without the roundings of doubles."""
    if isinstance(formula, rg.Hidden):
        held = formula.cause is rg.TRUE or bool(row[int(formula.cause.feature[1:])])
        return 1 - (-Decimal(formula.on if held else formula.off)).exp()
    parts = [_exact(child, row) for child in formula.children]
    if isinstance(formula, rg.Not):
        return 1 - parts[0]
    result = Decimal(1)
    for part in parts:
        result *= part if isinstance(formula, rg.And) else 1 - part
    return result if isinstance(formula, rg.And) else 1 - result


def _shares(graph: RuleGraph) -> np.ndarray:
    """Probabilities [n, K] to 50 digits."""
    with localcontext(prec=120):
        return np.array([[float(_exact(node.formula, row)) for node in graph.probability] for row in ROWS])


@pytest.mark.parametrize("size", [29.0, *(pytest.param(size, marks=pytest.mark.long) for size in (3.0, 12.0))])
@pytest.mark.parametrize("form", FORMS)
def test_rare_events_keep_their_digits_in_every_artifact(form, size):
    graph = _model(form, size)
    assert all(isinstance(node, Exponentials) for node in graph.reported)
    exact = _shares(graph)
    assert exact.min() < 10 ** (-size / 4)

    def error(found):
        shares = found if found.shape[1] > 2 else found[:, 1:]
        told = exact >= 1e-30
        return float((np.abs(shares - exact) / exact)[told].max())

    assert error(probabilities(graph, TABLE)) < 1e-13
    rows = [{f"w{i}": bool(x) for i, x in enumerate(row)} for row in ROWS]
    assert error(np.array([evaluate_row(graph, row)[1] for row in rows])) < 1e-13
    for name, most in (("onnx", 2e-7), ("python", 1e-13), ("sql", 1e-9)):
        target = find_target(name)
        artifact = target.emit(graph, {})
        assert error(np.asarray(target.run(artifact.main, graph, TABLE).probabilities)) < most, name


def test_probabilities_that_are_small_are_compared_as_shares():
    """Two models whose probabilities are 1e-9 and 2e-9 were within 1e-6."""
    first, second = (
        RuleGraph(
            SCHEMA,
            ("no", "yes"),
            Fires(W[0]),
            (rg.Probability(rg.Or([rg.Hidden("a", W[0], p), rg.Hidden("b", W[1], p)])),),
        )
        for p in (1e-9, 2e-9)
    )
    target = find_target("text")
    report = verify(first, target.emit(second, {}), target=target, rows=100)
    assert report.different_decisions == 0
    assert not report.ok
    assert verify(first, target.emit(first, {}), target=target, rows=100).ok


LEAVES = st.one_of(
    st.builds(lambda i, on, off: (i, on, off), st.integers(0, N - 1), st.floats(0.0, 50.0), st.floats(0.0, 50.0)),
    st.integers(0, N - 1),
)
NESTED = st.recursive(
    LEAVES,
    lambda inner: (
        st.tuples(st.sampled_from([rg.And, rg.Or]), st.lists(inner, min_size=1, max_size=4))
        | inner.map(lambda part: (rg.Not, [part]))
    ),
    max_leaves=8,
)


def _built(drawn, names) -> rg.Node:
    if isinstance(drawn, int):
        return W[drawn]
    if isinstance(drawn[0], int):
        return rg.Hidden(f"h{next(names)}", W[drawn[0]], drawn[1], drawn[2])
    kind, parts = drawn
    children = [_built(part, names) for part in parts]
    return rg.Not(children[0]) if kind is rg.Not else kind(children)


@given(NESTED)
def test_a_product_of_exponentials_is_the_probability_of_its_formula(drawn):
    formula = _built(drawn, iter(range(100)))
    found = exponentials_of(formula)
    if found is not None:
        values = evaluate_nodes([found, rg.Probability(formula)], TABLE)
        assert np.allclose(values[found], values[rg.Probability(formula)], rtol=0.0, atol=1e-12)


def test_what_shares_a_bit_or_counts_keeps_its_circuit():
    a, b, c = (rg.Hidden(name, w, 0.5) for name, w in zip("abc", W, strict=False))
    assert exponentials_of(rg.And((rg.Or((a, b)), rg.Not(rg.Or((b, c)))))) is None
    assert exponentials_of(rg.AtLeast(2, (a, b, c))) is None
    assert exponentials_of(rg.Or((rg.And((a, b)), c))) is None
    assert exponentials_of(rg.Or((a,))) is None
    assert exponentials_of(W[0]) is None


def test_what_is_made_of_a_probability_is_made_of_its_exponentials():
    some = rg.Probability(rg.Or((rg.Hidden("a", W[0], 0.5), rg.Hidden("b", W[1], 0.5))))
    computed = as_reported(some)
    assert isinstance(computed, Exponentials)
    assert as_reported(rg.Rescaled(some, 2.0)) == rg.Rescaled(computed, 2.0)
    assert as_reported(rg.Difference(some, some)) == rg.Difference(computed, computed)
    assert as_reported(rg.Sided(some, W[0], 0.5, 0.5)) == rg.Sided(computed, W[0], 0.5, 0.5)


# Counts of hidden bits as rows of numbers


CHANCES = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0.0, 1.0))
PARTS = st.one_of(st.tuples(st.sampled_from([*W, rg.TRUE]), CHANCES, CHANCES), st.sampled_from(W))


def _counted(drawn):
    return [
        rg.Hidden(f"part{i}", part[0], strength_of(part[1]), strength_of(part[2])) if isinstance(part, tuple) else part
        for i, part in enumerate(drawn)
    ]


def _some(n):
    return [rg.Hidden(f"h{i}", W[i % N], strength_of(0.9 - 0.5 * i / n), strength_of(0.01 * (i % 3))) for i in range(n)]


@settings(max_examples=30)
@given(st.lists(PARTS, min_size=9, max_size=13), st.lists(st.integers(1, 13), min_size=1, max_size=4))
def test_a_row_of_numbers_has_the_bits_of_the_circuits(drawn, counts):
    parts = [*_counted(drawn), *_some(1)]  # of conditions alone there is no circuit
    nodes = [rg.Probability(rg.AtLeast(min(k, len(parts)), parts)) for k in counts]
    values = evaluate_nodes(list(dict.fromkeys(nodes)), TABLE)
    for node in nodes:
        circuit = build_circuit(node.formula)
        for i, row in enumerate(ROWS.tolist()):
            truth = {w: bool(x) for w, x in zip(W, row, strict=True)}
            assert values[node][i] == run_circuit(circuit, truth)


def test_counts_over_the_same_bits_share_a_row():
    bits = _some(12)
    nodes = [rg.Probability(rg.AtLeast(k, bits)) for k in (2, 5, 3)]
    counted = Counted(nodes)
    (tails,) = {counted.inputs(node)[0] for node in nodes}
    assert tails.most == 5
    assert [counted.entry(node).k for node in nodes] == [2, 5, 3]


def test_what_is_few_or_shares_bits_or_holds_formulas_is_no_row():
    bits = _some(12)
    assert is_count(rg.AtLeast(3, bits))
    assert not is_count(rg.AtLeast(3, bits[:8]))
    assert not is_count(rg.AtLeast(3, [*bits, bits[0]]))
    assert not is_count(rg.AtLeast(3, [*bits[:10], rg.Not(bits[10])]))
    assert not is_count(rg.AtLeast(3, [*bits[:10], rg.Or(bits[10:])]))
    assert not is_count(rg.AtLeast(0, bits))
    assert not is_count(rg.AtLeast(3, W))


@pytest.mark.parametrize("name", ["onnx", pytest.param("python", marks=pytest.mark.long)])
def test_a_noisy_add_is_proved_on_its_rows_of_numbers(name):
    """The number of bits that fire, as the class: 12 thresholds of one row of numbers."""
    bits = _some(12)
    decision = Median(tuple(rg.Above(rg.Probability(rg.AtLeast(k, bits)), 0.5) for k in range(1, 13)))
    graph = RuleGraph(SCHEMA, tuple(range(13)), decision)
    target = find_target(name)
    artifact = target.emit(graph, {"input": "columns"} if name == "onnx" else {})
    report = verify(graph, artifact, target=target, rows=500)
    assert (report.ok, report.proof) == (True, "proved")


def test_onnx_takes_a_few_operators_a_bit_and_at_most_200_bits():
    onnx = pytest.importorskip("onnx")
    schema = Schema(tuple(Feature(f"x{i}", "boolean") for i in range(201)), target="y")

    def model(n):
        bits = [rg.Hidden(f"h{i}", rg.IsTrue(f"x{i}"), 1.0 + i / n) for i in range(n)]
        chance = rg.Probability(rg.AtLeast(n // 2, bits))
        return RuleGraph(schema, (0, 1), Fires(rg.Above(chance, 0.5)), (chance,))

    target = find_target("onnx")
    nodes = onnx.load_from_string(target.emit(model(60), {}).main).graph.node
    assert len(nodes) < 10 * 60
    with pytest.raises(Unsupported, match="201 hidden bits"):
        target.emit(model(201), {})
