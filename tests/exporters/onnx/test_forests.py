"""Forests of other programs are read as onnxruntime decides them, or refused in one line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from forest_cases import CUTS, Trees, grown, model, of_version_5, rows_at, run
from onnx import TensorProto, helper, numpy_helper
from rulekit_exporters.onnx.forests import MOST_COLUMNS, MOST_DEPTH, MOST_LEAVES, MOST_TREES

from rulekit.errors import FormatError, NoModelError
from rulekit.graph.evaluation.evaluator import probabilities
from rulekit.graph.nodes import And, Compare, Linear, Missing, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import find_target

TARGET = find_target("onnx")
COLUMNS = 4


def _read(made: Any, names: tuple[str, ...] = ()) -> RuleGraph:
    assert TARGET.read_foreign is not None
    return TARGET.read_foreign(made.SerializeToString(), names)


def _one(least: int, target: int = 0) -> Callable[..., list[tuple[int, float]]]:
    return lambda rng, tree: [(target, int(rng.integers(least, 65)) / 64)]


def _decided_alike(made: Any, rng: np.random.Generator, dtype: Any = np.float32) -> RuleGraph:
    graph, rows = _read(made), rows_at(CUTS, COLUMNS, 3_000, rng, dtype)
    expected = run(made, rows)[0]
    assert np.array_equal(np.array(graph.classes, dtype=object)[graph.decide(rows)], np.array(expected, dtype=object))
    return graph


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("least", [-64, 0])
def test_two_classes_are_decided_as_onnxruntime_decides_them(seed: int, least: int) -> None:
    """All modes, missing tracks, base values and transforms; the weights are such that floats add them exactly."""
    rng = np.random.default_rng(seed)
    target = seed % 2
    trees = grown(rng, int(rng.integers(1, 8)), COLUMNS, _one(least, target))
    given = trees.attributes | {"post_transform": ("NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO")[seed % 4]}
    given |= {"classlabels_strings": ["no", "yes"]} if seed % 3 else {"classlabels_int64s": [3, 8]}
    if seed % 4 < 3:
        given["nodes_missing_value_tracks_true"] = rng.integers(0, 2, len(trees.nodes["modes"])).tolist()
    if not target and seed % 3 != 1:
        given["base_values"] = [-0.25]
    graph = _decided_alike(model(given, COLUMNS), rng)
    assert graph.schema.names == ("x0", "x1", "x2", "x3")
    if given["post_transform"] == "LOGISTIC" and not target:
        rows = rows_at(CUTS, COLUMNS, 200, rng)
        shares = run(model(given, COLUMNS), rows)[1]
        np.testing.assert_allclose(probabilities(graph, graph.table(rows)), shares, atol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_several_classes_are_decided_as_onnxruntime_decides_them(seed: int) -> None:
    """Ties go to the first class; each tree has weights of one class (boosting), or each leaf of all (a forest)."""
    rng = np.random.default_rng(seed)

    def votes(rng: np.random.Generator, tree: int) -> list[tuple[int, float]]:
        classes = [tree % 3] if seed % 2 else range(3)
        return [(k, int(rng.integers(-3, 4)) / 4) for k in classes]

    given = grown(rng, 6, COLUMNS, votes).attributes | {"classlabels_strings": ["low", "mid", "high"]}
    if seed > 3:
        given |= {"base_values": [0.5, -0.25, 0.25], "post_transform": "SOFTMAX"}
    _decided_alike(model(given, COLUMNS), rng)


@pytest.mark.parametrize("tensors", [False, True])
def test_doubles_are_compared_as_doubles(tensors: bool) -> None:
    """Thresholds and weights stand in lists of floats or, of version 3, in tensors of doubles."""
    rng = np.random.default_rng(0)
    given = grown(rng, 4, COLUMNS, _one(-64)).attributes | {"classlabels_int64s": [0, 1]}
    for name in ("nodes_values", "class_weights") if tensors else ():
        given[f"{name}_as_tensor"] = numpy_helper.from_array(np.array(given.pop(name), np.float64))
    graph = _decided_alike(model(given, COLUMNS, element=TensorProto.DOUBLE), rng, np.float64)
    assert {feature.precision for feature in graph.schema} == {"float64"}


@pytest.mark.parametrize("op", ["TreeEnsembleRegressor", "TreeEnsemble"])
def test_one_target_with_logistic_is_positive_above_a_half(op: str) -> None:
    """Onnxruntime gives the sum itself, which is above 0 where its logistic function is above a half."""
    rng = np.random.default_rng(3)
    trees = grown(rng, 5, COLUMNS, _one(-64), "target")
    given = trees.attributes | {"post_transform": "LOGISTIC", "n_targets": 1}
    given = of_version_5(trees) if op == "TreeEnsemble" else given
    rows = rows_at(CUTS, COLUMNS, 3_000, rng)
    sums = run(model(given, COLUMNS, op), rows)[0][:, 0]
    assert np.array_equal(_read(model(given, COLUMNS, op)).decide(rows), sums > 0)
    given["post_transform"] = 0 if op == "TreeEnsemble" else "NONE"
    with pytest.raises(NoModelError, match="its trees predict a number"):
        _read(model(given, COLUMNS, op))


def test_a_sum_that_rounds_to_the_threshold_may_be_decided_otherwise() -> None:
    """Ten trees of pure leaves: five times float32(0.1) is exactly above a half, and half of ten trees in floats."""
    trees = Trees()
    for tree in range(10):
        trees.node(tree, 0, "BRANCH_GT", tree, 0.0, 1, 2)
        trees.node(tree, 1)
        trees.node(tree, 2)
        trees.vote(tree, 1, 0, 0.1)
        trees.vote(tree, 2, 0, 0.0)
    made = model(trees.attributes | {"classlabels_int64s": [0, 1]}, 10)
    rows = np.array([[1.0] * on + [0.0] * (10 - on) for on in range(11)], np.float32)
    differs = _read(made).decide(rows) != run(made, rows)[0]
    assert differs.tolist() == [on == 5 for on in range(11)]


def _stump(**more: Any) -> dict[str, Any]:
    trees = Trees()
    trees.node(0, 0, "BRANCH_LEQ", 0, 1.5, 1, 2)
    trees.node(0, 1)
    trees.node(0, 2)
    trees.vote(0, 1, 0, 0.25)
    trees.vote(0, 2, 0, 0.75)
    return trees.attributes | {"classlabels_int64s": [0, 1]} | more


def test_a_leaf_has_at_most_two_conditions_for_a_column() -> None:
    """A path of many cuts on one column is an interval; where only a missing number passes, it says so."""
    trees = Trees()
    for depth, (mode, cut) in enumerate(
        [("BRANCH_LEQ", 3.0), ("BRANCH_LEQ", 2.0), ("BRANCH_GT", 0.0), ("BRANCH_GT", 5.0)]
    ):
        trees.node(0, 2 * depth, mode, 0, cut, 2 * depth + 2, 2 * depth + 1)
        trees.node(0, 2 * depth + 1)
        trees.vote(0, 2 * depth + 1, 0, 0.25)
    trees.node(0, 8)
    trees.vote(0, 8, 0, 0.75)
    tracks = {"nodes_missing_value_tracks_true": [1, 0, 1, 0, 1, 0, 1, 0, 0], "classlabels_int64s": [0, 1]}
    graph = _read(model(trees.attributes | tracks, 1))
    (score,) = [node for node in topological(graph.roots) if isinstance(node, Linear)]
    between = And([Compare("X", ">", 0.0), Compare("X", "<=", 2.0)])
    assert {leaf for _, leaf in score.terms} == {
        *(Compare("X", "<=", 0.0), Compare("X", ">", 3.0), Missing("X"), between),
        And([Compare("X", ">", 2.0), Compare("X", "<=", 3.0)]),
    }


def test_what_leaves_numbers_as_they_are_may_stand_around_the_trees() -> None:
    """Columns of their own are joined; labels and scores are passed on."""
    given = _stump(nodes_featureids=[2, 0, 0])
    before = [
        helper.make_node("Cast", ["age"], ["years"], to=TensorProto.FLOAT),
        helper.make_node("Reshape", ["debt"], ["debts"], name="r"),
        helper.make_node("Concat", ["years", "debts"], ["X"], axis=1),
    ]
    before[1].input.append("shape")
    after = [
        helper.make_node("Identity", ["label"], ["decided"]),
        helper.make_node("Normalizer", ["scores"], ["shares"], domain="ai.onnx.ml", norm="L1"),
        helper.make_node("Mul", ["shares", "one"], ["same"]),
        helper.make_node("ZipMap", ["same"], ["mapped"], domain="ai.onnx.ml", classlabels_int64s=[0, 1]),
    ]
    ports = [("age", TensorProto.INT64, 1), ("debt", TensorProto.FLOAT, 2)]
    shape = numpy_helper.from_array(np.array([-1, 2]), "shape")
    one = numpy_helper.from_array(np.array([1.0], np.float32), "one")
    made = model(given, 0, before=before, after=after, ports=ports, outputs=["decided"], constants=[shape, one])
    graph = _read(made)
    assert (graph.schema.names, graph.schema.target) == (("age", "debt0", "debt1"), "decided")
    assert graph.decide([[1.0, 2.0, 1.0], [1.0, 2.0, 2.0], [1.0, 2.0, np.nan]]).tolist() == [0, 1, 1]
    assert _read(made, ("a", "b", "c")).schema.names == ("a", "b", "c")
    made.graph.initializer[1].CopyFrom(numpy_helper.from_array(np.array([2.0], np.float32), "one"))
    with pytest.raises(NoModelError, match="its operator Mul after the trees is not read"):
        _read(made)
    made.graph.initializer[1].CopyFrom(one)
    with pytest.raises(NoModelError, match=r"of its columns 2 \(a, b\) are given for 3 \(age, debt0, debt1\)"):
        _read(made, ("a", "b"))


def test_weights_too_far_apart_are_put_on_a_grid() -> None:
    graph = _read(model(_stump(class_weights=[1e-30, 0.75]), 1))
    (score,) = [node for node in topological(graph.roots) if isinstance(node, Linear)]
    assert score.weights == (0.0, 0.75)


def _deep() -> dict[str, Any]:
    trees = Trees()
    for depth in range(MOST_DEPTH + 1):
        trees.node(0, 2 * depth, "BRANCH_LEQ", 0, -depth, 2 * depth + 2, 2 * depth + 1)
        trees.node(0, 2 * depth + 1)
        trees.vote(0, 2 * depth + 1, 0, 0.5)
    trees.node(0, 2 * MOST_DEPTH + 2)
    trees.vote(0, 2 * MOST_DEPTH + 2, 0, 0.5)
    return trees.attributes | {"classlabels_int64s": [0, 1]}


def _many(trees: int) -> dict[str, Any]:
    made = Trees()
    for tree in range(trees):
        made.node(tree, 0)
        made.vote(tree, 0, 0, 0.5)
    return made.attributes | {"classlabels_int64s": [0, 1]}


def _doubling() -> dict[str, Any]:
    """A chain of `!=`: each leaf comes twice for each of them."""
    chain = _deep()
    chain["nodes_modes"] = ["BRANCH_NEQ" if mode != "LEAF" else mode for mode in chain["nodes_modes"]]
    chain["nodes_featureids"] = list(range(len(chain["nodes_modes"])))
    chain["nodes_modes"][-3] = "LEAF"
    chain = {name: own[:-2] for name, own in chain.items()}
    return (
        chain
        | {"class_ids": [*chain["class_ids"], 0], "classlabels_int64s": [0, 1]}
        | {
            "class_treeids": [*chain["class_treeids"], 0],
            "class_nodeids": [*chain["class_nodeids"], 2 * MOST_DEPTH],
            "class_weights": [*chain["class_weights"], 0.5],
        }
    )


NAN = float("nan")
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "cycle": (_stump(nodes_truenodeids=[0, 0, 0]), "a node is reached twice, or never"),
    "shared": (_stump(nodes_truenodeids=[2, 0, 0]), "a node is reached twice, or never"),
    "nowhere": (_stump(nodes_truenodeids=[7, 0, 0]), "leads to a node that there is not"),
    "one id": (_stump(nodes_nodeids=[0, 1, 1]), "two nodes have one id"),
    "apart": (_stump(nodes_treeids=[0, 1, 0]), "the nodes of a tree do not stand together"),
    "threshold": (_stump(nodes_values=[NAN, 0.0, 0.0]), "a number of nodes_values is not finite"),
    "far threshold": (_stump(nodes_values=[float(np.finfo(np.float32).min), 0.0, 0.0]), "is out of range"),
    "least threshold": (_stump(nodes_values=[-float("inf"), 0.0, 0.0]), "a number of nodes_values is not finite"),
    "weight": (_stump(class_weights=[0.5, float("inf")]), "a number of class_weights is not finite"),
    "far apart": (
        _many(5) | {"class_weights": [0.5, 0.5, 0.5, 0.5, 1e30]},
        "its weights are too far apart to be added",
    ),
    "large": (_stump(class_weights=[3e38, 1.0]), "its weights are too large for floats"),
    "base": (_stump(base_values=[NAN]), "a number of base_values is not finite"),
    "bases": (_stump(base_values=[0.5, 0.5]), "its 2 base_values are not read"),
    "short": (_stump(nodes_values=[1.5, 0.0]), "its lists are not of one length"),
    "short votes": (_stump(class_weights=[0.5]), "its lists are not of one length"),
    "mode": (_stump(nodes_modes=["BRANCH_MEMBER", "LEAF", "LEAF"]), "the branch BRANCH_MEMBER is not read"),
    "column": (_stump(nodes_featureids=[99, 0, 0]), "reads the column 99, which there is not"),
    "below": (_stump(nodes_featureids=[-1, 0, 0]), "reads the column -1, which there is not"),
    "class": (_stump(class_ids=[2, 2]), "a weight is of a class that there is not"),
    "both": (_stump(class_ids=[0, 1]), "its two classes have a weight each"),
    "labels": (_stump(classlabels_int64s=[1, 1]), "its classes are not 2 to 1000 names"),
    "classes": (_stump(classlabels_int64s=list(range(1001))), "its classes are not 2 to 1000 names"),
    "some leaves": (_stump(class_ids=[0, 1], classlabels_int64s=[1, 2, 3]), "has weights on some leaves only"),
    "deep": (_deep(), f"a tree is deeper than {MOST_DEPTH}"),
    "doubling": (_doubling(), f"more than {MOST_LEAVES} leaves"),
    "trees": (_many(MOST_TREES + 1), f"{MOST_TREES + 1} trees, where 1 to {MOST_TREES} are read"),
    "no tree": (_many(0), "0 trees"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_hostile_ensemble_is_refused_in_one_line(fault: str) -> None:
    attributes, said = FAULTS[fault]
    empty = {name: own for name, own in attributes.items() if own != []}
    with pytest.raises(FormatError, match="no ") as caught:
        _read(model(empty, 99))
    assert said in str(caught.value) or fault == "no tree"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("attribute", sorted(_stump()))
def test_an_attribute_that_is_missing_or_of_another_type_is_refused_in_one_line(attribute: str) -> None:
    for value in (None, ["x", "y", "z"], 1.5, helper.make_tensor("t", TensorProto.STRING, [1], [b"a"])):
        given = {name: own for name, own in _stump().items() if name != attribute}
        given |= {} if value is None else {attribute: value}
        try:
            graph = _read(model(given, 1))
        except FormatError as error:
            assert "\n" not in str(error)  # noqa: PT017 - some are read, as a class named x
        else:
            assert attribute.startswith("classlabels") or attribute == "nodes_modes", graph


def test_other_operators_are_refused_by_name() -> None:
    scaled = [helper.make_node("Scaler", ["raw"], ["X"], domain="ai.onnx.ml", offset=[0.0], scale=[2.0])]
    ports = [("raw", TensorProto.FLOAT, 1)]
    with pytest.raises(
        NoModelError, match="its operator Scaler before the trees is not read; convert the forest alone"
    ):
        _read(model(_stump(), 1, before=scaled, ports=ports))
    after = [helper.make_node("ArgMax", ["scores"], ["best"], axis=1)]
    with pytest.raises(NoModelError, match="its operator ArgMax after the trees is not read"):
        _read(model(_stump(), 1, after=after, outputs=["best"]))
    rounded = [helper.make_node("Cast", ["raw"], ["X"], to=TensorProto.INT64)]
    with pytest.raises(NoModelError, match="its operator Cast before the trees is not read"):
        _read(model(_stump(), 1, before=rounded, ports=ports))
    with pytest.raises(NoModelError, match="its input 'raw' is a text or of another type; give it numbers"):
        _read(model(_stump(), 1, before=rounded, ports=[("raw", TensorProto.STRING, 1)]))
    with pytest.raises(NoModelError, match=f"does not say that its rows have 1 to {MOST_COLUMNS} columns"):
        _read(model(_stump(), MOST_COLUMNS + 1))
    flat = model(_stump(), 1)
    del flat.graph.input[0].type.tensor_type.shape.dim[1]
    with pytest.raises(NoModelError, match="its input 'X' does not say that its rows have"):
        _read(flat)  # onnxruntime takes it for one row
    joined = [helper.make_node("Concat", ["one", "raw"], ["X"], axis=1)]
    one = numpy_helper.from_array(np.array([[1.0]], np.float32), "one")
    with pytest.raises(NoModelError, match="its operator Concat before the trees is not read"):
        _read(model(_stump(), 1, before=joined, ports=ports, constants=[one]))
    twice = model(_stump(), 1)
    twice.graph.node[0].attribute.append(twice.graph.node[0].attribute[0])
    with pytest.raises(NoModelError, match="an attribute stands twice"):
        _read(twice)
    two = model(_stump(), 1, after=[helper.make_node("TreeEnsembleClassifier", ["X"], ["l", "s"], domain="ai.onnx.ml")])
    with pytest.raises(NoModelError, match="more than one forest"):
        _read(two)
    with pytest.raises(NoModelError, match="carries no rulekit model, and no forest"):
        _read(helper.make_model(helper.make_graph([], "g", [], [])))
