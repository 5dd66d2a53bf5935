"""The UCI tables of the paper and logical data: the errors of docs/benchmarks.md, with at most the stated units."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from benchmarks.learning.logical import LOGICAL, lines_of_x, ours
from benchmarks.learning.paper_tables import DEFAULT, QUANTILES, STUDIES, prepared, split, table
from benchmarks.learning.paper_uci import CURVE, Record, curve, fit_configuration, lines
from benchmarks.learning.peers.data import load
from rulekit import CNLLClassifier
from rulekit.graph.nodes import Among, And, Or
from rulekit.learners.data.binning import least_side

DATA = Path(__file__).parents[2].parent / "shared" / "data"
# Which configuration is looked at, and the most that its error in % may be at a size. On cancer and splice these are
# the requirements. On iono and ocr49 (7.0; 8.0 and 7.1, from other splits, on which a random forest has 5.8 and 4.2 %,
# here 7.4 and 4.3) they are two standard errors above what was measured; ocr49 meets 8.0 with 15 units as they are.
MOST = {
    "cancer": (0, {"up to 11 units": 4.8}),
    "iono": (2, {"up to 15 units": 8.8, "up to 20 units": 8.6}),
    "ocr49": (0, {"up to 15 units": 8.7, "up to 40 units": 7.6, "15 units": 8.0, "31 units": 7.6}),
    "splice": (2, {"up to 12 units": 4.0, "up to 20 units": 4.0}),
}


def test_a_split_has_the_papers_sizes_and_no_row_twice() -> None:
    for study in STUDIES.values():
        train, test = split(study, study.n_train + study.n_test, seed=200)
        assert (len(train), len(test)) == (study.n_train, study.n_test)
        assert len(np.unique(np.concatenate([train, test]))) == study.n_train + study.n_test


def test_the_row_of_the_default_has_its_settings() -> None:
    """It is written out, so that kept results stay true; where the default changes, this row needs a new run."""
    given = CNLLClassifier().get_params()
    assert given["min_rows"] == "auto"
    assert least_side(min(study.n_train for study in STUDIES.values())) == DEFAULT["min_rows"]
    assert {name: given[name] for name in DEFAULT} == {**DEFAULT, "min_rows": "auto"}


def test_tables_are_cut_and_coded_as_the_training_rows_say() -> None:
    """By plain quantiles, or with one true level in each row."""
    train = pl.DataFrame(
        {"even": np.arange(160.0), "heavy": [1.0] * 120 + list(range(2, 42)), "gap": [None, *range(159)]}
    )
    test = pl.DataFrame({"even": [-5.0, 9.0, 10.0, 500.0], "heavy": [0.0, 1.0, 2.0, 99.0], "gap": [None, 0, 1, 2]})
    binned, binned_test = prepared("plain quantiles", train, test)
    assert binned["even"].n_unique() == QUANTILES
    assert np.bincount(binned["even"].to_numpy().astype(int)).tolist() == [10] * QUANTILES
    assert binned_test["even"].to_list() == [0.0, 0.0, 1.0, QUANTILES - 1]
    # Three quarters of the weight at one value leave a quarter of the cuts.
    assert binned["heavy"].n_unique() == QUANTILES // 4 + 1
    assert binned_test["heavy"].to_list()[:2] == [0.0, 0.0]
    assert np.isnan(binned["gap"][0])
    assert np.isnan(binned_test["gap"][0])
    assert not binned["gap"][1:].is_nan().any()

    train, test = pl.DataFrame({"a": ["x", "y", "z"], "b": ["u", "u", "v"]}), pl.DataFrame({"a": ["z"], "b": ["u"]})
    bits, bits_test = prepared("one-hot", train, test)
    assert bits.columns == bits_test.columns == ["a_x", "a_y", "a_z", "b_u", "b_v"]
    assert bits.to_numpy().astype(int).tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 1, 0], [0, 0, 1, 0, 1]]
    assert bits_test.rows() == [(False, False, True, True, False)]


def test_a_fit_is_read_at_its_limits_and_at_fixed_sizes() -> None:
    """Cross-validation may stop below a limit, a fixed size is taken as it is; the curve has all sizes."""
    random = np.random.default_rng(0)
    frame = pl.DataFrame(random.normal(size=(200, 4)), schema=["a", "b", "c", "d"])
    labels = ((frame["a"] + frame["b"]) > random.normal(size=200)).to_numpy().astype(np.int8)
    chosen = replace(STUDIES["ocr49"].configurations[0], limits=(2, 6), fixed=(4,))
    records = list(fit_configuration(chosen, (frame[:150], labels[:150]), (frame[150:], labels[150:])))
    assert [r["model"].rpartition(", ")[2] for r in records[:2]] == ["up to 2 units", "up to 6 units"]
    assert records[0]["units"] <= 2
    assert records[2]["units"] == 4
    assert records[2]["test"] == records[-1]["test"][3]
    assert len(records[-1]["test"]) == len(records[-1]["held out"]) == 6


def test_lines_pair_the_splits_with_adaboost_and_have_the_held_out_error_at_their_own_size() -> None:
    """Two splits: the mean of the differences, not the difference to some other split."""
    sizes = {"units": 2, "literals": 4, "train": 0.0}
    records = [
        {"model": model, "seed": seed, "of": model, "test": test, **sizes}
        for model, tests in (("AdaBoost, 500 stumps", (0.10, 0.20)), ("ours", (0.05, 0.15)))
        for seed, test in enumerate(tests)
    ]
    fit = {"model": CURVE, "of": "ours", "train": [0.3], "test": [0.4], "held out": [0.3, 0.2, 0.1]}
    boosted, own = lines([*records, {**fit, "seed": 0}, {**fit, "seed": 1}])
    assert own.test == pytest.approx(10.0)
    assert own.beyond == pytest.approx(-5.0)
    assert own.beyond_error == pytest.approx(0.0)
    assert own.held_out == pytest.approx(20.0)
    assert np.isnan(boosted.held_out)


def test_a_path_that_ended_early_goes_on_in_the_mean_curve() -> None:
    base = {"model": CURVE, "of": "ours"}
    records = [
        {**base, "seed": 0, "train": [0.4, 0.2], "test": [0.5, 0.3]},
        {**base, "seed": 1, "train": [0.2], "test": [0.1]},
    ]
    train, test = curve(records, "ours")
    assert (train, test) == (pytest.approx([0.3, 0.2]), pytest.approx([0.3, 0.2]))


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
    records: list[Record] = []
    for seed in range(200, 200 + study.splits):
        rows, rows_test = split(study, len(labels), seed)
        train, test = (frame[rows], labels[rows]), (frame[rows_test], labels[rows_test])
        records.extend(r for r in fit_configuration(configuration, train, test) if r["model"] != CURVE)
    for title, error in most.items():
        chosen = [
            r for r in records if r["model"].removesuffix(", no cross-validation") == f"{configuration.name}, {title}"
        ]
        assert len(chosen) == study.splits
        assert 100 * np.mean([record["test"] for record in chosen]) <= error
        assert max(record["units"] for record in chosen) <= int(title.split()[-2])


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), [("tic_tac_toe", 0.025), ("kr_vs_kp", 0.008)])
def test_logical_data_at_30_units(name: str, most: float) -> None:
    if not (DATA / "ionosphere.csv.gz").exists():
        pytest.skip("the benchmark data are not beside the project")
    found = load(name, DATA)
    _, test = ours(found.frame, found.labels, seed=200, settings=LOGICAL)
    assert test[-1] <= most
