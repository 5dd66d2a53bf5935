"""Generated modules decide as the graph does, on every row and in every form of input."""

from __future__ import annotations

import math
import types
from itertools import product

import numpy as np
import pytest
from generated import module_of, plain_cells
from golden_graphs import INCOME, grades, income, ranks, score
from random_tables import random_table
from rulekit_exporters.python import TARGET
from rulekit_exporters.python.running import run

from rulekit.conformance.models import random_graph
from rulekit.errors import FormatError
from rulekit.graph import nodes as rg
from rulekit.graph.decisions import Fires
from rulekit.graph.evaluation.evaluator import decide, probabilities
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema

ROW = {
    "age": 40,
    "capital_gain": 0,
    "education_num": 13,
    "marital_status": "Married-civ-spouse",
    "veteran": False,
    "grade": "1",
    "since": 100,
    "account": 1.0,
}


def assert_parity(graph, table, folder, name="model"):
    """Sequences, mappings, None for NaN, and columns of numpy all give the graph's decision."""
    module = module_of(graph, folder, name)
    columns = plain_cells(table)
    rows = list(zip(*columns, strict=True))
    names = graph.schema.names
    expected = [repr(graph.classes[k]) for k in decide(graph, table)]
    by_column = {
        n: np.array(c, dtype=object if f.kind == "categorical" else float)
        for n, c, f in zip(names, columns, graph.schema, strict=True)
    }
    forms = {
        "sequence": [module.predict(row) for row in rows],
        "mapping": [module.predict(dict(zip(names, row, strict=True))) for row in rows],
        "none": [module.predict([None if cell != cell else cell for cell in row]) for row in rows],
        "columns": module.predict_many(by_column),
    }
    for form, labels in forms.items():
        assert list(map(repr, labels)) == expected, form
    reported = np.array([module.predict_proba(row) for row in rows])
    assert np.abs(reported - probabilities(graph, table)).max() <= 1e-12


MORE = [pytest.param(seed, marks=pytest.mark.full) for seed in range(1000, 1400)]


@pytest.mark.one_in(2)
@pytest.mark.long_from("seed", 1060)
@pytest.mark.parametrize("seed", [*range(60), *MORE])
def test_random_graphs(seed, tmp_path):
    rng = np.random.default_rng(seed)
    graph = random_graph(rng, plain=seed % 2 == 0)
    assert_parity(graph, random_table(rng, graph.schema, 60 if seed < 60 else 200), tmp_path)


@pytest.mark.parametrize(("missing", "unseen"), [*product((False, True), repeat=2)])
@pytest.mark.parametrize("policy", ["unseen", "missing"])
@pytest.mark.parametrize("levels", [("red",), ("red", "3"), ()])
def test_categories(levels, policy, missing, unseen, tmp_path):
    feature = Feature("c", "categorical", ("red", "3", "true"), missing_tokens=("?",), unseen=policy)
    graph = RuleGraph(Schema((feature,)), (0, 1), Fires(rg.Among("c", levels, missing, unseen)))
    module = module_of(graph, tmp_path)
    cells = ["red", "3", "3.0", 3, 3.0, True, "TRUE", "?", "", None, math.nan, "blue", 4]
    expected = graph.predict([{"c": cell} for cell in cells]).tolist()
    assert [module.predict([c]) for c in cells] == expected
    assert module.predict_many({"c": np.array(cells, dtype=object)}) == expected


def test_a_large_category_is_a_constant_set(tmp_path):
    levels = tuple(f"level {i}" for i in range(5000))
    feature = Feature("c", "categorical", levels)
    graph = RuleGraph(Schema((feature,)), (0, 1), Fires(rg.Among("c", levels[:2500], unseen=True)))
    module = module_of(graph, tmp_path)
    assert [module.predict([c]) for c in ("level 7", "level 2500", "other", None)] == [1, 0, 1, 0]


def test_cells_in_other_clothes_decide_alike(tmp_path):
    module = module_of(score(), tmp_path)
    days = ("2024-05-31", np.float32(19874), 19874, 19874)
    veterans = ({"veteran": "true"}, {"veteran": 1}, {"veteran": np.bool_(True), "grade": 1.0, "age": "40"})
    others = (*veterans, {"veteran": "True", "grade": np.int64(1), "age": np.int16(40)})
    alike = (
        [{"account": cell} for cell in (-999, -999.0, "-999", None, "")],
        [{"veteran": True, "since": 19874}, *(cells | {"since": day} for cells, day in zip(others, days, strict=True))],
    )
    for changes in alike:
        given = [module.predict_proba(ROW | change) for change in changes]
        assert given == given[:1] * len(changes)
    assert module.predict_proba(ROW | {"account": -4}) != module.predict_proba(ROW | {"account": -999})


@pytest.mark.parametrize("other", ["green", 3, 3.0, True, None, math.nan, "red\0", "", "3.0", 2.5])
@pytest.mark.parametrize("first", ["red", "TRUE", math.nan, 3.5, True, 3, None])
def test_lists_of_cells_decide_like_their_rows(first, other, tmp_path):
    """A list's cells were brought to one type: NaN beside text became the text "nan", True beside 3.5 a number."""
    schema = Schema((Feature("c", "categorical", ("red", "3", "true")), Feature("x"), Feature("f", "boolean")), "t")
    formula = rg.Or(
        (rg.Among("c", ("red",), missing=True), rg.And((rg.Among("c", ("true",)), rg.Compare("x", ">", 0.5))))
    )
    module = module_of(
        RuleGraph(schema, (0, 1), Fires(rg.Or((formula, rg.And((rg.IsTrue("f"), rg.Among("c", ("3",)))))))), tmp_path
    )
    columns = {"c": [first, other, first], "x": [1, "2", None], "f": [True, 0.0, "true"]}
    rows = [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    assert module.predict_many(columns) == [module.predict(row) for row in rows]
    assert module.predict_many({name: tuple(cells) for name, cells in columns.items()}) == module.predict_many(columns)


def test_counting_conditions_of_numpy_scalars(tmp_path):
    """np.True_ + np.True_ is np.True_, so an at-least must not add conditions up without an integer start."""
    features = (Feature("a"), Feature("b"))
    formula = rg.AtLeast(2, (rg.Compare("a", ">", 0.0), rg.Compare("b", ">", 0.0)))
    module = module_of(RuleGraph(Schema(features), (0, 1), Fires(formula)), tmp_path)
    assert module.predict(np.array([1.0, 1.0])) == 1
    assert module.predict(np.array([1.0, -1.0])) == 0


def test_wrong_rows_are_errors(tmp_path):
    feature = Feature("c", "categorical", ("red",), unseen="error")
    strict = module_of(RuleGraph(Schema((feature,)), (0, 1), Fires(rg.Among("c", ("red",)))), tmp_path, "strict")
    whole = module_of(RuleGraph(Schema((Feature("x"),)), (0, 1), Fires(rg.Compare("x", ">", 0.1))), tmp_path, "whole")
    module = module_of(income(), tmp_path)
    assert [strict.predict([c]) for c in ("red", None)] == [1, 0]
    assert module.predict(types.MappingProxyType(ROW)) == module.predict(tuple(ROW.values())) == ">50K"
    for ask, data, error, message in (
        (strict.predict, ["blue"], ValueError, "column 'c': the level 'blue' is unknown"),
        (strict.predict_many, {"c": np.array(["red", "blue"], dtype=object)}, ValueError, "blue"),
        (module.predict, {k: v for k, v in ROW.items() if k != "age"}, KeyError, "age"),
        (module.predict, types.MappingProxyType({"age": 3}), KeyError, "capital_gain"),
        (module.predict, [1, 2, 3], ValueError, "8 cells"),
        (module.predict, ROW | {"age": "forty"}, ValueError, "column 'age'"),
        (module.predict, "forty", TypeError, "mapping or a sequence"),
        (module.predict_many, {"capital_gain": [1.0]}, KeyError, "age"),
        (whole.predict, np.array([2**53 + 1]), ValueError, r"beyond 2\^53"),
        (whole.predict, {"x": str(2**53 + 1)}, ValueError, r"beyond 2\^53"),
    ):
        with pytest.raises(error, match=message):
            ask(data)


def test_frames_arrays_and_rows(tmp_path):
    pandas = pytest.importorskip("pandas")
    module = module_of(income(), tmp_path)
    rows = [ROW, ROW | {"age": 20}, ROW | {"marital_status": None}, ROW | {"capital_gain": 9999.0}]
    columns = {name: [row[name] for row in rows] for name in ROW}
    array = np.array([list(row.values()) for row in rows], dtype=object)
    for data in (rows, columns, pandas.DataFrame(rows), array, {name: np.array(c) for name, c in columns.items()}):
        assert module.predict_many(data) == [">50K", "<=50K", "<=50K", ">50K"]


HOSTILE = ("__import__('os').abort()", 'a"b', "a'b", '"""', "new\nline", "x\r", "\\", "\x00", "import", "é")
HOSTILE += ("\u202eabc", "p1", "# x", "")


def test_hostile_names_are_data(tmp_path):
    """Column names, levels and labels that are code, quotes or line ends neither run nor break the module."""
    numeric = tuple(Feature(name) for name in HOSTILE)
    words = Feature("words", "categorical", tuple(name for name in HOSTILE if name))
    clauses = [rg.Compare(name, ">", 0.5) for name in HOSTILE] + [rg.Among("words", words.levels[:3])]
    bits = tuple(rg.Hidden(f"h {name}", clause, 1.0) for name, clause in zip((*HOSTILE, "w"), clauses, strict=True))
    graph = RuleGraph(
        Schema((*numeric, words), target='"""\nimport os'),
        ('"""', "\n# rules: end\n"),
        Fires(rg.Or(tuple(clauses))),
        (rg.Probability(rg.Or(bits)),),
    )
    module = module_of(graph, tmp_path)
    empty = dict.fromkeys(graph.schema.names)
    assert module.predict(empty) == graph.classes[0]
    for name in HOSTILE:
        assert module.predict(empty | {name: 1.0}) == graph.classes[1]
    assert module.predict(empty | {"words": HOSTILE[0]}) == graph.classes[1]
    assert TARGET.read((tmp_path / "model.py").read_bytes()) == graph


def test_deep_and_wide_graphs_are_within_the_parser_s_limits(tmp_path):
    deep = rg.IsTrue("b")
    for i in range(1200):
        deep = (
            rg.Or((rg.And((deep, rg.Compare("x", ">", i % 7 - 3.5))), rg.Not(rg.Missing("x"))))
            if i % 2
            else rg.Not(rg.And((deep,)))
        )
    wide = rg.Or(tuple(rg.And((rg.Compare("x", ">", float(i)), rg.Compare("x", "<=", i + 0.5))) for i in range(600)))
    total = rg.Linear(tuple((0.5, rg.Compare("x", ">", float(i))) for i in range(1500)), -10.0)
    schema = Schema((Feature("x"), Feature("b", "boolean")))
    table = random_table(np.random.default_rng(3), schema, 100)
    for k, formula in enumerate((rg.Or((deep, wide)), rg.Above(total, 0.0))):
        assert_parity(RuleGraph(schema, (0, 1), Fires(formula)), table.take(np.arange(20)), tmp_path, f"model_{k}")


# Reading and running -------------------------------------------------------------------------------------------------


def test_a_damaged_module_is_refused_and_reading_never_executes():
    source = TARGET.emit(income(), {}).main
    assert TARGET.read(b"raise SystemExit('executed')\n" + source) == income()
    assert TARGET.read(source.replace(b"\n", b"\r\n")) == income()
    changes = (b"5100", b"5101"), (b"DIGEST = ", b"DIGESTS = "), (b"# | default", b"default"), (b"# | def", b"# | dev")
    damaged = [b"", b"print('hello')\n", source[: len(source) // 2], source + b"\xff", bytes(range(256)) * 9]
    for content in (*damaged, *(source.replace(*change) for change in changes)):
        with pytest.raises(FormatError):
            TARGET.read(content)


NAMES = b"CLASSES = ('<=50K', '>50K')\npredict_many = lambda data: []\n"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"import sys\nsys.exit()\n", "left no answer"),
        (NAMES + b"predict = lambda row: 3\n", "KeyError"),
        (NAMES + b"predict = lambda row: '>50K'\npredict_proba = lambda row: []\n", "2 numbers"),
        (b"import time\ntime.sleep(60)\n", "did not finish"),
        (b"raise ValueError('boom')\n", "boom"),
        (b"x = 1\n", "CLASSES"),
    ],
)
def test_a_module_that_fails_is_reported(source, message):
    graph = income()
    table = random_table(np.random.default_rng(7), graph.schema, 3)
    with pytest.raises(FormatError, match=message):
        run(source, graph, table, seconds=1.5)


def test_other_class_names_are_not_those_of_the_model():
    """Labels were looked up in the module's own CLASSES, so a module with other words for them passed verification."""
    graph = income()
    source = TARGET.emit(graph, {}).main.replace(b'CLASSES = ("<=50K", ">50K")', b'CLASSES = ("poor", "rich")')
    assert b'"rich"' in source
    with pytest.raises(FormatError, match="CLASSES are 'poor', 'rich' and not those of the model"):
        run(source, graph, random_table(np.random.default_rng(7), graph.schema, 3))


def test_no_denial_is_denied(tmp_path):
    """`not home` was `~~(home <= 0.5)` in the function for columns."""
    negative = rg.Not(rg.IsTrue("veteran", missing=True))
    either = rg.Or((rg.Compare("age", ">", 1.0), rg.Compare("education_num", ">", 3.0)))
    twice = rg.Not(rg.Not(rg.And((either, negative))))
    for i, formula in enumerate(
        (negative, rg.And((negative, rg.Compare("age", ">", 1.0))), twice, rg.Not(rg.Not(either)))
    ):
        graph = RuleGraph(INCOME, (0, 1), Fires(formula))
        text = TARGET.emit(graph, {}).main.decode()
        assert "~~" not in text
        assert "not not" not in "".join(line for line in text.splitlines(True) if not line.lstrip().startswith("#"))
        assert_parity(graph, random_table(np.random.default_rng(i), INCOME, 200), tmp_path, f"denied_{i}")


def test_a_module_reads_from_the_rules_down_to_the_machinery():
    """The patterns and aliases of the reader of cells stood above the rules."""
    text = TARGET.emit(grades(), {}).main.decode()
    landmarks = ("import ", "CLASSES", "def decide(", "def predict(", "# How cells are read", "NUMBER = ")
    below = ("def number(", "def command_line(", "# rules: begin")
    places = [text.index(f"\n{landmark}") for landmark in landmarks + below]
    assert places == sorted(places)


def test_a_module_of_weighted_rules_says_them_before_its_arithmetic():
    """Products of constants were all that a reader of a noisy-logical model saw."""
    docstring = TARGET.emit(ranks(), {}).main.decode().partition("from __future__")[0]
    assert "income is above 1 when the probability that any of these holds exceeds 0.5" in docstring
    assert "0.8  capital_gain > 5,100 USD" in docstring
    assert "rules" not in TARGET.emit(score(), {}).main.decode().partition("columns that the rules read")[0]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.int64, np.bool_, float, int])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_cells_of_any_width_are_read_as_the_model_reads_them(kind, precision, tmp_path):
    """NumPy compares a narrow number with a double in the narrow type, in which the threshold is another number."""
    schema = Schema((Feature("x", precision=precision), Feature("y")))
    graph = RuleGraph(schema, (0, 1), Fires(rg.Compare("x", ">", 0.1)))
    module = module_of(graph, tmp_path)
    cells = [kind(value) for value in (0, 0.1, 0.3, 0.0999, 0.10001, 0.10000000894069672, 1)]
    for row in ([[cell, 0.0] for cell in cells], np.array([[cell, 0.0] for cell in cells], dtype=kind)):
        wide = [{"x": float(each[0]), "y": 0.0} for each in row]
        expected = graph.decide(wide).tolist()
        if kind is not np.float16 or precision == "float64" or isinstance(row, np.ndarray):
            assert [module.predict(each) for each in row] == expected
        assert module.predict_many(row) == expected
    if precision == "float64":
        assert [module.predict({"x": cell, "y": 0.0}) for cell in cells] == graph.decide(
            [{"x": float(cell), "y": 0.0} for cell in cells]
        ).tolist()
