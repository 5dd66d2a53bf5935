"""The ways to predict that are timed, each as a function to run in a process of its own (shared/measuring.py)."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.learning.contenders import DEFAULT
from benchmarks.shared import made_tables
from benchmarks.speed.conversion import BOOSTING, convert
from rulekit import export

Array = npt.NDArray[Any]

CHUNK = 10_000
SINGLE = 400
SLOW_ROWS = 20_000  # a way that takes rows one by one is timed on fewer
TRAINED = 200_000


@dataclass(frozen=True, slots=True)
class Way:
    """One way: what answers one row, what answers many, and how rows are given to each (not timed)."""

    one: Callable[[Any], Any]
    many: Callable[[Any], Any]
    row: Callable[[Array], Any]
    rows: Callable[[Array], Any]
    most: int = sys.maxsize


def matrix(rows: Array) -> Array:
    """The rows as they are."""
    return rows


def graph(folder: Path) -> Way:
    """RuleGraph.predict on a float32 matrix."""
    from rulekit import load

    model = load(folder / "model.json")
    return Way(model.predict, model.predict, matrix, matrix)


def onnx(folder: Path, name: str = "model.onnx") -> Way:
    """An ONNX file in onnxruntime on one thread."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(folder / name), settings, providers=["CPUExecutionProvider"])
    given, label = session.get_inputs()[0].name, [session.get_outputs()[0].name]

    def run(rows: Array) -> Any:
        return session.run(label, {given: rows})[0]

    return Way(run, run, matrix, matrix)


def converted(folder: Path) -> Way:
    """HistGradientBoosting as skl2onnx converts it, in onnxruntime on one thread."""
    return onnx(folder, "boosting.onnx")


def _module(folder: Path) -> Any:
    spec = importlib.util.spec_from_file_location("generated_model", folder / "model.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sequences(folder: Path) -> Way:
    """The generated module, a list of cells a row."""
    module = _module(folder)
    return Way(
        module.predict,
        lambda rows: [module.predict(row) for row in rows],
        lambda rows: rows[0].tolist(),
        lambda rows: rows.tolist(),
        SLOW_ROWS,
    )


def mappings(folder: Path) -> Way:
    """The generated module, a mapping of column names a row."""
    module = _module(folder)
    names = [f"x{j}" for j in range(made_tables.COLUMNS)]

    def mapping(cells: Sequence[float]) -> dict[str, float]:
        return dict(zip(names, cells, strict=True))

    return Way(
        module.predict,
        lambda rows: [module.predict(row) for row in rows],
        lambda rows: mapping(rows[0].tolist()),
        lambda rows: [mapping(cells) for cells in rows.tolist()],
        SLOW_ROWS,
    )


def columns(folder: Path) -> Way:
    """The generated module's predict_many on a matrix, vectorised where numpy is there."""
    module = _module(folder)
    return Way(module.predict_many, module.predict_many, matrix, matrix)


def boosting(folder: Path) -> Way:
    """HistGradientBoostingClassifier(100).predict."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, y = _training(folder)
    model = HistGradientBoostingClassifier(max_iter=100, early_stopping=False, random_state=0).fit(X, y)
    return Way(model.predict, model.predict, matrix, matrix)


def tree(folder: Path) -> Way:
    """A decision tree of depth 4."""
    from sklearn.tree import DecisionTreeClassifier

    X, y = _training(folder)
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)
    return Way(model.predict, model.predict, matrix, matrix)


WAYS = {way.__name__: way for way in (graph, onnx, sequences, mappings, columns, boosting, tree, converted)}


def _training(folder: Path) -> tuple[Array, Array]:
    return np.load(folder / "X_train.npy"), np.load(folder / "y_train.npy")


def timed(way: str, folder: str) -> dict[str, float]:
    """Seconds of one row (median of many calls on different rows), rows a second at once and in chunks.

    `differ`: on how many of the first rows the label is not that of the graph (of the peers: of themselves).
    """
    place = Path(folder)
    found = WAYS[way](place)
    X = np.load(place / "X.npy")
    singles = [found.row(X[i : i + 1]) for i in range(SINGLE)]
    calls = [_seconds(found.one, row) for row in (*singles[:20], *singles)][20:]
    rows = X[: min(found.most, len(X))]
    whole, chunks = found.rows(rows), [found.rows(rows[i : i + CHUNK]) for i in range(0, len(rows), CHUNK)]
    found.many(chunks[0])
    at_once = min(_seconds(found.many, whole) for _ in range(2))
    in_chunks = min(_seconds(lambda parts: [found.many(part) for part in parts], chunks) for _ in range(2))
    expected = np.load(place / "labels.npy")[:CHUNK]
    differ = int(np.count_nonzero(np.asarray(found.many(chunks[0])) != expected)) if way in OURS else 0
    return {
        "latency": float(np.median(calls)),
        "at_once": len(rows) / at_once,
        "in_chunks": len(rows) / in_chunks,
        "rows": float(len(rows)),
        "differ": float(differ),
    }


OURS = ("graph", "onnx", "sequences", "mappings", "columns")


def _seconds(call: Callable[[Any], Any], argument: Any) -> float:
    begun = time.perf_counter()
    call(argument)
    return time.perf_counter() - begun


def prepare(folder: str, rows: int) -> dict[str, str]:
    """Write the rows, the training rows, the learned model and its exports; runs in a process of its own.

    The answer says what could not be made, and why.
    """
    from rulekit import CNLLClassifier

    place = Path(folder)
    made = made_tables.make(rows)
    few = made_tables.make(min(TRAINED, rows))
    np.save(place / "X.npy", made.X)
    np.save(place / "X_train.npy", few.X)
    np.save(place / "y_train.npy", few.y)
    model = CNLLClassifier(**DEFAULT).fit(few.X, few.y).rule_graph_
    model.save(place / "model.json")
    export(model, place / "model.onnx", to="onnx")
    export(model, place / "model.py", to="python")
    np.save(place / "labels.npy", model.predict(made.X[:CHUNK]))
    stopped = convert(BOOSTING, [place / name for name in ("X_train.npy", "y_train.npy", "boosting.onnx")])
    return {"converted": stopped} if stopped else {}
