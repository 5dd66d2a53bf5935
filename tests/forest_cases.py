"""Tree ensembles as ONNX files: made at random, or of the trees of scikit-learn, and decided by onnxruntime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
from onnx import ModelProto, TensorProto, helper, numpy_helper

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
CUTS = np.array([-1.5, -0.0, 0.0, 0.1, 0.25, 3.0, np.inf], np.float32)


def model(
    attributes: dict[str, Any],
    columns: int,
    op: str = "TreeEnsembleClassifier",
    *,
    before: Sequence[Any] = (),
    after: Sequence[Any] = (),
    ports: Sequence[tuple[str, int, int]] = (),
    outputs: Sequence[str] = (),
    element: int = TensorProto.FLOAT,
    constants: Sequence[Any] = (),
) -> ModelProto:
    """One ensemble that reads `X`, of one tensor unless ports (name, element type, width) say otherwise."""
    is_class = op == "TreeEnsembleClassifier"
    names = ["label", "scores"] if is_class else ["scores"]
    node = helper.make_node(op, ["X"], names, domain="ai.onnx.ml", **attributes)
    texts = TensorProto.STRING if "classlabels_strings" in attributes else TensorProto.INT64
    kinds = {"label": texts, "scores": TensorProto.FLOAT}
    inputs = [
        helper.make_tensor_value_info(n, kind, [None, width]) for n, kind, width in ports or [("X", element, columns)]
    ]
    wanted = [helper.make_tensor_value_info(n, kinds.get(n, texts), None) for n in outputs or names]
    graph = helper.make_graph([*before, node, *after], "forest", inputs, wanted, initializer=list(constants))
    versions = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 5 if op == "TreeEnsemble" else 3)]
    return helper.make_model(graph, opset_imports=versions, ir_version=10)


class Trees:
    """The lists of nodes and votes of an ensemble that grows; `kind` is class or target."""

    def __init__(self, kind: str = "class") -> None:
        self.kind = kind
        self.nodes: dict[str, list[Any]] = {
            name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")
        }
        self.votes: dict[str, list[Any]] = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}

    def node(
        self, tree: int, id: int, mode: str = "LEAF", column: int = 0, value: float = 0.0, yes: int = 0, no: int = 0
    ) -> None:
        for name, given in zip(self.nodes, (tree, id, column, float(value), mode, yes, no), strict=True):
            self.nodes[name].append(given)

    def vote(self, tree: int, id: int, target: int, weight: float) -> None:
        for name, given in zip(self.votes, (tree, id, target, float(weight)), strict=True):
            self.votes[name].append(given)

    @property
    def attributes(self) -> dict[str, Any]:
        nodes = {f"nodes_{name}": own for name, own in self.nodes.items()}
        return nodes | {f"{self.kind}_{name}": own for name, own in self.votes.items()}


def grown(
    rng: np.random.Generator, trees: int, columns: int, votes: Any, kind: str = "class", modes: Sequence[str] = MODES
) -> Trees:
    """Random trees of depth at most 3; votes(rng, tree) gives the pairs of target and weight of a leaf."""
    made = Trees(kind)
    for tree in range(trees):
        open_, last = [(0, 0)], 0
        while open_:
            id, depth = open_.pop(0)
            if depth == 3 or rng.random() < 0.2:
                made.node(tree, id)
                for target, weight in votes(rng, tree):
                    made.vote(tree, id, target, weight)
                continue
            made.node(
                tree, id, str(rng.choice(modes)), int(rng.integers(columns)), rng.choice(CUTS), last + 1, last + 2
            )
            open_ += [(last + 1, depth + 1), (last + 2, depth + 1)]
            last += 2
    return made


def rows_at(cuts: Sequence[float], columns: int, n: int, rng: np.random.Generator, dtype: Any = np.float32) -> Any:
    """Rows of numbers at the cuts, beside them, missing and infinite."""
    own = np.asarray(cuts, dtype)
    near = [own, np.nextafter(own, dtype(np.inf)), np.nextafter(own, dtype(-np.inf)), [np.nan, np.inf, -np.inf, 0.05]]
    return rng.choice(np.concatenate(near).astype(dtype), size=(n, columns))


def run(made: ModelProto, rows: Any) -> list[Any]:
    """What onnxruntime gives for a tensor of rows."""
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, {session.get_inputs()[0].name: rows}))


def of_version_5(made: Trees) -> dict[str, Any]:
    """The same trees in the lists of TreeEnsemble, with LOGISTIC of their one target."""
    nodes, votes = made.nodes, made.votes
    leaf = {key: i for i, key in enumerate(zip(votes["treeids"], votes["nodeids"], strict=True))}
    keys = list(zip(nodes["treeids"], nodes["nodeids"], strict=True))
    # a tree of one leaf is a split that leads to it on both sides
    split = {key: i for i, key in enumerate(key for key in keys if key not in leaf or key[1] == 0)}
    names = ("featureids", "truenodeids", "trueleafs", "falsenodeids", "falseleafs")
    found: dict[str, list[Any]] = {name: [] for name in names}
    modes, values, roots = [], [], []
    for place, key in enumerate(keys):
        if key in split:
            found["featureids"].append(nodes["featureids"][place])
            modes.append(0 if key in leaf else MODES.index(nodes["modes"][place]))
            values.append(nodes["values"][place])
            for side in ("true", "false"):
                to = key if key in leaf else (key[0], nodes[f"{side}nodeids"][place])
                found[f"{side}leafs"].append(int(to in leaf))
                found[f"{side}nodeids"].append(leaf[to] if to in leaf else split[to])
            if key[1] == 0:
                roots.append(split[key])
    tensor = numpy_helper.from_array
    return {f"nodes_{name}": own for name, own in found.items()} | {
        "nodes_modes": tensor(np.array(modes, np.uint8)),
        "nodes_splits": tensor(np.array(values, np.float32)),
        "tree_roots": roots,
        "leaf_targetids": votes["ids"],
        "leaf_weights": tensor(np.array(votes["weights"], np.float32)),
        "n_targets": 1,
        "post_transform": 2,
    }
