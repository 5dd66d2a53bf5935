"""Learning again from halves: what it asks of a model, what it keeps when it is stopped, that true rules come back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rulekit.audit.stability import stability_of
from rulekit.errors import Cancelled, InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.files.model_files import load
from rulekit.graph.language.parsing import parse_condition
from rulekit.graph.nodes import Or
from rulekit.synthetic import exclusive_or, loans, noisy_logical, write_csv
from rulekit.tables.options import ReadingOptions
from rulekit.work.progress import Event, Resample
from rulekit.work.resampling import how_learned, learned_again, stability
from rulekit.work.training import TrainingRequest, train

QUICK = {"max_rules": 2, "stopping": "none"}


def trained(folder: Path, columns: dict[str, list[Any]], target: str, **request: Any) -> tuple[Path, Path]:
    table, model = folder / "rows.csv", folder / "model.json"
    write_csv(columns, table)
    train(TrainingRequest(table, ReadingOptions(target=target, positive="yes"), output=model, **request))
    return model, table


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return trained(tmp_path_factory.mktemp("quick"), loans(300, 1), "default", parameters=QUICK)


def test_the_model_is_learned_again_as_it_says(quick: tuple[Path, Path], tmp_path: Path) -> None:
    model, table = quick
    name, parameters = how_learned(load(model))
    assert (name, parameters["max_rules"], parameters["stopping"]) == ("rules", 2, "none")
    events: list[Event] = []
    output = tmp_path / "stability.json"
    found = stability(model, table, resamples=4, output=output, progress=events.append)
    assert found["resamples"] == 4
    assert [event.number for event in events if isinstance(event, Resample)] == [1, 2, 3, 4]
    assert json.loads(output.read_text()) == found
    again = stability(model, table, resamples=4)
    assert again == found


def test_an_interruption_keeps_what_is_done(quick: tuple[Path, Path]) -> None:
    model, table = quick

    def stops_at(number: int) -> Any:
        def progress(event: Event) -> None:
            if isinstance(event, Resample) and event.number == number:
                raise KeyboardInterrupt

        return progress

    found = stability(model, table, resamples=6, progress=stops_at(4))
    assert (found["resamples"], found["asked_for"], found["stopped"]) == (3, 6, "interrupted")
    with pytest.raises(KeyboardInterrupt):
        stability(model, table, resamples=6, progress=stops_at(2))
    found = stability(model, table, resamples=6, progress=lambda event: event == Resample(3, 6))
    assert (found["resamples"], found["stopped"]) == (2, "cancelled")
    with pytest.raises(Cancelled, match="learning from halves"):
        stability(model, table, resamples=6, progress=lambda event: event == Resample(2, 6))
    with pytest.raises(InputError, match="fewer than two models"):
        stability(model, table, resamples=6, time_limit=0.0)


def test_a_model_that_does_not_say_how_it_was_learned_is_refused(quick: tuple[Path, Path], tmp_path: Path) -> None:
    (first, table), model = quick, tmp_path / "model.json"
    graph = load(first)
    for provenance, message in (
        ({}, "does not say how it was learned"),
        ({"learner": "Oracle", "parameters": {}}, "not installed"),
        ({**graph.provenance, "parameters": {"start": "abc"}}, "grown from given rules"),
    ):
        graph.with_(provenance=provenance, ladder=None).save(model)
        with pytest.raises(InputError, match=message):
            stability(model, table)


# Known rules -------------------------------------------------------------------------------------------------------


def bits(case: Any, seed: int) -> dict[str, list[Any]]:
    rows, labels = noisy_logical(case, 1000, seed)
    columns: dict[str, list[Any]] = {f"x{j}": rows[:, j].astype(int).tolist() for j in range(rows.shape[1])}
    return columns | {"default": ["yes" if label else "no" for label in labels]}


def squares(seed: int) -> dict[str, list[Any]]:
    rows, labels = exclusive_or(seed)
    return {"a": rows[:, 0].tolist(), "b": rows[:, 1].tolist(), "default": ["yes" if k else "no" for k in labels]}


LOANS = ("income <= 24950 and amount > 8000", "late_payments > 2 and not homeowner", "purpose in {gambling}")
KNOWN = {
    "loans": (lambda seed: loans(2000, seed), LOANS),
    "few loans": (lambda seed: loans(1000, seed), LOANS),
    "noisy bits": (lambda seed: bits("I", seed), ("x0 and x1", "x2 and x3")),
    "bits": (lambda seed: bits("II", seed), ("x0 and x1", "x2 and x3")),
    "squares": (squares, ("a <= 1 and b <= 1", "a > 1 and b > 1")),
}


def of_true_rules(folder: Path, columns: dict[str, list[Any]], truth: tuple[str, ...], seed: int) -> dict[str, Any]:
    """How often the true rules come back, and which others do."""
    model, table = trained(folder, columns, "default")
    models, rows, _ = learned_again(model, table, seed=seed)
    graph = load(model)
    rule = Or([parse_condition(text, graph.schema) for text in truth])
    return stability_of(graph.with_(decision=Fires(rule), probability=(), ladder=None), models, rows.table)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", KNOWN)
def test_true_rules_come_back_and_noise_does_not(tmp_path: Path, name: str, seed: int) -> None:
    make, truth = KNOWN[name]
    found = of_true_rules(tmp_path, make(seed), truth, seed)
    assert found["resamples"] == 20
    shares = {kind: [rule["share"] for rule in found[kind]] for kind in ("rules", "further_rules")}
    print(name, seed, shares, found["rarer_further_rules"])
    assert min(shares["rules"]) > 0.9
    assert max(shares["further_rules"], default=0.0) < 0.1
