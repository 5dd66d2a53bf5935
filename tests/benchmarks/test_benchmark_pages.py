"""A run rewrites its own section of the page and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.learning.peers.pages import PAGE, replace_section
from benchmarks.learning.peers.ranking import cells
from benchmarks.learning.peers.report import accuracy_report
from benchmarks.learning.peers.results import Results
from benchmarks.learning.small_models import LEAST, SPLITS, gap, report, time_ratio
from rulekit.errors import InputError


def test_a_section_is_replaced_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- generated: x -->\nold\n<!-- end: x -->\nb\n<!-- generated: y -->\n<!-- end: y -->\n")
    replace_section(page, "x", ["new", "lines"])
    replace_section(page, "x", ["newer"])
    assert page.read_text() == (
        "a\n<!-- generated: x -->\nnewer\n<!-- end: x -->\nb\n<!-- generated: y -->\n<!-- end: y -->\n"
    )


def test_a_page_without_the_section_is_an_error_that_names_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("nothing\n")
    with pytest.raises(InputError, match="no section 'x'"):
        replace_section(page, "x", [])


def test_the_page_has_each_section_once() -> None:
    starts = re.findall(r"<!-- generated: (.+) -->", PAGE.read_text())
    assert sorted(starts) == sorted(set(starts))
    assert {"accuracy", "small models", "curves"} <= set(starts)


def _results(tmp_path: Path) -> Results:
    results = Results(tmp_path / "r.jsonl")
    for k, (ours, boosted) in enumerate([(0.7, 0.75), (0.8, 0.81)]):
        for peer, accuracy, seconds in (("rulekit 20", ours, 1.0), ("HistGB 100", boosted, 2.0)):
            row = {"table": "heloc", "split": f"seed {k}", "peer": peer, "status": "ok", "accuracy": accuracy}
            results.add({**row, "auc": 0.8, "rules": 2, "literals": 20, "seconds": seconds, "n_test": 10})
    results.add({"table": "heloc", "split": "seed 0", "peer": "RIPPER", "status": "limit", "why": "30 CPU seconds"})
    return results


def test_differences_are_paired_with_their_standard_error(tmp_path: Path) -> None:
    rows = _results(tmp_path).rows.values()
    ours, boosted = ({r["split"]: r for r in rows if r["peer"] == name} for name in ("rulekit 20", "HistGB 100"))
    found = gap(ours, boosted)
    assert found is not None
    assert found.mean == pytest.approx(-0.03)
    assert found.error == pytest.approx(0.02)
    assert time_ratio(ours, boosted) == 0.5


def test_the_requirements_of_small_models_stand_beside_what_was_reached(tmp_path: Path) -> None:
    lines = report(_results(tmp_path))
    (line,) = [line for line in lines if line.startswith("| rulekit 20 |")]
    assert "| -0.0300 ± 0.0200 | +0.000, 1.3x |" in line
    assert LEAST["rulekit rules 8"]["breast_cancer_wisconsin"] == -0.015
    assert "dnf" in SPLITS


def test_ranks_are_over_the_tables_where_all_had_their_turn(tmp_path: Path) -> None:
    """A run that is not done yet must not count what was not run as a last place."""
    results = Results(tmp_path / "r.jsonl")
    found = {"auc": 0.8, "rules": 2, "literals": 20, "seconds": 1.0, "status": "ok", "split": "fold 0"}
    for table, peer, accuracy in (("heloc", "rulekit 20", 0.7), ("heloc", "FIGS", 0.8), ("adult", "rulekit 20", 0.9)):
        results.add({**found, "table": table, "peer": peer, "accuracy": accuracy})

    lines = accuracy_report(results, {})

    assert "| 1 tables | mean rank | first or equal first | mean accuracy where all finished (1) |" in lines
    assert "| FIGS | 1.00 | 1 | 0.8000 |" in lines
    assert "| rulekit 20 | 2.00 | 0 | 0.7000 |" in lines
    assert "| adult | 0.9000 | not run |" in lines


def test_what_hit_the_limit_is_in_the_report(tmp_path: Path) -> None:
    results = _results(tmp_path)
    lines = accuracy_report(results, {"imodels==3.0.4": "ERROR: no network"})
    assert "- RIPPER on heloc: limit: 30 CPU seconds; 1 of 1 folds without a result" in lines
    assert "- not installed: imodels==3.0.4 (ERROR: no network)" in lines
    assert cells(results)["heloc", "rulekit 20"].accuracy == pytest.approx(0.75)
