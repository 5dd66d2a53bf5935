"""The parts of the measurement of serving that use the model of 4 clauses and 20 literals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from benchmarks.shared.measuring import Spread
from benchmarks.shared.sections import markdown
from benchmarks.speed.serving import by_hand
from benchmarks.speed.serving.bench import NAMES, Bench, Made
from benchmarks.speed.serving.floors import used_columns
from benchmarks.speed.serving.report import Part, Verdict, compare, faster, shown, times_table
from benchmarks.speed.serving.timing import Way, measure, quartiles
from benchmarks.speed.serving.ways import (
    CHUNK,
    cached_way,
    floor_cached_way,
    floor_columns_way,
    floor_labels,
    floor_rows_way,
    identity_model,
    labels,
    mapping_way,
    matrix_way,
    module,
    sequence_way,
    session_way,
)

FORMS: dict[str, dict[str, str]] = {"tensor": {}, "fast": {"optimize": "latency"}, "columns": {"input": "columns"}}
SINGLE = 200
ROWS_OF_PYTHON = 1000
SIZES = {1: 100, 100: 50, 1000: 10, 4096: 4, CHUNK: 2, 100_000: 1, 1_000_000: 1}
MILLION_ROUNDS = 5


def exports(bench: Bench) -> dict[str, Made]:
    """The model in each form of ONNX, by way."""
    return {name: bench.artifact("onnx", **options) for name, options in FORMS.items()}


def reasons(made: Mapping[str, Made]) -> dict[str, str]:
    """Why something is not there, by way."""
    return {name: each.absent for name, each in made.items() if not each}


def latency(bench: Bench) -> Part:
    """One row a call in onnxruntime."""
    made = exports(bench) | {"floor": bench.floor(), "boosting": bench.boosting()}
    ways = {"identity": session_way(identity_model(), bench.pool, 1, SINGLE, 1)}
    for seed, name in enumerate((*FORMS, "boosting"), 2):
        if made[name]:
            ways[name] = session_way(made[name].value, bench.pool, 1, SINGLE, seed)
    if made["floor"]:
        ways["floor"] = floor_rows_way(made["floor"].value, bench.pool, 1, SINGLE, 9)
    times, absent = measure(ways, bench.rounds), reasons(made)
    part = Part("Latency.", "One row a call, the model of 20 literals; numpy arrays in and out.", times=[times])
    part.tables.append(times_table(times, NAMES, "one row a call", ("identity",)))
    words = "one row, 20 literals, over an Identity graph:"
    part.verdicts = [
        compare(times, f"{words} {NAMES['tensor']}", "tensor", "identity", "at most", 2.0, absent),
        compare(times, f"{words} {NAMES['fast']}", "fast", "identity", "at most", 1.3, absent),
    ]
    part.remarks += [f"{NAMES[name]}: {why}" for name, why in absent.items()]
    return part


def throughput(bench: Bench) -> Part:
    """Chunks of 8,192 rows."""
    pool, used, floor = bench.pool, used_columns(), bench.floor()
    made = exports(bench) | {"floor": floor, "boosting": bench.boosting(), "python": bench.artifact("python")}
    calls = {"tensor": 4, "fast": 2, "columns": 4, "boosting": 1}
    ways: dict[str, Way] = {}
    for seed, (name, count) in enumerate(calls.items(), 11):
        if made[name]:
            ways[name] = session_way(made[name].value, pool, CHUNK, count, seed)
    if floor:
        ways["floor"] = floor_rows_way(floor.value, pool, CHUNK, 8, 21)
        ways["floor columns"] = floor_columns_way(floor.value, pool, used, CHUNK, 8, 22)
        ways["floor cached"] = floor_cached_way(floor.value, pool, 23)
    if made["tensor"]:
        ways["cached"] = cached_way(made["tensor"].value, pool, 24)
    ways["graph"] = matrix_way(bench.model.predict, pool, CHUNK, 2, 25)
    if made["python"]:
        generated = module(made["python"].value, bench.folder)
        ways["python"] = matrix_way(generated.predict_many, pool, CHUNK, 1, 26)
    times, absent = measure(ways, bench.rounds), reasons(made)
    absent |= dict.fromkeys(("floor columns", "floor cached"), floor.absent) if not floor else {}
    about = (
        f"Chunks of {CHUNK:,} rows out of {len(pool):,}, the model of 20 literals. The chunks come from memory, where "
        "rows lie that were read some time ago; in cache: the chunk is written to one place just before the call."
    )
    part = Part("Throughput.", about, times=[times])
    over = ("floor", "floor columns", "floor cached")
    part.tables.append(times_table(times, NAMES, f"{CHUNK:,} rows a call", over, ("boosting",)))
    words = f"chunks of {CHUNK:,}, 20 literals:"
    part.verdicts = [
        compare(times, f"{words} ONNX, tensor, over C on rows", "tensor", "floor", "at most", 7.0, absent),
        compare(times, f"{words} ONNX, columns, over C on columns", "columns", "floor columns", "at most", 2.5, absent),
        compare(times, f"{words} ONNX, columns, over C on rows", "columns", "floor", "at most", 2.5, absent),
        faster(times, f"{words} ONNX, tensor, beside HistGradientBoosting(100)", "tensor", "boosting", 50.0, absent),
    ]
    for name in FORMS:
        if made[name]:
            part.agreements.append(bench.agreement(NAMES[name], labels(made[name].value, pool)))
    if floor:
        part.agreements.append(bench.agreement(NAMES["floor"], floor_labels(floor.value, pool)))
        part.agreements.append(bench.agreement(NAMES["floor columns"], floor_labels(floor.value, pool, used)))
    part.remarks.append(f"{bench.expected().mean():.0%} of the rows are positive")
    part.remarks += [f"{NAMES[name]}: {why}" for name, why in absent.items()]
    return part


def python(bench: Bench) -> Part:
    """Generated Python beside Python by hand, one row a call."""
    made, pool = bench.artifact("python"), bench.pool
    ways = {
        "hand": sequence_way(by_hand.decide, pool, ROWS_OF_PYTHON, 31),
        "hand mapping": mapping_way(by_hand.decide_mapping, pool, ROWS_OF_PYTHON, 32),
    }
    few = pool.rows[:5000].tolist()
    mapped = [dict(zip(pool.columns, cells, strict=True)) for cells in few]
    asked: dict[str, tuple[Callable[[Any], int], Any]] = {
        "hand": (by_hand.decide, few),
        "hand mapping": (by_hand.decide_mapping, mapped),
    }
    if made:
        generated = module(made.value, bench.folder)
        ways["sequence"] = sequence_way(generated.predict, pool, ROWS_OF_PYTHON, 33)
        ways["mapping"] = mapping_way(generated.predict, pool, ROWS_OF_PYTHON, 34)
        asked |= {"sequence": (generated.predict, few), "mapping": (generated.predict, mapped)}
    times = measure(ways, bench.rounds)
    absent = {} if made else dict.fromkeys(("sequence", "mapping"), made.absent)
    about = (
        "One row a call, the model of 20 literals; a list of floats, or a dict whose keys equal the names in the code "
        "but are not the same objects. By hand: `benchmarks/speed/serving/by_hand.py`."
    )
    part = Part("Generated Python.", about, times=[times])
    part.tables.append(times_table(times, NAMES, "one row a call", ("hand", "hand mapping")))
    alone: Spread | None = times.call("sequence") if "sequence" in times else None
    words = "generated Python, one row, 20 literals:"
    part.verdicts = [
        compare(times, f"{words} a list, over by hand on a list", "sequence", "hand", "at most", 1.2, absent),
        Verdict(f"{words} a list", "below", 0.5, alone, "us", absent.get("sequence", "")),
        compare(times, f"{words} a mapping, over by hand on a list", "mapping", "hand", "at most", 3.0, absent),
    ]
    for name, (decide, given) in asked.items():
        part.agreements.append(bench.agreement(NAMES[name], np.array([decide(row) for row in given])))
    part.remarks += [f"{NAMES[name]}: {why}" for name, why in absent.items()]
    return part


def size(bench: Bench) -> Part:
    """Bytes of the ONNX files."""
    forms = {
        "tensor": bench.artifact("onnx"),
        "tensor, without text": bench.artifact("onnx", text="false"),
        "columns": bench.artifact("onnx", input="columns"),
        "tensor, optimize=latency": bench.artifact("onnx", optimize="latency"),
    }
    part = Part("Size.", "Bytes of the ONNX of 20 literals; text: the rules as text stand in the metadata.")
    rows = [(name, f"{len(made.value):,}" if made else made.absent) for name, made in forms.items()]
    part.tables.append(markdown(("form", "bytes"), rows))
    made = forms["tensor"]
    found = quartiles([len(made.value)]) if made else None
    words = "size of the ONNX of 20 literals, tensor, text included"
    part.verdicts = [Verdict(words, "below", 6000.0, found, "bytes", made.absent)]
    return part


def calls(bench: Bench) -> Part:
    """What one call costs by its number of rows: why large batches are fed in chunks."""
    pool, floor, made = bench.pool, bench.floor(), exports(bench)
    lines = []
    for size_, count in SIZES.items():
        if size_ > len(pool):
            continue
        ways = {
            name: session_way(made[name].value, pool, size_, count, size_ + 1)
            for name in ("tensor", "columns")
            if made[name]
        }
        if floor:
            ways["floor"] = floor_rows_way(floor.value, pool, size_, count, size_ + 2)
            ways["floor columns"] = floor_columns_way(floor.value, pool, used_columns(), size_, count, size_ + 3)
        ways["graph"] = matrix_way(bench.model.predict, pool, size_, max(1, count // 10), size_ + 4)
        times = measure(ways, min(bench.rounds, MILLION_ROUNDS if size_ > CHUNK else bench.rounds))
        cells = [shown(times.row(way)) if way in times else "-" for way in CALLED]
        lines.append((f"{size_:,}", *cells))
    about = "Nanoseconds a row by the rows of one call; with a million rows it is the same million each time."
    part = Part("Rows a call.", about)
    part.tables.append(markdown(("rows a call", *(NAMES[way] for way in CALLED)), lines))
    return part


CALLED = ("tensor", "columns", "floor", "floor columns", "graph")
