"""A run rewrites its own section of the page and nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.learning.peers.pages import FOLDER, PAGES, replace_section
from benchmarks.learning.peers.paired import gap, time_ratio
from benchmarks.learning.peers.ranking import cells
from benchmarks.learning.peers.report import accuracy_report
from benchmarks.learning.peers.results import Results
from benchmarks.learning.peers.small_report import LEAST, MARKS, SPLITS, report
from rulekit.errors import InputError


def test_a_section_is_replaced_between_its_markers(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    text = "a\n<!-- generated: x -->\n{}<!-- end: x -->\nb\n<!-- generated: y -->\n<!-- end: y -->\n"
    page.write_text(text.format("old\n"))
    replace_section(page, "x", ["new", "lines"])
    replace_section(page, "x", ["newer"])
    assert page.read_text() == text.format("newer\n")
    with pytest.raises(InputError, match="no section 'z'"):
        replace_section(page, "z", [])


def test_each_page_has_its_sections_and_each_names_its_run() -> None:
    """A reader sees which figures are of one run: date and commit stand first in every section."""
    assert {path.stem for path in FOLDER.glob("*.md")} == set(PAGES)
    for page, names in PAGES.items():
        starts = re.findall(r"<!-- generated: (.+) -->\n(.*)", (FOLDER / f"{page}.md").read_text())
        assert sorted(name for name, _ in starts) == sorted(names)
        assert all(re.match(r"Run of [\d-]+ at commit [0-9a-f]{7}\b", first) for _, first in starts)


def _results(tmp_path: Path, *rows: tuple[str, str, str, float], **more: Any) -> Results:
    """Fits that came to an end: table, split, learner, accuracy; more: what else is known of each."""
    (tmp_path / "r.jsonl").unlink(missing_ok=True)
    results = Results(tmp_path / "r.jsonl")
    found = {"status": "ok", "auc": 0.8, "rules": 2, "literals": 20, "seconds": 1.0, **more}
    for table, split, peer, accuracy in rows:
        results.add({**found, "table": table, "split": split, "peer": peer, "accuracy": accuracy})
    return results


def _heloc(tmp_path: Path) -> Results:
    """Two splits of two learners, of which boosting takes twice as long, and another that hit the limit."""
    both = [("rulekit 20", (0.7, 0.8)), ("HistGB 100", (0.75, 0.81))]
    results = _results(tmp_path, *(("heloc", f"seed {k}", peer, own[k]) for k in (0, 1) for peer, own in both))
    for row in [row for row in results.rows.values() if row["peer"] == "HistGB 100"]:
        results.add({**row, "seconds": 2.0})
    results.add({"table": "heloc", "split": "seed 0", "peer": "RIPPER", "status": "limit", "why": "30 CPU seconds"})
    return results


def test_differences_are_paired_with_their_standard_error(tmp_path: Path) -> None:
    rows = _heloc(tmp_path).rows.values()
    ours, boosted = ({r["split"]: r for r in rows if r["peer"] == name} for name in ("rulekit 20", "HistGB 100"))
    found = gap(ours, boosted)
    assert found is not None
    assert (found.mean, found.error) == (pytest.approx(-0.03), pytest.approx(0.02))
    assert time_ratio(ours, boosted) == 0.5


def test_the_requirements_of_small_models_stand_beside_what_was_reached(tmp_path: Path) -> None:
    lines = report(_heloc(tmp_path))
    required = "at least +0.000 to HistGB 100, at most 1.3x its time"
    assert f"| heloc, rulekit 20 | {required} | -0.0300 ± 0.0200, 0.50x | NOT met |" in lines
    (line,) = [line for line in lines if line.startswith("| rulekit 20 |")]
    assert line.startswith("| rulekit 20 | 0.7500 | -0.0300 ± 0.0200 |  |  | 0.8000 | 2.0 | 20.0 | 0.50 |")
    assert LEAST["rulekit rules 8"]["breast_cancer_wisconsin"] == -0.015
    assert LEAST["additive 20"]["magic_telescope"] == -0.019
    assert MARKS["breast_cancer_wisconsin"] == 0.9629
    assert "dnf" in SPLITS


def _small(tmp_path: Path, accuracies: Mapping[str, tuple[float, float]]) -> Results:
    """Two splits of german_credit by learner."""
    rows = (("german_credit", f"seed {k}", peer, own[k]) for peer, own in accuracies.items() for k in (0, 1))
    return _results(tmp_path, *rows, rules=20, literals=22)


@pytest.mark.parametrize(
    ("peer", "accuracies", "line"),
    [
        (
            "additive 20, points",
            (0.74, 0.77),
            "| german_credit, additive 20, points | at most 0.005 under additive 20 | -0.0050 ± 0.0050 | met |",
        ),
        ("additive 10", (0.74, 0.74), "| german_credit, additive 10 | mark 0.7460 | 0.7400 | NOT met |"),
        ("additive 20, beam 1", (0.74, 0.74), "| a beam of 1 | -0.0200 ± 0.0100 |"),
    ],
)
def test_a_card_ten_rules_and_an_ingredient_are_compared_with_the_whole(
    peer: str, accuracies: tuple[float, float], line: str, tmp_path: Path
) -> None:
    given = {"HistGB 100": (0.75, 0.75), "additive 20": (0.75, 0.77), peer: accuracies}
    assert line in report(_small(tmp_path, given))


def test_the_logical_table_asks_for_the_size_of_the_truth_on_every_split(tmp_path: Path) -> None:
    results = _results(tmp_path, *(("dnf", f"seed {k}", "HistGB 100", 0.95) for k in range(3)))
    for k, rules in enumerate((2, 2, 3)):
        row = results.rows["dnf", f"seed {k}", "HistGB 100"]
        results.add({**row, "peer": "additive 20", "rules": rules, "literals": 2 * rules})
    measured = "on 2 of 3 splits; else 3 rules, 6 literals"
    asked = f"| dnf, additive 20 | 2 rules, 4 literals, chosen by itself | {measured} | NOT met |"
    assert asked in report(results)


def test_a_fit_that_had_more_time_than_boosting_is_marked(tmp_path: Path) -> None:
    results = _small(tmp_path, {"HistGB 100": (0.75, 0.75), "FasterRisk 10": (0.7, 0.7)})
    for row in list(results.rows.values()):
        results.add({**row, "limit": 240.0 if row["peer"] == "FasterRisk 10" else 30.0})
    assert any(line.startswith("| FasterRisk 10, at most 240 s | 0.7000 |") for line in report(results))


def _folds(tmp_path: Path, *rows: tuple[str, str, float]) -> Results:
    """One fold each: table, learner, accuracy; boosting has many rules."""
    results = _results(tmp_path, *((table, "fold 0", peer, accuracy) for table, peer, accuracy in rows))
    for row in [row for row in results.rows.values() if row["peer"] == "HistGB 100"]:
        results.add({**row, "rules": 3100})
    return results


def test_what_is_asked_of_additive_rules_stands_beside_what_was_reached(tmp_path: Path) -> None:
    """Boosting takes part in the rank whatever its size; another model is compared where it finished."""
    both = {"additive 20": (0.72, 0.86), "HistGB 100": (0.71, 0.88), "FIGS": (0.70, 0.87)}
    rows = [(table, peer, own[k]) for k, table in enumerate(("heloc", "adult")) for peer, own in both.items()]
    lines = accuracy_report(_folds(tmp_path, *rows), {})
    for asked, measured in (
        ("mean accuracy on 2 tables | at most 0.005 under HistGB 100", "0.7900, -0.0050"),
        ("mean accuracy | above every other model of at most 20 rules", "nearest: FIGS, +0.0050"),
        ("mean rank | second to HistGB 100 at worst", "2.00; before it: HistGB 100"),
    ):
        assert f"| additive 20, {asked} | {measured} | met |" in lines
    last = [("heloc", "additive 20", 0.70), ("heloc", "HistGB 100", 0.72), ("heloc", "FIGS", 0.71)]
    lines = accuracy_report(_folds(tmp_path, *last), {})
    measured = "3.00; before it: HistGB 100, FIGS"
    assert f"| additive 20, mean rank | second to HistGB 100 at worst | {measured} | NOT met |" in lines


def test_ranks_are_over_the_tables_where_all_had_their_turn(tmp_path: Path) -> None:
    """A run that is not done yet must not count what was not run as a last place."""
    rows = ("heloc", "rulekit 20", 0.7), ("heloc", "FIGS", 0.8), ("adult", "rulekit 20", 0.9)
    lines = accuracy_report(_folds(tmp_path, *rows), {})
    assert "| 1 tables | mean rank | first or equal first | mean accuracy where all finished (1) |" in lines
    assert "| FIGS | 1.00 | 1 | 0.8000 |" in lines
    assert "| rulekit 20 | 2.00 | 0 | 0.7000 |" in lines
    assert "| adult | 0.9000 | not run |" in lines


def test_what_hit_the_limit_is_in_the_report(tmp_path: Path) -> None:
    results = _heloc(tmp_path)
    lines = accuracy_report(results, {"imodels==3.0.4": "ERROR: no network"})
    assert "- RIPPER on heloc: limit: 30 CPU seconds; 1 of 1 folds without a result" in lines
    assert "- not installed: imodels==3.0.4 (ERROR: no network)" in lines
    assert cells(results)["heloc", "rulekit 20"].accuracy == pytest.approx(0.75)
