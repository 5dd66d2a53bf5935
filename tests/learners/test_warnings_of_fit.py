"""What `fit` warns of: the notes of the command, word for word; and special codes, of which one note tells."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rulekit import AdaBoostStumpClassifier, AdditiveRulesClassifier
from rulekit.errors import DataWarning, InputError
from rulekit.tables.labelling import order_note, read_labelled
from rulekit.tables.options import ReadingOptions

CHANCE = random.Random(3)
VALUES = [CHANCE.uniform(5, 3000) for _ in range(200)]
LABELS = np.array([(value > 1500) != (CHANCE.random() < 0.03) for value in VALUES])
COLUMNS: dict[str, Any] = {
    "weight": [f"{value:.0f} kg" for value in VALUES],
    "no": CHANCE.sample(range(1000, 1300), 200),
    "same": np.where(LABELS, "y", "n"),
    "code": [-9999] * 5 + [-8888] * 5 + list(range(190)),
}


def warned(X: Any, y: Any, **given: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        AdaBoostStumpClassifier(5, n_folds=2).fit(X, y, **given)
    assert {(item.category, Path(item.filename).name) for item in found} <= {(DataWarning, Path(__file__).name)}
    return [str(item.message) for item in found]


def test_fit_warns_of_what_the_command_notes(tmp_path: Path) -> None:
    frame = pd.DataFrame(COLUMNS)
    path = tmp_path / "data.csv"
    frame.assign(target=LABELS).to_csv(path, index=False)
    rows = read_labelled(path, ReadingOptions(target="target"))
    said = warned(frame, LABELS)
    assert set(said) == {note for note in (*rows.table.notes, *rows.notes) if "positive class" not in note}
    assert [word in "".join(said) for word in ("kg'", "-8888", "ids", "tells the label alone")] == [True] * 4


@pytest.mark.parametrize("given", [{}, {"time": np.arange(200)}, {"groups": np.arange(200) % 20}])
def test_fit_warns_of_an_order_of_the_rows(given: dict[str, Any], tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"walk": rng.normal(size=200).cumsum(), "chance": rng.normal(size=200)})
    path = tmp_path / "data.csv"
    frame.assign(target=np.sin(np.arange(200) / 9) > rng.normal(size=200)).to_csv(path, index=False)
    rows = read_labelled(path, ReadingOptions(target="target"))
    said = [note for note in warned(frame, rows.y, **given) if "neighbouring" in note]
    assert said == ([] if given else [order_note(rows)])


def test_fit_warns_of_rows_that_are_sorted_by_the_label() -> None:
    said = warned(pd.DataFrame({"x": np.random.default_rng(0).normal(size=200)}), np.arange(200) >= 80)
    assert "the rows are sorted by target: their order is no order of time" in said


def test_a_rare_class_and_no_rule_are_warned_of() -> None:
    labels = np.isin(np.arange(200), (50, 120))
    said = warned(pd.DataFrame({"x": np.tile([1.5, 2.5], 100)}), labels)
    assert said == ["of 200 rows True has 2: too few to learn a rule from, or to measure one",
                    "no rule was found, every row is decided False"]  # fmt: skip


def test_at_most_five_notes() -> None:
    said = warned(pd.DataFrame({f"w{i}": np.roll(COLUMNS["weight"], i) for i in range(7)}), LABELS)
    assert len(said) == 5
    assert said[-1].startswith("3 more notes")


def test_an_estimator_reads_the_forms_that_it_was_told(tmp_path: Path) -> None:
    frame = pd.DataFrame({"weight": COLUMNS["weight"]})
    model = AdaBoostStumpClassifier(types={"weight": "numeric:550 kg"}).fit(frame, LABELS)
    assert np.mean(model.predict(frame) != LABELS) < 0.06
    assert np.array_equal(model.predict(frame), model.rule_graph_.predict({"weight": np.round(VALUES)}))
    with pytest.raises(InputError, match="is not a number"):
        model.rule_graph_.predict(frame)


@pytest.mark.filterwarnings("ignore")
def test_a_score_card_tells_special_codes_apart() -> None:
    """Each code has another label than its neighbours; the codes stay numbers, as they are not declared missing."""
    rng = np.random.default_rng(0)
    v = np.concatenate([np.full(30, -9999.0), np.full(30, -8888.0), np.full(30, np.nan), rng.integers(0, 100, 150)])
    y = np.where(np.isnan(v), 0, (v == -9999.0) | ((v >= 0.0) & (v < 50.0)))
    model = AdditiveRulesClassifier().fit({"v": v}, y)
    assert model.predict({"v": [-9999.0, -8888.0, np.nan, 20.0, 80.0]}).tolist() == [1, 0, 0, 1, 0]
