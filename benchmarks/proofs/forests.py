"""Forests of scikit-learn as ONNX: does a rule graph decide as onnxruntime, and is a direction proved or broken right?

    python -m benchmarks.proofs.forests [--small]

Each forest has 10 to 50 trees of depth 3 over 5 to 8 columns. It decides 20,000 rows of numbers at its cuts, beside
them and missing. Half of the tables have few values in each column, so that onnxruntime decides every row of cells too,
by which "a larger x0 never turns the decision to 0" holds or not. Of the other half a broken promise is shown to
onnxruntime on its two rows, and a proved one is tried on 20,000 pairs of rows. A decision may differ where the sum of
floats is rounded across a tie: `at a tie` counts the rows whose exact sum is within 1e-5 of the threshold. skl2onnx
runs in an environment of its own (benchmarks.speed.conversion). Exits with 1 where an answer is wrong.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from benchmarks.speed.conversion import convert
from rulekit.audit.checks.checking import check_model
from rulekit.graph.evaluation.evaluator import evaluate_nodes
from rulekit.graph.leaves import cuts_of_leaf, readers
from rulekit.graph.nodes import Above
from rulekit.graph.rule_graph import RuleGraph
from rulekit.limits import Deadline
from rulekit.work.models import import_model

ROWS, NEAR = 20_000, 1e-5
KINDS = ("forest", "boosting", "histograms")
LEVELS = {5: 15, 6: 9, 7: 6, 8: 5}  # values of a column by how many columns there are: at most 1.7 million cells

# A folder and how many forests -> forests as ONNX. Newer versions of onnx take no numbers of numpy.
FORESTS = """
import sys
import numpy as np
import onnx.helper
from sklearn.ensemble import GradientBoostingClassifier, HistGradientBoostingClassifier, RandomForestClassifier

made = onnx.helper.make_attribute
def plain(value):
    return [v.item() if isinstance(v, np.generic) else v for v in value] if isinstance(value, list) else value
onnx.helper.make_attribute = lambda key, value, *rest, **more: made(key, plain(value), *rest, **more)
from skl2onnx import to_onnx

levels = {5: 15, 6: 9, 7: 6, 8: 5}
for seed in range(int(sys.argv[2])):
    rng = np.random.default_rng(seed)
    columns, trees = 5 + seed // 6 % 4, int(rng.integers(10, 51))
    X = rng.normal(size=(600, columns))
    if seed % 2:
        X = np.floor(np.clip((X + 2.5) / 5, 0, 0.999) * levels[columns])
    score = (X - X.mean(axis=0)) / X.std(axis=0) @ rng.normal(size=columns) + rng.normal(size=600)
    y = (score + score.std() * np.sin(X[:, -1]) > 0).astype(int)
    X = X.astype(np.float32)
    up = [1] + [0] * (columns - 1)
    if seed % 3 == 2:
        X[rng.random(X.shape) < 0.03] = np.nan
    model = (
        RandomForestClassifier(trees, max_depth=3, random_state=seed, monotonic_cst=up if seed % 4 < 2 else None),
        GradientBoostingClassifier(n_estimators=trees, max_depth=3, random_state=seed),
        HistGradientBoostingClassifier(max_iter=trees, max_depth=3, monotonic_cst=up if seed % 4 < 2 else None),
    )[seed % 3].fit(X, y)
    converted = to_onnx(model, X[:1], options={"zipmap": False})
    open(f"{sys.argv[1]}/{seed}.onnx", "wb").write(converted.SerializeToString())
"""


class Forest:
    """A forest in onnxruntime and as a rule graph that promises that a larger x0 never turns the decision to 0."""

    def __init__(self, path: Path, seed: int) -> None:
        self.graph: RuleGraph = import_model(path, monotone={"x0": "increasing"}).model
        self.rng, self.columns = np.random.default_rng(seed), len(self.graph.schema.names)
        self._session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])

    def labels(self, rows: Any) -> Any:
        """What onnxruntime decides."""
        return self._session.run(None, {"X": rows.astype(np.float32)})[0]

    def at_the_cuts(self) -> Any:
        """Rows of numbers at the cuts of their columns, beside them, and missing."""
        columns, read = [], readers(self.graph.decision.roots)
        for name in self.graph.schema.names:
            cuts = {cut for node in read.get(name, ()) for cut in cuts_of_leaf(node)}
            own = np.array(sorted(cuts) or [0.0], np.float32)
            near = [own, np.nextafter(own, np.float32(np.inf)), np.nextafter(own, np.float32(-np.inf)), [np.nan]]
            columns.append(self.rng.choice(np.concatenate(near).astype(np.float32), ROWS))
        return np.column_stack(columns)

    def different(self, rows: Any) -> tuple[int, int]:
        """How many rows are decided differently, and how many of them are not at a tie."""
        (root,) = self.graph.decision.roots
        table = self.graph.table(rows)
        wrong = self.graph.decide(table) != self.labels(rows)
        assert isinstance(root, Above)
        far = np.abs(evaluate_nodes([root.score], table)[root.score] - root.threshold) > NEAR
        return int(wrong.sum()), int((wrong & far).sum())

    def grid(self) -> Any:
        """A row of each combination of known values and missing ones, x0 known: [values of x0, rest, columns]."""
        known = np.arange(LEVELS[self.columns], dtype=np.float32)
        sides = [known, *[np.append(known, np.float32(np.nan))] * (self.columns - 1)]
        return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(len(known), -1, self.columns)

    def holds_on_pairs(self) -> bool:
        """Whether 20,000 pairs of rows that differ in x0 alone keep the promise."""
        low, other = self.at_the_cuts(), self.at_the_cuts()
        high = low.copy()
        low[:, 0], high[:, 0] = np.fmin(low[:, 0], other[:, 0]), np.fmax(low[:, 0], other[:, 0])
        return bool((self.labels(low) <= self.labels(high)).all())


def measured(path: Path, seed: int) -> Counter[str]:
    """The counts of one forest."""
    forest = Forest(path, seed)
    found: Counter[str] = Counter(forests=1)
    found["different"], found["far"] = forest.different(forest.at_the_cuts())
    started = time.perf_counter()
    (verdict,) = check_model(forest.graph, deadline=Deadline(60.0)).verdicts
    found["ms"] = round(1000 * (time.perf_counter() - started))
    found[{"proved": "proved", "fails": "broken"}.get(verdict.outcome, "open")] += 1
    broken = verdict.outcome == "fails"
    if broken:
        rows = np.array([[row.row.get(name) for name in forest.graph.schema.names] for row in verdict.rows], np.float32)
        found["wrong"] += int(list(forest.labels(rows)) != [1, 0])
    if seed % 2:
        grid = forest.grid()
        labels = forest.labels(grid.reshape(-1, forest.columns)).reshape(grid.shape[:2])
        keeps = bool((np.diff(labels.astype(int), axis=0) >= 0).all())
        found["all cells"] += 1
        found["wrong"] += int(verdict.outcome != "not proved" and keeps == broken)
    elif verdict.outcome == "proved":
        found["wrong"] += int(not forest.holds_on_pairs())
    return found


def main() -> int:
    """Print a line for each kind of forest."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="12 forests, not 100")
    count = 12 if parser.parse_args().small else 100
    totals: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    slowest = dict.fromkeys(KINDS, 0)
    with tempfile.TemporaryDirectory() as folder:
        if why := convert(FORESTS, [Path(folder), Path(str(count))]):
            print(why)
            return 1
        for seed in range(count):
            kind, found = KINDS[seed % 3], measured(Path(folder) / f"{seed}.onnx", seed)
            totals[kind] += found
            slowest[kind] = max(slowest[kind], found["ms"])
    columns = ("forests", "different", "far", "proved", "broken", "open", "all cells", "wrong")
    heads = ("forests", "rows decided differently", "not at a tie", *columns[3:6], "held to all cells", "wrong")
    print(f"| forests of | {' | '.join(heads)} | slowest check, s |\n|---|{'--:|' * (len(heads) + 1)}")
    for kind, found in totals.items():
        print(f"| {kind} | {' | '.join(str(found[name]) for name in columns)} | {slowest[kind] / 1000:.1f} |")
    return int(any(found["far"] or found["wrong"] for found in totals.values()))


if __name__ == "__main__":
    sys.exit(main())
