"""The part of the measurement of serving that is about sums: stumps with categories, conjunctions, a score card."""

from __future__ import annotations

import numpy as np

from benchmarks.speed.conversion import STUMPS
from benchmarks.speed.serving import by_hand, others
from benchmarks.speed.serving.bench import NAMES, Bench, compiled, export
from benchmarks.speed.serving.models import Array
from benchmarks.speed.serving.report import Agreement, Part, Verdict, compare, faster, times_table
from benchmarks.speed.serving.sum_models import (
    CATEGORIES,
    GRID,
    LEVELS,
    NUMBERS,
    MixedPool,
    conjunctions,
    mixed_rows,
    one_hot,
    rules_with_card,
    score_card,
    stump_sum,
)
from benchmarks.speed.serving.timing import Way, measure, quartiles
from benchmarks.speed.serving.ways import (
    CHUNK,
    Turns,
    floor_labels,
    floor_rows_way,
    identity_model,
    labels,
    module,
    sequence_way,
    session_way,
)
from rulekit.graph.evaluation.evaluator import decide, evaluate_nodes
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import FIRST_LEVEL_CODE

SINGLE = 100
STUMPS_500 = STUMPS.replace("n_estimators=100", "n_estimators=500")
STUMP_ROWS = 8_000
COMPARED = 2_000
POOL_ROWS = 200_000
THEIRS_ROUNDS = 5
PYTHON_ROWS = 1000
WAYS = {
    **NAMES,
    "codes": "ONNX, codes",
    "stumps 500": "AdaBoost(500), skl2onnx",
    "conjunctions": "20 conjunctions, ONNX, tensor",
    "reported": "20 conjunctions, logistic function reported",
    "single": "20 conjunctions, optimize=latency",
    "many": "generated predict_many, columns",
    "rules": "3 rules with a card, ONNX, tensor",
    "rules single": "3 rules with a card, optimize=latency",
}


def sums(bench: Bench) -> Part:
    """Sums beside their C loop, an Identity and the models of skl2onnx."""
    part = Part(
        "Sums.",
        f"AdaBoostClassifier(500) of scikit-learn on {STUMP_ROWS:,} rows of 27 numbers and 3 categories of 10 levels, "
        "one-hot for scikit-learn and skl2onnx; its stumps as one sum of steps and points by level, as ONNX with codes "
        "and as a C loop on rows that hold the codes. 20 weighted conjunctions of 3 literals. A score card of 25 "
        "numbers.",
    )
    _stumps(bench, part)
    _conjunctions(bench, part)
    card = export(score_card())
    size = quartiles([len(card.value)]) if card else None
    words = "size of the ONNX of a score card of 25 numbers, text included"
    part.verdicts.append(Verdict(words, "below", 8000.0, size, "bytes", card.absent))
    _rules_with_card(bench, part)
    return part


def _rules_with_card(bench: Bench, part: Part) -> None:
    """One row beside an Identity, and the size."""
    graph = rules_with_card()
    made = {"rules": export(graph), "rules single": export(graph, optimize="latency")}
    absent = {name: each.absent for name, each in made.items() if not each}
    ways = {"identity": session_way(identity_model(), bench.pool, 1, SINGLE, 94)}
    for seed, name in enumerate(name for name in made if made[name]):
        ways[name] = session_way(made[name].value, bench.pool, 1, SINGLE, 95 + seed)
        expected = graph.predict(bench.pool.rows)
        part.agreements.append(bench.agreement(WAYS[name], labels(made[name].value, bench.pool), expected))
    times = measure(ways, bench.rounds)
    part.times.append(times)
    part.tables.append(times_table(times, WAYS, "one row a call", ("identity",)))
    for name, most in (("rules", 2.2), ("rules single", 1.5)):
        words = f"one row, {WAYS[name]}, over an Identity graph"
        part.verdicts.append(compare(times, words, name, "identity", "at most", most, absent))
    size = quartiles([len(made["rules"].value)]) if made["rules"] else None
    words = f"size of the {WAYS['rules']}, text included"
    part.verdicts.append(Verdict(words, "below", 6000.0, size, "bytes", made["rules"].absent))


def _stumps(bench: Bench, part: Part) -> None:
    X, pool = mixed_rows(STUMP_ROWS, 4), MixedPool(min(len(bench.pool), POOL_ROWS))
    names = ("many_X.npy", "many_y.npy", "many_others.npy", "many.onnx", "many.npz")
    files = [bench.folder / name for name in names]
    for path, values in zip(files, (one_hot(X), _mixed_labels(X), one_hot(pool.rows[:COMPARED])), strict=False):
        np.save(path, values)
    stopped = others.convert(STUMPS_500, files)
    words = f"chunks of {CHUNK:,}, 500 stumps with categories: ONNX, codes"
    beside = f"{words}, beside AdaBoostClassifier(500)"
    if stopped:
        part.verdicts.append(Verdict(f"{beside}: times faster", "at least", 100.0, absent=stopped))
        return
    found = dict(np.load(files[4]))
    model = stump_sum(found)
    graph = model.graph()
    made = {"codes": export(graph, input="codes"), "floor": compiled("sum.c", model.header(), bench.folder)}
    absent = {name: each.absent for name, each in made.items() if not each}
    ways: dict[str, Way] = {}
    if made["codes"]:
        ways["codes"] = session_way(made["codes"].value, pool, CHUNK, 2, 81)
    if made["floor"]:
        ways["floor"] = floor_rows_way(made["floor"].value, pool, CHUNK, 4, 82)
    theirs = {"stumps 500": session_way(files[3].read_bytes(), pool.one_hot(), CHUNK, 1, 84)}
    chunks = measure(ways, bench.rounds)
    both = measure({"codes": ways["codes"], **theirs}, min(bench.rounds, THEIRS_ROUNDS)) if "codes" in ways else None
    part.tables.append(times_table(chunks, WAYS, f"500 stumps, {CHUNK:,} rows a call", ("floor",)))
    part.verdicts.append(compare(chunks, f"{words}, over C on rows", "codes", "floor", "at most", 8.0, absent))
    part.times.append(chunks)
    if both is not None:
        part.tables.append(times_table(both, WAYS, f"500 stumps, {CHUNK:,} rows a call", (), ("stumps 500",)))
        part.verdicts.append(faster(both, beside, "codes", "stumps 500", 100.0, absent))
        part.times.append(both)
    _python(bench, part, graph, pool)
    expected = decide(graph, pool.table())
    clear = _clear_of_rounding(graph, pool)
    differ = int(np.count_nonzero((found["labels"] != expected[:COMPARED]) & clear))
    part.agreements.append(Agreement("AdaBoostClassifier(500) itself", int(clear.sum()), differ))
    part.remarks.append(
        f"Votes are rounded to multiples of {GRID:g}: of {COMPARED:,} rows {COMPARED - int(clear.sum())} have a sum so "
        "close to 0 that this may change the label, and are not compared with scikit-learn's own."
    )
    if made["codes"]:
        part.agreements.append(bench.agreement("ONNX of 500 stumps", labels(made["codes"].value, pool), expected))
    if made["floor"]:
        part.agreements.append(
            bench.agreement("C loop of 500 stumps", floor_labels(made["floor"].value, pool), expected)
        )
    part.remarks.append(f"{len(model.jumps)} different cuts, {np.count_nonzero(model.points)} levels with points")


def _clear_of_rounding(graph: RuleGraph, pool: MixedPool) -> Array:
    """Of the first rows [COMPARED] those whose sum is further from 0 than the rounding of 500 votes can move it."""
    (decided,) = graph.decision.roots
    total = decided.children[0]
    sums = evaluate_nodes([total], pool.table())[total][:COMPARED]
    return np.asarray(np.abs(sums) > 500 * GRID / 2.0)


def _mixed_labels(X: Array) -> Array:
    """0 or 1 [n]: steps and slopes of nine numbers and a number for each level, with noise."""
    rng = np.random.default_rng(5)
    levels = rng.normal(0, 0.8, (CATEGORIES, LEVELS))
    score = np.sin(2.0 * X[:, :4]).sum(axis=1) + np.abs(X[:, 4:8]).sum(axis=1) - 3.2
    for j in range(CATEGORIES):
        score = score + levels[j][X[:, NUMBERS + j].astype(np.int64) - FIRST_LEVEL_CODE]
    return np.asarray(score + rng.normal(0, 0.7, len(X)) > 0).astype(np.int64)


def _python(bench: Bench, part: Part, graph: RuleGraph, pool: MixedPool) -> None:
    """One row a call as a list of floats and texts, and many rows as columns."""
    made = export(graph, "python")
    what = "generated Python, 500 stumps with categories"
    if not made:
        part.verdicts.append(Verdict(f"{what}, one row, a list", "below", 3.0, absent=made.absent))
        return
    generated = module(made.value, bench.folder)
    rows, turns = pool.cells(), Turns(len(pool) // PYTHON_ROWS, PYTHON_ROWS, 91)

    def single() -> list[list[float | str]]:
        (start,) = turns.take(1)
        return rows[start : start + PYTHON_ROWS]

    def many() -> list[dict[str, Array]]:
        return [pool.texts(start, start + CHUNK) for start in range(0, CHUNK, CHUNK)]

    ways = {
        "hand": sequence_way(by_hand.decide, bench.pool, PYTHON_ROWS, 92),
        "sequence": Way(generated.predict, single),
        "many": Way(generated.predict_many, many, CHUNK),
    }
    times = measure(ways, bench.rounds)
    part.times.append(times)
    part.tables.append(times_table(times, WAYS, "500 stumps, generated Python; by hand: 20 literals", ("hand",)))
    part.verdicts.append(Verdict(f"{what}, one row, a list", "below", 3.0, times.call("sequence"), "us"))
    row = times.row("many", 1e-6)
    part.verdicts.append(Verdict(f"{what}, a row of predict_many", "below", 3.0, row, "us"))
    expected = decide(graph, pool.table())[:COMPARED]
    found = np.array([generated.predict(row) for row in rows[:COMPARED]])
    part.agreements.append(Agreement("generated Python of 500 stumps", COMPARED, int((found != expected).sum())))


def _conjunctions(bench: Bench, part: Part) -> None:
    """One row beside an Identity, chunks beside HistGradientBoosting(100)."""
    graphs = {"conjunctions": conjunctions(), "reported": conjunctions(reported=True), "single": conjunctions()}
    made = {name: export(graph) for name, graph in graphs.items()} | {"boosting": bench.boosting()}
    made["single"] = export(graphs["single"], optimize="latency")
    absent = {name: each.absent for name, each in made.items() if not each}
    single = {"identity": session_way(identity_model(), bench.pool, 1, SINGLE, 85)}
    chunks: dict[str, Way] = {}
    for seed, name in enumerate(name for name in made if made[name]):
        if name != "boosting":
            single[name] = session_way(made[name].value, bench.pool, 1, SINGLE, 86 + seed)
        chunks[name] = session_way(made[name].value, bench.pool, CHUNK, 1, 89 + seed)
    one, many = measure(single, bench.rounds), measure(chunks, bench.rounds)
    part.times += [one, many]
    part.tables.append(times_table(one, WAYS, "one row a call", ("identity",)))
    part.tables.append(times_table(many, WAYS, f"{CHUNK:,} rows a call", (), ("boosting",)))
    for name, graph in graphs.items():
        words = WAYS[name]
        part.verdicts.append(
            compare(one, f"one row, {words}, over an Identity graph", name, "identity", "at most", 2.0, absent)
        )
        beside = f"chunks of {CHUNK:,}, {words}, beside HistGradientBoosting(100)"
        part.verdicts.append(faster(many, beside, name, "boosting", 50.0, absent))
        if made[name]:
            expected = graph.predict(bench.pool.rows)
            part.agreements.append(bench.agreement(words, labels(made[name].value, bench.pool), expected))
