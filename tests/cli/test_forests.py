"""A forest that another program wrote as ONNX goes through the commands as a model does."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run, assert_refused, done
from forest_cases import Trees, model

from rulekit.graph.files.model_files import load


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    """Above 0.5 where the first column is large, or the second small; a larger first column can turn it off again."""
    trees = Trees()
    for tree, (column, cut, low, high) in enumerate([(0, 10.0, 0.0, 0.5), (1, 3.0, 0.25, 0.0), (0, 20.0, 0.0, -0.25)]):
        trees.node(tree, 0, "BRANCH_LEQ", column, cut, 1, 2)
        trees.node(tree, 1)
        trees.node(tree, 2)
        trees.vote(tree, 1, 0, low)
        trees.vote(tree, 2, 0, high)
    trees.node(3, 0)
    trees.vote(3, 0, 0, -0.5)
    path = tmp_path / "forest.onnx"
    given = trees.attributes | {"classlabels_strings": ["no", "yes"]}
    path.write_bytes(model(given, 2).SerializeToString())
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    path = tmp_path / "loans.csv"
    path.write_text("city,income,debt,approved\na,12.5,4.5,1\nb,3.5,2.5,0\n")
    return path


def test_a_forest_is_imported_with_a_promise_that_check_breaks(run: Run, forest: Path, rows: Path) -> None:
    """Numbers name its columns in the order of the file; the classes are those of the forest."""
    made = forest.with_name("forest.json")
    named = ["--data", str(rows), "--ignore", "approved", "--monotone", "income=increasing"]
    done(run("import", str(forest), *named, "-o", str(made)))
    graph = load(made)
    assert (graph.schema.names, graph.classes, graph.schema["income"].monotone) == (
        ("income", "debt"),
        ("no", "yes"),
        1,
    )
    checked = run("check", str(made))
    assert checked.status == 1
    assert 'FAILS       as income grows, the decision never turns from "yes" to "no"' in checked.out
    done(run("import", str(forest), "--monotone", "x1=decreasing", "-o", str(made)))
    assert 'proved      as x1 grows, the decision never turns from "no" to "yes"' in done(run("check", str(made))).out


def test_a_forest_is_shown_compared_and_exported(run: Run, forest: Path) -> None:
    shown, made = done(run("show", str(forest))).out, forest.with_name("forest.json")
    assert 'label is "yes"' in shown.replace('"label"', "label")
    done(run("import", str(forest), "-o", str(made)))
    assert "PROVED EQUAL" in done(run("compare", str(forest), str(made))).out
    exported = forest.with_name("again.onnx")
    done(run("export", str(forest), "--to", "onnx", "-o", str(exported)))
    done(run("verify", str(made), str(exported)))


def test_what_does_not_fit_a_forest_is_refused(run: Run, forest: Path, rows: Path) -> None:
    made = str(forest.with_name("forest.json"))
    assert_refused(
        run("import", str(forest), "--data", str(rows), "-o", made), "3 (income, debt, approved)", "--ignore"
    )
    assert_refused(run("import", str(forest), "--monotone", "x9=increasing", "-o", made), "no column 'x9'")
    assert_refused(run("import", str(forest), "--monotone", "x0=up", "-o", made), "'up' is no direction")
    rules = forest.with_name("rules.txt")
    rules.write_text(str(load(forest)))
    assert_refused(run("import", str(rules), "--data", str(rows), "-o", made), "name the columns of a forest alone")
