"""The samples are what samples/make.py makes, and the models in them decide today as they did when they were made."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import rulekit
from rulekit.targets import find_target
from samples.commands import run_command
from samples.make import (
    HERE,
    SAMPLES,
    Sample,
    write_breast_cancer,
    write_loans,
    write_networks,
    write_pumps,
    write_tickets,
)
from samples.paper_data import write_paper_data

each_sample = pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (write_loans, "loans.csv"),
        (write_breast_cancer, "breast_cancer.csv"),
        (write_tickets, "tickets.csv"),
        (write_pumps, "pumps.csv"),
        (write_networks, "networks.jsonl"),
    ],
)
def test_tables_are_those_that_are_made(write: Callable[[Path], object], name: str, tmp_path: Path) -> None:
    write(tmp_path / name)
    assert (tmp_path / name).read_bytes() == (HERE / name).read_bytes()


def test_the_command_brings_the_loans_with_it() -> None:
    assert (HERE / "loans.csv").read_bytes() == (HERE.parent / "cli" / "rulekit_cli" / "loans.csv").read_bytes()


def test_the_data_of_the_paper_are_written(tmp_path: Path) -> None:
    written = write_paper_data(tmp_path)

    lines = {path.name: path.read_text().splitlines() for path in written}
    assert {name: len(text) for name, text in lines.items()} == {
        "xor.csv": 3001,
        "noisy_logical_I.csv": 2001,
        "noisy_logical_II.csv": 2001,
    }
    assert lines["xor.csv"][0] == "x,y,label"


@pytest.mark.long
@pytest.mark.parametrize(
    "sample", [pytest.param(s, marks=[pytest.mark.long] * (s.name != "loans_card"), id=s.name) for s in SAMPLES]
)
def test_training_again_gives_the_same_model(sample: Sample, tmp_path: Path) -> None:
    ran = run_command(("train", str(sample.table), *sample.training, "-o", str(tmp_path / "again.json")), tmp_path)

    assert ran.status == 0, ran.text
    assert rulekit.load(tmp_path / "again.json").digest == stored(sample).digest, "run `python -m samples.make`"


@each_sample
def test_exports_carry_the_model_and_are_the_same_bytes_again(sample: Sample, tmp_path: Path) -> None:
    graph = stored(sample)

    for target, name in (("python", "model.py"), ("text", "rules.txt")):
        rulekit.export(graph, tmp_path / name, to=target)
        assert (tmp_path / name).read_text("utf-8") == (sample.folder / name).read_text("utf-8")
    for name in ("model.onnx", "model.py", "rules.txt"):
        assert rulekit.load(sample.folder / name).digest == graph.digest


@each_sample
def test_the_model_and_its_onnx_decide_as_stored(sample: Sample, tmp_path: Path) -> None:
    graph = stored(sample)
    labels, chances = expected(sample)
    data = rulekit.read_table(sample.table, schema=graph.schema, used=graph.used_features)
    rulekit.export(graph, tmp_path / "model.onnx", to="onnx")

    assert graph.predict(data).tolist() == labels
    # numpy's exponential differs in its last bits between processors, and only probabilities are made by it
    np.testing.assert_array_almost_equal_nulp(graph.predict_proba(data), np.array(chances), nulp=8)
    for path in (sample.folder / "model.onnx", tmp_path / "model.onnx"):
        outcome = find_target("onnx").run(path.read_bytes(), graph, data)
        assert [graph.classes[k] for k in outcome.labels] == labels
        np.testing.assert_allclose(outcome.probabilities, chances, atol=1e-6)


@each_sample
def test_the_parity_report_is_of_this_onnx_file(sample: Sample) -> None:
    report = json.loads((sample.folder / "parity.json").read_text("utf-8"))

    again = rulekit.verify(stored(sample), sample.folder / "model.onnx", rows=2000)

    assert again.ok
    assert report["ok"]
    assert (report["digest"], report["sha256"]) == (again.digest, again.sha256)
    assert report["adversarial_rows"] == 20_000


def stored(sample: Sample) -> rulekit.RuleGraph:
    return rulekit.load(sample.folder / "model.json")


def expected(sample: Sample) -> tuple[list[str], np.ndarray]:
    """Labels [n] and probabilities [n, 2] of predictions.csv."""
    with (sample.folder / "predictions.csv").open(newline="", encoding="utf-8") as stream:
        _, *rows = csv.reader(stream)
    return [row[0] for row in rows], np.array([[float(cell) for cell in row[1:]] for row in rows])
