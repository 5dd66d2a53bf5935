"""What a node is: its fields, each of a kind, its children, and the digest by which nodes of equal content are one.

A node type declares its fields (`of`) and nothing else: its constructor takes them in order, checks each by its kind
(GraphError), and returns the one node of equal content. What a kind looks like in a model file is told once for each
kind, in `rulekit.graph.files.fields`.
"""

from __future__ import annotations

import enum
import hashlib
import inspect
import math
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import islice, pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform

from rulekit.errors import GraphError

_N = TypeVar("_N", bound="Node")
_REQUIRED = inspect.Parameter.empty


class Family(enum.Enum):
    BOOLEAN = "Boolean"
    RANDOM = "Random"
    REAL = "Real"
    PROBABILITY = "Probability"


BOOLEAN, RANDOM, REAL, PROBABILITY = Family


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of field. what: its name in a message."""

    what: str = ""

    def held(self, value: Any) -> Any:
        """What the node holds of a constructor's argument; raises GraphError where it is none of the kind."""
        return value

    def nodes(self, value: Any) -> tuple[Any, ...]:
        """The children in a constructor's argument."""
        return ()

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        """The constructor's argument that gives `held` with the next children in place of its own."""
        return held

    def content(self, name: str, held: Any) -> bytes:
        """What the digest covers of the field beside the children."""
        return b"\x00" + name.encode() + b"\x01" + _encode(held)


@dataclass(frozen=True, slots=True)
class TextField(Kind):
    """A name."""

    def held(self, value: Any) -> str:
        if not isinstance(value, str):
            raise GraphError(f"{self.what} is {value!r}, not a name")
        return str(value)  # a subclass (a numpy text, a parser's token) would change the digest


@dataclass(frozen=True, slots=True)
class Reads(TextField):
    """The name of a column; columns: the kinds of column that the node reads."""

    what: str = "feature"
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OneOf(Kind):
    """One of a few words."""

    words: tuple[str, ...] = ()

    def held(self, value: Any) -> str:
        if value not in self.words:
            raise GraphError(f"{self.what} is {' or '.join(self.words)}, not {value!r}")
        return str(value)


@dataclass(frozen=True, slots=True)
class Truth(Kind):
    """True or false."""

    def held(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise GraphError(f"{self.what} is {value!r}, neither true nor false")
        return value


@dataclass(frozen=True, slots=True)
class CountField(Kind):
    """An integer."""

    def held(self, value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise GraphError(f"{self.what} is {value!r}, not an integer")
        return value


@dataclass(frozen=True, slots=True)
class Finite(Kind):
    """A finite double; cuts: the column is compared with it, in the column's precision."""

    cuts: bool = False

    def held(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise GraphError(f"{self.what} is {value!r}, not a finite number")
        return float(value) + 0.0  # -0.0 becomes 0.0


@dataclass(frozen=True, slots=True)
class Numbers(Finite):
    """Finite doubles."""

    def held(self, value: Any) -> Any:
        one = super(Numbers, self).held
        return tuple(one(item) for item in value)


@dataclass(frozen=True, slots=True)
class Extended(Kind):
    """A double, or infinity; least: no smaller one is allowed."""

    least: float = -math.inf

    def held(self, value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= self.least:
            raise GraphError(f"{self.what} is {value!r}, not a number >= {self.least:g}")
        return float(value) + 0.0


@dataclass(frozen=True, slots=True)
class Double(Kind):
    """Any double."""

    def held(self, value: Any) -> float:
        return float(value)


@dataclass(frozen=True, slots=True)
class Extendeds(Kind):
    """Doubles, or infinities."""

    def held(self, value: Any) -> Any:
        return tuple(map(float, value))


@dataclass(frozen=True, slots=True)
class CountsField(Kind):
    """Integers."""

    def held(self, value: Any) -> Any:
        return tuple(value)


@dataclass(frozen=True, slots=True)
class Levels(TextField):
    """Levels of a category, held in order of their texts."""

    def held(self, value: Any) -> Any:
        one = super(Levels, self).held
        return tuple(sorted({one(level) for level in value}))


@dataclass(frozen=True, slots=True)
class LevelNumbers(Kind):
    """Pairs of a level of a category and a finite double, held in order of the levels' texts; 0 is not held."""

    def held(self, value: Any) -> Any:
        level, number = TextField("a level"), Finite(self.what)
        pairs = sorted((level.held(one), number.held(points)) for one, points in value)
        twice = next((one for (one, _), (other, _) in pairwise(pairs) if one == other), None)
        if twice is not None:
            raise GraphError(f"the level {twice!r} stands twice", fix="name each level once")
        return tuple(pair for pair in pairs if pair[1] != 0.0)


@dataclass(frozen=True, slots=True)
class Child(Kind):
    """One child of these families."""

    families: tuple[Family, ...] = ()

    def nodes(self, value: Any) -> tuple[Any, ...]:
        return (value,)

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        return next(children)

    def content(self, name: str, held: Any) -> bytes:
        return b""


@dataclass(frozen=True, slots=True)
class Children(Child):
    """Children of these families."""

    def held(self, value: Any) -> tuple[Any, ...]:
        return tuple(value)

    def nodes(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list | tuple):
            raise GraphError("children must be a sequence of nodes")
        return tuple(value)

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        return tuple(islice(children, len(held)))


@dataclass(frozen=True, slots=True)
class TermsField(Child):
    """Pairs of a weight and a child of these families."""

    what: str = "a weight"

    def held(self, value: Any) -> tuple[tuple[float, Any], ...]:
        weight = Finite(self.what)
        return tuple((weight.held(factor), child) for factor, child in value)

    def nodes(self, value: Any) -> tuple[Any, ...]:
        return tuple(child for _, child in value)

    def given(self, held: Any, children: Iterator[Any]) -> Any:
        return tuple((factor, next(children)) for factor, _ in held)

    def content(self, name: str, held: Any) -> bytes:
        return Kind.content(self, "weights", tuple(factor for factor, _ in held))


@dataclass(frozen=True, slots=True)
class _Field:
    kind: Kind
    default: Any


def of(kind: Kind, *, default: Any = _REQUIRED) -> Any:
    """A field of a kind, as a node type declares it."""
    return _Field(kind, default)


_interned: weakref.WeakValueDictionary[bytes, Node] = weakref.WeakValueDictionary()


class _NodeType(type):
    """Makes node types of the fields that they declare; calling one returns the one node of equal content."""

    KINDS: Mapping[str, Kind]
    DEFAULTS: tuple[Any, ...]
    FAMILY: Family | None

    def __new__(
        mcs, name: str, bases: tuple[type, ...], space: dict[str, Any], family: Family | None = None
    ) -> _NodeType:
        """family: None for logic, which is random with a random child."""
        own = {field: told for field, told in space.items() if isinstance(told, _Field)}
        rest = {key: value for key, value in space.items() if key not in own}
        slots = tuple(field for field in own if field != "children")
        cls = super().__new__(mcs, name, bases, {"__slots__": slots, **rest})
        cls.FAMILY = family
        if bases and not own:  # it has the fields of its base
            return cls
        cls.KINDS = MappingProxyType({field: told.kind for field, told in own.items()})
        cls.DEFAULTS = tuple(told.default for told in own.values() if told.default is not _REQUIRED)
        either = inspect.Parameter.POSITIONAL_OR_KEYWORD
        arguments = [inspect.Parameter(field, either, default=told.default) for field, told in own.items()]
        cls.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
        return cls

    def __call__(cls: type[_N], *args: Any, **kwargs: Any) -> _N:  # type: ignore[misc]
        short = len(cls.KINDS) - len(args)
        if kwargs or not 0 <= short <= len(cls.DEFAULTS):
            bound = inspect.signature(cls).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        elif short:
            args += cls.DEFAULTS[-short:]
        node = object.__new__(cls)
        keep = object.__setattr__
        children: tuple[Node, ...] = ()
        content = hashlib.sha256(cls.__name__.encode())
        for (name, kind), value in zip(cls.KINDS.items(), args, strict=True):
            children += kind.nodes(value)
            held = kind.held(value)
            keep(node, name, held)
            content.update(kind.content(name, held))
        node._check()
        family = cls.FAMILY
        for child in children:
            if not isinstance(child, Node):
                raise GraphError(f"a child of {cls.__name__} is {type(child).__name__}, not a node")
            content.update(b"\x02" + child.digest)
        if family is None:
            family = RANDOM if any(child.family is RANDOM for child in children) else BOOLEAN
        keep(node, "digest", content.digest())
        keep(node, "family", family)
        keep(node, "children", children)
        return _interned.setdefault(node.digest, node)  # type: ignore[return-value]


@dataclass_transform(eq_default=False, field_specifiers=(of,))
class Node(metaclass=_NodeType):
    """Base of all nodes. `children` are nodes in order; `digest` is 32 bytes; `family` is set on construction."""

    __slots__ = ("__weakref__", "children", "digest", "family")

    if TYPE_CHECKING:

        @property
        def digest(self) -> bytes: ...
        @property
        def family(self) -> Family: ...
        @property
        def children(self) -> tuple[Node, ...]: ...

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"nodes do not change: {name!r} of a {type(self).__name__} is fixed")

    def __deepcopy__(self, memo: object) -> Node:
        return self

    def __copy__(self) -> Node:
        return self

    def __reduce__(self) -> tuple[Callable[..., Node], tuple[list[Any]]]:
        """A list of all nodes below, children first, with places in the list instead of children: nothing recurses."""
        places: dict[Node, int] = {}
        lines: list[Any] = []
        waiting: list[Node] = [self]
        while waiting:
            node = waiting[-1]
            if further := [child for child in node.children if child not in places]:
                waiting += further
                continue
            waiting.pop()
            if node not in places:
                children = iter([places[child] for child in node.children])
                lines.append((type(node), _arguments(node, children)))
                places[node] = len(places)
        return _of_lines, (lines,)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.digest.hex()[:8]}>"

    def _check(self) -> None:
        """Raise GraphError where the fields do not fit each other."""


def kinds_of(cls: type) -> Mapping[str, Kind]:
    """The kind of each field of a node type or decision, in order."""
    if isinstance(cls, _NodeType):
        return cls.KINDS
    return {item.name: item.metadata["kind"] for item in fields(cls)}


def with_children(node: Node, children: Sequence[Node]) -> Node:
    """`node` with these children in place of its own; a leaf as it is."""
    if not node.children:
        return node
    make: Callable[..., Node] = type(node)
    return make(*_arguments(node, iter(children)))


def _arguments(node: Node, children: Iterator[Any]) -> list[Any]:
    return [kind.given(getattr(node, name), children) for name, kind in kinds_of(type(node)).items()]


def _of_lines(lines: Sequence[tuple[type[Node], list[Any]]]) -> Node:
    """The last one of the nodes that `Node.__reduce__` listed."""
    made: list[Node] = []
    for cls, arguments in lines:
        pairs = zip(kinds_of(cls).values(), arguments, strict=True)
        make: Callable[..., Node] = cls
        made.append(make(*[kind.given(held, map(made.__getitem__, kind.nodes(held))) for kind, held in pairs]))
    return made[-1]


def _encode(value: Any) -> bytes:
    """Unambiguous bytes of a field: type tag, length, content."""
    if isinstance(value, tuple):
        parts = b"".join(_encode(item) for item in value)
        return b"t" + str(len(value)).encode() + b":" + parts
    # ascii and not repr: what repr escapes depends on the Unicode tables of the Python version.
    text = (value.hex() if isinstance(value, float) else ascii(value)).encode()
    return type(value).__name__[0].encode() + str(len(text)).encode() + b":" + text
