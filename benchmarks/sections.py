"""The sections of the page of results that speed and memory fill; one that is not there yet is added at the end."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.peers.pages import replace_section

TITLES = {
    "training time": ("Training time and memory", "training_time"),
    "cost laws": ("Cost laws", "cost_laws"),
    "same model": ("The same model everywhere", "same_model"),
    "prediction": ("Prediction: latency and throughput", "prediction"),
}


def write_section(page: Path, name: str, lines: Sequence[str]) -> None:
    """Put the lines into section `name` of the page."""
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
