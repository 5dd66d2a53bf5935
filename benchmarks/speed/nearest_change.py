"""The nearest change of a row: milliseconds by form of decision, beside one evaluation of the graph.

    python -m benchmarks.speed.nearest_change [--rows 200] [--data ../shared/data] [--small] [--write]

Each model is learned from a shared table and asked for the nearest change of random rows of it, one call a row, as
`rulekit explain --row` does, and of all of them in one call. CPU time of one thread; the evaluation is one call of the
decision for one row. What is required is 50 ms a row at 20 rules and 200 ms on a sum of 100 points.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.shared.machine import stamp
from benchmarks.shared.sections import add_options, markdown, publish
from rulekit.graph.evaluation.evaluator import decide
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.rules import counts
from rulekit.search.nearest import nearest_changes
from rulekit.tables.kinds.encoding import encode
from rulekit.tables.options import ReadingOptions
from rulekit.tables.reading import read_columns
from rulekit.tables.table import Table
from rulekit.work.training import TrainingRequest, train


@dataclass(frozen=True, slots=True)
class Model:
    """A form of decision, and how it is learned; most: milliseconds that are required at most, None of no such."""

    form: str
    table: str
    learner: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    most: float | None = None


MODELS = (
    Model("plain rules", "adult_train", "rules", {"max_rules": 20, "stopping": "none"}, 50.0),
    Model("plain rules", "heloc", "rules", {"max_rules": 20, "stopping": "none"}, 50.0),
    Model("nested noisy formula", "adult_train", "cnll", {"n_units": 20}, 50.0),
    Model("score card of single conditions", "adult_train", "adaboost", {"n_estimators": 150}, 200.0),
    Model("score card of conjunctions", "adult_train", "additive", {"max_rules": 100, "stopping": "none"}, 200.0),
    Model("tree of linear threshold units", "magic_telescope", "ltu-tree"),
    Model("first of rule sets, several classes", "car_evaluation", "rules", {}, 50.0),
)


def measured(model: RuleGraph, table: Table, rows: int) -> dict[str, Any]:
    """What the nearest changes of random rows take, and how many are proved."""
    rng = np.random.default_rng(7)
    some = table.take(rng.permutation(table.n_rows)[:rows])
    nearest_changes(model, some.take(np.array([0])))
    times, floors, found = [], [], []
    for i in range(some.n_rows):
        one = some.take(np.array([i]))
        floors.append(_milliseconds(lambda one=one: decide(model, one))[0])  # type: ignore[misc]
        spent, changes = _milliseconds(lambda one=one: nearest_changes(model, one))  # type: ignore[misc]
        times.append(spent)
        found += changes
    together, _ = _milliseconds(lambda: nearest_changes(model, some))
    return {
        "median": float(np.median(times)),
        "most": float(np.quantile(times, 0.95)),
        "together": together / some.n_rows,
        "floor": float(np.median(floors)),
        "proved": sum(change.proved for change in found),
        "columns": max(len(change.columns) for change in found),
        "rows": some.n_rows,
    }


def _milliseconds(call: Any) -> tuple[float, Any]:
    begun = time.process_time()
    result = call()
    return 1e3 * (time.process_time() - begun), result


def report(rows: int, folder: Path) -> list[str]:
    """The section as lines of Markdown."""
    lines, verdicts = [], []
    for asked in MODELS:
        file = folder / f"{asked.table}.csv.gz"
        model = train(TrainingRequest(file, ReadingOptions(target="target"), asked.learner, asked.parameters)).model
        raw = read_columns(file, ReadingOptions(), columns={*model.used_features})
        found = measured(model, encode(raw, model.schema, model.used_features), rows)
        lines.append(
            [
                f"{asked.form}, {asked.table}",
                f"{counts(model).rules} / {counts(model).literals}",
                str(len(model.used_features)),
                f"{found['median']:.1f}",
                f"{found['most']:.1f}",
                f"{found['together']:.1f}",
                f"{found['floor']:.2f}",
                f"{found['proved']} of {found['rows']}",
                str(found["columns"]),
            ]
        )
        if asked.most is not None:
            met = "met" if found["most"] <= asked.most else "NOT met"
            verdicts.append(f"- {asked.form}, {asked.table}: required at most {asked.most:g} ms a row: {met}")
    header = ["decision, table", "rules / literals", "columns", "median, ms", "95 %, ms", "in one call, ms a row"]
    header += ["one decision, ms", "proved smallest", "most columns"]
    return [stamp(), "", f"{rows} random rows of each table.", "", *markdown(header, lines), "", *verdicts]


def main(given: Sequence[str] | None = None) -> None:
    """Measure, print, and with --write fill the section of the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_options(parser)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    arguments = parser.parse_args(given)
    if not arguments.data.is_dir():
        print(f"no folder {arguments.data}: nothing measured")
        return
    publish(arguments, "nearest change", report(20 if arguments.small else arguments.rows, arguments.data))


if __name__ == "__main__":
    main()
