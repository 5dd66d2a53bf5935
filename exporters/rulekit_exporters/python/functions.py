"""The functions of a generated module that hold the rules: `decide`, `probabilities`, `decide_many`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rulekit.errors import Unsupported
from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import Constant, Family, Hidden, Node, Or
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit_exporters.python.expressions import Expression, atom, bracketed, layout
from rulekit_exporters.python.lowering import Body, Context
from rulekit_exporters.python.names import literal
from rulekit_exporters.python.spelling import SCALAR, VECTOR, Spelling

MAX_REPEATED = 5000  # leaves; of more, the rules take longer than naming the cells of a row
REPEATED = "`decide` once more, on places: to name the cells first would take longer than the rules."
_WHOLE = re.compile(r"[+-]?[0-9]+")


def decide_function(graph: RuleGraph, context: Context) -> list[str]:
    """`decide(row) -> class index` of a mapping by column name: the rules as a person reads them."""
    body = Body(context, SCALAR, _decision_inputs(graph), _names(graph))
    body.put(*guards(graph, context, body))
    _decide(body, graph, tuple(map(str, range(len(graph.classes)))), "{}")
    head = signature("decide", ["row: Any"], "int")
    head.append('    """Class index of a row, a mapping by column name."""')
    return [*head, *body.lines]


def decide_many_function(graph: RuleGraph, context: Context) -> list[str]:
    """`decide_many(np, n, columns) -> class index of each row`."""
    body = Body(context, VECTOR, _decision_inputs(graph), comments=context.briefs)
    body.put(*guards(graph, context, body))
    _decide(body, graph, tuple(map(str, range(len(graph.classes)))), "{}")
    parameters = [f"{context.columns[name]}: Any" for name in graph.used_features]
    head = signature("decide_many", ["np: Any", "n: int", *parameters], "Any")
    return [*head, '    """`decide` for n rows at once, on columns of numpy."""', *body.lines]


def probabilities_function(graph: RuleGraph, context: Context) -> list[str]:
    """`probabilities(row) -> one double per class` of a mapping by column name."""
    head = signature("probabilities", ["row: Any"], "list[float]")
    head.append('    """Probability of each class; the row as for `decide`."""')
    if not graph.probability:
        return [*head, f"    return {_certain(graph, 'decide(row)', 'decide(row) == 1')}"]
    body = Body(context, SCALAR, graph.probability, _names(graph), context.briefs)
    return [*head, *_probabilities(body, graph, context)]


def _probabilities(body: Body, graph: RuleGraph, context: Context) -> list[str]:
    """The statements of a body that returns the probabilities."""
    body.put(*guards(graph, context, body))
    values = [body.name(node) for node in graph.probability]
    if len(values) == 1:
        body.put(f"positive = {values[0]}", "return [1.0 - positive, positive]")
    else:
        body.put(f"return normalised([{', '.join(values)}], {graph.default})")
    return body.lines


def predict_function(graph: RuleGraph, context: Context, label: str) -> list[str]:
    """`predict(row) -> label`: of a sequence by its own code where the rules are few, of a mapping by `decide`."""
    body = Body(context, SCALAR, _decision_inputs(graph), _places(graph), context.briefs, 12)
    by_place = body.leaves <= MAX_REPEATED
    if by_place:
        body.put(*guards(graph, context, body))
        # truth values are taken from CLASSES: linters would have `return True` below an `if` be the condition itself
        plain = any(isinstance(name, bool) for name in graph.classes)
        results = (f"CLASSES[{k}]" if plain else literal(name) for k, name in enumerate(graph.classes))
        _decide(body, graph, tuple(results), "CLASSES[{}]")
        body.lines.insert(0, f"            # {REPEATED}")
    else:
        body.lines = layout("return CLASSES[decide(", by_name(graph), ")]", 12)
    return [
        *signature("predict", ["row: Any"], label),
        '    """Label of a row; raises KeyError for an absent column, ValueError for an unreadable cell."""',
        *dispatch(graph, "return CLASSES[decide(row)]", body.lines),
        "    return CLASSES[decide(cells(row, len(COLUMNS), USED))]",
    ]


def predict_proba_function(graph: RuleGraph, context: Context) -> list[str]:
    """`predict_proba(row) -> one double per class`, as `predict_function`."""
    head = signature("predict_proba", ["row: Any"], "list[float]")
    head.append('    """Probabilities of a row in the order of CLASSES; raises as `predict`."""')
    if not graph.probability and len(set(graph.classes)) == len(graph.classes):
        return [*head, f"    return {_certain(graph, 'CLASSES.index(predict(row))', 'predict(row) == CLASSES[1]')}"]
    body = Body(context, SCALAR, graph.probability, _places(graph), context.briefs, 12)
    if graph.probability and body.leaves <= MAX_REPEATED:
        of_sequence = [f"            # {REPEATED.replace('decide', 'probabilities')}"]
        of_sequence += _probabilities(body, graph, context)
    else:
        of_sequence = layout("return probabilities(", by_name(graph), ")", 12)
    return [
        *head,
        *dispatch(graph, "return probabilities(row)", of_sequence),
        "    return probabilities(cells(row, len(COLUMNS), USED))",
    ]


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
        f"        if len(row) == {len(graph.schema)}:",
        *of_sequence,
        "    except (TypeError, LookupError):  # missing or textual cells, absent columns",
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


def guards(graph: RuleGraph, context: Context, body: Body) -> list[str]:
    """Statements that bring cells to what the rules compare: categories to text, numbers that mean missing to NaN."""
    lines = []
    for name in filter(body.reads, graph.used_features):
        feature, column = graph.schema[name], context.columns[name]
        if feature.kind == "categorical":
            lines += _level_guard(feature, column, context, body.spelling)
        elif numbers := missing_numbers(feature):
            if body.spelling.scalar:
                lines += [f"if {column} in {literal(numbers)}:", f"    {column} = nan"]
            else:
                lines.append(f"{column} = blanked(np, {column}, {literal(numbers)})")
    return lines


def missing_numbers(feature: Feature) -> tuple[float, ...]:
    """The numbers that a numeric or Boolean column's missing tokens write, such as -999."""
    found = []
    for token in feature.missing_tokens:
        try:
            found.append(float(token))
        except ValueError:
            continue
    return tuple(dict.fromkeys(value for value in found if value == value))


def _level_guard(feature: Feature, column: str, context: Context, spelling: Spelling) -> list[str]:
    name = literal(feature.name)
    allowed = tuple(dict.fromkeys((None, "", *feature.missing_tokens, *feature.levels)))
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
    if not spelling.scalar:
        lines = [f"{column} = levels_of({column}{second})"]
        strict_lines = [f"refuse_unknown({column}, {known}, {name})"]
    else:
        test = f"type({column}) is not str" + (f" or {column} not in {known}" if keyed else "")
        lines = [f"if {test}:", f"    {column} = level({column}{second})"]
        strict_lines = [f"if {column} not in {known}:", f"    raise unknown({column}, {name})"]
    return lines + strict_lines * strict


def _decision_inputs(graph: RuleGraph) -> list[Node]:
    """The nodes that the decision's code reads: its roots, or what a log-complement adds up."""
    decision = graph.decision
    parts = decision.above if isinstance(decision, Median) else (decision,)
    found: list[Node] = []
    for part in parts:
        if isinstance(part, Exceeds) and part.scale == "log-complement":
            found += [child.cause if isinstance(child, Hidden) else child for child in strengths(part)]
        else:
            found += part.roots
    return found


def strengths(part: Exceeds) -> tuple[Node, ...]:
    """The children of the Or whose strengths a log-complement adds."""
    return part.score.children[0].children


def _decide(body: Body, graph: RuleGraph, results: Sequence[str], by_index: str) -> None:
    """Statements that return the class: results[k] where it is known to be k, `by_index` around a computed index."""
    decision, scalar = graph.decision, body.spelling.scalar
    match decision:
        case Fires(formula=Constant(value=value)) if scalar:
            body.put(f"return {results[int(value)]}")
        case Fires() if scalar:
            _return_where(body, decision.formula, results[1])
            body.put(f"return {results[0]}")
        case Fires() | Exceeds():
            condition = _above(body, decision)
            if scalar:
                body.say("return ", body.spelling.choose(condition, results[1], results[0]))
            else:
                body.say("positive = ", condition)
                body.put("return np.where(positive, 1, 0)")
        case Median():
            parts = tuple(_above(body, part) for part in decision.above)
            counted = body.spelling.at_least(0, parts)
            suffix = counted.suffix.removesuffix(" >= 0")
            text = counted.text.removesuffix(" >= 0")
            before, after = by_index.split("{}")
            whole = Expression(text, 10, counted.parts, counted.joiner, counted.prefix, suffix)
            body.say(f"return {before}", whole, after)
        case ArgMax():
            _arg_max(body, graph, decision, results, by_index)
        case _:
            raise Unsupported(type(decision).__name__, "python", "decisions are Fires, Exceeds, ArgMax and Median")


def _return_where(body: Body, formula: Node, result: str) -> None:
    """`if clause:` and the result, for each clause of a disjunction."""
    for clause in formula.children if isinstance(formula, Or) else (formula,):
        body.say("if ", body.expression(clause), ":")
        body.put(f"return {result}", deeper=4)


def _above(body: Body, part: Fires | Exceeds) -> Expression:
    """The expression of one binary decision; its statements are appended first."""
    if isinstance(part, Fires):
        return body.expression(part.formula)
    spelling = body.spelling
    if part.scale != "log-complement":
        return atom(f"{body.name(part.score)} > {literal(part.threshold)}", spelling.comparison)
    total = body.fresh("total")
    body.put(f"{total} = {'0.0' if spelling.scalar else 'np.zeros(n)'}")
    for child in strengths(part):
        if not isinstance(child, Hidden):
            body.add_if(total, body.expression(child), "inf")
        elif child.off == 0.0:
            body.add_if(total, body.expression(child.cause), literal(child.on))
        else:
            choice = spelling.choose(body.expression(child.cause), literal(child.on), literal(child.off))
            body.say(f"{total} += " if spelling.scalar else f"{total} = {total} + ", choice)
    return atom(f"{total} > {literal(part.threshold)}", spelling.comparison)


def _arg_max(body: Body, graph: RuleGraph, decision: ArgMax, results: Sequence[str], by_index: str) -> None:
    """The first class in order of preference among those whose score is largest, and above its threshold."""
    ranked = [(k, decision.scores[k], decision.thresholds[k]) for k in decision.preference]
    if all(node.family is Family.BOOLEAN and 0.0 <= t < 1.0 for _, node, t in ranked):
        _first_that_holds(body, ranked, graph.default, results)
        return
    scalar = body.spelling.scalar
    start = ("-inf", str(graph.default)) if scalar else ("np.full(n, -inf)", f"np.full(n, {graph.default})")
    body.put(f"best, chosen = {', '.join(start)}")
    for k, node, threshold in ranked:
        score = body.expression(node)
        if node.family is Family.BOOLEAN:
            score = body.spelling.choose(score, "1.0", "0.0")
        body.put(f"# class {k}")
        body.say("score = ", score)
        if scalar:
            condition = (
                "score > best" if threshold == float("-inf") else f"score > {literal(threshold)} and score > best"
            )
            body.put(f"if {condition}:")
            body.put(f"best, chosen = score, {k}", deeper=4)
        else:
            body.put(
                f"better = (score > {literal(threshold)}) & (score > best)",
                "best = np.where(better, score, best)",
                f"chosen = np.where(better, {k}, chosen)",
            )
    body.put(f"return {by_index.format('chosen')}")


def _first_that_holds(
    body: Body, ranked: Sequence[tuple[int, Node, float]], default: int, results: Sequence[str]
) -> None:
    """Boolean scores all tie, so the first class in order of preference whose rules hold is chosen."""
    if body.spelling.scalar:
        for k, node, _ in ranked:
            _return_where(body, node, results[k])
        body.put(f"return {results[default]}")
        return
    body.put(f"chosen = np.full(n, {default})")
    for k, node, _ in reversed(ranked):
        body.say("chosen = ", body.spelling.choose(body.expression(node), str(k), "chosen"))
    body.put("return chosen")
