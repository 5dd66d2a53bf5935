"""Sections of the pages of results that a run rewrites, between markers of its own."""

from __future__ import annotations

import datetime
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.learning.peers.runner import machine
from rulekit.errors import InputError

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "docs" / "benchmarks"
# The pages of the folder with their sections.
PAGES = {
    "accuracy": (
        *("accuracy", "curves", "several classes", "rare classes"),
        *("default several", "default rare", "default stability"),
    ),
    "small-models": ("small models",),
    "papers": (
        *("paper uci", "paper uci stumps", "noisy logical", "paper boosting", "logical", "paper noisy-or"),
        *("gramression table1", "gramression truths", "gramression random", "gramression tables"),
        *("mcmc noisy", "mcmc adult"),
    ),
    "ltu": ("paper ltu", "ltu targets", "oblique trees", "unit fits"),
    "speed": (
        *("training time", "cost laws", "out of core", "text scale", "nearest change"),
        *("scoring engines", "training engines"),
    ),
    "serving": ("prediction", "serving"),
    "service": (),
    "proofs": ("same model", "noisy forms"),
}


def page_of(place: Path, name: str) -> Path:
    """The file of section `name`: the place itself, or the page of the folder that has this section."""
    if place.is_dir():
        return place / next(f"{page}.md" for page, names in PAGES.items() if name in names)
    return place


def replace_section(path: Path, name: str, lines: Sequence[str]) -> None:
    """Put these lines between `<!-- generated: name -->` and `<!-- end: name -->`; raises InputError without them."""
    path = page_of(path, name)
    text = path.read_text()
    start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise InputError(f"no section {name!r} between its markers", where=str(path), fix=f"write {start} and {end}")
    before, rest = text.split(start)
    after = rest.split(end)[1]
    body = "\n".join(lines).strip()
    if path.parent == FOLDER:
        body = body.replace("](pictures/", "](../pictures/")
    path.write_text(f"{before}{start}\n{body}\n{end}{after}")


def run_with(versions: Mapping[str, Mapping[str, str]], limit: float) -> list[str]:
    """When, where and with what a section was made."""
    used = sorted({f"{name} {version}" for found in versions.values() for name, version in found.items()})
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return [
        f"Run of {today} at {commit()} on {machine()}; {', '.join(used)}. One thread; at most {limit:g} CPU seconds "
        "for a fit.",
        "",
    ]


def commit() -> str:
    """The commit of the code that is measured, and whether files differ from it."""
    asked = ("git", "-C", str(ROOT), "describe", "--always", "--dirty=, with changes", "--abbrev=7", "--exclude=*")
    found = subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
    return f"commit {found}" if found else "an unknown commit"
