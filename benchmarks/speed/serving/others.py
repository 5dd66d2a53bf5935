"""The parts of the measurement of serving that use other models: stumps, noisy formulas."""

from __future__ import annotations

import numpy as np

from benchmarks.shared.sections import markdown
from benchmarks.speed.conversion import STUMPS, convert
from benchmarks.speed.serving.bench import NAMES, Bench, Made, export
from benchmarks.speed.serving.models import Array, noisy, rows, stumps_graph
from benchmarks.speed.serving.report import Agreement, Part, faster, shown, times_table
from benchmarks.speed.serving.timing import measure
from benchmarks.speed.serving.ways import CHUNK, chunked_way, identity_model, labels, session_way

SINGLE = 100
LARGE = 100_000
LARGE_ROUNDS = 7
STUMP_ROWS = 20_000
COMPARED = 50_000
NOISY = {"12 literals on 10 columns": (12, 10, 3), "24 literals on 24 columns": (24, 24, 4)}


def boosted_labels(X: Array) -> Array:
    """0 or 1 [n]: a sum of steps and slopes of ten columns with noise, for which a hundred stumps are of use."""
    rng = np.random.default_rng(5)
    score = np.sin(2.0 * X[:, :4]).sum(axis=1) + np.abs(X[:, 4:8]).sum(axis=1) - 3.2 + X[:, 8] * (X[:, 9] > 0.3)
    return np.asarray(score + rng.normal(0, 0.7, len(X)) > 0).astype(np.int64)


def additive(bench: Bench) -> Part:
    """A hundred stumps of AdaBoost as one sum of step functions, beside skl2onnx of that AdaBoost."""
    part = Part(
        "Sum of stumps.",
        f"AdaBoostClassifier(100) of scikit-learn on {STUMP_ROWS:,} rows, and its stumps, with their thresholds and "
        "weights, as an additive graph; ours in chunks of 8,192 rows, theirs both ways.",
    )
    X, pool = rows(STUMP_ROWS, seed=4), bench.pool
    names = ("stumps_X.npy", "stumps_y.npy", "stumps_others.npy", "stumps.onnx", "stumps.npz")
    files = [bench.folder / name for name in names]
    for path, values in zip(files, (X, boosted_labels(X), pool.rows[:COMPARED]), strict=False):
        np.save(path, values)
    stopped = convert(STUMPS, files)
    made = {"stumps": Made(absent=stopped), "tensor": Made(absent=stopped)}
    if not stopped:
        stumps = dict(np.load(files[4]))
        graph = stumps_graph(stumps)
        made = {
            "stumps": Made(files[3].read_bytes()),
            "tensor": export(graph),
            "fast": export(graph, optimize="latency"),
        }
    absent = {name: each.absent for name, each in made.items() if not each}
    there = {name: each.value for name, each in made.items() if each}
    single = {"identity": session_way(identity_model(), pool, 1, SINGLE, 51)}
    for seed, (name, model) in enumerate(there.items(), 52):
        single[name] = session_way(model, pool, 1, 5 if name == "stumps" else SINGLE, seed)
    large = {}
    many = min(LARGE, len(pool) // 2)
    for seed, (name, model) in enumerate(there.items(), 61):
        large[name if name != "stumps" else "stumps chunks"] = chunked_way(model, pool, many, seed)
    if "stumps" in there:
        large["stumps"] = session_way(there["stumps"], pool, many, 1, 69)
    one, batch = measure(single, bench.rounds), measure(large, min(bench.rounds, LARGE_ROUNDS))
    part.times = [one, batch]
    part.tables.append(times_table(one, NAMES, "one row a call", ("identity",), ("stumps",)))
    part.tables.append(times_table(batch, NAMES, f"{many:,} rows", (), ("stumps", "stumps chunks")))
    words = "100 stumps: ONNX, tensor, beside AdaBoostClassifier(100),"
    part.verdicts = [faster(one, f"{words} one row", "tensor", "stumps", 30.0, absent)]
    absent["stumps chunks"] = absent.get("stumps", "")
    for theirs, how in (("stumps", "at once"), ("stumps chunks", "in chunks")):
        part.verdicts.append(faster(batch, f"{words} {many:,} rows {how}", "tensor", theirs, 30.0, absent))
    if not stopped:
        expected = graph.predict(pool.rows)
        part.agreements.append(Agreement("AdaBoostClassifier itself", COMPARED, _differ(stumps["labels"], expected)))
        for name, model in there.items():
            most = COMPARED if name == "stumps" else len(pool)  # theirs takes long
            part.agreements.append(bench.agreement(NAMES[name], labels(model, pool, most), expected))
        part.remarks.append(f"{len(stumps['weight'])} stumps, {expected.mean():.0%} of the rows are positive")
    part.remarks += [f"{NAMES[name]}: {why}" for name, why in absent.items() if why]
    return part


def _differ(found: Array, expected: Array) -> int:
    return int(np.count_nonzero(found != expected[: len(found)]))


def noisy_formulas(bench: Bench) -> Part:
    """Disjunctions of conjunctions of hidden bits, for information."""
    about = "Disjunctions of conjunctions of hidden bits, one for each literal; for information, nothing is required."
    part, pool, lines = Part("Noisy formulas.", about), bench.pool, []
    for name, (literals, columns, clause) in NOISY.items():
        graph = noisy(literals, columns, clause)
        made = export(graph)
        if not made:
            part.remarks.append(f"{name}: {made.absent}")
            continue
        one = measure(
            {
                "identity": session_way(identity_model(), pool, 1, SINGLE, 71),
                "tensor": session_way(made.value, pool, 1, SINGLE, 72),
            },
            bench.rounds,
        )
        batch = measure({"tensor": session_way(made.value, pool, CHUNK, 2, 73)}, bench.rounds)
        part.times += [one, batch]
        size = f"{len(made.value):,}"
        cells = (shown(one.call("tensor")), shown(one.ratio("tensor", "identity")), shown(batch.row("tensor")), size)
        lines.append((name, *cells))
        part.agreements.append(bench.agreement(name, labels(made.value, pool), graph.predict(pool.rows)))
    header = ("ONNX, tensor", "us one row", "times Identity", f"ns a row, chunks of {CHUNK:,}", "bytes")
    part.tables.append(markdown(header, lines))
    return part
