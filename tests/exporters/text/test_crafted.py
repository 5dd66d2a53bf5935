"""Crafted modules and queries: what is read as written decides as its rules do, when its very bytes are run."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from rulekit.errors import RulekitError
from rulekit.graph.language.parsing import parse_graph
from rulekit.targets import find_target

GRAPH = parse_graph(
    "rulekit rules 1\ncolumn income: numeric\ncolumn job: categorical {car, cook, "
    '"two\\nlines"}\nlabel y: {no, yes}\n'
    'decide yes when any of (income > 2.5 and job in {car}, job in {"two\\nlines"})\n'
)
ROWS = [(income, job) for income in (1.0, 2.5, 3.0, None) for job in ("car", "cook", "two\nlines", "two\r\nlines", "")]
RIGHT = GRAPH.predict({"income": [row[0] for row in ROWS], "job": [row[1] for row in ROWS]}).tolist()
RULES = "rulekit rules 1"
EVIL = {"python": 'predict = lambda row: "no"', "sql": "SELECT 'no' AS \"label\" FROM rows"}
Edit = Callable[[str], str]


def _ran(target: str, artifact: bytes) -> list[Any]:
    """The labels of an artifact as it is, byte by byte."""
    if target == "python":
        module: dict[str, Any] = {"__name__": "crafted"}
        exec(compile(artifact, "crafted.py", "exec"), module)
        return [module["predict"]({"income": income, "job": job}) for income, job in ROWS]
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE rows (income REAL, job TEXT)")
        connection.executemany("INSERT INTO rows VALUES (?, ?)", ROWS)
        found = connection.execute(artifact.decode())
        place = [column[0] for column in found.description].index("label")
        return [row[place] for row in found]


def _put(old: str, new: str, times: int = -1) -> Edit:
    def edit(text: str) -> str:
        assert old in text, old
        return text.replace(old, new, times)

    return edit


def _option(**given: Any) -> Edit:
    def edit(text: str) -> str:
        first, _, rest = text.partition("\n")
        sign, _, stated = first.partition(" options ")
        return f"{sign} options {json.dumps(json.loads(stated) | given)}\n{rest}"

    return edit


def _common(sign: str, evil: str) -> Iterator[tuple[str, Edit]]:
    begin, end = f"{sign} rules: begin", f"{sign} rules: end"
    yield "untouched", str
    yield "all line ends", _put("\n", "\r\n")
    yield "line ends of old Macs", _put("\n", "\r")
    for mark in ("\ufeff", "\u200b", "\xa0", "\n", "\f", " ", ";", evil, f"{evil}\n", "\0", "\x1a"):
        yield f"{mark!r} before", lambda text, mark=mark: mark + text
        yield f"{mark!r} behind", lambda text, mark=mark: text + mark
    for name, old in (("first", begin), ("last", end)):
        for line in (evil, f"{sign} |\r{evil}", f"{sign} |\x0b{evil}", f"{sign} |\u2028{evil}", f"{sign} |\x85{evil}"):
            yield f"{line!r} at the {name} line", _put(old, f"{line}\n{old}" if old == end else f"{old}\n{line}", 1)
    yield "a remark among the rules", _put(f"{sign} | {RULES}", f"{sign} | {RULES}  # {evil}", 1)
    yield "rules twice", lambda text: text + text[text.index(begin) : text.index(end)] + end + "\n"
    yield "rules around code", _put(begin, f"{begin}\n{end}\n{evil}\n{begin}", 1)
    yield "rules again in front", _put(begin, f"{begin}\n{sign} | {RULES}\n{end}\n{evil}\n{begin}", 1)
    yield "other rules", _put(f"{sign} |   income > 2.5", f"{sign} |   income > 2.6")
    yield "other digest", _put(GRAPH.digest, GRAPH.digest[::-1])
    yield "no digest", _put(GRAPH.digest, "")
    for old, new in (("income", "inc\u043eme"), ("income", "\uff49ncome"), ("income", "Income"), ("job", "j\u043eb")):
        yield f"{new} for {old}", _put(old, new)
        yield f"once {new} for {old}", _put(old, new, 1)
    for old in ("label", "car", "yes", "no", "1", "0", " ", ">", "(", "'", '"'):
        yield f"no {old!r}", _put(old, "", 1)
        yield f"{old!r} doubled", _put(old, 2 * old, 1)
        yield f"the last {old!r} is gone", lambda text, old=old: "".join(text.rpartition(old)[::2])


QUOTE = "\\u0022" * 3


def _of_python() -> Iterator[tuple[str, Edit]]:
    for name, head in {
        "closed": f'A """\n{EVIL["python"]}\n"""',
        "escaped": 'A \\"""',
        "half escaped": f'A \\\\"""\n{EVIL["python"]}\n"""',
        "UTF-7": f"\n# coding: utf-7\n+ACIAIgAiAAo-{EVIL['python']}+AAoAIgAiACI-",
        "escapes": f"\n# coding: raw_unicode_escape\n{QUOTE}\\u000a{EVIL['python']}\\u000a{QUOTE} A",
        "coding": '# coding: utf-7 "+ACIAIgAi-',
        "line end": f'A\r"""\r{EVIL["python"]}\r"""',
        "named quotation mark": "A \\N{QUOTATION MARK}\\N{QUOTATION MARK}\\N{QUOTATION MARK}",
    }.items():
        yield f"head: {name}", _put('"""A', f'"""{head}', 1)
    for prefix in "rbfRBF":
        yield f"head: {prefix}", lambda text, prefix=prefix: prefix + text
    yield "no head", lambda text: text[text.index("\nfrom __future__") :]
    yield "two heads", _put('\n"""\n\nfrom', f'\n"""\n"""{{{EVIL["python"]}}}"""\n\nfrom', 1)
    for line in ("def predict(row", "def decide(income", "def read(", "def word("):
        yield f"another {line}", lambda text, line=line: text.replace('\nif __name__ == "__main__"', _twin(text, line))
        yield f"{line} renamed", _put(line, line.replace("def ", "def \u0440"), 1)
    for name in ("float", "len", "type", "isinstance", "compared", "CLASSES", "word", "nan", "re"):
        for assigned in (f"{name} = lambda *_: 0", f"import builtins; builtins.{name} = lambda *_: 0", f"del {name}"):
            yield assigned, _put("\nif __name__ ==", f"\n{assigned}\nif __name__ ==", 1)


def _twin(text: str, line: str) -> str:
    assert line in text
    return f'\n{line.split("(")[0]}(*_, **__):\n    return "no"\n\nif __name__ == "__main__"'


LINES = 'x\n-- rules: begin\n-- | y # " AS a, 1 AS "income", "\n-- rules: end\nz'


def _of_sql() -> Iterator[tuple[str, Edit]]:
    yield "the line end of a level", _put("(10)", "(13, 10)")
    for name, given in {
        "another engine": {"dialect": "duckdb"},
        "another table": {"table": "main.rows"},
        "a table with code": {"table": 'rows" AS "rows" WHERE 0 UNION SELECT 9, \'car\' --'},
        "a table in braces": {"table": "{{ 'rows) AS rows --' }}"},
        "a table of lines": {"table": LINES},
        "kept lines": {"keep": LINES},
        "a kept output": {"keep": "label"},
        "a kept column": {"keep": "job"},
        "rules that fired": {"fired": True},
        "counts": {"counts": True},
        "a strange option": {"strange": 1},
        "a number": {"keep": 1},
    }.items():
        yield name, _option(**given)
        yield f"{name}, written so", lambda text, given=given: _written(given) or text
        for old, new in (("-- | y", f"-- | {RULES}"), ("yes", "no")):
            yield (
                f"{name}, {new}",
                lambda text, given=given, old=old, new=new: (_written(given) or text).replace(old, new),
            )
    for old, new in (
        ('"label"', "\"label\", 'no' AS \"label\""), ("FROM stage2", "FROM stage2 WHERE 0"), ("MATERIALIZED", ""),
        ("COLLATE BINARY", "COLLATE NOCASE"), ("-- r", "/* r"), ("\nFROM stage", " --\nFROM stage"), ("AND", "OR"),
        ("WITH cells", "WITH rows AS (SELECT 9 AS income, 'car' AS job), cells"), ("SELECT", "SELECT DISTINCT"),
        ('"rows"', '"main"."rows"'), ("CASE WHEN", "CASE  WHEN"), ("IN ('car'", "IN ('cAr'"), ("lower(", "upper("),
    ):  # fmt: skip
        yield f"{new} for {old}", _put(old, new)
        yield f"once {new} for {old}", _put(old, new, 1)


def _written(given: dict[str, Any]) -> str:
    try:
        return find_target("sql").emit(GRAPH, given).main.decode()
    except RulekitError:
        return ""


@pytest.mark.parametrize("target", ["python", "sql"])
def test_what_is_read_as_written_decides_so(target: str, long_runs: bool) -> None:
    """Line ends of a level, names that hold lines of rules, and braces of dbt with code in them passed."""
    exporter = find_target(target)
    edits = [*_common({"python": "#", "sql": "--"}[target], EVIL[target])]
    edits += [*(_of_python() if target == "python" else _of_sql())]
    assert len(edits) >= 120
    text = exporter.emit(GRAPH, {"self_test": False} if target == "python" else {}).main.decode()
    as_written, wrong = set(), []
    for name, edit in edits if long_runs or target == "sql" else edits[::4]:
        artifact = edit(text).encode("utf-8", "surrogatepass")
        try:
            reading = exporter.inspect(artifact, GRAPH)
        except RulekitError:
            continue
        if reading.as_written and b'"dialect": "duckdb"' not in artifact:
            as_written.add(name)
            with contextlib.suppress(SyntaxError, ValueError, sqlite3.Error, LookupError):  # it decides nothing
                wrong += [name] if _ran(target, artifact) != RIGHT else []
    assert wrong == []
    assert as_written > {"untouched"}
