"""The functions of a generated module that hold the rules, and those that bring rows to them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf

from rulekit.dates import is_dated
from rulekit.graph.nodes import Constant, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.body import Body
from rulekit.program.expressions import atom, bracketed, layout
from rulekit.program.lower import texts_of_levels
from rulekit.program.naming import Context
from rulekit.program.nodes import Choice, Greater, cases, index_of
from rulekit.program.spelling import Spelling
from rulekit.schema import Feature
from rulekit_exporters.python.names import FROZENSET, collection, literal
from rulekit_exporters.python.paths import Branch, say_tree, tests_of, tree_of
from rulekit_exporters.python.spelling import SCALAR, VECTOR

MAX_REPEATED = 5000  # leaves; of more, the rules take longer than naming the cells of a row
MAX_LOOKUPS = 2
REPEATED = "once more, on places: to name the cells first would take longer than the rules."
PREDICT = "Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."
PREDICT_PROBA = "Probabilities of a row in the order of CLASSES; raises as `predict`."
PREDICT_MANY = "Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."
DECIDE_MANY = "`decide` for n rows at once, on columns of numpy."
MANY = """\
    by_column = hasattr(data, "keys") or hasattr(data, "shape")
    np = numpy_or_none() if by_column else None
    if np is None:
        return [predict(row) for row in rows_of(data)]
    columns = columns_of(np, data, len(COLUMNS), USED)
    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]
"""
_WHOLE = re.compile(r"[+-]?[0-9]+")


def body_of(
    context: Context,
    roots: Iterable[Node],
    keys: Mapping[str, str] | None = None,
    comments: Mapping[Node, str] | None = None,
    indent: int = 4,
    along: bool = False,
) -> Body:
    """The body of a function, its cells bound and cleaned. keys: what looks a cell up in `row`; None: parameters.

    Cells that are read often, or cleaned first, become variables; others are looked up where they are read. along: only
    what is on the path of a row is read, so that none is looked up first for being read often elsewhere.
    """
    spelling: Spelling = VECTOR if keys is None else SCALAR
    body = Body(context, spelling, roots, None, comments, indent)
    for name, column in context.columns.items() if keys is not None else ():
        feature = context.program.schema[name]
        assert keys is not None
        cleaned = feature.has_text_cells or feature.missing_tokens
        # numpy compares a float32 with a double in float32, which is right for a float32 column alone
        cell = f"row[{keys[name]}]" + (
            ".__float__()" if feature.kind == "numeric" and feature.precision == "float64" else ""
        )
        if body.reads[name] > (0 if cleaned else inf if along else MAX_LOOKUPS):
            body.put(f"{column} = {cell}")
        else:
            body.cells[name] = cell
    body.put(*guards(context, body))
    return body


def functions(graph: RuleGraph, context: Context, label: str) -> list[list[str]]:
    """The lines of each function; label: the annotation of a label."""
    program, names = context.program, {name: literal(name) for name in graph.used_features}
    tree = tree_of(program.label)
    roots = (program.label,) if tree is None else tests_of(tree)
    plainly = body_of(context, roots, names, along=tree is not None)
    _decide(plainly, tuple(map(str, range(len(graph.classes)))), "{}", tree)
    in_columns = body_of(context, (program.label,), None, context.briefs)
    _decide_many(in_columns)
    columns = [f"{column}: Any" for column in context.columns.values()]
    # truth values are taken from CLASSES: linters would have `return True` below an `if` be the condition itself
    plain = any(isinstance(name, bool) for name in graph.classes)
    results = tuple(f"CLASSES[{k}]" if plain else literal(name) for k, name in enumerate(graph.classes))
    labels = dispatch(
        graph,
        context,
        roots,
        "return CLASSES[decide(row)]",
        lambda body: _decide(body, results, "CLASSES[{}]", tree),
        tree is not None,
    )
    if graph.probability:
        by_name = body_of(context, program.reported, names, context.briefs)
        _report(by_name)
        reported = by_name.lines
        chances = dispatch(graph, context, program.reported, "return probabilities(row)", _report)
    else:
        reported = [f"    return {_certain(graph, 'decide(row)', 'decide(row) == 1')}"]
        chances = [f"    return {_certain(graph, 'CLASSES.index(predict(row))', 'predict(row) == CLASSES[1]')}"]
        if len(set(graph.classes)) < len(graph.classes):
            chances = dispatch(graph, context, (), "return probabilities(row)", None)
    row = ["row: Any"]
    return [
        function("decide", row, "int", "Class index of a row, a mapping by column name.", plainly.lines),
        function("probabilities", row, "list[float]", "Probability of each class; the row as for `decide`.", reported),
        function("predict", row, label, PREDICT, labels),
        function("predict_proba", row, "list[float]", PREDICT_PROBA, chances),
        function("predict_many", ["data: Any"], f"list[{label}]", PREDICT_MANY, MANY.splitlines()),
        function("decide_many", ["np: Any", "n: int", *columns], "Any", DECIDE_MANY, in_columns.lines),
    ]


def function(name: str, parameters: Sequence[str], result: str, meaning: str, lines: Sequence[str]) -> list[str]:
    """A function with its docstring, one parameter a line where they are many."""
    head = [f"def {name}({', '.join(parameters)}) -> {result}:"]
    if len(head[0]) > 120:
        head = [f"def {name}(", *(f"    {parameter}," for parameter in parameters), f") -> {result}:"]
    return [*head, f'    """{meaning}"""', *lines]


def _report(body: Body) -> None:
    """Statements that return the probabilities."""
    program = body.context.program
    values = [body.text(node) for node in program.reported]
    if len(values) == 1:
        body.put(f"positive = {values[0]}", "return [1.0 - positive, positive]")
    else:
        body.put(f"return normalised([{', '.join(values)}], {program.default})")


def _certain(graph: RuleGraph, index: str, positive: str) -> str:
    """Probability 1 for the class that is decided."""
    if len(graph.classes) == 2:
        return f"[0.0, 1.0] if {positive} else [1.0, 0.0]"
    return f"one_hot({index}, {len(graph.classes)})"


def dispatch(
    graph: RuleGraph,
    context: Context,
    roots: Iterable[Node],
    call: str,
    finish: Callable[[Body], None] | None,
    along: bool = False,
) -> list[str]:
    """Statements that look plain cells up directly; where some cell is none, those at the end clean the cells first.

    A `match` costs half of what isinstance or a comparison of types costs, and knows every kind of mapping. A sequence
    has code of its own (`finish` completes it) where the rules are few; else, as a mapping, it goes to `call`.
    """
    cleaned = call.replace("row", "cells(row, len(COLUMNS), USED)")
    if any(is_dated(graph.schema[name]) for name in graph.used_features):  # whose numbers are looked at first
        return [f"    {cleaned}"]
    positions = graph.schema.positions
    places = {name: str(positions[name]) for name in graph.used_features}
    body = body_of(context, roots, places, context.briefs, 16, along)
    if finish is not None and sum(body.reads.values()) <= MAX_REPEATED:
        finish(body)
        repeated = "probabilities" if "probabilities" in call else "decide"
        of_sequence = [f"                # `{repeated}` {REPEATED}", *body.lines]
    else:
        pairs = tuple(atom(f"{literal(name)}: row[{place}]") for name, place in places.items())
        before, after = call.split("row")
        of_sequence = layout(before, bracketed("{", pairs, "}"), after, 16)
    names = {name: literal(name) for name in places}
    return [
        "    try:",
        "        match row:",
        *_case("{}", "type(row) is dict", graph, names),
        f"                {call}",
        *_case("[*_]", f"len(row) == {len(graph.schema)}  # no array", graph, places),
        *of_sequence,
        "    except LookupError:  # an absent column",
        "        pass",
        f"    {cleaned}",
    ]


_WHOLE_TEST = "(type({}) is int and SMALLEST <= x <= LARGEST)"
_TESTS = {  # the usual type of a cell first
    "text": "type({}) is str or type(x) in OTHERS",
    "flag": "type({}) is bool or type(x) is float or " + _WHOLE_TEST.format("x"),
    "whole": _WHOLE_TEST + " or type(x) is float or type(x) is bool",
    "number": "type({}) is float or type(x) is bool or " + _WHOLE_TEST.format("x"),
}


_ONE_BY_ONE = 16
"""Cells of a kind that are tested each by itself, which is faster; of more the test is written once."""


def _order(feature: Feature) -> str:
    if feature.has_text_cells:
        return "text"
    return "flag" if feature.kind == "boolean" else "whole" if feature.display == "integer" else "number"


def _case(pattern: str, first: str, graph: RuleGraph, keys: Mapping[str, str]) -> list[str]:
    """A case of rows whose cells the rules may take as they are: Python's own numbers, none beyond 2^53, and texts."""
    tests, cells = [], dict[str, list[str]]()
    for name, key in keys.items():
        cells.setdefault(_TESTS[_order(graph.schema[name])], []).append(f"row[{key}]")
    for test, own in cells.items():
        if len(own) <= _ONE_BY_ONE:
            tests += [f"and ({test.format(f'x := {cell}')})" for cell in own]
        else:
            listed = (", ".join(own[i : i + 4]) + "," for i in range(0, len(own), 4))
            tests += [f"and all({test.format('x')} for x in (", *(f"    {line}" for line in listed), "))"]
    return [
        f"            case {pattern} if (",
        *(f"                {line}" for line in (first, *tests)),
        "            ):",
    ]


def guards(context: Context, body: Body) -> list[str]:
    """Statements that bring cells to what the rules compare: categories to text, numbers that mean missing to NaN."""
    lines = []
    for name, column in context.columns.items():
        feature = context.program.schema[name]
        if not body.reads[name]:
            continue
        if feature.kind == "text":
            tokens = f", {literal(feature.missing_tokens)}" if feature.missing_tokens else ""
            called = "words(" if body.spelling is SCALAR else "words_of(np, "
            lines.append(f"{column} = {called}{column}{tokens})")
        elif feature.kind == "categorical":
            lines += _level_guard(feature, column, context, body.spelling is SCALAR)
        elif numbers := feature.missing_numbers:
            if body.spelling is SCALAR:
                lines += [f"if {column} in {literal(numbers)}:", f"    {column} = nan"]
            else:
                lines.append(f"{column} = blanked(np, {column}, {literal(numbers)})")
    return lines


def _level_guard(feature: Feature, column: str, context: Context, scalar: bool) -> list[str]:
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
    if not scalar:
        lines = [f"{column} = levels_of({column}{second})"]
        strict_lines = [f"refuse_unknown({column}, {known}, {name})"]
    else:
        test = f"type({column}) is not str" + (f" or {column} not in {known}" if keyed else "")
        lines = [f"if {test}:", f"    {column} = level({column}{second})"]
        strict_lines = [f"if {column} not in {known}:", f"    raise unknown({column}, {name})"]
    return lines + strict_lines * strict


def _decide(body: Body, results: Sequence[str], by_index: str, tree: Branch | None) -> None:
    """Statements that return the class: results[k] where it is known to be k, `by_index` around a computed index."""
    if tree is not None:
        say_tree(body, tree, results)
        return
    label = body.context.program.label
    if not isinstance(label, Choice):
        before, after = by_index.split("{}")
        body.say(f"return {before}", body.expression(label), after)
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


def _decide_many(body: Body) -> None:
    """Statements that return the class index of every row."""
    label = body.context.program.label
    if not isinstance(label, Choice):
        body.say("return ", body.expression(label))
        return
    chain, otherwise = cases(label)
    if len(chain) == 1:
        body.say("positive = ", body.expression(chain[0][0]))
        body.put("return np.where(positive, 1, 0)")
        return
    body.put(f"chosen = np.full(n, {index_of(otherwise)})")
    for condition, then in reversed(chain):
        body.say("chosen = ", VECTOR.choose(body.expression(condition), str(index_of(then)), "chosen"))
    body.put("return chosen")
