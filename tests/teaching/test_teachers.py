"""Each kind of teacher says what its model says, in the classes of the table."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from foreign_models import (
    CHANCE,
    CONSTANTS,
    ENDLESS,
    HOSTILE,
    LEVELS,
    SCORE,
    TEACHER,
    foreign,
    said_by_teacher,
    table_text,
    write,
)
from rulekit_exporters.onnx import foreign as running_foreign
from rulekit_exporters.onnx import running

import rulekit
from rulekit.errors import InputError, RulekitError
from rulekit.graph.files import safe_files
from rulekit.graph.language.parsing import parse_graph
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import read_labelled
from rulekit.tables.labels import LabelledTable
from rulekit.tables.options import DEFAULT_OPTIONS, ReadingOptions
from rulekit.tables.raw.sources import raw_table
from rulekit.tables.reading import read_table
from rulekit.tables.table import Table
from rulekit.teaching import teachers
from rulekit.teaching.teachers import Answers, columns_of, function_teacher, taught, teacher_of

RULES = """rulekit rules 1
column a: numeric
column c: categorical {red, green, blue}
label "label": {no, yes}
decide yes when any of (a > 0.5 and c in {red}, c is missing)
report yes with probability of (H fires with probability 0.9 when a > 0.5)
"""
LABEL_OF = "b1 = Greater (p, half) label = Cast <to: int = 7> (b1)"
OF_CODES = 'keys_int64s: ints = [0, 1], values_strings: strings = ["no", "yes"]'
NAMED = f"b1 = Greater (p, half) i = Cast <to: int = 7> (b1) label = ai.onnx.ml.LabelEncoder <{OF_CODES}> (i)"
BOTH = "n = Sub (unit, p) both = Concat <axis: int = 1> (n, p)"
MAPS = 'maps = ai.onnx.ml.ZipMap <classlabels_strings: strings = ["no", "yes"]> (both)'
WEIGHTS = CONSTANTS + ", float unit = {1}"
TAKES, TENSOR = "float[N,1] a, string[N,1] c", "a = Gather <axis: int = 1> (x, first)"
CHANCE_OF_A = "steep = Mul (a, eight) logit = Sub (steep, five) p = Sigmoid (logit)"

# Inputs, outputs, nodes, options of the teacher, whether it gives probabilities.
MODELS: dict[str, tuple[str, str, str, dict[str, Any], bool]] = {
    "chance": (TAKES, "float[N,1] p", CHANCE, {}, True),
    "chance of one dimension": ("float[N] a, string[N] c", "float[N] p", CHANCE, {}, True),
    "label": (TAKES, "string[N,1] label", f"{CHANCE} {NAMED}", {}, False),
    "label and chances": (TAKES, "string[N,1] label, float[N,2] both", f"{CHANCE} {NAMED} {BOTH}", {}, True),
    "chances and label": (TAKES, "float[N,2] both, string[N,1] label", f"{CHANCE} {NAMED} {BOTH}", {}, True),
    "maps": (TAKES, "string[N,1] label, float[N,2] maps", f"{CHANCE} {NAMED} {BOTH} {MAPS}", {}, True),
    "chances": (TAKES, "float[N,2] both", f"{CHANCE} {BOTH}", {}, True),
    "chances in another order": (
        TAKES, "float[N,2] turned", f"{CHANCE} {BOTH} turned = Concat <axis: int = 1> (p, n)",
        {"teacher_classes": ("yes", "no")}, True,
    ),
    "score": (TAKES, "float[N,1] logit", SCORE, {"teacher_cut": 0.0}, False),
    "whole labels with names": (
        TAKES, "int64[N,1] label", f"{CHANCE} {LABEL_OF}", {"teacher_classes": ("no", "yes")}, False,
    ),
    "double": ("double[N,1] a, string[N,1] c", "float[N,1] p",
               "narrow = Cast <to: int = 1> (a) " + CHANCE.replace("Mul (a,", "Mul (narrow,"), {}, True),
}  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Table:
    path = write(tmp_path_factory.mktemp("table"), "t.csv", table_text(label=False))
    return read_table(path, DEFAULT_OPTIONS)


def rows_of(table: Table, classes: tuple[Any, ...] = ("no", "yes")) -> LabelledTable:
    """Rows whose own labels alternate."""
    return LabelledTable(table, np.arange(table.n_rows) % max(len(classes), 1), classes, target="label")


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """For models that are the tests' own: a process for each would take a second."""
    monkeypatch.setattr(running_foreign, "bounded_session", running.runtime_session)


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("model", MODELS)
def test_an_onnx_file_says_what_it_says(model: str, table: Table, tmp_path: Path) -> None:
    inputs, outputs, nodes, options, soft = MODELS[model]
    path = write(tmp_path, "t.onnx", foreign(inputs, outputs, nodes, WEIGHTS))
    rows = taught(rows_of(table), teacher_of(path, **options).answers(table, None), "t.onnx")
    columns = columns_of(table)
    chance = said_by_teacher(columns["a"], columns["c"])
    assert rows.classes == ("no", "yes")
    assert rows.y.tolist() == (chance > 0.5).astype(int).tolist()
    assert (rows.chances is not None) == soft
    if rows.chances is not None:
        np.testing.assert_allclose(rows.chances, np.column_stack([1 - chance, chance]), atol=1e-6)
    assert rows.truth is not None
    assert (rows.truth == np.arange(len(rows)) % 2).all()


def _column(content: dict[str, Any]) -> Table:
    return infer(raw_table(content), DEFAULT_OPTIONS)


X = np.round(np.random.default_rng(2).random(40), 2)
# A table, the inputs of a model, and what makes a of them: the chance is sigmoid(8 a - 5) in each.
TAKEN: dict[str, tuple[dict[str, Any], str, str]] = {
    "a tensor of all columns": ({"a": X, "z": X * 9}, "float[N,2] x", TENSOR),
    "a tensor of any width": ({"a": X, "z": X * 9}, "float[N,w] x", TENSOR),
    "one column by its name": ({"z": X * 9, "a": X}, "float[N,1] a", ""),
    "whole numbers": ({"h": (X * 100).round(), "z": X}, "int64[N,1] h",
                      "f = Cast <to: int = 1> (h) a = Div (f, hundred)"),
    "truth values": ({"h": X > 0.5, "z": X}, "bool[N,1] h", "a = Cast <to: int = 1> (h)"),
    "numbers as texts": ({"h": (X * 100).round(), "z": X}, "string[N,1] h",
                         "t = Cast <to: int = 1> (h) a = Div (t, hundred)"),
    "a name that is no name in ONNX": ({"a name": X, "z": X * 9}, "float[N,1] a_name", "a = Identity (a_name)"),
}  # fmt: skip


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize("form", TAKEN)
def test_columns_reach_the_inputs_of_a_model(form: str, tmp_path: Path) -> None:
    content, inputs, before = TAKEN[form]
    weights = CONSTANTS + ", int64[1] first = {0}, float hundred = {100}"
    path = write(tmp_path, "t.onnx", foreign(inputs, "float[N,1] p", f"{before} {CHANCE_OF_A}", weights))
    found = teacher_of(path).answers(_column(content), None)
    a = content.get("a", content.get("a name", content.get("h", X)))
    a = a / 100 if "hundred" in before else np.asarray(a, dtype=np.float64)
    assert found.chances is not None
    np.testing.assert_allclose(found.chances[:, 1], 1 / (1 + np.exp(5 - 8 * a)), atol=1e-5)


def test_three_classes_take_the_names_of_the_file_or_of_the_user(table: Table, tmp_path: Path) -> None:
    nodes = f"""one = ai.onnx.ml.LabelEncoder <{LEVELS}> (c) two = Mul (a, a) all = Concat <axis: int = 1> (one, a, two)
    p = Softmax (all) i = ArgMax <axis: int = 1> (p)"""
    maps = 'm = ai.onnx.ml.ZipMap <classlabels_strings: strings = ["low", "mid", "top"]> (p)'
    plain = write(tmp_path, "p.onnx", foreign(TAKES, "float[N,3] p", nodes))
    named = write(tmp_path, "n.onnx", foreign(TAKES, "int64[N,1] i, float[N,3] m", f"{nodes} {maps}"))
    rows = rows_of(table, ("top", "mid", "low"))
    first = taught(rows, teacher_of(plain, teacher_classes=("low", "mid", "top")).answers(table, None), "t")
    second = taught(rows, teacher_of(named, teacher_classes=("low", "mid", "top")).answers(table, None), "t")
    with pytest.raises(InputError, match="3 classes have a probability, and 2 have a name"):
        teacher_of(plain, teacher_classes=("low", "top")).answers(table, None)
    columns = columns_of(table)
    score = np.column_stack([columns["c"] == "red", columns["a"], columns["a"] ** 2])
    shares = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    seen = [("low", "mid", "top")[k] for k in score.argmax(axis=1)]
    for found in (first, second):
        assert [found.classes[k] for k in found.y] == seen
        assert found.classes == tuple(label for label in rows.classes if label in seen)
        assert found.chances is not None
        own = shares[:, [("low", "mid", "top").index(label) for label in found.classes]]
        np.testing.assert_allclose(found.chances, own / own.sum(axis=1, keepdims=True), atol=1e-6)


def test_a_model_of_rulekit_says_what_it_predicts(table: Table, tmp_path: Path) -> None:
    graph = parse_graph(RULES)
    graph.save(tmp_path / "m.json")
    rulekit.export(graph, tmp_path / "m.onnx", "onnx")
    for name in ("m.json", "m.onnx"):
        rows = taught(rows_of(table), teacher_of(tmp_path / name).answers(table, None), name)
        own = graph.table(columns_of(table))
        assert [rows.classes[k] for k in rows.y] == list(graph.predict(own))
        assert rows.chances is not None
        np.testing.assert_allclose(rows.chances, graph.predict_proba(own))


@pytest.mark.parametrize(
    ("cells", "options", "classes", "labels", "soft"),
    [
        (["yes", "no", "yes", "no"], {}, ("no", "yes"), "yes no yes no", False),
        ([1, 0, 1, 0], {}, (0, 1), "1 0 1 0", False),
        ([3, 1, 2, 1], {}, (1, 2, 3), "3 1 2 1", False),
        ([0.25, 0.75, 0.5, 1.0], {}, ("no", "yes"), "no yes no yes", True),
        ([0.25, 0.75, 0.5, 1.0], {"teacher_cut": 0.2}, ("no", "yes"), "yes yes yes yes", True),
        ([610.5, 630, 620, 5], {"teacher_cut": 620.0}, ("no", "yes"), "no yes yes no", False),
        ([1, 3, 2, 7], {"teacher_cut": 3.0}, ("no", "yes"), "no yes no yes", False),
        ([0.25, 0.75, 0.5, 1.0], {"teacher_classes": ("yes", "no")}, ("no", "yes"), "yes no yes no", True),
    ],
)
def test_a_column_says_labels_probabilities_or_scores(
    cells: list[Any], options: dict[str, Any], classes: tuple[Any, ...], labels: str, soft: bool
) -> None:
    table = _column({"said": cells * 10, "x": list(range(40))})
    asked = teacher_of(teacher_column="said", **options)
    rows = rows_of(table, classes)
    found = taught(rows, asked.answers(table, None), "said", known=classes)
    assert [str(found.classes[k]) for k in found.y] == labels.split() * 10
    assert (found.chances is not None) == soft
    if found.chances is not None:
        sign = np.array(cells * 10) if options.get("teacher_classes") is None else 1 - np.array(cells * 10)
        np.testing.assert_allclose(found.chances[:, 1], sign)


@pytest.mark.parametrize("classes", [(0, 1), (1, 0), (False, True), (True, False), ("no", "yes")])
@pytest.mark.parametrize("cells", [[1, 0], [True, False], [0.75, 0.25]])
def test_0_and_1_and_truth_values_name_the_classes_that_they_equal(cells: list[Any], classes: tuple[Any, ...]) -> None:
    """Of a table whose rarer class is 0, which is so the second one, a teacher's 0 became 1 and its 1 became 0."""
    table = _column({"said": cells * 10, "x": list(range(20))})
    asked = (teacher_of(teacher_column="said"), function_teacher(lambda X: np.array(cells * 10), None))
    for teacher in asked:
        found = taught(rows_of(table, classes), teacher.answers(table, None), "said")
        assert found.classes == classes
        assert [found.classes[k] in (1, "yes") for k in found.y] == [True, False] * 10
        said = ("the teacher's yes is taken for 'yes'; if it means 'no', say --teacher-classes",)
        assert found.notes == (said if "yes" in classes else ())


FRAME = {"a": X.tolist(), "c": [("red", "green", None)[i % 3] for i in range(40)], "n": list(range(40))}
FORMS: dict[str, tuple[Callable[[], Any], type, Callable[[Any], Any]]] = {
    "pandas": (lambda: pd.DataFrame(FRAME, index=range(100, 140)), pd.DataFrame, lambda X: X["a"].to_numpy()),
    "polars": (lambda: pl.DataFrame(FRAME), pl.DataFrame, lambda X: X["a"].to_numpy()),
    "numpy": (lambda: np.column_stack([X, X * 2]), np.ndarray, lambda X: X[:, 0]),
    "mapping": (lambda: dict(FRAME), dict, lambda X: np.asarray(X["a"], dtype=np.float64)),
}


class Estimator:
    """A classifier that keeps the rows that it was asked about; with classes in an order of its own."""

    classes_ = np.array(["yes", "no"])

    def __init__(self, read: Callable[[Any], Any]) -> None:
        self.read, self.asked = read, []

    def predict(self, X: Any) -> Any:
        self.asked.append(X)
        return np.where(self.read(X) > 0.6, "yes", "no")

    def predict_proba(self, X: Any) -> Any:
        return np.column_stack([self.read(X), 1 - self.read(X)])


@pytest.mark.parametrize("form", FORMS)
def test_functions_and_estimators_get_rows_in_the_form_of_the_users(form: str) -> None:
    """Made rows too, each cell of which is one of its column."""
    make, kind, read = FORMS[form]
    rows = make()
    table = infer(raw_table(rows), DEFAULT_OPTIONS)
    donors = np.random.default_rng(0).integers(40, size=(len(table.features), 90))
    estimator, asked = Estimator(read), []

    def function(X: Any) -> Any:
        asked.append(X)
        return read(X)

    function_teacher(function, rows).answers(table, None)
    assert asked[0] is rows
    for teacher, seen, names, cut in (
        (function_teacher(estimator, rows), estimator.asked, ("no", "yes"), 0.6),
        (function_teacher(function, rows), asked, (False, True), 0.5),
    ):
        found = teacher.answers(table, donors)
        made = seen[-1]
        assert isinstance(made, kind)
        assert read(made).tolist() == X[donors[0]].tolist()
        assert [found.classes[k] for k in found.y] == [names[int(chance > cut)] for chance in read(made)]
        assert found.chances is not None
        np.testing.assert_allclose(found.chances[:, found.classes.index(names[1])], read(made))
    if form != "numpy":
        frame = pd.DataFrame(made) if form != "polars" else made.to_pandas()
        assert frame["n"].tolist() == donors[2].tolist()
        assert set(frame["c"].dropna()) <= {"red", "green"}


def test_the_rows_take_the_order_of_the_tables_classes(table: Table) -> None:
    """A class that the teacher never names is left out; a label that it does not know has no place."""
    n = table.n_rows
    rows = rows_of(table, ("top", "mid", "low"))
    said = np.where(np.arange(n) % 4 == 0, "low", "top")
    shares = np.tile([0.5, 0.25, 0.25], (n, 1))
    found = taught(rows, Answers.of_labels(said, ["low", "top", "mid"], shares), "t")
    assert found.classes == ("top", "low")
    assert [found.classes[k] for k in found.y] == said.tolist()
    assert found.chances is not None
    np.testing.assert_allclose(found.chances, np.tile([1 / 3, 2 / 3], (n, 1)))
    assert found.truth is not None
    assert found.truth.tolist() == [{0: 0, 1: -1, 2: 1}[i % 3] for i in range(n)]
    bare = rows_of(table, ())
    free = taught(bare, Answers.of_labels(said), "t", ReadingOptions(positive="top"))
    assert (free.classes, free.truth) == (("low", "top"), None)
    ranked = taught(bare, Answers.of_labels(said), "t", ReadingOptions(ordered=("top", "low")))
    assert (ranked.classes, ranked.ordered) == (("top", "low"), True)


@pytest.mark.parametrize(
    ("said", "classes", "what"),
    [
        (lambda n: np.full(n, "yes"), ("no", "yes"), "answers 'yes' for every row"),
        (lambda n: np.where(np.arange(n) % 2, "maybe", "no"), ("no", "yes"), "'maybe'; the classes are 'no', 'yes'"),
        (lambda n: np.array(["yes", "no"] * 3), ("no", "yes"), "6 answers for 240 rows"),
        (lambda n: np.arange(n) % 2 + 1, ("no", "yes"), "give --teacher-classes, a name for each"),
        (lambda n: np.where(np.arange(n) % 2, np.nan, 0.5), ("no", "yes"), "no number for data row 2"),
        (lambda n: np.linspace(-1.5, 3.25, n), ("no", "yes"), "from -1.5 to 3.25 are not probabilities"),
        (lambda n: np.full((n, 3), 1 / 3), ("no", "yes"), "the teacher answers '0'"),
    ],
)  # fmt: skip
def test_answers_that_teach_nothing_are_refused(
    said: Callable[[int], Any], classes: tuple[str, ...], what: str, table: Table
) -> None:
    teacher = function_teacher(lambda X: said(240), None)
    with pytest.raises(InputError) as caught:
        taught(rows_of(table, classes), teacher.answers(table, None), teacher.name)
    assert what in str(caught.value)


def _refusal(path: Path, table: Table) -> str:
    with pytest.raises(RulekitError) as caught:
        taught(rows_of(table), teacher_of(path).answers(table, None), path.name)
    said = str(caught.value)
    assert path.name in said
    assert "\n" not in said
    return said


@pytest.mark.parametrize("name", HOSTILE)
def test_a_model_that_cannot_teach_is_refused_in_one_line_with_its_name(
    name: str, table: Table, tmp_path: Path
) -> None:
    content, what = HOSTILE[name]
    assert what in _refusal(write(tmp_path, f"{name}.onnx", content), table)


def test_an_endless_model_is_ended(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "SECONDS", 2.0)
    assert "did not finish within 2 s" in _refusal(write(tmp_path, "endless.onnx", ENDLESS), table)


def test_a_file_beyond_the_limit_is_not_read(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, "large.onnx", TEACHER)
    monkeypatch.setattr(teachers, "read_bounded", lambda path: safe_files.read_bounded(path, 100))
    assert "the file is larger than" in _refusal(path, table)


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.py", "model", "gone.onnx", "model.json"])
def test_what_is_no_model_is_refused(name: str, table: Table, tmp_path: Path) -> None:
    if "gone" not in name:
        write(tmp_path, name, b"\x80\x04K\x01.")
    assert name in _refusal(tmp_path / name, table)


def test_texts_are_left_out_and_the_others_reach_the_model(tmp_path: Path) -> None:
    path = write(
        tmp_path, "t.csv", "note,a,label\n" + "".join(f"some words {i},{i / 40},no\n" for i in range(39)) + "x,1,yes\n"
    )
    options = ReadingOptions(target="label", types={"note": "text"})
    rows = read_labelled(path, options)
    assert list(columns_of(rows.table)) == ["a"]
    model = write(tmp_path, "t.onnx", foreign("float[N,1] a", "float[N,1] p", CHANCE_OF_A, CONSTANTS))
    assert teacher_of(model).answers(rows.table, None).chances is not None
