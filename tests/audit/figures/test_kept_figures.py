"""What a training measured stays with its model file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rulekit
from rulekit.audit.figures.metrics import kept_baselines, kept_figures
from rulekit.graph.variants import resized
from rulekit.tables.options import ReadingOptions
from rulekit.work.training import TrainingRequest, TrainingResult, train

LOANS = Path(__file__).parents[3] / "samples" / "loans.csv"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainingResult, Path]:
    path = tmp_path_factory.mktemp("kept") / "model.json"
    parameters: dict[str, Any] = {"max_rules": 2, "n_folds": 2}
    request = TrainingRequest(
        LOANS, ReadingOptions(target="default"), parameters=parameters, holdout=0.6, output=path, baselines=True
    )
    return train(request), path


def test_figures_and_baselines_come_back_from_the_file(trained: tuple[TrainingResult, Path]) -> None:
    result, path = trained
    graph = rulekit.load(path)
    kept, baselines = kept_figures(graph), kept_baselines(graph)
    assert kept is not None
    assert kept.figures == result.figures
    assert kept.measured_on == result.measured_on
    assert result.baselines is not None
    assert baselines is not None
    assert baselines.models == result.baselines.models
    assert (baselines.rows, baselines.of_rows) == (result.baselines.rows, result.baselines.of_rows)


def test_another_size_does_not_take_the_figures_for_its_own(trained: tuple[TrainingResult, Path]) -> None:
    graph = rulekit.load(trained[1])
    assert graph.ladder is not None
    other = next(size for size in graph.ladder.sizes if size != graph.ladder.chosen)
    assert kept_figures(resized(graph, other)) is None
    assert kept_baselines(resized(graph, other)) is not None


@pytest.mark.parametrize(
    "note", [3, [], {"model": "x"}, {"confusion": 1}, {"rows": -1}, {"accuracy": 2.0}, {"auc": "x"}]
)
def test_what_is_no_such_note_is_taken_for_none(trained: tuple[TrainingResult, Path], note: Any) -> None:
    graph = rulekit.load(trained[1])
    measured = {**graph.provenance["measured"], **note} if isinstance(note, dict) else note
    changed = graph.with_(provenance={"measured": measured, "baselines": note})
    assert kept_figures(changed) is None
    assert kept_baselines(changed) is None
