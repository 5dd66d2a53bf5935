"""Sums of conditions, columns and levels, and units of them: one exact product, or side by side in their order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
from unit_trees import nested, paths

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.verification.parity import verify
from rulekit.verification.rows import adversarial_rows

NUMBERS = Schema(tuple(Feature(f"x{j}") for j in range(12)), "y")
LEVELS = SCHEMA["city"].levels


def leaf(rng: np.random.Generator) -> rg.Node:
    """A condition on a column of any kind."""
    draw, missing = rng.integers(6), bool(rng.random() < 0.4)
    if draw == 0:
        levels = tuple(sorted(rng.choice(LEVELS, rng.integers(1, 4), replace=False).tolist()))
        return rg.Among("city", levels, missing, bool(rng.random() < 0.4))
    if draw == 1:
        return rg.IsTrue("flag", missing)
    if draw == 2:
        return rg.Missing(str(rng.choice(["x", "wide", "city", "flag"])))
    column = str(rng.choice(["x", "unused", "wide"]))
    return rg.Compare(column, str(rng.choice(["<=", ">"])), float(rng.choice([0.0, 0.1, -1.5, 16777217.0])), missing)


def formula(rng: np.random.Generator, depth: int = 2) -> rg.Node:
    """A connective of conditions and of connectives."""
    if depth == 0 or rng.random() < 0.3:
        return rg.Not(leaf(rng)) if rng.random() < 0.3 else leaf(rng)
    children = [formula(rng, depth - 1) for _ in range(rng.integers(2, 5))]
    draw = rng.integers(4)
    if draw == 0:
        return rg.AtLeast(int(rng.integers(1, len(children) + 1)), children)
    found = (rg.And, rg.Or)[draw % 2](children)
    return rg.Not(found) if draw == 3 else found


def weight(rng: np.random.Generator, grid: float = 2.0**-6) -> float:
    return float(np.round(rng.normal() / grid) * grid)


def score(rng: np.random.Generator, count: int, grid: float = 2.0**-6) -> rg.Linear:
    """A sum of formulas, and of a step function and points by level."""
    points = rg.LevelPoints("city", tuple((level, weight(rng, 0.25)) for level in LEVELS), weight(rng, 0.25), 0.5)
    steps = rg.Step("wide", (-1.5, 0.1), (0.5, -0.25, 1.0), weight(rng, 0.25))
    terms: list[tuple[float, rg.Node]] = [(weight(rng, grid), formula(rng)) for _ in range(count)]
    return rg.Linear([*terms, (weight(rng, grid), points), (1.0, steps)], weight(rng, grid))


def conjunctions(count: int, length: int, schema: Schema = NUMBERS, seed: int = 0) -> list[tuple[float, rg.Node]]:
    rng = np.random.default_rng(seed)
    return [
        (
            weight(rng),
            rg.And(
                [
                    rg.Compare(schema.names[j], str(rng.choice(["<=", ">"])), float(np.round(rng.normal(), 2)))
                    for j in rng.choice(len(schema), length, replace=False)
                ]
            ),
        )
        for _ in range(count)
    ]


def assert_exact(graph: RuleGraph, rows: int = 200) -> None:
    """Every formulation, on adversarial rows, many of them exactly on a plane."""
    assert_formulations_agree(graph, adversarial_rows(graph, rows).table)


def binary(total: rg.Node, threshold: float = 0.0, schema: Schema = SCHEMA, reported: bool = True) -> RuleGraph:
    return RuleGraph(schema, (0, 1), Fires(rg.Above(total, threshold)), (rg.Logistic(total),) if reported else ())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("reported", [False, True])
@pytest.mark.parametrize(("seed", "grid"), [(0, 2.0**-6), (1, 2.0**-30), (2, 0.5), (3, 2.0**-6), (4, 2.0**-6)])
def test_sums_of_any_conditions_decide_as_the_graph(seed: int, grid: float, reported: bool) -> None:
    rng = np.random.default_rng(seed)
    graph = binary(score(rng, 9, grid), weight(rng, grid) if seed % 2 else 0.3, reported=reported)
    assert_exact(graph)
    report = verify(graph, TARGET.emit(graph, {"input": ("columns", "codes")[seed % 2]}), target=TARGET, rows=500)
    assert (report.ok, report.proof) == (True, "proved"), report.proof_reason


@pytest.mark.one_in(2)
@pytest.mark.parametrize("preference", [(0, 1, 2), (2, 0, 1)])
@pytest.mark.parametrize("thresholds", [(-np.inf,) * 3, (0.0, -0.5, -np.inf)])
def test_scores_of_several_classes_are_one_product(thresholds: tuple[float, ...], preference: tuple[int, ...]) -> None:
    rng = np.random.default_rng(7)
    scores = tuple(score(rng, 6) for _ in range(3))
    graph = RuleGraph(
        SCHEMA, ("a", "b", "c"), ArgMax(scores, thresholds, preference), tuple(map(rg.Logistic, scores)), default=1
    )
    kinds = operator_kinds(every_formulation(graph, "codes")["operators"])
    assert (kinds.count("Gemm"), kinds.count("Exp"), kinds.count("ArgMax")) == (1, 1, 1)
    assert_exact(graph)
    report = verify(graph, TARGET.emit(graph, {}), target=TARGET, rows=500)
    assert (report.ok, report.proof) == (True, "proved"), report.proof_reason


def test_conjunctions_take_no_operator_of_their_own() -> None:
    """Twenty conjunctions of three literals were 156 operators, one And and one Where for each."""
    wide = [(0.25 * j, rg.Compare(f"x{j % 12}", ("<=", ">")[j % 2], float(j))) for j in range(1, 50)]
    for terms in (conjunctions(12, 4), [*conjunctions(3, 2), *wide]):
        graph = binary(rg.Linear(terms, 0.25), 0.3, NUMBERS)
        assert_exact(graph, 100)
    graph = binary(rg.Linear(conjunctions(20, 3), 0.25), schema=NUMBERS, reported=False)
    artifact = emit(graph, {})
    expected = "Transpose Gather Mul Greater Cast MatMul Greater Cast Concat Gemm Cast Greater Cast Gemm ArgMax"
    assert operator_kinds(artifact.main) == expected.split()
    assert verify(graph, artifact, target=TARGET, rows=500).proof == "proved"


def test_level_sets_of_a_category_are_one_lookup() -> None:
    """Three level sets among thirty stumps were 116 operators, 26 without them."""
    rng = np.random.default_rng(3)
    stumps = [(weight(rng), rg.Compare(f"x{j % 12}", ">", float(j))) for j in range(30)]
    schema = Schema((*NUMBERS.features, Feature("city", "categorical", LEVELS)), "y")
    sets = [(weight(rng), rg.Among("city", (level,))) for level in LEVELS]
    without = operator_kinds(emit(binary(rg.Linear(stumps, 0.0), schema=NUMBERS), {"input": "columns"}).main)
    found = operator_kinds(emit(binary(rg.Linear([*stumps, *sets], 0.0), schema=schema), {}).main)
    assert len(found) <= len(without) + 4
    assert found.count("LabelEncoder") == 1


def test_connectives_on_many_layers_do_not_recurse() -> None:
    chain: rg.Node = rg.Compare("x0", ">", 0.0)
    for depth in range(400):
        chain = (rg.And, rg.Or)[depth % 2]([chain, rg.Compare(f"x{depth % 12}", ">", depth / 100)])
    graph = binary(
        rg.Linear([(1.0, chain), (0.5, rg.Compare("x1", ">", 0.0)), (0.25, rg.Missing("x2"))], -0.75), schema=NUMBERS
    )
    assert_same_everywhere(graph, adversarial_rows(graph, 50).table)


@pytest.mark.parametrize("factor", [2.0, 0.5, 1.1, -2.0])
def test_the_logistic_function_of_a_multiple_of_the_sum_takes_the_same_product(factor: float) -> None:
    """Twice the vote of AdaBoost was a product and a sum of its own behind the vote."""
    rng = np.random.default_rng(11)
    total = score(rng, 6)
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Above(total, 0.25)), (rg.Logistic(rg.Linear([(factor, total)], 0.125)),))
    kinds = operator_kinds(every_formulation(graph)["operators"])
    assert ("Mul" in kinds[-11:]) == (factor == 1.1)
    assert_exact(graph)
    assert verify(graph, TARGET.emit(graph, {}), target=TARGET, rows=300).proof == "proved"


def test_sums_within_conditions_and_conditions_of_constants() -> None:
    """A sum within a condition of a sum is a product of its own; what is the same for all rows is a constant."""
    rng = np.random.default_rng(5)
    unit = rg.LinearThreshold([(weight(rng), formula(rng)) for _ in range(4)], 0.25)
    outer = rg.Linear([(1.0, rg.Above(score(rng, 4), 0.0)), (0.5, rg.And([unit, leaf(rng)])), (0.25, leaf(rng))], -0.5)
    always, never = (
        rg.Or([rg.IsTrue("flag"), rg.Not(rg.IsTrue("flag"))]),
        rg.And([rg.Missing("x"), rg.Not(rg.Missing("x"))]),
    )
    terms = [(1.0, always), (2.0, never), (4.0, rg.Compare("x", ">", 0.0)), (0.5, rg.AtLeast(0, [leaf(rng)]))]
    for total in (outer, rg.Linear([*terms, (0.5, rg.Missing("x")), (0.25, rg.IsTrue("flag"))], -2.0)):
        graph = binary(total)
        assert_exact(graph)
        assert verify(graph, TARGET.emit(graph, {}), target=TARGET, rows=300).ok


@pytest.mark.one_in(2)
@pytest.mark.parametrize("top", [2.0**k + d for k in (24, 53) for d in (-4, -2, -1, 0, 2)])
def test_sums_at_the_limit_of_a_width(top: float) -> None:
    """Beyond 24 (53) bits a product must move to double (to a fixed order), or the last unit of the sum is lost.

    1 - u and u need one bit more than the sum; where there is none, the sum is compared.
    """
    flag, missing, some = rg.IsTrue("flag"), rg.Missing("x"), rg.Compare("x", ">", 0.0)
    high = float(np.float32(top / 2))
    column, small = rg.Column("x", 0.0, -high, high, 1.0), rg.Column("unused", 0.5, -1.0, 1.0, 1.0)
    steps = rg.Linear(
        [(1.0, rg.Step("x", (0.0,), (0.0, top), 0.0)), (1.0, rg.Compare("unused", ">", 0.0)), (1.0, flag)], 0.0
    )
    literals = rg.Linear([(top - 3.0, some), (1.0, flag), (1.0, missing), (1.0, rg.Missing("flag"))], 0.0)
    unit = rg.LinearThreshold([(1.0, column), (1.0, small), (1.0, flag)], 1.0 - high)
    graphs = [binary(steps, threshold, reported=False) for threshold in (top - 1, top, top + 1)]
    graphs += [binary(literals, threshold, reported=threshold > 0) for threshold in (0.0, 1.0, -3.0)]
    for graph in (*graphs, RuleGraph(SCHEMA, (0, 1), Fires(unit))):
        assert_exact(graph, 60)


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
    terms: list[tuple[float, rg.Node]] = [
        (1.5, rg.And([rg.Compare("x", ">", 0.25), rg.Not(rg.IsTrue("flag", True))])),
        (-0.75, rg.And([rg.Compare("x", "<=", 2.0, True), rg.IsTrue("flag")])),
        (0.5, rg.Among("city", ("Rome", "3"))),
        (-0.25, rg.Among("city", ("3", "ünï"))),
        (1.0, rg.AtLeast(2, [rg.Compare("x", ">", 1.0), rg.IsTrue("flag"), rg.Missing("x")])),
    ]
    graph = binary(rg.Linear(terms, -0.25))
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
    terms = [(1.0, rg.Step(f"x{j}", cuts, tuple(map(float, rng.integers(-10, 11, 5))), 0.0)) for j in range(5)]
    graph = binary(rg.Linear(terms, 0.5), schema=NUMBERS)
    artifact = TARGET.emit(graph, {})
    assert "table" in every_formulation(graph)
    assert len(artifact.main) < 8000
    assert verify(graph, artifact, target=TARGET, rows=300).proof == "proved"


# Networks of units

BOOLEANS, COUNT = 50, 30
FLAGS = tuple(Feature(f"b{j}", "boolean") for j in range(BOOLEANS))
COLUMNS = tuple(Feature(f"x{j}") for j in range(COUNT))
COLOUR = Feature("colour", "categorical", ("red", "green", "blue"))


def flag_literal(rng: np.random.Generator, j: int) -> rg.Node:
    """A Boolean column, or `not x` that is false where x is missing, spelt in one of two ways."""
    way = rng.integers(4)
    if way < 2:
        return rg.IsTrue(f"b{j}")
    if way == 2:
        return rg.Not(rg.IsTrue(f"b{j}", missing=True))
    return rg.And([rg.Not(rg.IsTrue(f"b{j}")), rg.Not(rg.Missing(f"b{j}"))])


def boolean_unit(rng: np.random.Generator, most: int = BOOLEANS) -> rg.LinearThreshold:
    """Integer weights on 5 to 50 literals, the threshold at an attainable sum."""
    chosen = rng.permutation(most)[: rng.integers(5, most + 1)].tolist()
    weights = [float(rng.choice([-2, -1, 1, 2, 3])) for _ in chosen]
    return rg.LinearThreshold(
        [(weight, flag_literal(rng, j)) for weight, j in zip(weights, chosen, strict=True)], -float(sum(weights) // 2)
    )


def column_unit(rng: np.random.Generator, alike: bool = True) -> rg.LinearThreshold:
    """Weights in multiples of 1/64 on cleaned columns."""
    columns = [rg.Column(f"x{j}", 0.0, -4.0, 4.0, 2.0 ** -(8 if alike else j % 5)) for j in range(COUNT)]
    weights = (np.rint(rng.normal(0, 0.4, COUNT + 1) * 64) / 64).tolist()
    return rg.LinearThreshold(list(zip(weights[1:], columns, strict=True)), weights[0])


def mixed_unit(rng: np.random.Generator) -> rg.LinearThreshold:
    """Boolean columns, levels and cleaned columns."""
    terms: list[tuple[float, rg.Node]] = [(float(rng.integers(1, 4)), flag_literal(rng, j)) for j in range(6)]
    terms += [(float(rng.integers(-64, 64)) / 64, rg.Column(f"x{j}", 0.5, -4.0, 4.0, 2.0**-6)) for j in range(6)]
    terms.append((float(rng.integers(1, 3)), rg.Among("colour", ("red",) if rng.random() < 0.5 else ("green", "blue"))))
    return rg.LinearThreshold(terms, -6.0)


def chain(units: list[rg.LinearThreshold]) -> rg.Node:
    """Or, and-not, or, ... of one unit after another."""
    found: rg.Node = units[-1]
    for k, unit in reversed(list(enumerate(units[:-1]))):
        found = rg.And([rg.Not(unit), found]) if k % 2 else rg.Or([unit, found])
    return found


def model(formula: rg.Node, *features: Feature) -> RuleGraph:
    return RuleGraph(Schema(features, "y"), (0, 1), Fires(formula))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("shape", [nested, paths, chain])
@pytest.mark.parametrize("kind", [boolean_unit, column_unit, mixed_unit])
def test_networks_decide_as_their_graph_and_are_proved(shape, kind):
    rng = np.random.default_rng(3)
    graph = model(shape([kind(rng) for _ in range(3)]), *FLAGS, *COLUMNS, COLOUR)
    assert_exact(graph, 60)
    report = verify(graph, emit(graph, {"input": "columns"}).main, target="onnx", rows=60)
    assert report.ok
    assert report.proof == "proved"
    assert report.proof_probabilities


@pytest.mark.parametrize("connective", [rg.And, rg.Or])
def test_a_single_gate_is_one_count(connective):
    rng = np.random.default_rng(6)
    units = [boolean_unit(rng, 12) for _ in range(5)]
    graph = model(connective([units[0], rg.Not(units[1]), *units[2:]]), *FLAGS[:12])
    kinds = operator_kinds(emit(graph, {"input": "tensor"}).main)
    assert kinds.count("Gemm") == 2  # all units, and the pair of what is decided
    assert_exact(graph)


def formulas(units: list[rg.Node]) -> st.SearchStrategy[rg.Node]:
    """Logic over units and literals, nested in any way."""
    leaves = st.sampled_from(units).flatmap(lambda unit: st.sampled_from([unit, rg.Not(unit)]))
    several = lambda inner: st.lists(inner, min_size=2, max_size=3)  # noqa: E731
    return st.recursive(
        leaves,
        lambda inner: st.one_of(several(inner).map(rg.And), several(inner).map(rg.Or), inner.map(rg.Not)),
        max_leaves=10,
    )


@given(formulas([rg.Compare("x0", ">", 0.5), *(boolean_unit(np.random.default_rng(8 + k), 6) for k in range(4))]))
@settings(max_examples=25, deadline=None)
def test_any_logic_over_units_is_exact(formula):
    assert_exact(model(formula, *FLAGS[:6], COLUMNS[0]), 60)


def test_odds_by_path_are_a_sum_that_hangs_on_the_units():
    """A count of units stood in the product of the units itself, which never ended."""
    rng = np.random.default_rng(4)
    first, second = column_unit(rng), column_unit(rng)
    paths_of = [(4.0, first), (2.5, rg.And([rg.Not(first), second])), (-3.25, rg.And([rg.Not(first), rg.Not(second)]))]
    rule = rg.Or([first, second])
    report = (rg.Sided(rg.Logistic(rg.Linear(paths_of, 0.0)), rule, 0.501, 0.499),)
    graph = RuleGraph(Schema(COLUMNS, "y"), (0, 1), Fires(rule), report)
    assert_exact(graph, 60)


def column(j: int, step: float = 2.0**-6, bound: float = 4.0, missing: float = 0.5) -> rg.Column:
    return rg.Column(f"x{j}", missing, -bound, bound, step)


def units(rng: np.random.Generator, columns: list[rg.Node], count: int, grid: float) -> list[rg.LinearThreshold]:
    """Units over columns whose weights lie on a grid, of any double where it is 0."""

    def weight() -> float:
        return float(np.round(rng.normal() / grid) * grid) if grid else float(rng.normal())

    return [rg.LinearThreshold([(weight(), child) for child in columns], weight()) for _ in range(count)]


def over_columns(nodes: list[rg.LinearThreshold]) -> RuleGraph:
    """A tree of three units, the others in a rule of their own."""
    features = (*COLUMNS[:6], Feature("wide", precision="float64"), Feature("flag", "boolean"))
    return model(rg.Or([paths(nodes[:3]), rg.And([rg.Not(nodes[0]), *nodes[3:]])]), *features)


def products(artifact: bytes) -> list[np.ndarray]:
    """The constant matrices of the Gemm operators."""
    graph = onnx.ModelProto.FromString(artifact).graph
    arrays = {item.name: onnx.numpy_helper.to_array(item) for item in graph.initializer}
    return [arrays[name] for node in graph.node if node.op_type == "Gemm" for name in node.input[:2] if name in arrays]


@pytest.mark.parametrize(("grid", "width"), [(2.0**-6, np.float32), (2.0**-30, np.float64)])
def test_units_on_a_grid_are_one_product(grid: float, width: type) -> None:
    graph = over_columns(units(np.random.default_rng(1), [column(j) for j in range(6)], 5, grid))
    artifact = emit(graph, {"text": False}).main
    matrix, kinds = products(artifact)[0], operator_kinds(artifact)
    assert (5 in matrix.shape, matrix.dtype) == (True, width)
    assert (kinds.count("Clip") <= 3, kinds.count("Round")) == (True, 1)
    assert_exact(graph)


def test_literals_and_steps_join_the_product() -> None:
    terms = [column(0), column(1, 1.0), rg.Compare("x2", "<=", 0.25, True), rg.IsTrue("flag")]
    terms.append(rg.Step("x3", (0.0, 1.0), (0.5, -1.0, 2.0), 0.25))
    graph = over_columns(units(np.random.default_rng(3), terms, 4, 2.0**-4))
    assert products(emit(graph, {"text": False}).main)[0].shape == (4, 2 + 1 + 1 + 3)
    assert_exact(graph)


@pytest.mark.parametrize(
    ("columns", "grid"),
    [
        *(([*(column(j, s) for j in range(5)), rg.Column("wide", 0.25, -1.0, 1.0, s)], 0.0) for s in (0.0, 2.0**-6)),
        # fl32(0.1) is above 0.1: a value clipped to it would be another number of steps
        ([column(j, 2.0**-30, 0.1, 0.0) for j in range(3)], 2.0**-4),
        ([column(0), rg.Column("x0", -2.0, 0.0, 1.0, 0.25), column(1)], 2.0**-6),  # one column cleaned in two ways
        ([column(j, 2.0**-10, 1e6) for j in range(3)], 2.0**-3),
    ],
)
def test_what_is_not_on_a_grid_is_added_in_order(columns: list[rg.Node], grid: float) -> None:
    assert_exact(over_columns(units(np.random.default_rng(4), columns, 5, grid)))


def test_linear_scores_of_several_classes() -> None:
    for grid in (2.0**-6, 2.0**-30, 0.0):
        found = units(np.random.default_rng(6), [column(j) for j in range(4)], 3, grid)
        scores = tuple(rg.Linear(unit.terms, unit.bias) for unit in found)
        decision = ArgMax(scores, (0.0, -1.0, -np.inf), (2, 0, 1))
        assert_exact(RuleGraph(Schema(COLUMNS, "y"), ("a", "b", "c"), decision))
        assert_exact(model(rg.Above(scores[0], 0.25), *COLUMNS))
