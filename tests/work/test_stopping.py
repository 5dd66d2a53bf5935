"""Nothing that stops or fails after learning loses the model, and nothing before it leaves half of one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rulekit.errors import Cancelled, InputError, Interrupted
from rulekit.graph.files.model_files import load
from rulekit.learners.contract import OutOfTimeError
from rulekit.synthetic import loans, write_csv
from rulekit.tables.options import ReadingOptions
from rulekit.work import finishing
from rulekit.work.progress import Event, Learning, Noticed, Stage
from rulekit.work.training import TrainingRequest, train

READING = ReadingOptions(target="default")


@pytest.fixture
def request_(tmp_path: Path) -> TrainingRequest:
    write_csv(loans(300), tmp_path / "loans.csv")
    few = {"max_rules": 3, "n_folds": 2}
    return TrainingRequest(tmp_path / "loans.csv", READING, "rules", few, output=tmp_path / "m.json", simplified=True)


def stopping_at(kind: type, what: str = "", number: int = 1) -> Callable[[Event], bool]:
    """A callback that asks to stop at the n-th event of a kind, and stays with that."""
    seen = []

    def tell(event: Event) -> bool:
        if isinstance(event, kind) and (not what or event == Stage(what)) and "stage" not in getattr(event, "step", {}):
            seen.append(event)
        return len(seen) >= number

    return tell


@pytest.mark.parametrize("memory", [None, "2GB"])
@pytest.mark.parametrize("kind", [Stage, Noticed])
def test_a_callback_that_stops_before_learning_raises_cancelled(
    request_: TrainingRequest, memory: str | None, kind: type
) -> None:
    """The answers to these events were ignored; with a budget it was a KeyboardInterrupt."""
    with pytest.raises(Cancelled, match="before anything was learned"):
        train(replace(request_, memory=memory), stopping_at(kind))
    assert not request_.output.exists()


@pytest.mark.parametrize("memory", [None, "2GB"])
@pytest.mark.parametrize("at", [(Learning, "", 2), (Stage, "simplifying"), (Stage, "measuring")])
def test_a_callback_that_stops_later_keeps_the_model(
    request_: TrainingRequest, memory: str | None, at: tuple[type, str]
) -> None:
    found = train(replace(request_, memory=memory, baselines=True), stopping_at(*at))
    kept = load(request_.output)
    assert kept.digest == found.model.digest
    assert kept.provenance["units"]
    assert found.figures.rows == 300


def test_binning_on_disk_can_be_cancelled(request_: TrainingRequest) -> None:
    def tell(event: Event) -> bool:
        return isinstance(event, Learning) and event.step.get("stage") == "binning"

    with pytest.raises(Cancelled, match="binning"):
        train(replace(request_, memory="2GB"), tell)


@pytest.mark.parametrize("step", ["rule_statistics", "measured"])
@pytest.mark.parametrize("fault", [KeyboardInterrupt(), OutOfTimeError()])
def test_what_stops_a_step_after_learning_keeps_the_model(
    request_: TrainingRequest, monkeypatch: pytest.MonkeyPatch, step: str, fault: BaseException
) -> None:
    """Ctrl-C while rules were counted, or rows measured, lost the model."""
    whole, calls = getattr(finishing, step), []

    def once(*given: object, **named: object) -> object:
        calls.append(given)
        if len(calls) == 1:
            raise fault
        return whole(*given, **named)

    monkeypatch.setattr(finishing, step, once)
    found = train(request_)
    assert load(request_.output).digest == found.model.digest
    assert found.figures.rows == 300


def test_a_second_ctrl_c_says_where_the_model_is(request_: TrainingRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """It said that nothing was written."""

    def stop(*given: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(finishing, "measured", stop)
    with pytest.raises(Interrupted, match=r"stopped while it was measured; the model is in .*m\.json"):
        train(request_)
    assert load(request_.output).used_features
    with pytest.raises(KeyboardInterrupt):  # without a file there is nothing to name
        train(replace(request_, output=None))


def test_no_time_is_one_line_before_anything_is_learned(request_: TrainingRequest) -> None:
    with pytest.raises(InputError, match=r"--time-limit: 0 seconds were over .*; give more time"):
        train(replace(request_, time_limit=0.0))
    assert not request_.output.exists()


def test_a_label_that_training_does_not_know_is_named_before_learning(request_: TrainingRequest) -> None:
    """The model was learned and then lost."""
    test = request_.data.with_name("test.csv")
    lines = request_.data.read_text().splitlines()
    cells = lines[5].split(",")
    place = lines[0].split(",").index("default")
    lines[5] = ",".join([*cells[:place], f"{cells[place]}.", *cells[place + 1 :]])
    test.write_text("\n".join(lines) + "\n")
    begun = time.monotonic()
    with pytest.raises(InputError, match=rf"test.csv, .*row 5.*label '{cells[place]}\.' is no class of the model"):
        train(replace(request_, test=test), stopping_at(Learning))
    assert time.monotonic() - begun < 30


def test_test_rows_that_cannot_be_read_are_a_note_and_the_model_stays(request_: TrainingRequest) -> None:
    test = request_.data.with_name("test.csv")
    lines = request_.data.read_text().splitlines()
    used = train(request_).model.used_features[0]
    request_.output.unlink()
    place = lines[0].split(",").index(used)
    lines[0] = ",".join("other" if k == place else cell for k, cell in enumerate(lines[0].split(",")))
    test.write_text("\n".join(lines) + "\n")
    found = train(replace(request_, test=test))
    assert load(request_.output).digest == found.model.digest
    assert any("could not be measured" in note and used in note for note in found.notes)
    assert found.measured_on.startswith("the training rows")
