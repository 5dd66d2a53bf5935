"""A generated module scores CSV from standard input, by itself."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys

import pytest
from golden_graphs import grades, income, score
from rulekit_exporters.python import TARGET, command_line
from rulekit_exporters.python.runtime import level

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.reading import read_table

HEADER = "age,capital_gain,education_num,marital_status"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "income.py"
    path.write_bytes(TARGET.emit(income(), {"self_test": True}).main)
    return path


def score_csv(path, text, *arguments):
    data = text if isinstance(text, bytes) else text.encode()
    return subprocess.run(
        [sys.executable, "-I", str(path), *arguments], input=data, capture_output=True, timeout=60, check=False
    )


def test_labels_and_probabilities_of_each_row(program):
    done = score_csv(program, f"{HEADER}\n40,0,13,Married-civ-spouse\n40,0,13,\n,9999,,\n")
    assert done.stdout.decode().splitlines() == [
        "label,probability(<=50K),probability(>50K)",
        ">50K,0.30000000000000004,0.7",
        "<=50K,0.99,0.01",
        ">50K,0.06929999999999992,0.9307000000000001",
    ]
    assert (done.returncode, done.stderr) == (0, b"")


def test_order_is_free_extra_columns_and_a_byte_order_mark_are_ignored(program):
    text = "\ufeffmarital_status;note;age;education_num;capital_gain\r\nDivorced;a,b;40;13;9999\r\n"
    done = score_csv(program, text, "--delimiter", ";")
    assert done.stdout.decode().splitlines()[1].startswith(">50K,")
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no header line"),
        ("age,capital_gain,education_num\n1,2,3\n", "line 1: no column 'marital_status' in the header"),
        (f"{HEADER},age\n1,2,3,x,4\n", "line 1: more than one column 'age' in the header"),
        (f"{HEADER}\n1,2,3,x\n1,2,three,x\n", "line 3: column 'education_num': 'three' is not a number"),
        (f"{HEADER}\n1,2,3\n", "line 2: 3 cells, the header has 4"),
        (f'{HEADER}\n1,2,3,"x\n', "line 2: unexpected end of data"),
        (f"{HEADER}\n1,2,99999999999999999999,x\n", "line 2: column 'education_num': the integer"),
        (HEADER.encode() + b"\n1,2,3,\xff\n", "standard input: "),
        (b"\x00\xff\x00\xfe" * 50, "standard input: "),
    ],
)
def test_bad_input_is_one_line_and_status_2(program, text, message):
    done = score_csv(program, text)
    error = done.stderr.decode()
    assert message in error
    assert error.count("\n") == 1
    assert done.returncode == 2


def test_names_lose_the_blanks_around_them_and_numbers_are_read_without(program):
    done = score_csv(program, f"{HEADER.replace(',', ', ')}\n 40 , 0, 13,Married-civ-spouse\n")
    assert done.stdout.decode().splitlines()[1].startswith(">50K,")


ODD = [
    (Feature("x", display="date"), "x\n2024-7-1\n2020-01-01\n", ["yes", "no"]),
    (Feature("x", display="date"), "x\n20240701\n", "20240701 would count from 1970-01-01"),
    (Feature("x", display="datetime"), "x\n20240701123000\n", "write the date as 2024-07-01"),
    (Feature("x"), "x\n19901\n\n2\n\n", ["yes", "no", "no"]),
    (Feature("x"), "x\n", "line 1: there is a header but no row"),
    (Feature("x"), "x\n1\n2\0\n", "a NUL byte: this is no table of text"),
    (Feature(" x"), ' x,y\n19901,"a\nb"\n', "no column ' x' in the header"),
    (Feature("x"), ' x,y\n19901,"a\nb"\n', ["yes"]),
]


@pytest.mark.parametrize(("feature", "text", "expected"), ODD, ids=range(len(ODD)))
def test_odd_tables_are_read_as_the_library_reads_them(feature, text, expected, tmp_path):
    graph = RuleGraph(Schema((feature,)), ("no", "yes"), Fires(Compare(feature.name, ">", 19900.0)))
    path, table = tmp_path / "odd.py", tmp_path / "odd.csv"
    path.write_bytes(TARGET.emit(graph, {}).main)
    table.write_text(text, encoding="utf-8")
    done = score_csv(path, text)
    if isinstance(expected, str):
        assert expected in done.stderr.decode()
        assert done.returncode == 2
        with pytest.raises(InputError):
            graph.predict(read_table(table, schema=graph.schema))
    else:
        assert [line.split(",")[0] for line in done.stdout.decode().splitlines()[1:]] == expected
        assert graph.predict(read_table(table, schema=graph.schema)).tolist() == expected


def test_rows_before_a_bad_one_are_written(program):
    done = score_csv(program, f"{HEADER}\n,9999,,\nx,2,3,x\n")
    assert done.stdout.decode().splitlines()[1].startswith(">50K,")
    assert done.returncode == 2


@pytest.mark.parametrize("arguments", [("-h",), ("--help",)])
def test_help(program, arguments):
    done = score_csv(program, "", *arguments)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"usage: python THIS.py [--delimiter C] < rows.csv > predictions.csv\n")
    assert b"--self-test" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--what",), "'--what': no such option"),
        (("--what=3", "--help"), "'--what=3': no such option"),
        (("rows.csv",), "'rows.csv': rows come on standard input"),
        (("--delimiter",), "--delimiter takes one character, or tab"),
        (("--delimiter", ""), "--delimiter takes one character, or tab"),
        (("--delimiter", ";;"), "--delimiter takes one character, or tab"),
        (("--delimiter", '"'), "--delimiter takes one character, or tab"),
        (("--delimiter=\n",), "--delimiter takes one character, or tab"),
        (("--delimiter", ";", "rows.csv"), "'rows.csv': rows come on standard input"),
        (("--self-test", "--help"), "--self-test stands alone"),
        (("--self-test", "rows.csv"), "--self-test stands alone"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(program, arguments, message):
    done = score_csv(program, f"{HEADER}\n40,0,13,x\n", *arguments)
    assert done.stderr.decode() == f"{message}; --help tells more\n"
    assert (done.returncode, done.stdout) == (2, b"")


@pytest.mark.parametrize("arguments", [("--delimiter", "\t"), ("--delimiter=tab",), ("--delimiter", "\\t")])
def test_tabs(program, arguments):
    done = score_csv(program, f"{HEADER}\n,9999,,\n".replace(",", "\t"), *arguments)
    assert done.stdout.decode().splitlines()[1].startswith(">50K,")
    assert done.returncode == 0


def test_a_single_column_keeps_its_empty_lines(tmp_path):
    graph = RuleGraph(Schema((Feature("x"),)), ("no", "yes"), Fires(Compare("x", ">", 1.5, missing=True)))
    path = tmp_path / "one.py"
    path.write_bytes(TARGET.emit(graph, {}).main)
    done = score_csv(path, "x\n2\n\n1\n")
    assert [line.split(",")[0] for line in done.stdout.decode().splitlines()] == ["label", "yes", "yes", "no"]


@pytest.mark.parametrize(("model", "label"), [(grades, "low"), (score, "true")])
def test_text_of_dates_booleans_and_levels(model, label, tmp_path):
    path = tmp_path / "model.py"
    path.write_bytes(TARGET.emit(model(), {}).main)
    done = score_csv(path, "since,grade,veteran,age,account\n2024-05-31,3.0,TRUE,30,-999\n,?,,50,1e3\n")
    assert done.stdout.decode().splitlines()[1].split(",")[0] == label
    assert done.returncode == 0


BLANKED = ["car", " car", "car\t", '" car"', '"car"', "", '""', " ", '" "', '"a,b"', '"a\nb"', "3.0", " 3.0"]
COUNTED = ["5", " 5", "5\t", '" 5 "', "", '""', " ", "\t", "1e2 ", '" ?"', "?", " -inf"]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_reader_of_a_module_gives_the_cells_of_rulekits_reader(tmp_path, end, monkeypatch):
    """Blanks, quotes and gaps: both keep the blanks around texts, and ignore them around numbers."""
    rows = list(itertools.product(COUNTED, BLANKED))
    text = end.join([" n , k", *(f"{n},{k}" for n, k in rows), ""])
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    features = (Feature("n", missing_tokens=("?",)), Feature("k", "categorical", ("car", " car", "3", "a,b")))
    table = read_table(path, schema=Schema(features))
    monkeypatch.setattr(command_line, "USED", (("n", "number", ("?",)), ("k", "level", ())))
    known = (*features[1].levels, "")
    read = list(command_line.csv_rows(io.StringIO(text, newline=""), ","))
    codes = [0 if k in (None, "") else {k: i for i, k in enumerate(known, 2)}.get(level(k, known), 1) for _, k in read]
    assert len(read) == len(rows)
    assert repr([n for n, _ in read]) == repr(table.array("n").tolist())
    assert codes == table.array("k").tolist()
