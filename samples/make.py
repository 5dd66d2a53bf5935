"""Makes every sample again, and refreshes the transcripts and option tables of the pages.

    python -m samples.make                all of it
    python -m samples.make --pages        the pages only

Run it at the root of the project. The same code and the same libraries give the same files, byte for byte.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rulekit import plot_boundary
from samples.commands import run_command
from samples.pumps import pumps
from samples.tickets import tickets

HERE = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Sample:
    """A table, by default of the same name, and how its model is trained and exported: all files in `exports/NAME`.

    onnx: options of the export to ONNX.
    """

    name: str
    training: tuple[str, ...]
    source: str = ""
    onnx: tuple[str, ...] = ()
    ending: str = "csv"

    @property
    def table(self) -> Path:
        """The file of the table."""
        return HERE / f"{self.source or self.name}.{self.ending}"

    @property
    def folder(self) -> Path:
        """Where the model and its exports are."""
        return HERE / "exports" / self.name

    @property
    def steps(self) -> tuple[tuple[str, ...], ...]:
        """The commands that make the files, from within the folder."""
        data = f"../../{self.table.name}"
        return (
            ("train", data, *self.training, "-o", "model.json"),
            ("export", "model.json", "--to", "onnx", *self.onnx, "-o", "model.onnx"),
            ("export", "model.json", "--to", "python", "-o", "model.py"),
            ("export", "model.json", "--to", "text", "-o", "rules.txt"),
            ("predict", "model.json", data, "-o", "predictions.csv"),
            ("verify", "model.json", "model.onnx", "--data", data, "--report", "parity.json"),
        )


# At most eight rules, their points whole and of at most 5 in size.
CARD = ("--learner", "additive", "--param", "max_rules=8", "--param", "points=5")
SAMPLES = (
    Sample("loans", ("--target", "default", "--holdout", "0.25")),
    Sample("loans_card", ("--target", "default", "--holdout", "0.25", *CARD), "loans"),
    Sample("breast_cancer", ("--target", "diagnosis", "--positive", "malignant", "--holdout", "0.25")),
    Sample(
        "tickets",
        ("--target", "urgent", "--holdout", "0.25", "--learner", "noisy-or-paper", "--type", "ticket=text"),
        onnx=("--input", "ids"),
    ),
    Sample("networks", ("--target", "incident", "--holdout", "0.25", "--learner", "gramression"), ending="jsonl"),
    Sample("pumps", ("--target", "stopped", "--holdout", "0.25", "--learner", "ltu-tree")),
)


def write_loans(path: Path) -> None:
    """The made-up loan applications that the command bundles: 2,000 rows, categories, missing values."""
    from rulekit.synthetic import loans, write_csv

    write_csv(loans(2000, seed=1), path)


def write_breast_cancer(path: Path) -> None:
    """The diagnostic breast-cancer table of Wisconsin as scikit-learn ships it: 569 rows, 30 measurements."""
    from sklearn.datasets import load_breast_cancer

    from rulekit.synthetic import write_csv

    data = load_breast_cancer()
    columns = {str(name).replace(" ", "_"): data.data[:, j].tolist() for j, name in enumerate(data.feature_names)}
    columns["diagnosis"] = [str(data.target_names[k]) for k in data.target]
    write_csv(columns, path)


def write_tickets(path: Path) -> None:
    """The made-up tickets of a help desk: 600 texts, some empty."""
    from rulekit.synthetic import write_csv

    write_csv(tickets(600, seed=1), path)


def write_pumps(path: Path) -> None:
    """The made-up readings of pumps: 1,000 rows, alarms, numbers, a category, missing values."""
    from rulekit.synthetic import write_csv

    write_csv(pumps(1000, seed=1), path)


def write_networks(path: Path) -> None:
    """Made-up networks of four machines: which are exposed, which unpatched, which reaches which, one a line."""
    from rulekit.schema import Feature
    from rulekit.synthetic import structures

    chain = "exists x, y: exposed(x) and reaches(x, y) and unpatched(y)"
    columns, labels = structures(
        *(800, 1),
        sentences={chain: 3.0, "exposed(db)": 2.0},
        bias=-2.5,
        arities={"exposed": 1, "unpatched": 1, "reaches": 2},
        objects=("web", "mail", "files", "db"),
        p=0.3,
    )
    atoms = {name: atom for name in columns if (atom := Feature(name, "boolean").atom)}
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row, label in enumerate(labels.tolist()):
            said: dict[str, Any] = {predicate: [] for predicate, _ in atoms.values()}
            for name, (predicate, objects) in atoms.items():
                if columns[name][row]:
                    said[predicate].append(objects[0] if len(objects) == 1 else list(objects))
            file.write(json.dumps({**said, "incident": "yes" if label else "no"}) + "\n")


def draw_boundary(path: Path) -> None:
    """The picture of docs/ltu.md: what units decide of two half moons of points."""
    from sklearn.datasets import make_moons

    from rulekit import LTUTreeClassifier

    X, y = make_moons(600, noise=0.2, random_state=0)
    points = {"x": X[:, 0].round(3), "y": X[:, 1].round(3)}
    graph = LTUTreeClassifier(target="moon", random_state=0).fit(points, y).rule_graph_
    plot_boundary(graph, ("x", "y"), points, y).figure.savefig(path, dpi=120)


def make_samples() -> None:
    """Tables, models, exports, expected predictions and parity reports."""
    write_loans(HERE / "loans.csv")
    write_breast_cancer(HERE / "breast_cancer.csv")
    write_tickets(HERE / "tickets.csv")
    write_pumps(HERE / "pumps.csv")
    write_networks(HERE / "networks.jsonl")
    draw_boundary(HERE.parent / "docs" / "pictures" / "ltu_boundary.png")
    for sample in SAMPLES:
        sample.folder.mkdir(parents=True, exist_ok=True)
        for step in sample.steps:
            ran = run_command(step, sample.folder)
            if ran.status:
                raise SystemExit(f"rulekit {' '.join(step)}: {ran.text}")
        print(f"made {sample.folder.relative_to(HERE.parent)}")


def main(arguments: list[str]) -> int:
    """Make what is asked for; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m samples.make", description=__doc__.splitlines()[0])
    parser.add_argument("--pages", action="store_true", help="refresh the pages only")
    given = parser.parse_args(arguments)
    if not given.pages:
        make_samples()
    from samples.pages import refresh_pages

    return 0 if refresh_pages() else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
