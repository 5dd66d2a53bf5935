"""Models with their rows for tests of reports: small, and trained in a moment."""

from __future__ import annotations

import csv
import random
from collections import Counter
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, NamedTuple

from rulekit.tables.options import ReadingOptions
from rulekit.work.training import TrainingRequest, train

LOANS = Path(__file__).parents[1] / "samples" / "loans.csv"


class Trained(NamedTuple):
    """A model file, the file of its training rows, and that of rows that were held out."""

    model: Path
    training: Path
    held: Path
    reading: ReadingOptions


@cache
def loans(weighted: bool = False) -> Trained:
    """A model of the sample loans, with two columns for audit and a promise, and its rows as files."""
    folder = Path(mkdtemp(prefix="rulekit-report-"))
    table = LOANS
    if weighted:
        table = folder / "weighted.csv"
        draw = random.Random(5)
        with LOANS.open() as source, table.open("w", newline="") as target:
            rows = list(csv.reader(source))
            writer = csv.writer(target)
            writer.writerow([*rows[0], "w"])
            writer.writerows([*row, draw.choice(["0.5", "1", "3"])] for row in rows[1:])
    reading = ReadingOptions(
        target="default", roles={"age": "audit", "homeowner": "audit"}, weight="w" if weighted else None
    )
    model, held = folder / "model.json", folder / "held.csv"
    parameters: dict[str, Any] = {"max_rules": 3, "stopping": "none", "monotone": {"income": "decreasing"}}
    train(TrainingRequest(table, reading, parameters=parameters, holdout=0.3, held_rows=held, output=model))
    header, *lines = table.read_text().splitlines()
    left, rest, kept = Counter(held.read_text().splitlines()[1:]), folder / "training.csv", [header]
    for line in lines:
        left[line] -= 1
        kept += [line] * (left[line] < 0)  # equal rows may stand in both
    rest.write_text("\n".join(kept) + "\n")
    return Trained(model, rest, held, ReadingOptions(weight="w" if weighted else None))
