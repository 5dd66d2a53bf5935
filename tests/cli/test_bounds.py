"""rulekit bounds: which rows its data are, what it says of them, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, assert_refused
from report_models import LOANS, loans

import rulekit
from rulekit.audit.guarantees.bounds import ErrorBounds
from rulekit.audit.guarantees.error_counts import WEIGHTED
from rulekit.audit.report.layouts.markdown_layout import markdown
from rulekit.tables.options import ReadingOptions
from rulekit.work.bounding import error_bounds
from rulekit.work.reporting import ReportRequest, report


def bounds(data: Path | None = None, role: str = "", reading: ReadingOptions | None = None) -> ErrorBounds:
    return error_bounds(loans().model, data, reading or loans().reading, role)


def test_a_model_keeps_the_errors_on_its_held_out_rows_and_on_its_training_rows() -> None:
    kept = bounds()
    assert {told: (count.rows, count.fails) for told, count in kept.counts.items()} == {
        "held_out": (600, ""),
        "training": (1400, ""),
    }
    for told, data in (("held_out", loans().held), ("training", loans().training)):
        given, known = bounds(data).counts[told], kept.counts[told]
        assert (given.rows, given.errors, given.fails) == (known.rows, known.errors, "")
        assert given.most_frequent == pytest.approx(known.most_frequent)
        assert given.source == f"{given.rows} rows of {data.name}"


def test_of_a_mixture_of_training_rows_and_others_no_bound_holds() -> None:
    found = bounds(LOANS)
    assert found.counts["held_out"].fails == "1400 of these rows equal training rows, and may be the same rows"
    assert all(bound.fails for bound in found.bounds["held_out"])
    assert bounds(LOANS, "training").counts["training"].fails == ""  # as the user says


def test_a_part_of_the_training_rows_is_neither(tmp_path: Path) -> None:
    part = tmp_path / "part.csv"
    part.write_text("".join(loans().training.read_text().splitlines(keepends=True)[:301]))
    assert bounds(part).counts["held_out"].fails == "300 of these rows equal training rows, and may be the same rows"


def test_rows_of_different_weights_have_no_bounds() -> None:
    trained = loans(weighted=True)
    kept = error_bounds(trained.model)
    assert {told: count.fails for told, count in kept.counts.items()} == {"held_out": WEIGHTED}
    assert error_bounds(trained.model, trained.held, trained.reading).counts["held_out"].fails == WEIGHTED
    assert error_bounds(trained.model, trained.held).counts["held_out"].fails == ""  # each row counts as one


def test_without_hashes_of_training_rows_it_says_that_it_does_not_know(tmp_path: Path) -> None:
    graph = rulekit.load(loans().model)
    plain = tmp_path / "plain.json"
    graph.with_(provenance={}, ladder=None).save(plain)
    assert error_bounds(plain).counts == {}
    source = error_bounds(plain, loans().held).counts["held_out"].source
    assert source == "600 rows of held.csv, of which it is not known whether they trained the model"
    assert error_bounds(plain, loans().training, role="training").counts["training"].source.endswith("training.csv")


def test_what_is_no_count_of_training_errors_is_taken_for_none() -> None:
    from rulekit.audit.figures.kept_figures import kept_figures

    graph = rulekit.load(loans().model)
    wrong = [3, [], {"rows": 1}, {"rows": 1, "errors": 2, "most_frequent_class": 1}]
    wrong += [{"rows": 0, "errors": 0, "most_frequent_class": 0}]
    for note in wrong:
        measured = {**graph.provenance["measured"], "training": note}
        assert kept_figures(graph.with_(provenance={"measured": measured})) is None or not note


def test_the_command_says_it_in_lines(run: Run) -> None:
    found = run("bounds", str(loans().model), "--delta", "0.1")
    assert (found.status, found.err) == (0, "")
    lines = found.out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [
        "held-out rows",
        "training rows",
        "how many rows are needed",
    ]
    assert "with 90 % confidence (exact binomial interval)" in found.out
    assert "(Occam bound)" in found.out
    assert "    assumes: the rows are independent draws" in found.out
    assert max(map(len, lines)) <= 80


def test_the_command_prints_json(run: Run) -> None:
    found = json.loads(run("bounds", str(loans().model), str(loans().held), "--json").out)
    assert found == bounds(loans().held).as_dict()
    assert found["training"]["bounds"][0]["holds"] is False
    assert found["held_out"]["bounds"][0]["holds"] is True
    told = json.loads(run("bounds", str(loans().model), str(loans().held), "--rows", "training", "--json").out)
    assert told["training"]["source"] == "600 rows of held.csv"


def test_bad_use_is_one_line(run: Run, tmp_path: Path) -> None:
    assert_refused(run("bounds", str(loans().model), "--delta", "1.5"), "--delta", "0.05")
    assert_refused(run("bounds", str(loans().model), "--epsilon", "0"), "--epsilon")
    assert_refused(run("bounds", str(loans().model), str(tmp_path / "none.csv")), "none.csv")
    assert_refused(run("bounds", str(tmp_path / "none.json")), "none.json")


def test_a_report_says_the_same() -> None:
    document = report(ReportRequest(loans().model, loans().held, reading=loans().reading)).document
    assert document.data["bounds"] == bounds(loans().held).as_dict()
    card = markdown(document)
    assert "How sure the error is" in card
    assert "(exact binomial interval)" in card
