"""Running an exported model on rows of any form, with onnxruntime or the specification's evaluator.

A model whose operators may do anything runs in a bounded process: arrays travel as plain bytes and JSON texts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto

from rulekit.arrays import Array
from rulekit.cells.axis import texts_of_codes
from rulekit.cells.words import WordsApart, taken_apart
from rulekit.errors import FormatError, InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table, encoded_dtype
from rulekit.targets import Answer, Columns, Outcome, answers
from rulekit.verification.isolated import answer_of
from rulekit_exporters.onnx import InputForm
from rulekit_exporters.onnx.builder import Port, port_of
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan, plan_of_form
from rulekit_exporters.onnx.metadata import integer_labels, is_by_class, label_texts, model_of, properties_of
from rulekit_exporters.onnx.word_ids import disturbed, ids_of_columns

CHUNK = 8192
ANYTHING = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, -1.5)  # of an unused column of numbers
ANY_TRUTH = (np.nan, 0.0, 1.0)  # of an unused one of truth values: a proof takes them for these, as `predict` does
CODES_BEYOND = (np.iinfo(np.int64).max, np.iinfo(np.int64).min)

# feeds -> outputs in the order of `roles_of`
Session = Callable[[dict[str, Array]], list[Array]]
SessionOf = Callable[[bytes], Session]


def runtime_session(artifact: bytes) -> Session:
    """A session of one thread that keeps to the processor's own provider."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.log_severity_level = 4  # what goes wrong is raised, and said once
    try:
        session = onnxruntime.InferenceSession(artifact, settings, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's errors have no common type
        properties_of(artifact)  # says so where this is no ONNX file at all
        raise InputError(
            f"onnxruntime refuses the model: {_reason(error)}", fix="try a lower opset or export it again"
        ) from error

    def run(feeds: dict[str, Array]) -> list[Array]:
        try:
            return list(session.run(None, feeds))
        except Exception as error:
            raise InputError(f"onnxruntime cannot run the model: {_reason(error)}", fix="export it again") from error

    return run


def _reason(error: Exception) -> str:
    """What the runtime says, without its own source lines."""
    return str(error).strip().rpartition(") ")[2].partition("\n")[0]


def reference_session(artifact: bytes) -> Session:
    """The evaluator that comes with the ONNX specification."""
    from onnx.reference import ReferenceEvaluator

    evaluator = ReferenceEvaluator(artifact)
    return lambda feeds: list(evaluator.run(None, feeds))


def run_runtime(artifact: bytes, graph: RuleGraph, table: Table, session_of: SessionOf = runtime_session) -> Outcome:
    """By onnxruntime on one thread; raises InputError where it refuses the model."""
    session = session_of(artifact)
    graph, words = taken_apart(graph)
    return run_apart(artifact, graph, words, table if words is None else words.table(table), session)


def run_apart(artifact: bytes, graph: RuleGraph, words: WordsApart | None, table: Table, session: Session) -> Outcome:
    """A model without texts, or its form over columns of words, on rows of these columns."""
    return outcome(graph, in_chunks(session, feeds_of(plan_of(artifact, graph, words), graph, table)))


def open_runtime(artifact: bytes, graph: RuleGraph) -> Callable[[Table], Outcome]:
    """What runs a model without texts on one table after the other, in one session of onnxruntime."""
    session, plan = runtime_session(artifact), plan_of(artifact, graph)
    return lambda table: outcome(graph, in_chunks(session, feeds_of(plan, graph, table)))


def run_raw(
    artifact: bytes, graph: RuleGraph, columns: Mapping[str, Array], session_of: SessionOf = runtime_session
) -> Outcome:
    """By onnxruntime on values as a user holds them: doubles cast to the declared type, texts as they are."""
    apart, words = taken_apart(graph)
    if words is not None:
        columns = words.raw(columns)
    feeds = raw_feeds(plan_of(artifact, apart, words), apart, columns)
    return outcome(graph, in_chunks(session_of(artifact), feeds))


def run_reference(artifact: bytes, graph: RuleGraph, table: Table) -> Outcome:
    """By onnx.reference, the specification's own evaluator."""
    return run_runtime(artifact, graph, table, reference_session)


def in_chunks(session: Session, feeds: Mapping[str, Array]) -> list[Array]:
    """The outputs of all rows, a chunk at a time; raises InputError where the inputs have unequal lengths.

    The runtime would broadcast an input of one row, and may take cells of several rows for one.
    """
    chunks = []
    lengths = {name: len(array) for name, array in feeds.items()}
    n_rows = max(lengths.values(), default=0)
    for name, length in lengths.items():
        if length != n_rows:
            raise InputError(f"{length} rows, but {n_rows} in another input", where=f"input {name!r}")
    for start in range(0, max(n_rows, 1), CHUNK):
        few = n_rows <= CHUNK
        fed = dict(feeds) if few else {name: array[start : start + CHUNK] for name, array in feeds.items()}
        outputs = session(fed)
        if len(outputs) < 2 or any(np.shape(output)[:1] != (min(CHUNK, n_rows - start),) for output in outputs):
            raise FormatError("the outputs of this ONNX file are not a label and probabilities for each row")
        if few:
            return outputs
        chunks.append(outputs)
    return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]


def plan_of(artifact: bytes, graph: RuleGraph, words: WordsApart | None = None) -> InputPlan:
    """The inputs that a model declares, as a plan; raises FormatError where they are not those of the graph.

    words: the columns of words of the graph, where it is the form of a model over texts.
    """
    declared = model_of(artifact).graph
    inputs, outputs = ([port_of(port) for port in side] for side in (declared.input, declared.output))
    names = {port.name for port in inputs}
    form: Any = properties_of(artifact).get("rulekit.input") or _declared_form(inputs, graph)
    if form == "tensor" and names == {TENSOR_NAME} and inputs[0].shape[1:] == (len(graph.schema),):
        return plan_of_form(graph, "tensor", inputs[0].element == TensorProto.DOUBLE)
    strange = ""
    if form in ("columns", "codes", "ids") and (form != "ids" or words is not None):
        plan = replace(plan_of_form(graph, form, words=words), frame=is_by_class(outputs))
        differing = sorted(names - set(plan.names)) or sorted(set(plan.names) - names)
        if not differing:
            return plan
        strange = f": {differing[0]!r}"
    raise FormatError(f"the inputs of this ONNX file are not those of the model{strange}", fix="export it again")


def _declared_form(ports: Sequence[Port], graph: RuleGraph) -> InputForm:
    """The form of inputs where a tool has dropped the metadata; ids of words are not told from codes."""
    if [port.name for port in ports] == [TENSOR_NAME] and TENSOR_NAME not in graph.used_features:
        return "tensor"
    return "codes" if any(port.element == TensorProto.INT64 for port in ports) else "columns"


def _fed(
    plan: InputPlan, schema: Schema, cells: Callable[[Feature], Array], words: Callable[[Sequence[str]], Array]
) -> dict[str, Array]:
    """The inputs of a plan: cells gives those [n] of a column, words the ids of a text with these columns of words."""
    with np.errstate(over="ignore"):  # an unused wide column in a float tensor
        if plan.form == "tensor":
            columns = [cells(feature) for feature in schema]
            return {TENSOR_NAME: np.column_stack(columns).astype(np.float64 if plan.wide else np.float32)}
        rest = plan.shape[1:]
        return {
            name: words(plan.texts[column]) if column in plan.texts else cells(schema[column]).reshape(-1, *rest)
            for column, name in zip(plan.columns, plan.names, strict=True)
        }


def feeds_of(plan: InputPlan, graph: RuleGraph, table: Table) -> dict[str, Array]:
    """The arrays that a model is fed: encoded columns, categories as text or codes; unknown columns are NaN."""
    arrays = dict(zip(table.names, table.arrays, strict=True))

    def cells(feature: Feature) -> Array:
        known, category = feature.name in arrays, feature.kind == "categorical"
        if plan.form == "tensor" and (not known or category):
            return np.full(table.n_rows, np.nan)
        if not known:
            raise InputError(f"no column {feature.name!r}", where=table.source or "table")
        array = arrays[feature.name]
        if category and not plan.coded:  # no text for missing, one that is no level for unseen
            return np.array(["", *texts_of_codes(feature)[1:]], dtype=object)[array]
        return array.astype(np.int64 if category else encoded_dtype(feature), copy=False)

    return _fed(plan, graph.schema, cells, lambda own: ids_of_columns([arrays[word] > 0.5 for word in own]))


def raw_feeds(plan: InputPlan, graph: RuleGraph, columns: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays that an application feeds: numbers cast once, no other rounding; empty text for a missing category."""
    n_rows = max(map(len, columns.values()), default=0)
    numbers, nothing = np.full(n_rows, np.nan), np.full(n_rows, None)

    def cells(feature: Feature) -> Array:
        category = feature.kind == "categorical"
        given = columns.get(feature.name, nothing if category else numbers)
        if plan.form == "tensor" and (category or feature.name not in columns):
            # the place of a column that no rule reads may hold anything of its kind
            kinds = ANY_TRUTH if feature.kind == "boolean" else ANYTHING
            return np.resize(np.roll(kinds, graph.schema.positions[feature.name]), n_rows)
        if not category:
            found = _numbers(feature, given)
            return found if plan.form == "tensor" else found.astype(encoded_dtype(feature))
        if not plan.coded:
            return np.array(["" if text is None else str.__str__(text) for text in given.tolist()], dtype=object)
        feed = encode({feature.name: given}, Schema((feature,))).arrays[0].astype(np.int64)
        unseen = np.flatnonzero(feed == UNSEEN_CODE)  # as is every code that there is not
        feed[unseen] = np.resize([UNSEEN_CODE, -1, 2 + len(feature.levels), *CODES_BEYOND], len(unseen))
        return feed

    def words(own: Sequence[str]) -> Array:
        return disturbed(ids_of_columns([columns.get(word, numbers) > 0.5 for word in own]), len(own))

    return _fed(plan, graph.schema, cells, words)


def _numbers(feature: Feature, values: Array) -> Array:
    """What an application feeds for raw numbers: NaN where they mean missing, 0 and 1 for truth values."""
    absent = np.isnan(values) | np.isin(values, feature.missing_numbers)
    return np.where(absent, np.nan, values > 0.5 if feature.kind == "boolean" else values)


def outcome(graph: RuleGraph, outputs: list[Array]) -> Outcome:
    """Class indices and probabilities from the outputs of a model; FormatError where they are something else."""
    labels, probabilities = outputs[:2]
    by_class = probabilities.ndim == 1
    if by_class and all(share.dtype.kind == "f" for share in outputs[1:]):
        probabilities = np.stack(outputs[1:], axis=1)
    if probabilities.dtype.kind != "f" or probabilities.shape != (len(labels), len(graph.classes)):
        raise FormatError(f"the second output of this ONNX file is not {len(graph.classes)} probabilities for each row")
    fired = outputs[2] if len(outputs) > 2 and not by_class else None
    return Outcome(class_indices(graph, labels), probabilities.astype(np.float64), fired)


def class_indices(graph: RuleGraph, labels: Array) -> npt.NDArray[np.int64]:
    """Class index [n] of label values; raises FormatError for a label that is no class."""
    integers = integer_labels(graph.classes)
    known: dict[Any, int] = {label: k for k, label in enumerate(label_texts(graph) if integers is None else integers)}
    try:
        return np.array([known[value] for value in labels.reshape(-1).tolist()], dtype=np.int64)
    except KeyError as error:
        raise FormatError(f"the label {error.args[0]!r} is no class of the model", where="onnx") from None


def run_encoded(artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]) -> list[Answer]:
    """What rulekit does with a table and a model: cells are encoded by the schema, then fed."""
    session = runtime_session(artifact)
    return answers(lambda table: run_runtime(artifact, graph, graph.table(table), lambda _: session).labels, tables)


def run_arrays(artifact: bytes, graph: RuleGraph, tables: Sequence[Columns]) -> list[Answer]:
    """What an application does: an input for each column, of the declared type and shape, whatever its length."""
    session, plan = runtime_session(artifact), plan_of(artifact, graph)

    def decide(table: Columns) -> Any:
        columns = {name: _array(graph.schema[name], table[name]) for name in plan.columns}
        return outcome(graph, in_chunks(session, raw_feeds(plan, graph, columns))).labels

    return answers(decide, tables)


def _array(feature: Feature, given: Sequence[Any]) -> Array:
    if feature.kind != "categorical":
        return np.array([np.nan if cell is None else cell for cell in given], dtype=np.float64)
    found = np.empty(len(given), dtype=object)
    found[:] = list(given)
    return found


def holds_encoded(feature: Feature, cell: Any) -> str:
    """What an exported model cannot say of a cell that rulekit has encoded."""
    return "ONNX has no error for an unseen level" if feature.unseen == "error" else ""


def holds_arrays(feature: Feature, cell: Any) -> str:
    """Why no application can put a cell into the declared type, or why the runtime cannot refuse it there."""
    if feature.kind == "text":
        return "the application cuts texts into words"
    if feature.kind == "categorical":
        fits = cell is None or (isinstance(cell, str) and not cell.endswith("\0"))
        return holds_encoded(feature, cell) if fits else "an input of texts holds no such cell"
    number = cell is None or isinstance(cell, bool | int | float | np.integer | np.floating | np.bool_)
    if not number or isinstance(cell, np.timedelta64):
        return "an input of numbers holds no such cell"
    if isinstance(cell, int | np.integer) and abs(int(cell)) > 2**53:
        return "the application rounds an integer beyond 2^53"
    if cell is not None and float(cell) in feature.missing_numbers:
        return "the application feeds NaN for a number that means missing"
    dated = feature.dated and cell is not None and float(cell) >= 1000_01_01
    return "the runtime takes the digits of a date for a number" if dated else ""


SECONDS = 60.0  # for one block of rows
LARGEST_ANSWER = 64 << 20

# The process finds the packages where this one does, and lets no other module in.
_WORKER = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rulekit.errors import RulekitError
from rulekit_exporters.onnx.running import answer
try:
    answer(*sys.argv[2:])
except RulekitError as error:
    sys.exit(str(error))
"""


def bounded_session(artifact: bytes) -> Session:
    """A session that runs each block of rows in a process of its own, bounded in time, memory, files and processes."""
    properties_of(artifact)  # says so where this is no ONNX file at all

    def run(feeds: dict[str, Array]) -> list[Array]:
        paths = json.dumps([path for path in sys.path if path])
        command = [sys.executable, "-I", "-c", _WORKER, paths, "model.onnx", "feeds", "answers"]
        files = {"model.onnx": artifact, "feeds": _packed(feeds)}
        found = _unpacked(answer_of(command, files, LARGEST_ANSWER, seconds=SECONDS, what="the model"))
        return [found[name] for name in sorted(found, key=int)]

    return run


run_untrusted = partial(run_runtime, session_of=bounded_session)
run_raw_untrusted = partial(run_raw, session_of=bounded_session)


def answer(model: str, feeds: str, answers: str) -> None:
    """What the process does: the outputs of a model, numbered, for the arrays of a file."""
    outputs = runtime_session(Path(model).read_bytes())(_unpacked(Path(feeds).read_bytes()))
    Path(answers).write_bytes(_packed({str(place): output for place, output in enumerate(outputs)}))


def _packed(arrays: Mapping[str, Array]) -> bytes:
    """JSON with the type, the shape and the cells of each array, which it writes exactly."""
    kinds = {name: "O" if array.dtype.kind in "OU" else array.dtype.str for name, array in arrays.items()}
    found = {name: (kinds[name], array.shape, array.reshape(-1).tolist()) for name, array in arrays.items()}
    return json.dumps(found).encode()


def _unpacked(content: bytes) -> dict[str, Array]:
    """The arrays of `_packed`; raises FormatError where these bytes are something else."""
    found: dict[str, Array] = {}
    try:
        for name, (kind, shape, cells) in json.loads(content).items():
            texts = kind == "O" and all(isinstance(cell, str) for cell in cells)
            if not texts and np.dtype(kind).kind not in "biuf":
                raise ValueError(kind)
            found[name] = np.array(cells, dtype=kind).reshape(shape)
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FormatError("the model's answer is not a label and probabilities for each row") from error
    return found
