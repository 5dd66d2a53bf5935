"""An estimator's rules are those that `rulekit train` saves: both simplify by one function."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from quick_learners import SMALL
from sklearn.base import clone

from rulekit.learners.contract import find_estimator
from rulekit.learners.promises.kept import clauses_of
from rulekit.tables.options import ReadingOptions
from rulekit.work.training import TrainingRequest, train


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    rng, n = np.random.default_rng(4), 120
    v, w, k = rng.integers(0, 12, n).astype(float), rng.normal(size=n).round(1), rng.choice(list("abc"), n)
    label = np.where((((v > 3) & (v <= 7)) | ((w > 0.5) & (k == "a"))) ^ (rng.random(n) < 0.1), "yes", "no")
    label = np.where((label == "no") & (k == "b"), "may", label)
    frame = pd.DataFrame({"v": np.where(rng.random(n) < 0.05, np.nan, v), "w": w, "k": k, "label": label})
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    frame.to_csv(path, index=False)
    return path, frame


@pytest.mark.parametrize(
    "word", [pytest.param(word, marks=[pytest.mark.long] * (word == "ltu-tree")) for word in SMALL]
)
def test_the_estimator_has_the_model_that_the_command_saves(word: str, table: tuple[Path, pd.DataFrame]) -> None:
    """It had a second rule inside the first, which the command left out."""
    path, frame = table
    ranked = {} if "several" in find_estimator(word).abilities else {"ordered": ("no", "may", "yes")}
    made = train(TrainingRequest(path, ReadingOptions(target="label", **ranked), word, SMALL[word])).model
    estimator = find_estimator(word)(**SMALL[word], **ranked, target="label", random_state=0)
    estimator.fit(frame[["v", "w", "k"]], frame["label"])
    assert estimator.rule_graph_.digest == made.digest
    if made.decision.rule_sets:
        kept = [len(clauses_of(rules)) for rules in made.decision.roots]
        assert all(units <= rules for units, rules in zip(made.provenance["units"], kept, strict=True))
    if made.ladder is not None:
        assert [rung.model.digest for rung in estimator.ladder_.rungs] == [
            rung.model.digest for rung in made.ladder.rungs
        ]


def test_both_go_on_from_rules_without_sympy(
    table: tuple[Path, pd.DataFrame], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sympy", None)
    path, frame = table
    X, y = frame[["v", "w", "k"]], frame["label"]
    begun = find_estimator("cnll")(2, stopping="none", target="label").fit(X, y)
    begun.rule_graph_.save(tmp_path / "begun.json")
    request = TrainingRequest(
        path, ReadingOptions(target="label"), "cnll", {"n_units": 4}, start=tmp_path / "begun.json"
    )
    again = pickle.loads(pickle.dumps(clone(begun).set_params(n_units=4, stopping="cv", start=begun.rule_graph_)))
    assert again.fit(X, y).rule_graph_.digest == train(request).model.digest
