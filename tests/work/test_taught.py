"""Training with a teacher, the rows that are made for it, and how far the rules agree with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from foreign_models import CONSTANTS, LEVELS, TEACHER, foreign, said_by_teacher, table_text, write
from quick_learners import SMALL
from rulekit_exporters.onnx import foreign as running
from rulekit_exporters.onnx.running import runtime_session
from scipy.stats import binomtest

import rulekit
from rulekit.audit.figures.fidelity import MOST_LINES, Fidelity, kept_fidelity
from rulekit.errors import InputError
from rulekit.graph.language.parsing import parse_graph
from rulekit.graph.rule_graph import RuleGraph
from rulekit.tables.options import ReadingOptions
from rulekit.work.evaluating import Evaluation
from rulekit.work.reporting import report
from rulekit.work.taught import BEYOND, evaluate_beside
from rulekit.work.training import TrainingRequest, TrainingResult, train

PARAMETERS = {"max_rules": 2, "n_folds": 2}
THREE = f"""one = ai.onnx.ml.LabelEncoder <{LEVELS}> (c) both = Mul (one, a) all = Concat <axis: int = 1> (one, a, both)
less = Sub (all, shift) p = Softmax (less)"""


@pytest.fixture(scope="module", autouse=True)
def in_this_process() -> Iterator[None]:
    """The models here are the tests' own: a process for each would take a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "bounded_session", runtime_session)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table, later rows, both labelled and bare, a table with further columns, and teachers."""
    path = tmp_path_factory.mktemp("taught")
    for name, rows, seed in (("table", 240, 3), ("later", 300, 4)):
        write(path, f"{name}.csv", table_text(rows, seed))
        write(path, f"{name}-bare.csv", table_text(rows, seed, label=False))
    write(path, "teacher.onnx", TEACHER)
    shift = ", float[3] shift = {0.5, 0.4, 0.0}"
    write(path, "three.onnx", foreign("float[N,1] a, string[N,1] c", "float[N,3] p", THREE, CONSTANTS + shift))
    table = pl.read_csv(path / "table.csv")
    chance = said_by_teacher(table["a"], table["c"].fill_null(""))
    table.select("a", "c", label=pl.Series(np.where(chance > 0.5, "yes", "no"))).write_csv(path / "hard.csv")
    further = {
        "when": [f"2024-0{i % 9 + 1}-{i % 28 + 1:02d}" for i in range(240)],
        "w": [1 + i % 3 for i in range(240)],
        "g": [f"g{i // 4}" for i in range(240)],
    }
    table.with_columns(*(pl.Series(name, own) for name, own in further.items())).write_csv(path / "further.csv")
    return path


def learned(
    folder: Path, data: str = "table.csv", teacher: str | None = "teacher.onnx", **given: Any
) -> TrainingResult:
    """A training with the teacher, of few rules."""
    reading = given.pop("reading", ReadingOptions(target="label"))
    model = None if teacher is None else folder / teacher
    given = {"parameters": PARAMETERS} | given
    return train(TrainingRequest(folder / data, reading, teacher=model, **given))


@pytest.fixture(scope="module")
def first(folder: Path) -> TrainingResult:
    """A model that differs from its teacher on some rows, with a file of held-out ones."""
    return learned(folder, holdout=0.3, held_rows=folder / "held.csv", output=folder / "model.json")


@pytest.fixture(scope="module")
def asked(folder: Path) -> TrainingResult:
    return learned(folder, ask=150, asked_rows=folder / "asked.csv")


def rows_by_hand(path: Path, model: RuleGraph) -> pl.DataFrame:
    """The rows of a file with what the teacher and the model say of them."""
    rows = pl.read_csv(path)
    chance = said_by_teacher(rows["a"], rows["c"].fill_null(""))
    said = pl.Series(np.where(chance > 0.5, "yes", "no"))
    own = pl.Series([str(label) for label in model.predict(rows)])
    return rows.with_columns(chance=pl.Series(chance), said=said, own=own, same=said == own)


def test_the_labels_and_the_ladder_are_those_of_the_teacher(folder: Path) -> None:
    """As if the table had its labels, which the probabilities alone tell apart."""
    reading = ReadingOptions(target="label", positive="yes")
    soft, hard = learned(folder), learned(folder, "hard.csv", None, reading=reading)
    assert soft.model.decision == hard.model.decision
    assert soft.model.ladder is not None
    assert hard.model.ladder is not None
    assert [row.error for row in soft.model.ladder.rungs] == [row.error for row in hard.model.ladder.rungs]
    assert soft.figures.confusion == hard.figures.confusion
    later = pl.read_csv(folder / "later.csv")
    chance = said_by_teacher(later["a"], later["c"].fill_null(""))
    losses = []
    for model in (soft.model, hard.model):
        p = np.clip(model.predict_proba(later)[:, 1], 1e-9, 1 - 1e-9)
        losses.append(-np.mean(chance * np.log(p) + (1 - chance) * np.log(1 - p)))
    assert losses[0] < losses[1] - 0.005
    again = learned(folder)
    assert (again.model.digest, again.fidelity) == (soft.model.digest, soft.fidelity)


def test_of_a_rare_class_the_size_is_chosen_by_errors(folder: Path) -> None:
    """Agreement is what counts of a teacher, and a macro F1 score gives it up."""
    random = np.random.default_rng(0)
    a, b = random.random((2, 600))
    label = np.where(((a > 0.9) & (b > 0.4)) ^ (random.random(600) < 0.02), "yes", "no")
    pl.DataFrame({"a": a, "b": b, "label": label}).write_csv(folder / "rare.csv")
    why = []
    for column in (None, "label"):
        reading = ReadingOptions(target=None if column else "label")
        found = learned(folder, "rare.csv", None, reading=reading, teacher_column=column)
        assert found.model.ladder is not None
        why.append(found.model.ladder.why)
    assert why[0].startswith("largest macro F1")
    assert why[1].startswith("least error")


def _assert_counts(found: Fidelity, rows: pl.DataFrame, by: tuple[str, ...] = ()) -> None:
    parts = {each.of: (each.rows, each.same) for each in found.parts}
    expected = {"": (rows.height, int(rows["same"].sum()))}
    for column, shown in (("said", '"{}"'), *((name, name + " {}") for name in by)):
        cells = rows[column].cast(pl.String).fill_null("(missing)")
        for value in cells.unique():
            own = rows.filter(cells == value)["same"]
            expected[shown.format(value)] = len(own), int(own.sum())
    assert parts == expected
    for each in found.parts:
        exact = binomtest(each.same, each.rows).proportion_ci(0.95, method="exact")
        assert each.share == pytest.approx((each.same / each.rows, exact.low, exact.high), abs=1e-9)
    right = [int((rows[column] == rows["label"]).sum()) for column in ("own", "said")] if "label" in rows else None
    assert found.right == (right and (rows.height, *right))


def test_held_out_rows_are_counted_as_by_hand(folder: Path, first: TrainingResult) -> None:
    held, beyond = first.fidelity
    rows = rows_by_hand(folder / "held.csv", first.model)
    assert (held.on, held.parts[0].rows, beyond.parts[0].rows) == ("rows held out", rows.height, BEYOND)
    assert held.parts[0].same < rows.height  # or the counts would say little
    _assert_counts(held, rows)
    assert first.figures.accuracy == pytest.approx(held.parts[0].same / rows.height)
    assert beyond.right is None
    assert first.model.statistics["rows"] == 240 - rows.height


@pytest.mark.parametrize("data", ["later.csv", "later-bare.csv"])
def test_evaluation_beside_a_teacher_is_counted_as_by_hand(data: str, folder: Path, first: TrainingResult) -> None:
    found: Evaluation = evaluate_beside(
        folder / "model.json", folder / data, ReadingOptions(), ("c", "d"), teacher=folder / "teacher.onnx"
    )
    rows = rows_by_hand(folder / data, first.model)
    _assert_counts(found.fidelity[0], rows, ("c", "d"))
    assert found.figures.accuracy == pytest.approx(rows["same"].mean())
    assert found.notes[0] == "the labels are those of teacher.onnx"
    with pytest.raises(InputError, match="no column 'e'"):
        evaluate_beside(folder / "model.json", folder / data, ReadingOptions(), ("e",), teacher=folder / "teacher.onnx")


COLUMNS = "rulekit rules 1\ncolumn a: numeric\ncolumn b: numeric\ncolumn c: categorical {blue, green, red}\n"
COLUMNS += 'column d: boolean\nlabel "label": {no, yes}\ndecide yes when any of '


def _assert_place(said: str, rows: pl.DataFrame) -> None:
    """The counts of its rule are right, and its row is one of them, on which they differ."""
    found = re.fullmatch(r'(.+): on (\d+) of (\d+) rows?, as for (.+): rules "(\w+)", teacher "(\w+)"', said)
    assert found is not None
    text, right, n, cells, own, teacher = found.groups()
    on = rows.filter(pl.Series(parse_graph(f"{COLUMNS}({text})\n").predict(rows)) == "yes")
    assert (on.height, int((~on["same"]).sum())) == (int(n), int(right))
    for cell in cells.split(", "):
        column, value = cell.split(" ", 1)
        texts = on[column].cast(pl.String).fill_null("missing")
        on = on.filter(texts == value.removeprefix("= "))
    assert (own, teacher) in on.select("own", "said").rows()
    assert own != teacher


def test_weights_and_times_of_the_rows_are_measured_beside_a_teacher(folder: Path, first: TrainingResult) -> None:
    """They were read, and then not said."""
    reading = ReadingOptions(target="label", weight="w", time="when")
    path = folder / "further.csv"
    found = evaluate_beside(folder / "model.json", path, reading, teacher=folder / "teacher.onnx")
    rows = rows_by_hand(path, first.model)
    assert (found.weighted, sum(block.rows for block in found.blocks)) == (True, 240)
    assert found.figures.accuracy == pytest.approx((rows["same"] * rows["w"]).sum() / rows["w"].sum())


def test_the_place_where_they_differ_is_one(folder: Path, first: TrainingResult) -> None:
    _assert_place(first.fidelity[0].apart, rows_by_hand(folder / "held.csv", first.model))


@pytest.mark.parametrize("rules", ["(b > 0, d)", "(a > 0.5)", "(not d, b is missing)"])
def test_a_model_that_reads_other_columns_than_the_teacher_is_measured_too(rules: str, folder: Path) -> None:
    """The columns of the model were left out with those that the teacher does not read."""
    model, teacher = parse_graph(f"{COLUMNS}{rules}\n"), folder / "teacher.onnx"
    model.save(folder / "own.json")
    found, _ = evaluate_beside(folder / "own.json", folder / "later.csv", ReadingOptions(), teacher=teacher).fidelity
    rows = rows_by_hand(folder / "later.csv", model)
    _assert_counts(found, rows)
    _assert_place(found.apart, rows)


def test_made_rows_are_learned_written_and_not_counted(folder: Path, asked: TrainingResult) -> None:
    """The model knows of 150 further rows; what it says of the table it counts on the table."""
    assert asked.model.provenance["rows"] == 240 + 150
    assert asked.model.statistics["rows"] == 240
    assert asked.figures.rows == 240
    made, table = (pl.read_csv(folder / name) for name in ("asked.csv", "table.csv"))
    assert made.height == 150
    assert made.columns == ["a", "c", "label", "probability_no", "probability_yes"]  # the teacher reads no other
    for column in "ac":
        assert set(made[column]) <= set(table[column])
    chance = said_by_teacher(made["a"], made["c"].fill_null(""))
    assert made["label"].to_list() == np.where(chance > 0.5, "yes", "no").tolist()
    np.testing.assert_allclose(made["probability_yes"], chance, atol=1e-6)
    again = learned(folder, ask=150, asked_rows=folder / "again.csv")
    assert again.model.digest == asked.model.digest
    assert (folder / "again.csv").read_bytes() == (folder / "asked.csv").read_bytes()
    learned(folder, ask=150, asked_rows=folder / "other.csv", seed=1)
    assert (folder / "other.csv").read_bytes() != (folder / "asked.csv").read_bytes()


OPTIONS: list[dict[str, Any]] = [
    {"weight": "w"},
    {"group": "g"},
    {"time": "when", "roles": {"b": "use", "d": "audit"}},
    {"types": {"when": "date"}, "roles": dict.fromkeys(("b", "d", "when"), "use")},
    {"cost": (1.0, 4.0)},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_weights_groups_times_dates_and_costs_go_with_the_rows(options: dict[str, Any], folder: Path) -> None:
    """A column that a role names stays beside those of the teacher; each made cell is written as the table's."""
    reading = ReadingOptions(**({"target": "label", "types": {"when": "date"}} | options))
    found = learned(folder, "further.csv", reading=reading, ask=60, asked_rows=folder / "more.csv")
    assert found.model.provenance["rows"] == 300
    assert found.fidelity[0].parts[0].same > 200
    made, table = (pl.read_csv(folder / name) for name in ("more.csv", "further.csv"))
    kept = [name for name in table.columns if name in {"a", "c", *options.get("roles", ())} - {options.get("time")}]
    assert made.columns[: len(kept) + 1] == [*kept, "label"]
    for column in kept:
        assert set(made[column]) <= set(table[column]), column


def test_a_table_without_labels_is_learned_from(folder: Path) -> None:
    """With probabilities that nobody named, the classes are false and true; names of the user stand for them."""
    plain = learned(folder, "table-bare.csv", reading=ReadingOptions())
    assert plain.model.classes == (False, True)
    assert plain.model.schema.target == "decision"
    assert all(each.right is None for each in plain.fidelity)
    named = learned(folder, "table-bare.csv", reading=ReadingOptions(), teacher_classes=("no", "yes"))
    assert {*named.model.classes} == {"no", "yes"}
    column = TrainingRequest(folder / "table.csv", ReadingOptions(), parameters=PARAMETERS, teacher_column="label")
    learned_from = train(column).model
    assert learned_from.schema.target == "label"
    assert "label" not in learned_from.schema.names


@pytest.mark.parametrize("learner", ["additive", "ltu-tree", "noisy-or"])
def test_any_learner_learns_from_a_teacher(learner: str, folder: Path) -> None:
    given = {"ask": 60, "learner": learner, "parameters": SMALL[learner]}
    found = learned(folder, **given)
    assert found.fidelity[0].parts[0].same > 210
    assert found.model.provenance["rows"] == 300
    assert learned(folder, **given).model.digest == found.model.digest


@pytest.mark.parametrize("ordered", [(), ("low", "mid", "top")])
def test_several_classes(ordered: tuple[str, ...], folder: Path) -> None:
    reading = ReadingOptions(ordered=ordered)
    names = ("low", "top", "mid")
    found = learned(folder, "table-bare.csv", "three.onnx", reading=reading, teacher_classes=names, ask=50)
    assert found.model.classes == (ordered or tuple(sorted(names)))
    rows = pl.read_csv(folder / "table-bare.csv")
    one, a = (rows["c"].fill_null("") == "red").to_numpy(), rows["a"].to_numpy()
    said = np.column_stack([one, a, one * a]) - [0.5, 0.4, 0.0]
    same = [str(label) for label in found.model.predict(rows)] == np.array(names)[said.argmax(axis=1)]
    assert found.fidelity[0].parts[0].same == int(np.sum(same))
    assert int(np.sum(same)) > 200


NOTES: dict[str, Any] = {
    "a list": [1, 2],
    "a text": "lines",
    "lines of a text": {"lines": "all\x1b[2J"},
    "lines of other things": {
        "lines": [{"a": ["\x1b[2J"]}, None, 3, ["<script>"]],
        "asked": "many",
        "teacher": ["\x1b"],
    },
    "control characters": {"lines": ["\x1b[2J\nnew\u202e"], "teacher": "\x1b]0;x\x07\n", "asked": -3},
    "very many": {"lines": ["x" * 1000] * 10_000, "teacher": "t" * 100_000, "asked": 10**30},
}


@pytest.mark.parametrize("note", NOTES)
def test_a_note_of_a_crafted_model_does_no_harm(note: str, folder: Path, first: TrainingResult) -> None:
    """A note for this very digest is shown within bounds; one of another model is not shown at all."""
    own = NOTES[note]
    crafted = {"model": first.model.digest, **own} if isinstance(own, dict) else own
    model = first.model.with_(provenance={**first.model.provenance, "fidelity": crafted})
    lines = kept_fidelity(model)
    assert len(lines) <= MOST_LINES + 1
    assert all(line.isprintable() for line in lines)
    model.save(folder / "crafted.json")
    outputs = [folder / f"of-it.{ending}" for ending in ("html", "md", "json")]
    report(folder / "crafted.json", outputs=outputs)
    for path in outputs:
        written = path.read_text("utf-8")
        assert len(written) < 1_000_000
        assert "\x1b" not in written
        assert "<script>" not in written or path.suffix != ".html"


def test_the_note_is_of_one_model(folder: Path, first: TrainingResult, asked: TrainingResult) -> None:
    lines = tuple(line.strip() for each in first.fidelity for line in each.lines())
    assert kept_fidelity(first.model)[1:] == lines
    assert "teacher.onnx says of the training rows, and of 150 made rows." in kept_fidelity(asked.model)[0]
    assert kept_fidelity(first.model.with_(decision=asked.model.decision)) == ()
    report(folder / "model.json", outputs=[folder / "model.md"])
    assert "agrees with the teacher on" in (folder / "model.md").read_text()


FORMS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "mapping": dict, "numpy": None}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ask", [0, 60])
def test_distilling_a_function(form: str, ask: int) -> None:
    draw = np.random.default_rng(0)
    columns = {name: np.round(draw.random(200), 2) for name in "ab"}
    X = np.column_stack([*columns.values()]) if form == "numpy" else FORMS[form](columns)  # type: ignore[misc]
    seen = []

    def chance(rows: Any) -> Any:
        a, b = rows.T if form == "numpy" else (np.asarray(rows[name]) for name in "ab")
        seen.append(len(a))
        return 1 / (1 + np.exp(-20 * (np.minimum(a, b) - 0.45)))

    found = rulekit.distill(chance, X, columns["a"] > 0.45, ask=ask, **PARAMETERS)
    said = (np.minimum(columns["a"], columns["b"]) > 0.45).tolist()
    table, beyond = found.fidelity_
    assert table.parts[0].same == sum(own == teacher for own, teacher in zip(found.predict(X), said, strict=True)) > 190
    assert table.right == (200, sum(found.predict(X) == (columns["a"] > 0.45)), sum(said == (columns["a"] > 0.45)))
    assert beyond.parts[0].rows == BEYOND
    assert seen == [200, *([ask] if ask else []), BEYOND]
    assert np.abs(found.predict_proba(X)[:, 1] - chance(X)).mean() < 0.2
    said_lines = tuple(line.strip() for each in found.fidelity_ for line in each.lines())
    assert kept_fidelity(found.rule_graph_)[1:] == said_lines


def test_rows_to_test_are_labelled_by_the_teacher_too(folder: Path) -> None:
    found = learned(folder, test=folder / "later.csv")
    rows = rows_by_hand(folder / "later.csv", found.model)
    _assert_counts(found.fidelity[0], rows)
    assert found.figures.rows == 300


def test_a_teacher_that_fails_on_made_rows_costs_no_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> Any:
        raise InputError("the teacher gives no number for data row 7", where="teacher.onnx")

    monkeypatch.setattr("rulekit.work.taught._answered", refused)
    found = learned(folder, output=folder / "kept.json")
    assert any("its teacher did not answer made rows: teacher.onnx" in note for note in found.notes)
    assert found.fidelity == ()
    assert rulekit.load(folder / "kept.json") == found.model
