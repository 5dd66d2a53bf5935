"""optimize=latency: one tree operator where the graph is one, exactly; else the portable graph, with the reason."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx_cases import (
    NARROW,
    SCHEMA,
    adversarial_table,
    assert_formulations_agree,
    dnf,
    every_formulation,
    operator_kinds,
)
from rulekit_exporters.onnx import emit
from rulekit_exporters.onnx.conditions import NotOfBitsError
from rulekit_exporters.onnx.inputs import plan_inputs
from rulekit_exporters.onnx.running import runtime_session
from rulekit_exporters.onnx.trees import MOST_LEAVES, decision_tree

from rulekit.graph import nodes as rg
from rulekit.graph.decisions import ArgMax, Fires, Median
from rulekit.graph.rule_graph import RuleGraph
from rulekit.numbers import strength_of
from rulekit.schema import Feature, Schema

TREE = "TreeEnsembleClassifier"


def noisy(causes: list[rg.Node], threshold: float) -> RuleGraph:
    bits = [rg.Hidden(f"h{i}", c, strength_of(0.9 - i / 10), strength_of(0.05)) for i, c in enumerate(causes)]
    chance = rg.Probability(rg.Or(bits))
    return RuleGraph(NARROW, ("no", "yes"), Fires(rg.Above(chance, threshold)), (chance,))


def latency(graph: RuleGraph, **options: object) -> list[str]:
    return operator_kinds(emit(graph, {"optimize": "latency", "text": False, **options}).main)


@pytest.mark.parametrize("seed", range(8))
def test_a_rule_set_over_a_tensor_is_one_operator(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = RuleGraph(NARROW, (0, 1), Fires(dnf(rng, (3, 4, 2, 4))))
    assert latency(graph, input="tensor") == [TREE]
    assert "tree" in assert_formulations_agree(graph, adversarial_table(NARROW, seed=seed))


def test_the_operator_is_that_of_version_1_and_always_says_where_missing_goes() -> None:
    """ai.onnx.ml 3 and 5 are refused by older runtimes; the specification's evaluator needs the attribute."""
    graph = RuleGraph(NARROW, (0, 1), Fires(rg.Or((rg.Compare("x0", ">", 1.0), rg.Compare("x1", "<=", 2.0)))))
    model = onnx.ModelProto.FromString(emit(graph, {"optimize": "latency"}).main)
    assert {item.domain: item.version for item in model.opset_import} == {"": 12, "ai.onnx.ml": 1}
    attributes = {item.name: item for item in model.graph.node[0].attribute}
    assert set(attributes["nodes_missing_value_tracks_true"].ints) == {0, 1}
    assert {mode.decode() for mode in attributes["nodes_modes"].strings} == {"BRANCH_GT", "LEAF"}
    leaves = [mode == b"LEAF" for mode in attributes["nodes_modes"].strings].count(True)
    assert list(attributes["class_ids"].ints) == [0, 1] * leaves


@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (False, True), ("no", "yes"), (2.5, 3)])
def test_labels_of_every_kind(classes: tuple[str | int | float, ...]) -> None:
    assert "tree" in assert_formulations_agree(RuleGraph(NARROW, classes, Fires(rg.Compare("x0", ">", 1.0, True))))


@pytest.mark.parametrize("threshold", [0.02, 0.3, 0.5, 0.75, 0.9, 0.99])
def test_a_label_that_is_not_the_larger_probability(threshold: float) -> None:
    """Of two classes onnxruntime's operator decides by its own rule, which is not that of the graph."""
    causes: list[rg.Node] = [rg.Compare("x0", ">", 0.1), rg.Compare("x1", "<=", 0.0), rg.Compare("x2", ">", -1.5, True)]
    graph = noisy(causes, threshold)
    assert "tree" in assert_formulations_agree(graph)


A = [rg.Compare(f"x{i}", ">", 0.1 * i, i % 2 == 0) for i in range(4)]
RANKED = ArgMax((rg.And((A[0], A[1])), A[2], rg.Or((A[3], rg.Not(A[0])))), (0.5, 0.5, 0.5), (2, 0, 1))
ORDERED = Schema(NARROW.features, "y", ordered_classes=True)
STEPS = (
    (1.0, rg.Step("x0", (-1.5, 0.1, 2.0), (0.1, -0.7, 0.3, 1.1), -0.3)),
    (0.5, rg.Step("x1", (0.0,), (0.0, 1.0), 1.0)),
)
STEPS += ((-0.1, rg.Compare("x2", ">", 0.1, True)),)
UNIT = rg.LinearThreshold([(0.3, rg.Compare("x0", ">", 0.0)), (-0.1, rg.IsTrue("flag"))], -0.15)
CITY = Feature("city", "categorical", ("Rome", "3", "new\nline", "ünï", "Oslo"), missing_tokens=("?", "NA"))
SIZE = Feature("size", "categorical", ("s", "m", "l"), unseen="missing")
IN_CITIES = (
    rg.And((rg.Among("city", ("Rome", "new\nline", "Oslo"), unseen=True), rg.Compare("x", ">", 0.1))),
    rg.And((rg.Missing("city"), rg.Among("size", ("s", "l"), missing=True))),
    rg.And((rg.Among("city", ("3",), missing=True), rg.Not(rg.Missing("size")))),
)
COLUMNS = RuleGraph(Schema((CITY, SIZE, Feature("x")), "y"), (0, 1), Fires(rg.Or(IN_CITIES)))


@pytest.mark.parametrize(
    ("graph", "options", "kinds"),
    [
        (RuleGraph(NARROW, ("a", "b", "c"), RANKED, default=1), {}, [TREE]),
        (RuleGraph(NARROW, (0, 1, 2), RANKED, default=1), {}, [TREE]),
        (RuleGraph(ORDERED, (1, 2, 3, 4), Median((rg.Or((A[0], A[1])), A[0], rg.And((A[0], A[2]))))), {}, [TREE]),
        (
            RuleGraph(
                NARROW,
                (0, 1),
                Fires(rg.Above(rg.Linear((*STEPS, (-0.1, rg.Compare("x2", ">", 0.1, True))), 0.25), 0.25)),
            ),
            {},
            [TREE],
        ),
        (RuleGraph(NARROW, (0, 1), Fires(rg.And((UNIT, rg.Compare("x3", "<=", 0.5, True))))), {}, [TREE]),
        # categories stand in the tree as codes
        (COLUMNS, {}, ["LabelEncoder", "LabelEncoder", "Concat", TREE]),
        (COLUMNS, {"input": "codes"}, ["Cast", "Cast", "Concat", TREE]),
    ],
)
def test_classes_sums_and_categories(graph: RuleGraph, options: dict[str, str], kinds: list[str]) -> None:
    assert latency(graph, **options) == kinds
    assert_formulations_agree(graph)


def test_codes_out_of_range_are_unseen_in_a_tree() -> None:
    schema = Schema((Feature("city", "categorical", ("a", "b", "c")), Feature("x")), "y")
    for unseen in (False, True):
        for missing in (False, True):
            graph = RuleGraph(schema, (0, 1), Fires(rg.Among("city", ("a", "c"), missing, unseen)))
            session = runtime_session(every_formulation(graph, "codes")["tree"])
            codes = np.array([[-(2**62)], [-1], [0], [1], [2], [3], [4], [5], [2**40], [2**63 - 1]])
            expected = [unseen, unseen, missing, unseen, True, False, True, unseen, unseen, unseen]
            assert session({"city": codes})[0].tolist() == [int(value) for value in expected]


def test_a_double_column_is_compared_as_a_double() -> None:
    """2^24 + 1 is 2^24 in float32: a tree that cast its input would decide otherwise."""
    schema = Schema((Feature("account", precision="float64"), Feature("other", precision="float64")), "y")
    rules = rg.Or(
        (rg.Compare("account", ">", 2.0**24), rg.And((rg.Compare("other", "<=", 0.5, True), rg.Missing("account"))))
    )
    graph = RuleGraph(schema, (0, 1), Fires(rules))
    assert latency(graph, input="tensor") == [TREE]
    table = adversarial_table(schema, (2.0**24, 2.0**24 + 1, 0.5, 0.5 + 2.0**-50))
    assert_formulations_agree(graph, table)


def test_narrow_columns_beside_a_double_column_keep_their_width() -> None:
    graph = RuleGraph(SCHEMA, (0, 1), Fires(rg.Or((rg.Compare("x", ">", 0.1), rg.Compare("wide", "<=", 0.5)))))
    tensor = emit(graph, {"optimize": "latency", "input": "tensor"})
    assert TREE not in operator_kinds(tensor.main)
    assert "'x'" in tensor.warnings[0]
    assert latency(graph, input="columns") == ["Cast", "Concat", TREE]
    assert_formulations_agree(graph, adversarial_table(SCHEMA, (0.1, 0.5)))


def half_of(count: int) -> RuleGraph:
    """Whether half of some columns are above 0."""
    schema = Schema(tuple(Feature(f"x{j}") for j in range(count)), "y")
    return RuleGraph(
        schema, (0, 1), Fires(rg.AtLeast(count // 2, [rg.Compare(name, ">", 0.0) for name in schema.names]))
    )


ROUNDED = rg.LinearThreshold([(1.0, rg.Column("x0", 0.0, -1.0, 1.0, 0.5))], 0.0)


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (RuleGraph(SCHEMA, (0, 1), Fires(rg.Compare("wide", ">", 0.1))), "'wide' is no float32"),
        (RuleGraph(NARROW, (0, 1), Fires(rg.Constant(True))), "no column"),
        (RuleGraph(NARROW, (0, 1), Fires(ROUNDED)), "values of the column 'x0'"),
        *((half_of(40), "boxes"), (half_of(14), "leaves")),
    ],
)
def test_what_is_no_tree_falls_back_with_its_reason(graph: RuleGraph, reason: str) -> None:
    artifact = emit(graph, {"optimize": "latency", "text": False})
    assert TREE not in operator_kinds(artifact.main)
    assert reason in artifact.warnings[0]
    assert "portable" in artifact.warnings[0]
    assert_formulations_agree(graph)


def test_fired_rules_are_an_output_of_the_portable_graph() -> None:
    graph = RuleGraph(NARROW, (0, 1), Fires(rg.Or((rg.Compare("x0", ">", 1.0), rg.Compare("x1", "<=", 2.0)))))
    artifact = emit(graph, {"optimize": "latency", "fired": True})
    assert TREE not in operator_kinds(artifact.main)
    assert "fired" in artifact.warnings[0]


def test_no_branch_is_impossible_and_no_split_is_idle() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        graph = RuleGraph(NARROW, (0, 1), Fires(dnf(rng, (2, 3, 3))))
        tree = decision_tree(graph, plan_inputs(graph, None))
        assert tree.leaves <= 1 + 2 * 3 * 3 + 2 * 3 + 2 + 50
        assert len(set(tree.nodes)) == len(tree.nodes)


def test_the_leaves_of_a_tree_are_limited() -> None:
    columns = Schema(tuple(Feature(f"x{j}") for j in range(13)), "y")
    parity: rg.Node = rg.Compare("x0", ">", 0.0)
    for j in range(1, 13):
        other = rg.Compare(f"x{j}", ">", 0.0)
        parity = rg.Or((rg.And((parity, rg.Not(other))), rg.And((rg.Not(parity), other))))
    graph = RuleGraph(columns, (0, 1), Fires(parity))
    with pytest.raises(NotOfBitsError, match=str(2 * MOST_LEAVES)):
        decision_tree(graph, plan_inputs(graph, None))
