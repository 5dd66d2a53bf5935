"""A forest that another program wrote as ONNX, as a rule graph: each tree is a sum of its leaves. Nothing is executed.

Read is one TreeEnsembleClassifier or TreeEnsembleRegressor of ai.onnx.ml, or a TreeEnsemble of version 5, and around it
what leaves numbers as they are. A leaf is the conjunction of its path, at most two conditions for each column. The
meaning is that of onnxruntime 1.32: the first node of a tree is its root; a missing number takes the branch that
`nodes_missing_value_tracks_true` says, and is unlike any number. Of two classes one sum decides: above 0, or above 0.5
where no weight is negative; of several the largest sum, the first of equal ones. One target with LOGISTIC decides at
0.5 of the probability, as ONNX defines it (onnxruntime leaves out its logistic function).

The sums are exact here and rounded to float32 there, so that decisions may differ where a sum is that close to a tie.
Weights too far apart for exact sums of doubles are rounded to 2^-50 of the largest sum, or refused where floats near
their median are finer. At most 1,000 trees of depth 32, 20,000 leaves, 10,000 columns and 1,000 classes are read.
Whatever else a file holds is refused (NoModelError).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from rulekit.errors import NoModelError
from rulekit.exactness import Span, total
from rulekit.graph.decisions import ArgMax, Fires
from rulekit.graph.nodes import Above, And, Compare, Linear, Logistic, Missing, Node, Not
from rulekit.graph.rule_graph import ClassLabel, RuleGraph
from rulekit.numbers import next_float32
from rulekit.schema import Feature, Schema
from rulekit_exporters.onnx.builder import ML_DOMAIN, port_of
from rulekit_exporters.onnx.inspection.reader import DEFAULT_DOMAIN, is_bounded
from rulekit_exporters.onnx.metadata import NO_MODEL, model_of

MOST_TREES, MOST_LEAVES, MOST_DEPTH, MOST_COLUMNS, MOST_CLASSES = 1_000, 20_000, 32, 10_000, 1_000
_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
_TRANSFORMS = (b"NONE", b"SOFTMAX", b"LOGISTIC", b"SOFTMAX_ZERO", b"PROBIT")
_FORESTS = {"TreeEnsembleClassifier": "class", "TreeEnsembleRegressor": "target", "TreeEnsemble": "leaf"}
_WIDTHS = {TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64"}
_WHOLE = (TensorProto.INT64, TensorProto.INT32)
_SMALLER = "make a smaller forest"

Said = Mapping[str, Any]
Key = Hashable
Split = tuple[int, str, float, bool, Key, Key]  # column, mode, number, whether missing is true; nodes where so, and not
Trees = tuple[list[Key], dict[Key, Split], dict[Key, list[tuple[int, float]]]]  # roots, splits, what leaves add to sums
Path = dict[int, tuple[float, float, bool]]  # by column: above, up to, and whether it may be missing


def _require(held: object, what: str, fix: str = "convert the forest alone, without steps before or after it") -> None:
    if not held:
        raise NoModelError(f"{NO_MODEL}, and {what}", fix=fix)


def read_forest(artifact: bytes, names: Sequence[str] = ()) -> RuleGraph:
    """The rule graph of a forest; names: of its columns, in order, in the place of those of the file.

    Raises NoModelError for what is no forest, or is one that is not read.
    """
    model = model_of(artifact)
    nodes = list(model.graph.node)
    places = [i for i, node in enumerate(nodes) if node.domain == ML_DOMAIN and node.op_type in _FORESTS]
    _require(places, "no forest", "rulekit reads what it exported, and tree ensembles")
    _require(len(places) == 1 and is_bounded(model), "more than one forest, or operators of another kind")
    forest, before, after = nodes[places[0]], nodes[: places[0]], nodes[places[0] + 1 :]
    own, precision = _columns(model, before, forest)
    listed = f"{len(names)} ({', '.join(names[:20])}) are given for {len(own)} ({', '.join(own[:20])})"
    _require(len(names) in (0, len(own)), f"of its columns {listed}", "leave columns out with --ignore")
    features = tuple(Feature(name, precision=precision) for name in names or own)
    label = _label(model, forest, after)
    schema = Schema(features, target=label if label not in (names or own) else f"label of {len(own)} columns")
    said = _said(forest)
    _require(len(said) == len(forest.attribute), "an attribute stands twice")
    return _graph(forest.op_type, said, schema)


def _said(node: Any) -> Said:
    return {item.name: helper.get_attribute_value(item) for item in node.attribute}


def _columns(model: Any, before: Sequence[Any], forest: Any) -> tuple[list[str], Any]:
    """The columns that the trees read, in order, and the width of the numbers that they compare."""
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    ports = [port_of(port) for port in model.graph.input if port.name not in constants]
    known: dict[str, tuple[list[str], int]] = {}
    for port in ports:
        width = port.shape[1] if len(port.shape) == 2 else 0
        numbers = port.element in (*_WIDTHS, *_WHOLE, TensorProto.BOOL)
        _require(numbers, f"its input {port.name!r} is a text or of another type", "give it numbers of 32 or 64 bits")
        sure = isinstance(width, int) and 0 < width <= MOST_COLUMNS
        _require(sure, f"its input {port.name!r} does not say that its rows have 1 to {MOST_COLUMNS} columns")
        stem = "x" if len(ports) == 1 else port.name
        known[port.name] = [port.name] if width == 1 else [f"{stem}{i}" for i in range(int(width))], port.element
    for node in before:
        said, parts = _said(node), [known[name] for name in node.input if name in known]
        names, kinds = [name for own, _ in parts for name in own], {kind for _, kind in parts} or {0}
        to = said.get("to", min(kinds))
        kept = {
            "Identity": True,
            "Cast": to in _WIDTHS and (to in kinds or min(kinds) in _WHOLE or to == TensorProto.FLOAT),
            "Concat": said.get("axis") in (1, -1),
            "Flatten": said.get("axis", 1) == 1,
            "Reshape": [numpy_helper.to_array(constants[name]).tolist() for name in node.input[1:] if name in constants]
            == [[-1, len(names)]],
        }.get(node.op_type)
        whole = len(parts) == len(node.input) - (node.op_type == "Reshape") and node.domain in DEFAULT_DOMAIN
        held = kept and whole and len(kinds) == 1 and 0 < len(names) <= MOST_COLUMNS
        _require(held, f"its operator {node.op_type} before the trees is not read")
        known[node.output[0]] = names, to
    names, element = known.get(forest.input[0], ([], 0))
    _require(element in _WIDTHS, "its trees compare no floats", "convert it with inputs of float32")
    _require(len(set(names)) == len(names), "two of its columns have one name")
    return names, _WIDTHS[element]


def _label(model: Any, forest: Any, after: Sequence[Any]) -> str:
    """The name of the output that is the label."""
    labels = {name: _FORESTS[forest.op_type] == "class" and not place for place, name in enumerate(forest.output)}
    ones = {tensor.name for tensor in model.graph.initializer if (numpy_helper.to_array(tensor) == 1).all()}
    for node in after:
        (label, *others), to = {labels.get(name) for name in {*node.input} - ones} or {None}, _said(node).get("to")
        kept = {"Identity": True, "Cast": to in (_WHOLE if label else _WIDTHS), "ZipMap": not label}
        kept |= dict.fromkeys(("Normalizer", "Mul"), not label)
        held = label is not None and not others and kept.get(node.op_type)
        _require(held, f"its operator {node.op_type} after the trees is not read")
        labels |= dict.fromkeys(node.output, label)
    _require(all(port.name in labels for port in model.graph.output), "an output does not come from its trees")
    return next((port.name for port in model.graph.output if labels[port.name]), "label")


# The trees -----------------------------------------------------------------------------------------------------------


def _numbers(said: Said, name: str, cut: float = 0.0) -> list[float]:
    """Finite numbers, given as a list or as a tensor; cut: a further one that may stand there."""
    given = said.get(name, said.get(f"{name}_as_tensor", ()))
    array = np.asarray(numpy_helper.to_array(given) if isinstance(given, TensorProto) else given, np.float64)
    _require(np.all(np.isfinite(array) | (array == cut)), f"a number of {name} is not finite")
    found: list[float] = array.ravel().tolist()
    return found


def _trees(kind: str, said: Said) -> Trees:
    columns, yes, no = (said.get(f"nodes_{name}", []) for name in ("featureids", "truenodeids", "falsenodeids"))
    if kind == "TreeEnsemble":  # splits (0) and leaves (1) stand in lists of their own
        values, targets = _numbers(said, "nodes_splits", math.inf), said["leaf_targetids"]
        modes = [(*_MODES, "BRANCH_MEMBER")[min(int(mode), len(_MODES))] for mode in _numbers(said, "nodes_modes")]
        keys, owners = [(0, i) for i in range(len(columns))], [(1, i) for i in range(len(targets))]
        ends, roots = owners, [(0, root) for root in said["tree_roots"]]
        yes, no = ([*zip(said[f"nodes_{side}leafs"], own, strict=True)] for side, own in (("true", yes), ("false", no)))
    else:
        part, trees, values = _FORESTS[kind], said["nodes_treeids"], _numbers(said, "nodes_values", math.inf)
        modes, targets = [mode.decode("utf-8", "replace") for mode in said["nodes_modes"]], said[f"{part}_ids"]
        keys = ends = [*zip(trees, said["nodes_nodeids"], strict=True)]
        owners = [*zip(said[f"{part}_treeids"], said[f"{part}_nodeids"], strict=True)]
        roots = [key for i, key in enumerate(keys) if not i or trees[i] != trees[i - 1]]
        yes, no = ([*zip(trees, own, strict=True)] for own in (yes, no))
        _require(len(roots) == len(set(trees)), "the nodes of a tree do not stand together")
    weights = _numbers(said, f"{_FORESTS[kind]}_weights")
    missing = said.get("nodes_missing_value_tracks_true") or [0] * len(keys)
    lengths = {*map(len, (columns, values, modes, missing, keys))}, {*map(len, (targets, weights, owners))}
    _require(all(len(own) == 1 for own in lengths), "its lists are not of one length")
    _require(0 < len(roots) <= MOST_TREES, f"{len(roots)} trees, where 1 to {MOST_TREES} are read", _SMALLER)
    _require(max(len(keys) // 2, len(owners)) <= MOST_LEAVES, f"more than {MOST_LEAVES} leaves", _SMALLER)
    _require(len(set(keys)) == len(keys), "two nodes have one id")
    lines = zip(keys, columns, modes, values, (track == 1 for track in missing), yes, no, strict=True)
    splits: dict[Key, Split] = {key: tuple(split) for key, *split in lines if split[1] != "LEAF"}
    alone = {root: splits.pop(root)[4] for root in roots if root in splits and splits[root][4] == splits[root][5]}
    starts: list[Key] = [
        alone.get(root, root) for root in roots
    ]  # trees of one leaf are a split that leads to it twice
    votes: dict[Key, list[tuple[int, float]]] = {}
    for owner, target, weight in zip(owners, targets, weights, strict=True):
        votes.setdefault(owner, []).append((target, weight))
    reached = Counter([*starts, *(key for split in splits.values() for key in split[4:])])
    _require(set(reached) <= {*splits, *ends}, "a branch leads to a node that there is not")
    _require(set(votes) <= set(reached) and max(reached.values()) == 1, "a node is reached twice, or never")
    return starts, splits, votes


def _sides(split: Split, precision: str) -> Iterator[tuple[Key, list[tuple[float, float]], bool]]:
    """By branch the pieces of numbers that follow it, above one and up to another, and whether a missing one does."""
    _, mode, value, tracks, yes, no = split
    _require(mode in _MODES, f"the branch {mode} is not read")
    before = -next_float32(-value) if precision == "float32" else math.nextafter(value, -math.inf)
    _require(math.isfinite(before), f"the threshold {value!r} is out of range")
    cut = value if mode in ("BRANCH_LEQ", "BRANCH_GT") else before
    low, high = [(-math.inf, cut)], [(cut, math.inf)]
    if mode in ("BRANCH_EQ", "BRANCH_NEQ"):
        low, high = [(before, value)], [(-math.inf, before), (value, math.inf)]
    if mode in ("BRANCH_GT", "BRANCH_GTE", "BRANCH_NEQ"):
        low, high = high, low
    missing = tracks or mode == "BRANCH_NEQ"
    yield from ((yes, low, missing), (no, high, not missing))


def _leaves(trees: Trees, root: Key, precision: str) -> Iterator[tuple[Key, Path]]:
    """The leaves of a tree with their paths, of which a row has exactly one; a leaf behind `!=` comes twice."""
    stack: list[tuple[Key, Path, int]] = [(root, {}, 0)]
    while stack:
        key, path, depth = stack.pop()
        if key not in trees[1]:
            yield key, path
            continue
        _require(depth < MOST_DEPTH, f"a tree is deeper than {MOST_DEPTH}", _SMALLER)
        split = trees[1][key]
        low, high, there = path.get(split[0], (-math.inf, math.inf, True))
        for side, pieces, missing in [*_sides(split, precision)][::-1]:
            for piece, (a, b) in enumerate(pieces):
                least, most, may = max(low, a), min(high, b), missing and there and not piece
                if least < most or may:
                    stack.append((side, {**path, split[0]: (least, most, may)}, depth + 1))


def _holds(path: Path, schema: Schema) -> Node:
    found: list[Node] = []
    for column, (low, high, missing) in path.items():
        _require(0 <= column < len(schema.names), f"a branch reads the column {column}, which there is not")
        name = schema.names[column]
        found += [Compare(name, ">", low, missing)] if -math.inf < low < high else []
        found += [Compare(name, "<=", high, missing)] if low < high < math.inf else []
        found += [Missing(name)] if low >= high else []
        found += [Not(Missing(name))] if -low == high == math.inf and not missing else []
    return found[0] if len(found) == 1 else And(found)


# The graph -----------------------------------------------------------------------------------------------------------


def _graph(kind: str, said: Said, schema: Schema) -> RuleGraph:
    trees, is_class = _trees(kind, said), kind == "TreeEnsembleClassifier"
    texts = [text.decode("utf-8", "replace") for text in said.get("classlabels_strings", ())]
    classes: tuple[ClassLabel, ...] = tuple(texts or said.get("classlabels_int64s", ())) if is_class else (0, 1)
    transform = said.get("post_transform", b"NONE")
    logistic = (transform if isinstance(transform, bytes) else _TRANSFORMS[transform]) == b"LOGISTIC"
    added = said.get("aggregate_function", 1) in (1, b"SUM")
    decides = is_class or (said.get("n_targets") == 1 and logistic and added)
    _require(decides, "its trees predict a number", "a forest that decides has classes, or LOGISTIC of one sum")
    _require(2 <= len(set(classes)) == len(classes) <= MOST_CLASSES, f"its classes are not 2 to {MOST_CLASSES} names")
    binary, base = len(classes) == 2, _numbers(said, "base_values")
    targets = {target for votes in trees[2].values() for target, _ in votes}
    both = "its two classes have a weight each, by the larger of which runtimes do not decide"
    _require(not binary or len(targets) == 1, both, "write one weight for each leaf, as converters do")
    _require(targets <= {*range(len(classes) if is_class else 1)}, "a weight is of a class that there is not")
    count = 1 if binary else len(classes)
    fits = len(base) in (0, count) and not (binary and base and 1 in targets)
    _require(fits, f"its {len(base)} base_values are not read", "give one for each sum")
    terms: list[list[tuple[float, Node]]] = [[] for _ in range(count)]
    always = {*range(len(classes))} if base or binary else set()  # the classes that have a score on each row
    for root in trees[0]:
        shared = {*range(len(classes))}
        for key, path in _leaves(trees, root, schema.features[0].precision):
            votes, leaf = trees[2].get(key, []), _holds(path, schema)
            shared &= {target for target, _ in votes}
            for target, weight in votes:
                terms[0 if binary else target].append((weight, leaf))
            _require(sum(map(len, terms)) <= MOST_LEAVES, f"more than {MOST_LEAVES} leaves", _SMALLER)
        always |= shared
    _require(len(always) == len(classes), "a class has weights on some leaves only", "write a weight of 0 there")
    sums = [_on_grid(own, bias) for own, bias in zip(terms, base or [0.0] * count, strict=True)]
    if not binary:
        return RuleGraph(schema, classes, ArgMax(tuple(sums), (-math.inf,) * count, tuple(range(count))))
    negative = not is_class or any(weight < 0 for votes in trees[2].values() for _, weight in votes)
    decision = Fires(Above(sums[0], 0.0 if negative else 0.5))
    return RuleGraph(schema, classes, decision, (Logistic(sums[0]),) if logistic else ())


def _on_grid(terms: Sequence[tuple[float, Node]], bias: float) -> Linear:
    sizes = total(Span.of(weight) for weight in (bias, 0.5, *(weight for weight, _ in terms)))
    _require(sizes.size < 2**120, "its weights are too large for floats", _SMALLER)
    if (sizes + sizes).fits():
        return Linear(terms, bias)
    unit = math.ldexp(1.0, math.ceil(math.log2(sizes.size)) - 50)
    usual = np.median([abs(weight) for weight, _ in terms if weight] or [0.0])
    _require(unit <= usual * 2**-24, "its weights are too far apart to be added exactly", _SMALLER)
    return Linear([(round(weight / unit) * unit, leaf) for weight, leaf in terms], round(bias / unit) * unit)
