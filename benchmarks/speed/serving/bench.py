"""What the parts of the measurement of serving share: the rows, the model of 20 literals, its exports and C loops."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed.conversion import BOOSTING, convert
from benchmarks.speed.serving.floors import NoCompilerError, build, dnf_header
from benchmarks.speed.serving.models import Array, clauses, rows
from benchmarks.speed.serving.report import Agreement
from benchmarks.speed.serving.ways import Pool
from rulekit.errors import RulekitError
from rulekit.graph.rule_graph import RuleGraph
from rulekit.targets import find_target

NAMES = {
    "identity": "Identity in onnxruntime",
    "tensor": "ONNX, tensor",
    "fast": "ONNX, optimize=latency",
    "columns": "ONNX, columns",
    "floor": "C loop, rows",
    "floor columns": "C loop, columns",
    "cached": "ONNX, tensor, in cache",
    "floor cached": "C loop, rows, in cache",
    "graph": "RuleGraph.predict",
    "python": "generated predict_many",
    "boosting": "HistGradientBoosting(100), skl2onnx",
    "stumps": "AdaBoost(100), skl2onnx",
    "stumps chunks": "AdaBoost(100), skl2onnx, chunks",
    "hand": "by hand, list",
    "hand mapping": "by hand, mapping",
    "sequence": "generated predict, list",
    "mapping": "generated predict, mapping",
}
TRAINED = 50_000
_FLIPPED = 0.1


@dataclass(frozen=True, slots=True)
class Made:
    """An artifact or a library, or in one line why there is none."""

    value: Any = None
    absent: str = ""

    def __bool__(self) -> bool:
        return not self.absent


class Bench:
    """n rows, how many rounds, whether small; a folder for what is made on the way."""

    def __init__(self, n: int, rounds: int, folder: Path) -> None:
        self.rounds, self.folder = rounds, folder
        self.pool = Pool(n)
        self.model = clauses()

    @cache  # noqa: B019 - one bench lives as long as the run
    def expected(self) -> Array:
        """The labels of RuleGraph.predict on all rows."""
        return self.model.predict(self.pool.rows)

    @cache  # noqa: B019
    def artifact(self, to: str = "onnx", **options: str) -> Made:
        """An export of the model of 20 literals."""
        return export(self.model, to, **options)

    @cache  # noqa: B019
    def floor(self) -> Made:
        """The C loop of the 20 literals."""
        return compiled("dnf.c", dnf_header(), self.folder)

    @cache  # noqa: B019
    def boosting(self) -> Made:
        """HistGradientBoosting(100) on labels of the model of which a tenth is flipped, by skl2onnx."""
        X = rows(TRAINED, seed=1)
        flipped = np.random.default_rng(2).random(TRAINED) < _FLIPPED
        files = [self.folder / name for name in ("boosting_X.npy", "boosting_y.npy", "boosting.onnx")]
        np.save(files[0], X)
        np.save(files[1], self.model.predict(X) ^ flipped)
        stopped = convert(BOOSTING, files)
        return Made(absent=stopped) if stopped else Made(files[2].read_bytes())

    def agreement(self, what: str, found: Array, expected: Array | None = None) -> Agreement:
        """How many labels differ from those of RuleGraph.predict, or of `expected`."""
        against = self.expected() if expected is None else expected
        return Agreement(what, len(found), int(np.count_nonzero(np.asarray(found) != against[: len(found)])))


def export(graph: RuleGraph, to: str = "onnx", **options: str) -> Made:
    """The artifact of a target, or why it is refused."""
    try:
        return Made(find_target(to).emit(graph, options).main)
    except RulekitError as error:
        return Made(absent=f"not there: {error}")
    except Exception as error:  # a target of any package may fail in any way; its line then says so
        return Made(absent=f"fails with {type(error).__name__}: {' '.join(str(error).split())}")


def compiled(source: str, header: str, folder: Path) -> Made:
    """The library of a C loop, or why there is none."""
    try:
        return Made(build(source, header, folder))
    except NoCompilerError as error:
        return Made(absent=str(error))
