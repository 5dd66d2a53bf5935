"""Rules from models that nobody can read: how far they agree with them, beside a tree that learns the same labels.

    python -m benchmarks.learning.teachers [table ...] [--few] [--seeds 3] [--data ../shared/data]

Teachers: HistGradientBoosting, a random forest of 100 trees and a network of 32 and 16 units. scikit-learn trains them
on 40 % of the rows (at most 6,000 are drawn), and skl2onnx writes them as ONNX. `train --teacher` learns rules from
these and a further 35 %, with the teacher's labels; 25 % are held out of both. Beside them stands scikit-learn's tree
of as many leaves, learned from the same labels. Printed is the agreement with the teacher on the held-out rows in
percent, of at most 8 and at most 20 rules, without and with --ask 5000. Then how often the true label is right: of
rules that are learned from the true labels, of rules from the teacher, and of the teacher.

--few: 300 rows of the 35 % alone, without and with --ask 5000, on five tables.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from benchmarks.speed.conversion import convert
from rulekit.tables.options import ReadingOptions
from rulekit.work.learning import TrainingRequest
from rulekit.work.taught import evaluate_beside
from rulekit.work.training import train

TABLES = ("adult_train", "bank_marketing", "compas_two_year", "german_credit")
TABLES += ("heloc", "magic_telescope", "spambase", "titanic")
FEW = ["adult_train", "bank_marketing", "compas_two_year", "heloc", "magic_telescope"]
TEACHERS = ("boosting", "forest", "network")
ROWS, FEW_ROWS, ASKED = 6_000, 300, 5_000

TEACH = """
import json, sys
import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
given = json.load(open(sys.argv[1]))
columns, y = given["columns"], np.array(given["labels"])
texts = [j for j, own in enumerate(columns.values()) if any(isinstance(cell, str) for cell in own)]
numbers = [j for j in range(len(columns)) if j not in texts]
X = np.empty((len(y), len(columns)), dtype=object)
for j, own in enumerate(columns.values()):
    missing = "" if j in texts else np.nan
    X[:, j] = [missing if cell is None else cell if j in texts else np.float32(cell) for cell in own]
types = [(name, (StringTensorType if j in texts else FloatTensorType)([None, 1])) for j, name in enumerate(columns)]
plain = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
def prepared(of_numbers):
    return make_column_transformer((plain, texts), (of_numbers, numbers))
models = [
    (prepared("passthrough"), HistGradientBoostingClassifier(random_state=0)),
    (prepared(SimpleImputer()), RandomForestClassifier(100, min_samples_leaf=2, random_state=0)),
    (prepared(make_pipeline(SimpleImputer(), StandardScaler())), MLPClassifier((32, 16), max_iter=200, random_state=0)),
]
for (before, model), file in zip(models, sys.argv[2:]):
    fitted = make_pipeline(before, model).fit(X, y)
    converted = to_onnx(fitted, initial_types=types, options={"zipmap": False})
    open(file, "wb").write(converted.SerializeToString())
"""


def table(name: str, folder: Path, seed: int) -> pl.DataFrame:
    """At most ROWS rows in a random order, without ids; whole numbers of few values stay numbers."""
    kinds = pl.read_csv(folder / "columns.csv").filter(pl.col("file") == f"{name}.csv.gz")
    left_out = kinds.filter(pl.col("kind").is_in(["id", "split", "text"]))["column"].to_list()
    texts = kinds.filter(pl.col("kind") == "categorical")["column"].to_list()
    frame = pl.read_csv(folder / f"{name}.csv.gz", infer_schema_length=None).drop(left_out, strict=False)
    frame = frame.with_columns(pl.col([*texts, "target"]).cast(pl.String))
    return frame.sample(min(ROWS, frame.height), shuffle=True, seed=seed)


def taught(frame: pl.DataFrame, folder: Path) -> str:
    """Write the three teachers of a frame; says why that could not be done, or nothing."""
    columns = {name: frame[name].to_list() for name in frame.columns if name != "target"}
    (folder / "rows.json").write_text(json.dumps({"columns": columns, "labels": frame["target"].to_list()}))
    return convert(TEACH, [folder / "rows.json", *(folder / f"{name}.onnx" for name in TEACHERS)])


def agreement(folder: Path, rows: str, teacher: str | None, rules: int, ask: int = 0) -> tuple[float, float, float]:
    """How often rules agree with a teacher on the held-out rows, and are right, and the teacher is, in percent.

    teacher: by which the rules are learned; None: by the true labels, and compared with the first teacher.
    """
    texts = pl.read_csv(folder / f"{rows}.csv", infer_schema_length=None).select(pl.col(pl.String)).columns
    reading = ReadingOptions(target="target", types=dict.fromkeys(texts, "categorical"))
    model, file = folder / "model.json", None if teacher is None else folder / f"{teacher}.onnx"
    parameters = {"max_rules": rules}
    train(TrainingRequest(folder / f"{rows}.csv", reading, parameters=parameters, teacher=file, ask=ask, output=model))
    asked = folder / f"{teacher or TEACHERS[0]}.onnx"
    found = evaluate_beside(model, folder / "held.csv", ReadingOptions(target="target"), teacher=asked).fidelity[0]
    assert found.right is not None
    n, own, of_teacher = found.right
    return 100.0 * found.parts[0].share[0], 100.0 * own / n, 100.0 * of_teacher / n


def of_tree(folder: Path, teacher: str, leaves: int) -> float:
    """How often a tree agrees with a teacher on the held-out rows, in percent."""
    from rulekit.teaching.teachers import teacher_of
    from rulekit.work.taught import read_taught

    rows = {}
    for name in ("rows", "held"):
        frame = pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)
        texts = frame.select(pl.col(pl.String)).columns
        options = ReadingOptions(target="target", types=dict.fromkeys(texts, "categorical"))
        labels = read_taught(folder / f"{name}.csv", options, teacher_of(folder / f"{teacher}.onnx"))
        rows[name] = frame, np.array(labels.classes)[labels.y]
    names = [name for name in rows["rows"][0].columns if name != "target"]
    texts = [name for name in names if rows["rows"][0][name].dtype == pl.String]
    plain = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    parts = {}
    for name, (frame, _) in rows.items():
        levels = frame.select(texts).fill_null("").to_numpy()
        numbers = frame.select([name for name in names if name not in texts]).to_numpy().astype(np.float64)
        if texts:
            coded = plain.fit_transform(levels) if name == "rows" else plain.transform(levels)
            numbers = np.hstack([coded, numbers])
        parts[name] = numbers
    tree = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(parts["rows"], rows["rows"][1])
    return float(100.0 * np.mean(tree.predict(parts["held"]) == rows["held"][1]))


def measured(name: str, data: Path, seed: int, few: bool) -> Iterator[tuple[str, dict[str, float]]]:
    """By teacher the figures of one split of a table."""
    frame = table(name, data, seed)
    first, second = int(0.4 * frame.height), int(0.75 * frame.height)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        if why := taught(frame[:first], folder):
            raise SystemExit(why)
        frame[second:].write_csv(folder / "held.csv")
        frame[:second].write_csv(folder / "rows.csv")
        frame[first : first + FEW_ROWS].write_csv(folder / "few.csv")
        for teacher in TEACHERS:
            if few:
                yield teacher, {f"ask {n}": agreement(folder, "few", teacher, 8, n)[0] for n in (0, ASKED)}
                continue
            found = {"labels right": agreement(folder, "rows", None, 8)[1]}
            for rules in (8, 20):
                found[f"tree {rules}"] = of_tree(folder, teacher, rules)
                for n in (0, ASKED):
                    same, right, own = agreement(folder, "rows", teacher, rules, n)
                    found |= {f"{rules} ask {n}": same, f"{rules} ask {n} right": right, "teacher right": own}
            yield teacher, found


def main() -> None:
    """Measure and print: a line for each table and teacher, means with standard errors over the seeds, then of all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*")
    parser.add_argument("--few", action="store_true", help="from 300 rows")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    options = parser.parse_args()
    every: dict[str, list[float]] = {}
    for name in options.tables or (FEW if options.few else TABLES):
        found: dict[tuple[str, str], list[float]] = {}
        for seed in range(options.seeds):
            for teacher, figures in measured(name, options.data, seed, options.few):
                for what, value in figures.items():
                    found.setdefault((teacher, what), []).append(value)
        for teacher in TEACHERS:
            own = {what: values for (of, what), values in found.items() if of == teacher}
            shown = ", ".join(
                f"{what} {np.mean(v):.1f} ± {np.std(v, ddof=1) / np.sqrt(len(v)) if len(v) > 1 else 0.0:.1f}"
                for what, v in own.items()
            )
            print(f"{name:16} {teacher:9} {shown}", flush=True)
            for what, values in own.items():
                every.setdefault(what, []).append(float(np.mean(values)))
    print("mean of all     ", ", ".join(f"{what} {np.mean(values):.2f}" for what, values in every.items()))
    if not options.few:
        for rules in (8, 20):
            for n in (0, ASKED):
                pairs = list(zip(every[f"{rules} ask {n}"], every[f"tree {rules}"], strict=True))
                won = [sum(a >= b for a, b in pairs[k :: len(TEACHERS)]) for k in range(len(TEACHERS))]
                said = ", ".join(f"{t} {w}" for t, w in zip(TEACHERS, won, strict=True))
                print(f"at least the tree's, at most {rules} rules, --ask {n}: {said} of {len(pairs) // len(TEACHERS)}")


if __name__ == "__main__":
    main()
