"""Places in a generated Python module where a single fault can be put: in the functions that decide, and their tables.

The functions are those that `predict` and `predict_many` reach and that are no run-time helpers. A piece of code is
replaced as text, so that the rest of the module keeps every byte.
"""

from __future__ import annotations

import ast
import copy
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.resources import files

from benchmarks.proofs.mutations.faults import Site

FLIPPED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Gt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Gt, ast.Lt),
    ast.GtE: (ast.Lt, ast.Gt),
    ast.Lt: (ast.GtE, ast.LtE),
}
CONTRARY: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Gt: ast.LtE, ast.LtE: ast.Gt, ast.GtE: ast.Lt, ast.Lt: ast.GtE}
NOT_DECIDING = {"answer", "probabilities", "predict_proba"}
KEPT = {"DIGEST", "COLUMNS"}
READ_TEXT = {"level", "type", "str", "unknown"}


@dataclass(frozen=True, slots=True)
class Place:
    """A node of the module's tree and where it stands: in which function, with which parent.

    wording: it belongs to what brings a cell to text; labels: the classes.
    """

    node: ast.AST
    parent: ast.AST
    parameters: tuple[str, ...]
    wording: bool
    labels: tuple[object, ...]


def sites(content: bytes) -> list[Site]:
    """Every fault that can be put into a module."""
    source = content.decode("utf-8")
    tree = ast.parse(source)
    found = []
    for place in _places(tree):
        for kind, what, new, numbers, texts in _faults(place):
            line = getattr(place.node, "lineno", 0)
            mixed = kind == "columns swapped"
            make = _maker(source, place.node, new)
            wording = place.wording or kind in ("level changed", "default changed")
            found.append(Site(kind, f"line {line}: {what}", make, numbers, texts, mixed, wording))
    return found


def _maker(source: str, node: ast.AST, new: str) -> Callable[[], bytes]:
    def make() -> bytes:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        lines = source.encode("utf-8").split(b"\n")
        before = b"\n".join([*lines[: node.lineno - 1], lines[node.lineno - 1][: node.col_offset]])
        after = b"\n".join([lines[node.end_lineno - 1][node.end_col_offset :], *lines[node.end_lineno :]])
        return before + new.encode("utf-8") + after

    return make


def _places(tree: ast.Module) -> Iterator[Place]:
    helpers = {
        statement.name
        for statement in ast.parse(files("rulekit_exporters.python").joinpath("runtime.py").read_text("utf-8")).body
        if isinstance(statement, ast.FunctionDef)
    }
    functions = {s.name: s for s in tree.body if isinstance(s, ast.FunctionDef) and s.name not in helpers}
    constants = {
        target.id: s
        for s in tree.body
        if isinstance(s, ast.Assign | ast.AnnAssign)
        for target in (s.targets if isinstance(s, ast.Assign) else [s.target])
        if isinstance(target, ast.Name) and target.id.isupper() and target.id not in KEPT
    }
    reached = _reached(functions)
    labels = tuple(ast.literal_eval(constants["CLASSES"].value or ast.Tuple([])))
    words = {node.id for name in reached for node in ast.walk(functions[name]) if isinstance(node, ast.Name)}
    for name in sorted(reached):
        function = functions[name]
        parameters = tuple(argument.arg for argument in function.args.args)
        for statement in function.body:
            yield from _below(statement, function, parameters, labels)
    for name in sorted(words & set(constants)):
        value = constants[name].value
        if value is not None:
            yield from _below(value, constants[name], (), labels)


def _reached(functions: dict[str, ast.FunctionDef]) -> set[str]:
    found: set[str] = set()
    waiting = ["predict", "predict_many"]
    while waiting:
        name = waiting.pop()
        if name in functions and name not in found and name not in NOT_DECIDING:
            found.add(name)
            waiting.extend(node.id for node in ast.walk(functions[name]) if isinstance(node, ast.Name))
    return found


def _below(node: ast.AST, parent: ast.AST, parameters: tuple[str, ...], labels: tuple[object, ...]) -> Iterator[Place]:
    words = {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    wording = bool(words & READ_TEXT) or isinstance(parent, ast.Assign)
    waiting = [(node, parent)]
    while waiting:
        current, above = waiting.pop()
        yield Place(current, above, parameters, wording, labels)
        waiting.extend((child, current) for child in ast.iter_child_nodes(current))


# Faults --------------------------------------------------------------------------------------------------------------

# kind, what, the new code, numbers and texts as in Site
Found = tuple[str, str, str, tuple[float, ...], tuple[str, ...]]


def _faults(place: Place) -> Iterator[Found]:
    node = place.node
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _of_comparison(node, place)
    elif isinstance(node, ast.BoolOp):
        yield from _of_logic(node)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield "negation", "removed", _text(node.operand), (), ()
        if isinstance(node.operand, ast.Compare) and type(node.operand.ops[0]) in CONTRARY:
            yield "default changed", "of a missing value", _text(_contrary(node.operand)), (), ()
    elif isinstance(node, ast.Set | ast.Tuple) and isinstance(place.parent, ast.Compare | ast.Call):
        yield from _of_levels(node)
    elif isinstance(node, ast.If) and not node.orelse:
        yield "rule dropped", "a statement", "pass", (), ()
    elif isinstance(node, ast.AugAssign):
        yield "rule dropped", "an addition", "pass", (), ()
    elif isinstance(node, ast.Constant):
        yield from _of_constant(node, place)


def _text(node: ast.AST) -> str:
    return f"({ast.unparse(node)})"


def _contrary(node: ast.Compare) -> ast.Compare:
    return ast.Compare(node.left, [CONTRARY[type(node.ops[0])]()], node.comparators)


def _of_comparison(node: ast.Compare, place: Place) -> Iterator[Found]:
    op, right = type(node.ops[0]), node.comparators[0]
    if op in FLIPPED and not (isinstance(right, ast.Name) and right.id == "inf"):
        for other in FLIPPED[op]:
            yield "operator flipped", other.__name__, _text(ast.Compare(node.left, [other()], node.comparators)), (), ()
        yield "default changed", "of a missing value", f"(not {_text(_contrary(node))})", (), ()
        yield "negation", "put before", f"(not {_text(node)})", (), ()
        yield from _of_column(node, place)
    elif op in (ast.In, ast.NotIn):
        turned: ast.cmpop = ast.NotIn() if op is ast.In else ast.In()
        yield "negation", "of a membership", _text(ast.Compare(node.left, [turned], node.comparators)), (), ()


def _of_column(node: ast.Compare, place: Place) -> Iterator[Found]:
    """Another column of numbers in its place; a category would be no number."""
    own = [n for n in ast.walk(node.left) if isinstance(n, ast.Name) and n.id in place.parameters]
    for name in own[:1]:
        for other in place.parameters:
            if other != name.id:
                changed = copy.deepcopy(node)
                for inner in ast.walk(changed.left):
                    if isinstance(inner, ast.Name) and inner.id == name.id:
                        inner.id = other
                yield "columns swapped", f"{name.id} becomes {other}", _text(changed), (), ()


def _of_logic(node: ast.BoolOp) -> Iterator[Found]:
    other: ast.boolop = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    yield "operator flipped", "and or or", _text(ast.BoolOp(other, node.values)), (), ()
    for i in range(len(node.values)):
        rest = node.values[:i] + node.values[i + 1 :]
        yield "rule dropped", f"operand {i}", _text(ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]), (), ()


def _of_levels(node: ast.Set | ast.Tuple) -> Iterator[Found]:
    """A set of levels, or of cells that mean missing, without one of its members."""
    if len(node.elts) > 1 and all(isinstance(item, ast.Constant) and _is_level(item.value) for item in node.elts):
        for i, item in enumerate(node.elts):
            assert isinstance(item, ast.Constant)
            kind = "level changed" if item.value else "default changed"
            rest = ", ".join(ast.unparse(other) for other in node.elts[:i] + node.elts[i + 1 :])
            new = f"{{{rest}}}" if isinstance(node, ast.Set) else f"({rest},)"
            yield kind, f"without {item.value!r}", new, (), (str(item.value or ""),)


def _is_level(value: object) -> bool:
    return value is None or isinstance(value, str)


def _of_constant(node: ast.Constant, place: Place) -> Iterator[Found]:
    value, parent = node.value, place.parent
    if isinstance(value, str) and isinstance(parent, ast.Return | ast.IfExp):
        for label in place.labels:
            if label != value:
                yield "label changed", f"{value!r} becomes {label!r}", repr(label), (), ()
    elif isinstance(value, str) and isinstance(parent, ast.Set | ast.Tuple):
        kind = "level changed" if value else "default changed"
        yield kind, f"{value!r} changed", repr(value + "~"), (), (value, value + "~")
    elif isinstance(value, float) and isinstance(parent, ast.Compare | ast.UnaryOp):
        for new in (math.nextafter(value, math.inf), math.nextafter(value, -math.inf)):
            pair = (value, new)
            yield "threshold one ulp", f"{value!r} becomes {new!r}", f"({new!r})", (*pair, *(-x for x in pair)), ()
    elif isinstance(value, float) and not _is_clipped(parent):
        for new in dict.fromkeys((math.nextafter(value, math.inf), -value, value + 1.0, value / 2)):
            if new != value:
                yield "weight changed", f"{value!r} becomes {new!r}", f"({new!r})", (value, new), ()
    elif type(value) is int and isinstance(parent, ast.Return | ast.IfExp):
        for new in (0, 1, 2):
            if new != value:
                kind = "label changed" if not isinstance(parent, ast.Return) else "default changed"
                yield kind, f"class {value} becomes {new}", repr(new), (), ()


def _is_clipped(parent: ast.AST) -> bool:
    """Whether a constant says how a column is rounded to its grid, which the enumerated values cannot show."""
    return isinstance(parent, ast.Call) and isinstance(parent.func, ast.Name) and parent.func.id.startswith("clipped")
