"""Tables over cells, chosen where they are cheaper, and circuits: the same bits as computed."""

from __future__ import annotations

import numpy as np
import pytest
from onnx_cases import SCHEMA, adversarial_table, assert_formulations_agree, every_formulation, forms_of, operator_kinds
from rulekit_exporters.onnx import emit, run
from rulekit_exporters.onnx.conditions import NotOfBitsError
from rulekit_exporters.onnx.emission import MOST_CELLS, cell_table

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

NUMBERS = Schema(tuple(Feature(f"x{j}") for j in range(40)), "y")


def bits(causes: list[rg.Node], off: float = 0.03) -> list[rg.Node]:
    return [
        rg.Hidden(f"h{i}", c, strength_of(round(0.95 - 0.07 * (i % 9), 2)), strength_of(off))
        for i, c in enumerate(causes)
    ]


def above(j: int, threshold: float = 0.0, op: str = ">", missing: bool = False) -> rg.Node:
    return rg.Compare(f"x{j}", op, threshold, missing)


def noisy(formula: rg.Node, threshold: float, schema: Schema = NUMBERS) -> RuleGraph:
    chance = rg.Probability(formula)
    return RuleGraph(schema, (0, 1), Fires(rg.Above(chance, threshold)), (chance,))


def middle_value(formula: rg.Node, graph: RuleGraph) -> float:
    """A probability that some rows attain, so that the last bit decides."""
    attained = np.unique(probabilities(graph, adversarial_table(graph.schema, (0.0, 1.0)))[:, 1])
    return float(attained[len(attained) // 2])


def test_m_thresholds_of_a_column_are_m_plus_1_levels() -> None:
    causes = [above(0, 1.0), above(0, 2.0), above(0, 3.0), above(1, 0.5, "<="), above(1, 1.5, "<=")]
    graph = noisy(rg.Or(bits(causes)), 0.5)
    table = cell_table(graph)
    assert [digit.size for digit in table.digits] == [4, 3]
    assert "IsNaN" not in operator_kinds(every_formulation(graph)["table"])
    expected = ["Transpose", "Gather", "Mul", "Greater", "Cast", "MatMul", "Cast", "Gather"]
    assert operator_kinds(every_formulation(graph)["table"])[:-1] == expected
    assert_formulations_agree(graph, adversarial_table(NUMBERS, (0.5, 1.0, 1.5, 2.0, 3.0)))


def test_missing_is_a_level_of_its_own_where_it_is_like_no_other() -> None:
    graph = noisy(rg.Or(bits([above(0, 1.0), above(0, 2.0, "<=", True), rg.Missing("x0"), above(1, 0.0, "<=")])), 0.6)
    table = cell_table(graph)
    assert [digit.size for digit in table.digits] == [4, 2]
    assert_formulations_agree(graph, adversarial_table(NUMBERS, (0.0, 1.0, 2.0)))


def test_a_table_over_every_kind_of_column() -> None:
    wide = rg.Compare("wide", ">", 16777217.0), rg.Compare("wide", "<=", 0.1 + 2.0**-54, True)
    cities = rg.Among("city", ("Rome", "ünï"), missing=True), rg.Among("city", ("3",), unseen=True)
    for threshold in (0.3, 0.7, 0.9):
        graph = noisy(
            rg.Or(bits([*wide, rg.IsTrue("flag", True), *cities, rg.Compare("x", "<=", 0.1)])), threshold, SCHEMA
        )
        assert "table" in assert_formulations_agree(graph)


def test_the_probability_of_a_table_is_the_same_float_everywhere() -> None:
    """A double that is rounded where the row is computed is the float that stands in the table."""
    last = rg.Not(rg.Hidden("last", above(0, 1.0), strength_of(0.9), strength_of(0.2)))
    graph = noisy(rg.And((rg.Or(bits([above(j) for j in range(5)])), last)), 0.5)
    table = adversarial_table(NUMBERS, (0.0, 1.0))
    expected = probabilities(graph, table).astype(np.float32)
    for form in forms_of(graph):
        reported = run(every_formulation(graph, form)["table"], graph, table).probabilities
        np.testing.assert_array_equal(reported.astype(np.float32), expected)


def test_more_than_two_classes_and_scores() -> None:
    scores = tuple(rg.Probability(rg.Or(bits([above(j), above(j + 1, 1.0, "<=", True)], 0.1 * j))) for j in range(3))
    decision = ArgMax(scores, (0.5, 0.25, 0.1), (2, 0, 1))
    assert_formulations_agree(RuleGraph(NUMBERS, ("a", "b", "c"), decision, scores, default=1))
    total = rg.Linear([(0.1, above(0)), (0.2, rg.Step("x1", (0.0, 1.0), (0.3, -0.1, 0.7), 0.0)), (0.3, above(2))], -0.1)
    graph = RuleGraph(NUMBERS, (0, 1), Fires(rg.Above(total, 0.2)))
    assert "MatMul" in operator_kinds(emit(graph, {"text": False}).main)
    assert_formulations_agree(graph, adversarial_table(NUMBERS, (0.0, 1.0)))


def test_what_has_no_table() -> None:
    logic = RuleGraph(NUMBERS, (0, 1), Fires(rg.Or((rg.And((above(0), above(1))), above(2)))))
    assert set(every_formulation(logic)) == {"operators", "tree"}
    many = noisy(rg.Or(bits([above(j) for j in range(17)])), 0.5)
    with pytest.raises(NotOfBitsError, match=str(2 * MOST_CELLS)):
        cell_table(many)
    rounded = rg.Linear([(1.0, rg.Column("x0", 0.0, -1.0, 1.0, 0.5))], 0.0)
    with pytest.raises(NotOfBitsError, match="'x0'"):
        cell_table(RuleGraph(NUMBERS, (0, 1), Fires(rg.Above(rounded, 0.2))))
    with pytest.raises(NotOfBitsError, match="1 cells"):
        cell_table(RuleGraph(NUMBERS, (0, 1), Fires(rg.Above(rg.Step("x0", (), (1.0,), 1.0), 0.2))))


@pytest.mark.parametrize("seed", range(3))
def test_circuits_over_negated_shared_and_composite_causes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    leaves = [above(j, float(rng.normal()), str(rng.choice([">", "<="])), bool(rng.random() < 0.3)) for j in range(12)]
    causes = [
        *leaves,
        rg.Not(leaves[0]),
        rg.And(leaves[:3]),
        rg.AtLeast(2, leaves[3:7]),
        rg.Or((leaves[1], rg.Not(leaves[2]))),
    ]
    hidden = bits([causes[int(i)] for i in rng.permutation(len(causes))])
    groups = [
        rg.And([*hidden[k : k + 4], leaves[k % 12]]) if k % 8 else rg.Or(hidden[k : k + 4]) for k in range(0, 16, 4)
    ]
    formula = rg.Or([*groups, rg.And((hidden[0], hidden[7]))]) if seed % 2 else rg.AtLeast(2, groups)
    graph = noisy(formula, 0.5)
    assert_formulations_agree(graph, adversarial_table(NUMBERS))
    exact = noisy(formula, middle_value(formula, graph))
    assert_formulations_agree(exact, adversarial_table(NUMBERS))


def rare(count: int) -> RuleGraph:
    causes = [above(j) for j in range(count)]
    hidden = [rg.Hidden(f"h{j}", c, strength_of(1e-7 * (j + 1)), strength_of(1e-13)) for j, c in enumerate(causes)]
    return RuleGraph(NUMBERS, (0, 1), Fires(rg.Or(causes)), (rg.Probability(rg.Or([*hidden, rg.And(causes)])),))


def test_a_reported_noisy_or_is_a_product_that_keeps_rare_probabilities() -> None:
    """1 - exp(-s) in single steps would lose all digits of 1e-12; the decision is not touched."""
    graph = rare(20)
    kinds = operator_kinds(every_formulation(graph)["operators"])
    assert kinds.count("Tanh") == kinds.count("Exp") == 1
    assert len(kinds) < 30
    table = adversarial_table(NUMBERS, (0.0,))
    reported = run(every_formulation(graph)["operators"], graph, table).probabilities
    np.testing.assert_allclose(reported[:, 1], probabilities(graph, table)[:, 1], rtol=2e-4, atol=0)
    assert_formulations_agree(graph, table)


def test_a_probability_that_decides_is_never_a_product() -> None:
    hidden = bits([above(j) for j in range(20)])
    for graph in (
        noisy(rg.Or(hidden), 0.5),
        RuleGraph(
            NUMBERS, (0, 1, 2), ArgMax((rg.Probability(rg.Or(hidden)), above(0), above(1)), (0.5,) * 3, (0, 1, 2))
        ),
    ):
        for artifact in every_formulation(graph.with_(probability=())).values():
            assert "Exp" not in operator_kinds(artifact)
    exact = noisy(rg.Or(hidden), middle_value(rg.Or(hidden), noisy(rg.Or(hidden), 0.5)))
    assert_formulations_agree(exact, adversarial_table(NUMBERS, (0.0,)))


def test_certain_bits_and_the_sum_of_strengths_that_decides() -> None:
    hidden = [*bits([above(j) for j in range(10)]), rg.Hidden("sure", above(11), strength_of(1.0), 0.0), above(12)]
    chance = rg.Probability(rg.Or(hidden))
    graph = RuleGraph(NUMBERS, (0, 1), Fires(rg.Above(rg.Strength(chance.children[0]), strength_of(0.9))), (chance,))
    kinds = operator_kinds(every_formulation(graph)["operators"])
    assert kinds.count("Exp") == 1
    table = adversarial_table(NUMBERS, (0.0,))
    np.testing.assert_array_equal(run(emit(graph, {}).main, graph, table).labels, decide(graph, table))
    assert_formulations_agree(graph, table)


@pytest.mark.parametrize("grid", [2.0**-10, 2.0**-40, 0.0])
def test_strengths_that_decide_are_added_in_order(grid: float) -> None:
    rng = np.random.default_rng(3)
    strengths = [abs(float(np.round(s / grid) * grid)) if grid else abs(float(s)) for s in rng.normal(size=14)]
    hidden = [rg.Hidden(f"h{j}", above(j), s, strengths[-1 - j] / 8) for j, s in enumerate(strengths[:7])]
    chance = rg.Probability(rg.Or(hidden))
    table = adversarial_table(NUMBERS, (0.0,))
    sums = [sum(h.on if j % 2 else h.off for j, h in enumerate(hidden)), sum(h.on for h in hidden[:5])]
    for threshold in (*sums, float(np.nextafter(sums[0], 0.0))):
        graph = RuleGraph(NUMBERS, (0, 1), Fires(rg.Above(rg.Strength(chance.children[0]), threshold)), (chance,))
        assert_formulations_agree(graph, table)
