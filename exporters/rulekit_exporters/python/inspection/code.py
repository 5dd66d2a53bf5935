"""Reads the statements of one generated function: what it returns, as nodes over the cells of a row.

Nothing is executed. Statements are followed in their order; where a condition parts them, both ways are followed and
brought together again. Anything that the exporter does not write raises UnreadableError.
"""

from __future__ import annotations

import ast
import builtins
import math
from collections.abc import Sequence

from rulekit.graph.nodes import Among, And, AtLeast, Linear, LinearThreshold, Node, Not, Or
from rulekit.program.nodes import Arithmetic, Greater, Number
from rulekit_exporters.python.inspection.calls import CALLS, Module, floats, unwrapped
from rulekit_exporters.python.inspection.values import (
    Cell,
    Count,
    Known,
    Label,
    Listing,
    Place,
    Row,
    Sum,
    UnreadableError,
    Value,
    added,
    boolean,
    chosen,
    comparison,
    formulas_of,
    membership,
    negated,
    outside,
    real,
)

Environment = dict[str, Value]
_OPERATORS: dict[type[ast.cmpop], str] = {ast.Gt: ">", ast.GtE: ">=", ast.Lt: "<", ast.LtE: "<="}
_BUILTINS = frozenset(dir(builtins)) | {"np"}
_ARITHMETIC: dict[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def result_of(
    module: Module,
    statements: Sequence[ast.stmt],
    environment: Environment,
    *,
    labels: bool = False,
    vector: bool = False,
) -> Value:
    """What the statements return.

    labels: constants that are returned are labels, not class indices. vector: the cells are columns of numpy, for which
    `~`, `&` and `|` mean what `not`, `and` and `or` mean for one row, and not the other way round.
    """
    return _Reader(module, environment, labels, vector).returned(statements)


class _Reader:
    """Follows statements; holds what each variable stands for."""

    def __init__(self, module: Module, environment: Environment, labels: bool, vector: bool) -> None:
        self.module = module
        self.environment = environment
        self.labels = labels
        self.vector = vector

    # Statements -------------------------------------------------------------------------------------------------------

    def returned(self, statements: Sequence[ast.stmt]) -> Value:
        """The value returned; ways that return early come first and are put around the rest."""
        early: list[tuple[Node, Value]] = []
        for statement in statements:
            if isinstance(statement, ast.Return):
                if statement.value is None:
                    raise UnreadableError("nothing is returned")
                return _cascade(early, self._answer(statement.value), self.module.spelled)
            if isinstance(statement, ast.If) and _returns(statement.body):
                if statement.orelse:
                    raise UnreadableError("an else after a return")
                inside = _Reader(self.module, dict(self.environment), self.labels, self.vector).returned(statement.body)
                early.append((boolean(self.value(statement.test)), inside))
            else:
                self.follow(statement)
        raise UnreadableError("a function that may return nothing")

    def _answer(self, expression: ast.expr) -> Value:
        """What is returned; a label as its class."""
        if self.labels and isinstance(expression, ast.IfExp):
            ways = self._answer(expression.body), self._answer(expression.orelse)
            return chosen(boolean(self.value(expression.test)), *ways, self.module.spelled)
        found = self.value(expression)
        if not self.labels or not isinstance(found, Known):
            return found
        for k, label in enumerate(self.module.graph.classes):
            if type(label) is type(found.value) and label == found.value:
                return Label(Known(k))
        raise UnreadableError(f"line {expression.lineno}: {found.value!r} is no class of the model")

    def follow(self, statement: ast.stmt) -> None:
        """A statement that returns nothing."""
        for name in _stored(statement):
            if name in self.module.names or name in _BUILTINS:
                raise UnreadableError(f"line {statement.lineno}: {name!r} becomes a variable")
        match statement:
            case _ if self._is_guard(statement):
                pass
            case ast.Expr(ast.Constant()) | ast.Pass():
                pass
            case ast.Assign([ast.Name(name)], value):
                self.environment[name] = self.value(value)
            case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
                found = [self.value(value) for value in values]
                for target, each in zip(names, found, strict=True):
                    if not isinstance(target, ast.Name):
                        raise UnreadableError("an assignment to something else than a variable")
                    self.environment[target.id] = each
            case ast.AugAssign(ast.Name(name), ast.Add(), value) if not self.vector:
                self.environment[name] = added(self._variable(name), self.value(value))
            case ast.If(test, body, orelse) if not self.vector:
                self._branch(boolean(self.value(test)), body, orelse)
            case _:
                raise UnreadableError(f"line {statement.lineno}: a statement that rulekit does not write")

    def _branch(self, condition: Node, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        ways = []
        for statements in (body, orelse):
            reader = _Reader(self.module, dict(self.environment), self.labels, self.vector)
            for statement in statements:
                reader.follow(statement)
            ways.append(reader.environment)
        then, otherwise = ways
        for name in then | otherwise:
            if name in then and name in otherwise:
                self.environment[name] = chosen(condition, then[name], otherwise[name], self.module.spelled)

    def _is_guard(self, statement: ast.stmt) -> bool:
        """Whether a statement brings a cell to what the rules compare, just as the exporter writes it."""
        if not isinstance(statement, ast.If | ast.Assign | ast.Expr):
            return False
        column = self.module.guards.get(ast.dump(statement))
        if column is None:
            return False
        for name, value in self.environment.items():
            if isinstance(value, Cell) and name == _guarded(statement):
                if value.feature.name != column:
                    raise UnreadableError(f"column {value.feature.name!r} is read as {column!r} is")
                if name in _stored(statement):
                    self.environment[name] = Cell(value.feature, True)
                return True
        raise UnreadableError(f"column {column!r} is cleaned before it is read")

    # Expressions ------------------------------------------------------------------------------------------------------

    def value(self, expression: ast.expr) -> Value:
        """What an expression stands for."""
        match expression:
            case ast.Constant(value):
                return Known(value)
            case ast.Name(name):
                return self._variable(name)
            case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, int | float):
                return Known(-value)
            case ast.UnaryOp(ast.USub(), ast.Name("inf")):
                return Known(-math.inf)
            case ast.UnaryOp(ast.Not(), operand) if not self.vector:
                return self._denied(boolean(self.value(operand)))
            case ast.UnaryOp(ast.Invert(), operand) if self.vector:
                return self._denied(boolean(self.value(operand)))
            case ast.BoolOp(operator, values) if not self.vector:
                parts = tuple(boolean(self.value(value)) for value in values)
                return And(parts) if isinstance(operator, ast.And) else Or(parts)
            case ast.BinOp(_, ast.BitAnd() | ast.BitOr(), _) if self.vector:
                return self._joined(expression)
            case ast.BinOp(left, operator, right):
                return self._calculated(left, operator, right)
            case ast.Compare(left, [operator], [right]):
                return self._compared(left, operator, right)
            case ast.IfExp(test, body, orelse) if not self.vector:
                return chosen(boolean(self.value(test)), self.value(body), self.value(orelse), self.module.spelled)
            case ast.Set(items):
                return Known(frozenset(self._constant(item) for item in items))
            case ast.Tuple(items) | ast.List(items):
                return Listing(tuple(self.value(item) for item in items))
            case ast.Dict(keys, values):
                return self._mapping(keys, values)
            case ast.Subscript(container, key):
                return self._looked_up(self.value(container), self.value(key))
            case ast.Attribute(ast.Name("np"), "True_" | "False_" as word):
                return Known(word == "True_")
            case ast.Call(function, arguments, []):
                return self._called(function, arguments)
        raise UnreadableError(f"line {expression.lineno}: an expression that rulekit does not write")

    def _variable(self, name: str) -> Value:
        if name in self.environment:
            return self.environment[name]
        if name == "inf":
            return Known(math.inf)
        if name in self.module.constants:
            return Known(self.module.constants[name])
        raise UnreadableError(f"a name {name!r} that is not known")

    def _constant(self, expression: ast.expr) -> object:
        found = self.value(expression)
        if not isinstance(found, Known):
            raise UnreadableError(f"line {expression.lineno}: a constant is needed")
        return found.value

    def _denied(self, node: Node) -> Node:
        if isinstance(node, Among):
            return outside(node, self.module.graph.schema[node.feature], self.module.texts)
        return negated(node)

    def _joined(self, expression: ast.BinOp) -> Node:
        """A chain of one operator, however long."""
        kind, parts = type(expression.op), []
        current: ast.expr = expression
        while isinstance(current, ast.BinOp) and type(current.op) is kind:
            parts.append(boolean(self.value(current.right)))
            current = current.left
        parts.append(boolean(self.value(current)))
        parts.reverse()
        return And(parts) if kind is ast.BitAnd else Or(parts)

    def _calculated(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> Value:
        sign = _ARITHMETIC.get(type(operator))
        if sign is None:
            raise UnreadableError("an operation that rulekit does not write")
        a, b = self.value(left), self.value(right)
        if sign == "+" and isinstance(a, Sum):
            return added(a, b)
        weight = a.value if isinstance(a, Known) else None
        if sign == "*" and isinstance(weight, float) and math.isfinite(weight) and not isinstance(b, Known):
            return Sum(0.0, ((weight, real(b)),))
        return Arithmetic(sign, real(unwrapped(a)), real(unwrapped(b)))

    def _compared(self, left: ast.expr, operator: ast.cmpop, right: ast.expr) -> Node:
        a, b = self.value(left), self.value(right)
        if isinstance(operator, ast.In | ast.NotIn):
            if not isinstance(a, Cell) or not a.clean or not isinstance(b, Known) or not isinstance(b.value, frozenset):
                raise UnreadableError("a membership of something that is no category")
            found = membership(a.feature, b.value, self.module.texts)
            return found if isinstance(operator, ast.In) else self._denied(found)
        if isinstance(operator, ast.Eq) and isinstance(b, Known) and type(b.value) is int:
            formulas = formulas_of(a, len(self.module.graph.classes))
            if not 0 <= b.value < len(formulas):
                raise UnreadableError("a class that the model does not have")
            return formulas[b.value]
        sign = _OPERATORS.get(type(operator))
        if sign is None:
            raise UnreadableError("a comparison that rulekit does not write")
        if isinstance(a, Known) and isinstance(b, Known):
            raise UnreadableError("a comparison of two constants")
        if isinstance(a, Cell):
            if not isinstance(b, Known) or not isinstance(b.value, int | float):
                raise UnreadableError(f"column {a.feature.name!r} is compared with something that is no number")
            if isinstance(b.value, int) and abs(b.value) > 2**53:
                raise UnreadableError("an integer beyond 2^53, which Python compares exactly")
            return comparison(a, sign, float(b.value), self.module.spelled)
        if isinstance(a, Count) and isinstance(b, Known) and type(b.value) is int:
            return _counted(a, sign, b.value)
        return _ordered(real(unwrapped(a)), sign, real(unwrapped(b)))

    def _mapping(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Row:
        columns: dict[object, Cell] = {}
        for key, value in zip(keys, values, strict=True):
            cell = self.value(value)
            if key is None or not isinstance(cell, Cell):
                raise UnreadableError("a mapping of something else than cells")
            columns[self._constant(key)] = cell
        return Row(columns)

    def _looked_up(self, container: Value, key: Value) -> Value:
        if isinstance(container, Row) and isinstance(key, Known):
            if key.value not in container.columns:
                raise UnreadableError(f"a cell {key.value!r} that the row has not")
            return container.columns[key.value]
        if isinstance(container, Known) and isinstance(container.value, tuple):
            if container.value is self.module.constants.get("CLASSES"):
                return Label(key)
            if isinstance(key, Place):
                return Place(key.feature, key.cuts, tuple(floats(container.value)))
        raise UnreadableError("a table is read by something that is not known")

    # Calls ------------------------------------------------------------------------------------------------------------

    def _called(self, function: ast.expr, arguments: Sequence[ast.expr]) -> Value:
        name = _dotted(function)
        if name.partition(".")[0] in self.environment:
            raise UnreadableError(f"a call of the variable {name!r}")
        if name in self.module.functions:
            return self._inside(self.module.functions[name], arguments)
        rule = CALLS.get(name)
        if rule is None:
            raise UnreadableError(f"a call of {name!r}, which is not known")
        values = [Known("np") if isinstance(a, ast.Name) and a.id == "np" else self.value(a) for a in arguments]
        try:
            return rule(self.module, *values)
        except TypeError:
            raise UnreadableError(f"a call of {name!r} with other arguments than rulekit writes") from None

    def _inside(self, function: ast.FunctionDef, arguments: Sequence[ast.expr]) -> Value:
        parameters = [argument.arg for argument in function.args.args]
        if len(parameters) != len(arguments):
            raise UnreadableError(f"a call of {function.name!r} with other arguments than it has")
        environment = dict(zip(parameters, map(self.value, arguments), strict=True))
        return result_of(self.module, function.body, environment)


def _stored(statement: ast.stmt) -> set[str]:
    """The variables that a statement sets."""
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _returns(statements: Sequence[ast.stmt]) -> bool:
    return bool(statements) and isinstance(statements[-1], ast.Return)


def _guarded(statement: ast.stmt) -> str:
    """The variable that a guard cleans, or looks at."""
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            return node.id
    for node in ast.walk(statement):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Name):
            return node.left.id
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Name):
            return node.args[0].id
    return ""


def _cascade(early: Sequence[tuple[Node, Value]], last: Value, spelled: dict[tuple[str, float], float]) -> Value:
    """The value of the first condition that holds, else the last one; neighbours of one value are joined."""
    result = last
    i = len(early)
    while i > 0:
        value, conditions = early[i - 1][1], []
        while i > 0 and early[i - 1][1] == value:
            conditions.append(early[i - 1][0])
            i -= 1
        conditions.reverse()
        condition = conditions[0] if len(conditions) == 1 else Or(conditions)
        result = chosen(condition, value, result, spelled)
    return result


def _counted(count: Count, sign: str, k: int) -> Node:
    if sign in (">", "<="):
        k += 1
    enough = AtLeast(k, count.conditions)
    return enough if sign in (">", ">=") else Not(enough)


def _ordered(left: Node, sign: str, right: Node) -> Node:
    """A comparison of two numbers of the calculation, neither of which is missing."""
    if sign == ">":
        return Greater(left, right)
    if sign == "<":
        return Greater(right, left)
    if isinstance(right, Number):
        if sign == ">=" and right.value == 0.0 and isinstance(left, Linear):
            return LinearThreshold(left.terms, left.bias)
        if sign == ">=":
            return Greater(left, Number(math.nextafter(right.value, -math.inf)))
        return Greater(Number(math.nextafter(right.value, math.inf)), left)
    raise UnreadableError("a comparison of two scores that rulekit does not write")


def _dotted(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
        return f"{function.value.id}.{function.attr}"
    return function.id if isinstance(function, ast.Name) else ""
