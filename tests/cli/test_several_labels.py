"""Cells with several labels: a model for each in one folder, figures of all together, one threshold for all."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from command_line import Run, done
from hypothesis import given
from hypothesis import strategies as st

from rulekit.audit.figures.curves import LabelFigures, macro_average, micro_average, threshold_curve

SMALL = ("--param", "max_rules=3")


@pytest.fixture
def topics(tmp_path: Path) -> Path:
    """400 rows; grain where a > 0.5, wheat where moreover b > 0.5, three rows with a rare label, many with none."""
    rng = np.random.default_rng(2)
    with (tmp_path / "topics.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "b", "topics"])
        for k, (a, b) in enumerate(rng.random((400, 2)).round(2).tolist()):
            labels = [*(["grain"] if a > 0.5 else []), *(["winter wheat"] if min(a, b) > 0.5 else [])]
            rows.writerow([a, b, "; ".join([*labels, *(["rare"] if k < 3 else [])])])
    return tmp_path / "topics.csv"


def test_each_label_gets_a_model_and_they_are_measured_together(run: Run, topics: Path, tmp_path: Path) -> None:
    """Cells without a label are rows of no label, and a model knows how its labels stood."""
    ran = done(run("train", "topics.csv", "--target", "topics", "--label-separator", ";", "-o", "models", *SMALL))
    assert sorted(path.name for path in (tmp_path / "models").iterdir()) == ["grain.json", "winter_wheat.json"]
    assert "1 label of fewer than 10 rows got no model" in ran.err
    curves = ("--curve", "curve.csv", "--curve", "curve.png")
    found = json.loads(run("evaluate", "models", "topics.csv", "--json", *curves).out)
    assert [each["label"] for each in found["per_label"]] == ["grain", "winter wheat"]
    assert found["per_label"][0]["support"] == sum("grain" in line for line in topics.read_text().splitlines())
    assert found["micro"]["f1"] == found["macro"]["f1"] == found["break_even"]["rate"] == 1.0
    assert (tmp_path / "curve.csv").read_text().startswith("threshold,precision,recall\n")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    alone = run("evaluate", "models/grain.json", "topics.csv")
    assert "not grain" in alone.out
    assert "accuracy 1.000" in alone.out


def test_one_label_is_named_as_the_positive_one(run: Run, topics: Path, tmp_path: Path) -> None:
    asked = ("--target", "topics", "--label-separator", ";", "-o", "model.json", "-q", *SMALL)
    assert run("train", "topics.csv", *asked, "--positive", "winter wheat").status == 0
    assert 'topics is "winter wheat" when' in run("show", "model.json").out
    for label, said in (("wheat", "no row has the label 'wheat'"), ("rare", "")):
        assert said in run("train", "topics.csv", *asked, "--positive", label).err


def test_labels_that_are_strange_file_names_each_get_a_model(run: Run, tmp_path: Path) -> None:
    """A label of dots ended everything without being named; `Con` and `con` were one file on some systems."""
    labels = ["..", ".", "Con", "con", "NUL", "aux", "a/b", "a b", "a\\b", "e\u0301", "\u00e9", "x" * 300, "end."]
    labels += ["end", "lpt1.txt", "Straße", "STRASSE", "-o", "a-2", "A"]
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["a", "labels"])
        rows.writerows([k % 12, labels[k % len(labels)]] for k in range(12 * len(labels)))
    words = ("--param", "stopping=none", "--param", "max_rules=1")
    done(run("train", "t.csv", "--target", "labels", "--label-separator", ";", "-o", "models", "-q", *words))
    names = [path.stem for path in (tmp_path / "models").iterdir()]
    assert len(names) == len({name.casefold() for name in names}) == len(labels)
    assert not {"con", "nul", "aux"} & {name.partition(".")[0].casefold() for name in names}
    assert not any(name.endswith((".", " ")) or len(name.encode()) > 130 for name in names)
    found = {json.loads(path.read_text())["classes"][1] for path in (tmp_path / "models").iterdir()}
    assert len(found) == len(labels)


def test_a_label_that_cannot_be_learned_is_named_and_the_others_stay(
    run: Run, topics: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rulekit.errors import InputError
    from rulekit.work import each_label

    whole = each_label.train

    def failing(request: object, progress: object) -> object:
        if request.reading.positive == "grain":  # type: ignore[attr-defined]
            raise InputError("nothing to learn")
        return whole(request, progress)  # type: ignore[arg-type]

    monkeypatch.setattr(each_label, "train", failing)
    ran = run("train", "topics.csv", "--target", "topics", "--label-separator", ";", "-o", "models", *SMALL)
    assert (ran.status, "label 'grain' got no model: nothing to learn" in ran.err) == (0, True)
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["winter_wheat.json"]


_FLAGS = st.lists(st.tuples(st.booleans(), st.integers(0, 6).map(lambda k: k / 6), st.integers(1, 3)), min_size=1)


@given(st.lists(_FLAGS, min_size=1, max_size=3))
def test_a_curve_says_at_each_threshold_what_the_micro_average_says(
    labels: list[list[tuple[bool, float, int]]],
) -> None:
    judged = [
        tuple(map(np.array, zip(*((has, chance, float(n)) for has, chance, n in rows), strict=True))) for rows in labels
    ]
    curve = threshold_curve(judged)
    for t, precision, recall in zip(curve.thresholds, curve.precision, curve.recall, strict=True):
        rates = micro_average([LabelFigures.of("x", has, chance > t, weight) for has, chance, weight in judged])
        if t > 0.0:  # a probability of 0 is given at no threshold
            assert (rates["precision"], rates["recall"]) == pytest.approx((precision, recall))


def test_micro_counts_rows_and_macro_counts_labels() -> None:
    """A large label that is half found and a small one that is found."""
    figures = [LabelFigures("large", 90, 45, 45, 0.9), LabelFigures("small", 10, 10, 10, 1.0)]
    assert macro_average(figures)["recall"] == pytest.approx(0.75)
    assert micro_average(figures)["recall"] == pytest.approx(0.55)
