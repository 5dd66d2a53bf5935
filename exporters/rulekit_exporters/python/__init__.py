"""The Python target: one readable module that needs the standard library only.

A module is its header, constants, functions, the run-time helpers that these need, and the rules as data.
`probabilities` and the command line are always there; of `runtime` and `command_line` a module receives the functions
that its own code calls, directly or by way of one another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from rulekit.graph.nodes import Hidden, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.names import printable
from rulekit.program.lower import firing_steps, lower
from rulekit.program.naming import Context, Names, context_of, label_texts, reached
from rulekit.program.spelling import Expression
from rulekit.schema import Feature
from rulekit.shown.score_cards import total_table
from rulekit.shown.view import show
from rulekit.targets import option
from rulekit.verification.proof.respelling import text_target
from rulekit_exporters.python.functions import body_of, function, functions_of, reader
from rulekit_exporters.python.running import RUNTIMES
from rulekit_exporters.python.self_test import self_test
from rulekit_exporters.python.spelling import TAKEN, collection, filled, literal

TITLE_OF_TESTS = "# Rows at the edges of the rules, with the model's answers: --self-test ".ljust(119, "-")
_IMPORTS_OF_RULES = """
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from math import inf, nan
from typing import Any
"""


def module_source(graph: RuleGraph, with_self_test: bool = True, with_counts: bool = False) -> str:
    """The Python text of a graph, without the rules as data."""
    context = context_of(graph, lower(graph), Names(TAKEN), "# ")
    counting = counting_functions(graph, context) if with_counts else []
    body = ["\n".join(lines) for lines in (*functions_of(graph, context, _label_type(graph)), *counting)]
    constants = [*_tables(graph, with_counts), *(_constant(name, text) for name, text in context.constants.items())]
    tests = self_test(graph) if with_self_test else ""
    tested = 'self_test() if sys.argv[1:] == ["--self-test"] else ' if tests else ""
    main = f'if __name__ == "__main__":\n    sys.exit({tested}command_line(sys.argv[1:]))\n'
    kinds = dict.fromkeys(reader(graph.schema[name]) for name in graph.used_features)
    called = {"level": "level_cell"}
    readers = "READERS: dict[str, Any] = {" + ", ".join(f'"{kind}": {called.get(kind, kind)}' for kind in kinds) + "}"
    code = "\n".join([*constants, *body, readers, tests, main])
    imports, definitions, helpers = _runtime_for(code)
    parts = [
        _docstring(graph, with_self_test, with_counts),
        "from __future__ import annotations",
        imports,
        "\n".join(constants),
        "\n" + "\n\n\n".join(body),
        "\n# How cells are read, and the arithmetic -- the same in every module ".ljust(79, "-"),
        *(["\n".join(definitions)] if definitions else []),
        "\n" + "\n\n\n".join(helpers),
        "\n" + readers,
        *([f"\n{TITLE_OF_TESTS}", tests] if tests else []),
        "\n" + main,
    ]
    return "\n\n".join(parts)


def _docstring(graph: RuleGraph, with_self_test: bool, with_counts: bool) -> str:
    """What a reader sees first; foreign names appear as escaped literals only."""
    target = literal(graph.schema.target)
    lines = [f"A rule model that decides {target}, in plain Python (made by rulekit).", "", "classes"]
    lines += [f"    {literal(label)}" for label in graph.classes]
    lines += ["columns that the rules read"]
    lines += [f"    {literal(name)} ({_kind(graph.schema[name])})" for name in graph.used_features] or ["    none"]
    if any(isinstance(node, Hidden) for node in topological(graph.decision.roots)):
        # the code is arithmetic on probabilities, in which nobody sees the rules
        lines += ["", "rules", *(f"    {line}".rstrip() for line in show(graph, 96).splitlines())]
    lines += [
        "",
        "predict(row) gives the label, predict_proba(row) the probability of each class, predict_many(data) the",
        "labels of rows, of a mapping or frame of columns, or of an array. A row is a mapping by column name, or a",
        "sequence of all columns in the order of COLUMNS; None, NaN and the empty text are missing.",
        *["count_rules(data) says on how many rows each rule holds, and for how many each class is decided."]
        * with_counts,
        "",
        "python THIS.py < rows.csv > predictions.csv scores CSV (UTF-8, with a header; --delimiter C).",
        *["python THIS.py --self-test scores the rows below; status 1 where an answer differs."] * with_self_test,
    ]
    safe = [line.replace("\\", "\\\\").replace('"""', '\\"\\"\\"') for line in map(printable, lines)]
    return '"""' + "\n".join(safe) + '\n"""'


def _kind(feature: Feature) -> str:
    unit = f", in {feature.unit}" if feature.unit else ""
    dated = {"date": ", date", "datetime": ", date and time"}.get(feature.display, "") if feature.dated else ""
    return f"{feature.kind}{unit}{dated}"


_USED = "USED: tuple[tuple[str, str, tuple[str, ...]], ...]"


def _tables(graph: RuleGraph, with_counts: bool) -> list[str]:
    """Constants: columns and classes, ids of the rules by which rows are counted, totals of a card of whole points."""
    used = [(name, reader(graph.schema[name]), graph.schema[name].missing_tokens) for name in graph.used_features]
    found = [
        f"DIGEST = {literal(graph.digest)}",
        _constant("CLASSES", collection(graph.classes)),
        _constant("COLUMNS", collection(graph.schema.names)),
        "# Columns that the rules read: name, kind, texts that mean missing.",
        "\n".join([f"{_USED} = (", *(f"    {literal(row)}," for row in used), ")"]) if used else f"{_USED} = ()",
    ]
    if with_counts:
        found.append("# The rules that are counted, and the classes as texts.")
        found += [_constant("RULES", collection(firing_steps(graph)))]
        found += [_constant("CLASS_NAMES", collection(label_texts(graph)))]
    if (table := total_table(graph)) is not None:
        found.append(f"# Total of the points, and the probability of {literal(graph.classes[1])}.")
        found.append(_constant("TOTALS", collection(tuple(table.pairs))))
    return found


def _constant(name: str, value: Expression) -> str:
    """An assignment, wrapped between the items of its tuple or set where it is long."""
    single = f"{name} = {value.text}"
    if len(single) <= 120:
        return single
    return "\n".join([f"{name} = {value.prefix}", *filled(f" {item.text}," for item in value.parts), value.suffix])


def _label_type(graph: RuleGraph) -> str:
    label = {bool: "bool", int: "int", float: "float"}.get(type(graph.classes[0]), "str")
    return label if len({type(c) for c in graph.classes}) == 1 else "Any"


# The run-time helpers ------------------------------------------------------------------------------------------------


_WORDS = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|#[^\n]*|(?<![.\w])([^\W\d]\w*)', re.DOTALL)
"""The names of code, which are to be found without its texts and comments; far quicker than a parser."""


@cache
def _runtime() -> tuple[list[tuple[str, str, frozenset[str]]], list[ast.stmt]]:
    """Functions and constants of the run-time source (name, text, names it mentions), and its imports."""
    pieces: list[tuple[str, str, frozenset[str]]] = []
    imports: list[ast.stmt] = []
    # of `rulekit.tokens` the tables by which texts are cut into words
    for package, file in (("rulekit", "tokens"), (__package__, "runtime"), (__package__, "command_line")):
        source = files(package).joinpath(f"{file}.py").read_text("utf-8")
        for statement in ast.parse(source).body:
            if isinstance(statement, ast.Assign):
                name = ast.unparse(statement.targets[0])
            elif isinstance(statement, ast.FunctionDef) and file != "tokens":
                name = statement.name
            else:
                if isinstance(statement, ast.Import | ast.ImportFrom) and file != "tokens":
                    imports.append(statement)
                continue
            words = frozenset(node.id for node in ast.walk(statement) if isinstance(node, ast.Name))
            pieces.append((name, ast.get_source_segment(source, statement) or "", words))
    return pieces, [found for found in imports if not ast.unparse(found).startswith("from rulekit")]


def _runtime_for(code: str) -> tuple[str, list[str], list[str]]:
    """Import lines, constants and functions of the run-time source that `code` needs, in their order there."""
    pieces, imports = _runtime()
    needed = set(_WORDS.findall(code))
    mentions: Mapping[str, frozenset[str]] = {name: words for name, _, words in pieces}
    chosen = reached(needed, mentions)
    texts = [text for name, text, _ in pieces if name in chosen]
    functions = [text for text in texts if text.startswith("def ")]
    constants = [text for text in texts if not text.startswith("def ")]
    return _import_lines(imports, needed.union(*(mentions[name] for name in chosen))), constants, functions


def _import_lines(imports: list[ast.stmt], needed: set[str]) -> str:
    """Sorted as linters want them: plain imports, then `from` imports, one line for each module."""
    plain: set[str] = set()
    members: dict[str, set[str]] = {}
    for statement in [*imports, *ast.parse(_IMPORTS_OF_RULES).body]:
        if isinstance(statement, ast.Import):
            plain |= {alias.name for alias in statement.names if alias.name in needed}
        elif isinstance(statement, ast.ImportFrom) and statement.module != "__future__":
            kept = {alias.name for alias in statement.names if alias.name in needed}
            members.setdefault(statement.module or "", set()).update(kept)
    lines = [f"import {name}" for name in sorted(plain)]
    return "\n".join(
        lines + [f"from {name} import {', '.join(sorted(kept))}" for name, kept in sorted(members.items()) if kept]
    )


OF_ROW = "Whether each of RULES holds on a row; the cells as for `decide`."
COUNT = "Rows, and how many have each rule and each class; data as for `predict_many`, errors as of `predict`."
COUNTED = """\
    rows = map(read, rows_of(data))
    return counts_of(((decide(*cells), rules_of_row(*cells)) for cells in rows), RULES, CLASS_NAMES)
"""


def counting_functions(graph: RuleGraph, context: Context) -> list[list[str]]:
    """The lines of `rules_of_row` and of `count_rules`; raises Unsupported for a rule that has no steps."""
    steps = tuple(firing_steps(graph).values())
    body = body_of(context, steps, context.briefs)
    body.put("chosen: list[Any] = []")
    for step in steps:
        body.say("chosen.append(", body.expression(step), ")")
    body.put("return chosen")
    cells = [f"{column}: Any" for column in context.columns.values()]
    return [
        function("rules_of_row", cells, "list[Any]", OF_ROW, body.lines),
        function("count_rules", ["data: Any"], "dict[str, Any]", COUNT, COUNTED.splitlines()),
    ]


__all__ = ["TARGET"]


_HEAD = re.compile(r'"""(?:[^"\\]|\\.|"(?!""))*"""\n', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PythonOptions:
    self_test: bool = option(False, "the module carries rows and answers for its --self-test")
    counts: bool = option(False, "a function `count_rules`: on how many rows each rule holds")


def write(graph: RuleGraph, options: PythonOptions) -> Iterable[str]:
    """The module of a graph; raises Unsupported for a node type that it cannot write."""
    yield module_source(graph, options.self_test, options.counts)


def code(text: str) -> str:
    """A module without the text at its head, which may be another than the exporter's."""
    head = _HEAD.match(text)
    return text[head.end() :] if head else text


TARGET = text_target(
    "python",
    "one readable Python module that needs the standard library only",
    (".py",),
    "#",
    write,
    RUNTIMES,
    options=PythonOptions,
    noun="module",
    summary=lambda options: "standard library only",
    stated=lambda text: PythonOptions(f"\n{TITLE_OF_TESTS}\n" in text, "\ndef count_rules(" in text),
    stamp='DIGEST = "{}"',
    code=code,
)
