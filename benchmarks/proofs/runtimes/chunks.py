"""What a row costs by how many rows a call takes, and the memory that a session keeps.

    python -m benchmarks.proofs.runtimes.chunks

Processor time of this thread for a row, calls of all sizes in turn, medians over rounds, another batch for each call;
memory by which the resident set rises above the input in a process of its own.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared.measuring import in_process
from rulekit import load
from rulekit.targets import find_target

MODEL = Path(__file__).parents[3] / "samples" / "exports" / "breast_cancer" / "model.json"
ROWS = 262_144
SIZES = (1, 64, 512, 2048, 4096, 8192, 16_384, 65_536, ROWS)
ROUNDS = 7


def _session(arena: bool = True) -> Any:
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    settings.enable_cpu_mem_arena = arena
    artifact = find_target("onnx").emit(load(MODEL), {"input": "tensor"}).main
    return onnxruntime.InferenceSession(artifact, settings, providers=["CPUExecutionProvider"])


def _table(n_rows: int) -> np.ndarray:
    """Rows spread around the thresholds of the model."""
    rng = np.random.default_rng(0)
    scale = np.array([20.0, 25, 110, 900, 0.1, 0.1, 0.1, 0.05, 0.2, 0.06, 0.4, 1.2, 2.9, 40, 0.007, 0.03, 0.03, 0.01])
    scale = np.concatenate([scale, [0.02, 0.004, 16, 26, 107, 880, 0.17, 0.25, 0.19, 0.16, 0.29, 0.08]])
    return (rng.lognormal(0, 0.4, (n_rows, 30)) * scale).astype(np.float32)


def nanoseconds_by_size() -> dict[int, float]:
    """Processor time of a row, by the rows of a call."""
    session, table = _session(), _table(ROWS)
    found: dict[int, list[float]] = {size: [] for size in SIZES}
    for turn in range(ROUNDS + 1):
        for size in SIZES:
            calls = max(1, min(ROWS, 64 * size, 65_536) // size)
            start = (turn * 7919 * size) % max(1, ROWS - calls * size + 1)
            begun = time.thread_time_ns()
            for call in range(calls):
                first = start + call * size
                session.run(None, {"input": table[first : first + size]})
            if turn:  # the first round warms
                found[size].append((time.thread_time_ns() - begun) / (calls * size))
    return {size: statistics.median(values) for size, values in found.items()}


def kept_megabytes(size: int, arena: bool) -> float:
    """Resident memory after all rows, `size` at a time, above that with the table and a loaded session."""
    import gc

    import psutil

    session, table = _session(arena), _table(ROWS)
    session.run(None, {"input": table[:1]})
    process = psutil.Process()
    before = process.memory_info().rss
    labels = np.empty(0, dtype=object)
    for start in range(0, ROWS, min(size, ROWS)):
        labels = session.run(None, {"input": table[start : start + size]})[0]
    del labels
    gc.collect()
    return (process.memory_info().rss - before) / 2**20


def main() -> int:
    """Prints both tables."""
    found = nanoseconds_by_size()
    best = min(found.values())
    print("| rows of a call | ns a row | times the best |\n|--:|--:|--:|")
    for size, value in found.items():
        print(f"| {size:,} | {value:,.0f} | {value / best:.1f} |")
    print("\n| rows of a call | arena | MB kept |\n|--:|---|--:|")
    for size in (8192, ROWS):
        for arena in (True, False):
            arguments = {"size": size, "arena": arena}
            kept = in_process("benchmarks.proofs.runtimes.chunks:kept_megabytes", arguments)
            print(f"| {size:,} | {'on' if arena else 'off'} | {kept:.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
