"""What a generated module decides, read from its code without running it.

What surrounds the rules, that is how cells are read, the interface, the run-time helpers and imports, must be word for
word (as syntax) what the exporter writes for a model of this schema. The functions that hold the rules and their tables
are read as they stand: a row as a mapping, as a sequence, and as columns of numpy.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from functools import cache

from rulekit.errors import FormatError
from rulekit.graph.decisions import Fires
from rulekit.graph.nodes import And, Column, Compare, Missing, Node, Step
from rulekit.graph.rule_graph import RuleGraph
from rulekit.graph.traversal import topological
from rulekit.program.nodes import ARTIFACT_LEAVES, Labels
from rulekit.schema import Feature, Schema
from rulekit.targets import Reading
from rulekit_exporters.python.assembly import context_of, module_source
from rulekit_exporters.python.functions import missing_numbers
from rulekit_exporters.python.inspection.calls import Module
from rulekit_exporters.python.inspection.code import Environment, result_of
from rulekit_exporters.python.inspection.values import (
    Cell,
    Count,
    Known,
    Label,
    Listing,
    Row,
    UnreadableError,
    Value,
    formulas_of,
    real,
    unknown_text,
)
from rulekit_exporters.python.lowering import crossing_of
from rulekit_exporters.python.reading import MAX_BYTES

RULES = ("decide", "decide_many", "predict", "probabilities")
FIXED = {"CLASSES", "COLUMNS", "USED"}
CLEANERS = {"level", "levels_of", "blanked", "unknown", "refuse_unknown", "nan"}

_ROWS_OF_TESTS = ("TEST_CELLS", "TEST_CHANCES", "TEST_ROWS")
_MAIN = "what is run as a command"

Statements = dict[str, ast.stmt]


def inspect(artifact: bytes, graph: RuleGraph) -> Reading:
    """What the module decides; raises FormatError where it is no Python. Where it cannot be read, the reason."""
    if len(artifact) > MAX_BYTES:
        raise FormatError(f"{len(artifact)} bytes, more than the {MAX_BYTES} that are read")
    try:
        found = _statements(ast.parse(artifact))
        written = _statements(ast.parse(module_source(graph, with_self_test=False)))
        if "self_test" in found:
            written = _with_tests(found) | written
            written[_MAIN] = _with_tests(found)[_MAIN]
        return _read(found, written, graph)
    except UnreadableError as reason:
        return Reading(None, reason=str(reason))
    except (SyntaxError, ValueError) as error:
        raise FormatError(f"this is no Python: {error}", fix="export the model again") from None
    except (RecursionError, MemoryError):
        return Reading(None, reason="the code is nested too deeply to be read")


def _read(found: Statements, written: Statements, graph: RuleGraph) -> Reading:
    constants = _constants(found, written)
    module = Module(graph, constants, _guards(written, graph), _functions(found), found.keys(), _spelled(graph))
    _note_known_texts(module, constants, written, graph)
    by_name: dict[object, Cell] = {name: _cell(graph.schema[name]) for name in graph.used_features}
    by_place: dict[object, Cell] = {graph.schema.positions[str(name)]: cell for name, cell in by_name.items()}
    functions = _functions(found)
    answers = [result_of(module, functions["decide"].body, {"row": Row(by_name)})]
    inside = _of_sequence(functions["predict"])
    label = result_of(module, inside, {"row": Row(by_place)}, labels=True)
    if not isinstance(label, Label):
        raise UnreadableError("predict returns something that is no class of the model")
    answers.append(label.index)
    parameters = [argument.arg for argument in functions["decide_many"].args.args]
    columns: Environment = dict(zip(parameters[2:], by_name.values(), strict=True))
    answers.append(result_of(module, functions["decide_many"].body, {"n": Known("n"), **columns}, vector=True))
    classes = len(graph.classes)
    agreed = list(dict.fromkeys(formulas_of(answer, classes) for answer in answers))
    formulas = agreed[0] if len(agreed) == 1 else tuple(map(And, zip(*agreed, strict=True)))
    reported = result_of(module, functions["probabilities"].body, {"row": Row(by_name)})
    return Reading(
        leaves=_leaves(formulas),
        decision=Labels(formulas),
        probability_leaves=_leaves(_nodes(reported)),
        texts={name: tuple(sorted(texts)) for name, texts in module.texts.items()},
    )


def _cell(feature: Feature) -> Cell:
    """A cell as it is given; numbers are compared at once unless some of them mean missing."""
    return Cell(feature, feature.kind != "categorical" and not missing_numbers(feature))


# The module ----------------------------------------------------------------------------------------------------------


def _statements(tree: ast.Module) -> Statements:
    """The statements of a module by what they define; the text at its head is left out."""
    found: Statements = {}
    for statement in tree.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        for name, defined in _defined(statement):
            if name in found:
                raise UnreadableError(f"line {statement.lineno}: {name!r} is defined twice")
            found[name] = defined
    return found


def _defined(statement: ast.stmt) -> list[tuple[str, ast.stmt]]:
    """What a statement defines; each name of an import by itself."""
    match statement:
        case ast.FunctionDef(name):
            return [(name, statement)]
        case ast.Assign([ast.Name(name)]) | ast.AnnAssign(ast.Name(name)):
            return [(name, statement)]
        case ast.Import(names):
            return [(alias.asname or alias.name, ast.Import([alias])) for alias in names]
        case ast.ImportFrom(module, names, level):
            return [(alias.asname or alias.name, ast.ImportFrom(module, [alias], level)) for alias in names]
        case ast.If():
            return [(_MAIN, statement)]
    raise UnreadableError(f"line {statement.lineno}: a statement that rulekit does not write")


@cache
def _tests() -> Statements:
    """The statements of a small module that tests itself, among which are those that every such module has."""
    graph = RuleGraph(Schema((Feature("x"),)), (0, 1), Fires(Compare("x", ">", 0.0)))
    return _statements(ast.parse(module_source(graph, with_self_test=True)))


def _with_tests(found: Statements) -> Statements:
    """What stands in a module that tests itself: its rows are its own, but plain data; the rest is alike in all."""
    own = {name: found[name] for name in _ROWS_OF_TESTS if name in found and _is_data(found[name])}
    return {name: statement for name, statement in _tests().items() if name in found} | own


def _is_data(statement: ast.stmt) -> bool:
    """Whether an assignment is of numbers, texts and tuples of them only."""
    plain = (ast.Tuple, ast.Constant, ast.Name, ast.UnaryOp, ast.USub, ast.Load)
    value = statement.value if isinstance(statement, ast.AnnAssign) else None
    return value is not None and all(isinstance(node, plain) for node in ast.walk(value))


def _functions(statements: Statements) -> dict[str, ast.FunctionDef]:
    found = {name: statements[name] for name in RULES}
    return {name: function for name, function in found.items() if isinstance(function, ast.FunctionDef)}


def _constants(found: Statements, written: Statements) -> dict[str, object]:
    """The tables of the rules; raises UnreadableError where something else is not what the exporter writes."""
    for name in written.keys() ^ found.keys():
        raise UnreadableError(
            f"{name!r} is {'missing' if name in written else 'not written by this version of rulekit'}"
        )
    constants: dict[str, object] = {}
    for name, statement in found.items():
        expected = written[name]
        same = ast.dump(_bare(statement, name)) == ast.dump(_bare(expected, name))
        value = _literal(statement)
        if isinstance(value, tuple | frozenset) and name.isupper():
            constants[name] = value
            same = same or (name not in FIXED and _literal(expected) is not None)
        if not same and name != "DIGEST":
            raise UnreadableError(f"{name!r} is not what this version of rulekit writes for the model")
    return constants


def _bare(statement: ast.stmt, name: str) -> ast.stmt:
    """A statement as far as it must be what the exporter writes: functions that hold rules without these."""
    if not isinstance(statement, ast.FunctionDef):
        return statement
    bare = copy.deepcopy(statement) if name == "predict" else copy.copy(statement)
    bare.body = [s for s in bare.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
    if name == "predict":
        for inner in ast.walk(bare):
            if isinstance(inner, ast.If) and _is_length(inner.test):
                inner.body = [ast.Pass()]
    elif name in RULES:
        bare.body = [ast.Pass()]
    return bare


def _is_length(test: ast.expr) -> bool:
    """`len(row) == d`, below which `predict` has the rules of a sequence."""
    match test:
        case ast.Compare(ast.Call(ast.Name("len"), [ast.Name("row")], []), [ast.Eq()], [ast.Constant()]):
            return True
    return False


def _of_sequence(predict: ast.FunctionDef) -> list[ast.stmt]:
    for inner in ast.walk(predict):
        if isinstance(inner, ast.If) and _is_length(inner.test):
            return inner.body
    raise UnreadableError("predict does not look at sequences")


def _literal(statement: ast.stmt) -> object:
    """The value of a constant: a number, text, tuple or frozenset of them; None where it is no constant."""
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "frozenset":
        found = _plain(value.args[0]) if len(value.args) == 1 and not value.keywords else None
        return frozenset(found) if isinstance(found, set) else None
    return None if value is None else _plain(value)


def _plain(value: ast.expr) -> object:
    """A literal, where `inf` is infinity."""
    replaced = ast.Tuple([_finite(item) for item in value.elts], value.ctx) if isinstance(value, ast.Tuple) else value
    try:
        found: object = ast.literal_eval(replaced)
    except (ValueError, TypeError):
        return None
    return found


def _finite(item: ast.expr) -> ast.expr:
    """`inf` as a number that overflows, which a literal can be."""
    if isinstance(item, ast.Name) and item.id == "inf":
        return ast.Constant(float("inf"))
    if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub):
        return ast.UnaryOp(ast.USub(), _finite(item.operand))
    return item


def _guards(written: Statements, graph: RuleGraph) -> dict[str, str]:
    """The statements that the exporter writes to bring cells to what the rules compare, with their columns."""
    columns = {identifier: name for name, identifier in context_of(graph).columns.items()}
    found = {}
    for name in RULES:
        for statement in ast.walk(written[name]):
            if not isinstance(statement, ast.If | ast.Assign | ast.Expr):
                continue
            words = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            own = words & columns.keys()
            if words & CLEANERS and len(own) == 1 and not isinstance(statement, ast.FunctionDef):
                found[ast.dump(statement)] = columns[own.pop()]
    return found


def _spelled(graph: RuleGraph) -> dict[tuple[str, float], float]:
    """By column and double, the threshold as the graph writes it, so that equal conditions are the same node."""
    found = {}
    for node in graph.nodes():
        values = (node.value,) if isinstance(node, Compare) else node.cuts if isinstance(node, Step) else ()
        for value in values:
            assert isinstance(node, Compare | Step)
            found[node.feature, crossing_of(value, graph.schema[node.feature])] = value
    return found


def _note_known_texts(module: Module, constants: Mapping[str, object], written: Statements, graph: RuleGraph) -> None:
    """Texts that a changed set of known levels would tell apart otherwise: its additions, losses and look-alikes."""
    columns = {identifier.upper(): name for name, identifier in context_of(graph).columns.items()}
    for name, value in constants.items():
        column = columns.get(name.removesuffix("_KNOWN")) if name.endswith("_KNOWN") else None
        expected = _literal(written[name])
        if column is None or not isinstance(value, frozenset) or not isinstance(expected, frozenset):
            continue
        changed = {text for text in value ^ expected if isinstance(text, str)}
        if changed or value != expected:
            alike = {look for text in changed for look in (text, f"{text}.0", text.title(), text.upper())}
            other = unknown_text(graph.schema[column])
            module.texts.setdefault(column, set()).update(alike, {other, "", *graph.schema[column].missing_tokens})


# The answer ----------------------------------------------------------------------------------------------------------


def _nodes(value: Value) -> tuple[Node, ...]:
    """The nodes of what `probabilities` returns."""
    if isinstance(value, Listing):
        return tuple(node for item in value.items for node in _nodes(item))
    if isinstance(value, Count):
        return value.conditions
    return (real(value),)


def _leaves(nodes: Iterable[Node]) -> frozenset[Node] | None:
    """The conditions on cells below some nodes; None where numbers of the row themselves are calculated with."""
    found: set[Node] = set()
    for node in topological(tuple(nodes)):
        if isinstance(node, Column):
            return None
        if isinstance(node, ARTIFACT_LEAVES):
            found.add(node)
        elif isinstance(node, Step):
            found.update((Missing(node.feature), *(Compare(node.feature, ">", cut) for cut in node.cuts)))
    return frozenset(found)
