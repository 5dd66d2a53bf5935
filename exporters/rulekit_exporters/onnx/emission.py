"""RuleGraph -> ONNX model: plan the inputs, build each formulation, take that of fewest operators, check, load and run.

The formulations of a whole graph:

* operators: the literal block, matrix products, slots, fixed-order circuits of `operators.nodes`;
* a table over the cells of the columns, where more than Boolean logic decides or is reported: the mixed-radix index of
  a row, and what stands there;
* the whole graph as one tree operator (`trees`), only on request, because not every runtime has it.

Fewer operators are less time on the models of all learners and seven tables, since a call costs more than a row.

Of a table m thresholds of a column give m + 1 levels and missing, the memberships of a category as many as tell its
levels apart. The label and the probabilities of every combination are computed here, by the graph's own evaluator; so
the decision is the same by construction, and the probability is the same float32 everywhere. Most models of `rules`,
`cnll` and `noisy-or` need it, and `additive` on few columns: as operators one row takes 1.2 to 5.5 times as long.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, get_args

import numpy as np

from rulekit.arrays import Array
from rulekit.cells.axis import cells_of
from rulekit.cells.space import product
from rulekit.cells.words import WordsApart, taken_apart
from rulekit.errors import RulekitError, Unsupported
from rulekit.graph.check import check
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.leaves import by_code, readers
from rulekit.graph.nodes import Above, Family, Linear, LinearThreshold, Node, Probability, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import Rule, rules_of
from rulekit.schema import Feature
from rulekit.tables.table import Table, encoded_dtype
from rulekit.targets import Artifact
from rulekit_exporters.onnx import InputForm, OnnxOptions, Optimize
from rulekit_exporters.onnx import conditions as cond
from rulekit_exporters.onnx import metadata as meta
from rulekit_exporters.onnx.builder import Contents, Port, Truth, serialize
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan, plan_inputs, plan_of_form
from rulekit_exporters.onnx.operators.emitter import Emitter
from rulekit_exporters.onnx.operators.nodes import LOGIC, NUMBERS, emit_outputs
from rulekit_exporters.onnx.running import run_apart, runtime_session
from rulekit_exporters.onnx.trees import decision_tree, emit_tree
from rulekit_exporters.onnx.word_ids import takes_ids

MAX_SHOWN = 20
MOST_OF_SUM = 4  # times the size of a sum that a table in its place may have
MOST_BYTES = 250_000  # of a table
MOST_CELLS = 1 << 16


# The tensors of the label, as the model gives it, and of the probabilities.
Emit = Callable[[Emitter], tuple[str, str]]


def emit_model(graph: RuleGraph, parsed: OnnxOptions) -> Artifact:
    """The graph as an ONNX model, checked, loaded and run before it is returned.

    Raises Unsupported for what the target cannot express, GraphError for a graph that breaks the rules of composition.
    """
    check(graph)
    apart, words = taken_apart(graph)
    export = Export(apart, parsed, graph)
    model, cheapest = export.cheapest()
    artifact = serialize(model)
    check_artifact(artifact, apart, words)
    plan, names = export.plan, export.names
    summary = f"opset {parsed.opset}, input {plan.form}: {_listed(plan.names)}, outputs {_listed([*names.values()])}"
    if cheapest == "tree":
        summary += f", a tree of {export.leaves} leaves"
    warnings = warnings_of(apart, plan, names)
    if export.no_tree:
        why = f"this model cannot be one tree operator, because {export.no_tree}"
        warnings += (f"optimize=latency: {why}; it is the portable graph of least time for one row",)
    return Artifact({"": artifact}, graph.digest, warnings, summary)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:MAX_SHOWN]) + (", ..." if len(names) > MAX_SHOWN else "")


class Export:
    """A graph under some options: the plan of its inputs, by role the names of its outputs, and what could be written.

    carried: the model that the metadata hold, of which `graph` is the form without texts. formulations: by name; where
    a tree was asked for, no_tree says why there is none, leaves how many it has.
    """

    def __init__(self, graph: RuleGraph, options: OnnxOptions, carried: RuleGraph) -> None:
        self.graph, self.options, self.carried = graph, options, carried
        self.plan = plan_inputs(graph, options.input, taken_apart(carried)[1], options.frame)
        self.names = meta.public_outputs(self.plan.names, meta.roles_of(graph, self.plan.frame, options.fired))
        self.no_tree, self.leaves = "", 0
        self.formulations: dict[str, Emit] = {"operators": lambda emitter: _labelled(emitter, *emit_outputs(emitter))}
        below = topological([*graph.decision.roots, *graph.reported])
        if not all(cond.is_logical(node) for node in below):
            with suppress(cond.NotOfBitsError):
                table = cell_table(graph)
                self.formulations["table"] = lambda emitter: _labelled(emitter, *emit_table(emitter, table))
        if options.optimize == "latency":
            self._add_tree()

    def _add_tree(self) -> None:
        try:
            if self.options.fired:
                raise cond.NotOfBitsError("the output of fired rules needs the operators of all rules")
            tree = decision_tree(self.graph, self.plan)
            self.leaves = tree.leaves
            self.formulations["tree"] = lambda emitter: emit_tree(emitter, tree)
        except cond.NotOfBitsError as error:
            self.no_tree = str(error)

    def cheapest(self) -> tuple[Any, str]:
        """The ModelProto that is written, and the name of its formulation: that of fewest operators.

        A table that would be as fast as the sum that it is a table of must not be far larger; and where no latency is
        asked for a model is also sent, loaded and held in the cache.
        """
        models = {name: self.model(emit) for name, emit in self.formulations.items()}
        root = self.graph.decision.roots[0]
        score = root.score if isinstance(root, Above) else root
        most: float = MOST_BYTES if self.options.optimize == "throughput" else math.inf
        if len(self.graph.decision.roots) == 1 and isinstance(score, Linear | LinearThreshold):
            most = min(most, MOST_OF_SUM * models["operators"].ByteSize())
        if "table" in models and models["table"].ByteSize() > most:
            del models["table"]
        name = min(models, key=lambda name: len(models[name].graph.node))
        return models[name], name

    def model(self, emit: Emit) -> Any:
        """The ModelProto of one formulation."""
        graph, plan, names = self.graph, self.plan, self.names
        emitter = Emitter(graph, plan, {**LOGIC, **NUMBERS}, names.values())
        label, probabilities = emit(emitter)
        ports = [
            Port(name, *kind) for name, kind in zip(names.values(), meta.kinds_of_outputs(graph, names), strict=True)
        ]
        tensors = [label, probabilities]
        if plan.frame:
            places = (emitter.constant(k, np.int64) for k in range(len(graph.classes)))
            tensors[1:] = [emitter.operate("Gather", probabilities, place, axis=1) for place in places]
        metadata = meta.describe(self.carried, plan, self.options, names)
        if self.options.fired:
            tensors.append(emit_fired(emitter))
        outputs = list(zip(tensors, ports, strict=True))
        try:
            return emitter.model(emitter.ports(), outputs, self.options.opset, metadata, meta.PRODUCER)
        except (UnicodeError, ValueError) as error:
            raise Unsupported("a name that is no valid Unicode", "onnx", "rename the column or level") from error


def is_written(contents: Contents, graph: RuleGraph, carried: RuleGraph) -> bool:
    """Whether operators, constants, inputs and outputs are those that this exporter writes for a graph.

    carried: the model of which `graph` is the form without texts.
    """
    forms: tuple[InputForm, ...] = ("tensor",) if contents.inputs[0].name == TENSOR_NAME else ("columns", "codes")
    if any(map(takes_ids, contents.inputs)):
        forms = ("ids",)
    found = replace(contents, metadata={}, producer="").model()
    frame = meta.is_by_class(contents.outputs)
    fired = len(contents.outputs) > 2 and not frame
    for form, optimize in itertools.product(forms, get_args(Optimize)):
        with suppress(RulekitError):
            options = OnnxOptions(form, contents.opset, fired, False, optimize, frame)
            model = Export(graph, options, carried).cheapest()[0]
            model.ClearField("metadata_props")
            model.producer_name = ""
            if model == found:
                return True
    return False


def warnings_of(graph: RuleGraph, plan: InputPlan, names: dict[str, str]) -> tuple[str, ...]:
    """What a user of the model should know."""
    renamed = plan.renamed.items()
    warnings = [f"column {column!r} is the input {name!r}: ONNX allows no such name" for column, name in renamed]
    for role, name in names.items():
        if role != name:
            warnings.append(f"the output {role} is called {name!r}: a column has that name")
    for feature in (graph.schema[column] for column in plan.columns if plan.form == "columns"):
        if feature.kind != "categorical":
            continue
        if feature.unseen == "error":
            warnings.append(f"column {feature.name!r}: a level never seen is no error in ONNX, it is taken as unseen")
        hidden = [level for level in feature.levels if level == "" or level in feature.missing_tokens]
        if hidden:
            warnings.append(f"column {feature.name!r}: the level {hidden[0]!r} is read as missing in a string input")
    for column, numbers in meta.missing_numbers(graph).items():
        listed = ", ".join(f"{number:g}" for number in numbers)
        warnings.append(
            f"column {column!r}: {listed} means missing; ONNX takes it for a number, so feed NaN in its place"
        )
    return tuple(warnings)


def emit_fired(emitter: Emitter) -> str:
    """The tensor [N, rules] bool of the rules that fired."""
    rules = rules_of(emitter.graph)
    if not rules:
        rows = emitter.operate("Transpose", emitter.fill(False), perm=[1, 0])
        nothing = emitter.constant([], np.int64)
        return emitter.operate("Gather", rows, nothing, axis=1)
    values = [truth_of(emitter, rule) for rule in rules]
    stacked = emitter.operate("Concat", *map(emitter.row, values), axis=0)
    return emitter.operate("Transpose", stacked, perm=[1, 0])


def truth_of(emitter: Emitter, rule: Rule) -> Truth:
    """A Boolean rule where it is true, a random one where its probability is above 1/2, a number where it is not 0."""
    if rule.nested:
        return emitter.above(emitter.number(Probability(rule.node)), 0.5)
    if rule.node.family is Family.BOOLEAN:
        return emitter.truth(rule.node)
    number = emitter.number(rule.node)
    if not isinstance(number, str):
        return number != 0.0
    return emitter.operate("Not", emitter.operate("Equal", number, emitter.double(0.0)))


def check_artifact(artifact: bytes, graph: RuleGraph, words: WordsApart | None = None) -> None:
    """Run no row, one row and 33 rows; raises RulekitError where a decision is not that of the graph.

    words: the columns of words of the graph, where it is the form of a model over texts.
    """
    session = runtime_session(artifact)
    for n_rows in (0, 1, 33):
        table = sample(graph, n_rows)
        labels = run_apart(artifact, graph, words, table, session).labels
        if not np.array_equal(labels, decide(graph, table)):
            raise RulekitError("the exported model decides otherwise than the graph", where="onnx", fix="report this")


def sample(graph: RuleGraph, n_rows: int) -> Table:
    """Rows that step through the cells of every used column, each at its own pace; the first are all missing."""
    found = readers(graph.roots)
    features = [graph.schema[name] for name in plan_of_form(graph, "columns").columns]
    cells = [cells_of(feature, found.get(feature.name, ())).encoded()[::-1] for feature in features]
    arrays = [values[np.arange(n_rows) * (j + 1) % len(values)] for j, values in enumerate(cells)]
    return Table(tuple(features), tuple(arrays), n_rows)


def _labelled(emitter: Emitter, index: str, probabilities: str) -> tuple[str, str]:
    """Labels for class indices: the integers themselves, or a lookup."""
    found = meta.integer_labels(emitter.graph.classes)
    if found == list(range(len(emitter.graph.classes))):
        return index, probabilities
    labels = np.array(meta.label_texts(emitter.graph), dtype=object) if found is None else np.array(found)
    return emitter.operate("Gather", emitter.constant(labels), index, axis=0), probabilities


# A table over the cells of the columns -----------------------------------------------------------------------------


@dataclass(slots=True)
class Digit:
    """One column's part of the index: how many of the cuts are passed, or the entry of the code of a category.

    values: an encoded value of each of its cells, in order of the intervals, missing the last where `like` is None;
    else the interval with which missing shares a cell: 0 the lowest, -1 the highest.
    """

    feature: Feature
    values: list[float]
    cuts: Sequence[float] = ()
    codes: tuple[int, ...] = ()
    like: int | None = None

    @property
    def size(self) -> int:
        return max(self.codes) + 1 if self.codes else len(self.cuts) + 1 + (self.like is None)

    def order(self, answers: Array, place: int) -> Sequence[int]:
        """In which order the cells stand; missing is joined with an end whose answers it has."""
        if self.like is None and not self.codes:
            missing, low, high = (answers.take(i, place) for i in (len(self.cuts) + 1, 0, len(self.cuts)))
            self.like = 0 if np.array_equal(low, missing) else -1 if np.array_equal(high, missing) else None
        return range(self.size)[:: -1 if self.like == -1 else 1]

    def conditions(self) -> dict[cond.Bit, int]:
        """What is counted, and how often; x <= t is false for missing, so that with it is counted from the top."""
        name, wide = self.feature.name, cond.is_wide(self.feature)
        if self.like == -1:
            return {cond.StrictCondition(name, "<", cond.next_above(cut, wide)): 1 for cut in self.cuts}
        found: dict[cond.Bit, int] = {cond.StrictCondition(name, ">", cut): 1 for cut in self.cuts}
        if self.like is None and not self.codes:
            found[cond.StrictCondition(name, "missing")] = len(self.cuts) + 1
        return found


@dataclass(frozen=True, slots=True)
class CellTable:
    """labels [cells] and float32 probabilities [cells, K]; the first digit has the largest stride."""

    digits: tuple[Digit, ...]
    labels: Array
    probabilities: Array


def cell_table(graph: RuleGraph) -> CellTable:
    """The table of a graph; raises NotOfBitsError where it has none or more than MOST_CELLS cells."""
    cond.reads(graph)
    found = [_digit(graph.schema[name], leaves) for name, leaves in readers(graph.roots).items()]
    digits = [digit for digit in found if len(digit.values) > 1]
    sizes = [len(digit.values) for digit in digits]
    if not sizes or math.prod(sizes) > MOST_CELLS:
        raise cond.NotOfBitsError(f"it has {math.prod(sizes)} cells")
    told_apart = [digit.feature for digit in digits]
    unread = [graph.schema[name] for name in graph.used_features if graph.schema[name] not in told_apart]
    features = [*told_apart, *unread]
    values = [*(digit.values for digit in digits), *([0.0] for _ in unread)]
    table = product(features, [np.array(v, dtype=encoded_dtype(f)) for f, v in zip(features, values, strict=True)])
    chances = probabilities(graph, table).astype(np.float32)
    answers = np.column_stack([decide(graph, table), chances]).reshape(*sizes, -1)
    for place, digit in enumerate(digits):
        answers = answers.take(digit.order(answers, place), place)
    answers = answers.reshape(-1, answers.shape[-1])
    if len(answers) == 1:
        raise cond.NotOfBitsError("it is constant")
    return CellTable(tuple(digits), answers[:, 0].astype(np.int64), answers[:, 1:].astype(np.float32))


def _digit(feature: Feature, leaves: Sequence[Node]) -> Digit:
    if feature.kind == "categorical":
        patterns: dict[tuple[float, ...], tuple[int, int]] = {}
        codes = []
        for code, pattern in enumerate(zip(*(by_code(leaf, feature).tolist() for leaf in leaves), strict=True)):
            codes.append(patterns.setdefault(pattern, (len(patterns), code))[0])
        return Digit(feature, [float(code) for _, code in patterns.values()], codes=tuple(codes))
    cells = cells_of(feature, leaves)
    cuts = [0.5] if feature.kind == "boolean" else cells.cuts
    values = [value for value in cells.encoded().tolist() if math.isfinite(value)]
    values += [math.inf] * (len(cuts) + 1 - len(values))  # above the largest number of its width
    readings = [cells.reading(leaf) for leaf in leaves]
    for place, like in ((0, 0), (len(cuts), -1)):  # missing is as the lowest or highest values are
        if all(reading[-1] == reading[place] for reading in readings):
            return Digit(feature, values, cuts, like=like)
    return Digit(feature, [*values, math.nan], cuts)


def emit_table(emitter: Emitter, table: CellTable) -> tuple[str, str]:
    """The tensors of the class index [N] int64 and of the probabilities [N, K] float."""
    index = emitter.cast(_index(emitter, table), np.int64)
    chances = emitter.operate("Gather", emitter.constant(table.probabilities), index, axis=0)
    if meta.is_largest(table.labels, table.probabilities):
        return emitter.operate("ArgMax", chances, axis=1, keepdims=0), chances
    return emitter.operate("Gather", emitter.constant(table.labels, np.int64), index, axis=0), chances


def _index(emitter: Emitter, table: CellTable) -> str:
    """[N] float: sums of whole numbers below 2^24, exact in any order."""
    steps: dict[cond.Bit, int] = {}
    looked_up: list[str] = []
    stride = len(table.labels)
    for digit in table.digits:
        stride //= digit.size
        steps |= {condition: count * stride for condition, count in digit.conditions().items()}
        if digit.codes:
            entries = [float(code * stride) for code in digit.codes]
            looked_up.append(emitter.looked_up(digit.feature.name, [entries], np.float32))
    parts, weights = [], []
    if steps:
        bits, order = emitter.literals(list(steps))
        weights += [steps[condition] for condition in order]
        parts.append(emitter.cast(bits, np.float32))
    parts += looked_up
    weights += [1] * len(looked_up)
    rows = emitter.joined(parts)
    return emitter.operate("MatMul", emitter.constant(weights, np.float32), rows)
