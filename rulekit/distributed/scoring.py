"""A model decides the rows of a Dask or Spark frame where they are, as `rulekit predict` decides them in one process.

    from rulekit.distributed import score

    score("model.json", frame)  # label, probability(...), rules, digest

The model travels as the text of its file, and a worker reads it once. A function travels by its name, so that workers
need rulekit, in the version of the caller. Dask, Spark and pyarrow are imported when a function is called.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import compress
from threading import Lock
from typing import TYPE_CHECKING, Any

from rulekit.arrays import distinct_rows
from rulekit.errors import InputError, RulekitError
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.files.model_files import from_json, load
from rulekit.graph.files.writing import to_json
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import fired, rules_of
from rulekit.names import label_text
from rulekit.schema import require_column
from rulekit.tables.table import Table
from rulekit.version import __version__

if TYPE_CHECKING:
    import pandas
    import pyarrow

_ARROW = {bool: "bool", int: "int64", float: "float64", str: "string"}
_SPARK = {"bool": "boolean", "int64": "long", "double": "double", "string": "string"}


def score(model: Any, frame: Any, keep: Sequence[str] = ()) -> Any:
    """Decide the rows of a frame on its own workers.

    Parameters
    ----------
    model : RuleGraph, estimator, str or path
        The model, a fitted learner, or a model file.
    frame : dask.dataframe.DataFrame or pyspark.sql.DataFrame
        The rows; columns that the model does not read are not sent.
    keep : sequence of str
        Columns to copy from the frame to the result, for example a key.

    Returns
    -------
    dask.dataframe.DataFrame or pyspark.sql.DataFrame
        What is kept, `label`, `probability(...)` of each class, `rules` (the ids of those that fired, with blanks
        between them; missing where none did) and `digest`, that of the model. A frame of Dask keeps its index.

    Raises
    ------
    InputError
        For a frame of another kind, or without a column that is needed; when the result is computed, for a row that
        `rulekit predict` refuses.

    """
    graph = load(model) if isinstance(model, str | os.PathLike) else getattr(model, "rule_graph_", model)
    if not isinstance(graph, RuleGraph):
        what = f"{type(graph).__name__} is no rule model"
        raise InputError(what, fix="give a RuleGraph, a fitted learner of rulekit, or a model file")
    engine = _ENGINES.get(type(frame).__module__.partition(".")[0])
    if engine is None or not hasattr(frame, "columns"):
        what, fix = f"{type(frame).__name__} is no frame of Dask or Spark", "rulekit.load(MODEL).predict takes others"
        raise InputError(what, where="frame", fix=fix)
    names, kept = list(frame.columns), list(dict.fromkeys(keep))
    sent = list(dict.fromkeys([*graph.used_features, *kept])) or names[:1]
    for name in sent:
        require_column(name, list(map(str, names)), "frame")
    results = answers(graph, graph.table({name: [] for name in graph.used_features})).schema
    if taken := [name for name in kept if name in results.names]:
        what = f"the predictions have a column {taken[0]!r} of their own"
        raise InputError(what, where="keep", fix="rename the one of the frame")
    deciding = graph.with_(ladder=None, statistics={}, provenance={})  # so that one digest has one text
    return engine(frame, sent, kept, results, deciding)


# Dask -----------------------------------------------------------------------------------------------------------------


def _on_dask(frame: Any, sent: list[str], kept: list[str], results: pyarrow.Schema, graph: RuleGraph) -> Any:
    meta = _joined(frame._meta, kept, results.empty_table())
    return frame[sent].map_partitions(_of_pandas, to_json(graph), __version__, kept, meta=meta)


def _of_pandas(
    frame: pandas.DataFrame, text: str, version: str, kept: list[str], partition_info: Any = None
) -> pandas.DataFrame:
    """What Dask calls with a partition, by names that it knows."""
    where = f"partition {partition_info['number']}" if partition_info else "a partition"
    # as Dask tells numpy: polars, whose threads begin with its first work, would take every core in each worker
    if (threads := os.environ.get("OMP_NUM_THREADS", "")).isdecimal() and int(threads):
        os.environ.setdefault("POLARS_MAX_THREADS", threads)
    return _joined(frame, kept, _scored(text, version, frame, where))


def _joined(frame: pandas.DataFrame, kept: list[str], found: pyarrow.Table) -> pandas.DataFrame:
    return frame[kept].assign(**{name: column.array for name, column in found.to_pandas().items()})


# Spark ----------------------------------------------------------------------------------------------------------------


def _on_spark(frame: Any, sent: list[str], kept: list[str], results: pyarrow.Schema, graph: RuleGraph) -> Any:
    schema = frame.select(*map(_quoted, kept)).schema
    for field in list(results)[:-1]:
        schema = schema.add(field.name, _SPARK[str(field.type)])
    ask = partial(_of_batches, text=to_json(graph), version=__version__, sent=sent, kept=kept)
    # by plain names, since Spark would take a dot in one for a part of it
    plain = frame.select(*map(_quoted, sent)).toDF(*(f"c{k}" for k in range(len(sent))))
    # a constant of Spark costs nothing, where a column of texts from Python costs a fifth of the time
    return plain.mapInArrow(ask, schema).selectExpr("*", f"'{graph.digest}' AS digest")


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _of_batches(
    batches: Iterable[pyarrow.RecordBatch], text: str, version: str, sent: list[str], kept: list[str]
) -> Iterator[pyarrow.RecordBatch]:
    """What Spark calls with a partition."""
    import pyarrow
    from pyspark import TaskContext

    context, rows = TaskContext.get(), 0
    for batch in batches:
        where = f"partition {context.partitionId() if context else '?'}{f' behind row {rows}' * bool(rows)}"
        given = pyarrow.Table.from_batches([batch]).rename_columns(sent)
        found = _scored(text, version, given, where)
        names = found.column_names[:-1]
        yield from pyarrow.table([*given.select(kept), *found.select(names)], [*kept, *names]).to_batches()
        rows += batch.num_rows


_ENGINES = {"dask": _on_dask, "pyspark": _on_spark}

# On a worker ----------------------------------------------------------------------------------------------------------

_LOADING = Lock()
_loaded = lru_cache(maxsize=16)(from_json)


def _scored(text: str, version: str, frame: Any, where: str) -> pyarrow.Table:
    """The answers of a model to a frame of pandas or pyarrow; where: names it in errors."""
    if version != __version__:
        what = f"a worker has rulekit {__version__}, the caller {version}"
        raise InputError(what, where=where, fix="install one version everywhere")
    with _LOADING:  # the threads of a worker share a model
        graph = _loaded(text)
    try:
        return answers(graph, graph.table(frame))
    except RulekitError as error:
        raise InputError(error.what, where=f"{where}, {error.where}".removesuffix(", "), fix=error.fix) from None


def answers(graph: RuleGraph, table: Table) -> pyarrow.Table:
    """The columns that `score` gives, of encoded rows; the evaluator decides, for many rows faster than ONNX."""
    import pyarrow

    classes, texts = graph.classes, [label_text(label) for label in graph.classes]
    kinds = {type(label) for label in classes}
    labels = pyarrow.array(classes, _ARROW[kinds.pop()]) if len(kinds) == 1 else pyarrow.array(texts)
    columns = {"label": labels.take(pyarrow.array(decide(graph, table)))}
    shares = probabilities(graph, table)
    columns |= {f"probability({text})": pyarrow.array(shares[:, k]) for k, text in enumerate(texts)}
    ids, said = [rule.id for rule in rules_of(graph)], fired(graph, table)
    first, pattern = distinct_rows(said)  # many rows fire the same rules
    joined = [" ".join(compress(ids, said[row])) or None for row in first.tolist()]
    columns["rules"] = pyarrow.array(joined, "string").take(pyarrow.array(pattern))
    return pyarrow.table(columns | {"digest": pyarrow.repeat(graph.digest, table.n_rows)})
