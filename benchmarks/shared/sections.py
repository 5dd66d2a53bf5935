"""The options that commands of speed and memory share, and the section of the page that each of them fills."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from benchmarks.learning.peers.pages import FOLDER, page_of, replace_section
from benchmarks.shared.kept import RESULTS, Kept

TITLES = {
    "training time": ("Training time and memory", "speed.training_time --write"),
    "cost laws": ("Cost laws: time and memory against rows, columns and units", "cost_laws --write"),
    "out of core": ("A file larger than the memory budget", "out_of_core --write"),
    "default several": ("The default on several classes", "learning.default_rules several --write"),
    "default rare": ("The default on rare classes", "learning.default_rules rare --write"),
    "default stability": ("How stable the rules of the default are", "learning.default_rules stability --write"),
    "same model": ("The same model everywhere", "same_model --write"),
    "rare classes": ("Additive rules on rare classes", "learning.several_classes --rare --write"),
    "several classes": ("Additive rules on several classes", "learning.several_classes --write"),
    "noisy logical": ("Noisy-logical data", "learning.paper_cnll noisy --write"),
    "paper uci stumps": ("AdaBoost on the paper's UCI tables", "learning.paper_uci --only stumps --write"),
    "paper boosting": ("AdaBoost as in its source", "learning.paper_boosting --write"),
    "paper noisy-or": ("The noisy-or classifier on Reuters", "learning.paper_noisy_or --write"),
    "gramression table1": ("Gramression: Table 1 and Figures 1 to 3", "learning.paper_gramression table1 --write"),
    "gramression truths": ("Gramression: sentences found again", "learning.paper_gramression truths --write"),
    "gramression random": ("Gramression: random sentences found again", "learning.paper_gramression random --write"),
    "gramression tables": ("Gramression on tables", "learning.paper_gramression tables --write"),
    "paper ltu": ("LTU trees and Madaline networks on five bits", "learning.paper_ltu --write"),
    "noisy forms": ("Noisy-ors as ONNX: operators and proof by causes", "proofs.noisy_forms --write"),
    "text scale": ("Noisy-ors on text: time and memory", "speed.text_scale --write"),
    "small models": ("Small models", "learning.small_models --write"),
    "ltu targets": ("Rules that are known, as trees of linear threshold units", "learning.ltu_targets --write"),
    "unit fits": ("Training of linear threshold units", "speed.unit_fits --write"),
    "oblique trees": ("Trees of linear threshold units on real tables", "learning.oblique --write"),
    "scoring engines": ("Ten million rows by Dask, Spark and DuckDB", "speed.scoring_engines --write"),
    "training engines": ("Training on workers of Dask", "speed.training_engines --write"),
    "prediction": ("Prediction: latency and throughput", "prediction --write"),
    "nearest change": ("The nearest change of a row", "speed.nearest_change --write"),
    "serving": ("Serving: exports beside an empty call, C, skl2onnx and Python by hand", "serving --write"),
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """--small, --write, --anew and --page."""
    parser.add_argument("--small", action="store_true", help="smaller tables and fewer rounds, to try the command")
    parser.add_argument("--write", action="store_true", help="replace the section of docs/benchmarks/ and its picture")
    parser.add_argument("--anew", action="store_true", help="forget the measurements that an earlier run finished")
    parser.add_argument("--page", type=Path, default=FOLDER, help="the page to write, or the folder of the pages")


def kept(arguments: argparse.Namespace, name: str) -> Kept:
    """The finished measurements of a command; a small run keeps its own."""
    return Kept(RESULTS / f"{name}{'_small' if arguments.small else ''}.jsonl", anew=arguments.anew)


def picture(arguments: argparse.Namespace, name: str) -> Path:
    """Where to draw: beside the page with --write, else among the results."""
    return (arguments.page.parent / "pictures" if arguments.write else RESULTS) / f"{name}.png"


def publish(arguments: argparse.Namespace, name: str, lines: Sequence[str]) -> None:
    """Print the lines, and with --write put them into section `name` of the page."""
    print("\n".join(lines))
    if arguments.write:
        write_section(arguments.page, name, lines)
        print(f"\nwritten: section {name!r} of {page_of(arguments.page, name)}")


def write_section(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put the lines into section `name` of its page; a section that is not there yet is added at the end."""
    page = page_of(page, name)
    text = page.read_text() if page.exists() else "# Benchmarks\n"
    if f"<!-- generated: {name} -->" not in text:
        title, module = TITLES[name]
        heading = f"## {title}\n\n`python -m benchmarks.{module}`\n\n"
        page.write_text(f"{text.rstrip()}\n\n{heading}<!-- generated: {name} -->\n<!-- end: {name} -->\n")
    replace_section(page, name, lines)


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A table; the first column is text, the others are numbers."""
    start = ["| " + " | ".join(header) + " |", "|---|" + "--:|" * (len(header) - 1)]
    return [*start, *("| " + " | ".join(row) + " |" for row in rows)]
