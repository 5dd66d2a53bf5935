"""Running an exported model on rows of any form, with onnxruntime or the specification's evaluator.

A model whose operators may do anything runs in a bounded process: arrays travel as plain bytes and JSON texts.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
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
from rulekit.dates import is_dated
from rulekit.errors import FormatError, InputError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import UNSEEN_CODE, Feature, Schema
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.table import Table, encoded_dtype
from rulekit.targets import Answer, Columns, Outcome, answers
from rulekit.verification.isolated import read_answer, run_bounded
from rulekit_exporters.onnx.builder import Port, port_of
from rulekit_exporters.onnx.inputs import TENSOR_NAME, InputPlan, plan_of_form
from rulekit_exporters.onnx.metadata import integer_labels, is_by_class, label_texts, model_of, properties_of
from rulekit_exporters.onnx.options import InputForm
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
        fed = {name: array[start : start + CHUNK] for name, array in feeds.items()}
        outputs = session(fed)
        if len(outputs) < 2 or any(np.shape(output)[:1] != (min(CHUNK, n_rows - start),) for output in outputs):
            raise FormatError("the outputs of this ONNX file are not a label and probabilities for each row")
        chunks.append(outputs)
    return [np.concatenate(parts) for parts in zip(*chunks, strict=True)]


def plan_of(artifact: bytes, graph: RuleGraph, words: WordsApart | None = None) -> InputPlan:
    """The inputs that a model declares, as a plan; raises FormatError where they are not those of the graph.

    words: the columns of words of the graph, where it is the form of a model over texts.
    """
    properties = properties_of(artifact)
    graph_of_file = model_of(artifact).graph
    declared = {port.name: port for port in graph_of_file.input}
    form: Any = properties.get("rulekit.input") or _declared_form([*map(port_of, graph_of_file.input)], graph)
    frame = is_by_class([*map(port_of, graph_of_file.output)])
    if form == "tensor" and list(declared) == [TENSOR_NAME]:
        tensor = declared[TENSOR_NAME].type.tensor_type
        if [dimension.dim_value for dimension in tensor.shape.dim][1:] == [len(graph.schema)]:
            return plan_of_form(graph, "tensor", tensor.elem_type == TensorProto.DOUBLE)
    elif form in ("columns", "codes", "ids") and (form != "ids" or words is not None):
        plan = replace(plan_of_form(graph, form, words=words), frame=frame)
        if set(plan.names) == set(declared):
            return plan
        strange = sorted(set(declared) - set(plan.names)) or sorted(set(plan.names) - set(declared))
        what = f"the inputs of this ONNX file are not those of the model: {strange[0]!r}"
        raise FormatError(what, fix="export it again")
    raise FormatError("the inputs of this ONNX file are not those of the model", fix="export it again")


def _declared_form(ports: Sequence[Port], graph: RuleGraph) -> InputForm:
    """The form of inputs where a tool has dropped the metadata; ids of words are not told from codes."""
    if [port.name for port in ports] == [TENSOR_NAME] and TENSOR_NAME not in graph.used_features:
        return "tensor"
    return "codes" if any(port.element == TensorProto.INT64 for port in ports) else "columns"


def feeds_of(plan: InputPlan, graph: RuleGraph, table: Table) -> dict[str, Array]:
    """The arrays that a model is fed: encoded columns, categories as text or codes; unknown columns are NaN."""
    arrays = dict(zip(table.names, table.arrays, strict=True))
    if plan.form == "tensor":
        width = np.float64 if plan.wide else np.float32
        tensor = np.full((table.n_rows, len(graph.schema)), np.nan, dtype=width)
        for j, feature in enumerate(graph.schema):
            if feature.name in arrays and feature.kind != "categorical":
                with np.errstate(over="ignore"):  # an unused wide column in a float tensor
                    tensor[:, j] = arrays[feature.name]
        return {TENSOR_NAME: tensor}
    feeds = {}
    for column, name in zip(plan.columns, plan.names, strict=True):
        if column in plan.texts:
            feeds[name] = ids_of_columns([arrays[word] > 0.5 for word in plan.texts[column]])
            continue
        if column not in arrays:
            raise InputError(f"no column {column!r}", where=table.source or "table")
        feeds[name] = plan.fed(column_feed(graph.schema[column], arrays[column], plan.coded))
    return feeds


def column_feed(feature: Feature, array: Array, codes: bool) -> Array:
    """One encoded column as a model takes it."""
    if feature.kind != "categorical":
        return array.astype(encoded_dtype(feature), copy=False)
    return array.astype(np.int64) if codes else level_texts(feature)[array]


def raw_feeds(plan: InputPlan, graph: RuleGraph, columns: Mapping[str, Array]) -> dict[str, Array]:
    """The arrays that an application feeds: numbers cast once, no other rounding; empty text for a missing category."""
    n_rows = max(map(len, columns.values()), default=0)
    numbers, nothing = np.full(n_rows, np.nan), np.full(n_rows, None)
    with np.errstate(over="ignore"):
        if plan.form == "tensor":
            tensor = np.empty((n_rows, len(graph.schema)), dtype=np.float64 if plan.wide else np.float32)
            for j, feature in enumerate(graph.schema):
                known = feature.name in columns and feature.kind != "categorical"
                # the place of a column that no rule reads may hold anything of its kind
                anything = np.resize(np.roll(ANY_TRUTH if feature.kind == "boolean" else ANYTHING, j), n_rows)
                tensor[:, j] = _numbers(feature, columns[feature.name]) if known else anything
            return {TENSOR_NAME: tensor}
        feeds = {}
        for column, name in zip(plan.columns, plan.names, strict=True):
            if column in plan.texts:
                held = [columns.get(word, numbers) > 0.5 for word in plan.texts[column]]
                feeds[name] = disturbed(ids_of_columns(held), len(held))
                continue
            feature = graph.schema[column]
            cells = columns.get(column, nothing if feature.kind == "categorical" else numbers)  # no rule reads it
            feeds[name] = plan.fed(_raw_feed(feature, cells, plan.coded))
    return feeds


def _raw_feed(feature: Feature, cells: Array, codes: bool) -> Array:
    if feature.kind != "categorical":
        return _numbers(feature, cells).astype(encoded_dtype(feature))
    if not codes:
        return np.array(["" if text is None else text for text in cells.tolist()], dtype=object)
    feed = encode({feature.name: cells}, Schema((feature,))).arrays[0].astype(np.int64)
    unseen = np.flatnonzero(feed == UNSEEN_CODE)  # as is every code that there is not
    feed[unseen] = np.resize([UNSEEN_CODE, -1, 2 + len(feature.levels), *CODES_BEYOND], len(unseen))
    return feed


def _numbers(feature: Feature, values: Array) -> Array:
    """What an application feeds for raw numbers: NaN where they mean missing, 0 and 1 for truth values."""
    absent = np.isnan(values) | np.isin(values, feature.missing_numbers)
    return np.where(absent, np.nan, values > 0.5 if feature.kind == "boolean" else values)


def level_texts(feature: Feature) -> npt.NDArray[np.object_]:
    """The text of each code: empty for missing, one that is no level for unseen, the levels."""
    return np.array(["", *texts_of_codes(feature)[1:]], dtype=object)


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
    known: Mapping[Any, int]
    integers = integer_labels(graph.classes)
    known = {label: k for k, label in enumerate(label_texts(graph) if integers is None else integers)}
    distinct, inverse = np.unique(labels, return_inverse=True)
    unknown = [value for value in distinct.tolist() if value not in known]
    if unknown:
        raise FormatError(f"the label {unknown[0]!r} is no class of the model", where="onnx")
    indices = np.array([known[value] for value in distinct.tolist()], dtype=np.int64)
    return indices[inverse.reshape(-1)] if len(distinct) else np.zeros(0, dtype=np.int64)


def run_encoded(
    artifact: bytes, graph: RuleGraph, tables: Sequence[Columns], session_of: SessionOf = runtime_session
) -> list[Answer]:
    """What rulekit does with a table and a model: cells are encoded by the schema, then fed."""
    apart, words = taken_apart(graph)
    plan, session = plan_of(artifact, apart, words), session_of(artifact)

    def decide(table: Columns) -> Any:
        encoded = graph.table(table)
        return outcome(
            apart, in_chunks(session, feeds_of(plan, apart, words.table(encoded) if words else encoded))
        ).labels

    return answers(decide, tables)


def run_arrays(
    artifact: bytes, graph: RuleGraph, tables: Sequence[Columns], session_of: SessionOf = runtime_session
) -> list[Answer]:
    """What an application does: an input for each column, of the declared type and shape, whatever its length."""
    session, plan = session_of(artifact), plan_of(artifact, graph)
    return answers(lambda table: outcome(graph, in_chunks(session, _feeds(plan, graph.schema, table))).labels, tables)


def _feeds(plan: InputPlan, schema: Schema, table: Columns) -> dict[str, Any]:
    inputs = {name: _input(schema[name], table[name], plan.coded) for name in plan.columns}
    if plan.form == "tensor":
        width = np.float64 if plan.wide else np.float32
        return {TENSOR_NAME: np.concatenate([column.astype(width) for column in inputs.values()], axis=1)}
    return {name: plan.fed(inputs[column]) for column, name in zip(plan.columns, plan.names, strict=True)}


def _input(feature: Feature, cells: Sequence[Any], coded: bool) -> Any:
    if feature.kind == "categorical":
        if coded:
            codes = encode({feature.name: list(cells)}, Schema((feature,))).arrays[0]
            return codes.astype(np.int64).reshape(-1, 1)
        texts = np.array(["" if cell is None else str.__str__(cell) for cell in cells], dtype=object)
        return texts.reshape(-1, 1)
    with np.errstate(over="ignore"):
        numbers = np.array([np.nan if cell is None else cell for cell in cells], dtype=np.float64)
        return numbers.astype(encoded_dtype(feature)).reshape(-1, 1)


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
    if not (cell is None or isinstance(cell, bool | int | float | np.integer | np.floating | np.bool_)):
        return "an input of numbers holds no such cell"
    if isinstance(cell, np.timedelta64):
        return "an input of numbers holds no such cell"
    if isinstance(cell, int | np.integer) and abs(int(cell)) > 2**53:
        return "the application rounds an integer beyond 2^53"
    if cell is not None and float(cell) in feature.missing_numbers:
        return "the application feeds NaN for a number that means missing"
    dated = is_dated(feature) and cell is not None and float(cell) >= 1000_01_01
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
        with tempfile.TemporaryDirectory() as folder:
            model, fed, answers = (Path(folder, name) for name in ("model.onnx", "feeds", "answers"))
            model.write_bytes(artifact)
            fed.write_bytes(_packed(feeds))
            paths = json.dumps([path for path in sys.path if path])
            command = [sys.executable, "-I", "-c", _WORKER, paths, *map(str, (model, fed, answers))]
            run_bounded(command, Path(folder), seconds=SECONDS, what="the model")
            found = _unpacked(read_answer(answers, LARGEST_ANSWER))
            return [found[name] for name in sorted(found, key=int)]

    return run


run_untrusted = partial(run_runtime, session_of=bounded_session)
run_raw_untrusted = partial(run_raw, session_of=bounded_session)


def answer(model: str, feeds: str, answers: str) -> None:
    """What the process does: the outputs of a model, numbered, for the arrays of a file."""
    outputs = runtime_session(Path(model).read_bytes())(_unpacked(Path(feeds).read_bytes()))
    Path(answers).write_bytes(_packed({str(place): output for place, output in enumerate(outputs)}))


def _packed(arrays: Mapping[str, Array]) -> bytes:
    """A line of JSON with names, types and shapes, then the numbers of each array, or its texts as JSON."""
    parts, heads = [], []
    for name, array in arrays.items():
        texts = array.dtype.kind in "OU"
        parts.append(json.dumps(array.reshape(-1).tolist()).encode() if texts else array.tobytes())
        heads.append([name, "text" if texts else array.dtype.str, list(array.shape), len(parts[-1])])
    return json.dumps(heads).encode() + b"\n" + b"".join(parts)


def _unpacked(content: bytes) -> dict[str, Array]:
    """The arrays of `_packed`; raises FormatError where these bytes are something else."""
    stream = io.BytesIO(content)
    found: dict[str, Array] = {}
    try:
        for name, kind, shape, size in json.loads(stream.readline()):
            part = stream.read(size)
            if kind != "text":
                dtype = np.dtype(kind)
                if dtype.kind not in "biuf":
                    raise ValueError(kind)
                found[name] = np.frombuffer(part, dtype).reshape(shape)
                continue
            texts = json.loads(part)
            if not all(isinstance(text, str) for text in texts):
                raise ValueError("texts")
            found[name] = np.array(texts, dtype=object).reshape(shape)
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError("the model's answer is not a label and probabilities for each row") from error
    return found
