"""The functions of a generated module that hold the rules: `decide`, `probabilities`, `decide_many`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from rulekit.graph.nodes import Among, Constant, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.program.expressions import Expression, atom, bracketed, layout
from rulekit.program.lower import members
from rulekit.program.nodes import Choice, Greater, cases
from rulekit.program.spelling import Body, Context, Spelling, index_of
from rulekit.schema import Feature
from rulekit_exporters.python.names import literal
from rulekit_exporters.python.spelling import SCALAR, VECTOR

MAX_REPEATED = 5000  # leaves; of more, the rules take longer than naming the cells of a row
MAX_LOOKUPS = 2
REPEATED = "`decide` once more, on places: to name the cells first would take longer than the rules."
_WHOLE = re.compile(r"[+-]?[0-9]+")


def body_of(
    context: Context,
    roots: Iterable[Node],
    keys: Mapping[str, str] | None = None,
    comments: Mapping[Node, str] | None = None,
    indent: int = 4,
) -> Body:
    """The body of a function, its cells bound and cleaned. keys: what looks a cell up in `row`; None: parameters.

    Cells that are read often, or cleaned first, become variables; others are looked up where they are read.
    """
    spelling: Spelling = VECTOR if keys is None else SCALAR
    body = Body(context, spelling, roots, None, comments, indent)
    for name, column in context.columns.items() if keys is not None else ():
        feature = context.program.schema[name]
        assert keys is not None
        cleaned = feature.kind == "categorical" or feature.missing_tokens
        # numpy compares a float32 with a double in float32, which is right for a float32 column alone
        cell = f"row[{keys[name]}]" + (
            ".__float__()" if feature.kind == "numeric" and feature.precision == "float64" else ""
        )
        if body.reads[name] > (0 if cleaned else MAX_LOOKUPS):
            body.put(f"{column} = {cell}")
        else:
            body.cells[name] = cell
    body.put(*guards(context, body))
    return body


def decide_function(graph: RuleGraph, context: Context) -> list[str]:
    """`decide(row) -> class index` of a mapping by column name: the rules as a person reads them."""
    body = body_of(context, (context.program.label,), _names(graph))
    _decide(body, tuple(map(str, range(len(graph.classes)))), "{}")
    head = signature("decide", ["row: Any"], "int")
    head.append('    """Class index of a row, a mapping by column name."""')
    return [*head, *body.lines]


def decide_many_function(graph: RuleGraph, context: Context) -> list[str]:
    """`decide_many(np, n, columns) -> class index of each row`."""
    body = body_of(context, (context.program.label,), None, context.briefs)
    _decide_many(body)
    parameters = [f"{context.columns[name]}: Any" for name in graph.used_features]
    head = signature("decide_many", ["np: Any", "n: int", *parameters], "Any")
    return [*head, '    """`decide` for n rows at once, on columns of numpy."""', *body.lines]


def probabilities_function(graph: RuleGraph, context: Context) -> list[str]:
    """`probabilities(row) -> one double per class` of a mapping by column name."""
    head = signature("probabilities", ["row: Any"], "list[float]")
    head.append('    """Probability of each class; the row as for `decide`."""')
    if not graph.probability:
        return [*head, f"    return {_certain(graph, 'decide(row)', 'decide(row) == 1')}"]
    return [*head, *_probabilities(context, _names(graph), 4).lines]


def _probabilities(context: Context, keys: Mapping[str, str], indent: int) -> Body:
    """A body that returns the probabilities."""
    program = context.program
    body = body_of(context, program.reported, keys, context.briefs, indent)
    values = [body.text(node) for node in program.reported]
    if len(values) == 1:
        body.put(f"positive = {values[0]}", "return [1.0 - positive, positive]")
    else:
        body.put(f"return normalised([{', '.join(values)}], {program.default})")
    return body


def predict_function(graph: RuleGraph, context: Context, label: str) -> list[str]:
    """`predict(row) -> label`: of a sequence by its own code where the rules are few, of a mapping by `decide`."""
    body = body_of(context, (context.program.label,), _places(graph), context.briefs, 16)
    if _is_repeated(body):
        # truth values are taken from CLASSES: linters would have `return True` below an `if` be the condition itself
        plain = any(isinstance(name, bool) for name in graph.classes)
        results = (f"CLASSES[{k}]" if plain else literal(name) for k, name in enumerate(graph.classes))
        _decide(body, tuple(results), "CLASSES[{}]")
        lines = [f"                # {REPEATED}", *body.lines]
    else:
        lines = layout("return CLASSES[decide(", by_name(graph), ")]", 16)
    return [
        *signature("predict", ["row: Any"], label),
        '    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""',
        *dispatch(graph, "return CLASSES[decide(row)]", lines),
        "    return CLASSES[decide(cells(row, len(COLUMNS), USED))]",
    ]


def predict_proba_function(graph: RuleGraph, context: Context) -> list[str]:
    """`predict_proba(row) -> one double per class`, as `predict_function`."""
    head = signature("predict_proba", ["row: Any"], "list[float]")
    head.append('    """Probabilities of a row in the order of CLASSES; raises as `predict`."""')
    if not graph.probability and len(set(graph.classes)) == len(graph.classes):
        return [*head, f"    return {_certain(graph, 'CLASSES.index(predict(row))', 'predict(row) == CLASSES[1]')}"]
    of_sequence = layout("return probabilities(", by_name(graph), ")", 16)
    if graph.probability:
        body = _probabilities(context, _places(graph), 16)
        if _is_repeated(body):
            of_sequence = [f"                # {REPEATED.replace('decide', 'probabilities')}", *body.lines]
    return [
        *head,
        *dispatch(graph, "return probabilities(row)", of_sequence),
        "    return probabilities(cells(row, len(COLUMNS), USED))",
    ]


def _is_repeated(body: Body) -> bool:
    return sum(body.reads.values()) <= MAX_REPEATED


def _certain(graph: RuleGraph, index: str, positive: str) -> str:
    """Probability 1 for the class that is decided."""
    if len(graph.classes) == 2:
        return f"[0.0, 1.0] if {positive} else [1.0, 0.0]"
    return f"one_hot({index}, {len(graph.classes)})"


def predict_many_function(label: str) -> list[str]:
    """`predict_many(data) -> labels`."""
    return [
        *signature("predict_many", ["data: Any"], f"list[{label}]"),
        '    """Labels of rows, of a mapping or frame of columns, or of a two-dimensional array."""',
        '    by_column = hasattr(data, "keys") or hasattr(data, "shape")',
        "    np = numpy_or_none() if by_column else None",
        "    if np is None:",
        "        return [predict(row) for row in rows_of(data)]",
        "    columns = columns_of(np, data, len(COLUMNS), USED)",
        "    return [CLASSES[k] for k in in_blocks(np, decide_many, columns, length_of(data))]",
    ]


def dispatch(graph: RuleGraph, of_mapping: str, of_sequence: Sequence[str]) -> list[str]:
    """Statements that look cells up directly; where that fails, what follows them has to clean the cells first.

    A `match` costs half of what isinstance or a comparison of types costs, and knows every kind of mapping.
    """
    return [
        "    try:",
        "        match row:",
        "            case {}:  # any mapping",
        f"                {of_mapping}",
        f"            case [*_] if len(row) == {len(graph.schema)}:  # no array, which has other numbers",
        *of_sequence,
        "    except (AttributeError, TypeError, LookupError):  # missing or textual cells, absent columns",
        "        pass",
    ]


def by_name(graph: RuleGraph) -> Expression:
    """A mapping of the used cells of a sequence, by column name."""
    pairs = _places(graph).items()
    return bracketed("{", tuple(atom(f"{literal(name)}: row[{place}]") for name, place in pairs), "}")


def _names(graph: RuleGraph) -> dict[str, str]:
    return {name: literal(name) for name in graph.used_features}


def _places(graph: RuleGraph) -> dict[str, str]:
    return {name: str(graph.schema.positions[name]) for name in graph.used_features}


def signature(name: str, parameters: Sequence[str], result: str) -> list[str]:
    """The head of a function, one parameter a line where they are many."""
    single = f"def {name}({', '.join(parameters)}) -> {result}:"
    if len(single) <= 120:
        return [single]
    return [f"def {name}(", *(f"    {parameter}," for parameter in parameters), f") -> {result}:"]


def guards(context: Context, body: Body) -> list[str]:
    """Statements that bring cells to what the rules compare: categories to text, numbers that mean missing to NaN."""
    lines = []
    for name, column in context.columns.items():
        feature = context.program.schema[name]
        if not body.reads[name]:
            continue
        if feature.kind == "categorical":
            lines += _level_guard(feature, column, context, body.spelling is SCALAR)
        elif numbers := feature.missing_numbers:
            if body.spelling is SCALAR:
                lines += [f"if {column} in {literal(numbers)}:", f"    {column} = nan"]
            else:
                lines.append(f"{column} = blanked(np, {column}, {literal(numbers)})")
    return lines


def _level_guard(feature: Feature, column: str, context: Context, scalar: bool) -> list[str]:
    name = literal(feature.name)
    every = members(Among(feature.name, feature.levels), feature)
    allowed = tuple(dict.fromkeys((None, "", *feature.missing_tokens, *feature.levels, *every)))
    strict = feature.unseen == "error"
    keyed = any(level in ("true", "false") or _WHOLE.fullmatch(level) for level in feature.levels)
    known = ""
    if strict or keyed:
        text = f"frozenset({{{', '.join(map(literal, allowed))}}})"
        known = context.constant(f"{column}_known", (column, "known"), text)
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


def _decide(body: Body, results: Sequence[str], by_index: str) -> None:
    """Statements that return the class: results[k] where it is known to be k, `by_index` around a computed index."""
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
