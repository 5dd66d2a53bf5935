"""Sections of the page of results that a run rewrites, between markers of its own."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.learning.peers.runner import machine
from rulekit.errors import InputError

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks.md"


def replace_section(path: Path, name: str, lines: Sequence[str]) -> None:
    """Put these lines between `<!-- generated: name -->` and `<!-- end: name -->`; raises InputError without them."""
    text = path.read_text()
    start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    if text.count(start) != 1 or text.count(end) != 1 or text.index(start) > text.index(end):
        raise InputError(f"no section {name!r} between its markers", where=str(path), fix=f"write {start} and {end}")
    before, rest = text.split(start)
    after = rest.split(end)[1]
    body = "\n".join(lines).strip()
    path.write_text(f"{before}{start}\n{body}\n{end}{after}")


def run_with(versions: Mapping[str, Mapping[str, str]], limit: float) -> list[str]:
    """When, where and with what a section was made."""
    used = sorted({f"{name} {version}" for found in versions.values() for name, version in found.items()})
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return [
        f"Run of {today} on {machine()}; {', '.join(used)}. One thread; at most {limit:g} CPU seconds for a fit.",
        "",
    ]
