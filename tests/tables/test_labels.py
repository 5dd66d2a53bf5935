"""Labels: natural types, the positive class, weights, groups, costs, the data hash; and what the rows tell beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from table_rows import split_labels

from rulekit.errors import InputError
from rulekit.schema import Schema
from rulekit.tables.kinds.inference import infer
from rulekit.tables.labelling import near_label_notes, order_note, read_labelled
from rulekit.tables.labels import LabelledTable, classes_of_keys, label_for_model
from rulekit.tables.options import ReadingOptions


def split(labels: list[object], **options: object) -> LabelledTable:
    return split_labels({"x": list(range(len(labels))), "y": labels}, ReadingOptions("y", **options))


@pytest.mark.parametrize(
    ("labels", "options", "classes", "y"),
    [
        (["no", "yes", "no"], {}, ("no", "yes"), [0, 1, 0]),
        (["yes", "no", "yes"], {}, ("yes", "no"), [0, 1, 0]),
        (["a", "b"], {}, ("a", "b"), [0, 1]),
        ([1, 0, 0], {}, (0, 1), [1, 0, 0]),
        ([1.0, 2.0, 1.0], {}, (1, 2), [0, 1, 0]),
        (["0", "1", "0"], {}, (0, 1), [0, 1, 0]),
        (["2", "10", "1", "2"], {}, (1, 2, 10), [1, 2, 0, 1]),
        ([0.5, 1.5, 1.5, 2.5], {}, (0.5, 1.5, 2.5), [0, 1, 1, 2]),
        ([True, False, False], {}, (False, True), [1, 0, 0]),
        (["TRUE", "false", "False"], {}, (False, True), [1, 0, 0]),
        (["01", "02", "02"], {}, ("02", "01"), [1, 0, 0]),
        (["NA", "b", "c"], {}, ("NA", "b", "c"), [0, 1, 2]),
        ([">50K", "<=50K", "<=50K"], {}, ("<=50K", ">50K"), [1, 0, 0]),
        (["a", "a", "b"], {"positive": "a"}, ("b", "a"), [1, 1, 0]),
        ([0, 0, 1], {"positive": "0"}, (1, 0), [1, 1, 0]),
        ([True, False, False], {"positive": "false"}, (True, False), [0, 1, 1]),
        (["mid", "low", "high"], {"ordered": ("low", "mid", "high")}, ("low", "mid", "high"), [1, 0, 2]),
    ],
)
def test_labels_have_their_natural_types_and_an_order(
    labels: list[object], options: dict[str, object], classes: tuple[object, ...], y: list[int]
) -> None:
    """That of two classes the positive one is the rarer, where none is named; ranks are as ordered."""
    data = split(labels, **options)
    assert (data.classes, data.y.tolist(), data.table.names) == (classes, y, ("x",))
    assert [type(c) for c in data.classes] == [type(c) for c in classes]
    assert data.schema.ordered_classes == ("ordered" in options)
    assert split(["a", "a", "b"]).notes == ("positive class is 'b', the rarer (1 of 3 rows)",)


def test_missing_labels_are_refused_or_dropped_never_silent() -> None:
    with pytest.raises(InputError, match=r"the label is missing in 2 of 5 rows \(data row 2, 4\); fill it in"):
        split(["a", None, "b", "", "b"])
    data = split(["a", None, "b", "", "b"], missing_target="drop")
    assert data.table.array("x").tolist() == [0, 2, 4]
    assert data.y.tolist() == [1, 0, 0]
    assert data.notes[0] == "2 of 5 rows were dropped, since their label is missing"
    with pytest.raises(InputError, match="no row has a label"):
        split([None, None])


def test_na_is_a_class_unless_declared_missing() -> None:
    data = split(["NA", "b", "c", "c"])
    assert data.classes == ("NA", "b", "c")
    assert "'NA' (1 rows) is kept as a class" in data.notes[0]
    data = split(["NA", "b", "c", "c"], missing=["y=NA"], missing_target="drop")
    assert data.classes == ("c", "b")


ROWS = {"x": [1, 2], "y": ["a", "b"]}


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"y": ["a", "a"]}, {}, "column 'y': the only class is 'a'"),
        ({"income": ["a", "b"]}, {"target": "incom"}, "no target column 'incom'; did you mean 'income'"),
        ({"x": range(30), "y": np.linspace(0, 1, 30)}, {}, "Unknown label type: continuous"),
        ({}, {"ignore": ("x",)}, "no column is left beside the target"),
        ({}, {"positive": "c"}, "no class 'c'; classes are 'a', 'b'"),
        ({"x": [1, 2, 3], "y": ["a", "b", "c"]}, {"positive": "a"}, "a positive class with 3 classes"),
        ({}, {"ordered": ("a",)}, "class 'b' is missing from the order"),
        ({"y": ["low", "high"]}, {"ordered": ("low", "hihg")}, "no class 'hihg'; did you mean 'high'"),
        ({"g": ["p", None]}, {"group": "g"}, "data row 2, column 'g': the row has no group"),
        *(
            ({"w": weight}, {"weight": "w"}, r"weight|'w'")
            for weight in ([1, -1], [1, None], [1.0, np.inf], [0, 0], ["1", "much"])
        ),
        *(({}, {"cost": cost}, "cost") for cost in ("5", "1:x", "0:1", "1:-1", "1:inf", "1:2:3")),
    ],
)
def test_what_is_no_label_weight_group_or_cost_is_refused(
    columns: dict[str, object], options: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        split_labels(ROWS | columns, ReadingOptions(**({"target": "y"} | options)))


def test_weight_group_and_target_are_no_features() -> None:
    data = split_labels(
        {"x": [1, 2, 3], "w": [0.5, 0, 2], "g": ["p", "q", "p"], "y": ["a", "b", "a"]},
        ReadingOptions("y", weight="w", group="g"),
    )
    assert data.table.names == ("x",)
    assert data.weight.tolist() == [0.5, 0, 2]
    assert data.group.tolist() == [0, 1, 0]
    taken = data.take(np.array([True, False, True]))
    assert (taken.y.tolist(), taken.weight.tolist(), taken.group.tolist()) == ([0, 0], [0.5, 2], [0, 0])


def test_costs_weigh_the_classes() -> None:
    assert split(["a", "a", "b"], cost="1:5").cost == (1.0, 5.0)
    assert split(["a", "b"]).cost is None


def test_reading_labels_and_reading_for_a_model(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,c,label\n1,u,yes\n2,v,no\n3,u,no\n")
    data = read_labelled(path, ReadingOptions("label"))
    assert (data.classes, data.y.tolist(), data.table.names) == (("no", "yes"), [1, 0, 0], ("x", "c"))
    later = tmp_path / "later.csv"
    later.write_text("label,extra,x,c\nno,1,5,new\nyes,2,6,v\n")
    again = label_for_model(later, data.schema, data.classes)
    assert (again.y.tolist(), again.table.array("x").tolist()) == ([0, 1], [5, 6])
    assert again.table.array("c").tolist() == [1, 3]
    later.write_text("label,x,c\nno,5,u\nmaybe,6,v\n")
    with pytest.raises(InputError, match=r"later\.csv, data row 2, column 'label': label 'maybe' is no class"):
        label_for_model(later, data.schema, data.classes)
    one = label_for_model({"x": [1, 1], "c": ["u", "u"], "label": ["no", "no"]}, data.schema, data.classes)
    assert one.y.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1.0", "0", "1"], (0, 1)),
        ([1.0, 0.0, 1.0], (0, 1)),
        (["TRUE", "False", "true"], (False, True)),
        ([True, False, True], (False, True)),
    ],
)
def test_labels_match_the_model_across_types(labels: list[object], classes: tuple[object, ...]) -> None:
    schema = Schema(infer({"x": [1, 2, 3]}).features, target="y")
    assert label_for_model({"x": [1, 2, 3], "y": labels}, schema, classes).y.tolist() == [1, 0, 1]


def test_labels_that_look_alike_and_classes_of_few_rows_are_named() -> None:
    notes = classes_of_keys(["Yes", "no", "yes", "yes "], np.array([40, 90, 50, 4]), "y", "")[2]
    assert notes == (
        "labels that differ only in case or blanks are classes of their own: 'Yes' and 'yes' and 'yes '; "
        "write them alike",
        "of 184 rows 'yes ' has 4: too few to learn a rule from, or to measure one",
    )


def test_a_column_that_tells_the_label_alone_is_named() -> None:
    labels = np.arange(300) % 3 == 0
    noise = np.where(np.arange(300) % 30 == 0, 1.0 - labels, labels)
    for cells, told in ((labels, 1), (np.where(labels, "x", "y"), 1), (labels * 5.0 + np.arange(300) / 100, 1),
                        (noise, 0), (np.arange(300), 0), ([f"id{i}" for i in range(300)], 0)):  # fmt: skip
        table = infer({"c": cells})
        assert len(near_label_notes(table.features, table.arrays, labels.astype(np.int64))) == told
    table = infer({"c": labels})
    assert near_label_notes(table.features, table.arrays, (np.arange(300) < 3).astype(np.int64)) == []


@pytest.mark.parametrize(
    ("trained", "scored", "way"),
    [("yes,no", " yes,no", "--trim takes the blanks off"), (" yes,no", "yes,no", "leave --trim out, or train with it")],
)
def test_a_label_that_differs_in_blanks_names_trim(tmp_path: Path, trained: str, scored: str, way: str) -> None:
    for name, labels in (("a.csv", trained), ("b.csv", scored)):
        (tmp_path / name).write_text("v,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels.split(","))))
    known = read_labelled(tmp_path / "a.csv", ReadingOptions("y"))
    with pytest.raises(InputError, match=f"is no class of the model; {way}"):
        label_for_model(tmp_path / "b.csv", known.schema, known.classes)


def rows_of(columns: dict[str, object], y: np.ndarray) -> LabelledTable:
    return LabelledTable(infer(columns), y.astype(np.int64), tuple(range(int(y.max()) + 1)), target="y")


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.sampled_from([100, 300, 2000]), rare=st.sampled_from([0.5, 0.1, 0.02, 0.005]))
def test_rows_in_random_order_are_never_noted(seed: int, n: int, rare: float) -> None:
    """Rare labels and levels, gaps and ties among them; none of 5,000 seeds was noted."""
    rng = np.random.default_rng(seed)
    y = rng.random(n) < rare
    y[:2], y[2:4] = True, False
    columns = {
        "number": rng.lognormal(size=n),
        "tied": rng.poisson(0.3, n).astype(float),
        "gaps": np.where(rng.random(n) < 0.7, np.nan, rng.normal(size=n)),
        "level": rng.choice(["a", "b", "c"], n, p=[1 - rare, rare / 2, rare / 2]),
        "id": np.arange(n, dtype=float),
    }
    rng.shuffle(y)
    assert order_note(rows_of(columns, y)) is None


@pytest.mark.parametrize("n", [400, 3000])
def test_what_depends_on_the_row_before_is_named(n: int) -> None:
    rng = np.random.default_rng(0)
    walk = np.zeros(n)
    for k in range(1, n):
        walk[k] = 0.9 * walk[k - 1] + rng.normal()
    free = rng.random(n)
    note = order_note(rows_of({"a": free, "b": walk}, rng.random(n) < 0.5))
    assert note is not None
    assert "alike in b, " in note
    assert "--time rows" in note
    note = order_note(rows_of({"a": free, "day": np.arange(n) // 3}, walk > 0))
    assert note is not None
    assert "alike in y, " in note
    assert note.endswith("in the order of day; if that is time, give --time day")
    note = order_note(rows_of({"a": free, "b": walk}, np.arange(n) > n / 2))
    assert note == "the rows are sorted by y: their order is no order of time"
