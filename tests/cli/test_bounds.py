"""rulekit bounds: which rows its data are, what it says of them, and what it refuses."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from command_line import Run
from report_models import LOANS, loans

import rulekit
from rulekit.audit.guarantees import WEIGHTED, BoundedError, ErrorBounds, bounds_of
from rulekit.audit.report.layouts import markdown
from rulekit.work.evaluating import error_bounds
from rulekit.work.reporting import report


def bounds(data: Path | None = None, training: bool = False) -> ErrorBounds:
    return error_bounds(loans().model, data, loans().reading, trained=training)


def apart(found: ErrorBounds) -> BoundedError:
    assert found.held_out is not None
    return found.held_out


def own(found: ErrorBounds) -> BoundedError:
    assert found.training is not None
    return found.training


def test_a_model_keeps_the_errors_on_its_held_out_rows_and_on_its_training_rows() -> None:
    kept = bounds()
    assert (apart(kept).rows, own(kept).rows) == (600, 1400)
    for part, data in ((apart, loans().held), (own, loans().training)):
        given, known = part(bounds(data)), part(kept)
        assert (given.rows, given.errors, given.fails) == (known.rows, known.errors, "")
        assert given.most_frequent == pytest.approx(known.most_frequent)
        assert given.source == f"{given.rows} rows of {data.name}"


def test_of_a_mixture_of_training_rows_and_others_no_bound_holds() -> None:
    found = bounds(LOANS)
    assert apart(found).fails == "1400 of these 2000 rows are equal to training rows, so the figures flatter"
    assert not any(bound.holds for bound in apart(found).bounds)
    assert own(bounds(LOANS, training=True)).fails == ""  # as the user says


def test_a_part_of_the_training_rows_is_neither(tmp_path: Path) -> None:
    part = tmp_path / "part.csv"
    part.write_text("".join(loans().training.read_text().splitlines(keepends=True)[:301]))
    said = "all of these 300 rows are equal to training rows (21% of these), so the figures flatter"
    assert apart(bounds(part)).fails == said


def test_rows_of_different_weights_have_no_bounds() -> None:
    trained = loans(weighted=True)
    kept = error_bounds(trained.model)
    assert (apart(kept).fails, kept.training) == (WEIGHTED, None)
    assert apart(error_bounds(trained.model, trained.held, trained.reading)).fails == WEIGHTED
    assert apart(error_bounds(trained.model, trained.held)).fails == ""  # each row counts as one


def test_without_hashes_of_training_rows_it_says_that_it_does_not_know(tmp_path: Path) -> None:
    graph = rulekit.load(loans().model)
    plain = tmp_path / "plain.json"
    graph.with_(provenance={}, ladder=None).save(plain)
    assert (error_bounds(plain).held_out, error_bounds(plain).training) == (None, None)
    source = apart(error_bounds(plain, loans().held)).source
    assert source == "600 rows of held.csv, of which it is not known whether they trained the model"
    assert own(error_bounds(plain, loans().training, trained=True)).source == "1400 rows of training.csv"


def test_what_is_no_count_of_training_errors_is_taken_for_none() -> None:
    from rulekit.audit.figures.metrics import kept_figures

    graph = rulekit.load(loans().model)
    for note in (3, [], [[1]], [[1, 2], [3, -4]], [[1, 2], [3, "4"]], {"rows": 1}):
        measured = {**graph.provenance["measured"], "training": note}
        assert kept_figures(graph.with_(provenance={"measured": measured})) is None
    measured = {**graph.provenance["measured"], "training": [[0, 0], [0, 0]]}
    assert bounds_of(graph.with_(provenance={"measured": measured}), None).training is None


def test_the_lines_of_the_command_fit(run: Run) -> None:
    """What they say stands in docs/bounds.md."""
    found = run("bounds", str(loans().model), "--delta", "0.1")
    assert (found.status, found.err) == (0, "")
    assert "with 90 % confidence (exact binomial interval)" in found.out
    assert max(map(len, found.out.splitlines())) <= 80


def test_the_command_prints_json(run: Run) -> None:
    found = json.loads(run("bounds", str(loans().model), str(loans().held), "--json").out)
    assert found == json.loads(json.dumps(asdict(bounds(loans().held))))
    assert found["training"]["bounds"][0]["holds"] is False
    assert found["held_out"]["bounds"][0]["holds"] is True
    told = json.loads(run("bounds", str(loans().model), str(loans().held), "--training", "--json").out)
    assert told["training"]["source"] == "600 rows of held.csv"


def test_a_report_says_the_same() -> None:
    document = report(loans().model, loans().held, reading=loans().reading).document
    assert document.data["bounds"] == asdict(bounds(loans().held))
    card = markdown(document)
    assert "How sure the error is" in card
    assert "(exact binomial interval)" in card


def test_training_rows_that_stand_twice_are_no_more_rows(tmp_path: Path) -> None:
    """They gave a tighter bound that was false."""
    head, *rows = loans().training.read_text().splitlines()
    twice = tmp_path / "twice.csv"
    twice.write_text("\n".join([head, *rows, *rows]) + "\n")
    assert own(bounds(twice)).fails == "these are 2800 rows, and the model was trained on 1400"
