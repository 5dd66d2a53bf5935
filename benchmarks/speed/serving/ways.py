"""The ways to call a model that are timed: sessions of onnxruntime, C loops, Python; each over one pool of rows."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.serving.floors import Answers, caller, column_call, row_call
from benchmarks.speed.serving.models import COLUMNS, Array, rows
from benchmarks.speed.serving.timing import Way

CHUNK = 8192


class Pool:
    """Float32 rows [n, 30], the same as columns, and where the next input is taken from."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.rows = rows(n, seed)
        self.columns = {f"x{j}": np.ascontiguousarray(self.rows[:, j]) for j in range(COLUMNS)}

    def __len__(self) -> int:
        return len(self.rows)

    def turns(self, size: int, seed: int) -> Turns:
        """Ranges of `size` rows, each once before any comes again."""
        return Turns(len(self.rows) // size, size, seed)


class Turns:
    """The starts of ranges in random order, each once before any comes again."""

    def __init__(self, count: int, size: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._count, self._size = count, size
        self._left: list[int] = []

    def take(self, n: int) -> list[int]:
        """The next n starts."""
        while len(self._left) < n:
            self._left = [*self._rng.permutation(self._count).tolist(), *self._left]
        found, self._left = self._left[-n:], self._left[:-n]
        return [self._size * k for k in found]


# onnxruntime ----------------------------------------------------------------------------------------------------------


def session(model: bytes) -> Any:
    """A session of onnxruntime on one thread."""
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])


def identity_model(columns: int = COLUMNS) -> bytes:
    """A graph of one Identity, float [N, columns] in and out: what a call costs that does nothing."""
    from onnx import TensorProto, helper

    given, made = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ("N", columns)) for name in ("x", "y"))
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "identity", [given], [made])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=7)
    return bytes(model.SerializeToString())


Feed = dict[str, Array]


def feed(found: Any, pool: Pool, start: int, stop: int) -> Feed:
    """The inputs of a session for a range of rows: the matrix, or its columns as [n, 1]."""
    names = [given.name for given in found.get_inputs()]
    if len(names) == 1 and names[0] not in pool.columns:
        return {names[0]: pool.rows[start:stop]}
    return {name: pool.columns[name][start:stop, None] for name in names}


def session_way(model: bytes, pool: Pool, size: int, calls: int, seed: int) -> Way:
    """Calls of `size` rows each; single rows are copied first, so that they lie in the cache as rows just read do."""
    found, turns = session(model), pool.turns(size, seed)

    def inputs() -> list[Feed]:
        feeds = [feed(found, pool, start, start + size) for start in turns.take(calls)]
        return [{name: value.copy() for name, value in each.items()} for each in feeds] if size == 1 else feeds

    return Way(partial(found.run, None), inputs, size)


def chunked_way(model: bytes, pool: Pool, size: int, seed: int, chunk: int = CHUNK) -> Way:
    """One call a sample: `size` rows in chunks."""
    found, turns = session(model), pool.turns(size, seed)

    def inputs() -> list[list[Feed]]:
        (start,) = turns.take(1)
        stop = start + size
        return [[feed(found, pool, at, min(at + chunk, stop)) for at in range(start, stop, chunk)]]

    def run(feeds: Sequence[Feed]) -> None:
        for each in feeds:
            found.run(None, each)

    return Way(run, inputs, size)


def cached_way(model: bytes, pool: Pool, seed: int) -> Way:
    """A chunk that was written just before the call, as by a reader of rows, always to the same place."""
    found, turns = session(model), pool.turns(CHUNK, seed)
    given = {name: value.copy() for name, value in feed(found, pool, 0, CHUNK).items()}

    def inputs() -> list[Feed]:
        (start,) = turns.take(1)
        for name, value in feed(found, pool, start, start + CHUNK).items():
            np.copyto(given[name], value)
        return [given]

    return Way(partial(found.run, None), inputs, CHUNK)


def labels(model: bytes, pool: Pool, most: int | None = None) -> Array:
    """The label [n] of every row of the pool, or of its first `most`, in chunks."""
    n = len(pool) if most is None else min(most, len(pool))
    found = session(model)
    name = next(each.name for each in found.get_outputs() if each.name in ("label", "output_label"))
    parts = [found.run([name], feed(found, pool, at, min(at + CHUNK, n)))[0] for at in range(0, n, CHUNK)]
    return np.concatenate(parts)


# C --------------------------------------------------------------------------------------------------------------------


def floor_rows_way(library: Any, pool: Pool, size: int, calls: int, seed: int) -> Way:
    """The C loop on rows of the matrix; answers go to their places among those of all rows."""
    answers, turns = Answers.of(len(pool)), pool.turns(size, seed)

    def inputs() -> list[Any]:
        return [row_call(pool.rows, answers, start, start + size) for start in turns.take(calls)]

    return Way(caller(library.decide_rows), inputs, size)


def floor_cached_way(library: Any, pool: Pool, seed: int) -> Way:
    """The C loop on a chunk that was written just before the call."""
    answers, turns, given = Answers.of(CHUNK), pool.turns(CHUNK, seed), np.empty((CHUNK, COLUMNS), np.float32)

    def inputs() -> list[Any]:
        (start,) = turns.take(1)
        np.copyto(given, pool.rows[start : start + CHUNK])
        return [row_call(given, answers, 0, CHUNK)]

    return Way(caller(library.decide_rows), inputs, CHUNK)


def floor_columns_way(library: Any, pool: Pool, used: Sequence[int], size: int, calls: int, seed: int) -> Way:
    """The C loop on column arrays."""
    answers, turns = Answers.of(len(pool)), pool.turns(size, seed)
    columns = [pool.columns[f"x{j}"] for j in used]
    function = library.decide_columns

    def inputs() -> list[Any]:
        return [column_call(columns, answers, start, start + size) for start in turns.take(calls)]

    def run(prepared: Any) -> None:
        function(*prepared.call)

    return Way(run, inputs, size)


def floor_labels(library: Any, pool: Pool, used: Sequence[int] | None = None) -> Array:
    """The label of every row of the pool by the C loop, on columns where `used` names them."""
    answers = Answers.of(len(pool))
    if used is None:
        library.decide_rows(*row_call(pool.rows, answers, 0, len(pool)))
    else:
        prepared = column_call([pool.columns[f"x{j}"] for j in used], answers, 0, len(pool))
        library.decide_columns(*prepared.call)
    return answers.label


# Python ---------------------------------------------------------------------------------------------------------------


def module(source: bytes, folder: Path) -> Any:
    """A generated module, imported from a file."""
    path = folder / "generated_model.py"
    path.write_bytes(source)
    spec = importlib.util.spec_from_file_location("generated_model", path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


NAMES = [f"x{j}" for j in range(COLUMNS)]


def sequence_way(run: Callable[[Any], Any], pool: Pool, calls: int, seed: int) -> Way:
    """Rows as lists of floats, made anew for each sample."""
    turns = pool.turns(calls, seed)

    def inputs() -> list[list[float]]:
        (start,) = turns.take(1)
        found: list[list[float]] = pool.rows[start : start + calls].tolist()
        return found

    return Way(run, inputs)


def mapping_way(run: Callable[[Any], Any], pool: Pool, calls: int, seed: int) -> Way:
    """Rows as dicts; their keys are equal to the names in the code, not the same objects, as a reader's would be."""
    turns = pool.turns(calls, seed)

    def inputs() -> list[Mapping[str, float]]:
        (start,) = turns.take(1)
        return [dict(zip(NAMES, cells, strict=True)) for cells in pool.rows[start : start + calls].tolist()]

    return Way(run, inputs)


def matrix_way(run: Callable[[Array], Any], pool: Pool, size: int, calls: int, seed: int) -> Way:
    """Something that takes a matrix of rows."""
    turns = pool.turns(size, seed)

    def inputs() -> list[Array]:
        return [pool.rows[start : start + size] for start in turns.take(calls)]

    return Way(run, inputs, size)
