"""One fit in a process of its own: CPU limit, decisions on the test rows, size."""

from __future__ import annotations

import base64
import math
import os
import random
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.learning.peers.columns import first_rows, read_split
from benchmarks.learning.peers.definitions import Peer


def measure(peer: Peer, path: Path, limit: float, with_rows: bool = False, with_path: bool = False) -> dict[str, Any]:
    """Fit on the training part of a saved split and test.

    seconds: CPU time of the fit over all threads; wall: its wall time. The process is killed (SIGXCPU) when the fit
    passes `limit` CPU seconds, rounded up to whole ones; compiling, imports and the change of format are outside.
    `right`: which test rows were decided right, as packed bits in base64, if wanted. `path`: the accuracy of the models
    of 1, 2, ... units, if wanted.
    """
    _one_core()
    # A peer that draws from the global generators in spite of its random_state (imodels) gives one answer as well.
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    train, test = read_split(path)
    if peer.compiles:
        few = first_rows(train, 400)
        peer.fit(peer.build(peer.parameters), peer.inputs(few), few.labels)
    inputs, test_inputs = peer.inputs(train), peer.inputs(test)
    model = peer.build(peer.parameters)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(time.process_time() + limit), hard))
    begun, cpu = time.perf_counter(), time.process_time()
    model = peer.fit(model, inputs, train.labels)
    seconds, wall = time.process_time() - cpu, time.perf_counter() - begun
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
    decided, scores = peer.predict(model, test_inputs)
    size = peer.size(model)
    right = decided.astype(np.int8) == test.labels
    found: dict[str, Any] = {
        "accuracy": float(right.mean()),
        "auc": area_under_curve(test.labels, scores),
        "rules": int(size.rules),
        "literals": int(size.literals),
        "seconds": seconds,
        "wall": wall,
        "n_train": len(train.labels),
        "n_test": len(test.labels),
    }
    if with_rows:
        found["right"] = base64.b64encode(np.packbits(right).tobytes()).decode()
    if with_path and peer.path is not None:
        found["path"] = [float((one == test.labels).mean()) for one in peer.path(model, test_inputs)]
    return found


def _one_core() -> None:
    """Keep this process on one core: what counts its threads by the cores it may use takes one."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[os.getpid() % len(cores)]})


def area_under_curve(labels: Any, scores: Any) -> float:
    """The share of pairs of a positive and a negative row that the scores [n] order right; ties count half."""
    labels, scores = np.asarray(labels), np.asarray(scores, dtype=np.float64)
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]
    positive = int((labels == 1).sum())
    pairs = positive * (len(labels) - positive)
    return float((rank[labels == 1].sum() - positive * (positive + 1) / 2) / pairs) if pairs else float("nan")
