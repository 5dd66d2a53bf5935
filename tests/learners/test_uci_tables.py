"""The UCI tables of the paper and logical data: the errors of docs/benchmarks.md, with at most the stated units."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.logical import LOGICAL, lines_of_x, ours
from benchmarks.paper_uci import CURVE, STUDIES, curve, fit_configuration, lines, split, table
from benchmarks.peers.data import load
from rulekit.graph.nodes import Among, And, Or

DATA = Path(__file__).parents[2].parent / "shared" / "data"
# Which configuration is looked at, and the most that its error in % may be at each limit of units. On cancer and splice
# these are the requirements; on iono and ocr49 (7.0; 8.0 and 7.1 on other splits, on which a random forest has 5.8 and
# 4.2 %, here 7.4 and 4.3) two standard errors above what was measured.
MOST = {"cancer": (0, (4.8,)), "iono": (2, (8.8, 8.6)), "ocr49": (0, (8.7, 8.0)), "splice": (2, (4.0, 4.0))}


def test_a_split_has_the_papers_sizes_and_no_row_twice() -> None:
    for study in STUDIES.values():
        train, test = split(study, study.n_train + study.n_test, seed=200)
        assert (len(train), len(test)) == (study.n_train, study.n_test)
        assert len(np.unique(np.concatenate([train, test]))) == study.n_train + study.n_test


def test_lines_pair_the_splits_with_adaboost() -> None:
    """Two splits: the mean of the differences, not the difference to some other split."""
    records = [
        {"model": model, "seed": seed, "of": model, "units": 3, "literals": 4, "train": 0.0, "test": test}
        for model, tests in (("AdaBoost, 500 stumps", (0.10, 0.20)), ("ours", (0.05, 0.15)))
        for seed, test in enumerate(tests)
    ]
    ours_line = lines([*records, {"model": CURVE, "of": "ours", "seed": 0, "train": [0.3], "test": [0.4]}])[1]
    assert ours_line.test == pytest.approx(10.0)
    assert ours_line.beyond == pytest.approx(-5.0)
    assert ours_line.beyond_error == pytest.approx(0.0)


def test_a_path_that_ended_early_goes_on_in_the_mean_curve() -> None:
    records = [
        {"model": CURVE, "of": "ours", "seed": 0, "train": [0.4, 0.2], "test": [0.5, 0.3]},
        {"model": CURVE, "of": "ours", "seed": 1, "train": [0.2], "test": [0.1]},
    ]
    train, test = curve(records, "ours")
    assert train == pytest.approx([0.3, 0.2])
    assert test == pytest.approx([0.3, 0.2])


def test_lines_of_x_are_read_from_clauses_of_x_alone() -> None:
    row = And([Among(f"top_{side}", ("x",), False) for side in ("left", "middle", "right")])
    column = And([Among(f"{row}_left", ("x",), False) for row in ("top", "middle", "bottom")])
    found = lines_of_x(Or([row, column]))
    assert found is not None
    assert frozenset({"top_left", "middle_left", "bottom_left"}) in found
    assert lines_of_x(Or([row, And([Among("top_left", ("b", "x"), False), column])])) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", list(STUDIES))
def test_error_and_units_on_the_papers_splits(name: str) -> None:
    """Configurations that were fixed before; 60, 60, 10 and 10 random splits, seeds from 200."""
    if not (DATA / "ionosphere.csv.gz").exists():
        pytest.skip("the benchmark data are not beside the project")
    study, (which, most) = STUDIES[name], MOST[name]
    configuration = study.configurations[which]
    frame, labels = table(study, DATA)
    records = []
    for seed in range(200, 200 + study.splits):
        rows, rows_test = split(study, len(labels), seed)
        train, test = (frame[rows], labels[rows]), (frame[rows_test], labels[rows_test])
        records.extend(r for r in fit_configuration(configuration, train, test) if r["model"] != CURVE)
    models = list(dict.fromkeys(record["model"] for record in records))
    for model, limit, error in zip(models, configuration.limits, most, strict=True):
        chosen = [record for record in records if record["model"] == model]
        assert 100 * np.mean([record["test"] for record in chosen]) <= error
        assert max(record["units"] for record in chosen) <= limit


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("tic_tac_toe", 0.025), ("kr_vs_kp", 0.008)])
def test_logical_data_at_30_units(name: str, most: float) -> None:
    if not (DATA / "ionosphere.csv.gz").exists():
        pytest.skip("the benchmark data are not beside the project")
    found = load(name, DATA)
    _, test = ours(found.frame, found.labels, seed=200, settings=LOGICAL)
    assert test[-1] <= most
