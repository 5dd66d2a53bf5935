"""The functions of a generated module that hold the rules, and those that bring rows to them.

Rules over linear threshold units are nested `if`s: a row evaluates only the units on its path, each at most once.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rulekit.graph.nodes import And, Constant, Node, Not, Or, topological
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.body import Body
from rulekit.program.lower import texts_of_levels
from rulekit.program.naming import Context
from rulekit.program.nodes import Choice, Greater, Sum, cases, index_of
from rulekit.program.spelling import Expression
from rulekit.schema import Feature
from rulekit_exporters.python.spelling import FROZENSET, SCALAR, collection, filled, literal

DECIDE = "Class index of a row; the cells as `read` gives them."
PROBABILITIES = "Probability of each class; the cells as for `decide`."
PREDICT = "Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."
PREDICT_PROBA = "Probabilities of a row in the order of CLASSES; raises as `predict`."
PREDICT_MANY = "Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."
ANSWER = "What `rules` say of a row; plain numbers and texts go in unread."
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NO_WORD = re.compile(r"[-+.\d]|(true|false|inf|nan)\Z", re.IGNORECASE)


def body_of(context: Context, roots: Iterable[Node], comments: Mapping[Node, str] | None = None) -> Body:
    """The body of a function whose parameters are the cells, those first that are to be cleaned."""
    body = Body(context, SCALAR, roots, comments)
    body.put(*guards(context, body))
    return body


def functions_of(graph: RuleGraph, context: Context, label: str) -> list[list[str]]:
    """The lines of each function; label: the annotation of a label."""
    program, columns = context.program, list(context.columns.values())
    tree = tree_of(program.label)
    plainly = body_of(context, (program.label,) if tree is None else [test for test, _ in walk(tree)])
    _decide(plainly, tuple(map(str, range(len(graph.classes)))), tree)
    if graph.probability:
        reporting = body_of(context, program.reported, context.briefs)
        _report(reporting)
        reported = reporting.lines
    else:
        index, size = f"decide({', '.join(columns)})", len(graph.classes)
        certain = f"[0.0, 1.0] if {index} == 1 else [1.0, 0.0]" if size == 2 else f"one_hot({index}, {size})"
        reported = [f"    return {certain}"]
    cells, row = [f"{column}: Any" for column in columns], ["row: Any"]
    many = ["    return [predict(row) for row in rows_of(data)]"]
    return [
        function("decide", cells, "int", DECIDE, plainly.lines),
        function("probabilities", cells, "list[float]", PROBABILITIES, reported),
        function("predict", row, label, PREDICT, ["    return CLASSES[answer(decide, row)]"]),
        function("predict_proba", row, "list[float]", PREDICT_PROBA, ["    return list(answer(probabilities, row))"]),
        function("predict_many", ["data: Any"], f"list[{label}]", PREDICT_MANY, many),
        function("answer", ["rules: Callable[..., Any]", *row], "Any", ANSWER, _answer(graph, context)),
    ]


def function(name: str, parameters: Sequence[str], result: str, meaning: str, lines: Sequence[str]) -> list[str]:
    """A function with its docstring, one parameter a line where they are many."""
    head = [f"def {name}({', '.join(parameters)}) -> {result}:"]
    if len(head[0]) > 120:
        head = [f"def {name}(", *(f"    {parameter}," for parameter in parameters), f") -> {result}:"]
    return [*head, f'    """{meaning}"""', *lines]


def _report(body: Body) -> None:
    program = body.context.program
    values = [body.text(node) for node in program.reported]
    if len(values) == 1:
        body.put(f"positive = {values[0]}", "return [1.0 - positive, positive]")
    else:
        body.put(f"return normalised([{', '.join(values)}], {program.default})")


def _answer(graph: RuleGraph, context: Context) -> list[str]:
    """Statements that give the rules plain cells directly, and all others through `read`."""
    read = "    return rules(*read(row))"
    features = [graph.schema[name] for name in context.columns]
    if not features or any(feature.dated for feature in features):  # whose numbers are looked at first
        return [read]
    call = f"        return rules({', '.join(context.columns.values())})"  # half the time of a call with an asterisk
    return [
        "    if type(row) is dict:",
        *_tuple("cells = ", [f"row[{literal(name)}]" for name in context.columns], "", 8),
        f"    elif (type(row) is list or type(row) is tuple) and len(row) == {len(graph.schema)}:",
        *_tuple("cells = ", [f"row[{graph.schema.positions[name]}]" for name in context.columns], "", 8),
        "    else:",
        f"    {read}",
        *_tuple("", context.columns.values(), " = cells", 4, bare=len(features) > 1),
        "    if (",
        *(f"        {line}" for line in _tests(features, context.columns)),
        "    ):",
        call if len(call) <= 120 else "        return rules(*cells)",
        read,
    ]


def _tuple(before: str, parts: Iterable[str], after: str, indent: int, bare: bool = False) -> list[str]:
    """A statement with a tuple, whose parts fill lines where they are too many for one."""
    pieces, margin = [f" {part}," for part in parts], " " * indent
    inside = "".join(pieces)[1 : None if len(pieces) == 1 else -1]
    single = f"{margin}{before}{inside if bare else f'({inside})'}{after}"
    if len(single) <= 120:
        return [single]
    return [f"{margin}{before}(", *filled(pieces, indent + 4), f"{margin}){after}"]


_EXACT = "type({0}) is float or (type({0}) is int and -(2**53) <= {0} <= 2**53)"
_TESTS = {
    "number": _EXACT,
    "flag": "type({0}) is bool or " + _EXACT,
    "level": "type({0}) in TEXTS",
    "word": "type({0}) is str or {0} is None",
}


_ONE_BY_ONE = 16
"""Cells of a kind that are tested each by itself, which is faster; of more the test is written once."""


def reader(feature: Feature) -> str:
    """Which function of the module reads the cells of a column: "word" of levels that no number, date or flag is."""
    if feature.has_text_cells:
        texts = (*feature.levels, *feature.missing_tokens)
        wordy = feature.kind == "categorical" and feature.unseen != "error" and not any(map(_NO_WORD.match, texts))
        return "word" if wordy else "level"
    if feature.dated:
        return "day" if feature.display == "date" else "moment"
    return "flag" if feature.kind == "boolean" else "number"


def _tests(features: Iterable[Feature], columns: Mapping[str, str]) -> list[str]:
    """Whether the rules may take the cells as they are: Python's own numbers, none beyond 2^53, and texts."""
    cells: dict[str, list[str]] = {}
    for feature in features:
        cells.setdefault(_TESTS[reader(feature)], []).append(columns[feature.name])
    tests: list[str] = []
    if len(columns) == 1:
        return [test.format(*own) for test, own in cells.items()]
    for test, own in cells.items():
        if len(own) <= _ONE_BY_ONE:
            tests += [f"and ({test.format(cell)})" for cell in own]
        else:
            tests += [f"and all({test.format('x')} for x in (", *filled(f" {cell}," for cell in own), "))"]
    return [tests[0].removeprefix("and "), *tests[1:]]


def guards(context: Context, body: Body) -> list[str]:
    """Statements that bring cells to what the rules compare: categories to text, numbers that mean missing to NaN."""
    lines = []
    for name, column in context.columns.items():
        feature = context.program.schema[name]
        if not body.reads[name]:
            continue
        if feature.kind == "text":
            tokens = f", {literal(feature.missing_tokens)}" if feature.missing_tokens else ""
            lines.append(f"{column} = words({column}{tokens})")
        elif reader(feature) == "level":
            lines += _level_guard(feature, column, context)
        elif not feature.has_text_cells and (numbers := feature.missing_numbers):
            lines += [f"if {column} in {literal(numbers)}:", f"    {column} = nan"]
    return lines


def _level_guard(feature: Feature, column: str, context: Context) -> list[str]:
    name = literal(feature.name)
    every = texts_of_levels(feature.levels, feature)
    allowed = tuple(dict.fromkeys((None, "", *feature.missing_tokens, *feature.levels, *every)))
    strict = feature.unseen == "error"
    keyed = any(level in ("true", "false") or _WHOLE.fullmatch(level) for level in feature.levels)
    known = ""
    if strict or keyed:
        known = context.constant(f"{column}_known", collection(allowed, *FROZENSET))
    second = f", {known}" if keyed else ""
    # only a level has look-alikes: "9.0" is not missing where "9" is
    if keyed and (tokens := tuple(t for t in feature.missing_tokens if t in ("true", "false") or _WHOLE.fullmatch(t))):
        second += f", {literal(tokens)}"
    test = f"type({column}) is not str" + (f" or {column} not in {known}" if keyed else "")
    lines = [f"if {test}:", f"    {column} = level({column}{second})"]
    return lines + [f"if {column} not in {known}:", f"    raise unknown({column}, {name})"] * strict


def _decide(body: Body, results: Sequence[str], tree: Tree | None) -> None:
    """Statements that return the class: results[k] where it is known to be k."""
    if tree is not None:
        say_tree(body, tree, results)
        return
    label = body.context.program.label
    if not isinstance(label, Choice):
        body.say("return ", body.expression(label))
        return
    chain, otherwise = cases(label)
    for condition, then in chain:
        if isinstance(condition, Constant) and len(chain) == 1:
            body.put(f"return {results[index_of(then if condition.value else otherwise)]}")
            return
        if isinstance(condition, Greater) and len(chain) == 1:
            value = SCALAR.choose(body.expression(condition), results[index_of(then)], results[index_of(otherwise)])
            body.say("return ", value)
            return
        for clause in condition.children if isinstance(condition, Or) else (condition,):
            body.say("if ", body.expression(clause), ":")
            body.put(f"return {results[index_of(then)]}", deeper=4)
    body.put(f"return {results[index_of(otherwise)]}")


# A formula of more parts is not searched; one that would say its tests more often than this is not written as a tree.
MOST_PARTS = 2000
MOST_REPEATED = 2
# Levels of indentation; a branch that returns adds none.
DEEPEST = 12


@dataclass(frozen=True, slots=True)
class Leaf:
    """The number of a class, and the rule that holds, None for the default."""

    index: int
    rule: Node | None


Tree = Leaf | list[Any]  # or a test, what follows where it holds, and what where it does not


def tree_of(label: Node) -> Tree | None:
    """The decision of a label as a tree of tests; None where no unit is in it, or the tree would be much larger.

    label: a chain of choices between classes (`rulekit.program.nodes`).
    """
    chain, otherwise = cases(label)
    order = topological([condition for condition, _ in chain], lambda n: n.children if _is_logic(n) else ())
    tests = [node for node in order if not _is_logic(node) and not isinstance(node, Constant)]
    if len(order) > MOST_PARTS or sum(map(_is_unit, tests)) < 2:
        return None
    most = MOST_REPEATED * len(tests)
    outcomes = [(condition, index_of(result)) for condition, result in chain]
    root: list[Any] = []
    waiting: list[tuple[dict[Node, bool], list[Any]]] = [({}, root)]
    while waiting:
        known, parent = waiting.pop()
        following = _next(order, outcomes, index_of(otherwise), known)
        if isinstance(following, Leaf):
            parent.append(following)
            continue
        most -= 1
        if most < 0:
            return None
        parent.append([following])
        waiting += [({**known, following: False}, parent[-1]), ({**known, following: True}, parent[-1])]
    return root[0] if isinstance(root[0], list) and max(depth for _, depth in walk(root[0])) <= DEEPEST else None


def _is_logic(node: Node) -> bool:
    """Whether a step joins tests; a sum that is at least 0 is one, though it is said as not below."""
    return isinstance(node, And | Or) or (isinstance(node, Not) and not isinstance(node.child, Greater))


def _is_unit(node: Node) -> bool:
    """Whether a test compares a sum, as a linear threshold unit does."""
    compared = node.child if isinstance(node, Not) else node
    return isinstance(compared, Greater) and any(isinstance(part, Sum) for part in compared.children)


def _next(
    order: Sequence[Node], outcomes: Sequence[tuple[Node, int]], last: int, known: Mapping[Node, bool]
) -> Node | Leaf:
    """The class, where what is known decides it, else the first test that it hangs on."""
    values: dict[Node, bool | None] = {}
    for node in order:
        if isinstance(node, Not) and _is_logic(node):
            value = values[node.child]
            values[node] = None if value is None else not value
        elif isinstance(node, And | Or):
            parts, decisive = [values[child] for child in node.children], isinstance(node, Or)
            values[node] = decisive if decisive in parts else None if None in parts else not decisive
        else:
            values[node] = bool(node.value) if isinstance(node, Constant) else known.get(node)
    for condition, result in outcomes:
        if values[condition]:
            rules = condition.children if isinstance(condition, Or) else (condition,)
            return Leaf(result, next(rule for rule in rules if values[rule]))
        if values[condition] is None:
            while _is_logic(condition):
                condition = next(child for child in condition.children if values[child] is None)
            return condition
    return Leaf(last, None)


def walk(tree: Tree) -> Iterator[tuple[Node, int]]:
    """The tests, as often as they are written, and how deeply they are indented."""
    waiting = [(tree, 1)]
    while waiting:
        part, depth = waiting.pop()
        if isinstance(part, list):
            yield part[0], depth
            inner, after = _inner(part)
            waiting += [(inner, depth + 1), (after, depth)]


def _inner(branch: list[Any]) -> tuple[Tree, Tree]:
    """What stands below the `if`, and what stands behind it: a class below it where there is one."""
    _, yes, no = branch
    return (no, yes) if isinstance(no, Leaf) and not isinstance(yes, Leaf) else (yes, no)


def say_tree(body: Body, tree: Tree, results: Sequence[str]) -> None:
    """Statements that return results[k] for the class k."""
    waiting: list[tuple[Tree, int, Mapping[Node, Expression]]] = [(tree, body.indent, body.written())]
    indent, said = body.indent, set[Node]()
    while waiting:
        part, level, written = waiting.pop()
        body.indent = level
        body.return_to(written)
        if isinstance(part, Leaf):
            if part.rule is not None:
                comments = body.context.briefs if part.rule in said else body.comments
                body.put(*comments.get(part.rule, "").splitlines())
                said.add(part.rule)
            body.put(f"return {results[part.index]}")
            continue
        inner, after = _inner(part)
        condition = body.expression(part[0])
        body.say("if ", condition if inner is part[1] else body.spelling.negated(condition), ":")
        now = body.written()
        waiting += [(after, level, now), (inner, level + 4, now)]
    body.indent = indent
