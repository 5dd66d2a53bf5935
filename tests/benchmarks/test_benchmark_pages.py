"""A run rewrites its own section of the page and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_each_page_has_its_sections_and_each_names_its_run() -> None:
    """A reader sees which figures are of one run: date and commit stand first in every section."""
    assert {path.stem for path in FOLDER.glob("*.md")} == set(PAGES)
    for page, names in PAGES.items():
        starts = re.findall(r"<!-- generated: (.+) -->\n(.*)", (FOLDER / f"{page}.md").read_text())
        assert sorted(name for name, _ in starts) == sorted(names)
        assert all(re.match(r"Run of [\d-]+ at commit [0-9a-f]{7}\b", first) for _, first in starts)


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
    required = "at least +0.000 to HistGB 100, at most 1.3x its time"
    assert f"| heloc, rulekit 20 | {required} | -0.0300 ± 0.0200, 0.50x | NOT met |" in lines
    (line,) = [line for line in lines if line.startswith("| rulekit 20 |")]
    assert line.startswith("| rulekit 20 | 0.7500 | -0.0300 ± 0.0200 |  |  | 0.8000 | 2.0 | 20.0 | 0.50 |")
    assert LEAST["rulekit rules 8"]["breast_cancer_wisconsin"] == -0.015
    assert LEAST["additive 20"]["magic_telescope"] == -0.019
    assert MARKS["breast_cancer_wisconsin"] == 0.9629
    assert "dnf" in SPLITS


def _small(tmp_path: Path, **accuracies: tuple[float, float]) -> Results:
    """Results of two splits of german_credit: the name with _ for each space, and the two accuracies."""
    results = Results(tmp_path / "small.jsonl")
    for name, both in accuracies.items():
        for k, accuracy in enumerate(both):
            row = {"table": "german_credit", "split": f"seed {k}", "peer": name.replace("_", " "), "status": "ok"}
            results.add({**row, "accuracy": accuracy, "auc": 0.8, "rules": 20, "literals": 22, "seconds": 1.0})
    return results


def test_a_score_card_may_cost_half_a_point_and_ten_rules_have_a_mark(tmp_path: Path) -> None:
    given = {"HistGB 100": (0.75, 0.75), "additive 20": (0.75, 0.77), "additive 10": (0.74, 0.74)}
    lines = report(_small(tmp_path, **given, **{"additive 20, points": (0.74, 0.77)}))
    assert "| german_credit, additive 20, points | at most 0.005 under additive 20 | -0.0050 ± 0.0050 | met |" in lines
    assert "| german_credit, additive 10 | mark 0.7460 | 0.7400 | NOT met |" in lines


def test_what_an_ingredient_is_worth_is_paired_with_the_whole(tmp_path: Path) -> None:
    given = {"HistGB 100": (0.75, 0.75), "additive 20": (0.75, 0.77), "additive 20, beam 1": (0.74, 0.74)}
    assert "| a beam of 1 | -0.0200 ± 0.0100 |" in report(_small(tmp_path, **given))


def test_the_logical_table_asks_for_the_size_of_the_truth_on_every_split(tmp_path: Path) -> None:
    results = Results(tmp_path / "r.jsonl")
    base = {"table": "dnf", "status": "ok", "accuracy": 0.95, "auc": 0.9, "seconds": 1.0}
    for k, rules in enumerate((2, 2, 3)):
        results.add({**base, "split": f"seed {k}", "peer": "additive 20", "rules": rules, "literals": 2 * rules})
        results.add({**base, "split": f"seed {k}", "peer": "HistGB 100", "rules": 9, "literals": 9})
    measured = "on 2 of 3 splits; else 3 rules, 6 literals"
    asked = f"| dnf, additive 20 | 2 rules, 4 literals, chosen by itself | {measured} | NOT met |"
    assert asked in report(results)


def test_a_fit_that_had_more_time_than_boosting_is_marked(tmp_path: Path) -> None:
    results = _small(tmp_path, **{"HistGB 100": (0.75, 0.75), "FasterRisk 10": (0.7, 0.7)})
    for row in list(results.rows.values()):
        results.add({**row, "limit": 240.0 if row["peer"] == "FasterRisk 10" else 30.0})
    assert any(line.startswith("| FasterRisk 10, at most 240 s | 0.7000 |") for line in report(results))


def _folds(tmp_path: Path, rows: list[tuple[str, str, float, int]]) -> Results:
    """One fold each: table, learner, accuracy, rules."""
    results = Results(tmp_path / "folds.jsonl")
    for table, peer, accuracy, rules in rows:
        found = {"status": "ok", "split": "fold 0", "auc": 0.8, "literals": 20, "seconds": 1.0}
        results.add({**found, "table": table, "peer": peer, "accuracy": accuracy, "rules": rules})
    return results


def test_what_is_asked_of_additive_rules_stands_beside_what_was_reached(tmp_path: Path) -> None:
    """Boosting takes part in the rank whatever its size; another model is compared where it finished."""
    rows = [
        ("heloc", "additive 20", 0.72, 20),
        ("heloc", "HistGB 100", 0.71, 3100),
        ("heloc", "FIGS", 0.70, 16),
        ("adult", "additive 20", 0.86, 20),
        ("adult", "HistGB 100", 0.88, 3100),
        ("adult", "FIGS", 0.87, 16),
    ]
    lines = accuracy_report(_folds(tmp_path, rows), {})
    assert (
        "| additive 20, mean accuracy on 2 tables | at most 0.005 under HistGB 100 | 0.7900, -0.0050 | met |" in lines
    )
    above = (
        "| additive 20, mean accuracy | above every other model of at most 20 rules | nearest: FIGS, +0.0050 | met |"
    )
    assert above in lines
    assert "| additive 20, mean rank | second to HistGB 100 at worst | 2.00; before it: HistGB 100 | met |" in lines


def test_another_model_before_ours_in_rank_is_named(tmp_path: Path) -> None:
    rows = [("heloc", "additive 20", 0.70, 20), ("heloc", "HistGB 100", 0.72, 3100), ("heloc", "FIGS", 0.71, 16)]
    lines = accuracy_report(_folds(tmp_path, rows), {})
    measured = "3.00; before it: HistGB 100, FIGS"
    assert f"| additive 20, mean rank | second to HistGB 100 at worst | {measured} | NOT met |" in lines


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
