"""Sentences of first-order logic about the objects of a structure: `exists x: P0(x) and R0(x, a)`.

A name that no quantifier binds is a constant: it names one object. Two constants never name the same object. A sentence
is also read off a Boolean rule that writes out its objects: it is derived from the rule itself and compared with it on
all truth values, so a file cannot claim a wrong one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import product
from operator import and_, or_
from typing import Any, Literal

from rulekit.errors import FormatError
from rulekit.graph.nodes import And, Compare, Constant, IsTrue, Node, Not, Or, topological
from rulekit.schema import Schema

MAX_CHARACTERS = 4000
MAX_DEPTH = 100

_GRAMMAR = r"""
?start: either
?either: both ("or" both)*
?both: plain ("and" plain)*
?plain: "not" plain -> negation
      | QUANTIFIER NAME ("," NAME)* ":" either -> quantified
      | "(" either ")"
      | "true" -> always
      | "false" -> never
      | NAME "(" NAME ("," NAME)* ")" -> atom
      | NAME "=" NAME -> same
      | NAME "!=" NAME -> different
QUANTIFIER.2: /(exists|forall)\b/
NAME: /[A-Za-z0-9_]+/
%ignore /\s+/
"""

Word = Literal["atom", "same", "not", "and", "or", "exists", "forall"]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A formula. name: the predicate of an atom, or the variable of a quantifier; terms: what an atom speaks of."""

    word: Word
    name: str = ""
    terms: tuple[str, ...] = ()
    parts: tuple[Sentence, ...] = ()

    def __str__(self) -> str:
        return _text(self)

    @property
    def free(self) -> tuple[str, ...]:
        """The names that no quantifier binds, sorted: the constants of a closed formula."""
        return tuple(sorted(set(_free(self, frozenset()))))

    @property
    def depth(self) -> int:
        """The deepest nesting of its quantifiers."""
        inside = max((part.depth for part in self.parts), default=0)
        return inside + (self.word in ("exists", "forall"))

    def atoms(self) -> Iterator[Sentence]:
        """Its atoms from left to right, one for each place where one stands."""
        if self.word == "atom":
            yield self
        for part in self.parts:
            yield from part.atoms()

    def put(self, names: Mapping[str, str]) -> Sentence:
        """The formula with other names in place of free ones; a bound variable keeps its name."""
        inside = {old: new for old, new in names.items() if old != self.name or self.word == "atom"}
        if not inside:
            return self
        terms = tuple(inside.get(term, term) for term in self.terms)
        return Sentence(self.word, self.name, terms, tuple(part.put(inside) for part in self.parts))


TRUE, FALSE = Sentence("and"), Sentence("or")


def atom(name: str, *terms: str) -> Sentence:
    """A property of one object or a relation of several."""
    return Sentence("atom", name, terms)


def negation(part: Sentence) -> Sentence:
    """What is true where the part is not."""
    return part.parts[0] if part.word == "not" else Sentence("not", parts=(part,))


def variables(objects: Collection[str]) -> list[str]:
    """Names for variables that no object has: x, y, z, x3, x4 and so on, at least ten of them."""
    names = ["x", "y", "z", *(f"x{k}" for k in range(3, 10 + len(objects)))]
    return [name for name in names if name not in objects]


def _free(formula: Sentence, bound: frozenset[str]) -> Iterator[str]:
    yield from (term for term in formula.terms if term not in bound)
    inside = bound | {formula.name} if formula.word in ("exists", "forall") else bound
    for part in formula.parts:
        yield from _free(part, inside)


def _text(formula: Sentence) -> str:
    word, parts = formula.word, formula.parts
    if word == "atom":
        return f"{formula.name}({', '.join(formula.terms)})" if formula.terms else formula.name
    if word == "same":
        return " = ".join(formula.terms)
    if word == "not":
        return " != ".join(parts[0].terms) if parts[0].word == "same" else f"not {_inside(parts[0])}"
    if word in ("exists", "forall"):
        names = [formula.name]
        while parts[0].word == word:
            names.append(parts[0].name)
            parts = parts[0].parts
        return f"{word} {', '.join(names)}: {_text(parts[0])}"
    if not parts:
        return "true" if word == "and" else "false"
    return f" {word} ".join(_inside(part) for part in parts)


def _inside(part: Sentence) -> str:
    bare = part.word in ("atom", "same", "not") or (part.word in ("and", "or") and not part.parts)
    return _text(part) if bare else f"({_text(part)})"


@lru_cache(maxsize=1)
def _parser() -> Callable[[str], Any]:
    from lark import Lark

    parse: Callable[[str], Any] = Lark(_GRAMMAR, parser="lalr").parse
    return parse


def sentence(text: str) -> Sentence:
    """The sentence that a text says; raises FormatError where the text is none or is too long."""
    from lark.exceptions import UnexpectedInput

    if len(text) > MAX_CHARACTERS:
        raise FormatError(f"a sentence of {len(text):,} characters", fix=f"write at most {MAX_CHARACTERS:,}")
    try:
        tree = _parser()(text)
    except UnexpectedInput as error:
        where = f"column {error.column}" if error.column and error.column > 0 else "its end"
        raise FormatError(
            f"{text!r} is no sentence: it cannot be read at {where}", fix="write as in exists x: P0(x) and R0(x, a)"
        ) from None
    found = _read(tree, 0)
    places: dict[str, int] = {}
    for part in found.atoms():
        if places.setdefault(part.name, len(part.terms)) != len(part.terms):
            raise FormatError(
                f"{part.name} stands with different numbers of names", fix="give it the same number everywhere"
            )
    return found


def _read(tree: Any, depth: int) -> Sentence:
    if depth > MAX_DEPTH:
        raise FormatError(f"a sentence nests deeper than {MAX_DEPTH} levels", fix="write a shorter one")
    kind, children = str(tree.data), tree.children
    if kind in ("always", "never"):
        return TRUE if kind == "always" else FALSE
    if kind in ("atom", "same", "different"):
        names = tuple(str(child) for child in children)
        if kind == "atom":
            return Sentence("atom", names[0], names[1:])
        same = Sentence("same", terms=names)
        return same if kind == "same" else negation(same)
    if kind == "quantified":
        word, *names, body = children
        found = _read(body, depth + 1)
        for name in reversed(names):
            found = Sentence("exists" if word == "exists" else "forall", str(name), parts=(found,))
        return found
    parts = tuple(_read(child, depth + 1) for child in children)
    return negation(parts[0]) if kind == "negation" else Sentence("and" if kind == "both" else "or", parts=parts)


Fact = tuple[str, tuple[str, ...]]
Signed = tuple[Fact, bool]
Terms = frozenset[frozenset[Signed]]
"""A disjunction of conjunctions of facts and their contraries."""

_MOST_TERMS, _MOST_NODES, _MOST_FACTS, _MOST_TRIES = 512, 4096, 16, 400
_MOST_PRODUCTS = 4096
"""Pairs of terms that are joined for one rule."""
_MOST_LITERALS, _MOST_VARIABLES = 4, 3
_ALWAYS: Terms = frozenset([frozenset()])
_NEVER: Terms = frozenset()


def sentence_of(node: Node, schema: Schema) -> Sentence | None:
    """The sentence with quantifiers that says the same as a Boolean rule about objects; None where none is found.

    Sentences are conjunctions of at most four literals behind at most three `exists`, and their contraries (`forall`).
    """
    return _found(node, schema) if schema.atoms and isinstance(node, And | Or | Not) else None


@lru_cache(maxsize=1024)
def _found(node: Node, schema: Schema) -> Sentence | None:
    objects = tuple(sorted({each for _, named in schema.atoms.values() for each in named}))
    for sign in (True, False):
        terms = _terms(node, sign, schema)
        found = None if terms is None else _generalised(terms, objects, set(schema.atoms.values()))
        if found is not None:
            return found if sign else _contrary(found)
    return None


def _contrary(found: Sentence) -> Sentence:
    if found.word == "exists":
        return Sentence("forall", found.name, parts=(_contrary(found.parts[0]),))
    if found.word == "and":
        return Sentence("or", parts=tuple(negation(part) for part in found.parts))
    return negation(found)


def _generalised(terms: Terms, objects: tuple[str, ...], facts: set[Fact]) -> Sentence | None:
    """Of each term, with variables in some of its places, the first sentence that says the same as all terms."""
    wanted, tried = None, set[Terms]()
    names = variables(objects)[:_MOST_VARIABLES]
    for term in sorted(terms, key=lambda each: (len(each), sorted(each))) if len(terms) > 1 else ():
        for literals in _with_variables(sorted(term), names) if len(term) <= _MOST_LITERALS else ():
            used = [name for name in names if any(name in places for (_, places), _ in literals)]
            if len(objects) ** len(used) > _MOST_TERMS:
                continue
            whole = frozenset(_instances(literals, used, objects, facts))
            if whole in tried:
                continue
            tried.add(whole)
            wanted = wanted or _values(terms)
            if _values(whole) == wanted:
                return _written(literals, used)
            if len(tried) == _MOST_TRIES:
                return None
    return None


def _with_variables(term: list[Signed], names: list[str]) -> Iterator[list[Signed]]:
    """A term with one or more variables in place of objects; a variable stands for one object."""
    objects = [each for (_, places), _ in term for each in places]
    for count in range(1, len(names) + 1):
        for chosen in product([None, *names[:count]], repeat=len(objects)):
            named = {name: {each for each, own in zip(objects, chosen, strict=True) if own == name} for name in names}
            if all(len(named[name]) == (name in names[:count]) for name in names):
                left = iter(each if own is None else own for each, own in zip(objects, chosen, strict=True))
                yield [((name, tuple(next(left) for _ in places)), sign) for (name, places), sign in term]


def _instances(
    literals: Collection[Signed], used: list[str], objects: tuple[str, ...], facts: set[Fact]
) -> Iterator[frozenset[Signed]]:
    """The term about each choice of objects; an atom without a column is false."""
    for chosen in product(objects, repeat=len(used)):
        put = dict(zip(used, chosen, strict=True))
        made = [((name, tuple(put.get(each, each) for each in places)), sign) for (name, places), sign in literals]
        if not any(sign for fact, sign in made if fact not in facts):
            yield frozenset(literal for literal in made if literal[0] in facts)


def _written(literals: Collection[Signed], used: list[str]) -> Sentence:
    signed = ((atom(name, *places), sign) for (name, places), sign in literals)
    parts = tuple(sorted((each if sign else negation(each) for each, sign in signed), key=str))
    found = parts[0] if len(parts) == 1 else Sentence("and", parts=parts)
    for name in reversed(used):
        found = Sentence("exists", name, parts=(found,))
    return found


def _values(terms: Terms) -> tuple[frozenset[Fact], int] | Terms:
    """Equal for equal meanings: the truth values of a disjunction by those of its facts; of many facts its terms."""
    terms = frozenset(
        term for term in _without_longer(terms) if not any((fact, not sign) in term for fact, sign in term)
    )
    facts = sorted({fact for term in terms for fact, _ in term})
    if len(facts) > _MOST_FACTS:
        return terms
    rows = 1 << len(facts)
    everywhere = (1 << rows) - 1
    held = {}
    for k, fact in enumerate(
        facts
    ):  # the rows in which fact k is true: 2^k rows without it, as many with it, and so on
        period = (1 << (2 << k)) - 1
        held[fact] = everywhere // period * (((1 << (1 << k)) - 1) << (1 << k))
    parts = (
        reduce(and_, (held[fact] if sign else everywhere ^ held[fact] for fact, sign in term), everywhere)
        for term in terms
    )
    return frozenset(facts), reduce(or_, parts, 0)


def _without_longer(terms: Collection[frozenset[Signed]]) -> Terms:
    """Without the terms that hold only where a shorter one does."""
    kept: list[frozenset[Signed]] = []
    for term in sorted(terms, key=len):
        if not any(short <= term for short in kept):
            kept.append(term)
    return frozenset(kept)


def _terms(top: Node, sign: bool, schema: Schema) -> Terms | None:
    """A Boolean formula over atoms, or its contrary, as terms; None where it is another formula or a long one."""
    order = topological([top])
    if len(order) > _MOST_NODES:
        return None
    found: dict[tuple[Node, bool], Terms | None] = {}
    left = _MOST_PRODUCTS
    for node in order:
        for own in (True, False):
            if isinstance(node, And if own else Or):
                size = 1
                for child in node.children:
                    size = min(size * max(1, len(found[child, own] or ())), _MOST_TERMS)
                left -= size if size > 1 else 0
            found[node, own] = _terms_of(node, own, schema, found) if left >= 0 else None
    return found[top, sign]


def _terms_of(node: Node, sign: bool, schema: Schema, found: dict[tuple[Node, bool], Terms | None]) -> Terms | None:
    if isinstance(node, Constant):
        return _ALWAYS if node.value == sign else _NEVER
    if isinstance(node, Not):
        return found[node.child, not sign]
    if isinstance(node, IsTrue | Compare):
        fact = schema.atoms.get(node.feature)
        above = isinstance(node, IsTrue) or node.op == ">"
        plain = node.missing != above and (isinstance(node, IsTrue) or 0.0 <= node.value < 1.0)
        return frozenset([frozenset([(fact, above == sign)])]) if fact and plain else None
    parts = [found[child, sign] for child in node.children]
    if not isinstance(node, And | Or) or any(part is None for part in parts):
        return None
    if isinstance(node, Or) == sign:
        joined = frozenset[frozenset[Signed]]().union(*(part for part in parts if part is not None))
        return joined if len(joined) <= _MOST_TERMS else None
    terms = _ALWAYS
    for part in parts:
        if part is None or len(part) * len(terms) > _MOST_TERMS:
            return None
        terms = _without_longer([one | other for one in terms for other in part])
        if len(terms) > _MOST_TERMS:
            return None
    return terms
