"""Runs a model whose operators may do anything in a bounded process: arrays travel as plain bytes and JSON texts."""

from __future__ import annotations

import io
import json
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import numpy as np

from rulekit.arrays import Array
from rulekit.errors import FormatError
from rulekit.verification.isolated import read_answer, run_bounded
from rulekit_exporters.onnx.metadata import properties_of
from rulekit_exporters.onnx.running import Session, run_runtime, runtime_session
from rulekit_exporters.onnx.running import run_raw as run_cells

SECONDS = 60.0  # for one block of rows
LARGEST_ANSWER = 64 << 20

# The process finds the packages where this one does, and lets no other module in.
_WORKER = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from rulekit.errors import RulekitError
from rulekit_exporters.onnx.untrusted import answer
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


run = partial(run_runtime, session_of=bounded_session)
run_raw = partial(run_cells, session_of=bounded_session)


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
