"""The functions of a generated module that hold the rules: `decide`, `probabilities`, `decide_many`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rulekit.errors import Unsupported
from rulekit.graph.decisions import ArgMax, Exceeds, Fires, Median
from rulekit.graph.nodes import Family, Hidden, Node
from rulekit.graph.rule_graph import RuleGraph
from rulekit.schema import Feature
from rulekit_exporters.python.expressions import Expression, atom, bracketed, layout
from rulekit_exporters.python.lowering import Body, Context
from rulekit_exporters.python.names import literal
from rulekit_exporters.python.spelling import SCALAR, VECTOR, Spelling

_WHOLE = re.compile(r"[+-]?[0-9]+")


def decide_function(graph: RuleGraph, context: Context, parameters: Sequence[str]) -> list[str]:
    """`decide(row, keys) -> class index`."""
    body = Body(context, SCALAR, _decision_inputs(graph))
    body.lines += guards(graph, context, body)
    _decide(body, graph)
    head = signature("decide", _keyed(graph, parameters), "int")
    head.append('    """Class index of a row; its cells bear the names of the columns, or other keys, or places."""')
    return [*head, *body.lines]


def decide_many_function(graph: RuleGraph, context: Context, parameters: Sequence[str]) -> list[str]:
    """`decide_many(np, n, columns) -> class index of each row`."""
    body = Body(context, VECTOR, _decision_inputs(graph))
    body.lines += guards(graph, context, body)
    _decide(body, graph)
    head = signature("decide_many", ["np: Any", "n: int", *(f"{name}: Any" for name in parameters)], "Any")
    return [*head, '    """`decide` for n rows at once, on columns of numpy."""', *body.lines]


def probabilities_function(graph: RuleGraph, context: Context, parameters: Sequence[str]) -> list[str]:
    """`probabilities(row, keys) -> one double per class`."""
    head = signature("probabilities", _keyed(graph, parameters), "list[float]")
    head.append('    """Probability of each class; see `decide`."""')
    if not graph.probability:
        call = bracketed("one_hot(decide(", tuple(map(atom, ("row", *parameters))), f"), {len(graph.classes)})")
        return [*head, *layout("return ", call, "", 4)]
    body = Body(context, SCALAR, graph.probability)
    body.lines += guards(graph, context, body)
    values = [body.name(node) for node in graph.probability]
    if len(values) == 1:
        body.say("positive = ", atom(values[0]))
        body.lines.append("    return [1.0 - positive, positive]")
    else:
        body.lines.append(f"    return normalised([{', '.join(values)}], {graph.default})")
    return [*head, *body.lines]


def _keyed(graph: RuleGraph, parameters: Sequence[str]) -> list[str]:
    """Parameters of a function of one row: the row, and the key of each column in it."""
    keys = zip(parameters, graph.used_features, strict=True)
    return ["row: Any", *(f"{parameter}: Any = {literal(name)}" for parameter, name in keys)]


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
                lines += [f"    if {column} in {literal(numbers)}:", f"        {column} = nan"]
            else:
                lines.append(f"    {column} = blanked(np, {column}, {literal(numbers)})")
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
        lines = [f"    {column} = levels_of({column}{second})"]
        strict_lines = [f"    refuse_unknown({column}, {known}, {name})"]
    else:
        test = f"type({column}) is not str" + (f" or {column} not in {known}" if keyed else "")
        lines = [f"    if {test}:", f"        {column} = level({column}{second})"]
        strict_lines = [f"    if {column} not in {known}:", f"        raise unknown({column}, {name})"]
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


def _decide(body: Body, graph: RuleGraph) -> None:
    decision, scalar = graph.decision, body.spelling.scalar
    match decision:
        case Fires() | Exceeds():
            body.say("positive = ", _above(body, decision))
            body.lines.append(f"    return {'1 if positive else 0' if scalar else 'np.where(positive, 1, 0)'}")
        case Median():
            parts = tuple(_above(body, part) for part in decision.above)
            counted = body.spelling.at_least(0, parts)
            suffix = counted.suffix.removesuffix(" >= 0")
            text = counted.text.removesuffix(" >= 0")
            body.say("return ", Expression(text, 10, counted.parts, counted.joiner, counted.prefix, suffix))
        case ArgMax():
            _arg_max(body, graph, decision)
        case _:
            raise Unsupported(type(decision).__name__, "python", "decisions are Fires, Exceeds, ArgMax and Median")


def _above(body: Body, part: Fires | Exceeds) -> Expression:
    """The expression of one binary decision; its statements are appended first."""
    if isinstance(part, Fires):
        return body.expression(part.formula)
    spelling = body.spelling
    if part.scale != "log-complement":
        return atom(f"{body.name(part.score)} > {literal(part.threshold)}", spelling.comparison)
    total = body.fresh("total")
    body.lines.append(f"    {total} = {'0.0' if spelling.scalar else 'np.zeros(n)'}")
    for child in strengths(part):
        if not isinstance(child, Hidden):
            body.add_if(total, body.expression(child), "inf")
        elif child.off == 0.0:
            body.add_if(total, body.expression(child.cause), literal(child.on))
        else:
            choice = spelling.choose(body.expression(child.cause), literal(child.on), literal(child.off))
            body.say(f"{total} += " if spelling.scalar else f"{total} = {total} + ", choice)
    return atom(f"{total} > {literal(part.threshold)}", spelling.comparison)


def _arg_max(body: Body, graph: RuleGraph, decision: ArgMax) -> None:
    """In order of preference, so that the first of equal scores stays."""
    ranked = [(k, decision.scores[k], decision.thresholds[k]) for k in decision.preference]
    if all(node.family is Family.BOOLEAN and 0.0 <= t < 1.0 for _, node, t in ranked):
        _first_that_holds(body, ranked, graph.default)
        return
    scalar = body.spelling.scalar
    if scalar:
        body.lines.append(f"    best, chosen = -inf, {graph.default}")
    else:
        body.lines.append(f"    best, chosen = np.full(n, -inf), np.full(n, {graph.default})")
    for k, node, threshold in ranked:
        score = body.expression(node)
        if node.family is Family.BOOLEAN:
            score = body.spelling.choose(score, "1.0", "0.0")
        body.lines += [f"    # class {k}"]
        body.say("score = ", score)
        if scalar:
            condition = (
                "score > best" if threshold == float("-inf") else f"score > {literal(threshold)} and score > best"
            )
            body.lines += [f"    if {condition}:", f"        best, chosen = score, {k}"]
        else:
            body.lines.append(f"    better = (score > {literal(threshold)}) & (score > best)")
            body.lines.append("    best = np.where(better, score, best)")
            body.lines.append(f"    chosen = np.where(better, {k}, chosen)")
    body.lines.append("    return chosen")


def _first_that_holds(body: Body, ranked: Sequence[tuple[int, Node, float]], default: int) -> None:
    """Boolean scores all tie, so the first class in order of preference whose rules hold is chosen."""
    if body.spelling.scalar:
        for k, node, _ in ranked:
            body.say("if ", body.expression(node), ":")
            body.lines.append(f"        return {k}")
        body.lines.append(f"    return {default}")
        return
    body.lines.append(f"    chosen = np.full(n, {default})")
    for k, node, _ in reversed(ranked):
        body.say("chosen = ", body.spelling.choose(body.expression(node), str(k), "chosen"))
    body.lines.append("    return chosen")
