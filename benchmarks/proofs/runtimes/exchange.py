"""How a case and its answer lie on disk, so that a runtime in any language can take part.

A case is a folder:

    model.onnx
    case.json     rows; chunks: rows of each call, in order; inputs: name, type (float32, float64, int64 or text),
                  columns, offset of the values in rows.bin; texts: the distinct texts of text inputs
    rows.bin      the values of each input, row by row, little endian; a text is a uint32 index into `texts`

and its answer another:

    answer.json   {"error": ...}, or classes: columns of the probabilities; texts: the distinct text labels (null where
                  labels are integers)
    labels.bin, probabilities.bin     int32 (an index into `texts` where there are any), float32 [rows, classes]
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
CHUNK = 8192
_TYPES = {"f4": "float32", "f8": "float64", "i8": "int64"}


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """Labels [n] (integers or texts) and probabilities [n, K] of a case, or in one line why there are none."""

    labels: Array | None = None
    probabilities: Array | None = None
    error: str = ""


def chunks_of(n_rows: int) -> list[int]:
    """One row alone, as an application scores it, then chunks."""
    rest = n_rows - 1
    return [1, *(min(CHUNK, rest - start) for start in range(0, rest, CHUNK))]


def write_case(folder: Path, model: bytes, feeds: Mapping[str, Array]) -> None:
    """Write a model and the values of its inputs, each [n, columns]."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.onnx").write_bytes(model)
    texts: dict[str, int] = {}
    inputs, parts, offset = [], [], 0
    for name, array in feeds.items():
        if array.dtype == object:
            distinct, places = _distinct(array)
            indices = np.array([texts.setdefault(text, len(texts)) for text in distinct], dtype="<u4")
            kind, values = "text", indices[places]
        else:
            kind, values = _TYPES[array.dtype.str[1:]], array
        content = np.ascontiguousarray(values).astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
        content += bytes(-len(content) % 8)
        inputs.append({"name": name, "type": kind, "columns": array.shape[1], "offset": offset})
        parts.append(content)
        offset += len(content)
    n_rows = len(next(iter(feeds.values())))
    described = {"rows": n_rows, "chunks": chunks_of(n_rows), "inputs": inputs, "texts": list(texts)}
    (folder / "case.json").write_text(json.dumps(described))
    (folder / "rows.bin").write_bytes(b"".join(parts))


def _distinct(array: Array) -> tuple[list[str], Array]:
    """Distinct texts in order of appearance, and the place of each cell among them; numpy would sort them."""
    places: dict[str, int] = {}
    found = [places.setdefault(text, len(places)) for text in array.ravel().tolist()]
    return list(places), np.array(found, dtype=np.intp).reshape(array.shape)


def read_case(folder: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    """The description of a case and its feeds."""
    described = json.loads((folder / "case.json").read_text())
    content = (folder / "rows.bin").read_bytes()
    texts = np.array(described["texts"] or [""], dtype=object)
    feeds = {}
    for item in described["inputs"]:
        kind = {"text": "<u4", "float32": "<f4", "float64": "<f8", "int64": "<i8"}[item["type"]]
        shape = (described["rows"], item["columns"])
        values = np.frombuffer(content, kind, shape[0] * shape[1], item["offset"]).reshape(shape)
        feeds[item["name"]] = texts[values] if item["type"] == "text" else values
    return described, feeds


def write_answer(folder: Path, labels: Sequence[Any] | Array, probabilities: Array) -> None:
    """Write what a runtime answered."""
    folder.mkdir(parents=True, exist_ok=True)
    found = np.asarray(labels).reshape(-1)
    texts = None
    if found.dtype.kind in "OUS":
        distinct, places = _distinct(np.array([str(label) for label in found.tolist()], dtype=object))
        texts, found = distinct, places
    (folder / "labels.bin").write_bytes(found.astype("<i4").tobytes())
    (folder / "probabilities.bin").write_bytes(np.asarray(probabilities).astype("<f4").tobytes())
    (folder / "answer.json").write_text(json.dumps({"classes": probabilities.shape[1], "texts": texts}))


def write_error(folder: Path, error: str) -> None:
    """Write why there is no answer."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "answer.json").write_text(json.dumps({"error": error}))


def read_answer(folder: Path) -> Answer | None:
    """What a runtime answered; None where it never came to it."""
    if not (folder / "answer.json").exists():
        return None
    described = json.loads((folder / "answer.json").read_text())
    if "error" in described:
        return Answer(error=described["error"])
    labels: Array = np.frombuffer((folder / "labels.bin").read_bytes(), "<i4").astype(np.int64)
    if described["texts"] is not None:
        labels = np.array(described["texts"] or [""], dtype=object)[labels]
    shares = np.frombuffer((folder / "probabilities.bin").read_bytes(), "<f4")
    return Answer(labels, shares.reshape(-1, described["classes"]).astype(np.float64))
