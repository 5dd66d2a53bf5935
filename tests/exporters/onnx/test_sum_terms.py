"""Level sets, conjunctions, disjunctions and counts in the product of a sum: exact, proved, and changes are found."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx_cases import (
    SCHEMA,
    adversarial_table,
    assert_formulations_agree,
    assert_same_everywhere,
    changed,
    every_formulation,
    operator_kinds,
)
from rulekit_exporters.onnx import TARGET, emit, run

from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.nodes import (
    Above,
    Among,
    And,
    AtLeast,
    Compare,
    IsTrue,
    LevelPoints,
    Linear,
    LinearThreshold,
    Logistic,
    Missing,
    Node,
    Not,
    Or,
    Step,
)
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.parity import verify
from rulekit.verification.rows import adversarial_rows

NUMBERS = Schema(tuple(Feature(f"x{j}") for j in range(12)), "y")
LEVELS = SCHEMA["city"].levels


def leaf(rng: np.random.Generator) -> Node:
    """A condition on a column of any kind."""
    draw, missing = rng.integers(6), bool(rng.random() < 0.4)
    if draw == 0:
        levels = tuple(sorted(rng.choice(LEVELS, rng.integers(1, 4), replace=False).tolist()))
        return Among("city", levels, missing, bool(rng.random() < 0.4))
    if draw == 1:
        return IsTrue("flag", missing)
    if draw == 2:
        return Missing(str(rng.choice(["x", "wide", "city", "flag"])))
    column = str(rng.choice(["x", "unused", "wide"]))
    return Compare(column, str(rng.choice(["<=", ">"])), float(rng.choice([0.0, 0.1, -1.5, 16777217.0])), missing)


def formula(rng: np.random.Generator, depth: int = 2) -> Node:
    """A connective of conditions and of connectives."""
    if depth == 0 or rng.random() < 0.3:
        return Not(leaf(rng)) if rng.random() < 0.3 else leaf(rng)
    children = [formula(rng, depth - 1) for _ in range(rng.integers(2, 5))]
    draw = rng.integers(4)
    if draw == 0:
        return AtLeast(int(rng.integers(1, len(children) + 1)), children)
    found = (And, Or)[draw % 2](children)
    return Not(found) if draw == 3 else found


def weight(rng: np.random.Generator, grid: float = 2.0**-6) -> float:
    return float(np.round(rng.normal() / grid) * grid)


def score(rng: np.random.Generator, count: int, grid: float = 2.0**-6) -> Linear:
    """A sum of formulas, and of a step function and points by level."""
    points = LevelPoints("city", tuple((level, weight(rng, 0.25)) for level in LEVELS), weight(rng, 0.25), 0.5)
    steps = Step("wide", (-1.5, 0.1), (0.5, -0.25, 1.0), weight(rng, 0.25))
    terms: list[tuple[float, Node]] = [(weight(rng, grid), formula(rng)) for _ in range(count)]
    return Linear([*terms, (weight(rng, grid), points), (1.0, steps)], weight(rng, grid))


def conjunctions(count: int, length: int, schema: Schema = NUMBERS, seed: int = 0) -> list[tuple[float, Node]]:
    rng = np.random.default_rng(seed)
    return [
        (
            weight(rng),
            And(
                [
                    Compare(schema.names[j], str(rng.choice(["<=", ">"])), float(np.round(rng.normal(), 2)))
                    for j in rng.choice(len(schema), length, replace=False)
                ]
            ),
        )
        for _ in range(count)
    ]


def binary(total: Node, threshold: float = 0.0, schema: Schema = SCHEMA, reported: bool = True) -> RuleGraph:
    return RuleGraph(schema, (0, 1), Fires(Above(total, threshold)), (Logistic(total),) if reported else ())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize(("seed", "grid"), [(0, 2.0**-6), (1, 2.0**-30), (2, 0.5), (3, 2.0**-6), (4, 2.0**-6)])
def test_sums_of_any_conditions_decide_as_the_graph(seed: int, grid: float, reported: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = binary(score(rng, 9, grid), weight(rng, grid) if seed % 2 else 0.3, reported=reported)
    table = adversarial_rows(graph, 300).table
    assert_formulations_agree(graph, table)
    report = verify(graph, TARGET.emit(graph, {"input": ("columns", "codes")[seed % 2]}), target=TARGET, rows=500)
    assert (report.ok, report.proof) == (True, "proved"), report.proof_reason


def test_both_ways_to_optimize_decide_as_the_graph() -> None:
    rng = np.random.default_rng(8)
    wide = [(weight(rng), Compare(f"x{j % 12}", ("<=", ">")[j % 2], float(j))) for j in range(50)]
    for terms in (conjunctions(12, 4), [*conjunctions(3, 2), *wide]):
        graph = binary(Linear(terms, 0.25), 0.3, NUMBERS)
        for optimize in ("latency", "throughput"):
            assert_same_everywhere(graph, adversarial_rows(graph, 200).table, optimize=optimize)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("preference", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("thresholds", [(-np.inf,) * 3, (0.0, -0.5, -np.inf)])
def test_scores_of_several_classes_are_one_product(thresholds: tuple[float, ...], preference: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    scores = tuple(score(rng, 6) for _ in range(3))
    graph = RuleGraph(
        SCHEMA, ("a", "b", "c"), ArgMax(scores, thresholds, preference), tuple(map(Logistic, scores)), default=1
    )
    kinds = operator_kinds(every_formulation(graph, "codes")["operators"])
    assert (kinds.count("Gemm"), kinds.count("Exp"), kinds.count("ArgMax")) == (1, 1, 1)
    assert_formulations_agree(graph, adversarial_rows(graph, 300).table)
    report = verify(graph, TARGET.emit(graph, {}), target=TARGET, rows=500)
    assert (report.ok, report.proof) == (True, "proved"), report.proof_reason


def test_conjunctions_take_no_operator_of_their_own() -> None:
    """Twenty conjunctions of three literals were 156 operators, one And and one Where for each."""
    graph = binary(Linear(conjunctions(20, 3), 0.25), schema=NUMBERS, reported=False)
    artifact = emit(graph, {})
    expected = "Transpose Gather Mul Greater Cast MatMul Greater Cast Concat Gemm Cast Greater Cast Gemm ArgMax"
    assert operator_kinds(artifact.main) == expected.split()
    assert verify(graph, artifact, target=TARGET, rows=500).proof == "proved"


def test_level_sets_of_a_category_are_one_lookup() -> None:
    """Three level sets among thirty stumps were 116 operators, 26 without them."""
    rng = np.random.default_rng(3)
    stumps = [(weight(rng), Compare(f"x{j % 12}", ">", float(j))) for j in range(30)]
    schema = Schema((*NUMBERS.features, Feature("city", "categorical", LEVELS)), "y")
    sets = [(weight(rng), Among("city", (level,))) for level in LEVELS]
    without = operator_kinds(emit(binary(Linear(stumps, 0.0), schema=NUMBERS), {"input": "columns"}).main)
    found = operator_kinds(emit(binary(Linear([*stumps, *sets], 0.0), schema=schema), {}).main)
    assert len(found) <= len(without) + 4
    assert found.count("LabelEncoder") == 1


def test_a_sum_within_a_condition_of_a_sum_is_a_product_of_its_own() -> None:
    rng = np.random.default_rng(5)
    inner = score(rng, 4)
    unit = LinearThreshold([(weight(rng), formula(rng)) for _ in range(4)], 0.25)
    outer = Linear([(1.0, Above(inner, 0.0)), (0.5, And([unit, leaf(rng)])), (0.25, leaf(rng))], -0.5)
    graph = binary(outer)
    assert_formulations_agree(graph, adversarial_rows(graph, 300).table)
    assert verify(graph, TARGET.emit(graph, {}), target=TARGET, rows=500).ok


def test_connectives_on_many_layers_do_not_recurse() -> None:
    chain: Node = Compare("x0", ">", 0.0)
    for depth in range(400):
        chain = (And, Or)[depth % 2]([chain, Compare(f"x{depth % 12}", ">", depth / 100)])
    graph = binary(Linear([(1.0, chain), (0.5, Compare("x1", ">", 0.0)), (0.25, Missing("x2"))], -0.75), schema=NUMBERS)
    assert_same_everywhere(graph, adversarial_rows(graph, 50).table)


@pytest.mark.parametrize("factor", [2.0, 0.5, 1.1, -2.0])
def test_the_logistic_function_of_a_multiple_of_the_sum_takes_the_same_product(factor: float) -> None:
    """Twice the vote of AdaBoost was a product and a sum of its own behind the vote."""
    rng = np.random.default_rng(11)
    total = score(rng, 6)
    graph = RuleGraph(SCHEMA, (0, 1), Fires(Above(total, 0.25)), (Logistic(Linear([(factor, total)], 0.125)),))
    kinds = operator_kinds(every_formulation(graph)["operators"])
    assert ("Mul" in kinds[-11:]) == (factor == 1.1)
    assert_formulations_agree(graph, adversarial_rows(graph, 200).table)
    assert verify(graph, TARGET.emit(graph, {}), target=TARGET, rows=300).proof == "proved"


def test_conditions_that_are_the_same_for_all_rows_are_constants() -> None:
    always = Or([IsTrue("flag"), Not(IsTrue("flag"))])
    never = And([Missing("x"), Not(Missing("x"))])
    terms = [
        (1.0, always),
        (2.0, never),
        (4.0, Compare("x", ">", 0.0)),
        (0.5, AtLeast(0, [leaf(np.random.default_rng(0))])),
    ]
    graph = binary(Linear([*terms, (0.5, Missing("x")), (0.25, IsTrue("flag"))], -2.0))
    assert_formulations_agree(graph, adversarial_rows(graph, 100).table)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("top", [2.0**23 - 1, 2.0**23, 2.0**24 - 2, 2.0**24 - 1, 2.0**52, 2.0**53 - 4])
@pytest.mark.parametrize("threshold", [0.0, 1.0, -3.0])
def test_pairs_at_the_limit_of_a_width(top: float, threshold: float) -> None:
    """1 - u and u need one bit more than the sum; where there is none, the sum is compared."""
    terms = [(top - 3.0, Compare("x", ">", 0.0)), (1.0, IsTrue("flag")), (1.0, Missing("x")), (1.0, Missing("flag"))]
    for reported in (False, True):
        graph = binary(Linear(terms, 0.0), threshold, reported=reported)
        assert_formulations_agree(graph, adversarial_rows(graph, 60).table)


def _mutants(artifact: bytes) -> Iterator[tuple[str, bytes]]:
    """The model with one entry of one constant changed, for every constant of the product and what enters it."""
    for item in onnx.ModelProto.FromString(artifact).graph.initializer:
        array = numpy_helper.to_array(item)
        for entry in range(0, array.size, 1 + array.size // 3):
            changed_array = array.copy()
            flat = changed_array.reshape(-1)
            flat[entry] = not flat[entry] if array.dtype == bool else flat[entry] + 1

            def change(model: onnx.ModelProto, name: str = item.name, array: np.ndarray = changed_array) -> None:
                found = next(other for other in model.graph.initializer if other.name == name)
                found.CopyFrom(numpy_helper.from_array(array, name))

            yield f"{item.name}[{entry}] of {array.shape}", changed(artifact, change)


def test_a_changed_number_of_the_product_is_found(long_runs: bool) -> None:
    """A weight, the bias, a threshold, a literal of a conjunction, its sign, the points of a level, a count."""
    terms: list[tuple[float, Node]] = [
        (1.5, And([Compare("x", ">", 0.25), Not(IsTrue("flag", True))])),
        (-0.75, And([Compare("x", "<=", 2.0, True), IsTrue("flag")])),
        (0.5, Among("city", ("Rome", "3"))),
        (-0.25, Among("city", ("3", "ünï"))),
        (1.0, AtLeast(2, [Compare("x", ">", 1.0), IsTrue("flag"), Missing("x")])),
    ]
    graph = binary(Linear(terms, -0.25))
    artifact = every_formulation(graph)["operators"]
    table = adversarial_table(SCHEMA, (0.25, 1.0, 2.0))
    expected = run(artifact, graph, table)
    assert verify(graph, artifact, target=TARGET, rows=100).proof == "proved"
    found = 0
    mutants = list(_mutants(artifact))
    for name, mutant in mutants if long_runs else mutants[::4]:
        if verify(graph, mutant, target=TARGET, rows=100).ok:
            same = run(mutant, graph, table)
            np.testing.assert_array_equal(same.labels, expected.labels, err_msg=name)
            np.testing.assert_allclose(same.probabilities, expected.probabilities, atol=1e-6, err_msg=name)
        else:
            found += 1
    assert found > (15 if long_runs else 3)


def test_a_score_card_of_25_numbers_is_a_sum_and_no_table() -> None:
    """Its table had 7,776 cells and 65 kB."""
    rng = np.random.default_rng(0)
    cuts = (-1.0, -0.25, 0.5, 1.25)
    terms = [(1.0, Step(f"x{j}", cuts, tuple(map(float, rng.integers(-10, 11, 5))), 0.0)) for j in range(5)]
    graph = binary(Linear(terms, 0.5), schema=NUMBERS)
    artifact = TARGET.emit(graph, {})
    assert "table" in every_formulation(graph)
    assert len(artifact.main) < 8000
    assert verify(graph, artifact, target=TARGET, rows=300).proof == "proved"
