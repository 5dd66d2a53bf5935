"""A generated module tests itself: its own rows, through every function and form of input."""

from __future__ import annotations

import math
import re
import subprocess
import sys

import numpy as np
import pytest
from generated import module_of
from golden_graphs import INCOME, MODELS, income
from rulekit_exporters.python import TARGET

from rulekit.conformance.models import random_graph
from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Among, And, Compare, Constant, IsTrue, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema


def self_test(source, folder, *flags):
    path = folder / "model.py"
    path.write_bytes(source)
    command = [sys.executable, "-I", *flags, str(path), "--self-test"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def run_here(graph, folder, capsys):
    status = module_of(graph, folder, self_test=True).self_test()
    return status, capsys.readouterr().out


@pytest.mark.parametrize("name", MODELS)
def test_the_rows_of_a_module_are_decided_as_the_model_decides(name, tmp_path):
    done = self_test(TARGET.emit(MODELS[name](), {"self_test": True}).main, tmp_path)
    assert re.fullmatch(r"self-test: [1-9][0-9]* rows, 0 different\n", done.stdout)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(30))
def test_random_models_pass_their_own_test(seed, tmp_path, capsys):
    graph = random_graph(np.random.default_rng(7000 + seed), plain=seed % 2 == 0)
    status, line = run_here(graph, tmp_path, capsys)
    assert (status, line.endswith("rows, 0 different\n")) == (0, True), line


def test_it_needs_no_numpy(tmp_path):
    done = self_test(TARGET.emit(income(), {"self_test": True}).main, tmp_path, "-S")
    assert done.stdout.endswith(" rows, 0 different\n")
    assert done.returncode == 0


PLACES = {"decide": "predict of a mapping gives", "probabilities": "predict_proba of a mapping gives"}


CROSSINGS = ("5100.000244140625", "28.500000953674316", "12.500000476837158")


@pytest.mark.parametrize("crossing", [pytest.param(c, marks=[pytest.mark.long] * (c[0] != "5")) for c in CROSSINGS])
@pytest.mark.parametrize("function", PLACES)
def test_a_threshold_that_is_one_ulp_off_is_found(function, crossing, tmp_path):
    source = TARGET.emit(income(), {"self_test": True}).main.decode()
    start = source.index(f"def {function}(")
    place = source.index(crossing, start)
    moved = repr(math.nextafter(float(crossing), math.inf))
    done = self_test((source[:place] + moved + source[place + len(crossing) :]).encode(), tmp_path)
    assert PLACES[function] in done.stdout
    assert done.stdout.startswith("self-test: row ")
    assert done.stdout.count("\n") == 1
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'in {"Married-AF-spouse", "Married-civ-spouse"}', b'in {"Married-AF-spouse"}'),
        (b'CLASSES = ("<=50K", ">50K")', b'CLASSES = ("<=50K", "rich")'),
        (b"cells = (row[0],", b"cells = (row[2],"),
        (b'cells = (row["age"],', b'cells = (row["capital_gain"],'),
        (b'COLUMNS = ("age", "capital_gain"', b'COLUMNS = ("capital_gain", "age"'),
        (b"return [1.0 - positive, positive]", b"return [positive, 1.0 - positive]"),
        (b"used = {name: column_of(columns[name], kind)", b"used = {name: column_of(columns['age'], kind)"),
        (b"cell(whole[place]", b"cell(whole[0]"),
        (b"    if capital_gain >", b"    raise ArithmeticError('no')\n    if capital_gain >"),
    ],
)
def test_other_faults_are_found(old, new, tmp_path):
    source = TARGET.emit(income(), {"self_test": True}).main
    assert old in source
    done = self_test(source.replace(old, new, 1), tmp_path)
    assert (done.returncode, done.stderr, done.stdout.count("\n")) == (1, "", 1), done


def test_both_sides_of_thresholds_and_every_kind_of_cell_are_there():
    features = (
        Feature("x", missing_tokens=("-999",)),
        Feature("c", "categorical", ("3", "7"), missing_tokens=("?",)),
        Feature("b", "boolean"),
    )
    formula = Or((Compare("x", ">", 0.1), And((Among("c", ("3",)), IsTrue("b")))))
    text = TARGET.emit(RuleGraph(Schema(features), (0, 1), Fires(formula)), {"self_test": True}).main.decode()
    cells = text[text.index("TEST_CELLS") : text.index("TEST_CHANCES")]
    _, x, c, b, _ = cells.replace("\n\n", "\n").split("\n", 4)
    for value in ("nan", "inf", "-inf", "-999.0", "0.1000000052154064", "0.10000000521540642"):
        assert re.search(rf"[( ]{re.escape(value)}[,)]", x)
    for value in ("None", '"3"', '"7"', '"7.0"', '"never seen"'):
        assert value in c
    assert {*re.findall(r"[a-z0-9.]+", b)} == {"nan", "0.0", "1.0"}


def test_it_is_there_where_it_is_asked_for(tmp_path):
    source = TARGET.emit(income(), {}).main
    assert b"TEST_" not in source
    assert b"def self_test" not in source
    assert TARGET.read(TARGET.emit(income(), {"self_test": "true"}).main) == TARGET.read(source) == income()
    done = self_test(source, tmp_path)
    assert done.stderr == "--self-test: this module was written without its rows; --help tells more\n"
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(("options", "message"), [({"self_test": "maybe"}, "true or false"), ({"fast": 1}, "'fast'")])
def test_wrong_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        TARGET.emit(income(), options)


def odd_models():
    """No column, whose empty row was taken for one that is too long; texts that CSV changes; and a level with a digit
    of another script, which got a spelling that the column refused: an error about a row that the user does not have.
    """
    yield RuleGraph(INCOME, (0, 1), Fires(Constant(True)))
    feature = Feature(" c\n", "categorical", (" a", 'b"', "c,\nd", "\x00", "e "), missing_tokens=("# rules: end",))
    yield RuleGraph(Schema((feature,)), ("no", "yes"), Fires(Among(" c\n", (" a", "c,\nd", "\x00"))))
    feature = Feature("c", "categorical", ("\uff11", "2"), unseen="error")
    yield RuleGraph(Schema((feature,)), (0, 1), Fires(Among("c", ("\uff11",))))


@pytest.mark.parametrize("graph", list(odd_models()))
def test_odd_models_pass_their_own_test(graph, tmp_path, capsys):
    status, line = run_here(graph, tmp_path, capsys)
    assert (status, line.endswith(" 0 different\n")) == (0, True), line
    assert TARGET.read((tmp_path / "model.py").read_bytes()) == graph
    assert graph.used_features or line == "self-test: 1 rows, 0 different\n"


def test_large_models_keep_it_short(tmp_path, capsys):
    levels = tuple(f"level {i}" for i in range(1500))
    features = (Feature("c", "categorical", levels), *(Feature(f"x{i}") for i in range(80)))
    clauses = [And((Compare(f"x{i}", ">", i / 7), Among("c", levels[i::80]))) for i in range(80)]
    graph = RuleGraph(Schema(features), (0, 1), Fires(Or(clauses)))
    status, line = run_here(graph, tmp_path, capsys)
    assert (status, line.endswith(" 0 different\n")) == (0, True), line
    sizes = [len(TARGET.emit(graph, {"self_test": yes}).main) for yes in (False, True)]
    assert sizes[1] - sizes[0] < 60_000
