"""A generated module scores CSV from standard input, by itself."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys

import pytest
from generated import module_of
from golden_graphs import grades, income, score
from rulekit_exporters.python import TARGET, command_line
from rulekit_exporters.python.runtime import level
from rulekit_exporters.python.worker import Kept

from rulekit.errors import InputError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import Compare
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature, Schema
from rulekit.tables.reading import read_table

HEADER = "age,capital_gain,education_num,marital_status"
SCORED = ["label,probability(<=50K),probability(>50K)", ">50K,0.30000000000000004,0.7", "<=50K,0.99,0.01"]
SCORED += [">50K,0.06929999999999992,0.9307000000000001"]


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    return module_of(income(), tmp_path_factory.mktemp("csv"), "income", self_test=True)


def score_csv(module, text, *arguments):
    """Status, and what a module's command line prints: to standard output as lines, of errors the text."""
    data, out, said = text if isinstance(text, bytes) else text.encode(), Kept(), io.StringIO()
    before = sys.stdin, sys.stdout, sys.stderr
    sys.stdin, sys.stdout, sys.stderr = io.TextIOWrapper(io.BytesIO(data)), io.TextIOWrapper(out), said
    try:
        status = module.command_line(list(arguments))
        sys.stdout.flush()
    finally:
        sys.stdin, sys.stdout, sys.stderr = before
    return status, out.getvalue().decode().splitlines(), said.getvalue()


def labels_of(lines):
    return [line.split(",")[0] for line in lines[1:]]


def test_labels_and_probabilities_of_each_row(tmp_path):
    path = tmp_path / "income.py"
    path.write_bytes(TARGET.emit(income(), {}).main)
    text = f"{HEADER}\n40,0,13,Married-civ-spouse\n40,0,13,\n,9999,,\n"
    command = [sys.executable, "-I", str(path)]
    done = subprocess.run(command, input=text.encode(), capture_output=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.decode().splitlines(), done.stderr) == (0, SCORED, b"")


SEMICOLONS = "\ufeffmarital_status;note;age;education_num;capital_gain\r\nDivorced;a,b;40;13;9999\r\n"
TABS = f"{HEADER}\n,9999,,\n".replace(",", "\t")


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        (SEMICOLONS, ("--delimiter", ";")),  # in any order, with another column and a byte order mark
        (f"{HEADER.replace(',', ', ')}\n 40 , 0, 13,Married-civ-spouse\n", ()),  # blanks around names and numbers
        *((TABS, arguments) for arguments in (("--delimiter", "\t"), ("--delimiter=tab",), ("--delimiter", "\\t"))),
    ],
)
def test_columns_are_found_by_name_behind_any_delimiter(module, text, arguments):
    status, lines, said = score_csv(module, text, *arguments)
    assert (status, labels_of(lines), said) == (0, [">50K"], "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: there is no header line"),
        ("age,capital_gain,education_num\n1,2,3\n", "line 1: no column 'marital_status' in the header"),
        (f"{HEADER},age\n1,2,3,x,4\n", "line 1: more than one column 'age' in the header"),
        (f"{HEADER}\n,9999,,\n1,2,three,x\n", "line 3: column 'education_num': 'three' is not a number"),
        (f"{HEADER}\n1,2,3\n", "line 2: 3 cells, the header has 4"),
        (f'{HEADER}\n1,2,3,"x\n', "line 2: unexpected end of data"),
        (f"{HEADER}\n1,2,99999999999999999999,x\n", "line 2: column 'education_num': the integer"),
        (HEADER.encode() + b"\n1,2,3,\xff\n", "standard input: "),
        (b"\x00\xff\x00\xfe" * 50, "standard input: "),
    ],
)
def test_bad_input_is_one_line_and_status_2(module, text, message):
    """The rows before it are written."""
    status, lines, said = score_csv(module, text)
    assert message in said
    assert (status, said.count("\n"), labels_of(lines)) == (2, 1, [">50K"] if "three" in message else [])


ODD = [
    (Feature("x", display="date"), "x\n2024-7-1\n2020-01-01\n", ["yes", "no"]),
    (Feature("x", display="date"), "x\n20240701\n", "20240701 would count from 1970-01-01"),
    (Feature("x", display="datetime"), "x\n20240701123000\n", "write the date as 2024-07-01"),
    (Feature("x"), "x\n19901\n\n2\n\n", ["yes", "no", "no"]),  # a single column keeps its empty lines
    (Feature("x"), "x\n", "line 1: there is a header but no row"),
    (Feature("x"), "x\n1\n2\0\n", "a NUL byte: this is no table of text"),
    (Feature(" x"), ' x,y\n19901,"a\nb"\n', "no column ' x' in the header"),
    (Feature("x"), ' x,y\n19901,"a\nb"\n', ["yes"]),
]


@pytest.mark.parametrize(("feature", "text", "expected"), ODD, ids=range(len(ODD)))
def test_odd_tables_are_read_as_the_library_reads_them(feature, text, expected, tmp_path):
    graph = RuleGraph(Schema((feature,)), ("no", "yes"), Fires(Compare(feature.name, ">", 19900.0)))
    table = tmp_path / "odd.csv"
    table.write_text(text, encoding="utf-8")
    status, lines, said = score_csv(module_of(graph, tmp_path), text)
    if isinstance(expected, str):
        assert (status, expected in said) == (2, True), said
        with pytest.raises(InputError):
            graph.predict(read_table(table, schema=graph.schema))
    else:
        assert labels_of(lines) == graph.predict(read_table(table, schema=graph.schema)).tolist() == expected


@pytest.mark.parametrize("argument", ["-h", "--help"])
def test_help(module, argument):
    status, lines, said = score_csv(module, "", argument)
    assert (status, said) == (0, "")
    assert lines[0] == "usage: python THIS.py [--delimiter C] < rows.csv > predictions.csv"
    assert any("--self-test" in line for line in lines)


ONE_CHARACTER = "--delimiter takes one character, or tab"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        *((("--what",), "'--what': no such option"), (("--what=3", "--help"), "'--what=3': no such option")),
        *(((*before, "rows.csv"), "'rows.csv': rows come on standard input") for before in ((), ("--delimiter", ";"))),
        *((("--delimiter", *sign), ONE_CHARACTER) for sign in ((), ("",), (";;",), ('"',))),
        (("--delimiter=\n",), ONE_CHARACTER),
        *((("--self-test", more), "--self-test stands alone") for more in ("--help", "rows.csv")),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(module, arguments, message):
    done = score_csv(module, f"{HEADER}\n40,0,13,x\n", *arguments)
    assert done == (2, [], f"{message}; --help tells more\n")


@pytest.mark.parametrize(("model", "label"), [(grades, "low"), (score, "true")])
def test_text_of_dates_booleans_and_levels(model, label, tmp_path):
    text = "since,grade,veteran,age,account\n2024-05-31,3.0,TRUE,30,-999\n,?,,50,1e3\n"
    status, lines, _ = score_csv(module_of(model(), tmp_path), text)
    assert (status, labels_of(lines)[0]) == (0, label)


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
