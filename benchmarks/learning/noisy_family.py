"""Every member of the noisy-or family: data of known models, and seven ranked classes of wine beside mord.

    python -m benchmarks.learning.noisy_family [--seeds 20] [--rows 10000] [--data ../shared/data] [--mord PYTHON]

Known models have ten Boolean attributes; the error of what is learned from the rows, on as many fresh rows, is compared
with that of the model itself, in points. Members are learned by noisy-or-paper and noisy-count; noisy-max
and -min have four ranked classes.

Wine: noisy-or-paper at its defaults; five random splits, 70 % to learn from; mean absolute error of the class that
is decided, in ranks, and log loss of the probabilities. mord's LogisticAT runs on standardised columns in an
interpreter that has mord installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from rulekit.learners.papers.noisy_or.estimators import NoisyCountClassifier, PaperNoisyOrClassifier
from rulekit.learners.papers.noisy_or.factorised import Factorisation, Influences, by_max, by_min, by_parity, by_sum

Array = npt.NDArray[Any]
K, RANKS, MOST = 10, 4, 0.5
MAE, LOG_LOSS, SPLITS = 0.525, 1.085, 5


def the_sum(hidden: Array) -> Array:
    """The number of hidden causes that act."""
    return np.asarray(hidden.sum(axis=1))


def the_parity(hidden: Array) -> Array:
    """Whether an odd number of hidden causes act."""
    return np.asarray(hidden.sum(axis=1) % 2)


def largest(hidden: Array) -> Array:
    """The largest hidden value."""
    return np.asarray(hidden.max(axis=1))


def least(hidden: Array) -> Array:
    """The least hidden value."""
    return np.asarray(hidden.min(axis=1))


MEMBERS: dict[str, tuple[Factorisation, Callable[[Array], Array], int]] = {
    "noisy-or": (by_max(K, 2), largest, 2),
    "noisy-and": (by_min(K, 2), least, 2),
    "noisy-max": (by_max(K, RANKS), largest, RANKS),
    "noisy-min": (by_min(K, RANKS), least, RANKS),
    "noisy-add": (by_sum(K, 2), the_sum, 2),
    "noisy-parity": (by_parity(K), the_parity, 2),
}
LEARNED_BY = {
    "noisy-or": {"family": "or"},
    "noisy-and": {"family": "and"},
    "noisy-max": {"family": "or", "ordered": list(range(RANKS))},
    "noisy-min": {"family": "and", "ordered": list(range(RANKS))},
    "noisy-add": {},
    "noisy-parity": {},
}
CLASSES = dict.fromkeys(("noisy-add", "noisy-parity"), NoisyCountClassifier)


def known(name: str, rng: np.random.Generator) -> Influences:
    """A random model: what acts where an attribute is there is likely, where it is not it hardly acts."""
    family, _, values = MEMBERS[name]
    quiet = values - 1 if family.phi[0, 0] == 1.0 and name in ("noisy-and", "noisy-min") else 0
    off = np.full(values, 0.02 / (values - 1))
    off[quiet] = 0.98
    on = rng.dirichlet(np.ones(values), size=K)
    on[:, quiet] += 1.0
    tables = np.stack([np.broadcast_to(off, (K, values)), on / on.sum(axis=1, keepdims=True)], axis=1)
    return Influences.of(family, tables, np.full((K, 2), 0.5))


def drawn(model: Influences, codes: Array, f: Callable[[Array], Array], rng: np.random.Generator) -> Array:
    """Classes [n] drawn from a model: each A' [n, k] by its table, and f of all of them."""
    given = np.cumsum(model.given(codes), axis=2)
    hidden = (rng.random(codes.shape)[:, :, None] > given).sum(axis=2)
    return f(np.minimum(hidden, model.tables.shape[2] - 1))


def by_the_median(p: Array) -> Array:
    """The median class of probabilities [n, M]; of two classes the more probable one."""
    return np.asarray((np.cumsum(p, axis=1) < 0.5).sum(axis=1))


def excess(name: str, seed: int, n: int) -> tuple[float, float]:
    """The error of the model that is learned, and that of the known one, on fresh rows; in per cent."""
    rng = np.random.default_rng(seed)
    truth, (_, f, values) = known(name, rng), MEMBERS[name]
    codes, fresh = rng.integers(0, 2, (n, K)), rng.integers(0, 2, (n, K))
    labels, asked = drawn(truth, codes, f, rng), drawn(truth, fresh, f, rng)
    own = by_the_median(truth.probabilities(fresh))
    table, held = ({f"a{j}": each[:, j] == 1 for j in range(K)} for each in (codes, fresh))
    positive = {"positive": 1} if values == 2 and name != "noisy-add" else {}
    learner = CLASSES.get(name, PaperNoisyOrClassifier)
    model = learner(stopping="none", **LEARNED_BY[name], **positive).fit(table, labels)
    found = model.predict(held)
    return 100.0 * float(np.mean(found != asked)), 100.0 * float(np.mean(own != asked))


def wine(folder: Path) -> tuple[pl.DataFrame, Array]:
    """The columns and the quality, in ranks from 0."""
    frame = pl.read_csv(folder / "wine_quality.csv.gz", infer_schema_length=None)
    return frame.drop("target"), np.unique(frame["target"].to_numpy(), return_inverse=True)[1]


def splits(n: int) -> list[tuple[Array, Array]]:
    """The rows to learn from and the others, five times."""
    parts = (np.random.default_rng(seed).permutation(n) for seed in range(SPLITS))
    return [(order[: int(0.7 * n)], order[int(0.7 * n) :]) for order in parts]


def noisy_max_on_wine(folder: Path) -> Array:
    """Mean absolute error, log loss, seconds and causes [5, 4]."""
    frame, ranks = wine(folder)
    found = []
    for rows, held in splits(len(ranks)):
        begun = time.perf_counter()
        model = PaperNoisyOrClassifier(ordered=list(range(7))).fit(frame[rows], ranks[rows])
        seconds = time.perf_counter() - begun
        p = model.predict_proba(frame[held])[np.arange(len(held)), ranks[held]]
        taken = model.path_.paths[0].candidates[model.path_.chosen[0] - 1]
        causes = sum(len(part.causes) for part in taken.model.parts)
        error = np.abs(model.predict(frame[held]) - ranks[held]).mean()
        found.append((error, -np.log(np.maximum(p, 1e-15)).mean(), seconds, causes))
    return np.array(found)


_PEER = """
import json, sys, time
import mord
import numpy as np
kept, found = np.load(sys.argv[1]), []
x, y = kept["x"], kept["y"]
for k in range(int(kept["n"])):
    rows, held = kept[f"rows{k}"], kept[f"held{k}"]
    mean, spread = x[rows].mean(axis=0), x[rows].std(axis=0)
    begun = time.perf_counter()
    model = mord.LogisticAT(alpha=1.0).fit((x[rows] - mean) / spread, y[rows])
    seconds = time.perf_counter() - begun
    test = (x[held] - mean) / spread
    p = model.predict_proba(test)[np.arange(len(held)), y[held]]
    found.append((np.abs(model.predict(test) - y[held]).mean(), -np.log(np.maximum(p, 1e-15)).mean(), seconds))
print(json.dumps(found))
"""


def mord_on_wine(folder: Path, python: str) -> Array:
    """The same of mord [5, 3], by an interpreter that has it."""
    frame, ranks = wine(folder)
    x = frame.with_columns((pl.col("colour") == "red").cast(pl.Float64)).to_numpy().astype(float)
    parts = splits(len(ranks))
    kept = {f"rows{k}": rows for k, (rows, _) in enumerate(parts)} | {f"held{k}": h for k, (_, h) in enumerate(parts)}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "wine.npz"
        np.savez(file, x=x, y=ranks, n=SPLITS, **kept)
        shown = subprocess.run([python, "-c", _PEER, str(file)], check=True, capture_output=True, text=True)
    return np.array(json.loads(shown.stdout))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--mord", default="", help="an interpreter with mord (none: it is left out)")
    options = parser.parse_args()
    for name in MEMBERS:
        errors = np.array([excess(name, seed, options.rows) for seed in range(options.seeds)])
        more = (errors[:, 0] - errors[:, 1]).mean()
        verdict = "met" if more <= MOST else "NOT met"
        own, of_model = errors.mean(axis=0)
        print(f"{name:14} error {own:5.2f}, of the model {of_model:5.2f}: {more:+.2f} {verdict}", flush=True)
    found = noisy_max_on_wine(options.data)
    error, loss, seconds, causes = found.mean(axis=0)
    spread = found[:, :2].std(axis=0, ddof=1) / np.sqrt(SPLITS)
    verdicts = ["met" if value <= limit else "NOT met" for value, limit in ((error, MAE), (loss, LOG_LOSS))]
    print(f"wine, noisy-max MAE {error:.4f} +- {spread[0]:.4f} {verdicts[0]}, ", end="")
    print(f"log loss {loss:.5f} +- {spread[1]:.4f} {verdicts[1]}, {causes:.0f} causes, {seconds:.1f} s")
    if options.mord:
        error, loss, seconds = mord_on_wine(options.data, options.mord).mean(axis=0)
        print(f"wine, mord      MAE {error:.4f}, log loss {loss:.4f}, {seconds:.1f} s")
    else:
        print("wine, mord      not measured: no interpreter with mord was given")


if __name__ == "__main__":
    main()
